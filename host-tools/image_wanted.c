/* SPDX-License-Identifier: Apache-2.0 */
/* See image_wanted.h. */
#include "host-tools/image_wanted.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/model/model.h"
#include "host-tools/vendor/vendor.h"

static const struct {
    const char *word;
    enum assay_image_type type;
    bool nchw, centred;
} types[] = {
    {"nv12", ASSAY_IMAGE_NV12, false, false},
    {"yuv444", ASSAY_IMAGE_YUV444, false, false},
    {"yuv444_128", ASSAY_IMAGE_YUV444, false, true},
    {"rgb", ASSAY_IMAGE_RGB, false, false},
    {"bgr", ASSAY_IMAGE_BGR, false, false},
    {"rgbp", ASSAY_IMAGE_RGB, true, false},
    {"bgrp", ASSAY_IMAGE_BGR, true, false},
    {"gray", ASSAY_IMAGE_GRAY, false, false},
};
#define N_TYPES (sizeof(types) / sizeof(types[0]))

static int type_of(const char *word)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        if (strcmp(types[i].word, word) == 0)
            return (int)i;
    }
    return -1;
}

/* ---- the configuration ---------------------------------------------------- */

/* Height and width of a shape of four; false: it has none. */
static bool sides(const int64_t *dims, uint32_t rank, bool nhwc,
                  uint32_t *width, uint32_t *height)
{
    int64_t h, w;

    if (rank != 4)
        return false;
    h = dims[nhwc ? 1 : 2];
    w = dims[nhwc ? 2 : 3];
    if (h < 1 || w < 1 || h > ASSAY_PICTURE_MAX_SIDE ||
        w > ASSAY_PICTURE_MAX_SIDE)
        return false;
    *width = (uint32_t)w;
    *height = (uint32_t)h;
    return true;
}

static int values(float out[3], const struct assay_vendor_numbers *n,
                  const char *key, const char *file, struct assay_err *err)
{
    if (n->n != 1 && n->n != 3)
        return assay_fail_message(err, ASSAY_EFORMAT, ASSAY_MSG_WANTED_VALUES,
                                  "file", file, "key", key, "n",
                                  assay_num_u(n->n).text, NULL);
    for (int i = 0; i < 3; i++)
        out[i] = (float)n->v[n->n == 1 ? 0 : i];
    return 0;
}

/* Mean and scale are in the model: they are known, and not applied. */
static int norm_of(struct assay_received_wanted *w,
                   const struct assay_vendor_input *in, const char *file,
                   struct assay_err *err)
{
    bool with_mean = strstr(in->norm_type, "mean") != NULL;
    bool with_scale = strstr(in->norm_type, "scale") != NULL ||
                      strstr(in->norm_type, "std") != NULL;
    int rc = 0;

    if (with_mean && in->mean.n > 0)
        rc = values(w->spec.mean, &in->mean, "mean_value", file, err);
    if (rc == 0 && with_scale && in->scale.n > 0)
        rc = values(w->spec.scale, &in->scale, "scale_value", file, err);
    w->model_normalises = with_mean || with_scale;
    return rc;
}

static int from_config(struct assay_image_doors *out,
                       const struct assay_options *o,
                       const struct assay_vendor_config *c,
                       const struct assay_vendor_input *in,
                       const struct assay_image_told *told,
                       struct assay_err *err)
{
    struct assay_received_wanted *w = &out->v[0].wanted;
    int t = type_of(in->type_rt);
    uint32_t width = told->spec.width, height = told->spec.height;

    if (in->has_shape &&
        !sides(in->dims, in->rank, strcmp(in->layout_train, "NHWC") == 0,
               &width, &height))
        return assay_fail_message(err, ASSAY_EFORMAT, ASSAY_MSG_WANTED_SHAPE,
                                  "file", c->file, "input", in->name, NULL);
    if (width == 0 || height == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_WANTED_NO_SIZE,
                                  "file", c->file, "input", in->name, NULL);
    if (in->has_shape && o->image.size != NULL &&
        (width != told->spec.width || height != told->spec.height))
        return assay_fail_message(
            err, ASSAY_EUSAGE, ASSAY_MSG_WANTED_SIZE, "file", c->file, "width",
            assay_num_u(width).text, "height", assay_num_u(height).text, "said",
            o->image.size, NULL);
    snprintf(out->input, sizeof(out->input), "%.127s", in->name);
    assay_image_spec_init(&w->spec, types[t].type, width, height);
    w->spec.nchw = types[t].nchw || (types[t].type != ASSAY_IMAGE_NV12 &&
                                     strcmp(in->layout_rt, "NCHW") == 0);
    w->spec.centre = types[t].centred;
    w->model_centres = !types[t].centred;
    w->spec.colour.range = strstr(in->space, "video") != NULL
                               ? ASSAY_RANGE_STUDIO
                               : ASSAY_RANGE_FULL;
    if (o->image.range != NULL)
        w->spec.colour.range = told->spec.colour.range;
    w->spec.stride = told->spec.stride;
    w->spec.align = told->spec.align;
    w->spec.fit = told->spec.fit;
    w->spec.filter = told->spec.filter;
    memcpy(w->spec.pad, told->spec.pad, sizeof(w->spec.pad));
    w->spec.orientation = told->spec.orientation;
    w->spec.colour_first = told->spec.colour_first;
    w->spec.colour.matrix = told->spec.colour.matrix;
    w->spec.colour.arith = told->spec.colour.arith;
    w->spec.down = told->spec.down;
    w->spec.up = told->spec.up;
    out->v[0].name = assay_message_text(ASSAY_MSG_WANTED_BY_MODEL);
    out->n = 1;
    return norm_of(w, in, c->file, err);
}

