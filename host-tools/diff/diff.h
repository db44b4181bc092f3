/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparison of one tensor with its reference, and what follows from many:
 * rows, statuses, culprits, verdict. Pure: no files, no connection, no text
 * (sentences are in messages.def, chosen by id).
 */
#ifndef ASSAY_DIFF_DIFF_H
#define ASSAY_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/probe.h"
#include "lib/core/slice.h"
#include "lib/core/stats.h"

#define ASSAY_FIRST_MISMATCHES 8
#define ASSAY_LSB_HIST \
    9 /* counts of |diff| = 0, 1, 2, 3, 4-7, 8-15, 16-31,
                            32-127, >= 128 */

/*
 * Defaults of float layers, and of those that the source computes in binary16:
 * two units in the last place of it, and its smallest normal number, below
 * which it has no relative precision.
 */
#define ASSAY_RTOL 1e-5
#define ASSAY_ATOL 1e-6
#define ASSAY_RTOL_HALF (1.0 / 512)
#define ASSAY_ATOL_HALF (1.0 / 16384)

struct assay_tolerance {
    double rtol, atol; /* float tensors */
    int64_t max_lsb;   /* integer tensors; default 0 */
};

/* Edges of an image, in the order of pads: t, l, b, r. */
enum {
    ASSAY_EDGE_TOP = 1,
    ASSAY_EDGE_LEFT = 2,
    ASSAY_EDGE_BOTTOM = 4,
    ASSAY_EDGE_RIGHT = 8,
    ASSAY_EDGE_SETS = 16,
};

/*
 * Integers compare as integers, floats as floats. A float's mismatch is one of
 * bits (nothing is called exact unless the bits are equal); two NaN, and +0
 * and -0, are within every tolerance.
 */
struct assay_diff {
    uint64_t count;
    uint64_t mismatch;         /* elements whose bits differ */
    uint64_t outside;          /* elements outside the tolerance */
    uint64_t higher;           /* elements with got > ref */
    uint64_t ref_nan, got_nan; /* floats, where anything differs */
    int64_t max_lsb;           /* integers: largest |got - ref| */
    double max_abs;     /* on dequantized values; inf when only one is NaN */
    double mean_signed; /* of got - ref over all elements, in LSB or value */
    /* On dequantized values. NAN, and nothing is said, where a side that
     * differs is one value throughout. */
    double cosine;
    double sqnr_db; /* 10 log10(sum ref^2 / sum diff^2); inf when equal */
    double l1;      /* mean |got - ref| on dequantized values */
    uint64_t lsb_hist[ASSAY_LSB_HIST]; /* integers */
    /* Box around the mismatches, stored axes, both ends included. */
    int64_t box_lo[ASSAY_MAX_RANK], box_hi[ASSAY_MAX_RANK];
    /* For a set of edges: how far from the nearest of them the mismatch is
     * that is farthest. Of tensors with axes H and W; [0] is not used. */
    int64_t edge_depth[ASSAY_EDGE_SETS];
    /* Digests of tiles were compared and some differ. Then mismatch and outside
     * count these tiles (at least as many elements differ), and nothing else
     * is known. */
    bool by_digest;
    uint64_t tiles, tiles_differing; /* of one tensor; in all samples */
    uint64_t first_tile;             /* of `sample` */
    uint32_t sample;                 /* of first[]; set by the caller */
    uint64_t worst;                  /* mismatch of that sample */
    size_t n_first;
    struct {
        uint64_t index; /* linear, stored order */
        double ref, got;
    } first[ASSAY_FIRST_MISMATCHES];
};

/* Equal tensors cost one memcmp. */
void assay_diff_tensor(const struct assay_tensor *t, const void *ref,
                       const void *got, const struct assay_tolerance *tol,
                       struct assay_diff *out);
/* out += d, for several samples of one layer. Counts and histograms add up,
 * cosine and SQNR are those of the worst sample (of which they are said),
 * first[] is of the sample in which most elements differ, the earliest of
 * several.
 * A zeroed `out` (count 0) is empty. */
void assay_diff_merge(struct assay_diff *out, const struct assay_diff *d);

/* Few elements, spread on both sides, all by one LSB, at least 16 of them: 1 in
 * 2^*exponent of count. That is how a second rounding shows. */
bool assay_diff_rate(const struct assay_diff *d, uint64_t count,
                     double *exponent);

/* The edges along which all mismatches lie (at least two), in a ring that is
 * *width rows and columns wide: the smallest such area, at most two thirds of
 * the image. 0: there is none. */
unsigned assay_diff_edges(const struct assay_tensor *t,
                          const struct assay_diff *d, int64_t *width);

/* Evidence columns, design 1. */
enum assay_column {
    ASSAY_COL_HOST = 0,
    ASSAY_COL_CPU_SCALAR = 1,
    ASSAY_COL_CPU = 2,
    ASSAY_COL_SIM = 3,
    ASSAY_COL_BPU = 4,
    ASSAY_COL_GOT = 5, /* of pinpoint: another library, CPU, board */
    ASSAY_COL_COUNT = 6,
};
const char *assay_column_name(enum assay_column c);

