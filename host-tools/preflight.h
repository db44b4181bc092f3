/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the versions fit together, before anything runs? What case, build,
 * compiled model, board and runtime say (claims) is held side by side. A
 * contradiction makes every result meaningless; what only may matter is a
 * note. What nobody says is never guessed, and a march that is known by its
 * family only is compared by its family. Pure; any thread.
 */
#ifndef ASSAY_HOST_PREFLIGHT_H
#define ASSAY_HOST_PREFLIGHT_H

#include "host-tools/vendor/vendor.h"

enum assay_fit_state {
    ASSAY_FIT_ALONE = 0, /* nothing to compare it with */
    ASSAY_FIT_OK,
    ASSAY_FIT_NOTE,
    ASSAY_FIT_CONTRADICTION,
};

struct assay_preflight_row {
    struct assay_claim claim; /* borrowed texts */
    enum assay_fit_state state;
    /* What it does not fit to: an index of a row; -1: none. */
    int64_t against;
};

struct assay_preflight {
    uint32_t n, contradictions, notes;
    struct assay_preflight_row *rows; /* in the arena; in the order of claims */
};

/* Rows in `arena`. ASSAY_EMEMORY is the only failure. */
int assay_preflight(struct assay_preflight *out, struct assay_arena *arena,
                    const struct assay_claim *claims, uint32_t n,
                    struct assay_err *err) ASSAY_MUST_CHECK;

/* "the model is built for bayes-e (build.yaml), the board's runtime says
 * bernoulli2 (runtime.log line 3)": of a row that is against another. */
const char *assay_preflight_sentence(const struct assay_preflight *p,
                                     uint32_t row, char *out, size_t cap);
const char *assay_claim_about_name(enum assay_claim_about about);
const char *assay_claim_by_name(enum assay_claim_by by); /* "build log" */
const char *assay_fit_state_name(enum assay_fit_state state);
/* "build.yaml", "runtime.log line 3", "". */
const char *assay_claim_place(const struct assay_claim *c, char *out,
                              size_t cap);

/* The march of a board by the name of its SoC or of the board; "" where it is
 * not one that is known. */
const char *assay_march_of_soc(const char *soc);
/* "bayes-e" and "BAYES_E" are one; a code name ("B25E", "B30G") is its march,
 * or its family with a star ("nash*"). Returns out. */
const char *assay_march_plain(const char *march, char *out, size_t cap);
/* By components, as numbers: <0, 0, >0; *minor: they differ behind the second
 * component only. What is no number is 0. */
int assay_version_compare(const char *a, const char *b, bool *minor);

#endif
