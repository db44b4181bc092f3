/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every transformation between a model's output and what was read is found in
 * what was made with it, on integers and floats; what is none:
 * test_output_none.c.
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

static const int64_t image[] = {1, 5, 7, 33}, other_image[] = {1, 5, 7, 33};
static const int64_t row[] = {1, 10};

static void three_heads(enum assay_dtype dtype, bool dequantized, int channels)
{
    make_head(0, "first", dtype, dequantized, "NHWC", 4, image, channels);
    make_head(1, "second", dtype, dequantized, "NHWC", 4, other_image,
              channels);
    make_head(2, "third", dtype, dequantized, "", 2, row, -1);
}

/* What was read is head h as it is, in all samples. */
static void copy_head(size_t h, int64_t expected)
{
    const struct assay_output_tensor *t = &heads[h].t;
    int64_t n = count_of(t);

    reads(expected, t->dtype, n);
    for (size_t k = 0; k < model.n_samples; k++)
        memcpy(read_bytes[k], t->values[k],
               (size_t)n * assay_dtype_bytes(t->dtype));
}

/* ---- no difference ------------------------------------------------------- */

static void equal_is_a_match(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        begin(3, 2);
        three_heads(ASSAY_S8, d, -1);
        copy_head(1, 1);
        explain();
        assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
        assert_int_equal(result.head, 1);
        /* Not said whose it is: by content. */
        got.expected = -1;
        explain();
        assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
        assert_int_equal(result.head, 1);
        got.raw = true;
        explain();
        assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
    }
}

static void nearly_equal_is_within(void **state)
{
    (void)state;
    begin(3, 1);
    three_heads(ASSAY_S16, true, -1);
    copy_head(0, 0);
    for (int64_t i = 0; i < count_of(&heads[0].t); i++)
        put(read_bytes[0], ASSAY_F32, i,
            (double)floats[0][0][i] * (1.0 + 1e-6));
    explain();
    assert_int_equal(result.status, ASSAY_OUTPUT_WITHIN);
}

/* ---- heads and samples --------------------------------------------------- */

static void another_head(void **state)
{
    (void)state;
    begin(3, 2);
    three_heads(ASSAY_S8, true, -1);
    copy_head(1, 0);
    IS("L5", "second");
    /* A small one, too. */
    copy_head(2, 0);
    IS("L5", "third");
}

static void another_sample(void **state)
{
    const struct assay_output_tensor *t = &heads[0].t;
    size_t bytes;

    (void)state;
    begin(3, 3);
    three_heads(ASSAY_S8, true, -1);
    copy_head(0, 0);
    bytes = got.bytes;
    for (size_t k = 1; k < 3; k++)
        memcpy(read_bytes[k], t->values[k - 1], bytes);
    IS("D2", "one before");
    memcpy(read_bytes[2], t->values[0], bytes);
    IS("D2", "of the first");
    memset(read_bytes[0], 0x5a, bytes);
    memcpy(read_bytes[2], t->values[1], bytes);
    IS("D2", "one before");
}

static void stale_cache_lines(void **state)
{
    (void)state;
    begin(1, 3);
    three_heads(ASSAY_S8, false, -1);
    copy_head(0, 0);
    memcpy(read_bytes[1] + 128, packed[0][0] + 128, 64);
    memcpy(read_bytes[2] + 640, packed[0][1] + 640, 192);
    IS("D2", "4 lines of 64 bytes are of the sample before");
    copy_head(0, 0);
    memset(read_bytes[1] + 256, 0, 128);
    IS("D2", "2 lines of 64 bytes are zeros");
}

static void one_value(void **state)
{
    (void)state;
    begin(1, 2);
    three_heads(ASSAY_S8, true, -1);
    copy_head(0, 0);
    memset(read_bytes, 0, sizeof(read_bytes));
    IS("H1", "0 everywhere");
}

/* ---- scales -------------------------------------------------------------- */

