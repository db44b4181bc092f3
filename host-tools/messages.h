/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences by id, with named arguments:
 *   assay_message(buf, sizeof(buf), ASSAY_MSG_NO_LAYER, "name", n, "near", m,
 *                 NULL);
 * Any thread; nothing is allocated, a longer text is cut.
 */
#ifndef ASSAY_HOST_MESSAGES_H
#define ASSAY_HOST_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"

enum assay_message_id {
#define ASSAY_MESSAGE(id, args, text) ASSAY_MSG_##id,
#include "host-tools/messages.def"
#undef ASSAY_MESSAGE
    ASSAY_MSG_COUNT
};

/* Pairs of name and text, ended by NULL. An argument that is not given stays
 * as {name}, so that a test sees it. Returns out. */
const char *assay_message(char *out, size_t cap, enum assay_message_id id, ...)
    __attribute__((sentinel));
/* The same with a text from elsewhere: a cause's advice. */
const char *assay_message_fill(char *out, size_t cap, const char *text, ...)
    __attribute__((sentinel));
/* Fills err with the sentence and returns code. */
int assay_fail_message(struct assay_err *err, int code,
                       enum assay_message_id id, ...) __attribute__((sentinel));

const char *assay_message_name(enum assay_message_id id); /* "NO_LAYER" */
const char *assay_message_text(enum assay_message_id id);
const char *assay_message_args(enum assay_message_id id);

/* Numbers as texts for arguments. */
struct assay_num {
    char text[32];
};
struct assay_num assay_num_u(uint64_t v);
struct assay_num assay_num_f(int digits, double v); /* fixed point */
struct assay_num assay_num_g(int digits, double v); /* significant digits */
struct assay_num assay_num_bytes(uint64_t v);       /* "1.1 kB", "256 MiB" */

#endif
