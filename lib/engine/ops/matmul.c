/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product of two tensors: a [..., M, K] by b [..., K, N], the leading
 * dims broadcast. Each batch is a 1x1 convolution on an image that is M wide
 * and 1 high; its weights, b transposed to [N][K], are packed while running,
 * once for neighbouring batches that have the same b.
 */
#include "lib/engine/ops.h"

#include <inttypes.h>

#include "lib/engine/arena.h"

struct params {
    struct assay_conv2d p; /* of one batch; weights: set by run */
    const struct assay_conv2d_kernel *kernel;
    struct assay_copy turn; /* b to [N][K] */
    const struct assay_copy_kernel *turn_kernel;
    uint32_t rank; /* of the batches */
    int64_t dims[ASSAY_MAX_RANK];
    int64_t a_strides[ASSAY_MAX_RANK], b_strides[ASSAY_MAX_RANK]; /* bytes */
    size_t y_bytes; /* of one batch */
    int32_t b_zero;
    /* In scratch; b turned is at 0. N zero points count as scratch, too: the
     * plan's own memory is not limited, and N may be 2^31 - 1. */
    size_t zeros_at, packed_at, scratch_at;
};

static int check_dtypes(const struct assay_op_check *c)
{
    const struct assay_tensor *a = assay_layer_input(c, 0);
    const struct assay_tensor *b = assay_layer_input(c, 1);
    if (a->dtype != ASSAY_S8 && a->dtype != ASSAY_U8 && a->dtype != ASSAY_S16)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "input a dtype: expected int8, uint8 or "
                                  "int16, found %s",
                                  assay_dtype_name(a->dtype));
    if (b->dtype != ASSAY_S8 && b->dtype != ASSAY_U8)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "input b dtype: expected int8 or uint8, "
                                  "found %s",
                                  assay_dtype_name(b->dtype));
    return 0;
}

/* M, K and N, and that each fits a kernel's int32. */
static int check_matrices(const struct assay_op_check *c, struct params *k)
{
    const struct assay_tensor *t[3] = {assay_layer_input(c, 0),
                                       assay_layer_input(c, 1),
                                       assay_layer_output(c)};
    char a[ASSAY_SHAPE_TEXT], b[ASSAY_SHAPE_TEXT], y[ASSAY_SHAPE_TEXT];
    bool fits = t[0]->rank >= 2 && t[1]->rank >= 2;
    uint32_t rank = t[0]->rank > t[1]->rank ? t[0]->rank : t[1]->rank;
    fits = fits && t[2]->rank == rank;
    const int64_t *ends[3];
    for (int i = 0; fits && i < 3; i++)
        ends[i] = t[i]->dims + t[i]->rank - 2;
    fits = fits && ends[0][1] == ends[1][0] && ends[2][0] == ends[0][0] &&
           ends[2][1] == ends[1][1];
    if (!fits)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_EFORMAT,
            "shapes: expected [..., M, K] by [..., K, N] to [..., M, N], "
            "found %s by %s to %s",
            assay_shape_text(t[0], a), assay_shape_text(t[1], b),
            assay_shape_text(t[2], y));
    if (ends[0][0] > INT32_MAX || ends[0][1] > INT32_MAX ||
        ends[1][1] > INT32_MAX)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_ERANGE, "matrix dims: expected at most %d, found %s by %s",
            INT32_MAX, assay_shape_text(t[0], a), assay_shape_text(t[1], b));
    k->p = (struct assay_conv2d){.n = 1,
                                 .h = 1,
                                 .w = (int32_t)ends[0][0],
                                 .c = (int32_t)ends[0][1],
                                 .oh = 1,
                                 .ow = (int32_t)ends[0][0],
                                 .oc = (int32_t)ends[1][1],
                                 .kh = 1,
                                 .kw = 1,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .dilation_h = 1,
                                 .dilation_w = 1,
                                 .groups = 1};
    k->rank = rank - 2;
    return 0;
}

