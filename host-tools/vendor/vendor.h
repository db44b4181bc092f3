/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vendor's tools leave behind beside a model: YAML and log of
 * hb_mapper or hb_compile, P_quant_info.json, P_node_info.csv, P_advice.json,
 * hbdk-disas --json, texts of model_info, hb_verifier's log, what the runtime
 * printed. Files are recognised by their
 * content, never by their name; docs/horizon.md says where they are found.
 * load reads; check compares them with a slice and is pure. Every file is
 * hostile: one sentence, nothing half-read.
 *
 * Not kept: vec_diff's table (its "MAE" is a maximum).
 */
#ifndef ASSAY_VENDOR_VENDOR_H
#define ASSAY_VENDOR_VENDOR_H

#include <stdbool.h>

#include "host-tools/model/model_info.h"
#include "lib/core/slice.h"

enum assay_vendor_kind {
    ASSAY_VENDOR_UNKNOWN = 0,
    ASSAY_VENDOR_YAML,
    ASSAY_VENDOR_LOG,
    ASSAY_VENDOR_QUANT_INFO,
    ASSAY_VENDOR_QUANT_CONFIG, /* node settings, JSON */
    ASSAY_VENDOR_DISAS,
    ASSAY_VENDOR_VEC_DIFF,  /* recognised, not read */
    ASSAY_VENDOR_RUNTIME,   /* what the vendor's runtime printed */
    ASSAY_VENDOR_NODE_INFO, /* P_node_info.csv */
    ASSAY_VENDOR_ADVICE,    /* P_advice.json */
    ASSAY_VENDOR_MODEL_INFO,
    ASSAY_VENDOR_VERIFIER,
    ASSAY_VENDOR_KINDS,
};

/* Where a node is said to run. */
enum assay_vendor_on { ASSAY_ON_UNKNOWN = 0, ASSAY_ON_CPU, ASSAY_ON_BPU };

/* A list of texts or numbers, in the arena. */
struct assay_vendor_texts {
    uint32_t n;
    const char **v;
};
struct assay_vendor_numbers {
    uint32_t n;
    double *v;
};

/* One input as the configuration has it. Texts "" and n 0: not given. */
struct assay_vendor_input {
    const char *name;
    const char *type_rt, *type_train;     /* "nv12", "rgb", "featuremap" */
    const char *space;                    /* "regular", "bt601_video" */
    const char *layout_rt, *layout_train; /* "NHWC", "NCHW" */
    const char *norm_type;
    struct assay_vendor_numbers mean, scale;
    bool has_shape;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
};

/* What the user asked for one node. */
struct assay_vendor_override {
    const char *node;
    const char *file;
    enum assay_vendor_on on;
    const char *input_dtype, *output_dtype; /* "int16", "" */
};

/* The YAML, or the log's model_deps_info: the resolved configuration. */
struct assay_vendor_config {
    bool present;
    const char *file;
    const char *march, *prefix, *onnx_model, *calibration_type;
    const char *layer_out_dump; /* "true", "false" or "" */
    uint32_t n_inputs;
    struct assay_vendor_input *inputs;
    struct assay_vendor_texts remove_node_type, optimization;
};

/* A row of the log's table. Names are those of the quantized model. */
struct assay_vendor_node {
    const char *name, *type, *subgraph; /* "id(0)"; "" for -- */
    const char *dtype; /* of the node's first input, as is the threshold */
    enum assay_vendor_on on;
    bool has_cosine, has_threshold;
    double cosine, threshold;
};

/* A row of the log's table of outputs. */
struct assay_vendor_output {
    const char *name;
    double cosine, l1, l2, chebyshev;
};

/* A node of P_quant_info.json. Names are those of the optimized float model. */
struct assay_vendor_quant_node {
    const char *name, *type;
    bool has_cosine;
    double cosine;
    struct assay_vendor_texts inputs, outputs;
    struct assay_vendor_numbers *thresholds; /* inputs.n, each maybe empty */
};

