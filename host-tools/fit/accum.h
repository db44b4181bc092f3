/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One layer with a form, ready to be searched: its operands by channel, what
 * its accumulators can be, and the exact accumulators of its golden inputs,
 * which the engine computes without any program. Pure; one thread a layer.
 */
#ifndef ASSAY_FIT_ACCUM_H
#define ASSAY_FIT_ACCUM_H

#include "host-tools/fit/search.h"

struct assay_fit_layer {
    const struct assay_slice *slice; /* borrowed */
    uint32_t layer;
    const char *form;
    enum assay_fit_kind kind;
    enum assay_dtype dtype;           /* of the output */
    struct assay_fit_problem problem; /* ENUMERATED: its space alone */
    /* Of all samples so far, owned. second: NULL without one. */
    size_t n;
    int64_t *acc, *second, *golden;
    /* ENUMERATED: inputs and golden of each sample, owned. */
    struct assay_fit_sample {
        void *input[4];
        size_t bytes[4]; /* 0: a constant of the slice */
    } * samples;
    size_t n_samples;
    struct assay_arena *memory;
};

/* NULL in *out: the layer has no form with a choice. Layers whose fields fit
 * no channel count are refused. */
int assay_fit_layer_open(struct assay_fit_layer **out,
                         const struct assay_slice *slice, uint32_t layer,
                         struct assay_err *err) ASSAY_MUST_CHECK;
void assay_fit_layer_close(struct assay_fit_layer *l); /* NULL safe */

/* One sample more: dense bytes of each tensor of the slice. */
int assay_fit_layer_add(struct assay_fit_layer *l, const void *const *values,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* Accumulators and second inputs of other inputs; `out` and `second` hold one
 * for each element of the output. STAGED only. */
int assay_fit_layer_sums(const struct assay_fit_layer *l,
                         const void *const *inputs, int64_t *out,
                         int64_t *second, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The layer's output under a rule, through the engine; dense, in its dtype. */
int assay_fit_layer_run(const struct assay_fit_layer *l, const char *rule,
                        const void *const *inputs, void *out,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* The same on [rows][channels of the layer] values instead of its input; of
 * layers that give each element of their first input by itself. */
int assay_fit_layer_values(const struct assay_fit_layer *l, const char *rule,
                           const void *x, int64_t rows, int64_t channels,
                           void *out, struct assay_err *err) ASSAY_MUST_CHECK;

size_t assay_fit_layer_count(const struct assay_fit_layer *l, int64_t input);

/* operands.c: fills the problem but its space. */
int assay_fit_operands(struct assay_fit_layer *l, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* bounds.c: lo and hi of the accumulators, one a channel; the second input. */
int assay_fit_bounds(struct assay_fit_layer *l, struct assay_err *err)
    ASSAY_MUST_CHECK;

static inline const struct assay_layer *assay_fit_layer_of(
    const struct assay_fit_layer *l)
{
    return &l->slice->layers[l->layer];
}
/* Which input of the slice's layer is the second one; -1: none. */
int assay_fit_second_input(const struct assay_layer *l);

#endif
