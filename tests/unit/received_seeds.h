/* SPDX-License-Identifier: Apache-2.0 */
/* What models want made of a picture, and what goes wrong with it: for
 * test_received.c. */
#ifndef ASSAY_TESTS_RECEIVED_SEEDS_H
#define ASSAY_TESTS_RECEIVED_SEEDS_H

#include <string.h>

#include "host-tools/image/received.h"

#define WIDTH 96u
#define HEIGHT 70u

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

static void want_odd(struct assay_received_wanted *w)
{
    want_nv12(w);
    w->spec.width = 67;
    w->spec.height = 55;
    w->spec.odd = ASSAY_ODD_UP;
}

static void (*const wants[])(struct assay_received_wanted *w) = {
    want_nv12,        want_first_layer, want_rgb,  want_float_bgr,
    want_divided,     want_yuv444,      want_gray, want_quantized,
    want_nv12_padded, want_odd};
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

static bool seed_odd(struct assay_image_spec *s)
{
    bool was = s->odd == ASSAY_ODD_UP;

    s->odd = ASSAY_ODD_DOWN;
    return was;
}

static const struct {
    const char *id;
    seed_fn seed;
} seeds[] = {
    {"Y1", seed_nv21},          {"Y2", seed_once_more},
    {"Y2", seed_not_centred},   {"Y3", seed_range},
    {"Y4", seed_matrix},        {"Y6", seed_order},
    {"Y7", seed_bilinear},      {"Y7", seed_first},
    {"Y7", seed_full_chroma},   {"Y8", seed_rows},
    {"Y9", seed_twice},         {"Y9", seed_not_normalised},
    {"Y9", seed_normalised},    {"Y9", seed_divided_twice},
    {"Y9", seed_not_divided},   {"Y9", seed_other_order},
    {"Y9", seed_scale_first},   {"Y9", seed_solved},
    {"Y10", seed_odd},          {"Y11", seed_arith},
    {"Y11", seed_opencv},       {"Y12", seed_stretch},
    {"Y12", seed_side},         {"Y12", seed_pad},
    {"Y12", seed_nearest},      {"Y12", seed_pillow},
    {"Y12", seed_colour_first}, {"Y12", seed_sides},
    {"Y12", seed_own_size},     {"Y13", seed_flip},
    {"Y13", seed_clockwise},    {"Y15", seed_rgb_for_yuv},
    {"Y16", seed_float},        {"Q3", seed_no_scale},
    {"L1", seed_layout},
};
#define N_SEEDS (sizeof(seeds) / sizeof(seeds[0]))

#endif
