/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of the fixed-point model stay in registers. The interpreter
 * would give the same integers, so no comparison of outputs sees it when one
 * of them is no longer recognised.
 */
#include "tests/kernels/kcheck.h"

#if defined(__aarch64__)

#include <stdlib.h>
#include <string.h>

#include "kernels/neon/epilogue.h"

#define CHANNELS 7
#define PADDED 8

/* hz_programs.c, in its order; to int8, and to int16 where that is apart. */
static const enum assay_epilogue_form FORMS[KC_HZ_FORMS][2] = {
    {ASSAY_EPI_M15_S8, ASSAY_EPI_M15_S16},
    {ASSAY_EPI_M15_S8, ASSAY_EPI_NONE}, /* a clamp is behind the saturation */
    {ASSAY_EPI_M15_S8, ASSAY_EPI_M15_S16},
    {ASSAY_EPI_M15_S8, ASSAY_EPI_M15_S16},
    {ASSAY_EPI_M15_S8, ASSAY_EPI_NONE},
    {ASSAY_EPI_S32, ASSAY_EPI_NONE},
    {ASSAY_EPI_S32, ASSAY_EPI_NONE},
    {ASSAY_EPI_S32, ASSAY_EPI_NONE},
    {ASSAY_EPI_M15_S8_UP, ASSAY_EPI_M15_S16_UP},
    {ASSAY_EPI_LONG_S8_UP, ASSAY_EPI_LONG_S16_UP}, /* both shifts round */
};

/* -32768 is no multiplier of 15 bits. */
static void tame(struct kc_program *to)
{
    for (uint32_t i = 0; i < to->p.n_steps; i++) {
        const struct assay_step *s = &to->p.steps[i];

        for (uint32_t j = 0; s->kind == ASSAY_STEP_MUL && j < s->n; j++)
            if (s->a[j] == -32768)
                ((int64_t *)(uintptr_t)s->a)[j] = -32767;
    }
}

static void one(struct kc *k, const char *name, unsigned form, bool half,
                enum assay_dtype second)
{
    static const int64_t dims[4] = {1, 1, 1, 2};
    struct assay_conv2d p = {.second_dtype = second, .y_dtype = ASSAY_S8};
    struct kc_program program;
    struct assay_epilogue e;
    struct assay_step *last;
    void *store = kc_alloc(256);
    int32_t expected[2], got[2];
    bool takes = kc_policy_takes_input(KC_HZ_FIRST + form);

    kc_policy(k, &program, KC_HZ_FIRST + form, CHANNELS, kc_chance(k, 70),
              &p.y_dtype);
    tame(&program);
    if (half) {
        last = &program.p.steps[program.p.n_steps - 1];
        last->bits = 16;
        p.y_dtype = ASSAY_S16;
    }
    p.program = &program.p;
    p.second = takes ? store : NULL;
    snprintf(k->text, sizeof(k->text), "form of %s, output %d, second %d",
             program.name, p.y_dtype, second);
    assay_epilogue_match(&e, &p, 1, CHANNELS, PADDED, store);
    expected[0] = FORMS[form][half];
    expected[1] = takes ? (int32_t)second : 0;
    got[0] = e.form;
    got[1] = (int32_t)e.second_dtype;
    kc_judge(k, name, ASSAY_S32, expected, got, dims);
    kc_program_free(&program);
    free(store);
}

/* [add_scaled, wrap 32, ...] with one thing that no form may have. */
static void refused(struct kc *k, const char *name, int what)
{
    static const char *const texts[] = {"wrap 31", "no wrap", "no second",
                                        "a multiplier of 33 bits"};
    static const int64_t dims[4] = {1, 1, 1, 2};
    struct assay_conv2d p = {.second_dtype = ASSAY_S8, .y_dtype = ASSAY_S8};
    struct kc_program program;
    struct assay_epilogue e;
    void *store = kc_alloc(256);
    struct assay_step *steps;
    int32_t expected[2] = {ASSAY_EPI_NONE, 0}, got[2];

    kc_policy(k, &program, KC_HZ_FIRST + 3, CHANNELS, false, &p.y_dtype);
    tame(&program);
    steps = program.p.steps;
    p.program = &program.p;
    p.second = what == 2 ? NULL : store;
    if (what == 0)
        steps[1].bits = 31;
    if (what == 1)
        memmove(steps + 1, steps + 2,
                --program.p.n_steps * sizeof(*steps) - sizeof(*steps));
    if (what == 3) {
        p.second_dtype = ASSAY_S32;
        ((int64_t *)(uintptr_t)steps[0].b)[0] = (int64_t)1 << 32;
        for (uint32_t i = 0; i < steps[0].n; i++)
            ((int64_t *)(uintptr_t)steps[0].a)[i] = 0;
    }
    snprintf(k->text, sizeof(k->text), "refuses %s", texts[what]);
    assay_epilogue_match(&e, &p, 1, CHANNELS, PADDED, store);
    got[0] = e.form;
    got[1] = (int32_t)e.second_dtype;
    kc_judge(k, name, ASSAY_S32, expected, got, dims);
    kc_program_free(&program);
    free(store);
}

