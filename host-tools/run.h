/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of `assay run`, shared by its parts: select.c (which layers),
 * run_pass.c (one pass of layers on a backend), run_rerun.c (layers once more),
 * run_capture.c (what of outputs travels), run_sample.c (the order of
 * passes, judgement), run_column.c (sim and bpu), run_verdict.c (culprits),
 * run_cause.c (why a culprit differs), run_other.c (a second slice), run_bad.c
 * (the worst samples), run_preflight.c (versions), run_chain.c (artefacts,
 * the earlier run), run_report.c (rows), run_head.c, run_culprit.c,
 * run_sentence.c and run_tail.c (sentences).
 * Internal to these files. One thread.
 */
#ifndef ASSAY_HOST_RUN_H
#define ASSAY_HOST_RUN_H

#include "host-tools/backend.h"
#include "host-tools/diff/diff.h"
#include "host-tools/model/observed.h"
#include "host-tools/options.h"
#include "host-tools/preflight.h"
#include "host-tools/prepare.h"
#include "host-tools/progress.h"

#define ASSAY_SIDES ASSAY_CASE_SIDES /* 0 sim, 1 bpu, 2 got */

/* One layer in a column of the compiled model, over all samples. */
struct assay_run_cell {
    struct assay_judgement judgement;
    struct assay_diff isolated; /* against the engine on its own inputs */
    bool observed;              /* in a sample, selected or not */
    bool input_differs; /* it reads an input that is not the one given */
    bool other_build;   /* it was not made of tensor `inner`, which was shown */
    uint32_t inner;
    enum assay_verdict verdict;
};

/* One layer over all samples. */
struct assay_run_layer {
    bool run;      /* executed in a cumulative run */
    bool selected; /* to be compared */
    bool has_reference;
    uint32_t n_reference, n_received, n_compared; /* samples */
    uint32_t n_golden; /* samples whose golden has the tensor */
    struct assay_tolerance tol;
    bool float_reference;
    struct assay_judgement judgement;
    enum assay_verdict verdict;
    struct assay_diff cumulative, isolated;
    bool column_seen[ASSAY_COL_COUNT];
    struct assay_diff column[ASSAY_COL_COUNT];
    enum assay_relation host_scalar, scalar_cpu, host_cpu, sim_bpu;
    bool apart; /* sim and bpu differ, and so do (or may) their inputs */
    struct assay_run_cell side[ASSAY_SIDES];
    char kernel[64];
    char detail[256];
    uint64_t time_us;
};

/* One layer in the sample that is under way. */
struct assay_sample_layer {
    struct assay_layer_facts facts;
    bool dirty;   /* its cumulative output differs from the reference's */
    bool missing; /* an input was not there */
    uint32_t missing_tensor;
    /* Results on the reference's inputs, owned; NULL: not there. */
    void *result[ASSAY_COL_COUNT];
    /* The digest of that, of its tiles' digests; where digests come alone. */
    uint8_t digest[ASSAY_COL_COUNT][16];
    bool has_digest[ASSAY_COL_COUNT];
};

/* A column of the compiled model in the sample that is under way. */
struct assay_run_side {
    bool here;                    /* the sample has it */
    struct assay_sample observed; /* and what follows from it, see below */
    bool *derived; /* a tensor: once had from what was made of it, backward.h */
    const void **values; /* observed, else the reference's where no input */
                         /* differs: what re-runs take; NULL: recompute */
    bool *dirty;         /* a tensor: it differs, or may */
    struct assay_column_facts *facts; /* one a layer */
    uint32_t n_samples; /* done samples in which it observed something */
    /* The first input of the model that is not the one given, if any. */
    bool other_input;
    uint32_t input;
    struct assay_diff input_diff; /* over all samples */
};

/* What differs where: a culprit is a layer in a column. */
struct assay_run_culprit {
    uint32_t layer;
    enum assay_column column;
    enum assay_verdict verdict;
};

/* What was run once more on given tensors, over all samples. */
struct assay_run_reruns {
    uint64_t layers;
    uint64_t tensors, bytes; /* that travelled for it */
};

/* Bundles of culprits; run_failing.h. */
struct assay_run_saved {
    uint32_t layer;
    enum assay_column column;
    const char *path; /* in the run's arena */
};
struct assay_run_failing {
    struct assay_run_saved *v; /* in the run's arena; by layer, then column */
    size_t n;
    /* A replay: elements of what was got when the bundle was made. */
    uint64_t again, compared;
};

