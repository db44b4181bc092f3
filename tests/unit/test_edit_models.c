/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every edit on every layer of real models: what it says it changed is
 * accepted by the plan, alone and in the whole model, and what it says it did
 * not change is unchanged.
 *
 * links: tests/support/edits.c tests/support/slices.c lib/core/
 * links: host-tools/cause/catalogue.c host-tools/cause/edit_*.c
 * links: host-tools/model/model.c host-tools/model/file.c
 * links: host-tools/model/record.c host-tools/model/numerics_*.c
 * links: host-tools/model/case*.c host-tools/model/sample.c
 * links: host-tools/model/dump.c host-tools/model/model_info.c
 * links: host-tools/model/npy.c host-tools/model/npz*.c
 * links: host-tools/model/archive.c
 * links: host-tools/model/dump.c host-tools/model/model_info.c
 * links: host-tools/model/differ.c host-tools/model/hbdk_text.c
 * links: host-tools/model/onnx*.c gen/host-tools/model/onnx.pb-c.c
 * links: host-tools/model/mlir*.c host-tools/model/hbir*.c
 * links: proto/ gen/proto/assay.pb-c.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lprotobuf-c -ljansson -lzip -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/model/model.h"
#include "host-tools/model/numerics_file.h"
#include "kernels/kernels.h"
#include "lib/core/arith.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"
#include "lib/engine/plan.h"
#include "tests/support/edits.h"

/* Rules' texts are in it: it outlives the slice. */
static struct assay_numerics_file numerics;
static struct assay_kernel_table kernels;
static unsigned changed[ASSAY_CAUSE_COUNT];

static struct assay_slice *open_model(const char *path)
{
    struct assay_slice *s = NULL;
    struct assay_err err = {0};
    int rc = assay_model_open(&s, path, NULL, &err);

    if (!rc && s->numerics[0] != '\0') {
        rc = assay_numerics_open(&numerics, s->numerics, &err);
        if (!rc)
            rc = assay_numerics_use(s, &numerics.n, &err);
    } else if (!rc) {
        rc = assay_numerics_apply(s, "onnxruntime-x86", &err);
    }
    if (rc)
        fail_msg("%s: %s", path, err.text);
    return s;
}

/* Random elements of all inputs, run once. */
static void run(const struct assay_slice *s, const char *what)
{
    const void *x[ASSAY_MAX_LAYER_INPUTS] = {0};
    struct assay_err err = {0};
    size_t n, bytes, out = 0;
    uint8_t *y;

    for (uint32_t i = 0; i < s->n_tensors; i++) {
        const struct assay_tensor *t = &s->tensors[i];

        if (assay_tensor_count(t, &n, &bytes, &err))
            fail_msg("%s: %s", what, err.text);
        if (t->role == ASSAY_ROLE_INPUT) {
            uint8_t *data = calloc(1, bytes);

            if (t->dtype != ASSAY_F32)
                edits_random(data, bytes);
            x[i] = data;
        }
        out = t->is_output ? bytes : out;
    }
    y = malloc(out);
    if (assay_once(s, 0, x, ASSAY_MAX_LAYER_INPUTS, y, out, &err))
        fail_msg("%s: %s", what, err.text);
    free(y);
    for (size_t i = 0; i < ASSAY_MAX_LAYER_INPUTS; i++)
        free((void *)(uintptr_t)x[i]);
}

/* Applies e to a layer of a copy; 1: it changed something. */
static int apply(const struct assay_slice *s, uint32_t layer,
                 const struct assay_edit *e, bool runs)
{
    char what[320], text[64];
    struct assay_err err = {0};
    struct assay_slice *copy = NULL;
    struct assay_plan *plan = NULL;
    int rc;

    assay_edit_text(e, text, sizeof(text));
    snprintf(what, sizeof(what), "%s on '%.200s'", text, s->layers[layer].name);
    if (assay_slice_copy(&copy, s, &err))
        fail_msg("%s: %s", what, err.text);
    rc = assay_edit_apply(copy, &layer, e, &err);
    if (rc < 0)
        fail_msg("%s: %s", what, err.text);
    if (rc > 0 && copy->n_layers != s->n_layers)
        fail_msg("%s: says that it changed nothing", what);
    if (rc == 0) {
        if (assay_plan_new(&plan, copy, &kernels, NULL, &err))
            fail_msg("%s: %s", what, err.text);
        assay_plan_free(plan);
        if (runs)
            run(copy, what);
    }
    assay_slice_free(copy);
    return rc == 0;
}