/* Length of a tensor's batch axis, aligned right; 1 where it has none. */
static int64_t batch_dim(const struct assay_tensor *t, uint32_t rank,
                         uint32_t i)
{
    uint32_t own = t->rank - 2;
    return i + own < rank ? 1 : t->dims[i + own - rank];
}

static int check_batches(const struct assay_op_check *c, struct params *k)
{
    const struct assay_tensor *a = assay_layer_input(c, 0);
    const struct assay_tensor *b = assay_layer_input(c, 1);
    const struct assay_tensor *y = assay_layer_output(c);
    int64_t a_step = (int64_t)k->p.w * k->p.c, b_step;
    b_step = (int64_t)k->p.c * k->p.oc;
    a_step *= (int64_t)assay_dtype_bytes(a->dtype);
    for (uint32_t i = k->rank; i-- > 0;) {
        int64_t da = batch_dim(a, k->rank, i), db = batch_dim(b, k->rank, i);
        int64_t want = da > db ? da : db;
        if ((da != want && da != 1) || (db != want && db != 1) ||
            y->dims[i] != want)
            return ASSAY_REFUSE_LAYER(
                c, ASSAY_EFORMAT,
                "output dims[%" PRIu32 "]: expected equal batches, or 1 of "
                "them for many, found %" PRId64 " and %" PRId64 " to %" PRId64,
                i, da, db, y->dims[i]);
        k->dims[i] = want;
        k->a_strides[i] = da == 1 ? 0 : a_step;
        k->b_strides[i] = db == 1 ? 0 : b_step;
        a_step *= da;
        b_step *= db;
    }
    return 0;
}

/* One b for all rows of a: batches are only more rows. */
static void join_batches(struct params *k)
{
    int64_t rows = k->p.w;
    for (uint32_t i = 0; i < k->rank; i++) {
        if (k->b_strides[i] || (k->dims[i] > 1 && !k->a_strides[i]))
            return;
        if (__builtin_mul_overflow(rows, k->dims[i], &rows) || rows > INT32_MAX)
            return;
    }
    k->p.w = k->p.ow = (int32_t)rows;
    k->rank = 0;
}

/*
 * K products of the dtypes' ends. An int32 accumulator that can leave its
 * range wraps, and then can be anything.
 */
static int check_values(const struct assay_op_check *c, const struct params *k)
{
    int64_t a_lo, a_hi, b_lo, b_hi;
    assay_dtype_range(k->p.x_dtype, &a_lo, &a_hi);
    assay_dtype_range(k->p.w_dtype, &b_lo, &b_hi);
    a_lo -= k->p.x_zero;
    a_hi -= k->p.x_zero;
    b_lo -= k->b_zero;
    b_hi -= k->b_zero;
    /* Each side's ends have 0 between them. */
    int64_t lo = a_lo * b_hi < a_hi * b_lo ? a_lo * b_hi : a_hi * b_lo;
    int64_t hi = a_lo * b_lo > a_hi * b_hi ? a_lo * b_lo : a_hi * b_hi;
    lo *= k->p.c; /* 25 bits times 31 */
    hi *= k->p.c;
    struct assay_interval v = assay_interval_int(lo, hi);
    if (k->p.x_dtype != ASSAY_S16 && (lo < INT32_MIN || hi > INT32_MAX))
        v = assay_interval_int(INT32_MIN, INT32_MAX);
    return assay_check_out_program(c, (size_t)k->p.oc, &v);
}

static int check_zeros(const struct assay_op_check *c, struct params *k)
{
    int rc =
        assay_check_zero(c, "input a", assay_layer_input(c, 0), &k->p.x_zero);
    return rc ? rc
              : assay_check_zero(c, "input b", assay_layer_input(c, 1),
                                 &k->b_zero);
}

