/* SPDX-License-Identifier: Apache-2.0 */
/*
 * L1 to L5, U1, U2: what stands behind an edited layer, whose own output is a
 * plain copy here, so that every element is its own place.
 *
 * links: tests/support/edits.c tests/support/slices.c lib/core/
 * links: host-tools/cause/catalogue.c host-tools/cause/edit_*.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/edits.h"
#include "tests/support/slices.h"

#define MOST 32768 /* bytes */

static struct {
    struct assay_slice *s;
    int64_t n, h, w, c;
    size_t width, bytes;
    uint8_t x[MOST], got[MOST], want[MOST], buffer[8 * MOST];
} f;

static void begin(enum assay_dtype dtype, int64_t n, int64_t h, int64_t w,
                  int64_t c)
{
    const struct slices_operand t = {dtype, 4, {n, h, w, c}, NULL};

    f.s = slices_one(ASSAY_OP_CONCAT, 1, &t, t);
    f.n = n;
    f.h = h;
    f.w = w;
    f.c = c;
    f.width = assay_dtype_bytes(dtype);
    f.bytes = (size_t)(n * h * w * c) * f.width;
    edits_random(f.x, f.bytes);
    slices_quant(f.s, 1, 0.5f, dtype == ASSAY_F32 ? 0 : 3);
}

static void end(void)
{
    assay_slice_free(f.s);
}

static void refuses(const char *edit, int want)
{
    struct assay_slice *edited;

    assert_int_equal(edits_apply(f.s, 0, edit, &edited), want);
}

static void gives(const char *edit)
{
    const void *const in[] = {f.x};

    edits_give(f.s, edit, in, 1, f.got, f.bytes);
    for (size_t i = 0; i < f.bytes; i++)
        if (f.got[i] != f.want[i])
            fail_msg("%s of %lld,%lld,%lld,%lld: byte %zu: %d, expected %d",
                     edit, (long long)f.n, (long long)f.h, (long long)f.w,
                     (long long)f.c, i, f.got[i], f.want[i]);
}

/* Element `to` of the expected output is element `from` of x. */
static void take(int64_t to, int64_t from)
{
    memcpy(f.want + (size_t)to * f.width, f.x + (size_t)from * f.width,
           f.width);
}

static const struct shape {
    enum assay_dtype dtype;
    int64_t n, h, w, c;
} SHAPES[] = {
    {ASSAY_S8, 1, 3, 5, 33}, {ASSAY_U8, 2, 1, 7, 4},  {ASSAY_S16, 2, 4, 3, 17},
    {ASSAY_S32, 1, 6, 2, 8}, {ASSAY_F32, 3, 2, 2, 3}, {ASSAY_S64, 1, 3, 3, 2},
    {ASSAY_S8, 2, 5, 16, 4}, {ASSAY_S8, 1, 2, 5, 3},
};
#define N_SHAPES (sizeof(SHAPES) / sizeof(SHAPES[0]))

static void begin_shape(const struct shape *s)
{
    begin(s->dtype, s->n, s->h, s->w, s->c);
}

/* ---- axes -------------------------------------------------------------- */

static void l1_exchanges_channels_and_pixels(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        int64_t pixels;

        begin_shape(&SHAPES[i]);
        pixels = f.h * f.w;
        for (int64_t n = 0; n < f.n; n++)
            for (int64_t p = 0; p < pixels; p++)
                for (int64_t c = 0; c < f.c; c++)
                    take((n * f.c + c) * pixels + p,
                         (n * pixels + p) * f.c + c);
        gives("L1=nchw");
        for (int64_t n = 0; n < f.n; n++)
            for (int64_t p = 0; p < pixels; p++)
                for (int64_t c = 0; c < f.c; c++)
                    take((n * pixels + p) * f.c + c,
                         (n * f.c + c) * pixels + p);
        gives("L1=nhwc");
        end();
    }
}

static void l1_of_one_channel_or_pixel(void **state)
{
    const struct slices_operand row = {ASSAY_S8, 2, {3, 4}, NULL};

    (void)state;
    begin(ASSAY_S8, 2, 3, 3, 1);
    refuses("L1=nchw", ASSAY_EDIT_SAME);
    end();
    begin(ASSAY_S8, 2, 1, 1, 33);
    refuses("L1=nhwc", ASSAY_EDIT_SAME);
    end();
    f.s = slices_one(ASSAY_OP_CONCAT, 1, &row, row);
    refuses("L1=nhwc", ASSAY_EDIT_NOT_HERE);
    refuses("L3=4", ASSAY_EDIT_NOT_HERE);
    end();
}

