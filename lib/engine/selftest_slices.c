/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/selftest_slices.h"

#include <string.h>

#include "lib/core/buf.h"

/* ---- what all of them are made with ---------------------------------------- */

void assay_selftest_draw_begin(struct assay_selftest_draw *d, const char *name,
                               unsigned number)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    d->state = h ^ number * UINT64_C(0x9e3779b97f4a7c15);
}

int64_t assay_selftest_draw_next(struct assay_selftest_draw *d, int64_t lo,
                                 int64_t hi)
{
    d->state = d->state * UINT64_C(6364136223846793005) +
               UINT64_C(1442695040888963407);
    return lo + (int64_t)((d->state >> 33) % (uint64_t)(hi - lo + 1));
}

/* A failed step leaves `rc` and makes the others do nothing that matters. */
struct maker {
    struct assay_selftest_slice *out;
    struct assay_slice *s;
    struct assay_layer *layer; /* the last one */
    const char *name;
    unsigned draws;
    int rc;
};

static void *memory(struct maker *m, size_t count, size_t size)
{
    void *p = assay_arena_array(m->s->arena, count + 1, size);

    if (p == NULL)
        m->rc = ASSAY_EMEMORY;
    return p;
}

/* Numbers lo..hi, one a channel (or 1 for all), as operands of a step. */
static const int64_t *ints(struct maker *m, size_t n, int64_t lo, int64_t hi)
{
    int64_t *v = memory(m, n, sizeof(*v));
    struct assay_selftest_draw d;

    assay_selftest_draw_begin(&d, m->name, m->draws++);
    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = assay_selftest_draw_next(&d, lo, hi);
    return v;
}

static int64_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

/* The same times 2^-down, as bits of a binary32. */
static const int64_t *floats(struct maker *m, size_t n, int64_t lo, int64_t hi,
                             unsigned down)
{
    int64_t *v = (int64_t *)(uintptr_t)ints(m, n, lo, hi);

    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = bits_of((float)v[i] / (float)(UINT64_C(1) << down));
    return v;
}

static const int64_t *one(struct maker *m, int64_t value)
{
    int64_t *v = memory(m, 1, sizeof(*v));

    if (v != NULL)
        *v = value;
    return v;
}

/* Elements lo..hi; of a binary32: lo/64..hi/64. */
static void *elements(struct maker *m, enum assay_dtype dtype, size_t n,
                      int64_t lo, int64_t hi)
{
    size_t size = assay_dtype_bytes(dtype);
    char *data = memory(m, n, size);
    struct assay_selftest_draw d;

    assay_selftest_draw_begin(&d, m->name, m->draws++);
    for (size_t i = 0; data != NULL && i < n; i++) {
        int64_t v = assay_selftest_draw_next(&d, lo, hi);
        float f = (float)v / 64.0f;

        if (dtype == ASSAY_F32)
            memcpy(data + i * size, &f, size);
        else
            memcpy(data + i * size, &v, size); /* little-endian */
    }
    return data;
}

/* What a tensor is: dtype, range of its elements, dims up to the first 0. */
struct shape {
    enum assay_dtype dtype;
    int64_t lo, hi;
    int64_t dims[6];
};

static struct assay_tensor *tensor(struct maker *m, const struct shape *t,
                                   uint32_t *index)
{
    struct assay_tensor *r;

    if (assay_slice_add_tensor(m->s, index, NULL) < 0 ||
        *index >= ASSAY_SELFTEST_TENSORS) {
        m->rc = ASSAY_EMEMORY;
        return NULL;
    }
    r = &m->s->tensors[*index];
    r->name = m->name;
    r->dtype = t->dtype;
    for (; r->rank < 6 && t->dims[r->rank] != 0; r->rank++)
        r->dims[r->rank] = t->dims[r->rank];
    return r;
}

static void set_zero(struct maker *m, uint32_t index, float scale, int32_t zero)
{
    struct assay_quant *q = &m->s->tensors[index].quant;
    float *s = memory(m, 1, sizeof(*s));
    int32_t *z = memory(m, 1, sizeof(*z));

    if (s == NULL || z == NULL)
        return;
    *s = scale;
    *z = zero;
    *q = (struct assay_quant){.n = 1, .axis = -1, .scale = s, .zero_point = z};
}

