/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs as the build was told, against the model's and the sample's. */
#include <stdio.h>
#include <string.h>

#include "host-tools/vendor/check.h"

bool assay_vcheck_is_image(const char *type)
{
    static const char *const types[] = {"nv12",   "yuv444", "yuv444_128",
                                        "yuv420", "rgb",    "bgr",
                                        "rgbp",   "bgrp",   "gray"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(type, types[i]) == 0)
            return true;
    }
    return false;
}

static bool same(const int64_t *a, const int64_t *b, uint32_t rank)
{
    return memcmp(a, b, rank * sizeof(*a)) == 0;
}

/* The configuration's shape is the float model's; an image may be NHWC in
 * the quantized model. */
static void check_shape(struct assay_checker *c,
                        const struct assay_vendor_input *in,
                        const struct assay_tensor *t)
{
    int64_t dims[ASSAY_MAX_RANK], moved[ASSAY_MAX_RANK];
    char a[160], b[160];
    bool nchw = strcmp(in->layout_train, "NHWC") != 0;

    if (!in->has_shape)
        return;
    assay_tensor_source_dims(t, dims);
    memcpy(moved, in->dims, sizeof(moved));
    if (in->rank == 4) {
        moved[1] = in->dims[nchw ? 2 : 3];
        moved[2] = in->dims[nchw ? 3 : 1];
        moved[3] = in->dims[nchw ? 1 : 2];
    }
    if (in->rank == t->rank && (same(dims, in->dims, t->rank) ||
                                (in->rank == 4 &&
                                 (assay_vcheck_is_image(in->type_rt) ||
                                  strcmp(in->layout_rt, in->layout_train)) &&
                                 same(dims, moved, t->rank))))
        return;
    assay_vcheck_dims(in->dims, in->rank, a, sizeof(a));
    assay_vcheck_dims(dims, t->rank, b, sizeof(b));
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "input-shape", c->config->file,
                     t->name, a, b,
                     "input '%.100s': the configuration has shape %s, the "
                     "model takes %s",
                     t->name, a, b);
}

static bool removes(const struct assay_checker *c, const char *type)
{
    const struct assay_vendor_texts *r = &c->config->remove_node_type;

    for (uint32_t i = 0; i < r->n; i++) {
        if (strcmp(r->v[i], type) == 0)
            return true;
    }
    return false;
}

static void check_dtype(struct assay_checker *c,
                        const struct assay_vendor_input *in,
                        const struct assay_tensor *t)
{
    bool image = assay_vcheck_is_image(in->type_rt);
    bool integer = assay_dtype_is_int(t->dtype);
    const char *found = assay_dtype_name(t->dtype);
    const char *expected = image ? "int8" : "float32";

    if (in->type_rt[0] == '\0')
        return;
    if (image ? t->dtype == ASSAY_S8 : !integer)
        return;
    /* Without its HzQuantize the model takes the integers themselves. */
    if (!image && integer && removes(c, "Quantize"))
        return;
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "input-type", c->config->file,
                     t->name, expected, found,
                     "input '%.100s': input_type_rt '%.40s' gives a model that "
                     "takes %s, this one takes %s",
                     t->name, in->type_rt, expected, found);
}

static void check_nv12(struct assay_checker *c,
                       const struct assay_vendor_input *in,
                       const struct assay_tensor *t)
{
    int64_t dims[ASSAY_MAX_RANK], h, w;
    char shape[160];
    bool nhwc;

    if (strcmp(in->type_rt, "nv12") != 0 || t->rank != 4)
        return;
    assay_tensor_source_dims(t, dims);
    assay_vcheck_dims(dims, t->rank, shape, sizeof(shape));
    nhwc = dims[3] == 3;
    h = dims[nhwc ? 1 : 2];
    w = dims[nhwc ? 2 : 3];
    if (h % 2 != 0 || w % 2 != 0)
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "input-shape", c->config->file,
                         t->name, "even height and width", shape,
                         "input '%.100s': nv12 needs an even height and width, "
                         "the model takes %s",
                         t->name, shape);
    if (!nhwc)
        assay_vcheck_add(c, ASSAY_WARNING, "input-layout", c->config->file,
                         t->name, "NHWC", "NCHW",
                         "input '%.100s': an nv12 build takes NHWC, this model "
                         "takes %s",
                         t->name, shape);
}

