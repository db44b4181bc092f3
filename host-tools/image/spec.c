/* SPDX-License-Identifier: Apache-2.0 */
/* What a model's input is: defaults, and what cannot be. */
#include <math.h>

#include "host-tools/image/adapt.h"
#include "host-tools/image/codec.h"

const char *assay_image_type_name(enum assay_image_type type)
{
    static const char *const names[ASSAY_IMAGE_TYPE_COUNT] = {
        "nv12", "nv21", "yuv444", "rgb", "bgr", "gray"};

    return (unsigned)type < ASSAY_IMAGE_TYPE_COUNT ? names[type] : "?";
}

static bool is_subsampled(const struct assay_image_spec *s)
{
    return s->type == ASSAY_IMAGE_NV12 || s->type == ASSAY_IMAGE_NV21;
}

uint32_t assay_image_channels(const struct assay_image_spec *spec)
{
    return spec->type == ASSAY_IMAGE_GRAY ||
                   (is_subsampled(spec) && !spec->widen)
               ? 1
               : 3;
}

void assay_image_spec_init(struct assay_image_spec *spec,
                           enum assay_image_type type, uint32_t width,
                           uint32_t height)
{
    bool yuv = type == ASSAY_IMAGE_NV12 || type == ASSAY_IMAGE_NV21 ||
               type == ASSAY_IMAGE_YUV444;

    *spec = (struct assay_image_spec){
        .type = type,
        .width = width,
        .height = height,
        .orientation = 1,
        .pad = {127, 127, 127},
        .colour = {.range = yuv ? ASSAY_RANGE_STUDIO : ASSAY_RANGE_FULL},
        .scale = {1, 1, 1},
        .quantize_scale = 1,
    };
}

static int check_enums(const struct assay_image_spec *s, struct assay_err *err)
{
    if ((unsigned)s->type >= ASSAY_IMAGE_TYPE_COUNT ||
        (unsigned)s->fit >= ASSAY_FIT_COUNT ||
        (unsigned)s->filter >= ASSAY_FILTER_COUNT ||
        (unsigned)s->colour.range >= ASSAY_RANGE_COUNT ||
        (unsigned)s->colour.matrix >= ASSAY_MATRIX_COUNT ||
        (unsigned)s->colour.arith >= ASSAY_COLOUR_ARITH_COUNT ||
        (unsigned)s->down >= ASSAY_DOWN_COUNT ||
        (unsigned)s->up >= ASSAY_UP_COUNT ||
        (unsigned)s->odd >= ASSAY_ODD_COUNT)
        return assay_fail(err, ASSAY_ERANGE,
                          "a choice of the input's form is out of range");
    switch ((int)s->dtype) {
    case ASSAY_IMAGE_NO_DTYPE:
    case ASSAY_U8:
    case ASSAY_S8:
    case ASSAY_U16:
    case ASSAY_S16:
    case ASSAY_F32: return 0;
    default:
        return assay_fail(err, ASSAY_ERANGE,
                          "a picture as %s: expected uint8, int8, uint16, "
                          "int16 or float32",
                          assay_dtype_name(s->dtype));
    }
}

static int check_numbers(const struct assay_image_spec *s,
                         struct assay_err *err)
{
    for (unsigned k = 0; k < 3; k++)
        if (!isfinite(s->mean[k]) || !isfinite(s->scale[k]) || s->scale[k] == 0)
            return assay_fail(err, ASSAY_ERANGE,
                              "mean and scale of channel %u: expected finite "
                              "numbers and a scale other than 0, found %g and "
                              "%g",
                              k, (double)s->mean[k], (double)s->scale[k]);
    if (!isfinite(s->quantize_scale) || s->quantize_scale <= 0)
        return assay_fail(err, ASSAY_ERANGE,
                          "the scale of the input: expected more than 0, "
                          "found %g",
                          (double)s->quantize_scale);
    if (s->centre > 2 || s->divide > 2 || s->normalise > 2)
        return assay_fail(err, ASSAY_ERANGE,
                          "centred, divided and normalised at most twice: "
                          "found %u, %u and %u",
                          s->centre, s->divide, s->normalise);
    return 0;
}

int assay_image_spec_check(const struct assay_image_spec *spec,
                           struct assay_err *err)
{
    int rc = check_enums(spec, err);

    if (rc == 0)
        rc = check_numbers(spec, err);
    if (rc == 0)
        rc = assay_picture_check_size(spec->width, spec->height,
                                      "the model's input", err);
    if (rc < 0)
        return rc;
    if (spec->orientation > 8)
        return assay_fail(err, ASSAY_ERANGE,
                          "orientation: expected 0 to 8, found %u",
                          spec->orientation);
    if (spec->odd == ASSAY_ODD_REFUSE && is_subsampled(spec) &&
        (spec->width % 2 != 0 || spec->height % 2 != 0))
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s has colour for 2x2 pixels: expected even sides, "
                          "found %ux%u",
                          assay_image_type_name(spec->type), spec->width,
                          spec->height);
    if (spec->colour_first && spec->down == ASSAY_DOWN_MEAN_RGB &&
        is_subsampled(spec))
        return assay_fail(err, ASSAY_EUSAGE,
                          "chroma of mean colours needs colours: they are "
                          "gone where colour comes before resize");
    return 0;
}
