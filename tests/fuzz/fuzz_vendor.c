/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers of what the vendor's tools leave behind, each on the same bytes,
 * whatever they look like; then the same look-ups and checks that show and run
 * make, against a model of two layers, and the comparison of versions.
 *
 * corpus: tests/data/vendor
 * links: host-tools/vendor/ host-tools/model/file.c host-tools/preflight.c
 * links: host-tools/model/model_info.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c lib/core/slice.c
 * covers: host-tools/vendor/ host-tools/model/model_info.c
 * libs: -ljansson -lyaml -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/preflight.h"
#include "host-tools/vendor/parse.h"

static uint32_t first_input[] = {0}, second_input[] = {1};
static const float scale[] = {0.25f};
static const int32_t zero[] = {0};
static struct assay_tensor tensors[] = {
    {.name = "data",
     .role = ASSAY_ROLE_INPUT,
     .dtype = ASSAY_S8,
     .rank = 4,
     .dims = {1, 16, 16, 3},
     .axes = "NHWC",
     .perm = {0, 1, 2, 3}},
    {.name = "same_s2.y_quantized",
     .role = ASSAY_ROLE_ACTIVATION,
     .dtype = ASSAY_S16,
     .rank = 4,
     .dims = {1, 8, 8, 12},
     .axes = "NHWC",
     .perm = {0, 1, 2, 3},
     .quant = {.n = 1, .axis = -1, .scale = scale, .zero_point = zero}},
    {.name = "out",
     .role = ASSAY_ROLE_ACTIVATION,
     .dtype = ASSAY_F32,
     .rank = 4,
     .dims = {1, 12, 8, 8},
     .perm = {0, 1, 2, 3}},
};
static struct assay_layer layers[] = {
    {.name = "same_s2",
     .source_op = "HzSQuantizedConv",
     .op = ASSAY_OP_CONV2D,
     .n_inputs = 1,
     .inputs = first_input,
     .output = 1},
    {.name = "out_HzDequantize",
     .source_op = "HzDequantize",
     .op = ASSAY_OP_UNARY,
     .n_inputs = 1,
     .inputs = second_input,
     .output = 2},
};
static const struct assay_slice slice = {
    .model_name = "fuzz.onnx",
    .n_tensors = 3,
    .tensors = tensors,
    .n_layers = 2,
    .layers = layers,
};

static void must(bool yes)
{
    if (!yes)
        abort();
}

static void judge(const struct assay_vendor *v)
{
    static const char *const names[] = {"same_s2", "out", "", "pw"};
    const bool given[] = {true, true, true};
    const struct assay_vendor_facts facts = {
        .march = "bayes-e",
        .horizon_nn_version = "",
        .hbdk_version = "",
        .scale_given = given,
    };
    struct assay_findings f = {0};
    struct assay_err err = {0};
    struct assay_vendor_layer l;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (assay_vendor_layer(&l, v, names[i]))
            must(l.subgraph != NULL && l.type != NULL && l.dtype != NULL);
    }
    must(assay_vendor_check(&f, v, &slice, &facts, &err) == 0);
    for (uint32_t i = 0; i < f.n; i++)
        must(f.v[i].sentence != NULL && f.v[i].sentence[0] != '\0' &&
             f.v[i].id != NULL && f.v[i].file != NULL &&
             f.v[i].severity <= ASSAY_CONTRADICTION);
    assay_findings_free(&f);
}

/* Whatever is said, it can be told. */
static void fly(const struct assay_vendor *v)
{
    struct assay_preflight p;
    struct assay_err err = {0};
    char text[800];

    must(assay_preflight(&p, v->arena, v->claims, v->n_claims, &err) == 0);
    for (uint32_t i = 0; i < p.n; i++) {
        must(p.rows[i].claim.value[0] != '\0');
        must((p.rows[i].against >= 0) == (p.rows[i].state >= ASSAY_FIT_NOTE));
        assay_preflight_sentence(&p, i, text, sizeof(text));
        for (const char *c = text; *c != '\0'; c++)
            must((unsigned char)*c >= 32);
    }
}

static void read_as(enum assay_vendor_kind kind, const uint8_t *data,
                    size_t size)
{
    struct assay_vendor *v = NULL;
    struct assay_err err = {0};
    char *text = malloc(size + 1); /* readers may write into it */
    int rc = assay_vendor_new(&v, &err);

    must(text != NULL && rc == 0);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    rc = assay_vendor_read(v, kind, text, size, "fuzz", &err);
    free(text); /* nothing points into it */
    if (rc == 0)
        rc = assay_vendor_claims(v, &err);
    if (rc == 0)
        rc = assay_vendor_index(v, &err);
    if (rc == 0)
        judge(v);
    if (rc == 0)
        fly(v);
    else
        must(err.text[0] != '\0');
    assay_vendor_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum assay_vendor_kind kinds[] = {
        ASSAY_VENDOR_YAML,         ASSAY_VENDOR_LOG,    ASSAY_VENDOR_QUANT_INFO,
        ASSAY_VENDOR_QUANT_CONFIG, ASSAY_VENDOR_DISAS,  ASSAY_VENDOR_RUNTIME,
        ASSAY_VENDOR_NODE_INFO,    ASSAY_VENDOR_ADVICE, ASSAY_VENDOR_MODEL_INFO,
        ASSAY_VENDOR_VERIFIER,
    };

    must(assay_vendor_probe((const char *)data, size) < ASSAY_VENDOR_KINDS);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        read_as(kinds[i], data, size);
    return 0;
}
