/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/selftest_slices.h"

#include <string.h>

#include "lib/core/buf.h"
#include "lib/engine/selftest_make.h"

/* ---- sums of products -------------------------------------------------------- */

struct conv {
    struct assay_make_tensor x, w, b, y;
    int32_t x_zero, w_zero, stride, pad, groups;
};

static struct assay_program *conv(struct assay_make *m, const struct conv *c)
{
    uint32_t in[3] = {assay_make_input(m, c->x), assay_make_constant(m, c->w),
                      assay_make_constant(m, c->b)};

    assay_make_set_zero(m, in[0], 1.0f, c->x_zero);
    assay_make_set_zero(m, in[1], 1.0f, c->w_zero);
    assay_make_layer(m, ASSAY_OP_CONV2D, 3, in, c->y);
    m->layer->p.conv2d = (struct assay_conv2d_params){
        .stride_h = c->stride,
        .stride_w = c->stride,
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = c->pad,
        .pad_left = c->pad,
        .pad_bottom = c->pad,
        .pad_right = c->pad,
        .groups = c->groups,
        .has_bias = true,
    };
    return &m->layer->out_program;
}

static void conv_float(struct assay_make *m)
{
    const struct conv c = {.x = {ASSAY_S8, -20, 21, {1, 7, 6, 19}},
                           .w = {ASSAY_S8, -8, 7, {21, 3, 3, 19}},
                           .b = {ASSAY_S32, -300, 300, {21}},
                           .y = {ASSAY_S8, 0, 0, {1, 7, 6, 21}},
                           .x_zero = 3,
                           .stride = 1,
                           .pad = 1,
                           .groups = 1};
    assay_make_by_float(m, conv(m, &c), 21, 5, -128, 127);
}

static void conv_fixed(struct assay_make *m)
{
    const struct conv c = {.x = {ASSAY_U8, 0, 255, {1, 8, 9, 13}},
                           .w = {ASSAY_U8, 0, 255, {10, 3, 3, 13}},
                           .b = {ASSAY_S32, -9000, 9000, {10}},
                           .y = {ASSAY_U8, 0, 0, {1, 4, 5, 10}},
                           .x_zero = 128,
                           .w_zero = 121,
                           .stride = 2,
                           .pad = 1,
                           .groups = 1};
    assay_make_by_fixed(m, conv(m, &c), 10, 9, ASSAY_ROUND_HALF_UP, 128, 0,
                        255);
}

static void conv_wide(struct assay_make *m)
{
    const struct conv c = {.x = {ASSAY_S16, -2000, 2000, {1, 5, 6, 9}},
                           .w = {ASSAY_S8, -25, 25, {11, 3, 3, 9}},
                           .b = {ASSAY_S32, -9000, 9000, {11}},
                           .y = {ASSAY_S16, 0, 0, {1, 5, 6, 11}},
                           .stride = 1,
                           .pad = 1,
                           .groups = 1};
    assay_make_by_shift(m, conv(m, &c), 11, 9, ASSAY_ROUND_HALF_UP, 16);
}

static void depthwise_float(struct assay_make *m)
{
    const struct conv c = {.x = {ASSAY_U8, 100, 160, {1, 6, 7, 21}},
                           .w = {ASSAY_S8, -9, 9, {21, 3, 3, 1}},
                           .b = {ASSAY_S32, -60, 60, {21}},
                           .y = {ASSAY_S8, 0, 0, {1, 6, 7, 21}},
                           .x_zero = 128,
                           .stride = 1,
                           .pad = 1,
                           .groups = 21};
    assay_make_by_float(m, conv(m, &c), 21, 4, -128, 127);
}