static uint32_t input(struct maker *m, struct shape t)
{
    uint32_t index = 0;
    struct assay_tensor *r = tensor(m, &t, &index);
    size_t n, bytes;

    if (r == NULL || assay_tensor_count(r, &n, &bytes, NULL) < 0)
        return 0;
    r->role = ASSAY_ROLE_INPUT;
    m->out->data[index] = elements(m, t.dtype, n, t.lo, t.hi);
    return index;
}

static uint32_t constant(struct maker *m, struct shape t)
{
    uint32_t index = input(m, t);
    struct assay_tensor *r;
    size_t n, bytes;

    if (m->rc < 0)
        return 0;
    r = &m->s->tensors[index];
    if (assay_tensor_count(r, &n, &bytes, NULL) < 0)
        return 0;
    r->role = ASSAY_ROLE_CONSTANT;
    r->data = m->out->data[index];
    r->size = bytes;
    return index;
}

/* A layer of n inputs with the output y; the program: m->layer's. */
static uint32_t layer(struct maker *m, enum assay_op op, uint32_t n,
                      const uint32_t *inputs, struct shape y)
{
    uint32_t index = 0, out = 0;
    struct assay_tensor *t = tensor(m, &y, &out);

    if (t == NULL || assay_slice_add_layer(m->s, n, &index, NULL) < 0) {
        static struct assay_layer none; /* nobody runs it */

        m->rc = ASSAY_EMEMORY;
        memset(&none, 0, sizeof(none));
        m->layer = &none;
        return 0;
    }
    t->is_output = true;
    m->layer = &m->s->layers[index];
    m->layer->name = m->name;
    m->layer->source_op = "";
    m->layer->op = op;
    memcpy(m->layer->inputs, inputs, n * sizeof(*inputs));
    m->layer->output = out;
    return out;
}

static void step(struct assay_program *p, enum assay_step_kind kind, size_t n,
                 const int64_t *a, const int64_t *b)
{
    p->steps[p->n_steps++] = (struct assay_step){
        .kind = (uint8_t)kind, .n = (uint32_t)n, .a = a, .b = b};
}

static void rounded(struct assay_program *p, enum assay_step_kind kind,
                    const int64_t *a, enum assay_round round)
{
    step(p, kind, a != NULL, a, NULL);
    p->steps[p->n_steps - 1].round = (uint8_t)round;
}

static void sat(struct assay_program *p, unsigned bits)
{
    step(p, ASSAY_STEP_SAT, 0, NULL, NULL);
    p->steps[p->n_steps - 1].bits = (uint8_t)bits;
}

/* To lo..hi by binary32: as onnxruntime requantizes. */
static void by_float(struct maker *m, struct assay_program *p, size_t channels,
                     unsigned down, int64_t lo, int64_t hi)
{
    step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    step(p, ASSAY_STEP_FMUL, channels, floats(m, channels, 1, 9, down), NULL);
    step(p, ASSAY_STEP_FCLAMP, 1, one(m, bits_of((float)lo)),
         one(m, bits_of((float)hi)));
    rounded(p, ASSAY_STEP_FROUND, NULL, ASSAY_ROUND_HALF_EVEN);
}

/* To lo..hi by a multiplier of 31 bits and a shift. */
static void by_fixed(struct maker *m, struct assay_program *p, size_t channels,
                     int64_t shift, enum assay_round round, int64_t zero,
                     int64_t lo, int64_t hi)
{
    step(p, ASSAY_STEP_SRDHM, channels, ints(m, channels, 1 << 30, INT32_MAX),
         NULL);
    rounded(p, ASSAY_STEP_SHR, one(m, shift), round);
    step(p, ASSAY_STEP_ADD_ZP, 1, one(m, zero), NULL);
    step(p, ASSAY_STEP_CLAMP, 1, one(m, lo), one(m, hi));
}

