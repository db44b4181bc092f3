/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/prepare_picture.h"

#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/prepare.h"

bool assay_pictures_are(const struct assay_options *o)
{
    return o->inputs.n > 0 &&
           (o->image.as != NULL || assay_picture_is_one(o->inputs.v[0]));
}

int assay_pictures_check(const struct assay_options *o, struct assay_err *err)
{
    const struct assay_image_texts *t = &o->image;
    const char *given = t->as != NULL       ? "--as"
                        : t->range != NULL  ? "--range"
                        : t->resize != NULL ? "--resize"
                        : t->mean != NULL   ? "--mean-value"
                        : t->scale != NULL  ? "--scale-value"
                        : t->raw != NULL    ? "--raw"
                                            : NULL;

    if (given == NULL && o->command == ASSAY_CMD_RUN && o->set.n > 0)
        given = "--set";
    return given == NULL || (o->operand == NULL && assay_pictures_are(o))
               ? 0
               : assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_PICTURE_NONE,
                                    "name", given, NULL);
}

int assay_pictures_new(struct assay_pictures **out, struct assay_err *err)
{
    *out = assay_calloc(1, sizeof(**out));
    return *out != NULL
               ? 0
               : assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

void assay_pictures_free(struct assay_pictures *p)
{
    assay_free(p);
}

/* The input that is made: the one of that name, or the only one. */
static int find_input(struct assay_pictures *p, struct assay_err *err)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < p->slice->n_tensors; t++) {
        if (p->slice->tensors[t].role != ASSAY_ROLE_INPUT)
            continue;
        p->tensor = t;
        n++;
    }
    if (n != 1)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_PICTURE_INPUTS,
                                  "model", p->slice->model_name, "n",
                                  assay_num_u(n).text, NULL);
    return 0;
}

/* Rank four with `channels` on one side: height, width and the order. */
static bool is_image(const struct assay_tensor *t, uint32_t channels,
                     uint32_t *height, uint32_t *width, bool *nchw)
{
    int64_t dims[ASSAY_MAX_RANK] = {0};
    bool last, first;

    assay_tensor_source_dims(t, dims);
    if (t->rank != 4 || dims[0] != 1)
        return false;
    last = dims[3] == (int64_t)channels;
    first = dims[1] == (int64_t)channels;
    /* Where both fit the model's own labels decide: stored is NHWC. */
    *nchw = first && (!last || t->perm[3] == 1);
    if (!first && !last)
        return false;
    *height = (uint32_t)dims[*nchw ? 2 : 1];
    *width = (uint32_t)dims[*nchw ? 3 : 2];
    return *height <= ASSAY_PICTURE_MAX_SIDE &&
           *width <= ASSAY_PICTURE_MAX_SIDE;
}

/* From what the board takes to what the model's own input is. */
static int fit_to_input(struct assay_pictures *p, struct assay_err *err)
{
    const struct assay_tensor *t = &p->slice->tensors[p->tensor];
    struct assay_image_spec *s = &p->spec;
    bool planes = s->type == ASSAY_IMAGE_NV12 || s->type == ASSAY_IMAGE_NV21;
    bool yuv = planes || s->type == ASSAY_IMAGE_YUV444;
    uint32_t width, height;

    s->widen = planes;
    if (!is_image(t, assay_image_channels(s), &height, &width, &s->nchw) ||
        (s->width != 0 && (s->width != width || s->height != height)))
        return assay_fail_message(
            err, ASSAY_EMISMATCH, ASSAY_MSG_PICTURE_SHAPE, "input", t->name,
            "type", assay_image_type_name(s->type), "channels",
            assay_num_u(assay_image_channels(s)).text, NULL);
    s->width = width;
    s->height = height;
    s->stride = s->align = 0; /* how the board's buffer lies, no input's */
    if (t->dtype == ASSAY_S8 && s->dtype == ASSAY_IMAGE_NO_DTYPE &&
        s->centre == 0 && s->normalise == 0)
        s->centre = 1;
    else if (t->dtype == ASSAY_F32 && s->dtype == ASSAY_IMAGE_NO_DTYPE) {
        s->dtype = ASSAY_F32;
        s->quantize_scale = 1.0f;
        s->centre = yuv && s->normalise == 0 && s->divide == 0;
    }
    return assay_image_spec_check(s, err);
}

