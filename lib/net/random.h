/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes of the kernel, in the form that mbedTLS takes (f_rng). */
#ifndef ASSAY_NET_RANDOM_H
#define ASSAY_NET_RANDOM_H

#include <stddef.h>

/* 0, or an MBEDTLS_ERR_* code: the kernel has no entropy yet and gave none
 * for 5 s (a board that has just booted), or has no such call. Any thread. */
int assay_random(void *unused, unsigned char *out, size_t n);

#endif
