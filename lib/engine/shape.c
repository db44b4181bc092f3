/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, shapes and windows: what the checks of several operators share. */
#include "lib/engine/shape.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/engine/ops.h"

/* ---- tensors by themselves -------------------------------------------------- */

static int check_perm(const struct assay_tensor *t, struct assay_err *err)
{
    unsigned seen = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->perm[i] >= t->rank || (seen >> t->perm[i] & 1))
            return assay_fail(err, ASSAY_EFORMAT,
                              "tensor '%.200s': perm: expected a permutation "
                              "of 0 to %" PRIu32 ", found %u at %" PRIu32,
                              t->name, t->rank - 1, (unsigned)t->perm[i], i);
        seen |= 1u << t->perm[i];
    }
    return 0;
}

static int check_quant(const struct assay_tensor *t, struct assay_err *err)
{
    const struct assay_quant *q = &t->quant;
    int64_t lo, hi;
    if (q->n == 0)
        return 0;
    if (q->n > 1) {
        if (q->axis < 0 || (uint32_t)q->axis >= t->rank)
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%.200s': quant axis: expected 0 to "
                              "%d, found %" PRId32,
                              t->name, (int)t->rank - 1, q->axis);
        if ((int64_t)q->n != t->dims[q->axis])
            return assay_fail(err, ASSAY_EFORMAT,
                              "tensor '%.200s': scales: expected %" PRId64
                              " (dims[%" PRId32 "]), found %" PRIu32,
                              t->name, t->dims[q->axis], q->axis, q->n);
    }
    if (!q->scale || !q->zero_point)
        return assay_fail(err, ASSAY_EFORMAT,
                          "tensor '%.200s': quant: scale or zero_point is "
                          "missing",
                          t->name);
    assay_dtype_range(t->dtype, &lo, &hi);
    for (uint32_t i = 0; i < q->n; i++) {
        if (!isfinite(q->scale[i]) || q->scale[i] <= 0)
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%.200s': scale[%" PRIu32 "]: expected "
                              "a finite number above 0, found %g",
                              t->name, i, (double)q->scale[i]);
        if (assay_dtype_is_int(t->dtype) &&
            (q->zero_point[i] < lo || q->zero_point[i] > hi))
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%.200s': zero_point[%" PRIu32
                              "]: expected the range of %s, %" PRId64
                              " to %" PRId64 ", found %" PRId32,
                              t->name, i, assay_dtype_name(t->dtype), lo, hi,
                              q->zero_point[i]);
    }
    return 0;
}

static int check_data(const struct assay_tensor *t, size_t bytes,
                      struct assay_err *err)
{
    if (t->role != ASSAY_ROLE_CONSTANT)
        return 0;
    if (!t->data)
        return assay_fail(err, ASSAY_EFORMAT,
                          "tensor '%.200s': data of a constant is missing",
                          t->name);
    if (t->size != bytes)
        return assay_fail(err, ASSAY_EFORMAT,
                          "tensor '%.200s': data: expected %zu bytes, found "
                          "%zu",
                          t->name, bytes, t->size);
    return 0;
}

int assay_check_tensor(const struct assay_slice *slice, uint32_t index,
                       struct assay_err *err)
{
    const struct assay_tensor *t = &slice->tensors[index];
    size_t elements, bytes;
    if (!t->name)
        return assay_fail(err, ASSAY_EFORMAT,
                          "tensor %" PRIu32 ": name is missing", index);
    if ((unsigned)t->role > ASSAY_ROLE_CONSTANT)
        return assay_fail(err, ASSAY_EFORMAT,
                          "tensor '%.200s': role: expected 0 to %d, found %u",
                          t->name, ASSAY_ROLE_CONSTANT, (unsigned)t->role);
    if (!memchr(t->axes, 0, sizeof(t->axes)))
        return assay_fail(err, ASSAY_EFORMAT,
                          "tensor '%.200s': axes: expected at most %d labels",
                          t->name, ASSAY_MAX_RANK);
    int rc = assay_tensor_count(t, &elements, &bytes, err);
    if (!rc)
        rc = check_perm(t, err);
    if (!rc)
        rc = check_quant(t, err);
    return rc ? rc : check_data(t, bytes, err);
}

/* ---- layers ------------------------------------------------------------------ */

int assay_layer_prefix(const struct assay_op_check *c, int code)
{
    if (code)
        assay_err_prefix(c->err, "layer '%.200s'", c->layer->name);
    return code;
}