/* The picture inputs of a configuration, in its order; NULL: not so many. */
static const struct assay_vendor_input *picture_input(
    const struct assay_vendor_config *c, uint32_t index, uint32_t *n)
{
    const struct assay_vendor_input *found = NULL;

    *n = 0;
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        if (type_of(c->inputs[i].type_rt) < 0)
            continue;
        if ((*n)++ == index)
            found = &c->inputs[i];
    }
    return found;
}

static int from_vendor(struct assay_image_doors *out, uint32_t *n_inputs,
                       const struct assay_options *o,
                       const struct assay_image_told *told, uint32_t index,
                       struct assay_err *err)
{
    struct assay_vendor *v = NULL;
    const struct assay_vendor_config *c;
    const struct assay_vendor_input *in;
    int rc = assay_vendor_load(&v, o->vendor.v, o->vendor.n, err);

    if (rc < 0)
        return rc;
    c = v->yaml.present ? &v->yaml : &v->deps;
    in = c->present ? picture_input(c, index, n_inputs) : NULL;
    if (!c->present)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_WANTED_NO_CONFIG,
                                "path", o->vendor.v[0], NULL);
    else if (in == NULL)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_WANTED_NO_PICTURE,
                                "file", c->file, "type",
                                c->n_inputs > 0 ? c->inputs[0].type_rt : "",
                                "n", assay_num_u(*n_inputs).text, "index",
                                assay_num_u(index).text, NULL);
    else
        rc = from_config(out, o, c, in, told, err);
    assay_vendor_free(v);
    return rc;
}

/* ---- the quantized model -------------------------------------------------- */

/* Its input of that name, or the only one; -1. */
static int64_t input_of(const struct assay_slice *s, const char *name)
{
    int64_t only = -1, n = 0;

    for (uint32_t i = 0; i < s->n_tensors; i++) {
        if (s->tensors[i].role != ASSAY_ROLE_INPUT)
            continue;
        if (name[0] != '\0' && strcmp(s->tensors[i].name, name) == 0)
            return i;
        only = i;
        n++;
    }
    return n == 1 ? only : -1;
}

/* What the first layer takes: signed bytes of each pixel, which the runtime
 * makes of its buffer. */
static int add_model_door(struct assay_image_doors *out, const char *path,
                          struct assay_err *err)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_image_door *d = &out->v[1];
    struct assay_slice *s = NULL;
    const struct assay_tensor *t;
    uint32_t width, height;
    int64_t dims[ASSAY_MAX_RANK], at;
    bool nhwc;
    int rc = assay_model_open(&s, path, &silent, err);

    if (rc < 0)
        return rc;
    at = input_of(s, out->input);
    if (at < 0) {
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_WANTED_INPUT,
                                "model", path, "input", out->input, NULL);
        goto out;
    }
    t = &s->tensors[at];
    assay_tensor_source_dims(t, dims);
    nhwc = t->rank == 4 && (dims[3] == 3 || dims[3] == 1);
    if (!sides(dims, t->rank, nhwc, &width, &height) ||
        width != out->v[0].wanted.spec.width ||
        height != out->v[0].wanted.spec.height) {
        rc = assay_fail_message(
            err, ASSAY_EFORMAT, ASSAY_MSG_WANTED_OTHER_SIZE, "model", path,
            "input", t->name, "width",
            assay_num_u(out->v[0].wanted.spec.width).text, "height",
            assay_num_u(out->v[0].wanted.spec.height).text, NULL);
        goto out;
    }
    if (t->dtype == ASSAY_S8) {
        *d = out->v[0];
        d->name = assay_message_text(ASSAY_MSG_WANTED_BY_QUANTIZED);
        d->wanted.model_centres = false;
        d->wanted.spec.centre = 1;
        d->wanted.spec.nchw = !nhwc;
        d->wanted.spec.widen = d->wanted.spec.type == ASSAY_IMAGE_NV12;
        out->n = 2;
    }
out:
    assay_slice_free(s);
    return rc;
}

/* An option that says what a configuration does; NULL: none is there. */
static const char *said_twice(const struct assay_options *o)
{
    if (o->image.as != NULL)
        return "--as";
    if (o->image.mean != NULL)
        return "--mean-value";
    if (o->image.scale != NULL)
        return "--scale-value";
    return o->image.layout != NULL ? "--layout" : NULL;
}

/* A mean or a scale that is told and not applied is the model's. */
static bool has_values(const struct assay_image_spec *s)
{
    for (int i = 0; i < 3; i++) {
        if (s->mean[i] != 0.0f || s->scale[i] != 1.0f)
            return true;
    }
    return false;
}

int assay_image_wanted(struct assay_image_doors *out, uint32_t *n_inputs,
                       const struct assay_options *o,
                       const struct assay_image_told *told, uint32_t index,
                       struct assay_err *err)
{
    int rc = 0;

    memset(out, 0, sizeof(*out));
    *n_inputs = 1;
    if (o->vendor.n > 0 && said_twice(o) != NULL)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_WANTED_BOTH,
                                "option", said_twice(o), NULL);
    else if (o->vendor.n > 0)
        rc = from_vendor(out, n_inputs, o, told, index, err);
    else if (!told->typed)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_WANTED_NOTHING,
                                NULL);
    else {
        struct assay_received_wanted *w = &out->v[0].wanted;

        out->v[0].name = assay_message_text(ASSAY_MSG_WANTED_BY_MODEL);
        w->spec = told->spec;
        w->model_normalises = has_values(&w->spec) && w->spec.normalise == 0;
        w->model_centres = w->spec.centre == 0;
        out->n = 1;
    }
    if (rc == 0 && o->model != NULL)
        rc = add_model_door(out, o->model, err);
    return rc;
}
