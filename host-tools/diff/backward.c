/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/diff/backward.h"

#include <string.h>

#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for a layer's input");
}

static bool moves(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_VIEW || l->op == ASSAY_OP_RESHAPE;
}

static bool only_scales(const struct assay_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind != ASSAY_STEP_ADD &&
            p->steps[i].kind != ASSAY_STEP_TO_F32 &&
            p->steps[i].kind != ASSAY_STEP_TO_F64 &&
            p->steps[i].kind != ASSAY_STEP_FMUL)
            return false;
    return true;
}

/* Integers that are scaled, by one number or by one of a constant: what is
 * given rises with the integer (where no scale is negative: then none is
 * found, see bisect). */
static bool dequantizes(const struct assay_slice *s,
                        const struct assay_layer *l)
{
    enum assay_dtype d = s->tensors[l->inputs[0]].dtype;

    if (!assay_dtype_is_int(d) || assay_dtype_bytes(d) > sizeof(int32_t) ||
        s->tensors[l->output].dtype != ASSAY_F32 ||
        !only_scales(&l->out_program))
        return false;
    if (l->op == ASSAY_OP_UNARY)
        return true;
    return l->op == ASSAY_OP_BINARY && l->n_inputs == 2 &&
           l->n_in_programs == 2 && only_scales(&l->in_programs[0]) &&
           only_scales(&l->in_programs[1]) &&
           l->p.binary.combine == ASSAY_COMBINE_FMUL &&
           s->tensors[l->inputs[1]].role == ASSAY_ROLE_CONSTANT;
}

bool assay_backward_can(const struct assay_slice *s, uint32_t layer)
{
    const struct assay_layer *l = &s->layers[layer];

    return s->tensors[l->inputs[0]].role != ASSAY_ROLE_CONSTANT &&
           (moves(l) || dequantizes(s, l));
}

/* ---- moves ----------------------------------------------------------------- */

/* Which element of the input each element of the output is: the layer moves
 * their numbers. */
static int numbers(int32_t *from, struct assay_slice *one, size_t n,
                   size_t n_out, struct assay_err *err)
{
    int32_t *count = assay_alloc(n * sizeof(*count) + 1);
    const void *values[1] = {count};
    int rc;

    if (!count)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        count[i] = (int32_t)i;
    for (uint32_t t = 0; t < one->n_tensors; t++) {
        one->tensors[t].dtype = ASSAY_S32;
        one->tensors[t].quant = (struct assay_quant){.axis = -1};
    }
    rc = assay_once(one, 0, values, 1, from, n_out * sizeof(*from), err);
    assay_free(count);
    return rc;
}

static int unmove(void **out, struct assay_slice *one, size_t n, size_t width,
                  const uint8_t *got, struct assay_err *err)
{
    int32_t *from = assay_alloc(n * sizeof(*from) + 1);
    bool *seen = assay_calloc(n + 1, sizeof(*seen));
    uint8_t *x = assay_alloc(n * width + 1);
    bool each = true;
    int rc = from && seen && x ? numbers(from, one, n, n, err) : no_memory(err);

    for (size_t i = 0; i < n && each && !rc; i++) {
        size_t at = (size_t)from[i];

        each = !seen[at];
        seen[at] = true;
        memcpy(x + at * width, got + i * width, width);
    }
    if (!rc && each) {
        *out = x;
        x = NULL;
    }
    assay_free(x);
    assay_free(seen);
    assay_free(from);
    return rc;
}

/* ---- dequantization -------------------------------------------------------- */

/* An element of an integer tensor. */
static void set_integer(enum assay_dtype d, void *v, size_t i, int64_t to)
{
    switch (d) {
    case ASSAY_S8: ((int8_t *)v)[i] = (int8_t)to; break;
    case ASSAY_U8: ((uint8_t *)v)[i] = (uint8_t)to; break;
    case ASSAY_S16: ((int16_t *)v)[i] = (int16_t)to; break;
    case ASSAY_U16: ((uint16_t *)v)[i] = (uint16_t)to; break;
    default: ((int32_t *)v)[i] = (int32_t)to; break;
    }
}

