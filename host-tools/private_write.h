/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the small files that lib/net/private_file.h reads; here, since the
 * agent writes none. Any thread. Sentences name the file, and `what` it is.
 */
#ifndef ASSAY_HOST_PRIVATE_WRITE_H
#define ASSAY_HOST_PRIVATE_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>

#include "lib/core/err.h"

/* Makes a file of this mode; one that is there is never overwritten. */
int assay_private_create(const char *path, const char *what, mode_t mode,
                         const void *data, size_t n, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The same, but takes the place of one that is there (rename). durable: it is
 * on the disk before, so that a power cut leaves the old one or the new one. */
int assay_private_replace(const char *path, const char *what, mode_t mode,
                          bool durable, const void *data, size_t n,
                          struct assay_err *err) ASSAY_MUST_CHECK;

#endif
