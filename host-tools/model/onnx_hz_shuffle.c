/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes cut into parts and put together in another order: depth to space, space
 * to depth, channel shuffle. One VIEW layer each.
 */
#include <string.h>

#include "host-tools/model/onnx_hz.h"

/* Axes of length `dims` in the input's order, read in the order `perm`. */
static int shuffle(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t x,
                   const int64_t *parts, const int *perm, const int64_t *dims)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    struct assay_view_params v = {.rank = 6};
    int64_t strides[6], step = 1;
    uint32_t y;
    int rc;

    for (int i = 6; i-- > 0;) {
        strides[i] = step;
        step *= parts[i];
    }
    for (int i = 0; i < 6; i++) {
        v.dims[i] = parts[perm[i]];
        v.strides[i] = strides[perm[i]];
    }
    rc = assay_hz_output(im, n, 0, 1u << t->dtype, 4, dims, t->axes, &y);
    return rc ? rc : assay_hz_view(im, n, x, y, &v);
}

static int does_not_fit(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, int64_t h, int64_t w,
                        const struct assay_tensor *t)
{
    return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                           "blocks of %lldx%lld do not fit %lldx%lldx%lldx%lld",
                           (long long)h, (long long)w, (long long)t->dims[0],
                           (long long)t->dims[1], (long long)t->dims[2],
                           (long long)t->dims[3]);
}

int assay_hz_depth_to_space(struct assay_onnx_import *im,
                            const struct assay_onnx_node *n)
{
    static const int dcr[] = {0, 1, 3, 2, 4, 5}, crd[] = {0, 1, 4, 2, 5, 3};
    const int64_t *d;
    int64_t b, c;
    uint32_t x;
    int which;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_int(im, n, "blocksize", 1, 4096, NULL, &b);
    if (!rc)
        rc = assay_hz_word(im, n, "mode", "DCR CRD", true, &which);
    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_S8_16, &x);
    if (rc)
        return rc;
    d = im->s->tensors[x].dims;
    if (d[3] % (b * b))
        return does_not_fit(im, n, b, b, &im->s->tensors[x]);
    c = d[3] / (b * b);
    return shuffle(im, n, x,
                   which == 1 ? (int64_t[]){d[0], d[1], d[2], c, b, b}
                              : (int64_t[]){d[0], d[1], d[2], b, b, c},
                   which == 1 ? crd : dcr,
                   (int64_t[]){d[0], d[1] * b, d[2] * b, c});
}

int assay_hz_space_to_depth(struct assay_onnx_import *im,
                            const struct assay_onnx_node *n)
{
    const int64_t *d;
    int64_t h, w;
    uint32_t x;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_int(im, n, "block_height", 1, 4096, NULL, &h);
    if (!rc)
        rc = assay_hz_int(im, n, "block_width", 1, 4096, NULL, &w);
    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_S8_16, &x);
    if (rc)
        return rc;
    d = im->s->tensors[x].dims;
    if (d[1] % h || d[2] % w)
        return does_not_fit(im, n, h, w, &im->s->tensors[x]);
    return shuffle(im, n, x, (int64_t[]){d[0], d[1] / h, h, d[2] / w, w, d[3]},
                   (int[]){0, 1, 3, 2, 4, 5},
                   (int64_t[]){d[0], d[1] / h, d[2] / w, d[3] * h * w});
}

/* Channels of `group` groups, dealt out in turn: (group, c) to (c, group).
 * They are the last dimension where data_format says NHWC, else the second. */
int assay_hz_channel_shuffle(struct assay_onnx_import *im,
                             const struct assay_onnx_node *n)
{
    const int64_t *d;
    int64_t g, channels;
    uint32_t x;
    bool nhwc;
    int rc = assay_hz_format(im, n, false, &nhwc);

    if (!rc)
        rc = assay_hz_int(im, n, "group", 1, INT32_MAX, NULL, &g);
    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_ANY, &x);
    if (rc)
        return rc;
    d = im->s->tensors[x].dims;
    channels = d[nhwc ? 3 : 1];
    if (channels % g)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'group': %lld does not divide %lld "
                               "channels",
                               (long long)g, (long long)channels);
    return shuffle(im, n, x,
                   nhwc ? (int64_t[]){d[0], d[1], d[2], g, channels / g, 1}
                        : (int64_t[]){d[0], g, channels / g, d[2], d[3], 1},
                   nhwc ? (int[]){0, 1, 2, 4, 3, 5} : (int[]){0, 2, 1, 3, 4, 5},
                   (int64_t[]){d[0], d[1], d[2], d[3]});
}

/* The standard operators work on NCHW. */
static int std_image(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, uint32_t *x, int64_t *b)
{
    int rc = assay_hz_int(im, n, "blocksize", 1, 4096, NULL, b);

    return rc ? rc : assay_hz_image(im, n, 0, "input", ASSAY_HZ_ANY, x);
}

int assay_hz_std_depth_to_space(struct assay_onnx_import *im,
                                const struct assay_onnx_node *n)
{
    static const int dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    const int64_t *d;
    int64_t b, c;
    uint32_t x;
    int which;
    int rc = assay_hz_word(im, n, "mode", "DCR CRD", false, &which);

    if (!rc)
        rc = std_image(im, n, &x, &b);
    if (rc)
        return rc;
    d = im->s->tensors[x].dims;
    c = d[1] / (b * b);
    if (d[1] % (b * b))
        return does_not_fit(im, n, b, b, &im->s->tensors[x]);
    return shuffle(im, n, x,
                   which == 1 ? (int64_t[]){d[0], c, b, b, d[2], d[3]}
                              : (int64_t[]){d[0], b, b, c, d[2], d[3]},
                   which == 1 ? crd : dcr,
                   (int64_t[]){d[0], c, d[2] * b, d[3] * b});
}

int assay_hz_std_space_to_depth(struct assay_onnx_import *im,
                                const struct assay_onnx_node *n)
{
    const int64_t *d;
    int64_t b;
    uint32_t x;
    int rc = std_image(im, n, &x, &b);

    if (rc)
        return rc;
    d = im->s->tensors[x].dims;
    if (d[2] % b || d[3] % b)
        return does_not_fit(im, n, b, b, &im->s->tensors[x]);
    return shuffle(im, n, x, (int64_t[]){d[0], d[1], d[2] / b, b, d[3] / b, b},
                   (int[]){0, 3, 5, 1, 2, 4},
                   (int64_t[]){d[0], d[1] * b * b, d[2] / b, d[3] / b});
}
