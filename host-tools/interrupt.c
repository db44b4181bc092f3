/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/messages.h"

static volatile sig_atomic_t caught, under_request;
static volatile int abandon;
/* Made before the handler is installed: it may only write. */
static char notice[160];
static size_t notice_len;

static void on_signal(int sig)
{
    if (caught == 0 && under_request) {
        ssize_t ignored = write(STDERR_FILENO, notice, notice_len);

        (void)ignored;
    }
    if (caught != 0 || !under_request)
        abandon = 1;
    caught = sig;
}

void assay_interrupt_install(void)
{
    struct sigaction sa = {.sa_handler = on_signal};

    assay_message(notice, sizeof(notice) - 1, ASSAY_MSG_INTERRUPTED, NULL);
    notice_len = strlen(notice);
    notice[notice_len++] = '\n';
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL); /* no SA_RESTART: waits wake up */
    sigaction(SIGTERM, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int assay_interrupted(void)
{
    return (int)caught;
}

void assay_interrupt_request(bool under_way)
{
    under_request = under_way;
}

const volatile int *assay_interrupt_abandon(void)
{
    return &abandon;
}
