/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers in floating point: every number on the way is shown as the engine has
 * it. Theirs are not defined to the last bit; another library may part anywhere.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/explain_private.h"
#include "kernels/kernels.h"

static void say_f32(struct assay_explain *e, float f, const char *what)
{
    assay_explain_say(e, ASSAY_VALUE_F32, assay_explain_f32(f), "%s", what);
}

static void say_f64(struct assay_explain *e, double d, const char *what)
{
    assay_explain_say(e, ASSAY_VALUE_F64, (union assay_value){.d = d}, "%s",
                      what);
}

/* Element i of input `input`, as a line where it is one of many. */
static union assay_value cell(struct assay_explain *e, uint32_t input, size_t i)
{
    const struct assay_tensor *x = assay_explain_input(e, input);
    union assay_value v = assay_explain_get(e, input, i);
    char text[240];

    snprintf(text, sizeof(text), "    cell %zu of %.150s", i, x->name);
    if (e->taps)
        assay_explain_say_operand(e, assay_explain_kind(x), v, text);
    return v;
}

static union assay_value named(struct assay_explain *e, uint32_t input,
                               size_t i)
{
    const struct assay_tensor *x = assay_explain_input(e, input);
    union assay_value v = assay_explain_get(e, input, i);
    char text[240];

    snprintf(text, sizeof(text), "  element %zu of %.150s", i, x->name);
    assay_explain_say_operand(e, assay_explain_kind(x), v, text);
    return v;
}

/* ---- softmax ------------------------------------------------------------------- */

static void softmax_f32(struct assay_explain *e, size_t row, size_t n)
{
    float largest = assay_explain_get(e, 0, row).f, sum = 0.0f, own;

    for (size_t i = 0; i < n; i++)
        largest = fmaxf(largest, cell(e, 0, row + i).f);
    say_f32(e, largest, "  largest of the row");
    for (size_t i = 0; i < n; i++)
        sum += expf(assay_explain_get(e, 0, row + i).f - largest);
    say_f32(e, sum, "  sum of exp(x - largest), in binary32");
    own = named(e, 0, e->element).f;
    own = expf(own - largest);
    say_f32(e, own, "  exp(x - largest)");
    assay_explain_start(e, ASSAY_VALUE_F32, assay_explain_f32(own / sum),
                        "  that / sum");
}

/* Entries of the table are bit patterns of binary32. */
static float entry(const struct assay_explain *e, int64_t below)
{
    const uint32_t *table = assay_explain_layer(e)->p.softmax.table;
    float f;

    memcpy(&f, &table[255 - below], sizeof(f));
    return f;
}

static void softmax_table(struct assay_explain *e, size_t row, size_t n)
{
    const struct assay_tensor *y = assay_explain_output(e);
    float scale = floorf(1.0f / y->quant.scale[0]), sum = 0.0f, own;
    int64_t largest = INT64_MIN, zero = assay_explain_zero(y, 0), lo, hi;
    union assay_value real;
    char text[80];
    uint32_t at;

    for (size_t i = 0; i < n; i++) {
        int64_t v = cell(e, 0, row + i).i;

        largest = v > largest ? v : largest;
    }
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(largest),
                      "  largest of the row");
    for (size_t i = 0; i < n; i++) {
        float f = entry(e, largest - assay_explain_get(e, 0, row + i).i);

        if (e->taps)
            say_f32(e, f, "    part table[255 - (largest - x)]");
        sum += f;
    }
    say_f32(e, sum, "  sum of table[255 - (largest - x)], in binary32");
    own = entry(e, largest - named(e, 0, e->element).i);
    say_f32(e, own, "  its own table[255 - (largest - x)]");
    say_f32(e, scale, "  floor(1 / scale)");
    real.d = (double)own * (double)scale / (double)sum;
    at = assay_explain_start(e, ASSAY_VALUE_F64, real,
                             "  own * floor(1 / scale) / sum, in binary64");
    assay_dtype_range(y->dtype, &lo, &hi);
    at = assay_explain_own(e, at,
                           (struct assay_step){.kind = ASSAY_STEP_FROUND,
                                               .round = ASSAY_ROUND_HALF_EVEN},
                           0, 0, "  fround half_even");
    snprintf(text, sizeof(text), "  add_zp %" PRId64, zero);
    at = assay_explain_own(
        e, at, (struct assay_step){.kind = ASSAY_STEP_ADD_ZP}, zero, 0, text);
    snprintf(text, sizeof(text), "  clamp %" PRId64 " %" PRId64, lo, hi);
    assay_explain_own(e, at, (struct assay_step){.kind = ASSAY_STEP_CLAMP}, lo,
                      hi, text);
}

