/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the text: which tensor, or which constant, each one is. */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/mlir_import.h"
#include "lib/core/hash.h"

#define MAX_EXPANDED ((size_t)256 << 20) /* bytes of all splats together */

int assay_hbir_values_open(struct assay_hbir *im, size_t n)
{
    for (im->value_bits = 4; ((size_t)1 << im->value_bits) < n * 2;)
        im->value_bits++;
    im->values = assay_arena_array(im->work, (size_t)1 << im->value_bits,
                                   sizeof(*im->values));
    return im->values ? 0 : assay_hbir_no_memory(im);
}

struct assay_hbir_value *assay_hbir_value(struct assay_hbir *im,
                                          const struct assay_mlir_value *v)
{
    size_t mask = ((size_t)1 << im->value_bits) - 1;
    uint64_t hash = (uint64_t)(uintptr_t)v * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> (64 - im->value_bits));

    while (im->values[at].v && im->values[at].v != v)
        at = (at + 1) & mask;
    if (!im->values[at].v) {
        im->values[at].v = v;
        im->values[at].tensor = -1;
    }
    return &im->values[at];
}

/* ---- constants ---------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, list[i]))
            return true;
    return false;
}

bool assay_hbir_is_constant(const struct assay_mlir_op *op)
{
    static const char *const names[] = {"hbir.constant", "hbdk.constant",
                                        "b30.constant", "arith.constant",
                                        "b30vpu.constant"};

    return op->n_results == 1 &&
           is_one_of(op->name, names, sizeof(names) / sizeof(names[0]));
}

bool assay_hbir_is_return(const struct assay_mlir_op *op)
{
    return !strcmp(op->name, "func.return") || !strcmp(op->name, "return");
}

int assay_hbir_constant_op(struct assay_hbir *im)
{
    struct assay_hbir_value *v = assay_hbir_value(im, im->op->results[0]);
    const char *name = assay_mlir_loc_name(im->op->loc);

    v->literal = assay_mlir_op_attr(im->op, "values");
    if (!v->literal)
        v->literal = assay_mlir_op_attr(im->op, "value");
    if (!v->literal)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "attribute 'values' is missing");
    v->constant = name ? name : v->v->name;
    return 0;
}

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h >> 15) << 31, e = h >> 10 & 31, m = h & 1023;
    uint32_t bits;
    float f;

    if (e == 31) {
        bits = sign | 0x7f800000u | m << 13;
    } else if (e) {
        bits = sign | (e + 112) << 23 | m << 13;
    } else {
        f = (float)m / 16777216.0f;
        return sign ? -f : f;
    }
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* Elements of `from` bytes each to those of the dtype, which is dense. */
static int dense(struct assay_hbir *im, struct assay_hbir_const *k,
                 const struct assay_mlir_attr *a)
{
    size_t from = k->half ? 2 : assay_dtype_bytes(k->dtype);
    size_t to = assay_dtype_bytes(k->dtype), n = a->splat ? 1 : k->count;
    size_t bytes;
    char *out;

    if (a->data_size != n * from)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "constant '%.100s': expected %zu bytes, found "
                               "%zu",
                               k->name, n * from, a->data_size);
    if (!a->splat && !k->half) {
        k->data = a->data;
        return 0;
    }
    if (!assay_mul_size(k->count, to, &bytes) ||
        bytes > MAX_EXPANDED - im->expanded)
        return assay_hbir_fail(im, ASSAY_ERANGE,
                               "constant '%.100s' is too large", k->name);
    im->expanded += bytes;
    out = assay_arena_alloc(im->s->arena, bytes ? bytes : 1);
    if (!out)
        return assay_hbir_no_memory(im);
    for (size_t i = 0; i < (a->splat && k->count ? 1 : k->count); i++) {
        const char *in = (const char *)a->data + i * from;
        uint16_t h;
        float f;

        memcpy(&h, in, from < 2 ? from : 2);
        f = k->half ? half_to_float(h) : 0;
        memcpy(out + i * to, k->half ? (const char *)&f : in, to);
    }
    for (size_t have = to; a->splat && have < bytes; have *= 2)
        memcpy(out + have, out, have < bytes - have ? have : bytes - have);
    k->data = out;
    return 0;
}

