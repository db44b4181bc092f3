/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a layer's elements have to be, one at a time, straight from the
 * comments of lib/core/slice.h: no strides that are joined, no rows, no
 * kernels. Programs go through tests/kernels/naive.c.
 */
#include "tests/fuzz/judge_layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/kcheck.h"

typedef __int128 wide;

/* A layer with its tensors and their bytes. */
struct look {
    const struct assay_layer *l;
    const struct assay_tensor *in[3], *y;
    const void *data[3];
};

/* ---- numbers ---------------------------------------------------------------- */

static union assay_value load(const struct assay_tensor *t, const void *data,
                              int64_t i)
{
    union assay_value v = {.i = 0};

    if (t->dtype == ASSAY_F32)
        memcpy(&v.f, (const char *)data + i * 4, sizeof(v.f));
    else
        v.i = kc_element(t->dtype, data, (size_t)i);
    return v;
}

static union assay_value element(const struct look *w, int input, int64_t i)
{
    return load(w->in[input], w->data[input], i);
}

static int64_t floor_shift(wide v, unsigned bits)
{
    wide by = (wide)1 << bits, q = v / by;

    return (int64_t)(q * by > v ? q - 1 : q);
}

/* SHR as a program of one step, the naive one. */
static int64_t shift(int64_t v, int64_t bits, unsigned round)
{
    const struct assay_program p = {
        .n_steps = 1,
        .steps = {{.kind = ASSAY_STEP_SHR,
                   .round = (uint8_t)round,
                   .n = 1,
                   .a = &bits}},
    };

    return kc_naive_program(&p, (union assay_value){.i = v}, 0, 0).i;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t zero_of(const struct assay_tensor *t, int64_t channel)
{
    if (t->quant.n == 0)
        return 0;
    return t->quant.zero_point[t->quant.n > 1 ? channel : 0];
}

static void unravel(int64_t k, uint32_t rank, const int64_t *dims,
                    int64_t *index)
{
    for (uint32_t i = rank; i-- > 0; k /= dims[i])
        index[i] = k % dims[i];
}

/* The element of t at the last of `rank` indices, where axes of 1 repeat. */
static int64_t broadcast(const struct assay_tensor *t, uint32_t rank,
                         const int64_t *index)
{
    int64_t at = 0;

    for (uint32_t i = 0; i < t->rank; i++)
        at =
            at * t->dims[i] + (t->dims[i] == 1 ? 0 : index[rank - t->rank + i]);
    return at;
}

static int64_t channel_of(const struct assay_tensor *y, int64_t k)
{
    return y->rank ? k % y->dims[y->rank - 1] : 0;
}

static union assay_value finish(const struct look *w, union assay_value v,
                                int64_t channel)
{
    return kc_naive_program(&w->l->out_program, v, (size_t)channel, 0);
}

/* ---- movement and tables ----------------------------------------------------- */

static union assay_value want_view(const struct look *w, int64_t k)
{
    const struct assay_view_params *p = &w->l->p.view;
    int64_t index[ASSAY_MAX_RANK], at = p->offset;

    unravel(k, p->rank, p->dims, index);
    for (uint32_t i = 0; i < p->rank; i++)
        at += index[i] * p->strides[i];
    return element(w, 0, at);
}

static union assay_value want_gather(const struct look *w, int64_t k)
{
    const struct assay_tensor *x = w->in[0], *indices = w->in[1];
    int64_t inner = 1, n = 1, cells = x->dims[w->l->p.gather.axis], chosen;

    for (uint32_t i = (uint32_t)w->l->p.gather.axis + 1; i < x->rank; i++)
        inner *= x->dims[i];
    for (uint32_t i = 0; i < indices->rank; i++)
        n *= indices->dims[i];
    chosen = element(w, 1, k / inner % n).i;
    chosen = chosen < 0 ? chosen + cells : chosen;
    return element(w, 0, (k / inner / n * cells + chosen) * inner + k % inner);
}

static union assay_value want_table(const struct look *w, int64_t k)
{
    int64_t x = element(w, 0, k).i;

    return element(w, 1, w->in[0]->dtype == ASSAY_S8 ? x + 128 : x);
}

static int64_t segment_value(const struct look *w, int64_t v)
{
    const struct assay_segment_params *p = &w->l->p.segment;
    int64_t row[ASSAY_SEGMENT_FIELDS], t, i, f;
    int s = 0;

    while (s < ASSAY_SEGMENTS - 1 &&
           element(w, 2, s * ASSAY_SEGMENT_FIELDS).i < v)
        s++;
    for (int j = 0; j < ASSAY_SEGMENT_FIELDS; j++)
        row[j] = element(w, 2, s * ASSAY_SEGMENT_FIELDS + j).i;
    t = shift(v * row[1] + row[2] * ((int64_t)1 << row[3]), row[4], p->round);
    if (s == 0 || s == ASSAY_SEGMENTS - 1)
        return clamp(t, INT16_MIN, INT16_MAX);
    t = clamp(t, 0, ASSAY_SEGMENT_ENTRIES * 256 - 1);
    i = t / 256;
    f = t % 256;
    s = (s - 1) * ASSAY_SEGMENT_ENTRIES;
    t = element(w, 1, s + i).i * (256 - f) +
        element(w, 1, s + clamp(i + 1, 0, ASSAY_SEGMENT_ENTRIES - 1)).i * f;
    return shift(t, 8, p->mix_round);
}

static union assay_value want_segment(const struct look *w, int64_t k)
{
    uint8_t symmetry = w->l->p.segment.symmetry;
    union assay_value v = element(w, 0, k);
    bool turned = v.i < 0 && symmetry != ASSAY_SYMMETRY_NONE;

    v.i = segment_value(w, turned ? clamp(-v.i, 0, INT16_MAX) : v.i);
    if (turned && symmetry == ASSAY_SYMMETRY_ORIGIN)
        v.i = clamp(-v.i, INT16_MIN, INT16_MAX);
    return finish(w, v, 0);
}

/* ---- sums --------------------------------------------------------------------- */

static float float_max(float a, float b)
{
    if (a != a || b != b)
        return NAN;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

static union assay_value combine(enum assay_combine how, float k,
                                 union assay_value a, union assay_value b)
{
    union assay_value v = {.i = 0};

    switch (how) {
    case ASSAY_COMBINE_ADD: v.i = a.i + b.i; break;
    case ASSAY_COMBINE_SUB: v.i = a.i - b.i; break;
    case ASSAY_COMBINE_MUL: v.i = a.i * b.i; break;
    case ASSAY_COMBINE_FADD: v.f = a.f + b.f; break;
    case ASSAY_COMBINE_FSUB: v.f = a.f - b.f; break;
    case ASSAY_COMBINE_FMUL: v.f = a.f * b.f; break;
    case ASSAY_COMBINE_FDIV: v.f = a.f / b.f; break;
    case ASSAY_COMBINE_FFMA: v.f = fmaf(b.f, k, a.f); break;
    case ASSAY_COMBINE_MAX: v.i = a.i > b.i ? a.i : b.i; break;
    case ASSAY_COMBINE_MIN: v.i = a.i < b.i ? a.i : b.i; break;
    case ASSAY_COMBINE_FMAX: v.f = float_max(a.f, b.f); break;
    case ASSAY_COMBINE_FMIN: v.f = -float_max(-a.f, -b.f); break;
    }
    return v;
}

static union assay_value want_binary(const struct look *w, int64_t k)
{
    const struct assay_binary_params *p = &w->l->p.binary;
    int64_t index[ASSAY_MAX_RANK], c = channel_of(w->y, k);
    union assay_value v[2];

    unravel(k, w->y->rank, w->y->dims, index);
    for (int i = 0; i < 2; i++) {
        v[i] = element(w, i, broadcast(w->in[i], w->y->rank, index));
        v[i] = kc_naive_program(&w->l->in_programs[i], v[i], (size_t)c, 0);
    }
    return finish(w, combine(p->combine, p->k, v[0], v[1]), c);
}

static union assay_value want_select(const struct look *w, int64_t k)
{
    int64_t index[ASSAY_MAX_RANK];
    int i;

    unravel(k, w->y->rank, w->y->dims, index);
    i = element(w, 0, broadcast(w->in[0], w->y->rank, index)).i ? 1 : 2;
    return element(w, i, broadcast(w->in[i], w->y->rank, index));
}

static union assay_value want_prelu(const struct look *w, int64_t k)
{
    union assay_value v = element(w, 0, k);
    bool upper = w->in[0]->dtype == ASSAY_F32 ? v.f >= 0 : v.i >= 0;

    return kc_naive_program(&w->l->in_programs[upper ? 0 : 1], v,
                            (size_t)channel_of(w->y, k), 0);
}

static union assay_value join(const struct look *w, union assay_value v,
                              union assay_value e, int64_t place,
                              union assay_value *most)
{
    bool is_float = w->in[0]->dtype == ASSAY_F32;

    switch (w->l->p.reduce.kind) {
    case ASSAY_REDUCE_SUM: return combine(ASSAY_COMBINE_ADD, 0, v, e);
    case ASSAY_REDUCE_FSUM: return combine(ASSAY_COMBINE_FADD, 0, v, e);
    case ASSAY_REDUCE_ARG_MAX:
        if (place == 0 || e.i > most->i) {
            *most = e;
            v.i = place;
        }
        return v;
    case ASSAY_REDUCE_MIN:
        return place == 0
                   ? e
                   : combine(is_float ? ASSAY_COMBINE_FMIN : ASSAY_COMBINE_MIN,
                             0, v, e);
    default:
        return place == 0
                   ? e
                   : combine(is_float ? ASSAY_COMBINE_FMAX : ASSAY_COMBINE_MAX,
                             0, v, e);
    }
}

static union assay_value want_reduce(const struct look *w, int64_t k)
{
    const struct assay_tensor *x = w->in[0];
    int64_t dims[2][ASSAY_MAX_RANK] = {0}, strides[2][ASSAY_MAX_RANK];
    int64_t index[ASSAY_MAX_RANK], stride = 1, n = 1, base = 0;
    uint32_t rank[2] = {0, 0};
    union assay_value v = {.i = 0}, most = v;

    for (uint32_t i = 0; i < x->rank; i++) { /* kept, reduced */
        uint32_t r = w->l->p.reduce.axes >> i & 1;

        stride = 1;
        for (uint32_t j = i + 1; j < x->rank; j++)
            stride *= x->dims[j];
        dims[r][rank[r]] = x->dims[i];
        strides[r][rank[r]++] = stride;
        n *= r ? x->dims[i] : 1;
    }
    unravel(k, rank[0], dims[0], index);
    for (uint32_t i = 0; i < rank[0]; i++)
        base += index[i] * strides[0][i];
    for (int64_t place = 0; place < n; place++) {
        int64_t at = base;

        unravel(place, rank[1], dims[1], index);
        for (uint32_t i = 0; i < rank[1]; i++)
            at += index[i] * strides[1][i];
        v = join(w, v, element(w, 0, at), place, &most);
    }
    return finish(w, v, 0);
}

/* 32 bits wrap, unless x is int16. */
static union assay_value accumulated(const struct look *w, wide sum)
{
    int64_t low = (int64_t)(uint64_t)sum;

    return (union assay_value){
        .i = w->in[0]->dtype == ASSAY_S16 ? low : (int32_t)(uint32_t)low};
}

static union assay_value want_matmul(const struct look *w, int64_t k)
{
    const struct assay_tensor *a = w->in[0], *b = w->in[1], *y = w->y;
    int64_t index[ASSAY_MAX_RANK], inner = a->dims[a->rank - 1], row, column;
    wide sum = 0;

    unravel(k, y->rank, y->dims, index);
    row = index[y->rank - 2];
    column = index[y->rank - 1];
    for (int64_t i = 0; i < inner; i++) {
        index[y->rank - 2] = row;
        index[y->rank - 1] = i;
        int64_t at = element(w, 0, broadcast(a, y->rank, index)).i;

        index[y->rank - 2] = i;
        index[y->rank - 1] = column;
        int64_t bt = element(w, 1, broadcast(b, y->rank, index)).i;

        sum += (wide)(at - zero_of(a, 0)) * (bt - zero_of(b, 0));
    }
    return finish(w, accumulated(w, sum), column);
}

/* Which element of x meets tap `tap` in output cell `out`; -1: none. */
static int64_t met(int64_t out, int64_t pad, int64_t tap, int64_t dilation,
                   int64_t stride, int64_t size)
{
    int64_t at = out + pad - tap * dilation;

    return at < 0 || at % stride || at / stride >= size ? -1 : at / stride;
}

static union assay_value want_transposed(const struct look *w, int64_t k)
{
    const struct assay_conv2d_params *p = &w->l->p.conv2d;
    const int64_t *x = w->in[0]->dims, *wd = w->in[1]->dims;
    int64_t index[4], group, at, wt;
    wide sum = 0;

    unravel(k, 4, w->y->dims, index);
    group = index[3] / (wd[0] / p->groups);
    if (p->has_bias)
        sum = element(w, 2, index[3]).i;
    for (int64_t tap = 0; tap < wd[1] * wd[2]; tap++) {
        int64_t i = met(index[1], p->pad_top, tap / wd[2], p->dilation_h,
                        p->stride_h, x[1]);
        int64_t j = met(index[2], p->pad_left, tap % wd[2], p->dilation_w,
                        p->stride_w, x[2]);

        for (int64_t c = 0; i >= 0 && j >= 0 && c < wd[3]; c++) {
            at = ((index[0] * x[1] + i) * x[2] + j) * x[3] + group * wd[3] + c;
            wt = (index[3] * wd[1] * wd[2] + tap) * wd[3] + c;
            sum += (wide)(element(w, 0, at).i - zero_of(w->in[0], 0)) *
                   (element(w, 1, wt).i - zero_of(w->in[1], index[3]));
        }
    }
    return finish(w, accumulated(w, sum), index[3]);
}

/* ---- sampling ------------------------------------------------------------------ */

/* A pixel of x; outside the image 0. */
static int64_t pixel(const struct look *w, int64_t n, int64_t row,
                     int64_t column, int64_t c)
{
    const int64_t *x = w->in[0]->dims;

    if (row < 0 || row >= x[1] || column < 0 || column >= x[2])
        return 0;
    return element(w, 0, ((n * x[1] + row) * x[2] + column) * x[3] + c).i;
}

static union assay_value want_resize(const struct look *w, int64_t k)
{
    const struct assay_resize_params *p = &w->l->p.resize;
    const int64_t step[2] = {p->step_h, p->step_w};
    const int64_t start[2] = {p->start_h, p->start_w};
    int64_t index[4], cell[2][2], f[2], one = (int64_t)1 << p->weight_bits;
    union assay_value v = {.i = 0};

    unravel(k, 4, w->y->dims, index);
    for (int a = 0; a < 2; a++) {
        int64_t last = w->in[0]->dims[1 + a] - 1;
        int64_t q = floor_shift((wide)index[1 + a] * step[a] + start[a],
                                p->decimal_bits - p->weight_bits);
        int64_t at = floor_shift(q, p->weight_bits);

        f[a] = q - at * one;
        cell[a][0] = clamp(at, 0, last);
        cell[a][1] = clamp(at + 1, 0, last);
    }
    for (int i = 0; i < 2; i++) {
        int64_t row = cell[0][i];
        int64_t mix =
            pixel(w, index[0], row, cell[1][0], index[3]) * (one - f[1]) +
            pixel(w, index[0], row, cell[1][1], index[3]) * f[1];

        v.i += floor_shift(mix, p->mid_shift) * (i ? f[0] : one - f[0]);
    }
    return finish(w, v, index[3]);
}

static union assay_value want_grid(const struct look *w, int64_t k)
{
    const struct assay_grid_sample_params *p = &w->l->p.grid_sample;
    int64_t index[4], at[2], one = (int64_t)1 << p->coord_shift, cell[2], f[2];
    union assay_value v = {.i = 0};

    unravel(k, 4, w->y->dims, index);
    for (int a = 0; a < 2; a++) {
        int64_t pair = k / w->y->dims[3] * 2;

        at[a] = element(w, 1, pair + (p->xy ? 1 - a : a)).i;
        at[a] += p->absolute ? 0 : index[1 + a] * one;
        if (p->padding == ASSAY_GRID_BORDER)
            at[a] = clamp(at[a], 0, (w->in[0]->dims[1 + a] - 1) * one);
        cell[a] = floor_shift(at[a], p->coord_shift);
        f[a] = at[a] - cell[a] * one;
        if (p->nearest) /* half up */
            cell[a] += 2 * f[a] >= one && one > 1;
    }
    if (p->nearest)
        v.i = pixel(w, index[0], cell[0], cell[1], index[3]);
    for (int i = 0; i < 4 && !p->nearest; i++)
        v.i += pixel(w, index[0], cell[0] + i / 2, cell[1] + i % 2, index[3]) *
               (i / 2 ? f[0] : one - f[0]) * (i % 2 ? f[1] : one - f[1]);
    return finish(w, v, index[3]);
}

/* ---- the judge ------------------------------------------------------------------- */

typedef union assay_value want_fn(const struct look *w, int64_t k);

static want_fn *const WANT[] = {
    [ASSAY_OP_BINARY] = want_binary,
    [ASSAY_OP_VIEW] = want_view,
    [ASSAY_OP_GATHER] = want_gather,
    [ASSAY_OP_REDUCE] = want_reduce,
    [ASSAY_OP_MATMUL] = want_matmul,
    [ASSAY_OP_CONV_TRANSPOSE2D] = want_transposed,
    [ASSAY_OP_PRELU] = want_prelu,
    [ASSAY_OP_TABLE] = want_table,
    [ASSAY_OP_SEGMENT_TABLE] = want_segment,
    [ASSAY_OP_RESIZE] = want_resize,
    [ASSAY_OP_GRID_SAMPLE] = want_grid,
    [ASSAY_OP_SELECT] = want_select,
};
enum { OPS = sizeof(WANT) / sizeof(WANT[0]) };

static unsigned long layers_judged[OPS], elements_judged[OPS];

static void print_counts(void)
{
    for (int i = 0; i < OPS; i++)
        if (WANT[i])
            fprintf(stderr, "%-18s %8lu layers %10lu elements judged\n",
                    assay_op_name((enum assay_op)i), layers_judged[i],
                    elements_judged[i]);
}

static bool is_same(enum assay_dtype dtype, union assay_value a,
                    union assay_value b)
{
    if (dtype != ASSAY_F32)
        return a.i == b.i;
    return memcmp(&a.f, &b.f, sizeof(a.f)) == 0 || (a.f != a.f && b.f != b.f);
}

void judge_layer(const struct assay_slice *s, uint32_t layer,
                 const void *const *values, const void *got)
{
    struct look w = {.l = &s->layers[layer]};
    int64_t n = 1;
    static bool told;

    if (!judge_is_on || (size_t)w.l->op >= OPS || !WANT[w.l->op])
        return;
    if (!told && getenv("FUZZ_COUNTS"))
        atexit(print_counts);
    told = true;
    w.y = &s->tensors[w.l->output];
    for (uint32_t i = 0; i < w.l->n_inputs && i < 3; i++) {
        w.in[i] = &s->tensors[w.l->inputs[i]];
        w.data[i] = w.in[i]->data ? w.in[i]->data : values[w.l->inputs[i]];
    }
    for (uint32_t i = 0; i < w.y->rank; i++)
        n *= w.y->dims[i];
    for (int64_t k = 0; k < n; k++) {
        union assay_value want = WANT[w.l->op](&w, k);
        union assay_value found = load(w.y, got, k);

        if (is_same(w.y->dtype, want, found))
            continue;
        fprintf(stderr,
                "%s '%s': element %lld is %lld (%g), its definition gives "
                "%lld (%g)\n",
                assay_op_name(w.l->op), w.l->name, (long long)k,
                (long long)found.i, (double)found.f, (long long)want.i,
                (double)want.f);
        abort();
    }
    layers_judged[w.l->op]++;
    elements_judged[w.l->op] += (unsigned long)n;
}
