/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ratio a channel: told where each channel is stretched, with the numbers,
 * and of nothing else; how these are drawn.
 *
 * links: host-tools/cause/fingerprint.c host-tools/cause/fingerprint_place.c
 * links: host-tools/cause/fingerprint_limit.c
 * links: host-tools/cause/fingerprint_value.c
 * links: host-tools/cause/fingerprint_channel.c
 * links: host-tools/cause/fingerprint_constants.c
 * links: host-tools/cause/fingerprint_ratio.c
 * links: host-tools/cause/fingerprint_input.c
 * links: host-tools/cause/fingerprint_text.c
 * links: host-tools/run_cause_plot.c
 * links: host-tools/diff/tensor.c host-tools/diff/column.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 * libs: -lm
 */
#include <math.h>

#include "tests/unit/fingerprint_tensors.h"

#include "host-tools/run_cause_plot.h"

static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_S16, ASSAY_F32};

static void each_channel_its_own(void **state)
{
    static const double s[] = {1.0, 0.5, 1.5, 0.8, 2.0};

    (void)state;
    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        struct assay_tensor t = shape(types[k], "NHWC", 4, 1, 6, 6, 5);
        const struct assay_fingerprint_view v = {
            .t = &t, .base = base, .got = got};
        const struct assay_fingerprint *f;
        double by[ASSAY_PLOT_BARS];
        size_t step = 0;

        seed = 3;
        fill(&t);
        for (size_t i = 0; i < count(&t); i++) {
            double g = s[i % 5] * get(&t, base, i);

            set(&t, got, i, types[k] == ASSAY_F32 ? g : nearbyint(g));
        }
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_CHANNEL_RATIO);
        assert_non_null(f);
        assert_true(fabs(f->x[0] - 0.5) < 0.02 && f->n[0] == 1);
        assert_true(fabs(f->x[1] - 2.0) < 0.02 && f->n[1] == 4);
        assert_int_equal(f->matched, f->differing);
        assert_int_equal(
            assay_fingerprint_by_channel(&v, f, by, ASSAY_PLOT_BARS, &step), 5);
        assert_int_equal(step, 1);
        for (size_t c = 0; c < 5; c++)
            assert_true(fabs(by[c] - s[c]) < 0.03);
        /* Fewer than there are: every other one. */
        assert_int_equal(assay_fingerprint_by_channel(&v, f, by, 3, &step), 3);
        assert_int_equal(step, 2);
        assert_true(fabs(by[2] - 2.0) < 0.03);
        /* One element off its line, and nothing is said. */
        add(&t, 17, 30);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_CHANNEL_RATIO));
    }
}

static void of_nothing_else(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 6, 6, 5);
    const struct assay_fingerprint_view v = {.t = &t, .base = base, .got = got};
    const struct assay_fingerprint place = {.kind = ASSAY_FP_EDGE_RING};
    double by[8];
    size_t step;

    (void)state;
    for (int k = 0; k < 4; k++) {
        seed = 9 + (uint32_t)k;
        fill(&t);
        for (size_t i = 0; i < count(&t); i++) {
            double b = get(&t, base, i);

            if (k == 0) /* rounding */
                add(&t, i, (double)(rnd() % 3) - 1);
            else if (k == 1) /* noise */
                set(&t, got, i, (int)(rnd() % 101) - 50);
            else if (k == 2) /* one number a channel */
                add(&t, i, (double)(i % 5) * 3);
            else /* one ratio for all */
                set(&t, got, i, nearbyint(b * 1.5));
        }
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_CHANNEL_RATIO));
    }
    assert_int_equal(assay_fingerprint_by_channel(&v, &place, by, 8, &step), 0);
}

static void differences_by_channel(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 6, 6, 5);
    const struct assay_fingerprint_view v = {.t = &t, .base = base, .got = got};
    const struct assay_fingerprint *f;
    double by[8];
    size_t step;

    (void)state;
    seed = 4;
    fill(&t);
    for (size_t i = 0; i < count(&t); i++)
        add(&t, i, (double)(i % 5) * 3);
    ask_tensor(&t);
    f = one(&t, ASSAY_FP_CHANNEL_CONSTANT);
    assert_non_null(f);
    assert_int_equal(assay_fingerprint_by_channel(&v, f, by, 8, &step), 5);
    for (size_t c = 0; c < 5; c++)
        assert_true(by[c] == 3.0 * (double)c);
}

static void drawn(void **state)
{
    const double v[] = {0.5, NAN, 1.0, 2.0}, alike[] = {1.0, 1.0};
    char out[100];

    (void)state;
    assert_string_equal(assay_plot_bars(v, 4, out, sizeof(out)),
                        "\xe2\x96\x81?\xe2\x96\x83\xe2\x96\x88");
    assert_string_equal(assay_plot_bars(alike, 2, out, sizeof(out)),
                        "\xe2\x96\x85\xe2\x96\x85");
    assert_string_equal(assay_plot_list(v, 4, 2, 3, out, sizeof(out)),
                        "0: 0.5, 2: ?, 4: 1, ...");
    assert_string_equal(assay_plot_list(v, 4, 1, 4, out, sizeof(out)),
                        "0: 0.5, 1: ?, 2: 1, 3: 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_channel_its_own),
        cmocka_unit_test(of_nothing_else),
        cmocka_unit_test(differences_by_channel),
        cmocka_unit_test(drawn),
    };

    return cmocka_run_group_tests_name("fingerprint_ratio", tests, NULL, NULL);
}