static void dequantize_left_out(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32};
    static const enum assay_dtype as[] = {ASSAY_S8, ASSAY_S32, ASSAY_F32};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        begin(3, 1);
        three_heads(types[k], true, -1);
        for (size_t a = 0; a < 3; a++) {
            if (a == 0 && k > 0)
                continue;
            reads(0, as[a], 5 * 7 * 33);
            for (int64_t i = 0; i < 5 * 7 * 33; i++)
                put(read_bytes[0], as[a], i, numbers[0][0][i]);
            IS("Q7", "in front of DequantizeLinear");
        }
        copy_head(0, 0);
        memcpy(read_bytes[0], packed[0][0], sizeof(packed[0][0]));
        got.bytes = 5 * 7 * 33 * assay_dtype_bytes(types[k]);
        got.raw = true;
        IS("Q7", types[k] == ASSAY_S8 ? "int8" : "int");
    }
}

static void float_tail_of_an_integer_head(void **state)
{
    (void)state;
    begin(3, 1);
    three_heads(ASSAY_S32, false, 3);
    reads(0, ASSAY_F32, 5 * 7 * 33);
    memcpy(read_bytes[0], floats[0][0], got.bytes);
    IS("H2", "multiplied by the scale");
}

/* Element i of head 0 with the zero point and scale that `how` says. */
static double scaled(int how, size_t k, int64_t i, int64_t channels)
{
    int64_t c = channels > 0 ? i % channels : 0;
    int32_t q = numbers[0][k][i], zp = zero_points[0][c];
    double s = (double)scales[0][c], first = (double)scales[0][0], most = 0.0;

    for (int64_t a = 0; a < channels; a++)
        most = fmax(most, (double)scales[0][a]);
    switch (how) {
    case 0: return (double)(float)((double)(q - zp) * s) * s;
    case 1: return (double)(q - zp) / s;
    case 2: return (double)q * s;
    case 3: return (double)(q - zp) * (double)scales[1][c];
    case 4: return (double)(q - zp) * first;
    case 5: return (double)(q - zp) * most;
    case 6: return (double)(q - zp) * (double)scales[0][(c + 1) % channels];
    case 7:
        return (double)(q - zp) *
               (double)scales[0][(c + channels - 1) % channels];
    default: return (double)((q & 255) - zp) * s;
    }
}

static void scales_taken_otherwise(void **state)
{
    static const struct {
        const char *id, *text;
        bool channels;
    } all[] = {{"Q3", "twice", false},
               {"H3", "divided", false},
               {"Z4", "zero point", false},
               {"Q6", "'second'", false},
               {"Q1", "channel 0's", true},
               {"Q2", "largest", true},
               {"H4", "c has scale c + 1", true},
               {"H4", "c has scale c - 1", true},
               {"U1", "unsigned", false}};

    (void)state;
    for (size_t h = 0; h < sizeof(all) / sizeof(all[0]); h++) {
        for (int dequantized = 0; dequantized < 2; dequantized++) {
            begin(3, 2);
            three_heads(ASSAY_S8, dequantized, all[h].channels ? 3 : -1);
            reads(0, ASSAY_F32, 5 * 7 * 33);
            for (size_t k = 0; k < 2; k++)
                for (int64_t i = 0; i < 5 * 7 * 33; i++)
                    put(read_bytes[k], ASSAY_F32, i,
                        scaled((int)h, k, i, all[h].channels ? 33 : 0));
            IS(all[h].id, all[h].text);
        }
    }
}

static void scales_along_another_axis(void **state)
{
    static const int64_t square[] = {1, 8, 8, 8};

    (void)state;
    begin(1, 1);
    make_head(0, "first", ASSAY_S8, true, "NHWC", 4, square, 3);
    reads(0, ASSAY_F32, 512);
    for (int64_t i = 0; i < 512; i++)
        put(read_bytes[0], ASSAY_F32, i,
            (double)(numbers[0][0][i] - 3) * (double)scales[0][i / 64]);
    IS("Q1", "along axis 1, not axis 3");
}

