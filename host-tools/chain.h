/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain of artefacts of a run by their hashes, and what it says beside
 * that of an earlier run: did a fix reach the compiled file, and the board?
 * Hashes and contents are evidence, times of files never. Pure; any thread.
 */
#ifndef ASSAY_HOST_CHAIN_H
#define ASSAY_HOST_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSAY_CHAIN_SHORT 8 /* hexadecimal digits of a short hash */

enum assay_chain_role {
    ASSAY_CHAIN_FLOAT = 0, /* float model */
    ASSAY_CHAIN_FIXED,     /* the model that is run */
    ASSAY_CHAIN_COMPILED,  /* .bin, .hbm */
    ASSAY_CHAIN_INPUTS,
    ASSAY_CHAIN_GOLDEN,
    ASSAY_CHAIN_SIM,
    ASSAY_CHAIN_BPU,
    ASSAY_CHAIN_COUNT,
};
const char *assay_chain_role_name(enum assay_chain_role role); /* "golden" */

/* What stood beside an artefact in the run that saw its content first: what it
 * was made of, as far as these runs can tell. "" unknown. */
struct assay_chain_made {
    char started[32];
    char sha256[ASSAY_CHAIN_COUNT][65]; /* models, inputs, golden */
};

struct assay_chain_item {
    bool here;
    const char *file; /* the first of them; borrowed */
    uint32_t files;
    uint64_t size;     /* bytes of all */
    char sha256[65];   /* of the file; of several, of their hashes in order */
    char modified[32]; /* the latest, RFC 3339; "" unknown */
    struct assay_chain_made made; /* of compiled, sim and bpu */
};
struct assay_chain {
    struct assay_chain_item v[ASSAY_CHAIN_COUNT];
};

/* A layer's content: digests as text, "" where there is none. */
struct assay_chain_layer {
    const char *name;
    char expected[33];
    char got[2][33];  /* sim, bpu */
    char then[2][33]; /* expected when that was got first; "" as expected */
};
struct assay_chain_layers {
    uint32_t n;
    struct assay_chain_layer *v;
};

enum assay_stale_kind {
    ASSAY_STALE_NOT = 0,
    ASSAY_STALE_COMPILED, /* the model changed, the compiled file did not */
    ASSAY_STALE_CONTENT,  /* a column gave the earlier run's bits again */
    ASSAY_STALE_GOLDEN,   /* the reference changed, nothing else did */
    ASSAY_STALE_NOTHING,  /* nothing changed at all */
};

struct assay_chain_run {
    struct assay_chain *chain;
    struct assay_chain_layers layers;
    const char *started;
    /* Everything was equal, and a column of the compiled model was looked at:
     * then whatever was not built anew needed no building. */
    bool matched;
};

struct assay_stale {
    enum assay_stale_kind kind;
    unsigned side;      /* CONTENT: 0 sim, 1 bpu */
    uint32_t layers;    /* CONTENT: compared */
    uint32_t moved;     /* CONTENT: whose reference changed */
    uint32_t changed;   /* bit a role */
    uint32_t unchanged; /* bit a role */
    /* Of the artefact that is stale, in `now`; NULL for NOTHING and NOT. */
    const struct assay_chain_made *made;
};

/* Fills `made` and `then` of `now`: those of the earlier run where the content
 * is still the same, so that a fix that is on its way is not forgotten by the
 * next run. before: NULL, there is none. */
void assay_chain_inherit(struct assay_chain_run *now,
                         const struct assay_chain_run *before);
/* `fix`: the user named the earlier run, so something should have changed. */
void assay_chain_compare(struct assay_stale *out,
                         const struct assay_chain_run *before,
                         const struct assay_chain_run *now, bool fix);
/* "quantized model 9f3c0011 -> ab120034": since an artefact was made. */
const char *assay_chain_since(const struct assay_chain_made *made,
                              const struct assay_chain *now, char *out,
                              size_t cap);
/* "quantized model 9f3c0011 -> ab120034, golden ..."; "" nothing. */
const char *assay_chain_changes(const struct assay_chain *before,
                                const struct assay_chain *now, uint32_t roles,
                                char *out, size_t cap);

#endif