enum assay_row_status {
    ASSAY_ROW_EXACT = 0,
    ASSAY_ROW_WITHIN = 1,
    ASSAY_ROW_NOT_OBSERVED = 2,
    ASSAY_ROW_INHERITED = 3,
    ASSAY_ROW_SKIPPED = 4,
    ASSAY_ROW_FLAKY = 5,
    ASSAY_ROW_ERROR = 6,
    ASSAY_ROW_DIVERGED = 7, /* the worst */
};
const char *assay_row_status_name(enum assay_row_status s);

/* Why a row has its status, where that is not plain. */
enum assay_row_reason {
    ASSAY_WHY_NONE = 0,
    ASSAY_WHY_MASKED,          /* equal although an input differs */
    ASSAY_WHY_FLOAT_REFERENCE, /* the reference was computed in float */
    ASSAY_WHY_BEHIND_FLOAT,    /* inherited from a float layer `within` */
    ASSAY_WHY_NOT_ISOLATED,    /* inherited was not proved by isolation */
    ASSAY_WHY_NO_REFERENCE,    /* the reference lacks this tensor */
    ASSAY_WHY_NO_INPUT,        /* an input was neither computed nor given */
    ASSAY_WHY_NOT_SELECTED,
    ASSAY_WHY_NOT_REACHED, /* the run ended before */
    ASSAY_WHY_OP,          /* operator is not known: see detail */
    ASSAY_WHY_AS_ENGINE,   /* sim, bpu: what the engine computes as well */
    ASSAY_WHY_ERROR,       /* see detail */
    ASSAY_WHY_OTHER_BUILD, /* sim, bpu: of another build than its inputs */
    ASSAY_WHY_COUNT,
};
const char *assay_row_reason_name(enum assay_row_reason r); /* "masked" */

/* What is known of one layer in one sample. */
struct assay_layer_facts {
    bool skipped;         /* its operator is not run */
    bool failed;          /* the backend failed in it */
    bool compared;        /* cumulative: a result and a reference were there */
    bool inputs_equal;    /* cumulative: all inputs equal the reference's */
    bool isolated_run;    /* compared once more on the reference's inputs */
    bool float_reference; /* the reference computes this layer in float */
    bool behind_culprit;  /* cumulative: an ancestor is a culprit */
    uint64_t mismatch, outside; /* cumulative */
    uint64_t isolated_mismatch, isolated_outside;
};
struct assay_judgement {
    enum assay_row_status status;
    enum assay_row_reason reason;
    bool culprit; /* differs on the reference's inputs, out of tolerance */
    bool isolate; /* an isolated run would tell inherited from diverged */
};
struct assay_judgement assay_judge_layer(const struct assay_layer_facts *f);
/* out becomes the worse of both; NOT_OBSERVED gives way to anything. */
void assay_judgement_merge(struct assay_judgement *out,
                           const struct assay_judgement *j);

/* What is known of one layer of the compiled model in one sample. Its inputs
 * are those of its own column: observed, or recomputed from the last tensors
 * that were. */
struct assay_column_facts {
    bool observed;
    bool has_reference;
    bool inputs_equal;          /* the column's inputs equal the reference's */
    uint64_t mismatch, outside; /* against the reference */
    bool rerun; /* the engine ran it on the column's own inputs */
    uint64_t rerun_mismatch, rerun_outside; /* against that */
    /* It is of another build than the tensors in front of it, which differ from
     * the reference: it cannot be judged by them. */
    bool other_build;
};
/* Is a re-run needed to judge? */
bool assay_column_wants_rerun(const struct assay_column_facts *f);
struct assay_judgement assay_judge_column(const struct assay_column_facts *f);

/* Relations that the verdict function looks at, for one culprit. */
enum assay_relation {
    ASSAY_REL_UNKNOWN = 0,
    ASSAY_REL_EQUAL,
    ASSAY_REL_DIFFERS
};

/* sim and bpu at the layer of a culprit, over all samples. */
struct assay_column_state {
    bool observed;
    bool differs; /* from the reference */
    bool culprit; /* here, or in a layer that the other is judged through */
};
struct assay_evidence;
/* Fills sim_ref, bpu_ref and sim_bpu for a culprit of sim or (of_bpu) bpu;
 * `between`: do both columns hold the same data there? UNKNOWN: they do not,
 * and their inputs differ as well. */
void assay_column_relations(struct assay_evidence *e, bool of_bpu,
                            const struct assay_column_state *sim,
                            const struct assay_column_state *bpu,
                            enum assay_relation between);

/*
 * Does the reference compute this layer in float, so that +-1 is its own
 * rounding? A DequantizeLinear ... op ... QuantizeLinear group of a kind that
 * sums in float, run literally (golden options `opt` none).
 */
