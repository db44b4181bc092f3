/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, normalizations, selections and grids of positions through plan
 * and run, by hand; and every way of breaking such a layer with the sentence
 * that refuses it.
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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/runs.h"
#include "tests/support/slices.h"

#define L (&s->layers[0])
#define T(i) (&s->tensors[i])

/* Runs and frees s; the caller frees what comes back. */
static void *run_one(struct assay_slice *s, const void *a, const void *b,
                     const void *c)
{
    struct runs r;
    runs_init(&r, s);
    r.given[0] = a;
    r.given[1] = b;
    r.given[2] = c;
    int rc = runs_run(&r);
    assert_string_equal(r.err.text, "");
    assert_int_equal(rc, 0);
    void *out = r.out[0];
    assert_non_null(out);
    r.out[0] = NULL;
    runs_close(&r);
    assay_slice_free(s);
    return out;
}

/* ---- good ones ------------------------------------------------------------ */

static struct assay_slice *function(void)
{
    struct assay_slice *s = slices_one(
        ASSAY_OP_FUNCTION, 1, &(struct slices_operand){ASSAY_F32, 1, {3}, NULL},
        (struct slices_operand){ASSAY_F32, 1, {3}, NULL});
    L->p.function.kind = ASSAY_FUNCTION_EXP;
    return s;
}

static struct assay_slice *normalize(void)
{
    const struct slices_operand in[3] = {{ASSAY_F32, 3, {2, 2, 2}, NULL},
                                         {ASSAY_F32, 2, {2, 2}, NULL},
                                         {ASSAY_F32, 1, {4}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_NORMALIZE, 3, in,
                   (struct slices_operand){ASSAY_F32, 3, {2, 2, 2}, NULL});
    L->p.normalize =
        (struct assay_normalize_params){.kind = ASSAY_NORMALIZE_LAYER,
                                        .axis = 1,
                                        .has_gamma = true,
                                        .has_beta = true};
    return s;
}

static struct assay_slice *chosen(void)
{
    const struct slices_operand in[3] = {{ASSAY_S16, 1, {3}, NULL},
                                         {ASSAY_S8, 2, {2, 1}, NULL},
                                         {ASSAY_S8, 0, {0}, NULL}};
    return slices_one(ASSAY_OP_SELECT, 3, in,
                      (struct slices_operand){ASSAY_S8, 2, {2, 3}, NULL});
}

static const int64_t FOUR = 4;

static struct assay_slice *positions(bool xy)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 4, {1, 2, 3, 1}, NULL},
                                         {ASSAY_S16, 4, {1, 1, 3, 2}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_GRID_SAMPLE, 2, in,
                   (struct slices_operand){ASSAY_S8, 4, {1, 1, 3, 1}, NULL});
    L->p.grid_sample =
        (struct assay_grid_sample_params){.absolute = true,
                                          .xy = xy,
                                          .padding = ASSAY_GRID_ZEROS,
                                          .coord_shift = 2};
    slices_shr(&L->out_program, ASSAY_ROUND_HALF_UP, &FOUR);
    return s;
}

/* ---- values ----------------------------------------------------------------- */

