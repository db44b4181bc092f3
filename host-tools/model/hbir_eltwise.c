/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element: quantize, rescale, one, two and three operands. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

/* The result is as the operand, but for its dtype. */
static int like(struct assay_hbir *im, uint32_t x, unsigned mask, uint32_t *y)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t dims[ASSAY_MAX_RANK];
    char axes[ASSAY_MAX_RANK + 1];

    memcpy(dims, t->dims, sizeof(dims));
    memcpy(axes, t->axes, sizeof(axes));
    return assay_hbir_output(im, 0, mask, t->rank, dims, axes, y);
}

/* ---- quantize, dequantize ----------------------------------------------- */

struct border {
    uint32_t n, axis;
    int64_t *scale; /* binary32 bits */
};

/* scales, zeros and axis of attributes; the type's own scale where there are
 * none. `t`: the quantized side. */
static int read_border(struct assay_hbir *im, uint32_t x,
                       const struct assay_quant *of, struct border *b)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    const double *v, *zeros;
    int64_t axis = 0, last = t->rank ? (int64_t)t->rank - 1 : 0;
    uint32_t n, n_zeros;
    int rc = assay_hbir_reals(im, "scales", INT32_MAX, &n, &v);

    if (!rc)
        rc = assay_hbir_reals(im, "zeros", INT32_MAX, &n_zeros, &zeros);
    if (!rc && n > 1)
        rc = assay_hbir_axis(im, "axis", t->rank, &last, &axis);
    for (uint32_t i = 0; !rc && i < n_zeros; i++)
        if (zeros[i] != 0)
            rc =
                assay_hbir_skip(im, "a zero point of %g, known is 0", zeros[i]);
    if (!rc && !n && !of->n)
        rc = assay_hbir_skip(im, "attribute 'scales' is missing");
    if (rc)
        return rc;
    b->n = n ? n : of->n;
    b->axis = (uint32_t)(n ? axis : of->axis < 0 ? 0 : of->axis);
    if (b->n > 1 && t->dims[b->axis] != (int64_t)b->n)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "attribute 'scales': expected 1 or %lld "
                               "numbers, found %u",
                               (long long)t->dims[b->axis], b->n);
    b->scale = assay_arena_array(im->work, b->n, sizeof(*b->scale));
    if (!b->scale)
        return assay_hbir_no_memory(im);
    for (uint32_t i = 0; i < b->n; i++) {
        float f = n ? (float)v[i] : of->scale[i];
        uint32_t bits;

        if (!isfinite(f) || f <= 0)
            return assay_hbir_fail(im, ASSAY_ERANGE,
                                   "attribute 'scales': number %u is %g, "
                                   "expected one above 0",
                                   i, (double)f);
        memcpy(&bits, &f, sizeof(bits));
        b->scale[i] = bits;
    }
    return 0;
}

static int border_layer(struct assay_hbir *im, uint32_t x, uint32_t y,
                        const struct border *b, const char *form)
{
    struct assay_layer *l;
    uint32_t last = im->s->tensors[x].rank ? im->s->tensors[x].rank - 1 : 0;
    uint32_t in = x, out = y;
    bool turn = b->n > 1 && b->axis != last;
    int rc = 0;

    if (turn) { /* programs have a number for each of the last axis */
        rc = assay_hbir_to_last(im, x, b->axis, &in);
        if (!rc)
            rc = assay_hbir_between(im, "turned", im->s->tensors[y].dtype,
                                    im->s->tensors[in].rank,
                                    im->s->tensors[in].dims, &out);
    }
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_UNARY, 1, &in, out, &l);
    if (rc)
        return rc;
    l->form = form;
    rc = assay_hbir_field(im, l, "scale_f32", b->n, b->scale);
    return rc || !turn ? rc : assay_hbir_from_last(im, out, b->axis, y);
}

/* The scale is the quantized side's: what readers tell a user. */
static void keep_scale(struct assay_hbir *im, uint32_t t,
                       const struct border *b)
{
    struct assay_quant *q = &im->s->tensors[t].quant;
    float *scale;
    int32_t *zero;

    if (q->n || !assay_dtype_is_int(im->s->tensors[t].dtype))
        return;
    scale = assay_arena_array(im->s->arena, b->n, sizeof(*scale));
    zero = assay_arena_array(im->s->arena, b->n, sizeof(*zero));
    if (!scale || !zero)
        return; /* a remark only */
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t bits = (uint32_t)b->scale[i];

        memcpy(&scale[i], &bits, sizeof(bits));
    }
    *q = (struct assay_quant){b->n, b->n > 1 ? (int32_t)b->axis : -1, scale,
                              zero};
}

