/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operator through plan and run, against plain loops written here, on
 * odd shapes: 1x1, one channel, 33 channels, several images, uneven pads.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c tests/support/runs.c lib/core/slice.c
 * links: lib/core/buf.c lib/core/err.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/runs.h"
#include "tests/support/slices.h"

static uint64_t seed = 99;

static int32_t random_in(int32_t lo, int32_t hi)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return lo + (int32_t)(seed % (uint64_t)(hi - lo + 1));
}

static void fill(int8_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (int8_t)random_in(-128, 127);
}

static void run_ok(struct runs *r)
{
    int rc = runs_run(r);
    assert_string_equal(r->err.text, "");
    assert_int_equal(rc, 0);
    assert_non_null(r->out[0]);
}

/* ---- convolution ---------------------------------------------------------------- */

struct shape {
    int32_t n, h, w, c, oc, kh, kw, sh, sw, dh, dw, pt, pl, pb, pr, groups;
    bool second;
};

static int32_t out_size(int32_t in, int32_t pads, int32_t k, int32_t d,
                        int32_t stride)
{
    return (in + pads - ((k - 1) * d + 1)) / stride + 1;
}

#define X_ZERO -3

static int32_t conv_at(const struct shape *q, const int8_t *x, const int8_t *w,
                       int32_t n, int32_t oy, int32_t ox, int32_t o)
{
    int32_t cg = q->c / q->groups, ocg = q->oc / q->groups, sum = 0;
    for (int32_t ky = 0; ky < q->kh; ky++)
        for (int32_t kx = 0; kx < q->kw; kx++)
            for (int32_t i = 0; i < cg; i++) {
                int32_t y = oy * q->sh - q->pt + ky * q->dh;
                int32_t xx = ox * q->sw - q->pl + kx * q->dw;
                if (y < 0 || y >= q->h || xx < 0 || xx >= q->w)
                    continue;
                int32_t c = o / ocg * cg + i;
                sum += (x[((n * q->h + y) * q->w + xx) * q->c + c] - X_ZERO) *
                       w[((o * q->kh + ky) * q->kw + kx) * cg + i];
            }
    return sum;
}

/* acc + bias [+ second * 5] as int32: no rounding between the two sides. */
static void conv_case(const struct shape *q)
{
    static int8_t x[40000], w[40000], e[40000];
    int32_t bias[64];
    const int64_t shift = 0, five = 5;
    int32_t oh = out_size(q->h, q->pt + q->pb, q->kh, q->dh, q->sh);
    int32_t ow = out_size(q->w, q->pl + q->pr, q->kw, q->dw, q->sw);
    struct assay_slice *s = slices_new();
    struct runs r;
    fill(x, sizeof(x));
    fill(w, sizeof(w));
    fill(e, sizeof(e));
    for (int i = 0; i < 64; i++)
        bias[i] = random_in(-100000, 100000);
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){q->n, q->h, q->w, q->c});
    slices_quant(s, 0, 1, X_ZERO);
    slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 4,
                  (int64_t[]){q->oc, q->kh, q->kw, q->c / q->groups});
    slices_data(s, 1, w);
    slices_tensor(s, "b", ASSAY_ROLE_CONSTANT, ASSAY_S32, 1,
                  (int64_t[]){q->oc});
    slices_data(s, 2, bias);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S32, 4,
                  (int64_t[]){q->n, oh, ow, q->oc});
    slices_tensor(s, "e", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){q->n, oh, ow, q->oc});
    slices_layer(s, "c", ASSAY_OP_CONV2D, q->second ? 4 : 3,
                 (uint32_t[]){0, 1, 2, 4}, 3);
    s->layers[0].p.conv2d =
        (struct assay_conv2d_params){.stride_h = q->sh,
                                     .stride_w = q->sw,
                                     .dilation_h = q->dh,
                                     .dilation_w = q->dw,
                                     .pad_top = q->pt,
                                     .pad_left = q->pl,
                                     .pad_bottom = q->pb,
                                     .pad_right = q->pr,
                                     .groups = q->groups,
                                     .has_bias = true,
                                     .has_second = q->second};
    if (q->second)
        slices_step(&s->layers[0].out_program, ASSAY_STEP_ADD_INPUT, 1, &shift,
                    &five);
    runs_init(&r, s);
    r.given[0] = x;
    r.given[4] = e;
    run_ok(&r);
    const int32_t *got = r.out[0];
    for (int32_t n = 0; n < q->n; n++)
        for (int32_t oy = 0; oy < oh; oy++)
            for (int32_t ox = 0; ox < ow; ox++)
                for (int32_t o = 0; o < q->oc; o++, got++) {
                    int32_t want = conv_at(q, x, w, n, oy, ox, o) + bias[o];
                    if (q->second)
                        want += 5 * e[got - (const int32_t *)r.out[0]];
                    assert_int_equal(*got, want);
                }
    runs_close(&r);
    assay_slice_free(s);
}

