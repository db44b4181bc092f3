/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and reductions. */
#include <string.h>

#include "host-tools/model/mlir_import.h"

/* ---- what scales a sum -------------------------------------------------- */

/* A row of quantInfo (operand 1), attributes of the same names, or the types'
 * scales; `divisor`: cells that a mean is of. */
struct sum_scale {
    struct assay_hbir_quant q;
    bool has_row;
    struct assay_hbir_list pre, scale, post;
};

static int read_scale(struct assay_hbir *im, int64_t channels,
                      struct sum_scale *k)
{
    int rc;

    memset(k, 0, sizeof(*k));
    if (im->op->n_operands > 2)
        return assay_hbir_skip(im, "%u operands, known are 2",
                               im->op->n_operands);
    k->has_row = im->op->n_operands == 2;
    if (k->has_row) {
        rc = assay_hbir_quant_info(im, 1, channels, &k->q);
        return rc ? rc : assay_hbir_no_bias(im, &k->q);
    }
    rc = assay_hbir_list(im, "preRShift", channels, 0, 31, &k->pre);
    if (!rc)
        rc = assay_hbir_list(im, "scale", channels, 0, UINT16_MAX, &k->scale);
    if (!rc)
        rc = assay_hbir_list(im, "postRShift", channels, 0, 62, &k->post);
    return rc;
}

static int scale_fields(struct assay_hbir *im, struct assay_layer *l,
                        const struct sum_scale *k, double real)
{
    int rc;

    if (k->has_row)
        return assay_hbir_quant_fields(im, l, &k->q, false);
    rc = assay_hbir_field(im, l, "pre_shift", k->pre.n, k->pre.v);
    if (!rc)
        rc = assay_hbir_field(im, l, "scale", k->scale.n, k->scale.v);
    if (!rc)
        rc = assay_hbir_field(im, l, "post_shift", k->post.n, k->post.v);
    if (!rc && !k->scale.n)
        rc = assay_hbir_real(im, l, real);
    return rc;
}

/* Without a row there must be a scale, on both sides or in the attributes. */
static int check_scale(struct assay_hbir *im, const struct sum_scale *k,
                       uint32_t x, uint32_t y, double cells)
{
    double ratio = assay_hbir_ratio(im, x, y);

    if (k->has_row || k->scale.n)
        return 0;
    if (ratio > 0)
        return assay_hbir_check_real(im, ratio / cells);
    return assay_hbir_skip(im, "neither quantInfo, nor 'scale', nor scales of "
                               "both types");
}

/* ---- pools -------------------------------------------------------------- */

struct pool {
    uint32_t x;
    int64_t kernel[2], stride[2], pad[4], dims[4];
};

static int read_pool(struct assay_hbir *im, unsigned mask, bool may_miss,
                     struct pool *p)
{
    static const int64_t ones[2] = {1, 1}, zeros[4] = {0};
    const struct assay_tensor *x;
    bool no = false, ceil;
    int rc = assay_hbir_input(im, 0, "input", mask, &p->x);

    if (!rc && im->s->tensors[p->x].rank != 4)
        rc = assay_hbir_skip(im, "an input of rank %u, known is 4",
                             im->s->tensors[p->x].rank);
    if (!rc)
        rc = assay_hbir_row(im, "kernel", 2, 1, INT32_MAX, NULL, p->kernel);
    if (!rc)
        rc = assay_hbir_row(im, "stride", 2, 1, INT32_MAX, ones, p->stride);
    if (!rc)
        rc = assay_hbir_row(im, "pad", 4, 0, INT32_MAX, zeros, p->pad);
    if (!rc)
        rc = assay_hbir_bool(im, "ceilMode", &no, &ceil);
    if (!rc && ceil)
        rc = assay_hbir_skip(im, "attribute 'ceilMode' is true, known is "
                                 "false");
    if (rc)
        return rc;
    x = &im->s->tensors[p->x];
    p->dims[0] = x->dims[0];
    p->dims[3] = x->dims[3];
    for (int d = 0; d < 2; d++) {
        int64_t room =
            x->dims[1 + d] + p->pad[d] + p->pad[d + 2] - p->kernel[d];

        if (room < 0)
            return assay_hbir_fail(im, ASSAY_EFORMAT,
                                   "the kernel is larger than the padded "
                                   "input along %s",
                                   d ? "w" : "h");
        p->dims[1 + d] = room / p->stride[d] + 1;
        if (!may_miss &&
            (p->pad[d] >= p->kernel[d] || p->pad[d + 2] >= p->kernel[d]))
            return assay_hbir_skip(im, "a window that lies in the padding "
                                       "altogether");
    }
    return 0;
}

static int pool_layer(struct assay_hbir *im, const struct pool *p,
                      enum assay_pool_kind kind, uint32_t y,
                      struct assay_layer **l)
{
    int rc = assay_hbir_layer(im, ASSAY_OP_POOL, 1, &p->x, y, l);