static void depthwise_shift(struct assay_make *m)
{
    const struct conv c = {.x = {ASSAY_S8, -128, 127, {1, 9, 9, 18}},
                           .w = {ASSAY_S8, -127, 127, {18, 5, 5, 1}},
                           .b = {ASSAY_S32, -900, 900, {18}},
                           .y = {ASSAY_S8, 0, 0, {1, 5, 5, 18}},
                           .stride = 2,
                           .pad = 2,
                           .groups = 18};
    assay_make_by_shift(m, conv(m, &c), 18, 14, ASSAY_ROUND_HALF_EVEN, 8);
}

static void depthwise_wide(struct assay_make *m)
{
    const struct conv c = {.x = {ASSAY_S16, -32768, 32767, {1, 5, 5, 17}},
                           .w = {ASSAY_S8, -127, 127, {17, 3, 3, 1}},
                           .b = {ASSAY_S32, -900, 900, {17}},
                           .y = {ASSAY_S16, 0, 0, {1, 5, 5, 17}},
                           .stride = 1,
                           .pad = 1,
                           .groups = 17};
    assay_make_by_shift(m, conv(m, &c), 17, 14, ASSAY_ROUND_FLOOR, 16);
}

static void gemm(struct assay_make *m)
{
    uint32_t in[3] = {
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {9, 40}}),
        assay_make_constant(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {13, 40}}),
        assay_make_constant(
            m, (struct assay_make_tensor){ASSAY_S32, -5000, 5000, {13}})};

    assay_make_layer(m, ASSAY_OP_GEMM, 3, in,
                     (struct assay_make_tensor){ASSAY_S8, 0, 0, {9, 13}});
    assay_make_by_float(m, &m->layer->out_program, 13, 12, -128, 127);
}

/* ---- element by element ------------------------------------------------------ */

static void unary_float(struct assay_make *m)
{
    uint32_t x = assay_make_input(
        m, (struct assay_make_tensor){ASSAY_S16, -700, 700, {1, 5, 7, 19}});

    assay_make_layer(m, ASSAY_OP_UNARY, 1, &x,
                     (struct assay_make_tensor){ASSAY_S8, 0, 0, {1, 5, 7, 19}});
    assay_make_by_float(m, &m->layer->out_program, 19, 4, -128, 127);
}

static void unary_fixed(struct assay_make *m)
{
    uint32_t x = assay_make_input(
        m, (struct assay_make_tensor){ASSAY_S32, -90000, 90000, {1, 5, 5, 18}});

    assay_make_layer(m, ASSAY_OP_UNARY, 1, &x,
                     (struct assay_make_tensor){ASSAY_U8, 0, 0, {1, 5, 5, 18}});
    assay_make_by_fixed(m, &m->layer->out_program, 18, 9, ASSAY_ROUND_HALF_AWAY,
                        117, 0, 255);
}

static struct assay_program *in_program(struct assay_make *m, uint32_t k)
{
    static struct assay_program none; /* nobody runs it */

    if (m->layer->in_programs == NULL) {
        m->layer->in_programs =
            assay_make_memory(m, 2, sizeof(*m->layer->in_programs));
        m->layer->n_in_programs = 2;
    }
    return m->rc < 0 ? memset(&none, 0, sizeof(none))
                     : &m->layer->in_programs[k];
}

static void add_float(struct assay_make *m)
{
    uint32_t in[2] = {
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {1, 4, 5, 37}}),
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {1, 4, 5, 37}})};
    struct assay_program *p;

    assay_make_layer(m, ASSAY_OP_BINARY, 2, in,
                     (struct assay_make_tensor){ASSAY_S8, 0, 0, {1, 4, 5, 37}});
    m->layer->p.binary.combine = ASSAY_COMBINE_FADD;
    for (uint32_t k = 0; k < 2; k++) {
        p = in_program(m, k);
        assay_make_step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
        assay_make_step(p, ASSAY_STEP_FMUL, 1,
                        assay_make_floats(m, 1, 20, 90, 6), NULL);
    }
    p = &m->layer->out_program;
    assay_make_step(p, ASSAY_STEP_FCLAMP, 1,
                    assay_make_one(m, assay_make_bits_of(-128)),
                    assay_make_one(m, assay_make_bits_of(127)));
    assay_make_rounded(p, ASSAY_STEP_FROUND, NULL, ASSAY_ROUND_HALF_EVEN);
}

