/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/deploy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "host-tools/messages.h"
#include "lib/core/hash.h"
#include "proto/codec.h"

#define ANSWER_MAX (64u * 1024u)
#define SELF_TEST_MS 30000u /* silent work, however short a --timeout is */
#define SPARE_BYTES (256u * 1024u) /* of the folder, beside the agent */

int assay_deploy_script(struct assay_deploy *d, struct assay_remote_call *c,
                        enum assay_board_script which, const char *const *words,
                        size_t n, struct assay_err *err)
{
    struct assay_buf command;
    char text[256];
    int rc;

    assay_buf_init(&command);
    rc = assay_board_command(&command, which, words, n, err);
    if (rc == 0) {
        c->command = (const char *)command.data;
        c->output_max = ANSWER_MAX;
        rc = assay_remote_run(&d->remote, c, err);
    }
    assay_buf_close(&command);
    if (rc < 0)
        return rc;
    if (assay_board_answer(&c->output, "fail", text, sizeof(text)))
        return assay_fail_message(
            err, ASSAY_EIO, ASSAY_MSG_DEPLOY_FAILED, "doing", c->doing, "what",
            text, "said", c->said[0] != '\0' ? c->said : "it does not say why",
            NULL);
    if (!assay_board_answer(&c->output, "done", text, sizeof(text)))
        return assay_fail_message(err, ASSAY_ELOST, ASSAY_MSG_DEPLOY_NO_END,
                                  "doing", c->doing, NULL);
    return 0;
}

/* ---- ask ------------------------------------------------------------------ */

static int refuse_path(struct assay_err *err, enum assay_message_id id,
                       const struct assay_deploy *d)
{
    return assay_fail_message(err, ASSAY_EUSAGE, id, "path", d->path, NULL);
}

static int judge_path(struct assay_deploy *d, struct assay_err *err)
{
    const struct assay_board_facts *b = &d->board;

    if (d->o->uninstall && !b->is_file)
        return 0; /* nothing is there */
    if (!b->folder)
        return refuse_path(err, ASSAY_MSG_DEPLOY_NO_FOLDER, d);
    if (b->is_folder)
        return refuse_path(err, ASSAY_MSG_DEPLOY_IS_FOLDER, d);
    if (b->is_link)
        return refuse_path(err, ASSAY_MSG_DEPLOY_IS_LINK, d);
    if (!b->writable)
        return refuse_path(err, ASSAY_MSG_DEPLOY_READ_ONLY, d);
    if (b->is_file)
        d->old = assay_board_version(b->old);
    if (b->is_file && d->old == NULL && !d->o->force)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_DEPLOY_FOREIGN,
                                  "path", d->path, "said", b->old, NULL);
    return 0;
}

int assay_deploy_ask(struct assay_deploy *d, struct assay_err *err)
{
    struct assay_remote_call c = {.doing = "asking the board"};
    const struct assay_board_facts *b = &d->board;
    uint64_t needed = d->file.bytes + SPARE_BYTES;
    int rc;

    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_ASK, &d->path, 1, err);
    if (rc == 0)
        assay_board_facts_read(&d->board, &c.output);
    assay_buf_close(&c.output);
    if (rc < 0 || d->o->uninstall)
        return rc < 0 ? rc : judge_path(d, err);
    if (strcmp(b->machine, "aarch64") != 0 || strcmp(b->system, "Linux") != 0)
        return assay_fail_message(
            err, ASSAY_EUNSUPPORTED, ASSAY_MSG_DEPLOY_MACHINE, "host",
            d->ssh.host, "machine", b->machine, "system", b->system, NULL);
    rc = judge_path(d, err);
    if (rc == 0 && b->knows_free && b->free_bytes < needed)
        rc = assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_DEPLOY_FULL, "path",
                                d->path, "free",
                                assay_num_bytes(b->free_bytes).text, "needed",
                                assay_num_bytes(needed).text, NULL);
    return rc;
}

/* ---- copy ----------------------------------------------------------------- */

static int judge_sum(struct assay_deploy *d, const char *found,
                     struct assay_err *err)
{
    char cut[65];

    snprintf(cut, sizeof(cut), "%.64s", found);
    if (strcmp(cut, d->file.sha256) == 0)
        return 0;
    return assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_DEPLOY_SUM, "doing",
                              "copying", "expected", d->file.sha256, "found",
                              cut, NULL);
}

