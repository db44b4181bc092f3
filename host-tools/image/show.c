/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image/show.h"

#include <math.h>
#include <string.h>

#include "host-tools/image/adapt_private.h"
#include "lib/core/buf.h"

/* A tensor as it lies: rows of samples. */
struct form {
    bool nv12;           /* rows of one sample, Y and then pairs */
    struct assay_nv12 n; /* of nv12 */
    uint32_t channels;
    size_t row, rows, size; /* samples a row; bytes a sample */
    size_t stride;          /* bytes */
};

static int form_of(struct form *f, const struct assay_image_spec *s,
                   enum assay_dtype dtype, struct assay_err *err)
{
    int rc = assay_image_spec_check(s, err);

    if (rc < 0)
        return rc;
    *f = (struct form){.size = assay_dtype_bytes(dtype),
                       .channels = assay_image_channels(s)};
    f->nv12 = !s->widen &&
              (s->type == ASSAY_IMAGE_NV12 || s->type == ASSAY_IMAGE_NV21);
    if (dtype == ASSAY_S64 || f->size == 0)
        return assay_fail(err, ASSAY_EUNSUPPORTED, "a picture of %s",
                          assay_dtype_name(dtype));
    if (f->nv12) {
        rc = assay_nv12_layout(&f->n, s->width, s->height, 0, s->odd, err);
        if (rc < 0)
            return rc;
        f->n.nv21 = s->type == ASSAY_IMAGE_NV21;
        f->row = f->n.stride;
        f->rows = (size_t)f->n.height + f->n.chroma_height;
    } else {
        f->row = s->nchw ? s->width : (size_t)s->width * f->channels;
        f->rows = s->nchw ? (size_t)s->height * f->channels : s->height;
    }
    return assay_adapt_stride(&f->stride, s, f->row * f->size, f->size, err);
}

int assay_image_bytes(size_t *out, const struct assay_image_spec *spec,
                      enum assay_dtype dtype, struct assay_err *err)
{
    struct form f;
    size_t bytes;
    int rc = form_of(&f, spec, dtype, err);

    if (rc < 0)
        return rc;
    if (!assay_mul_size(f.stride, f.rows, &bytes))
        return assay_fail(err, ASSAY_ERANGE,
                          "%zu rows of %zu bytes are too many", f.rows,
                          f.stride);
    *out = bytes;
    return 0;
}

static double sample_at(const uint8_t *p, enum assay_dtype dtype)
{
    union {
        int16_t s16;
        uint16_t u16;
        int32_t s32;
        float f32;
    } v;

    switch (dtype) {
    case ASSAY_U8: return p[0];
    case ASSAY_S8: return (int8_t)p[0];
    case ASSAY_S16: memcpy(&v, p, 2); return v.s16;
    case ASSAY_U16: memcpy(&v, p, 2); return v.u16;
    case ASSAY_S32: memcpy(&v, p, 4); return v.s32;
    default: memcpy(&v, p, 4); return (double)v.f32;
    }
}

/* Back to the byte that it was; not a number: 0. */
static uint8_t byte_of(const struct assay_image_spec *s, double v, size_t c)
{
    v *= (double)s->quantize_scale;
    for (unsigned n = 0; n < s->normalise; n++)
        v = s->scale_first ? (v + (double)s->mean[c]) / (double)s->scale[c]
                           : v / (double)s->scale[c] + (double)s->mean[c];
    for (unsigned n = 0; n < s->divide; n++)
        v *= 255.0;
    if (s->centre == 1)
        v += 128;
    else if (s->centre == 2 && v < 0)
        v += 256;
    v = rint(v);
    return v >= 255 ? 255 : v > 0 ? (uint8_t)v : 0;
}

/* Dense bytes, [H,W,C] or the rows of NV12. */
static void to_bytes(uint8_t *out, const struct form *f,
                     const struct assay_image_spec *s, enum assay_dtype dtype,
                     const uint8_t *data)
{
    bool planes = s->nchw && !f->nv12;

    for (size_t y = 0; y < f->rows; y++) {
        size_t plane = planes ? y / s->height : 0;
        size_t line = planes ? y % s->height : y;

        for (size_t x = 0; x < f->row; x++) {
            size_t c = planes ? plane : x % f->channels;
            size_t to = planes ? (line * s->width + x) * f->channels + c
                               : y * f->row + x;

            out[to] = byte_of(
                s, sample_at(data + y * f->stride + x * f->size, dtype), c);
        }
    }
}

static void to_colours(uint8_t *rgb, const struct form *f,
                       const struct assay_image_spec *s, const uint8_t *bytes)
{
    size_t n = (size_t)s->width * s->height;

    if (f->nv12) {
        assay_nv12_to_yuv(rgb, &f->n, bytes, s->up);
        assay_yuv_to_rgb(rgb, rgb, n, &s->colour);
    } else if (s->type == ASSAY_IMAGE_BGR) {
        assay_swap_rb(rgb, bytes, n);
    } else if (s->type == ASSAY_IMAGE_RGB) {
        memcpy(rgb, bytes, 3 * n);
    } else if (s->type == ASSAY_IMAGE_GRAY) {
        for (size_t i = 0; i < n; i++)
            memset(rgb + 3 * i, bytes[i], 3);
    } else {
        assay_yuv_to_rgb(rgb, bytes, n, &s->colour);
    }
}

int assay_image_show(struct assay_picture *out,
                     const struct assay_image_spec *spec,
                     enum assay_dtype dtype, const void *data, size_t bytes,
                     struct assay_err *err)
{
    struct assay_picture p = {.width = spec->width,
                              .height = spec->height,
                              .orientation = 1,
                              .format = "tensor"};
    struct form f;
    size_t want;
    uint8_t *dense;
    int rc = assay_image_bytes(&want, spec, dtype, err);

    if (rc == 0)
        rc = form_of(&f, spec, dtype, err);
    if (rc < 0)
        return rc;
    if (bytes != want && bytes != want - (f.stride - f.row * f.size))
        return assay_fail(err, ASSAY_EMISMATCH,
                          "%s of %ux%u in %s has %zu bytes: found %zu",
                          assay_image_type_name(spec->type), spec->width,
                          spec->height, assay_dtype_name(dtype), want, bytes);
    p.bytes = 3 * (size_t)p.width * p.height;
    p.data = assay_alloc(p.bytes);
    dense = assay_alloc(f.row * f.rows);
    if (p.data == NULL || dense == NULL) {
        rc = assay_fail(err, ASSAY_EMEMORY, "out of memory");
        assay_picture_close(&p);
    } else {
        to_bytes(dense, &f, spec, dtype, data);
        to_colours(p.data, &f, spec, dense);
        *out = p;
    }
    assay_free(dense);
    return rc;
}