static void all_edits(const struct assay_slice *s, uint32_t layer, bool runs)
{
    static const int64_t values[] = {0, -1, 100};

    for (unsigned id = 0; id < ASSAY_CAUSE_COUNT; id++) {
        const struct assay_cause *c = assay_cause_of(id);

        for (uint32_t v = 0; v < assay_cause_variants(c); v++)
            for (int i = 0; i < (c->solved ? 3 : 1); i++)
                changed[id] += (unsigned)apply(
                    s, layer,
                    &(struct assay_edit){(enum assay_cause_id)id, v, values[i]},
                    runs);
    }
}

/* Each layer by itself; `whole`: and in its place. */
static void all_layers(const char *path, bool whole, bool runs)
{
    struct assay_slice *s = open_model(path), *one;
    struct assay_err err = {0};

    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (s->layers[i].op == ASSAY_OP_SKIPPED)
            continue;
        if (assay_slice_single(&one, s, i, &err))
            fail_msg("%s: %s", path, err.text);
        all_edits(one, 0, runs);
        assay_slice_free(one);
        if (whole)
            all_edits(s, i, false);
    }
    assay_slice_free(s);
    assay_numerics_close(&numerics);
}

static void small_models(void **state)
{
    static const char *const ids[] = {
        "P1",  "P2",  "P5",  "W1", "W2", "L1", "L2", "L3",  "L4",  "U1",
        "U2",  "O6",  "R1",  "R3", "R4", "R5", "R7", "R13", "R14", "R15",
        "R16", "R17", "R18", "A4", "B1", "B2", "B3", "B5",  "B6",  "Q1",
        "Q2",  "Q3",  "Q4",  "Q5", "Q6", "Q7", "S1"};

    (void)state;
    all_layers("tests/data/digits/model.onnx", true, true);
    all_layers("tests/data/horizon/model.onnx", true, true);
    all_layers("tests/data/nash/model.mlir", true, true);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (changed[assay_cause_find(ids[i])] == 0)
            fail_msg("%s applies to no layer of these models", ids[i]);
}

/* Models of all operators, where they are. */
static void shared_models(void **state)
{
    static const char *const names[] = {
        "models/ppocr_cls_qop_u8.onnx",   "models/ppocr_cls_qdq_s8.onnx",
        "cases-x5/ppocr_cls/model.onnx",  "cases-x5/ops_pre/model.onnx",
        "cases-x5/ops_mat16/model.onnx",  "cases-x5/ops_i16c/model.onnx",
        "cases-x5/ops_i16n/model.onnx",   "cases-x5/stress/model.onnx",
        "models/digits_qop_u8.onnx",      "models/digits_qdq_u8s8.onnx",
        "models/digits_qdq_s16.onnx",     "cases-x5/ops_pool/model.onnx",
        "cases-x5/ops_lut/model.onnx",    "cases-x5/ops_elt/model.onnx",
        "cases-x5/ops_conv/model.onnx",   "cases-x5/ops_mat/model.onnx",
        "cases-x5/ops_batch2/model.onnx", "cases-x5/pad16/model.onnx",
    };
    const char *shared = getenv("ASSAY_SHARED");
    char path[4096];

    (void)state;
    if (!shared)
        shared = "../shared";
    if (access(shared, R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", shared, names[i]);
        if (access(path, R_OK) == 0)
            all_layers(path, false, false);
    }
    for (unsigned id = 0; id < ASSAY_CAUSE_COUNT; id++)
        print_message("%s on %u\n", assay_cause_of(id)->id, changed[id]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_models),
        cmocka_unit_test(shared_models),
    };

    assay_kernel_table_init(&kernels, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
