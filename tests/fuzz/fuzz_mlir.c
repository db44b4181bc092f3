/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of MLIR text. A tree that it gives is walked: every value has its
 * place, every operand is one that some operation or block gives, and data has
 * the size that the type says. A refused text leaves a sentence.
 *
 * corpus: tests/fuzz/corpus/mlir tests/oracle/mlir/dialects
 * links: host-tools/model/mlir_[!i]*.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * covers: host-tools/model/mlir_[!i]*.c
 * libs: -lxxhash -lmbedcrypto -lm
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/model/mlir_parse.h"

static void must(bool yes)
{
    if (!yes)
        abort();
}

static void walk_attr(const struct assay_mlir_attr *a, unsigned depth)
{
    uint64_t count, sum = 0;

    must(depth <= ASSAY_MLIR_MAX_DEPTH && a->kind != 0);
    for (size_t i = 0; i < a->data_size; i += 4096)
        sum += ((const uint8_t *)a->data)[i];
    must(sum <= UINT64_MAX / 2); /* ASan sees each page */
    if (a->kind == ASSAY_MLIR_DENSE && !a->n) {
        must(assay_mlir_count(a->type, &count));
        must(a->splat || !count == !a->data_size);
        must(a->splat || !count || a->data_size % count == 0);
    }
    /* Aliases make trees of millions of parts: their ends are enough. */
    for (uint32_t i = 0; i < a->n && i < 3; i++) {
        must(a->kind != ASSAY_MLIR_DICT || a->names[i][0] != '\0');
        if (a->weight < 100000)
            walk_attr(a->items[i], depth + 1);
    }
}

static void walk_region(const struct assay_mlir_region *r, unsigned depth);

static void walk_op(const struct assay_mlir_op *op, unsigned depth)
{
    must(op->name[0] != '\0' && op->line > 0 && op->column > 0);
    for (uint32_t i = 0; i < op->n_results; i++)
        must(op->results[i]->op == op && op->results[i]->index == i);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const struct assay_mlir_value *v = op->operands[i];

        must(v->type != NULL && v->name != NULL && v->index != UINT32_MAX);
        must(!v->op || v->op->results[v->index] == v);
    }
    for (uint32_t i = 0; i < op->n_successors; i++)
        must(op->successors[i]->ops != NULL);
    if (op->properties)
        walk_attr(op->properties, 1);
    if (op->attributes)
        walk_attr(op->attributes, 1);
    if (op->loc)
        must(op->loc->kind != 0);
    (void)assay_mlir_loc_name(op->loc);
    for (uint32_t i = 0; i < op->n_regions; i++)
        walk_region(op->regions[i], depth + 1);
}

static void walk_region(const struct assay_mlir_region *r, unsigned depth)
{
    must(depth <= ASSAY_MLIR_MAX_DEPTH);
    for (uint32_t b = 0; b < r->n_blocks; b++) {
        const struct assay_mlir_block *block = r->blocks[b];

        for (uint32_t i = 0; i < block->n_args; i++)
            must(block->args[i]->index == i && block->args[i]->op == NULL);
        for (uint32_t i = 0; i < block->n_ops; i++)
            walk_op(block->ops[i], depth);
    }
}

static void passed(void *self, size_t offset)
{
    must(offset <= *(size_t *)self);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_arena *arena = assay_arena_new();
    struct assay_mlir_region *r = NULL;
    struct assay_err err = {0};
    char *text = malloc(size ? size : 1);
    struct assay_mlir_source source = {
        .size = size, .file = "fuzz.mlir", .passed = passed, .self = &size};

    must(arena != NULL && text != NULL);
    if (size)
        memcpy(text, data, size);
    source.data = text;
    if (assay_mlir_parse(&r, &source, arena, &err) == 0) {
        free(text); /* nothing points into it */
        walk_region(r, 0);
    } else {
        free(text);
        must(r == NULL && err.text[0] != '\0');
    }
    assay_arena_free(arena);
    return 0;
}
