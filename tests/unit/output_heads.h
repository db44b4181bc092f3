/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of models that do not exist, and what applications make of them. */
#ifndef ASSAY_TESTS_UNIT_OUTPUT_HEADS_H
#define ASSAY_TESTS_UNIT_OUTPUT_HEADS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/output/output.h"

#define HEADS 3
#define SAMPLES 4
#define MOST 8192 /* elements */

static struct assay_output_head heads[HEADS];
static float floats[HEADS][SAMPLES][MOST];
static int32_t numbers[HEADS][SAMPLES][MOST]; /* integers, before packing */
static uint8_t packed[HEADS][SAMPLES][4 * MOST];
static void *float_values[HEADS][SAMPLES], *int_values[HEADS][SAMPLES];
static float scales[HEADS][64];
static int32_t zero_points[HEADS][64];
static uint8_t read_bytes[SAMPLES][8 * MOST];
static void *read_values[SAMPLES];
static struct assay_output_model model;
static struct assay_output_got got;
static struct assay_output_result result;
static uint64_t seed = 1;

static inline uint32_t next(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

static inline void put(void *to, enum assay_dtype dtype, int64_t i, double d)
{
    float f = (float)d;
    int64_t v = dtype == ASSAY_F32 ? 0 : (int64_t)d;
    size_t width = assay_dtype_bytes(dtype);

    memcpy((uint8_t *)to + (size_t)i * width,
           dtype == ASSAY_F32 ? (void *)&f : (void *)&v, width);
}

static inline int64_t count_of(const struct assay_output_tensor *t)
{
    int64_t n = 1;

    for (uint32_t a = 0; a < t->rank; a++)
        n *= t->dims[a];
    return n;
}

static inline void shape_of(struct assay_output_tensor *t, const char *axes,
                            uint32_t rank, const int64_t *dims)
{
    t->rank = rank;
    memcpy(t->dims, dims, rank * sizeof(*dims));
    memset(t->axes, 0, sizeof(t->axes));
    if (strlen(axes) == rank)
        memcpy(t->axes, axes, rank);
}

/* Head h: integers of `dtype` with a scale (for each channel where channels is
 * an axis), and a Dequantize behind them where `dequantized`. */
static inline void make_head(size_t h, const char *name, enum assay_dtype dtype,
                             bool dequantized, const char *axes, uint32_t rank,
                             const int64_t *dims, int channels)
{
    struct assay_output_head *head = &heads[h];
    struct assay_output_tensor t = {.name = name, .dtype = dtype};
    int64_t lo, hi, inner = 1;

    memset(head, 0, sizeof(*head));
    shape_of(&t, axes, rank, dims);
    for (int a = (int)rank - 1; channels >= 0 && a > channels; a--)
        inner *= dims[a];
    t.quant.n = channels >= 0 ? (uint32_t)dims[channels] : 1;
    t.quant.axis = channels;
    for (uint32_t c = 0; c < t.quant.n; c++) {
        scales[h][c] = 0.01f * (float)(1 + next() % 100) + 0.001f * (float)h;
        zero_points[h][c] = dtype == ASSAY_S8 ? (int32_t)(3 + h) : 0;
    }
    t.quant.scale = scales[h];
    t.quant.zero_point = zero_points[h];
    assay_dtype_range(dtype, &lo, &hi);
    if (dtype == ASSAY_S32) {
        lo = -100000;
        hi = 100000;
    }
    for (size_t k = 0; k < SAMPLES; k++) {
        for (int64_t i = 0; i < count_of(&t); i++) {
            int64_t c = channels >= 0 ? i / inner % dims[channels] : 0;
            int32_t q = (int32_t)(lo + next() % (uint32_t)(hi - lo + 1));

            numbers[h][k][i] = q;
            put(packed[h][k], dtype, i, q);
            floats[h][k][i] = (float)(q - zero_points[h][c]) * scales[h][c];
        }
        float_values[h][k] = floats[h][k];
        int_values[h][k] = packed[h][k];
    }
    t.values = int_values[h];
    head->t = t;
    if (!dequantized)
        return;
    head->n_before = 1;
    head->op[0] = "DequantizeLinear";
    head->before[0] = t;
    head->before[0].name = "in_front";
    head->t.dtype = ASSAY_F32;
    head->t.quant.n = 0;
    head->t.values = float_values[h];
}

/* Nothing is read yet; sizes of the picture are not known. */
static inline void begin(size_t n_heads, size_t n_samples)
{
    memset(&model, 0, sizeof(model));
    model.heads = heads;
    model.n_heads = n_heads;
    model.n_samples = n_samples;
    memset(&got, 0, sizeof(got));
    for (size_t k = 0; k < SAMPLES; k++)
        read_values[k] = k < n_samples ? read_bytes[k] : NULL;
    memset(read_bytes, 0, sizeof(read_bytes));
    got.values = read_values;
    got.name = "read";
}

/* What was read is one array of n elements a sample, of head `expected`. */
static inline void reads(int64_t expected, enum assay_dtype dtype, int64_t n)
{
    got.expected = expected;
    got.dtype = dtype;
    got.rank = 1;
    got.dims[0] = n;
    got.bytes = (size_t)n * assay_dtype_bytes(dtype);
}

static inline void explain(void)
{
    assert_int_equal(assay_output_explain(&result, &model, &got, NULL), 0);
}

static inline void print_hits(void)
{
    for (size_t k = 0; k < result.n_hits; k++) {
        fprintf(stderr,
                "  %s head %zu%s %llu/%llu:", result.weak ? "weak" : "hit",
                result.hits[k].head, result.hits[k].within ? " within" : "",
                (unsigned long long)result.hits[k].compared,
                (unsigned long long)result.hits[k].all);
        for (size_t i = 0; i < result.hits[k].n_steps; i++)
            fprintf(stderr, " %s (%s)",
                    assay_output_id(result.hits[k].steps[i].id),
                    result.hits[k].steps[i].text);
        fprintf(stderr, "\n");
    }
}

/* Explained, and one of the hits has just these steps ("L1 Q7"). */
static inline void is(const char *steps, const char *text, const char *where,
                      int line)
{
    char all[128];
    bool found = false;

    explain();
    for (size_t k = 0; k < result.n_hits; k++) {
        const struct assay_output_hit *h = &result.hits[k];
        bool said = false;

        /* The fewest steps, and no others. */
        assert_int_equal(h->n_steps, result.hits[0].n_steps);
        all[0] = '\0';
        for (size_t i = 0; i < h->n_steps; i++) {
            strcat(all, i > 0 ? " " : "");
            strcat(all, assay_output_id(h->steps[i].id));
            said = said || strstr(h->steps[i].text, text) != NULL;
        }
        found = found || (strcmp(all, steps) == 0 && said);
    }
    if (result.status != ASSAY_OUTPUT_EXPLAINED || !found) {
        fprintf(stderr, "%s:%d: expected %s (%s), status %d\n", where, line,
                steps, text, (int)result.status);
        print_hits();
        fail();
    }
}
#define IS(steps, text) is(steps, text, __FILE__, __LINE__)

#endif
