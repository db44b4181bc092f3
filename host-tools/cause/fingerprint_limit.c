/* SPDX-License-Identifier: Apache-2.0 */
/* Elements at the ends of the range, and the sign of the sum. */
#include <math.h>
#include <stdlib.h>

#include "host-tools/cause/fingerprint_private.h"

/* How often an element lies at a limit anyway. */
static double share_at_limit(const struct assay_fp *f)
{
    size_t at = 0;

    for (size_t i = 0; i < f->n; i++)
        at += assay_fp_is_limit(f, f->v->base, i);
    return (double)at / (double)f->n + 1.0 / 64.0;
}

#define PAIRS 4096 /* that are drawn */

/* How often one of two elements of base that are not equal lies at a limit:
 * were got only shuffled, so often would an element that differs. */
static double share_of_pairs(const struct assay_fp *f)
{
    unsigned unequal = 1, at = 1;
    uint64_t seed = 1;

    for (unsigned k = 0; k < PAIRS; k++) {
        int64_t v[2];
        bool limit = false;

        for (unsigned j = 0; j < 2; j++) {
            size_t i;

            seed = seed * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
            i = (size_t)(seed >> 20) % f->n;
            v[j] = assay_fp_integer(f->v->base, f->v->t->dtype, i);
            limit = limit || assay_fp_is_limit(f, f->v->base, i);
        }
        unequal += v[0] != v[1];
        at += v[0] != v[1] && limit;
    }
    return (double)at / (double)unequal;
}

static bool is_lower(const struct assay_fp *f, const void *p, size_t i)
{
    return assay_fp_integer(p, f->v->t->dtype, i) <= f->lo;
}

bool assay_fp_clamp_limits(const struct assay_fp *f,
                           struct assay_fingerprint *out)
{
    bool lower = false, upper = false;

    if (!f->is_int)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        const void *p;

        if (!assay_fp_differs(f, i))
            continue;
        if (!assay_fp_hidden(f, i))
            return false;
        p = assay_fp_is_limit(f, f->v->base, i) ? f->v->base : f->v->got;
        is_lower(f, p, i) ? (lower = true) : (upper = true);
    }
    if (assay_fp_chance(fmax(share_at_limit(f), share_of_pairs(f)),
                        (double)f->differing))
        return false;
    out->n[0] = (int)upper - (int)lower;
    return true;
}

bool assay_fp_saturated(const struct assay_fp *f, struct assay_fingerprint *out)
{
    uint8_t *seen;
    size_t channels = 0;

    if (!f->is_int || f->channels < 2)
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (assay_fp_differs(f, i) && !assay_fp_is_limit(f, f->v->got, i))
            return false;
    seen = calloc(f->channels, 1);
    if (seen == NULL)
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (assay_fp_differs(f, i))
            seen[assay_fp_channel(f, i)] = 1;
    for (size_t c = 0; c < f->channels; c++)
        channels += seen[c];
    free(seen);
    out->n[0] = (int64_t)channels;
    return 2 * channels <= f->channels &&
           !assay_fp_chance(share_at_limit(f), (double)f->differing);
}

bool assay_fp_negative_sum(const struct assay_fp *f,
                           struct assay_fingerprint *out)
{
    size_t negative = 0;

    (void)out;
    if (f->v->acc == NULL)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        negative += f->v->acc[i] < 0;
        if (assay_fp_differs(f, i) && f->v->acc[i] >= 0)
            return false;
    }
    return !assay_fp_chance((double)negative / (double)f->n,
                            (double)f->differing);
}
