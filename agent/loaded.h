/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice that a session has loaded: decoded, its constants pinned, its plan
 * made for the rungs of the last run, and tensors given for the next one.
 * Everything is accounted for in the agent's budget. Loop thread only; a
 * worker reads it through fork.
 */
#ifndef ASSAY_AGENT_LOADED_H
#define ASSAY_AGENT_LOADED_H

#include "agent/blobs.h"
#include "lib/core/slice.h"
#include "lib/engine/plan.h"
#include "proto/codec.h"

struct assay_given {
    uint8_t *data; /* owned; NULL: not given */
    size_t bytes, received;
};

/* What the output of a layer is expected to be, for the next run. */
struct assay_expected {
    uint8_t *digests; /* owned, 16 bytes a tile; NULL: nothing is expected */
    uint64_t tiles, received;
};

struct assay_loaded {
    struct assay_blobs *blobs;
    struct assay_slice *slice;
    uint64_t slice_charge;
    struct assay_plan *plan;
    uint64_t plan_charge; /* arena and packed constants */
    uint32_t plan_flags;
    struct assay_given *given;     /* one a tensor */
    struct assay_expected *expect; /* one a tensor */
    uint64_t given_charge;         /* of both */
};

/* Decodes the description with that digest and makes its plan. */
int assay_loaded_open(struct assay_loaded **out, struct assay_blobs *blobs,
                      const uint8_t sha256[ASSAY_SHA256_LEN], uint32_t flags,
                      struct assay_err *err) ASSAY_MUST_CHECK;
void assay_loaded_close(struct assay_loaded *l); /* NULL safe */

/* The plan for these rungs; kept while they stay the same. */
int assay_loaded_plan(struct assay_loaded *l, uint32_t flags,
                      struct assay_err *err) ASSAY_MUST_CHECK;

/* A chunk of a tensor for the next run. */
int assay_loaded_give(struct assay_loaded *l,
                      const struct assay_msg_run_tensor *t,
                      const uint8_t *payload, uint32_t n, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Digests of an output's tiles for the next run. */
int assay_loaded_expect(struct assay_loaded *l,
                        const struct assay_msg_run_expect *e,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* Every tensor and every list of digests that was begun is whole. */
int assay_loaded_check_given(const struct assay_loaded *l,
                             struct assay_err *err) ASSAY_MUST_CHECK;
void assay_loaded_drop_given(struct assay_loaded *l);

#endif
