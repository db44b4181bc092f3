/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of files and of folders of files. One thread. */
#ifndef ASSAY_HOST_CHAIN_FILES_H
#define ASSAY_HOST_CHAIN_FILES_H

#include "host-tools/chain.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

/* Paths of files, and of folders, whose files count in the order of their
 * names; equal neighbours once. Texts go to the arena. Nothing that can be
 * read: item->here stays false. */
int assay_chain_hash(struct assay_chain_item *item, struct assay_arena *arena,
                     const char *const *paths, size_t n, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The one regular file in `folder` whose name ends in one of `ends` (NULL at
 * the end); of several the one that begins with `prefix`. Owned; NULL: none,
 * and *several counts them. */
char *assay_chain_find(const char *folder, const char *const *ends,
                       const char *prefix, uint32_t *several);

#endif
