/* SPDX-License-Identifier: Apache-2.0 */
/* A client of an agent, as commands have it. */
#ifndef ASSAY_TESTS_SUPPORT_CONNECT_H
#define ASSAY_TESTS_SUPPORT_CONNECT_H

#include "host-tools/backend.h"

/* With the lease and this slice, which outlives it; else the test fails. */
struct assay_backend *connect_and_load(const char *target,
                                       const struct assay_slice *slice);

#endif