/* To 8 or 16 bits by a multiplier and one shift: as the vendor requantizes. */
static void by_shift(struct maker *m, struct assay_program *p, size_t channels,
                     int64_t shift, enum assay_round round, unsigned bits)
{
    step(p, ASSAY_STEP_MUL, channels, ints(m, channels, 1, 127), NULL);
    rounded(p, ASSAY_STEP_SHR, one(m, shift), round);
    sat(p, bits);
}

/* ---- sums of products -------------------------------------------------------- */

struct conv {
    struct shape x, w, b, y;
    int32_t x_zero, w_zero, stride, pad, groups;
};

static struct assay_program *conv(struct maker *m, const struct conv *c)
{
    uint32_t in[3] = {input(m, c->x), constant(m, c->w), constant(m, c->b)};

    set_zero(m, in[0], 1.0f, c->x_zero);
    set_zero(m, in[1], 1.0f, c->w_zero);
    layer(m, ASSAY_OP_CONV2D, 3, in, c->y);
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

static void conv_float(struct maker *m)
{
    const struct conv c = {.x = {ASSAY_S8, -20, 21, {1, 7, 6, 19}},
                           .w = {ASSAY_S8, -8, 7, {21, 3, 3, 19}},
                           .b = {ASSAY_S32, -300, 300, {21}},
                           .y = {ASSAY_S8, 0, 0, {1, 7, 6, 21}},
                           .x_zero = 3,
                           .stride = 1,
                           .pad = 1,
                           .groups = 1};
    by_float(m, conv(m, &c), 21, 5, -128, 127);
}

static void conv_fixed(struct maker *m)
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
    by_fixed(m, conv(m, &c), 10, 9, ASSAY_ROUND_HALF_UP, 128, 0, 255);
}

static void conv_wide(struct maker *m)
{
    const struct conv c = {.x = {ASSAY_S16, -2000, 2000, {1, 5, 6, 9}},
                           .w = {ASSAY_S8, -25, 25, {11, 3, 3, 9}},
                           .b = {ASSAY_S32, -9000, 9000, {11}},
                           .y = {ASSAY_S16, 0, 0, {1, 5, 6, 11}},
                           .stride = 1,
                           .pad = 1,
                           .groups = 1};
    by_shift(m, conv(m, &c), 11, 9, ASSAY_ROUND_HALF_UP, 16);
}

static void depthwise_float(struct maker *m)
{
    const struct conv c = {.x = {ASSAY_U8, 100, 160, {1, 6, 7, 21}},
                           .w = {ASSAY_S8, -9, 9, {21, 3, 3, 1}},
                           .b = {ASSAY_S32, -60, 60, {21}},
                           .y = {ASSAY_S8, 0, 0, {1, 6, 7, 21}},
                           .x_zero = 128,
                           .stride = 1,
                           .pad = 1,
                           .groups = 21};
    by_float(m, conv(m, &c), 21, 4, -128, 127);
}

static void depthwise_shift(struct maker *m)
{
    const struct conv c = {.x = {ASSAY_S8, -128, 127, {1, 9, 9, 18}},
                           .w = {ASSAY_S8, -127, 127, {18, 5, 5, 1}},
                           .b = {ASSAY_S32, -900, 900, {18}},
                           .y = {ASSAY_S8, 0, 0, {1, 5, 5, 18}},
                           .stride = 2,
                           .pad = 2,
                           .groups = 18};
    by_shift(m, conv(m, &c), 18, 14, ASSAY_ROUND_HALF_EVEN, 8);
}

static void depthwise_wide(struct maker *m)
{
    const struct conv c = {.x = {ASSAY_S16, -32768, 32767, {1, 5, 5, 17}},
                           .w = {ASSAY_S8, -127, 127, {17, 3, 3, 1}},
                           .b = {ASSAY_S32, -900, 900, {17}},
                           .y = {ASSAY_S16, 0, 0, {1, 5, 5, 17}},
                           .stride = 1,
                           .pad = 1,
                           .groups = 17};
    by_shift(m, conv(m, &c), 17, 14, ASSAY_ROUND_FLOOR, 16);
}

