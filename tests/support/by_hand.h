/* SPDX-License-Identifier: Apache-2.0 */
/* Messages by hand, as a client or an agent that need not be honest. */
#ifndef ASSAY_TESTS_SUPPORT_BY_HAND_H
#define ASSAY_TESTS_SUPPORT_BY_HAND_H

#include <sys/types.h>

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
/* LAYER_BEGIN of layer 0, whose output is that tensor. */
void hand_begin(struct hand *f, const struct assay_slice *s, uint32_t tensor);

/* An agent that is honest up to RUN_START, and then says what run() says and
 * RUN_END. captures 0: one of before RUN_EXPECT, which ends with 7 when it
 * gets that message and with 8 when it is asked for a capture. */
struct hand_agent {
    uint32_t layers, captures;
    void (*run)(struct hand *f, void *self);
    void *self;
    pid_t pid;
    char target[128];
};
/* In a child, which serves one client. */
void hand_agent_start(struct hand_agent *a);
/* Behind its client's end: the exit status. */
int hand_agent_wait(struct hand_agent *a);

#endif
