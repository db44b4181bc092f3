/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight bits have 256 values: where the operands do not depend on the channel
 * the program runs once for each, and the elements are looked up. Everything
 * else goes through the vector interpreter.
 */
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/neon/lookup.h"
#include "kernels/neon/vector.h"

#define CHUNK 256u
/* Below this many elements the table costs more than it saves. */
#define TABLE_MIN 256u

static bool is_8bit(enum assay_dtype t)
{
    return t == ASSAY_S8 || t == ASSAY_U8;
}

static bool per_tensor(const struct assay_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].n > 1)
            return false;
    return true;
}

/* table[byte]: the stored result of the element with those bits. */
static void make_table(const struct assay_unary *p, uint8_t *table)
{
    union assay_value v[256];
    struct assay_block block = {.v = v, .n = 256, .channels = 1};
    uint8_t bytes[256];

    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    assay_load_values(p->x_dtype, bytes, v, 256);
    assay_program_run(p->program, &block);
    assay_store_values(p->y_dtype, table, v, 256);
}

static void run_table(const struct assay_unary *p, const uint8_t *x, uint8_t *y)
{
    size_t size = assay_dtype_size(p->y_dtype);
    uint64_t words[256];
    uint8_t *table = (uint8_t *)words;

    make_table(p, table);
    if (size == 1) {
        assay_lookup_bytes(table, 0, x, y, p->n);
        return;
    }
    for (size_t k = 0; k < p->n; k++)
        memcpy(y + k * size, table + x[k] * size, size);
}

static void run(const struct assay_unary *p, const void *x, void *y)
{
    size_t x_size = assay_dtype_size(p->x_dtype);
    size_t y_size = assay_dtype_size(p->y_dtype);
    union assay_value v[CHUNK];

    if (is_8bit(p->x_dtype) && p->n >= TABLE_MIN && per_tensor(p->program)) {
        run_table(p, x, y);
        return;
    }
    for (size_t at = 0; at < p->n; at += CHUNK) {
        size_t n = p->n - at < CHUNK ? p->n - at : CHUNK;
        struct assay_block block = {
            .v = v,
            .n = n,
            .channel = at % p->channels,
            .channels = p->channels,
        };

        assay_load_values(p->x_dtype, (const uint8_t *)x + at * x_size, v, n);
        assay_program_vector(p->program, &block);
        assay_store_values(p->y_dtype, (uint8_t *)y + at * y_size, v, n);
    }
}

static bool supports(const struct assay_unary *p)
{
    return assay_dtype_size(p->x_dtype) != 0 &&
           assay_dtype_size(p->y_dtype) != 0;
}

const struct assay_unary_kernel assay_unary__neon = {
    .name = "assay_unary__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = supports,
    .run = run,
};
