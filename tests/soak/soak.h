/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the soak that no honest client is. */
#ifndef ASSAY_TESTS_SOAK_SOAK_H
#define ASSAY_TESTS_SOAK_SOAK_H

#include "tests/support/hostile.h"

/* Connects and says hello. */
void soak_hello(struct hostile_peer *p, const struct agents *a);
/* Loads, starts and takes nothing until the agent has had enough; leaves: it
 * is gone before. true: it ended as it has to. */
bool soak_stall(const struct agents *a, const struct assay_slice *slice,
                uint32_t input_bytes, bool leaves);

#endif
