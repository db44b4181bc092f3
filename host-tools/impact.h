/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the culprits of a column do to the model's outputs: the column's
 * tensors are put in where a culprit stands, and the host's scalar engine
 * computes what stands behind. Part of `assay impact`, after a run: it judges
 * who the culprits are, and run_cause.c why. One thread.
 *
 * A culprit that reads the column's own inputs gives what the column got. On
 * other inputs (the culprits in front of it are not in, or are mended) it gives
 * what its cause says, where one is proved; else the engine's result with the
 * column's difference added, which is an estimate.
 */
#ifndef ASSAY_HOST_IMPACT_H
#define ASSAY_HOST_IMPACT_H

#include "host-tools/run_cause.h"

enum assay_impact_what {
    ASSAY_IMPACT_ALONE = 0, /* only this culprit deviates */
    ASSAY_IMPACT_AS_GOT,    /* its tensor, with what it inherits in it */
    ASSAY_IMPACT_MENDED,    /* all but this culprit */
    ASSAY_IMPACT_ALL,       /* every culprit's tensor is put in */
    ASSAY_IMPACT_KINDS,
};

/* How outputs of culprits were had; a row has the weakest of its own. */
enum assay_impact_how {
    ASSAY_IMPACT_GOT = 0, /* the column's tensors */
    ASSAY_IMPACT_CAUSE,   /* by a proved cause */
    ASSAY_IMPACT_CARRIED, /* the column's difference: an estimate */
};

/* One output, over all samples. */
struct assay_impact_output {
    struct assay_diff d;
    /* Of outputs that are scores (one axis of more than 1 behind the batch):
     * vectors, and those whose largest score is at another place. */
    uint64_t vectors, moved;
};

struct assay_impact_row {
    bool here; /* it was computed */
    enum assay_impact_how how;
    bool cut; /* a difference ends at a layer that is not run */
    /* Against the model without culprits; one an output. */
    struct assay_impact_output *outputs;
};

struct assay_impact_culprit {
    uint32_t layer;
    bool is_culprit;    /* else only asked for by --layer */
    bool inherits;      /* in some sample its inputs differ in the column */
    bool input_differs; /* it reads an input of the model, not the one given */
    char cause[200];    /* "P5=bottom:128", or "" */
    struct assay_slice *edited; /* the layer with its cause; NULL: none */
    uint32_t n_inputs;          /* of `edited` */
    struct assay_impact_row rows[ASSAY_IMPACT_ALL];
};

struct assay_impact {
    unsigned side;
    uint32_t n_samples; /* that have the column */
    uint32_t *outputs;  /* tensors: outputs of the model that are computed */
    uint32_t n_outputs;
    struct assay_impact_culprit *v; /* in execution order */
    uint32_t n;
    struct assay_impact_row all;
    /* all's outputs against the column's; count 0: not observed */
    struct assay_impact_output *check;
};

/* Of one column, over all samples; r has been run. `only`: a layer whose
 * tensor is put in, whether it is a culprit or not, or -1: every culprit. */
int assay_impact_compute(struct assay_impact *out, struct assay_run *r,
                         unsigned side, int64_t only, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_impact_close(struct assay_impact *x); /* idempotent */

/* cmd_impact.c: computes and prints; the exit code. */
int assay_impact_report(struct assay_run *r);

#endif
