/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ALIGN 64u
/* A header's room: also what a gap at the ring's end is a multiple of. */
#define HEAD ((sizeof(struct assay_record) + ALIGN - 1) / ALIGN * ALIGN)

uint64_t assay_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

struct assay_ring *assay_ring_new(void)
{
    void *p = mmap(NULL, sizeof(struct assay_ring), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p; /* zeroed by the kernel */
}

void assay_ring_free(struct assay_ring *r)
{
    if (r != NULL)
        munmap(r, sizeof(*r));
}

static void set_state(struct assay_ring *r, uint32_t state)
{
    atomic_store(&r->status.since_us, assay_now_us());
    atomic_store(&r->status.state, state);
}

static bool has_room(struct assay_ring *r, uint64_t need)
{
    return atomic_load(&r->head) + need - atomic_load(&r->tail) <=
           ASSAY_RING_BYTES;
}

static void wait_for_room(struct assay_ring_writer *w, uint64_t need)
{
    uint32_t before = atomic_load(&w->ring->status.state);
    char token[64];

    if (has_room(w->ring, need))
        return;
    if (before == ASSAY_WORKER_COMPUTING)
        atomic_fetch_add(&w->ring->status.spent_us,
                         assay_now_us() -
                             atomic_load(&w->ring->status.since_us));
    set_state(w->ring, ASSAY_WORKER_WAITING);
    for (;;) {
        atomic_store(&w->ring->wants_space, 1);
        if (has_room(w->ring, need))
            break;
        if (read(w->space, token, sizeof(token)) == 0 ||
            (errno != EINTR && errno != EAGAIN && errno != 0))
            _exit(1); /* the parent has gone */
        errno = 0;
    }
    atomic_store(&w->ring->wants_space, 0);
    set_state(w->ring, before);
}

static void tell_parent(struct assay_ring_writer *w)
{
    /* A full pipe is a bell that rings already. */
    ssize_t n = write(w->ready, "", 1);

    (void)n;
}

static uint64_t padded(uint32_t bytes)
{
    return HEAD + ((uint64_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool has_data(uint32_t kind)
{
    return kind == ASSAY_RECORD_TILE || kind == ASSAY_RECORD_PROBE ||
           kind == ASSAY_RECORD_STATS || kind == ASSAY_RECORD_TILES;
}

void assay_ring_write(struct assay_ring_writer *w, struct assay_record *rec,
                      const void *data)
{
    struct assay_ring *r = w->ring;
    uint32_t bytes = has_data(rec->kind) ? rec->bytes : 0;
    uint64_t need = padded(bytes), head = atomic_load(&r->head);
    uint64_t at = head % ASSAY_RING_BYTES, gap = ASSAY_RING_BYTES - at;
    uint8_t *p;

    assert(need <= ASSAY_RING_BYTES / 2);
    errno = 0;
    if (gap < need) {
        struct assay_record skip = {.kind = ASSAY_RECORD_SKIP,
                                    .bytes = (uint32_t)gap};

        wait_for_room(w, gap);
        /* A gap of one alignment unit holds kind and bytes at least. */
        memcpy(r->data + at, &skip, 8);
        head += gap;
        atomic_store(&r->head, head);
        at = 0;
    }
    wait_for_room(w, need);
    p = r->data + at;
    memcpy(p, rec, sizeof(*rec));
    if (bytes > 0)
        memcpy(p + HEAD, data, bytes);
    atomic_store(&r->head, head + need);
    tell_parent(w);
}

int assay_ring_next(const struct assay_ring *r, uint64_t *position,
                    struct assay_record *rec, const uint8_t **data)
{
    uint64_t head = atomic_load(&((struct assay_ring *)(uintptr_t)r)->head);
    uint64_t pos = *position;

    for (;;) {
        uint64_t at = pos % ASSAY_RING_BYTES, left = head - pos;
        uint32_t kind, bytes;

        if (left == 0)
            return 0;
        if (left > ASSAY_RING_BYTES || left % ALIGN != 0)
            return ASSAY_EINTERNAL;
        memcpy(&kind, r->data + at, 4);
        memcpy(&bytes, r->data + at + 4, 4);
        if (kind == ASSAY_RECORD_SKIP) {
            if (bytes != ASSAY_RING_BYTES - at || bytes > left)
                return ASSAY_EINTERNAL;
            pos += bytes;
            continue;
        }
        if (kind < ASSAY_RECORD_BEGIN || kind > ASSAY_RECORD_TILES ||
            HEAD > left || at + HEAD > ASSAY_RING_BYTES)
            return ASSAY_EINTERNAL;
        if (!has_data(kind))
            bytes = 0;
        else if (bytes == 0 || bytes > ASSAY_TILE_BYTES ||
                 padded(bytes) > left || at + padded(bytes) > ASSAY_RING_BYTES)
            return ASSAY_EINTERNAL;
        memcpy(rec, r->data + at, sizeof(*rec));
        rec->kind = kind; /* the checked ones, whatever a writer does now */
        rec->bytes = bytes;
        rec->text[sizeof(rec->text) - 1] = '\0';
        rec->reason[sizeof(rec->reason) - 1] = '\0';
        *data = r->data + at + HEAD;
        *position = pos + padded(bytes);
        return 1;
    }
}

void assay_ring_release(struct assay_ring *r, uint64_t position, int space)
{
    atomic_store(&r->tail, position);
    if (atomic_load(&r->wants_space) != 0) {
        ssize_t n = write(space, "", 1);

        (void)n;
    }
}

int assay_record_message(struct assay_msg *out, uint64_t *credit,
                         const struct assay_record *rec, const uint8_t *data)
{
    struct assay_msg_layer_probe *p = &out->u.layer_probe;
    struct assay_msg_layer_stats *s = &out->u.layer_stats;
    struct assay_msg_layer_tiles *t = &out->u.layer_tiles;

    switch (rec->kind) {
    case ASSAY_RECORD_PROBE:
        out->type = ASSAY_MSG_LAYER_PROBE;
        *credit = ASSAY_PROBE_CREDIT;
        p->layer = rec->layer;
        if (rec->bytes != sizeof(p->probe))
            return ASSAY_EINTERNAL;
        memcpy(&p->probe, data, sizeof(p->probe));
        return assay_probe_bad_field(&p->probe) != NULL ? ASSAY_EINTERNAL : 0;
    case ASSAY_RECORD_STATS:
        out->type = ASSAY_MSG_LAYER_STATS;
        *credit = ASSAY_STATS_CREDIT;
        s->layer = rec->layer;
        if (rec->bytes != sizeof(s->stats))
            return ASSAY_EINTERNAL;
        memcpy(&s->stats, data, sizeof(s->stats));
        return assay_stats_bad_field(&s->stats) != NULL ? ASSAY_EINTERNAL : 0;
    default:
        out->type = ASSAY_MSG_LAYER_TILES;
        *credit = rec->bytes;
        t->layer = rec->layer;
        t->first = rec->offset;
        t->digests = data;
        t->n = rec->bytes / ASSAY_TILE_DIGEST;
        return rec->bytes % ASSAY_TILE_DIGEST != 0 ? ASSAY_EINTERNAL : 0;
    }
}
