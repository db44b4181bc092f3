/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two equal int8 tensors of 100 MB with assay_diff_tensor() and with
 * memcmp(), in turn; prints the ratio of the best times. Exit 1 below 0.3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host-tools/diff/diff.h"

#define BYTES 100000000
#define ROUNDS 5
#define LIMIT 0.3

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

int main(void)
{
    const struct assay_tensor t = {
        .name = "bench",
        .dtype = ASSAY_S8,
        .rank = 1,
        .dims = {BYTES},
    };
    const struct assay_tolerance tol = {.rtol = 1e-5, .atol = 1e-6};
    char *a = malloc(BYTES), *b = malloc(BYTES);
    double cmp = 1e9, diff = 1e9;

    if (!a || !b) {
        fprintf(stderr, "bench_compare: out of memory\n");
        free(a);
        free(b);
        return 2;
    }
    for (size_t i = 0; i < BYTES; i++)
        a[i] = (char)(i * 2654435761u >> 13);
    memcpy(b, a, BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        struct assay_diff d;
        double s = now();
        int r = memcmp(a, b, BYTES);

        cmp = least(cmp, now() - s);
        s = now();
        assay_diff_tensor(&t, a, b, &tol, &d);
        diff = least(diff, now() - s);
        if (r != 0 || d.mismatch != 0 || d.count != BYTES) {
            fprintf(stderr, "bench_compare: equal tensors differ\n");
            return 1;
        }
    }
    printf("compare %.1f ms, memcmp %.1f ms, ratio %.2f (limit %.1f)\n",
           diff * 1e3, cmp * 1e3, cmp / diff, LIMIT);
    free(a);
    free(b);
    return cmp / diff >= LIMIT ? 0 : 1;
}
