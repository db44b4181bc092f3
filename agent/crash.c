/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* strsignal() has no names; those that a kernel can be the cause of. */
static const char *signal_name(int sig)
{
    switch (sig) {
    case SIGSEGV: return "SIGSEGV";
    case SIGILL: return "SIGILL";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGABRT: return "SIGABRT";
    case SIGTRAP: return "SIGTRAP";
    case SIGSYS: return "SIGSYS";
    default: return "signal";
    }
}

bool assay_crash_is_kill(int status)
{
    /* Nobody here sends that signal without a reason of its own. */
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void assay_crash_text(int status, char *out, size_t cap)
{
    if (assay_crash_is_kill(status))
        snprintf(
            out, cap,
            "worker was killed, perhaps by the kernel for lack of memory,");
    else if (WIFSIGNALED(status))
        snprintf(out, cap, "worker died of signal %d (%s, %s)",
                 WTERMSIG(status), signal_name(WTERMSIG(status)),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, cap,
                 "worker ended with status %d before the end of its run",
                 WEXITSTATUS(status));
}
