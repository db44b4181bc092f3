/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/mlir_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void mlir_write_string(FILE *to, const char *s, size_t n)
{
    fputc('"', to);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c < 32 || c > 126 || c == '"' || c == '\\')
            fprintf(to, "\\%02X", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void write_c_string(FILE *to, const char *s)
{
    mlir_write_string(to, s, strlen(s));
}

static void write_types(struct mlir_writer *w, uint32_t from, uint32_t to,
                        const struct assay_mlir_type *const *types)
{
    for (uint32_t i = from; i < to; i++) {
        fputs(i > from ? ", " : "", w->to);
        mlir_write_type(w, types[i]);
    }
}

static void write_shaped(struct mlir_writer *w, const char *name,
                         const struct assay_mlir_type *t)
{
    fprintf(w->to, "%s<", name);
    if (!t->ranked)
        fputs("*x", w->to);
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] == ASSAY_MLIR_DYNAMIC)
            fputs("?x", w->to);
        else
            fprintf(w->to, "%" PRId64 "x", t->dims[i]);
    }
    mlir_write_type(w, t->element);
    for (uint32_t i = 0; i < t->n_params; i++) {
        fputs(", ", w->to);
        mlir_write_attr(w, t->params[i]);
    }
    fputc('>', w->to);
}

void mlir_write_type(struct mlir_writer *w, const struct assay_mlir_type *t)
{
    switch (t->kind) {
    case ASSAY_MLIR_INTEGER:
        fprintf(w->to, "%s%" PRIu32,
                t->sign == 's'   ? "si"
                : t->sign == 'u' ? "ui"
                                 : "i",
                t->width);
        break;
    case ASSAY_MLIR_INDEX: fputs("index", w->to); break;
    case ASSAY_MLIR_NONE: fputs("none", w->to); break;
    case ASSAY_MLIR_TENSOR: write_shaped(w, "tensor", t); break;
    case ASSAY_MLIR_MEMREF: write_shaped(w, "memref", t); break;
    case ASSAY_MLIR_COMPLEX:
        fputs("complex<", w->to);
        mlir_write_type(w, t->element);
        fputc('>', w->to);
        break;
    case ASSAY_MLIR_FUNCTION:
        fputc('(', w->to);
        write_types(w, 0, t->n_inputs, t->types);
        fputs(") -> (", w->to);
        write_types(w, t->n_inputs, t->n_types, t->types);
        fputc(')', w->to);
        break;
    case ASSAY_MLIR_TUPLE:
        fputs("tuple<", w->to);
        write_types(w, 0, t->n_types, t->types);
        fputc('>', w->to);
        break;
    case ASSAY_MLIR_FLOAT:
    case ASSAY_MLIR_VECTOR: /* scalable dimensions stand in the text only */
    case ASSAY_MLIR_DIALECT: fputs(t->text, w->to); break;
    }
}

void mlir_write_loc(struct mlir_writer *w, const struct assay_mlir_loc *l)
{
    switch (l->kind) {
    case ASSAY_MLIR_LOC_UNKNOWN: fputs("unknown", w->to); break;
    case ASSAY_MLIR_LOC_FILE:
        write_c_string(w->to, l->text);
        fprintf(w->to, ":%" PRIu32 ":%" PRIu32, l->line, l->column);
        break;
    case ASSAY_MLIR_LOC_NAME:
        write_c_string(w->to, l->text);
        if (l->n_parts) {
            fputc('(', w->to);
            mlir_write_loc(w, l->parts[0]);
            fputc(')', w->to);
        }
        break;
    case ASSAY_MLIR_LOC_FUSED:
        fputs("fused", w->to);
        if (l->metadata) {
            fputc('<', w->to);
            mlir_write_attr(w, l->metadata);
            fputc('>', w->to);
        }
        fputc('[', w->to);
        for (uint32_t i = 0; i < l->n_parts; i++) {
            fputs(i ? ", " : "", w->to);
            mlir_write_loc(w, l->parts[i]);
        }
        fputc(']', w->to);
        break;
    case ASSAY_MLIR_LOC_CALLSITE:
        fputs("callsite(", w->to);
        mlir_write_loc(w, l->parts[0]);
        fputs(" at ", w->to);
        mlir_write_loc(w, l->parts[1]);
        fputc(')', w->to);
        break;
    case ASSAY_MLIR_LOC_OPAQUE: fputs(l->text, w->to); break;
    }
}

static bool is_i1(const struct assay_mlir_type *t)
{
    return t && t->kind == ASSAY_MLIR_INTEGER && t->width == 1 &&
           t->sign == 'i';
}

