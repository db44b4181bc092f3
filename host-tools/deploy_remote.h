/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command on a board through the user's ssh: bytes in, bytes out, with a
 * deadline on standing still and caps on what is taken. One thread; each call
 * has a loop of its own.
 */
#ifndef ASSAY_HOST_DEPLOY_REMOTE_H
#define ASSAY_HOST_DEPLOY_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"

/* Keys or an agent of the user's: each step is a connection, and each would
 * ask again. ASSAY_SSH replaces all of it. */
#define ASSAY_REMOTE_SSH "ssh -o BatchMode=yes -o ConnectTimeout=15"

struct assay_remote {
    const char *host;    /* [USER@]HOST */
    uint64_t timeout_ms; /* no byte moved, and not ended, for so long */
    const volatile int *interrupted; /* borrowed, may be NULL */
};

struct assay_remote_call {
    const char *doing;   /* "asking the board", for sentences */
    const char *command; /* for the board's shell */
    const uint8_t *input;
    size_t input_bytes;
    size_t output_max;
    struct assay_buf output; /* owned by the caller, init'ed by him */
    char said[256];          /* end of its stderr, one line, printable */
};

/* 0: it ended with status 0. ASSAY_ECONNECT: ssh itself failed (255) or could
 * not be started; ASSAY_ETIMEOUT; ASSAY_ECANCELLED; ASSAY_ELOST: it was
 * killed; ASSAY_EIO: another status, or more than output_max. Input that was
 * not taken is no failure. */
int assay_remote_run(const struct assay_remote *r, struct assay_remote_call *c,
                     struct assay_err *err) ASSAY_MUST_CHECK;

#endif
