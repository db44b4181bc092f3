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
    char daemon[64];                 /* version that answers --stdio */
};

/* Each: 0 or a sentence. */
int assay_deploy_ask(struct assay_deploy *d, struct assay_err *err);
int assay_deploy_copy(struct assay_deploy *d, struct assay_err *err);
int assay_deploy_try(struct assay_deploy *d, struct assay_err *err);
int assay_deploy_place(struct assay_deploy *d, struct assay_err *err);
/* Takes files of the board away. */
int assay_deploy_remove(struct assay_deploy *d, const char *doing,
                        const char *const *paths, size_t n,
                        struct assay_err *err);

#endif
