/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker and its parent share: one anonymous mapping with a status
 * page and a ring of records. One writer (the worker), one reader (the
 * parent). The worker may die at any point and may have scribbled over it:
 * the reader checks every length it takes from here.
 */
#ifndef ASSAY_AGENT_RING_H
#define ASSAY_AGENT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "proto/codec.h"

#define ASSAY_RING_BYTES (4u * 1024 * 1024) /* a power of 2 */
#define ASSAY_KERNEL_NAME_MAX 96

enum assay_worker_state {
    ASSAY_WORKER_STARTING = 0,  /* nothing begun */
    ASSAY_WORKER_COMPUTING = 1, /* charged to the layer's deadline */
    ASSAY_WORKER_WAITING = 2,   /* for room in the ring: the client's */
    ASSAY_WORKER_BETWEEN = 3,   /* the layer is over */
};

struct assay_status_page {
    _Atomic uint32_t state; /* enum assay_worker_state */
    _Atomic uint32_t layer;
    _Atomic uint64_t since_us; /* CLOCK_MONOTONIC, of the state */
    _Atomic uint64_t spent_us; /* computing in this layer before `since` */
    char kernel[ASSAY_KERNEL_NAME_MAX];
};

enum assay_record_kind {
    ASSAY_RECORD_SKIP = 1, /* the rest of the ring's end is unused */
    ASSAY_RECORD_BEGIN = 2,
    ASSAY_RECORD_TILE = 3, /* followed by `bytes` of data */
    ASSAY_RECORD_END = 4,
    ASSAY_RECORD_MISSING = 5,
    ASSAY_RECORD_DONE = 6,
    ASSAY_RECORD_PROBE = 7, /* followed by a struct assay_probe */
    ASSAY_RECORD_STATS = 8, /* followed by a struct assay_stats */
    ASSAY_RECORD_TILES = 9, /* followed by digests of 16 bytes */
};

/* One shape for all kinds: simple to check, and small beside a tile. */
struct assay_record {
    uint32_t kind;
    uint32_t bytes; /* of the data behind; SKIP: of the gap */
    uint32_t layer, tensor;
    uint64_t total;   /* BEGIN, END: of the output; DONE: of the run */
    uint64_t offset;  /* TILE; TILES: the first one's number */
    uint64_t time_us; /* END, DONE: computing */
    uint32_t n_done, n_missing; /* DONE */
    int32_t code;               /* DONE */
    uint32_t pad;
    uint8_t digest[16];               /* TILE, END */
    char text[ASSAY_KERNEL_NAME_MAX]; /* BEGIN: kernel */
    char reason[256];                 /* DONE */
};

struct assay_ring {
    struct assay_status_page status;
    _Atomic uint64_t head; /* bytes ever written, by the worker */
    _Atomic uint64_t tail; /* bytes ever freed, by the parent */
    _Atomic uint32_t wants_space;
    _Alignas(64) uint8_t data[ASSAY_RING_BYTES];
};

struct assay_ring *assay_ring_new(void); /* NULL: no memory */
void assay_ring_free(struct assay_ring *r);

/* Worker: writes a record with its data; waits on fd `space` for room and
 * tells the parent through fd `ready`. */
struct assay_ring_writer {
    struct assay_ring *ring;
    int ready, space;
};
void assay_ring_write(struct assay_ring_writer *w, struct assay_record *rec,
                      const void *data);

/*
 * Parent: the record at *position (bytes ever read). 1: *rec is a copy, *data
 * points into the ring until free() passes it, *position is behind it; 0:
 * nothing there; negative: the ring is damaged.
 */
int assay_ring_next(const struct assay_ring *r, uint64_t *position,
                    struct assay_record *rec, const uint8_t **data);
/* Parent: everything before `position` may be written again. */
void assay_ring_release(struct assay_ring *r, uint64_t position, int space);

/* Parent: the message that a PROBE, STATS or TILES is, without its run, and
 * the credit that it takes; it may borrow from data. Negative: the worker
 * wrote what it cannot have meant. */
int assay_record_message(struct assay_msg *out, uint64_t *credit,
                         const struct assay_record *rec, const uint8_t *data)
    ASSAY_MUST_CHECK;

uint64_t assay_now_us(void); /* CLOCK_MONOTONIC, the same in both processes */

#endif
