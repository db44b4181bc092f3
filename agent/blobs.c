/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/blobs.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "lib/core/buf.h"

#define BUCKETS 1024u
/* What one costs beside its bytes, malloc's rounding included: a client may
 * send millions of small ones. */
#define OVERHEAD 128u

struct blob {
    struct blob *next;
    uint8_t sha256[ASSAY_SHA256_LEN];
    void *data;
    size_t n;
    uint32_t pins;
    uint64_t used_at; /* a counter, not a clock */
};

struct assay_blobs {
    struct blob *buckets[BUCKETS];
    uint64_t limit, used, counter, unpinned;
    uint64_t high, bytes;
    uint32_t count;
};

struct assay_blobs *assay_blobs_new(uint64_t memory_limit)
{
    struct assay_blobs *b = assay_calloc(1, sizeof(*b));

    if (b != NULL)
        b->limit = memory_limit;
    return b;
}

static size_t charge(size_t n)
{
    return n + OVERHEAD;
}

static void drop(struct assay_blobs *b, struct blob **at)
{
    struct blob *x = *at;

    *at = x->next;
    b->used -= charge(x->n);
    b->unpinned -= x->pins == 0 ? charge(x->n) : 0;
    b->count--;
    b->bytes -= x->n;
    assay_free(x->data);
    assay_free(x);
}

void assay_blobs_free(struct assay_blobs *b)
{
    if (b == NULL)
        return;
    for (uint32_t i = 0; i < BUCKETS; i++) {
        while (b->buckets[i] != NULL)
            drop(b, &b->buckets[i]);
    }
    assay_free(b);
}

static struct blob **slot(struct assay_blobs *b,
                          const uint8_t sha256[ASSAY_SHA256_LEN])
{
    struct blob **at =
        &b->buckets[(sha256[0] | (uint32_t)sha256[1] << 8) % BUCKETS];

    while (*at != NULL && memcmp((*at)->sha256, sha256, ASSAY_SHA256_LEN) != 0)
        at = &(*at)->next;
    return at;
}

static bool drop_oldest(struct assay_blobs *b)
{
    struct blob **oldest = NULL;

    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (struct blob **at = &b->buckets[i]; *at != NULL;
             at = &(*at)->next) {
            if ((*at)->pins == 0 &&
                (oldest == NULL || (*at)->used_at < (*oldest)->used_at))
                oldest = at;
        }
    }
    if (oldest == NULL)
        return false;
    drop(b, oldest);
    return true;
}

int assay_budget_take(struct assay_blobs *b, uint64_t n, const char *what,
                      struct assay_err *err)
{
    if (n > assay_budget_free(b))
        return assay_fail(err, ASSAY_EMEMORY,
                          "%s of %" PRIu64 " bytes exceeds the agent's memory "
                          "budget: %" PRIu64 " of %" PRIu64 " bytes are in "
                          "use (assayd --memory raises it)",
                          what, n, b->used - b->unpinned, b->limit);
    while (n > b->limit - b->used) {
        if (!drop_oldest(b))
            break;
    }
    b->used += n;
    b->high = b->used > b->high ? b->used : b->high;
    return 0;
}

uint64_t assay_budget_borrow(struct assay_blobs *b, uint64_t n)
{
    if (n > b->limit - b->used)
        n = b->limit - b->used;
    b->used += n;
    return n;
}

uint64_t assay_budget_high(const struct assay_blobs *b)
{
    return b->high;
}

uint64_t assay_blobs_bytes(const struct assay_blobs *b)
{
    return b->bytes;
}

void assay_budget_give(struct assay_blobs *b, uint64_t n)
{
    assert(n <= b->used);
    b->used -= n;
}

uint64_t assay_budget_used(const struct assay_blobs *b)
{
    return b->used;
}

uint64_t assay_budget_limit(const struct assay_blobs *b)
{
    return b->limit;
}

uint64_t assay_budget_free(const struct assay_blobs *b)
{
    return b->limit - (b->used - b->unpinned);
}

uint32_t assay_blobs_count(const struct assay_blobs *b)
{
    return b->count;
}

const void *assay_blobs_find(struct assay_blobs *b,
                             const uint8_t sha256[ASSAY_SHA256_LEN],
                             size_t *size)
{
    struct blob *x = *slot(b, sha256);

    if (x == NULL)
        return NULL;
    x->used_at = ++b->counter;
    *size = x->n;
    return x->data;
}

void assay_blobs_pin(struct assay_blobs *b,
                     const uint8_t sha256[ASSAY_SHA256_LEN], int change)
{
    struct blob *x = *slot(b, sha256);

    assert(x != NULL && (change > 0 || x->pins > 0));
    if (x->pins == 0)
        b->unpinned -= charge(x->n);
    x->pins += (uint32_t)change;
    if (x->pins == 0)
        b->unpinned += charge(x->n);
}

int assay_blobs_put(struct assay_blobs *b,
                    const uint8_t sha256[ASSAY_SHA256_LEN], void *data,
                    size_t n, struct assay_err *err)
{
    struct blob **at, *x;
    int rc;

    if (*slot(b, sha256) != NULL) {
        assay_free(data);
        b->used -= n;
        return 0;
    }
    rc = assay_budget_take(b, OVERHEAD, "constant", err);
    if (rc < 0) {
        assay_free(data);
        b->used -= n;
        return rc;
    }
    at = slot(b, sha256); /* making room may have moved it */
    x = assay_calloc(1, sizeof(*x));
    if (x == NULL) {
        assay_free(data);
        b->used -= charge(n);
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a constant");
    }
    memcpy(x->sha256, sha256, ASSAY_SHA256_LEN);
    x->data = data;
    x->n = n;
    x->used_at = ++b->counter;
    *at = x;
    b->count++;
    b->bytes += n;
    b->unpinned += charge(n);
    return 0;
}
