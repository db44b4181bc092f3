/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing and grid sampling. */
#include <string.h>

#include "host-tools/model/onnx_hz.h"

#define WEIGHT_BITS 8

enum align { ALIGN_ORIGIN, ALIGN_CENTER, ALIGN_GIVEN_STEP };

/* The step from cell to cell of an axis, with `bits` behind the point: cut
 * off, not rounded. */
static int axis_step(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, int align, int64_t bits,
                     int64_t in, int64_t out, const int64_t *given,
                     int32_t *step, int32_t *start)
{
    int64_t v;

    if (in > (int64_t)INT32_MAX >> bits)
        return assay_onnx_skip(im,
                               "'%s' of %lld cells with %lld decimal bits: "
                               "coordinates leave 32 bits",
                               n->op, (long long)in, (long long)bits);
    v = align == ALIGN_GIVEN_STEP ? *given : (in << bits) / out;
    *step = (int32_t)v;
    *start = 0;
    if (align == ALIGN_CENTER)
        *start = (int32_t)((v >> 1) - ((int64_t)1 << bits >> 1));
    return 0;
}

struct roi {
    int align;
    int64_t bits, twice;
    const int64_t *sizes, *step;
};

static int read_roi(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, struct roi *r)
{
    int64_t zero = 0;
    int which;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_word(im, n, "align_mode", "origin center given_step",
                           true, &r->align);
    if (!rc)
        rc = assay_hz_word(im, n, "pad_mode", "boundary", true, &which);
    if (!rc)
        rc = assay_hz_int(im, n, "step_decimal_bit", WEIGHT_BITS, 24, NULL,
                          &r->bits);
    if (!rc)
        rc =
            assay_hz_int(im, n, "is_interpolate_twice", 0, 1, &zero, &r->twice);
    if (!rc)
        rc = assay_hz_row(im, n, "sizes", 2, 1, INT32_MAX, &r->sizes);
    if (!rc && r->align == ALIGN_GIVEN_STEP)
        rc = assay_hz_row(im, n, "step", 2, 0, INT32_MAX, &r->step);
    if (!rc && r->bits != 16)
        rc = assay_onnx_skip(im,
                             "'%s' with step_decimal_bit %lld, which was "
                             "never measured: expected 16",
                             n->op, (long long)r->bits);
    return rc;
}

int assay_hz_roi_resize(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n)
{
    struct assay_resize_params p = {.weight_bits = WEIGHT_BITS};
    int64_t dims[4];
    const struct assay_tensor *t;
    struct assay_layer *l;
    struct roi r = {0};
    uint32_t x, y;
    int rc = read_roi(im, n, &r);

    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_S8, &x);
    if (rc)
        return rc;
    t = &im->s->tensors[x];
    memcpy(dims, t->dims, sizeof(dims));
    dims[1] = r.sizes[0];
    dims[2] = r.sizes[1];
    rc = axis_step(im, n, r.align, r.bits, t->dims[1], dims[1], r.step,
                   &p.step_h, &p.start_h);
    if (!rc)
        rc = axis_step(im, n, r.align, r.bits, t->dims[2], dims[2],
                       r.step ? r.step + 1 : NULL, &p.step_w, &p.start_w);
    if (!rc)
        rc = assay_hz_output(im, n, 0, ASSAY_HZ_S8, 4, dims, "NHWC", &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_RESIZE, 1, &x, y, &l);
    if (rc)
        return rc;
    p.decimal_bits = (uint8_t)r.bits;
    l->p.resize = p;
    l->form = r.twice ? "resize_twice" : "resize";
    return assay_hz_field_one(im, n, l, "frac", 2 * WEIGHT_BITS);
}