static void gemm(struct maker *m)
{
    uint32_t in[3] = {
        input(m, (struct shape){ASSAY_S8, -128, 127, {9, 40}}),
        constant(m, (struct shape){ASSAY_S8, -128, 127, {13, 40}}),
        constant(m, (struct shape){ASSAY_S32, -5000, 5000, {13}})};

    layer(m, ASSAY_OP_GEMM, 3, in, (struct shape){ASSAY_S8, 0, 0, {9, 13}});
    by_float(m, &m->layer->out_program, 13, 12, -128, 127);
}

/* ---- element by element ------------------------------------------------------ */

static void unary_float(struct maker *m)
{
    uint32_t x = input(m, (struct shape){ASSAY_S16, -700, 700, {1, 5, 7, 19}});

    layer(m, ASSAY_OP_UNARY, 1, &x,
          (struct shape){ASSAY_S8, 0, 0, {1, 5, 7, 19}});
    by_float(m, &m->layer->out_program, 19, 4, -128, 127);
}

static void unary_fixed(struct maker *m)
{
    uint32_t x =
        input(m, (struct shape){ASSAY_S32, -90000, 90000, {1, 5, 5, 18}});

    layer(m, ASSAY_OP_UNARY, 1, &x,
          (struct shape){ASSAY_U8, 0, 0, {1, 5, 5, 18}});
    by_fixed(m, &m->layer->out_program, 18, 9, ASSAY_ROUND_HALF_AWAY, 117, 0,
             255);
}

static struct assay_program *in_program(struct maker *m, uint32_t k)
{
    static struct assay_program none; /* nobody runs it */

    if (m->layer->in_programs == NULL) {
        m->layer->in_programs = memory(m, 2, sizeof(*m->layer->in_programs));
        m->layer->n_in_programs = 2;
    }
    return m->rc < 0 ? memset(&none, 0, sizeof(none))
                     : &m->layer->in_programs[k];
}

static void add_float(struct maker *m)
{
    uint32_t in[2] = {
        input(m, (struct shape){ASSAY_S8, -128, 127, {1, 4, 5, 37}}),
        input(m, (struct shape){ASSAY_S8, -128, 127, {1, 4, 5, 37}})};
    struct assay_program *p;

    layer(m, ASSAY_OP_BINARY, 2, in,
          (struct shape){ASSAY_S8, 0, 0, {1, 4, 5, 37}});
    m->layer->p.binary.combine = ASSAY_COMBINE_FADD;
    for (uint32_t k = 0; k < 2; k++) {
        p = in_program(m, k);
        step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
        step(p, ASSAY_STEP_FMUL, 1, floats(m, 1, 20, 90, 6), NULL);
    }
    p = &m->layer->out_program;
    step(p, ASSAY_STEP_FCLAMP, 1, one(m, bits_of(-128)), one(m, bits_of(127)));
    rounded(p, ASSAY_STEP_FROUND, NULL, ASSAY_ROUND_HALF_EVEN);
}

static void multiply(struct maker *m)
{
    uint32_t in[2] = {
        input(m, (struct shape){ASSAY_S8, -128, 127, {1, 4, 5, 33}}),
        input(m, (struct shape){ASSAY_S8, -128, 127, {1, 1, 1, 33}})};

    layer(m, ASSAY_OP_BINARY, 2, in,
          (struct shape){ASSAY_S8, 0, 0, {1, 4, 5, 33}});
    m->layer->p.binary.combine = ASSAY_COMBINE_MUL;
    in_program(m, 1);
    by_shift(m, &m->layer->out_program, 1, 13, ASSAY_ROUND_HALF_AWAY, 8);
}

static void lookup(struct maker *m)
{
    uint32_t in[2] = {
        input(m, (struct shape){ASSAY_S8, -128, 127, {1, 3, 5, 23}}),
        constant(m, (struct shape){ASSAY_S8, -128, 127, {256}})};

    layer(m, ASSAY_OP_TABLE, 2, in,
          (struct shape){ASSAY_S8, 0, 0, {1, 3, 5, 23}});
}

