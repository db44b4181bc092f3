/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as a numerics file may write them (lib/core/form.h): bias and second
 * operand joined to the sum, behind the first shift or to the product; wrapping
 * or saturating; any rounding at either shift; any width in between. A few of
 * them are fused, all others must not be mistaken for one of those.
 *
 * Bounds: sums below 2^42 times 17 bits, so that 64 bits hold everything.
 */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>

enum place { AT_SUM, AT_SHIFTED, AT_PRODUCT };

struct choice {
    enum place bias, second;
    unsigned width; /* of the sum: 0, or the step kind that makes it 32 */
    unsigned pre, mid_kind, mid_bits, post;
    bool has_bias, has_second;
};

static void bits_step(struct kc_program *to, unsigned kind, unsigned bits)
{
    kc_step(to,
            (struct assay_step){.kind = (uint8_t)kind, .bits = (uint8_t)bits},
            NULL, NULL);
}

static void draw_step(struct kc *k, struct kc_program *to, struct assay_step s,
                      size_t n, int64_t lo, int64_t hi)
{
    int64_t *a = kc_alloc(n * sizeof(*a));
    int64_t centre = kc_range(k, lo, hi);

    for (size_t i = 0; i < n; i++)
        a[i] = kc_chance(k, 70) ? centre : kc_range(k, lo, hi);
    s.n = (uint32_t)n;
    kc_step(to, s, a, NULL);
    free(a);
}

/* One may be beyond 32 bits. */
static void bias_step(struct kc *k, struct kc_program *to, size_t n)
{
    static const int64_t mosts[] = {100, 60000, INT32_MAX, (int64_t)1 << 40};
    int64_t most = mosts[kc_range(k, 0, 3)];

    draw_step(k, to,
              (struct assay_step){.kind = ASSAY_STEP_ADD,
                                  .add_mode = (uint8_t)kc_range(k, 0, 2)},
              n, -most, most);
}

static void second_step(struct kc *k, struct kc_program *to, size_t n)
{
    int64_t *shift = kc_alloc(n * 8), *times = kc_alloc(n * 8);

    for (size_t i = 0; i < n; i++) {
        shift[i] = kc_range(k, 0, 8);
        times[i] = kc_range(k, -128, 127);
    }
    kc_step(to,
            (struct assay_step){
                .kind = kc_chance(k, 60) ? ASSAY_STEP_ADD_SCALED
                                         : ASSAY_STEP_ADD_INPUT,
                .round = (uint8_t)(kc_chance(k, 50) ? 0 : kc_range(k, 0, 7)),
                .n = (uint32_t)n},
            shift, times);
    free(shift);
    free(times);
}

static void join(struct kc *k, struct kc_program *to, const struct choice *q,
                 enum place at, size_t n)
{
    bool first = kc_chance(k, 70);

    for (int i = 0; i < 2; i++) {
        if ((i == 0) == first && q->has_bias && q->bias == at)
            bias_step(k, to, n);
        if ((i == 0) != first && q->has_second && q->second == at)
            second_step(k, to, n);
    }
}

static void draw_choice(struct kc *k, struct choice *q, bool with_input)
{
    static const unsigned widths[] = {0, ASSAY_STEP_WRAP, ASSAY_STEP_SAT};
    /* What is fused, or next to it, as often as all the rest. */
    static const unsigned usual[] = {ASSAY_ROUND_FLOOR, ASSAY_ROUND_HALF_UP};
    bool plain = kc_chance(k, 50);

    q->has_bias = !plain && kc_chance(k, 60);
    q->has_second = with_input;
    q->bias = (enum place)kc_range(k, 0, 2);
    q->second = plain ? AT_SUM : (enum place)kc_range(k, 0, 2);
    q->width = widths[kc_range(k, 0, 2)];
    q->pre = plain ? usual[kc_range(k, 0, 1)] : (unsigned)kc_range(k, 0, 7);
    q->post = plain ? usual[kc_range(k, 0, 1)] : (unsigned)kc_range(k, 0, 7);
    q->mid_kind = widths[plain ? kc_chance(k, 70) * 2 : kc_range(k, 0, 2)];
    q->mid_bits = kc_chance(k, plain ? 90 : 50) ? 16 : 32;
}

/* acc + bias in binary32, times a scale: a convolution into floats. */
static void float_program(struct kc *k, struct kc_program *to, size_t n)
{
    int64_t *scale = kc_alloc(n * 8);

    if (kc_chance(k, 60))
        bias_step(k, to, n);
    for (size_t i = 0; i < n; i++)
        scale[i] = kc_f32_bits((float)kc_range(k, 1, 1 << 20) * 0x1p-26f);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL, NULL);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_FMUL, .n = (uint32_t)n},
            scale, NULL);
    to->name = "rule conv_float";
    free(scale);
}

void kc_rule_program(struct kc *k, struct kc_program *to, bool with_input,
                     size_t n, enum assay_dtype *y)
{
    static const enum assay_dtype outs[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32};
    struct assay_step shr = {.kind = ASSAY_STEP_SHR};
    int64_t most, zero = 0;
    struct choice q;

    if (!with_input && kc_chance(k, 15)) {
        *y = ASSAY_F32;
        float_program(k, to, n);
        return;
    }
    *y = outs[kc_chance(k, 60) ? 0 : kc_range(k, 1, 2)];
    most = *y == ASSAY_S8 ? 127 : *y == ASSAY_S16 ? 32767 : INT32_MAX;
    to->name = with_input ? "rule with sumin" : "rule";
    draw_choice(k, &q, with_input);
    join(k, to, &q, AT_SUM, n);
    if (q.width)
        bits_step(to, q.width, 32);
    shr.round = (uint8_t)q.pre;
    draw_step(k, to, shr, n, 0, kc_chance(k, 80) ? 9 : 31);
    join(k, to, &q, AT_SHIFTED, n);
    if (q.mid_kind)
        bits_step(to, q.mid_kind, q.mid_bits);
    draw_step(k, to, (struct assay_step){.kind = ASSAY_STEP_MUL}, n,
              kc_chance(k, 70) ? 16384 : 0, kc_chance(k, 70) ? 32767 : 65535);
    join(k, to, &q, AT_PRODUCT, n);
    shr.round = (uint8_t)q.post;
    draw_step(k, to, shr, n, *y == ASSAY_S8 ? 12 : 0,
              kc_chance(k, 80) ? 24 : 31);
    bits_step(to, ASSAY_STEP_SAT,
              *y == ASSAY_S8    ? 8
              : *y == ASSAY_S16 ? 16
                                : 32);
    if (kc_chance(k, 40))
        kc_step(to, (struct assay_step){.kind = ASSAY_STEP_CLAMP}, &zero,
                &most);
}
