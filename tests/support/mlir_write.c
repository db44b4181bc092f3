/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/mlir_write.h"

#include <stdlib.h>
#include <string.h>

static struct mlir_number *slot(struct mlir_number *table, size_t cap,
                                const void *key)
{
    size_t i = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u & (cap - 1);

    while (table[i].key && table[i].key != key)
        i = (i + 1) & (cap - 1);
    return &table[i];
}

/* Values and blocks are numbered by what they are, not by their names. */
static unsigned number(struct mlir_writer *w, const void *key)
{
    struct mlir_number *s;

    if (2 * w->n_numbers >= w->cap_numbers) {
        size_t cap = w->cap_numbers ? 2 * w->cap_numbers : 1024;
        struct mlir_number *table = calloc(cap, sizeof(*table));

        if (!table)
            abort();
        for (size_t i = 0; i < w->cap_numbers; i++) {
            if (w->numbers[i].key)
                *slot(table, cap, w->numbers[i].key) = w->numbers[i];
        }
        free(w->numbers);
        w->numbers = table;
        w->cap_numbers = cap;
    }
    s = slot(w->numbers, w->cap_numbers, key);
    if (!s->key) {
        s->key = key;
        s->number = (unsigned)w->n_numbers++;
    }
    return s->number;
}

static void write_location(struct mlir_writer *w,
                           const struct assay_mlir_loc *loc)
{
    if (!loc)
        return;
    fputs(" loc(", w->to);
    mlir_write_loc(w, loc);
    fputc(')', w->to);
}

static void write_region(struct mlir_writer *w,
                         const struct assay_mlir_region *r);

static void write_value_types(struct mlir_writer *w, uint32_t n,
                              struct assay_mlir_value **values)
{
    fputc('(', w->to);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", w->to);
        mlir_write_type(w, values[i]->type);
    }
    fputc(')', w->to);
}

static void write_op(struct mlir_writer *w, const struct assay_mlir_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (op->results[i]->op != op || op->results[i]->index != i)
            abort();
        fprintf(w->to, "%s%%%u%s", i ? ", " : "", number(w, op->results[i]),
                i + 1 == op->n_results ? " = " : "");
    }
    mlir_write_string(w->to, op->name, strlen(op->name));
    fputc('(', w->to);
    for (uint32_t i = 0; i < op->n_operands; i++)
        fprintf(w->to, "%s%%%u", i ? ", " : "", number(w, op->operands[i]));
    fputc(')', w->to);
    for (uint32_t i = 0; i < op->n_successors; i++)
        fprintf(w->to, "%s^bb%u%s", i ? ", " : "[",
                number(w, op->successors[i]),
                i + 1 == op->n_successors ? "]" : "");
    if (op->properties) {
        fputs(" <", w->to);
        mlir_write_attr(w, op->properties);
        fputc('>', w->to);
    }
    for (uint32_t i = 0; i < op->n_regions; i++) {
        fputs(i ? ", " : " (", w->to);
        write_region(w, op->regions[i]);
        fputs(i + 1 == op->n_regions ? ")" : "", w->to);
    }
    if (op->attributes) {
        fputc(' ', w->to);
        mlir_write_attr(w, op->attributes);
    }
    fputs(" : ", w->to);
    write_value_types(w, op->n_operands, op->operands);
    fputs(" -> ", w->to);
    write_value_types(w, op->n_results, op->results);
    write_location(w, op->loc);
    fputc('\n', w->to);
}

static void write_ops(struct mlir_writer *w, const struct assay_mlir_block *b)
{
    for (uint32_t i = 0; i < b->n_ops; i++)
        write_op(w, b->ops[i]);
}

static void write_region(struct mlir_writer *w,
                         const struct assay_mlir_region *r)
{
    fputs("{\n", w->to);
    for (uint32_t k = 0; k < r->n_blocks; k++) {
        const struct assay_mlir_block *b = r->blocks[k];

        fprintf(w->to, "^bb%u%s", number(w, b), b->n_args ? "(" : "");
        for (uint32_t i = 0; i < b->n_args; i++) {
            fprintf(w->to, "%s%%%u: ", i ? ", " : "", number(w, b->args[i]));
            mlir_write_type(w, b->args[i]->type);
            if (b->arg_locs)
                write_location(w, b->arg_locs[i]);
        }
        fprintf(w->to, "%s:\n", b->n_args ? ")" : "");
        write_ops(w, b);
    }
    fputc('}', w->to);
}

static void write_resources(struct mlir_writer *w)
{
    if (!w->n_resources)
        return;
    fputs("{-# dialect_resources: { builtin: {\n", w->to);
    for (size_t i = 0; i < w->n_resources; i++) {
        const struct assay_mlir_attr *a = w->resources[i];
        const uint8_t *data = a->data;
        uint32_t alignment = (uint32_t)a->i;

        fprintf(w->to, "%s%s: \"0x", i ? ",\n" : "", a->text);
        for (int b = 0; b < 4; b++)
            fprintf(w->to, "%02X", alignment >> 8 * b & 0xff);
        for (size_t b = 0; b < a->data_size; b++)
            fprintf(w->to, "%02X", data[b]);
        fputc('"', w->to);
    }
    fputs("\n} } #-}\n", w->to);
}

void mlir_write(struct mlir_writer *w, const struct assay_mlir_region *r)
{
    for (uint32_t k = 0; k < r->n_blocks; k++)
        write_ops(w, r->blocks[k]);
    write_resources(w);
}

void mlir_writer_close(struct mlir_writer *w)
{
    free(w->resources);
    free(w->numbers);
    *w = (struct mlir_writer){0};
}
