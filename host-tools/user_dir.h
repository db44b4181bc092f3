/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where this user's files are: keys and pins in the folder of configuration,
 * TLS sessions in that of caches (XDG base directories). Any thread.
 */
#ifndef ASSAY_HOST_USER_DIR_H
#define ASSAY_HOST_USER_DIR_H

#include <limits.h>

#include "lib/core/err.h"

/* $XDG_CONFIG_HOME/assay/FILE, else ~/.config/assay/FILE; "" gives the
 * folder. Nothing is made. */
int assay_user_config(char out[PATH_MAX], const char *file,
                      struct assay_err *err) ASSAY_MUST_CHECK;
/* $XDG_CACHE_HOME/assay/FILE, else ~/.cache/assay/FILE. */
int assay_user_cache(char out[PATH_MAX], const char *file,
                     struct assay_err *err) ASSAY_MUST_CHECK;
/* Makes a folder, and those above it, for this user alone (0700); one that is
 * there is left as it is. */
int assay_user_make_folder(const char *path, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* "folder/file"; refused where it is too long. */
int assay_user_join(char out[PATH_MAX], const char *folder, const char *file,
                    struct assay_err *err) ASSAY_MUST_CHECK;

#endif