/* For a board without sha256sum: the file comes back and is hashed here. */
static int read_back(struct assay_deploy *d, struct assay_err *err)
{
    struct assay_remote_call c = {.doing = "reading it back"};
    uint8_t digest[ASSAY_SHA256_LEN];
    struct assay_buf command;
    char hex[2 * ASSAY_SHA256_LEN + 1];
    int rc;

    assay_buf_init(&command);
    assay_buf_init(&c.output);
    rc = assay_buf_append(&command, "cat ", 4) < 0
             ? assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL)
             : assay_shell_word(&command, d->temporary, err);
    if (rc == 0 && assay_buf_append(&command, "", 1) < 0)
        rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (rc == 0) {
        c.command = (const char *)command.data;
        c.output_max = d->file.bytes;
        rc = assay_remote_run(&d->remote, &c, err);
    }
    if (rc == 0) {
        assay_sha256(c.output.data, c.output.len, digest);
        assay_hex(digest, sizeof(digest), hex);
        rc = judge_sum(d, hex, err);
    }
    assay_buf_close(&command);
    assay_buf_close(&c.output);
    return rc;
}

int assay_deploy_copy(struct assay_deploy *d, struct assay_err *err)
{
    struct assay_remote_call c = {
        .doing = "copying",
        .input = d->file.data,
        .input_bytes = d->file.bytes,
    };
    struct assay_num bytes = assay_num_u(d->file.bytes);
    const char *words[] = {d->path, d->temporary, bytes.text};
    char sum[96];
    int rc;

    assay_buf_init(&c.output);
    d->wrote = true;
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_PUT, words, 3, err);
    if (rc == 0 && assay_board_answer(&c.output, "sum", sum, sizeof(sum)))
        rc = judge_sum(d, sum, err);
    else if (rc == 0)
        rc = read_back(d, err);
    assay_buf_close(&c.output);
    return rc;
}

/* ---- try ------------------------------------------------------------------ */

static int judge_version(struct assay_deploy *d,
                         const struct assay_remote_call *c,
                         struct assay_err *err)
{
    char said[160] = "", expected[80];

    assay_board_answer(&c->output, "version", said, sizeof(said));
    snprintf(expected, sizeof(expected), "assayd %s", d->file.version);
    if (strcmp(said, expected) == 0)
        return 0;
    return assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_DEPLOY_WONT_RUN,
                              "doing", c->doing, "expected", expected, "said",
                              said, NULL);
}

/* "exec:" and the words that start it there; NULL: no memory. The words come
 * through assay_split_words as they are. */
static char *target_of(struct assay_deploy *d, char **argv)
{
    struct assay_buf b;
    char *text = NULL;
    bool good;

    assay_buf_init(&b);
    good = assay_buf_append(&b, "exec:", 5) == 0;
    for (; good && *argv != NULL; argv++) {
        good = assay_buf_append(&b, " '", 2) == 0;
        for (const char *p = *argv; good && *p != '\0'; p++)
            good = assay_buf_append(&b, *p == '\'' ? "'\\''" : p,
                                    *p == '\'' ? 4 : 1) == 0;
        good = good && assay_buf_append(&b, "'", 1) == 0;
    }
    if (good)
        text = assay_arena_str(d->arena, (const char *)b.data, b.len);
    assay_buf_close(&b);
    return text;
}

/* Under a board id of its own it does not hand us on to a daemon. */
static int own_target(struct assay_deploy *d, char **target,
                      struct assay_err *err)
{
    struct assay_buf remote;
    char option[64], **argv = NULL;
    int rc;

    snprintf(option, sizeof(option), " --stdio --board-id deploy-%ld",
             (long)getpid());
    assay_buf_init(&remote);
    rc = assay_shell_word(&remote, d->temporary, err);
    if (rc == 0 && assay_buf_append(&remote, option, strlen(option) + 1) < 0)
        rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (rc == 0)
        rc = assay_ssh_argv(&argv, d->arena, ASSAY_REMOTE_SSH, d->ssh.host,
                            (const char *)remote.data, err);
    assay_buf_close(&remote);
    if (rc == 0 && (*target = target_of(d, argv)) == NULL)
        rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    return rc;
}

struct judged {
    uint32_t verdict;
    char bad[160]; /* the first finding */
};

static void on_finding(void *self, const struct assay_msg_self_test *t)
{
    struct judged *j = self;

    if (t->kind == ASSAY_SELF_TEST_END)
        j->verdict = t->verdict;
    else if (t->verdict == ASSAY_VERDICT_BAD && j->bad[0] == '\0')
        snprintf(j->bad, sizeof(j->bad), "%.150s", t->text);
}

