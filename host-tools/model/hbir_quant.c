/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of quantInfo, and quotients of scales. */
#include <math.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

static const struct {
    const char *name, *field;
    int64_t lo, hi;
} columns[ASSAY_HBIR_COLUMNS] = {
    {"bias", "bias", -((int64_t)1 << 46), (int64_t)1 << 46},
    {"suminScale", "second_scale", INT16_MIN, UINT16_MAX},
    {"suminRShift", "second_shift", 0, 31},
    {"preRShift", "pre_shift", 0, 31},
    {"scale", "scale", 0, UINT16_MAX},
    {"postRShift", "post_shift", 0, 62},
};

static int bad_shape(struct assay_hbir *im, const struct assay_hbir_const *k,
                     int64_t channels)
{
    char found[160];

    return assay_hbir_fail(
        im, ASSAY_EFORMAT,
        "quantInfo '%.100s': expected 1x6 or %lldx6, found "
        "%s",
        k->name, (long long)channels,
        assay_hbir_shape_text(found, k->dtype, k->rank, k->dims));
}

static int read_column(struct assay_hbir *im, const struct assay_hbir_const *k,
                       int c, struct assay_hbir_list *out)
{
    uint32_t rows = (uint32_t)k->dims[0];
    int64_t *v = assay_arena_array(im->work, rows, sizeof(*v));
    bool equal = true;

    if (!v)
        return assay_hbir_no_memory(im);
    for (uint32_t r = 0; r < rows; r++) {
        v[r] =
            assay_hbir_const_int(k, (size_t)r * ASSAY_HBIR_COLUMNS + (size_t)c);
        equal = equal && v[r] == v[0];
        if (v[r] < columns[c].lo || v[r] > columns[c].hi)
            return assay_hbir_fail(
                im, ASSAY_ERANGE,
                "quantInfo '%.100s': row %u, column %d (%s) is %lld, expected "
                "%lld to %lld",
                k->name, r, c, columns[c].name, (long long)v[r],
                (long long)columns[c].lo, (long long)columns[c].hi);
    }
    *out = (struct assay_hbir_list){equal ? 1 : rows, v};
    return 0;
}

/* A bias has a number for each channel, which makes it a tensor. */
static int spread_bias(struct assay_hbir *im, int64_t channels,
                       struct assay_hbir_list *bias)
{
    int64_t *v;

    if (bias->n != 1 || channels == 1)
        return 0;
    if (bias->v[0] == 0)
        return 0;
    v = assay_arena_array(im->work, (size_t)channels, sizeof(*v));
    if (!v)
        return assay_hbir_no_memory(im);
    for (int64_t i = 0; i < channels; i++)
        v[i] = bias->v[0];
    *bias = (struct assay_hbir_list){(uint32_t)channels, v};
    return 0;
}

int assay_hbir_quant_info(struct assay_hbir *im, uint32_t i, int64_t channels,
                          struct assay_hbir_quant *q)
{
    const struct assay_hbir_const *k;
    int rc = assay_hbir_const(im, i, &k);

    memset(q, 0, sizeof(*q));
    if (rc)
        return rc;
    if (i >= im->op->n_operands)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "operand %u (quantInfo) is missing", i);
    if (!k)
        return assay_hbir_skip(im, "quantInfo '%.100s' is not constant",
                               im->op->operands[i]->name);
    if (k->dtype == ASSAY_F32)
        return assay_hbir_skip(im, "quantInfo '%.100s' is of floats", k->name);
    if (k->rank != 2 || k->dims[1] != ASSAY_HBIR_COLUMNS ||
        (k->dims[0] != 1 && k->dims[0] != channels))
        return bad_shape(im, k, channels);
    for (int c = 0; !rc && c < ASSAY_HBIR_COLUMNS; c++)
        rc = read_column(im, k, c, &q->column[c]);
    if (!rc)
        rc = spread_bias(im, channels, &q->column[ASSAY_HBIR_BIAS]);
    if (rc)
        return rc;
    q->plain = true;
    for (int c = ASSAY_HBIR_PRE; c <= ASSAY_HBIR_POST; c++)
        q->plain = q->plain && q->column[c].n == 1 &&
                   q->column[c].v[0] == (c == ASSAY_HBIR_SCALE);
    return 0;
}

int assay_hbir_quant_fields(struct assay_hbir *im, struct assay_layer *l,
                            const struct assay_hbir_quant *q, bool second)
{
    int rc = 0;

    for (int c = 0; !rc && c < ASSAY_HBIR_COLUMNS; c++) {
        const struct assay_hbir_list *list = &q->column[c];
        bool of_second =
            c == ASSAY_HBIR_SUMIN_SCALE || c == ASSAY_HBIR_SUMIN_SHIFT;

        if (of_second && !second)
            continue;
        if (c == ASSAY_HBIR_BIAS && list->n == 1 && list->v[0] == 0)
            continue;
        if (c >= ASSAY_HBIR_PRE && q->plain && l->form &&
            strstr(l->form, "_tail"))
            continue;
        rc = assay_hbir_field(im, l, columns[c].field, list->n, list->v);
    }
    return rc;
}

int assay_hbir_no_bias(struct assay_hbir *im, const struct assay_hbir_quant *q)
{
    const struct assay_hbir_list *bias = &q->column[ASSAY_HBIR_BIAS];

    if (bias->n == 0 || (bias->n == 1 && bias->v[0] == 0))
        return 0;
    return assay_hbir_skip(im, "quantInfo with a bias, which is not known "
                               "here");
}

int assay_hbir_check_real(struct assay_hbir *im, double real)
{
    if (real >= ldexp(1, -48) && real < ldexp(1, 15))
        return 0;
    return assay_hbir_skip(im,
                           "the quotient of the scales is %g: no multiplier "
                           "of 15 bits with a shift of 0 to 62 stands for it",
                           real);
}

int assay_hbir_real(struct assay_hbir *im, struct assay_layer *l, double real)
{
    int64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    return assay_hbir_field_one(im, l, "real", bits);
}

double assay_hbir_ratio(const struct assay_hbir *im, uint32_t x, uint32_t y)
{
    const struct assay_quant *a = &im->s->tensors[x].quant;
    const struct assay_quant *b = &im->s->tensors[y].quant;

    if (a->n != 1 || b->n != 1)
        return 0;
    return (double)a->scale[0] / (double)b->scale[0];
}
