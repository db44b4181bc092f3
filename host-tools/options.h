/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: one table (options.def) yields getopt's options, --help
 * of each sub-command, and the names that are refused as not yet known.
 * Texts in struct assay_options are borrowed from argv and the environment.
 */
#ifndef ASSAY_HOST_OPTIONS_H
#define ASSAY_HOST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host-tools/diff/diff.h"
#include "lib/core/capture.h"
#include "lib/core/err.h"

#define ASSAY_MAX_REPEATS 64 /* of one repeatable option */

/* Sub-commands; also bits of the option table. */
enum assay_command {
    ASSAY_CMD_NONE = 0,
    ASSAY_CMD_RUN = 1,
    ASSAY_CMD_IMPORT = 2,
    ASSAY_CMD_SHOW = 4,
    ASSAY_CMD_INFO = 8,
    ASSAY_CMD_FIT = 16,
    ASSAY_CMD_MUTATE = 32,
    ASSAY_CMD_REPLAY = 64,
    ASSAY_CMD_PINPOINT = 256,
    ASSAY_CMD_EXPLAIN = 512,
    ASSAY_CMD_LINT = 1024,
    ASSAY_CMD_IMPACT = 2048,
    ASSAY_CMD_IMAGE = 4096,
    ASSAY_CMD_OUTPUT = 8192,
    ASSAY_CMD_TRIAGE = 16384,
    ASSAY_CMD_KEYGEN = 1 << 20,
    ASSAY_CMD_PAIR = 1 << 21,
    ASSAY_CMD_SELF_TEST = 1 << 23,
    /* What takes no case and no model. */
    ASSAY_CMD_ALONE = ASSAY_CMD_INFO | ASSAY_CMD_KEYGEN | ASSAY_CMD_PAIR |
                      ASSAY_CMD_SELF_TEST,
};

enum assay_mode { ASSAY_MODE_BOTH, ASSAY_MODE_CUMULATIVE, ASSAY_MODE_ISOLATED };

enum assay_sort {
    ASSAY_SORT_INDEX,
    ASSAY_SORT_MISMATCH,
    ASSAY_SORT_MAX_LSB,
    ASSAY_SORT_COSINE,
    ASSAY_SORT_SQNR,
};

struct assay_strings {
    const char *v[ASSAY_MAX_REPEATS];
    size_t n;
};

/* VALUE, or LAYER:VALUE (layer: a glob, not terminated at the colon). */
struct assay_threshold {
    const char *layer; /* NULL: all layers */
    size_t layer_len;
    double value;
};
struct assay_thresholds {
    struct assay_threshold v[ASSAY_MAX_REPEATS];
    size_t n;
};

/* image: as given; image_options.h reads them. */
struct assay_image_texts {
    const char *as, *size, *range, *resize, *mean, *scale, *stride, *layout;
    const char *raw, *show;
};

struct assay_options {
    enum assay_command command;
    bool help, version;
    const char *operand;        /* case folder or model; triage: FOLDER */
    struct assay_strings cases; /* fit-arith: all of them */
    const char *model, *reference, *output_dir;
    struct assay_strings inputs;
    const char *sim, *bpu, *hybrid;
    const char *at;            /* explain: index of the element */
    uint32_t sample;           /* explain: whose element; default 0 */
    const char *got;           /* pinpoint: tensors to be explained */
    struct assay_strings fed;  /* image: tensors to be explained */
    const char *hypothesis;    /* pinpoint: the only entry to try */
    const char *expect_dtypes; /* lint: model_check_result.txt, or NULL */
    const char *target;        /* --target or ASSAY_TARGET; NULL */
    const char *tls_cert, *tls_key, *tls_ca; /* or their ASSAY_TLS_*; NULL */
    const char *fingerprint;                 /* pair: of the board, or NULL */
    const char *name;                        /* keygen: or NULL */
    bool local;
    struct assay_strings layers, skip_layers, op_types;
    const char *start_layer, *end_layer, *layer;
    enum assay_mode mode;
    enum assay_capture capture;
    struct assay_thresholds max_lsb, atol, rtol;
    enum assay_sort sort;
    uint32_t max_rows;
    bool all, wide, fail_fast, force, skip_if_missing;
    uint64_t timeout_ms, layer_timeout_ms; /* 0: the defaults */
    uint32_t require;                      /* bit a column (diff.h) */
    double min_coverage;                   /* percent */
    uint32_t cpumask;
    const char *numerics;
    struct assay_strings arith; /* LAYER=NAME, LAYER=RULE */
    struct assay_strings set;   /* mutate: edits, image: fields, in order */
    struct assay_image_texts image;
    const char *save_failing; /* a folder, or NULL */
    struct assay_strings scales, vendor;
    const char *compiled, *float_model; /* for their hashes only */
    const char *previous;               /* an earlier run's report */
    const char *stage[8];               /* triage: by enum assay_stage */
    struct assay_strings scale, logs;   /* triage */
    const char *bundle;                 /* triage: zip to write, or NULL */
    struct assay_strings read;          /* output: what the application read */
    bool one_sample;                    /* --sample was given */
    enum assay_column column; /* output: whose outputs; HOST: the golden's */
    uint32_t picture_size[2], size[2]; /* output: width, height; 0: none */
    bool corner; /* output: the picture is at the top left */
    bool json_stdout;
    const char *json;
    const char *save;       /* fit-arith: numerics file to write */
    uint64_t time_limit_ms; /* fit-arith; 0: none */
    bool save_outputs, list, dry_run;
    bool no_preflight; /* versions are compared, and stop nothing */
    unsigned verbose;
    bool quiet, no_color;
};

/* argv without the program's name. ASSAY_EUSAGE with a sentence. */
int assay_options_parse(struct assay_options *out, int argc, char **argv,
                        struct assay_err *err) ASSAY_MUST_CHECK;
void assay_options_usage(FILE *f);                      /* assay --help */
void assay_options_help(FILE *f, enum assay_command c); /* of one command */
const char *assay_command_name(enum assay_command c);

/* The threshold that holds for a layer: the last one that matches. */
double assay_threshold_of(const struct assay_thresholds *t, const char *layer,
                          double otherwise);
/* Does the name match one of the globs? (* and ? and []) */
bool assay_strings_match(const struct assay_strings *s, const char *name);

/* Number of edits between two words; for "did you mean". */
unsigned assay_edit_distance(const char *a, const char *b);

#endif
