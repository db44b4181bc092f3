/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial sums of a convolution or gemm. Bounds from the weights and the range
 * of this input settle most channels; only the others are added up, the
 * elements with the largest sums first, until something leaves.
 */
#include "lib/engine/probe_private.h"
#include "lib/engine/products.h"

#define PRODUCT_WORK 16 /* about instructions */
#define WEIGHT_WORK 24  /* of its part in the bounds */
#define INPUT_WORK 4

/* Bit s of a set: enum assay_probe_sum s. */
#define BIT(s) (1u << (s))

struct running {
    struct assay_probe_ctx *c;
    struct assay_products v;
    const void *x;
    int64_t lo, hi;   /* of what is multiplied, padding included */
    unsigned left;    /* sums that have left their range */
    unsigned unknown; /* the limit came first */
};

/* An interval that only grows. */
struct ends {
    int64_t lo, hi;
};

static bool leaves(const struct ends *e, unsigned bits)
{
    int64_t most = (int64_t)((1ull << (bits - 1)) - 1);

    return e->lo < -most - 1 || e->hi > most;
}

static void add(struct ends *e, const struct running *r, int64_t w)
{
    int64_t a = w * r->lo, b = w * r->hi;

    e->lo += a < b ? a : b;
    e->hi += a < b ? b : a;
}

/* Which sums of output channel o may leave, for inputs in lo..hi. */
static unsigned may_leave(const struct running *r, int64_t o)
{
    struct ends all = {0, 0}, pair = {0, 0};
    unsigned out = 0;

    /* Sums begin with nothing: the ends of every prefix lie within those of
     * the whole once 0 is among the factors. */
    struct running wide = *r;
    wide.lo = r->lo < 0 ? r->lo : 0;
    wide.hi = r->hi > 0 ? r->hi : 0;
    for (int64_t k = 0; k < r->v.per_element; k++) {
        int64_t w = assay_product_weight(&r->v, o, k);

        add(&all, &wide, w);
        if (k % 2 == 0)
            pair = (struct ends){0, 0};
        add(&pair, r, w);
        if (leaves(&pair, 16) && k % 2 == 1)
            out |= BIT(ASSAY_PROBE_PAIRS_16);
    }
    out |= leaves(&all, 16) ? BIT(ASSAY_PROBE_RUNNING_16) : 0u;
    out |= leaves(&all, 32) ? BIT(ASSAY_PROBE_RUNNING_32) : 0u;
    return out;
}

/* Adds one element up; false: the limit came. */
static bool add_up(struct running *r, size_t element)
{
    uint64_t work = (uint64_t)r->v.per_element * PRODUCT_WORK;
    struct ends all = {0, 0}, pair = {0, 0};
    int64_t sum = 0, one = 0;
    struct assay_product q;

    if (work > r->c->limits.work - r->c->p->work)
        return false;
    r->c->p->work += work;
    for (assay_product_first(&q, &r->v, r->x, element);
         assay_product_next(&q);) {
        int64_t product = q.x * q.w;

        sum += product;
        all.lo = sum < all.lo ? sum : all.lo;
        all.hi = sum > all.hi ? sum : all.hi;
        if (q.k % 2 == 0) {
            one = product;
            continue;
        }
        one += product;
        pair.lo = one < pair.lo ? one : pair.lo;
        pair.hi = one > pair.hi ? one : pair.hi;
    }
    r->left |= leaves(&all, 16) ? BIT(ASSAY_PROBE_RUNNING_16) : 0u;
    r->left |= leaves(&all, 32) ? BIT(ASSAY_PROBE_RUNNING_32) : 0u;
    r->left |= leaves(&pair, 16) ? BIT(ASSAY_PROBE_PAIRS_16) : 0u;
    return true;
}

static void add_up_channel(struct running *r, int64_t o, unsigned may)
{
    for (size_t e = (size_t)o; e < r->c->n; e += (size_t)r->v.oc) {
        if ((may & ~r->left) == 0)
            return;
        if (!add_up(r, e)) {
            r->unknown |= may;
            return;
        }
    }
}

/* Output positions whose window reaches beyond the image. */
static uint64_t windows_outside(const struct assay_products *v, int64_t images)
{
    const struct assay_conv2d_params *p = &v->p;
    uint64_t n = 0;

    for (int64_t y = 0; y < v->oh; y++)
        for (int64_t x = 0; x < v->ow; x++) {
            int64_t top = y * p->stride_h - p->pad_top;
            int64_t left = x * p->stride_w - p->pad_left;

            n += top < 0 || left < 0 ||
                 top + (v->kh - 1) * p->dilation_h >= v->h ||
                 left + (v->kw - 1) * p->dilation_w >= v->width;
        }
    return n * (uint64_t)images;
}

static void padding(struct running *r)
{
    const struct assay_conv2d_params *p = &r->v.p;
    struct assay_probe *to = r->c->p;

    if (p->pad_top == 0 && p->pad_left == 0 && p->pad_bottom == 0 &&
        p->pad_right == 0)
        return;
    to->facts |= 1u << ASSAY_PROBE_PADDING;
    to->fact[ASSAY_PROBE_PADDING] = windows_outside(&r->v, r->v.x->dims[0]);
    if (to->fact[ASSAY_PROBE_PADDING] > 0) {
        r->lo = r->v.x_zero < r->lo ? r->v.x_zero : r->lo;
        r->hi = r->v.x_zero > r->hi ? r->v.x_zero : r->hi;
    }
}

static void range_of_input(struct running *r, size_t n)
{
    r->lo = INT64_MAX;
    r->hi = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        int64_t x = assay_product_value(r->v.x->dtype, r->x, i);

        r->lo = x < r->lo ? x : r->lo;
        r->hi = x > r->hi ? x : r->hi;
    }
}

void assay_probe_running(struct assay_probe_ctx *c, size_t smallest,
                         size_t largest)
{
    struct running r = {.c = c, .x = assay_probe_bytes(c, c->l->inputs[0])};
    size_t n, bytes;
    uint64_t work;

    if (!assay_products_open(&r.v, c->one, 0) ||
        assay_tensor_count(c->x, &n, &bytes, NULL) < 0)
        return;
    range_of_input(&r, n);
    padding(&r);
    work = n * INPUT_WORK +
           (uint64_t)r.v.per_element * (uint64_t)r.v.oc * WEIGHT_WORK;
    if (work > c->limits.work - c->p->work)
        return;
    c->p->work += work;
    /* The likeliest first; what the limit forbids is found out below. */
    if (add_up(&r, largest) && smallest != largest)
        (void)add_up(&r, smallest);
    for (int64_t o = 0; o < r.v.oc; o++)
        add_up_channel(&r, o, may_leave(&r, o));
    for (unsigned s = 0; s < ASSAY_PROBE_SUMS; s++)
        c->p->sums[s] = r.left & BIT(s)      ? ASSAY_PROBE_LEAVES
                        : r.unknown & BIT(s) ? ASSAY_PROBE_UNKNOWN
                                             : ASSAY_PROBE_FITS;
}
