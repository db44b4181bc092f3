/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose accumulators are given ones, of everything but convolutions. */
#include <string.h>

#include "host-tools/fit/hunt.h"
#include "kernels/requant.h"
#include "lib/core/form.h"

static const struct assay_fit_point *point(const struct assay_fit_hunt *h,
                                           size_t k)
{
    return &h->points.v[k % h->points.n];
}

static int64_t clip(const struct assay_fit_hunt *h, unsigned i, int64_t v)
{
    int64_t lo, hi;
    assay_dtype_range(assay_fit_hunt_tensor(h, i)->dtype, &lo, &hi);
    return v < lo ? lo : v > hi ? hi : v;
}

/* The cell of input i that output element `at` reads; broadcast from the
 * right. */
static size_t cell_of(const struct assay_fit_hunt *h, unsigned i, size_t at)
{
    const struct assay_tensor *y = &h->l->slice->tensors[h->y->output];
    const struct assay_tensor *x = assay_fit_hunt_tensor(h, i);
    size_t cell = 0, step = 1;

    for (uint32_t a = y->rank, b = x->rank; a-- > 0 && b-- > 0;) {
        size_t index = at % (size_t)y->dims[a];
        at /= (size_t)y->dims[a];
        cell += x->dims[b] > 1 ? index * step : 0;
        step *= (size_t)x->dims[b];
    }
    return cell;
}

/* What x has to be, so that x and e make the accumulator. */
static int64_t first_of(const struct assay_fit_hunt *h,
                        const struct assay_fit_point *t, int64_t e)
{
    const struct assay_fit_problem *p = &h->l->problem;
    int64_t x = t->acc;

    if (h->y->p.binary.combine == ASSAY_COMBINE_MUL)
        return e ? x / e : 0;
    return p->x_shift
               ? assay_shr(x, (int)p->x_shift[t->channel], ASSAY_ROUND_FLOOR)
               : x;
}

/* Element by element; a cell that is broadcast keeps its first value. */
static void place_binary(struct assay_fit_hunt *h, size_t first)
{
    size_t n = assay_fit_layer_count(h->l, -1);
    size_t bytes[2] = {assay_fit_layer_count(h->l, 0),
                       assay_fit_layer_count(h->l, 1)};
    uint8_t *set = assay_calloc(bytes[0] + bytes[1] + 1, 1);
    bool same = h->y->inputs[0] == h->y->inputs[1];

    for (size_t k = 0; set && k < n; k++) {
        const struct assay_fit_point *t = point(h, first + k);
        size_t a = cell_of(h, 0, k), b = cell_of(h, 1, k);
        int64_t e = clip(h, 1, t->second);

        if (h->bytes[1] && !set[bytes[0] + b] && !same)
            assay_fit_hunt_put(h, 1, b, e);
        set[bytes[0] + b] = 1;
        e = same ? t->second : assay_fit_hunt_get(h, 1, b);
        if (h->bytes[0] && !set[a])
            assay_fit_hunt_put(h, 0, a, clip(h, 0, first_of(h, t, e)));
        set[a] = 1;
    }
    assay_free(set);
}

static void place_values(struct assay_fit_hunt *h, size_t first)
{
    size_t n = assay_fit_layer_count(h->l, 0);
    const struct assay_tensor *x = assay_fit_hunt_tensor(h, 0);
    size_t channels = x->rank ? (size_t)x->dims[x->rank - 1] : 1;
    bool per_channel = h->y->op == ASSAY_OP_PRELU;

    for (size_t k = 0, j = first; k < n; k++, j++) {
        /* The next point of the element's channel, if any. */
        for (size_t i = 0; per_channel && i < h->points.n &&
                           point(h, j)->channel != k % channels;
             i++)
            j++;
        assay_fit_hunt_put(h, 0, k, clip(h, 0, point(h, j)->acc));
    }
}

/* ---- sums ------------------------------------------------------------------ */

/* The element of the output that input element `at` is added to; false: to
 * none or to several. */
