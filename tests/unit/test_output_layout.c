/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs read in another arrangement: axes, strides, blocks, places, types;
 * on integers and floats, odd shapes, and with a second step.
 *
 * links: host-tools/output/search.c host-tools/output/judge.c
 * links: host-tools/output/root.c
 * links: host-tools/output/step_value.c host-tools/output/step_index.c
 * links: host-tools/output/notice.c host-tools/output/value.c
 * links: host-tools/output/table.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 * libs: -lm
 */
#include "tests/unit/output_heads.h"

static const struct {
    enum assay_dtype dtype;
    bool dequantized;
} kinds[] = {{ASSAY_S8, false},
             {ASSAY_S8, true},
             {ASSAY_S16, false},
             {ASSAY_S32, false}};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t width;
static int64_t n;

/* One head n x h x w x c, and nothing read yet but its size. */
static void one_head(size_t kind, size_t samples, int64_t h, int64_t w,
                     int64_t c)
{
    const int64_t dims[] = {1, h, w, c};

    begin(1, samples);
    make_head(0, "first", kinds[kind].dtype, kinds[kind].dequantized, "NHWC", 4,
              dims, -1);
    width = assay_dtype_bytes(heads[0].t.dtype);
    n = h * w * c;
    reads(0, heads[0].t.dtype, n);
}

static const uint8_t *of(size_t k)
{
    return heads[0].t.values[k];
}

/* Element `to` of sample k is the model's element `from`. */
static void move(size_t k, int64_t to, int64_t from)
{
    memcpy(read_bytes[k] + (size_t)to * width, of(k) + (size_t)from * width,
           width);
}

/* ---- axes ---------------------------------------------------------------- */

static void nhwc_read_as_nchw(void **state)
{
    static const int64_t shapes[][3] = {
        {5, 7, 33}, {7, 1, 5}, {1, 8, 9}, {4, 4, 3}, {2, 9, 2}};

    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < 5; s++) {
            const int64_t *d = shapes[s];
            int64_t at = 0;

            one_head(k, 2, d[0], d[1], d[2]);
            for (int64_t c = 0; c < d[2]; c++)
                for (int64_t i = 0; i < d[0] * d[1]; i++, at++) {
                    move(0, at, i * d[2] + c);
                    move(1, at, i * d[2] + c);
                }
            IS("L1", "NHWC -> NCHW");
        }
}

/* One channel or one pixel: nothing moves, so it is a match. */
static void nothing_moves(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        one_head(k, 2, 6, 9, 1);
        memcpy(read_bytes[0], of(0), got.bytes);
        memcpy(read_bytes[1], of(1), got.bytes);
        explain();
        assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
        got.rank = 4;
        got.dims[0] = got.dims[1] = 1;
        got.dims[2] = 6;
        got.dims[3] = 9;
        explain();
        assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
        one_head(k, 1, 1, 1, 7);
        memcpy(read_bytes[0], of(0), got.bytes);
        explain();
        assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
    }
}

static void columns_before_rows(void **state)
{
    (void)state;
    one_head(0, 1, 5, 7, 3);
    for (int64_t x = 0, at = 0; x < 7; x++)
        for (int64_t y = 0; y < 5; y++)
            for (int64_t c = 0; c < 3; c++)
                move(0, at++, (y * 7 + x) * 3 + c);
    IS("L1", "NHWC -> NWHC");
}

/* Said to be NCHW and turned, though it was NHWC: another map. */
static void turned_though_it_was_right(void **state)
{
    (void)state;
    one_head(0, 1, 5, 7, 3);
    for (int64_t i = 0; i < 35; i++)
        for (int64_t c = 0; c < 3; c++)
            move(0, i * 3 + c, c * 35 + i);
    IS("L1", "turned back");
}

static void shape_without_moving(void **state)
{
    (void)state;
    one_head(1, 2, 5, 7, 3);
    memcpy(read_bytes[0], of(0), got.bytes);
    memcpy(read_bytes[1], of(1), got.bytes);
    got.rank = 4;
    got.dims[0] = 1;
    got.dims[1] = 3;
    got.dims[2] = 5;
    got.dims[3] = 7;
    IS("H13", "1x5x7x3 is called 1x3x5x7");
}

/* ---- strides ------------------------------------------------------------- */

/* What lies between rows. */
static void soil(void)
{
    for (size_t k = 0; k < SAMPLES; k++)
        for (size_t i = 0; i < sizeof(read_bytes[0]); i++)
            read_bytes[k][i] = (uint8_t)next();
}

