/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case: model, input samples, reference tensors. Either a folder
 * (model.onnx, inputs/NNNN.npz, golden/NNNN.npz, case.json) or the three
 * options -m, -i, -r. Goldens are bound to their model: one whose __meta__
 * (or case.json model_sha256) names another model is refused.
 */
#ifndef ASSAY_MODEL_CASE_H
#define ASSAY_MODEL_CASE_H

#include "host-tools/model/npz.h"

#define ASSAY_CASE_WHOLE SIZE_MAX

struct assay_case {
    char *name; /* folder or model name */
    char *model_path;
    size_t n_samples;
    char **inputs;  /* n_samples paths */
    char **goldens; /* n_samples paths, NULL entries: none for that sample */
    size_t *input_rows; /* n_samples: which row of the first axis of the */
                        /* inputs' arrays; ASSAY_CASE_WHOLE: all of it */
    bool has_goldens;
    /* From case.json and the first golden's __meta__; "" where unknown. */
    char model_sha256[65];
    char engine[64], engine_version[64], machine[32];
    bool fma;     /* cpu_features has "fma" */
    char opt[16]; /* "none", "basic", "all", "" */
};

int assay_case_open(struct assay_case *out, const char *folder,
                    const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* From -m, -i (n_inputs files: npz, npy, or a folder of npz), -r. An inputs
 * npz whose arrays have one more leading sample axis than the model's input
 * counts as that many samples (first axis = samples). */
int assay_case_from_files(struct assay_case *out, const char *model,
                          const char *const *inputs, size_t n_inputs,
                          const char *reference,
                          const struct assay_model_note *note,
                          struct assay_err *err) ASSAY_MUST_CHECK;
void assay_case_close(struct assay_case *c); /* NULL safe */

/* Default numerics name for the goldens: "onnxruntime-x86", ... */
const char *assay_case_numerics(const struct assay_case *c);

/*
 * The tensors of one sample in the slice's stored order: values[t] is dense
 * bytes of slice tensor t, or NULL where the file has none. Inputs (and with
 * `golden` the reference) are checked for dtype and shape, permuted once, and
 * owned by the sample.
 */
struct assay_sample {
    void **values; /* n_tensors */
    size_t n_tensors;
    size_t n_found;
};
int assay_case_inputs(struct assay_sample *out, const struct assay_case *c,
                      size_t sample, const struct assay_slice *slice,
                      const struct assay_model_note *note,
                      struct assay_err *err) ASSAY_MUST_CHECK;
int assay_case_golden(struct assay_sample *out, const struct assay_case *c,
                      size_t sample, const struct assay_slice *slice,
                      const struct assay_model_note *note,
                      struct assay_err *err) ASSAY_MUST_CHECK;
void assay_sample_close(struct assay_sample *s); /* NULL safe */

#endif
