/* SPDX-License-Identifier: Apache-2.0 */
/* Building a slice, and the plain facts of dtypes and tensors. */
#include "lib/core/slice.h"

#include <inttypes.h>
#include <string.h>

struct assay_slice *assay_slice_new(void)
{
    struct assay_arena *arena = assay_arena_new();
    if (!arena)
        return NULL;
    struct assay_slice *s = assay_arena_alloc(arena, sizeof(*s));
    if (!s) {
        assay_arena_free(arena);
        return NULL;
    }
    s->arena = arena;
    s->model_name = s->model_format = s->numerics = "";
    return s;
}

void assay_slice_free(struct assay_slice *s)
{
    if (!s)
        return;
    assay_arena_free(s->blobs);
    assay_arena_free(s->arena); /* s lives in it */
}

/*
 * Room for one more element of `size` bytes. The old array stays in the arena
 * until the slice is freed: doubling keeps that below the array's own size.
 */
static void *grow(struct assay_slice *s, void *old, uint32_t n, uint32_t *cap,
                  size_t size)
{
    if (n < *cap)
        return old;
    uint32_t more = *cap ? *cap * 2 : 16;
    char *array = assay_arena_array(s->arena, more, size);
    if (!array)
        return NULL;
    if (n)
        memcpy(array, old, n * size);
    *cap = more;
    return array;
}

int assay_slice_add_tensor(struct assay_slice *s, uint32_t *index,
                           struct assay_err *err)
{
    if (s->n_tensors >= ASSAY_MAX_TENSORS)
        return assay_fail(err, ASSAY_ERANGE,
                          "slice: more than %d tensors are not supported",
                          ASSAY_MAX_TENSORS);
    struct assay_tensor *array =
        grow(s, s->tensors, s->n_tensors, &s->cap_tensors, sizeof(*array));
    if (!array)
        return assay_fail(err, ASSAY_EMEMORY,
                          "slice: no memory for tensor %" PRIu32, s->n_tensors);
    s->tensors = array;
    struct assay_tensor *t = &array[s->n_tensors];
    memset(t, 0, sizeof(*t));
    t->name = "";
    t->quant.axis = -1;
    for (uint8_t i = 0; i < ASSAY_MAX_RANK; i++)
        t->perm[i] = i;
    *index = s->n_tensors++;
    return 0;
}

int assay_slice_add_layer(struct assay_slice *s, uint32_t n_inputs,
                          uint32_t *index, struct assay_err *err)
{
    if (s->n_layers >= ASSAY_MAX_LAYERS)
        return assay_fail(err, ASSAY_ERANGE,
                          "slice: more than %d layers are not supported",
                          ASSAY_MAX_LAYERS);
    if (n_inputs > ASSAY_MAX_LAYER_INPUTS)
        return assay_fail(err, ASSAY_ERANGE,
                          "slice: layer %" PRIu32 " has %" PRIu32
                          " inputs: expected at most %d",
                          s->n_layers, n_inputs, ASSAY_MAX_LAYER_INPUTS);
    uint32_t *inputs = assay_arena_array(s->arena, n_inputs, sizeof(*inputs));
    struct assay_layer *array =
        grow(s, s->layers, s->n_layers, &s->cap_layers, sizeof(*array));
    if (!inputs || !array)
        return assay_fail(err, ASSAY_EMEMORY,
                          "slice: no memory for layer %" PRIu32, s->n_layers);
    s->layers = array;
    struct assay_layer *l = &array[s->n_layers];
    memset(l, 0, sizeof(*l));
    l->name = l->source_op = l->arith = l->skip_reason = "";
    l->n_inputs = n_inputs;
    l->inputs = inputs;
    *index = s->n_layers++;
    return 0;
}

int64_t assay_slice_find_tensor(const struct assay_slice *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_tensors; i++)
        if (s->tensors[i].name && strcmp(s->tensors[i].name, name) == 0)
            return i;
    return -1;
}

int64_t assay_slice_find_layer(const struct assay_slice *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_layers; i++)
        if (s->layers[i].name && strcmp(s->layers[i].name, name) == 0)
            return i;
    return -1;
}

