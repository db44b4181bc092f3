/* SPDX-License-Identifier: Apache-2.0 */
/* Forms with few candidates: each one is run by the engine. */
#include <string.h>

#include "host-tools/fit/pool.h"
#include "kernels/requant.h"

static uint64_t differing(const struct assay_fit_layer *l, const void *out,
                          const int64_t *golden, size_t n)
{
    size_t unit = assay_dtype_bytes(l->dtype);
    uint64_t differ = 0;

    for (size_t i = 0; i < n; i++) {
        union assay_value v;
        assay_load_values(l->dtype, (const uint8_t *)out + i * unit, &v, 1);
        differ += v.i != golden[i];
    }
    return differ;
}

int assay_fit_enumerate_count(const struct assay_fit_layer *l,
                              const struct assay_fit_choice *c,
                              uint64_t *differ, struct assay_err *err)
{
    size_t n = assay_fit_layer_count(l, -1);
    char rule[ASSAY_FIT_RULE_TEXT];
    void *out = assay_alloc(n * assay_dtype_bytes(l->dtype) + 1);
    int rc = 0;

    if (!out)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an output");
    assay_fit_rule(l->form, c, rule);
    *differ = 0;
    for (size_t s = 0; !rc && s < l->n_samples; s++) {
        rc = assay_fit_layer_run(
            l, rule, (const void *const *)l->samples[s].input, out, err);
        if (!rc)
            *differ += differing(l, out, l->golden + s * n, n);
    }
    assay_free(out);
    return rc;
}

int assay_fit_enumerate(const struct assay_fit_layer *l, uint32_t *state,
                        size_t *left, struct assay_err *err)
{
    size_t n = assay_fit_size(&l->problem.space);
    struct assay_err refused = {0};

    *left = 0;
    for (size_t k = 0; k < n; k++) {
        struct assay_fit_choice c = assay_fit_choice_at(&l->problem.space, k);
        uint64_t differ = 0;
        int rc = assay_fit_enumerate_count(l, &c, &differ, &refused);

        if (rc == ASSAY_EMEMORY)
            return assay_fail(err, rc, "%s", refused.text);
        /* What the engine refuses is no program of this layer. */
        state[k] = rc == 0 && differ == 0;
        *left += state[k] != 0;
    }
    return 0;
}