static int border(struct assay_hbir *im, unsigned from, unsigned to,
                  const char *form)
{
    static const struct assay_quant none;
    struct assay_hbir_type t;
    struct border b = {0};
    uint32_t x, y;
    bool quantizes = from == ASSAY_HBIR_F32;
    int rc = assay_hbir_input(im, 0, "input", from, &x);

    if (!rc && im->op->n_operands != 1)
        rc = assay_hbir_skip(im, "%u operands, known is 1", im->op->n_operands);
    if (!rc)
        rc = assay_hbir_declared(im, 0, &t);
    if (!rc)
        rc = read_border(im, x,
                         !quantizes  ? &im->s->tensors[x].quant
                         : t.quant.n ? &t.quant
                                     : &none,
                         &b);
    if (!rc)
        rc = like(im, x, to, &y);
    if (rc)
        return rc;
    keep_scale(im, quantizes ? y : x, &b);
    return border_layer(im, x, y, &b, form);
}

int assay_hbir_quantize(struct assay_hbir *im)
{
    return border(im, ASSAY_HBIR_F32, ASSAY_HBIR_S8_16, "quantize");
}

int assay_hbir_dequantize(struct assay_hbir *im)
{
    return border(im, ASSAY_HBIR_INTS, ASSAY_HBIR_F32, "dequantize");
}

/* ---- rescale, one operand ----------------------------------------------- */

static int scale_attr(struct assay_hbir *im, const char *name, double *out)
{
    const double *v;
    uint32_t n;
    int rc = assay_hbir_reals(im, name, 1, &n, &v);

    *out = !rc && n ? v[0] : 0;
    if (!rc && n && *out <= 0)
        rc = assay_hbir_fail(im, ASSAY_ERANGE,
                             "attribute '%s' is %g, expected a number above 0",
                             name, *out);
    return rc;
}

int assay_hbir_rescale(struct assay_hbir *im)
{
    struct assay_hbir_quant q;
    struct assay_layer *l;
    double in_scale = 0, out_scale = 0, real;
    uint32_t x, y;
    bool row = im->op->n_operands > 1;
    int64_t channels = 1;
    int rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_INTS, &x);

    if (!rc && im->op->n_operands > 2)
        rc =
            assay_hbir_skip(im, "%u operands, known are 2", im->op->n_operands);
    if (!rc && im->s->tensors[x].rank)
        channels = im->s->tensors[x].dims[im->s->tensors[x].rank - 1];
    if (!rc && row)
        rc = assay_hbir_quant_info(im, 1, channels, &q);
    if (!rc && row)
        rc = assay_hbir_no_bias(im, &q);
    if (!rc)
        rc = scale_attr(im, "inScale", &in_scale);
    if (!rc)
        rc = scale_attr(im, "outScale", &out_scale);
    if (!rc)
        rc = like(im, x, ASSAY_HBIR_INTS, &y);
    if (rc)
        return rc;
    real = in_scale > 0 && out_scale > 0 ? in_scale / out_scale
                                         : assay_hbir_ratio(im, x, y);
    if (!row && !(real > 0 && isfinite(real)))
        return assay_hbir_skip(im, "neither quantInfo, nor 'inScale' and "
                                   "'outScale', nor scales of both types");
    rc = row ? 0 : assay_hbir_check_real(im, real);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_UNARY, 1, &x, y, &l);
    if (rc)
        return rc;
    l->form = "rescale";
    return row ? assay_hbir_quant_fields(im, l, &q, false)
               : assay_hbir_real(im, l, real);
}

static int add_step(struct assay_hbir *im, struct assay_program *p,
                    enum assay_step_kind kind, int64_t a, int64_t b)
{
    int64_t *v = assay_arena_array(im->s->arena, 2, sizeof(*v));

    if (!v)
        return assay_hbir_no_memory(im);
    v[0] = a;
    v[1] = b;
    p->steps[p->n_steps++] =
        (struct assay_step){.kind = (uint8_t)kind, .n = 1, .a = v, .b = v + 1};
    return 0;
}

