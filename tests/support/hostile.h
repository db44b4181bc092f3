/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that know the protocol and do not mean well, and tables of what they
 * do to an agent. A case says what is sent in which state, and how that has to
 * end. It is done twice. Behind the second time the agent must have what it had
 * behind the first (budget, descriptors, children, resident memory), and each
 * time the next client must be served.
 *
 * A failure of the support itself ends the test program; what the agent does
 * wrong fails the test (cmocka).
 */
#ifndef ASSAY_TESTS_SUPPORT_HOSTILE_H
#define ASSAY_TESTS_SUPPORT_HOSTILE_H

#include "proto/codec.h"
#include "tests/support/agents.h"
#include "tests/support/slices.h"

struct hostile_peer {
    int fd;
    uint32_t sequence;
    struct assay_frame_decoder in;
    struct assay_msg got; /* the last that came */
    char sentence[512];   /* of it, if it is an error */
};

void hostile_dial(struct hostile_peer *p, const struct agents *a);
void hostile_hang_up(struct hostile_peer *p);
/* As many bytes as the agent takes: false, it hung up or does not read. */
bool hostile_send(struct hostile_peer *p, const void *data, size_t n);
bool hostile_say(struct hostile_peer *p, struct assay_msg m,
                 const void *payload, uint32_t n);
/* A frame with that header, its hash good. */
bool hostile_header(struct hostile_peer *p, const void *header, uint32_t n);
/* The next message's type; 0: the agent hung up. */
int hostile_hear(struct hostile_peer *p);
/* Everything up to that message; the results in between are passed over. */
void hostile_until(struct hostile_peer *p, enum assay_msg_type type);

struct assay_msg hostile_plain(enum assay_msg_type type);
struct assay_msg hostile_number(enum assay_msg_type type, uint64_t number);
struct assay_msg hostile_blob(enum assay_msg_type type, const uint8_t *sha,
                              uint64_t total, uint64_t offset);
struct assay_msg hostile_tensor(uint32_t index, uint64_t total,
                                uint64_t offset);
struct assay_msg hostile_start(uint32_t run, uint64_t credit);

/* A description, and what it is called. */
struct hostile_text {
    struct assay_buf text;
    uint8_t identity[ASSAY_SHA256_LEN];
};
void hostile_text_of(struct hostile_text *t, const struct assay_slice *s);
/* in[n] -> a -> b, a copy each. */
struct assay_slice *hostile_copies(int64_t n);

/* ---- tables ----------------------------------------------------------------- */

#define HOSTILE_SMALL 64       /* elements of the slice of LOADED */
#define HOSTILE_BIG (8u << 20) /* of RUNNING: twice the ring */

enum hostile_stage {
    HOSTILE_HELLO,   /* connected */
    HOSTILE_READY,   /* hello is answered */
    HOSTILE_LEASED,  /* and has the lease */
    HOSTILE_LOADED,  /* a small slice */
    HOSTILE_GIVEN,   /* and its input */
    HOSTILE_RUNNING, /* a big slice, a first tile has come */
};
void hostile_reach(struct hostile_peer *p, const struct agents *a,
                   enum hostile_stage stage);
extern uint64_t hostile_ttl_ms; /* of the leases that it takes; 60 s */
/* Fixtures of a group: the agent, its slices, an observer. */
int hostile_set_up(void **state);
int hostile_tear_down(void **state);

enum hostile_end {
    HOSTILE_FATAL = 0, /* an ERROR, the last word, then the connection's end */
    HOSTILE_REFUSED,   /* an ERROR; the session goes on */
    HOSTILE_ANSWERED,  /* no error; the session goes on */
    HOSTILE_RUN_END,   /* a RUN_END of that code; the session goes on */
    HOSTILE_STALLED,   /* a RUN_END of that code, then the connection's end */
    HOSTILE_SILENT,    /* the connection's end */
    HOSTILE_LEFT,      /* the peer hangs up itself */
};

struct hostile_prefix {
    const char *magic; /* NULL: the right one */
    uint32_t flags, sequence, header, payload, reserved;
    bool bad_hash;
};

struct hostile_case {
    const char *name;
    enum hostile_stage stage;
    /* What is sent: the first of these that is there. */
    const char *bytes;
    const struct hostile_prefix *prefix;   /* with a header of zeros */
    const char *header;                    /* of a frame that is good else */
    const struct assay_msg *messages;      /* payload_bytes zeros behind each */
    void (*damage)(struct assay_slice *s); /* hostile_copies(64), then loaded */
    void (*act)(struct hostile_peer *p);
    size_t n; /* of bytes, header; messages */
    enum hostile_end end;
    int code;
    const char *words; /* that the sentence has; NULL: any */
};

/* Runs all cases, a test each, on an agent of 64 MiB; with "--table" prints
 * them as rows for docs/testing.md instead. The exit code. */
int hostile_main(int argc, char **argv, const struct hostile_case *cases,
                 size_t n);
/* The agent of these tests, for `act`. */
const struct agents *hostile_agent(void);

#endif
