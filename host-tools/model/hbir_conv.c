/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d, linear, matmul: what multiplies and accumulates. */
#include <math.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

struct conv {
    uint32_t in[3], n_in;
    bool has_second, relu, is_float;
    int64_t groups, oc;
    int64_t stride[2], pad[4], dilation[2];
    int64_t dims[4];
    enum assay_dtype dtype;
    struct assay_hbir_quant q;
    struct assay_hbir_list bias, scale; /* of a float result */
};

/* operandSegmentSizes: fin, weight, quantInfo, sumin, and one more, which is
 * not known. */
static int segments(struct assay_hbir *im, bool *second)
{
    int64_t v[8];
    uint32_t n;
    bool found;
    int rc = assay_hbir_ints(im, "operandSegmentSizes", 8, v, &n, &found);
    int64_t sum = 0;

    *second = im->op->n_operands > 3;
    if (rc || !found) {
        if (!rc && im->op->n_operands > 4)
            rc = assay_hbir_skip(im, "%u operands: the fifth is not known",
                                 im->op->n_operands);
        return rc;
    }
    for (uint32_t i = 0; i < n; i++)
        sum += v[i] < 0 || v[i] > 64 ? 65 : v[i];
    if (n < 4 || sum != im->op->n_operands)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "operandSegmentSizes: %u segments of %lld "
                               "operands, but there are %u",
                               n, (long long)sum, im->op->n_operands);
    for (uint32_t i = 0; i < n; i++)
        if (i < 3 ? v[i] != 1 : i == 3 ? v[i] > 1 : v[i] != 0)
            return assay_hbir_skip(im,
                                   "operandSegmentSizes: segment %u has %lld "
                                   "operands, which is not known",
                                   i, (long long)v[i]);
    *second = v[3] == 1;
    return 0;
}

static int read_window(struct assay_hbir *im, const struct assay_hbir_const *w,
                       struct conv *c)
{
    static const int64_t ones[2] = {1, 1}, zeros[4] = {0};
    int64_t kernel[2], zero = 0, pad_value;
    int rc = assay_hbir_row(im, "kernel", 2, 1, INT32_MAX, w->dims + 1, kernel);

    if (!rc)
        rc = assay_hbir_row(im, "stride", 2, 1, INT32_MAX, ones, c->stride);
    if (!rc)
        rc = assay_hbir_row(im, "dilation", 2, 1, INT32_MAX, ones, c->dilation);
    if (!rc)
        rc = assay_hbir_row(im, "pad", 4, 0, INT32_MAX, zeros, c->pad);
    if (!rc)
        rc = assay_hbir_int(im, "padValue", INT64_MIN, INT64_MAX, &zero,
                            &pad_value);
    if (rc)
        return rc;
    if (kernel[0] != w->dims[1] || kernel[1] != w->dims[2])
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "attribute 'kernel' is [%lld, %lld], but the "
                               "weights '%.100s' have %lldx%lld",
                               (long long)kernel[0], (long long)kernel[1],
                               w->name, (long long)w->dims[1],
                               (long long)w->dims[2]);
    if (pad_value && (c->pad[0] || c->pad[1] || c->pad[2] || c->pad[3]))
        return assay_hbir_skip(im, "attribute 'padValue' is %lld, known is 0",
                               (long long)pad_value);
    return 0;
}

static int read_groups(struct assay_hbir *im, const struct assay_hbir_const *w,
                       int64_t channels, struct conv *c)
{
    const char *name = assay_hbir_attr(im, "groupNum") ? "groupNum" : "group";
    int64_t own = channels / w->dims[3];
    int rc = assay_hbir_int(im, name, 1, INT32_MAX, own ? &own : &(int64_t){1},
                            &c->groups);

    if (rc)
        return rc;
    if (channels % c->groups || channels / c->groups != w->dims[3] ||
        w->dims[0] % c->groups)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "%lld groups of %lld channels do not fit "
                               "weights of %lld x..x%lld",
                               (long long)c->groups, (long long)channels,
                               (long long)w->dims[0], (long long)w->dims[3]);
    return 0;
}

