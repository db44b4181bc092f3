/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden rows against the interpreters and kernels of this build.
 * A csv file becomes a table of cells; each checker sorts the rows that share
 * a program next to each other and runs them as the lanes of one block.
 * Not thread safe. Everything here ends the program when memory runs out.
 */
#ifndef ASSAY_TESTS_VCHECK_H
#define ASSAY_TESTS_VCHECK_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "lib/core/slice.h"

#define ASSAY_VC_MAX_COLS 16

struct assay_vc_table {
    char *text; /* owned; the cells point into it */
    size_t rows, cols;
    const char **cells; /* rows * cols, owned */
    size_t *order;      /* rows, owned: indices sorted by the group's key */
    size_t failed;      /* rows, counted by assay_vc_expect */
    unsigned told;      /* failures that were printed */
    const char *file, *rung;
};

/* NULL when the file is not there or its header is not `header`: told. */
struct assay_vc_table *assay_vc_load(const char *dir, const char *file,
                                     const char *header);
void assay_vc_free(struct assay_vc_table *t);
const char *assay_vc_cell(const struct assay_vc_table *t, size_t row,
                          size_t col);
int64_t assay_vc_int(const struct assay_vc_table *t, size_t row, size_t col);
float assay_vc_f32(const struct assay_vc_table *t, size_t row, size_t col);
double assay_vc_f64(const struct assay_vc_table *t, size_t row, size_t col);
/* A rounding mode's name, or -1. */
int assay_vc_round(const char *name);

/*
 * Sorts `order` by the columns of the mask; next_group() then gives the end of
 * the group that begins at order[first].
 */
void assay_vc_sort(struct assay_vc_table *t, unsigned column_mask);
size_t assay_vc_group_end(const struct assay_vc_table *t, unsigned column_mask,
                          size_t first);
/* Counts a row whose result is not the expected one, and prints the first. */
void assay_vc_expect(struct assay_vc_table *t, size_t row, int64_t expected,
                     int64_t got);
/* Counts a row that could not be run. */
void assay_vc_refused(struct assay_vc_table *t, size_t row, const char *why);
void *assay_vc_alloc(size_t count, size_t size); /* zeroed */

/* What is driven: the interpreter, and the table for whole kernels. */
struct assay_vc_under_test {
    const char *rung;
    assay_program_fn *program;
    struct assay_kernel_table kernels;
};

typedef void assay_vc_check_fn(struct assay_vc_table *t,
                               const struct assay_vc_under_test *u);
assay_vc_check_fn assay_vc_requant, assay_vc_hbm, assay_vc_shift,
    assay_vc_multiplier;
assay_vc_check_fn assay_vc_add, assay_vc_mul, assay_vc_avgpool,
    assay_vc_quantize, assay_vc_dequantize, assay_vc_rescale, assay_vc_softmax,
    assay_vc_image;

#endif
