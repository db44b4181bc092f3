/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands (by the linker's --wrap) before the step interpreter and the stores
 * of the kernels, and stops the program when something that the plan has to
 * prove is not so: an integer leaves 64 bits, a multiplier's operand leaves
 * int32, a stored integer leaves its type.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/requant.h"
#include "tests/fuzz/judge_layer.h"
#include "tests/kernels/kcheck.h"

typedef __int128 wide;

bool judge_is_on = true;

void __real_assay_program_run(const struct assay_program *p,
                              const struct assay_block *block);
void __wrap_assay_program_run(const struct assay_program *p,
                              const struct assay_block *block);
void __real_assay_store_values(enum assay_dtype dtype, void *dst,
                               const union assay_value *v, size_t n);
void __wrap_assay_store_values(enum assay_dtype dtype, void *dst,
                               const union assay_value *v, size_t n);

static void refuse(const char *what, unsigned step, int64_t value)
{
    fprintf(stderr, "behind the plan: %s (step %u, value %lld)\n", what, step,
            (long long)value);
    abort();
}

static void check_wide(wide v, unsigned step, int64_t from)
{
    if (v < INT64_MIN || v > INT64_MAX)
        refuse("an integer leaves 64 bits", step, from);
}

/* v * 2^-n of a left shift (n < 0); a right shift cannot leave. */
static wide shifted(int64_t v, int64_t n)
{
    return n < 0 ? (wide)v * ((wide)1 << -n) : 0;
}

/* What step i does to v, as an exact number. */
static void check_step(const struct assay_step *s, unsigned i, int64_t v,
                       int64_t a, int64_t b, int64_t second)
{
    switch (s->kind) {
    case ASSAY_STEP_ADD:
    case ASSAY_STEP_ADD_ZP: check_wide((wide)v + a, i, v); break;
    case ASSAY_STEP_MUL: check_wide((wide)v * a, i, v); break;
    case ASSAY_STEP_SHL: check_wide(shifted(v, -a), i, v); break;
    case ASSAY_STEP_SHR: check_wide(shifted(v, a), i, v); break;
    case ASSAY_STEP_SRDHM:
    case ASSAY_STEP_SDMULH:
        if (v < INT32_MIN || v > INT32_MAX)
            refuse("a multiplier's operand leaves int32", i, v);
        break;
    case ASSAY_STEP_ADD_INPUT: {
        check_wide(shifted(second, a), i, second);
        wide e = assay_shr(second, (int)a, (enum assay_round)s->round);

        check_wide(e * b, i, second);
        check_wide((wide)v + e * b, i, v);
        break;
    }
    case ASSAY_STEP_ADD_SCALED: {
        wide product = (wide)second * b;

        check_wide(product, i, second);
        check_wide(shifted((int64_t)product, a), i, second);
        wide e =
            assay_shr((int64_t)product, (int)a, (enum assay_round)s->round);

        check_wide((wide)v + e, i, v);
        break;
    }
    default: break;
    }
}

static bool takes_int(const struct assay_step *s)
{
    return s->kind < ASSAY_STEP_FMUL || s->kind > ASSAY_STEP_FROUND;
}

static void judge_value(const struct assay_program *p, union assay_value from,
                        size_t channel, int64_t second)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        struct assay_program before = *p;
        size_t c = s->n > 1 ? channel : 0;

        if (!takes_int(s))
            continue;
        before.n_steps = i;
        union assay_value v = kc_naive_program(&before, from, channel, second);

        check_step(s, i, v.i, s->a ? s->a[c] : 0, s->b ? s->b[c] : 0, second);
    }
}

static bool is_float(const struct assay_program *p, bool *f64)
{
    bool is = false;

    *f64 = false;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        if (p->steps[i].kind == ASSAY_STEP_TO_F64)
            *f64 = true;
        if (p->steps[i].kind == ASSAY_STEP_TO_F32)
            *f64 = false;
        is = p->steps[i].kind >= ASSAY_STEP_TO_F32 &&
             p->steps[i].kind < ASSAY_STEP_FROUND;
    }
    return is;
}

/* Equal as what they are; a NaN is any NaN. */
static bool same(union assay_value a, union assay_value b, bool is_f, bool f64)
{
    if (!is_f)
        return a.i == b.i;
    if (f64)
        return memcmp(&a.d, &b.d, sizeof(a.d)) == 0 ||
               (a.d != a.d && b.d != b.d);
    return memcmp(&a.f, &b.f, sizeof(a.f)) == 0 || (a.f != a.f && b.f != b.f);
}

void __wrap_assay_program_run(const struct assay_program *p,
                              const struct assay_block *block)
{
    union assay_value *want;
    bool f64, is_f = is_float(p, &f64);

    if (!judge_is_on) {
        __real_assay_program_run(p, block);
        return;
    }
    want = malloc((block->n + 1) * sizeof(*want));
    if (!want)
        abort();
    for (size_t k = 0; k < block->n; k++) {
        size_t channel = (block->channel + k) % block->channels;
        int64_t second = block->second ? block->second[k] : 0;

        judge_value(p, block->v[k], channel, second);
        want[k] = kc_naive_program(p, block->v[k], channel, second);
    }
    __real_assay_program_run(p, block);
    for (size_t k = 0; k < block->n && p->n_steps > 0; k++)
        if (!same(want[k], block->v[k], is_f, f64))
            refuse("the result is not the definition's", p->n_steps,
                   block->v[k].i);
    free(want);
}

void __wrap_assay_store_values(enum assay_dtype dtype, void *dst,
                               const union assay_value *v, size_t n)
{
    static const int64_t low[] = {[ASSAY_S8] = INT8_MIN,
                                  [ASSAY_S16] = INT16_MIN,
                                  [ASSAY_S32] = INT32_MIN};
    static const int64_t high[] = {[ASSAY_S8] = INT8_MAX,
                                   [ASSAY_U8] = UINT8_MAX,
                                   [ASSAY_S16] = INT16_MAX,
                                   [ASSAY_U16] = UINT16_MAX,
                                   [ASSAY_S32] = INT32_MAX};

    for (size_t k = 0; k < n && dtype <= ASSAY_S32; k++)
        if (v[k].i < low[dtype] || v[k].i > high[dtype])
            refuse("a stored integer leaves its type", 0, v[k].i);
    __real_assay_store_values(dtype, dst, v, n);
}