    if (rc)
        return rc;
    (*l)->p.pool = (struct assay_pool_params){
        .kind = (uint8_t)kind,
        .sum = ASSAY_SUM_INT,
        .div = ASSAY_DIV_NONE,
        .count_include_pad = kind == ASSAY_POOL_AVG,
        .kh = (int32_t)p->kernel[0],
        .kw = (int32_t)p->kernel[1],
        .stride_h = (int32_t)p->stride[0],
        .stride_w = (int32_t)p->stride[1],
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = (int32_t)p->pad[0],
        .pad_left = (int32_t)p->pad[1],
        .pad_bottom = (int32_t)p->pad[2],
        .pad_right = (int32_t)p->pad[3],
    };
    return 0;
}

static int max_pool(struct assay_hbir *im)
{
    struct assay_layer *l;
    struct pool p;
    uint32_t y;
    int rc = read_pool(im, ASSAY_HBIR_S8_16, false, &p);

    if (!rc)
        rc = assay_hbir_output(im, 0, 1u << im->s->tensors[p.x].dtype, 4,
                               p.dims, "NHWC", &y);
    if (!rc)
        assay_hbir_carry(im, p.x, y);
    return rc ? rc : pool_layer(im, &p, ASSAY_POOL_MAX, y, &l);
}

static int avg_pool(struct assay_hbir *im)
{
    struct sum_scale k;
    struct assay_layer *l;
    struct pool p;
    uint32_t y;
    int rc = read_pool(im, ASSAY_HBIR_S8_16, true, &p);

    if (!rc)
        rc = read_scale(im, p.dims[3], &k);
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_S8_16, 4, p.dims, "NHWC", &y);
    if (!rc)
        rc = check_scale(im, &k, p.x, y, (double)(p.kernel[0] * p.kernel[1]));
    if (!rc)
        rc = pool_layer(im, &p, ASSAY_POOL_AVG, y, &l);
    if (rc)
        return rc;
    l->form = "avg_pool";
    return scale_fields(im, l, &k,
                        assay_hbir_ratio(im, p.x, y) /
                            (double)(p.kernel[0] * p.kernel[1]));
}

int assay_hbir_pool(struct assay_hbir *im)
{
    int mode = im->argument, rc = 0;

    if (mode == ASSAY_HBIR_MODE)
        rc = assay_hbir_word(im, "mode", "max avg", -1, &mode);
    if (rc)
        return rc;
    return mode == 0 ? max_pool(im) : avg_pool(im);
}

/* ---- reductions --------------------------------------------------------- */

struct reduce {
    uint32_t x, rank; /* of the result */
    uint16_t axes;
    int64_t cells, dims[ASSAY_MAX_RANK];
};

static int read_axes(struct assay_hbir *im, uint32_t rank, uint16_t *axes)
{
    int64_t v[ASSAY_MAX_RANK];
    uint32_t n;
    bool found;
    int rc = assay_hbir_ints(im, "dims", ASSAY_MAX_RANK, v, &n, &found);

    if (!rc && !found)
        rc = assay_hbir_ints(im, "dim", ASSAY_MAX_RANK, v, &n, &found);
    if (!rc && (!found || !n))
        rc = assay_hbir_skip(im, "attribute 'dims' is missing");
    *axes = 0;
    for (uint32_t i = 0; !rc && i < n; i++) {
        if (v[i] < -(int64_t)rank || v[i] >= (int64_t)rank)
            return assay_hbir_fail(im, ASSAY_ERANGE,
                                   "attribute 'dims': %lld does not fit rank "
                                   "%u",
                                   (long long)v[i], rank);
        *axes |= (uint16_t)(1u << (v[i] < 0 ? v[i] + rank : v[i]));
    }
    return rc;
}

static int read_reduce(struct assay_hbir *im, unsigned mask, struct reduce *r)
{
    const struct assay_tensor *x;
    bool yes = true, keep;
    int rc = assay_hbir_input(im, 0, "input", mask, &r->x);

    if (!rc)
        rc = read_axes(im, im->s->tensors[r->x].rank, &r->axes);
    if (!rc)
        rc = assay_hbir_bool(im, "keepDim", &yes, &keep);
    if (rc)
        return rc;
    x = &im->s->tensors[r->x];
    r->rank = 0;
    r->cells = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = r->axes >> i & 1;

        if (reduced)
            r->cells *= x->dims[i];
        if (!reduced || keep)
            r->dims[r->rank++] = reduced ? 1 : x->dims[i];
    }
    return 0;
}

static int reduce_layer(struct assay_hbir *im, const struct reduce *r,
                        enum assay_reduce_kind kind, uint32_t y,
                        struct assay_layer **l)
{
    int rc = assay_hbir_layer(im, ASSAY_OP_REDUCE, 1, &r->x, y, l);

    if (rc)
        return rc;
    (*l)->p.reduce.kind = (uint8_t)kind;
    (*l)->p.reduce.axes = r->axes;
    return 0;
}

/* Labels stay where no axis goes. */
static const char *axes_of(const struct assay_hbir *im, const struct reduce *r)
{
    const struct assay_tensor *x = &im->s->tensors[r->x];

    return r->rank == x->rank ? x->axes : "";
}