/* Never below 0: exact, whatever the type. */
int assay_hbir_relu(struct assay_hbir *im)
{
    struct assay_layer *l;
    float most = FLT_MAX;
    uint32_t x, y, bits;
    int64_t lo, hi;
    int rc =
        assay_hbir_input(im, 0, "input", ASSAY_HBIR_INTS | ASSAY_HBIR_F32, &x);

    if (!rc)
        rc = like(im, x, 1u << im->s->tensors[x].dtype, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_UNARY, 1, &x, y, &l);
    if (rc)
        return rc;
    memcpy(&bits, &most, sizeof(bits));
    assay_dtype_range(im->s->tensors[y].dtype, &lo, &hi);
    return im->s->tensors[y].dtype == ASSAY_F32
               ? add_step(im, &l->out_program, ASSAY_STEP_FCLAMP, 0, bits)
               : add_step(im, &l->out_program, ASSAY_STEP_CLAMP, 0, hi);
}

/* Of integers as the rules of rescale and prelu say: -(-128) is a choice. */
static int negate(struct assay_hbir *im, uint32_t x, bool absolute)
{
    static const struct {
        const char *name;
        int64_t v;
    } of_abs[] = {{"pos_scale", 1}, {"pos_shift", 0},   {"slope", -1},
                  {"neg_scale", 1}, {"slope_shift", 0}, {"neg_shift", 0}};
    struct assay_layer *l;
    uint32_t y;
    int rc = like(im, x, ASSAY_HBIR_S8_16, &y);

    if (!rc && absolute && im->s->tensors[x].rank != 4)
        rc = assay_hbir_skip(im, "the absolute value of rank %u, known is 4",
                             im->s->tensors[x].rank);
    if (!rc)
        rc = assay_hbir_layer(im, absolute ? ASSAY_OP_PRELU : ASSAY_OP_UNARY, 1,
                              &x, y, &l);
    if (rc)
        return rc;
    l->form = absolute ? "prelu" : "rescale";
    if (!absolute) {
        rc = assay_hbir_field_one(im, l, "scale", -1);
        return rc ? rc : assay_hbir_field_one(im, l, "post_shift", 0);
    }
    rc = assay_hbir_programs(im, l, 2);
    for (size_t i = 0; !rc && i < sizeof(of_abs) / sizeof(of_abs[0]); i++)
        rc = assay_hbir_field_one(im, l, of_abs[i].name, of_abs[i].v);
    return rc;
}

static int shift_right(struct assay_hbir *im, uint32_t x)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    struct assay_hbir_list shift;
    struct assay_layer *l;
    uint32_t y;
    int rc = assay_hbir_list(im, "rshift", t->rank ? t->dims[t->rank - 1] : 1,
                             0, 31, &shift);

    if (!rc && !shift.n)
        rc = assay_hbir_skip(im, "attribute 'rshift' is missing");
    if (!rc)
        rc = like(im, x, ASSAY_HBIR_INTS, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_UNARY, 1, &x, y, &l);
    if (rc)
        return rc;
    l->form = "rescale";
    return assay_hbir_field(im, l, "pre_shift", shift.n, shift.v);
}

int assay_hbir_unary(struct assay_hbir *im)
{
    enum { ABS, NEG, RELU, SHIFT };
    struct assay_layer *l;
    uint32_t x, y;
    int mode;
    int rc = assay_hbir_word(im, "mode", "abs neg relu shift", -1, &mode);

    if (!rc && im->op->n_operands != 1)
        rc = assay_hbir_skip(im, "%u operands, known is 1", im->op->n_operands);
    if (!rc && mode == RELU)
        return assay_hbir_relu(im);
    if (!rc)
        rc = assay_hbir_input(
            im, 0, "input",
            ASSAY_HBIR_S8_16 |
                (mode == SHIFT ? ASSAY_HBIR_S32 : ASSAY_HBIR_F32),
            &x);
    if (rc)
        return rc;
    if (mode == SHIFT)
        return shift_right(im, x);
    if (im->s->tensors[x].dtype != ASSAY_F32)
        return negate(im, x, mode == ABS);
    rc = like(im, x, ASSAY_HBIR_F32, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_FUNCTION, 1, &x, y, &l);
    if (!rc)
        l->p.function.kind =
            mode == ABS ? ASSAY_FUNCTION_ABS : ASSAY_FUNCTION_NEG;
    return rc;
}

/* ---- two operands ------------------------------------------------------- */

