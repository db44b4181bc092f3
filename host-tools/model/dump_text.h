/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements as text, as the board's tools write them beside a .bin: decimal
 * numbers between blanks, commas or line ends; lines that begin with '#' are
 * remarks. Hostile input. Pure but for memory.
 */
#ifndef ASSAY_MODEL_DUMP_TEXT_H
#define ASSAY_MODEL_DUMP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"
#include "lib/core/slice.h"

#define ASSAY_DUMP_MAX_TEXT ((size_t)1 << 28)

struct assay_dump_text {
    size_t n;
    double *v; /* owned */
    bool integers;
    unsigned decimals; /* the most digits behind a point */
};
/* data[n] is 0. */
int assay_dump_text_parse(struct assay_dump_text *out, const char *data,
                          size_t n, const char *file, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_dump_text_close(struct assay_dump_text *t); /* NULL safe */
/* An element of a file, as a number. */
double assay_dump_value(enum assay_dtype dtype, const uint8_t *p);
/* The first element whose text is another number than its bytes, beyond the
 * digits that were printed; t->n: none is. t has as many as elements has. */
size_t assay_dump_text_differs(const struct assay_dump_text *t,
                               enum assay_dtype dtype, const uint8_t *elements);

#endif
