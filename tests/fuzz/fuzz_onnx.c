/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ONNX reader: bytes to a slice, then what `assay show` does with it: the
 * programs under a numerics or, in a fixed-point model that has its own, the
 * scales; then the plan, which may refuse but not fall.
 *
 * links: host-tools/model/ gen/host-tools/model/onnx.pb-c.c
 * links: proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * covers: host-tools/model/onnx*.c
 * libs: -lprotobuf-c -lzip -ljansson -lxxhash -lmbedcrypto
 * corpus: tests/data/digits/model.onnx tests/data/horizon/model.onnx
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/model/numerics_file.h"
#include "host-tools/model/onnx.h"
#include "host-tools/model/scales.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"
#include "lib/core/arith.h"
#include "lib/engine/plan.h"

static void note(void *self, const char *text)
{
    (void)self;
    if (strlen(text) > 4096)
        abort();
}

static int scales(struct assay_slice *slice, struct assay_err *err)
{
    struct assay_scales sc = {0};
    int rc = assay_scales_open(&sc, slice, err);

    if (rc == 0)
        rc = assay_scales_derive(&sc, err);
    for (uint32_t i = 0; rc == 0 && i < slice->n_tensors; i++)
        if (assay_scales_origin_name(&sc, i)[0] == '\0')
            abort();
    assay_scales_close(&sc);
    return rc;
}

static int rules(struct assay_slice *slice, struct assay_err *err)
{
    struct assay_numerics_file f;
    int rc = assay_numerics_open(&f, slice->numerics, err);

    if (rc < 0)
        abort(); /* what a reader names is built in */
    rc = assay_numerics_use(slice, &f.n, err);
    assay_numerics_close(&f);
    return rc == 0 ? scales(slice, err) : rc;
}

static void plan(const struct assay_slice *slice)
{
    const struct assay_plan_limits limits = {.memory_bytes = 64u << 20};
    struct assay_kernel_table table;
    struct assay_plan *p = NULL;
    struct assay_err err = {0};

    assay_kernel_table_init(&table, assay_cpu_probe());
    if (assay_plan_new(&p, slice, &table, &limits, &err) < 0 &&
        err.text[0] == '\0')
        abort();
    assay_plan_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct assay_model_note n = {.note = note};
    struct assay_slice *slice = NULL;
    struct assay_err err = {0};
    int rc = assay_onnx_reader.open(&slice, data, size, "fuzz.onnx", &n, &err);

    if (rc < 0 && err.text[0] == '\0')
        abort(); /* a refusal without a sentence */
    if (rc < 0)
        return 0;
    rc = slice->numerics[0]
             ? rules(slice, &err)
             : assay_numerics_apply(slice, "onnxruntime-x86", &err);
    if (rc == 0)
        plan(slice);
    assay_slice_free(slice);
    return 0;
}