static int make(void *self, const char *path, struct assay_npz *out,
                struct assay_err *err);

int assay_pictures_open(struct assay_pictures *p,
                        const struct assay_prepared *q,
                        const struct assay_options *o, struct assay_err *err)
{
    struct assay_options only = *o;
    struct assay_image_told told;
    uint32_t n_inputs;
    int rc = assay_image_options(&p->ask, o, err);
    bool configured = q->vendor != NULL &&
                      (q->vendor->yaml.present || q->vendor->deps.present);

    if (rc == 0 && !p->ask.typed && !configured)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_PICTURE_AS, "file",
                                o->inputs.v[0], NULL);
    only.model = NULL;
    if (p->ask.typed || !configured)
        only.vendor.n = 0;
    p->slice = q->slice;
    p->note = &q->note;
    p->maker.self = p;
    p->maker.make = make;
    if (rc == 0)
        rc = find_input(p, err);
    told.spec = p->ask.spec;
    told.typed = p->ask.typed;
    if (rc == 0)
        rc = assay_image_wanted(&p->doors, &n_inputs, &only, &told, 0, err);
    if (rc < 0)
        return rc;
    p->spec = p->doors.v[0].wanted.spec;
    rc = fit_to_input(p, err);
    if (rc < 0)
        return rc;
    /* A column's tensor of that name is the model's input, not the buffer that
     * the runtime on the board makes it of. */
    p->doors.v[0].name = assay_message_text(ASSAY_MSG_WANTED_BY_QUANTIZED);
    p->doors.v[0].wanted.spec = p->spec;
    p->doors.v[0].wanted.model_centres = false;
    p->doors.n = 1;
    return 0;
}

int assay_pictures_read(const struct assay_pictures *p, const char *path,
                        const struct assay_model_note *note,
                        struct assay_picture *out, struct assay_err *err)
{
    return p->ask.is_raw ? assay_picture_read_raw(out, path, &p->ask.raw, err)
                         : assay_picture_read(out, path, note, err);
}

int assay_pictures_adapt(const struct assay_pictures *p, const char *path,
                         const struct assay_model_note *note,
                         struct assay_picture *picture,
                         struct assay_image_adapted *out, struct assay_err *err)
{
    int rc = assay_pictures_read(p, path, note, picture, err);

    return rc == 0 ? assay_image_adapt(out, &p->spec, picture, err) : rc;
}

/* The last step as the array that a file of inputs would have. */
static int take(struct assay_npz *out, const struct assay_tensor *t,
                const struct assay_image_tensor *x, struct assay_err *err)
{
    struct assay_array *a = assay_calloc(1, sizeof(*a));
    size_t n = strlen(t->name) + 1;
    char *name = assay_alloc(n);
    void *data = assay_alloc(x->bytes + 1);

    if (a == NULL || name == NULL || data == NULL) {
        assay_free(a);
        assay_free(name);
        assay_free(data);
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    }
    memcpy(name, t->name, n);
    memcpy(data, x->data, x->bytes);
    *a = (struct assay_array){
        .name = name,
        .dtype = x->dtype,
        .rank = x->rank,
        .bytes = x->bytes,
        .data = data,
    };
    memcpy(a->dims, x->dims, x->rank * sizeof(*x->dims));
    *out = (struct assay_npz){.arrays = a, .n = 1};
    return 0;
}

static int make(void *self, const char *path, struct assay_npz *out,
                struct assay_err *err)
{
    const struct assay_pictures *p = self;
    const struct assay_model_note silent = {.note = NULL};
    struct assay_image_adapted steps = {0};
    struct assay_picture picture = {0};
    int rc = assay_pictures_adapt(p, path, &silent, &picture, &steps, err);

    if (rc == 0)
        rc = take(out, &p->slice->tensors[p->tensor],
                  assay_image_result(&steps), err);
    assay_image_adapted_close(&steps);
    assay_picture_close(&picture);
    return rc;
}
