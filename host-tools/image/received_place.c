/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of a tensor and where its elements lie; see received_knobs.h. */
#include "host-tools/image/received_knobs.h"

bool assay_reading_shape(struct assay_form *out, const struct assay_reading *r)
{
    const struct assay_image_spec *s = &r->spec;
    struct assay_nv12 n;

    *out = (struct assay_form){.width = s->width, .height = s->height};
    out->planes = (s->type == ASSAY_IMAGE_NV12 || s->type == ASSAY_IMAGE_NV21);
    if (out->planes &&
        assay_nv12_layout(&n, s->width, s->height, 0, s->odd, NULL) < 0)
        return false;
    if (out->planes && !s->widen) {
        out->channels = 1;
        out->chroma_rows = n.chroma_height;
        out->rows = (uint64_t)s->height + n.chroma_height;
        out->row = n.stride;
        /* A row of an odd width holds one byte of Y less. */
        return true;
    }
    out->planes = false;
    out->channels = s->type == ASSAY_IMAGE_GRAY ? 1 : 3;
    out->rows = s->height;
    out->row = (uint64_t)s->width * out->channels;
    if (r->nchw) {
        out->rows *= out->channels;
        out->row = s->width;
    }
    return true;
}

bool assay_reading_fits(const struct assay_reading *r, uint64_t n)
{
    struct assay_form f;

    if (!assay_reading_shape(&f, r))
        return false;
    if ((r->planar && r->memory != ASSAY_MEMORY_DENSE) ||
        (r->from_bgr && r->spec.colour_first))
        return false; /* such a reading has no place here, nor a picture */
    switch (r->memory) {
    case ASSAY_MEMORY_DENSE: return n == f.rows * f.row;
    case ASSAY_MEMORY_PADDED:
        /* The last row may lack its padding. */
        return r->stride > f.row && (n == f.rows * r->stride ||
                                     n == (f.rows - 1) * r->stride + f.row);
    case ASSAY_MEMORY_CUT:
    case ASSAY_MEMORY_SHEARED: return r->stride > f.row && n == f.rows * f.row;
    }
    return false;
}

/* Of I420: where the byte of interleaved chroma, counted from their first,
 * stands in the two planes. */
static uint64_t in_planes(const struct assay_form *f, uint64_t at)
{
    return at / 2 + at % 2 * (f->chroma_rows * f->row / 2);
}

int64_t assay_reading_place(const struct assay_form *f,
                            const struct assay_reading *r, uint64_t n,
                            uint64_t y, uint64_t x, uint32_t c)
{
    uint64_t row = y, column = x, at;

    if (f->planes) {
        if (y >= f->height && (r->chroma_shift != 0 || r->planar)) {
            uint64_t from = (y - f->height) * f->row + x;
            int64_t k = (int64_t)(r->planar ? in_planes(f, from) : from) -
                        r->chroma_shift;

            if (k < 0 || (uint64_t)k >= f->chroma_rows * f->row)
                return -1;
            row = f->height + (uint64_t)k / f->row;
            column = (uint64_t)k % f->row;
        }
    } else {
        if (r->swap_chroma && c > 0)
            c = 3 - c;
        if (r->nchw)
            row = (uint64_t)c * f->height + y;
        else
            column = x * f->channels + c;
    }
    switch (r->memory) {
    case ASSAY_MEMORY_DENSE: return (int64_t)(row * f->row + column);
    case ASSAY_MEMORY_PADDED:
    case ASSAY_MEMORY_CUT:
        at = row * r->stride + column;
        return at < n ? (int64_t)at : -1;
    case ASSAY_MEMORY_SHEARED:
        at = row * f->row + column;
        if (at % r->stride >= f->row || at / r->stride >= f->rows)
            return -1;
        return (int64_t)(at / r->stride * f->row + at % r->stride);
    }
    return -1;
}
