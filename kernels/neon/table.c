/* SPDX-License-Identifier: Apache-2.0 */
/* A table of 256 entries: bytes in registers, wider ones element by element. */
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/neon/lookup.h"

/* The size is a constant in each call, so that an entry is one load. */
static inline __attribute__((always_inline)) void look_up(
    const struct assay_table *p, uint8_t flip, const uint8_t *x, uint8_t *y,
    size_t size)
{
    const uint8_t *table = p->table;

    for (size_t k = 0; k < p->n; k++)
        memcpy(y + k * size, table + (size_t)(x[k] ^ flip) * size, size);
}

static void run(const struct assay_table *p, const void *x, void *y)
{
    /* int8 counts from -128: its bytes and the entries differ in the top bit */
    uint8_t flip = p->x_dtype == ASSAY_S8 ? 0x80 : 0;

    switch (assay_dtype_size(p->y_dtype)) {
    case 1: assay_lookup_bytes(p->table, flip, x, y, p->n); break;
    case 2: look_up(p, flip, x, y, 2); break;
    case 4: look_up(p, flip, x, y, 4); break;
    default: look_up(p, flip, x, y, 8); break;
    }
}

static bool supports(const struct assay_table *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8) &&
           assay_dtype_size(p->y_dtype) != 0;
}

const struct assay_table_kernel assay_table__neon = {
    .name = "assay_table__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = supports,
    .run = run,
};
