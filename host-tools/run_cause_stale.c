/* SPDX-License-Identifier: Apache-2.0 */
/* What a column holds of a sample may be what another sample should have
 * given: a buffer that was not written again, a cache that was not
 * invalidated (D2). Looked at when no arithmetic explains it. */
#include <string.h>

#include "host-tools/run_cause.h"

/* Is what was got in a kept sample the reference's tensor of sample `other`? */
static bool is_of(const struct assay_run *r, const struct assay_run_suspect *k,
                  size_t kept, uint32_t other)
{
    const struct assay_model_note silent = {.note = NULL};
    uint32_t t = r->s->layers[k->layer].output;
    struct assay_err ignored = {0};
    struct assay_sample s = {0};
    size_t n, bytes;
    bool same = false;

    if (r->p.c.goldens == NULL || r->p.c.goldens[other] == NULL ||
        assay_tensor_count(&r->s->tensors[t], &n, &bytes, NULL) < 0 ||
        assay_case_golden(&s, &r->p.c, other, r->s, &silent, &ignored) < 0)
        return false;
    same = s.values[t] != NULL &&
           memcmp(s.values[t], k->samples[kept].got, bytes) == 0;
    assay_sample_close(&s);
    return same;
}

/* In every kept sample in which it differs. */
static bool all_of(const struct assay_run *r, const struct assay_run_suspect *k,
                   bool first)
{
    size_t looked = 0;

    for (size_t i = 0; i < k->n_samples; i++) {
        uint32_t from = k->from[i];

        if (k->mismatch[i] == 0)
            continue;
        if (from == 0 || !is_of(r, k, i, first ? 0 : from - 1))
            return false;
        looked++;
    }
    return looked > 0;
}

enum assay_run_stale assay_run_cause_stale(const struct assay_run *r,
                                           const struct assay_run_suspect *k)
{
    if (k->of_reference || k->column < ASSAY_COL_SIM)
        return ASSAY_STALE_NO;
    if (all_of(r, k, false))
        return ASSAY_STALE_PREVIOUS;
    return all_of(r, k, true) ? ASSAY_STALE_FIRST : ASSAY_STALE_NO;
}
