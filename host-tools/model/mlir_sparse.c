/* SPDX-License-Identifier: Apache-2.0 */
/* sparse<indices, values> : type. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

static uint32_t indices_of(const struct assay_mlir_attr *a)
{
    return a->type->rank ? (uint32_t)a->type->dims[0] : 1;
}

/* A part of sparse<>, its shape taken from its text: the brackets at its
 * beginning say the rank, and counting does the rest. */
static bool shape_of(struct assay_mlir_parser *p, uint64_t dims[2],
                     uint32_t *rank)
{
    uint64_t n[2] = {0, 0};
    unsigned open = 0;

    *rank = 0;
    for (;;) {
        assay_mlir_next(p);
        if (p->rc || p->at.tok.kind == ASSAY_TOK_EOF)
            return false;
        if (p->at.tok.kind == '[') {
            if (++open > 2)
                return assay_mlir_expected(p, "a list of lists at most");
            if (open > *rank)
                *rank = open;
            n[open - 1] = 0;
            dims[open - 1] = 0;
        } else if (p->at.tok.kind == ']') {
            if (!open)
                return assay_mlir_expected(p, "an element");
            open--;
            if (open)
                n[open - 1]++;
            dims[open] = n[open];
        } else if (p->at.tok.kind == '(') {
            while (!p->rc && p->at.tok.kind != ')' &&
                   p->at.tok.kind != ASSAY_TOK_EOF)
                assay_mlir_next(p);
            n[0] += open == 1;
            n[1] += open == 2;
        } else if (!open && (p->at.tok.kind == ',' || p->at.tok.kind == '>')) {
            return true;
        } else if (p->at.tok.kind != ',' && p->at.tok.kind != '-') {
            n[0] += open == 1;
            n[1] += open == 2;
        }
    }
}

static const struct assay_mlir_type *part_type(
    struct assay_mlir_parser *p, const struct assay_mlir_type *element,
    const uint64_t *dims, uint32_t rank)
{
    struct assay_mlir_type *t;
    struct assay_buf b;
    int64_t *d;

    assay_buf_init(&b);
    if (!assay_mlir_put(&b, "tensor<"))
        assay_mlir_no_memory(p);
    d = assay_arena_array(p->arena, rank + 1, sizeof(*d));
    t = assay_arena_alloc(p->arena, sizeof(*t));
    for (uint32_t i = 0; d && i < rank; i++) {
        d[i] = (int64_t)dims[i];
        if (!assay_mlir_printf(&b, "%llux", (unsigned long long)dims[i]))
            assay_mlir_no_memory(p);
    }
    if (!t || !d || !assay_mlir_put(&b, element->text) ||
        !assay_mlir_put(&b, ">"))
        assay_mlir_no_memory(p);
    if (!p->rc) {
        t->kind = ASSAY_MLIR_TENSOR;
        t->ranked = true;
        t->rank = rank;
        t->dims = d;
        t->element = element;
        t->depth = (uint16_t)(element->depth + 1);
        t->text = assay_mlir_intern(p, (const char *)b.data, b.len);
    }
    assay_buf_close(&b);
    return p->rc ? NULL : t;
}

static const struct assay_mlir_attr *sparse_part(
    struct assay_mlir_parser *p, const struct assay_mlir_type *element,
    struct assay_mlir_place begin, int close)
{
    struct assay_mlir_elements e = {0};
    struct assay_mlir_attr *a;
    struct assay_mlir_place before = p->at;
    uint64_t dims[2] = {0, 0};
    uint32_t rank = 0;
    struct assay_mlir_token at = p->at.tok;
    size_t chars;
    const char *s;

