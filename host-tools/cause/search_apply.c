/* SPDX-License-Identifier: Apache-2.0 */
/* What hypotheses give on any other input of the layer. */
#include <string.h>

#include "host-tools/cause/search_private.h"

/* Outside of its scope nothing was edited. */
static void put(const struct assay_search_ctx *x,
                const struct assay_hypothesis *h, const uint8_t *base,
                uint8_t *out)
{
    if (h->scope.kind == ASSAY_SCOPE_ALL) {
        memcpy(out, x->result, x->bytes);
        return;
    }
    memcpy(out, base, x->bytes);
    for (size_t e = 0; e < x->n; e++)
        if (assay_judge_inside(x, &h->scope, e))
            memcpy(out + e * x->width, x->result + e * x->width, x->width);
}

int assay_cause_apply(uint8_t *const *out, const struct assay_suspect *s,
                      const struct assay_hypothesis *const *v, size_t n,
                      const void *const *inputs, const void *base,
                      uint32_t cpu_flags, struct assay_err *err)
{
    const struct assay_suspect_sample sample = {
        .inputs = inputs, .base = base, .got = base};
    struct assay_suspect mine = *s;
    struct assay_arena *memory = assay_arena_new();
    struct assay_search_ctx x;
    int rc;

    mine.samples = &sample;
    mine.n_samples = 1;
    rc = memory ? assay_search_ctx_open(&x, &mine, cpu_flags, memory, err)
                : assay_fail(err, ASSAY_EMEMORY,
                             "no memory for what a hypothesis gives");
    if (rc == 0)
        rc = assay_sums_open(&x, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct assay_candidate c;

        rc = assay_candidate_open(&c, &x, v[i]->edits, v[i]->n_edits, err);
        if (rc > 0) /* it applied when it was found */
            rc = assay_fail(err, ASSAY_EUNSUPPORTED,
                            "layer '%.200s': an edit does not apply again",
                            x.layer->name);
        if (rc)
            break;
        rc = assay_candidate_run(&x, &c, 0, err);
        if (rc == 0)
            put(&x, v[i], base, out[i]);
        assay_candidate_close(&c);
    }
    assay_arena_free(memory);
    return rc;
}

uint64_t assay_cause_count(const struct assay_suspect *s, const void *base,
                           const void *got, const void *out,
                           uint64_t *differing, uint64_t *differing_matched)
{
    const struct assay_tensor *t = assay_suspect_output(s);
    size_t width = assay_dtype_bytes(t->dtype), n = 0, bytes = 0;
    const uint8_t *b = base, *g = got, *o = out;
    uint64_t matched = 0;

    *differing = *differing_matched = 0;
    if (assay_tensor_count(t, &n, &bytes, NULL) < 0)
        return 0;
    for (size_t at = 0; at + width <= bytes; at += width) {
        bool differs = memcmp(b + at, g + at, width) != 0;
        bool match = memcmp(o + at, g + at, width) == 0;

        matched += match;
        *differing += differs;
        *differing_matched += differs && match;
    }
    return matched;
}
