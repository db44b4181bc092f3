/* SPDX-License-Identifier: Apache-2.0 */
/* Moves without arithmetic, and casts. Constants are moved at once. */
#include <string.h>

#include "host-tools/model/mlir_import.h"

void assay_hbir_carry(struct assay_hbir *im, uint32_t x, uint32_t y)
{
    const struct assay_quant *from = &im->s->tensors[x].quant;
    struct assay_quant *to = &im->s->tensors[y].quant;

    if (!to->n && from->n == 1 &&
        im->s->tensors[x].dtype == im->s->tensors[y].dtype)
        *to = *from;
}

int assay_hbir_view(struct assay_hbir *im, uint32_t x, uint32_t y,
                    const struct assay_view_params *v)
{
    struct assay_layer *l;
    int rc = assay_hbir_layer(im, ASSAY_OP_VIEW, 1, &x, y, &l);

    if (rc)
        return rc;
    l->p.view = *v;
    assay_hbir_carry(im, x, y);
    return 0;
}

void assay_hbir_plain_view(const struct assay_tensor *t,
                           struct assay_view_params *v)
{
    int64_t step = 1;

    memset(v, 0, sizeof(*v));
    v->rank = t->rank ? t->rank : 1;
    v->dims[0] = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        v->dims[i] = t->dims[i];
        v->strides[i] = step;
        step *= t->dims[i];
    }
}

/* View whose axis i is axis perm[i] of what is read. */
static void permuted(const struct assay_tensor *t, const int64_t *perm,
                     struct assay_view_params *v)
{
    struct assay_view_params plain;

    assay_hbir_plain_view(t, &plain);
    *v = plain;
    for (uint32_t i = 0; i < t->rank; i++) {
        v->dims[i] = plain.dims[perm[i]];
        v->strides[i] = plain.strides[perm[i]];
    }
}

int assay_hbir_to_last(struct assay_hbir *im, uint32_t x, uint32_t axis,
                       uint32_t *index)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t perm[ASSAY_MAX_RANK];
    struct assay_view_params v;
    uint32_t y;
    int rc;

    for (uint32_t i = 0; i < t->rank; i++)
        perm[i] = i + 1 == t->rank ? axis : i < axis ? i : i + 1;
    permuted(t, perm, &v);
    rc = assay_hbir_between(im, "last", t->dtype, t->rank, v.dims, &y);
    if (!rc)
        rc = assay_hbir_view(im, x, y, &v);
    if (!rc)
        *index = y;
    return rc;
}

int assay_hbir_from_last(struct assay_hbir *im, uint32_t x, uint32_t axis,
                         uint32_t y)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t perm[ASSAY_MAX_RANK];
    struct assay_view_params v;

    for (uint32_t i = 0; i < t->rank; i++)
        perm[i] = i == axis ? t->rank - 1 : i < axis ? i : i - 1;
    permuted(t, perm, &v);
    return assay_hbir_view(im, x, y, &v);
}

/* ---- reshape ------------------------------------------------------------ */

/* The attribute `shape` (one entry may be -1), or the declared one. */
static int read_shape(struct assay_hbir *im, int64_t count, uint32_t *rank,
                      int64_t *dims)
{
    struct assay_hbir_type t;
    int64_t product = 1;
    int open = -1;
    bool found;
    int rc = assay_hbir_declared(im, 0, &t);

    if (!rc)
        rc = assay_hbir_ints(im, "shape", ASSAY_MAX_RANK, dims, rank, &found);
    if (rc)
        return rc;
    if (!found) {
        *rank = t.rank;
        memcpy(dims, t.dims, sizeof(t.dims));
    }
    for (uint32_t i = 0; i < *rank; i++) {
        if (dims[i] == -1 && open < 0)
            open = (int)i;
        else if (dims[i] < 1 || dims[i] > INT32_MAX ||
                 product > INT64_MAX / dims[i])
            return assay_hbir_fail(im, ASSAY_ERANGE,
                                   "attribute 'shape': %lld in dimension %u",
                                   (long long)dims[i], i);
        else
            product *= dims[i];
    }
    if (open >= 0) {
        dims[open] = count / product;
        product = dims[open] > 0 ? product * dims[open] : 0;
    }
    if (product != count)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "attribute 'shape': %lld elements, but the "
                               "input has %lld",
                               (long long)product, (long long)count);
    return 0;
}

