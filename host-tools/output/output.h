/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the application read against what the model gave: the transformation
 * that turns the one into the other. Pure; one thread for one search; no files.
 *
 * A transformation is up to ASSAY_OUTPUT_STEPS steps (output.def). All chains
 * of one step are tried before any of two. A chain is said only when it gives
 * every element that it foretells, in every sample, and when chance would not:
 * each element that differs from what the model gave counts
 * -log2(how often its value is read) bits, a value that no output has and that
 * is no integer 16, each value at most 4 times, and the sum must be at least
 * 12 bits plus log2(chains tried). Chains that fit with fewer bits are kept as
 * `weak` and prove nothing. All chains of the fewest steps that fit are given,
 * those that foretell most elements, and exact ones before those that are
 * within ASSAY_OUTPUT_RTOL: the data cannot tell them apart.
 *
 * Cost: some 10^2 chains of one step, 10^4 of two, 10^6 of three for each
 * array; each is looked at in a few elements, the whole is compared for what
 * survives.
 */
#ifndef ASSAY_OUTPUT_OUTPUT_H
#define ASSAY_OUTPUT_OUTPUT_H

#include <stdbool.h>

#include "lib/core/slice.h"

#define ASSAY_OUTPUT_STEPS 3
#define ASSAY_OUTPUT_HITS 12
#define ASSAY_OUTPUT_BEFORE 3 /* tensors in front of an output */
#define ASSAY_OUTPUT_FIRST 4
#define ASSAY_OUTPUT_RTOL 1e-5

/* A tensor of the model in the order in which an application gets it: the
 * source's. Everything is borrowed. */
struct assay_output_tensor {
    const char *name;
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    char axes[ASSAY_MAX_RANK + 1]; /* of dims, "NCHW", or "" */
    struct assay_quant quant;      /* its axis is one of dims */
    void *const *values; /* one a sample, dense; NULL: not known there */
};

struct assay_output_head {
    struct assay_output_tensor t;
    /* What stands in front of it, nearest first; op[i] made before[i] into
     * what is behind. */
    size_t n_before;
    struct assay_output_tensor before[ASSAY_OUTPUT_BEFORE];
    const char *op[ASSAY_OUTPUT_BEFORE];
};

struct assay_output_model {
    size_t n_heads, n_samples;
    const struct assay_output_head *heads;
    /* Sizes in pixels; 0: not known. The picture, and what the model takes. */
    int64_t image_w, image_h, size_w, size_h;
    bool corner; /* it stands at the top left of the letterbox, not in the */
                 /* middle */
};

/* One array that the application read. */
struct assay_output_got {
    const char *name;
    bool raw;   /* bytes without a type: dtype is not looked at, rank is 0 */
    bool loose; /* decimal text: compared within the tolerance */
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK]; /* of one sample */
    size_t bytes;                 /* of one sample */
    void *const *values;          /* n_samples; NULL: not read */
    int64_t expected;             /* the head it should be; -1: not said */
};

enum assay_output_id {
#define ASSAY_OUTPUT(key, id, layout, name, fix) ASSAY_OUTPUT_##key,
#include "host-tools/output/output.def"
#undef ASSAY_OUTPUT
    ASSAY_OUTPUT_IDS
};
const char *assay_output_id(enum assay_output_id id);   /* "L1" */
const char *assay_output_name(enum assay_output_id id); /* a few words */
const char *assay_output_fix(enum assay_output_id id);
/* Only places and bytes are others: no number was computed. */
bool assay_output_is_layout(enum assay_output_id id);

struct assay_output_step {
    enum assay_output_id id;
    char text[128]; /* "NHWC -> NCHW", "the scale of 'boxes'" */
};

struct assay_output_hit {
    size_t head; /* whose values these are */
    size_t n_steps;
    struct assay_output_step steps[ASSAY_OUTPUT_STEPS];
    bool within; /* not bit for bit, but within ASSAY_OUTPUT_RTOL */
    uint64_t compared, all;
};

enum assay_output_status {
    ASSAY_OUTPUT_EQUAL,
    ASSAY_OUTPUT_WITHIN,
    ASSAY_OUTPUT_EXPLAINED,
    ASSAY_OUTPUT_UNEXPLAINED,
};

/* Against what the expected head gave, where sizes allow to compare. */
struct assay_output_evidence {
    bool comparable;
    int64_t read, gives; /* elements of a sample */
    uint64_t differing, all;
    double max_abs, cosine; /* NAN: not said */
    bool same_numbers;      /* the same ones, in another order */
    bool has_ratio, has_offset;
    double ratio, offset; /* got = ratio * model, got = model + offset */
    size_t n_first;
    struct {
        size_t sample;
        int64_t index;
        double model, got;
    } first[ASSAY_OUTPUT_FIRST];
};

struct assay_output_result {
    enum assay_output_status status;
    size_t head; /* EQUAL, WITHIN: which */
    size_t samples, n_hits, n_more;
    bool weak; /* hits fit, but too little data: UNEXPLAINED */
    struct assay_output_hit hits[ASSAY_OUTPUT_HITS];
    uint64_t tried;
    struct assay_output_evidence evidence;
};

/* ASSAY_EMISMATCH: there is no sample that both sides have. */
int assay_output_explain(struct assay_output_result *out,
                         const struct assay_output_model *m,
                         const struct assay_output_got *got,
                         struct assay_err *err) ASSAY_MUST_CHECK;

#endif