static void convolutions(void **state)
{
    static const struct shape shapes[] = {
        /* n h w c oc  k k  s s  d d  pads     g */
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, false},
        {1, 1, 1, 33, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, false},
        {3, 5, 7, 1, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, false},
        {2, 9, 6, 33, 7, 3, 2, 2, 1, 1, 1, 1, 0, 0, 1, 1, true},
        {1, 8, 8, 6, 4, 3, 3, 2, 2, 2, 1, 2, 0, 1, 2, 2, false},
        {2, 7, 5, 33, 33, 3, 3, 1, 2, 1, 1, 0, 1, 2, 0, 33, true},
        {1, 4, 4, 4, 8, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2, 4, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        conv_case(&shapes[i]);
}

static void gemm_has_leading_dims(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    int8_t x[6 * 33], w[5 * 33];
    (void)state;
    fill(x, sizeof(x));
    fill(w, sizeof(w));
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_U8, 3, (int64_t[]){2, 3, 33});
    slices_quant(s, 0, 1, 200);
    slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_U8, 2, (int64_t[]){5, 33});
    slices_data(s, 1, w);
    slices_quant(s, 1, 1, 7);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S32, 3,
                  (int64_t[]){2, 3, 5});
    slices_layer(s, "g", ASSAY_OP_GEMM, 2, (uint32_t[]){0, 1}, 2);
    runs_init(&r, s);
    r.given[0] = x;
    run_ok(&r);
    for (int m = 0; m < 6; m++)
        for (int n = 0; n < 5; n++) {
            int32_t want = 0;
            for (int k = 0; k < 33; k++)
                want += ((uint8_t)x[m * 33 + k] - 200) *
                        ((uint8_t)w[n * 33 + k] - 7);
            assert_int_equal(((int32_t *)r.out[0])[m * 5 + n], want);
        }
    runs_close(&r);
    assay_slice_free(s);
}

/* ---- elementwise, pool, concat --------------------------------------------------- */

static void binary_broadcasts(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    int8_t a[2 * 3 * 1 * 5], b[4 * 5];
    const int64_t times[5] = {1, -2, 3, 0, 7};
    (void)state;
    fill(a, sizeof(a));
    fill(b, sizeof(b));
    slices_tensor(s, "a", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){2, 3, 1, 5});
    slices_tensor(s, "b", ASSAY_ROLE_INPUT, ASSAY_S8, 2, (int64_t[]){4, 5});
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S32, 4,
                  (int64_t[]){2, 3, 4, 5});
    slices_layer(s, "sub", ASSAY_OP_BINARY, 2, (uint32_t[]){0, 1}, 2);
    slices_in_programs(s, 0, 2);
    slices_step(&s->layers[0].in_programs[0], ASSAY_STEP_MUL, 5, times, NULL);
    s->layers[0].p.binary.combine = ASSAY_COMBINE_SUB;
    runs_init(&r, s);
    r.given[0] = a;
    r.given[1] = b;
    run_ok(&r);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 4; j++)
            for (int c = 0; c < 5; c++)
                assert_int_equal(((int32_t *)r.out[0])[(i * 4 + j) * 5 + c],
                                 a[i * 5 + c] * times[c] - b[j * 5 + c]);
    runs_close(&r);
    assay_slice_free(s);
}

