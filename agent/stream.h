/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run, seen from the parent: takes records out of the worker's ring and
 * sends them as frames, tiles straight from the ring. What is sent is bounded
 * by the client's credit, and what waits by the ring: a slow client makes the
 * worker wait, memory does not grow. Keeps the two deadlines of a run. Loop
 * thread only.
 */
#ifndef ASSAY_AGENT_STREAM_H
#define ASSAY_AGENT_STREAM_H

#include <stdbool.h>

#include <uv.h>

#include "agent/worker.h"
#include "lib/net/deadline.h"
#include "proto/codec.h"

struct assay_stream;

struct assay_stream_events {
    /* Sends a frame. With arg the payload is borrowed until
     * assay_stream_sent(arg) is called (exactly once); a negative value:
     * nothing was taken. */
    int (*send)(void *self, const struct assay_msg *m, const uint8_t *payload,
                void *arg);
    /* So much is queued that nothing more should be sent now;
     * assay_stream_drained() follows. */
    bool (*full)(void *self);
    /* The run is over and its RUN_END was sent: the stream frees itself.
     * fatal: the client took nothing in time, the session has to end and to
     * abandon the stream; may be told again. */
    void (*over)(void *self, bool fatal);
    void *self;
    uint64_t run_ms; /* the run is ended after so long */
};

int assay_stream_start(struct assay_stream **out, uv_loop_t *loop,
                       const struct assay_loaded *loaded,
                       const struct assay_msg_run_start *request,
                       const struct assay_stream_events *events,
                       struct assay_err *err) ASSAY_MUST_CHECK;
void assay_stream_sent(void *arg);
void assay_stream_drained(struct assay_stream *s);
void assay_stream_credit(struct assay_stream *s, uint64_t bytes);
/* Of that run; a late one of another run is no matter. */
void assay_stream_cancel(struct assay_stream *s, uint32_t run);
/* SIGCHLD came: looks whether the worker ended. */
void assay_stream_child(struct assay_stream *s);
/* The session ends: no event comes any more. Tiles that are being sent must
 * have been given back (their connection is closed first). gone() is called
 * when the stream's handles are closed. */
void assay_stream_abandon(struct assay_stream *s, void (*gone)(void *self),
                          void *self);
void assay_stream_kill(struct assay_stream *s); /* at once, before that */

#endif
