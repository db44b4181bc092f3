/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image/picture.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/image/codec.h"
#include "host-tools/image/colour.h"
#include "host-tools/image/nv12.h"
#include "host-tools/model/file.h"
#include "lib/core/buf.h"

static const char *const raw_names[ASSAY_RAW_COUNT] = {"nv12", "nv21", "rgb",
                                                       "bgr", "gray"};

const char *assay_raw_form_name(enum assay_raw_form form)
{
    return (unsigned)form < ASSAY_RAW_COUNT ? raw_names[form] : "?";
}

void assay_picture_close(struct assay_picture *p)
{
    if (p == NULL)
        return;
    assay_free(p->data);
    *p = (struct assay_picture){0};
}

int assay_picture_check_size(uint64_t width, uint64_t height, const char *name,
                             struct assay_err *err)
{
    if (width < 1 || height < 1)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%.300s: a picture of %llux%llu pixels holds "
                          "nothing",
                          name, (unsigned long long)width,
                          (unsigned long long)height);
    if (width > ASSAY_PICTURE_MAX_SIDE || height > ASSAY_PICTURE_MAX_SIDE ||
        width * height > ASSAY_PICTURE_MAX_PIXELS)
        return assay_fail(err, ASSAY_ERANGE,
                          "%.300s: %llux%llu pixels: at most %u a side and "
                          "%zu in all are read",
                          name, (unsigned long long)width,
                          (unsigned long long)height, ASSAY_PICTURE_MAX_SIDE,
                          ASSAY_PICTURE_MAX_PIXELS);
    return 0;
}

int assay_picture_decode(struct assay_picture *out, const uint8_t *data,
                         size_t n, const char *name,
                         const struct assay_model_note *note,
                         struct assay_err *err)
{
    struct assay_picture p = {.orientation = 1};
    char text[400];
    int rc;

    if (n >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0)
        rc = assay_png_decode(&p, data, n, name, note, err);
    else if (n >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0)
        rc = assay_jpeg_decode(&p, data, n, name, note, err);
    else
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%.300s: not a picture: expected the first bytes of "
                        "PNG or JPEG (raw bytes need --raw)",
                        name);
    if (rc < 0)
        return rc;
    if (p.orientation != 1 && note != NULL && note->note != NULL) {
        snprintf(text, sizeof(text),
                 "%.250s: EXIF says orientation %u: the pixels are taken as "
                 "they are stored (OpenCV turns them, Pillow does not)",
                 name, p.orientation);
        note->note(note->self, text);
    }
    assay_sha256(data, n, p.sha256);
    *out = p;
    return 0;
}

int assay_picture_read(struct assay_picture *out, const char *path,
                       const struct assay_model_note *note,
                       struct assay_err *err)
{
    uint8_t *data = NULL;
    size_t n = 0;
    int rc = assay_file_read(&data, &n, path, ASSAY_PICTURE_MAX_FILE, err);

    if (rc == 0)
        rc = assay_picture_decode(out, data, n, path, note, err);
    assay_free(data);
    return rc;
}

/* ---- raw bytes -------------------------------------------------------------- */

static bool is_yuv(const struct assay_raw *raw)
{
    return raw->form == ASSAY_RAW_NV12 || raw->form == ASSAY_RAW_NV21;
}

/* Bytes of a row that hold pixels; rows of the file. */
static int raw_rows(size_t *row, size_t *rows, size_t *stride,
                    const struct assay_raw *raw, const char *name,
                    struct assay_err *err)
{
    size_t pixel = is_yuv(raw) || raw->form == ASSAY_RAW_GRAY ? 1 : 3;
    int rc = assay_picture_check_size(raw->width, raw->height, name, err);

    if (rc < 0)
        return rc;
    if (is_yuv(raw) && (raw->width % 2 != 0 || raw->height % 2 != 0))
        return assay_fail(err, ASSAY_EUSAGE,
                          "%.300s: %s has colour for 2x2 pixels: expected "
                          "even sides, found %ux%u",
                          name, assay_raw_form_name(raw->form), raw->width,
                          raw->height);
    *row = raw->width * pixel;
    *rows = raw->height + (is_yuv(raw) ? raw->height / 2 : 0);
    *stride = raw->stride != 0 ? raw->stride : *row;
    if (*stride < *row)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%.300s: %u pixels of %s are %zu bytes, found a "
                          "stride of %zu",
                          name, raw->width, assay_raw_form_name(raw->form),
                          *row, *stride);
    return 0;
}

