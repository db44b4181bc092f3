/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer that was read with another idea of it: gaps between rows, blocks of
 * channels, another start. */
#include <math.h>

#include "host-tools/cause/layout_private.h"

#define STRIDES 5 /* dense, and aligned to 16 to 128 bytes */

/*
 * p: elements of a unit, units, their distance in the buffer, and as it was
 * read. Element i of got stood at `at` in the buffer.
 */
static int64_t strided_at(const struct assay_layout_map *m, int64_t i)
{
    int64_t at = i / m->p[0] * m->p[3] + i % m->p[0];
    int64_t unit = at / m->p[2], within = at % m->p[2];

    if (within >= m->p[0] || unit >= m->p[1])
        return -1;
    return unit * m->p[0] + within;
}

/* Different distances at which units of that size may stand, in elements. */
static unsigned distances(int64_t unit, size_t width, int64_t *out)
{
    unsigned n = 0;

    out[n++] = unit;
    for (int64_t align = 16; align <= 128; align *= 2) {
        int64_t bytes = (unit * (int64_t)width + align - 1) / align * align;

        if (bytes / (int64_t)width != out[n - 1])
            out[n++] = bytes / (int64_t)width;
    }
    return n;
}

/* Dense rows may be aligned to 32 bytes as well; NULL: it has no other name
 * than `not`. */
static const char *stride_id(int64_t apart, int64_t read, bool dense,
                             const char * not )
{
    const char *id = dense ? "L2" : "L4";

    if (not == NULL || strcmp(not, id) != 0)
        return id;
    return dense && apart % 32 == 0 && read % 32 == 0 ? "L4" : NULL;
}

static bool strided_units(struct assay_layout_ask *q, const char * not,
                          int axis, int64_t unit, struct assay_layout *out)
{
    int64_t d[STRIDES];
    unsigned n = distances(unit, q->width, d);
    struct assay_layout_map m = {.at = strided_at,
                                 .bits =
                                     log2(2.0 * q->t->rank * STRIDES * STRIDES),
                                 .p = {unit, (int64_t)q->n / unit}};

    for (unsigned k = 0; k < n * n; k++) {
        unsigned apart = k / n, read = k % n;
        const char *id =
            stride_id(d[apart] * (int64_t)q->width, d[read] * (int64_t)q->width,
                      apart == 0 || read == 0, not );

        if (apart == read || id == NULL)
            continue;
        m.p[2] = d[apart];
        m.p[3] = d[read];
        if (!assay_layout_fits(q, &m, out))
            continue;
        out->kind = ASSAY_LAYOUT_STRIDED;
        out->id = id;
        out->axis[0] = axis;
        out->n[0] = d[apart] * (int64_t)q->width;
        out->n[1] = d[read] * (int64_t)q->width;
        return true;
    }
    return false;
}

bool assay_layout_strided(struct assay_layout_ask *q, const char * not,
                          struct assay_layout *out)
{
    int64_t strides[ASSAY_MAX_RANK];

    assay_layout_strides(q->t->dims, q->t->rank, strides);
    for (int a = (int)q->t->rank - 2; a >= 0; a--) {
        /* Units of an axis of one place are those of the next axis out. */
        if (q->t->dims[a] > 1 && strided_units(q, not, a, strides[a], out))
            return true;
    }
    return false;
}

/* ---- blocks of channels -------------------------------------------------- */

/*
 * p: size of a block, channels, images, elements of an image and channel, and
 * 1 where got was packed. A packed image is [blocks][place][channel in block];
 * where the last block is not full, the buffer is longer than the tensor.
 * m->dims and strides: of an image without its channels; m->offset: stride of
 * the channels; p[5]: of images.
 */
static int64_t unpacked(const struct assay_layout_map *m, int64_t at)
{
    int64_t k = m->p[0], blocks = (m->p[1] + k - 1) / k;
    int64_t image = at / (blocks * k * m->p[3]);
    int64_t block = at / (k * m->p[3]) % blocks;
    int64_t place = at / k % m->p[3], c = block * k + at % k;
    int64_t out = image * m->p[5] + c * m->offset;

    if (c >= m->p[1] || image >= m->p[2])
        return -1;
    for (uint32_t a = m->rank; a-- > 0; place /= m->dims[a])
        out += place % m->dims[a] * m->strides[a];
    return out;
}

