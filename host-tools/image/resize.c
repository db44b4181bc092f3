/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image/resize.h"

#include <math.h>
#include <string.h>

#include "host-tools/image/picture.h"
#include "host-tools/image/resize_antialias.h"
#include "lib/core/buf.h"

/* Weights of the linear filter have 11 bits; the sums of a row keep 7 of them
 * (4 are shifted away, so that the products of columns fit 32 bits). */
#define WEIGHT_BITS 11
#define ROW_SHIFT 4

const char *assay_filter_name(enum assay_filter filter)
{
    static const char *const names[ASSAY_FILTER_COUNT] = {
        "linear",
        "nearest",
        "area",
        "pillow",
        "pillow-columns",
        "pillow-bicubic",
        "pillow-bicubic-columns"};

    return (unsigned)filter < ASSAY_FILTER_COUNT ? names[filter] : "?";
}

const char *assay_fit_name(enum assay_fit fit)
{
    static const char *const names[ASSAY_FIT_COUNT] = {"stretch", "letterbox",
                                                       "letterbox-tl", "crop"};

    return (unsigned)fit < ASSAY_FIT_COUNT ? names[fit] : "?";
}

/* ---- where it goes ------------------------------------------------------------ */

static uint32_t scaled(uint32_t side, double ratio, uint32_t least)
{
    double v = floor(side * ratio);

    return v <= least ? least : v >= UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

void assay_place(struct assay_placement *out, enum assay_fit fit,
                 uint32_t in_width, uint32_t in_height, uint32_t out_width,
                 uint32_t out_height)
{
    double rx = (double)out_width / in_width;
    double ry = (double)out_height / in_height;
    double ratio = (fit == ASSAY_FIT_CROP) == (rx > ry) ? rx : ry;
    bool crop = fit == ASSAY_FIT_CROP;
    struct assay_placement p = {.width = out_width, .height = out_height};

    if (fit != ASSAY_FIT_STRETCH) {
        p.width = scaled(in_width, ratio, crop ? out_width : 1);
        p.height = scaled(in_height, ratio, crop ? out_height : 1);
    }
    p.shown_width = p.width < out_width ? p.width : out_width;
    p.shown_height = p.height < out_height ? p.height : out_height;
    p.cut_x = (p.width - p.shown_width) / 2;
    p.cut_y = (p.height - p.shown_height) / 2;
    if (fit == ASSAY_FIT_LETTERBOX) {
        p.at_x = (out_width - p.shown_width) / 2;
        p.at_y = (out_height - p.shown_height) / 2;
    }
    *out = p;
}

/* ---- nearest -------------------------------------------------------------------- */

/* OpenCV divides twice; once would give other bits. */
static double step_of(uint32_t in, uint32_t out)
{
    return 1.0 / ((double)out / in);
}

static uint32_t nearest_of(uint32_t i, double step, uint32_t in)
{
    double v = floor(i * step);

    return v < in - 1 ? (uint32_t)v : in - 1;
}

static int resize_nearest(uint8_t *out, uint32_t ow, uint32_t oh,
                          const uint8_t *in, uint32_t iw, uint32_t ih,
                          uint32_t channels, struct assay_err *err)
{
    double sx = step_of(iw, ow), sy = step_of(ih, oh);
    size_t *from = assay_alloc(ow * sizeof(*from));

    if (from == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    for (uint32_t x = 0; x < ow; x++)
        from[x] = (size_t)nearest_of(x, sx, iw) * channels;
    for (uint32_t y = 0; y < oh; y++) {
        const uint8_t *row = in + (size_t)nearest_of(y, sy, ih) * iw * channels;

        for (uint32_t x = 0; x < ow; x++, out += channels)
            memcpy(out, row + from[x], channels);
    }
    assay_free(from);
    return 0;
}

/* ---- linear --------------------------------------------------------------------- */

struct tap {
    int32_t at; /* of the first sample; -1 and the last one are possible */
    int32_t weight[2];
};

static int32_t to_weight(float w)
{
    return (int32_t)lrintf(w * (1 << WEIGHT_BITS));
}

static void tap_of(struct tap *t, uint32_t i, double step)
{
    float f = (float)((i + 0.5) * step - 0.5);

    t->at = (int32_t)floorf(f);
    f -= (float)t->at;
    t->weight[0] = to_weight(1.0f - f);
    t->weight[1] = to_weight(f);
}

/* INTER_AREA of a picture that grows in one direction at least: samples have
 * an extent, only pixels that straddle two of them are mixed. */
static void area_tap_of(struct tap *t, uint32_t i, double step, double inverse)
{
    float f;

    t->at = (int32_t)floor(i * step);
    f = (float)((i + 1) - (t->at + 1) * inverse);
    f = f <= 0 ? 0.0f : f - floorf(f);
    t->weight[0] = to_weight(1.0f - f);
    t->weight[1] = to_weight(f);
}

static struct tap *taps_of(uint32_t in, uint32_t out, bool area)
{
    double step = step_of(in, out), inverse = (double)out / in;
    struct tap *t = assay_alloc(out * sizeof(*t));

    for (uint32_t i = 0; t != NULL && i < out; i++) {
        if (area)
            area_tap_of(&t[i], i, step, inverse);
        else
            tap_of(&t[i], i, step);
    }
    return t;
}

/* Along a row, what lies outside has weight 0; along a column it is the edge's
 * sample with the weight that it has: the sums differ. */
static void pin_to_row(struct tap *t, uint32_t n, uint32_t in)
{
    for (uint32_t i = 0; i < n; i++) {
        if (t[i].at >= 0 && t[i].at < (int32_t)in - 1)
            continue;
        t[i].at = t[i].at < 0 ? 0 : (int32_t)in - 1;
        t[i].weight[0] = 1 << WEIGHT_BITS;
        t[i].weight[1] = 0;
    }
}

static void sum_row(int32_t *to, const uint8_t *row, const struct tap *t,
                    uint32_t n, uint32_t channels)
{
    for (uint32_t x = 0; x < n; x++, t++) {
        const uint8_t *a = row + (size_t)t->at * channels;
        const uint8_t *b = t->weight[1] != 0 ? a + channels : a;

        for (uint32_t k = 0; k < channels; k++)
            *to++ = (a[k] * t->weight[0] + b[k] * t->weight[1]) >> ROW_SHIFT;
    }
}

static void sum_column(uint8_t *to, const int32_t *a, const int32_t *b,
                       const struct tap *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)((((a[i] * t->weight[0]) >> 16) +
                           ((b[i] * t->weight[1]) >> 16) + 2) >>
                          2);
}

static int32_t pin(int32_t at, uint32_t n)
{
    return at < 0 ? 0 : at < (int32_t)n ? at : (int32_t)n - 1;
}

/* Sums of the two rows that were needed last; most are needed again. */
struct row_cache {
    int32_t *sums[2], at[2];
};

static const int32_t *cached_row(struct row_cache *c, int32_t at, int32_t keep,
                                 const uint8_t *in, uint32_t iw,
                                 const struct tap *tx, uint32_t ow,
                                 uint32_t channels)
{
    unsigned slot = c->at[0] == at ? 0 : c->at[1] == at ? 1 : c->at[0] == keep;

    if (c->at[slot] != at) {
        sum_row(c->sums[slot], in + (size_t)at * iw * channels, tx, ow,
                channels);
        c->at[slot] = at;
    }
    return c->sums[slot];
}

static int resize_linear(uint8_t *out, uint32_t ow, uint32_t oh,
                         const uint8_t *in, uint32_t iw, uint32_t ih,
                         uint32_t channels, bool area, struct assay_err *err)
{
    size_t n = (size_t)ow * channels;
    struct tap *tx = taps_of(iw, ow, area), *ty = taps_of(ih, oh, area);
    int32_t *sums = assay_alloc(2 * n * sizeof(*sums));
    int rc = 0;

    if (tx == NULL || ty == NULL || sums == NULL) {
        rc = assay_fail(err, ASSAY_EMEMORY, "out of memory");
        goto out;
    }
    struct row_cache cache = {{sums, sums + n}, {-1, -1}};

    pin_to_row(tx, ow, iw);
    for (uint32_t y = 0; y < oh; y++) {
        int32_t a = pin(ty[y].at, ih), b = pin(ty[y].at + 1, ih);
        const int32_t *ra = cached_row(&cache, a, b, in, iw, tx, ow, channels);
        const int32_t *rb = cached_row(&cache, b, a, in, iw, tx, ow, channels);

        sum_column(out + y * n, ra, rb, &ty[y], n);
    }
out:
    assay_free(tx);
    assay_free(ty);
    assay_free(sums);
    return rc;
}

/* ---- all of them ------------------------------------------------------------------ */

int assay_resize(uint8_t *out, uint32_t out_width, uint32_t out_height,
                 const uint8_t *in, uint32_t in_width, uint32_t in_height,
                 uint32_t channels, enum assay_filter filter,
                 struct assay_err *err)
{
    uint32_t ow = out_width, oh = out_height, iw = in_width, ih = in_height;
    bool shrinks = ow <= iw && oh <= ih;
    /* OpenCV's own shortcut: of a picture that is halved both are the same
     * means of four. */
    bool halved = iw == 2 * ow && ih == 2 * oh;

    if (ow == iw && oh == ih) {
        memcpy(out, in, (size_t)iw * ih * channels);
        return 0;
    }
    if (filter == ASSAY_FILTER_NEAREST)
        return resize_nearest(out, ow, oh, in, iw, ih, channels, err);
    if (filter >= ASSAY_FILTER_PILLOW)
        return assay_resize_pillow(out, ow, oh, in, iw, ih, channels,
                                   filter == ASSAY_FILTER_PILLOW_COLUMNS ||
                                       filter ==
                                           ASSAY_FILTER_PILLOW_BICUBIC_COLUMNS,
                                   filter >= ASSAY_FILTER_PILLOW_BICUBIC, err);
    if ((filter == ASSAY_FILTER_AREA && shrinks) || halved)
        return assay_resize_area(out, ow, oh, in, iw, ih, channels, err);
    return resize_linear(out, ow, oh, in, iw, ih, channels,
                         filter == ASSAY_FILTER_AREA, err);
}

static void place_rows(uint8_t *out, uint32_t out_width, const uint8_t *from,
                       const struct assay_placement *p, uint32_t channels)
{
    for (uint32_t y = 0; y < p->shown_height; y++)
        memcpy(out + ((size_t)(p->at_y + y) * out_width + p->at_x) * channels,
               from + ((size_t)(p->cut_y + y) * p->width + p->cut_x) * channels,
               (size_t)p->shown_width * channels);
}

int assay_resize_fit(uint8_t *out, uint32_t out_width, uint32_t out_height,
                     const uint8_t *in, uint32_t in_width, uint32_t in_height,
                     uint32_t channels, enum assay_filter filter,
                     enum assay_fit fit, const uint8_t *pad,
                     struct assay_err *err)
{
    struct assay_placement p;
    uint8_t *whole;
    int rc;

    assay_place(&p, fit, in_width, in_height, out_width, out_height);
    if (p.width == out_width && p.height == out_height)
        return assay_resize(out, out_width, out_height, in, in_width, in_height,
                            channels, filter, err);
    if ((uint64_t)p.width * p.height > ASSAY_PICTURE_MAX_PIXELS)
        return assay_fail(err, ASSAY_ERANGE,
                          "%ux%u pixels cannot be made to %s %ux%u: %ux%u in "
                          "between, at most %zu in all",
                          in_width, in_height, assay_fit_name(fit), out_width,
                          out_height, p.width, p.height,
                          ASSAY_PICTURE_MAX_PIXELS);
    whole = assay_alloc((size_t)p.width * p.height * channels);
    if (whole == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    rc = assay_resize(whole, p.width, p.height, in, in_width, in_height,
                      channels, filter, err);
    if (rc == 0) {
        for (size_t i = 0; i < (size_t)out_width * out_height; i++)
            memcpy(out + i * channels, pad, channels);
        place_rows(out, out_width, whole, &p, channels);
    }
    assay_free(whole);
    return rc;
}
