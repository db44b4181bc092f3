/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files that decide whom we trust or who we are: read whole, and only
 * where nobody else can have written (or read) them. Any thread. Sentences
 * name the file, and `what` it is ("private key").
 */
#ifndef ASSAY_NET_PRIVATE_FILE_H
#define ASSAY_NET_PRIVATE_FILE_H

#include <stddef.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"

#define ASSAY_MODE_SECRET 0077u  /* nothing for group and others */
#define ASSAY_MODE_TRUSTED 0022u /* they may read it */

/*
 * Appends a file of up to `cap` bytes to `out`. Refused: not a regular file,
 * a bit of `forbidden` set in its mode, owned by neither this user nor root.
 * ASSAY_EIO when it cannot be opened, errno then says why.
 */
int assay_private_read(struct assay_buf *out, const char *path,
                       const char *what, unsigned forbidden, size_t cap,
                       struct assay_err *err) ASSAY_MUST_CHECK;
#endif