/* A constant's new dims against what the result is declared as. */
static int fold(struct assay_hbir *im, const struct assay_hbir_const *k,
                uint32_t rank, const int64_t *dims, const void *data)
{
    struct assay_hbir_type t;
    char want[160], found[160];
    int rc = assay_hbir_declared(im, 0, &t);

    if (rc)
        return rc;
    if (t.rank != rank || t.dtype != k->dtype || t.half != k->half ||
        memcmp(t.dims, dims, rank * sizeof(*dims)))
        return assay_hbir_fail(
            im, ASSAY_EFORMAT, "result '%.100s' is declared as %s, but is %s",
            im->op->results[0]->name,
            assay_hbir_shape_text(found, t.dtype, t.rank, t.dims),
            assay_hbir_shape_text(want, k->dtype, rank, dims));
    return assay_hbir_fold(im, rank, dims, k, data);
}

static int64_t elements(const struct assay_tensor *t)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < t->rank; i++)
        n = n > INT64_MAX / t->dims[i] ? 0 : n * t->dims[i];
    return n;
}

int assay_hbir_reshape(struct assay_hbir *im)
{
    const struct assay_hbir_const *k;
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_layer *l;
    uint32_t x, y, rank;
    int rc = assay_hbir_const(im, 0, &k);

    if (!rc && k) {
        rc = read_shape(im, (int64_t)k->count, &rank, dims);
        return rc ? rc : fold(im, k, rank, dims, k->data);
    }
    if (!rc)
        rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_ANY, &x);
    if (!rc)
        rc = read_shape(im, elements(&im->s->tensors[x]), &rank, dims);
    if (!rc)
        rc = assay_hbir_output(im, 0, 1u << im->s->tensors[x].dtype, rank, dims,
                               "", &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_RESHAPE, 1, &x, y, &l);
    if (!rc)
        assay_hbir_carry(im, x, y);
    return rc;
}

/* ---- transpose ---------------------------------------------------------- */

static int read_perm(struct assay_hbir *im, uint32_t rank, int64_t *perm)
{
    const char *name = assay_hbir_attr(im, "perm") ? "perm" : "dims";
    unsigned seen = 0;
    uint32_t n;
    bool found;
    int rc = assay_hbir_ints(im, name, ASSAY_MAX_RANK, perm, &n, &found);

    if (rc)
        return rc;
    if (!found)
        return assay_hbir_skip(im, "attribute 'dims' is missing");
    if (n != rank)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "attribute '%s': %u axes for an input of rank "
                               "%u",
                               name, n, rank);
    for (uint32_t i = 0; i < n; i++) {
        perm[i] += perm[i] < 0 ? rank : 0;
        if (perm[i] < 0 || perm[i] >= (int64_t)rank || (seen >> perm[i] & 1))
            return assay_hbir_fail(im, ASSAY_EFORMAT,
                                   "attribute '%s' is no permutation of %u "
                                   "axes",
                                   name, rank);
        seen |= 1u << perm[i];
    }
    return 0;
}

/* A constant, moved element by element. */
static int fold_transpose(struct assay_hbir *im,
                          const struct assay_hbir_const *k)
{
    struct assay_tensor t = {.rank = k->rank};
    size_t size = assay_dtype_bytes(k->dtype);
    int64_t perm[ASSAY_MAX_RANK], at[ASSAY_MAX_RANK] = {0}, from;
    struct assay_view_params v;
    char *out;
    int rc = read_perm(im, k->rank, perm);

    if (rc)
        return rc;
    memcpy(t.dims, k->dims, sizeof(t.dims));
    permuted(&t, perm, &v);
    out = assay_arena_array(im->s->arena, k->count ? k->count : 1, size);
    if (!out)
        return assay_hbir_no_memory(im);
    from = 0;
    for (size_t i = 0; i < k->count; i++) {
        memcpy(out + i * size, (const char *)k->data + (size_t)from * size,
               size);
        for (uint32_t d = v.rank; d-- > 0;) {
            from += v.strides[d];
            if (++at[d] < v.dims[d])
                break;
            from -= at[d] * v.strides[d];
            at[d] = 0;
        }
    }
    return fold(im, k, k->rank, v.dims, out);
}

