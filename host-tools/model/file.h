/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files in memory, with a cap; what a path is. Any thread. */
#ifndef ASSAY_MODEL_FILE_H
#define ASSAY_MODEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"

/* *data is owned by the caller (assay_free) and has a NUL behind its end. */
int assay_file_read(uint8_t **data, size_t *n, const char *path, size_t cap,
                    struct assay_err *err) ASSAY_MUST_CHECK;

/* A file that is looked at where it lies. What has been passed can be dropped
 * from memory and comes back by itself when it is read again. A file that
 * somebody cuts meanwhile kills the process (SIGBUS): only files above 16 MiB
 * are mapped, the others are read whole and stay. An empty file is neither:
 * size 0, data NULL. */
struct assay_file_map {
    const uint8_t *data;
    size_t size, dropped;
    bool whole; /* read, not mapped */
};
int assay_file_map(struct assay_file_map *m, const char *path, size_t cap,
                   struct assay_err *err) ASSAY_MUST_CHECK;
/* Bytes below offset leave memory; map is the struct. */
void assay_file_drop(void *map, size_t offset);
void assay_file_unmap(struct assay_file_map *m);

/* A new file appears complete or not at all; what is there and is no regular
 * file (a device, a pipe, a link) is written to, never replaced. */
int assay_file_write(const char *path, const void *data, size_t n,
                     struct assay_err *err) ASSAY_MUST_CHECK;

/* Through links; false too where nothing is there. */
bool assay_file_is_regular(const char *path);
bool assay_file_is_folder(const char *path);
/* "folder/name" ("name" where folder is ""), owned by the caller; NULL: no
 * memory. */
char *assay_file_join(const char *folder, const char *name);

#endif