static int out_dims(struct assay_hbir *im, const struct assay_tensor *x,
                    const struct assay_hbir_const *w, struct conv *c)
{
    c->dims[0] = x->dims[0];
    c->dims[3] = c->oc = w->dims[0];
    for (int d = 0; d < 2; d++) {
        int64_t room = x->dims[1 + d] + c->pad[d] + c->pad[d + 2] -
                       ((w->dims[1 + d] - 1) * c->dilation[d] + 1);

        if (room < 0)
            return assay_hbir_fail(im, ASSAY_EFORMAT,
                                   "the kernel is larger than the padded "
                                   "input along %s",
                                   d ? "w" : "h");
        c->dims[1 + d] = room / c->stride[d] + 1;
    }
    return 0;
}

/* Rows of bias, suminScale, outputScale for a float result. */
static int float_rows(struct assay_hbir *im, struct conv *c)
{
    const struct assay_hbir_const *k;
    int64_t *bias, *scale;
    uint32_t rows;
    int rc = assay_hbir_const(im, 2, &k);

    if (rc)
        return rc;
    if (c->has_second || c->relu)
        return assay_hbir_skip(im, "a float result with %s is not known",
                               c->relu ? "relu" : "a second input");
    if (!k || k->dtype != ASSAY_F32 || k->rank != 2 || k->dims[1] != 3 ||
        (k->dims[0] != 1 && k->dims[0] != c->oc))
        return assay_hbir_skip(im, "a float result whose quantInfo is not "
                                   "constant rows of three floats");
    rows = (uint32_t)c->oc;
    bias = assay_arena_array(im->work, rows, sizeof(*bias));
    scale = assay_arena_array(im->work, rows, sizeof(*scale));
    if (!bias || !scale)
        return assay_hbir_no_memory(im);
    for (uint32_t r = 0; r < rows; r++) {
        const float *f =
            (const float *)k->data + (k->dims[0] == 1 ? 0 : r) * (size_t)3;
        uint32_t bits;

        if (!(fabsf(f[0]) <= 1.0e9f) || f[0] != rintf(f[0]) || !isfinite(f[2]))
            return assay_hbir_skip(im,
                                   "quantInfo '%.100s': row %u has a bias "
                                   "that is no integer, or no finite scale",
                                   k->name, r);
        bias[r] = (int64_t)f[0];
        memcpy(&bits, &f[2], sizeof(bits));
        scale[r] = bits;
    }
    c->bias = (struct assay_hbir_list){rows, bias};
    c->scale = (struct assay_hbir_list){rows, scale};
    return 0;
}

static int second(struct assay_hbir *im, struct conv *c, uint32_t rank,
                  const int64_t *dims)
{
    const struct assay_tensor *e;
    char want[160], found[160];
    uint32_t index;
    int rc = assay_hbir_input(im, 3, "sumin", ASSAY_HBIR_INTS, &index);

    if (rc)
        return rc;
    e = &im->s->tensors[index];
    if (e->rank != rank || memcmp(e->dims, dims, rank * sizeof(*dims)))
        return assay_hbir_fail(
            im, ASSAY_EFORMAT, "sumin '%.100s' is %s, expected %s", e->name,
            assay_hbir_shape_text(found, e->dtype, e->rank, e->dims),
            assay_hbir_shape_text(want, e->dtype, rank, dims));
    c->in[c->n_in++] = index;
    return 0;
}

/* dtype of the result, relu, rows of numbers. */
static int scaling(struct assay_hbir *im, struct conv *c)
{
    const bool no = false;
    struct assay_hbir_type t;
    int rc = assay_hbir_declared(im, 0, &t);

    if (!rc)
        rc = assay_hbir_bool(im, "relu", &no, &c->relu);
    if (rc)
        return rc;
    c->dtype = t.dtype;
    c->is_float = t.dtype == ASSAY_F32;
    if (!c->is_float && !(ASSAY_HBIR_INTS & 1u << t.dtype))
        return assay_hbir_skip(im, "a result of %s is not known",
                               assay_dtype_name(t.dtype));
    return c->is_float ? float_rows(im, c)
                       : assay_hbir_quant_info(im, 2, c->oc, &c->q);
}

