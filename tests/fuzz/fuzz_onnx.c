/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ONNX reader: bytes to a slice, then the programs under a numerics, as
 * `assay show` does.
 *
 * links: host-tools/model/ gen/host-tools/model/onnx.pb-c.c
 * links: lib/core/ kernels/ kernels/ref/
 * libs: -lprotobuf-c -lzip -ljansson -lxxhash -lmbedcrypto
 * corpus: tests/data/digits/model.onnx
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/model/onnx.h"
#include "lib/core/arith.h"

static void note(void *self, const char *text)
{
    (void)self;
    if (strlen(text) > 4096)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct assay_model_note n = {.note = note};
    struct assay_slice *slice = NULL;
    struct assay_err err = {0};

    if (assay_onnx_reader.open(&slice, data, size, "fuzz.onnx", &n, &err) ==
        0) {
        (void)!assay_numerics_apply(slice, "onnxruntime-x86", &err);
        assay_slice_free(slice);
    } else if (err.text[0] == '\0') {
        abort(); /* a refusal without a sentence */
    }
    return 0;
}
