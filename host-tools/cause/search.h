/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entries of the catalogue reproduce what a suspect got. Every entry is
 * judged by bytes: `proved` means that every element of every sample of the
 * suspect equals, those that had been equal included. What a caller finds out
 * on further samples it adds by assay_cause_apply and assay_search_sort. Entries
 * that change the program alone share one set of accumulators; others are tried
 * on a few output channels first. Pure; one thread.
 */
#ifndef ASSAY_CAUSE_SEARCH_H
#define ASSAY_CAUSE_SEARCH_H

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/suspect.h"

/* The part of the output in which the layer is thought to be edited. */
enum assay_scope_kind {
    ASSAY_SCOPE_ALL = 0,
    ASSAY_SCOPE_TAIL_CHANNELS, /* from n on: channels behind a multiple */
    ASSAY_SCOPE_CHANNEL,       /* channel n alone */
    ASSAY_SCOPE_EDGES,         /* a ring of n rows and columns */
    ASSAY_SCOPE_LAST_ROWS,     /* from row n on */
    ASSAY_SCOPE_LAST_COLUMNS,  /* from column n on */
};
struct assay_scope {
    enum assay_scope_kind kind;
    int64_t n;
};

/* What is known of whoever computed the suspect: assay_search_options. */
enum assay_expected {
    ASSAY_EXPECTED_NOT = 0,
    ASSAY_EXPECTED_OF_NUMERICS, /* it is what those numerics have */
    ASSAY_EXPECTED_LITERAL,     /* it is the literal form of a QDQ group */
};

struct assay_hypothesis {
    struct assay_edit edits[2];
    uint32_t n_edits; /* 2: a combination */
    struct assay_scope scope;
    uint64_t differing_matched, differing; /* of base against got */
    uint64_t all_matched, all;
    uint64_t broken; /* equal ones that it makes differ */
    bool proved;
    enum assay_expected expected; /* of proved ones */
    uint32_t turn; /* when it was tried: of a number the plainest comes first */
    bool struck;   /* proved on the samples, refuted by a further input */
    /* Of proved ones: the same number, the same output for every input as far
     * as is proved; others are only not told apart by this data. */
    uint32_t class_number;
};

#define ASSAY_ALL_VARIANTS UINT32_MAX

struct assay_search_options {
    bool pairs; /* combinations when nothing single is proved */
    /* NULL: the catalogue. A variant of ASSAY_ALL_VARIANTS is all of them. */
    const struct assay_edit *only;
    uint32_t cpu_flags; /* of the engine */
    /* Who computed `got`. That ranks proved ones, and proves nothing. */
    const char *numerics; /* a name of numerics.def; NULL: not known */
    bool literal;         /* float operators between dequantize and quantize */
};

struct assay_search {
    struct assay_hypothesis *v; /* proved first, then by rank */
    size_t n;
    size_t n_proved;
    uint32_t n_classes; /* of the proved ones */
    uint32_t tried;     /* edits that were judged, pairs too */
    uint64_t differing, all;
    struct assay_arena *memory; /* owns all */
};

/* A search without differing elements finds nothing: n is 0. */
int assay_cause_search(struct assay_search **out, const struct assay_suspect *s,
                       const struct assay_search_options *o,
                       struct assay_err *err) ASSAY_MUST_CHECK;
void assay_search_free(struct assay_search *s); /* NULL safe */
/* After `proved` of some was taken back: orders and counts anew. */
void assay_search_sort(struct assay_search *s);

/*
 * What n hypotheses give on further inputs (by tensor of s->one, as those of a
 * sample): out[i] takes as many bytes as the output has. base: what the engine
 * gives for s->one on them. The samples of s are not looked at.
 */
int assay_cause_apply(uint8_t *const *out, const struct assay_suspect *s,
                      const struct assay_hypothesis *const *v, size_t n,
                      const void *const *inputs, const void *base,
                      uint32_t cpu_flags, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Elements of `out` that are as `got`; how many of base are not, and of those
 * how many `out` gives. */
uint64_t assay_cause_count(const struct assay_suspect *s, const void *base,
                           const void *got, const void *out,
                           uint64_t *differing, uint64_t *differing_matched);

/* Accumulators of a sample's output, bias included, one an element; freed by
 * assay_free. NULL where the layer is no sum of integer products. */
int assay_cause_sums(int64_t **out, const struct assay_suspect *s,
                     size_t sample, uint32_t cpu_flags, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* "R4 on channels 64..65", "P5=bottom:128", "R1 and P1". */
const char *assay_hypothesis_text(const struct assay_hypothesis *h,
                                  const struct assay_tensor *t, char *out,
                                  size_t cap);
/* "channels 64..65", "" for all. */
const char *assay_scope_text(const struct assay_scope *s,
                             const struct assay_tensor *t, char *out,
                             size_t cap);

#endif
