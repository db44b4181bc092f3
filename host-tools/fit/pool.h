/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of the space: of one layer by its goldens, of all layers of one
 * form together. Two candidates that are proved to give the same outputs for
 * every input of a layer are one there. Pure; one thread.
 */
#ifndef ASSAY_FIT_POOL_H
#define ASSAY_FIT_POOL_H

#include "host-tools/fit/accum.h"

#define ASSAY_FIT_INPUTS 8 /* that separate, of one layer */

struct assay_fit_found {
    struct assay_fit_layer *l; /* owned */
    const char *source;        /* case, borrowed */
    size_t n;                  /* candidates of its space */
    uint32_t *state;           /* those that are left: number of their class */
    size_t left, classes;      /* classes: up to proven equivalence */
    uint64_t base_differs;     /* elements where the rule in use differs */
    bool base_left;
    /* separate.c: inputs on which classes give different outputs, and which
     * are told apart by inputs 0 to k: group[k][class - 1]. */
    void *inputs[ASSAY_FIT_INPUTS][4];
    uint32_t *group[ASSAY_FIT_INPUTS];
    size_t n_inputs;
    size_t separated; /* groups at last; 0: not tried */
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

/* The first input, from 1, that tells two candidates apart; 0: none does. */
size_t assay_fit_told(const struct assay_fit_found *f,
                      const struct assay_fit_choice *a,
                      const struct assay_fit_choice *b);

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

#define ASSAY_FIT_PROVED 4096u /* more classes are not compared */
/* prove.c: state keeps what is alive; its numbers become classes of candidates
 * that are proved equal for this layer. */
int assay_fit_prove(const struct assay_fit_layer *l, uint32_t *state,
                    size_t *classes, struct assay_err *err) ASSAY_MUST_CHECK;
/* every.c: forms that give each element by itself, of at most 16 bits: the
 * engine runs all choices on all values. class[k]: the first choice that is
 * equal to k. False in *done: not such a layer, or too much work. */
struct assay_fit_point {
    uint32_t channel;
    int64_t acc;    /* elementwise: the value */
    int64_t second; /* second input, or second factor */
};
struct assay_fit_points { /* that tell the choices apart */
    struct assay_fit_point *v;
    size_t n, cap;
};
int assay_fit_every(const struct assay_fit_layer *l,
                    const struct assay_fit_choice *choices, size_t n,
                    uint32_t *class, struct assay_fit_points *points,
                    bool *done, struct assay_err *err) ASSAY_MUST_CHECK;
/* points.c: accumulators for which choices of a staged layer differ, and what
 * they tell apart: told[k] is the first choice that gives the same as k. Both
 * may be NULL. */
int assay_fit_find_points(const struct assay_fit_layer *l,
                          const struct assay_fit_choice *choices, size_t n,
                          uint32_t *told, struct assay_fit_points *points,
                          struct assay_err *err) ASSAY_MUST_CHECK;
/* separate.c: fills f->inputs and groups; `tries` in vain bound the work. */
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
