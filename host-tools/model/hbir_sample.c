/* SPDX-License-Identifier: Apache-2.0 */
/* resize2d, warp, grid_sample, gather2d. */
#include <string.h>

#include "host-tools/model/mlir_import.h"

#define FRACTION_BITS 16 /* of steps and offsets */
#define WEIGHT_BITS 8

enum { BILINEAR, NEAREST };

static int image(struct assay_hbir *im, uint32_t i, const char *what,
                 unsigned mask, uint32_t *index)
{
    int rc = assay_hbir_input(im, i, what, mask, index);

    if (!rc && im->s->tensors[*index].rank != 4)
        rc = assay_hbir_skip(im, "%s of rank %u, known is 4", what,
                             im->s->tensors[*index].rank);
    return rc;
}

/* ---- resize ------------------------------------------------------------- */

struct resize {
    int mode;
    int64_t size[2], step[2], offset[2];
};

/* Where no step is given, it is as many cells as there are, cut off. */
static int read_steps(struct assay_hbir *im, const int64_t *in,
                      struct resize *r)
{
    int64_t own[2];
    const double *ratio;
    uint32_t n;
    int rc = assay_hbir_reals(im, "ratio", 2, &n, &ratio);

    for (int d = 0; d < 2; d++)
        own[d] = in[d] > INT32_MAX >> FRACTION_BITS
                     ? 0
                     : (in[d] << FRACTION_BITS) / r->size[d];
    if (!rc)
        rc = assay_hbir_row(im, "step", 2, 0, INT32_MAX, own, r->step);
    if (!rc && (!own[0] || !own[1]) && !assay_hbir_attr(im, "step"))
        rc = assay_hbir_skip(im,
                             "an image of %lldx%lld, whose steps leave 32 "
                             "bits",
                             (long long)in[0], (long long)in[1]);
    return rc;
}

static int read_resize(struct assay_hbir *im, const int64_t *in,
                       struct resize *r)
{
    static const int64_t zeros[2] = {0, 0};
    int64_t zero = 0, pad_value;
    int border;
    int rc =
        assay_hbir_word(im, "mode", "bilinear nearest", BILINEAR, &r->mode);

    if (!rc)
        rc = assay_hbir_word(im, "expansionMode", "border constant", -1,
                             &border);
    if (!rc && border != 0)
        rc = assay_hbir_skip(im, "attribute 'expansionMode' is constant, known "
                                 "is border");
    if (!rc)
        rc = assay_hbir_int(im, "padValue", INT64_MIN, INT64_MAX, &zero,
                            &pad_value);
    if (!rc)
        rc = assay_hbir_row(im, "size", 2, 1, INT32_MAX, NULL, r->size);
    if (!rc)
        rc = read_steps(im, in, r);
    if (!rc)
        rc = assay_hbir_row(im, "initialOffset", 2, INT32_MIN, INT32_MAX, zeros,
                            r->offset);
    return rc;
}

int assay_hbir_resize(struct assay_hbir *im)
{
    struct assay_layer *l;
    struct resize r;
    int64_t dims[4];
    uint32_t x, y;
    int rc = image(im, 0, "input", ASSAY_HBIR_S8_16, &x);

    if (!rc)
        rc = read_resize(im, im->s->tensors[x].dims + 1, &r);
    if (rc)
        return rc;
    memcpy(dims, im->s->tensors[x].dims, sizeof(dims));
    dims[1] = r.size[0];
    dims[2] = r.size[1];
    rc = assay_hbir_output(im, 0, 1u << im->s->tensors[x].dtype, 4, dims,
                           "NHWC", &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_RESIZE, 1, &x, y, &l);
    if (rc)
        return rc;
    l->p.resize = (struct assay_resize_params){
        .step_h = (int32_t)r.step[0],
        .step_w = (int32_t)r.step[1],
        .start_h = (int32_t)r.offset[0],
        .start_w = (int32_t)r.offset[1],
        .decimal_bits = FRACTION_BITS,
        .weight_bits = r.mode == NEAREST ? 0 : WEIGHT_BITS,
    };
    if (r.mode == NEAREST) /* an element as it is */
        return 0;
    l->form = "resize";
    return assay_hbir_field_one(im, l, "frac", (int64_t)2 * WEIGHT_BITS);
}

