/* SPDX-License-Identifier: Apache-2.0 */
/* Messages by hand, as a client or an agent that need not be honest. */
#ifndef ASSAY_TESTS_SUPPORT_BY_HAND_H
#define ASSAY_TESTS_SUPPORT_BY_HAND_H

#include "proto/codec.h"

/* One end of a connection; what fails here ends the process. */
struct hand {
    bool is_agent;
    int fd;
    uint32_t sequence;
    struct assay_frame_decoder in;
    struct assay_msg got;
};

void hand_say(struct hand *f, const struct assay_msg *m, const void *payload);
/* The next message; ends the process when the client hung up. */
enum assay_msg_type hand_hear(struct hand *f);
/* It must be of that type. */
void hand_expect(struct hand *p, enum assay_msg_type type);
/* Says it, and expects the answer; 0: none. */
void hand_ask(struct hand *p, struct assay_msg m, const void *payload,
              enum assay_msg_type answer);
/* A client with the lease and this slice loaded. */
void hand_reach(struct hand *p, const char *path, const struct assay_slice *s);
void hand_close(struct hand *p);
/* Listens as an agent would; its target. */
int hand_listen(char *target, size_t cap);

#endif
