/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of the model that a column has otherwise than they were given: what
 * makes the one of the other. Two searches: how the bytes lie and what was
 * done to numbers (output/output.h, on the model's inputs instead of its
 * outputs; an input in the place of another is found so); and, where the
 * inputs are made of pictures, how the picture was fed (image/received.h).
 * Searched when all samples are done. Texts live in the run's arena.
 */
#ifndef ASSAY_HOST_RUN_INPUT_H
#define ASSAY_HOST_RUN_INPUT_H

#include "host-tools/run_lines.h"

#define ASSAY_RUN_INPUT_SAMPLES 8 /* the first ones, that are searched */

struct assay_run_inputs {
    size_t n;
    struct assay_report_input *v; /* in the run's arena, as its texts */
};

/* Fills r->inputs_found for all inputs that differ; nothing differs: NULL. */
int assay_run_input_search(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Of an input that differs; NULL: not searched. */
const struct assay_report_input *assay_run_input_of(const struct assay_run *r,
                                                    enum assay_column column,
                                                    uint32_t tensor);
/* Of the column's first input that differs: lines of its causes; "Y6". */
void assay_run_input_lines(const struct assay_run *r, enum assay_column column,
                           struct assay_lines *l);
const char *assay_run_input_id(const struct assay_run *r,
                               enum assay_column column);

/* What JSON has of them. */
size_t assay_run_inputs_report(const struct assay_run *r,
                               const struct assay_report_input **out);

/* run_input_bytes.c: the first of the searches; adds to in->causes. given and
 * got: of all the model's inputs and of the column's, one a sample, dense in
 * the source's order; borrowed. */
struct assay_run_input_data {
    uint32_t n_inputs, n_samples, which; /* which of the inputs was got */
    const uint32_t *tensors;             /* of each input */
    void ***given;                       /* [input][sample] */
    void **got;                          /* [sample] */
};
/* run_input_picture.c: the other one, where in->tensor is made of pictures;
 * comes first. */
int assay_run_input_picture(struct assay_run *r, struct assay_report_input *in,
                            const struct assay_run_input_data *d,
                            struct assay_err *err) ASSAY_MUST_CHECK;
int assay_run_input_bytes(struct assay_run *r, struct assay_report_input *in,
                          const struct assay_run_input_data *d,
                          struct assay_err *err) ASSAY_MUST_CHECK;

#endif
