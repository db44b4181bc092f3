/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second and the third door: a slice's description to a slice, and that
 * to a plan. Constants are answered with a block of zeros whose size the
 * first two bytes give, so that a description may ask for any digest; one that
 * begins with 0xfe says its size in its next two bytes.
 *
 * links: proto/frame.c proto/codec*.c gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/
 * links: kernels/ kernels/ref/
 * covers: proto/codec_slice.c proto/codec_slice_get.c proto/codec_params.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engine/plan.h"
#include "proto/codec.h"

#define MEMORY (64u * 1024 * 1024)

#define OWN_SIZE 0xfe

static uint8_t own[1 << 16] __attribute__((aligned(16)));

struct zeros {
    void *data;
    size_t size;
};

static const void *find(void *self, const uint8_t sha256[ASSAY_SHA256_LEN],
                        size_t *size)
{
    struct zeros *z = self;

    *size = z->size;
    if (sha256[0] != OWN_SIZE)
        return z->data;
    *size = (size_t)sha256[1] | (size_t)sha256[2] << 8;
    /* Aligned, and as near to the end as that allows. */
    return own + ((sizeof(own) - *size) & ~(size_t)15);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_plan_limits limits = {.memory_bytes = MEMORY};
    struct assay_blob_source source = {.find = find};
    struct assay_kernel_table table;
    struct assay_slice *slice = NULL;
    struct assay_plan *plan = NULL;
    struct assay_err err = {0};
    struct assay_buf buf;
    struct zeros z;

    if (size < 2)
        return 0;
    z.size = (size_t)data[0] | (size_t)data[1] << 8;
    z.data = calloc(z.size + 1, 1);
    if (!z.data)
        return 0;
    source.self = &z;
    assay_buf_init(&buf);
    if (assay_slice_decode(&slice, data + 2, size - 2, &source, MEMORY, &err) ==
        0) {
        (void)!assay_slice_encode(slice, &buf, &err);
        assay_kernel_table_init(&table, 0);
        if (assay_plan_new(&plan, slice, &table, &limits, &err) == 0)
            assay_plan_free(plan);
        assay_slice_free(slice);
    }
    assay_buf_close(&buf);
    free(z.data);
    return 0;
}