bool assay_reference_is_float(const struct assay_slice *s, uint32_t layer,
                              const char *golden_opt);

enum assay_verdict {
    ASSAY_VERDICT_MATCH = 0,
    ASSAY_VERDICT_LAYOUT,
    ASSAY_VERDICT_ASSAY_KERNEL,
    ASSAY_VERDICT_BOARD_CPU,
    ASSAY_VERDICT_UNPROVEN,
    ASSAY_VERDICT_ARITHMETIC,
    ASSAY_VERDICT_COMPILE,
    ASSAY_VERDICT_RUNTIME,
    ASSAY_VERDICT_INPUT,
    ASSAY_VERDICT_OUTPUT,
    ASSAY_VERDICT_VERSION,
    ASSAY_VERDICT_STALE,
    ASSAY_VERDICT_FLAKY,
    ASSAY_VERDICT_UNEXPLAINED,
    ASSAY_VERDICT_COUNT,
};
const char *assay_verdict_name(enum assay_verdict v); /* "assay-kernel" */
int assay_verdict_exit(enum assay_verdict v); /* design 1, last column */

/* What is known of one culprit. Columns are compared with the reference on
 * the reference's inputs; unknown where a column is missing. */
struct assay_evidence {
    bool culprit;                   /* something examined differs */
    enum assay_relation host_ref;   /* host against ref */
    enum assay_relation scalar_ref; /* cpu-scalar against ref */
    enum assay_relation cpu_ref;
    enum assay_relation host_scalar; /* host against cpu-scalar */
    enum assay_relation scalar_cpu;  /* cpu-scalar against cpu */
    enum assay_relation host_cpu;
    enum assay_relation sim_ref, bpu_ref, sim_bpu;
    bool layout_found;
    bool arithmetic_overridden; /* --arith does not clear unproven */
    bool numerics_proved;
    bool hypothesis_proved;
    bool input_differs, output_differs, version_differs, stale, flaky;
};
/* The verdict table of design 1: the first row that fits. */
enum assay_verdict assay_verdict(const struct assay_evidence *e);
/* The exit code of a run with both: 1 > 2 > 4 > 3 > 5 > 6 > 0. */
int assay_exit_combine(int a, int b);

/* One column of a row. Strings of a row are borrowed. */
struct assay_row_column {
    bool observed;
    enum assay_row_status status;
    enum assay_row_reason reason;
    bool culprit;
    enum assay_verdict verdict; /* of a culprit */
    struct assay_diff diff;     /* against the reference */
    /* sim, bpu: against the engine on the column's own inputs; count 0: was
     * not needed, or could not be had. */
    struct assay_diff isolated;
    const char *const *through; /* layers it was judged through, by name */
    size_t n_through;
    char digest[33]; /* of its data in all samples, hex; "" none */
    /* Of the reference when that was seen first; "" as it is now. */
    char digest_then[33];
};

/* What the vendor's own tools say of a layer; "" and false: nothing. */
struct assay_row_vendor {
    const char *on, *subgraph, *type, *dtype;
    bool has_cosine, has_threshold;
    double cosine, threshold;
};

/* What the run's data reached in a layer. Borrowed. */
struct assay_row_probe {
    const struct assay_probe *p; /* NULL: nothing of it is known */
    bool by_board;               /* else by this process */
    const char *const *steps;    /* p->n_steps texts */
    const char *const *never;    /* what no value met */
    size_t n_never;
};

/* One layer of a report: all that any format prints. */
struct assay_row {
    uint32_t index; /* the layer's, in execution order */
    const char *name, *op, *arith, *kernel;
    uint32_t source_index;
    const struct assay_tensor *tensor; /* its output */
    const char *const *inputs;         /* names of tensors, no constants */
    size_t n_inputs;
    enum assay_row_status status;
    enum assay_row_reason reason;
    const char *detail; /* one sentence or "" */
    bool culprit, arith_overridden, compared;
    enum assay_verdict verdict; /* of a culprit */
    char digest_expected[33];   /* of the reference's data, hex; "" none */
    const char *cause; /* its id where one is proved, "P5"; "" or NULL */
    struct assay_diff cumulative; /* count 0: not run so */
    struct assay_diff isolated;   /* on the reference's inputs */
    struct assay_row_column columns[ASSAY_COL_COUNT];
    /* What its differing elements have in common, in words, in the sample that
     * differs most; borrowed. */
    const char *const *fingerprints;
    size_t n_fingerprints;
    uint32_t fingerprint_sample;
    uint64_t time_us;
    struct assay_row_probe probe;
    /* --capture stats; NULL: there are none. Borrowed. */
    const struct assay_stats *stats_board, *stats_reference;
    bool has_vendor;
    struct assay_row_vendor vendor;
};
/* The comparison that a table shows: cumulative, else isolated. */
const struct assay_diff *assay_row_diff(const struct assay_row *r);

#endif
