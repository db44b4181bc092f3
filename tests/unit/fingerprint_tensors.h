/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of fingerprints share: two tensors of random elements, and
 * asking what they have in common. */
#ifndef ASSAY_TEST_FINGERPRINT_TENSORS_H
#define ASSAY_TEST_FINGERPRINT_TENSORS_H

#include "host-tools/cause/fingerprint.h"
#include "tests/unit/random_tensors.h"

static uint64_t base[MOST], got[MOST]; /* as bytes, aligned */
static struct assay_fingerprint found[ASSAY_FINGERPRINTS];
static size_t n_found;

static inline void set(const struct assay_tensor *t, void *p, size_t i,
                       double v)
{
    float f = (float)v;
    int64_t k = t->dtype == ASSAY_F32 ? 0 : (int64_t)v;
    size_t w = assay_dtype_bytes(t->dtype);

    memcpy((uint8_t *)p + i * w,
           t->dtype == ASSAY_F32 ? (const void *)&f : (const void *)&k, w);
}

static inline double get(const struct assay_tensor *t, const void *p, size_t i)
{
    size_t w = assay_dtype_bytes(t->dtype);
    int64_t k = 0;
    float f;

    memcpy(&f, (const uint8_t *)p + i * 4 % (MOST * 8), 4);
    memcpy(&k, (const uint8_t *)p + i * w, w);
    switch (t->dtype) {
    case ASSAY_S8: return (int8_t)k;
    case ASSAY_S16: return (int16_t)k;
    case ASSAY_S32: return (int32_t)k;
    case ASSAY_F32: return (double)f;
    default: return (double)k;
    }
}

/* Elements from 20 to 99, or of +-50 with signed types; got is base. */
static inline void fill(const struct assay_tensor *t)
{
    bool is_unsigned = t->dtype == ASSAY_U8 || t->dtype == ASSAY_U16;

    for (size_t i = 0; i < count(t); i++)
        set(t, base, i,
            is_unsigned ? 20 + (int)(rnd() % 80) : (int)(rnd() % 101) - 50);
    memcpy(got, base, sizeof(got));
}

static inline void add(const struct assay_tensor *t, size_t i, double v)
{
    set(t, got, i, get(t, got, i) + v);
}

static inline void ask(const struct assay_fingerprint_view *v)
{
    n_found = assay_fingerprint(v, found);
    assert_true(n_found <= ASSAY_FINGERPRINTS);
    for (size_t i = 0; i < n_found; i++) {
        assert_true(found[i].matched <= found[i].differing);
        assert_true(found[i].differing >= 2);
        assay_fingerprint_text(&found[i], v->t, text, sizeof(text));
        assert_true(text[0] != '\0');
    }
}

static inline void ask_tensor(const struct assay_tensor *t)
{
    const struct assay_fingerprint_view v = {.t = t, .base = base, .got = got};

    ask(&v);
}

/* NULL: it was not found. `text` is its. */
static inline const struct assay_fingerprint *one(
    const struct assay_tensor *t, enum assay_fingerprint_kind kind)
{
    for (size_t i = 0; i < n_found; i++) {
        if (found[i].kind != kind)
            continue;
        assay_fingerprint_text(&found[i], t, text, sizeof(text));
        return &found[i];
    }
    return NULL;
}

#endif
