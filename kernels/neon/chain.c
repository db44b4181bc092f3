/* SPDX-License-Identifier: Apache-2.0 */
/* not a kernel: recognises short float programs for binary. */
#include "kernels/neon/chain.h"

#include <string.h>

static float float_of(int64_t bits)
{
    uint32_t low = (uint32_t)(uint64_t)bits;
    float f;

    memcpy(&f, &low, sizeof(f));
    return f;
}

static bool is_8bit(enum assay_dtype t)
{
    return t == ASSAY_S8 || t == ASSAY_U8;
}

/* Takes the binary32 steps from `at` on; returns the first other one. */
static uint32_t take_floats(struct assay_chain *c,
                            const struct assay_program *p, uint32_t at)
{
    for (; at < p->n_steps; at++) {
        const struct assay_step *s = &p->steps[at];

        if (s->kind < ASSAY_STEP_FMUL || s->kind > ASSAY_STEP_FCLAMP ||
            s->n != 1)
            break;
        c->steps[c->n].kind = s->kind;
        c->steps[c->n].a = float_of(s->a[0]);
        c->steps[c->n].b = s->b ? float_of(s->b[0]) : 0.0f;
        c->n++;
    }
    return at;
}

bool assay_chain_operand(struct assay_chain *c, const struct assay_program *p,
                         enum assay_dtype dtype, bool is_float)
{
    uint32_t at = 0;

    memset(c, 0, sizeof(*c));
    if (!is_8bit(dtype))
        return false;
    c->is_signed = dtype == ASSAY_S8;
    c->is_float = is_float;
    if (p->n_steps > 0 && (p->steps[0].kind == ASSAY_STEP_ADD ||
                           p->steps[0].kind == ASSAY_STEP_ADD_ZP)) {
        const struct assay_step *s = &p->steps[at++];

        /* So small a sum has no mode. */
        if (s->n != 1 || s->a[0] < -1024 || s->a[0] > 1024)
            return false;
        c->add = (int16_t)s->a[0];
    }
    c->mul = 1;
    if (!is_float && at < p->n_steps && p->steps[at].kind == ASSAY_STEP_MUL) {
        const struct assay_step *s = &p->steps[at++];

        if (s->n != 1 || s->a[0] < 0 || s->a[0] > 1 << 22)
            return false;
        c->mul = (int32_t)s->a[0];
    }
    c->low = ((c->is_signed ? -128 : 0) + (int64_t)c->add) * c->mul;
    c->high = ((c->is_signed ? 127 : 255) + (int64_t)c->add) * c->mul;
    if (!is_float)
        return at == p->n_steps && c->low >= INT32_MIN && c->high <= INT32_MAX;
    if (at == p->n_steps || p->steps[at++].kind != ASSAY_STEP_TO_F32)
        return false;
    return take_floats(c, p, at) == p->n_steps;
}

bool assay_chain_output(struct assay_chain *c, const struct assay_program *p,
                        enum assay_dtype dtype, bool from_int)
{
    const struct assay_step *end = p->steps + p->n_steps, *s;
    uint32_t at = 0;

    memset(c, 0, sizeof(*c));
    if (!is_8bit(dtype))
        return false;
    if (from_int &&
        (p->n_steps == 0 || p->steps[at++].kind != ASSAY_STEP_TO_F32))
        return false;
    s = p->steps + take_floats(c, p, at);
    if (s == end || s->kind != ASSAY_STEP_FROUND ||
        s->round != ASSAY_ROUND_HALF_EVEN)
        return false;
    s++;
    if (s < end && s->kind == ASSAY_STEP_ADD_ZP) {
        if (s->n != 1 || s->a[0] < -1024 || s->a[0] > 1024)
            return false;
        c->zp = (int32_t)s->a[0];
        s++;
    }
    c->lo = INT32_MIN;
    c->hi = INT32_MAX;
    if (s < end && s->kind == ASSAY_STEP_CLAMP) {
        if (s->n != 1 || s->a[0] < -1024 || s->b[0] > 1024 || s->a[0] > s->b[0])
            return false;
        c->lo = (int32_t)s->a[0];
        c->hi = (int32_t)s->b[0];
        s++;
    }
    return s == end;
}

bool assay_chain_shift(struct assay_chain *c, const struct assay_program *p,
                       enum assay_dtype dtype, int64_t low, int64_t high)
{
    const struct assay_step *s = p->steps, *end = s + p->n_steps;

    memset(c, 0, sizeof(*c));
    if (!is_8bit(dtype) || low < INT32_MIN || high > INT32_MAX || s == end ||
        s->kind != ASSAY_STEP_SHR || s->n != 1 || s->a[0] < 1 || s->a[0] > 31)
        return false;
    if (s->round != ASSAY_ROUND_HALF_UP && s->round != ASSAY_ROUND_HALF_AWAY)
        return false;
    c->shifts = true;
    c->right = -(int32_t)s->a[0];
    c->away = s->round == ASSAY_ROUND_HALF_AWAY ? -1 : 0;
    s++;
    /* What saturates at 16 bits lies beyond the clamp that must follow. */
    if (s < end && s->kind == ASSAY_STEP_SAT && s->bits == 16)
        s++;
    if (s < end && s->kind == ASSAY_STEP_ADD_ZP) {
        if (s->n != 1 || s->a[0] < -1024 || s->a[0] > 1024)
            return false;
        c->zp = (int32_t)s->a[0];
        s++;
    }
    if (s < end && s->kind == ASSAY_STEP_SAT && s->bits == 16)
        s++;
    if (s + 1 != end || s->kind != ASSAY_STEP_CLAMP || s->n != 1 ||
        s->a[0] < -1024 || s->b[0] > 1024 || s->a[0] > s->b[0])
        return false;
    c->lo = (int32_t)s->a[0];
    c->hi = (int32_t)s->b[0];
    return true;
}
