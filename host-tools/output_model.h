/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the model gave, for output/: the outputs of a case in the order in
 * which an application gets them, what stands in front of them, and what the
 * application read. All of it belongs to the struct. One thread.
 */
#ifndef ASSAY_HOST_OUTPUT_MODEL_H
#define ASSAY_HOST_OUTPUT_MODEL_H

#include "host-tools/output/output.h"
#include "host-tools/prepare.h"

struct assay_output_case {
    struct assay_arena *arena;
    const struct assay_slice *slice; /* borrowed */
    struct assay_output_model model;
    struct assay_output_head *heads; /* model.heads */
    struct assay_output_got *got;    /* by name, in the order of the files */
    size_t n_got, cap_got;
    const char *from; /* "the reference", "sim", "bpu" */
};

/* Close it whether it fails or not. */
int assay_output_case_open(struct assay_output_case *c,
                           struct assay_prepared *p,
                           const struct assay_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_output_case_close(struct assay_output_case *c);

/* output_read.c: files and folders of --got; whose output each should be. */
int assay_output_case_read(struct assay_output_case *c,
                           const struct assay_options *o,
                           const struct assay_model_note *note,
                           struct assay_err *err) ASSAY_MUST_CHECK;

#endif