int assay_hbir_transpose(struct assay_hbir *im)
{
    const struct assay_hbir_const *k;
    const struct assay_tensor *t;
    int64_t perm[ASSAY_MAX_RANK];
    char axes[ASSAY_MAX_RANK + 1] = "";
    struct assay_view_params v;
    uint32_t x, y;
    int rc = assay_hbir_const(im, 0, &k);

    if (!rc && k)
        return fold_transpose(im, k);
    if (!rc)
        rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_ANY, &x);
    if (!rc)
        rc = read_perm(im, im->s->tensors[x].rank, perm);
    if (rc)
        return rc;
    t = &im->s->tensors[x];
    permuted(t, perm, &v);
    for (uint32_t i = 0; t->axes[0] && i < t->rank; i++)
        axes[i] = t->axes[perm[i]];
    rc = assay_hbir_output(im, 0, 1u << t->dtype, t->rank, v.dims, axes, &y);
    return rc ? rc : assay_hbir_view(im, x, y, &v);
}

/* ---- slice -------------------------------------------------------------- */

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int slice_axis(struct assay_hbir *im, uint32_t d, int64_t begin,
                      int64_t end, int64_t step, struct assay_view_params *v)
{
    int64_t size = v->dims[d], count;

    if (step < 1 || step > INT32_MAX)
        return assay_hbir_skip(im,
                               "attribute 'step' is %lld, known is 1 and "
                               "above",
                               (long long)step);
    begin = clamp(begin, INT32_MIN, INT32_MAX);
    end = clamp(end, INT32_MIN, INT32_MAX);
    begin = clamp(begin < 0 ? begin + size : begin, 0, size);
    end = clamp(end < 0 ? end + size : end, 0, size);
    count = (end - begin + step - 1) / step;
    if (count < 1)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "nothing is left of dimension %u", d);
    v->offset += begin * v->strides[d];
    v->strides[d] *= step;
    v->dims[d] = count;
    return 0;
}

int assay_hbir_slice(struct assay_hbir *im)
{
    int64_t begin[ASSAY_MAX_RANK], end[ASSAY_MAX_RANK], step[ASSAY_MAX_RANK];
    char axes[ASSAY_MAX_RANK + 1];
    uint32_t n[3], x, y, rank;
    struct assay_view_params v;
    bool found[3];
    int rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_ANY, &x);

    if (!rc)
        rc = assay_hbir_ints(im, "begin", ASSAY_MAX_RANK, begin, &n[0],
                             &found[0]);
    if (!rc)
        rc = assay_hbir_ints(im, "end", ASSAY_MAX_RANK, end, &n[1], &found[1]);
    if (!rc)
        rc =
            assay_hbir_ints(im, "step", ASSAY_MAX_RANK, step, &n[2], &found[2]);
    if (!rc && (!found[0] || !found[1]))
        rc = assay_hbir_skip(im, "attribute '%s' is missing",
                             found[0] ? "end" : "begin");
    if (rc)
        return rc;
    rank = im->s->tensors[x].rank;
    if (n[0] != rank || n[1] != rank || (found[2] && n[2] != rank))
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "attributes 'begin', 'end' and 'step' of %u, "
                               "%u and %u for an input of rank %u",
                               n[0], n[1], n[2], rank);
    assay_hbir_plain_view(&im->s->tensors[x], &v);
    for (uint32_t d = 0; !rc && d < rank; d++)
        rc = slice_axis(im, d, begin[d], end[d], found[2] ? step[d] : 1, &v);
    memcpy(axes, im->s->tensors[x].axes, sizeof(axes));
    if (!rc)
        rc = assay_hbir_output(im, 0, 1u << im->s->tensors[x].dtype, rank,
                               v.dims, axes, &y);
    return rc ? rc : assay_hbir_view(im, x, y, &v);
}

/* ---- concat ------------------------------------------------------------- */

