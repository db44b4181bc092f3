/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report formats: {open, row, close}. A writer formats and decides nothing:
 * sentences, counts and the verdict come from the command. Rows come in the
 * order in which they are to be printed. Adding a format is one file and one
 * line in the table of report.c. Strings are borrowed until close returns.
 */
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include <stdio.h>

#include "host-tools/diff/diff.h"
#include "lib/core/err.h"

/* A place where configuration and model do not fit; "" nothing. */
struct assay_report_finding {
    const char *severity, *id, *file, *subject, *sentence, *expected, *found;
};

/* The rule that layers of a form were computed by; how many of them a golden
 * proves. */
struct assay_report_rule {
    const char *form, *rule, *golden, *note;
    uint32_t layers, proved;
};

/* An artefact of the chain. made: what stood beside it when its content was
 * seen first, as pairs of role and hash. */
struct assay_report_artefact {
    const char *role, *file, *sha256, *modified;
    uint64_t size;
    uint32_t files;
    const char *made_started; /* "" not told */
    const char *const *made;
    size_t n_made; /* pairs */
};

/* One thing that is said of versions before anything runs; "" nothing. */
struct assay_report_version {
    const char *about, *by, *value, *file, *model, *state, *sentence;
    uint32_t line; /* 0: not known */
};

/* The earlier run that this one is compared with; file NULL: none. */
struct assay_report_previous {
    const char *file, *started, *stale;            /* stale: kind, "" not */
    const char *const *changed, *const *unchanged; /* roles */
    size_t n_changed, n_unchanged;
};

/* What is known before the first row. */
struct assay_report_head {
    const char *tool_version;
    const char *model, *model_sha256, *model_stage;
    const char *board, *soc, *features, *kernels, *agent;
    uint32_t protocol;
    const char *reference, *numerics, *numerics_source;
    const struct assay_report_rule *rules; /* of forms in the model */
    size_t n_rules;
    const char *started; /* RFC 3339, UTC */
    uint64_t duration_ms;
    uint32_t samples, cpumask;
    const char *mode;
    const char *capture; /* what was asked of the board */
    const char *const *argv;
    size_t argc;
    uint32_t columns;         /* of the compiled model: bit a column */
    int exit_code;            /* a table of a green run is not printed */
    const char *const *lines; /* of text formats, without "# " */
    size_t n_lines;
    const struct assay_report_finding *findings;
    size_t n_findings;
    const char *banner; /* the first line of a text report; NULL: none */
    const struct assay_report_artefact *chain;
    size_t n_chain;
    const struct assay_report_version *versions;
    size_t n_versions;
    struct assay_report_previous previous;
    const char *const *notes; /* what was said of the files that were read */
    size_t n_notes;
};

struct assay_report_culprit {
    uint32_t index;
    const char *name;
    enum assay_column column;
    enum assay_verdict verdict;
    const char *hypothesis; /* "P5=bottom:128", a layout; "", NULL: none */
    /* Samples: in which it is one; that the search had; that what is proved
     * was compared with, and could have been. All 0: no search. */
    uint32_t differing, searched, looked_at, samples;
    /* Inputs that were made to tell causes apart and asked; elements of the
     * answers; classes before and after. asked 0: nobody was. */
    uint32_t asked, classes_before, classes_left;
    uint64_t answered;
};

/* What fit-arith found for a form; rule "": nothing in its space. */
struct assay_report_fit {
    const char *form, *rule;
    bool unique, in_use; /* the rule in use is left */
    bool cut;            /* by the time, before all layers were searched */
    size_t layers, differing, candidates, classes, space;
    uint64_t elements;
};

/* An entry of the catalogue that gives some of what a culprit's column got. */
struct assay_report_hypothesis {
    uint32_t layer;
    const char *name; /* of the layer */
    enum assay_column column;
    const char *id, *scope; /* "P5=bottom:128"; "channels 64..65" or "" */
    uint64_t differing_matched, differing, all_matched, all;
    uint32_t class_number; /* of proved ones: equal number, equal layer */
    bool proved;
    bool expected; /* it is what the column's maker is known to compute */
    bool struck;   /* fits all samples, not the answer to a further input */
};

/* Layers that were run once more to find who is at fault, and what was sent
 * for it. */
struct assay_report_reruns {
    uint64_t layers, tensors, bytes;
};

/* Which layers of one kind differ: a rule on their output channels. */
struct assay_report_pattern {
    uint32_t modulus; /* 4, 8 or 16; 0: there is none */
    bool multiple;    /* those that are a multiple of it; else the others */
    enum assay_column column;
    uint32_t layers, others; /* that differ; that do not */
    const char *cause;       /* proved in each of them; "" none */
    const char *arith;       /* that all of them are declared to have; "" */
};

