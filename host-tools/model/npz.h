/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy and npz in and out: dense little-endian C or Fortran order arrays
 * (Fortran order is turned into C order on reading). Arrays that are not
 * numbers are ignored with a note; names that begin with "__" are remarks.
 * Hostile input: every size is checked against the file before allocating.
 */
#ifndef ASSAY_MODEL_NPZ_H
#define ASSAY_MODEL_NPZ_H

#include "host-tools/model/model.h"

struct assay_array {
    char *name;             /* member name without ".npy" */
    enum assay_dtype dtype; /* f64 arrays are narrowed to F32, bool to U8, */
    uint32_t rank;          /* int64 kept as S64 */
    int64_t dims[ASSAY_MAX_RANK];
    size_t bytes;
    void *data; /* owned by the npz */
};

struct assay_npz {
    struct assay_array *arrays;
    size_t n;
    char *meta;   /* text of "__meta__" or NULL */
    char *layers; /* text of "__layers__" or NULL */
};

int assay_npz_read(struct assay_npz *out, const char *path,
                   const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* One .npy file as an npz with one array named `name`. */
int assay_npy_read(struct assay_npz *out, const char *path, const char *name,
                   const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_npz_close(struct assay_npz *z); /* NULL safe, idempotent */
const struct assay_array *assay_npz_find(const struct assay_npz *z,
                                         const char *name);

/* Writes to a temporary name, then renames. Arrays are stored (no deflate). */
struct assay_npz_writer;
int assay_npz_create(struct assay_npz_writer **out, const char *path,
                     struct assay_err *err) ASSAY_MUST_CHECK;
int assay_npz_add(struct assay_npz_writer *w, const char *name,
                  enum assay_dtype dtype, uint32_t rank, const int64_t *dims,
                  const void *data, struct assay_err *err) ASSAY_MUST_CHECK;
/* Dense bytes in the tensor's stored order; npz_tensor.c. */
int assay_npz_add_tensor(struct assay_npz_writer *w,
                         const struct assay_tensor *t, const void *data,
                         struct assay_err *err) ASSAY_MUST_CHECK;
/* The same without a file: dense bytes of t into `source`, which has room. */
void assay_npz_source_order(const struct assay_tensor *t, const void *stored,
                            void *source);
int assay_npz_finish(struct assay_npz_writer *w, struct assay_err *err)
    ASSAY_MUST_CHECK;                             /* frees w */
void assay_npz_abort(struct assay_npz_writer *w); /* NULL safe, frees w */

#endif
