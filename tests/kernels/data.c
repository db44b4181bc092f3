/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/kcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD 256u
#define GUARD_BYTE 0xA5
#define POISON 0x5B

uint64_t kc_random(struct kc *k)
{
    /* xoroshiro128+; kc_case() seeds it. */
    uint64_t a = k->rng[0], b = k->rng[1], r = a + b;

    b ^= a;
    k->rng[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
    k->rng[1] = b << 37 | b >> 27;
    return r;
}

int64_t kc_range(struct kc *k, int64_t lo, int64_t hi)
{
    uint64_t n = (uint64_t)hi - (uint64_t)lo + 1;

    return (int64_t)((uint64_t)lo + (n ? kc_random(k) % n : kc_random(k)));
}

bool kc_chance(struct kc *k, unsigned percent)
{
    return kc_random(k) % 100 < percent;
}

void *kc_alloc(size_t n)
{
    void *p = calloc(1, n ? n : 1);

    if (!p) {
        fprintf(stderr, "kcheck: out of memory for %zu bytes\n", n);
        exit(2);
    }
    return p;
}

static int64_t smallest(enum assay_dtype t)
{
    switch (t) {
    case ASSAY_S8: return INT8_MIN;
    case ASSAY_S16: return INT16_MIN;
    case ASSAY_S32: return INT32_MIN;
    case ASSAY_S64: return INT64_MIN;
    default: return 0;
    }
}

static int64_t largest(enum assay_dtype t)
{
    switch (t) {
    case ASSAY_S8: return INT8_MAX;
    case ASSAY_U8: return UINT8_MAX;
    case ASSAY_S16: return INT16_MAX;
    case ASSAY_U16: return UINT16_MAX;
    case ASSAY_S64: return INT64_MAX;
    default: return INT32_MAX;
    }
}

static void put(enum assay_dtype t, void *to, size_t at, int64_t v)
{
    union assay_value value = {.i = v};

    if (t == ASSAY_F32)
        value.f = (float)v / 64.0f;
    assay_store_values(t, (uint8_t *)to + at * assay_dtype_size(t), &value, 1);
}

void kc_fill(struct kc *k, enum assay_dtype t, void *to, size_t n)
{
    int64_t lo = smallest(t), hi = largest(t);
    unsigned pattern = (unsigned)kc_range(k, 0, 9);

    for (size_t i = 0; i < n; i++) {
        int64_t v = kc_range(k, lo, hi);

        switch (pattern) {
        case 0: v = lo; break;
        case 1: v = hi; break;
        case 2: v = i & 1 ? lo : hi; break;
        case 3: v = kc_chance(k, 50) ? lo : hi; break;
        case 4: /* small ones: zeros, ties, cancellation */
            v = kc_range(k, lo < -3 ? -3 : lo, 3);
            break;
        default: break;
        }
        put(t, to, i, v);
    }
}

void kc_special_floats(struct kc *k, float *x, size_t n, unsigned percent)
{
    static const float values[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};

    for (size_t i = 0; i < n; i++)
        if (kc_chance(k, percent))
            x[i] = values[kc_range(k, 0, 4)];
}

struct kc_buf kc_buf_new(size_t n, size_t misalign)
{
    size_t all = (n + misalign + 2 * GUARD + 63) / 64 * 64;
    struct kc_buf b = {.n = n};

    b.base = aligned_alloc(64, all);
    if (!b.base) {
        fprintf(stderr, "kcheck: out of memory for %zu bytes\n", all);
        exit(2);
    }
    memset(b.base, GUARD_BYTE, all);
    b.data = b.base + GUARD + misalign;
    memset(b.data, POISON, n);
    return b;
}

bool kc_buf_intact(struct kc *k, const struct kc_buf *b, const char *kernel,
                   const char *what)
{
    char why[96];

    for (size_t i = 0; i < GUARD; i++) {
        bool before = (b->data - 1 - i) < b->base
                          ? false
                          : *(b->data - 1 - i) != GUARD_BYTE;

        if (before || (i < 64 && b->data[b->n + i] != GUARD_BYTE)) {
            snprintf(why, sizeof(why), "%s written %zu bytes %s its %s", what,
                     i + 1, before ? "before" : "behind",
                     before ? "begin" : "end");
            kc_fail(k, kernel, why);
            return false;
        }
    }
    return true;
}

struct kc_buf kc_buf_wall(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t all = (n + page - 1) / page * page;
    struct kc_buf b = {.n = n, .mapped = all + page};
    void *base = mmap(NULL, b.mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED ||
        mprotect((uint8_t *)base + all, page, PROT_NONE) != 0) {
        fprintf(stderr, "kcheck: cannot map %zu bytes\n", b.mapped);
        exit(2);
    }
    b.base = base;
    b.data = b.base + all - n;
    return b;
}

void kc_buf_free(struct kc_buf *b)
{
    if (b->mapped)
        munmap(b->base, b->mapped);
    else
        free(b->base);
    b->base = NULL;
    b->mapped = 0;
}