static void multiply(struct assay_make *m)
{
    uint32_t in[2] = {
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {1, 4, 5, 33}}),
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {1, 1, 1, 33}})};

    assay_make_layer(m, ASSAY_OP_BINARY, 2, in,
                     (struct assay_make_tensor){ASSAY_S8, 0, 0, {1, 4, 5, 33}});
    m->layer->p.binary.combine = ASSAY_COMBINE_MUL;
    in_program(m, 1);
    assay_make_by_shift(m, &m->layer->out_program, 1, 13, ASSAY_ROUND_HALF_AWAY,
                        8);
}

static void lookup(struct assay_make *m)
{
    uint32_t in[2] = {
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {1, 3, 5, 23}}),
        assay_make_constant(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {256}})};

    assay_make_layer(m, ASSAY_OP_TABLE, 2, in,
                     (struct assay_make_tensor){ASSAY_S8, 0, 0, {1, 3, 5, 23}});
}

/* Lines outside, entries inside; each segment 2^13 wide, in steps of 2^7. */
static void segment_table(struct assay_make *m)
{
    static const int32_t bounds[ASSAY_SEGMENTS] = {
        -24576, -16384, -8192, 0, 8192, 16384, 24576, 32767};
    uint32_t in[3] = {
        assay_make_input(m,
                         (struct assay_make_tensor){
                             ASSAY_S16, -32768, 32767, {1, 4, 5, 21}}),
        assay_make_constant(
            m, (struct assay_make_tensor){ASSAY_S16, -30000, 30000, {6, 64}}),
        assay_make_constant(
            m, (struct assay_make_tensor){ASSAY_S32, 0, 0, {8, 5}})};
    int32_t *row = (int32_t *)(uintptr_t)m->out->data[in[2]];

    for (int k = 0; row != NULL && k < ASSAY_SEGMENTS; k++, row += 5) {
        bool line = k == 0 || k == ASSAY_SEGMENTS - 1;

        row[0] = bounds[k];
        row[1] = line ? 3 : 2;
        row[2] = line ? -70 * (k + 1) : -2 * bounds[k - 1];
        row[3] = line ? 4 : 0;
        row[4] = line ? 2 : 0;
    }
    assay_make_layer(
        m, ASSAY_OP_SEGMENT_TABLE, 3, in,
        (struct assay_make_tensor){ASSAY_S16, 0, 0, {1, 4, 5, 21}});
    m->layer->p.segment = (struct assay_segment_params){
        .symmetry = ASSAY_SYMMETRY_NONE,
        .round = ASSAY_ROUND_HALF_UP,
        .mix_round = ASSAY_ROUND_HALF_EVEN,
    };
}

static void choose(struct assay_make *m)
{
    uint32_t in[3] = {
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_U8, 0, 1, {1, 4, 5, 17}}),
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S16, -9, 9, {1, 4, 5, 17}}),
        assay_make_input(m,
                         (struct assay_make_tensor){ASSAY_S16, 50, 99, {17}})};

    assay_make_layer(
        m, ASSAY_OP_SELECT, 3, in,
        (struct assay_make_tensor){ASSAY_S16, 0, 0, {1, 4, 5, 17}});
}

/* ---- windows, moves, reductions ---------------------------------------------- */

static void pool(struct assay_make *m, enum assay_pool_kind kind,
                 enum assay_dtype dtype, int64_t lo, int64_t hi)
{
    uint32_t x = assay_make_input(
        m, (struct assay_make_tensor){dtype, lo, hi, {1, 7, 8, 35}});