static const struct assay_vendor_preprocess *preprocess_of(
    const struct assay_checker *c, const char *input)
{
    for (uint32_t i = 0; i < c->facts->n_preprocess; i++) {
        if (strcmp(c->facts->preprocess[i].input, input) == 0)
            return &c->facts->preprocess[i];
    }
    return NULL;
}

static void check_folding(struct assay_checker *c,
                          const struct assay_vendor_input *in,
                          const struct assay_tensor *t)
{
    const struct assay_vendor_preprocess *p = preprocess_of(c, t->name);
    bool image = assay_vcheck_is_image(in->type_rt);
    bool norm =
        in->norm_type[0] != '\0' && strcmp(in->norm_type, "no_preprocess") != 0;
    bool colour = image && in->type_train[0] != '\0' &&
                  strcmp(in->type_rt, in->type_train) != 0;

    if (p != NULL) {
        if (!image && !norm)
            assay_vcheck_add(c, ASSAY_CONTRADICTION, "preprocess",
                             c->config->file, t->name, "no preprocessing",
                             p->node,
                             "input '%.100s': the configuration folds nothing "
                             "in, the model has node '%.100s'",
                             t->name, p->node);
        else
            assay_vcheck_preprocess(c, in, p);
        return;
    }
    if (norm || colour)
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "preprocess", c->config->file,
                         t->name, norm ? in->norm_type : in->type_train,
                         "no HzSQuantizedPreprocess",
                         "input '%.100s': %s should be folded into the model, "
                         "which has no HzSQuantizedPreprocess for it",
                         t->name,
                         norm && colour ? "mean, scale and colour"
                                        : (norm ? "mean and scale" : "colour"));
}

/* Both -128 and the missing of it are what people get wrong first. */
static void check_sample(struct assay_checker *c,
                         const struct assay_vendor_input *in,
                         const struct assay_tensor *t)
{
    char found[64];

    for (uint32_t i = 0; i < c->facts->n_samples; i++) {
        const struct assay_vendor_sample *s = &c->facts->samples[i];

        if (strcmp(s->input, t->name) != 0 || t->dtype != ASSAY_S8 ||
            !assay_vcheck_is_image(in->type_rt) || s->lo < 0.0 || s->hi <= 0.0)
            continue;
        snprintf(found, sizeof(found), "%.0f..%.0f", s->lo, s->hi);
        assay_vcheck_add(c, ASSAY_WARNING, "input-centre", c->config->file,
                         t->name, "values around 0", found,
                         "input '%.100s': the sample has no value below 0 "
                         "(%s); the model takes the image minus 128",
                         t->name, found);
    }
}

static const struct assay_tensor *find_input(
    struct assay_checker *c, const struct assay_vendor_input *in,
    const char *names, const struct assay_tensor *only)
{
    const struct assay_tensor *t;

    if (in->name[0] == '\0')
        return only; /* one input needs no name */
    t = assay_vcheck_tensor(c, in->name, NULL);
    if (t != NULL && t->role == ASSAY_ROLE_INPUT)
        return t;
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "input-name", c->config->file,
                     in->name, in->name, names,
                     "the configuration's input '%.100s' is not one of the "
                     "model: %.200s",
                     in->name, names);
    return NULL;
}

void assay_vcheck_inputs(struct assay_checker *c)
{
    const struct assay_vendor_config *k = c->config;
    const struct assay_tensor *only = NULL;
    char names[256] = "", a[16], b[16];
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->s->n_tensors; i++) {
        const struct assay_tensor *t = &c->s->tensors[i];

        if (t->role != ASSAY_ROLE_INPUT)
            continue;
        only = n++ == 0 ? t : NULL;
        if (n > 1)
            strncat(names, ", ", sizeof(names) - strlen(names) - 1);
        strncat(names, t->name, sizeof(names) - strlen(names) - 1);
    }
    if (k->n_inputs > 0 && k->n_inputs != n) {
        snprintf(a, sizeof(a), "%u", k->n_inputs);
        snprintf(b, sizeof(b), "%u", n);
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "input-count", k->file, "", a,
                         b,
                         "the configuration has %s input%s, the model %s: "
                         "%.200s",
                         a, k->n_inputs == 1 ? "" : "s", b, names);
    }
    for (uint32_t i = 0; i < k->n_inputs; i++) {
        const struct assay_vendor_input *in = &k->inputs[i];
        const struct assay_tensor *t = find_input(c, in, names, only);

        if (t == NULL)
            continue;
        check_dtype(c, in, t);
        check_shape(c, in, t);
        check_nv12(c, in, t);
        check_folding(c, in, t);
        check_sample(c, in, t);
    }
}
