/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zip file in the making: written to a temporary name, then renamed. Members
 * have the first day that a zip knows, so that equal contents give equal
 * files. One thread.
 */
#ifndef ASSAY_MODEL_ARCHIVE_H
#define ASSAY_MODEL_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/core/err.h"

struct assay_archive;
/* Refuses what is there and is no regular file. */
int assay_archive_create(struct assay_archive **out, const char *path,
                         struct assay_err *err) ASSAY_MUST_CHECK;
/* data is from malloc and belongs to the archive from now on, also when this
 * fails. A member of that name is replaced. */
int assay_archive_take(struct assay_archive *a, const char *member, void *data,
                       size_t n, bool deflate, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The same with a copy. */
int assay_archive_add(struct assay_archive *a, const char *member,
                      const void *data, size_t n, bool deflate,
                      struct assay_err *err) ASSAY_MUST_CHECK;
int assay_archive_finish(struct assay_archive *a, struct assay_err *err)
    ASSAY_MUST_CHECK;                              /* frees a */
void assay_archive_abort(struct assay_archive *a); /* NULL safe, frees a */

#endif
