/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of assay_layout_find: layout.c asks in order and judges,
 * layout_permute.c, layout_stride.c and layout_bytes.c know the arrangements.
 * An arrangement is a map: which element of ref an element of got would be.
 */
#ifndef ASSAY_CAUSE_LAYOUT_PRIVATE_H
#define ASSAY_CAUSE_LAYOUT_PRIVATE_H

#include <string.h>

#include "host-tools/cause/layout.h"

#define ASSAY_LAYOUT_BUCKETS 4096 /* of values; collisions only cost bits */
#define ASSAY_LAYOUT_PROBES 64

struct assay_layout_ask {
    const struct assay_tensor *t; /* in the order that is looked at */
    bool source_order;            /* which is the source's */
    size_t width, n;              /* bytes of an element; elements */
    const uint8_t *ref, *got;
    uint64_t ref_count[ASSAY_LAYOUT_BUCKETS];
    bool same_values; /* the same values equally often, as far as is counted */
    /* Some of the elements that differ. */
    size_t probes[ASSAY_LAYOUT_PROBES];
    size_t n_probes;
    /* Box around the elements that differ, both ends included. */
    int64_t lo[ASSAY_MAX_RANK], hi[ASSAY_MAX_RANK];
    uint64_t work; /* elements that may still be looked at */
};

/* Which element of ref is element i of got; -1: that is not foretold. */
struct assay_layout_map;
typedef int64_t assay_layout_at_fn(const struct assay_layout_map *m, int64_t i);
struct assay_layout_map {
    assay_layout_at_fn *at;
    double bits; /* log2(arrangements of the kind) */
    /* What `at` needs. Affine: got read with dims; strides into ref. */
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK], strides[ASSAY_MAX_RANK], offset;
    int64_t n, p[6];
    /* Of elements, by value: ref's is changed so before it is compared. */
    uint64_t (*value)(uint64_t v, size_t width);
    const uint8_t *from; /* what is compared instead of ref; NULL: ref */
    /* Each element is a fact of its own, the same pair of values too. */
    bool repeats_count;
};

assay_layout_at_fn assay_layout_affine, assay_layout_same_place;

/* Does it give all that it foretells, better than chance? Sets out->compared
 * and all. */
bool assay_layout_fits(struct assay_layout_ask *q,
                       const struct assay_layout_map *m,
                       struct assay_layout *out);

/* The kinds. Each fills *out, which has no kind yet, and is true for the first
 * that fits; also[] are other entries of that very arrangement. */
typedef bool assay_layout_ask_fn(struct assay_layout_ask *q,
                                 struct assay_layout *out);
assay_layout_ask_fn assay_layout_sign, assay_layout_byte_order,
    assay_layout_permuted, assay_layout_reversed, assay_layout_swapped,
    assay_layout_shifted, assay_layout_packed;
/* Not those that are called `not`; NULL: all. */
bool assay_layout_strided(struct assay_layout_ask *q, const char * not,
                          struct assay_layout *out);
bool assay_layout_other_output(struct assay_layout_ask *q,
                               const struct assay_slice *whole,
                               const void *const *values,
                               struct assay_layout *out);

/* Bits of element i, zero extended. */
static inline uint64_t assay_layout_value(const uint8_t *p, size_t width,
                                          size_t i)
{
    uint32_t v4;
    uint16_t v2;
    uint64_t v8;

    switch (width) {
    case 1: return p[i];
    case 2: memcpy(&v2, p + 2 * i, 2); return v2;
    case 4: memcpy(&v4, p + 4 * i, 4); return v4;
    default: memcpy(&v8, p + 8 * i, 8); return v8;
    }
}

/* Strides of a dense tensor, in elements. */
static inline void assay_layout_strides(const int64_t *dims, uint32_t rank,
                                        int64_t *out)
{
    int64_t n = 1;

    for (uint32_t a = rank; a-- > 0; n *= dims[a])
        out[a] = n;
}

#endif
