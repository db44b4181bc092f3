/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What client.c (connection, hello, lease) and client_load.c, client_run.c
 * share: a synchronous face over a private loop. Every wait ends by a
 * message, the peer's end, a deadline or an interrupt. One thread.
 */
#ifndef ASSAY_HOST_CLIENT_H
#define ASSAY_HOST_CLIENT_H

#include <stdbool.h>

#include "host-tools/backend.h"
#include "lib/net/conn.h"
#include "lib/net/dial.h"
#include "lib/net/target.h"
#include "proto/codec.h"
#include "proto/frame.h"

struct assay_client {
    struct assay_backend base; /* first: a backend is cast to its client */
    uv_loop_t loop;
    uv_timer_t tick; /* wakes a wait, so that it can look at its deadline */
    struct assay_target target;
    struct assay_dial dial;
    struct assay_conn *conn;      /* NULL: none yet, or closed */
    struct assay_client_tls *tls; /* NULL: the target is not behind TLS */
    struct assay_frame_decoder decoder;
    uint64_t timeout_ms;
    const volatile int *interrupted; /* borrowed, may be NULL */
    char owner[201];
    bool force, dialled, leased;
    void (*taken)(const char *owner);
    int dial_status;
    bool ended; /* the peer's end, or a failure of the connection */
    int end_status;
    bool exited; /* EXEC: the process is reaped */
    int64_t exit_status;
    int exit_signal;
    struct assay_err broken; /* code: nothing can be asked any more */
    uint32_t sequence;
    uint64_t
        heard_ms; /* last message, or the last time that we did not listen */
    uint64_t received;
    uint32_t version, captures;      /* that the agent has */
    struct assay_msg info_msg;       /* owner of the strings that info() gave */
    const struct assay_slice *slice; /* borrowed; NULL: nothing loaded */
    uint32_t run;                    /* number of the last run */
};

uint64_t assay_client_now_ms(struct assay_client *c);
bool assay_client_interrupted(const struct assay_client *c);

/* Queues a message with its payload (copied); waits while much is queued. */
int assay_client_send(struct assay_client *c, const struct assay_msg *m,
                      const void *payload, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* One step of the loop: at most 50 ms. */
void assay_client_step(struct assay_client *c);
/* A message that is there: 1 (close it; its payload is valid until the next
 * step), 0 none, negative: the stream is broken or ended, told in err. */
int assay_client_poll(struct assay_client *c, struct assay_msg *out,
                      struct assay_err *err) ASSAY_MUST_CHECK;
/* Waits for the answer `want`; an ERROR message becomes err. */
int assay_client_expect(struct assay_client *c, enum assay_msg_type want,
                        struct assay_msg *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* err from an ERROR message or the error of a RUN_END. */
int assay_client_told(struct assay_client *c, const struct assay_msg_error *e,
                      struct assay_err *err);

/* Control bytes of a decoded string become '?': it goes to a terminal. */
void assay_client_printable(const char *s);

int assay_client_self_test(struct assay_backend *b, uint64_t memory_bytes,
                           void (*found)(void *self,
                                         const struct assay_msg_self_test *),
                           void *self, struct assay_err *err);
int assay_client_load(struct assay_backend *b, const struct assay_slice *slice,
                      struct assay_err *err);
int assay_client_run(struct assay_backend *b,
                     const struct assay_backend_run *run,
                     const struct assay_results *results,
                     struct assay_err *err);

#endif
