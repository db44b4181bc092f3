/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libjpeg leaves by longjmp: as in png.c, what must be freed then lives in a
 * struct of the caller.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "host-tools/image/codec.h"
#include "host-tools/image/exif.h"
#include "lib/core/buf.h"

/* A small file can ask for thousands of passes over a large picture. */
#define MAX_SCANS 100

struct work {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    char why[JMSG_LENGTH_MAX]; /* libjpeg's words */
    const uint8_t *data;
    size_t n;
    const char *name;
    const struct assay_model_note *note;
    struct assay_picture picture;
    struct assay_err *err;
    uint8_t *row; /* of CMYK */
    int rc;       /* of a refusal of our own; 0: it was libjpeg's */
};

static void on_error(j_common_ptr c)
{
    struct work *w = c->client_data;

    c->err->format_message(c, w->why);
    longjmp(w->jump, 1);
}

static void tell(const struct work *w, const char *what)
{
    char text[400];

    if (w->note == NULL || w->note->note == NULL)
        return;
    snprintf(text, sizeof(text), "%.250s: %.140s", w->name, what);
    w->note->note(w->note->self, text);
}

/* libjpeg mends damaged pixels and goes on: they would be judged as if they
 * were the picture's. Anything else that it remarks is told. */
static void on_message(j_common_ptr c, int level)
{
    struct work *w = c->client_data;
    char text[JMSG_LENGTH_MAX];

    if (level >= 0)
        return;
    switch (c->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_ARITH_BAD_CODE: on_error(c); break;
    default:
        c->err->format_message(c, text);
        if (c->err->num_warnings++ == 0)
            tell(w, text);
    }
}

static void on_progress(j_common_ptr c)
{
    struct work *w = c->client_data;

    if (w->jpeg.input_scan_number > MAX_SCANS) {
        snprintf(w->why, sizeof(w->why), "more than %d scans", MAX_SCANS);
        longjmp(w->jump, 1);
    }
}

static void read_exif(struct work *w)
{
    static const uint8_t mark[6] = "Exif\0";

    for (jpeg_saved_marker_ptr m = w->jpeg.marker_list; m != NULL; m = m->next)
        if (m->data_length > sizeof(mark) &&
            memcmp(m->data, mark, sizeof(mark)) == 0) {
            w->picture.orientation = assay_exif_orientation(
                m->data + sizeof(mark), m->data_length - sizeof(mark));
            return;
        }
}

/* To nearest; 255 is odd, so there are no ties. */
static uint8_t mul255(unsigned a, unsigned b)
{
    return (uint8_t)((a * b + 127) / 255);
}

/* Adobe's programs write CMYK inverted, and say that they wrote it. */
static void from_cmyk(uint8_t *rgb, const uint8_t *cmyk, size_t n,
                      bool inverted)
{
    uint8_t flip = inverted ? 0 : 255;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++)
            rgb[3 * i + k] =
                mul255(cmyk[4 * i + k] ^ flip, cmyk[4 * i + 3] ^ flip);
}

static void choose_space(struct work *w)
{
    struct jpeg_decompress_struct *j = &w->jpeg;

    if (j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK) {
        tell(w, "is CMYK: converted to RGB without a profile");
        j->out_color_space = JCS_CMYK;
    } else {
        if (j->jpeg_color_space == JCS_GRAYSCALE)
            tell(w, "is gray: R, G and B are made equal");
        j->out_color_space = JCS_RGB;
    }
}

static int open_header(struct work *w)
{
    struct jpeg_decompress_struct *j = &w->jpeg;
    struct assay_picture *p = &w->picture;
    int rc;

    jpeg_mem_src(j, w->data, w->n);
    jpeg_save_markers(j, JPEG_APP0 + 1, 0xffff);
    (void)jpeg_read_header(j, TRUE);
    read_exif(w);
    p->width = j->image_width;
    p->height = j->image_height;
    rc = assay_picture_check_size(p->width, p->height, w->name, w->err);
    if (rc < 0)
        return rc;
    p->bytes = 3 * (size_t)p->width * p->height;
    p->data = assay_calloc(p->bytes, 1);
    w->row = assay_alloc(4 * (size_t)p->width);
    if (p->data == NULL || w->row == NULL)
        return assay_fail(w->err, ASSAY_EMEMORY,
                          "%.300s: no memory for %zu bytes", w->name, p->bytes);
    return 0;
}

/* Leaves by longjmp, or returns a refusal of our own. */
static int decode(struct work *w)
{
    struct jpeg_decompress_struct *j = &w->jpeg;
    struct assay_picture *p = &w->picture;
    int rc;

    jpeg_create_decompress(j);
    j->progress = &w->progress;
    rc = open_header(w);
    if (rc < 0)
        return rc;
    choose_space(w);
    j->dct_method = JDCT_ISLOW;
    j->do_fancy_upsampling = TRUE;
    (void)jpeg_start_decompress(j);
    for (uint32_t y = 0; y < p->height; y++) {
        uint8_t *to = p->data + 3 * (size_t)p->width * y;
        JSAMPROW row = j->out_color_space == JCS_CMYK ? w->row : to;

        (void)jpeg_read_scanlines(j, &row, 1);
        if (row != to)
            from_cmyk(to, row, p->width, j->saw_Adobe_marker);
    }
    (void)jpeg_finish_decompress(j);
    return 0;
}

/* true: decode() ran to its end, w->rc is its result. */
static bool guarded(struct work *w)
{
    if (setjmp(w->jump) != 0)
        return false;
    w->rc = decode(w);
    return true;
}

int assay_jpeg_decode(struct assay_picture *out, const uint8_t *data, size_t n,
                      const char *name, const struct assay_model_note *note,
                      struct assay_err *err)
{
    struct work w = {.data = data,
                     .n = n,
                     .name = name,
                     .note = note,
                     .err = err,
                     .picture = {.orientation = 1, .format = "jpeg"}};
    int rc;

    w.jpeg.err = jpeg_std_error(&w.errors);
    w.errors.error_exit = on_error;
    w.errors.emit_message = on_message;
    w.progress.progress_monitor = on_progress;
    w.jpeg.client_data = &w;
    if (!guarded(&w))
        rc =
            assay_fail(err, ASSAY_EFORMAT, "%.300s: bad JPEG: %s", name, w.why);
    else
        rc = w.rc;
    jpeg_destroy_decompress(&w.jpeg);
    assay_free(w.row);
    if (rc < 0)
        assay_picture_close(&w.picture);
    else
        *out = w.picture;
    return rc;
}
