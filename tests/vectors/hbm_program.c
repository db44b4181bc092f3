/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/hbm_program.h"

#include "lib/core/arith_build.h"

static const int64_t *widen(struct assay_builder *b, uint32_t n,
                            const int32_t *from)
{
    int64_t *to = assay_arena_array(b->arena, n, sizeof(*to));

    if (!to)
        assay_build_fail(b, ASSAY_EMEMORY, "out of memory for operands");
    for (uint32_t i = 0; to && i < n; i++)
        to[i] = from[i];
    return to;
}

int assay_vc_hbm_program(struct assay_arena *arena,
                         const struct assay_vc_hbm *o,
                         struct assay_program *out, struct assay_err *err)
{
    struct assay_builder b;
    const int64_t *bias, *pre, *scale, *post;
    struct assay_step add = {
        .kind = ASSAY_STEP_ADD, .add_mode = (uint8_t)o->bias_add, .n = o->n};

    assay_build_begin(&b, arena, err);
    bias = widen(&b, o->n, o->bias);
    pre = widen(&b, o->n, o->pre_shift);
    scale = widen(&b, o->n, o->scale);
    post = widen(&b, o->n, o->post_shift);
    if (b.code)
        return b.code;
    add.a = bias;
    assay_build_step(&b, &add);
    assay_build_shr(&b, o->n, pre, o->pre_round);
    if (o->mid_bits)
        assay_build_bits(&b, ASSAY_STEP_SAT, (uint8_t)o->mid_bits);
    assay_build_ints(&b, ASSAY_STEP_MUL, o->n, scale);
    assay_build_shr(&b, o->n, post, o->post_round);
    assay_build_int(&b, ASSAY_STEP_ADD_ZP, o->zp);
    assay_build_clamp(&b, o->qmin, o->qmax);
    return assay_build_end(&b, out);
}