int assay_hbir_broadcast(struct assay_hbir *im, const uint32_t *in, uint32_t n,
                         uint32_t *rank, int64_t *dims)
{
    char a[160], b[160];

    *rank = 0;
    for (uint32_t k = 0; k < n; k++)
        if (im->s->tensors[in[k]].rank > *rank)
            *rank = im->s->tensors[in[k]].rank;
    for (uint32_t i = 0; i < *rank; i++) {
        dims[i] = 1;
        for (uint32_t k = 0; k < n; k++) {
            const struct assay_tensor *t = &im->s->tensors[in[k]];
            const struct assay_tensor *f = &im->s->tensors[in[0]];
            int64_t d = i + t->rank < *rank ? 1 : t->dims[i + t->rank - *rank];

            if (d != dims[i] && d != 1 && dims[i] != 1)
                return assay_hbir_fail(
                    im, ASSAY_EFORMAT, "operands of %s and %s do not broadcast",
                    assay_hbir_shape_text(a, f->dtype, f->rank, f->dims),
                    assay_hbir_shape_text(b, t->dtype, t->rank, t->dims));
            dims[i] = d > dims[i] ? d : dims[i];
        }
    }
    return 0;
}

static int two(struct assay_hbir *im, unsigned mask, uint32_t in[2],
               uint32_t *rank, int64_t *dims)
{
    int rc = assay_hbir_input(im, 0, "operand a", mask, &in[0]);

    if (!rc)
        rc = assay_hbir_input(im, 1, "operand b", mask, &in[1]);
    if (!rc && (im->s->tensors[in[0]].dtype == ASSAY_F32) !=
                   (im->s->tensors[in[1]].dtype == ASSAY_F32))
        rc = assay_hbir_skip(im, "an operand of floats and one of integers");
    if (!rc && im->op->n_operands > 2)
        rc = assay_hbir_skip(im,
                             "%u operands: what the third says is not "
                             "known",
                             im->op->n_operands);
    return rc ? rc : assay_hbir_broadcast(im, in, 2, rank, dims);
}

static int two_layer(struct assay_hbir *im, const uint32_t in[2],
                     enum assay_combine combine, unsigned mask, uint32_t rank,
                     const int64_t *dims, struct assay_layer **l)
{
    const struct assay_tensor *a = &im->s->tensors[in[0]];
    char axes[ASSAY_MAX_RANK + 1] = "";
    uint32_t y;
    int rc;

    if (a->rank == rank)
        memcpy(axes, a->axes, sizeof(axes));
    rc = assay_hbir_output(im, 0, mask, rank, dims, axes, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_BINARY, 2, in, y, l);
    if (!rc)
        rc = assay_hbir_programs(im, *l, 2);
    if (!rc)
        (*l)->p.binary.combine = combine;
    return rc;
}

static const struct {
    const char *form;
    enum assay_combine of_int, of_float;
} twos[] = {
    [ASSAY_HBIR_ADD] = {"add", ASSAY_COMBINE_ADD, ASSAY_COMBINE_FADD},
    [ASSAY_HBIR_SUB] = {"sub", ASSAY_COMBINE_SUB, ASSAY_COMBINE_FSUB},
    [ASSAY_HBIR_MUL] = {"mul", ASSAY_COMBINE_MUL, ASSAY_COMBINE_FMUL},
    [ASSAY_HBIR_DIV] = {NULL, 0, ASSAY_COMBINE_FDIV},
    [ASSAY_HBIR_MAX] = {NULL, ASSAY_COMBINE_MAX, ASSAY_COMBINE_FMAX},
    [ASSAY_HBIR_MIN] = {NULL, ASSAY_COMBINE_MIN, ASSAY_COMBINE_FMIN},
};

struct two_fields {
    struct assay_hbir_list x_shift, e_shift, e_scale, pre, scale, post;
};

static int read_two(struct assay_hbir *im, int64_t channels,
                    struct two_fields *k)
{
    int rc = assay_hbir_list(im, "lhsShift", channels, 0, 31, &k->x_shift);

    if (!rc)
        rc = assay_hbir_list(im, "rhsShift", channels, 0, 31, &k->e_shift);
    if (!rc)
        rc = assay_hbir_list(im, "rhsScale", channels, INT16_MIN, UINT16_MAX,
                             &k->e_scale);
    if (!rc)
        rc = assay_hbir_list(im, "preRShift", channels, 0, 31, &k->pre);
    if (!rc)
        rc = assay_hbir_list(im, "scale", channels, INT16_MIN, UINT16_MAX,
                             &k->scale);
    if (!rc)
        rc = assay_hbir_list(im, "postRShift", channels, 0, 62, &k->post);
    if (!rc && !k->scale.n)
        rc = assay_hbir_skip(im, "attribute 'scale' is missing");
    if (!rc && !k->post.n)
        rc = assay_hbir_skip(im, "attribute 'postRShift' is missing");
    return rc;
}

