/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What binds the files of a case together: case.json, the __meta__ of a
 * golden, hashes, and samples along a first axis. Used by case.c and
 * observed.c.
 */
#ifndef ASSAY_MODEL_CASE_META_H
#define ASSAY_MODEL_CASE_META_H

#include "host-tools/model/case.h"

/* case.json of n bytes: fills what is still unknown in c. */
int assay_case_json(struct assay_case *c, const char *text, size_t n,
                    const char *file, struct assay_err *err) ASSAY_MUST_CHECK;
/* __meta__ of a golden: overwrites what case.json said. */
int assay_case_meta(struct assay_case *c, const char *text, const char *file,
                    struct assay_err *err) ASSAY_MUST_CHECK;
/* __meta__ of a column's npz, or NULL: who made it. Remarks that cannot be
 * read tell nothing; assay_case_check_meta refuses them. */
void assay_case_maker(struct assay_case_column *column, const char *text,
                      const char *file);
/* Refuses a golden whose remarks name another model, or another input:
 * sha256_of(self, name, hex) gives the hash of an input of this sample, and
 * false where the sample has none. */
int assay_case_check_meta(const char *text, const char *file,
                          const uint8_t model_sha256[ASSAY_SHA256_LEN],
                          bool (*sha256_of)(void *self, const char *name,
                                            char hex[65]),
                          void *self, struct assay_err *err) ASSAY_MUST_CHECK;
/* Samples in an inputs file: *rows 0 when its arrays are one sample. */
int assay_case_rows(const char *model, const char *inputs, size_t *rows,
                    const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
