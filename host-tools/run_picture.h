/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -i PICTURE: the steps that made the model's input of it, each compared with
 * the tensors of that name, INPUT.STEP or STEP, that the reference and the
 * columns hold (npz); the last step is the input itself. One thread.
 */
#ifndef ASSAY_HOST_RUN_PICTURE_H
#define ASSAY_HOST_RUN_PICTURE_H

#include "host-tools/run_lines.h"

#define ASSAY_RUN_PICTURE_SAMPLES 8 /* the first ones: their steps are told */

/* Adapts once more and compares; r->steps is NULL without pictures. */
int assay_run_picture_steps(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* --save-outputs: the steps of the sample under way, beside the layers. */
int assay_run_picture_save(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* A line of the head: which picture, how it is adapted. */
void assay_run_picture_head(const struct assay_run *r, struct assay_lines *l);
/* A row a step: where one differs, or with --all. */
void assay_run_picture_lines(const struct assay_run *r, struct assay_lines *l);
size_t assay_run_picture_report(const struct assay_run *r,
                                const struct assay_report_step **out);

#endif
