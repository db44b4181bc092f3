/* SPDX-License-Identifier: Apache-2.0 */
/* Weights: the axis of their scales, and the value that none should have. */
#include "host-tools/lint/lint_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The largest magnitude of each index of the first and of the last axis; true:
 * those of the axis are all full, 127 of int8. */
static bool full(const struct assay_tensor *w, bool last)
{
    int64_t n = w->dims[last ? w->rank - 1 : 0], lo, hi;
    size_t all, bytes;

    assay_dtype_range(w->dtype, &lo, &hi);
    if (assay_tensor_count(w, &all, &bytes, NULL) < 0 || n < 1)
        return false;
    for (int64_t i = 0; i < n; i++) {
        size_t start = last ? (size_t)i : (size_t)i * (all / (size_t)n);
        size_t step = last ? (size_t)n : 1;
        int64_t most = 0;

        for (size_t k = 0; k < all / (size_t)n; k++) {
            int64_t v = llabs((long long)assay_lint_load(w, start + k * step));

            most = v > most ? v : most;
        }
        if (most < hi)
            return false;
    }
    return true;
}

static void axis(struct assay_linter *c, const struct assay_layer *l,
                 const struct assay_tensor *w)
{
    char found[48], expected[48];

    if (w->quant.n < 2)
        return;
    snprintf(expected, sizeof(expected), "axis 0 (%" PRId64 " channels)",
             w->dims[0]);
    snprintf(found, sizeof(found), "axis %" PRId32 " (%" PRIu32 " scales)",
             w->quant.axis, w->quant.n);
    if ((int64_t)w->quant.n != w->dims[0] || w->quant.axis != 0)
        assay_lint_add(c, ASSAY_LINT_AXIS, ASSAY_CONTRADICTION, l->name,
                       expected, found,
                       "the weights '%s' of layer '%s' have scales along %s: "
                       "expected %s",
                       w->name, l->name, found, expected);
    else if (w->quant.n >= 4 && w->dims[w->rank - 1] == w->dims[0] &&
             w->dtype == ASSAY_S8 && full(w, true) && !full(w, false))
        assay_lint_add(
            c, ASSAY_LINT_AXIS, ASSAY_WARNING, l->name, expected,
            "weights that are full along the input channels",
            "the weights '%s' of layer '%s' reach 127 in every input "
            "channel and not in every output channel: they look "
            "quantized along the other axis",
            w->name, l->name);
}

static void minimum(struct assay_linter *c, const struct assay_layer *l,
                    const struct assay_tensor *w)
{
    size_t n, bytes, hits = 0;
    int64_t lo, hi;
    char expected[32], found[48];

    if (w->quant.n == 0 || (w->dtype != ASSAY_S8 && w->dtype != ASSAY_S16) ||
        assay_tensor_count(w, &n, &bytes, NULL) < 0)
        return;
    for (uint32_t i = 0; i < w->quant.n; i++)
        if (w->quant.zero_point[i] != 0)
            return;
    assay_dtype_range(w->dtype, &lo, &hi);
    for (size_t i = 0; i < n; i++)
        hits += assay_lint_load(w, i) == lo;
    if (hits == 0)
        return;
    snprintf(expected, sizeof(expected), "%" PRId64 " or more", lo + 1);
    snprintf(found, sizeof(found), "%" PRId64 " in %zu of %zu", lo, hits, n);
    /* A model that carries its multipliers promises the whole of int8. */
    assay_lint_add(c, ASSAY_LINT_WEIGHT_MIN,
                   l->form != NULL ? ASSAY_HINT : ASSAY_WARNING, l->name,
                   expected, found,
                   "the symmetric weights '%s' of layer '%s' hold %s: kernels "
                   "that pair products in 16 bits expect %s",
                   w->name, l->name, found, expected);
}

void assay_lint_weights(struct assay_linter *c)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];

        if (!assay_lint_has_weights(c, l))
            continue;
        axis(c, l, assay_lint_in(c, l, 1));
        minimum(c, l, assay_lint_in(c, l, 1));
    }
}
