/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deploy: the agent's file gets to a board through the user's ssh. It is
 * copied beside its place, verified, started and asked there; only then does
 * one rename replace what was there. Whatever happens before leaves the board
 * as it was.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "host-tools/cmd.h"
#include "host-tools/deploy.h"
#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "proto/version.h"

#define TIMEOUT_MS 30000u
#define CLEAN_MS 10000u
#define PATH_MAX_BYTES 512u
#define DEFAULT_PATH "/usr/local/bin/assayd"

/* ---- what is asked for ---------------------------------------------------- */

static int judge_path(const char *path, struct assay_err *err)
{
    const char *slash = strrchr(path, '/');

    if (strlen(path) > PATH_MAX_BYTES)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_DEPLOY_LONG,
                                  "bytes", assay_num_u(strlen(path)).text,
                                  "limit", assay_num_u(PATH_MAX_BYTES).text,
                                  NULL);
    if (slash == NULL || strncmp(slash + 1, "assayd", 6) != 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_DEPLOY_PATH,
                                  "path", path, NULL);
    return 0;
}

/* FOLDER/.assayd-deploy.RANDOM */
static const char *temporary_name(struct assay_deploy *d)
{
    char text[PATH_MAX_BYTES + 64];
    uint64_t random = 0;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return NULL;
    snprintf(text, sizeof(text), "%.*s/.assayd-deploy.%016" PRIx64,
             (int)(strrchr(d->path, '/') - d->path), d->path, random);
    return assay_arena_str(d->arena, text, strlen(text));
}

static int judge_versions(const struct assay_deploy *d, struct assay_err *err)
{
    struct assay_build_version here, file;

    if (assay_build_parse(&here, ASSAY_VERSION) == 0 &&
        assay_build_parse(&file, d->file.version) == 0 &&
        assay_build_near(&here, &file))
        return 0;
    return assay_fail_message(err, ASSAY_EVERSION, ASSAY_MSG_DEPLOY_OTHER,
                              "path", d->file.path, "version", d->file.version,
                              "own", ASSAY_VERSION, "minors",
                              assay_num_u(ASSAY_VERSION_MINORS).text, NULL);
}

static int open_deploy(struct assay_deploy *d, const struct assay_options *o,
                       struct assay_err *err)
{
    int rc;

    d->o = o;
    d->arena = assay_arena_new();
    if (d->arena == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    rc = assay_ssh_parse(&d->ssh, d->arena, o->operand + 4, o->operand, err);
    if (rc < 0)
        return rc;
    d->path = d->ssh.path != NULL ? d->ssh.path : DEFAULT_PATH;
    rc = judge_path(d->path, err);
    if (rc == 0)
        rc = assay_deploy_check_service(d, err);
    if (rc < 0)
        return rc;
    d->remote = (struct assay_remote){
        .host = d->ssh.host,
        .timeout_ms = o->timeout_ms != 0 ? o->timeout_ms : TIMEOUT_MS,
        .interrupted = assay_interrupt_abandon(),
    };
    d->temporary = temporary_name(d);
    if (d->temporary == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (o->uninstall)
        return 0;
    rc = assay_agent_file_open(&d->file, o->agent, err);
    return rc == 0 ? judge_versions(d, err) : rc;
}

static void close_deploy(struct assay_deploy *d)
{
    assay_agent_file_close(&d->file);
    assay_arena_free(d->arena);
}

/* ---- the steps ------------------------------------------------------------ */

typedef void text_fn(const struct assay_deploy *d, char *out, size_t cap);
typedef int step_fn(struct assay_deploy *d, struct assay_err *err);

static void text_agent(const struct assay_deploy *d, char *out, size_t cap)
{
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_AGENT, "path", d->file.path,
                  "version", d->file.version, "size",
                  assay_num_bytes(d->file.bytes).text, NULL);
}

static void text_ask(const struct assay_deploy *d, char *out, size_t cap)
{
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_BOARD, "host", d->ssh.host,
                  "path", d->path, NULL);
}

static void text_copy(const struct assay_deploy *d, char *out, size_t cap)
{
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_COPY, "size",
                  assay_num_bytes(d->file.bytes).text, "path", d->temporary,
                  NULL);
}

static void text_try(const struct assay_deploy *d, char *out, size_t cap)
{
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_TRY, "path", d->temporary,
                  NULL);
}

static void text_place(const struct assay_deploy *d, char *out, size_t cap)
{
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_PLACE, "path", d->path, NULL);
}

static void text_remove(const struct assay_deploy *d, char *out, size_t cap)
{
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_REMOVE, "path", d->path,
                  NULL);
}

static void text_service(const struct assay_deploy *d, char *out, size_t cap)
{
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_SERVICE, "path", d->path,
                  NULL);
}

static void text_no_service(const struct assay_deploy *d, char *out, size_t cap)
{
    (void)d;
    assay_message(out, cap, ASSAY_MSG_DEPLOY_STEP_NO_SERVICE, NULL);
}

static int nothing(struct assay_deploy *d, struct assay_err *err)
{
    (void)d;
    (void)err;
    return 0;
}

static int uninstall(struct assay_deploy *d, struct assay_err *err)
{
    return d->board.is_file
               ? assay_deploy_remove(d, "removing the agent", &d->path, 1, err)
               : 0;
}

