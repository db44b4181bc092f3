/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of fixed-point networks: tables, sampling, transposed convolutions. */
#include <string.h>

#include "lib/engine/range.h"
#include "tests/fuzz/slice_maker.h"

#define EIGHT (1u << ASSAY_S8 | 1u << ASSAY_U8)
#define SMALL (EIGHT | 1u << ASSAY_S16)

struct axis {
    int32_t k, stride, dilation, before, after;
};

/* Of a transposed convolution; pads may be longer than the kernel. */
static struct axis choose_axis(struct choices *c, int64_t in, int64_t *out)
{
    struct axis a = {.k = (int32_t)choose(c, 1, 4),
                     .stride = (int32_t)choose(c, 1, chance(c, 10) ? 9 : 3),
                     .dilation = (int32_t)choose(c, 1, chance(c, 20) ? 3 : 1)};
    int32_t most = (a.k - 1) * a.dilation + (chance(c, 20) ? 5 : 0);
    int64_t full = (in - 1) * a.stride + (a.k - 1) * a.dilation + 1;
    int64_t free = a.stride > a.dilation ? a.stride : a.dilation;

    a.before = (int32_t)choose(c, 0, most);
    a.after = (int32_t)choose(c, 0, most);
    if (full - a.before - a.after + free <= 1)
        a.before = a.after = 0;
    *out = full - a.before - a.after;
    if (*out < 1)
        *out = 1;
    else if (chance(c, 30)) /* cells that no element reaches */
        *out += choose(c, 0, free - 1);
    return a;
}

bool make_conv_transpose2d(struct work *w)
{
    uint32_t in[3], n = 2;
    int64_t y[4], wd[4], groups;
    bool bias = chance(w->c, 50);
    struct axis h, v;

    in[0] = find_input(w, 4, SMALL);
    if (in[0] == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in[0]);

    groups = chance(w->c, 30) ? x.dims[3] : choose(w->c, 1, 3);
    if (x.dims[3] % groups)
        groups = 1;
    y[0] = x.dims[0];
    h = choose_axis(w->c, x.dims[1], &y[1]);
    v = choose_axis(w->c, x.dims[2], &y[2]);
    y[3] = groups * choose(w->c, 1, groups > 1 ? 2 : 20);
    wd[0] = y[3];
    wd[1] = h.k;
    wd[2] = v.k;
    wd[3] = x.dims[3] / groups;
    in[1] = add_constant(w, chance(w->c, 60) ? ASSAY_S8 : ASSAY_U8, 4, wd);
    if (in[1] != UINT32_MAX && chance(w->c, 40))
        quantize_tensor(w, made_tensor(w, in[1]),
                        chance(w->c, 50) ? (uint32_t)y[3] : 1, 0);
    if (bias)
        in[n++] = add_constant(w, ASSAY_S32, 1, &y[3]);
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_CONV_TRANSPOSE2D, n, in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, fused_dtype(w->c), 4, y));

    if (!l)
        return false;
    l->p.conv2d = (struct assay_conv2d_params){
        h.stride, v.stride, h.dilation,      v.dilation, h.before, v.before,
        h.after,  v.after,  (int32_t)groups, bias,       false};
    /* More than any accumulator of such a layer can hold. */
    return layer_program(
        w, l, (size_t)y[3],
        x.dtype == ASSAY_S16
            ? assay_interval_int(-((int64_t)1 << 40), (int64_t)1 << 40)
            : assay_interval_int(INT32_MIN, INT32_MAX),
        NULL);
}

bool make_prelu(struct work *w)
{
    uint32_t in = find_input(w, UINT32_MAX, 0xfe);
    enum assay_dtype dtype = any_dtype(w->c);

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);
    size_t channels = channels_of(&x);
    struct assay_interval *v =
        assay_arena_array(w->s->arena, channels, sizeof(*v));
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_PRELU, 1, &in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, dtype, x.rank, x.dims));

    if (!v || !l || !layer_in_programs(w, l, 2))
        return false;
    for (int i = 0; i < 2; i++) {
        for (size_t c = 0; c < channels; c++)
            v[c] = assay_interval_of(x.dtype);
        make_program(w->c, w->s, &l->in_programs[i], channels, v, NULL, dtype);
    }
    return true;
}

bool make_table(struct work *w)
{
    static const int64_t dims[] = {256, 1, 16, 16};
    uint32_t in[2], form = (uint32_t)choose(w->c, 0, 2);
    enum assay_dtype dtype = any_dtype(w->c);

    in[0] = find_input(w, UINT32_MAX, EIGHT);
    if (in[0] == UINT32_MAX)
        return false;
    in[1] = form == 2 ? add_constant(w, dtype, 2, dims + 2)
                      : add_constant(w, dtype, 1 + form, dims);
    const struct assay_tensor x = *made_tensor(w, in[0]);

    return add_layer(w, ASSAY_OP_TABLE, 2, in,
                     add_tensor(w, ASSAY_ROLE_ACTIVATION, dtype, x.rank,
                                x.dims)) != NULL;
}

