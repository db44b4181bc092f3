/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of one tensor or the other; the definition (docs/numerics.md,
 * "select"). No value is changed.
 */
#include <string.h>

#include "kernels/kernels.h"

static bool supports(const struct assay_select *p)
{
    size_t size = p->elem_size;
    return p->rank >= 1 && p->rank <= ASSAY_KERNEL_RANK &&
           (size == 1 || size == 2 || size == 4 || size == 8);
}

/* The next index; false behind the last. `at` follows c, a and b. */
static bool step(const struct assay_select *p, int64_t *index, int64_t *at)
{
    for (uint32_t i = p->rank; i-- > 0;) {
        at[0] += p->c_strides[i];
        at[1] += p->a_strides[i];
        at[2] += p->b_strides[i];
        if (++index[i] < p->dims[i])
            return true;
        at[0] -= p->c_strides[i] * p->dims[i];
        at[1] -= p->a_strides[i] * p->dims[i];
        at[2] -= p->b_strides[i] * p->dims[i];
        index[i] = 0;
    }
    return false;
}

static void run(const struct assay_select *p, const void *condition,
                const void *a, const void *b, void *y)
{
    int64_t index[ASSAY_KERNEL_RANK] = {0}, at[3] = {0};
    size_t size = p->elem_size, c_size = assay_dtype_size(p->condition_dtype);
    char *to = y;
    do {
        union assay_value c;
        assay_load_values(p->condition_dtype,
                          (const char *)condition + (size_t)at[0] * c_size, &c,
                          1);
        memcpy(to,
               c.i ? (const char *)a + (size_t)at[1] * size
                   : (const char *)b + (size_t)at[2] * size,
               size);
        to += size;
    } while (step(p, index, at));
}

const struct assay_select_kernel assay_select__ref = {
    .name = "assay_select__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