static const char *form_of(const struct conv *c, const char *plain,
                           const char *tail)
{
    if (c->is_float)
        return "conv_float";
    return c->dtype == ASSAY_S32 && c->q.plain ? tail : plain;
}

static int fields(struct assay_hbir *im, struct assay_layer *l, struct conv *c)
{
    int rc;

    if (c->is_float) {
        rc = assay_hbir_field(im, l, "bias", c->bias.n, c->bias.v);
        return rc ? rc
                  : assay_hbir_field(im, l, "scale", c->scale.n, c->scale.v);
    }
    rc = assay_hbir_quant_fields(im, l, &c->q, c->has_second);
    if (!rc && c->relu)
        rc = assay_hbir_field_one(im, l, "relu", 1);
    return rc;
}

static struct assay_conv2d_params window_of(const struct conv *c)
{
    return (struct assay_conv2d_params){
        .stride_h = (int32_t)c->stride[0],
        .stride_w = (int32_t)c->stride[1],
        .dilation_h = (int32_t)c->dilation[0],
        .dilation_w = (int32_t)c->dilation[1],
        .pad_top = (int32_t)c->pad[0],
        .pad_left = (int32_t)c->pad[1],
        .pad_bottom = (int32_t)c->pad[2],
        .pad_right = (int32_t)c->pad[3],
        .groups = (int32_t)c->groups,
        .has_second = c->has_second,
    };
}

/* The weights, if they are constant bytes of that rank. */
static int weights(struct assay_hbir *im, uint32_t rank,
                   const struct assay_hbir_const **w)
{
    const struct assay_hbir_const *k;
    char found[160];
    int rc = assay_hbir_const(im, 1, &k);

    if (rc)
        return rc;
    if (im->op->n_operands < 2)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "operand 1 (weight) is missing");
    if (!k)
        return assay_hbir_skip(im, "the weights '%.100s' are not constant",
                               im->op->operands[1]->name);
    if (k->dtype != ASSAY_S8)
        return assay_hbir_skip(im, "the weights '%.100s' are %s, known is int8",
                               k->name, assay_dtype_name(k->dtype));
    if (k->rank != rank)
        return assay_hbir_fail(
            im, ASSAY_EFORMAT, "weights '%.100s': expected rank %u, found %s",
            k->name, rank,
            assay_hbir_shape_text(found, k->dtype, k->rank, k->dims));
    *w = k;
    return 0;
}

int assay_hbir_conv(struct assay_hbir *im)
{
    const struct assay_hbir_const *w = NULL;
    struct conv c = {.n_in = 2};
    struct assay_layer *l;
    uint32_t y;
    int rc = segments(im, &c.has_second);

    if (!rc)
        rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_S8_16, &c.in[0]);
    if (!rc && im->s->tensors[c.in[0]].rank != 4)
        rc = assay_hbir_skip(im, "an input of rank %u, known is 4",
                             im->s->tensors[c.in[0]].rank);
    if (!rc)
        rc = weights(im, 4, &w);
    if (!rc)
        rc = read_window(im, w, &c);
    if (!rc)
        rc = read_groups(im, w, im->s->tensors[c.in[0]].dims[3], &c);
    if (!rc)
        rc = out_dims(im, &im->s->tensors[c.in[0]], w, &c);
    if (!rc)
        rc = scaling(im, &c);
    if (!rc)
        rc = assay_hbir_input(im, 1, "weights", ASSAY_HBIR_S8, &c.in[1]);
    if (!rc && c.has_second)
        rc = second(im, &c, 4, c.dims);
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_ANY, 4, c.dims, "NHWC", &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_CONV2D, c.n_in, c.in, y, &l);
    if (rc)
        return rc;
    memcpy(im->s->tensors[c.in[1]].axes, "OHWI", 5);
    l->p.conv2d = window_of(&c);
    l->form = form_of(&c, "conv", "conv_tail");
    return fields(im, l, &c);
}

