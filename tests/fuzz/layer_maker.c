/* SPDX-License-Identifier: Apache-2.0 */
/* One function an operator: a layer that fits what is there, or false. */
#include <math.h>
#include <string.h>

#include "lib/engine/range.h"
#include "tests/fuzz/slice_maker.h"

static void fill_intervals(struct assay_interval *v, size_t n,
                           struct assay_interval of)
{
    for (size_t i = 0; i < n; i++)
        v[i] = of;
}

size_t channels_of(const struct assay_tensor *t)
{
    return t->rank ? (size_t)t->dims[t->rank - 1] : 1;
}

bool layer_program(struct work *w, struct assay_layer *l, size_t channels,
                   struct assay_interval of,
                   const struct assay_interval *second)
{
    struct assay_interval *v =
        assay_arena_array(w->s->arena, channels, sizeof(*v));

    if (!v)
        return false;
    fill_intervals(v, channels, of);
    make_program(w->c, w->s, &l->out_program, channels, v, second,
                 made_tensor(w, l->output)->dtype);
    return true;
}

bool layer_in_programs(struct work *w, struct assay_layer *l, uint32_t n)
{
    l->in_programs = assay_arena_array(w->s->arena, n, sizeof(*l->in_programs));
    l->n_in_programs = n;
    return l->in_programs != NULL;
}

/* kernel, stride, dilation, pads of one axis: *out cells of output. */
struct axis {
    int32_t k, stride, dilation, before, after;
};

static struct axis choose_axis(struct choices *c, int64_t in, int64_t *out)
{
    struct axis a = {.k = (int32_t)choose(c, 1, 4),
                     .stride = (int32_t)choose(c, 1, 3),
                     .dilation = (int32_t)choose(c, 1, chance(c, 20) ? 3 : 1)};
    int32_t extent = (a.k - 1) * a.dilation + 1;

    a.before = (int32_t)choose(c, 0, extent - 1);
    a.after = (int32_t)choose(c, 0, extent - 1);
    if (in + a.before + a.after < extent) {
        a.k = 1;
        extent = 1;
        a.before = a.after = 0;
    }
    int64_t room = in + a.before + a.after - extent;

    *out = room / a.stride + 1;
    if (chance(c, 20)) /* the ceil formula */
        *out = (room + a.stride - 1) / a.stride + 1;
    return a;
}

bool make_conv2d(struct work *w)
{
    uint32_t in[4], n = 0;
    struct axis h, v;
    int64_t y[4], wd[4];
    unsigned weights = chance(w->c, 50) ? ASSAY_S8 : ASSAY_U8;

    in[n++] =
        find_input(w, 4, 1u << ASSAY_S8 | 1u << ASSAY_U8 | 1u << ASSAY_S16);
    if (in[0] == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in[0]);
    bool bias = chance(w->c, 60), second = chance(w->c, 40);
    int64_t groups = chance(w->c, 40) ? x.dims[3] : choose(w->c, 1, 4);

    if (x.dims[3] % groups)
        groups = 1;
    h = choose_axis(w->c, x.dims[1], &y[1]);
    v = choose_axis(w->c, x.dims[2], &y[2]);
    y[0] = x.dims[0];
    y[3] = groups * choose(w->c, 1, groups > 1 ? 2 : MAX_CHANNELS);
    wd[0] = y[3];
    wd[1] = h.k;
    wd[2] = v.k;
    wd[3] = x.dims[3] / groups;
    in[n++] = add_constant(w, (enum assay_dtype)weights, 4, wd);
    if (in[1] != UINT32_MAX && chance(w->c, 60))
        quantize_tensor(w, made_tensor(w, in[1]),
                        chance(w->c, 50) ? (uint32_t)y[3] : 1, 0);
    if (bias)
        in[n++] = add_constant(w, ASSAY_S32, 1, &y[3]);
    struct assay_interval e = assay_interval_int(0, 0);

    if (second) {
        in[n] = add_tensor(w, ASSAY_ROLE_INPUT,
                           (enum assay_dtype)choose(w->c, ASSAY_S8, ASSAY_S32),
                           4, y);
        if (in[n] != UINT32_MAX)
            e = assay_interval_of(made_tensor(w, in[n])->dtype);
        n++;
    }
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_CONV2D, n, in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, fused_dtype(w->c), 4, y));

    if (!l)
        return false;
    l->p.conv2d = (struct assay_conv2d_params){
        h.stride, v.stride, h.dilation,      v.dilation, h.before, v.before,
        h.after,  v.after,  (int32_t)groups, bias,       second};
    /* More than any accumulator of such a layer can hold. */
    return layer_program(
        w, l, (size_t)y[3],
        x.dtype == ASSAY_S16
            ? assay_interval_int(-((int64_t)1 << 40), (int64_t)1 << 40)
            : assay_interval_int(INT32_MIN, INT32_MAX),
        second ? &e : NULL);
}

