/* SPDX-License-Identifier: Apache-2.0 */
/* The step interpreters, value by value. */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>
#include <string.h>

#define MOST 200

/* Start values: small, near powers of two, at the ends, or anything. */
static void draw_values(struct kc *k, union assay_value *v, size_t n,
                        bool floats, int64_t lo, int64_t hi)
{
    for (size_t i = 0; i < n; i++) {
        int64_t x = kc_range(k, lo, hi);

        switch (kc_range(k, 0, 4)) {
        case 0: x = kc_range(k, -5, 5); break;
        case 1: /* ties and their neighbours */
            x = (int64_t)1 << kc_range(k, 0, 62);
            x = (kc_chance(k, 50) ? x : -x) + kc_range(k, -1, 1);
            x += kc_chance(k, 30) ? x / 2 : 0;
            break;
        case 2: x = kc_chance(k, 50) ? lo : hi; break;
        default: break;
        }
        x = x < lo ? lo : x > hi ? hi : x;
        if (floats)
            v[i].f = (float)x / 8.0f;
        else
            v[i].i = x;
    }
}

/* What the last step leaves: the type that is compared. */
static enum assay_dtype left_by(const struct assay_program *p)
{
    enum assay_dtype t = ASSAY_S64;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        if (p->steps[i].kind == ASSAY_STEP_TO_F32)
            t = ASSAY_F32;
        else if (p->steps[i].kind == ASSAY_STEP_FROUND)
            t = ASSAY_S64;
        else if (i == 0 && p->steps[i].kind >= ASSAY_STEP_FMUL &&
                 p->steps[i].kind <= ASSAY_STEP_FCLAMP)
            t = ASSAY_F32;
    }
    return t;
}

struct values {
    union assay_value in[MOST], ref[MOST], out[MOST];
    int32_t second[MOST];
    uint8_t a[MOST * 8], b[MOST * 8];
    struct assay_block block;
};

static void judge(struct kc *k, struct values *w, const char *kernel,
                  enum assay_dtype t, const union assay_value *e,
                  const union assay_value *g)
{
    int64_t dims[4] = {1, 1, 1, (int64_t)w->block.n};

    assay_store_values(t, w->a, e, w->block.n);
    assay_store_values(t, w->b, g, w->block.n);
    kc_judge(k, kernel, t, w->a, w->b, dims);
}

static void run_case(struct kc *k, const struct kc_program *program,
                     struct values *w)
{
    const struct assay_program_kernel *const *column = k->table.program;
    enum assay_dtype t = left_by(&program->p);
    size_t n = w->block.n;

    memcpy(w->ref, w->in, n * sizeof(w->in[0]));
    w->block.v = w->ref;
    column[ASSAY_ISA_REF]->run(&program->p, &w->block);
    if (kc_wants(k, column[ASSAY_ISA_REF]->name)) {
        for (size_t i = 0; i < n; i++)
            w->out[i] = kc_naive_program(
                &program->p, w->in[i],
                (w->block.channel + i) % w->block.channels, w->second[i]);
        judge(k, w, column[ASSAY_ISA_REF]->name, t, w->out, w->ref);
    }
    for (int i = ASSAY_ISA_REF + 1; i < ASSAY_ISA_COUNT; i++) {
        if (!column[i] || !kc_wants(k, column[i]->name))
            continue;
        memcpy(w->out, w->in, n * sizeof(w->in[0]));
        w->block.v = w->out;
        column[i]->run(&program->p, &w->block);
        judge(k, w, column[i]->name, t, w->ref, w->out);
    }
}

static void one_case(struct kc *k, int64_t index)
{
    struct values *w;
    struct kc_program program;
    enum assay_dtype y = ASSAY_S8;
    static const enum assay_dtype outs[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                            ASSAY_F32, ASSAY_S32};
    size_t channels;
    int64_t bits, hi;
    bool floats;

    if (!kc_case(k, "program", index))
        return;
    w = kc_alloc(sizeof(*w));
    channels = (size_t)kc_range(k, 1, 40);
    bits = kc_chance(k, 60) ? 31 : kc_range(k, 8, 58);
    hi = ((int64_t)1 << bits) - 1;
    floats = kc_chance(k, 10);
    if (index % 3 == 0) {
        hi = INT32_MAX;
        floats = false;
        kc_policy(k, &program, (unsigned)(index / 3 % KC_POLICIES), channels,
                  kc_chance(k, 70), &y);
    } else {
        y = outs[kc_range(k, 0, 4)];
        kc_random_program(k, &program, channels, floats, -hi - 1, hi, y,
                          kc_chance(k, 20));
    }
    w->block = (struct assay_block){
        .n = (size_t)kc_range(k, 1, MOST),
        .channels = channels,
        .channel = (size_t)kc_range(k, 0, (int64_t)channels - 1),
        .second = w->second,
    };
    draw_values(k, w->in, w->block.n, floats, -hi - 1, hi);
    kc_fill(k, ASSAY_S32, w->second, MOST);
    snprintf(k->text, sizeof(k->text), "%s, %u steps, %zu channels",
             program.name, (unsigned)program.p.n_steps, channels);
    run_case(k, &program, w);
    kc_program_free(&program);
    free(w);
}

void kc_check_program(struct kc *k)
{
    int64_t n = k->opt.long_run ? 60000 : 6000;

    for (int64_t i = 0; i < n; i++)
        one_case(k, i);
}
