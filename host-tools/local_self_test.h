/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test of this process. */
#ifndef ASSAY_HOST_LOCAL_SELF_TEST_H
#define ASSAY_HOST_LOCAL_SELF_TEST_H

#include <stdint.h>

struct assay_msg_self_test;

/* As self_test of backend.h; always 0. */
int assay_local_self_test(uint32_t cpumask, uint64_t memory_bytes,
                          void (*found)(void *self,
                                        const struct assay_msg_self_test *),
                          void *self);

#endif
