/* SPDX-License-Identifier: Apache-2.0 */
/* An agent in a child of the test program, and a client of it. A failure of
 * the builder itself ends the test program. */
#ifndef ASSAY_TESTS_SUPPORT_AGENTS_H
#define ASSAY_TESTS_SUPPORT_AGENTS_H

#include <stdint.h>
#include <sys/types.h>

#include "host-tools/backend.h"

/* A sanitizer keeps what was freed, and its own shadow, and an emulator (which
 * runs these tests for aarch64) what it translated: resident memory says
 * nothing then. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__aarch64__)
#define AGENTS_MEMORY_TELLS 1
#endif

struct agents {
    pid_t pid;
    char folder[64];
    char target[96]; /* "unix:..." */
};

/* Starts assayd on a Unix socket of its own and waits until it listens. */
void agents_start(struct agents *a, const char *board_id, uint64_t memory);
/* Deadline of a run of agents that are started from now on; 0: the default. */
extern uint64_t agents_run_ms;
/* Likewise of a constant, and of a run's inputs. */
extern uint64_t agents_blob_ms;
/* The same on a port of the loopback. */
void agents_start_tcp(struct agents *a, const char *board_id, uint64_t memory);
/* SIGTERM; returns the exit status, or 1000 + signal. */
int agents_stop(struct agents *a);
/* Its worker, waited for; 0 when there is none for 5 s. */
pid_t agents_worker(const struct agents *a);
/* Resident bytes of a process. */
uint64_t agents_resident(pid_t pid);

#endif
