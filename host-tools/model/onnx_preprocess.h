/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes HzSQuantizedPreprocess of a fixed-point model as real numbers:
 * y = weights * x + bias, where x is the integer that the model takes. What
 * the engine runs does not come from here; this is for the check of a
 * configuration.
 */
#ifndef ASSAY_MODEL_ONNX_PREPROCESS_H
#define ASSAY_MODEL_ONNX_PREPROCESS_H

#include "host-tools/model/model.h"

struct assay_onnx_preprocess {
    const char *node, *input, *input_type; /* input: of the model */
    bool derived; /* the form was as expected: what follows holds */
    uint32_t channels;
    double weights[4][4], bias[4];
};

/* The nodes, in `arena`. A file of another kind has none. */
int assay_onnx_preprocess(struct assay_onnx_preprocess **out, uint32_t *n,
                          struct assay_arena *arena, const char *path,
                          struct assay_err *err) ASSAY_MUST_CHECK;

#endif
