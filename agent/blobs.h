/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants and descriptions by content, and the memory budget that they
 * share with everything else the agent keeps. Loop thread only.
 */
#ifndef ASSAY_AGENT_BLOBS_H
#define ASSAY_AGENT_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"
#include "lib/core/hash.h"

struct assay_blobs;

struct assay_blobs *assay_blobs_new(uint64_t memory_limit); /* NULL: memory */
void assay_blobs_free(struct assay_blobs *b);

/*
 * Accounts for n bytes of `what`. When the budget is full, constants that no
 * slice uses are dropped, the ones that were asked for longest ago first.
 */
int assay_budget_take(struct assay_blobs *b, uint64_t n, const char *what,
                      struct assay_err *err) ASSAY_MUST_CHECK;
void assay_budget_give(struct assay_blobs *b, uint64_t n);
/* Takes n bytes, or what is free without dropping anything; returns how much.
 * It is not in the high-water mark. */
uint64_t assay_budget_borrow(struct assay_blobs *b, uint64_t n);
/* The most that was ever taken. */
uint64_t assay_budget_high(const struct assay_blobs *b);
uint64_t assay_budget_used(const struct assay_blobs *b);
uint64_t assay_budget_limit(const struct assay_blobs *b);
uint64_t assay_budget_free(const struct assay_blobs *b); /* with dropping */

uint32_t assay_blobs_count(const struct assay_blobs *b);
uint64_t assay_blobs_bytes(const struct assay_blobs *b);
/* Borrowed until the blob is dropped; pin it to keep it. NULL: not here. */
const void *assay_blobs_find(struct assay_blobs *b,
                             const uint8_t sha256[ASSAY_SHA256_LEN],
                             size_t *size);
void assay_blobs_pin(struct assay_blobs *b,
                     const uint8_t sha256[ASSAY_SHA256_LEN], int change);
/*
 * Takes data over (allocated by assay_alloc, its n bytes accounted for by
 * budget_take). Its SHA-256 was verified by the caller. A blob that is here
 * already is kept and the new one released. One is charged with 128 bytes
 * more, which is what it costs beside its bytes.
 */
int assay_blobs_put(struct assay_blobs *b,
                    const uint8_t sha256[ASSAY_SHA256_LEN], void *data,
                    size_t n, struct assay_err *err) ASSAY_MUST_CHECK;

#endif