static int join_dims(struct assay_hbir *im, const uint32_t *in, int64_t axis,
                     int64_t *dims)
{
    const struct assay_tensor *first = &im->s->tensors[in[0]];
    char a[160], b[160];

    memcpy(dims, first->dims, sizeof(first->dims));
    for (uint32_t i = 1; i < im->op->n_operands; i++) {
        const struct assay_tensor *t = &im->s->tensors[in[i]];
        bool fits = t->dtype == first->dtype && t->rank == first->rank;

        for (uint32_t d = 0; fits && d < t->rank; d++)
            fits = d == axis || t->dims[d] == dims[d];
        if (!fits)
            return assay_hbir_fail(
                im, ASSAY_EFORMAT, "operands of %s and %s do not join",
                assay_hbir_shape_text(a, first->dtype, first->rank,
                                      first->dims),
                assay_hbir_shape_text(b, t->dtype, t->rank, t->dims));
        dims[axis] += t->dims[axis];
    }
    return 0;
}

int assay_hbir_concat(struct assay_hbir *im)
{
    uint32_t in[ASSAY_MAX_LAYER_INPUTS], y, n = im->op->n_operands;
    int64_t dims[ASSAY_MAX_RANK], axis = 0;
    char axes[ASSAY_MAX_RANK + 1];
    struct assay_layer *l;
    int rc = 0;

    if (!n || n > ASSAY_MAX_LAYER_INPUTS)
        return assay_hbir_skip(im, "%u operands, known are 1 to %d", n,
                               ASSAY_MAX_LAYER_INPUTS);
    for (uint32_t i = 0; !rc && i < n; i++)
        rc = assay_hbir_input(im, i, "operand", ASSAY_HBIR_ANY, &in[i]);
    if (!rc)
        rc =
            assay_hbir_axis(im, "dim", im->s->tensors[in[0]].rank, NULL, &axis);
    if (!rc)
        rc = join_dims(im, in, axis, dims);
    if (rc)
        return rc;
    memcpy(axes, im->s->tensors[in[0]].axes, sizeof(axes));
    rc = assay_hbir_output(im, 0, 1u << im->s->tensors[in[0]].dtype,
                           im->s->tensors[in[0]].rank, dims, axes, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_CONCAT, n, in, y, &l);
    if (rc)
        return rc;
    l->p.concat.axis = (int32_t)axis;
    return assay_hbir_programs(im, l, n);
}

/* ---- cast --------------------------------------------------------------- */

static bool widens(enum assay_dtype from, enum assay_dtype to)
{
    int64_t a, b, c, d;

    assay_dtype_range(from, &a, &b);
    assay_dtype_range(to, &c, &d);
    return a >= c && b <= d;
}

int assay_hbir_cast(struct assay_hbir *im)
{
    struct assay_hbir_type t;
    struct assay_layer *l;
    int64_t dims[ASSAY_MAX_RANK];
    char axes[ASSAY_MAX_RANK + 1];
    enum assay_dtype from;
    uint32_t x, y;
    int rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_ANY, &x);

    if (!rc)
        rc = assay_hbir_declared(im, 0, &t);
    if (rc)
        return rc;
    from = im->s->tensors[x].dtype;
    /* Whether it cuts off, rounds, wraps or saturates is not known. */
    if (from != t.dtype &&
        (from == ASSAY_F32 || (t.dtype != ASSAY_F32 && !widens(from, t.dtype))))
        return assay_hbir_skip(im, "a cast of %s to %s", assay_dtype_name(from),
                               assay_dtype_name(t.dtype));
    memcpy(dims, im->s->tensors[x].dims, sizeof(dims));
    memcpy(axes, im->s->tensors[x].axes, sizeof(axes));
    rc = assay_hbir_output(im, 0, 1u << t.dtype, im->s->tensors[x].rank, dims,
                           axes, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_UNARY, 1, &x, y, &l);
    if (!rc && from != ASSAY_F32 && t.dtype == ASSAY_F32)
        l->out_program = (struct assay_program){
            .n_steps = 1, .steps = {{.kind = ASSAY_STEP_TO_F32}}};
    return rc;
}