static void l5_turns_the_batch(void **state)
{
    (void)state;
    begin(ASSAY_S16, 3, 2, 2, 5);
    for (int64_t n = 0; n < 3; n++)
        for (int64_t i = 0; i < 20; i++)
            take(n * 20 + i, (2 - n) * 20 + i);
    gives("L5=batch");
    refuses("L5=output", ASSAY_EDIT_NOT_HERE);
    end();
    begin(ASSAY_S16, 1, 2, 2, 5);
    refuses("L5=batch", ASSAY_EDIT_NOT_HERE);
    end();
}

/* Two layers, two outputs of one shape: the first one is the second. */
static void l5_gives_another_output(void **state)
{
    const int64_t dims[] = {2};
    const int8_t a[] = {1, 2}, b[] = {3, 4};
    const void *const in[] = {a, b};
    struct assay_slice *edited;
    int8_t y[2];

    (void)state;
    f.s = slices_new();
    for (uint32_t i = 0; i < 2; i++)
        slices_tensor(f.s, i ? "b" : "a", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t in_i = i, y_i;

        y_i = slices_tensor(f.s, i ? "q" : "p", ASSAY_ROLE_ACTIVATION, ASSAY_S8,
                            1, dims);
        f.s->tensors[y_i].is_output = true;
        slices_layer(f.s, i ? "second" : "first", ASSAY_OP_CONCAT, 1, &in_i,
                     y_i);
    }
    assert_int_equal(edits_apply(f.s, 0, "L5=output", &edited), 0);
    assert_int_equal(edited->layers[2].output, 2); /* the last that is run */
    assert_true(edited->tensors[2].is_output && edited->tensors[3].is_output);
    edits_run(edited, in, 2, y, 2);
    assert_memory_equal(y, b, 2);
    assay_slice_free(edited);
    f.s->tensors[3].dtype = f.s->tensors[1].dtype = ASSAY_U8;
    refuses("L5=output", ASSAY_EDIT_NOT_HERE);
    end();
}

/* ---- rows -------------------------------------------------------------- */

/* Rows written `written` bytes apart into zeros, read `read` bytes apart. */
static void restride(size_t written, size_t read)
{
    size_t row = (size_t)(f.w * f.c) * f.width;
    size_t rows = (size_t)(f.n * f.h);

    memset(f.buffer, 0, sizeof(f.buffer));
    for (size_t r = 0; r < rows; r++)
        memcpy(f.buffer + r * written, f.x + r * row, row);
    for (size_t r = 0; r < rows; r++)
        memcpy(f.want + r * row, f.buffer + r * read, row);
}

static size_t align(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static void l2_rows_are_padded_on_one_side(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES * 3; i++) {
        size_t to = (size_t)16 << i % 3, row;
        char edit[16];

        begin_shape(&SHAPES[i / 3]);
        row = (size_t)(f.w * f.c) * f.width;
        snprintf(edit, sizeof(edit), "L2=%zu", to);
        if (row % to == 0 || f.n * f.h == 1) {
            refuses(edit, ASSAY_EDIT_SAME);
            snprintf(edit, sizeof(edit), "L2=dense%zu", to);
            refuses(edit, ASSAY_EDIT_SAME);
            end();
            continue;
        }
        restride(align(row, to), row);
        gives(edit);
        snprintf(edit, sizeof(edit), "L2=dense%zu", to);
        restride(row, align(row, to));
        gives(edit);
        end();
    }
}

static void l4_rows_are_aligned_in_two_ways(void **state)
{
    int64_t same = 0;

    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        size_t row;

        begin_shape(&SHAPES[i]);
        row = (size_t)(f.w * f.c) * f.width;
        if (align(row, 32) == align(row, 64)) {
            refuses("L4=64as32", ASSAY_EDIT_SAME);
            same++;
        } else {
            restride(align(row, 64), align(row, 32));
            gives("L4=64as32");
            restride(align(row, 32), align(row, 64));
            gives("L4=32as64");
        }
        end();
    }
    assert_in_range(same, 1, N_SHAPES - 1);
}

static void rows_of_other_ranks(void **state)
{
    const struct slices_operand rows = {ASSAY_S8, 2, {3, 5}, NULL};
    const struct slices_operand row = {ASSAY_S8, 1, {15}, NULL};

    (void)state;
    f.s = slices_one(ASSAY_OP_CONCAT, 1, &rows, rows);
    f.n = 1;
    f.h = 3;
    f.w = 5;
    f.c = 1;
    f.width = 1;
    f.bytes = 15;
    edits_random(f.x, f.bytes);
    restride(16, 5);
    gives("L2=16");
    end();
    f.s = slices_one(ASSAY_OP_CONCAT, 1, &row, row);
    refuses("L2=16", ASSAY_EDIT_NOT_HERE);
    refuses("L4=64as32", ASSAY_EDIT_NOT_HERE);
    end();
    begin(ASSAY_S8, 1, 1, 5, 5);
    refuses("L2=16", ASSAY_EDIT_SAME);
    end();
}