const struct assay_tensor *assay_layer_input(const struct assay_op_check *c,
                                             uint32_t i)
{
    return &c->slice->tensors[c->layer->inputs[i]];
}

const struct assay_tensor *assay_layer_output(const struct assay_op_check *c)
{
    return &c->slice->tensors[c->layer->output];
}

/* Decimal digits of n >= 0 at `at`, as long as they fit; the new end. */
static size_t put_number(char *out, size_t at, uint64_t n)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + n % 10);
    while (n /= 10);
    while (count > 0 && at < ASSAY_SHAPE_TEXT - 2)
        out[at++] = digits[--count];
    return at;
}

const char *assay_shape_text(const struct assay_tensor *t, char *out)
{
    size_t at = 0;
    out[at++] = '[';
    for (uint32_t i = 0; i < t->rank; i++) {
        if (i > 0 && at < ASSAY_SHAPE_TEXT - 2)
            out[at++] = ',';
        at = put_number(out, at, (uint64_t)t->dims[i]);
    }
    out[at++] = ']';
    out[at] = '\0';
    return out;
}

size_t assay_tensor_elements(const struct assay_tensor *t)
{
    size_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= (size_t)t->dims[i];
    return n;
}

size_t assay_tensor_channels(const struct assay_tensor *t)
{
    return t->rank ? (size_t)t->dims[t->rank - 1] : 1;
}

bool assay_same_dims(const struct assay_tensor *a, const struct assay_tensor *b)
{
    return a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0])) == 0;
}

int assay_check_same_dims(const struct assay_op_check *c,
                          const struct assay_tensor *want, const char *what,
                          const struct assay_tensor *found)
{
    char a[ASSAY_SHAPE_TEXT], b[ASSAY_SHAPE_TEXT];
    if (assay_same_dims(want, found))
        return 0;
    return ASSAY_REFUSE_LAYER(
        c, ASSAY_EFORMAT, "%s shape: expected %s, found %s", what,
        assay_shape_text(want, a), assay_shape_text(found, b));
}

int assay_check_broadcast(const struct assay_op_check *c, const char *what,
                          const struct assay_tensor *t, int64_t *strides)
{
    char a[ASSAY_SHAPE_TEXT], b[ASSAY_SHAPE_TEXT];
    const struct assay_tensor *y = assay_layer_output(c);
    uint32_t rank = y->rank ? y->rank : 1;
    int64_t step = 1;
    bool fits = t->rank <= y->rank;
    for (uint32_t i = 0; fits && i < rank; i++) {
        uint32_t to = rank - 1 - i;
        int64_t dim = i < t->rank ? t->dims[t->rank - 1 - i] : 1;
        fits = dim == 1 || dim == y->dims[to];
        strides[to] = dim == 1 ? 0 : step;
        step *= dim;
    }
    if (fits)
        return 0;
    return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                              "%s shape: expected one that broadcasts to %s, "
                              "found %s",
                              what, assay_shape_text(y, a),
                              assay_shape_text(t, b));
}

int assay_check_rank(const struct assay_op_check *c, const char *what,
                     const struct assay_tensor *t, uint32_t rank)
{
    char text[ASSAY_SHAPE_TEXT];
    if (t->rank != rank)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_EFORMAT,
            "%s shape %s: expected rank %" PRIu32 ", found %" PRIu32, what,
            assay_shape_text(t, text), rank, t->rank);
    for (uint32_t i = 0; i < rank; i++)
        if (t->dims[i] > INT32_MAX)
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "%s dims[%" PRIu32 "]: expected at most "
                                      "%d, found %" PRId64,
                                      what, i, INT32_MAX, t->dims[i]);
    return 0;
}

int assay_check_batch(const struct assay_op_check *c,
                      const struct assay_tensor *x, int64_t channels)
{
    const struct assay_tensor *y = assay_layer_output(c);
    if (y->dims[0] == x->dims[0] && y->dims[3] == channels)
        return 0;
    return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                              "output batch and channels: expected %" PRId64
                              " and %" PRId64 ", found %" PRId64
                              " and %" PRId64,
                              x->dims[0], channels, y->dims[0], y->dims[3]);
}

