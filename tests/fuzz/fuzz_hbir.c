/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MLIR reader with its operations: text to a slice, then what `assay show`
 * does with it: programs by the rules of its numerics, and the plan, which may
 * refuse but not fall. Every layer that is not run says why.
 *
 * links: host-tools/model/hbir*.c host-tools/model/mlir*.c
 * links: host-tools/model/file.c host-tools/model/npz.c host-tools/model/npy.c
 * links: host-tools/model/numerics_file.c host-tools/model/numerics_data.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * covers: host-tools/model/hbir*.c host-tools/model/mlir_import.c
 * libs: -lzip -ljansson -lxxhash -lmbedcrypto -lm
 * corpus: tests/data/nash/model.mlir
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"
#include "host-tools/model/numerics_file.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"
#include "lib/engine/plan.h"

static void must(bool yes)
{
    if (!yes)
        abort();
}

static void note(void *self, const char *text)
{
    (void)self;
    must(text[0] != '\0' && strlen(text) < 4096);
}

static void check_layers(const struct assay_slice *s)
{
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];

        must(l->name[0] != '\0' && l->source_op[0] != '\0');
        must((l->op == ASSAY_OP_SKIPPED) == (l->skip_reason[0] != '\0'));
        must(l->output < s->n_tensors);
    }
}

static void plan(const struct assay_slice *slice)
{
    const struct assay_plan_limits limits = {.memory_bytes = 64u << 20};
    struct assay_kernel_table table;
    struct assay_plan *p = NULL;
    struct assay_err err = {0};

    assay_kernel_table_init(&table, assay_cpu_probe());
    if (assay_plan_new(&p, slice, &table, &limits, &err) < 0)
        must(err.text[0] != '\0');
    assay_plan_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct assay_model_note n = {.note = note};
    struct assay_slice *slice = NULL;
    struct assay_numerics_file f;
    struct assay_err err = {0};

    if (assay_mlir_reader.open(&slice, data, size, "fuzz.mlir", &n, &err)) {
        must(err.text[0] != '\0'); /* a refusal has a sentence */
        return 0;
    }
    check_layers(slice);
    must(assay_numerics_open(&f, slice->numerics, &err) == 0);
    if (assay_numerics_use(slice, &f.n, &err))
        must(err.text[0] != '\0');
    else
        plan(slice);
    assay_numerics_close(&f);
    assay_slice_free(slice);
    return 0;
}