/* Rows of `row` elements `pitch` apart, as many as fit into `length`. */
static void spread(int64_t row, int64_t pitch, int64_t length)
{
    soil();
    for (int64_t i = 0; i < length; i++)
        if (i % pitch < row && i / pitch * row + i % pitch < n)
            move(0, i, i / pitch * row + i % pitch);
}

static void strides_read_as_dense(void **state)
{
    static const int64_t aligns[] = {4, 8, 16, 32, 64};

    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (size_t a = 0; a < 5; a++) {
            int64_t pitch, bytes;

            one_head(k, 1, 9, 10, 7);
            /* Channels. */
            bytes = 7 * (int64_t)width;
            pitch = (bytes + aligns[a] - 1) / aligns[a] * aligns[a] /
                    (int64_t)width;
            if (pitch > 7) {
                spread(7, pitch, n);
                IS("L2", "are");
                /* With the padding, too. */
                spread(7, pitch, 90 * pitch);
                reads(0, heads[0].t.dtype, 90 * pitch);
                IS("L2", "are");
            }
            /* Rows. */
            one_head(k, 1, 9, 10, 7);
            bytes = 70 * (int64_t)width;
            pitch = (bytes + aligns[a] - 1) / aligns[a] * aligns[a] /
                    (int64_t)width;
            if (pitch > 70) {
                spread(70, pitch, n);
                IS("L2", "are");
            }
        }
}

/* Widths aligned to 16, 32 and 64 pixels. */
static void widths_read_as_dense(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (int64_t to = 16; to <= 64; to *= 2) {
            one_head(k, 1, 11, 13, 3);
            spread(39, 3 * to, n);
            IS("L2", "are");
        }
}

static void dense_read_as_strided(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        one_head(k, 2, 9, 10, 7);
        soil();
        for (int64_t i = 0; i < n; i++)
            for (size_t s = 0; s < 2; s++)
                if (i / 70 * 80 + i % 70 < n)
                    move(s, i, i / 70 * 80 + i % 70);
        IS("L2", "are read");
    }
}

/* The board aligns to 64 bytes, the application took 32. */
static void another_boards_stride(void **state)
{
    (void)state;
    one_head(0, 1, 12, 13, 5);
    soil();
    for (int64_t i = 0; i < n; i++) {
        int64_t b = i / 65 * 96 + i % 65;

        if (b % 128 < 65 && b / 128 * 65 + b % 128 < n)
            move(0, i, b / 128 * 65 + b % 128);
    }
    IS("L4", "65 bytes are 128 bytes apart, read as 96");
}

static void channels_in_blocks(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (int64_t k = 4; k <= 16; k *= 2) {
            int64_t blocks = (33 + k - 1) / k;

            one_head(kind, 1, 5, 7, 33);
            reads(0, heads[0].t.dtype, blocks * k * 35);
            soil();
            for (int64_t i = 0; i < 35; i++)
                for (int64_t c = 0; c < 33; c++)
                    move(0, (c / k * 35 + i) * k + c % k, i * 33 + c);
            IS("L3", "in blocks of");
        }
}

/* ---- places -------------------------------------------------------------- */

static void moved_cut_and_longer(void **state)
{
    static const int64_t by[] = {1, 7, 70};

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t b = 0; b < 3; b++) {
            one_head(k, 2, 9, 10, 7);
            soil();
            for (size_t s = 0; s < 2; s++)
                memcpy(read_bytes[s] + (size_t)by[b] * width, of(s),
                       (size_t)(n - by[b]) * width);
            IS("H14", "too early");
            for (size_t s = 0; s < 2; s++)
                memcpy(read_bytes[s], of(s) + (size_t)by[b] * width,
                       (size_t)(n - by[b]) * width);
            IS("H14", "left out");
        }
        for (size_t s = 0; s < 2; s++)
            memcpy(read_bytes[s], of(s), (size_t)n * width);
        reads(0, heads[0].t.dtype, n - 200);
        IS("H16", "the first 430 of 630");
        reads(0, heads[0].t.dtype, n + 20);
        IS("H17", "650 elements, the output has 630");
    }
}

static void header_of_an_npy(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (int whole = 0; whole < 2; whole++) {
            one_head(k, 1, 9, 10, 7);
            memset(read_bytes[0], ' ', 128);
            memcpy(read_bytes[0], "\x93NUMPY\x01\0\x76\0{'descr'", 18);
            memcpy(read_bytes[0] + 128, of(0), (size_t)n * width);
            reads(0, heads[0].t.dtype,
                  n + (whole != 0 ? 128 / (int64_t)width : 0));
            IS("H15", "128 bytes of an npy's header");
            got.raw = true;
            IS("H15", "128 bytes of an npy's header");
        }
}