/* constants.npz in the folder of the model, read when it is first needed. */
static const struct assay_array *beside(struct assay_hbir *im, const char *name)
{
    struct assay_err ignored = {0};
    const char *slash = strrchr(im->file, '/');
    char path[4096];

    if (!im->npz_read) {
        im->npz_read = true;
        snprintf(path, sizeof(path), "%.*sconstants.npz",
                 slash ? (int)(slash - im->file + 1) : 0, im->file);
        if (assay_file_is_regular(path) &&
            assay_npz_read(&im->npz, path, im->note, &ignored) < 0) {
            im->npz_why = ignored;
            memset(&im->npz, 0, sizeof(im->npz));
        }
    }
    return assay_npz_find(&im->npz, name);
}

static int from_npz(struct assay_hbir *im, struct assay_hbir_const *k,
                    const char *name)
{
    const struct assay_array *a = beside(im, name);
    char want[160], found[160];

    if (!a && im->npz_why.text[0])
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "constant '%.100s' is not in the text, and the "
                               "file beside it cannot be read: %.200s",
                               name, im->npz_why.text);
    if (!a)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "constant '%.100s' is neither in the text nor "
                               "in constants.npz beside it",
                               name);
    if (a->rank != k->rank || a->dtype != k->dtype ||
        memcmp(a->dims, k->dims, k->rank * sizeof(k->dims[0])))
        return assay_hbir_fail(
            im, ASSAY_EMISMATCH,
            "constant '%.100s': expected %s, found %s in constants.npz", name,
            assay_hbir_shape_text(want, k->dtype, k->rank, k->dims),
            assay_hbir_shape_text(found, a->dtype, a->rank, a->dims));
    k->data = assay_arena_copy(im->s->arena, a->data, a->bytes ? a->bytes : 1);
    return k->data ? 0 : assay_hbir_no_memory(im);
}

static int count_of(struct assay_hbir *im, struct assay_hbir_const *k)
{
    k->count = 1;
    for (uint32_t i = 0; i < k->rank; i++)
        if (!assay_mul_size(k->count, (size_t)k->dims[i], &k->count) ||
            k->count > PTRDIFF_MAX / 8)
            return assay_hbir_fail(im, ASSAY_ERANGE,
                                   "constant '%.100s' is too large", k->name);
    return 0;
}

static int read_literal(struct assay_hbir *im, struct assay_hbir_value *v,
                        struct assay_hbir_const *k)
{
    const struct assay_mlir_attr *a = v->literal;
    struct assay_hbir_type t;
    const char *why;
    int rc;

    if (!assay_hbir_type(im, v->v->type, &t, &why))
        return assay_hbir_skip(im, "constant '%.100s' is %.100s", v->constant,
                               why);
    k->name = v->constant;
    k->dtype = t.dtype;
    k->half = t.half;
    k->rank = t.rank;
    memcpy(k->dims, t.dims, sizeof(k->dims));
    rc = count_of(im, k);
    if (rc)
        return rc;
    if (a->kind == ASSAY_MLIR_RESOURCE && !a->data)
        return from_npz(im, k, a->text);
    if (a->kind != ASSAY_MLIR_DENSE && a->kind != ASSAY_MLIR_RESOURCE)
        return assay_hbir_skip(im,
                               "constant '%.100s' is no dense<...> and no "
                               "dense_resource<...>",
                               k->name);
    return dense(im, k, a);
}

int assay_hbir_const(struct assay_hbir *im, uint32_t i,
                     const struct assay_hbir_const **out)
{
    struct assay_hbir_value *v;
    struct assay_hbir_const *k;
    int rc;

    *out = NULL;
    if (i >= im->op->n_operands)
        return 0;
    v = assay_hbir_value(im, im->op->operands[i]);
    if (!v->k && v->literal) {
        k = assay_arena_alloc(im->work, sizeof(*k));
        if (!k)
            return assay_hbir_no_memory(im);
        rc = read_literal(im, v, k);
        if (rc)
            return rc;
        v->k = k;
    }
    *out = v->k;
    return 0;
}

