/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture to the bytes that a model takes, each step kept as a tensor.
 *
 * A spec is a value: plain fields, no pointers, copied and compared freely;
 * assay_image_spec_init() gives the defaults, then the caller changes fields.
 * Adapting is a pure function of spec and picture, so what a program did
 * wrong is a spec with other fields, and the same code makes both.
 *
 * Order of the steps; one that does nothing is left out:
 *   decode     the picture, u8 RGB [1,H,W,3] (or NV12 [3H/2,W])
 *   rgb        of an NV12 picture, by `colour` and `up`; left out where type
 *              and size ask for nothing that NV12 does not have: then its own
 *              Y, U and V are taken on
 *   orient     turned as `orientation` says
 *   resize     to the model's size
 *   colour     YUV, BGR or gray; before resize with colour_first
 *   subsample  NV12 or NV21 [3H/2,W] (of types NV12 and NV21)
 *   widen      NV12 to YUV444 again, as the model's own first step does
 *   centre     value - 128 as s8, wrapping: a second time gives the bytes of
 *              the unsigned values
 *   normalise  f32: x / 255 (`divide` times), then (x - mean) * scale
 *              (`normalise` times)
 *   quantize   round(x / quantize_scale), half to even, into dtype
 *   layout     NCHW
 *   pad        rows of `stride` bytes, or of a multiple of `align`
 * Tensors of colours are [1,H,W,C], NCHW [1,C,H,W]; NV12 is
 * [rows, W] with W the number of bytes of Y in a row.
 *
 * Who centres: an X5 model whose input_type_rt is nv12 takes unsigned bytes
 * and subtracts 128 itself (type NV12, centre 0, widen false is what the
 * application writes; widen with centre 1 is what the first layer of the
 * quantized model reads); input_type_rt yuv444 with the suffix _128 takes
 * signed bytes (type YUV444, centre 1).
 */
#ifndef ASSAY_IMAGE_ADAPT_H
#define ASSAY_IMAGE_ADAPT_H

#include <stdbool.h>

#include "host-tools/image/nv12.h"
#include "host-tools/image/picture.h"
#include "host-tools/image/resize.h"
#include "lib/core/slice.h"

enum assay_image_type {
    ASSAY_IMAGE_NV12,
    ASSAY_IMAGE_NV21,
    ASSAY_IMAGE_YUV444,
    ASSAY_IMAGE_RGB,
    ASSAY_IMAGE_BGR,
    ASSAY_IMAGE_GRAY,
    ASSAY_IMAGE_TYPE_COUNT,
};
const char *assay_image_type_name(enum assay_image_type type); /* "nv12" */

#define ASSAY_IMAGE_NO_DTYPE ((enum assay_dtype)0)

struct assay_image_spec {
    enum assay_image_type type;
    uint32_t width, height; /* of the model's input, 1..16384 */
    uint8_t orientation;    /* EXIF's number, 1..8; 0: what the file says */
    /* size */
    enum assay_fit fit;
    enum assay_filter filter;
    uint8_t pad[3];    /* of letterboxes, in the order R, G, B (with
                          colour_first: of what is resized) */
    bool colour_first; /* colour, then resize */
    /* colour */
    struct assay_colour colour;
    enum assay_chroma_down down;
    enum assay_chroma_up up;
    enum assay_odd odd;
    bool widen; /* types NV12, NV21: up to YUV444 again */
    /* values */
    uint8_t centre;    /* 0..2 times */
    uint8_t divide;    /* by 255, 0..2 times */
    uint8_t normalise; /* 0..2 times */
    bool scale_first;  /* x * scale - mean instead of (x - mean) * scale */
    float mean[3], scale[3]; /* by channel of the tensor, as it stands then */
    enum assay_dtype dtype;  /* NO_DTYPE: what the steps before give; else U8,
                               S8, U16, S16 or F32 */
    float quantize_scale;    /* > 0; 1: only rounding (F32: only widening) */
    /* memory */
    bool nchw;
    size_t stride; /* bytes of a row: W * C elements of NHWC, W of NCHW, of
                      NV12 both kinds of rows; 0: see align */
    size_t align;  /* 0 or 1: dense; else rows are padded to a multiple */
};

/* Type and size as given; stretch, linear, colour after resize; BT.601 in
 * integers, studio (RGB, BGR and gray: full); means of chroma, replicated;
 * no centring; mean 0, scale 1, not applied; NHWC, dense; orientation 1 (as
 * stored), pad 127. */
void assay_image_spec_init(struct assay_image_spec *spec,
                           enum assay_image_type type, uint32_t width,
                           uint32_t height);
/* One sentence about the first field that cannot be. */
int assay_image_spec_check(const struct assay_image_spec *spec,
                           struct assay_err *err) ASSAY_MUST_CHECK;
/* Channels of the tensor: 3, or 1 for gray and for NV12 that is not widened */
uint32_t assay_image_channels(const struct assay_image_spec *spec);

struct assay_image_tensor {
    const char *name; /* of the step, static */
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[4];
    int64_t strides[4]; /* bytes */
    size_t bytes;       /* with the padding of every row */
    const void *data;   /* in the owner's arena */
};

#define ASSAY_IMAGE_MAX_STEPS 12
struct assay_image_adapted {
    struct assay_arena *arena; /* owns all data */
    uint32_t n;
    struct assay_image_tensor steps[ASSAY_IMAGE_MAX_STEPS];
};

/* The last step is the model's input. Data is owned by `out`, but for the
 * first step, which is the picture's own memory and lives as long. */
int assay_image_adapt(struct assay_image_adapted *out,
                      const struct assay_image_spec *spec,
                      const struct assay_picture *picture,
                      struct assay_err *err) ASSAY_MUST_CHECK;
/* The two halves, for callers that try many specs on one picture: orient and
 * resize to a picture of the model's size (RGB), and all that follows it. The
 * result of the first half depends on orientation, fit, filter, pad, width and
 * height alone (and of an NV12 picture on colour and up: it becomes RGB). Not
 * with colour_first. The first step of the second half is named "resize" and
 * is `sized`'s own memory. */
int assay_image_sized(struct assay_picture *out,
                      const struct assay_image_spec *spec,
                      const struct assay_picture *picture,
                      struct assay_err *err) ASSAY_MUST_CHECK;
int assay_image_adapt_sized(struct assay_image_adapted *out,
                            const struct assay_image_spec *spec,
                            const struct assay_picture *sized,
                            struct assay_err *err) ASSAY_MUST_CHECK;
const struct assay_image_tensor *assay_image_result(
    const struct assay_image_adapted *a); /* the last step */
void assay_image_adapted_close(struct assay_image_adapted *a); /* NULL safe */

#endif
