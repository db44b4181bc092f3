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

/* What the compiled model gave: in the vendor's simulator, on the board; and
 * what anybody else gave (--got). */
enum assay_case_side {
    ASSAY_CASE_SIM = 0,
    ASSAY_CASE_BPU = 1,
    ASSAY_CASE_GOT = 2,
    ASSAY_CASE_SIDES = 3,
};
struct assay_case_column {
    char **paths; /* n_samples: an npz, or a folder of the simulator's texts; */
                  /* NULL entries: none for that sample */
    char *from;   /* for reports: "sim/" or the option's path */
    size_t n_have;    /* samples with one; 0: the column is not there */
    char *model_info; /* owned: a text of model_info beside the samples; NULL */
    /* Who made them, by the remarks of an npz that was read. */
    const char *numerics; /* "onnxruntime-aarch64"; NULL: not known */
    bool literal;         /* without optimizations: float operators between */
                          /* DequantizeLinear and QuantizeLinear */
};

/* A difference between parts that is no fault; differ.h. */
struct assay_case_difference {
    const char *id;
    char subject[128], file[256], expected[96], found[96], sentence[400];
};

/* Inputs that are made of their files (pictures) and not read from them. */
struct assay_case_maker {
    void *self;
    /* Arrays for all inputs of the model, as the file would hold them. */
    int (*make)(void *self, const char *path, struct assay_npz *out,
                struct assay_err *err);
};

struct assay_case {
    char *name;   /* folder or model name */
    char *folder; /* NULL when made from files */
    char *model_path;
    size_t n_samples;
    char **inputs;  /* n_samples paths */
    char **goldens; /* n_samples paths, NULL entries: none for that sample */
    size_t *input_rows; /* n_samples: which row of the first axis of the */
                        /* inputs' arrays; ASSAY_CASE_WHOLE: all of it */
    const struct assay_case_maker *maker; /* borrowed; NULL: arrays are read */
    bool has_goldens;
    /* From case.json and the first golden's __meta__; "" where unknown. */
    char model_sha256[65];
    char engine[64], engine_version[64], machine[32];
    char march[32], horizon_nn[32], hbdk[32]; /* case.json only */
    char target[32]; /* hbdk.target of the model's text; "" */
    bool fma;        /* cpu_features has "fma" */
    char opt[16];    /* "none", "basic", "all", "" */
    struct assay_case_column columns[ASSAY_CASE_SIDES];
    char *hybrid; /* the vendor's model that maps features, or NULL */
    /* What model_info says of the compiled model, by --vendor; borrowed. */
    const struct assay_model_info *model_info;
    uint64_t told[64]; /* names that a note has told of; observed.c */
    size_t n_told;
    struct assay_case_difference *differences; /* owned */
    size_t n_differences;
    /* A bundle that its samples come from, instead of files (record.h). */
    struct assay_bundle *record; /* owned; NULL: none */
};

int assay_case_open(struct assay_case *out, const char *folder,
                    const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* From -m, -i (n_inputs files: npz, npy, or a folder of npz), -r. An inputs
 * npz whose arrays have one more leading sample axis than the model's input
 * counts as that many samples (first axis = samples). With a maker, which is
 * borrowed and asked when a sample is read, each file is one sample. */
int assay_case_from_files(struct assay_case *out, const char *model,
                          const char *const *inputs, size_t n_inputs,
                          const char *reference,
                          const struct assay_case_maker *maker,
                          const struct assay_model_note *note,
                          struct assay_err *err) ASSAY_MUST_CHECK;
/* Finds the compiled model's columns: paths[side] (an option's) or the
 * folders sim/, bpu/ and got/ of the case; `hybrid`: an option's or hybrid.onnx of
 * the case. NULL: not given. Once, after open. */
int assay_case_find_columns(struct assay_case *c,
                            const char *const paths[ASSAY_CASE_SIDES],
                            const char *hybrid,
                            const struct assay_model_note *note,
                            struct assay_err *err) ASSAY_MUST_CHECK;
void assay_case_columns_close(struct assay_case *c); /* by assay_case_close */
void assay_case_close(struct assay_case *c);         /* NULL safe */

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
