/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No cause where there is none: what is equal matches, noise stays
 * unexplained, and what is too small to prove anything proves nothing.
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

/* What is searched is the same on every machine: fewer where it is emulated. */
#ifdef __aarch64__
#define CASES 40
#else
#define CASES 200
#endif

static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32};

/* Up to three heads of random shapes, few elements most times. */
static void random_heads(void)
{
    size_t n_heads = 1 + next() % HEADS, samples = 1 + next() % 3;

    begin(n_heads, samples);
    for (size_t h = 0; h < n_heads; h++) {
        int64_t dims[4] = {1, 1 + next() % 6, 1 + next() % 6, 1 + next() % 34};

        make_head(h,
                  h == 0   ? "first"
                  : h == 1 ? "second"
                           : "third",
                  types[next() % 3], next() % 2, "NHWC", 4, dims,
                  next() % 3 == 0 ? 3 : -1);
    }
    model.image_w = next() % 2 ? 1280 : 0;
    model.image_h = 720;
    model.size_w = model.size_h = 640;
    if (model.image_w == 0)
        model.image_h = 0;
}

static void copy(size_t h)
{
    const struct assay_output_tensor *t = &heads[h].t;

    reads((int64_t)h, t->dtype, count_of(t));
    for (size_t k = 0; k < model.n_samples; k++)
        memcpy(read_bytes[k], t->values[k], got.bytes);
}

static bool boxes(const struct assay_output_tensor *t)
{
    for (uint32_t a = 0; a < t->rank; a++)
        if (t->dims[a] == 4 && t->dtype == ASSAY_F32)
            return true;
    return false;
}

static void clean_cases_match(void **state)
{
    unsigned said = 0;

    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        size_t h;

        random_heads();
        h = next() % model.n_heads;
        copy(h);
        got.raw = next() % 2;
        explain();
        if (model.image_w != 0 && boxes(&heads[h].t))
            continue; /* these should be taken out of a letterbox */
        said++;
        if (result.status != ASSAY_OUTPUT_EQUAL)
            print_hits();
        assert_int_equal(result.status, ASSAY_OUTPUT_EQUAL);
        assert_int_equal(result.head, h);
    }
    assert_true(said > CASES / 2);
}

/* Every element, one element, or a few. */
static void noise(size_t h)
{
    int64_t n = count_of(&heads[h].t);
    unsigned kind = next() % 3;
    int64_t some = kind == 0 ? n : kind == 1 ? 1 : 1 + next() % 5;

    for (size_t k = 0; k < model.n_samples; k++)
        for (int64_t j = 0; j < some; j++) {
            int64_t at = kind == 0 ? j : next() % n;
            double d = (double)(int32_t)(next() % 251) - 125.0;

            if (got.dtype == ASSAY_F32)
                d += (double)(next() % 1000) / 1009.0;
            put(read_bytes[k], got.dtype, at, d);
        }
}

static void noise_is_unexplained(void **state)
{
    unsigned unexplained = 0;

    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        size_t h;

        random_heads();
        h = next() % model.n_heads;
        copy(h);
        noise(h);
        if (next() % 4 == 0)
            got.expected = -1;
        explain();
        if (result.status == ASSAY_OUTPUT_EXPLAINED &&
            result.hits[0].steps[0].id != ASSAY_OUTPUT_NOT_UNBOXED) {
            fprintf(stderr, "case %u: %lld elements, %zu samples\n", i,
                    (long long)count_of(&heads[h].t), model.n_samples);
            print_hits();
            fail();
        }
        unexplained += result.status == ASSAY_OUTPUT_UNEXPLAINED;
    }
    assert_true(unexplained > CASES * 3 / 4);
}

/* Two integers in the other order: nothing is proved by them. */
static void too_little(void **state)
{
    static const int64_t dims[] = {1, 2};

    (void)state;
    begin(1, 1);
    make_head(0, "first", ASSAY_S8, false, "", 2, dims, -1);
    reads(0, ASSAY_S8, 2);
    packed[0][0][0] = 5;
    packed[0][0][1] = 9;
    read_bytes[0][0] = 7;
    read_bytes[0][1] = 5;
    explain();
    assert_int_equal(result.status, ASSAY_OUTPUT_UNEXPLAINED);
    assert_true(result.n_hits == 0 || result.weak);
}

static void evidence_of_a_ratio(void **state)
{
    static const int64_t dims[] = {1, 50};

    (void)state;
    begin(1, 2);
    make_head(0, "first", ASSAY_S16, true, "", 2, dims, -1);
    copy(0);
    for (size_t k = 0; k < 2; k++)
        for (int64_t i = 0; i < 50; i++)
            put(read_bytes[k], ASSAY_F32, i, (double)floats[0][k][i] * 1.7);
    explain();
    assert_int_equal(result.status, ASSAY_OUTPUT_UNEXPLAINED);
    assert_true(result.evidence.has_ratio);
    assert_true(fabs(result.evidence.ratio - 1.7) < 1e-5);
    assert_true(result.evidence.cosine > 0.9999);
    for (size_t k = 0; k < 2; k++)
        for (int64_t i = 0; i < 50; i++)
            put(read_bytes[k], ASSAY_F32, i,
                (double)floats[0][k][(i * 7 + 3) % 50]);
    explain();
    assert_int_equal(result.status, ASSAY_OUTPUT_UNEXPLAINED);
    assert_true(result.evidence.same_numbers);
    assert_false(result.evidence.has_ratio);
    assert_int_equal(result.evidence.n_first, ASSAY_OUTPUT_FIRST);
}

static void nothing_read(void **state)
{
    struct assay_err err = {0};
    static const int64_t dims[] = {1, 50};

    (void)state;
    begin(1, 1);
    make_head(0, "first", ASSAY_S16, true, "", 2, dims, -1);
    copy(0);
    read_values[0] = NULL;
    assert_int_equal(assay_output_explain(&result, &model, &got, &err),
                     ASSAY_EMISMATCH);
    assert_string_equal(err.text, "'read': nothing was read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_cases_match),
        cmocka_unit_test(noise_is_unexplained),
        cmocka_unit_test(too_little),
        cmocka_unit_test(evidence_of_a_ratio),
        cmocka_unit_test(nothing_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
