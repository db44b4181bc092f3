/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/log.h"
#include "agent/ring.h"
#include "agent/worker.h"
#include "kernels/cpu.h"
#include "lib/core/buf.h"

void assay_board_test_init(struct assay_board_test *t, uv_loop_t *loop,
                           struct assay_blobs *blobs, uint32_t cpu_flags,
                           uint64_t deadline_ms, struct assay_test_end end)
{
    memset(t, 0, sizeof(*t));
    t->loop = loop;
    t->blobs = blobs;
    t->cpu_flags = cpu_flags;
    t->deadline_ms = deadline_ms;
    t->end = end;
    t->pipe = -1;
}

/* The rungs without which what was bad does not run: 0 of what is no kernel,
 * or of a plain one, whose name ends in __ref. */
static uint32_t rungs_of(const struct assay_test_item *item)
{
    const char *isa = strstr(item->name, "__");
    uint32_t mask = 0;

    if (item->kind == ASSAY_SELF_TEST_KERNEL && isa != NULL &&
        assay_cpu_parse_mask(isa + 2, &mask) < 0)
        mask = 0;
    return mask;
}

int assay_board_test_judge(const struct assay_board_test *t, uint32_t flags,
                           struct assay_err *err)
{
    for (unsigned i = 0; i < t->found.n_items; i++) {
        const struct assay_test_item *item = &t->found.items[i];
        uint32_t needs = rungs_of(item);

        if (item->verdict != ASSAY_VERDICT_BAD || (flags & needs) != needs)
            continue;
        return assay_fail(
            err, ASSAY_EBOARD_BAD,
            "board bad: %s (assay self-test says more%s)", item->text,
            needs != 0 ? ", --cpumask 0 runs the plain kernels" : "");
    }
    return 0;
}

void assay_board_test_msg(const struct assay_board_test *t, unsigned i,
                          struct assay_msg_self_test *out)
{
    const struct assay_test_item *item = &t->found.items[i];

    if (i == t->found.n_items) {
        *out = (struct assay_msg_self_test){
            .kind = ASSAY_SELF_TEST_END,
            .verdict = t->health == ASSAY_HEALTH_BAD    ? ASSAY_VERDICT_BAD
                       : t->health == ASSAY_HEALTH_GOOD ? ASSAY_VERDICT_GOOD
                                                        : ASSAY_VERDICT_NONE,
            .text = t->found.sentence,
            .checks = t->found.n_checks,
            .time_us = t->found.time_us,
        };
        return;
    }
    *out = (struct assay_msg_self_test){
        .kind = item->kind,
        .verdict = item->verdict,
        .name = item->name,
        .rung = item->rung,
        .text = item->text,
        .checks = item->checks,
    };
}

/* ---- what came of it ----------------------------------------------------------- */

/* The first of all that is bad is what runs are refused with. */
static void set_bad(struct assay_board_test *t, const char *sentence)
{
    if (t->now.sentence[0] == '\0')
        snprintf(t->now.sentence, sizeof(t->now.sentence), "%.*s",
                 (int)sizeof(t->now.sentence) - 1, sentence);
}

static void add_item(struct assay_board_test *t,
                     const struct assay_test_item *item)
{
    struct assay_test_item *at = NULL;

    for (unsigned i = 0; i < t->now.n_items && at == NULL; i++) {
        if (t->now.items[i].kind == item->kind &&
            strcmp(t->now.items[i].name, item->name) == 0)
            at = &t->now.items[i];
    }
    if (at == NULL && t->now.n_items < ASSAY_TEST_ITEMS) {
        at = &t->now.items[t->now.n_items++];
        *at = *item;
        at->checks = 0;
    }
    if (at == NULL)
        return;
    if (item->verdict == ASSAY_VERDICT_BAD && at->verdict != item->verdict) {
        at->verdict = item->verdict;
        memcpy(at->text, item->text, sizeof(at->text));
    }
    at->checks++;
    t->now.n_checks++;
    if (item->verdict == ASSAY_VERDICT_BAD) {
        set_bad(t, item->text);
        assay_log(ASSAY_LOG_ERROR, "self-test bad name=%s why=\"%s\"",
                  item->name[0] != '\0' ? item->name : "memory", item->text);
    }
}

/* The child died, or was killed, in what it had begun. */
static void blame_last(struct assay_board_test *t)
{
    struct assay_test_item item = t->last;
    const char *what = item.kind == ASSAY_SELF_TEST_KERNEL ? item.name
                       : item.kind != 0                    ? "memory"
                                                           : "its start";
    int sig = WIFSIGNALED(t->status) ? WTERMSIG(t->status) : 0;

    if (item.kind == 0)
        item.kind = ASSAY_SELF_TEST_MEMORY;
    item.verdict = ASSAY_VERDICT_BAD;
    if (t->timed_out)
        snprintf(item.text, sizeof(item.text),
                 "self-test did not finish within %" PRIu64 " ms in %s",
                 t->deadline_ms, what);
    else if (sig != 0)
        snprintf(item.text, sizeof(item.text),
                 "self-test died of signal %d (%s) in %s", sig, strsignal(sig),
                 what);
    else
        snprintf(item.text, sizeof(item.text),
                 "self-test ended with status %d in %s", WEXITSTATUS(t->status),
                 what);
    /* Whoever killed it while it took memory, it was not the memory. */
    if (item.kind == ASSAY_SELF_TEST_MEMORY && sig == SIGKILL && !t->timed_out)
        item.verdict = ASSAY_VERDICT_NONE;
    add_item(t, &item);
}

