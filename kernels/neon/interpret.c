/* SPDX-License-Identifier: Apache-2.0 */
/* not a kernel: accumulators through the vector interpreter. */
#include "kernels/neon/gemm.h"

#include "kernels/neon/vector.h"

#define CHUNK 128u

/* count values of channel, channel + 1, ... as elements index, index + 1 */
static void interpret(const struct assay_conv2d *p, union assay_value *v,
                      size_t count, size_t channel, size_t index, void *y)
{
    size_t size = assay_dtype_size(p->y_dtype);
    size_t second_size = assay_dtype_size(p->second_dtype);
    union assay_value e[CHUNK];
    int32_t second[CHUNK];
    struct assay_block block = {
        .v = v,
        .n = count,
        .channel = channel,
        .channels = (size_t)p->oc,
    };

    if (p->second) {
        assay_load_values(p->second_dtype,
                          (const uint8_t *)p->second + index * second_size, e,
                          count);
        for (size_t k = 0; k < count; k++)
            second[k] = (int32_t)e[k].i;
        block.second = second;
    }
    assay_program_vector(p->program, &block);
    assay_store_values(p->y_dtype, (uint8_t *)y + index * size, v, count);
}

void assay_interpret_rows(const struct assay_conv2d *p, const int32_t *acc,
                          size_t stride, size_t n, size_t first_channel,
                          size_t channels, size_t index, void *y)
{
    union assay_value v[CHUNK];
    size_t oc = (size_t)p->oc;
    size_t fill = 0, start = index, start_channel = first_channel;

    /* Rows that follow each other in the output share a chunk. */
    for (size_t i = 0; i < n; i++, acc += stride) {
        for (size_t j = 0; j < channels; j++) {
            v[fill++].i = acc[j];
            if (fill < CHUNK &&
                (j + 1 < channels || (channels == oc && i + 1 < n)))
                continue;
            interpret(p, v, fill, start_channel, start, y);
            fill = 0;
            start = index + i * oc + j + 1;
            start_channel = first_channel + j + 1;
            if (j + 1 == channels) {
                start = index + (i + 1) * oc;
                start_channel = first_channel;
            }
        }
    }
}
