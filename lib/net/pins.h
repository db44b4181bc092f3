/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is trusted by the fingerprint of a key: the agent's file `authorized`
 * (names of clients) and the host's file `boards` (addresses of boards).
 *
 *     # comment
 *     NAME SHA256:fingerprint
 *
 * A line is one pin; blank lines and lines that begin with # are passed over.
 * Taking a line away takes the trust away. Caps: ASSAY_PINS_FILE_MAX bytes,
 * ASSAY_PINS_MAX pins, ASSAY_PIN_NAME_MAX characters a name, which are
 * printable ASCII without blanks. Any thread; a set is read-only once loaded.
 */
#ifndef ASSAY_NET_PINS_H
#define ASSAY_NET_PINS_H

#include <stddef.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/net/identity.h"

#define ASSAY_PINS_FILE_MAX (256u * 1024u)
#define ASSAY_PINS_MAX 1024u
#define ASSAY_PIN_NAME_MAX 200u /* a lease names its owner with as many */

struct assay_pin {
    const char *name; /* in the arena */
    char fingerprint[ASSAY_FINGERPRINT_TEXT];
};

struct assay_pins {
    struct assay_arena *arena; /* owns the rest; NULL: an empty set */
    struct assay_pin *pins;
    size_t count;
};

enum assay_pins_kind {
    ASSAY_PINS_CLIENTS, /* a name once, a fingerprint once: it gives the name */
    ASSAY_PINS_BOARDS,  /* an address once; one board may have several */
};

/* The file `authorized`. Refused when it is not a regular file, when group or
 * others may write it, or when it belongs to neither this user nor root. */
int assay_pins_load(struct assay_pins *out, const char *path,
                    struct assay_err *err) ASSAY_MUST_CHECK;
/* The file `boards`, on the same terms; a missing one is an empty set. */
int assay_pins_load_boards(struct assay_pins *out, const char *path,
                           struct assay_err *err) ASSAY_MUST_CHECK;
/* The same from memory; `path` is what errors call it. */
int assay_pins_parse(struct assay_pins *out, const char *text, size_t n,
                     enum assay_pins_kind kind, const char *path,
                     struct assay_err *err) ASSAY_MUST_CHECK;
void assay_pins_close(struct assay_pins *pins); /* NULL safe, idempotent */

/* The name that a fingerprint has, or NULL; borrowed until close. */
const char *assay_pins_find(const struct assay_pins *pins,
                            const char *fingerprint);
/* The fingerprint of a name, or NULL. */
const char *assay_pins_find_name(const struct assay_pins *pins,
                                 const char *name);
/* Why `name` cannot stand in such a file, or NULL. */
const char *assay_pins_bad_name(const char *name);

#endif