/* ---- functions ----------------------------------------------------------- */

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void functions(void **state)
{
    int64_t n = 5 * 7 * 33;
    static float probabilities[MOST];

    (void)state;
    begin(1, 1);
    make_head(0, "first", ASSAY_S8, true, "NHWC", 4, image, -1);
    scales[0][0] = 0.05f;
    for (int64_t i = 0; i < n; i++)
        floats[0][0][i] = (float)(numbers[0][0][i] - 3) * 0.05f;
    reads(0, ASSAY_F32, n);
    for (int64_t i = 0; i < n; i++)
        put(read_bytes[0], ASSAY_F32, i,
            (double)(1.0f / (1.0f + expf(-floats[0][0][i]))));
    IS("H6", "sigmoid");
    assert_true(result.hits[0].within);
    for (int64_t i = 0; i < n; i++)
        put(read_bytes[0], ASSAY_F32, i, exp((double)floats[0][0][i]));
    IS("H8", "exp of all");
    /* Softmax over channels, the last axis. */
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;

        for (int64_t c = 0; c < 33; c++)
            sum += exp((double)floats[0][0][i - i % 33 + c]);
        probabilities[i] = (float)(exp((double)floats[0][0][i]) / sum);
        put(read_bytes[0], ASSAY_F32, i, (double)probabilities[i]);
    }
    IS("H7", "along axis 3");
    /* The other way round: what was read is in front of them. */
    heads[0].n_before = 0;
    memcpy(read_bytes[0], floats[0][0], got.bytes);
    memcpy(floats[0][0], probabilities, sizeof(probabilities));
    IS("H7", "before softmax along axis 3");
    for (int64_t i = 0; i < n; i++) {
        float x;

        memcpy(&x, read_bytes[0] + 4 * i, 4);
        floats[0][0][i] = (float)sigmoid((double)x);
    }
    IS("H6", "before sigmoid");
}

/* The tensor in front is known by its name. */
static void softmax_left_out_by_name(void **state)
{
    (void)state;
    begin(1, 2);
    make_head(0, "first", ASSAY_S8, true, "", 2, row, -1);
    make_head(1, "second", ASSAY_S8, true, "", 2, row, -1);
    heads[0].op[0] = "Softmax";
    heads[0].before[0] = heads[1].t;
    reads(0, ASSAY_F32, 10);
    memcpy(read_bytes[0], floats[1][0], 40);
    memcpy(read_bytes[1], floats[1][1], 40);
    IS("H7", "in front of Softmax");
}

/* ---- boxes --------------------------------------------------------------- */

#define N_BOXES 50

/* Corners in a network of 640 x 640 for a picture of 1280 x 720. */
static void make_boxes(void)
{
    static const int64_t dims[] = {1, N_BOXES, 4};

    begin(1, 1);
    make_head(0, "boxes", ASSAY_S8, true, "", 3, dims, -1);
    heads[0].n_before = 0;
    for (int64_t b = 0; b < N_BOXES; b++) {
        float *p = &floats[0][0][4 * b];

        p[0] = 10.25f + (float)(next() % 300);
        p[1] = 150.5f + (float)(next() % 200);
        p[2] = p[0] + 7.75f + (float)(next() % 200);
        p[3] = p[1] + 5.0f + (float)(next() % 100);
    }
    reads(0, ASSAY_F32, 4 * N_BOXES);
}

static void read_boxes(void (*change)(double *box))
{
    for (int64_t b = 0; b < N_BOXES; b++) {
        double box[4];

        for (int c = 0; c < 4; c++)
            box[c] = (double)floats[0][0][4 * b + c];
        change(box);
        for (int c = 0; c < 4; c++)
            put(read_bytes[0], ASSAY_F32, 4 * b + c, box[c]);
    }
}

static void as_it_is(double *b)
{
    (void)b;
}

static void to_centre(double *b)
{
    double w = b[2] - b[0], h = b[3] - b[1];

    b[0] = (b[0] + b[2]) / 2.0;
    b[1] = (b[1] + b[3]) / 2.0;
    b[2] = w;
    b[3] = h;
}

static void to_fractions(double *b)
{
    for (int c = 0; c < 4; c++)
        b[c] /= 640.0;
}

