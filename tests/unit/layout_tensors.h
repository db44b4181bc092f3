/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of layouts share: two tensors of random bytes, and asking. */
#ifndef ASSAY_TEST_LAYOUT_TENSORS_H
#define ASSAY_TEST_LAYOUT_TENSORS_H

#include "host-tools/cause/layout.h"
#include "tests/unit/random_tensors.h"

static uint8_t ref[MOST], got[MOST];

static inline size_t width(const struct assay_tensor *t)
{
    return assay_dtype_bytes(t->dtype);
}

static inline void fill(void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)p)[i] = (uint8_t)rnd();
}

static inline void fill_ref(const struct assay_tensor *t)
{
    assert_true(count(t) * width(t) <= MOST);
    fill(ref, count(t) * width(t));
    memset(got, 0, sizeof(got));
}

/* got[to] = ref[from], elements. */
static inline void move(const struct assay_tensor *t, size_t to, size_t from)
{
    memcpy(got + to * width(t), ref + from * width(t), width(t));
}

static inline struct assay_layout found(const struct assay_tensor *t)
{
    struct assay_layout l;

    assert_true(assay_layout_find(&l, t, ref, got, NULL, NULL));
    assert_non_null(l.id);
    assert_int_equal(l.all, count(t));
    assert_true(l.compared > 0 && l.compared <= l.all);
    assay_layout_text(&l, t, text, sizeof(text));
    assert_true(text[0] != '\0');
    return l;
}

static inline void none(const struct assay_tensor *t)
{
    struct assay_layout l;

    assert_false(assay_layout_find(&l, t, ref, got, NULL, NULL));
    assert_int_equal(l.kind, ASSAY_LAYOUT_NONE);
}

/* p read with dims in the order of axes, from q. */
static inline void permute(const struct assay_tensor *t, const uint8_t *axes,
                           uint8_t *p, const uint8_t *q)
{
    size_t n = count(t), w = width(t);

    for (size_t i = 0; i < n; i++) {
        size_t rest = i, at[ASSAY_MAX_RANK], from = 0;

        for (uint32_t a = t->rank; a-- > 0;) {
            at[axes[a]] = rest % (size_t)t->dims[axes[a]];
            rest /= (size_t)t->dims[axes[a]];
        }
        for (uint32_t a = 0; a < t->rank; a++)
            from = from * (size_t)t->dims[a] + at[a];
        memcpy(p + i * w, q + from * w, w);
    }
}

#endif
