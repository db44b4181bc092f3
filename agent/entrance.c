/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/entrance.h"

#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "agent/session.h"
#include "lib/core/buf.h"

#define HANDSHAKES_MAX 32

/* One that is not over. */
struct guest {
    struct assay_entrance *entrance;
    struct guest *next; /* newer */
    struct assay_conn *conn;
};

struct assay_entrance {
    struct assay_agent *agent;
    struct assay_tls_context *tls;
    struct guest *oldest, **newest;
    unsigned count;
};

static int load(struct assay_tls_config *c, const struct assay_agent_options *o,
                struct assay_err *err)
{
    int rc = assay_identity_load(&c->identity, o->tls_cert, o->tls_key, err);

    c->has_identity = rc == 0;
    if (rc == 0 && o->tls_ca != NULL) {
        rc = assay_identity_load_ca(&c->ca, o->tls_ca, err);
        c->has_ca = rc == 0;
    }
    if (rc == 0 && o->authorized != NULL)
        rc = assay_pins_load(&c->pins, o->authorized, err);
    return rc;
}

/* Where pairing begins, or where a file was emptied by mistake. */
static void warn_of_nobody(const struct assay_agent_options *o)
{
    char path[ASSAY_LOG_TEXT];

    assay_log(ASSAY_LOG_WARN,
              "nobody-authorized file=%s why=\"it holds no line: no client can "
              "come in before one is added and SIGHUP is sent\"",
              assay_log_quote(o->authorized, path));
}

static int renew(struct assay_entrance *e, struct assay_err *err)
{
    struct assay_tls_context *before = e->tls;
    struct assay_tls_config config = {0};
    int rc = load(&config, e->agent->options, err);
    bool nobody = rc == 0 && !config.has_ca && config.pins.count == 0;

    if (rc == 0)
        rc = assay_tls_context_new(&e->tls, &config, ASSAY_TLS_SERVER, before,
                                   err);
    assay_tls_config_close(&config);
    if (rc == 0)
        assay_tls_context_free(before);
    if (rc == 0 && nobody)
        warn_of_nobody(e->agent->options);
    return rc;
}

int assay_entrance_new(struct assay_entrance **out, struct assay_agent *a,
                       struct assay_err *err)
{
    struct assay_entrance *e = assay_calloc(1, sizeof(*e));
    int rc;

    if (e == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for TLS");
    e->agent = a;
    e->newest = &e->oldest;
    rc = renew(e, err);
    if (rc < 0) {
        assay_free(e);
        return rc;
    }
    assay_log(ASSAY_LOG_INFO, "tls-key fingerprint=%s",
              assay_tls_context_fingerprint(e->tls));
    *out = e;
    return 0;
}

static void forget(struct guest *g)
{
    struct assay_entrance *e = g->entrance;
    struct guest **at = &e->oldest;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    if (*at == NULL)
        e->newest = at;
    e->count--;
    assay_free(g);
}

static void log_refused(const struct assay_err *err)
{
    char why[ASSAY_LOG_TEXT];

    assay_log(ASSAY_LOG_WARN, "tls-refused why=%s",
              assay_log_quote(err->text, why));
}

static void on_shaken(void *self, struct assay_conn *conn,
                      const struct assay_tls_peer *peer,
                      const struct assay_err *err)
{
    char name[ASSAY_LOG_TEXT];
    struct guest *g = self;
    struct assay_entrance *e = g->entrance;
    struct assay_tls_peer again;
    struct assay_err why = {0};

    forget(g);
    /* A SIGHUP may have come between. */
    if (conn != NULL && err == NULL &&
        assay_tls_judge(e->tls, conn, &again, &why) < 0)
        err = &why;
    if (err != NULL)
        log_refused(err);
    else
        assay_log(ASSAY_LOG_INFO, "tls-client name=%s by=%s key=%s resumed=%d",
                  assay_log_quote(peer->name, name),
                  peer->by_ca ? "certificate" : "key", peer->fingerprint,
                  peer->resumed);
    if (conn != NULL)
        assay_agent_admit(e->agent, conn, err);
}

void assay_entrance_take(struct assay_entrance *e, struct assay_conn *conn)
{
    struct guest *g = assay_calloc(1, sizeof(*g));
    struct assay_err err = {0};

    if (g == NULL) {
        assay_conn_close(conn, NULL, NULL);
        return;
    }
    if (e->count == HANDSHAKES_MAX) {
        struct guest *old = e->oldest;

        assay_log(ASSAY_LOG_WARN, "tls-full handshakes=%d", HANDSHAKES_MAX);
        assay_conn_close(old->conn, NULL, NULL);
        forget(old);
    }
    g->entrance = e;
    *e->newest = g;
    e->newest = &g->next;
    e->count++;
    if (assay_tls_start(&g->conn, e->tls, &e->agent->loop, conn, "client",
                        on_shaken, g, &err) < 0) {
        log_refused(&err);
        forget(g);
    }
}

void assay_entrance_reload(struct assay_entrance *e)
{
    char text[ASSAY_LOG_TEXT];
    struct assay_session *next;
    struct assay_tls_peer peer;
    struct assay_err err = {0};

    if (renew(e, &err) < 0) {
        assay_log(ASSAY_LOG_ERROR, "reload failed why=%s",
                  assay_log_quote(err.text, text));
        return;
    }
    assay_log(ASSAY_LOG_INFO, "reload done fingerprint=%s",
              assay_tls_context_fingerprint(e->tls));
    for (struct assay_session *s = e->agent->sessions; s != NULL; s = next) {
        next = s->next;
        if (s->state >= ASSAY_SESSION_CLOSING ||
            assay_tls_judge(e->tls, s->conn, &peer, &err) == 0)
            continue;
        assay_log(ASSAY_LOG_WARN, "tls-put-out session=%u name=%s", s->number,
                  assay_log_quote(assay_tls_peer(s->conn)->name, text));
        assay_session_fatal(s, &err);
    }
}

const struct assay_tls_counts *assay_entrance_counts(
    const struct assay_entrance *e)
{
    return assay_tls_context_counts(e->tls);
}

void assay_entrance_close(struct assay_entrance *e)
{
    if (e == NULL)
        return;
    while (e->oldest != NULL) {
        assay_conn_close(e->oldest->conn, NULL, NULL);
        forget(e->oldest);
    }
    assay_tls_context_free(e->tls);
    assay_free(e);
}
