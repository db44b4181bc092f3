/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One integer text of the vendor's simulator,
 * hbdk_output<N>_feature_<feature>_elem_int.txt: header lines that begin with
 * '#', then one line for each row of the last dimension. Dimensions are
 * positional, elements in C order, without padding; the element type is not
 * in the file. Hostile input: counts are held against the file's size before
 * anything is allocated. Pure but for memory; any thread.
 */
#ifndef ASSAY_MODEL_HBDK_TEXT_H
#define ASSAY_MODEL_HBDK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"
#include "lib/core/slice.h"

#define ASSAY_HBDK_MAX_BYTES ((size_t)1 << 28)

struct assay_hbdk_text {
    uint32_t rank; /* 1..ASSAY_MAX_RANK */
    int64_t dims[ASSAY_MAX_RANK];
    size_t count;
    int64_t *values; /* owned */
};

/* n bytes of `file` (for messages). Every value must be one of `dtype`, an
 * integer type. */
int assay_hbdk_text_parse(struct assay_hbdk_text *out, const char *data,
                          size_t n, enum assay_dtype dtype, const char *file,
                          struct assay_err *err) ASSAY_MUST_CHECK;
void assay_hbdk_text_close(struct assay_hbdk_text *t); /* NULL safe */

enum assay_hbdk_kind {
    ASSAY_HBDK_OTHER = 0, /* no name of the simulator's */
    ASSAY_HBDK_INT,
    ASSAY_HBDK_FLOAT,
};
/* What a file name (without folders) says: *feature points into name, *n is
 * its length. */
enum assay_hbdk_kind assay_hbdk_name(const char *name, const char **feature,
                                     size_t *n);
/* The padded copy of an input that the simulator leaves beside its texts. */
bool assay_hbdk_is_copy(const char *name);

#endif
