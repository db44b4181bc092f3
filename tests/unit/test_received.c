/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was fed is found again: every single alteration of every kind of input
 * that it applies to is made by the adapter (or, where it is about memory, by
 * hand) and must be among the readings with the fewest changes; what is as
 * wanted matches, noise is explained by nothing, and of a gray picture all
 * that fits is listed.
 *
 * links: host-tools/image/ host-tools/model/file.c
 * links: lib/core/ kernels/ kernels/ref/
 * libs: -lpng -ljpeg -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/image/received_knobs.h"
#include "lib/core/buf.h"

#define WIDTH 96u
#define HEIGHT 70u

static uint32_t state = 12345;

static uint32_t roll(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static uint8_t clamp(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

enum look { PHOTO, GRAY, RANDOM };

/* Slopes, patches of colour, and some noise: like a photograph where it
 * matters. */
static struct assay_picture picture_of(enum look look, uint32_t w, uint32_t h)
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

/* ---- what is wanted ------------------------------------------------------- */

static const float mean[3] = {123.675f, 116.28f, 103.53f};
static const float scale[3] = {0.01712475f, 0.017507f, 0.01742919f};

static void with_norm(struct assay_received_wanted *w)
{
    memcpy(w->spec.mean, mean, sizeof(mean));
    memcpy(w->spec.scale, scale, sizeof(scale));
}

static void want_nv12(struct assay_received_wanted *w)
{
    assay_image_spec_init(&w->spec, ASSAY_IMAGE_NV12, 68, 56);
    w->spec.colour.range = ASSAY_RANGE_FULL;
    w->model_centres = w->model_normalises = true;
    with_norm(w);
}

static void want_first_layer(struct assay_received_wanted *w)
{
    want_nv12(w);
    w->model_centres = false;
    w->spec.widen = true;
    w->spec.centre = 1;
}

static void want_rgb(struct assay_received_wanted *w)
{
    assay_image_spec_init(&w->spec, ASSAY_IMAGE_RGB, 68, 56);
    w->model_normalises = w->model_centres = true;
    with_norm(w);
}

static void want_float_bgr(struct assay_received_wanted *w)
{
    assay_image_spec_init(&w->spec, ASSAY_IMAGE_BGR, 68, 56);
    with_norm(w);
    w->spec.normalise = 1;
    w->spec.nchw = true;
    w->spec.fit = ASSAY_FIT_LETTERBOX;
    memset(w->spec.pad, 114, 3);
}

static void want_divided(struct assay_received_wanted *w)
{
    assay_image_spec_init(&w->spec, ASSAY_IMAGE_RGB, 68, 56);
    w->spec.divide = 1;
    w->spec.nchw = true;
}

static void want_yuv444(struct assay_received_wanted *w)
{
    assay_image_spec_init(&w->spec, ASSAY_IMAGE_YUV444, 68, 56);
    w->spec.centre = 1;
    with_norm(w);
}

static void want_gray(struct assay_received_wanted *w)
{
    assay_image_spec_init(&w->spec, ASSAY_IMAGE_GRAY, 68, 56);
    w->spec.fit = ASSAY_FIT_CROP;
}

static void want_quantized(struct assay_received_wanted *w)
{
    assay_image_spec_init(&w->spec, ASSAY_IMAGE_RGB, 68, 56);
    with_norm(w);
    w->spec.normalise = 1;
    w->spec.dtype = ASSAY_S8;
    w->spec.quantize_scale = 0.02f;
}

static void want_nv12_padded(struct assay_received_wanted *w)
{
    want_nv12(w);
    w->spec.align = 16;
}

static void (*const wants[])(struct assay_received_wanted *w) = {
    want_nv12,      want_first_layer, want_rgb,
    want_float_bgr, want_divided,     want_yuv444,
    want_gray,      want_quantized,   want_nv12_padded};
#define N_WANTS (sizeof(wants) / sizeof(wants[0]))

/* ---- what goes wrong ------------------------------------------------------ */

typedef bool (*seed_fn)(struct assay_image_spec *s);

static bool is_planes(const struct assay_image_spec *s)
{
    return (s->type == ASSAY_IMAGE_NV12 || s->type == ASSAY_IMAGE_NV21) &&
           !s->widen;
}

static bool is_yuv(const struct assay_image_spec *s)
{
    return s->type != ASSAY_IMAGE_RGB && s->type != ASSAY_IMAGE_BGR &&
           s->type != ASSAY_IMAGE_GRAY;
}

static bool seed_nv21(struct assay_image_spec *s)
{
    bool was = s->type == ASSAY_IMAGE_NV12;

    s->type = ASSAY_IMAGE_NV21;
    return was;
}

static bool seed_once_more(struct assay_image_spec *s)
{
    s->centre++;
    return s->divide + s->normalise == 0;
}

static bool seed_not_centred(struct assay_image_spec *s)
{
    return s->centre-- > 0;
}

static bool seed_range(struct assay_image_spec *s)
{
    s->colour.range = s->colour.range == ASSAY_RANGE_FULL ? ASSAY_RANGE_STUDIO
                                                          : ASSAY_RANGE_FULL;
    return is_yuv(s) || s->type == ASSAY_IMAGE_GRAY;
}

static bool seed_matrix(struct assay_image_spec *s)
{
    s->colour.matrix = ASSAY_MATRIX_709;
    return is_yuv(s) || s->type == ASSAY_IMAGE_GRAY;
}

static bool seed_order(struct assay_image_spec *s)
{
    bool rgb = s->type == ASSAY_IMAGE_RGB;

    if (!rgb && s->type != ASSAY_IMAGE_BGR)
        return false;
    s->type = rgb ? ASSAY_IMAGE_BGR : ASSAY_IMAGE_RGB;
    return true;
}

static bool seed_bilinear(struct assay_image_spec *s)
{
    s->up = ASSAY_UP_BILINEAR;
    return s->widen;
}

static bool seed_first(struct assay_image_spec *s)
{
    s->down = ASSAY_DOWN_FIRST;
    return s->type == ASSAY_IMAGE_NV12;
}

static bool seed_full_chroma(struct assay_image_spec *s)
{
    if (!s->widen)
        return false;
    s->type = ASSAY_IMAGE_YUV444;
    s->widen = false;
    return true;
}

static bool seed_rows(struct assay_image_spec *s)
{
    bool padded = s->align > 0;

    s->align = padded ? 0 : 32;
    return true;
}

static bool seed_twice(struct assay_image_spec *s)
{
    if (s->normalise == 0)
        return false;
    s->normalise = 2;
    return true;
}

static bool seed_not_normalised(struct assay_image_spec *s)
{
    bool was = s->normalise > 0;

    s->normalise = 0;
    return was && s->dtype == ASSAY_IMAGE_NO_DTYPE;
}

static bool seed_normalised(struct assay_image_spec *s)
{
    bool was = s->normalise + s->divide > 0;

    s->normalise = 1;
    return !was && s->mean[0] != 0.0f && !is_planes(s);
}

static bool seed_divided_twice(struct assay_image_spec *s)
{
    return s->divide++ > 0;
}

static bool seed_not_divided(struct assay_image_spec *s)
{
    return s->divide-- > 0;
}

static bool seed_other_order(struct assay_image_spec *s)
{
    for (int i = 0; i < 3; i++) {
        s->mean[i] = mean[2 - i];
        s->scale[i] = scale[2 - i];
    }
    return s->normalise > 0;
}

static bool seed_scale_first(struct assay_image_spec *s)
{
    s->scale_first = true;
    return s->normalise > 0;
}

static bool seed_solved(struct assay_image_spec *s)
{
    bool was = s->normalise > 0;

    for (int i = 0; i < 3; i++) {
        s->mean[i] = 127.5f;
        s->scale[i] = 0.0078125f * (float)(i + 1);
    }
    return was && s->dtype == ASSAY_IMAGE_NO_DTYPE;
}

static bool seed_arith(struct assay_image_spec *s)
{
    s->colour.arith = ASSAY_COLOUR_REAL;
    return is_yuv(s) || s->type == ASSAY_IMAGE_GRAY;
}

static bool seed_opencv(struct assay_image_spec *s)
{
    s->colour.arith = ASSAY_COLOUR_OPENCV;
    return is_yuv(s);
}

static bool seed_stretch(struct assay_image_spec *s)
{
    bool other = s->fit != ASSAY_FIT_STRETCH;

    s->fit = other ? ASSAY_FIT_STRETCH : ASSAY_FIT_LETTERBOX;
    return true;
}

static bool seed_side(struct assay_image_spec *s)
{
    bool boxed = s->fit == ASSAY_FIT_LETTERBOX;

    s->fit = ASSAY_FIT_LETTERBOX_TL;
    return boxed;
}

static bool seed_pad(struct assay_image_spec *s)
{
    memset(s->pad, 0, 3);
    return s->fit == ASSAY_FIT_LETTERBOX;
}

static bool seed_nearest(struct assay_image_spec *s)
{
    s->filter = ASSAY_FILTER_NEAREST;
    return true;
}

static bool seed_pillow(struct assay_image_spec *s)
{
    s->filter = ASSAY_FILTER_PILLOW;
    return true;
}

static bool seed_colour_first(struct assay_image_spec *s)
{
    s->colour_first = true;
    return is_yuv(s);
}

static bool seed_flip(struct assay_image_spec *s)
{
    s->orientation = 2;
    return true;
}

static bool seed_clockwise(struct assay_image_spec *s)
{
    s->orientation = 6;
    return true;
}

static bool seed_rgb_for_yuv(struct assay_image_spec *s)
{
    bool was = is_yuv(s) && s->centre == 0;

    s->type = ASSAY_IMAGE_RGB;
    return was && s->align == 0;
}

static bool seed_float(struct assay_image_spec *s)
{
    bool bytes = s->normalise + s->divide + s->centre == 0;

    s->dtype = ASSAY_F32;
    return bytes && s->align == 0;
}

static bool seed_no_scale(struct assay_image_spec *s)
{
    bool was = s->dtype == ASSAY_S8;

    s->quantize_scale = 1.0f;
    return was;
}

static bool seed_layout(struct assay_image_spec *s)
{
    s->nchw = !s->nchw;
    return !is_planes(s) && s->type != ASSAY_IMAGE_GRAY;
}

static bool seed_sides(struct assay_image_spec *s)
{
    uint32_t w = s->width;

    s->width = s->height;
    s->height = w;
    return s->align == 0;
}

static bool seed_own_size(struct assay_image_spec *s)
{
    s->width = WIDTH;
    s->height = HEIGHT;
    return true;
}

static const struct {
    const char *id;
    seed_fn seed;
} seeds[] = {
    {"Y1", seed_nv21},         {"Y2", seed_once_more},
    {"Y2", seed_not_centred},  {"Y3", seed_range},
    {"Y4", seed_matrix},       {"Y6", seed_order},
    {"Y7", seed_bilinear},     {"Y7", seed_first},
    {"Y7", seed_full_chroma},  {"Y8", seed_rows},
    {"Y9", seed_twice},        {"Y9", seed_not_normalised},
    {"Y9", seed_normalised},   {"Y9", seed_divided_twice},
    {"Y9", seed_not_divided},  {"Y9", seed_other_order},
    {"Y9", seed_scale_first},  {"Y9", seed_solved},
    {"Y11", seed_arith},       {"Y11", seed_opencv},
    {"Y12", seed_stretch},     {"Y12", seed_side},
    {"Y12", seed_pad},         {"Y12", seed_nearest},
    {"Y12", seed_pillow},      {"Y12", seed_colour_first},
    {"Y12", seed_sides},       {"Y12", seed_own_size},
    {"Y13", seed_flip},        {"Y13", seed_clockwise},
    {"Y15", seed_rgb_for_yuv}, {"Y16", seed_float},
    {"Q3", seed_no_scale},     {"L1", seed_layout},
};
#define N_SEEDS (sizeof(seeds) / sizeof(seeds[0]))

/* ---- finding it ----------------------------------------------------------- */

static struct assay_received *find(const struct assay_picture *p,
                                   const struct assay_received_wanted *w,
                                   enum assay_dtype dtype, const void *data,
                                   size_t bytes)
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

static struct assay_image_adapted made_of(const struct assay_image_spec *s,
                                          const struct assay_picture *p)
{
    struct assay_image_adapted a = {0};
    struct assay_err err = {0};

    if (assay_image_adapt(&a, s, p, &err) < 0)
        fail_msg("%s", err.text);
    return a;
}

/* "Y6", "Y1+Y9": ids of a hit. */
static void ids_of(const struct assay_received *r,
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

static bool has(const struct assay_received *r,
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

static void check_hits(const struct assay_received *r, const char *what)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct assay_received_hit *h = &r->hits[i];

        if (h->n_knobs != r->changes || h->all_matched != h->all ||
            h->differing_matched != h->differing || h->all == 0 ||
            h->all + h->unseen != r->elements)
            fail_msg("%s: hit %u is no proof", what, i);
    }
}

static void same_bytes(const struct assay_image_tensor *a,
                       const struct assay_image_tensor *b, bool *same)
{
    *same = a->bytes == b->bytes && a->dtype == b->dtype &&
            memcmp(a->data, b->data, a->bytes) == 0;
}

static void show(const struct assay_received *r,
                 const struct assay_received_wanted *w)
{
    char ids[80], text[400];

    for (uint32_t i = 0; i < r->n; i++) {
        ids_of(r, &r->hits[i], w, ids);
        print_message("  %s: %s\n", ids,
                      assay_reading_text(&r->hits[i].reading, r->hits[i].knobs,
                                         r->hits[i].n_knobs, text,
                                         sizeof(text)));
    }
}

static unsigned seed_all(const struct assay_picture *p)
{
    unsigned pairs = 0;

    for (size_t k = 0; k < N_WANTS; k++)
        for (size_t i = 0; i < N_SEEDS; i++) {
            struct assay_received_wanted w = {0};
            struct assay_image_adapted right, wrong;
            struct assay_image_spec s;
            struct assay_received *r;
            char what[64];
            bool same;

            wants[k](&w);
            s = w.spec;
            if (!seeds[i].seed(&s))
                continue;
            right = made_of(&w.spec, p);
            wrong = made_of(&s, p);
            same_bytes(assay_image_result(&right), assay_image_result(&wrong),
                       &same);
            if (!same) {
                const struct assay_image_tensor *t = assay_image_result(&wrong);

                snprintf(what, sizeof(what), "%s (%zu) of %zu", seeds[i].id, i,
                         k);
                r = find(p, &w, t->dtype, t->data, t->bytes);
                check_hits(r, what);
                if (r->changes != 1 || !has(r, &w, seeds[i].id)) {
                    show(r, &w);
                    fail_msg("%s: not found, %u changes, %u hits", what,
                             r->changes, r->n);
                }
                assay_received_free(r);
                pairs++;
            }
            assay_image_adapted_close(&right);
            assay_image_adapted_close(&wrong);
        }
    return pairs;
}

static void test_seeded(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_picture q = picture_of(RANDOM, WIDTH, HEIGHT);
    unsigned pairs;

    (void)unused;
    pairs = seed_all(&p) + seed_all(&q);
    print_message("%u seeded pairs\n", pairs);
    assert_true(pairs >= 200);
    assay_picture_close(&p);
    assay_picture_close(&q);
}

static void test_clean(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);

    (void)unused;
    for (size_t k = 0; k < N_WANTS; k++) {
        struct assay_received_wanted w = {0};
        struct assay_image_adapted a;
        const struct assay_image_tensor *t;
        struct assay_received *r;

        wants[k](&w);
        a = made_of(&w.spec, &p);
        t = assay_image_result(&a);
        r = find(&p, &w, t->dtype, t->data, t->bytes);
        assert_int_equal(r->n, 1);
        assert_int_equal(r->changes, 0);
        assert_true(r->hits[0].exact);
        assay_received_free(r);
        assay_image_adapted_close(&a);
    }
    assay_picture_close(&p);
}

/* Neither random bytes nor another picture nor one wrong element has a cause. */
static void test_noise(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_picture q = picture_of(RANDOM, WIDTH, HEIGHT);

    (void)unused;
    for (size_t k = 0; k < N_WANTS; k++)
        for (int how = 0; how < 3; how++) {
            struct assay_received_wanted w = {0};
            struct assay_image_adapted a;
            const struct assay_image_tensor *t;
            struct assay_received *r;
            uint8_t *bytes;

            wants[k](&w);
            a = made_of(&w.spec, how == 1 ? &q : &p);
            t = assay_image_result(&a);
            bytes = malloc(t->bytes);
            assert_non_null(bytes);
            memcpy(bytes, t->data, t->bytes);
            for (size_t i = 0; how == 0 && i < t->bytes; i++)
                bytes[i] = (uint8_t)(roll() & 0x3f);
            if (how == 2)
                bytes[3] ^= 0x41;
            r = find(&p, &w, t->dtype, bytes, t->bytes);
            if (r->n > 0) {
                show(r, &w);
                fail_msg("noise %d of %zu has a cause", how, k);
            }
            assert_true(r->near.found);
            if (how == 2)
                assert_true(r->near.hit.all - r->near.hit.all_matched <= 2);
            assay_received_free(r);
            free(bytes);
            assay_image_adapted_close(&a);
        }
    assay_picture_close(&p);
    assay_picture_close(&q);
}

/* Of a gray picture RGB is BGR and NV12 is NV21: a match says so, and where
 * something else is wrong all that fit are listed. */
static void test_blind(void **unused)
{
    struct assay_picture p = picture_of(GRAY, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_image_adapted a;
    const struct assay_image_tensor *t;
    struct assay_received *r;
    char ids[80];
    bool found = false;

    (void)unused;
    want_rgb(&w);
    a = made_of(&w.spec, &p);
    t = assay_image_result(&a);
    r = find(&p, &w, t->dtype, t->data, t->bytes);
    assert_int_equal(r->changes, 0);
    assert_int_equal(r->n, 1);
    for (uint32_t i = 0; i < r->n_blind; i++) {
        ids_of(r, &r->blind[i], &w, ids);
        found = found || strcmp(ids, "Y6") == 0;
    }
    assert_true(found);
    assay_received_free(r);
    assay_image_adapted_close(&a);

    want_nv12(&w);
    w.spec.type = ASSAY_IMAGE_RGB;
    a = made_of(&w.spec, &p);
    w.spec.type = ASSAY_IMAGE_NV12;
    t = assay_image_result(&a);
    r = find(&p, &w, t->dtype, t->data, t->bytes);
    assert_int_equal(r->changes, 1);
    assert_true(r->n >= 2); /* RGB for NV12, and BGR */
    for (uint32_t i = 0; i < r->n; i++) {
        ids_of(r, &r->hits[i], &w, ids);
        assert_string_equal(ids, "Y15");
    }
    assay_received_free(r);
    assay_image_adapted_close(&a);
    assay_picture_close(&p);
}

/* What is wrong with memory alone is made by hand. */
static void test_memory(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_image_adapted a, padded;
    const struct assay_image_tensor *t, *wide;
    struct assay_received *r;
    uint8_t *bytes;

    (void)unused;
    want_nv12(&w); /* rows of 68: 80 with an alignment of 16 */
    a = made_of(&w.spec, &p);
    t = assay_image_result(&a);
    bytes = malloc(t->bytes);
    assert_non_null(bytes);
    w.spec.align = 16;
    padded = made_of(&w.spec, &p);
    w.spec.align = 0;
    wide = assay_image_result(&padded);
    assert_int_equal(wide->bytes, 80 * 84);
    memcpy(bytes, wide->data, t->bytes);
    r = find(&p, &w, ASSAY_U8, bytes, t->bytes);
    assert_true(has(r, &w, "Y8"));
    assert_int_equal(r->hits[0].reading.memory, ASSAY_MEMORY_CUT);
    assert_int_equal(r->hits[0].reading.stride, 80);
    assay_received_free(r);

    memset(bytes, 0xa5, t->bytes);
    for (size_t y = 0; y < 84; y++)
        for (size_t x = 0; x < 68 && y * 80 + x < t->bytes; x++)
            bytes[y * 68 + x] = ((const uint8_t *)t->data)[y * 80 + x];
    r = find(&p, &w, ASSAY_U8, bytes, t->bytes);
    assert_true(has(r, &w, "Y8"));
    assert_int_equal(r->hits[0].reading.memory, ASSAY_MEMORY_SHEARED);
    assert_true(r->hits[0].unseen > 0);
    assay_received_free(r);

    for (int shift = -1; shift <= 1; shift += 2) {
        memcpy(bytes, t->data, t->bytes);
        for (size_t i = 0; i < 68 * 28; i++) {
            size_t from = 68 * 56 + i + (size_t)shift;

            bytes[68 * 56 + i] =
                from < t->bytes ? ((const uint8_t *)t->data)[from] : 0xa5;
        }
        r = find(&p, &w, ASSAY_U8, bytes, t->bytes);
        assert_int_equal(r->changes, 1);
        assert_true(has(r, &w, "Y5"));
        assert_int_equal(r->hits[0].reading.chroma_shift, shift);
        assay_received_free(r);
    }
    free(bytes);
    assay_image_adapted_close(&padded);
    assay_image_adapted_close(&a);

    /* OpenCV's YCrCb: V before U. */
    want_yuv444(&w);
    a = made_of(&w.spec, &p);
    t = assay_image_result(&a);
    bytes = malloc(t->bytes);
    assert_non_null(bytes);
    memcpy(bytes, t->data, t->bytes);
    for (size_t i = 0; i < t->bytes; i += 3) {
        bytes[i + 1] = ((const uint8_t *)t->data)[i + 2];
        bytes[i + 2] = ((const uint8_t *)t->data)[i + 1];
    }
    r = find(&p, &w, ASSAY_S8, bytes, t->bytes);
    assert_int_equal(r->changes, 1);
    assert_true(has(r, &w, "Y1"));
    assay_received_free(r);
    free(bytes);
    assay_image_adapted_close(&a);
    assay_picture_close(&p);
}

/* Several at once: found with no more changes than were made. */
static void test_together(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    unsigned pairs = 0;

    (void)unused;
    for (int turn = 0; turn < 120; turn++) {
        struct assay_received_wanted w = {0};
        struct assay_image_adapted a;
        const struct assay_image_tensor *t;
        struct assay_received *r;
        size_t k = roll() % N_WANTS, i = roll() % N_SEEDS, j = roll() % N_SEEDS;
        struct assay_image_spec s;

        wants[k](&w);
        s = w.spec;
        /* Two of one kind are one change to another value, or none that is in
         * the list. */
        if (strcmp(seeds[i].id, seeds[j].id) == 0 || !seeds[i].seed(&s) ||
            !seeds[j].seed(&s) || assay_image_spec_check(&s, NULL) < 0)
            continue;
        a = made_of(&s, &p);
        t = assay_image_result(&a);
        r = find(&p, &w, t->dtype, t->data, t->bytes);
        check_hits(r, "two");
        if (r->n == 0 || r->changes > 3)
            fail_msg("%s (%zu) and %s (%zu) of %zu: %u hits, %u changes",
                     seeds[i].id, i, seeds[j].id, j, k, r->n, r->changes);
        assay_received_free(r);
        assay_image_adapted_close(&a);
        pairs++;
    }
    print_message("%u with two changes\n", pairs);
    assert_true(pairs >= 20);
    assay_picture_close(&p);
}

static void test_refused(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, 16, 16);
    struct assay_received_wanted w = {0};
    struct assay_received_got got = {.dtype = ASSAY_F32, .bytes = 7};
    struct assay_received *r = NULL;
    struct assay_err err = {0};
    uint8_t one[8] = {0};

    (void)unused;
    want_rgb(&w);
    got.data = one;
    assert_true(assay_received_search(&r, &p, &w, &got, 0, &err) < 0);
    assert_null(r);
    /* A tensor of a size that nothing has. */
    got.bytes = 8;
    assert_int_equal(assay_received_search(&r, &p, &w, &got, 0, &err), 0);
    assert_int_equal(r->n, 0);
    assay_received_free(r);
    assay_picture_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),    cmocka_unit_test(test_seeded),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_blind),
        cmocka_unit_test(test_together), cmocka_unit_test(test_noise),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests_name("received", tests, NULL, NULL);
}