/* ---- linear ------------------------------------------------------------- */

/* (Cin, Cout) to [Cout, 1, 1, Cin], or [Cout, Cin]. */
static int turn(struct assay_hbir *im, const struct assay_hbir_const *w,
                bool image, uint32_t *index)
{
    int64_t ci = w->dims[0], co = w->dims[1];
    int64_t dims[4] = {co, ci, 1, ci};
    const int8_t *from = w->data;
    int8_t *to = assay_arena_alloc(im->s->arena, w->count);

    if (!to)
        return assay_hbir_no_memory(im);
    for (int64_t o = 0; o < co; o++)
        for (int64_t i = 0; i < ci; i++)
            to[o * ci + i] = from[i * co + o];
    if (image)
        dims[1] = 1;
    return assay_hbir_new_constant(im, w->name, ASSAY_S8, image ? 4 : 2, dims,
                                   to, index);
}

/* [1, 1, rows, channels] of any rank. */
static int as_image(struct assay_hbir *im, const char *what, uint32_t *index)
{
    const struct assay_tensor *t = &im->s->tensors[*index];
    int64_t dims[4] = {1, 1, 1, t->dims[t->rank - 1]};
    enum assay_dtype dtype = t->dtype;
    struct assay_layer *l;
    uint32_t y;
    int rc;

    for (uint32_t i = 0; i + 1 < t->rank; i++)
        dims[2] *= t->dims[i];
    rc = assay_hbir_between(im, what, dtype, 4, dims, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_RESHAPE, 1, index, y, &l);
    *index = rc ? *index : y;
    return rc;
}

/* With a second input it runs as a convolution of one pixel. */
static int linear_image(struct assay_hbir *im, struct conv *c, uint32_t y)
{
    struct assay_layer *l;
    int rc = assay_hbir_layer(im, ASSAY_OP_CONV2D, c->n_in, c->in, y, &l);

    if (rc)
        return rc;
    memcpy(im->s->tensors[c->in[1]].axes, "OHWI", 5);
    l->p.conv2d = window_of(c);
    l->form = form_of(c, "linear", "linear_tail");
    return fields(im, l, c);
}

/* Rows of any rank as one image of one line, and back. */
static int linear_rows(struct assay_hbir *im, struct conv *c, uint32_t rank,
                       const int64_t *dims, uint32_t y)
{
    int64_t rows = 1, flat[4] = {1, 1, 1, c->oc};
    struct assay_layer *l;
    uint32_t z;
    int rc;

    for (uint32_t i = 0; i + 1 < rank; i++)
        rows = rows > INT32_MAX ? rows : rows * dims[i];
    if (rows > INT32_MAX)
        return assay_hbir_skip(im, "%lld rows are too many", (long long)rows);
    flat[2] = rows;
    rc = as_image(im, "x", &c->in[0]);
    if (!rc)
        rc = as_image(im, "sumin", &c->in[2]);
    if (!rc)
        rc = assay_hbir_between(im, "sum", c->dtype, 4, flat, &z);
    if (!rc)
        rc = linear_image(im, c, z);
    return rc ? rc : assay_hbir_layer(im, ASSAY_OP_RESHAPE, 1, &z, y, &l);
}

static int linear_second(struct assay_hbir *im, struct conv *c,
                         const struct assay_hbir_const *w, uint32_t rank,
                         const int64_t *dims)
{
    uint32_t y;
    int rc = second(im, c, rank, dims);

    if (!rc)
        rc = turn(im, w, true, &c->in[1]);
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_ANY, rank, dims,
                               rank == 4 ? "NHWC" : "", &y);
    if (rc)
        return rc;
    return rank == 4 ? linear_image(im, c, y)
                     : linear_rows(im, c, rank, dims, y);
}