static void copy_raw(uint8_t *to, const uint8_t *from,
                     const struct assay_raw *raw)
{
    size_t w = raw->width;

    switch (raw->form) {
    case ASSAY_RAW_GRAY:
        for (size_t x = 0; x < w; x++)
            memset(to + 3 * x, from[x], 3);
        break;
    case ASSAY_RAW_BGR: assay_swap_rb(to, from, w); break;
    case ASSAY_RAW_RGB: memcpy(to, from, 3 * w); break;
    default: memcpy(to, from, w);
    }
}

/* U and V of NV21 change places. */
static void to_nv12(struct assay_picture *p)
{
    for (size_t i = (size_t)p->width * p->height; i + 1 < p->bytes; i += 2) {
        uint8_t v = p->data[i];

        p->data[i] = p->data[i + 1];
        p->data[i + 1] = v;
    }
}

int assay_picture_decode_raw(struct assay_picture *out, const uint8_t *data,
                             size_t n, const struct assay_raw *raw,
                             const char *name, struct assay_err *err)
{
    struct assay_picture p = {.width = raw->width,
                              .height = raw->height,
                              .orientation = 1,
                              .format = assay_raw_form_name(raw->form),
                              .form = is_yuv(raw) ? ASSAY_PICTURE_NV12
                                                  : ASSAY_PICTURE_RGB};
    size_t row = 0, rows = 0, stride = 0, all, pixel = is_yuv(raw) ? 1 : 3;
    int rc = raw_rows(&row, &rows, &stride, raw, name, err);

    if (rc < 0)
        return rc;
    if (!assay_mul_size(stride, rows, &all) ||
        (n != all && n != all - (stride - row)))
        return assay_fail(err, ASSAY_EFORMAT,
                          "%.300s: %s of %ux%u with rows of %zu bytes has %zu "
                          "rows: expected %zu bytes, found %zu",
                          name, p.format, p.width, p.height, stride, rows, all,
                          n);
    p.bytes = rows * pixel * raw->width;
    p.data = assay_alloc(p.bytes);
    if (p.data == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%.300s: no memory for %zu bytes",
                          name, p.bytes);
    for (size_t y = 0; y < rows; y++)
        copy_raw(p.data + y * pixel * raw->width, data + y * stride, raw);
    if (raw->form == ASSAY_RAW_NV21)
        to_nv12(&p);
    assay_sha256(data, n, p.sha256);
    *out = p;
    return 0;
}

int assay_picture_read_raw(struct assay_picture *out, const char *path,
                           const struct assay_raw *raw, struct assay_err *err)
{
    uint8_t *data = NULL;
    size_t n = 0;
    int rc = assay_file_read(&data, &n, path, ASSAY_PICTURE_MAX_FILE, err);

    if (rc == 0)
        rc = assay_picture_decode_raw(out, data, n, raw, path, err);
    assay_free(data);
    return rc;
}

/* ---- turning ------------------------------------------------------------------ */

/* Where pixel (x, y) of the result comes from, as first + x * dx + y * dy. */
struct walk {
    ptrdiff_t first, dx, dy;
};

static struct walk walk_of(const struct assay_picture *p, unsigned orientation)
{
    ptrdiff_t w = p->width, last_x = w - 1;
    ptrdiff_t last_y = ((ptrdiff_t)p->height - 1) * w;

    switch (orientation) {
    case 2: return (struct walk){last_x, -1, w};
    case 3: return (struct walk){last_y + last_x, -1, -w};
    case 4: return (struct walk){last_y, 1, -w};
    case 5: return (struct walk){0, w, 1};
    case 6: return (struct walk){last_y, -w, 1};
    case 7: return (struct walk){last_y + last_x, -w, -1};
    case 8: return (struct walk){last_x, w, -1};
    default: return (struct walk){0, 1, w};
    }
}

int assay_picture_orient(struct assay_picture *out,
                         const struct assay_picture *p, unsigned orientation,
                         struct assay_err *err)
{
    struct walk k = walk_of(p, orientation);
    struct assay_picture turned = *p;
    uint8_t *to;

    if (orientation >= 5) {
        turned.width = p->height;
        turned.height = p->width;
    }
    turned.orientation = 1;
    turned.data = to = assay_alloc(p->bytes);
    if (to == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for %zu bytes",
                          p->bytes);
    for (ptrdiff_t y = 0; y < (ptrdiff_t)turned.height; y++) {
        ptrdiff_t at = k.first + y * k.dy;

        for (ptrdiff_t x = 0; x < (ptrdiff_t)turned.width; x++, to += 3)
            memcpy(to, p->data + 3 * (at + x * k.dx), 3);
    }
    *out = turned;
    return 0;
}
