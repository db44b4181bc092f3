/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"
#include "lib/engine/plan.h"
#include "tests/support/slices.h"

static void need(int ok, const char *text, const struct assay_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", text, err->text);
    abort();
}

int edits_apply(const struct assay_slice *s, uint32_t layer, const char *text,
                struct assay_slice **out)
{
    struct assay_err err = {0};
    struct assay_kernel_table table;
    struct assay_plan *plan;
    struct assay_edit e;
    int rc;

    need(assay_edit_parse(&e, text, &err) == 0, text, &err);
    need(assay_slice_copy(out, s, &err) == 0, text, &err);
    rc = assay_edit_apply(*out, &layer, &e, &err);
    need(rc >= 0, text, &err);
    if (rc == 0) {
        assay_kernel_table_init(&table, 0);
        need(assay_plan_new(&plan, *out, &table, NULL, &err) == 0, text, &err);
        assay_plan_free(plan);
        return 0;
    }
    need((*out)->n_layers == s->n_layers, text, &err);
    assay_slice_free(*out);
    *out = NULL;
    return rc;
}

void edits_run(const struct assay_slice *s, const void *const *x, uint32_t n,
               void *out, size_t bytes)
{
    struct assay_err err = {0};

    need(assay_once(s, 0, x, n, out, bytes, &err) == 0, "run", &err);
}

void edits_give(const struct assay_slice *s, const char *text,
                const void *const *x, uint32_t n, void *out, size_t bytes)
{
    struct assay_err none = {.text = "does not apply"};
    struct assay_slice *edited;

    need(edits_apply(s, 0, text, &edited) == 0, text, &none);
    edits_run(edited, x, n, out, bytes);
    assay_slice_free(edited);
}

/* ---- numbers ----------------------------------------------------------- */

static uint64_t seed = 20240607;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

void edits_random(void *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = (uint8_t)(next() >> 32);
}

int64_t edits_between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(next() % (uint64_t)(hi - lo + 1));
}

int64_t edits_load(enum assay_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case ASSAY_S8: return ((const int8_t *)x)[i];
    case ASSAY_U8: return ((const uint8_t *)x)[i];
    default: return ((const int16_t *)x)[i];
    }
}

/* ---- convolution ------------------------------------------------------- */

int64_t edits_out_h(const struct edits_conv *c)
{
    return (c->h + c->top + c->bottom - (c->kh - 1) * c->dilation_h - 1) /
               c->stride_h +
           1;
}

int64_t edits_out_w(const struct edits_conv *c)
{
    return (c->w + c->left + c->right - (c->kw - 1) * c->dilation_w - 1) /
               c->stride_w +
           1;
}

struct assay_slice *edits_conv_slice(const struct edits_conv *c,
                                     const int8_t *weights)
{
    const struct slices_operand in[] = {
        {c->dtype, 4, {c->n, c->h, c->w, c->c}, NULL},
        {ASSAY_S8, 4, {c->oc, c->kh, c->kw, c->c / c->groups}, weights},
    };
    const struct slices_operand out = {
        c->dtype == ASSAY_S16 ? ASSAY_S64 : ASSAY_S32,
        4,
        {c->n, edits_out_h(c), edits_out_w(c), c->oc},
        NULL};
    struct assay_slice *s = slices_one(ASSAY_OP_CONV2D, 2, in, out);

    slices_quant(s, 0, 0.5f, c->zero);
    s->layers[0].p.conv2d = (struct assay_conv2d_params){
        .stride_h = (int32_t)c->stride_h,
        .stride_w = (int32_t)c->stride_w,
        .dilation_h = (int32_t)c->dilation_h,
        .dilation_w = (int32_t)c->dilation_w,
        .pad_top = (int32_t)c->top,
        .pad_left = (int32_t)c->left,
        .pad_bottom = (int32_t)c->bottom,
        .pad_right = (int32_t)c->right,
        .groups = (int32_t)c->groups,
    };
    return s;
}

int64_t edits_inside(const struct edits_conv *c, const void *x, int64_t n,
                     int64_t iy, int64_t ix, int64_t channel, const void *self)
{
    (void)self;
    if (iy < 0 || iy >= c->h || ix < 0 || ix >= c->w)
        return 0;
    return edits_load(c->dtype, x,
                      ((n * c->h + iy) * c->w + ix) * c->c + channel) -
           c->zero;
}

static int64_t sum_at(const struct edits_conv *c, const void *x,
                      const int8_t *w, edits_pixel *pixel, const void *self,
                      const int64_t at[4])
{
    int64_t depth = c->c / c->groups, o = at[3], sum = 0;
    int64_t first = o / (c->oc / c->groups) * depth;

    for (int64_t ky = 0; ky < c->kh; ky++)
        for (int64_t kx = 0; kx < c->kw; kx++)
            for (int64_t i = 0; i < depth; i++)
                sum += w[((o * c->kh + ky) * c->kw + kx) * depth + i] *
                       pixel(c, x, at[0],
                             at[1] * c->stride_h - c->top + ky * c->dilation_h,
                             at[2] * c->stride_w - c->left + kx * c->dilation_w,
                             first + i, self);
    return sum;
}

void edits_sums(const struct edits_conv *c, const void *x, const int8_t *w,
                edits_pixel *pixel, const void *self, int64_t *out)
{
    int64_t at[4];

    for (at[0] = 0; at[0] < c->n; at[0]++)
        for (at[1] = 0; at[1] < edits_out_h(c); at[1]++)
            for (at[2] = 0; at[2] < edits_out_w(c); at[2]++)
                for (at[3] = 0; at[3] < c->oc; at[3]++)
                    *out++ = sum_at(c, x, w, pixel, self, at);
}
