/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "host-tools/boards.h"
#include "host-tools/client_tls.h"
#include "host-tools/cmd.h"
#include "host-tools/messages.h"

struct pairing {
    const struct assay_options *o;
    char board[ASSAY_PIN_NAME_MAX + 1];
    struct assay_boards boards;
    struct assay_client_met met;
};

/* What can be refused before anything is connected. */
static int check(struct pairing *p, struct assay_err *err)
{
    const struct assay_options *o = p->o;
    struct assay_target target;
    int rc;

    if (o->target == NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_PAIR_NO_TARGET,
                                  NULL);
    if (o->fingerprint != NULL && !assay_is_fingerprint(o->fingerprint))
        return assay_fail_message(err, ASSAY_EUSAGE,
                                  ASSAY_MSG_PAIR_BAD_FINGERPRINT, "value",
                                  o->fingerprint, NULL);
    rc = assay_target_parse(&target, o->target, err);
    if (rc < 0)
        return rc;
    if (!target.is_tls)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_PAIR_NO_TLS,
                                "target", o->target, NULL);
    else
        rc = assay_board_name(p->board, &target, err);
    assay_target_close(&target);
    if (rc == 0 && o->fingerprint == NULL && !isatty(STDIN_FILENO))
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_PAIR_NO_TERMINAL,
                                NULL);
    return rc;
}

static int meet(struct pairing *p, struct assay_err *err)
{
    const struct assay_options *o = p->o;
    struct assay_client_options client = {
        .target = o->target,
        .timeout_ms = o->timeout_ms,
        .tls = {.cert = o->tls_cert, .key = o->tls_key},
    };

    return assay_client_meet(&p->met, &client, err);
}

/* A line about both sides, on stderr. */
static void show(const struct pairing *p)
{
    char text[1024];

    fprintf(stderr, "%s\n",
            assay_message(text, sizeof(text), ASSAY_MSG_PAIR_SHOW, "board",
                          p->board, "fingerprint", p->met.board.fingerprint,
                          "own", p->met.own_fingerprint, NULL));
}

/* A person compares; only a whole word agrees. */
static int ask(struct assay_err *err)
{
    char text[512], answer[16];

    fputs(assay_message(text, sizeof(text), ASSAY_MSG_PAIR_ASK, NULL), stderr);
    fflush(stderr);
    if (fgets(answer, sizeof(answer), stdin) == NULL ||
        strcmp(answer, "yes\n") != 0)
        return assay_fail_message(err, ASSAY_ECONNECT, ASSAY_MSG_PAIR_NO, NULL);
    return 0;
}

static int agree(const struct pairing *p, struct assay_err *err)
{
    const char *wanted = p->o->fingerprint;

    if (wanted == NULL)
        return ask(err);
    if (strcmp(wanted, p->met.board.fingerprint) == 0)
        return 0;
    return assay_fail_message(err, ASSAY_ECONNECT, ASSAY_MSG_PAIR_OTHER,
                              "board", p->board, "shown",
                              p->met.board.fingerprint, "wanted", wanted, NULL);
}

/* 1: the board is known by this key; 0: it is new. */
static int known(const struct pairing *p, struct assay_err *err)
{
    const char *pin = assay_pins_find_name(&p->boards.pins, p->board);

    if (pin == NULL)
        return 0;
    if (strcmp(pin, p->met.board.fingerprint) == 0)
        return 1;
    return assay_fail_message(
        err, ASSAY_ECONNECT, ASSAY_MSG_PAIR_CHANGED, "board", p->board, "shown",
        p->met.board.fingerprint, "pinned", pin, "path", p->boards.path, NULL);
}

static void tell(const struct pairing *p, bool was_known)
{
    char text[PATH_MAX + 512];
    const char *name = p->met.own_name;

    if (!p->o->quiet)
        fprintf(stderr, "%s\n",
                assay_message(text, sizeof(text),
                              was_known ? ASSAY_MSG_PAIR_KNOWN
                                        : ASSAY_MSG_PAIR_DONE,
                              "board", p->board, "path", p->boards.path, NULL));
    printf("%s %s\n", name[0] != '\0' ? name : "NAME", p->met.own_fingerprint);
}

static int pair(struct pairing *p, struct assay_err *err)
{
    int rc = check(p, err), is_known;

    if (rc == 0)
        rc = assay_boards_load(&p->boards, err);
    if (rc == 0)
        rc = meet(p, err);
    if (rc < 0)
        return rc;
    if (!p->o->quiet || p->o->fingerprint == NULL)
        show(p);
    is_known = known(p, err);
    if (is_known < 0)
        return is_known;
    /* Of a known board --fingerprint is compared too. */
    if (is_known == 0 || p->o->fingerprint != NULL)
        rc = agree(p, err);
    if (rc == 0 && is_known == 0)
        rc = assay_boards_add(&p->boards, p->board, p->met.board.fingerprint,
                              err);
    if (rc == 0)
        tell(p, is_known == 1);
    return rc;
}

int assay_cmd_pair(const struct assay_options *o, int argc, char **argv)
{
    struct pairing p = {.o = o};
    struct assay_err err = {0};
    int rc;

    (void)argc;
    (void)argv;
    /* No handler of Ctrl-C: nothing is half-done that it could leave. */
    rc = pair(&p, &err);
    assay_boards_close(&p.boards);
    return rc < 0 ? assay_cmd_failed(&err) : 0;
}
