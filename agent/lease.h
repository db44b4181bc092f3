/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may use the board. The lease is the bind of an abstract Unix socket
 * named after the board id, so every agent of a board sees it, and it is free
 * the moment its holder's process is gone. Whoever holds it answers, on that
 * socket, who it is for and how long, and hands it over when it is told to.
 * Loop thread only.
 *
 *   ask:  "q\n"          answer: "<milliseconds left> <held> <owner>\n"
 *   ask:  "f <owner>\n"  answer: "ok\n", and the name is free
 */
#ifndef ASSAY_AGENT_LEASE_H
#define ASSAY_AGENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "lib/core/err.h"
#include "lib/net/listen.h"

#define ASSAY_LEASE_OWNER_MAX 200

struct assay_lease {
    uv_loop_t *loop;
    char name[128];
    struct assay_listener *listener; /* not NULL: held by this process */
    char owner[ASSAY_LEASE_OWNER_MAX + 1];
    uint64_t since_ms, expires_ms; /* uv_now() */
    void *holder;                  /* whoever acquired it */
    /* Another agent takes it over: the lease is gone when this returns. */
    void (*revoked)(void *holder, const char *by);
    struct assay_lease_server *servers;
};

void assay_lease_init(struct assay_lease *l, uv_loop_t *loop,
                      const char *board_id,
                      void (*revoked)(void *holder, const char *by));
void assay_lease_close(struct assay_lease *l); /* releases; idempotent */

/* Binds the name: 0, ASSAY_EBUSY when another process has it. */
int assay_lease_bind(struct assay_lease *l, void *holder, const char *owner,
                     uint64_t ttl_ms, struct assay_err *err) ASSAY_MUST_CHECK;
void assay_lease_renew(struct assay_lease *l, uint64_t ttl_ms);
void assay_lease_release(struct assay_lease *l);
uint64_t assay_lease_left_ms(const struct assay_lease *l);
uint64_t assay_lease_held_ms(const struct assay_lease *l); /* 0: free */

/* Asks the process that holds the name; a call ends by itself within 2 s. */
struct assay_lease_call;
/* Who holds the name, as he says; of a takeover: owner is "". */
struct assay_lease_holder {
    const char *owner;
    uint64_t left_ms, held_ms;
};
/* holder NULL: nobody answered. */
typedef void assay_lease_answer_fn(void *self,
                                   const struct assay_lease_holder *holder);
/* force_for: NULL asks only, else takes it over in that owner's name. NULL is
 * returned, and no answer comes, when nobody holds the name. */
struct assay_lease_call *assay_lease_ask(struct assay_lease *l,
                                         const char *force_for,
                                         assay_lease_answer_fn *answer,
                                         void *self);
void assay_lease_call_cancel(struct assay_lease_call *c); /* NULL safe */

#endif
