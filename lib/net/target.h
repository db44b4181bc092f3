/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an agent is: [tls:]HOST[:PORT] | unix:PATH | exec:COMMAND |
 * ssh:USER@HOST[:PATH]. Pure parsing; nothing is resolved or opened. Beyond
 * loopback a HOST is TLS without saying so.
 * Also the address of `--listen` ([tls:]HOST:PORT or unix:PATH).
 */
#ifndef ASSAY_NET_TARGET_H
#define ASSAY_NET_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"

#define ASSAY_DEFAULT_PORT 7410

enum assay_target_kind {
    ASSAY_TARGET_TCP = 1,
    ASSAY_TARGET_UNIX = 2,
    ASSAY_TARGET_EXEC = 3, /* ssh: too: argv starts the user's own ssh */
};

struct assay_target {
    enum assay_target_kind kind;
    bool is_ssh;
    bool is_tls;               /* TCP */
    struct assay_arena *arena; /* owns all strings */
    const char *text;          /* as it was given */
    const char *host;          /* TCP: without brackets */
    uint16_t port;             /* TCP */
    const char *path;          /* UNIX */
    char **argv;               /* EXEC, ends with NULL */
};

int assay_target_parse(struct assay_target *out, const char *text,
                       struct assay_err *err) ASSAY_MUST_CHECK;
void assay_target_close(struct assay_target *t); /* idempotent */

/* Is a host (a name or an address) this machine's loopback? */
bool assay_target_is_loopback(const char *host);

/* Splits like a shell's words: blanks, '…', "…" and backslash; no variables,
 * no globs. The array ends with NULL. */
int assay_split_words(struct assay_arena *arena, const char *text, char ***argv,
                      struct assay_err *err) ASSAY_MUST_CHECK;

#endif