/* 1280 x 720 stands in 640 x 360, 140 rows from the top. */
static void out_of_the_letterbox(double *b)
{
    for (int c = 0; c < 4; c++)
        b[c] = (b[c] - (c % 2 != 0 ? 140.0 : 0.0)) / 0.5;
}

static void twice_out(double *b)
{
    out_of_the_letterbox(b);
    out_of_the_letterbox(b);
}

static void scale_alone(double *b)
{
    for (int c = 0; c < 4; c++)
        b[c] /= 0.5;
}

static void exponential_sizes(double *b)
{
    b[2] = exp(b[2] / 640.0);
    b[3] = exp(b[3] / 640.0);
}

static void boxes(void **state)
{
    (void)state;
    make_boxes();
    read_boxes(to_centre);
    IS("H9", "centre and size of corners");
    model.size_w = model.size_h = 640;
    read_boxes(to_fractions);
    IS("H10", "divided by 640 x 640");
    model.image_w = 1280;
    model.image_h = 720;
    read_boxes(out_of_the_letterbox);
    explain();
    assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
    read_boxes(as_it_is);
    IS("H11", "not taken out of the letterbox");
    read_boxes(twice_out);
    IS("H11", "boxes as corners");
    read_boxes(scale_alone);
    IS("H11", "pads are not subtracted");
    make_boxes();
    model.size_w = model.size_h = 640;
    for (int64_t b = 0; b < 4 * N_BOXES; b++)
        floats[0][0][b] /= 640.0f;
    for (int64_t b = 0; b < N_BOXES; b++) {
        double box[4];

        for (int c = 0; c < 4; c++)
            box[c] = 640.0 * (double)floats[0][0][4 * b + c];
        exponential_sizes(box);
        put(read_bytes[0], ASSAY_F32, 4 * b, (double)floats[0][0][4 * b]);
        put(read_bytes[0], ASSAY_F32, 4 * b + 1,
            (double)floats[0][0][4 * b + 1]);
        put(read_bytes[0], ASSAY_F32, 4 * b + 2, box[2]);
        put(read_bytes[0], ASSAY_F32, 4 * b + 3, box[3]);
    }
    IS("H8", "exp of width and height");
}

/* ---- combinations -------------------------------------------------------- */

static void nchw_integers_of_another_head(void **state)
{
    (void)state;
    begin(3, 2);
    three_heads(ASSAY_S8, true, -1);
    reads(0, ASSAY_F32, 5 * 7 * 33);
    for (size_t k = 0; k < 2; k++)
        for (int64_t c = 0, at = 0; c < 33; c++)
            for (int64_t y = 0; y < 5; y++)
                for (int64_t x = 0; x < 7; x++)
                    put(read_bytes[k], ASSAY_F32, at++,
                        numbers[1][k][(y * 7 + x) * 33 + c]);
    IS("L5 Q7 L1", "NHWC -> NCHW");
}

/* Outputs change places and each is scaled by what stands in its place. */
static void another_head_by_my_scale(void **state)
{
    (void)state;
    begin(3, 1);
    three_heads(ASSAY_S16, true, -1);
    reads(0, ASSAY_F32, 5 * 7 * 33);
    for (int64_t i = 0; i < 5 * 7 * 33; i++)
        put(read_bytes[0], ASSAY_F32, i,
            (double)numbers[1][0][i] * (double)scales[0][0]);
    IS("L5 Q6", "with the scale of 'first'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_is_a_match),
        cmocka_unit_test(nearly_equal_is_within),
        cmocka_unit_test(another_head),
        cmocka_unit_test(another_sample),
        cmocka_unit_test(stale_cache_lines),
        cmocka_unit_test(one_value),
        cmocka_unit_test(dequantize_left_out),
        cmocka_unit_test(float_tail_of_an_integer_head),
        cmocka_unit_test(scales_taken_otherwise),
        cmocka_unit_test(scales_along_another_axis),
        cmocka_unit_test(functions),
        cmocka_unit_test(softmax_left_out_by_name),
        cmocka_unit_test(boxes),
        cmocka_unit_test(nchw_integers_of_another_head),
        cmocka_unit_test(another_head_by_my_scale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
