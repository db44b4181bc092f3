/* SPDX-License-Identifier: Apache-2.0 */
/* The same places, the bytes of an element taken otherwise; or bytes that
 * belong to another tensor. */
#include <math.h>

#include "host-tools/cause/layout_private.h"

#define MOVES 6 /* layers through which a tensor is followed */

static uint64_t other_sign(uint64_t v, size_t width)
{
    return v ^ UINT64_C(1) << (8 * width - 1);
}

static uint64_t other_order(uint64_t v, size_t width)
{
    uint64_t out = 0;

    for (size_t i = 0; i < width; i++, v >>= 8)
        out = out << 8 | (v & 0xff);
    return out;
}

/* Are there at least two elements on each side of the sign bit? */
static bool both_signs(const struct assay_layout_ask *q)
{
    size_t set = 0;

    for (size_t i = 0; i < q->n; i++)
        set += assay_layout_value(q->ref, q->width, i) >> (8 * q->width - 1);
    return set >= 2 && q->n - set >= 2;
}

/* Is half the range its zero point, or may it be? Then a missing one moves all
 * elements of one side just so. */
static bool is_zero_point(const struct assay_layout_ask *q)
{
    const struct assay_quant *t = &q->t->quant;
    int64_t half = INT64_C(1) << (8 * q->width - 1);

    for (uint32_t i = 0; i < t->n; i++)
        if (t->zero_point[i] == half || t->zero_point[i] == -half)
            return true;
    return t->n == 0;
}

bool assay_layout_sign(struct assay_layout_ask *q, struct assay_layout *out)
{
    const struct assay_layout_map m = {.at = assay_layout_same_place,
                                       .value = other_sign};

    if (!assay_dtype_is_int(q->t->dtype) || !assay_layout_fits(q, &m, out) ||
        (!both_signs(q) && is_zero_point(q)))
        return false;
    out->kind = ASSAY_LAYOUT_SIGN;
    out->id = "U1";
    return true;
}

bool assay_layout_byte_order(struct assay_layout_ask *q,
                             struct assay_layout *out)
{
    const struct assay_layout_map m = {.at = assay_layout_same_place,
                                       .value = other_order};

    if (q->width < 2 || !assay_layout_fits(q, &m, out))
        return false;
    out->kind = ASSAY_LAYOUT_BYTE_ORDER;
    out->id = "U2";
    return true;
}

/* ---- another tensor ------------------------------------------------------ */

static bool is_tensor(const struct assay_slice *whole,
                      const void *const *values, uint32_t k,
                      const struct assay_layout_ask *q)
{
    size_t n, bytes;
    struct assay_err err = {0};

    return values[k] != NULL &&
           assay_tensor_count(&whole->tensors[k], &n, &bytes, &err) == 0 &&
           bytes == q->n * q->width && memcmp(values[k], q->got, bytes) == 0;
}

static bool is_t(const struct assay_slice *whole, uint32_t k,
                 const struct assay_layout_ask *q)
{
    const char *name = whole->tensors[k].name;

    return name != NULL && q->t->name != NULL && strcmp(name, q->t->name) == 0;
}

/* Is got an input of the layer that gives t, or what a reader of t gives? Then
 * something was left out, or is done here already. */
static bool is_next_to(const struct assay_slice *whole,
                       const void *const *values,
                       const struct assay_layout_ask *q)
{
    for (uint32_t i = 0; i < whole->n_layers; i++) {
        const struct assay_layer *l = &whole->layers[i];
        bool gives = is_t(whole, l->output, q);

        for (uint32_t k = 0; k < l->n_inputs; k++)
            if ((gives && is_tensor(whole, values, l->inputs[k], q)) ||
                (is_t(whole, l->inputs[k], q) &&
                 is_tensor(whole, values, l->output, q)))
                return true;
    }
    return false;
}

/* Does tensor k hold what stands in t, moved only, in so many layers? */
static bool is_moved(const struct assay_slice *whole, uint32_t k,
                     const struct assay_layout_ask *q, unsigned layers)
{
    if (is_t(whole, k, q))
        return true;
    for (uint32_t i = 0; i < whole->n_layers && layers > 0; i++) {
        const struct assay_layer *l = &whole->layers[i];

        if (l->output != k ||
            (l->op != ASSAY_OP_VIEW && l->op != ASSAY_OP_RESHAPE &&
             l->op != ASSAY_OP_GATHER && l->op != ASSAY_OP_CONCAT))
            continue;
        for (uint32_t n = 0; n < l->n_inputs; n++)
            if (is_moved(whole, l->inputs[n], q, layers - 1))
                return true;
    }
    return false;
}

bool assay_layout_other_output(struct assay_layout_ask *q,
                               const struct assay_slice *whole,
                               const void *const *values,
                               struct assay_layout *out)
{
    struct assay_layout_map m = {.at = assay_layout_same_place};
    int64_t found = -1;

    if (whole == NULL || values == NULL)
        return false;
    for (uint32_t k = 0; k < whole->n_tensors; k++) {
        if (whole->tensors[k].role == ASSAY_ROLE_CONSTANT ||
            !is_tensor(whole, values, k, q) || is_moved(whole, k, q, MOVES))
            continue;
        /* An output of the model rather than what only equals it. */
        if (found < 0 || whole->tensors[k].is_output) {
            found = k;
            if (whole->tensors[k].is_output)
                break;
        }
    }
    if (found < 0 || is_next_to(whole, values, q))
        return false;
    m.from = values[found];
    m.bits = log2((double)whole->n_tensors);
    /* Outputs of a model change places; of others, equal bytes may be chance
     * where they are few different ones. */
    m.repeats_count = whole->tensors[found].is_output;
    if (!assay_layout_fits(q, &m, out))
        return false;
    out->kind = ASSAY_LAYOUT_OTHER_OUTPUT;
    out->id = "L5";
    out->n[0] = found;
    return true;
}
