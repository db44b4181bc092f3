/* SPDX-License-Identifier: Apache-2.0 */
/* A table of 256 entries for 8-bit elements; the definition. */
#include "kernels/kernels.h"

#include <string.h>

static bool supports(const struct assay_table *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8) &&
           assay_dtype_size(p->y_dtype) != 0;
}

static void run(const struct assay_table *p, const void *x, void *y)
{
    size_t size = assay_dtype_size(p->y_dtype);
    const uint8_t *from = x, *table = p->table;
    /* int8 counts from -128: its bytes and the entries differ in the top bit */
    uint8_t flip = p->x_dtype == ASSAY_S8 ? 0x80 : 0;
    for (size_t k = 0; k < p->n; k++)
        memcpy((uint8_t *)y + k * size, table + (size_t)(from[k] ^ flip) * size,
               size);
}

const struct assay_table_kernel assay_table__ref = {
    .name = "assay_table__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
