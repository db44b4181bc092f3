/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a search: search.c asks, search_run.c computes what an edited
 * layer gives, search_sums.c the same from shared accumulators,
 * search_judge.c counts, search_solve.c finds free numbers, search_apply.c
 * gives what a hypothesis says of other inputs.
 */
#ifndef ASSAY_CAUSE_SEARCH_PRIVATE_H
#define ASSAY_CAUSE_SEARCH_PRIVATE_H

#include "host-tools/cause/float_sum.h"
#include "host-tools/cause/partial.h"
#include "host-tools/cause/search.h"

#define ASSAY_SCOPES 8 /* bits of a mask; bit 0: the whole output */
/* Elements that an edit is tried on before it is computed in full. */
#define ASSAY_FIRST_ELEMENTS 256

/* Accumulators of one sample, without bias; NULL: the layer has none. */
struct assay_sums {
    int64_t *sum;    /* one an element of the output */
    int32_t *second; /* fused second operand, or NULL */
};

struct assay_search_ctx {
    const struct assay_suspect *s;
    const struct assay_search_options *o;
    const struct assay_layer *layer;   /* of s->one */
    const struct assay_tensor *output; /* of s->one */
    uint32_t cpu_flags;
    size_t n;     /* elements of the output */
    size_t width; /* bytes of one */
    size_t bytes; /* n * width */
    size_t channels;
    size_t worst;            /* the sample with most differing elements */
    uint64_t differing, all; /* over all samples */
    /* Scopes that hold all differing elements; [0] is the whole. */
    struct assay_scope scopes[ASSAY_SCOPES];
    uint32_t n_scopes;
    uint8_t *masks;          /* by element: scopes that it lies in */
    struct assay_sums *sums; /* one a sample; NULL: not a sum of products */
    bool wraps;              /* the accumulator is 32 bits wide */
    /* The elements of `worst` that are tried first. */
    size_t first[ASSAY_FIRST_ELEMENTS];
    size_t n_first, n_first_differing;
    uint8_t *result; /* bytes of one output */
    struct assay_arena *memory;
};

/* What is known before a sample is looked at; no sums, no scopes yet. Memory
 * is the arena's. */
int assay_search_ctx_open(struct assay_search_ctx *x,
                          const struct assay_suspect *s, uint32_t cpu_flags,
                          struct assay_arena *memory, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* An edited layer: its slice, freed by assay_candidate_close. */
struct assay_candidate {
    struct assay_edit edits[2];
    uint32_t n_edits;
    struct assay_slice *slice;
    uint32_t layer; /* index of the edited layer in it */
    /* A1, which no slice can say: the accumulators are computed so. */
    bool has_partial;
    struct assay_partial partial;
    /* S4, likewise: the whole layer is computed so. */
    bool has_float;
    struct assay_float_form form;
};

struct assay_tally {
    uint64_t differing_matched, all_matched, broken;
    uint32_t failed; /* scopes in which an element does not match */
};

/* ASSAY_EDIT_* > 0: it does not apply here; then nothing is to be closed. */
int assay_candidate_open(struct assay_candidate *c,
                         const struct assay_search_ctx *x,
                         const struct assay_edit *edits, uint32_t n,
                         struct assay_err *err) ASSAY_MUST_CHECK;
void assay_candidate_close(struct assay_candidate *c);

/* search_run.c: false in *hope: it gives none of the differing elements that
 * were tried. Needs little of a whole run. */
int assay_candidate_try(const struct assay_search_ctx *x,
                        const struct assay_candidate *c, bool *hope,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* What it gives for a sample, into x->result. */
int assay_candidate_run(const struct assay_search_ctx *x,
                        const struct assay_candidate *c, size_t sample,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* Would the engine run it? What shared accumulators served was not asked. */
int assay_candidate_check(const struct assay_search_ctx *x,
                          const struct assay_candidate *c,
                          struct assay_err *err) ASSAY_MUST_CHECK;

/* Do two hypotheses leave the same program, weights and layers, so that no
 * input tells them apart? 1: they do; 0: not as far as is known. */
int assay_candidate_same(const struct assay_search_ctx *x,
                         const struct assay_hypothesis *a,
                         const struct assay_hypothesis *b,
                         struct assay_err *err) ASSAY_MUST_CHECK;

/* search_sums.c: fills x->sums where the layer is a sum of products. */
int assay_sums_open(struct assay_search_ctx *x, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Does the candidate differ in bias and program alone? */
bool assay_sums_serve(const struct assay_search_ctx *x,
                      const struct assay_candidate *c);
/* n elements from element `at` on, or the list `elements`, into out. */
void assay_sums_run(const struct assay_search_ctx *x,
                    const struct assay_candidate *c, size_t sample, size_t at,
                    size_t n, uint8_t *out);

/* search_judge.c */
int assay_judge_open(struct assay_search_ctx *x, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Does element e of the output lie in the scope? */
bool assay_judge_inside(const struct assay_search_ctx *x,
                        const struct assay_scope *s, size_t e);
/* Adds what x->result of a sample matches. */
void assay_judge_count(const struct assay_search_ctx *x, size_t sample,
                       struct assay_tally *t);
static inline bool assay_judge_differs(const struct assay_search_ctx *x,
                                       size_t sample, size_t element)
{
    const struct assay_suspect_sample *p = &x->s->samples[sample];
    const uint8_t *a = (const uint8_t *)p->base + element * x->width;
    const uint8_t *b = (const uint8_t *)p->got + element * x->width;

    for (size_t i = 0; i < x->width; i++)
        if (a[i] != b[i])
            return true;
    return false;
}

/* search_solve.c: values of e->value that the differing elements allow, the
 * plainest first, and the range that all of them allow (empty: n is 0). */
#define ASSAY_SOLUTIONS 4
struct assay_solution {
    int64_t values[ASSAY_SOLUTIONS];
    uint32_t n;
    int64_t lo, hi;
};
int assay_solve(const struct assay_search_ctx *x, const struct assay_edit *e,
                struct assay_solution *out, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