static void conclude(struct assay_board_test *t)
{
    bool whole = WIFEXITED(t->status) && WEXITSTATUS(t->status) == 0;

    if (!whole || t->timed_out)
        blame_last(t);
    t->running = false;
    t->now.time_us = assay_now_us() - t->began_us;
    t->health =
        t->now.sentence[0] != '\0' ? ASSAY_HEALTH_BAD : ASSAY_HEALTH_GOOD;
    assay_log(t->health == ASSAY_HEALTH_BAD ? ASSAY_LOG_ERROR : ASSAY_LOG_INFO,
              "self-test %s checks=%u ms=%" PRIu64,
              t->health == ASSAY_HEALTH_BAD ? "failed" : "passed",
              t->now.n_checks, t->now.time_us / 1000);
    t->found = t->now;
    t->end.over(t->end.self);
}

/* ---- the child, from outside ----------------------------------------------------- */

static void handle_closed(struct assay_board_test *t)
{
    if (--t->open_handles > 0)
        return;
    if (t->pipe >= 0)
        close(t->pipe);
    t->pipe = -1;
    assay_budget_give(t->blobs, t->memory);
    t->memory = 0;
    if (t->running)
        conclude(t);
}

static void poll_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static void deadline_closed(void *self)
{
    handle_closed(self);
}

static void close_handles(struct assay_board_test *t)
{
    uv_close((uv_handle_t *)&t->poll, poll_closed);
    assay_deadline_close(&t->deadline, deadline_closed);
}

static void look(struct assay_board_test *t)
{
    if (t->child_gone && t->pipe_gone)
        close_handles(t);
}

/* What a broken kernel scribbled over is cut to what an item may be. */
static void take(struct assay_board_test *t, struct assay_test_item *item)
{
    item->name[sizeof(item->name) - 1] = '\0';
    item->rung[sizeof(item->rung) - 1] = '\0';
    item->text[sizeof(item->text) - 1] = '\0';
    if (item->kind < ASSAY_SELF_TEST_KERNEL ||
        item->kind > ASSAY_SELF_TEST_FREQUENCY ||
        item->verdict > ASSAY_VERDICT_NONE)
        return;
    if (item->begins != 0)
        t->last = *item;
    else if (item->verdict >= ASSAY_VERDICT_GOOD)
        add_item(t, item);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct assay_board_test *t = poll->data;
    struct assay_test_item item;
    ssize_t n;

    (void)events;
    /* An item is written at once, and is less than a pipe takes at once. */
    while ((n = read(t->pipe, &item, sizeof(item))) == (ssize_t)sizeof(item))
        take(t, &item);
    if (status < 0 || n >= 0 || (errno != EAGAIN && errno != EINTR)) {
        uv_poll_stop(poll);
        t->pipe_gone = true;
        look(t);
    }
}

static void on_deadline(void *self)
{
    struct assay_board_test *t = self;

    if (t->child_gone)
        return;
    t->timed_out = true;
    kill(t->pid, SIGKILL);
}

void assay_board_test_child(struct assay_board_test *t)
{
    if (!t->running || t->child_gone ||
        waitpid(t->pid, &t->status, WNOHANG) != t->pid)
        return;
    t->child_gone = true;
    look(t);
}

void assay_board_test_stop(struct assay_board_test *t)
{
    if (!t->running)
        return;
    t->running = false;
    if (!t->child_gone) {
        kill(t->pid, SIGKILL);
        while (waitpid(t->pid, &t->status, 0) < 0 && errno == EINTR)
            ;
    }
    if (!(t->child_gone && t->pipe_gone)) /* else they are being closed */
        close_handles(t);
}

/* ---- start ------------------------------------------------------------------------- */

static int spawn(struct assay_board_test *t)
{
    sigset_t all, before;
    int fds[2], rc;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return errno;
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    /* As of a worker: the loop's handlers are the parent's alone. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    t->pid = fork();
    if (t->pid == 0) {
        assay_worker_enter(fds[1], fds[1]);
        alarm((unsigned)(t->deadline_ms / 1000 + 2));
        assay_test_child(fds[1], t->cpu_flags, t->memory);
    }
    rc = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(fds[1]);
    if (t->pid < 0) {
        close(fds[0]);
        return rc;
    }
    t->pipe = fds[0];
    return 0;
}

void assay_board_test_start(struct assay_board_test *t, uint64_t memory_bytes)
{
    int rc;

    if (t->running)
        return;
    t->began_us = assay_now_us();
    t->now.n_items = t->now.n_checks = 0;
    t->now.sentence[0] = '\0';
    memset(&t->last, 0, sizeof(t->last));
    t->timed_out = t->child_gone = t->pipe_gone = false;
    if (t->health == ASSAY_HEALTH_UNKNOWN)
        t->health = ASSAY_HEALTH_TESTING;
    t->memory = assay_budget_borrow(t->blobs, memory_bytes);
    t->running = true;
    assay_deadline_init(&t->deadline, t->loop, on_deadline, t);
    rc = spawn(t);
    if (rc != 0) {
        char why[120];

        snprintf(why, sizeof(why), "self-test could not start: %s",
                 strerror(rc));
        set_bad(t, why);
        t->status = 0;
        t->open_handles = 1;
        assay_deadline_close(&t->deadline, deadline_closed);
        t->child_gone = t->pipe_gone = true;
        return;
    }
    uv_poll_init(t->loop, &t->poll, t->pipe);
    t->poll.data = t;
    t->open_handles = 2;
    uv_poll_start(&t->poll, UV_READABLE, on_readable);
    assay_deadline_start(&t->deadline, t->deadline_ms);
}