/* ---- types --------------------------------------------------------------- */

static void signs(void **state)
{
    (void)state;
    one_head(0, 2, 9, 10, 7);
    for (size_t k = 0; k < 2; k++)
        for (int64_t i = 0; i < n; i++)
            put(read_bytes[k], ASSAY_S8, i,
                (int8_t)(uint8_t)(numbers[0][k][i] ^ 0x80));
    IS("U1", "the top bit is turned");
    reads(0, ASSAY_U8, n);
    memcpy(read_bytes[0], of(0), (size_t)n);
    memcpy(read_bytes[1], of(1), (size_t)n);
    IS("U1", "int8 read as uint8");
    one_head(2, 1, 9, 10, 7);
    reads(0, ASSAY_U16, n);
    memcpy(read_bytes[0], of(0), (size_t)n * 2);
    IS("U1", "int16 read as uint16");
}

static void order_of_bytes(void **state)
{
    (void)state;
    for (size_t k = 1; k < KINDS; k++) {
        one_head(k, 1, 9, 10, 7);
        for (int64_t i = 0; i < n; i++)
            for (size_t b = 0; b < width; b++)
                read_bytes[0][(size_t)i * width + b] =
                    of(0)[(size_t)i * width + width - 1 - b];
        IS("U2", "swapped");
    }
}

static void another_type(void **state)
{
    (void)state;
    one_head(2, 1, 9, 10, 7);
    memcpy(read_bytes[0], of(0), (size_t)n * 2);
    reads(0, ASSAY_S8, 2 * n);
    IS("H12", "int16 read as int8");
    reads(0, ASSAY_S8, n);
    IS("H12 H16", "int16 read as int8");
    one_head(3, 1, 9, 10, 7);
    memcpy(read_bytes[0], of(0), (size_t)n * 4);
    reads(0, ASSAY_F32, n);
    IS("H12", "int32 read as float32");
    one_head(1, 1, 9, 10, 7);
    memcpy(read_bytes[0], of(0), (size_t)n * 4);
    reads(0, ASSAY_S32, n);
    IS("H12", "float32 read as int32");
}

/* ---- two at once --------------------------------------------------------- */

static void nchw_of_the_sample_before(void **state)
{
    (void)state;
    one_head(1, 3, 5, 7, 33);
    for (size_t k = 0; k < 3; k++)
        for (int64_t c = 0, at = 0; c < 33; c++)
            for (int64_t i = 0; i < 35; i++, at++)
                memcpy(read_bytes[k] + at * 4,
                       of(k > 0 ? k - 1 : 2) + (i * 33 + c) * 4, 4);
    soil();
    for (size_t k = 1; k < 3; k++)
        for (int64_t c = 0, at = 0; c < 33; c++)
            for (int64_t i = 0; i < 35; i++, at++)
                memcpy(read_bytes[k] + at * 4, of(k - 1) + (i * 33 + c) * 4, 4);
    IS("D2 L1", "NHWC -> NCHW");
}

static void nchw_rows_with_a_stride(void **state)
{
    (void)state;
    one_head(0, 1, 5, 7, 3);
    reads(0, ASSAY_U8, 5 * 3 * 16);
    soil();
    for (int64_t c = 0; c < 3; c++)
        for (int64_t y = 0; y < 5; y++)
            for (int64_t x = 0; x < 7; x++)
                move(0, (c * 5 + y) * 16 + x, (y * 7 + x) * 3 + c);
    IS("U1 L1 L2", "rows of 7 bytes are 16 bytes apart");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nhwc_read_as_nchw),
        cmocka_unit_test(nothing_moves),
        cmocka_unit_test(columns_before_rows),
        cmocka_unit_test(turned_though_it_was_right),
        cmocka_unit_test(shape_without_moving),
        cmocka_unit_test(strides_read_as_dense),
        cmocka_unit_test(widths_read_as_dense),
        cmocka_unit_test(dense_read_as_strided),
        cmocka_unit_test(another_boards_stride),
        cmocka_unit_test(channels_in_blocks),
        cmocka_unit_test(moved_cut_and_longer),
        cmocka_unit_test(header_of_an_npy),
        cmocka_unit_test(signs),
        cmocka_unit_test(order_of_bytes),
        cmocka_unit_test(another_type),
        cmocka_unit_test(nchw_of_the_sample_before),
        cmocka_unit_test(nchw_rows_with_a_stride),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