static int size_scratch(const struct assay_op_check *c, struct params *k,
                        struct assay_op_plan *plan)
{
    size_t turned = (size_t)k->p.oc * (size_t)k->p.c, zeros, packed;
    if (!assay_layout_round(turned, &k->zeros_at) ||
        !assay_layout_round((size_t)k->p.oc * sizeof(int32_t), &zeros) ||
        !assay_add_size(k->zeros_at, zeros, &k->packed_at) ||
        !assay_layout_round(k->kernel->packed_size(&k->p), &packed) ||
        !assay_add_size(k->packed_at, packed, &k->scratch_at) ||
        !assay_add_size(k->scratch_at, k->kernel->scratch_size(&k->p),
                        &plan->scratch_bytes))
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "input b packed is too large");
    return 0;
}

static uint64_t count_macs(const struct assay_op_check *c, int32_t inner)
{
    uint64_t n = assay_tensor_elements(assay_layer_output(c));
    return __builtin_mul_overflow(n, (uint64_t)inner, &n) ? UINT64_MAX : n;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    int rc = assay_check_no_in_programs(c);
    if (!rc)
        rc = check_dtypes(c);
    if (!rc)
        rc = check_matrices(c, k);
    if (!rc)
        rc = check_batches(c, k);
    if (rc)
        return rc;
    join_batches(k);
    k->p.x_dtype = assay_layer_input(c, 0)->dtype;
    k->p.w_dtype = assay_layer_input(c, 1)->dtype;
    k->p.y_dtype = assay_layer_output(c)->dtype;
    k->p.program = &c->layer->out_program;
    rc = check_zeros(c, k);
    if (!rc)
        rc = check_values(c, k);
    if (rc)
        return rc;
    k->turn = (struct assay_copy){.rank = 2,
                                  .dims = {k->p.oc, k->p.c},
                                  .src_strides = {1, k->p.oc},
                                  .dst_strides = {k->p.c, 1},
                                  .elem_size = 1};
    k->turn_kernel = assay_pick_copy(c->table, &k->turn);
    k->kernel = assay_pick_conv2d(c->table, &k->p);
    k->y_bytes = (size_t)k->p.ow * (size_t)k->p.oc *
                 assay_dtype_bytes(k->p.y_dtype); /* of the output's own */
    plan->kernel = k->kernel->name;
    plan->macs = count_macs(c, k->p.c);
    return size_scratch(c, k, plan);
}

/* The next batch; false behind the last. */
static bool step(const struct params *k, int64_t *index, int64_t *a, int64_t *b)
{
    for (uint32_t i = k->rank; i-- > 0;) {
        *a += k->a_strides[i];
        *b += k->b_strides[i];
        if (++index[i] < k->dims[i])
            return true;
        *a -= k->a_strides[i] * k->dims[i];
        *b -= k->b_strides[i] * k->dims[i];
        index[i] = 0;
    }
    return false;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    struct assay_conv2d p = k->p;
    char *turned = io->scratch, *y = io->out;
    char *packed = turned + k->packed_at, *scratch = turned + k->scratch_at;
    int32_t *zeros = (void *)(turned + k->zeros_at);
    int64_t index[ASSAY_MAX_RANK] = {0}, a = 0, b = 0, last = -1;
    for (int32_t o = 0; o < p.oc; o++)
        zeros[o] = k->b_zero;
    p.w_zero = zeros;
    p.weights = turned;
    do {
        if (b != last) {
            k->turn_kernel->run(&k->turn, (const char *)io->in[1] + b, turned);
            k->kernel->pack(&p, packed);
            last = b;
        }
        k->kernel->run(&p, packed, (const char *)io->in[0] + a, y, scratch);
        y += k->y_bytes;
    } while (step(k, index, &a, &b));
}

const struct assay_op_vtable assay_op_matmul = {
    .number = ASSAY_OP_MATMUL,
    .params_bytes = sizeof(struct params),
    .min_inputs = 2,
    .max_inputs = 2,
    .check = check,
    .run = run,
};
