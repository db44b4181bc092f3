/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One deployment: what the steps share. Until the step "place" the file that
 * is on the board is not touched; that step is one rename.
 */
#ifndef ASSAY_HOST_DEPLOY_H
#define ASSAY_HOST_DEPLOY_H

#include "host-tools/deploy_agent.h"
#include "host-tools/deploy_board.h"
#include "host-tools/deploy_remote.h"
#include "host-tools/options.h"
#include "lib/net/ssh.h"

struct assay_deploy {
    const struct assay_options *o;
    struct assay_arena *arena;
    struct assay_ssh ssh;
    struct assay_remote remote;
    const char *path;      /* on the board */
    const char *temporary; /* beside it */
    struct assay_agent_file file;
    struct assay_board_facts board;
    const char *old; /* version that is replaced, or NULL */
    bool wrote;      /* the temporary may be there */
    bool placing;    /* the rename was asked for */
    bool placed;
    char kernels[32], features[128]; /* what the new agent says */
    /* Of the service. */
    char starter[96]; /* "systemd", a start script, or "" */
    bool at_boot;
};

/* Each: 0 or a sentence. */
int assay_deploy_ask(struct assay_deploy *d, struct assay_err *err);
int assay_deploy_copy(struct assay_deploy *d, struct assay_err *err);
int assay_deploy_try(struct assay_deploy *d, struct assay_err *err);
int assay_deploy_place(struct assay_deploy *d, struct assay_err *err);
int assay_deploy_service(struct assay_deploy *d, struct assay_err *err);
/* Stops a service that was deployed and takes its files away. */
int assay_deploy_no_service(struct assay_deploy *d, struct assay_err *err);
/* Is what the options want of a service possible? Before anything is sent. */
int assay_deploy_check_service(const struct assay_deploy *d,
                               struct assay_err *err);

/* Runs a script; its answer is c->output (init'ed by the caller), which has
 * its end. */
int assay_deploy_script(struct assay_deploy *d, struct assay_remote_call *c,
                        enum assay_board_script which, const char *const *words,
                        size_t n, struct assay_err *err) ASSAY_MUST_CHECK;
/* A hello to a target; version: of who answers. */
int assay_deploy_hello(struct assay_deploy *d, const char *target,
                       char version[64], struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Takes files of the board away. */
int assay_deploy_remove(struct assay_deploy *d, const char *doing,
                        const char *const *paths, size_t n,
                        struct assay_err *err);

#endif
