/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded slices and exchanges as files (proto/bundle.h): a reader of models
 * for .slice and .assay, a case of an .assay, and how they are written.
 */
#ifndef ASSAY_MODEL_RECORD_H
#define ASSAY_MODEL_RECORD_H

#include "host-tools/model/case.h"

extern const struct assay_model_reader assay_slice_reader;
extern const struct assay_model_reader assay_bundle_reader;

struct assay_bundle;

/* All of a file: *out is owned, freed by assay_record_close(). */
int assay_record_read(struct assay_bundle **out, const char *path,
                      struct assay_err *err) ASSAY_MUST_CHECK;
void assay_record_close(struct assay_bundle *b); /* NULL safe */
/* Text of a note, or "". */
const char *assay_record_text(const struct assay_bundle *b, const char *key);

/* Writes to a temporary name, then renames. */
int assay_record_write(const char *path, const struct assay_buf *bytes,
                       struct assay_err *err) ASSAY_MUST_CHECK;

/* A case of an .assay: model and samples are in it. One without samples is
 * refused. */
int assay_case_from_record(struct assay_case *out, const char *path,
                           struct assay_err *err) ASSAY_MUST_CHECK;

/* For sample.c, observed.c and case_columns.c, where c->record is there. */
enum assay_record_kind {
    ASSAY_RECORD_INPUTS = 0,
    ASSAY_RECORD_EXPECTED = 1,
    ASSAY_RECORD_GOT = 2
};
/* Tensors of that kind, copied; every input must be there. `slice` is the
 * record's as the reader gives it. */
int assay_record_sample(struct assay_sample *out, const struct assay_case *c,
                        size_t sample, const struct assay_slice *slice,
                        enum assay_record_kind kind, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* sim or bpu, where that is the column that was recorded. */
int assay_record_columns(struct assay_case *c, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Borrowed bytes of a tensor that was got, or NULL. */
const void *assay_record_got(const struct assay_case *c, size_t sample,
                             uint32_t tensor);

#endif
