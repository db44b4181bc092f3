/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "host-tools/image/adapt_private.h"
#include "host-tools/model/npy.h"
#include "lib/core/buf.h"

static int no_memory(struct assay_adapting *a)
{
    return assay_fail(a->err, ASSAY_EMEMORY, "out of memory");
}

static struct assay_image_tensor last(const struct assay_adapting *a)
{
    return *assay_image_result(a->out);
}

static size_t elements(const struct assay_image_tensor *t)
{
    return t->bytes / assay_dtype_bytes(t->dtype);
}

static float value_at(const struct assay_image_tensor *t, size_t i)
{
    if (t->dtype == ASSAY_F32)
        return ((const float *)t->data)[i];
    return t->dtype == ASSAY_S8 ? (float)((const int8_t *)t->data)[i]
                                : (float)((const uint8_t *)t->data)[i];
}

static int centre(struct assay_adapting *a)
{
    struct assay_image_tensor t = last(a);
    uint8_t flip = a->spec->centre == 1 ? 0x80 : 0;
    const uint8_t *from = t.data;
    uint8_t *to;

    if (a->spec->centre == 0)
        return 0;
    to = assay_adapt_step(a, "centre", ASSAY_S8, t.rank, t.dims);
    if (to == NULL)
        return no_memory(a);
    for (size_t i = 0; i < t.bytes; i++)
        to[i] = from[i] ^ flip;
    return 0;
}

static float normal(const struct assay_image_spec *s, float v, size_t channel)
{
    for (unsigned n = 0; n < s->divide; n++)
        v = v / 255.0f;
    for (unsigned n = 0; n < s->normalise; n++)
        v = s->scale_first ? v * s->scale[channel] - s->mean[channel]
                           : (v - s->mean[channel]) * s->scale[channel];
    return v;
}

static int normalise(struct assay_adapting *a)
{
    struct assay_image_tensor t = last(a);
    size_t n = elements(&t), channels = assay_image_channels(a->spec);
    float *to;

    if (a->spec->divide == 0 && a->spec->normalise == 0)
        return 0;
    to = assay_adapt_step(a, "normalise", ASSAY_F32, t.rank, t.dims);
    if (to == NULL)
        return no_memory(a);
    for (size_t i = 0; i < n; i++)
        to[i] = normal(a->spec, value_at(&t, i), i % channels);
    return 0;
}

static void store(void *to, enum assay_dtype dtype, size_t i, float v)
{
    int64_t lo, hi, q;

    if (dtype == ASSAY_F32) {
        ((float *)to)[i] = v;
        return;
    }
    assay_dtype_range(dtype, &lo, &hi);
    v = rintf(v);
    q = isnan(v) ? 0 : v <= (float)lo ? lo : v >= (float)hi ? hi : (int64_t)v;
    switch (dtype) {
    case ASSAY_U8:
    case ASSAY_S8: ((uint8_t *)to)[i] = (uint8_t)q; break;
    default: ((uint16_t *)to)[i] = (uint16_t)q;
    }
}

static int quantize(struct assay_adapting *a)
{
    const struct assay_image_spec *s = a->spec;
    struct assay_image_tensor t = last(a);
    size_t n = elements(&t);
    void *to;

    if (s->dtype == ASSAY_IMAGE_NO_DTYPE ||
        (s->dtype == t.dtype && s->quantize_scale == 1))
        return 0;
    to = assay_adapt_step(a, "quantize", s->dtype, t.rank, t.dims);
    if (to == NULL)
        return no_memory(a);
    for (size_t i = 0; i < n; i++)
        store(to, s->dtype, i, value_at(&t, i) / s->quantize_scale);
    return 0;
}

static int layout(struct assay_adapting *a)
{
    struct assay_image_tensor t = last(a);
    size_t size = assay_dtype_bytes(t.dtype), channels, plane;
    const uint8_t *from = t.data;
    uint8_t *to;

    if (!a->spec->nchw || t.rank != 4)
        return 0;
    channels = (size_t)t.dims[3];
    plane = (size_t)(t.dims[1] * t.dims[2]);
    to = assay_adapt_step(a, "layout", t.dtype, 4,
                          (int64_t[]){1, t.dims[3], t.dims[1], t.dims[2]});
    if (to == NULL)
        return no_memory(a);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < plane; i++, to += size)
            memcpy(to, from + (i * channels + c) * size, size);
    return 0;
}

int assay_adapt_stride(size_t *out, const struct assay_image_spec *spec,
                       size_t row, size_t element, struct assay_err *err)
{
    size_t stride = row, more;

    if (spec->stride != 0)
        stride = spec->stride;
    else if (spec->align > 1) {
        more = (spec->align - row % spec->align) % spec->align;
        if (!assay_add_size(row, more, &stride))
            return assay_fail(err, ASSAY_ERANGE,
                              "rows aligned to %zu bytes are too long",
                              spec->align);
    }
    if (stride < row || stride % element != 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "a row of the input has %zu bytes in elements of "
                          "%zu: found a stride of %zu",
                          row, element, stride);
    *out = stride;
    return 0;
}

/* The axis whose steps are rows. */
static uint32_t row_axis(const struct assay_image_spec *s,
                         const struct assay_image_tensor *t)
{
    return t->rank == 2 ? 0 : s->nchw ? 2 : 1;
}

static int pad(struct assay_adapting *a)
{
    struct assay_image_tensor t = last(a), *out;
    size_t size = assay_dtype_bytes(t.dtype), stride, bytes, rows;
    uint32_t axis = row_axis(a->spec, &t);
    size_t row = (size_t)t.strides[axis];
    int64_t flat[2];
    uint8_t *to;
    int rc = assay_adapt_stride(&stride, a->spec, row, size, a->err);

    if (rc < 0 || stride == row)
        return rc;
    rows = t.bytes / row;
    if (!assay_mul_size(stride, rows, &bytes) || bytes > ASSAY_NPY_MAX_BYTES)
        return assay_fail(a->err, ASSAY_ERANGE,
                          "%zu rows of %zu bytes are more than the limit of "
                          "%zu bytes",
                          rows, stride, ASSAY_NPY_MAX_BYTES);
    flat[0] = (int64_t)rows;
    flat[1] = (int64_t)(stride / size);
    to = assay_adapt_step(a, "pad", t.dtype, 2, flat);
    if (to == NULL)
        return no_memory(a);
    for (size_t y = 0; y < rows; y++)
        memcpy(to + y * stride, (const uint8_t *)t.data + y * row, row);
    /* Shape and order of before, rows further apart. */
    out = &a->out->steps[a->out->n - 1];
    out->rank = t.rank;
    for (uint32_t i = 0; i < t.rank; i++) {
        out->dims[i] = t.dims[i];
        out->strides[i] = i > axis
                              ? t.strides[i]
                              : t.strides[i] / (int64_t)row * (int64_t)stride;
    }
    return 0;
}

int assay_adapt_values(struct assay_adapting *a)
{
    int rc = centre(a);

    if (rc == 0)
        rc = normalise(a);
    if (rc == 0)
        rc = quantize(a);
    if (rc == 0)
        rc = layout(a);
    if (rc == 0)
        rc = pad(a);
    return rc;
}