static int float_reduce(struct assay_hbir *im, struct reduce *r, bool mean,
                        uint32_t y)
{
    struct assay_step *s;
    struct assay_layer *l;
    int64_t *a;
    float n = (float)r->cells;
    uint32_t bits;
    int rc = reduce_layer(im, r, ASSAY_REDUCE_FSUM, y, &l);

    if (rc || !mean)
        return rc;
    a = assay_arena_alloc(im->s->arena, sizeof(*a));
    if (!a)
        return assay_hbir_no_memory(im);
    memcpy(&bits, &n, sizeof(bits));
    *a = bits;
    s = &l->out_program.steps[l->out_program.n_steps++];
    *s = (struct assay_step){.kind = ASSAY_STEP_FDIV, .n = 1, .a = a};
    return 0;
}

static int sum(struct assay_hbir *im, bool mean)
{
    struct sum_scale k;
    struct assay_hbir_type t;
    struct assay_layer *l;
    struct reduce r;
    uint32_t y;
    int rc = read_reduce(im, ASSAY_HBIR_INTS | ASSAY_HBIR_F32, &r);

    if (!rc)
        rc = assay_hbir_declared(im, 0, &t);
    if (!rc &&
        (im->s->tensors[r.x].dtype == ASSAY_F32) != (t.dtype == ASSAY_F32))
        rc = assay_hbir_skip(im, "a sum of %s as %s",
                             assay_dtype_name(im->s->tensors[r.x].dtype),
                             assay_dtype_name(t.dtype));
    if (!rc && t.dtype != ASSAY_F32)
        rc = read_scale(im, 1, &k); /* a reduction's are per tensor */
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_INTS | ASSAY_HBIR_F32, r.rank,
                               r.dims, axes_of(im, &r), &y);
    if (rc)
        return rc;
    if (t.dtype == ASSAY_F32)
        return float_reduce(im, &r, mean, y);
    if (t.dtype == ASSAY_S32 && !mean && !k.scale.n &&
        (!k.has_row || k.q.plain)) {
        if (r.cells > INT32_MAX / 32768)
            return assay_hbir_skip(im, "a sum of %lld cells can leave int32",
                                   (long long)r.cells);
        return reduce_layer(im, &r, ASSAY_REDUCE_SUM, y, &l);
    }
    rc = check_scale(im, &k, r.x, y, mean ? (double)r.cells : 1.0);
    if (!rc)
        rc = reduce_layer(im, &r, ASSAY_REDUCE_SUM, y, &l);
    if (rc)
        return rc;
    l->form = "reduce";
    return scale_fields(im, l, &k,
                        assay_hbir_ratio(im, r.x, y) /
                            (mean ? (double)r.cells : 1.0));
}

static int extreme(struct assay_hbir *im, enum assay_reduce_kind kind)
{
    struct assay_layer *l;
    struct reduce r;
    uint32_t y;
    int rc = read_reduce(im, ASSAY_HBIR_INTS | ASSAY_HBIR_F32, &r);

    if (!rc)
        rc = assay_hbir_output(im, 0, 1u << im->s->tensors[r.x].dtype, r.rank,
                               r.dims, axes_of(im, &r), &y);
    return rc ? rc : reduce_layer(im, &r, kind, y, &l);
}

static int arg_max(struct assay_hbir *im)
{
    struct assay_layer *l;
    struct reduce r;
    uint32_t y;
    int64_t lo, hi;
    int rc = read_reduce(im, ASSAY_HBIR_INTS, &r);

    if (!rc && (r.axes & (r.axes - 1)))
        rc = assay_hbir_skip(im, "an argmax over several dimensions");
    if (!rc)
        rc = assay_hbir_output(im, 0, ASSAY_HBIR_INTS | 1u << ASSAY_S64, r.rank,
                               r.dims, axes_of(im, &r), &y);
    if (rc)
        return rc;
    assay_dtype_range(im->s->tensors[y].dtype, &lo, &hi);
    if (r.cells - 1 > hi)
        return assay_hbir_skip(im, "an index of %lld cells as %s",
                               (long long)r.cells,
                               assay_dtype_name(im->s->tensors[y].dtype));
    return reduce_layer(im, &r, ASSAY_REDUCE_ARG_MAX, y, &l);
}

int assay_hbir_reduce(struct assay_hbir *im)
{
    int mode = im->argument, rc = 0;

    if (mode == ASSAY_HBIR_MODE)
        rc = assay_hbir_word(im, "mode", "sum mean max min argmax", -1, &mode);
    if (rc)
        return rc;
    switch ((enum assay_hbir_reduction)mode) {
    case ASSAY_HBIR_REDUCE_MAX: return extreme(im, ASSAY_REDUCE_MAX);
    case ASSAY_HBIR_REDUCE_MIN: return extreme(im, ASSAY_REDUCE_MIN);
    case ASSAY_HBIR_REDUCE_ARGMAX: return arg_max(im);
    default: return sum(im, mode == ASSAY_HBIR_REDUCE_MEAN);
    }
}