bool make_gemm(struct work *w)
{
    uint32_t in[3], n = 2;
    int64_t wd[2];

    in[0] = find_input(w, (uint32_t)choose(w->c, 1, 3),
                       1u << ASSAY_S8 | 1u << ASSAY_U8 | 1u << ASSAY_S16);
    if (in[0] == UINT32_MAX)
        return false;
    struct assay_tensor x = *made_tensor(w, in[0]);

    wd[0] = choose(w->c, 1, MAX_CHANNELS);
    wd[1] = x.dims[x.rank - 1];
    in[1] = add_constant(w, chance(w->c, 50) ? ASSAY_S8 : ASSAY_U8, 2, wd);
    if (chance(w->c, 50))
        in[n++] = add_constant(w, ASSAY_S32, 1, wd);
    x.dims[x.rank - 1] = wd[0];
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_GEMM, n, in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, fused_dtype(w->c),
                             x.rank, x.dims));

    if (!l)
        return false;
    return layer_program(
        w, l, (size_t)wd[0],
        x.dtype == ASSAY_S16
            ? assay_interval_int(-((int64_t)1 << 40), (int64_t)1 << 40)
            : assay_interval_int(INT32_MIN, INT32_MAX),
        NULL);
}

bool make_unary(struct work *w)
{
    uint32_t in = find_input(w, UINT32_MAX, 0xfe);

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_UNARY, 1, &in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, any_dtype(w->c), x.rank, x.dims));

    return l && layer_program(w, l, channels_of(&x), assay_interval_of(x.dtype),
                              NULL);
}

static enum assay_combine any_combine(struct choices *c, bool floats)
{
    static const uint8_t ints[] = {ASSAY_COMBINE_ADD, ASSAY_COMBINE_SUB,
                                   ASSAY_COMBINE_MUL, ASSAY_COMBINE_MAX,
                                   ASSAY_COMBINE_MIN};

    if (!floats)
        return (enum assay_combine)ints[choose(c, 0, 4)];
    if (chance(c, 30))
        return chance(c, 50) ? ASSAY_COMBINE_FMAX : ASSAY_COMBINE_FMIN;
    return (enum assay_combine)choose(c, ASSAY_COMBINE_FADD,
                                      ASSAY_COMBINE_FFMA);
}

static enum assay_dtype binary_dtype(struct choices *c, bool is_short)
{
    if (!is_short)
        return any_dtype(c);
    return chance(c, 50) ? ASSAY_S8 : ASSAY_U8;
}

static bool binary_programs(struct work *w, struct assay_layer *l, size_t n,
                            bool is_short, bool floats)
{
    struct assay_interval v[2][MAX_CHANNELS];
    enum assay_dtype dtype = made_tensor(w, l->output)->dtype;
    struct assay_err err;

    if (n > MAX_CHANNELS || !layer_in_programs(w, l, 2))
        return false;
    for (int i = 0; i < 2; i++) {
        fill_intervals(v[i], n,
                       assay_interval_of(made_tensor(w, l->inputs[i])->dtype));
        if (is_short)
            make_operand(w->c, w->s, &l->in_programs[i], n, v[i], floats);
        else
            make_program(w->c, w->s, &l->in_programs[i], n, v[i], NULL,
                         floats ? ASSAY_F32 : 0);
    }
    for (size_t i = 0; i < n; i++)
        if (assay_combine_range(l->p.binary.combine, l->p.binary.k, &v[0][i],
                                &v[1][i], &err) < 0)
            return false;
    if (is_short && chance(w->c, 70))
        make_short_end(w->c, w->s, &l->out_program, n, v[0], dtype);
    else
        make_program(w->c, w->s, &l->out_program, n, v[0], NULL, dtype);
    return true;
}

