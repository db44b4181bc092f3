/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files in memory, with a cap. Any thread. */
#ifndef ASSAY_MODEL_FILE_H
#define ASSAY_MODEL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"

/* *data is owned by the caller (assay_free) and has a NUL behind its end. */
int assay_file_read(uint8_t **data, size_t *n, const char *path, size_t cap,
                    struct assay_err *err) ASSAY_MUST_CHECK;

#endif