static int scaled_two(struct assay_hbir *im, enum assay_hbir_two which,
                      const uint32_t in[2], uint32_t rank, const int64_t *dims)
{
    struct two_fields k;
    struct assay_layer *l;
    int rc = read_two(im, rank ? dims[rank - 1] : 1, &k);

    if (!rc)
        rc = two_layer(im, in, twos[which].of_int, ASSAY_HBIR_INTS, rank, dims,
                       &l);
    if (rc)
        return rc;
    l->form = twos[which].form;
    if (which != ASSAY_HBIR_MUL) {
        rc = assay_hbir_field(im, l, "x_shift", k.x_shift.n, k.x_shift.v);
        if (!rc)
            rc = assay_hbir_field(im, l, "e_shift", k.e_shift.n, k.e_shift.v);
        if (!rc)
            rc = assay_hbir_field(im, l, "e_scale", k.e_scale.n, k.e_scale.v);
    }
    if (!rc)
        rc = assay_hbir_field(im, l, "pre_shift", k.pre.n, k.pre.v);
    if (!rc)
        rc = assay_hbir_field(im, l, "scale", k.scale.n, k.scale.v);
    return rc ? rc : assay_hbir_field(im, l, "post_shift", k.post.n, k.post.v);
}

/* The larger of integers is one of them only where their scales agree. */
static int check_scales(struct assay_hbir *im, const uint32_t in[2])
{
    double ratio = assay_hbir_ratio(im, in[0], in[1]);

    if (im->s->tensors[in[0]].dtype != im->s->tensors[in[1]].dtype)
        return assay_hbir_skip(im, "operands of %s and %s",
                               assay_dtype_name(im->s->tensors[in[0]].dtype),
                               assay_dtype_name(im->s->tensors[in[1]].dtype));
    if (ratio != 0 && ratio != 1)
        return assay_hbir_skip(im, "operands of different scales");
    return 0;
}

static int binary(struct assay_hbir *im, enum assay_hbir_two which)
{
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_layer *l;
    uint32_t in[2], rank;
    int rc = two(im, ASSAY_HBIR_INTS | ASSAY_HBIR_F32, in, &rank, dims);

    if (rc)
        return rc;
    if (im->s->tensors[in[0]].dtype == ASSAY_F32)
        return two_layer(im, in, twos[which].of_float, ASSAY_HBIR_F32, rank,
                         dims, &l);
    if (twos[which].form)
        return scaled_two(im, which, in, rank, dims);
    if (!twos[which].of_int)
        return assay_hbir_skip(im, "a division of integers");
    rc = check_scales(im, in);
    return rc ? rc
              : two_layer(im, in, twos[which].of_int,
                          1u << im->s->tensors[in[0]].dtype, rank, dims, &l);
}

int assay_hbir_binary(struct assay_hbir *im)
{
    int mode = im->argument, rc = 0;

    if (mode == ASSAY_HBIR_MODE)
        rc = assay_hbir_word(im, "mode", "add sub mul div max min", -1, &mode);
    return rc ? rc : binary(im, (enum assay_hbir_two)mode);
}

/* ---- three operands ----------------------------------------------------- */

int assay_hbir_ternary(struct assay_hbir *im)
{
    const unsigned ints = ASSAY_HBIR_INTS | 1u << ASSAY_U8 | 1u << ASSAY_S64;
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_layer *l;
    uint32_t in[3], rank, y;
    int mode;
    int rc = assay_hbir_word(im, "mode", "select where", 0, &mode);

    if (!rc && im->op->n_operands != 3)
        rc =
            assay_hbir_skip(im, "%u operands, known are 3", im->op->n_operands);
    if (!rc)
        rc = assay_hbir_input(im, 0, "condition", ints, &in[0]);
    if (!rc)
        rc = assay_hbir_input(im, 1, "operand a", ASSAY_HBIR_ANY, &in[1]);
    if (!rc)
        rc = assay_hbir_input(im, 2, "operand b", ASSAY_HBIR_ANY, &in[2]);
    if (!rc)
        rc = check_scales(im, in + 1);
    if (!rc)
        rc = assay_hbir_broadcast(im, in, 3, &rank, dims);
    if (!rc)
        rc = assay_hbir_output(im, 0, 1u << im->s->tensors[in[1]].dtype, rank,
                               dims, "", &y);
    return rc ? rc : assay_hbir_layer(im, ASSAY_OP_SELECT, 3, in, y, &l);
}