int assay_check_zero(const struct assay_op_check *c, const char *what,
                     const struct assay_tensor *t, int32_t *zero)
{
    /* Scales are told, not computed with; the zero points have to agree. */
    for (uint32_t i = 1; i < t->quant.n; i++)
        if (t->quant.zero_point[i] != t->quant.zero_point[0])
            return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                      "%s zero points: expected %" PRId32
                                      " for all channels, found %" PRId32,
                                      what, t->quant.zero_point[0],
                                      t->quant.zero_point[i]);
    *zero = t->quant.n ? t->quant.zero_point[0] : 0;
    return 0;
}

int assay_check_no_in_programs(const struct assay_op_check *c)
{
    if (c->layer->n_in_programs == 0)
        return 0;
    return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                              "in_programs: expected 0, found %" PRIu32,
                              c->layer->n_in_programs);
}

int assay_check_no_programs(const struct assay_op_check *c)
{
    if (c->layer->out_program.n_steps == 0)
        return assay_check_no_in_programs(c);
    return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                              "out_program: expected 0 steps, found %" PRIu32,
                              c->layer->out_program.n_steps);
}

int assay_check_dtype(const struct assay_op_check *c, const char *what,
                      const struct assay_tensor *found, const char *whose,
                      enum assay_dtype want)
{
    if (found->dtype == want)
        return 0;
    return ASSAY_REFUSE_LAYER(
        c, ASSAY_EFORMAT, "%s dtype: expected %s, %s, found %s", what, whose,
        assay_dtype_name(want), assay_dtype_name(found->dtype));
}

int assay_check_float(const struct assay_op_check *c, const char *what,
                      const struct assay_tensor *t)
{
    if (t->dtype == ASSAY_F32)
        return 0;
    return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                              "%s dtype: expected float32, found %s", what,
                              assay_dtype_name(t->dtype));
}

int assay_check_constant(const struct assay_op_check *c, const char *what,
                         const struct assay_tensor *t)
{
    if (t->role == ASSAY_ROLE_CONSTANT)
        return 0;
    return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                              "%s '%.200s': expected a constant", what,
                              t->name);
}

int assay_check_out_program(const struct assay_op_check *c, size_t channels,
                            const struct assay_interval *v)
{
    const struct assay_program *p = &c->layer->out_program;
    enum assay_dtype dtype = assay_layer_output(c)->dtype;
    int rc =
        assay_program_check(p, channels, v->kind, false, "out_program", c->err);
    size_t n = !rc && assay_program_per_channel(p) ? channels : 1;
    for (size_t i = 0; !rc && i < n; i++) {
        struct assay_interval y = *v;
        rc = assay_program_range(p, i, NULL, &y, "out_program", c->err);
        if (!rc)
            rc = assay_interval_fits(&y, dtype, i, "out_program", c->err);
    }
    return assay_layer_prefix(c, rc);
}

static int window_fields(const struct assay_op_check *c,
                         const struct assay_window_axis *w, int64_t extent)
{
    int64_t most = w->may_miss ? INT32_MAX : extent - 1;
    const struct {
        const char *name;
        int64_t found, min, max;
    } fields[] = {
        {"kernel", w->kernel, 1, INT32_MAX},
        {"stride", w->stride, 1, INT32_MAX},
        {"dilation", w->dilation, 1, INT32_MAX},
        {"pad before", w->pad_before, 0, most},
        {"pad after", w->pad_after, 0, most},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].found < fields[i].min || fields[i].found > fields[i].max)
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "%s of axis %s: expected %" PRId64
                                      " to %" PRId64 ", found %" PRId64,
                                      fields[i].name, w->axis, fields[i].min,
                                      fields[i].max, fields[i].found);
    return 0;
}

int assay_check_window(const struct assay_op_check *c,
                       const struct assay_window_axis *w)
{
    /* All are int32, so that nothing here leaves 64 bits. */
    int64_t extent = (w->kernel - 1) * w->dilation + 1;
    int rc = window_fields(c, w, extent);
    if (rc)
        return rc;
    int64_t room = w->in + w->pad_before + w->pad_after - extent;
    if (room < 0)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "kernel extent of axis %s: expected at most "
                                  "%" PRId64 " (input and pads), found "
                                  "%" PRId64,
                                  w->axis, room + extent, extent);
    int64_t down = room / w->stride + 1;
    int64_t up = (room + w->stride - 1) / w->stride + 1;
    if (w->out != down && w->out != up)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output size of axis %s: expected %" PRId64
                                  ", found %" PRId64,
                                  w->axis, down, w->out);
    return 0;
}
