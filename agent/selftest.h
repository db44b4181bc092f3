/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this board fit to judge a model? A child process runs the kernels on
 * built-in slices (lib/engine/selftest.h), writes and reads memory, and looks
 * at clock and sensors; the daemon lives whatever befalls it. What it found
 * holds until the next test is over. Loop thread only.
 */
#ifndef ASSAY_AGENT_SELFTEST_H
#define ASSAY_AGENT_SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "agent/blobs.h"
#include "lib/net/deadline.h"
#include "proto/codec.h"

#define ASSAY_TEST_ITEMS 160

/* As SELF_TEST_REPLY tells it; what the child writes, too. */
struct assay_test_item {
    uint32_t kind, verdict, checks;
    uint32_t begins; /* in the pipe: this is what comes, not what was found */
    char name[64], rung[12], text[220];
};

struct assay_test_findings {
    struct assay_test_item items[ASSAY_TEST_ITEMS];
    unsigned n_items, n_checks;
    char sentence[300]; /* what is bad; "" */
    uint64_t time_us;
};

struct assay_test_end {
    void (*over)(void *self);
    void *self;
};

struct assay_board_test {
    uv_loop_t *loop;
    struct assay_blobs *blobs;
    uint32_t cpu_flags;
    uint64_t deadline_ms;
    struct assay_test_end end;
    enum assay_health health;
    struct assay_test_findings found; /* of the last that is over */
    /* Of the test that runs: */
    struct assay_test_findings now;
    uint64_t began_us;
    bool running, timed_out, child_gone, pipe_gone;
    int pid, status;
    int pipe;
    uv_poll_t poll;
    struct assay_deadline deadline;
    int open_handles;
    uint64_t memory;             /* accounted for in the budget */
    struct assay_test_item last; /* that began */
};

void assay_board_test_init(struct assay_board_test *t, uv_loop_t *loop,
                           struct assay_blobs *blobs, uint32_t cpu_flags,
                           uint64_t deadline_ms, struct assay_test_end end);
/* memory_bytes: at most so much is written and read, of what is free. Nothing
 * when one runs. end.over() is called when it is over, later. */
void assay_board_test_start(struct assay_board_test *t, uint64_t memory_bytes);
void assay_board_test_child(struct assay_board_test *t); /* SIGCHLD came */
void assay_board_test_stop(struct assay_board_test *t);  /* no over() comes */
/* May kernels of these rungs run here? 0, or ASSAY_EBOARD_BAD with the
 * sentence that a run is refused with: a bad vector kernel says nothing
 * against the plain ones. */
int assay_board_test_judge(const struct assay_board_test *t, uint32_t flags,
                           struct assay_err *err) ASSAY_MUST_CHECK;
/* Item i as a message; i = n_items: the end of all. */
void assay_board_test_msg(const struct assay_board_test *t, unsigned i,
                          struct assay_msg_self_test *out);

/* ---- in the child (selftest_child.c) ------------------------------------------ */

/* Writes items to fd, and ends the process. */
void assay_test_child(int fd, uint32_t cpu_flags, uint64_t memory_bytes)
    __attribute__((noreturn));

#endif