/* The literal only: items of a typed array have no type of their own. */
static void write_number(struct mlir_writer *w, const struct assay_mlir_attr *a)
{
    const struct assay_mlir_type *t = a->type;

    if (a->kind == ASSAY_MLIR_BOOL || is_i1(t))
        fputs(a->i ? "true" : "false", w->to);
    else if (a->kind == ASSAY_MLIR_REAL)
        mlir_write_real(w->to, a);
    else if (a->data)
        mlir_write_wide(w->to, a->data, a->data_size, t->sign != 'u');
    else if (t && t->sign == 'u')
        fprintf(w->to, "%" PRIu64, (uint64_t)a->i);
    else
        fprintf(w->to, "%" PRId64, a->i);
}

static void write_items(struct mlir_writer *w, const struct assay_mlir_attr *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        fputs(i ? ", " : "", w->to);
        if (a->kind == ASSAY_MLIR_TYPED_ARRAY) {
            write_number(w, a->items[i]);
            continue;
        }
        if (a->kind == ASSAY_MLIR_DICT) {
            write_c_string(w->to, a->names[i]);
            if (a->items[i]->kind == ASSAY_MLIR_UNIT)
                continue;
            fputs(" = ", w->to);
        }
        mlir_write_attr(w, a->items[i]);
    }
}

static void write_typed(struct mlir_writer *w, const struct assay_mlir_attr *a)
{
    fputs(" : ", w->to);
    mlir_write_type(w, a->type);
}

static void keep_resource(struct mlir_writer *w,
                          const struct assay_mlir_attr *a)
{
    for (size_t i = 0; i < w->n_resources; i++) {
        if (strcmp(w->resources[i]->text, a->text) == 0)
            return;
    }
    if (w->n_resources == w->cap_resources) {
        w->cap_resources = w->cap_resources * 2 + 16;
        w->resources =
            realloc(w->resources, w->cap_resources * sizeof(w->resources[0]));
        if (!w->resources)
            abort();
    }
    w->resources[w->n_resources++] = a;
}

static void write_shaped_attr(struct mlir_writer *w,
                              const struct assay_mlir_attr *a)
{
    switch (a->kind) {
    case ASSAY_MLIR_DENSE:
        fputs("dense<", w->to);
        mlir_write_elements(w, a, true);
        break;
    case ASSAY_MLIR_SPARSE:
        fputs("sparse<", w->to);
        if (a->n == 2 && (a->items[0]->data_size || a->items[1]->data_size)) {
            mlir_write_elements(w, a->items[0], false);
            fputs(", ", w->to);
            mlir_write_elements(w, a->items[1], false);
        }
        break;
    default:
        fprintf(w->to, "dense_resource<%s", a->text);
        if (a->data)
            keep_resource(w, a);
    }
    fputc('>', w->to);
    write_typed(w, a);
}

void mlir_write_attr(struct mlir_writer *w, const struct assay_mlir_attr *a)
{
    switch (a->kind) {
    case ASSAY_MLIR_UNIT: fputs("unit", w->to); break;
    case ASSAY_MLIR_BOOL: write_number(w, a); break;
    case ASSAY_MLIR_INT:
    case ASSAY_MLIR_REAL:
        write_number(w, a);
        if (a->type && !is_i1(a->type))
            write_typed(w, a);
        break;
    case ASSAY_MLIR_STRING:
        mlir_write_string(w->to, a->text, a->text_size);
        if (a->type)
            write_typed(w, a);
        break;
    case ASSAY_MLIR_TYPE: mlir_write_type(w, a->type); break;
    case ASSAY_MLIR_ARRAY:
        fputc('[', w->to);
        write_items(w, a);
        fputc(']', w->to);
        break;
    case ASSAY_MLIR_TYPED_ARRAY:
        fputs("array<", w->to);
        mlir_write_type(w, a->type);
        fputs(a->n ? ": " : "", w->to);
        write_items(w, a);
        fputc('>', w->to);
        break;
    case ASSAY_MLIR_DICT:
        fputc('{', w->to);
        write_items(w, a);
        fputc('}', w->to);
        break;
    case ASSAY_MLIR_DENSE:
    case ASSAY_MLIR_SPARSE:
    case ASSAY_MLIR_RESOURCE: write_shaped_attr(w, a); break;
    case ASSAY_MLIR_DISTINCT:
        fprintf(w->to, "distinct[%" PRId64 "]<", a->i);
        if (a->n && a->items[0]->kind != ASSAY_MLIR_UNIT)
            write_items(w, a);
        fputc('>', w->to);
        break;
    case ASSAY_MLIR_LOCATION:
        fputs("loc(", w->to);
        mlir_write_loc(w, a->loc);
        fputc(')', w->to);
        break;
    case ASSAY_MLIR_SYMBOL:
    case ASSAY_MLIR_AFFINE:
    case ASSAY_MLIR_STRIDED:
    case ASSAY_MLIR_OPAQUE:
        fwrite(a->text, 1, a->text_size ? a->text_size : strlen(a->text),
               w->to);
        break;
    }
}