struct assay_run {
    const struct assay_options *o;
    struct assay_prepared p;
    const struct assay_slice *s;      /* p.slice */
    struct assay_arena *arena;        /* texts of the report */
    struct assay_backend *board;      /* or this process with --local */
    const struct assay_slice *loaded; /* what the board has; NULL: nothing */
    struct assay_backend *host;       /* scalar engine; opened when needed */
    struct assay_backend_info info;
    bool scalar_only;    /* the main run uses no vector kernels */
    const char *kernels; /* the highest rung that it may use */
    struct assay_progress progress;
    struct assay_run_layer *layers;
    struct assay_sample_layer *now; /* one a layer */
    uint32_t n_samples, sample;     /* sample: the one under way */
    bool host_reference;            /* a sample had no golden */
    uint32_t n_golden, n_host;      /* samples done with one, without */
    int64_t *producer;              /* layer that computes a tensor, or -1 */
    const void **values;            /* a tensor's reference or input, or NULL */
    struct assay_run_side sides[ASSAY_SIDES];
    struct assay_feature_map features;
    struct assay_run_culprit *culprits; /* by layer, then column */
    uint32_t n_culprits;
    struct assay_run_reruns reruns[ASSAY_COL_COUNT]; /* by the main backend */
    struct assay_run_bad *bad; /* run_bad.h; room for all samples */
    uint32_t n_bad;
    struct assay_sample inputs, golden;
    struct assay_npz_writer *saving;
    bool stopped;     /* --fail-fast */
    int interrupted;  /* signal */
    uint32_t running; /* the layer that began last */
    bool is_running;
    char running_kernel[64];
    struct assay_err error; /* of the backend; code 0: none */
    uint64_t started_ms, duration_ms;
    char started[32];                /* RFC 3339 */
    struct assay_fit_session *fit;   /* what would fit, or NULL */
    struct assay_run_causes *causes; /* run_cause.h; NULL: no culprit */
    struct assay_run_failing failing;
    struct assay_run_other *other;         /* run_other.h; NULL: none */
    struct assay_run_probes *probes;       /* run_probe.h; NULL: none */
    struct assay_run_inputs *inputs_found; /* run_input.h, in arena; or NULL */
    struct assay_preflight preflight;
    struct assay_run_resume *resume;   /* run_resume.h; NULL: nothing is kept */
    struct assay_run_repeats *repeats; /* run_repeat.h; NULL: not wanted */
    struct assay_run_chain *chain;     /* run_chain.h; NULL: a bundle's run */
    struct assay_run_stats *stats;     /* run_capture.h, one a layer; or NULL */
    struct assay_run_steps *steps;     /* run_picture.c, in arena; or NULL */
};