struct step {
    text_fn *text;
    step_fn *run;
};
static const struct step install_steps[] = {
    {text_agent, nothing},
    {text_ask, assay_deploy_ask},
    {text_copy, assay_deploy_copy},
    {text_try, assay_deploy_try},
    {text_place, assay_deploy_place},
    {text_service, assay_deploy_service},
};
static const struct step uninstall_steps[] = {
    {text_ask, assay_deploy_ask},
    {text_no_service, assay_deploy_no_service},
    {text_remove, uninstall},
};

static int run_steps(struct assay_deploy *d, struct assay_err *err)
{
    const struct step *s = install_steps;
    size_t n = sizeof(install_steps) / sizeof(install_steps[0]) -
               (d->o->service ? 0 : 1); /* the last one */
    char text[1400], line[1500];
    int rc = 0;

    if (d->o->uninstall) {
        s = uninstall_steps;
        n = sizeof(uninstall_steps) / sizeof(uninstall_steps[0]);
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        s[i].text(d, text, sizeof(text));
        assay_message(line, sizeof(line), ASSAY_MSG_DEPLOY_STEP, "at",
                      assay_num_u(i + 1).text, "all", assay_num_u(n).text,
                      "text", text, NULL);
        if (d->o->dry_run)
            printf("%s\n", line);
        else if (!d->o->quiet)
            fprintf(stderr, "%s\n", line);
        if (!d->o->dry_run)
            rc = s[i].run(d, err);
    }
    return rc;
}

/* ---- ends ----------------------------------------------------------------- */

static void note(enum assay_message_id id, const char *path)
{
    char text[700];

    fprintf(stderr, "%s\n",
            assay_message(text, sizeof(text), id, "path", path, NULL));
}

/* What is left on the board, and that nothing else was touched. */
static void clean_up(struct assay_deploy *d)
{
    struct assay_err ignored = {0};

    if (d->placed && d->o->service)
        note(ASSAY_MSG_DEPLOY_SERVICE_FAILED, d->path);
    if (d->placed || d->o->uninstall)
        return;
    d->remote.interrupted = NULL; /* short, and the board is glad */
    if (d->remote.timeout_ms > CLEAN_MS)
        d->remote.timeout_ms = CLEAN_MS;
    if (d->wrote &&
        assay_deploy_remove(d, "cleaning up", &d->temporary, 1, &ignored) < 0)
        note(ASSAY_MSG_DEPLOY_LEFT, d->temporary);
    if (d->wrote)
        note(d->placing ? ASSAY_MSG_DEPLOY_UNKNOWN : ASSAY_MSG_DEPLOY_KEPT,
             d->path);
}

static void print_service(const struct assay_deploy *d)
{
    char text[400], boot[160] = "";

    if (!d->at_boot)
        assay_message(boot, sizeof(boot), ASSAY_MSG_DEPLOY_SERVICE_NO_BOOT,
                      NULL);
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_DEPLOY_SERVICE_UP,
                         "starter", d->starter, "boot", boot, NULL));
}

static void print_installed(struct assay_deploy *d)
{
    char text[900], old[96] = "", target[700];
    const char *path = d->path;

    if (d->board.is_file)
        assay_message(old, sizeof(old), ASSAY_MSG_DEPLOY_REPLACED, "old",
                      d->old != NULL ? d->old : d->board.old, NULL);
    printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_DEPLOY_DONE,
                                 "host", d->ssh.host, "path", path, "version",
                                 d->file.version, "old", old, NULL));
    printf("%s\n",
           assay_message(text, sizeof(text), ASSAY_MSG_DEPLOY_KERNELS,
                         "kernels", d->kernels, "features", d->features, NULL));
    if (d->o->service)
        print_service(d);
    else if (d->board.daemons[0] != '\0')
        printf("%s\n",
               assay_message(text, sizeof(text), ASSAY_MSG_DEPLOY_DAEMON,
                             "boards", d->board.daemons, NULL));
    /* What a bare ssh:USER@HOST starts. */
    snprintf(target, sizeof(target), "ssh:%s%s%s", d->ssh.host,
             strcmp(d->board.on_path, path) == 0 ? "" : ":",
             strcmp(d->board.on_path, path) == 0 ? "" : path);
    printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_DEPLOY_USE,
                                 "target", target, NULL));
}

static void print_removed(const struct assay_deploy *d)
{
    char text[900];

    printf("%s\n",
           assay_message(text, sizeof(text),
                         d->board.is_file ? ASSAY_MSG_DEPLOY_REMOVED
                                          : ASSAY_MSG_DEPLOY_NONE,
                         "host", d->ssh.host, "path", d->path, "version",
                         d->old != NULL ? d->old : d->board.old, NULL));
}

int assay_cmd_deploy(const struct assay_options *o, int argc, char **argv)
{
    struct assay_deploy d = {0};
    struct assay_err err = {0};
    int rc, code = 0;

    (void)argc;
    (void)argv;
    assay_interrupt_install();
    rc = open_deploy(&d, o, &err);
    if (rc == 0)
        rc = run_steps(&d, &err);
    if (rc < 0)
        code = assay_cmd_failed(&err);
    if (rc < 0)
        clean_up(&d);
    else if (o->uninstall && !o->dry_run)
        print_removed(&d);
    else if (!o->dry_run)
        print_installed(&d);
    close_deploy(&d);
    return code;
}
