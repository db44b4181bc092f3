/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and colours: a picture up to bytes of the model's size. What follows
 * is in adapt_values.c. */
#include "host-tools/image/adapt.h"

#include <string.h>

#include "host-tools/image/adapt_private.h"
#include "lib/core/buf.h"

static int no_memory(struct assay_adapting *a)
{
    return assay_fail(a->err, ASSAY_EMEMORY, "out of memory");
}

/* Dense: strides follow from dims. */
static struct assay_image_tensor *append(struct assay_adapting *a,
                                         const char *name,
                                         enum assay_dtype dtype, uint32_t rank,
                                         const int64_t *dims)
{
    struct assay_image_tensor *t = &a->out->steps[a->out->n++];
    int64_t step = (int64_t)assay_dtype_bytes(dtype);

    *t =
        (struct assay_image_tensor){.name = name, .dtype = dtype, .rank = rank};
    for (uint32_t i = rank; i-- > 0;) {
        t->dims[i] = dims[i];
        t->strides[i] = step;
        step *= dims[i];
    }
    t->bytes = (size_t)step;
    return t;
}

void *assay_adapt_step(struct assay_adapting *a, const char *name,
                       enum assay_dtype dtype, uint32_t rank,
                       const int64_t *dims)
{
    struct assay_image_tensor *t = append(a, name, dtype, rank, dims);
    void *data = assay_arena_alloc(a->out->arena, t->bytes);

    t->data = data;
    return data;
}

const struct assay_image_tensor *assay_image_result(
    const struct assay_image_adapted *a)
{
    return &a->steps[a->n - 1];
}

void assay_image_adapted_close(struct assay_image_adapted *a)
{
    if (a == NULL)
        return;
    assay_arena_free(a->arena);
    *a = (struct assay_image_adapted){0};
}

/* What the steps so far have arrived at: dense bytes of a picture. */
struct frame {
    const uint8_t *data;
    uint32_t width, height, channels;
};

static size_t pixels(const struct frame *f)
{
    return (size_t)f->width * f->height;
}

/* A step with the shape of f, whose data the caller fills; NULL: no memory. */
static uint8_t *frame_step(struct assay_adapting *a, const char *name,
                           struct frame *f)
{
    int64_t dims[4] = {1, f->height, f->width, f->channels};
    uint8_t *to = assay_adapt_step(a, name, ASSAY_U8, 4, dims);

    f->data = to;
    return to;
}

/* ---- size ------------------------------------------------------------------------ */

static int orient(struct assay_adapting *a, struct frame *f)
{
    struct assay_picture p = {.width = f->width,
                              .height = f->height,
                              .bytes = 3 * pixels(f),
                              .data = (uint8_t *)f->data};
    struct assay_picture turned;
    unsigned how =
        a->spec->orientation != 0 ? a->spec->orientation : a->orientation;
    uint8_t *to;
    int rc;

    if (how == 1)
        return 0;
    rc = assay_picture_orient(&turned, &p, how, a->err);
    if (rc < 0)
        return rc;
    f->width = turned.width;
    f->height = turned.height;
    to = frame_step(a, "orient", f);
    if (to != NULL)
        memcpy(to, turned.data, turned.bytes);
    assay_picture_close(&turned);
    return to != NULL ? 0 : no_memory(a);
}

static int resize(struct assay_adapting *a, struct frame *f)
{
    const struct assay_image_spec *s = a->spec;
    struct frame was = *f;
    uint8_t *to;

    if (f->width == s->width && f->height == s->height)
        return 0;
    f->width = s->width;
    f->height = s->height;
    to = frame_step(a, "resize", f);
    if (to == NULL)
        return no_memory(a);
    return assay_resize_fit(to, s->width, s->height, was.data, was.width,
                            was.height, was.channels, s->filter, s->fit, s->pad,
                            a->err);
}

/* ---- colour ------------------------------------------------------------------------ */

static int colour(struct assay_adapting *a, struct frame *f)
{
    const struct assay_image_spec *s = a->spec;
    const uint8_t *from = f->data;
    uint8_t *to;

    if (s->type == ASSAY_IMAGE_RGB)
        return 0;
    f->channels = s->type == ASSAY_IMAGE_GRAY ? 1 : 3;
    to = frame_step(a, "colour", f);
    if (to == NULL)
        return no_memory(a);
    if (s->type == ASSAY_IMAGE_BGR)
        assay_swap_rb(to, from, pixels(f));
    else if (s->type == ASSAY_IMAGE_GRAY)
        assay_rgb_to_gray(to, from, pixels(f), &s->colour);
    else
        assay_rgb_to_yuv(to, from, pixels(f), &s->colour);
    return 0;
}

