/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What model_info says of the compiled model's inputs and outputs against the
 * model's tensors; what hb_verifier compared.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/vendor/check.h"

static const char *side_name(const struct assay_model_info_tensor *t)
{
    static const char *const names[] = {"input", "output", "inner tensor"};

    return names[t->side];
}

static uint32_t squeeze(const int64_t *dims, uint32_t rank, int64_t *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] != 1)
            out[n++] = dims[i];
    return n;
}

static bool same_dims(const int64_t *a, uint32_t a_rank, const int64_t *b,
                      uint32_t b_rank)
{
    int64_t x[ASSAY_MAX_RANK], y[ASSAY_MAX_RANK];
    uint32_t n = squeeze(a, a_rank, x);

    return n == squeeze(b, b_rank, y) && memcmp(x, y, n * sizeof(*x)) == 0;
}

/* In the model's order, or with channels moved to the other end. */
static void check_shape(struct assay_checker *c, const char *file,
                        const struct assay_model_info_tensor *i,
                        const struct assay_tensor *t)
{
    int64_t d[ASSAY_MAX_RANK];
    char expected[160], found[160];

    assay_tensor_source_dims(t, d);
    if (i->rank == 0 || same_dims(i->valid, i->rank, d, t->rank))
        return;
    if (t->rank == 4) {
        const int64_t last[4] = {d[0], d[2], d[3], d[1]};
        const int64_t first[4] = {d[0], d[3], d[1], d[2]};

        if (same_dims(i->valid, i->rank, last, 4) ||
            same_dims(i->valid, i->rank, first, 4))
            return;
    }
    for (uint32_t k = 0; k < i->rank; k++)
        if (i->valid[k] < 0)
            return; /* dynamic */
    assay_vcheck_dims(d, t->rank, expected, sizeof(expected));
    assay_vcheck_dims(i->valid, i->rank, found, sizeof(found));
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "info-shape", file, i->name,
                     expected, found,
                     "%s '%.100s' of the compiled model is %s, tensor '%.100s' "
                     "is %s",
                     side_name(i), i->name, found, t->name, expected);
}

/* The integers in front of the Dequantize that gives t, or behind the
 * Quantize that reads it: a compiled model may lack either. */
static const struct assay_tensor *integers_of(const struct assay_checker *c,
                                              const struct assay_tensor *t)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];
        const struct assay_tensor *x, *y = &c->s->tensors[l->output];

        if (l->form == NULL || l->n_inputs == 0)
            continue;
        x = &c->s->tensors[l->inputs[0]];
        if (y == t && strstr(l->form, "dequantize") != NULL)
            return x;
        if (x == t && strcmp(l->form, "quantize") == 0)
            return y;
    }
    return NULL;
}

/* Which tensor the elements are: t, or its integers. */
static const struct assay_tensor *check_type(
    struct assay_checker *c, const char *file,
    const struct assay_model_info_tensor *i, const struct assay_tensor *t)
{
    const struct assay_tensor *other;
    const char *want = assay_dtype_name(t->dtype), *have;

    if (!i->has_dtype || i->dtype == t->dtype)
        return t;
    have = assay_dtype_name(i->dtype);
    if (assay_dtype_bytes(i->dtype) == 1 && assay_dtype_bytes(t->dtype) == 1 &&
        t->role == ASSAY_ROLE_INPUT)
        return t; /* an image's bytes: the runtime takes 128 away */
    other = t->dtype == ASSAY_F32 ? integers_of(c, t) : NULL;
    if (other != NULL && other->dtype == i->dtype) {
        assay_vcheck_add(c, ASSAY_HINT, "info-tail", file, i->name, want, have,
                         "%s '%.100s' is %s in the compiled model and %s here: "
                         "its %s was removed",
                         side_name(i), i->name, have, want,
                         i->side == ASSAY_INFO_INPUT ? "Quantize"
                                                     : "Dequantize");
        return other;
    }
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "info-dtype", file, i->name, want,
                     have,
                     "%s '%.100s' of the compiled model is %s, tensor '%.100s' "
                     "is %s",
                     side_name(i), i->name, have, t->name, want);
    return NULL;
}

/* Printed with 6 digits. */
static bool same_scale(double printed, float scale)
{
    return fabs(printed - (double)scale) <= 1e-5 * fabs((double)scale) + 1e-12;
}

