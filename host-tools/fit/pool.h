/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of the space: of one layer by its goldens, of all layers of one
 * form together. Two candidates that are proved to give the same outputs for
 * every input of a layer are one there. Pure; one thread.
 */
#ifndef ASSAY_FIT_POOL_H
#define ASSAY_FIT_POOL_H

#include "host-tools/fit/accum.h"

struct assay_fit_found {
    struct assay_fit_layer *l; /* owned */
    const char *source;        /* case, borrowed */
    size_t n;                  /* candidates of its space */
    uint32_t *state;           /* those that are left: number of their class */
    size_t left, classes;      /* classes: up to proven equivalence */
    uint64_t base_differs;     /* elements where the rule in use differs */
    bool base_left;
    /* separate.c: inputs on which the classes give different outputs. */
    void *input[4];
    size_t separated; /* classes that they tell apart; 0: not tried */
};

struct assay_fit_pool {
    const char *form;
    struct assay_fit_space space;    /* dimensions that one of its layers has */
    struct assay_fit_found **layers; /* borrowed */
    size_t n_layers;
    uint32_t *state; /* 0: some layer has rejected it; else its class */
    size_t n, left, classes;
    uint64_t elements;
    bool has_base, base_left; /* the rule in use is in the space; is left */
    struct assay_fit_choice base, winner; /* winner: left > 0 */
};

/* Searches the layer; takes it. */
int assay_fit_found_new(struct assay_fit_found **out, struct assay_fit_layer *l,
                        const char *source, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_fit_found_free(struct assay_fit_found *f); /* NULL safe */

/* `base`: the rule in use for the form, or NULL. */
int assay_fit_pool_new(struct assay_fit_pool **out, const char *form,
                       struct assay_fit_found **all, size_t n_all,
                       const char *base, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_fit_pool_free(struct assay_fit_pool *p); /* NULL safe */
/* Elements of all layers of the pool in which each wanted candidate of its
 * space differs; both arrays hold p->n. */
int assay_fit_pool_count(const struct assay_fit_pool *p, const bool *wanted,
                         uint64_t *differ, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The first candidate of each class, at most cap of them. */
size_t assay_fit_representatives(const struct assay_fit_space *space,
                                 const uint32_t *state, size_t n,
                                 const struct assay_fit_choice *near,
                                 struct assay_fit_choice *out, size_t cap);

/* prove.c: state keeps what is alive; its numbers become classes of candidates
 * that are proved equal for this layer. */
int assay_fit_prove(const struct assay_fit_layer *l, uint32_t *state,
                    size_t *classes, struct assay_err *err) ASSAY_MUST_CHECK;
/* An accumulator (of a channel) for which two candidates differ. */
struct assay_fit_witness {
    uint32_t channel;
    int64_t acc;
};
/* Up to cap witnesses for the classes of a state. */
size_t assay_fit_witnesses(const struct assay_fit_layer *l,
                           const struct assay_fit_choice *classes, size_t n,
                           struct assay_fit_witness *out, size_t cap);
/* separate.c: fills f->input and f->separated; `tries` bounds the work. */
int assay_fit_separate(struct assay_fit_found *f, unsigned tries,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* enumerate.c: what assay_fit_filter and _count are, through the engine. */
int assay_fit_enumerate(const struct assay_fit_layer *l, uint32_t *state,
                        size_t *left, struct assay_err *err) ASSAY_MUST_CHECK;
int assay_fit_enumerate_count(const struct assay_fit_layer *l,
                              const struct assay_fit_choice *c,
                              uint64_t *differ, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