static bool is_subsampled(const struct assay_image_spec *s)
{
    return s->type == ASSAY_IMAGE_NV12 || s->type == ASSAY_IMAGE_NV21;
}

static int widen(struct assay_adapting *a, struct frame *f,
                 const struct assay_nv12 *n, const uint8_t *from)
{
    uint8_t *to;

    if (!a->spec->widen)
        return 0;
    to = frame_step(a, "widen", f);
    if (to == NULL)
        return no_memory(a);
    assay_nv12_to_yuv(to, n, from, a->spec->up);
    return 0;
}

/* f is YUV; rgb what it was before, or NULL. */
static int subsample(struct assay_adapting *a, struct frame *f,
                     const uint8_t *rgb)
{
    const struct assay_image_spec *s = a->spec;
    struct assay_nv12 n;
    int64_t dims[2];
    uint8_t *to;
    int rc;

    if (!is_subsampled(s))
        return 0;
    rc = assay_nv12_layout(&n, f->width, f->height, 0, s->odd, a->err);
    if (rc < 0)
        return rc;
    n.nv21 = s->type == ASSAY_IMAGE_NV21;
    dims[0] = (int64_t)n.height + n.chroma_height;
    dims[1] = (int64_t)n.stride;
    to = assay_adapt_step(a, "subsample", ASSAY_U8, 2, dims);
    if (to == NULL)
        return no_memory(a);
    if (s->down == ASSAY_DOWN_MEAN_RGB && rgb != NULL)
        assay_nv12_from_rgb(to, &n, rgb, &s->colour, s->down);
    else
        assay_nv12_from_yuv(to, &n, f->data, s->down);
    return widen(a, f, &n, to);
}

/* ---- NV12 pictures --------------------------------------------------------------------- */

/* Its own Y, U and V are what is wanted. */
static bool passes(const struct assay_image_spec *s,
                   const struct assay_picture *p)
{
    bool turned = s->orientation > 1;

    return p->form == ASSAY_PICTURE_NV12 && !turned && s->width == p->width &&
           s->height == p->height &&
           (is_subsampled(s) || s->type == ASSAY_IMAGE_YUV444 ||
            s->type == ASSAY_IMAGE_GRAY);
}

static int from_nv12(struct assay_adapting *a, const struct assay_picture *p,
                     struct frame *f)
{
    struct assay_nv12 n;
    const struct assay_image_spec *s = a->spec;
    bool as_is = passes(s, p);
    uint8_t *to;
    int rc =
        assay_nv12_layout(&n, p->width, p->height, 0, ASSAY_ODD_REFUSE, a->err);

    if (rc < 0)
        return rc;
    *f = (struct frame){p->data, p->width, p->height, 3};
    if (as_is && s->type == ASSAY_IMAGE_GRAY)
        f->channels = 1;
    to = frame_step(a, as_is ? "colour" : "rgb", f);
    if (to == NULL)
        return no_memory(a);
    if (f->channels == 1) {
        memcpy(to, p->data, pixels(f));
        return 0;
    }
    /* What is subsampled again must come out as it went in. */
    assay_nv12_to_yuv(to, &n, p->data,
                      as_is && is_subsampled(s) ? ASSAY_UP_REPLICATE : s->up);
    if (!as_is)
        assay_yuv_to_rgb(to, to, pixels(f), &s->colour);
    return 0;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int decode(struct assay_adapting *a, const struct assay_picture *p,
                  struct frame *f)
{
    int64_t nv12[2] = {(int64_t)p->height + p->height / 2, p->width};
    int64_t rgb[4] = {1, p->height, p->width, 3};
    bool is_nv12 = p->form == ASSAY_PICTURE_NV12;
    struct assay_image_tensor *t =
        append(a, "decode", ASSAY_U8, is_nv12 ? 2 : 4, is_nv12 ? nv12 : rgb);

