/* SPDX-License-Identifier: Apache-2.0 */
/* Hello, status and the lease: what may have to ask another process. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/log.h"
#include "agent/session.h"
#include "lib/net/conn_tls.h"
#include "proto/version.h"

#define TTL_DEFAULT_MS 60000u
#define TTL_MIN_MS 1000u
#define TTL_MAX_MS 3600000u
#define ATTEMPTS 20

static void try_acquire(struct assay_session *s);

static void refuse_busy(struct assay_session *s,
                        const struct assay_lease_holder *h)
{
    struct assay_err err = {0};

    if (h != NULL && h->owner[0] != '\0')
        assay_fail(&err, ASSAY_EBUSY,
                   "board '%s' is leased to '%.200s' since %" PRIu64
                   " s, for %" PRIu64
                   " s more unless it is used (--force takes it over)",
                   s->agent->board_id, h->owner, h->held_ms / 1000,
                   (h->left_ms + 999) / 1000);
    else
        assay_fail(&err, ASSAY_EBUSY,
                   "board '%s' is leased by another process that does not "
                   "answer",
                   s->agent->board_id);
    assay_session_refuse(s, &err);
}

/* h: of another process, NULL: there is none. */
static void answer_info(struct assay_session *s,
                        const struct assay_lease_holder *h)
{
    struct assay_msg m = {.type = ASSAY_MSG_STATUS_REPLY};
    struct assay_msg_info info;

    assay_agent_info(s->agent, &info);
    if (h != NULL) {
        info.lease_owner = h->owner;
        info.lease_expires_ms = h->left_ms;
        info.lease_held_ms = h->held_ms;
    }
    if (s->asking == ASSAY_ASK_HELLO) {
        m.type = ASSAY_MSG_HELLO_ACK;
        m.u.hello_ack = (struct assay_msg_hello_ack){
            .version = ASSAY_PROTOCOL_MAX,
            .version_min = ASSAY_PROTOCOL_MIN,
            .version_max = ASSAY_PROTOCOL_MAX,
            .captures = ASSAY_CAPTURES_ALL,
            .info = info,
        };
        assay_session_send(s, &m);
        assay_session_enter(s, ASSAY_SESSION_READY);
        return;
    }
    m.u.info = info;
    assay_session_send(s, &m);
}

static void on_answer(void *self, const struct assay_lease_holder *h)
{
    struct assay_session *s = self;

    s->call = NULL;
    if (s->asking != ASSAY_ASK_ACQUIRE)
        answer_info(s, h);
    else if (s->want_force && h != NULL)
        try_acquire(s);
    else if (h == NULL && s->attempts < ATTEMPTS / 2) {
        /* It may have ended just now: once more. */
        s->attempts += ATTEMPTS / 2;
        try_acquire(s);
    } else
        refuse_busy(s, h);
    if (s->call == NULL)
        assay_session_pause(s, false);
}

/* Asks whoever holds the board's name; false: nobody does. */
static bool ask(struct assay_session *s, const char *force_for)
{
    s->call = assay_lease_ask(&s->agent->lease, force_for, on_answer, s);
    if (s->call == NULL)
        return false;
    assay_session_pause(s, true);
    return true;
}

static void tell_info(struct assay_session *s, enum assay_asking asking)
{
    s->asking = asking;
    if (s->agent->lease.listener != NULL || !ask(s, NULL))
        answer_info(s, NULL);
}

void assay_session_on_hello(struct assay_session *s, struct assay_msg *m)
{
    struct assay_build host = {m->u.hello.build_id, m->u.hello.version_min,
                               m->u.hello.version_max};
    struct assay_build here = assay_build_here();
    struct assay_err err = {0};

    if (assay_builds_agree(&host, &here, &err) < 0) {
        assay_session_fatal(s, &err);
        return;
    }
    tell_info(s, ASSAY_ASK_HELLO);
}

void assay_session_on_status(struct assay_session *s, struct assay_msg *m)
{
    (void)m;
    tell_info(s, ASSAY_ASK_STATUS);
}

static void granted(struct assay_session *s)
{
    struct assay_msg m = {.type = ASSAY_MSG_LEASE_GRANTED};
    char owner[ASSAY_LOG_TEXT];

    m.u.lease.ttl_ms = s->ttl_ms;
    assay_session_limit(s, true);
    m.u.lease.taken_from = s->taken_from;
    assay_log(ASSAY_LOG_INFO, "lease-granted session=%u owner=%s ms=%" PRIu64,
              s->number, assay_log_quote(s->want_owner, owner), s->ttl_ms);
    assay_session_enter(s, ASSAY_SESSION_LEASED);
    assay_session_send(s, &m);
}