struct bisection {
    const struct assay_slice *one;
    enum assay_dtype dtype; /* of the integers */
    int64_t least, most;
    size_t n;
    const float *got;
    void *x;       /* integers that are tried */
    float *y;      /* what they give */
    int64_t *from; /* the least integer that does not give too little */
};

static int give(const struct bisection *b, struct assay_err *err)
{
    const void *values[1] = {b->x};

    return assay_once(b->one, 0, values, 1, b->y, b->n * sizeof(*b->y), err);
}

/* Bit by bit from the top: raised where it still gives too little. */
static int bisect(const struct bisection *b, struct assay_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < b->n; i++)
        b->from[i] = b->least - 1;
    for (int64_t step = (b->most - b->least + 1) / 2; step > 0 && !rc;
         step /= 2) {
        for (size_t i = 0; i < b->n; i++)
            set_integer(b->dtype, b->x, i,
                        b->from[i] + step <= b->most ? b->from[i] + step
                                                     : b->most);
        rc = give(b, err);
        for (size_t i = 0; i < b->n && !rc; i++)
            if (b->y[i] < b->got[i] && b->from[i] + step <= b->most)
                b->from[i] += step;
    }
    for (size_t i = 0; i < b->n; i++)
        b->from[i]++;
    return rc;
}

/* Do the integers, moved by that, give just what was got (only: do none)? */
static int all_give(const struct bisection *b, int64_t moved, bool none,
                    bool *yes, struct assay_err *err)
{
    int rc;

    for (size_t i = 0; i < b->n; i++) {
        int64_t v = b->from[i] + moved;

        set_integer(b->dtype, b->x, i,
                    v < b->least || v > b->most ? b->from[i] : v);
    }
    rc = give(b, err);
    *yes = true;
    for (size_t i = 0; i < b->n && *yes && !rc; i++) {
        int64_t v = b->from[i] + moved;
        bool same = memcmp(&b->y[i], &b->got[i], sizeof(*b->y)) == 0;

        if (v >= b->least && v <= b->most)
            *yes = same != none;
    }
    return rc;
}

static int unscale(void **out, struct assay_slice *one, size_t n,
                   const void *got, struct assay_err *err)
{
    struct bisection b = {.one = one,
                          .dtype = one->tensors[0].dtype,
                          .n = n,
                          .got = got,
                          .x = assay_alloc(n * sizeof(int32_t) + 1),
                          .y = assay_alloc(n * sizeof(*b.y) + 1),
                          .from = assay_alloc(n * sizeof(*b.from) + 1)};
    bool only = false;
    int rc = b.x && b.y && b.from ? 0 : no_memory(err);

    assay_dtype_range(b.dtype, &b.least, &b.most);
    if (!rc)
        rc = bisect(&b, err);
    for (size_t i = 0; i < n && !rc; i++)
        if (b.from[i] > b.most)
            b.from[i] = b.most;
    if (!rc)
        rc = all_give(&b, 1, true, &only, err);
    if (!rc && only)
        rc = all_give(&b, -1, true, &only, err);
    if (!rc && only)
        rc = all_give(&b, 0, false, &only, err);
    if (!rc && only) {
        *out = b.x;
        b.x = NULL;
    }
    assay_free(b.x);
    assay_free(b.y);
    assay_free(b.from);
    return rc;
}

int assay_backward(void **out, const struct assay_slice *s, uint32_t layer,
                   const void *got, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    size_t n, bytes, n_out, bytes_out;
    struct assay_slice *one;
    int rc;

    *out = NULL;
    rc = assay_tensor_count(x, &n, &bytes, err);
    if (!rc)
        rc =
            assay_tensor_count(&s->tensors[l->output], &n_out, &bytes_out, err);
    if (rc || !assay_backward_can(s, layer) || n != n_out || n > INT32_MAX)
        return rc;
    rc = assay_slice_single(&one, s, layer, err);
    if (rc)
        return rc;
    rc = moves(l) ? unmove(out, one, n, assay_dtype_bytes(x->dtype), got, err)
                  : unscale(out, one, n, got, err);
    assay_slice_free(one);
    return rc;
}
