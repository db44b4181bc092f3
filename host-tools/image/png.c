/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpng leaves by longjmp. What a function that is left so has in hand lives
 * in a struct of its caller, so that no local variable is in doubt and all of
 * it is freed in one place.
 */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/image/codec.h"
#include "host-tools/image/exif.h"
#include "host-tools/model/file.h"
#include "lib/core/buf.h"

/* Remarks and profiles of a picture that are kept, bytes and number. */
#define CHUNK_BYTES ((size_t)8 << 20)
#define CHUNKS 64

struct work {
    png_structp png;
    png_infop info;
    char why[200]; /* libpng's words */
    /* reading */
    const uint8_t *data;
    size_t n, at;
    const char *name;
    const struct assay_model_note *note;
    struct assay_picture picture;
    struct assay_err *err;
    int rc; /* of a refusal of our own; 0: it was libpng's */
    /* writing */
    struct assay_buf out;
    const uint8_t *samples;
    uint32_t width, height, channels;
};

static void on_error(png_structp png, png_const_charp text)
{
    struct work *w = png_get_error_ptr(png);

    snprintf(w->why, sizeof(w->why), "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
    struct work *w = png_get_io_ptr(png);

    if (n > w->n - w->at)
        png_error(png, "the file ends early");
    memcpy(to, w->data + w->at, n);
    w->at += n;
}

static void tell(const struct work *w, const char *what)
{
    char text[400];

    if (w->note == NULL || w->note->note == NULL)
        return;
    snprintf(text, sizeof(text), "%.250s: %s", w->name, what);
    w->note->note(w->note->self, text);
}

/* What the samples become on their way to 8-bit RGB. */
static void set_transformations(struct work *w)
{
    png_byte type = png_get_color_type(w->png, w->info);

    if (png_get_bit_depth(w->png, w->info) == 16) {
        tell(w, "16 bits a sample: the upper 8 are taken");
        png_set_strip_16(w->png);
    }
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(w->png);
    if ((type & PNG_COLOR_MASK_ALPHA) != 0 ||
        png_get_valid(w->png, w->info, PNG_INFO_tRNS) != 0) {
        tell(w, "has transparency, which is dropped: the colours below it "
                "are taken");
        png_set_strip_alpha(w->png);
    }
    if ((type & PNG_COLOR_MASK_COLOR) == 0) {
        tell(w, "is gray: R, G and B are made equal");
        png_set_gray_to_rgb(w->png);
    }
}

static void read_exif(struct work *w)
{
    png_bytep exif = NULL;
    png_uint_32 n = 0;

    if (png_get_eXIf_1(w->png, w->info, &n, &exif) != 0 && exif != NULL)
        w->picture.orientation = assay_exif_orientation(exif, n);
}

/* Leaves by longjmp, or returns a refusal of our own. */
static int decode(struct work *w)
{
    struct assay_picture *p = &w->picture;
    int passes, rc;

    png_set_read_fn(w->png, w, on_read);
    png_set_user_limits(w->png, ASSAY_PICTURE_MAX_SIDE, ASSAY_PICTURE_MAX_SIDE);
    png_set_chunk_cache_max(w->png, CHUNKS);
    png_set_chunk_malloc_max(w->png, CHUNK_BYTES);
    png_read_info(w->png, w->info);
    p->width = png_get_image_width(w->png, w->info);
    p->height = png_get_image_height(w->png, w->info);
    rc = assay_picture_check_size(p->width, p->height, w->name, w->err);
    if (rc < 0)
        return rc;
    set_transformations(w);
    passes = png_set_interlace_handling(w->png);
    png_read_update_info(w->png, w->info);
    if (png_get_rowbytes(w->png, w->info) != 3 * (size_t)p->width)
        png_error(w->png, "an unknown kind of samples");
    p->bytes = 3 * (size_t)p->width * p->height;
    p->data = assay_calloc(p->bytes, 1);
    if (p->data == NULL)
        return assay_fail(w->err, ASSAY_EMEMORY,
                          "%.300s: no memory for %zu bytes", w->name, p->bytes);
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < p->height; y++)
            png_read_row(w->png, p->data + 3 * (size_t)p->width * y, NULL);
    png_read_end(w->png, w->info);
    read_exif(w);
    return 0;
}

/* true: body ran to its end, w->rc is its result. */
static bool guarded(struct work *w, int (*body)(struct work *w))
{
    if (setjmp(png_jmpbuf(w->png)) != 0)
        return false;
    w->rc = body(w);
    return true;
}

int assay_png_decode(struct assay_picture *out, const uint8_t *data, size_t n,
                     const char *name, const struct assay_model_note *note,
                     struct assay_err *err)
{
    struct work w = {.data = data,
                     .n = n,
                     .name = name,
                     .note = note,
                     .err = err,
                     .picture = {.orientation = 1, .format = "png"}};
    int rc;

    w.png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning);
    if (w.png != NULL)
        w.info = png_create_info_struct(w.png);
    if (w.info == NULL)
        rc = assay_fail(err, ASSAY_EMEMORY, "%.300s: out of memory", name);
    else if (!guarded(&w, decode))
        rc = assay_fail(err, ASSAY_EFORMAT, "%.300s: bad PNG: %s", name, w.why);
    else
        rc = w.rc;
    png_destroy_read_struct(&w.png, &w.info, NULL);
    if (rc < 0)
        assay_picture_close(&w.picture);
    else
        *out = w.picture;
    return rc;
}

/* ---- writing ------------------------------------------------------------------ */

static void on_write(png_structp png, png_bytep from, size_t n)
{
    struct work *w = png_get_io_ptr(png);

    if (assay_buf_append(&w->out, from, n) < 0)
        png_error(png, "out of memory");
}

static void on_flush(png_structp png)
{
    (void)png;
}

static int encode(struct work *w)
{
    size_t row = (size_t)w->width * w->channels;

    png_set_write_fn(w->png, w, on_write, on_flush);
    png_set_user_limits(w->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(w->png, w->info, w->width, w->height, 8,
                 w->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (uint32_t y = 0; y < w->height; y++)
        png_write_row(w->png, w->samples + y * row);
    png_write_end(w->png, w->info);
    return 0;
}

int assay_png_write(const char *path, const uint8_t *samples, uint32_t width,
                    uint32_t height, uint32_t channels, struct assay_err *err)
{
    struct work w = {.samples = samples,
                     .width = width,
                     .height = height,
                     .channels = channels};
    int rc = 0;

    assay_buf_init(&w.out);
    w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_error,
                                    on_warning);
    if (w.png != NULL)
        w.info = png_create_info_struct(w.png);
    if (w.info == NULL)
        rc = assay_fail(err, ASSAY_EMEMORY, "%.300s: out of memory", path);
    else if (!guarded(&w, encode))
        rc = assay_fail(err, ASSAY_EINTERNAL, "%.300s: cannot make a PNG: %s",
                        path, w.why);
    png_destroy_write_struct(&w.png, &w.info);
    if (rc == 0)
        rc = assay_file_write(path, w.out.data, w.out.len, err);
    assay_buf_close(&w.out);
    return rc;
}
