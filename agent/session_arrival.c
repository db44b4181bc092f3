/* SPDX-License-Identifier: Apache-2.0 */
/* A client that sends a little now and then is not served for ever: a message
 * that began has to end, and so have a constant and the inputs of a run. */
#include <inttypes.h>

#include "agent/session.h"

struct arrival {
    uint64_t due_ms; /* UINT64_MAX: nothing is awaited */
    const char *what;
    uint64_t allowed_ms, bytes;
};

static void await(struct arrival *a, const char *what, uint64_t begun_ms,
                  uint64_t allowed_ms, uint64_t bytes)
{
    if (begun_ms + allowed_ms < a->due_ms)
        *a = (struct arrival){begun_ms + allowed_ms, what, allowed_ms, bytes};
}

/* 64 KiB in a second are the least. */
static uint64_t allowed_for(const struct assay_session *s, uint64_t bytes)
{
    return assay_session_deadline(s, ASSAY_DEADLINE_BLOB) +
           bytes / 65536 * 1000;
}

static struct arrival awaited(const struct assay_session *s)
{
    struct arrival a = {.due_ms = UINT64_MAX};

    if (s->message_ms != 0)
        await(&a, "message", s->message_ms,
              assay_session_deadline(s, ASSAY_DEADLINE_MESSAGE),
              assay_frame_pending(&s->decoder));
    if (s->upload.active)
        await(&a, "constant", s->upload.begun_ms,
              allowed_for(s, s->upload.total), s->upload.received);
    if (s->inputs_ms != 0 && s->loaded != NULL)
        await(&a, "inputs", s->inputs_ms,
              allowed_for(s, s->loaded->given_charge), s->loaded->given_charge);
    return a;
}

void assay_session_on_arrival(void *self)
{
    struct assay_session *s = self;
    struct arrival a = awaited(s);
    struct assay_err err = {0};

    if (s->state >= ASSAY_SESSION_CLOSING || a.due_ms == UINT64_MAX)
        return;
    assay_fail(&err, ASSAY_ETIMEOUT,
               "%s did not arrive within %" PRIu64 " ms, only %" PRIu64
               " bytes of it",
               a.what, a.allowed_ms, a.bytes);
    assay_session_fatal(s, &err);
}

/* Behind what was received. While nothing is read, nobody is late. */
void assay_session_arm_arrival(struct assay_session *s)
{
    uint64_t now = uv_now(&s->agent->loop);
    bool begun =
        assay_frame_pending(&s->decoder) > 0 && !assay_conn_is_full(s->conn);
    struct arrival a;

    if (s->state >= ASSAY_SESSION_CLOSING)
        return;
    if (s->paused) {
        assay_deadline_stop(&s->arrival);
        return;
    }
    if (!begun)
        s->message_ms = 0;
    else if (s->message_ms == 0)
        s->message_ms = now + 1; /* never 0 */
    if (s->state != ASSAY_SESSION_LOADED)
        s->inputs_ms = 0;
    a = awaited(s);
    if (a.due_ms == UINT64_MAX)
        assay_deadline_stop(&s->arrival);
    else
        assay_deadline_start(&s->arrival, a.due_ms > now ? a.due_ms - now : 1);
}