/* Each element sh * sw times. */
int assay_hz_upsample(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n)
{
    const int64_t *scale;
    const struct assay_tensor *t;
    struct assay_view_params v = {.rank = 6};
    int64_t dims[4], d[4];
    uint32_t x, y;
    int which;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_word(im, n, "mode", "nearest", true, &which);
    if (!rc)
        rc = assay_hz_row(im, n, "scale", 2, 1, 65535, &scale);
    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_S8_16, &x);
    if (rc)
        return rc;
    t = &im->s->tensors[x];
    memcpy(d, t->dims, sizeof(d));
    memcpy(dims, d, sizeof(d));
    dims[1] *= scale[0];
    dims[2] *= scale[1];
    memcpy(v.dims, (int64_t[]){d[0], d[1], scale[0], d[2], scale[1], d[3]},
           6 * sizeof(int64_t));
    memcpy(v.strides,
           (int64_t[]){d[1] * d[2] * d[3], d[2] * d[3], 0, d[3], 0, 1},
           6 * sizeof(int64_t));
    rc = assay_hz_output(im, n, 0, 1u << t->dtype, 4, dims, "NHWC", &y);
    return rc ? rc : assay_hz_view(im, n, x, y, &v);
}

static int check_grid(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n,
                      const struct assay_tensor *x,
                      const struct assay_tensor *g)
{
    if (g->dims[3] != 2 || g->dims[0] != x->dims[0])
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "grid '%.100s' of %lldx..x%lld, expected "
                               "%lldx..x2",
                               g->name, (long long)g->dims[0],
                               (long long)g->dims[3], (long long)x->dims[0]);
    return 0;
}

int assay_hz_grid_sample(struct assay_onnx_import *im,
                         const struct assay_onnx_node *n)
{
    int64_t coord, mix, dims[4], one = 1, round;
    struct assay_builder b;
    struct assay_layer *l;
    uint32_t in[2], y;
    int mode, padding;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_word(im, n, "mode", "bilinear nearest", true, &mode);
    if (!rc)
        rc = assay_hz_word(im, n, "padding_mode", "zeros border", true,
                           &padding);
    if (!rc)
        rc = assay_hz_int(im, n, "coord_shift", 0, 14, NULL, &coord);
    if (!rc)
        rc = assay_hz_int(im, n, "itplt_shift", 0, 31, &coord, &mix);
    if (!rc)
        rc = assay_hz_int(im, n, "output_round", 0, 1, &one, &round);
    if (!rc && mix != coord)
        rc = assay_onnx_skip(im,
                             "'%s' with itplt_shift %lld and coord_shift "
                             "%lld: never measured unless they are equal",
                             n->op, (long long)mix, (long long)coord);
    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_S8, &in[0]);
    if (!rc)
        rc = assay_hz_image(im, n, 1, "grid", ASSAY_HZ_S16, &in[1]);
    if (!rc)
        rc = check_grid(im, n, &im->s->tensors[in[0]], &im->s->tensors[in[1]]);
    if (rc)
        return rc;
    memcpy(dims, im->s->tensors[in[1]].dims, sizeof(dims));
    dims[3] = im->s->tensors[in[0]].dims[3];
    rc = assay_hz_output(im, n, 0, ASSAY_HZ_S8, 4, dims, "NHWC", &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_GRID_SAMPLE, 2, in, y, &l);
    if (rc)
        return rc;
    l->arith = "hz_grid_sample";
    l->p.grid_sample.nearest = mode == 1;
    l->p.grid_sample.padding =
        padding == 1 ? ASSAY_GRID_BORDER : ASSAY_GRID_ZEROS;
    l->p.grid_sample.coord_shift = (uint8_t)coord;
    if (mode == 1)
        return 0;
    mix = 2 * coord;
    if (round) {
        l->form = "grid_sample";
        return assay_hz_field_one(im, n, l, "frac", mix);
    }
    assay_hz_begin(&b, im); /* the node says that it does not round */
    assay_build_shr(&b, 1, &mix, ASSAY_ROUND_FLOOR);
    assay_hz_sat(&b, ASSAY_S8);
    return assay_hz_end(im, n, &b, &l->out_program);
}