/*
 * shr [add] [sat] mul shr sat with the i-th choice of two roundings, output
 * type, width in between and bias; `what` > 0 is one thing that is too much.
 */
static void by_rule(struct kc *k, const char *name, unsigned i, int what)
{
    static const char *const texts[] = {"", "a wrap in between", "a far bias",
                                        "half even", "a bias at the product"};
    static const int64_t dims[4] = {1, 1, 1, 1};
    bool pre_up = i & 1, up = i & 2, half = i & 4, sat = i & 8, add = i & 16;
    struct assay_conv2d p = {.y_dtype = half ? ASSAY_S16 : ASSAY_S8};
    struct assay_step shr = {.kind = ASSAY_STEP_SHR};
    int64_t pre = 3, bias = what == 2 ? 1 << 30 : -70000, scale = 20000;
    int64_t post = 17;
    struct kc_program program;
    struct assay_epilogue e;
    void *store = kc_alloc(256);
    int32_t got, form = half ? ASSAY_EPI_LONG_S16 : ASSAY_EPI_LONG_S8;

    if (!pre_up && sat && !add) /* the quicker one */
        form = half ? ASSAY_EPI_M15_S16 : ASSAY_EPI_M15_S8;
    form = what ? ASSAY_EPI_NONE : form + up;
    kc_program_begin(&program, CHANNELS);
    shr.round = pre_up ? ASSAY_ROUND_HALF_UP : ASSAY_ROUND_FLOOR;
    kc_step(&program, shr, &pre, NULL);
    if (add || what == 2)
        kc_int_step(&program, ASSAY_STEP_ADD, bias);
    if (sat || what == 1)
        kc_step(&program,
                (struct assay_step){.kind = what == 1 ? ASSAY_STEP_WRAP
                                                      : ASSAY_STEP_SAT,
                                    .bits = 16},
                NULL, NULL);
    kc_int_step(&program, ASSAY_STEP_MUL, scale);
    if (what == 4)
        kc_int_step(&program, ASSAY_STEP_ADD, bias);
    shr.round = what == 3 ? ASSAY_ROUND_HALF_EVEN
                : up      ? ASSAY_ROUND_HALF_UP
                          : ASSAY_ROUND_FLOOR;
    kc_step(&program, shr, &post, NULL);
    kc_step(&program,
            (struct assay_step){.kind = ASSAY_STEP_SAT, .bits = half ? 16 : 8},
            NULL, NULL);
    p.program = &program.p;
    snprintf(k->text, sizeof(k->text), "rule %u, %s", i, texts[what]);
    assay_epilogue_match(&e, &p, 1, CHANNELS, PADDED, store);
    got = e.form;
    kc_judge(k, name, ASSAY_S32, &form, &got, dims);
    kc_program_free(&program);
    free(store);
}

void kc_check_fused(struct kc *k)
{
    const struct assay_conv2d_kernel *neon =
        k->table.conv2d_x8w8[ASSAY_ISA_NEON];
    bool bench = k->opt.bench;

    _Static_assert(ASSAY_EPILOGUE_BYTES(PADDED) <= 256, "room of store");
    if (!neon || !kc_wants(k, neon->name))
        return;
    for (int64_t i = 0; i < 4 * KC_HZ_FORMS; i++) {
        unsigned form = (unsigned)i % KC_HZ_FORMS;

        if (!kc_case(k, "fused", i))
            continue;
        k->opt.bench = true; /* no near misses */
        for (int draw = 0; draw < 4; draw++) {
            enum assay_dtype second = draw % 2 ? ASSAY_S16 : ASSAY_S8;

            one(k, neon->name, form, false, second);
            if (FORMS[form][1] != ASSAY_EPI_NONE)
                one(k, neon->name, form, true, second);
        }
        k->opt.bench = bench;
    }
    for (unsigned i = 0; i < 32; i++)
        if (kc_case(k, "fused_rules", i))
            for (int what = 0; what <= 4; what++)
                by_rule(k, neon->name, i, what);
    for (int i = 0; i < 4; i++) {
        if (!kc_case(k, "fused_refused", i))
            continue;
        k->opt.bench = true;
        refused(k, neon->name, i);
        k->opt.bench = bench;
    }
}

#else

void kc_check_fused(struct kc *k)
{
    (void)k;
}

#endif
