/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a worker ended, of statuses as the kernel gives them.
 *
 * links: agent/crash.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/crash.h"

/* The status of a child that ends so. */
static int status_of(int sig, int code)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        sigaction(sig, &plain, NULL); /* a sanitizer has its own handlers */
        if (sig != 0)
            raise(sig);
        _exit(code);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void signals(void **state)
{
    static const struct {
        int sig;
        const char *begin;
    } v[] = {
        {SIGSEGV, "worker died of signal 11 (SIGSEGV, "},
        {SIGILL, "worker died of signal 4 (SIGILL, "},
        {SIGFPE, "worker died of signal 8 (SIGFPE, "},
        {SIGABRT, "worker died of signal 6 (SIGABRT, "},
        {SIGBUS, "worker died of signal 7 (SIGBUS, "},
        {SIGTERM, "worker died of signal 15 (signal, "},
        {SIGKILL,
         "worker was killed, perhaps by the kernel for lack of memory"},
    };
    char text[160];

    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        assay_crash_text(status_of(v[i].sig, 0), text, sizeof(text));
        assert_memory_equal(text, v[i].begin, strlen(v[i].begin));
    }
}

static void statuses(void **state)
{
    char text[160];

    (void)state;
    assay_crash_text(status_of(0, 3), text, sizeof(text));
    assert_string_equal(text,
                        "worker ended with status 3 before the end of its run");
    memset(text, 'x', sizeof(text));
    assay_crash_text(status_of(0, 3), text, 10);
    assert_string_equal(text, "worker en");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals),
        cmocka_unit_test(statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