/* ---- grids -------------------------------------------------------------- */

struct grid {
    bool absolute, yx, border;
    int mode;
    int64_t fraction;
};

/* -1: must be there. */
static int flag(struct assay_hbir *im, const char *name, int def, bool *out)
{
    bool value = def > 0;

    return assay_hbir_bool(im, name, def < 0 ? NULL : &value, out);
}

static int read_grid(struct assay_hbir *im, struct grid *g, int absolute,
                     int mode, const int64_t *fraction)
{
    int64_t zero = 0, pad_value;
    int rc = flag(im, "isAbsoluteMv", absolute, &g->absolute);

    if (!rc)
        rc = flag(im, "isMoveYx", -1, &g->yx);
    if (!rc)
        rc = flag(im, "padBorder", -1, &g->border);
    if (!rc)
        rc = assay_hbir_word(im, "mode", "bilinear nearest", mode, &g->mode);
    if (!rc)
        rc =
            assay_hbir_int(im, "moveFracBitNum", 0, 14, fraction, &g->fraction);
    if (!rc)
        rc = assay_hbir_int(im, "padValue", INT64_MIN, INT64_MAX, &zero,
                            &pad_value);
    if (!rc && !g->border && pad_value)
        rc = assay_hbir_skip(im, "attribute 'padValue' is %lld, known is 0",
                             (long long)pad_value);
    return rc;
}

static int check_grid(struct assay_hbir *im, const struct assay_tensor *x,
                      const struct assay_tensor *g)
{
    char a[160], b[160];

    if (g->dims[3] == 2 && g->dims[0] == x->dims[0])
        return 0;
    return assay_hbir_fail(im, ASSAY_EFORMAT,
                           "a grid of %s for an image of %s, expected %lld "
                           "x..x..x2",
                           assay_hbir_shape_text(a, g->dtype, 4, g->dims),
                           assay_hbir_shape_text(b, x->dtype, 4, x->dims),
                           (long long)x->dims[0]);
}

static int sample(struct assay_hbir *im, const struct grid *g)
{
    struct assay_layer *l;
    int64_t dims[4];
    uint32_t in[2], y;
    int rc = image(im, 0, "input", ASSAY_HBIR_S8_16, &in[0]);

    if (!rc && im->op->n_operands != 2)
        rc =
            assay_hbir_skip(im, "%u operands, known are 2", im->op->n_operands);
    if (!rc)
        rc = image(im, 1, "grid", ASSAY_HBIR_S16, &in[1]);
    if (!rc)
        rc = check_grid(im, &im->s->tensors[in[0]], &im->s->tensors[in[1]]);
    if (rc)
        return rc;
    memcpy(dims, im->s->tensors[in[1]].dims, sizeof(dims));
    dims[3] = im->s->tensors[in[0]].dims[3];
    rc = assay_hbir_output(im, 0, 1u << im->s->tensors[in[0]].dtype, 4, dims,
                           "NHWC", &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_GRID_SAMPLE, 2, in, y, &l);
    if (rc)
        return rc;
    l->p.grid_sample = (struct assay_grid_sample_params){
        .nearest = g->mode == NEAREST,
        .absolute = g->absolute,
        .xy = !g->yx,
        .padding = g->border ? ASSAY_GRID_BORDER : ASSAY_GRID_ZEROS,
        .coord_shift = (uint8_t)g->fraction,
    };
    if (g->mode == NEAREST)
        return 0;
    l->form = "grid_sample";
    return assay_hbir_field_one(im, l, "frac", 2 * g->fraction);
}

int assay_hbir_warp(struct assay_hbir *im)
{
    struct grid g;
    int rc = read_grid(im, &g, -1, -1, NULL);

    return rc ? rc : sample(im, &g);
}

int assay_hbir_grid_sample(struct assay_hbir *im)
{
    struct grid g;
    int rc = read_grid(im, &g, 0, -1, NULL);

    return rc ? rc : sample(im, &g);
}

int assay_hbir_gather2d(struct assay_hbir *im)
{
    int64_t zero = 0;
    struct grid g;
    int rc = read_grid(im, &g, 1, NEAREST, &zero);

    if (!rc && (g.mode != NEAREST || g.fraction))
        rc = assay_hbir_skip(im, "a gather between cells");
    return rc ? rc : sample(im, &g);
}