    p->at = begin;
    s = assay_mlir_skip_space(p);
    if (s < p->end && *s == '"') {
        assay_mlir_unsupported(p, &at, "hex elements in 'sparse'");
        return NULL;
    }
    if (!shape_of(p, dims, &rank)) {
        if (!p->rc)
            assay_mlir_expected(p, "the end of 'sparse'");
        return NULL;
    }
    chars = (size_t)(p->at.cur - begin.cur);
    e.type = part_type(p, element, dims, rank);
    a = e.type ? assay_mlir_new_attr(p, ASSAY_MLIR_DENSE) : NULL;
    p->at = begin;
    if (!a || !assay_mlir_describe(p, &at, &e) ||
        !assay_mlir_values(p, &e, a, chars))
        return NULL;
    a->type = e.type;
    if (p->at.tok.kind != close) {
        assay_mlir_expected(p, close == ',' ? "',' between indices and values"
                                            : "'>' at the end of the elements");
        return NULL;
    }
    p->at = before;
    return a;
}

static bool sparse_fits(struct assay_mlir_parser *p,
                        const struct assay_mlir_token *at,
                        const struct assay_mlir_type *t,
                        const struct assay_mlir_attr *indices,
                        const struct assay_mlir_attr *values_attr)
{
    uint32_t columns =
        indices->type->rank == 2 ? (uint32_t)indices->type->dims[1] : 1;
    uint64_t n = indices_of(indices);

    if (indices->type->rank == 1 && t->rank != 1) {
        columns = (uint32_t)indices->type->dims[0];
        n = 1;
    }
    if (n && columns != t->rank)
        return assay_mlir_fail(p, at,
                               "expected %u numbers in an index for "
                               "'%.100s', found %u",
                               t->rank, t->text, columns);
    if (values_attr->type->rank && indices_of(values_attr) != n)
        return assay_mlir_fail(p, at,
                               "expected %llu values for as many "
                               "indices, found %u",
                               (unsigned long long)n, indices_of(values_attr));
    for (size_t i = 0; i < indices->data_size / 8; i++) {
        int64_t v;

        memcpy(&v, (const char *)indices->data + 8 * i, 8);
        if (v < 0 || v >= t->dims[i % t->rank])
            return assay_mlir_fail(p, at,
                                   "the index %lld lies outside of "
                                   "'%.100s'",
                                   (long long)v, t->text);
    }
    return true;
}

const struct assay_mlir_attr *assay_mlir_sparse(struct assay_mlir_parser *p)
{
    struct assay_mlir_place begin, middle, behind;
    const struct assay_mlir_attr *indices, *v;
    const struct assay_mlir_type *type;
    struct assay_mlir_attr *a;
    struct assay_mlir_token at;
    struct assay_mlir_elements e = {0};
    size_t mark = p->n_stack;

    assay_mlir_next(p);
    if (p->at.tok.kind != '<') {
        assay_mlir_expected(p, "'<' after 'sparse'");
        return NULL;
    }
    begin = p->at;
    if (!assay_mlir_skip_list(p, true))
        return NULL;
    middle = p->at;
    if (p->at.tok.kind == ',' && !assay_mlir_skip_list(p, false))
        return NULL;
    if (!assay_mlir_need(p, '>', "'>' at the end of the elements"))
        return NULL;
    type = assay_mlir_shaped(p, &at);
    e.type = type;
    if (!type || !assay_mlir_describe(p, &at, &e))
        return NULL;
    behind = p->at;
    if (middle.tok.kind == ',') {
        indices = sparse_part(p, assay_mlir_type_int(p, 'i', 64), begin, ',');
        v = indices ? sparse_part(p, type->element, middle, '>') : NULL;
        if (!v || !sparse_fits(p, &at, type, indices, v) ||
            !assay_mlir_push(p, indices) || !assay_mlir_push(p, v))
            return NULL;
    } else {
        p->at = begin;
        assay_mlir_next(p);
        if (p->at.tok.kind != '>') {
            assay_mlir_expected(p, "',' between indices and values");
            return NULL;
        }
    }
    p->at = behind;
    a = (struct assay_mlir_attr *)assay_mlir_attr_list(p, ASSAY_MLIR_SPARSE,
                                                       mark, NULL);
    if (a)
        a->type = type;
    return a;
}
