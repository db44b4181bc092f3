/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/partial.h"

#include "host-tools/cause/edit_program.h"
#include "kernels/requant.h"

static const struct assay_partial variants[] = {
    {.group = 2, .apart = 1, .is_signed = true},
    {.group = 2, .apart = 8, .is_signed = true},
    {.group = 4, .apart = 1, .is_signed = true},
    {.group = 0, .apart = 1, .is_signed = true},
    {.group = 2, .apart = 1, .centred = true},
    {.group = 4, .apart = 1, .centred = true},
    {.group = 2, .apart = 1, .saturates = true},
};

bool assay_partial_variant(uint32_t i, struct assay_partial *out)
{
    if (i >= sizeof(variants) / sizeof(variants[0]))
        return false;
    *out = variants[i];
    return true;
}

/* What the loops need of a layer. */
struct view {
    const struct assay_tensor *x, *w;
    struct assay_conv2d_params p;
    int64_t h, width, c; /* input */
    int64_t oh, ow, oc;  /* output */
    int64_t kh, kw, ic;  /* a channel's weights */
    int64_t x_less;      /* subtracted from x, and what padding then is */
    int64_t padding;
};

static int64_t zero_of(const struct assay_tensor *t, uint32_t c)
{
    return t->quant.n == 0 ? 0 : t->quant.zero_point[t->quant.n > 1 ? c : 0];
}

static bool open_view(struct view *v, const struct assay_slice *s,
                      uint32_t layer, const struct assay_partial *p)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_tensor *y = &s->tensors[l->output], *w;

    if (!assay_edit_is_sum(s, layer) || l->op == ASSAY_OP_CONV_TRANSPOSE2D)
        return false;
    w = &s->tensors[l->inputs[1]];
    if (assay_dtype_bytes(x->dtype) != 1 || assay_dtype_bytes(w->dtype) != 1)
        return false;
    *v = (struct view){.x = x, .w = w, .kh = 1, .kw = 1, .h = 1, .oh = 1};
    if (l->op == ASSAY_OP_CONV2D) {
        v->p = l->p.conv2d;
        v->h = x->dims[1];
        v->width = x->dims[2];
        v->c = x->dims[3];
        v->oh = y->dims[1];
        v->ow = y->dims[2];
        v->kh = w->dims[1];
        v->kw = w->dims[2];
        v->ic = w->dims[3];
    } else { /* one row of M pixels */
        v->p = (struct assay_conv2d_params){
            .stride_h = 1, .stride_w = 1, .groups = 1};
        v->c = v->ic = w->dims[1];
        v->width = 1;
        for (uint32_t a = 0; a + 1 < x->rank; a++)
            v->width *= x->dims[a];
        v->ow = v->width;
    }
    v->oc = w->dims[0];
    v->x_less = p->centred                             ? zero_of(x, 0)
                : p->is_signed && x->dtype == ASSAY_U8 ? 128
                                                       : 0;
    v->padding = zero_of(x, 0) - v->x_less;
    return true;
}

static int64_t byte_at(const struct assay_tensor *t, const void *data, size_t i)
{
    return t->dtype == ASSAY_S8 ? ((const int8_t *)data)[i]
                                : ((const uint8_t *)data)[i];
}

/* Weight k of output channel o, as it is multiplied. */
static int64_t weight_at(const struct view *v, const struct assay_partial *p,
                         int64_t o, int64_t k)
{
    int64_t less = p->centred ? zero_of(v->w, (uint32_t)o)
                   : p->is_signed && v->w->dtype == ASSAY_U8 ? 128
                                                             : 0;

    return byte_at(v->w, v->w->data, (size_t)(o * v->kh * v->kw * v->ic + k)) -
           less;
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
    int64_t n = v->kh * v->kw * v->ic;
    int64_t step = p->group == 0 ? n : (int64_t)p->group * p->apart;

    for (int64_t from = 0; from < n; from += step)
        for (int64_t lane = 0; lane < p->apart; lane++) {
            int64_t least = 0, most = 0;

            for (int64_t k = from + lane; k < n && k < from + step;
                 k += p->apart) {
                int64_t w = weight_at(v, p, o, k);

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
    assay_dtype_range(v.x->dtype, &lo, &hi);
    lo -= v.x_less;
    hi -= v.x_less;
    for (int64_t o = 0; o < v.oc; o++)
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
    int64_t o = (int64_t)element % v->oc, pixel = (int64_t)element / v->oc;
    int64_t image = pixel / (v->oh * v->ow);
    int64_t top = pixel / v->ow % v->oh * v->p.stride_h - v->p.pad_top;
    int64_t left = pixel % v->ow * v->p.stride_w - v->p.pad_left;
    int64_t base = o / (v->oc / v->p.groups) * v->ic, k = 0;
    struct sums sums = {.p = p};

    for (int64_t i = 0; i < v->kh; i++)
        for (int64_t j = 0; j < v->kw; j++) {
            int64_t row = top + i * v->p.dilation_h;
            int64_t column = left + j * v->p.dilation_w;
            bool inside =
                row >= 0 && row < v->h && column >= 0 && column < v->width;
            int64_t at =
                ((image * v->h + row) * v->width + column) * v->c + base;

            for (int64_t c = 0; c < v->ic; c++, k++) {
                int64_t value =
                    inside ? byte_at(v->x, x, (size_t)(at + c)) - v->x_less
                           : v->padding;

                add_product(&sums, k, value * weight_at(v, p, o, k));
            }
        }
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