int assay_hbir_linear(struct assay_hbir *im)
{
    const struct assay_hbir_const *w = NULL;
    struct conv c = {
        .n_in = 2, .groups = 1, .stride = {1, 1}, .dilation = {1, 1}};
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_layer *l;
    uint32_t y, rank = 0;
    int rc = segments(im, &c.has_second);

    if (!rc)
        rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_S8_16, &c.in[0]);
    if (!rc)
        rc = weights(im, 2, &w);
    if (rc)
        return rc;
    rank = im->s->tensors[c.in[0]].rank;
    memcpy(dims, im->s->tensors[c.in[0]].dims, sizeof(dims));
    if (!rank || dims[rank - 1] != w->dims[0])
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "an input of %lld channels for weights of "
                               "%lldx%lld",
                               rank ? (long long)dims[rank - 1] : 1LL,
                               (long long)w->dims[0], (long long)w->dims[1]);
    dims[rank - 1] = c.oc = w->dims[1];
    rc = scaling(im, &c);
    if (!rc && c.has_second)
        return linear_second(im, &c, w, rank, dims);
    if (!rc)
        rc = turn(im, w, false, &c.in[1]);
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_ANY, rank, dims, "", &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_GEMM, 2, c.in, y, &l);
    if (rc)
        return rc;
    l->form = form_of(&c, "linear", "linear_tail");
    return fields(im, l, &c);
}

/* ---- matmul ------------------------------------------------------------- */

static int matmul_dims(struct assay_hbir *im, const uint32_t *in,
                       uint32_t *rank, int64_t *dims)
{
    const struct assay_tensor *a = &im->s->tensors[in[0]];
    const struct assay_tensor *b = &im->s->tensors[in[1]];
    char ta[160], tb[160];
    int64_t rows, columns;

    if (a->rank < 2 || b->rank < 2 ||
        a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return assay_hbir_fail(
            im, ASSAY_EFORMAT, "operands of %s and %s do not multiply",
            assay_hbir_shape_text(ta, a->dtype, a->rank, a->dims),
            assay_hbir_shape_text(tb, b->dtype, b->rank, b->dims));
    rows = a->dims[a->rank - 2];
    columns = b->dims[b->rank - 1];
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i + 2 < *rank; i++) {
        int64_t da = i + a->rank < *rank ? 1 : a->dims[i + a->rank - *rank];
        int64_t db = i + b->rank < *rank ? 1 : b->dims[i + b->rank - *rank];

        if (da != db && da != 1 && db != 1)
            return assay_hbir_fail(im, ASSAY_EFORMAT,
                                   "batches of %lld and %lld", (long long)da,
                                   (long long)db);
        dims[i] = da > db ? da : db;
    }
    dims[*rank - 2] = rows;
    dims[*rank - 1] = columns;
    return 0;
}

int assay_hbir_matmul(struct assay_hbir *im)
{
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_hbir_quant q;
    struct assay_hbir_type t;
    struct assay_layer *l;
    uint32_t in[2], rank = 2, y;
    int rc = assay_hbir_input(im, 0, "operand a", ASSAY_HBIR_S8_16, &in[0]);

    if (!rc)
        rc = assay_hbir_input(im, 1, "operand b", ASSAY_HBIR_S8, &in[1]);
    if (!rc)
        rc = matmul_dims(im, in, &rank, dims);
    if (!rc)
        rc = assay_hbir_declared(im, 0, &t);
    if (rc)
        return rc;
    memset(&q, 0, sizeof(q));
    q.plain = t.dtype == ASSAY_S32;
    if (im->op->n_operands > 2)
        rc = assay_hbir_quant_info(im, 2, dims[rank - 1], &q);
    else if (!q.plain)
        rc = assay_hbir_skip(im, "a matmul without quantInfo");
    if (!rc)
        rc = assay_hbir_no_bias(im, &q);
    if (!rc && im->op->n_operands > 3)
        rc =
            assay_hbir_skip(im, "%u operands, known are 3", im->op->n_operands);
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_INTS, rank, dims, "", &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_MATMUL, 2, in, y, &l);
    if (rc || (q.plain && t.dtype == ASSAY_S32))
        return rc; /* a tail: the sum as it is */
    l->form = "matmul";
    return assay_hbir_quant_fields(im, l, &q, false);
}