/* Lines outside, entries inside; each segment 2^13 wide, in steps of 2^7. */
static void segment_table(struct maker *m)
{
    static const int32_t bounds[ASSAY_SEGMENTS] = {
        -24576, -16384, -8192, 0, 8192, 16384, 24576, 32767};
    uint32_t in[3] = {
        input(m, (struct shape){ASSAY_S16, -32768, 32767, {1, 4, 5, 21}}),
        constant(m, (struct shape){ASSAY_S16, -30000, 30000, {6, 64}}),
        constant(m, (struct shape){ASSAY_S32, 0, 0, {8, 5}})};
    int32_t *row = (int32_t *)(uintptr_t)m->out->data[in[2]];

    for (int k = 0; row != NULL && k < ASSAY_SEGMENTS; k++, row += 5) {
        bool line = k == 0 || k == ASSAY_SEGMENTS - 1;

        row[0] = bounds[k];
        row[1] = line ? 3 : 2;
        row[2] = line ? -70 * (k + 1) : -2 * bounds[k - 1];
        row[3] = line ? 4 : 0;
        row[4] = line ? 2 : 0;
    }
    layer(m, ASSAY_OP_SEGMENT_TABLE, 3, in,
          (struct shape){ASSAY_S16, 0, 0, {1, 4, 5, 21}});
    m->layer->p.segment = (struct assay_segment_params){
        .symmetry = ASSAY_SYMMETRY_NONE,
        .round = ASSAY_ROUND_HALF_UP,
        .mix_round = ASSAY_ROUND_HALF_EVEN,
    };
}

static void choose(struct maker *m)
{
    uint32_t in[3] = {input(m, (struct shape){ASSAY_U8, 0, 1, {1, 4, 5, 17}}),
                      input(m, (struct shape){ASSAY_S16, -9, 9, {1, 4, 5, 17}}),
                      input(m, (struct shape){ASSAY_S16, 50, 99, {17}})};

    layer(m, ASSAY_OP_SELECT, 3, in,
          (struct shape){ASSAY_S16, 0, 0, {1, 4, 5, 17}});
}

/* ---- windows, moves, reductions ---------------------------------------------- */

static void pool(struct maker *m, enum assay_pool_kind kind,
                 enum assay_dtype dtype, int64_t lo, int64_t hi)
{
    uint32_t x = input(m, (struct shape){dtype, lo, hi, {1, 7, 8, 35}});