/* An input or output of the compiled model, as hbdk-disas lists it. */
struct assay_vendor_feature {
    const char *name, *model, *file;
    bool is_input;
    uint32_t rank;
    int64_t valid[ASSAY_MAX_RANK], aligned[ASSAY_MAX_RANK];
    bool has_stride;
    int64_t stride[ASSAY_MAX_RANK]; /* bytes; may be listed rotated */
    const char *dtype, *layout, *source, *march;
};

/* What a file or a machine says of versions: about what, and whose word. */
enum assay_claim_about {
    ASSAY_ABOUT_MARCH = 0,
    ASSAY_ABOUT_SOC,
    ASSAY_ABOUT_HBDK,
    ASSAY_ABOUT_HBRT,
    ASSAY_ABOUT_DNN,
    ASSAY_ABOUT_BPU,
    ASSAY_ABOUT_NN,
    ASSAY_ABOUT_MAPPER,
    ASSAY_ABOUT_COUNT,
};
enum assay_claim_by {
    ASSAY_BY_CASE = 0, /* case.json */
    ASSAY_BY_CONFIG,   /* the YAML of the build */
    ASSAY_BY_BUILD,    /* the log of the build */
    ASSAY_BY_MODEL,    /* the fixed-point model's text */
    ASSAY_BY_COMPILED, /* hbdk-disas of the compiled model */
    ASSAY_BY_LOADED,   /* the runtime, of the model that it loaded */
    ASSAY_BY_COLUMN,   /* who made a column of the case */
    ASSAY_BY_RUNTIME,  /* the runtime, of itself */
    ASSAY_BY_BOARD,    /* the agent, of its machine */
    ASSAY_BY_COUNT,
};
struct assay_claim {
    enum assay_claim_about about;
    enum assay_claim_by by;
    const char *value;
    const char *file;  /* "" none */
    uint32_t line;     /* 0: not known */
    const char *model; /* that the runtime names with it; "" none */
    bool complained;   /* the runtime itself calls it inconsistent */
};
/* What hb_verifier compared. */
struct assay_vendor_comparison {
    const char *pair; /* "Quanti.onnx and Arm" */
    int passed;       /* 1 passed, -1 failed */
    bool has_counts, has_max;
    uint64_t mismatch, total;
    double max_abs;
};
/* A run of it. */
struct assay_vendor_verifier {
    const char *file, *version, *digits; /* digits: compare_digits; "" */
    const char *error;                   /* it stopped with; "" */
    bool all_nodes;                      /* dump_all_nodes_results */
    uint32_t n, cap;
    struct assay_vendor_comparison *v;
};
#define ASSAY_VENDOR_MAX_INFOS 8u

struct assay_vendor {
    struct assay_arena *arena;
    struct assay_vendor_config yaml, deps; /* deps: from the log */
    uint32_t n_claims, cap_claims; /* each once a file; made whole by load */
    struct assay_claim *claims;
    const char *log_file, *quant_file;
    const char *nodes_file; /* whose table `nodes` is */
    bool nodes_converted;   /* its types are those of the float model */
    const char *advice_file;
    uint32_t n_advice; /* entries */
    const char *hbdk_version, *horizon_nn_version, *hb_mapper_version;
    const char *disas_version; /* hbdk-cc's, from the compiled model */
    int consistency;           /* 1 passed, -1 failed, 0 not said */
    double fps, latency_us;
    bool has_speed;
    uint32_t n_nodes, cap_nodes;
    struct assay_vendor_node *nodes;
    uint32_t n_outputs, cap_outputs;
    struct assay_vendor_output *outputs;
    uint32_t n_quant_nodes, cap_quant_nodes;
    struct assay_vendor_quant_node *quant_nodes;
    uint32_t n_features, cap_features;
    struct assay_vendor_feature *features;
    uint32_t n_overrides, cap_overrides; /* of all files, one a node */
    struct assay_vendor_override *overrides;
    const char *all_node_type; /* of a quant_config; "" */
    const char *quant_config_file;
    struct assay_vendor_texts files; /* that were read */
    uint32_t n_ignored;              /* other files of a folder */
    const char *vec_diff_file;       /* recognised, not read; or NULL */
    uint32_t n_infos;                /* texts of model_info, each owned */
    struct assay_model_info infos[ASSAY_VENDOR_MAX_INFOS];
    uint32_t n_verifiers, cap_verifiers;
    struct assay_vendor_verifier *verifiers;
    const char *differing_log; /* a second log that says other, or NULL */
    const char *differing_node;
    /* Rows in the order of their names, for look-ups; made by load. */
    uint32_t *nodes_by_name, *quant_by_name;
};