static void scalars_are_one_element(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    const int8_t a = 100, b = 27;
    (void)state;
    slices_tensor(s, "a", ASSAY_ROLE_INPUT, ASSAY_S8, 0, NULL);
    slices_tensor(s, "b", ASSAY_ROLE_INPUT, ASSAY_S8, 0, NULL);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S16, 0, NULL);
    slices_layer(s, "add", ASSAY_OP_BINARY, 2, (uint32_t[]){0, 1}, 2);
    slices_in_programs(s, 0, 2);
    s->layers[0].p.binary.combine = ASSAY_COMBINE_ADD;
    runs_init(&r, s);
    r.given[0] = &a;
    r.given[1] = &b;
    run_ok(&r);
    assert_int_equal(*(int16_t *)r.out[0], 127);
    runs_close(&r);
    assay_slice_free(s);
}

/* Sums of x - zero; ceil gives a last window that is only half inside. */
static void pool_sums(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    int8_t x[2 * 5 * 5 * 33];
    (void)state;
    fill(x, sizeof(x));
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){2, 5, 5, 33});
    slices_quant(s, 0, 1, 9);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S32, 4,
                  (int64_t[]){2, 3, 3, 33});
    slices_layer(s, "pool", ASSAY_OP_POOL, 1, (uint32_t[]){0}, 1);
    s->layers[0].p.pool = (struct assay_pool_params){.kind = ASSAY_POOL_AVG,
                                                     .kh = 2,
                                                     .kw = 2,
                                                     .stride_h = 2,
                                                     .stride_w = 2,
                                                     .dilation_h = 1,
                                                     .dilation_w = 1};
    runs_init(&r, s);
    r.given[0] = x;
    run_ok(&r);
    const int32_t *got = r.out[0];
    for (int n = 0; n < 2; n++)
        for (int oy = 0; oy < 3; oy++)
            for (int ox = 0; ox < 3; ox++)
                for (int c = 0; c < 33; c++) {
                    int32_t want = 0;
                    for (int y = 2 * oy; y < 2 * oy + 2 && y < 5; y++)
                        for (int w = 2 * ox; w < 2 * ox + 2 && w < 5; w++)
                            want += x[((n * 5 + y) * 5 + w) * 33 + c] - 9;
                    assert_int_equal(*got++, want);
                }
    runs_close(&r);
    assay_slice_free(s);
}

/* Three parts along a middle axis; the second is negated on its way. */
/* 2^40 taps, one of them inside: only that one is visited. */
static void a_window_of_padding_ends(void **state)
{
    const int32_t k = 1 << 20;
    const int8_t x[4] = {1, -2, 3, -4};
    (void)state;
    struct assay_slice *s = slices_new();
    struct runs r;
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){1, 1, 1, 4});
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 4,
                  (int64_t[]){1, 1, 1, 4});
    slices_layer(s, "pool", ASSAY_OP_POOL, 1, (uint32_t[]){0}, 1);
    s->layers[0].p.pool = (struct assay_pool_params){.kind = ASSAY_POOL_MAX,
                                                     .kh = k,
                                                     .kw = k,
                                                     .stride_h = 1,
                                                     .stride_w = 1,
                                                     .dilation_h = 1,
                                                     .dilation_w = 1,
                                                     .pad_top = k - 1,
                                                     .pad_left = k - 1};
    runs_init(&r, s);
    r.given[0] = x;
    run_ok(&r);
    assert_memory_equal(r.out[0], x, sizeof(x));
    runs_close(&r);
    assay_slice_free(s);
}

