/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures like photographs, and the search asked about what was fed: for
 * test_received*.c. */
#ifndef ASSAY_TESTS_RECEIVED_FIND_H
#define ASSAY_TESTS_RECEIVED_FIND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/image/received_knobs.h"
#include "lib/core/buf.h"

static uint32_t state = 12345;

static inline uint32_t roll(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static inline uint8_t clamp(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

enum look { PHOTO, GRAY, RANDOM };

/* Slopes, patches of colour, and some noise: like a photograph where it
 * matters. */
static inline struct assay_picture picture_of(enum look look, uint32_t w,
                                              uint32_t h)
{
    struct assay_picture p = {.form = ASSAY_PICTURE_RGB,
                              .width = w,
                              .height = h,
                              .bytes = (size_t)3 * w * h,
                              .orientation = 1,
                              .format = "png"};

    p.data = assay_alloc(p.bytes);
    assert_non_null(p.data);
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) {
            uint8_t *e = p.data + 3 * ((size_t)y * w + x);
            bool patch = (x / 13 + y / 9) % 3 == 0;
            int noise = (int)(roll() % 7);

            e[0] = clamp((int)(x * 255 / w) + noise);
            e[1] = clamp((int)(y * 255 / h) + (patch ? 60 : 0) - noise);
            e[2] = clamp(230 - (int)((x + y) * 160 / (w + h)) -
                         (patch ? 90 : 0) + noise);
            if (look == GRAY)
                e[1] = e[2] = e[0];
            for (int c = 0; look == RANDOM && c < 3; c++)
                e[c] = (uint8_t)roll();
        }
    return p;
}

/* ---- finding it ----------------------------------------------------------- */

static inline struct assay_received *find(const struct assay_picture *p,
                                          const struct assay_received_wanted *w,
                                          enum assay_dtype dtype,
                                          const void *data, size_t bytes)
{
    struct assay_received_got got = {
        .dtype = dtype, .bytes = bytes, .data = data};
    struct assay_received *r = NULL;
    struct assay_err err = {0};
    int rc = assay_received_search(&r, p, w, &got, 0, &err);

    if (rc < 0)
        fail_msg("%s", err.text);
    return r;
}

static inline struct assay_image_adapted made_of(
    const struct assay_image_spec *s, const struct assay_picture *p)
{
    struct assay_image_adapted a = {0};
    struct assay_err err = {0};

    if (assay_image_adapt(&a, s, p, &err) < 0)
        fail_msg("%s", err.text);
    return a;
}

/* "Y6", "Y1+Y9": ids of a hit. */
static inline void ids_of(const struct assay_received *r,
                          const struct assay_received_hit *h,
                          const struct assay_received_wanted *w, char out[80])
{
    out[0] = '\0';
    for (uint32_t i = 0; i < h->n_knobs; i++) {
        enum assay_fed f =
            assay_fed_of(h->knobs[i], &h->reading, &r->wanted, w);

        strcat(out, i > 0 ? "+" : "");
        strcat(out, assay_fed_text(f)->id);
    }
}

static inline bool has(const struct assay_received *r,
                       const struct assay_received_wanted *w, const char *id)
{
    char ids[80];

    for (uint32_t i = 0; i < r->n; i++) {
        ids_of(r, &r->hits[i], w, ids);
        if (strcmp(ids, id) == 0)
            return true;
    }
    return false;
}

static inline void check_hits(const struct assay_received *r, const char *what)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct assay_received_hit *h = &r->hits[i];

        if (h->n_knobs != r->changes || h->all_matched != h->all ||
            h->differing_matched != h->differing || h->all == 0 ||
            h->all + h->unseen != r->elements)
            fail_msg("%s: hit %u is no proof", what, i);
    }
}

#endif
