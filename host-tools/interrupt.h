/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C and SIGTERM. The first one lets the current layer finish while a
 * request is under way, the second one (or the first outside a request)
 * abandons it. Main thread only.
 */
#ifndef ASSAY_HOST_INTERRUPT_H
#define ASSAY_HOST_INTERRUPT_H

#include <stdbool.h>

void assay_interrupt_install(void);
int assay_interrupted(void); /* 0, or the signal */
void assay_interrupt_request(bool under_way);
/* Turns true when waits are to be abandoned; for the client. */
const volatile int *assay_interrupt_abandon(void);

#endif