    set_zero(m, x, 1.0f, kind == ASSAY_POOL_AVG ? 100 : 0);
    layer(m, ASSAY_OP_POOL, 1, &x, (struct shape){dtype, 0, 0, {1, 4, 4, 35}});
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

static void pool_max(struct maker *m)
{
    pool(m, ASSAY_POOL_MAX, ASSAY_S8, -128, 127);
}

static void pool_average(struct maker *m)
{
    pool(m, ASSAY_POOL_AVG, ASSAY_U8, 0, 255);
    by_fixed(m, &m->layer->out_program, 1, 3, ASSAY_ROUND_HALF_EVEN, 100, 0,
             255);
}

/* Transposed, every other row from the last one on. */
static void view(struct maker *m)
{
    uint32_t x = input(m, (struct shape){ASSAY_S16, -999, 999, {9, 11}});

    layer(m, ASSAY_OP_VIEW, 1, &x, (struct shape){ASSAY_S16, 0, 0, {11, 5}});
    m->layer->p.view = (struct assay_view_params){
        .rank = 2, .dims = {11, 5}, .strides = {1, -22}, .offset = 88};
}

static void reduce(struct maker *m)
{
    uint32_t x = input(m, (struct shape){ASSAY_S8, -128, 127, {3, 5, 7, 9}});

    layer(m, ASSAY_OP_REDUCE, 1, &x, (struct shape){ASSAY_S32, 0, 0, {3, 9}});
    m->layer->p.reduce =
        (struct assay_reduce_params){.kind = ASSAY_REDUCE_SUM, .axes = 6};
    layer(m, ASSAY_OP_REDUCE, 1, &x,
          (struct shape){ASSAY_S32, 0, 0, {3, 5, 7}});
    m->layer->p.reduce =
        (struct assay_reduce_params){.kind = ASSAY_REDUCE_ARG_MAX, .axes = 8};
}

static void resize(struct maker *m)
{
    uint32_t x = input(m, (struct shape){ASSAY_S8, -128, 127, {1, 5, 6, 7}});

    layer(m, ASSAY_OP_RESIZE, 1, &x,
          (struct shape){ASSAY_S8, 0, 0, {1, 8, 9, 7}});
    m->layer->p.resize = (struct assay_resize_params){.step_h = 40000,
                                                      .step_w = 43000,
                                                      .start_h = -9000,
                                                      .start_w = 7000,
                                                      .decimal_bits = 16,
                                                      .weight_bits = 8,
                                                      .mid_shift = 4};
    rounded(&m->layer->out_program, ASSAY_STEP_SHR, one(m, 12),
            ASSAY_ROUND_HALF_UP);
    sat(&m->layer->out_program, 8);
}

static void grid_sample(struct maker *m)
{
    uint32_t in[2] = {
        input(m, (struct shape){ASSAY_S8, -128, 127, {1, 6, 7, 5}}),
        input(m, (struct shape){ASSAY_S16, -700, 700, {1, 6, 7, 2}})};

    layer(m, ASSAY_OP_GRID_SAMPLE, 2, in,
          (struct shape){ASSAY_S8, 0, 0, {1, 6, 7, 5}});
    m->layer->p.grid_sample = (struct assay_grid_sample_params){
        .padding = ASSAY_GRID_ZEROS, .coord_shift = 8};
    rounded(&m->layer->out_program, ASSAY_STEP_SHR, one(m, 16),
            ASSAY_ROUND_HALF_EVEN);
    sat(&m->layer->out_program, 8);
}

static void softmax(struct maker *m)
{
    uint32_t x = input(m, (struct shape){ASSAY_S8, -128, 127, {5, 17}}), y;
    const int64_t *drawn = floats(m, 256, 1, 60000, 8);
    uint32_t *table = memory(m, 256, sizeof(*table));

    for (int k = 0; drawn != NULL && table != NULL && k < 256; k++)
        table[k] = (uint32_t)drawn[k];
    y = layer(m, ASSAY_OP_SOFTMAX, 1, &x,
              (struct shape){ASSAY_S8, 0, 0, {5, 17}});
    set_zero(m, y, 1.0f / 256, -128);
    m->layer->p.softmax = (struct assay_softmax_params){
        .kind = ASSAY_SOFTMAX_TABLE, .table = table};
}

/* ---- float C ------------------------------------------------------------------ */

static void function(struct maker *m)
{
    uint32_t x = input(m, (struct shape){ASSAY_F32, 20, 190, {7}});

    for (int k = ASSAY_FUNCTION_ABS; k <= ASSAY_FUNCTION_COS; k++) {
        layer(m, ASSAY_OP_FUNCTION, 1, &x,
              (struct shape){ASSAY_F32, 0, 0, {7}});
        m->layer->p.function.kind = (uint8_t)k;
    }
}

static void normalize(struct maker *m)
{
    uint32_t in[3] = {input(m, (struct shape){ASSAY_F32, -300, 300, {3, 11}}),
                      constant(m, (struct shape){ASSAY_F32, 20, 90, {11}}),
                      constant(m, (struct shape){ASSAY_F32, 200, 400, {11}})};

    for (int k = ASSAY_NORMALIZE_LAYER; k <= ASSAY_NORMALIZE_RMS; k++) {
        bool beta = k == ASSAY_NORMALIZE_LAYER;

        layer(m, ASSAY_OP_NORMALIZE, beta ? 3 : 2, in,
              (struct shape){ASSAY_F32, 0, 0, {3, 11}});
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
    void (*make)(struct maker *m);
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
    struct maker m = {.out = out, .name = list[k].name};

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