static void try_acquire(struct assay_session *s)
{
    struct assay_lease *l = &s->agent->lease;
    struct assay_err err = {0};
    int rc;

    if (l->listener != NULL && !s->want_force) {
        const struct assay_lease_holder h = {l->owner, assay_lease_left_ms(l),
                                             assay_lease_held_ms(l)};

        refuse_busy(s, &h);
        return;
    }
    if (l->listener != NULL) {
        void *holder = l->holder;

        snprintf(s->taken_from, sizeof(s->taken_from), "%s", l->owner);
        assay_lease_release(l);
        assay_session_revoked(holder, s->want_owner);
    }
    rc = ASSAY_EBUSY;
    for (; s->attempts < ATTEMPTS && rc == ASSAY_EBUSY; s->attempts++) {
        rc = assay_lease_bind(l, s, s->want_owner, s->ttl_ms, &err);
        if (rc == ASSAY_EBUSY && ask(s, s->want_force ? s->want_owner : NULL))
            return;
    }
    if (rc == 0)
        granted(s);
    else
        assay_session_refuse(s, &err);
}

/* Who came in through TLS has a name that it cannot choose. */
static void name_owner(struct assay_session *s, const char *owner)
{
    const struct assay_tls_peer *peer = assay_tls_peer(s->conn);

    if (peer != NULL && peer->name[0] != '\0')
        snprintf(s->want_owner, sizeof(s->want_owner), "%.64s: %s", peer->name,
                 owner);
    else
        snprintf(s->want_owner, sizeof(s->want_owner), "%s", owner);
}

static void acquire(struct assay_session *s)
{
    struct assay_err err = {0};

    s->asking = ASSAY_ASK_ACQUIRE;
    /* Where plain kernels may run there is something to lease. */
    if (assay_board_test_judge(&s->agent->test, 0, &err) < 0)
        assay_session_refuse(s, &err);
    else
        try_acquire(s);
}

void assay_session_on_acquire(struct assay_session *s, struct assay_msg *m)
{
    uint64_t ttl = m->u.lease.ttl_ms;

    if (ttl == 0)
        ttl = TTL_DEFAULT_MS;
    s->ttl_ms = ttl < TTL_MIN_MS   ? TTL_MIN_MS
                : ttl > TTL_MAX_MS ? TTL_MAX_MS
                                   : ttl;
    name_owner(s, m->u.lease.owner);
    s->want_force = m->u.lease.force;
    s->taken_from[0] = '\0';
    s->attempts = 0;
    /* A test holds memory that the lease is wanted for. */
    if (s->agent->test.running) {
        s->wants_lease = true;
        assay_session_pause(s, true);
    } else
        acquire(s);
}

void assay_session_on_self_test(struct assay_session *s, struct assay_msg *m)
{
    s->testing = ASSAY_TEST_WANTED;
    s->test_memory = m->u.number;
    assay_session_pause(s, true);
    assay_agent_test(s->agent);
}

static void tell_test(struct assay_session *s)
{
    const struct assay_board_test *t = &s->agent->test;
    struct assay_msg m = {.type = ASSAY_MSG_SELF_TEST_REPLY};

    for (unsigned i = 0; i <= t->found.n_items; i++) {
        assay_board_test_msg(t, i, &m.u.self_test);
        assay_session_send(s, &m);
    }
}

void assay_session_tested(struct assay_session *s)
{
    if (s->state >= ASSAY_SESSION_CLOSING)
        return;
    if (s->testing == ASSAY_TEST_RUNS) {
        s->testing = ASSAY_TEST_NONE;
        tell_test(s);
    } else if (s->wants_lease) {
        s->wants_lease = false;
        acquire(s);
    } else
        return;
    if (s->call == NULL)
        assay_session_pause(s, false);
}

void assay_session_on_release(struct assay_session *s, struct assay_msg *m)
{
    struct assay_msg answer = {.type = ASSAY_MSG_LEASE_RELEASED};

    (void)m;
    assay_session_drop_upload(s);
    assay_loaded_close(s->loaded);
    s->loaded = NULL;
    assay_session_release_lease(s);
    assay_session_limit(s, false);
    assay_session_enter(s, ASSAY_SESSION_READY);
    assay_session_send(s, &answer);
}
