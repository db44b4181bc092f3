/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the bytes of a dumped tensor may lie in a file. The runtime writes the
 * memory of a tensor as the accelerator has it: axes in NHWC or NCHW order,
 * rows padded to what its march wants, more bytes at the end. Neither is in
 * the file. So all arrangements are listed that have the file's size; those
 * stay whose padding is zero; who asks decides between those that give
 * different elements, and never by a guess. docs/horizon.md, "Dumps".
 * Pure but for memory.
 */
#ifndef ASSAY_MODEL_DUMP_LAYOUT_H
#define ASSAY_MODEL_DUMP_LAYOUT_H

#include "lib/core/err.h"
#include "lib/core/slice.h"

/* Which orders of axes a file may have; bits. The source's order is the
 * model's own. */
enum assay_dump_orders {
    ASSAY_DUMP_SOURCE = 1,
    ASSAY_DUMP_STORED = 2, /* NHWC of a tensor that the model has as NCHW */
    ASSAY_DUMP_NCHW = 4,   /* NCHW of a tensor that the model has as NHWC */
};

/* Alignment by march, named as horizon.md has it. */
enum assay_dump_march {
    ASSAY_DUMP_ANY = 0,
    ASSAY_DUMP_BAYES, /* X3, X5, J5: channels to 16 to 256 bytes */
    ASSAY_DUMP_NASH,  /* J6E, J6M: rows to 32 bytes */
    ASSAY_DUMP_NASH_P /* J6P, J6H: rows to 64 bytes */
};
enum assay_dump_march assay_dump_march(const char *march); /* "nash-e", "" */

struct assay_dump_layout {
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];  /* of the source's axes */
    size_t stride[ASSAY_MAX_RANK]; /* bytes, by the source's axes */
    uint8_t order[ASSAY_MAX_RANK]; /* the source's axes, outermost first */
    size_t unit, bytes;            /* of an element; without the tail */
    char text[112];                /* "NHWC, last axis to 16 bytes" */
};

/* Given strides, in the order of `valid`; false: these are no dimensions of t,
 * or the file is too short for them. */
bool assay_dump_layout_given(struct assay_dump_layout *out,
                             const struct assay_tensor *t, size_t unit,
                             uint32_t rank, const int64_t *valid,
                             const int64_t *stride, size_t file_bytes);

/* Is a file of so many bytes this tensor with its padding, and nothing more? */
bool assay_dump_layout_ends(const struct assay_dump_layout *l,
                            size_t file_bytes);

#define ASSAY_DUMP_MAX_LAYOUTS 96u
/* Layouts of t with elements of `unit` bytes for a file of `bytes`; those of
 * the march first, and others only where it has none. Their number. */
size_t assay_dump_layouts(struct assay_dump_layout *out,
                          const struct assay_tensor *t, size_t unit,
                          unsigned orders, enum assay_dump_march march,
                          size_t bytes);
/* The elements, dense, in the source's order of axes. */
void assay_dump_strip(const struct assay_dump_layout *l, const uint8_t *file,
                      uint8_t *dst);
/* The same in the file's order of axes. */
void assay_dump_strip_file_order(const struct assay_dump_layout *l,
                                 const uint8_t *file, uint8_t *dst);
/* Is everything zero that is no element? dense: what strip gave. */
bool assay_dump_padding_zero(const struct assay_dump_layout *l,
                             const uint8_t *file, size_t bytes,
                             const uint8_t *dense);
size_t assay_dump_dense_bytes(const struct assay_dump_layout *l);

#endif
