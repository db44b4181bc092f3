/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numerics files: the arithmetic of a family as data (docs/numerics.md,
 * "Rules"). JSON, schema "assay-numerics/1":
 *
 *   {"schema": "assay-numerics/1", "name": "nash", "note": "...",
 *    "base": "bayes-e",                    rules of it unless given below
 *    "rules": {"conv": {"rule": "add bias; ...",
 *                       "proved": {"int8": "what proved it"},
 *                       "note": "..."}}}
 *
 * Strict: an unknown key, form or dtype and a rule that is none are refused
 * with one sentence that says where. Not thread safe.
 */
#ifndef ASSAY_MODEL_NUMERICS_FILE_H
#define ASSAY_MODEL_NUMERICS_FILE_H

#include <stdbool.h>

#include "lib/core/form.h"

/* i-th built-in one, NULL behind the last; its text, NULL: no such name. */
const char *assay_numerics_builtin(unsigned i);
const char *assay_numerics_text(const char *name);
/* Those and the ones of lib/core/numerics.def: all that --numerics knows. */
const char *assay_numerics_known(unsigned i);

/* Names of files hold a '/' or end in ".json". */
bool assay_numerics_is_path(const char *name);

struct assay_numerics_file {
    struct assay_arena *arena; /* owns all that n points to */
    struct assay_numerics n;
};
/* A built-in one by its name, or a file by its path. Leaves f empty when it
 * fails; close is harmless then. */
int assay_numerics_open(struct assay_numerics_file *f, const char *name,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* From text; source: how errors and reports name it. */
int assay_numerics_parse(struct assay_numerics_file *f, const char *text,
                         size_t size, const char *source, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_numerics_close(struct assay_numerics_file *f); /* idempotent */

#endif
