/* SPDX-License-Identifier: Apache-2.0 */
/* image: a picture to what a model takes, each step to be seen, and back. */
#include <stdio.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/image/codec.h"
#include "host-tools/image/show.h"
#include "host-tools/image_options.h"
#include "host-tools/image_received.h"
#include "host-tools/image_report.h"
#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "host-tools/model/npz.h"
#include "host-tools/prepare.h"
#include "lib/core/buf.h"

#define MAX_TENSOR ((size_t)1 << 30)

static void note(void *self, const char *text)
{
    const struct assay_options *o = self;
    char line[640];

    if (!o->quiet)
        fprintf(stderr, "%s\n",
                assay_message(line, sizeof(line), ASSAY_MSG_NOTE_LINE, "text",
                              text, NULL));
}

static int read_picture(struct assay_picture *out,
                        const struct assay_options *o,
                        const struct assay_image_ask *ask,
                        struct assay_err *err)
{
    const struct assay_model_note n = {.self = (void *)o, .note = note};

    return ask->is_raw ? assay_picture_read_raw(out, o->operand, &ask->raw, err)
                       : assay_picture_read(out, o->operand, &n, err);
}

static int adapt(const struct assay_options *o,
                 const struct assay_image_ask *ask, struct assay_err *err)
{
    struct assay_picture picture = {0};
    struct assay_image_adapted steps = {0};
    int rc = read_picture(&picture, o, ask, err);

    if (rc == 0)
        rc = assay_image_adapt(&steps, &ask->spec, &picture, err);
    if (rc == 0 && o->output_dir != NULL)
        rc = assay_image_write(o->output_dir, &steps, err);
    if (rc == 0)
        rc = assay_image_report(o,
                                &(struct assay_image_made){o->operand, &picture,
                                                           &ask->spec, &steps},
                                err);
    assay_image_adapted_close(&steps);
    assay_picture_close(&picture);
    return rc;
}

/* ---- --show --------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);

    return n > k && strcmp(path + n - k, suffix) == 0;
}

static int read_arrays(struct assay_npz *z, const struct assay_options *o,
                       struct assay_err *err)
{
    const struct assay_model_note n = {.self = (void *)o, .note = note};
    const char *path = o->image.show;
    char line[600];
    int rc = ends_in(path, ".npz") ? assay_npz_read(z, path, &n, err)
                                   : assay_npy_read(z, path, "input", &n, err);

    if (rc == 0 && z->n == 0)
        rc = assay_fail(err, ASSAY_EFORMAT, "%.300s: holds no array of numbers",
                        path);
    if (rc == 0 && z->n > 1)
        note((void *)o,
             assay_message(line, sizeof(line), ASSAY_MSG_IMAGE_LAST_ARRAY,
                           "file", path, "n", assay_num_u(z->n).text, "name",
                           z->arrays[z->n - 1].name, NULL));
    return rc;
}

static int show_bytes(struct assay_picture *out, const struct assay_options *o,
                      const struct assay_image_ask *ask, struct assay_err *err)
{
    enum assay_dtype dtype = ask->dtype;
    uint8_t *data = NULL;
    size_t n = 0;
    int rc = assay_file_read(&data, &n, o->image.show, MAX_TENSOR, err);

    if (dtype == ASSAY_IMAGE_NO_DTYPE)
        dtype = ask->spec.normalise + ask->spec.divide > 0 ? ASSAY_F32
                : ask->spec.centre > 0                     ? ASSAY_S8
                                                           : ASSAY_U8;
    if (rc == 0)
        rc = assay_image_show(out, &ask->spec, dtype, data, n, err);
    assay_free(data);
    return rc;
}

static int show(const struct assay_options *o,
                const struct assay_image_ask *ask, struct assay_err *err)
{
    const char *path = o->image.show;
    struct assay_picture p = {0};
    struct assay_npz z = {0};
    int rc;

    if (o->output_dir == NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_NO_OUT,
                                  NULL);
    if (!ends_in(o->output_dir, ".png"))
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_SUFFIX,
                                  "file", o->output_dir, "suffixes", ".png",
                                  NULL);
    if (ends_in(path, ".npy") || ends_in(path, ".npz")) {
        rc = read_arrays(&z, o, err);
        if (rc == 0) {
            const struct assay_array *a = &z.arrays[z.n - 1];

            rc = assay_image_show(&p, &ask->spec, a->dtype, a->data, a->bytes,
                                  err);
        }
        assay_npz_close(&z);
    } else {
        rc = show_bytes(&p, o, ask, err);
    }
    if (rc == 0)
        rc = assay_png_write(o->output_dir, p.data, p.width, p.height, 3, err);
    assay_picture_close(&p);
    return rc;
}

/* ---- --got ----------------------------------------------------------------------- */

static int received(const struct assay_options *o,
                    const struct assay_image_ask *ask, struct assay_err *err)
{
    struct assay_image_told told = {ask->spec, ask->typed};

    if (o->image.show != NULL || o->output_dir != NULL)
        return assay_fail_message(
            err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_GOT_ALONE, "other",
            o->image.show != NULL ? "--show" : "-o", NULL);
    return assay_image_received(o, &told, ask->is_raw ? &ask->raw : NULL, err);
}

/* ---- the command ------------------------------------------------------------------ */

static int check(const struct assay_options *o,
                 const struct assay_image_ask *ask, struct assay_err *err)
{
    if (o->operand == NULL && o->image.show == NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_NO_PICTURE,
                                  NULL);
    if (o->operand != NULL && o->image.show != NULL)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_BOTH,
                                  "picture", o->operand, "tensor",
                                  o->image.show, NULL);
    if (o->cases.n > 1)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_SURPLUS_OPERAND,
                                  "value", o->cases.v[1], NULL);
    if (o->vendor.n > 0 || o->model != NULL)
        return assay_fail_message(err, ASSAY_EUSAGE,
                                  ASSAY_MSG_IMAGE_VENDOR_ALONE, NULL);
    if (!ask->typed || !ask->sized)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_NO_TYPE,
                                  NULL);
    return assay_image_spec_check(&ask->spec, err);
}

int assay_cmd_image(const struct assay_options *o, int argc, char **argv)
{
    struct assay_image_ask ask;
    struct assay_err err = {0};
    int rc = assay_image_options(&ask, o, &err);

    (void)argc;
    (void)argv;
    if (rc == 0 && o->fed.n > 0) {
        rc = received(o, &ask, &err);
        return rc < 0 ? assay_cmd_failed(&err) : rc;
    }
    if (rc == 0)
        rc = check(o, &ask, &err);
    if (rc == 0)
        rc = o->image.show != NULL ? show(o, &ask, &err) : adapt(o, &ask, &err);
    return rc < 0 ? assay_cmd_failed(&err) : 0;
}