    assay_make_set_zero(m, x, 1.0f, kind == ASSAY_POOL_AVG ? 100 : 0);
    assay_make_layer(m, ASSAY_OP_POOL, 1, &x,
                     (struct assay_make_tensor){dtype, 0, 0, {1, 4, 4, 35}});
    m->layer->p.pool = (struct assay_pool_params){
        .kind = (uint8_t)kind,
        .kh = 3,
        .kw = 3,
        .stride_h = 2,
        .stride_w = 2,
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = 1,
        .pad_left = 1,
        .pad_bottom = 1,
        .pad_right = 0,
    };
}

static void pool_max(struct assay_make *m)
{
    pool(m, ASSAY_POOL_MAX, ASSAY_S8, -128, 127);
}

static void pool_average(struct assay_make *m)
{
    pool(m, ASSAY_POOL_AVG, ASSAY_U8, 0, 255);
    assay_make_by_fixed(m, &m->layer->out_program, 1, 3, ASSAY_ROUND_HALF_EVEN,
                        100, 0, 255);
}

/* Transposed, every other row from the last one on. */
static void view(struct assay_make *m)
{
    uint32_t x = assay_make_input(
        m, (struct assay_make_tensor){ASSAY_S16, -999, 999, {9, 11}});

    assay_make_layer(m, ASSAY_OP_VIEW, 1, &x,
                     (struct assay_make_tensor){ASSAY_S16, 0, 0, {11, 5}});
    m->layer->p.view = (struct assay_view_params){
        .rank = 2, .dims = {11, 5}, .strides = {1, -22}, .offset = 88};
}

static void reduce(struct assay_make *m)
{
    uint32_t x = assay_make_input(
        m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {3, 5, 7, 9}});

    assay_make_layer(m, ASSAY_OP_REDUCE, 1, &x,
                     (struct assay_make_tensor){ASSAY_S32, 0, 0, {3, 9}});
    m->layer->p.reduce =
        (struct assay_reduce_params){.kind = ASSAY_REDUCE_SUM, .axes = 6};
    assay_make_layer(m, ASSAY_OP_REDUCE, 1, &x,
                     (struct assay_make_tensor){ASSAY_S32, 0, 0, {3, 5, 7}});
    m->layer->p.reduce =
        (struct assay_reduce_params){.kind = ASSAY_REDUCE_ARG_MAX, .axes = 8};
}

static void resize(struct assay_make *m)
{
    uint32_t x = assay_make_input(
        m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {1, 5, 6, 7}});

    assay_make_layer(m, ASSAY_OP_RESIZE, 1, &x,
                     (struct assay_make_tensor){ASSAY_S8, 0, 0, {1, 8, 9, 7}});
    m->layer->p.resize = (struct assay_resize_params){.step_h = 40000,
                                                      .step_w = 43000,
                                                      .start_h = -9000,
                                                      .start_w = 7000,
                                                      .decimal_bits = 16,
                                                      .weight_bits = 8,
                                                      .mid_shift = 4};
    assay_make_rounded(&m->layer->out_program, ASSAY_STEP_SHR,
                       assay_make_one(m, 12), ASSAY_ROUND_HALF_UP);
    assay_make_sat(&m->layer->out_program, 8);
}

static void grid_sample(struct assay_make *m)
{
    uint32_t in[2] = {
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {1, 6, 7, 5}}),
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_S16, -700, 700, {1, 6, 7, 2}})};

    assay_make_layer(m, ASSAY_OP_GRID_SAMPLE, 2, in,
                     (struct assay_make_tensor){ASSAY_S8, 0, 0, {1, 6, 7, 5}});
    m->layer->p.grid_sample = (struct assay_grid_sample_params){
        .padding = ASSAY_GRID_ZEROS, .coord_shift = 8};
    assay_make_rounded(&m->layer->out_program, ASSAY_STEP_SHR,
                       assay_make_one(m, 16), ASSAY_ROUND_HALF_EVEN);
    assay_make_sat(&m->layer->out_program, 8);
}

