/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_time: milliseconds from a JPEG of 1920x1080 in memory to NV12 of
 * 640x640 (letterbox, linear, BT.601 in integers). CPU time, the median of 15
 * runs. The JPEG is made here: a smooth picture with some noise, quality 90,
 * 4:2:0.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jpeglib.h>

#include "host-tools/image/adapt.h"

#define WIDTH 1920
#define HEIGHT 1080
#define RUNS 15

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void paint(uint8_t *row, unsigned y)
{
    uint32_t state = y * 2654435761u;

    for (unsigned x = 0; x < WIDTH; x++) {
        state = state * 1664525u + 1013904223u;
        row[3 * x] = (uint8_t)(x / 8 + (state >> 28));
        row[3 * x + 1] = (uint8_t)(y / 5 + (state >> 27) % 16);
        row[3 * x + 2] = (uint8_t)((x / 64 + y / 64) % 2 * 160 + (state >> 29));
    }
}

static unsigned char *make_jpeg(unsigned long *n)
{
    static uint8_t row[3 * WIDTH];
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    unsigned char *data = NULL;

    c.err = jpeg_std_error(&e);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, n);
    c.image_width = WIDTH;
    c.image_height = HEIGHT;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    jpeg_start_compress(&c, TRUE);
    for (unsigned y = 0; y < HEIGHT; y++) {
        JSAMPROW p = row;

        paint(row, y);
        jpeg_write_scanlines(&c, &p, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return data;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int main(void)
{
    struct assay_image_spec spec;
    struct assay_err err = {0};
    double decode[RUNS], all[RUNS];
    unsigned long n = 0;
    unsigned char *jpeg = make_jpeg(&n);

    assay_image_spec_init(&spec, ASSAY_IMAGE_NV12, 640, 640);
    spec.fit = ASSAY_FIT_LETTERBOX;
    for (int i = 0; i < RUNS; i++) {
        struct assay_picture p;
        struct assay_image_adapted made;
        double start = now_ms();

        if (assay_picture_decode(&p, jpeg, n, "made", NULL, &err) != 0)
            goto failed;
        decode[i] = now_ms() - start;
        if (assay_image_adapt(&made, &spec, &p, &err) != 0)
            goto failed;
        all[i] = now_ms() - start;
        assay_image_adapted_close(&made);
        assay_picture_close(&p);
    }
    qsort(decode, RUNS, sizeof(*decode), by_size);
    qsort(all, RUNS, sizeof(*all), by_size);
    printf("image_ms %.2f decode_ms %.2f jpeg_bytes %lu\n", all[RUNS / 2],
           decode[RUNS / 2], n);
    free(jpeg);
    return 0;
failed:
    fprintf(stderr, "image_time: %s\n", err.text);
    return 1;
}