/* A board that fails is told before it gets a new agent. One of an agent that
 * knows no self-test is not asked. */
static int self_test(struct assay_deploy *d, struct assay_backend *b,
                     const struct assay_backend_info *info,
                     struct assay_err *err)
{
    struct judged j = {.verdict = ASSAY_VERDICT_GOOD};
    int rc;

    if (info->agent.health == ASSAY_HEALTH_UNKNOWN)
        return 0;
    if (d->remote.timeout_ms < SELF_TEST_MS)
        assay_client_patience(b, SELF_TEST_MS);
    rc = b->vt->self_test(b, 0, on_finding, &j, err);
    if (rc < 0 || j.verdict == ASSAY_VERDICT_GOOD || d->o->force)
        return rc;
    return assay_fail_message(err, ASSAY_EBOARD_BAD, ASSAY_MSG_DEPLOY_BAD,
                              "host", d->ssh.host, "bad", j.bad, NULL);
}

int assay_deploy_hello(struct assay_deploy *d, const char *target,
                       char version[64], struct assay_err *err)
{
    struct assay_client_options options = {
        .target = target,
        .timeout_ms = d->remote.timeout_ms,
        .owner = "assay deploy",
        .interrupted = d->remote.interrupted,
    };
    struct assay_backend_info info = {0};
    struct assay_backend *b = NULL;
    int rc = assay_client_open(&b, &options, err);

    if (rc == 0)
        rc = b->vt->info(b, &info, err);
    if (rc == 0 && !d->placed)
        rc = self_test(d, b, &info, err);
    if (rc == 0) {
        snprintf(version, 64, "%.63s", info.agent.build_id);
        snprintf(d->kernels, sizeof(d->kernels), "%.31s", info.agent.kernels);
        snprintf(d->features, sizeof(d->features), "%.127s",
                 info.agent.features);
    }
    if (b != NULL)
        b->vt->close(b);
    return rc;
}

int assay_deploy_try(struct assay_deploy *d, struct assay_err *err)
{
    struct assay_remote_call c = {.doing = "trying the new agent"};
    char version[64] = "", *target = NULL;
    int rc;

    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_TRY, &d->temporary, 1, err);
    if (rc == 0)
        rc = judge_version(d, &c, err);
    assay_buf_close(&c.output);
    if (rc == 0)
        rc = own_target(d, &target, err);
    if (rc < 0)
        return rc;
    rc = assay_deploy_hello(d, target, version, err);
    if (rc < 0 && rc != ASSAY_EBOARD_BAD) {
        char text[128];

        assay_err_prefix(
            err, "%s",
            assay_message(text, sizeof(text), ASSAY_MSG_DEPLOY_NO_HELLO, NULL));
    }
    if (rc == 0 && strcmp(version, d->file.version) != 0)
        rc = assay_fail_message(err, ASSAY_EVERSION,
                                ASSAY_MSG_DEPLOY_HELLO_OTHER, "found", version,
                                "expected", d->file.version, NULL);
    return rc;
}

/* ---- place ---------------------------------------------------------------- */

int assay_deploy_place(struct assay_deploy *d, struct assay_err *err)
{
    struct assay_remote_call c = {.doing = "placing the new agent"};
    const char *words[] = {d->path, d->temporary};
    char text[256] = "";
    int rc;

    assay_buf_init(&c.output);
    d->placing = true;
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_PLACE, words, 2, err);
    if (rc == 0) {
        d->placed = true;
        d->wrote = false;
        rc = judge_version(d, &c, err);
        assay_board_answer(&c.output, "on-path", text, sizeof(text));
        memcpy(d->board.on_path, text, sizeof(text));
    } else if (assay_board_answer(&c.output, "fail", text, sizeof(text))) {
        d->placing = false; /* it said that it did not */
    }
    assay_buf_close(&c.output);
    return rc;
}

int assay_deploy_remove(struct assay_deploy *d, const char *doing,
                        const char *const *paths, size_t n,
                        struct assay_err *err)
{
    struct assay_remote_call c = {.doing = doing};
    int rc;

    assay_buf_init(&c.output);
    rc = assay_deploy_script(d, &c, ASSAY_SCRIPT_REMOVE, paths, n, err);
    assay_buf_close(&c.output);
    return rc;
}
