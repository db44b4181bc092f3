/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of layouts and fingerprints share: shapes, random numbers. */
#ifndef ASSAY_TEST_RANDOM_TENSORS_H
#define ASSAY_TEST_RANDOM_TENSORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/core/slice.h"

#define MOST (1u << 16) /* of a tensor: elements, bytes */

static char text[200];

static uint32_t seed = 1;
static inline uint32_t rnd(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static inline struct assay_tensor shape(enum assay_dtype dtype,
                                        const char *axes, uint32_t rank, ...)
{
    struct assay_tensor t = {.name = "y", .dtype = dtype, .rank = rank};
    va_list ap;

    va_start(ap, rank);
    for (uint32_t a = 0; a < rank; a++) {
        t.dims[a] = va_arg(ap, int);
        t.perm[a] = (uint8_t)a;
    }
    va_end(ap);
    snprintf(t.axes, sizeof(t.axes), "%s", axes);
    return t;
}

static inline size_t count(const struct assay_tensor *t)
{
    size_t n = 1;

    for (uint32_t a = 0; a < t->rank; a++)
        n *= (size_t)t->dims[a];
    assert_true(n <= MOST);
    return n;
}

#endif
