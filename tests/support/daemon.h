/* SPDX-License-Identifier: Apache-2.0 */
/* The real assayd as a child, on a port of the loopback, and what the system
 * says of it. A failure of the support itself ends the program. */
#ifndef ASSAY_TESTS_SUPPORT_DAEMON_H
#define ASSAY_TESTS_SUPPORT_DAEMON_H

#include <stdint.h>

#include "tests/support/agents.h"

/* Starts and waits until it listens: the milliseconds that took. memory: what
 * --memory gets. */
double daemon_start(struct agents *a, const char *program, const char *memory);
/* SIGTERM; the exit status, or 1000 + signal. */
int daemon_stop(struct agents *a);
/* Bytes: "VmRSS" now, "VmHWM" at most, of /proc/PID/status. */
uint64_t daemon_memory(pid_t pid, const char *field);
/* Bytes, shared pages in parts: all processes together. 0: it has gone. */
uint64_t daemon_share(pid_t pid);
unsigned daemon_descriptors(const struct agents *a);
double daemon_now_ms(void);

#endif
