/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS sessions of boards, kept for the next command, so that many short ones
 * stay quick: $XDG_CACHE_HOME/assay/sessions/, one file a board and key of
 * ours, mode 0600 in a folder 0700. A session is a secret, and nothing else
 * than a saving of time: one that is missing, old, damaged or readable for
 * others is as good as none, and no error of this room is ever told.
 * Any thread; one cache object a connection.
 */
#ifndef ASSAY_HOST_SESSION_CACHE_H
#define ASSAY_HOST_SESSION_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSAY_SESSION_LIFETIME_S (8 * 3600)

struct assay_session_cache {
    char path[PATH_MAX]; /* "": there is no folder for it */
    bool offered;        /* get() gave one */
};

/* `board` is HOST:PORT, `fingerprint` that of our own key. */
void assay_session_cache_init(struct assay_session_cache *c, const char *board,
                              const char *fingerprint);
/* As struct assay_tls_config wants them; self is the cache. */
size_t assay_session_cache_get(void *self, uint8_t *out, size_t cap);
void assay_session_cache_put(void *self, const uint8_t *blob, size_t n);
/* What was offered led to nothing. */
void assay_session_cache_forget(struct assay_session_cache *c);

#endif
