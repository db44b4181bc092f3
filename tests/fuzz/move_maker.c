/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that choose, turn, gather and join elements of any shape. */
#include <string.h>

#include "lib/engine/range.h"
#include "tests/fuzz/slice_maker.h"

static int64_t count(const struct assay_tensor *t)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* Steps of x's own axes, of its elements, or anything near. */
static int64_t any_stride(struct choices *c, const struct assay_tensor *x)
{
    int64_t stride = choose(c, 0, 3);

    if (x->rank && chance(c, 60)) {
        stride = 1;
        for (uint32_t i = (uint32_t)choose(c, 1, x->rank); i < x->rank; i++)
            stride *= x->dims[i];
        stride *= choose(c, 1, chance(c, 20) ? 2 : 1);
    }
    return chance(c, 30) ? -stride : stride;
}

/* Indices lo..hi that the view reaches from offset 0. */
static void reach(const struct assay_view_params *p, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (uint32_t i = 0; i < p->rank; i++) {
        int64_t far = (p->dims[i] - 1) * p->strides[i];

        *lo += far < 0 ? far : 0;
        *hi += far > 0 ? far : 0;
    }
}

bool make_view(struct work *w)
{
    uint32_t in = find_input(w, UINT32_MAX, 0xfe);
    struct assay_view_params p = {0};
    int64_t lo, hi, n, flat = 1;

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);

    n = count(&x);
    p.rank = (uint32_t)choose(w->c, 1, chance(w->c, 15) ? 10 : 5);
    for (uint32_t i = 0; i < p.rank; i++) {
        p.dims[i] = choose(w->c, 1, p.rank > 5 ? 2 : 5);
        if (i + 1 == p.rank && chance(w->c, 20)) /* the vector tails */
            p.dims[i] = choose(w->c, 1, p.rank > 3 ? 8 : MAX_CHANNELS);
        p.strides[i] = any_stride(w->c, &x);
        flat *= p.dims[i];
    }
    /* An axis after the other stands still until all fits. */
    for (reach(&p, &lo, &hi); hi - lo >= n; reach(&p, &lo, &hi))
        p.strides[choose(w->c, 0, p.rank - 1)] = choose(w->c, 0, 1);
    p.offset = chance(w->c, 50) ? -lo : n - 1 - hi;
    if (chance(w->c, 30))
        p.offset = choose(w->c, -lo, n - 1 - hi);
    /* An axis of one may have any stride. */
    for (uint32_t i = 0; i < p.rank; i++)
        if (p.dims[i] == 1 && chance(w->c, 20))
            p.strides[i] = chance(w->c, 50) ? INT64_MAX : INT64_MIN;
    bool joined = chance(w->c, 20);
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_VIEW, 1, &in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, x.dtype,
                             joined ? 1 : p.rank, joined ? &flat : p.dims));

    if (!l)
        return false;
    l->p.view = p;
    return true;
}

/* Indices from both ends, negative ones too. */
static uint32_t add_indices(struct work *w, int64_t cells, uint32_t rank,
                            int64_t *dims)
{
    bool wide = chance(w->c, 50);
    int64_t n = 1, v[64];
    int32_t narrow[64];

    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = choose(w->c, 1, rank == 1 ? 40 : 6);
        n *= dims[i];
    }
    for (int64_t i = 0; i < n && i < 64; i++) {
        v[i] = chance(w->c, 30) ? (chance(w->c, 50) ? -cells : cells - 1)
                                : choose(w->c, -cells, cells - 1);
        narrow[i] = (int32_t)v[i];
    }
    return add_constant_of(w, wide ? ASSAY_S64 : ASSAY_S32, rank, dims,
                           wide ? (const void *)v : narrow);
}

bool make_gather(struct work *w)
{
    int64_t cells[2], dims[ASSAY_MAX_RANK];
    uint32_t in[2], many = (uint32_t)choose(w->c, 0, 2), axis, rank = 0;

    in[0] = find_input(w, (uint32_t)choose(w->c, 1, 4), 0xfe);
    if (in[0] == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in[0]);

    axis = (uint32_t)choose(w->c, 0, x.rank - 1);
    in[1] = add_indices(w, x.dims[axis], many, cells);
    for (uint32_t i = 0; i < x.rank; i++) {
        if (i != axis)
            dims[rank++] = x.dims[i];
        for (uint32_t k = 0; i == axis && k < many; k++)
            dims[rank++] = cells[k];
    }
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_GATHER, 2, in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, x.dtype, rank, dims));

    if (!l)
        return false;
    l->p.gather.axis = (int32_t)axis;
    return true;
}