static void functions(void **state)
{
    static const struct {
        enum assay_function kind;
        float y[3]; /* of -1, 0, 4 */
    } rows[] = {
        {ASSAY_FUNCTION_ABS, {1, 0, 4}},
        {ASSAY_FUNCTION_NEG, {1, -0.0f, -4}},
        {ASSAY_FUNCTION_FLOOR, {-1, 0, 4}},
        {ASSAY_FUNCTION_SQRT, {NAN, 0, 2}},
        {ASSAY_FUNCTION_RSQRT, {NAN, INFINITY, 0.5f}},
        {ASSAY_FUNCTION_RECIPROCAL, {-1, INFINITY, 0.25f}},
        {ASSAY_FUNCTION_EXP, {0.36787944117f, 1, 54.598150033f}},
        {ASSAY_FUNCTION_LOG, {NAN, -INFINITY, 1.38629436112f}},
        {ASSAY_FUNCTION_SIGMOID, {0.26894142137f, 0.5f, 0.98201379004f}},
        {ASSAY_FUNCTION_TANH, {-0.76159415596f, 0, 0.99932929974f}},
        {ASSAY_FUNCTION_ERF, {-0.84270079295f, 0, 0.99999998458f}},
        {ASSAY_FUNCTION_GELU, {-0.15865525393f, 0, 3.99987331503f}},
        {ASSAY_FUNCTION_SILU, {-0.26894142137f, 0, 3.92805516015f}},
        {ASSAY_FUNCTION_SOFTPLUS,
         {0.31326168752f, 0.69314718056f, 4.01814992792f}},
        {ASSAY_FUNCTION_SIN, {-0.84147098481f, 0, -0.75680249531f}},
        {ASSAY_FUNCTION_COS, {0.54030230587f, 1, -0.65364362086f}},
    };
    const float x[3] = {-1, 0, 4};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_slice *s = function();
        L->p.function.kind = (uint8_t)rows[i].kind;
        float *y = run_one(s, x, NULL, NULL);
        for (int j = 0; j < 3; j++)
            if (isnan(rows[i].y[j]) ? !isnan(y[j]) : y[j] != rows[i].y[j])
                fail_msg("function %d of %g is %.9g, expected %.9g",
                         rows[i].kind, (double)x[j], (double)y[j],
                         (double)rows[i].y[j]);
        free(y);
    }
}

/* Rows 1 3 5 7: mean 4, variance 5; and 0 0 0 0 with epsilon only. */
static void normal_rows(void **state)
{
    const float x[8] = {1, 3, 5, 7}, gamma[4] = {1, 2, 1, 1};
    const float beta[4] = {0, 0, 0, 10};
    const double root = 2.23606797749979;
    (void)state;
    struct assay_slice *s = normalize();
    L->p.normalize.epsilon = 0;
    L->p.normalize.axis = 0; /* all eight: mean 2, variance 6.5 */
    T(1)->rank = T(2)->rank = 1;
    T(1)->dims[0] = T(2)->dims[0] = 8;
    L->p.normalize.has_gamma = L->p.normalize.has_beta = false;
    L->n_inputs = 1;
    float *y = run_one(s, x, NULL, NULL);
    assert_true(y[3] == (float)(5 / 2.5495097567963922));
    free(y);
    s = normalize();
    L->p.normalize.epsilon = 1e-5f;
    y = run_one(s, x, gamma, beta);
    assert_true(fabs((double)y[1] - 2 * -1 / root) < 1e-5);
    assert_true(fabs((double)y[3] - (10 + 3 / root)) < 1e-5);
    assert_true(y[4] == 0 && y[7] == 10);
    free(y);
    s = normalize();
    L->p.normalize.kind = ASSAY_NORMALIZE_RMS;
    L->p.normalize.epsilon = 4; /* squares 84 / 4 + 4 = 25 */
    y = run_one(s, x, gamma, beta);
    assert_true(y[0] == 0.2f && y[1] == 1.2f && y[3] == 11.4f && y[4] == 0);
    free(y);
}

static void selections(void **state)
{
    const int16_t condition[3] = {0, 256, -1};
    const int8_t a[2] = {1, 2}, b = -7, want[6] = {-7, 1, 1, -7, 2, 2};
    (void)state;
    int8_t *y = run_one(chosen(), condition, a, &b);
    assert_memory_equal(y, want, 6);
    free(y);
}

/*
 * Image 10 20 30 / 40 50 60, quarters of a pixel: (y, x) = (1, 2), (0, 1.25)
 * and (1.5, 0), half of which is outside. Where the output stands is nothing
 * to them.
 */