/* A sample in which layers differ on their own inputs. */
struct assay_report_bad {
    uint32_t sample;
    const char *input;        /* the file, and in [] its row */
    uint32_t culprits, layer; /* how many; the first one */
    const char *name;         /* of that layer */
    enum assay_column column;
    uint64_t mismatch; /* elements of all its culprits */
    bool by_digest;    /* they are not known */
};

/* One thing that gives every element of an input that a column has otherwise.
 * Of all: elements that it says something about. */
struct assay_report_input_cause {
    const char *id;            /* "Y6", "L1+U1" */
    const char *what;          /* in words */
    const char *fix;           /* what to change; "" nothing to say */
    bool within;               /* floats: not to the bit */
    uint64_t all_matched, all; /* of the samples that it is said of */
    uint32_t n_samples;        /* so many */
};
#define ASSAY_REPORT_INPUT_CAUSES 12
/* An input of the model that a column has otherwise than it was given. */
struct assay_report_input {
    enum assay_column column;
    uint32_t tensor;
    const char *name;
    uint32_t n_samples; /* that were looked at */
    uint64_t differing, all;
    uint32_t n, n_more; /* causes that this data does not tell apart */
    struct assay_report_input_cause causes[ASSAY_REPORT_INPUT_CAUSES];
    const char *nearest; /* nothing fits: what comes near it; "" */
    /* "your script feeds ..., the model wants ..."; "" without a picture */
    const char *sentence;
};

/* A step on the way from a picture to an input, in one sample; seen: the
 * tensor of its name in the reference, sim, bpu and got. */
#define ASSAY_REPORT_SEEN 4
struct assay_report_seen {
    bool found, other_form; /* other_form: dtype or size; not compared */
    uint64_t mismatch;
};
struct assay_report_step {
    uint32_t sample;
    const char *input, *file, *name, *sha256;
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[4];
    uint64_t count;
    double lo, hi; /* of its elements */
    struct assay_report_seen seen[ASSAY_REPORT_SEEN];
};
extern const char *const assay_report_seen_names[ASSAY_REPORT_SEEN];

/* What is known behind the last row. */
struct assay_report_foot {
    uint32_t expected, received, compared, skipped;
    uint32_t status[ASSAY_ROW_DIVERGED + 1]; /* rows of each status */
    /* The same of cpu, sim and bpu alone. */
    uint32_t column_status[ASSAY_COL_COUNT][ASSAY_ROW_DIVERGED + 1];
    bool has_verdict;
    enum assay_verdict verdict;
    const char *verdict_id, *sentence; /* "" none */
    const struct assay_report_culprit *culprits;
    size_t n_culprits;
    const struct assay_report_hypothesis *hypotheses;
    size_t n_hypotheses;
    const struct assay_report_input *inputs;
    size_t n_inputs;
    const struct assay_report_step *steps;
    size_t n_steps;
    const struct assay_report_bad *bad; /* the worst first */
    size_t n_bad;
    struct assay_report_reruns reruns[ASSAY_COL_COUNT]; /* host: none */
    struct assay_report_pattern pattern;
    const struct assay_report_fit *fits;
    size_t n_fits;
    const char *const *not_examined;
    size_t n_not_examined;
    const char *const *artifacts;
    size_t n_artifacts;
    const char *error; /* of an incomplete run, or "" */
    bool partial;
    uint64_t received_bytes;
    int exit_code;
    const char *const *lines; /* of text formats, in order */
    size_t n_lines;
};

struct assay_report_options {
    FILE *stream;     /* used when path is NULL */
    const char *path; /* written under a temporary name, then renamed */
    bool all, wide, color;
    uint32_t max_rows;
    const char *more_rows; /* sentence; "{more}" stands for the count */
};

struct assay_report; /* one format's state */
struct assay_report_writer {
    const char *format;
    int (*open)(struct assay_report **out, const struct assay_report_head *h,
                const struct assay_report_options *o, struct assay_err *err);
    int (*row)(struct assay_report *r, const struct assay_row *row);
    /* Frees r, also on failure. */
    int (*close)(struct assay_report *r, const struct assay_report_foot *f,
                 struct assay_err *err);
};

extern const struct assay_report_writer assay_report_text;
extern const struct assay_report_writer assay_report_json;
/* NULL: no such format. */
const struct assay_report_writer *assay_report_find(const char *format);

/* "[n,h,w,c]" of a linear index; `source`: in the source's order of axes. */
const char *assay_report_index(const struct assay_tensor *t, uint64_t index,
                               bool source, char *out, size_t cap);
/* "1x28x28x64", stored order; "scalar" for rank 0. */
const char *assay_report_shape(const struct assay_tensor *t, char *out,
                               size_t cap);

#endif