bool make_binary(struct work *w)
{
    uint32_t in[2];
    bool is_short = chance(w->c, 35); /* of bytes to bytes */

    in[0] = find_input(w, (uint32_t)choose(w->c, 0, 4),
                       is_short ? 1u << ASSAY_S8 | 1u << ASSAY_U8 : 0xfe);
    if (in[0] == UINT32_MAX)
        return false;
    struct assay_tensor y = *made_tensor(w, in[0]), b = y;
    uint32_t drop = (uint32_t)choose(w->c, 0, chance(w->c, 30) ? y.rank : 0);

    b.rank -= drop;
    for (uint32_t i = 0; i < b.rank; i++)
        b.dims[i] = chance(w->c, 20) ? 1 : y.dims[i + drop];
    in[1] = add_tensor(w, ASSAY_ROLE_INPUT, binary_dtype(w->c, is_short),
                       b.rank, b.dims);
    if (chance(w->c, 15)) /* a layer may read one tensor twice */
        in[1] = in[0];
    if (in[1] == UINT32_MAX)
        return false;
    if (chance(w->c, 40)) {
        uint32_t t = in[0];

        in[0] = in[1];
        in[1] = t;
    }
    bool floats = chance(w->c, 50);
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_BINARY, 2, in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION,
                             binary_dtype(w->c, is_short), y.rank, y.dims));

    if (!l)
        return false;
    l->p.binary.combine = any_combine(w->c, floats);
    l->p.binary.k = (float)choose(w->c, -100, 100) / 16.0f;
    return binary_programs(w, l, channels_of(&y), is_short, floats);
}

bool make_pool(struct work *w)
{
    bool max = chance(w->c, 40), fsum = chance(w->c, 40);
    uint32_t in = find_input(w, 4, max || fsum ? 0xfe : 0x3e);
    struct axis h, v;

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);
    bool plain = max && chance(w->c, 50);
    int64_t y[4] = {x.dims[0], 0, 0, x.dims[3]};

    h = choose_axis(w->c, x.dims[1], &y[1]);
    v = choose_axis(w->c, x.dims[2], &y[2]);
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_POOL, 1, &in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION,
                             plain ? x.dtype : any_dtype(w->c), 4, y));

    if (!l)
        return false;
    l->p.pool =
        (struct assay_pool_params){max ? ASSAY_POOL_MAX : ASSAY_POOL_AVG,
                                   fsum               ? ASSAY_SUM_F32
                                   : chance(w->c, 50) ? ASSAY_SUM_INT
                                                      : ASSAY_SUM_RAW,
                                   (uint8_t)choose(w->c, 0, fsum ? 1 : 2),
                                   (uint8_t)choose(w->c, 0, 7),
                                   chance(w->c, 40),
                                   h.k,
                                   v.k,
                                   h.stride,
                                   v.stride,
                                   h.dilation,
                                   v.dilation,
                                   h.before,
                                   v.before,
                                   h.after,
                                   v.after};
    if (plain)
        return true;
    struct assay_interval of = assay_interval_of(x.dtype);
    struct assay_interval any = assay_interval_of(ASSAY_F32);

    if (!max && fsum) {
        struct assay_interval cell[MAX_CHANNELS];

        if (x.dims[3] > MAX_CHANNELS)
            return false;
        fill_intervals(cell, (size_t)x.dims[3], of);
        if (!layer_in_programs(w, l, 1))
            return false;
        make_program(w->c, w->s, l->in_programs, (size_t)x.dims[3], cell, NULL,
                     ASSAY_F32);
        of = any;
    } else if (!max) {
        of = assay_interval_int(-((int64_t)1 << 40), (int64_t)1 << 40);
        if (l->p.pool.div == ASSAY_DIV_F32)
            of = any;
    }
    return layer_program(w, l, (size_t)x.dims[3], of, NULL);
}