int64_t assay_hbir_const_int(const struct assay_hbir_const *k, size_t i)
{
    size_t size = assay_dtype_bytes(k->dtype);
    const char *p = (const char *)k->data + i * size;
    union {
        int8_t s8;
        uint8_t u8;
        int16_t s16;
        uint16_t u16;
        int32_t s32;
        int64_t s64;
    } u = {0};

    memcpy(&u, p, size);
    switch (k->dtype) {
    case ASSAY_S8: return u.s8;
    case ASSAY_U8: return u.u8;
    case ASSAY_S16: return u.s16;
    case ASSAY_U16: return u.u16;
    case ASSAY_S32: return u.s32;
    case ASSAY_S64: return u.s64;
    default: return 0;
    }
}

int assay_hbir_fold(struct assay_hbir *im, uint32_t rank, const int64_t *dims,
                    const struct assay_hbir_const *k, const void *data)
{
    struct assay_hbir_value *v = assay_hbir_value(im, im->op->results[0]);
    struct assay_hbir_const *c = assay_arena_alloc(im->work, sizeof(*c));

    if (!c)
        return assay_hbir_no_memory(im);
    *c = *k;
    c->rank = rank;
    memcpy(c->dims, dims, rank * sizeof(*dims));
    c->data = data;
    v->k = c;
    v->constant = k->name;
    return 0;
}

/* ---- operands ----------------------------------------------------------- */

int assay_hbir_new_constant(struct assay_hbir *im, const char *name,
                            enum assay_dtype dtype, uint32_t rank,
                            const int64_t *dims, const void *data,
                            uint32_t *index)
{
    struct assay_tensor *t;
    size_t elements;
    uint32_t made;
    int rc = assay_slice_add_tensor(im->s, &made, im->err);

    if (rc)
        return rc;
    t = &im->s->tensors[made];
    t->name = assay_hbir_unique(im, &im->tensors, name);
    if (!t->name)
        return assay_hbir_no_memory(im);
    t->role = ASSAY_ROLE_CONSTANT;
    t->dtype = dtype;
    t->rank = rank;
    if (rank)
        memcpy(t->dims, dims, rank * sizeof(*dims));
    t->data = data;
    rc = assay_tensor_count(t, &elements, &t->size, im->err);
    if (!rc)
        assay_sha256(t->data, t->size, t->sha256);
    *index = made;
    return rc;
}

static int check_dtype(struct assay_hbir *im, const char *name,
                       const char *what, unsigned mask, enum assay_dtype found)
{
    static const enum assay_dtype all[] = {ASSAY_S8,  ASSAY_U8,  ASSAY_S16,
                                           ASSAY_S32, ASSAY_S64, ASSAY_F32};
    char list[80] = "";

    if (mask & 1u << found)
        return 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (mask & 1u << all[i])
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     list[0] ? " or " : "", assay_dtype_name(all[i]));
    return assay_hbir_skip(im, "%s '%.100s' is %s, expected %s", what, name,
                           assay_dtype_name(found), list);
}

int assay_hbir_input(struct assay_hbir *im, uint32_t i, const char *what,
                     unsigned mask, uint32_t *index)
{
    const struct assay_hbir_const *k;
    struct assay_hbir_value *v;
    uint32_t made = 0;
    int rc;

    if (i >= im->op->n_operands)
        return assay_hbir_fail(im, ASSAY_EFORMAT, "operand %u (%s) is missing",
                               i, what);
    v = assay_hbir_value(im, im->op->operands[i]);
    if (v->why)
        return assay_hbir_skip(im, "%s '%.100s' is %.160s", what, v->v->name,
                               v->why);
    rc = assay_hbir_const(im, i, &k);
    if (rc)
        return rc;
    if (k) {
        rc = check_dtype(im, k->name, what, mask, k->dtype);
        if (!rc && v->tensor < 0)
            rc = assay_hbir_new_constant(im, k->name, k->dtype, k->rank,
                                         k->dims, k->data, &made);
        if (!rc && v->tensor < 0)
            v->tensor = made;
        *index = (uint32_t)v->tensor;
        return rc;
    }
    if (v->tensor < 0)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "%s '%.100s' is used before it is defined", what,
                               v->v->name);
    *index = (uint32_t)v->tensor;
    return check_dtype(im, im->s->tensors[*index].name, what, mask,
                       im->s->tensors[*index].dtype);
}
