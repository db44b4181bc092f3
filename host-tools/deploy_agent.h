/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's file that `assay deploy` puts on a board: where it is on this
 * machine, and what it says of itself. It cannot be run here, so it is read:
 * a static ELF program for aarch64 with "@(#)assayd VERSION" in it.
 */
#ifndef ASSAY_HOST_DEPLOY_AGENT_H
#define ASSAY_HOST_DEPLOY_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"

struct assay_agent_file {
    char *path;    /* owned */
    uint8_t *data; /* owned */
    size_t bytes;
    char version[64];
    char sha256[65];
};

/* `path` NULL: beside this program, in a build tree (../aarch64/assayd), an
 * unpacked tarball (aarch64/assayd) or an install prefix
 * (../libexec/assay/aarch64/assayd). */
int assay_agent_file_open(struct assay_agent_file *out, const char *path,
                          struct assay_err *err) ASSAY_MUST_CHECK;
void assay_agent_file_close(struct assay_agent_file *f); /* idempotent */

/* The check alone; pure. `path` is for sentences. */
int assay_agent_file_check(const uint8_t *data, size_t bytes, const char *path,
                           char version[64], struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
