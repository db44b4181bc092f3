/* SPDX-License-Identifier: Apache-2.0 */
/* PNG and JPEG documents for tests, written by the libraries themselves. The
 * caller frees what it gets. */
#ifndef ASSAY_TESTS_PICTURE_BYTES_H
#define ASSAY_TESTS_PICTURE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

static void png_grow(png_structp png, png_bytep from, size_t n)
{
    FILE *f = png_get_io_ptr(png);

    if (fwrite(from, 1, n, f) != n)
        abort();
}

static void png_flushed(png_structp png)
{
    (void)png;
}

/* `samples` as PNG has them for this type and depth; rows of row_bytes. */
static inline uint8_t *png_bytes(size_t *n, const uint8_t *samples,
                                 size_t row_bytes, uint32_t width,
                                 uint32_t height, int type, int depth,
                                 int interlace)
{
    static const png_color colours[4] = {
        {0, 0, 0}, {255, 0, 0}, {0, 255, 0}, {1, 2, 3}};
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_bytep *rows = calloc(height, sizeof(*rows));
    char *data = NULL;
    FILE *f = open_memstream(&data, n);

    png_set_write_fn(png, f, png_grow, png_flushed);
    png_set_IHDR(png, info, width, height, depth, type, interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, colours, 4);
    for (uint32_t y = 0; y < height; y++)
        rows[y] = (png_bytep)samples + y * row_bytes;
    png_set_rows(png, info, rows);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
    free(rows);
    return (uint8_t *)data;
}

/* exif: an APP1 marker's bytes, or NULL. */
static inline uint8_t *jpeg_bytes(size_t *n, const uint8_t *samples,
                                  uint32_t width, uint32_t height,
                                  int components, J_COLOR_SPACE space,
                                  bool progressive, const uint8_t *exif,
                                  size_t exif_n)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    unsigned char *data = NULL;
    unsigned long size = 0;

    c.err = jpeg_std_error(&e);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, &size);
    c.image_width = width;
    c.image_height = height;
    c.input_components = components;
    c.in_color_space = space;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    if (progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    if (exif != NULL)
        jpeg_write_marker(&c, JPEG_APP0 + 1, exif, (unsigned)exif_n);
    while (c.next_scanline < height) {
        JSAMPROW row = (JSAMPROW)samples +
                       (size_t)c.next_scanline * width * (size_t)components;

        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *n = size;
    return data;
}

#endif