/* Bounds ascend; all else is anything. */
static void choose_segments(struct choices *c, int32_t *row)
{
    bool is_near = chance(c, 40); /* so that x meets bounds */
    int64_t bound = choose(c, chance(c, 80) ? INT16_MIN : INT32_MIN, 1000);

    if (is_near)
        bound = choose(c, -140, 0);

    for (int s = 0; s < ASSAY_SEGMENTS; s++, row += ASSAY_SEGMENT_FIELDS) {
        row[0] = (int32_t)bound;
        bound += choose(c, 0, is_near ? 30 : chance(c, 10) ? 1 << 20 : 9000);
        bound = bound > INT32_MAX ? INT32_MAX : bound;
        row[1] = (int32_t)choose_bits(c) >> choose(c, 0, 31);
        row[2] = (int32_t)choose_bits(c) >> choose(c, 0, 31);
        row[3] = (int32_t)choose(c, 0, chance(c, 30) ? 31 : 8);
        row[4] = (int32_t)choose(c, 0, 31);
    }
}

bool make_segment_table(struct work *w)
{
    static const int64_t table[] = {6, ASSAY_SEGMENT_ENTRIES};
    static const int64_t segments[] = {ASSAY_SEGMENTS, ASSAY_SEGMENT_FIELDS};
    int32_t rows[ASSAY_SEGMENTS * ASSAY_SEGMENT_FIELDS];
    uint32_t in[3];

    in[0] = find_input(w, UINT32_MAX, 1u << ASSAY_S16 | 1u << ASSAY_S8);
    if (in[0] == UINT32_MAX)
        return false;
    choose_segments(w->c, rows);
    in[1] = add_constant(w, ASSAY_S16, 2, table);
    in[2] = add_constant_of(w, ASSAY_S32, 2, segments, rows);
    const struct assay_tensor x = *made_tensor(w, in[0]);
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_SEGMENT_TABLE, 3, in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, any_dtype(w->c), x.rank, x.dims));

    if (!l)
        return false;
    l->p.segment = (struct assay_segment_params){
        (uint8_t)choose(w->c, ASSAY_SYMMETRY_NONE, ASSAY_SYMMETRY_Y),
        (uint8_t)choose(w->c, 0, 7), (uint8_t)choose(w->c, 0, 7)};
    return layer_program(w, l, 1, assay_interval_of(ASSAY_S16), NULL);
}

/* A ratio of two sizes, or any number of 32 bits. */
static int32_t choose_step(struct choices *c, int64_t in, int64_t out,
                           unsigned bits)
{
    if (chance(c, 70))
        return (int32_t)((in << bits) / out);
    return (int32_t)choose_bits(c) >> choose(c, 0, 31);
}

bool make_resize(struct work *w)
{
    struct assay_resize_params p;
    uint32_t in = find_input(w, 4, SMALL);
    int64_t y[4], one;

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);
    struct assay_interval v = assay_interval_of(x.dtype);

    memcpy(y, x.dims, sizeof(y));
    y[1] = choose(w->c, 1, 12);
    y[2] = choose(w->c, 1, 12);
    p.decimal_bits = (uint8_t)choose(w->c, 0, 24);
    p.weight_bits =
        (uint8_t)choose(w->c, 0, p.decimal_bits < 12 ? p.decimal_bits : 12);
    p.mid_shift = (uint8_t)choose(w->c, 0, chance(w->c, 30) ? 24 : 8);
    p.step_h = choose_step(w->c, x.dims[1], y[1], p.decimal_bits);
    p.step_w = choose_step(w->c, x.dims[2], y[2], p.decimal_bits);
    p.start_h = (int32_t)choose_bits(w->c) >> choose(w->c, 0, 31);
    p.start_w = (int32_t)choose_bits(w->c) >> choose(w->c, 0, 31);
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_RESIZE, 1, &in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, any_dtype(w->c), 4, y));

    if (!l)
        return false;
    l->p.resize = p;
    one = (int64_t)1 << p.weight_bits;
    v.lo = ((v.lo * one) >> p.mid_shift) * one;
    v.hi = ((v.hi * one) >> p.mid_shift) * one;
    return layer_program(w, l, (size_t)y[3], v, NULL);
}

bool make_grid_sample(struct work *w)
{
    struct assay_grid_sample_params p;
    int64_t y[4], grid[4], one;
    uint32_t in[2];

    in[0] = find_input(w, 4, SMALL);
    if (in[0] == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in[0]);
    struct assay_interval v = assay_interval_of(x.dtype);

    memcpy(y, x.dims, sizeof(y));
    y[1] = choose(w->c, 1, 10);
    y[2] = choose(w->c, 1, 10);
    memcpy(grid, y, sizeof(y));
    grid[3] = 2;
    if (chance(w->c, 40))
        in[1] = add_constant(w, ASSAY_S16, 4, grid);
    else
        in[1] = add_tensor(w, ASSAY_ROLE_INPUT, ASSAY_S16, 4, grid);
    p.nearest = chance(w->c, 30);
    p.absolute = chance(w->c, 30);
    p.xy = chance(w->c, 30);
    p.padding = (uint8_t)choose(w->c, ASSAY_GRID_ZEROS, ASSAY_GRID_BORDER);
    p.coord_shift = (uint8_t)choose(w->c, 0, 14);
    struct assay_layer *l =
        add_layer(w, ASSAY_OP_GRID_SAMPLE, 2, in,
                  add_tensor(w, ASSAY_ROLE_ACTIVATION, any_dtype(w->c), 4, y));

    if (!l)
        return false;
    l->p.grid_sample = p;
    one = p.nearest ? 1 : (int64_t)1 << 2 * p.coord_shift;
    v.lo *= one;
    v.hi *= one;
    return layer_program(w, l, (size_t)y[3], v, NULL);
}