/* select.c: fills run and selected of every layer. */
int assay_run_select(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* run_pass.c */
/* The board has this slice from now on; what it has is not sent again. */
int assay_run_load(struct assay_run *r, const struct assay_slice *s,
                   struct assay_err *err) ASSAY_MUST_CHECK;
struct assay_pass {
    struct assay_backend *backend;
    enum assay_column column;
    bool isolated;
    uint32_t cpumask;
    const bool *layers; /* to run */
    const bool *judge;  /* to compare; NULL: all that run */
    bool reference;     /* results become the reference (host engine) */
    bool repeat;        /* results are compared with earlier ones only */
    enum assay_capture capture; /* of a repeat */
    const void *const *source;  /* tensors to give; NULL: r->values */
};
/* Runs the layers once; results go to r->now. 0, or the backend's code with
 * r->error filled (not for --fail-fast and Ctrl-C). */
int assay_run_pass(struct assay_run *r, const struct assay_pass *pass)
    ASSAY_MUST_CHECK;
/* By tensor: what the pass takes where it does not compute it itself. */
const void *const *assay_pass_source(const struct assay_run *r,
                                     const struct assay_pass *pass);
/* run_rerun.c */
/* The wanted layers on the reference's inputs. A layer whose input the
 * reference lacks is run with what produces that input, from the last
 * tensors that it has. */
int assay_run_on_reference(struct assay_run *r, struct assay_backend *backend,
                           enum assay_column column, uint32_t cpumask,
                           const bool *wanted) ASSAY_MUST_CHECK;
/* What the engine gives for a layer on the inputs of a column, against what
 * the column holds: to the column's facts. */
void assay_run_take_side(struct assay_run *r, unsigned side, uint32_t layer,
                         const void *data);
/* The same on a column's own tensors, on the main backend; what differs goes
 * to the column's facts. */
int assay_run_on_side(struct assay_run *r, enum assay_case_side side,
                      const bool *wanted) ASSAY_MUST_CHECK;

/* run_column.c */
int assay_run_sides_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Reads the sample's columns; assay_run_sides_judge compares and re-runs what
 * is needed (a failing backend: r->error). */
int assay_run_sides_read(struct assay_run *r, uint32_t sample,
                         struct assay_err *err) ASSAY_MUST_CHECK;
int assay_run_sides_judge(struct assay_run *r) ASSAY_MUST_CHECK;
void assay_run_sides_forget(struct assay_run *r);
void assay_run_sides_close(struct assay_run *r);
/* run_builds.c: fills other_build of the facts of the sample under way and of
 * the layers' cells. */
void assay_run_side_builds(struct assay_run *r, unsigned side);
/* Layers that feed `layer` and that the column has not observed: up to cap of
 * them into out, in execution order; how many there are. */
uint32_t assay_run_through(const struct assay_run *r, uint32_t layer,
                           enum assay_column column, uint32_t *out,
                           uint32_t cap);
/* Moves elements only: nothing that a segment could compute otherwise. */
bool assay_run_only_moves(const struct assay_layer *l);
static inline enum assay_column assay_side_column(unsigned side)
{
    return (enum assay_column)((unsigned)ASSAY_COL_SIM + side);
}

/* run_sample.c: everything of one sample. */
int assay_run_sample(struct assay_run *r, uint32_t sample,
                     struct assay_err *err) ASSAY_MUST_CHECK;
/* Its inputs, reference and columns; close in any case. */
int assay_run_sample_open(struct assay_run *r, uint32_t sample,
                          struct assay_err *err) ASSAY_MUST_CHECK;
/* Samples that were run, from the first one on: not all with --fail-fast, or
 * where the board was lost. */
static inline uint32_t assay_run_done(const struct assay_run *r)
{
    return r->n_golden + r->n_host;
}
/* Once more, when all are done: a reference that the host makes is made. */
int assay_run_sample_reopen(struct assay_run *r, uint32_t sample,
                            struct assay_err *err) ASSAY_MUST_CHECK;
void assay_run_sample_close(struct assay_run *r);
/* Is the layer's cumulative input free of differences? Call in order. */
bool assay_run_inputs_equal(const struct assay_run *r, uint32_t layer);
int64_t assay_run_producer(const struct assay_run *r, uint32_t tensor);

/* run_save.c: --save-outputs. */
int assay_run_save_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_run_save(struct assay_run *r, uint32_t layer, const void *data,
                   struct assay_err *err) ASSAY_MUST_CHECK;
int assay_run_save_close(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* run_verdict.c */
struct assay_run_summary {
    uint32_t partly; /* good in the samples that have it, not covered */
    uint32_t expected, received, compared, skipped, unreached, not_selected;
    uint32_t status[ASSAY_ROW_DIVERGED + 1]; /* cpu */
    uint32_t islands, behind_islands, masked, float_reference;
    uint64_t float_reference_elements;
    int64_t float_reference_lsb;
    double island_largest;
    uint32_t island_layer;
    /* Of the deciding verdict: the first of those with its exit code. */
    uint32_t n_culprits, first_culprit;
    enum assay_column first_column;
    struct assay_evidence evidence;              /* of that one */
    uint32_t row_status[ASSAY_ROW_DIVERGED + 1]; /* the worst of a row */
    uint32_t side_status[ASSAY_SIDES][ASSAY_ROW_DIVERGED + 1];
    bool has_float;
    uint32_t observed; /* bit a column */
    bool has_verdict;
    enum assay_verdict verdict;
    /* What stands above any layer: VERSION, STALE, else MATCH. */
    enum assay_verdict above;
    uint32_t missing_columns; /* --require */
    bool low_coverage;
    bool only_itself; /* the host's scalar engine against itself */
    int exit_code;
};
/* The worst of a layer's columns. */
struct assay_judgement assay_run_row(const struct assay_run *r, uint32_t layer);
/* Do some goldens have the layer's output, and others not? */
bool assay_run_partly_golden(const struct assay_run *r, uint32_t layer);
/* Do all goldens lack it, though they have those of most layers? Then it is
 * missing, and no choice. Never of floats (an optimized session does not show
 * them) nor of tensors that a reader put in between. */
bool assay_run_lacks_golden(const struct assay_run *r, uint32_t layer);
void assay_run_summarize(struct assay_run *r, struct assay_run_summary *out);

/* run_fit.c: what fit-arith finds where the arithmetic is an inference and does
 * not fit; fills r->fit. */
void assay_run_fit(struct assay_run *r, const struct assay_run_summary *sum);
void assay_run_fit_close(struct assay_run *r); /* idempotent */

/* run_report.c: all reports; the exit code, also when writing fails. */
int assay_run_report(struct assay_run *r, const struct assay_run_summary *sum,
                     int argc, char **argv);

#endif