static void concat_places_parts(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    int8_t a[2 * 1 * 3], b[2 * 4 * 3], c[2 * 2 * 3];
    const int64_t minus = -1, lo = -128, hi = 127;
    (void)state;
    fill(a, sizeof(a));
    fill(b, sizeof(b));
    fill(c, sizeof(c));
    slices_tensor(s, "a", ASSAY_ROLE_INPUT, ASSAY_S8, 3, (int64_t[]){2, 1, 3});
    slices_tensor(s, "b", ASSAY_ROLE_INPUT, ASSAY_S8, 3, (int64_t[]){2, 4, 3});
    slices_tensor(s, "c", ASSAY_ROLE_INPUT, ASSAY_S8, 3, (int64_t[]){2, 2, 3});
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 3,
                  (int64_t[]){2, 7, 3});
    slices_layer(s, "cat", ASSAY_OP_CONCAT, 3, (uint32_t[]){0, 1, 2}, 3);
    s->layers[0].p.concat.axis = 1;
    slices_in_programs(s, 0, 3);
    slices_step(&s->layers[0].in_programs[1], ASSAY_STEP_MUL, 1, &minus, NULL);
    slices_step(&s->layers[0].in_programs[1], ASSAY_STEP_CLAMP, 1, &lo, &hi);
    runs_init(&r, s);
    r.given[0] = a;
    r.given[1] = b;
    r.given[2] = c;
    run_ok(&r);
    const int8_t *got = r.out[0];
    for (int n = 0; n < 2; n++)
        for (int j = 0; j < 7; j++)
            for (int k = 0; k < 3; k++) {
                int want = j < 1   ? a[n * 3 + k]
                           : j < 5 ? -b[(n * 4 + j - 1) * 3 + k]
                                   : c[(n * 2 + j - 5) * 3 + k];
                assert_int_equal(*got++, want > 127 ? 127 : want);
            }
    runs_close(&r);
    assay_slice_free(s);
}

static void softmax_sums_to_one(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    float x[2 * 5];
    (void)state;
    for (int i = 0; i < 10; i++)
        x[i] = (float)random_in(-50, 50) / 10;
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_F32, 2, (int64_t[]){2, 5});
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_F32, 2,
                  (int64_t[]){2, 5});
    slices_layer(s, "sm", ASSAY_OP_SOFTMAX, 1, (uint32_t[]){0}, 1);
    s->layers[0].p.softmax.kind = ASSAY_SOFTMAX_F32;
    runs_init(&r, s);
    r.given[0] = x;
    run_ok(&r);
    for (int n = 0; n < 2; n++) {
        const float *y = (const float *)r.out[0] + n * 5;
        float sum = y[0] + y[1] + y[2] + y[3] + y[4];
        assert_true(sum > 0.9999f && sum < 1.0001f);
        for (int i = 1; i < 5; i++)
            assert_true((y[i] > y[0]) == (x[n * 5 + i] > x[n * 5]));
    }
    runs_close(&r);
    assay_slice_free(s);
}

/* ---- reshape ---------------------------------------------------------------------- */

/* Stored offset of the element with this linear index in source order. */
static size_t stored_at(const struct assay_tensor *t, size_t linear)
{
    int64_t dims[ASSAY_MAX_RANK], at[ASSAY_MAX_RANK];
    size_t offset = 0;
    assay_tensor_source_dims(t, dims);
    for (uint32_t i = t->rank; i-- > 0;) {
        at[i] = (int64_t)linear % dims[i];
        linear /= (size_t)dims[i];
    }
    for (uint32_t i = 0; i < t->rank; i++)
        offset = offset * (size_t)t->dims[i] + (size_t)at[t->perm[i]];
    return offset;
}

