/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/sums.h"

#include <string.h>

#include "kernels/requant.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for accumulators");
}

bool assay_sums_has(const struct assay_slice *one)
{
    const struct assay_layer *l = &one->layers[0];

    return (l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
            l->op == ASSAY_OP_CONV_TRANSPOSE2D) &&
           assay_dtype_is_int(one->tensors[l->inputs[0]].dtype) &&
           one->tensors[l->inputs[1]].role == ASSAY_ROLE_CONSTANT;
}

/* Can no sum leave 32 bits, whatever the input? */
static bool fits_32(const struct assay_slice *s, const struct assay_layer *l)
{
    const struct assay_tensor *w = &s->tensors[l->inputs[1]];
    int64_t products = 1;

    for (uint32_t a = 1; a < w->rank; a++)
        products *= w->dims[a];
    if (l->op == ASSAY_OP_CONV_TRANSPOSE2D)
        products *= w->dims[0]; /* more than any one sum has */
    return products <= INT32_MAX / (255 * 255);
}

/* 8-bit elements in 16 bits: their sums are then 64 bits wide. */
static int widen(struct assay_slice *s, uint32_t tensor, const void **value,
                 struct assay_err *err)
{
    struct assay_tensor *t = &s->tensors[tensor];
    size_t n, bytes;
    int16_t *wide;
    int rc = assay_tensor_count(t, &n, &bytes, err);

    if (rc)
        return rc;
    wide = assay_arena_array(s->arena, n, sizeof(*wide));
    if (!wide)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        wide[i] = t->dtype == ASSAY_S8 ? (int16_t)((const int8_t *)*value)[i]
                                       : (int16_t)((const uint8_t *)*value)[i];
    t->dtype = ASSAY_S16;
    *value = wide;
    return 0;
}

/* The layer computes its sum alone. */
static void strip(struct assay_slice *s, bool narrow)
{
    struct assay_layer *l = &s->layers[0];
    struct assay_tensor *y = &s->tensors[l->output];

    y->dtype = narrow ? ASSAY_S32 : ASSAY_S64;
    y->quant = (struct assay_quant){.axis = -1};
    l->out_program = (struct assay_program){.n_steps = 0};
    l->p.conv2d.has_bias = l->p.conv2d.has_second = false;
    l->n_inputs = 2;
}

int assay_sums_compute(int64_t *out, size_t n, const struct assay_slice *one,
                       const void *const *values, uint32_t n_values,
                       uint32_t cpu_flags,
                       const struct assay_plan_limits *limits,
                       struct assay_err *err)
{
    const void *mine[ASSAY_MAX_LAYER_INPUTS] = {0};
    const struct assay_layer *l = &one->layers[0];
    uint32_t first = l->inputs[0];
    bool bytes = assay_dtype_bytes(one->tensors[first].dtype) == 1;
    bool narrow = bytes && fits_32(one, l);
    struct assay_slice *s;
    int rc = assay_slice_copy(&s, one, err);

    if (rc)
        return rc;
    memcpy(mine, values, n_values * sizeof(*mine));
    strip(s, narrow);
    if (!narrow && bytes)
        rc = widen(s, first, &mine[first], err);
    if (!rc)
        rc = assay_once_within(s, cpu_flags, mine, n_values, out,
                               n * (narrow ? sizeof(int32_t) : sizeof(int64_t)),
                               limits, err);
    if (!rc && narrow)
        for (size_t e = n; e-- > 0;) /* in place, from the end */
            out[e] = ((const int32_t *)(const void *)out)[e];
    assay_slice_free(s);
    return rc;
}

void assay_sums_second(int32_t *out, size_t n, const struct assay_slice *one,
                       const void *const *values)
{
    const struct assay_layer *l = &one->layers[0];
    uint32_t tensor = l->inputs[l->n_inputs - 1];
    const struct assay_tensor *t = &one->tensors[tensor];
    const uint8_t *from =
        t->role == ASSAY_ROLE_CONSTANT ? t->data : values[tensor];

    for (size_t e = 0; e < n; e++) {
        union assay_value v;

        assay_load_values(t->dtype, from + e * assay_dtype_bytes(t->dtype), &v,
                          1);
        out[e] = (int32_t)v.i;
    }
}
