/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products: convolutions, also transposed, gemm, matrix products. */
#include <inttypes.h>
#include <stdio.h>

#include "host-tools/explain_private.h"

#define TEXT 240

struct sum {
    int64_t acc;
    size_t inside, taps;
    size_t w_channel; /* of w, for its zero point */
};

/* Adds x[x_at] * w[w_at]; `at` names the tap. */
static void add_tap(struct assay_explain *e, struct sum *s, const char *at,
                    size_t x_at, size_t w_at)
{
    int64_t zx = assay_explain_zero(assay_explain_input(e, 0), 0);
    int64_t zw = assay_explain_zero(assay_explain_input(e, 1), s->w_channel);
    int64_t a = assay_explain_get(e, 0, x_at).i;
    int64_t b = assay_explain_get(e, 1, w_at).i;
    char text[TEXT], zeros[2][32] = {"", ""};

    s->inside++;
    s->acc += (a - zx) * (b - zw);
    if (!e->taps)
        return;
    if (zx != 0)
        snprintf(zeros[0], sizeof(zeros[0]), " - %" PRId64, zx);
    if (zw != 0)
        snprintf(zeros[1], sizeof(zeros[1]), " - %" PRId64, zw);
    snprintf(text, sizeof(text), "    tap %s (%" PRId64 "%s) * (%" PRId64 "%s)",
             at, a, zeros[0], b, zeros[1]);
    assay_explain_say_operand(e, ASSAY_VALUE_INT,
                              assay_explain_int((a - zx) * (b - zw)), text);
}

/* Where tap k of an axis reads, for output position o; false: nowhere. */
struct axis {
    int64_t out, in, stride, pad, dilation;
    bool transposed;
};

static bool reads(const struct axis *a, int64_t k, int64_t *at)
{
    if (!a->transposed) {
        *at = a->out * a->stride - a->pad + k * a->dilation;
    } else {
        int64_t from = a->out + a->pad - k * a->dilation;

        if (from % a->stride != 0)
            return false;
        *at = from / a->stride;
    }
    return *at >= 0 && *at < a->in;
}

/* All channels of one tap of the window. */
static void add_cell(struct assay_explain *e, struct sum *s, size_t pixel,
                     int64_t ky, int64_t kx)
{
    const struct assay_conv2d_params *p = &assay_explain_layer(e)->p.conv2d;
    const struct assay_tensor *x = assay_explain_input(e, 0),
                              *w = assay_explain_input(e, 1);
    size_t outputs = assay_explain_channels(assay_explain_output(e));
    size_t o = e->element % outputs, depth = (size_t)w->dims[3];
    size_t group = o / (outputs / (size_t)p->groups);
    size_t row = (o * (size_t)w->dims[1] + (size_t)ky) * (size_t)w->dims[2];
    char at[64];

    for (size_t c = 0; c < depth; c++) {
        snprintf(at, sizeof(at), "%" PRId64 ",%" PRId64 ",%zu", ky, kx, c);
        add_tap(e, s, at, pixel * assay_explain_channels(x) + group * depth + c,
                (row + (size_t)kx) * depth + c);
    }
}

/* What a number in the padding would count for. */
static void pad_cell(struct assay_explain *e, const struct sum *s, int64_t ky,
                     int64_t kx)
{
    const struct assay_tensor *w = assay_explain_input(e, 1);
    size_t depth = (size_t)w->dims[3];
    size_t row =
        (s->w_channel * (size_t)w->dims[1] + (size_t)ky) * (size_t)w->dims[2] +
        (size_t)kx;

    e->pad_taps += depth;
    for (size_t c = 0; c < depth; c++)
        e->pad_weight += assay_explain_get(e, 1, row * depth + c).i -
                         assay_explain_zero(w, s->w_channel);
}

static void sum_window(struct assay_explain *e, struct sum *s)
{
    const struct assay_conv2d_params *p = &assay_explain_layer(e)->p.conv2d;
    const struct assay_tensor *x = assay_explain_input(e, 0),
                              *w = assay_explain_input(e, 1);
    const struct assay_tensor *y = assay_explain_output(e);
    bool transposed = assay_explain_layer(e)->op == ASSAY_OP_CONV_TRANSPOSE2D;
    int64_t position = (int64_t)(e->element / assay_explain_channels(y));
    int64_t n = position / y->dims[2] / y->dims[1];
    struct axis v = {position / y->dims[2] % y->dims[1],
                     x->dims[1],
                     p->stride_h,
                     p->pad_top,
                     p->dilation_h,
                     transposed};
    struct axis h = {position % y->dims[2], x->dims[2],    p->stride_w,
                     p->pad_left,           p->dilation_w, transposed};
    int64_t iy, ix;

    for (int64_t ky = 0; ky < w->dims[1]; ky++) {
        for (int64_t kx = 0; kx < w->dims[2]; kx++) {
            s->taps += (size_t)w->dims[3];
            if (reads(&v, ky, &iy) && reads(&h, kx, &ix))
                add_cell(e, s,
                         (size_t)((n * x->dims[1] + iy) * x->dims[2] + ix), ky,
                         kx);
            else if (!transposed)
                pad_cell(e, s, ky, kx);
        }
    }
}

/* K products; operands `step` elements apart. */
static void sum_row(struct assay_explain *e, struct sum *s, size_t depth,
                    size_t a, size_t b, size_t b_step)
{
    char at[32];

    s->taps = depth;
    for (size_t c = 0; c < depth; c++) {
        snprintf(at, sizeof(at), "%zu", c);
        add_tap(e, s, at, a + c, b + c * b_step);
    }
}