/* The row (the first of equal names), or NULL. */
const struct assay_vendor_node *assay_vendor_node(const struct assay_vendor *v,
                                                  const char *name);
const struct assay_vendor_quant_node *assay_vendor_quant_node(
    const struct assay_vendor *v, const char *name);

/* What the first bytes of a file say that it is. */
enum assay_vendor_kind assay_vendor_probe(const char *data, size_t n);

/* Reads files and folders. A named file that is none of these is refused;
 * in a folder it is passed over. Owned; freed by assay_vendor_free. */
int assay_vendor_load(struct assay_vendor **out, const char *const *paths,
                      size_t n_paths, struct assay_err *err) ASSAY_MUST_CHECK;
void assay_vendor_free(struct assay_vendor *v); /* NULL safe */

/* The text of model_info that says most of layouts; NULL: there is none. */
const struct assay_model_info *assay_vendor_model_info(
    const struct assay_vendor *v);

/* Everything that is said of one layer, merged; false: nothing. */
struct assay_vendor_layer {
    enum assay_vendor_on on;
    const char *subgraph, *type, *dtype; /* "" not said */
    bool has_cosine, has_threshold;
    double cosine, threshold;
};
bool assay_vendor_layer(struct assay_vendor_layer *out,
                        const struct assay_vendor *v, const char *name);
const char *assay_vendor_on_name(enum assay_vendor_on on); /* "BPU", "-" */

/* ---- check ------------------------------------------------------------- */

enum assay_severity {
    ASSAY_HINT = 0,
    ASSAY_WARNING = 1,
    ASSAY_CONTRADICTION = 2,
};

struct assay_finding {
    enum assay_severity severity;
    const char *id;      /* "march", "input-type", ... stable */
    const char *file;    /* that says it; "" */
    const char *subject; /* input, node or feature; "" the whole */
    const char *sentence;
    const char *expected, *found;
};

struct assay_findings {
    struct assay_arena *arena; /* owned */
    uint32_t n, cap;
    struct assay_finding *v;
    uint32_t count[3]; /* by severity; also those beyond the cap */
};

/* A HzSQuantizedPreprocess node, real values: y = weights * x + bias. */
struct assay_vendor_preprocess {
    const char *node, *input, *input_type; /* input: the model's */
    bool derived;                          /* weights and bias are known */
    uint32_t channels;                     /* 1..4 */
    double weights[4][4], bias[4];
};

/* What the sample of an input looks like. */
struct assay_vendor_sample {
    const char *input;
    double lo, hi;
};

/* What is known beside the slice. */
struct assay_vendor_facts {
    const char *march;                             /* case.json; "" */
    const char *horizon_nn_version, *hbdk_version; /* case.json; "" */
    uint32_t n_preprocess;
    const struct assay_vendor_preprocess *preprocess;
    uint32_t n_samples;
    const struct assay_vendor_sample *samples;
    /* One a tensor: its scale was given, not derived. NULL: all were. */
    const bool *scale_given;
};

/* Pure. Contradictions come first, then warnings, then hints, each in the
 * order of the model. Out of memory is the only failure. */
int assay_vendor_check(struct assay_findings *out, const struct assay_vendor *v,
                       const struct assay_slice *s,
                       const struct assay_vendor_facts *facts,
                       struct assay_err *err) ASSAY_MUST_CHECK;
void assay_findings_free(struct assay_findings *f);     /* NULL safe */
const char *assay_severity_name(enum assay_severity s); /* "warning" */

#endif
