/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker ended that was not to end. Any thread. */
#ifndef ASSAY_AGENT_CRASH_H
#define ASSAY_AGENT_CRASH_H

#include <stdbool.h>
#include <stddef.h>

/* By somebody else: no fault of the layer. */
bool assay_crash_is_kill(int status);
/* "worker died of signal 4 (SIGILL, Illegal instruction)", of a status that
 * waitpid() gave; to be followed by where. */
void assay_crash_text(int status, char *out, size_t cap);

#endif