static bool sum_of(const struct assay_fit_hunt *h, size_t at, size_t *out)
{
    const struct assay_tensor *x = assay_fit_hunt_tensor(h, 0);
    const struct assay_tensor *y = &h->l->slice->tensors[h->y->output];
    const struct assay_pool_params *p = &h->y->p.pool;
    int64_t index[ASSAY_MAX_RANK];

    for (uint32_t a = x->rank; a-- > 0;) {
        index[a] = (int64_t)(at % (size_t)x->dims[a]);
        at /= (size_t)x->dims[a];
    }
    if (h->y->op == ASSAY_OP_POOL) {
        if (x->rank != 4 || p->kh > p->stride_h + x->dims[1] ||
            p->kw > p->stride_w + x->dims[2])
            return false;
        if (p->kh == x->dims[1] && p->kw == x->dims[2]) {
            index[1] = index[2] = 0;
        } else {
            index[1] = (index[1] + p->pad_top) / p->stride_h;
            index[2] = (index[2] + p->pad_left) / p->stride_w;
        }
        if (index[1] >= y->dims[1] || index[2] >= y->dims[2])
            return false;
    }
    *out = 0;
    for (uint32_t a = 0; a < x->rank; a++)
        if (h->y->op == ASSAY_OP_POOL || !(h->y->p.reduce.axes >> a & 1))
            *out = *out * (size_t)(h->y->op == ASSAY_OP_POOL ? y->dims[a]
                                                             : x->dims[a]) +
                   (size_t)index[a];
    return *out < assay_fit_layer_count(h->l, -1);
}

/* The first cells of each sum hold it all. */
static void place_sums(struct assay_fit_hunt *h, size_t first)
{
    size_t n = assay_fit_layer_count(h->l, 0), out;
    size_t outs = assay_fit_layer_count(h->l, -1);
    int64_t *rest = assay_alloc(outs * sizeof(*rest) + 8);

    for (size_t k = 0; rest && k < outs; k++)
        rest[k] = point(h, first + k)->acc;
    for (size_t k = 0; rest && k < n; k++) {
        int64_t v;
        if (!sum_of(h, k, &out))
            continue;
        v = clip(h, 0, rest[out]);
        assay_fit_hunt_put(h, 0, k, v);
        rest[out] -= v;
    }
    assay_free(rest);
}

/* b is one value in all rows but the last, which is 1; so each row of a makes
 * one sum. */
static void place_matmul(struct assay_fit_hunt *h, size_t first)
{
    const struct assay_tensor *a = assay_fit_hunt_tensor(h, 0);
    const struct assay_tensor *b = assay_fit_hunt_tensor(h, 1);
    size_t k, n, rows;
    int64_t lo, hi, by;

    if (!h->bytes[0] || !h->bytes[1] || a->rank < 2 || b->rank < 2 ||
        h->y->inputs[0] == h->y->inputs[1])
        return;
    assay_dtype_range(b->dtype, &lo, &hi);
    by = first % 2 ? hi : lo;
    k = (size_t)a->dims[a->rank - 1];
    n = (size_t)b->dims[b->rank - 1];
    for (size_t i = 0; i < assay_fit_layer_count(h->l, 1); i++)
        assay_fit_hunt_put(h, 1, i, i / n % k + 1 == k ? 1 : by);
    rows = assay_fit_layer_count(h->l, 0) / k;
    for (size_t r = 0; r < rows; r++) {
        int64_t rest = point(h, first + r)->acc;
        for (size_t i = 0; i < k; i++) {
            int64_t v = clip(h, 0, i + 1 == k ? rest : rest / by);
            assay_fit_hunt_put(h, 0, r * k + i, v);
            rest -= i + 1 == k ? v : v * by;
        }
    }
}

void assay_fit_place(struct assay_fit_hunt *h, size_t first)
{
    if (h->points.n == 0)
        return;
    switch (h->y->op) {
    case ASSAY_OP_CONV2D: assay_fit_place_conv(h, first, false); break;
    case ASSAY_OP_BINARY: place_binary(h, first); break;
    case ASSAY_OP_POOL:
    case ASSAY_OP_REDUCE:
        if (h->bytes[0])
            place_sums(h, first);
        break;
    case ASSAY_OP_MATMUL: place_matmul(h, first); break;
    case ASSAY_OP_UNARY:
    case ASSAY_OP_PRELU:
    case ASSAY_OP_TABLE:
    case ASSAY_OP_SEGMENT_TABLE:
        if (h->bytes[0])
            place_values(h, first);
        break;
    default: break;
    }
}