/* What is left for the program: as exact as the plan has it. */
static struct assay_interval reduced(enum assay_reduce_kind kind,
                                     enum assay_dtype dtype, int64_t n)
{
    struct assay_interval v = assay_interval_of(dtype);

    if (kind == ASSAY_REDUCE_ARG_MAX)
        return assay_interval_int(0, n - 1);
    if (kind == ASSAY_REDUCE_SUM) {
        v.lo *= n;
        v.hi *= n;
    }
    return v;
}

bool make_reduce(struct work *w)
{
    static const uint8_t ints[] = {ASSAY_REDUCE_SUM, ASSAY_REDUCE_MAX,
                                   ASSAY_REDUCE_MIN, ASSAY_REDUCE_ARG_MAX};
    static const uint8_t floats[] = {ASSAY_REDUCE_FSUM, ASSAY_REDUCE_MAX,
                                     ASSAY_REDUCE_MIN, ASSAY_REDUCE_FSUM};
    uint32_t in = find_input(w, (uint32_t)choose(w->c, 1, 5), 0xfe), rank = 0;
    int64_t dims[ASSAY_MAX_RANK], n = 1;
    bool stays = chance(w->c, 50);

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);
    int64_t which = choose(w->c, 0, 3);
    uint8_t kind = x.dtype == ASSAY_F32 ? floats[which] : ints[which];
    unsigned axes = (unsigned)choose(w->c, 1, (1 << x.rank) - 1);

    if (kind == ASSAY_REDUCE_ARG_MAX)
        axes = 1u << choose(w->c, 0, x.rank - 1);
    if (kind == ASSAY_REDUCE_SUM && x.dtype == ASSAY_S64) /* leaves 64 bits */
        kind = ASSAY_REDUCE_MIN;
    for (uint32_t i = 0; i < x.rank; i++) {
        bool is_reduced = axes >> i & 1;

        n *= is_reduced ? x.dims[i] : 1;
        if (!is_reduced || stays)
            dims[rank++] = is_reduced ? 1 : x.dims[i];
    }
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_REDUCE, 1, &in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, any_dtype(w->c), rank, dims));

    if (!l)
        return false;
    l->p.reduce.kind = kind;
    l->p.reduce.axes = (uint16_t)axes;
    return layer_program(
        w, l, 1, reduced((enum assay_reduce_kind)kind, x.dtype, n), NULL);
}

/* b: the batches of a, each as long, 1, or longer where a has 1. */
bool make_matmul(struct work *w)
{
    uint32_t in[2], drop;
    enum assay_dtype b_dtype = chance(w->c, 60) ? ASSAY_S8 : ASSAY_U8;

    in[0] = find_input(w, (uint32_t)choose(w->c, 2, 5),
                       1u << ASSAY_S8 | 1u << ASSAY_U8 | 1u << ASSAY_S16);
    if (in[0] == UINT32_MAX)
        return false;
    const struct assay_tensor a = *made_tensor(w, in[0]);
    struct assay_tensor b = a, y = a;

    drop = (uint32_t)choose(w->c, 0, a.rank - 2);
    b.rank -= drop;
    for (uint32_t i = 0; i + 2 < b.rank; i++) {
        b.dims[i] = chance(w->c, 30) ? 1 : a.dims[i + drop];
        if (a.dims[i + drop] == 1)
            b.dims[i] = choose(w->c, 1, 3);
        if (b.dims[i] > 1)
            y.dims[i + drop] = b.dims[i];
    }
    b.dims[b.rank - 2] = a.dims[a.rank - 1];
    b.dims[b.rank - 1] = choose(w->c, 1, chance(w->c, 40) ? MAX_CHANNELS : 8);
    y.dims[y.rank - 1] = b.dims[b.rank - 1];
    if (chance(w->c, 40))
        in[1] = add_constant(w, b_dtype, b.rank, b.dims);
    else
        in[1] = add_tensor(w, ASSAY_ROLE_INPUT, b_dtype, b.rank, b.dims);
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_MATMUL, 2, in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, fused_dtype(w->c),
                             y.rank, y.dims));

    if (!l)
        return false;
    /* More than any accumulator of such a layer can hold. */
    return layer_program(
        w, l, channels_of(&y),
        a.dtype == ASSAY_S16
            ? assay_interval_int(-((int64_t)1 << 40), (int64_t)1 << 40)
            : assay_interval_int(INT32_MIN, INT32_MAX),
        NULL);
}
