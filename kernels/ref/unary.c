/* SPDX-License-Identifier: Apache-2.0 */
/* One operand through a program, block by block; the definition. */
#include "kernels/kernels.h"

#define BLOCK 256

static bool supports(const struct assay_unary *p)
{
    return assay_dtype_size(p->x_dtype) != 0 &&
           assay_dtype_size(p->y_dtype) != 0;
}

static void run(const struct assay_unary *p, const void *x, void *y)
{
    union assay_value v[BLOCK];
    size_t x_size = assay_dtype_size(p->x_dtype);
    size_t y_size = assay_dtype_size(p->y_dtype);
    for (size_t at = 0; at < p->n; at += BLOCK) {
        size_t n = p->n - at < BLOCK ? p->n - at : BLOCK;
        struct assay_block block = {.v = v,
                                    .n = n,
                                    .channel = at % p->channels,
                                    .channels = p->channels};
        assay_load_values(p->x_dtype, (const char *)x + at * x_size, v, n);
        assay_program_run(p->program, &block);
        assay_store_values(p->y_dtype, (char *)y + at * y_size, v, n);
    }
}

const struct assay_unary_kernel assay_unary__ref = {
    .name = "assay_unary__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
