/* SPDX-License-Identifier: Apache-2.0 */
/* Bias, sums of weights and scales of a layer, by output channel. */
#include <stdlib.h>

#include "host-tools/cause/fingerprint_private.h"

static const struct assay_tensor *constant_input(const struct assay_fp *f,
                                                 uint32_t k)
{
    const struct assay_tensor *t;

    if (f->v->layer == NULL || f->v->slice == NULL ||
        f->v->layer->n_inputs <= k)
        return NULL;
    t = &f->v->slice->tensors[f->v->layer->inputs[k]];
    return t->role == ASSAY_ROLE_CONSTANT && t->data != NULL ? t : NULL;
}

static size_t count(const struct assay_tensor *t)
{
    size_t n = 1;

    for (uint32_t a = 0; a < t->rank; a++)
        n *= (size_t)t->dims[a]; /* proved by the plan */
    return n;
}

static void find_bias(struct assay_fp_constants *k, struct assay_fp *f)
{
    const struct assay_layer *l = f->v->layer;
    const struct assay_tensor *t = constant_input(f, 2);

    if (t == NULL || t->dtype != ASSAY_S32 || count(t) != f->channels ||
        (l->op == ASSAY_OP_CONV2D && !l->p.conv2d.has_bias))
        return;
    k->bias = calloc(f->channels, sizeof(*k->bias));
    for (size_t c = 0; k->bias != NULL && c < f->channels; c++)
        k->bias[c] = assay_fp_integer(t->data, t->dtype, c);
    f->bias = k->bias;
}

/* Of weights that have one row an output channel, zero points taken off. */
static void find_sums(struct assay_fp_constants *k, struct assay_fp *f)
{
    const struct assay_tensor *t = constant_input(f, 1);
    size_t taps;

    if (t == NULL || !assay_dtype_is_int(t->dtype) || t->rank < 2 ||
        (size_t)t->dims[0] != f->channels)
        return;
    taps = count(t) / f->channels;
    k->sum_w = calloc(f->channels, sizeof(*k->sum_w));
    for (size_t c = 0; k->sum_w != NULL && c < f->channels; c++) {
        const struct assay_quant *q = &t->quant;
        int64_t zero =
            q->n == 0 ? 0 : q->zero_point[q->n == f->channels ? c : 0];

        for (size_t i = 0; i < taps; i++)
            k->sum_w[c] +=
                assay_fp_integer(t->data, t->dtype, c * taps + i) - zero;
    }
    f->sum_w = k->sum_w;
}

static void find_units(struct assay_fp_constants *k, struct assay_fp *f)
{
    const struct assay_layer *l = f->v->layer;
    const struct assay_quant *x, *w, *y = &f->v->t->quant;

    if (l == NULL || f->v->slice == NULL || l->n_inputs < 2)
        return;
    x = &f->v->slice->tensors[l->inputs[0]].quant;
    w = &f->v->slice->tensors[l->inputs[1]].quant;
    if (x->n != 1 || y->n != 1 || (w->n != 1 && w->n != f->channels))
        return;
    k->unit = calloc(f->channels, sizeof(*k->unit));
    for (size_t c = 0; k->unit != NULL && c < f->channels; c++)
        k->unit[c] = (double)x->scale[0] * (double)w->scale[w->n == 1 ? 0 : c] /
                     (double)y->scale[0];
    f->unit = k->unit;
}

void assay_fp_constants_open(struct assay_fp_constants *k, struct assay_fp *f)
{
    const struct assay_layer *l = f->v->layer;

    *k = (struct assay_fp_constants){0};
    if (l == NULL || (l->op != ASSAY_OP_CONV2D && l->op != ASSAY_OP_GEMM &&
                      l->op != ASSAY_OP_CONV_TRANSPOSE2D))
        return;
    if (f->bias == NULL)
        find_bias(k, f);
    if (f->sum_w == NULL)
        find_sums(k, f);
    find_units(k, f);
}

void assay_fp_constants_close(struct assay_fp_constants *k)
{
    free(k->bias);
    free(k->sum_w);
    free(k->unit);
}