void assay_explain_softmax(struct assay_explain *e)
{
    size_t n = assay_explain_channels(assay_explain_input(e, 0));
    size_t row = e->element / n * n;

    if (assay_explain_layer(e)->p.softmax.kind == ASSAY_SOFTMAX_TABLE)
        softmax_table(e, row, n);
    else
        softmax_f32(e, row, n);
}

/* ---- functions and norms ------------------------------------------------------- */

void assay_explain_function(struct assay_explain *e)
{
    static const char *const names[] = {
        [ASSAY_FUNCTION_ABS] = "abs",
        [ASSAY_FUNCTION_NEG] = "neg",
        [ASSAY_FUNCTION_FLOOR] = "floor",
        [ASSAY_FUNCTION_CEIL] = "ceil",
        [ASSAY_FUNCTION_SQRT] = "sqrt",
        [ASSAY_FUNCTION_RSQRT] = "rsqrt",
        [ASSAY_FUNCTION_RECIPROCAL] = "reciprocal",
        [ASSAY_FUNCTION_EXP] = "exp",
        [ASSAY_FUNCTION_LOG] = "log",
        [ASSAY_FUNCTION_SIGMOID] = "sigmoid",
        [ASSAY_FUNCTION_TANH] = "tanh",
        [ASSAY_FUNCTION_ERF] = "erf",
        [ASSAY_FUNCTION_GELU] = "gelu",
        [ASSAY_FUNCTION_SILU] = "silu",
        [ASSAY_FUNCTION_SOFTPLUS] = "softplus",
        [ASSAY_FUNCTION_SIN] = "sin",
        [ASSAY_FUNCTION_COS] = "cos",
    };
    const struct assay_float_function p = {
        .kind = (enum assay_function)assay_explain_layer(e)->p.function.kind,
        .n = 1};
    float x = named(e, 0, e->element).f, y;

    assay_function__ref.run(&p, &x, &y); /* the definition itself */
    assay_explain_start(e, ASSAY_VALUE_F32, assay_explain_f32(y),
                        "  %s(x), in float", names[p.kind]);
}

static double mean_of(struct assay_explain *e, size_t row, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)assay_explain_get(e, 0, row + i).f;
    say_f64(e, sum / (double)n, "  mean of the row");
    return sum / (double)n;
}

static double mean_of_squares(struct assay_explain *e, size_t row, size_t n,
                              double mean)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double d = (double)assay_explain_get(e, 0, row + i).f - mean;

        sum += d * d;
    }
    say_f64(e, sum / (double)n, "  mean of (x - mean)^2");
    return sum / (double)n;
}

void assay_explain_normalize(struct assay_explain *e)
{
    const struct assay_normalize_params *p =
        &assay_explain_layer(e)->p.normalize;
    const struct assay_tensor *x = assay_explain_input(e, 0);
    size_t n = 1, row, at;
    double mean = 0, root, v;
    char text[80];

    for (uint32_t a = (uint32_t)p->axis; a < x->rank; a++)
        n *= (size_t)x->dims[a];
    row = e->element / n * n;
    at = e->element % n;
    for (size_t i = 0; i < n; i++)
        cell(e, 0, row + i);
    if (p->kind == ASSAY_NORMALIZE_LAYER)
        mean = mean_of(e, row, n);
    root = sqrt(mean_of_squares(e, row, n, mean) + (double)p->epsilon);
    snprintf(text, sizeof(text), "  sqrt(that + %.9g)", (double)p->epsilon);
    say_f64(e, root, text);
    v = ((double)named(e, 0, e->element).f - mean) / root;
    say_f64(e, v, "  (x - mean) / root");
    if (p->has_gamma) {
        v *= (double)named(e, 1, at).f;
        say_f64(e, v, "  that * gamma");
    }
    if (p->has_beta) {
        v += (double)named(e, 1 + p->has_gamma, at).f;
        say_f64(e, v, "  that + beta");
    }
    assay_explain_start(e, ASSAY_VALUE_F32, assay_explain_f32((float)v),
                        "  to_f32");
}