/* Where element i of a dense tensor stands in the packed buffer. */
static int64_t packed(const struct assay_layout_map *m, int64_t i)
{
    int64_t k = m->p[0], blocks = (m->p[1] + k - 1) / k;
    int64_t c = i / m->offset % m->p[1], image = i / m->p[5];
    int64_t place = 0;

    for (uint32_t a = 0; a < m->rank; a++)
        place = place * m->dims[a] + i / m->strides[a] % m->dims[a];
    i = ((image * blocks + c / k) * m->p[3] + place) * k + c % k;
    return i < m->n ? i : -1;
}

static int64_t packed_at(const struct assay_layout_map *m, int64_t i)
{
    return m->p[4] ? unpacked(m, i) : packed(m, i);
}

/* Axis of channels, and of images or -1: by label, else the last, and the
 * first of four or more. */
static void axes_of(const struct assay_tensor *t, int *c, int *image)
{
    *c = (int)t->rank - 1;
    *image = t->rank >= 4 ? 0 : -1;
    if (t->axes[0] == '\0')
        return;
    *image = -1;
    for (uint32_t a = 0; a < t->rank; a++) {
        if (t->axes[a] == 'C')
            *c = (int)a;
        if (t->axes[a] == 'N' && a == 0)
            *image = 0;
    }
}

bool assay_layout_packed(struct assay_layout_ask *q, struct assay_layout *out)
{
    const struct assay_tensor *t = q->t;
    struct assay_layout_map m = {
        .at = packed_at, .bits = log2(12.0), .n = (int64_t)q->n};
    int64_t strides[ASSAY_MAX_RANK];
    int c, image;

    if (t->rank < 2)
        return false;
    axes_of(t, &c, &image);
    assay_layout_strides(t->dims, t->rank, strides);
    m.p[1] = t->dims[c];
    m.p[2] = image == 0 && c != 0 ? t->dims[0] : 1;
    m.p[5] = (int64_t)q->n / m.p[2];
    m.p[3] = m.p[5] / m.p[1];
    m.offset = strides[c];
    for (int a = m.p[2] > 1 ? 1 : 0; a < (int)t->rank; a++) {
        if (a == c)
            continue;
        m.dims[m.rank] = t->dims[a];
        m.strides[m.rank++] = strides[a];
    }
    for (int64_t k = 4; k <= 16; k *= 2) {
        m.p[0] = k;
        for (m.p[4] = 1; m.p[4] >= 0; m.p[4]--) {
            if (!assay_layout_fits(q, &m, out))
                continue;
            out->kind = ASSAY_LAYOUT_PACKED;
            out->id = "L3";
            out->axis[0] = c;
            out->n[0] = k;
            out->n[1] = !m.p[4];
            return true;
        }
    }
    return false;
}

/* ---- another start ------------------------------------------------------- */

static int64_t shifted_at(const struct assay_layout_map *m, int64_t i)
{
    int64_t at = i - m->p[0];

    return at >= 0 && at < m->n ? at : -1;
}

/* got - ref is one number: a zero point, say, on a ramp. */
static bool constant_step(const struct assay_layout_ask *q)
{
    uint64_t mask =
        q->width < 8 ? (UINT64_C(1) << (8 * q->width)) - 1 : UINT64_MAX;
    uint64_t first = 0;
    size_t others = 0;

    for (size_t i = 0; i < q->n; i++) {
        uint64_t d = (assay_layout_value(q->got, q->width, i) -
                      assay_layout_value(q->ref, q->width, i)) &
                     mask;

        if (i == 0)
            first = d;
        /* A value that was clamped is another number. */
        others += d != first;
        if (others > q->n / 8 + 1)
            return false;
    }
    return true;
}

bool assay_layout_shifted(struct assay_layout_ask *q, struct assay_layout *out)
{
    struct assay_layout_map m = {
        .at = shifted_at, .bits = log2(2.0 * q->t->rank), .n = (int64_t)q->n};
    int64_t strides[ASSAY_MAX_RANK];

    if (constant_step(q))
        return false;
    assay_layout_strides(q->t->dims, q->t->rank, strides);
    for (int a = (int)q->t->rank - 1; a >= 0; a--) {
        if (q->t->dims[a] < 2)
            continue;
        for (int sign = 1; sign >= -1; sign -= 2) {
            m.p[0] = sign * strides[a];
            if (!assay_layout_fits(q, &m, out))
                continue;
            out->kind = ASSAY_LAYOUT_SHIFTED;
            out->id = "L2";
            out->axis[0] = a;
            out->n[0] = m.p[0];
            return true;
        }
    }
    return false;
}
