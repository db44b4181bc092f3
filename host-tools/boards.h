/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boards that this user trusts: the file `boards` of the configuration
 * folder, one line "HOST:PORT SHA256:..." a board (lib/net/pins.h). Any
 * thread; processes that add at the same time wait for each other.
 */
#ifndef ASSAY_HOST_BOARDS_H
#define ASSAY_HOST_BOARDS_H

#include <limits.h>

#include "lib/core/err.h"
#include "lib/net/pins.h"
#include "lib/net/target.h"

struct assay_boards {
    char path[PATH_MAX];
    struct assay_pins pins;
};

/* A missing file is an empty set. */
int assay_boards_load(struct assay_boards *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_boards_close(struct assay_boards *b);

/* What a target is called there: HOST:PORT in lower case, with the port, and
 * brackets around an address of IPv6. */
int assay_board_name(char out[ASSAY_PIN_NAME_MAX + 1],
                     const struct assay_target *target, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Adds a line and keeps the others, comments too; the file appears whole. */
int assay_boards_add(const struct assay_boards *b, const char *name,
                     const char *fingerprint, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
