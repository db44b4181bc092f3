/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One npy document in memory, parsed. Used by npz.c; pure, any thread.
 */
#ifndef ASSAY_MODEL_NPY_H
#define ASSAY_MODEL_NPY_H

#include "host-tools/model/npz.h"

/* An array of more bytes than this is refused, in any file. */
#define ASSAY_NPY_MAX_BYTES ((size_t)1 << 30)

struct assay_npy {
    bool is_number; /* array is filled (its name is not) */
    char *text;     /* a string of rank 0 as UTF-8, owned; else NULL */
    struct assay_array array;
    char descr[48]; /* numpy's type word, for messages */
};

/* `what` names the document in messages: "a.npz member 'x'". On success the
 * caller owns out->array.data and out->text. */
int assay_npy_parse(struct assay_npy *out, const uint8_t *data, size_t n,
                    const char *what, struct assay_err *err) ASSAY_MUST_CHECK;

/* The header of version 1.0 for a little-endian C order array, padded to a
 * multiple of 64 bytes. Returns its length, 0 when it does not fit. */
size_t assay_npy_header(uint8_t *out, size_t cap, enum assay_dtype dtype,
                        uint32_t rank, const int64_t *dims);

#endif