static void positions_in_an_image(void **state)
{
    const int8_t x[] = {10, 20, 30, 40, 50, 60}, want[] = {60, 23, 20};
    const int16_t yx[] = {4, 8, 0, 5, 6, 0}, xy[] = {8, 4, 5, 0, 0, 6};
    (void)state;
    for (int i = 0; i < 2; i++) {
        int8_t *y = run_one(positions(i), x, i ? xy : yx, NULL);
        assert_memory_equal(y, want, 3);
        free(y);
    }
}

/* ---- what is refused ---------------------------------------------------------- */

static void refuses(struct assay_slice *s, const char *sentence)
{
    struct assay_kernel_table t;
    struct assay_plan *p = NULL;
    struct assay_err err = {0};
    assay_kernel_table_init(&t, 0);
    assert_true(assay_plan_new(&p, s, &t, NULL, &err) < 0);
    assert_null(p);
    assert_string_equal(err.text, sentence);
    assay_slice_free(s);
}

#define REFUSES(good, change, sentence) \
    do { \
        struct assay_slice *s = good(); \
        change; \
        refuses(s, "layer 'op': " sentence); \
    } while (0)

static void bad_functions(void **state)
{
    (void)state;
    REFUSES(function, L->p.function.kind = 0,
            "function: expected 1 to 17, found 0");
    REFUSES(function, L->p.function.kind = 18,
            "function: expected 1 to 17, found 18");
    REFUSES(function, T(0)->dtype = ASSAY_S8,
            "input dtype: expected float32, found int8");
    REFUSES(function, T(1)->dtype = ASSAY_S32,
            "output dtype: expected float32, found int32");
    REFUSES(function, T(1)->dims[0] = 4,
            "output shape: expected [3], found [4]");
    REFUSES(function, slices_in_programs(s, 0, 1),
            "in_programs: expected 0, found 1");
}

static void bad_normalizations(void **state)
{
    (void)state;
    REFUSES(normalize, L->p.normalize.kind = 3,
            "normalization: expected 1 or 2, found 3");
    REFUSES(normalize, L->p.normalize.axis = -1,
            "axis: expected 0 or more and below the rank 3, found -1");
    REFUSES(normalize, L->p.normalize.axis = 3,
            "axis: expected 0 or more and below the rank 3, found 3");
    REFUSES(normalize, L->p.normalize.axis = 2,
            "gamma length: expected 2, found 4");
    REFUSES(normalize, L->p.normalize.epsilon = -1.0f,
            "epsilon: expected a finite number, 0 or more, found -1");
    REFUSES(normalize, L->p.normalize.epsilon = INFINITY,
            "epsilon: expected a finite number, 0 or more, found inf");
    REFUSES(normalize, L->p.normalize.has_beta = false,
            "inputs: expected 2 (has_gamma 1, has_beta 0), found 3");
    REFUSES(normalize, T(2)->dims[0] = 5, "beta length: expected 4, found 5");
    REFUSES(normalize, T(1)->dtype = ASSAY_S32,
            "gamma dtype: expected float32, found int32");
}

static void bad_selections(void **state)
{
    (void)state;
    REFUSES(chosen, T(0)->dtype = ASSAY_F32,
            "condition dtype: expected integers, found float32");
    REFUSES(chosen, T(1)->dtype = ASSAY_U8,
            "input a dtype: expected the output's, int8, found uint8");
    REFUSES(chosen, T(2)->dtype = ASSAY_S64,
            "input b dtype: expected the output's, int8, found int64");
    REFUSES(chosen, T(0)->dims[0] = 2,
            "condition shape: expected one that broadcasts to [2,3], found "
            "[2]");
    REFUSES(chosen, T(1)->dims[0] = 1,
            "output dims[0]: expected 1, as in all inputs, found 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions),
        cmocka_unit_test(normal_rows),
        cmocka_unit_test(selections),
        cmocka_unit_test(positions_in_an_image),
        cmocka_unit_test(bad_functions),
        cmocka_unit_test(bad_normalizations),
        cmocka_unit_test(bad_selections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