static uint32_t sum_point(struct assay_explain *e, const struct sum *s)
{
    int64_t zx = assay_explain_zero(assay_explain_input(e, 0), 0);
    int64_t zw = assay_explain_zero(assay_explain_input(e, 1), s->w_channel);
    char term[80] = "x*w", more[64] = "";

    if (zx != 0 || zw != 0)
        snprintf(term, sizeof(term), "(x - %" PRId64 ")*(w - %" PRId64 ")", zx,
                 zw);
    if (s->inside != s->taps)
        snprintf(more, sizeof(more), ", %zu more %s add 0", s->taps - s->inside,
                 assay_explain_layer(e)->op == ASSAY_OP_CONV_TRANSPOSE2D
                     ? "that meet no element"
                     : "in the padding");
    return assay_explain_start(e, ASSAY_VALUE_INT, assay_explain_int(s->acc),
                               "  sum %s of %zu taps%s", term, s->inside, more);
}

/* The bias is added, in the accumulator's width. */
static uint32_t accumulator(struct assay_explain *e, const struct sum *s,
                            int64_t bias)
{
    bool narrow = assay_dtype_bytes(assay_explain_input(e, 0)->dtype) == 1;
    int64_t exact = s->acc + bias;

    if (narrow && exact != assay_wrap(exact, 32))
        assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(exact),
                          "  acc before it wraps");
    e->accumulator = assay_explain_own(
        e, e->n_points - 1,
        (struct assay_step){.kind = ASSAY_STEP_ADD,
                            .add_mode =
                                narrow ? ASSAY_ADD_WRAP32 : ASSAY_ADD_WIDE},
        bias, 0, narrow ? "  acc (32 bits)" : "  acc (64 bits)");
    return e->accumulator;
}

void assay_explain_products(struct assay_explain *e)
{
    const struct assay_layer *l = assay_explain_layer(e);
    bool has_second = l->op == ASSAY_OP_CONV2D && l->p.conv2d.has_second;
    size_t o = assay_explain_channel(e),
           depth = assay_explain_channels(assay_explain_input(e, 0));
    struct sum s = {.w_channel = o};
    int64_t bias = 0;
    int32_t second = 0;

    if (l->op == ASSAY_OP_GEMM)
        sum_row(e, &s, depth,
                e->element / assay_explain_channels(assay_explain_output(e)) *
                    depth,
                o * depth, 1);
    else
        sum_window(e, &s);
    sum_point(e, &s);
    if (assay_layer_has_bias(l)) {
        bias = assay_explain_get(e, 2, o).i;
        assay_explain_say_operand(e, ASSAY_VALUE_INT, assay_explain_int(bias),
                                  "  + bias");
    }
    if (has_second)
        second = (int32_t)assay_explain_get(e, l->n_inputs - 1, e->element).i;
    assay_explain_program(e, &l->out_program, accumulator(e, &s, bias), o,
                          has_second ? &second : NULL, "  ");
}

/* The matrix of t that batch `batch` of the output reads, as an element. */
static size_t matrix(const struct assay_tensor *t, const struct assay_tensor *y,
                     size_t batch)
{
    size_t at = 0, step = (size_t)(t->dims[t->rank - 2] * t->dims[t->rank - 1]);

    for (uint32_t i = 2; i < y->rank; i++) {
        size_t dim = i < t->rank ? (size_t)t->dims[t->rank - 1 - i] : 1;
        size_t of = (size_t)y->dims[y->rank - 1 - i];

        at += dim > 1 ? batch % of * step : 0;
        step *= dim;
        batch /= of;
    }
    return at;
}

void assay_explain_matmul(struct assay_explain *e)
{
    const struct assay_tensor *a = assay_explain_input(e, 0),
                              *b = assay_explain_input(e, 1);
    const struct assay_tensor *y = assay_explain_output(e);
    size_t n = assay_explain_channels(y), depth = assay_explain_channels(a);
    size_t row = e->element / n % (size_t)y->dims[y->rank - 2];
    size_t batch = e->element / n / (size_t)y->dims[y->rank - 2];
    struct sum s = {.acc = 0};

    sum_row(e, &s, depth, matrix(a, y, batch) + row * depth,
            matrix(b, y, batch) + e->element % n, n);
    sum_point(e, &s);
    assay_explain_program(e, &assay_explain_layer(e)->out_program,
                          accumulator(e, &s, 0), e->element % n, NULL, "  ");
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

bool assay_explain_padding(const struct assay_explain *e,
                           const struct assay_preimage *set,
                           struct assay_preimage *out)
{
    const struct assay_tensor *x = assay_explain_input(e, 0);
    int64_t acc = e->points[e->accumulator].v.i, w = e->pad_weight;
    int64_t zero = assay_explain_zero(x, 0);
    int64_t lo = set->lo - acc, hi = set->hi - acc, end = lo;

    *out = (struct assay_preimage){.kind = ASSAY_VALUE_INT};
    if (set->empty || set->unknown || w == 0)
        return false;
    if (w < 0) {
        lo = -hi;
        hi = -end;
        w = -w;
    }
    assay_dtype_range(x->dtype, &out->lo, &out->hi);
    lo = zero - floor_div(-lo, w);
    hi = zero + floor_div(hi, w);
    out->lo = lo > out->lo ? lo : out->lo;
    out->hi = hi < out->hi ? hi : out->hi;
    return out->lo <= out->hi;
}
