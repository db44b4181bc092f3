/* SPDX-License-Identifier: Apache-2.0 */
/* How a window slides over an image: kernel, strides, dilations, pads. */
#include <string.h>

#include "host-tools/model/onnx_import.h"

static int check(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 const char *what, const int64_t *v, int count, int64_t least)
{
    for (int i = 0; i < count; i++)
        if (v[i] < least || v[i] > 65535)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "attribute '%s': element %d is %lld, "
                                   "expected %lld to 65535",
                                   what, i, (long long)v[i], (long long)least);
    return 0;
}

enum pad_mode { PAD_GIVEN, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER };

static int pad_mode(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, enum pad_mode *mode)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER",
                                        "SAME_LOWER"};
    const struct assay_onnx_attr *a = assay_onnx_attr(n, "auto_pad");

    *mode = PAD_GIVEN;
    if (!a)
        return 0;
    for (int i = 0; a->type == ASSAY_ONNX_STRING && i < 4; i++)
        if (!strcmp(a->s, names[i])) {
            *mode = (enum pad_mode)i;
            return 0;
        }
    return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                           "attribute 'auto_pad': expected NOTSET, VALID, "
                           "SAME_UPPER or SAME_LOWER, found '%.40s'",
                           a->s ? a->s : "");
}

/* One axis: pads by mode, then the output's size. */
static void slide(struct assay_onnx_window *w, int d, int64_t in,
                  enum pad_mode mode, bool ceil)
{
    int64_t reach = w->dilation[d] * (w->kernel[d] - 1) + 1;
    int64_t room, out;

    if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER) {
        int64_t total;

        out = (in + w->stride[d] - 1) / w->stride[d];
        total = (out - 1) * w->stride[d] + reach - in;
        /* onnxruntime's pools then pad by less than nothing: half of what
         * is too much is cut off the front. Its convolutions do not. */
        w->cropped |= mode == PAD_SAME_UPPER && total < -1;
        total = total < 0 ? 0 : total;
        w->pad[d] = mode == PAD_SAME_UPPER ? total / 2 : (total + 1) / 2;
        w->pad[d + 2] = total - w->pad[d];
        w->out[d] = out;
        return;
    }
    room = in + w->pad[d] + w->pad[d + 2] - reach;
    if (room < 0) {
        w->out[d] = 0;
        return;
    }
    out = room / w->stride[d] + 1;
    /* A last window that is cut off counts, if it starts inside. */
    if (ceil && room % w->stride[d] && out * w->stride[d] < in + w->pad[d]) {
        w->pad[d + 2] += w->stride[d] - room % w->stride[d];
        w->enlarged = true;
        out++;
    }
    w->out[d] = out;
}

int assay_onnx_window(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, const int64_t in[2],
                      const int64_t *kernel, struct assay_onnx_window *w)
{
    enum pad_mode mode;
    int64_t ceil;
    int rc;

    memset(w, 0, sizeof(*w));
    w->stride[0] = w->stride[1] = w->dilation[0] = w->dilation[1] = 1;
    if (kernel)
        memcpy(w->kernel, kernel, sizeof(w->kernel));
    rc = assay_onnx_attr_ints(im->g, n, "kernel_shape", 2, w->kernel, im->err);
    if (!rc)
        rc = assay_onnx_attr_ints(im->g, n, "strides", 2, w->stride, im->err);
    if (!rc)
        rc = assay_onnx_attr_ints(im->g, n, "dilations", 2, w->dilation,
                                  im->err);
    if (!rc)
        rc = assay_onnx_attr_ints(im->g, n, "pads", 4, w->pad, im->err);
    if (!rc)
        rc = assay_onnx_attr_int(im->g, n, "ceil_mode", 0, &ceil, im->err);
    if (!rc)
        rc = pad_mode(im, n, &mode);
    if (!rc)
        rc = check(im, n, "kernel_shape", w->kernel, 2, 1);
    if (!rc)
        rc = check(im, n, "strides", w->stride, 2, 1);
    if (!rc)
        rc = check(im, n, "dilations", w->dilation, 2, 1);
    if (!rc)
        rc = check(im, n, "pads", w->pad, 4, 0);
    if (rc)
        return rc;
    if (kernel && (w->kernel[0] != kernel[0] || w->kernel[1] != kernel[1]))
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'kernel_shape': %lldx%lld, but the "
                               "weights are %lldx%lld",
                               (long long)w->kernel[0], (long long)w->kernel[1],
                               (long long)kernel[0], (long long)kernel[1]);
    if (mode == PAD_VALID)
        memset(w->pad, 0, sizeof(w->pad));
    for (int d = 0; d < 2; d++)
        slide(w, d, in[d], mode, ceil != 0);
    return 0;
}
