/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec_alloc.h"

#include "lib/core/buf.h"

/* The budget is on everything ever taken, not on what is live: simpler, and
 * decoding frees next to nothing before its end. */
static void *take(void *self, size_t n)
{
    struct assay_codec_alloc *a = self;
    size_t cost = n + 16; /* what malloc itself keeps */
    void *p;

    if (cost < n || cost > a->left) {
        a->refused = true;
        return NULL;
    }
    p = assay_alloc(n);
    if (p == NULL) {
        a->starved = true;
        return NULL;
    }
    a->left -= cost;
    return p;
}

static void give(void *self, void *p)
{
    (void)self;
    assay_free(p);
}

void assay_codec_alloc_init(struct assay_codec_alloc *a, size_t budget)
{
    a->pb.alloc = take;
    a->pb.free = give;
    a->pb.allocator_data = a;
    a->left = budget;
    a->refused = a->starved = false;
}
