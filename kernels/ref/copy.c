/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copy: reshape, transpose, concat of equal quantization. */
#include "kernels/kernels.h"

#include <string.h>

static bool supports(const struct assay_copy *p)
{
    return p->rank >= 1 && p->rank <= ASSAY_KERNEL_RANK &&
           (p->elem_size == 1 || p->elem_size == 2 || p->elem_size == 4 ||
            p->elem_size == 8);
}

static void copy_row(const struct assay_copy *p, const char *from, char *to)
{
    uint32_t last = p->rank - 1;
    size_t n = (size_t)p->dims[last], size = p->elem_size;
    if (p->src_strides[last] == 1 && p->dst_strides[last] == 1) {
        memcpy(to, from, n * size);
        return;
    }
    int64_t src = p->src_strides[last] * (int64_t)size;
    int64_t dst = p->dst_strides[last] * (int64_t)size;
    for (size_t i = 0; i < n; i++)
        memcpy(to + (int64_t)i * dst, from + (int64_t)i * src, size);
}

static void run(const struct assay_copy *p, const void *src, void *dst)
{
    int64_t index[ASSAY_KERNEL_RANK] = {0};
    int64_t size = (int64_t)p->elem_size, src_at = 0, dst_at = 0;
    for (;;) {
        copy_row(p, (const char *)src + src_at * size,
                 (char *)dst + dst_at * size);
        uint32_t i = p->rank - 1;
        for (;;) {
            if (i == 0)
                return;
            i--;
            src_at += p->src_strides[i];
            dst_at += p->dst_strides[i];
            if (++index[i] < p->dims[i])
                break;
            src_at -= p->src_strides[i] * p->dims[i];
            dst_at -= p->dst_strides[i] * p->dims[i];
            index[i] = 0;
        }
    }
}

const struct assay_copy_kernel assay_copy__ref = {
    .name = "assay_copy__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