bool make_concat(struct work *w)
{
    uint32_t in[5], n = (uint32_t)choose(w->c, 1, 5);

    in[0] = find_input(w, (uint32_t)choose(w->c, 1, 4), 0xfe);
    if (in[0] == UINT32_MAX)
        return false;
    struct assay_tensor y = *made_tensor(w, in[0]);
    int32_t axis = (int32_t)choose(w->c, 0, y.rank - 1);
    bool programs = chance(w->c, 60);
    enum assay_dtype dtype = programs ? any_dtype(w->c) : y.dtype;

    for (uint32_t i = 1; i < n; i++) {
        struct assay_tensor t = y;

        if (chance(w->c, 25)) {
            in[i] = in[0];
            continue;
        }
        t.dims[axis] = choose(w->c, 1, 5);
        in[i] =
            add_tensor(w, ASSAY_ROLE_INPUT,
                       programs ? any_dtype(w->c) : y.dtype, y.rank, t.dims);
        if (in[i] == UINT32_MAX)
            return false;
    }
    for (uint32_t i = 1; i < n; i++)
        y.dims[axis] += made_tensor(w, in[i])->dims[axis];
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_CONCAT, n, in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, dtype, y.rank, y.dims));

    if (!l)
        return false;
    l->p.concat.axis = axis;
    if (!programs)
        return true;
    if (!layer_in_programs(w, l, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct assay_tensor *x = made_tensor(w, in[i]);
        size_t channels = channels_of(x);
        struct assay_interval *v =
            assay_arena_array(w->s->arena, channels, sizeof(*v));

        if (!v)
            return false;
        fill_intervals(v, channels, assay_interval_of(x->dtype));
        make_program(w->c, w->s, &l->in_programs[i], channels, v, NULL, dtype);
        /* Without steps it is a copy, of the output's own type only. */
        if (l->in_programs[i].n_steps == 0 && x->dtype != dtype)
            return false;
    }
    return true;
}

bool make_reshape(struct work *w)
{
    uint32_t in = find_input(w, UINT32_MAX, 0xfe), rank;
    int64_t y[ASSAY_MAX_RANK], n = 1;

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);

    for (uint32_t i = 0; i < x.rank; i++)
        n *= x.dims[i];
    rank = (uint32_t)choose(w->c, n > 1, chance(w->c, 20) ? 10 : 5);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t f = i + 1 == rank ? n : choose(w->c, 1, 8);

        y[i] = n % f ? 1 : f;
        n /= y[i];
    }
    return add_layer(w, ASSAY_OP_RESHAPE, 1, &in,
                     add_tensor(w, ASSAY_ROLE_ACTIVATION, x.dtype, rank, y));
}

bool make_softmax(struct work *w)
{
    bool table = chance(w->c, 50);
    uint32_t in =
        find_input(w, (uint32_t)choose(w->c, 0, 4),
                   table ? 1u << ASSAY_S8 | 1u << ASSAY_U8 : 1u << ASSAY_F32);
    uint32_t *entries;
    float f;

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_SOFTMAX, 1, &in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, x.dtype, x.rank, x.dims));

    if (!l)
        return false;
    l->p.softmax.kind = table ? ASSAY_SOFTMAX_TABLE : ASSAY_SOFTMAX_F32;
    if (!table)
        return true;
    quantize_tensor(w, made_tensor(w, l->output), 1, -1);
    entries = assay_arena_array(w->s->arena, 256, sizeof(*entries));
    for (size_t i = 0; entries && i < 256; i++) {
        f = ldexpf((float)choose(w->c, 1, 255), (int)choose(w->c, -140, 110));
        memcpy(&entries[i], &f, sizeof(f));
    }
    l->p.softmax.table = entries;
    return entries && made_tensor(w, l->output)->quant.n == 1;
}

static maker_fn *const MAKERS[] = {
    /* Convolutions thrice: their fused ends are many. */
    make_conv2d,   make_conv2d,           make_conv2d, make_gemm,
    make_unary,    make_binary,           make_pool,   make_concat,
    make_reshape,  make_softmax,          make_view,   make_gather,
    make_reduce,   make_matmul,           make_prelu,  make_segment_table,
    make_table,    make_conv_transpose2d, make_resize, make_grid_sample,
    make_function, make_normalize,        make_select,
};

struct assay_slice *make_slice(struct choices *c)
{
    struct work w = {.c = c, .s = assay_slice_new()};
    int64_t layers = choose(c, 1, 6);

    if (!w.s)
        return NULL;
    w.s->model_name = "made";
    w.s->model_format = "none";
    while (layers-- > 0 || w.s->n_layers == 0) {
        uint32_t n_tensors = w.s->n_tensors, n_layers = w.s->n_layers;
        size_t which = (size_t)choose(
            c, 0, (int64_t)(sizeof(MAKERS) / sizeof(MAKERS[0])) - 1);

        if (!MAKERS[which](&w)) { /* what it left behind goes */
            w.s->n_tensors = n_tensors;
            w.s->n_layers = n_layers;
        }
    }
    for (uint32_t i = 0; i < w.s->n_layers; i++) {
        if (chance(c, 4)) {
            w.s->layers[i].op = ASSAY_OP_SKIPPED;
            w.s->layers[i].skip_reason = "chosen";
        }
        made_tensor(&w, w.s->layers[i].output)->is_output = chance(c, 30);
    }
    return w.s;
}