    t->data = p->data;
    a->orientation = p->orientation;
    *f = (struct frame){p->data, p->width, p->height, 3};
    return is_nv12 ? from_nv12(a, p, f) : 0;
}

static int start(struct assay_adapting *a, struct assay_image_adapted *out,
                 const struct assay_image_spec *spec, struct assay_err *err)
{
    int rc = assay_image_spec_check(spec, err);

    *a = (struct assay_adapting){.out = out, .spec = spec, .err = err};
    *out = (struct assay_image_adapted){0};
    if (rc < 0)
        return rc;
    out->arena = assay_arena_new();
    return out->arena != NULL ? 0 : no_memory(a);
}

static int finish(struct assay_adapting *a, struct frame *f, const uint8_t *rgb)
{
    int rc = subsample(a, f, rgb);

    if (rc == 0)
        rc = assay_adapt_values(a);
    return rc;
}

static int convert(struct assay_adapting *a, const struct assay_picture *p)
{
    struct frame f;
    const uint8_t *rgb = NULL;
    int rc = decode(a, p, &f);

    if (rc == 0 && passes(a->spec, p))
        return finish(a, &f, NULL);
    if (rc == 0)
        rc = orient(a, &f);
    if (rc == 0 && a->spec->colour_first)
        rc = colour(a, &f);
    if (rc == 0)
        rc = resize(a, &f);
    if (rc == 0 && !a->spec->colour_first) {
        rgb = f.data;
        rc = colour(a, &f);
    }
    return rc < 0 ? rc : finish(a, &f, rgb);
}

static int end(struct assay_image_adapted *out, struct assay_image_adapted *a,
               int rc)
{
    if (rc < 0)
        assay_image_adapted_close(a);
    else
        *out = *a;
    return rc;
}

int assay_image_adapt(struct assay_image_adapted *out,
                      const struct assay_image_spec *spec,
                      const struct assay_picture *picture,
                      struct assay_err *err)
{
    struct assay_adapting a;
    struct assay_image_adapted made;
    int rc = start(&a, &made, spec, err);

    if (rc == 0)
        rc = convert(&a, picture);
    return end(out, &made, rc);
}

int assay_image_sized(struct assay_picture *out,
                      const struct assay_image_spec *spec,
                      const struct assay_picture *picture,
                      struct assay_err *err)
{
    struct assay_adapting a;
    struct assay_image_adapted made;
    struct assay_picture p = *picture;
    struct assay_image_spec rgb = *spec;
    struct frame f;
    int rc;

    rgb.type = ASSAY_IMAGE_RGB; /* an NV12 picture does not pass */
    rc = start(&a, &made, &rgb, err);
    if (rc == 0)
        rc = decode(&a, picture, &f);
    if (rc == 0)
        rc = orient(&a, &f);
    if (rc == 0)
        rc = resize(&a, &f);
    if (rc == 0) {
        p.form = ASSAY_PICTURE_RGB;
        p.width = f.width;
        p.height = f.height;
        p.bytes = 3 * pixels(&f);
        p.orientation = 1;
        p.data = assay_alloc(p.bytes);
        if (p.data == NULL)
            rc = no_memory(&a);
    }
    if (rc == 0) {
        memcpy(p.data, f.data, p.bytes);
        *out = p;
    }
    assay_image_adapted_close(&made);
    return rc;
}

int assay_image_adapt_sized(struct assay_image_adapted *out,
                            const struct assay_image_spec *spec,
                            const struct assay_picture *sized,
                            struct assay_err *err)
{
    struct assay_adapting a;
    struct assay_image_adapted made;
    struct frame f = {sized->data, sized->width, sized->height, 3};
    int64_t dims[4] = {1, sized->height, sized->width, 3};
    int rc = start(&a, &made, spec, err);

    if (rc == 0 &&
        (sized->form != ASSAY_PICTURE_RGB || sized->width != spec->width ||
         sized->height != spec->height || spec->colour_first))
        rc = assay_fail(err, ASSAY_EINTERNAL,
                        "a picture of %ux%u is not of the model's size",
                        sized->width, sized->height);
    if (rc == 0) {
        append(&a, "resize", ASSAY_U8, 4, dims)->data = sized->data;
        rc = colour(&a, &f);
    }
    if (rc == 0)
        rc = finish(&a, &f, sized->data);
    return end(out, &made, rc);
}
