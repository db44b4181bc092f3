/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught, under_request;
static volatile int abandon;

static void on_signal(int sig)
{
    if (caught != 0 || !under_request)
        abandon = 1;
    caught = sig;
}

void assay_interrupt_install(void)
{
    struct sigaction sa = {.sa_handler = on_signal};

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