/* ---- blocks ------------------------------------------------------------ */

/* [n][blocks][pixels][k] with zeros behind the last channel; as much of it as
 * the output holds. */
static void packed(int64_t k)
{
    int64_t blocks = (f.c + k - 1) / k, pixels = f.h * f.w, at = 0;

    memset(f.want, 0, f.bytes);
    for (int64_t n = 0; n < f.n; n++)
        for (int64_t b = 0; b < blocks; b++)
            for (int64_t p = 0; p < pixels; p++)
                for (int64_t i = 0; i < k; i++, at++)
                    if (b * k + i < f.c && at < f.n * pixels * f.c)
                        take(at, (n * pixels + p) * f.c + b * k + i);
}

static void l3_packs_channels(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES * 3; i++) {
        int64_t k = 4 << i % 3;
        char edit[16];

        begin_shape(&SHAPES[i / 3]);
        snprintf(edit, sizeof(edit), "L3=%lld", (long long)k);
        if (f.c == k) {
            refuses(edit, ASSAY_EDIT_SAME);
        } else {
            packed(k);
            gives(edit);
        }
        end();
    }
}

static void l3_of_what_is_packed(void **state)
{
    (void)state;
    begin(ASSAY_S8, 2, 1, 1, 32); /* pixel by pixel it is the same */
    refuses("L3=8", ASSAY_EDIT_SAME);
    end();
    begin(ASSAY_S8, 1, 1, 1, 33);
    refuses("L3=8", ASSAY_EDIT_SAME);
    end();
    begin(ASSAY_S8, 2, 1, 1, 33);
    refuses("L3=8", ASSAY_EDIT_NOT_HERE); /* it is rows of 33 */
    end();
}

/* ---- bytes ------------------------------------------------------------- */

static void u1_turns_the_sign_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        begin_shape(&SHAPES[i]);
        if (SHAPES[i].dtype == ASSAY_F32 || SHAPES[i].dtype == ASSAY_S64) {
            refuses("U1", ASSAY_EDIT_NOT_HERE);
            end();
            continue;
        }
        memcpy(f.want, f.x, f.bytes);
        for (size_t b = f.width - 1; b < f.bytes; b += f.width)
            f.want[b] ^= 0x80;
        gives("U1");
        end();
    }
}

static void u2_turns_the_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        bool has = SHAPES[i].dtype == ASSAY_S16 || SHAPES[i].dtype == ASSAY_S32;

        begin_shape(&SHAPES[i]);
        if (!has) {
            refuses("U2", ASSAY_EDIT_NOT_HERE);
            end();
            continue;
        }
        /* The ends of every byte, too. */
        memcpy(f.x, "\x80\x00\x7f\xff\xff\x80\x00\x7f", 8);
        for (size_t b = 0; b < f.bytes; b++)
            f.want[b] = f.x[b / f.width * f.width + f.width - 1 - b % f.width];
        gives("U2");
        end();
    }
}

/* The tensor that the readers read is the same one, and it is the output. */
static void the_output_stays(void **state)
{
    static const char *const edits[] = {"L1=nchw", "L2=64", "L3=4", "U1"};

    (void)state;
    begin(ASSAY_S8, 2, 3, 3, 5);
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        struct assay_slice *edited;

        assert_int_equal(edits_apply(f.s, 0, edits[i], &edited), 0);
        assert_string_equal(edited->tensors[1].name, "y");
        assert_true(edited->tensors[1].is_output);
        assert_int_equal(edited->layers[edited->n_layers - 1].output, 1);
        for (uint32_t t = 2; t < edited->n_tensors; t++) {
            assert_false(edited->tensors[t].is_output);
            assert_int_equal(
                assay_slice_find_tensor(edited, edited->tensors[t].name), t);
        }
        assay_slice_free(edited);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(l1_exchanges_channels_and_pixels),
        cmocka_unit_test(l1_of_one_channel_or_pixel),
        cmocka_unit_test(l5_turns_the_batch),
        cmocka_unit_test(l5_gives_another_output),
        cmocka_unit_test(l2_rows_are_padded_on_one_side),
        cmocka_unit_test(l4_rows_are_aligned_in_two_ways),
        cmocka_unit_test(rows_of_other_ranks),
        cmocka_unit_test(l3_packs_channels),
        cmocka_unit_test(l3_of_what_is_packed),
        cmocka_unit_test(u1_turns_the_sign_bit),
        cmocka_unit_test(u2_turns_the_bytes),
        cmocka_unit_test(the_output_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
