/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays buffers out in one block by lifetimes: buffers that live at the same
 * time never overlap, the rest share. Buffers are taken and given back in
 * execution order; the smallest gap that fits is used (best fit).
 *
 * Offsets only, no memory is touched. Private to lib/engine, one thread.
 */
#ifndef ASSAY_ENGINE_ARENA_H
#define ASSAY_ENGINE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct assay_layout_gap {
    size_t at, size;
};

struct assay_layout {
    struct assay_layout_gap *gaps; /* owned, ascending, never adjacent */
    size_t n_gaps, cap_gaps;
    size_t end; /* bytes used so far: the size of the block */
};

void assay_layout_init(struct assay_layout *l);
void assay_layout_close(struct assay_layout *l); /* NULL safe */
/* Multiples of ASSAY_ALIGNMENT. Negative: ASSAY_EMEMORY, or ASSAY_ERANGE when
 * the block would leave size_t. A size of 0 takes nothing. */
int assay_layout_take(struct assay_layout *l, size_t size, size_t *at);
int assay_layout_give(struct assay_layout *l, size_t at, size_t size);
/* size up to the next multiple of ASSAY_ALIGNMENT; false: overflow. */
bool assay_layout_round(size_t size, size_t *out);

#endif
