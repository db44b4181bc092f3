/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/partial.h"

#include "kernels/requant.h"
#include "lib/engine/products.h"

static const struct assay_partial variants[] = {
    {.group = 2, .apart = 1, .is_signed = true},
    {.group = 2, .apart = 8, .is_signed = true},
    {.group = 4, .apart = 1, .is_signed = true},
    {.group = 0, .apart = 1, .is_signed = true},
    {.group = 2, .apart = 1, .centred = true},
    {.group = 4, .apart = 1, .centred = true},
    {.group = 2, .apart = 1, .saturates = true},
    {.group = 2, .apart = 2, .is_signed = true},
};

bool assay_partial_variant(uint32_t i, struct assay_partial *out)
{
    if (i >= sizeof(variants) / sizeof(variants[0]))
        return false;
    *out = variants[i];
    return true;
}

/* The layer's products, as this way of summing takes them. */
struct view {
    struct assay_products v;
    int64_t x_less; /* subtracted from x */
};

static bool open_view(struct view *v, const struct assay_slice *s,
                      uint32_t layer, const struct assay_partial *p)
{
    if (!assay_products_open(&v->v, s, layer) ||
        assay_dtype_bytes(v->v.x->dtype) != 1)
        return false;
    v->x_less = p->centred                                  ? v->v.x_zero
                : p->is_signed && v->v.x->dtype == ASSAY_U8 ? 128
                                                            : 0;
    return true;
}

/* What is subtracted from the weights of output channel o. */
static int64_t w_less(const struct view *v, const struct assay_partial *p,
                      int64_t o)
{
    return p->centred ? assay_products_w_zero(&v->v, o)
           : p->is_signed && v->v.w->dtype == ASSAY_U8 ? 128
                                                       : 0;
}

/* Product k is in sum *sum; how many sums there are. */
static int64_t sum_of(const struct assay_partial *p, int64_t k)
{
    int64_t block = (int64_t)p->group * p->apart;

    return p->group == 0 ? 0 : k / block * p->apart + k % block % p->apart;
}

/* ---- can it? --------------------------------------------------------------- */

/* Ends of the 16-bit sums of output channel o that begin in one block, for the
 * inputs that are worst. */
static bool channel_leaves(const struct view *v, const struct assay_partial *p,
                           int64_t o, int64_t lo, int64_t hi)
{
    int64_t n = v->v.per_element, less = w_less(v, p, o);
    int64_t step = p->group == 0 ? n : (int64_t)p->group * p->apart;

    for (int64_t from = 0; from < n; from += step)
        for (int64_t lane = 0; lane < p->apart; lane++) {
            int64_t least = 0, most = 0;

            for (int64_t k = from + lane; k < n && k < from + step;
                 k += p->apart) {
                int64_t w = assay_product_weight(&v->v, o, k) - less;

                least += w > 0 ? w * lo : w * hi;
                most += w > 0 ? w * hi : w * lo;
            }
            if (least < INT16_MIN || most > INT16_MAX)
                return true;
        }
    return false;
}

bool assay_partial_can_leave(const struct assay_slice *s, uint32_t layer,
                             const struct assay_partial *p)
{
    struct view v;
    int64_t lo, hi;

    if (!open_view(&v, s, layer, p))
        return false;
    assay_dtype_range(v.v.x->dtype, &lo, &hi);
    lo -= v.x_less;
    hi -= v.x_less;
    for (int64_t o = 0; o < v.v.oc; o++)
        if (channel_leaves(&v, p, o, lo, hi))
            return true;
    return false;
}

/* ---- how much -------------------------------------------------------------- */

/* Sums that are open at once: lanes of a block. */
#define LANES 16

struct sums {
    const struct assay_partial *p;
    int64_t open[LANES], at; /* `at`: sum of the block's first lane */
    int64_t error;
};

static void flush(struct sums *s)
{
    for (uint32_t i = 0; i < s->p->apart; i++) {
        int64_t v = s->open[i];

        s->error +=
            (s->p->saturates ? assay_sat(v, 16) : assay_wrap(v, 16)) - v;
        s->open[i] = 0;
    }
}

static void add_product(struct sums *s, int64_t k, int64_t product)
{
    int64_t sum = sum_of(s->p, k);

    if (sum / s->p->apart != s->at) {
        flush(s);
        s->at = sum / s->p->apart;
    }
    s->open[sum % s->p->apart] += product;
}

static int64_t error_of(const struct view *v, const struct assay_partial *p,
                        const void *x, size_t element)
{
    int64_t less = w_less(v, p, (int64_t)element % v->v.oc);
    struct sums sums = {.p = p};
    struct assay_product q;

    for (assay_product_first(&q, &v->v, x, element); assay_product_next(&q);)
        add_product(&sums, q.k, (q.x - v->x_less) * (q.w - less));
    flush(&sums);
    return sums.error;
}

void assay_partial_errors(const struct assay_slice *s, uint32_t layer,
                          const struct assay_partial *p, const void *x,
                          size_t first, size_t n, int64_t *out)
{
    struct view v;

    if (!open_view(&v, s, layer, p) || p->apart > LANES)
        return;
    for (size_t i = 0; i < n; i++)
        out[i] = error_of(&v, p, x, first + i);
}