static const struct {
    const char *name;
    size_t bytes;
    int64_t lo, hi; /* of integers */
    bool is_int;
} DTYPES[] = {
    [ASSAY_S8] = {"int8", 1, INT8_MIN, INT8_MAX, true},
    [ASSAY_U8] = {"uint8", 1, 0, UINT8_MAX, true},
    [ASSAY_S16] = {"int16", 2, INT16_MIN, INT16_MAX, true},
    [ASSAY_U16] = {"uint16", 2, 0, UINT16_MAX, true},
    [ASSAY_S32] = {"int32", 4, INT32_MIN, INT32_MAX, true},
    [ASSAY_F32] = {"float32", 4, 0, 0, false},
    [ASSAY_S64] = {"int64", 8, INT64_MIN, INT64_MAX, true},
};
#define N_DTYPES (sizeof(DTYPES) / sizeof(DTYPES[0]))

/* dtype of a hostile slice: any number. 0 names no type. */
static unsigned known(enum assay_dtype dtype)
{
    unsigned i = (unsigned)dtype;
    return i < N_DTYPES ? i : 0;
}

size_t assay_dtype_bytes(enum assay_dtype dtype)
{
    return DTYPES[known(dtype)].bytes;
}

const char *assay_dtype_name(enum assay_dtype dtype)
{
    unsigned i = known(dtype);
    return i ? DTYPES[i].name : "?";
}

bool assay_dtype_is_int(enum assay_dtype dtype)
{
    return DTYPES[known(dtype)].is_int;
}

void assay_dtype_range(enum assay_dtype dtype, int64_t *lo, int64_t *hi)
{
    unsigned i = known(dtype);
    *lo = DTYPES[i].lo;
    *hi = DTYPES[i].hi;
}

const char *assay_op_name(enum assay_op op)
{
    static const char *const names[] = {
        [ASSAY_OP_CONV2D] = "conv2d",
        [ASSAY_OP_GEMM] = "gemm",
        [ASSAY_OP_UNARY] = "unary",
        [ASSAY_OP_BINARY] = "binary",
        [ASSAY_OP_POOL] = "pool",
        [ASSAY_OP_CONCAT] = "concat",
        [ASSAY_OP_RESHAPE] = "reshape",
        [ASSAY_OP_SOFTMAX] = "softmax",
        [ASSAY_OP_SKIPPED] = "skipped",
        [ASSAY_OP_VIEW] = "view",
        [ASSAY_OP_GATHER] = "gather",
        [ASSAY_OP_REDUCE] = "reduce",
        [ASSAY_OP_MATMUL] = "matmul",
        [ASSAY_OP_CONV_TRANSPOSE2D] = "conv_transpose2d",
        [ASSAY_OP_PRELU] = "prelu",
        [ASSAY_OP_TABLE] = "table",
        [ASSAY_OP_SEGMENT_TABLE] = "segment_table",
        [ASSAY_OP_RESIZE] = "resize",
        [ASSAY_OP_GRID_SAMPLE] = "grid_sample",
        [ASSAY_OP_FUNCTION] = "function",
        [ASSAY_OP_NORMALIZE] = "normalize",
        [ASSAY_OP_SELECT] = "select",
    };
    unsigned i = (unsigned)op;
    return i < sizeof(names) / sizeof(names[0]) && names[i] ? names[i] : "?";
}

int assay_tensor_count(const struct assay_tensor *t, size_t *elements,
                       size_t *bytes, struct assay_err *err)
{
    const char *name = t->name ? t->name : "?";
    size_t n = 1, size = assay_dtype_bytes(t->dtype), total;
    if (size == 0)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "tensor '%s': dtype %d is not known", name,
                          (int)t->dtype);
    if (t->rank > ASSAY_MAX_RANK)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s': rank %" PRIu32 ": expected at most %d",
                          name, t->rank, ASSAY_MAX_RANK);
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 1)
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%s': dims[%" PRIu32 "] is %" PRId64
                              ": expected at least 1",
                              name, i, t->dims[i]);
        if ((uint64_t)t->dims[i] > SIZE_MAX ||
            !assay_mul_size(n, (size_t)t->dims[i], &n))
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%s': the product of its dims is too "
                              "large",
                              name);
    }
    if (!assay_mul_size(n, size, &total) || total > PTRDIFF_MAX)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s': its size in bytes is too large", name);
    *elements = n;
    *bytes = total;
    return 0;
}

void assay_tensor_source_dims(const struct assay_tensor *t, int64_t *out)
{
    for (uint32_t i = 0; i < t->rank && i < ASSAY_MAX_RANK; i++)
        if (t->perm[i] < t->rank)
            out[t->perm[i]] = t->dims[i];
}
