/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/kcheck.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_IN_FULL 5u
#define FIRST_ELEMENTS 4u

static uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

bool kc_case(struct kc *k, const char *check, int64_t index)
{
    uint64_t h = k->opt.seed;

    if (k->opt.only_check && strcmp(k->opt.only_check, check) != 0)
        return false;
    if (k->opt.only_case >= 0 && k->opt.only_case != index)
        return false;
    for (const char *c = check; *c; c++)
        h = mix(h ^ (unsigned char)*c);
    k->rng[0] = mix(h ^ (uint64_t)index);
    k->rng[1] = mix(k->rng[0]) | 1;
    k->check = check;
    k->case_index = index;
    k->text[0] = '\0';
    return true;
}

bool kc_wants(const struct kc *k, const char *kernel)
{
    return !k->opt.function || fnmatch(k->opt.function, kernel, 0) == 0;
}

static struct kc_stats *stats_of(struct kc *k, const char *kernel)
{
    for (size_t i = 0; i < k->n_stats; i++)
        if (strcmp(k->stats[i].name, kernel) == 0)
            return &k->stats[i];
    fprintf(stderr, "kcheck: kernel '%s' is not in kernels.def\n", kernel);
    exit(2);
}

static void repro(const struct kc *k, const char *kernel)
{
    printf("  repro: kcheck --seed %" PRIu64
           " --function=%s --check %s --case %" PRId64 "\n",
           k->opt.seed, kernel, k->check, k->case_index);
}

void kc_fail(struct kc *k, const char *kernel, const char *why)
{
    stats_of(k, kernel)->failed++;
    if (k->printed++ >= TOLD_IN_FULL)
        return;
    printf("FAIL %s: %s\n  %s\n", kernel, k->text, why);
    repro(k, kernel);
}

static bool is_equal(enum assay_dtype t, const uint8_t *a, const uint8_t *b)
{
    float x, y;

    if (memcmp(a, b, assay_dtype_size(t)) == 0)
        return true;
    if (t != ASSAY_F32)
        return false;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x != x && y != y;
}

static void tell(enum assay_dtype t, const uint8_t *e, const uint8_t *g,
                 const int64_t dims[4], size_t at)
{
    int64_t i = (int64_t)at, c = i % dims[3], w = i / dims[3] % dims[2];
    int64_t h = i / dims[3] / dims[2] % dims[1];
    int64_t n = i / dims[3] / dims[2] / dims[1];
    union assay_value a, b;

    assay_load_values(t, e, &a, 1);
    assay_load_values(t, g, &b, 1);
    printf("  [%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "] ", n, h, w, c);
    if (t == ASSAY_F32)
        printf("%.9g %.9g %.9g\n", (double)a.f, (double)b.f,
               (double)b.f - (double)a.f);
    else
        printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", a.i, b.i,
               (int64_t)((uint64_t)b.i - (uint64_t)a.i));
}

void kc_judge(struct kc *k, const char *kernel, enum assay_dtype t,
              const void *expected, const void *got, const int64_t dims[4])
{
    size_t n = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
    size_t size = assay_dtype_size(t), bad = 0;
    const uint8_t *e = expected, *g = got;
    bool tells = k->printed < TOLD_IN_FULL;

    if (n == 0) {
        kc_fail(k, kernel, "nothing was compared");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (is_equal(t, e + i * size, g + i * size))
            continue;
        if (bad == 0 && tells)
            printf("FAIL %s: %s\n  [n,h,w,c] exp got diff\n", kernel, k->text);
        if (bad++ < FIRST_ELEMENTS && tells)
            tell(t, e + i * size, g + i * size, dims, i);
    }
    if (bad == 0) {
        stats_of(k, kernel)->passed++;
        return;
    }
    stats_of(k, kernel)->failed++;
    k->printed++;
    if (tells) {
        printf("  %zu of %zu differ\n", bad, n);
        repro(k, kernel);
    }
}