static void check_scale(struct assay_checker *c, const char *file,
                        const struct assay_model_info_tensor *i,
                        const struct assay_tensor *t)
{
    const struct assay_quant *q = &t->quant;
    char expected[40], found[40];
    uint32_t at = 0;

    if (i->n_scales == 0 || q->n == 0 || !assay_dtype_is_int(t->dtype) ||
        (c->facts->scale_given != NULL &&
         !c->facts->scale_given[t - c->s->tensors]))
        return;
    if (i->n_scales != q->n && i->n_scales != 1 && q->n != 1) {
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "info-scale", file, i->name,
                         "", "",
                         "%s '%.100s' has %u scales in the compiled model, "
                         "tensor '%.100s' has %u",
                         side_name(i), i->name, i->n_scales, t->name, q->n);
        return;
    }
    while (at < i->n_scales &&
           same_scale(i->scales[at], q->scale[q->n == 1 ? 0 : at]))
        at++;
    if (at == i->n_scales)
        return;
    snprintf(expected, sizeof(expected), "%.6g",
             (double)q->scale[q->n == 1 ? 0 : at]);
    snprintf(found, sizeof(found), "%.6g", i->scales[at]);
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "info-scale", file, i->name,
                     expected, found,
                     "%s '%.100s' has scale %s in the compiled model (channel "
                     "%u), tensor '%.100s' has %s: an application that uses "
                     "either is wrong with the other",
                     side_name(i), i->name, found, at, t->name, expected);
}

static void check_info(struct assay_checker *c,
                       const struct assay_model_info *m)
{
    const char *first = NULL;
    uint32_t lost = 0;

    for (uint32_t k = 0; k < m->n; k++) {
        const struct assay_model_info_tensor *i = &m->v[k];
        bool moved;
        const struct assay_tensor *t =
            assay_vcheck_feature_tensor(c, i->name, &moved);

        if (t == NULL || t->role == ASSAY_ROLE_CONSTANT) {
            first = first == NULL ? i->name : first;
            lost += i->side != ASSAY_INFO_INNER;
            continue;
        }
        check_shape(c, m->file, i, t);
        t = check_type(c, m->file, i, t);
        if (t != NULL)
            check_scale(c, m->file, i, t);
    }
    if (lost > 0)
        assay_vcheck_add(c, ASSAY_HINT, "info-names", m->file, first, "", "",
                         "%u inputs and outputs of model_info have no tensor "
                         "of that name here, first '%.100s'",
                         lost, first);
}

/* ---- hb_verifier -------------------------------------------------------- */

static const char *counts_text(const struct assay_vendor_comparison *k,
                               char *out, size_t cap)
{
    int n = 0;

    out[0] = '\0';
    if (k->has_counts)
        n = snprintf(out, cap, " in %" PRIu64 " of %" PRIu64 " elements",
                     k->mismatch, k->total);
    if (k->has_max && n >= 0 && (size_t)n < cap)
        snprintf(out + n, cap - (size_t)n, ", by at most %.6g", k->max_abs);
    return out;
}

static void check_verifier(struct assay_checker *c,
                           const struct assay_vendor_verifier *r)
{
    const struct assay_vendor_comparison *passed = NULL;
    uint32_t n_passed = 0;
    char text[120];

    for (uint32_t i = 0; i < r->n; i++) {
        const struct assay_vendor_comparison *k = &r->v[i];

        if (k->passed > 0) {
            passed = k;
            n_passed++;
            continue;
        }
        assay_vcheck_add(c, ASSAY_WARNING, "verifier", r->file, k->pair,
                         "PASSED", "FAILED",
                         "hb_verifier: %.100s differ%s: compare the layers to "
                         "see where",
                         k->pair, counts_text(k, text, sizeof(text)));
    }
    if (passed != NULL && !r->all_nodes)
        assay_vcheck_add(
            c, ASSAY_HINT, "verifier", r->file, passed->pair, "", "PASSED",
            "hb_verifier compared final outputs only%s%.20s%s: %u "
            "comparisons passed, last '%.100s'; it says nothing "
            "of the layers",
            r->digits[0] != '\0' ? ", to " : "", r->digits,
            r->digits[0] != '\0' ? " digits" : "", n_passed, passed->pair);
    if (r->n == 0)
        assay_vcheck_add(c, ASSAY_WARNING, "verifier", r->file, "", "", "",
                         "hb_verifier compared nothing%s%.200s%s",
                         r->error[0] != '\0' ? ": it stopped with '" : "",
                         r->error, r->error[0] != '\0' ? "'" : "");
}

void assay_vcheck_board(struct assay_checker *c)
{
    for (uint32_t i = 0; i < c->v->n_infos; i++)
        check_info(c, &c->v->infos[i]);
    for (uint32_t i = 0; i < c->v->n_verifiers; i++)
        check_verifier(c, &c->v->verifiers[i]);
}
