/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial sums of a convolution or gemm. Bounds from the weights and the range
 * of this input settle most channels; only the others are added up, the
 * elements with the largest sums first, until all has left that may.
 */
#include "lib/engine/probe_private.h"
#include "lib/engine/products.h"

#define GATHER_WORK 36 /* about instructions, of a product */
#define PRODUCT_WORK 14
#define ELEMENT_WORK 80
#define WEIGHT_WORK 24 /* of its part in the bounds */
#define INPUT_WORK 4

/* Bit s of a set: enum assay_probe_sum s. */
#define BIT(s) (1u << (s))

struct running {
    struct assay_probe_ctx *c;
    struct assay_products v;
    const void *x;
    int64_t lo, hi;  /* of what is multiplied, padding included */
    unsigned left;   /* sums that have left their range */
    int32_t *inputs; /* per_element, of one position; owned */
    uint8_t *may;    /* of each output channel: sums that may leave; owned */
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

static bool spend(struct running *r, uint64_t work)
{
    if (work > r->c->limits.work - r->c->p->work)
        return false;
    r->c->p->work += work;
    return true;
}

/* The inputs of all channels of a group at one position; false: the limit. */
static bool gather(struct running *r, size_t element)
{
    struct assay_product q;

    if (!spend(r, (uint64_t)r->v.per_element * GATHER_WORK + ELEMENT_WORK))
        return false;
    for (assay_product_first(&q, &r->v, r->x, element); assay_product_next(&q);)
        r->inputs[q.k] = (int32_t)q.x;
    return true;
}

static void grow(struct ends *e, int64_t v)
{
    e->lo = v < e->lo ? v : e->lo;
    e->hi = v > e->hi ? v : e->hi;
}

/* Weights of one output channel with the gathered inputs. */
static inline void add_products(const int32_t *x, const void *weights,
                                bool is_signed, int64_t n, struct ends *all,
                                struct ends *pair)
{
    const int8_t *s8 = weights;
    const uint8_t *u8 = weights;
    int64_t sum = 0;

    for (int64_t k = 0; k < n; k += 2) {
        int64_t a = x[k] * (is_signed ? s8[k] : u8[k]), b;

        sum += a;
        grow(all, sum);
        if (k + 1 == n)
            break;
        b = x[k + 1] * (is_signed ? s8[k + 1] : u8[k + 1]);
        sum += b;
        grow(all, sum);
        grow(pair, a + b);
    }
}

/* Adds one element up; false: the limit came. */
static bool add_up(struct running *r, int64_t o)
{
    const int8_t *w = (const int8_t *)r->v.w->data + o * r->v.per_element;
    struct ends all = {0, 0}, pair = {0, 0};

    if (!spend(r, (uint64_t)r->v.per_element * PRODUCT_WORK + ELEMENT_WORK))
        return false;
    if (r->v.w->dtype == ASSAY_S8)
        add_products(r->inputs, w, true, r->v.per_element, &all, &pair);
    else
        add_products(r->inputs, w, false, r->v.per_element, &all, &pair);
    r->left |= leaves(&all, 16) ? BIT(ASSAY_PROBE_RUNNING_16) : 0u;
    r->left |= leaves(&all, 32) ? BIT(ASSAY_PROBE_RUNNING_32) : 0u;
    r->left |= leaves(&pair, 16) ? BIT(ASSAY_PROBE_PAIRS_16) : 0u;
    return true;
}

static bool add_up_element(struct running *r, size_t element)
{
    return gather(r, element) && add_up(r, (int64_t)element % r->v.oc);
}

/* The channels of one group at one position; false: the limit came. */
static bool add_up_group(struct running *r, size_t position, int64_t group)
{
    int64_t each = r->v.oc / r->v.p.groups, first = group * each;
    bool gathered = false;

    for (int64_t o = first; o < first + each; o++) {
        if ((r->may[o] & ~r->left) == 0)
            continue;
        if (!gathered && !gather(r, position * (size_t)r->v.oc + (size_t)o))
            return false;
        gathered = true;
        if (!add_up(r, o))
            return false;
    }
    return true;
}

/* What is left open when all is added up, or the limit came. */
static unsigned add_up_all(struct running *r)
{
    size_t positions = r->c->n / (size_t)r->v.oc;
    unsigned may = 0;

    for (int64_t o = 0; o < r->v.oc; o++)
        may |= r->may[o] = (uint8_t)may_leave(r, o);
    for (size_t i = 0; i < positions && (may & ~r->left) != 0; i++)
        for (int64_t g = 0; g < r->v.p.groups; g++)
            if (!add_up_group(r, i, g))
                return may & ~r->left;
    return 0;
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

static void look(struct running *r, size_t smallest, size_t largest)
{
    unsigned unknown;

    /* The likeliest first; what the limit forbids is found out below. */
    if (add_up_element(r, largest) && smallest != largest)
        (void)add_up_element(r, smallest);
    unknown = add_up_all(r);
    for (unsigned s = 0; s < ASSAY_PROBE_SUMS; s++)
        r->c->p->sums[s] = r->left & BIT(s)   ? ASSAY_PROBE_LEAVES
                           : unknown & BIT(s) ? ASSAY_PROBE_UNKNOWN
                                              : ASSAY_PROBE_FITS;
}

void assay_probe_running(struct assay_probe_ctx *c, size_t smallest,
                         size_t largest)
{
    struct running r = {.c = c, .x = assay_probe_bytes(c, c->l->inputs[0])};
    size_t n, bytes;

    if (!assay_products_open(&r.v, c->one, 0) ||
        assay_tensor_count(c->x, &n, &bytes, NULL) < 0)
        return;
    range_of_input(&r, n);
    padding(&r);
    if (!spend(&r, n * INPUT_WORK + (uint64_t)r.v.per_element *
                                        (uint64_t)r.v.oc * WEIGHT_WORK))
        return;
    r.inputs = assay_calloc((size_t)r.v.per_element, sizeof(*r.inputs));
    r.may = assay_calloc((size_t)r.v.oc, sizeof(*r.may));
    if (r.inputs != NULL && r.may != NULL)
        look(&r, smallest, largest);
    assay_free(r.inputs);
    assay_free(r.may);
}
