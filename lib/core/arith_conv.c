/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and gemm: accumulator to output (docs/numerics.md). */
#include "lib/core/arith_build.h"

#include <string.h>

/* Scales of the accumulator, Sx * Sw[o], and of the output step. */
struct scales {
    uint32_t n;
    float *product32; /* Sx (x) Sw, binary32 */
    float *scale32;   /* product32 (/) Sy */
    double *product64;
    double *scale64;
};

static int check_weights(const struct assay_tensor *w, struct assay_err *err)
{
    const char *name = w->name ? w->name : "";
    if (w->quant.n == 0 || !w->quant.scale || !w->quant.zero_point)
        return assay_fail(err, ASSAY_EFORMAT,
                          "weights '%s' have no scale and zero point", name);
    if (w->rank == 0 || w->dims[0] < 1 ||
        (w->quant.n != 1 && (int64_t)w->quant.n != w->dims[0]))
        return assay_fail(err, ASSAY_EFORMAT,
                          "weights '%s' have %u scales: expected 1 or one for "
                          "each of %lld output channels",
                          name, (unsigned)w->quant.n,
                          (long long)(w->rank ? w->dims[0] : 0));
    for (uint32_t i = 0; i < w->quant.n; i++) {
        int rc = assay_arith_check_scale(w, (double)w->quant.scale[i], err);
        if (rc)
            return rc;
    }
    return 0;
}

static int find_scales(struct assay_arena *arena, struct scales *k, float sx,
                       const struct assay_quant *w, float sy,
                       struct assay_err *err)
{
    uint32_t n = w->n;
    k->n = n;
    k->product32 = assay_arena_array(arena, n, sizeof(float));
    k->scale32 = assay_arena_array(arena, n, sizeof(float));
    k->product64 = assay_arena_array(arena, n, sizeof(double));
    k->scale64 = assay_arena_array(arena, n, sizeof(double));
    if (!k->product32 || !k->scale32 || !k->product64 || !k->scale64)
        return assay_fail(err, ASSAY_EMEMORY,
                          "out of memory while a program was built");
    for (uint32_t i = 0; i < n; i++) {
        k->product32[i] = sx * w->scale[i];
        k->scale32[i] = k->product32[i] / sy;
        k->product64[i] = (double)sx * (double)w->scale[i];
        k->scale64[i] = k->product64[i] / (double)sy;
    }
    return 0;
}

/* A float output takes the scale of the accumulator and no zero point. */
static int build_float_output(struct assay_builder *b, const char *arith,
                              const struct scales *k)
{
    if (strcmp(arith, "fp32_rne") != 0) {
        assay_build_fail(b, ASSAY_EUNSUPPORTED,
                         "arithmetic '%s' has no float output: expected "
                         "'fp32_rne'",
                         arith);
        return b->code;
    }
    assay_build_plain(b, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    assay_build_f32s(b, ASSAY_STEP_FMUL, k->n, k->product32);
    return b->code;
}

int assay_arith_conv(struct assay_slice *s, struct assay_layer *l,
                     const char *arith, struct assay_err *err)
{
    if (l->n_inputs < 2)
        return assay_fail(err, ASSAY_EFORMAT,
                          "layer has %u inputs: expected data and weights",
                          (unsigned)l->n_inputs);
    const struct assay_tensor *w = &s->tensors[l->inputs[1]];
    const struct assay_tensor *out = &s->tensors[l->output];
    struct assay_uniform x, y = {.scale = 1.0f};
    struct assay_builder b;
    struct scales k = {0};
    bool to_float = out->dtype == ASSAY_F32 && out->quant.n == 0;
    int rc = assay_arith_uniform(&s->tensors[l->inputs[0]], &x, err);
    if (!rc)
        rc = check_weights(w, err);
    if (!rc && !to_float)
        rc = assay_arith_uniform(out, &y, err);
    if (!rc)
        rc = find_scales(s->arena, &k, x.scale, &w->quant, y.scale, err);
    if (rc)
        return rc;
    assay_build_begin(&b, s->arena, err);
    rc = to_float
             ? build_float_output(&b, arith, &k)
             : assay_arith_policy(&b, arith, k.n, k.scale32, k.scale64, &y);
    if (rc)
        return rc;
    return assay_build_end(&b, &l->out_program);
}