static void softmax(struct assay_make *m)
{
    uint32_t x = assay_make_input(
                 m, (struct assay_make_tensor){ASSAY_S8, -128, 127, {5, 17}}),
             y;
    const int64_t *drawn = assay_make_floats(m, 256, 1, 60000, 8);
    uint32_t *table = assay_make_memory(m, 256, sizeof(*table));

    for (int k = 0; drawn != NULL && table != NULL && k < 256; k++)
        table[k] = (uint32_t)drawn[k];
    y = assay_make_layer(m, ASSAY_OP_SOFTMAX, 1, &x,
                         (struct assay_make_tensor){ASSAY_S8, 0, 0, {5, 17}});
    assay_make_set_zero(m, y, 1.0f / 256, -128);
    m->layer->p.softmax = (struct assay_softmax_params){
        .kind = ASSAY_SOFTMAX_TABLE, .table = table};
}

/* ---- float C ------------------------------------------------------------------ */

static void function(struct assay_make *m)
{
    uint32_t x = assay_make_input(
        m, (struct assay_make_tensor){ASSAY_F32, 20, 190, {7}});

    for (int k = ASSAY_FUNCTION_ABS; k <= ASSAY_FUNCTION_COS; k++) {
        assay_make_layer(m, ASSAY_OP_FUNCTION, 1, &x,
                         (struct assay_make_tensor){ASSAY_F32, 0, 0, {7}});
        m->layer->p.function.kind = (uint8_t)k;
    }
}

static void normalize(struct assay_make *m)
{
    uint32_t in[3] = {
        assay_make_input(
            m, (struct assay_make_tensor){ASSAY_F32, -300, 300, {3, 11}}),
        assay_make_constant(
            m, (struct assay_make_tensor){ASSAY_F32, 20, 90, {11}}),
        assay_make_constant(
            m, (struct assay_make_tensor){ASSAY_F32, 200, 400, {11}})};

    for (int k = ASSAY_NORMALIZE_LAYER; k <= ASSAY_NORMALIZE_RMS; k++) {
        bool beta = k == ASSAY_NORMALIZE_LAYER;

        assay_make_layer(m, ASSAY_OP_NORMALIZE, beta ? 3 : 2, in,
                         (struct assay_make_tensor){ASSAY_F32, 0, 0, {3, 11}});
        m->layer->p.normalize = (struct assay_normalize_params){
            .kind = (uint8_t)k,
            .axis = 1,
            .epsilon = 0.0009765625f,
            .has_gamma = true,
            .has_beta = beta,
        };
    }
}

/* ---- the list ------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*make)(struct assay_make *m);
    bool coarse;
    const char *golden;
} list[] = {
#define ASSAY_SELFTEST_SLICE(name, coarse, golden) \
    {#name, name, coarse, golden},
#define ASSAY_SELFTEST_PROGRAM(name, golden)
#include "lib/engine/selftest.def"
#undef ASSAY_SELFTEST_SLICE
#undef ASSAY_SELFTEST_PROGRAM
};
#define N_LIST (sizeof(list) / sizeof(list[0]))

const char *assay_selftest_slice_name(unsigned k)
{
    return k < N_LIST ? list[k].name : NULL;
}

const char *assay_selftest_slice_golden(unsigned k)
{
    return list[k].golden;
}

int assay_selftest_slice_open(struct assay_selftest_slice *out, unsigned k,
                              struct assay_err *err)
{
    struct assay_make m = {.out = out, .name = list[k].name};

    memset(out, 0, sizeof(*out));
    out->slice = m.s = assay_slice_new();
    if (m.s == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a self-test");
    m.s->model_name = m.s->model_format = m.s->numerics = "";
    out->coarse = list[k].coarse;
    list[k].make(&m);
    if (m.rc < 0) {
        assay_selftest_slice_close(out);
        return assay_fail(err, m.rc, "no memory for a self-test");
    }
    return 0;
}

void assay_selftest_slice_close(struct assay_selftest_slice *s)
{
    assay_slice_free(s->slice);
    s->slice = NULL;
}
