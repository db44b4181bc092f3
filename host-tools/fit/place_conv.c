/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a convolution whose sums are given ones, window by window. */
#include "host-tools/fit/hunt.h"
#include "kernels/requant.h"

#define WINDOWS 4096 /* that are solved, of one input */
#define NEAR 64      /* taps that may be moved to hit a sum exactly */

/* The window of one output position, for one output channel. */
struct window {
    int64_t oy, ox;
    uint32_t channel;
    int64_t kh, kw, ci, taps; /* of a channel's kernel: [kh][kw][ci] */
    int64_t lo, hi;           /* of the input */
    const int8_t *weight;
};

static struct window window_of(const struct assay_fit_hunt *h, int64_t oy,
                               int64_t ox, uint32_t channel)
{
    const struct assay_tensor *k = assay_fit_hunt_tensor(h, 1);
    struct window w = {.oy = oy,
                       .ox = ox,
                       .channel = channel,
                       .kh = k->dims[1],
                       .kw = k->dims[2],
                       .ci = k->dims[3]};

    w.taps = w.kh * w.kw * w.ci;
    w.weight = (const int8_t *)k->data + channel * w.taps;
    assay_dtype_range(assay_fit_hunt_tensor(h, 0)->dtype, &w.lo, &w.hi);
    return w;
}

/* Where tap t of the window stands in the input; false: outside. */
static bool cell_of(const struct assay_fit_hunt *h, const struct window *w,
                    int64_t t, size_t *at)
{
    const struct assay_conv2d_params *p = &h->y->p.conv2d;
    const struct assay_tensor *x = assay_fit_hunt_tensor(h, 0);
    int64_t per = assay_fit_hunt_tensor(h, 1)->dims[0] / p->groups;
    int64_t ky = t / w->ci / w->kw, kx = t / w->ci % w->kw;
    int64_t iy = w->oy * p->stride_h - p->pad_top + ky * p->dilation_h;
    int64_t ix = w->ox * p->stride_w - p->pad_left + kx * p->dilation_w;

    if (iy < 0 || iy >= x->dims[1] || ix < 0 || ix >= x->dims[2])
        return false;
    *at = (size_t)((iy * x->dims[2] + ix) * x->dims[3] +
                   w->channel / per * w->ci + t % w->ci);
    return true;
}

static int64_t clip(int64_t v, const struct window *w)
{
    return v < w->lo ? w->lo : v > w->hi ? w->hi : v;
}

/* Weights of [least, most) one after another; what is left of `target`. */
static int64_t spend(struct assay_fit_hunt *h, const struct window *w,
                     int64_t target, int64_t least, int64_t most)
{
    size_t at;

    for (int64_t t = 0; t < w->taps; t++) {
        int64_t weight = w->weight[t], size = weight < 0 ? -weight : weight, x;
        if (size < least || size >= most || !cell_of(h, w, t, &at))
            continue;
        x = clip(target / weight, w);
        assay_fit_hunt_put(h, 0, at, x);
        target -= x * weight;
    }
    return target;
}

/* Two taps are moved so that what is left becomes 0. */
static void hit(struct assay_fit_hunt *h, const struct window *w, int64_t left)
{
    int64_t n = w->taps < NEAR ? w->taps : NEAR;
    size_t a, b;

    for (int64_t s = 0; s < n; s++)
        for (int64_t d = -4; cell_of(h, w, s, &a) && d <= 4; d++)
            for (int64_t t = 0; t < n; t++) {
                int64_t rest = left - d * w->weight[s], x, y;
                if (t == s || !w->weight[t] || rest % w->weight[t] ||
                    !cell_of(h, w, t, &b))
                    continue;
                x = assay_fit_hunt_get(h, 0, a) + d;
                y = assay_fit_hunt_get(h, 0, b) + rest / w->weight[t];
                if (x != clip(x, w) || y != clip(y, w))
                    continue;
                assay_fit_hunt_put(h, 0, a, x);
                assay_fit_hunt_put(h, 0, b, y);
                return;
            }
}

/* Large weights first, so that small ones fill up what is left. */
static void solve(struct assay_fit_hunt *h, const struct window *w,
                  int64_t target)
{
    size_t at;

    for (int64_t t = 0; t < w->taps; t++)
        if (cell_of(h, w, t, &at))
            assay_fit_hunt_put(h, 0, at, 0);
    for (int64_t least = 64, most = 129; least >= 1; most = least, least /= 2)
        target = spend(h, w, target, least, most);
    if (target)
        hit(h, w, target);
}

/* Every weight meets the value that drives its sum to one end. */
static void end(struct assay_fit_hunt *h, const struct window *w, bool up)
{
    size_t at;

    for (int64_t t = 0; t < w->taps; t++)
        if (cell_of(h, w, t, &at))
            assay_fit_hunt_put(h, 0, at,
                               (w->weight[t] > 0) == up ? w->hi : w->lo);
}

static void place_second(struct assay_fit_hunt *h, const struct window *w,
                         int64_t v)
{
    const int64_t *out = h->l->slice->tensors[h->y->output].dims;
    int i = assay_fit_second_input(h->y);

    if (i >= 0 && h->bytes[i] && h->y->inputs[i] != h->y->inputs[0])
        assay_fit_hunt_put(
            h, (unsigned)i,
            (size_t)((w->oy * out[2] + w->ox) * out[3] + w->channel), v);
}

/* One point for each group of channels: their inputs are apart. */
static void position(struct assay_fit_hunt *h, int64_t oy, int64_t ox,
                     size_t first, bool ends)
{
    int64_t groups = h->y->p.conv2d.groups;
    int64_t per = assay_fit_hunt_tensor(h, 1)->dims[0] / groups;
    int64_t left = groups;
    uint8_t used[256] = {0};

    for (size_t k = 0; k < h->points.n && left > 0; k++) {
        const struct assay_fit_point *t =
            &h->points.v[(first + k) % h->points.n];
        int64_t group = t->channel / per;
        struct window w = window_of(h, oy, ox, t->channel);
        if (group < 256 && used[group])
            continue;
        if (group < 256)
            used[group] = 1;
        left--;
        if (ends)
            end(h, &w, (first + k) % 2);
        else
            solve(h, &w, t->acc);
        place_second(h, &w, t->second);
    }
}

void assay_fit_place_conv(struct assay_fit_hunt *h, size_t first, bool ends)
{
    const struct assay_conv2d_params *p = &h->y->p.conv2d;
    const struct assay_tensor *k = assay_fit_hunt_tensor(h, 1);
    const struct assay_tensor *y = &h->l->slice->tensors[h->y->output];
    int64_t step_h, step_w;
    size_t n = 0;

    if (k->rank != 4 || y->rank != 4 ||
        assay_fit_hunt_tensor(h, 0)->rank != 4 || h->points.n == 0)
        return;
    step_h = ((k->dims[1] - 1) * p->dilation_h) / p->stride_h + 1;
    step_w = ((k->dims[2] - 1) * p->dilation_w) / p->stride_w + 1;
    /* From the middle of the image, where no tap is outside. */
    for (int64_t oy = y->dims[1] / 2 % step_h; oy < y->dims[1]; oy += step_h)
        for (int64_t ox = y->dims[2] / 2 % step_w; ox < y->dims[2];
             ox += step_w, n++)
            if (n < WINDOWS)
                position(h, oy, ox, first + n, ends);
}