static void shuffle(uint8_t *perm, uint32_t rank)
{
    for (uint32_t i = rank; i > 1; i--) {
        uint32_t k = (uint32_t)random_in(0, (int32_t)i - 1);
        uint8_t t = perm[i - 1];
        perm[i - 1] = perm[k];
        perm[k] = t;
    }
}

/* 2*2*3*3*5 elements, spread over `rank` axes in a random way. */
static uint32_t random_view(struct assay_slice *s, const char *name,
                            enum assay_tensor_role role)
{
    static const int64_t factors[] = {2, 2, 3, 3, 5};
    uint32_t rank = (uint32_t)random_in(1, 6);
    int64_t dims[6] = {1, 1, 1, 1, 1, 1};
    for (int i = 0; i < 5; i++)
        dims[random_in(0, (int32_t)rank - 1)] *= factors[i];
    uint32_t t = slices_tensor(s, name, role, ASSAY_S16, rank, dims);
    if (random_in(0, 3))
        shuffle(s->tensors[t].perm, rank);
    return t;
}

static void reshape_keeps_the_source_order(void **state)
{
    int16_t x[180];
    int by_scratch = 0;
    (void)state;
    for (int i = 0; i < 180; i++)
        x[i] = (int16_t)random_in(-32768, 32767);
    for (int round = 0; round < 1000; round++) {
        struct assay_slice *s = slices_new();
        struct runs r;
        random_view(s, "x", ASSAY_ROLE_INPUT);
        random_view(s, "y", ASSAY_ROLE_ACTIVATION);
        slices_layer(s, "reshape", ASSAY_OP_RESHAPE, 1, (uint32_t[]){0}, 1);
        runs_init(&r, s);
        r.given[0] = x;
        run_ok(&r);
        for (size_t i = 0; i < 180; i++)
            assert_int_equal(
                ((int16_t *)r.out[0])[stored_at(&s->tensors[1], i)],
                x[stored_at(&s->tensors[0], i)]);
        struct assay_kernel_table table;
        struct assay_plan *p;
        assay_kernel_table_init(&table, 0);
        assert_int_equal(assay_plan_new(&p, s, &table, NULL, NULL), 0);
        by_scratch += assay_plan_arena_bytes(p) > 64 + 384;
        assay_plan_free(p);
        runs_close(&r);
        assay_slice_free(s);
    }
    /* Both ways were taken. */
    assert_true(by_scratch > 20 && by_scratch < 980);
}

static void flatten_of_nhwc(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    int8_t x[2 * 3 * 4 * 5], want[2 * 60];
    (void)state;
    fill(x, sizeof(x));
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){2, 3, 4, 5});
    memcpy(s->tensors[0].perm, (uint8_t[]){0, 2, 3, 1}, 4);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 2,
                  (int64_t[]){2, 60});
    slices_layer(s, "flatten", ASSAY_OP_RESHAPE, 1, (uint32_t[]){0}, 1);
    for (int n = 0; n < 2; n++)
        for (int c = 0; c < 5; c++)
            for (int h = 0; h < 3; h++)
                for (int w = 0; w < 4; w++)
                    want[n * 60 + (c * 3 + h) * 4 + w] =
                        x[((n * 3 + h) * 4 + w) * 5 + c];
    runs_init(&r, s);
    r.given[0] = x;
    run_ok(&r);
    assert_memory_equal(r.out[0], want, sizeof(want));
    runs_close(&r);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(gemm_has_leading_dims),
        cmocka_unit_test(binary_broadcasts),
        cmocka_unit_test(scalars_are_one_element),
        cmocka_unit_test(pool_sums),
        cmocka_unit_test(a_window_of_padding_ends),
        cmocka_unit_test(concat_places_parts),
        cmocka_unit_test(softmax_sums_to_one),
        cmocka_unit_test(reshape_keeps_the_source_order),
        cmocka_unit_test(flatten_of_nhwc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
