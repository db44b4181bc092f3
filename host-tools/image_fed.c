/* SPDX-License-Identifier: Apache-2.0 */
/* See image_fed.h. */
#include "host-tools/image_fed.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "host-tools/model/npy.h"

/* What the first bytes say; a file that is not there is nothing, and whoever
 * opens it has the sentence. */
enum kind { KIND_RAW, KIND_NPY, KIND_NPZ };

static enum kind kind_of(const char *path)
{
    uint8_t head[6] = {0};
    FILE *f = fopen(path, "rb");
    size_t n = f != NULL ? fread(head, 1, sizeof(head), f) : 0;

    if (f != NULL)
        fclose(f);
    if (n == 6 && memcmp(head, "\x93NUMPY", 6) == 0)
        return KIND_NPY;
    /* The second: one without members. */
    return n >= 4 && (memcmp(head, "PK\x03\x04", 4) == 0 ||
                      memcmp(head, "PK\x05\x06", 4) == 0)
               ? KIND_NPZ
               : KIND_RAW;
}

/* The last thing that a reader left out: why there is no array. */
struct left_out {
    char why[520];
};

static void leave_out(void *self, const char *text)
{
    struct left_out *l = self;

    snprintf(l->why, sizeof(l->why), ": %s", text);
}

static int pick(const struct assay_array **out, const struct assay_npz *z,
                const char *path, const char *input, const struct left_out *l,
                struct assay_err *err)
{
    char names[200] = "";

    if (z->n == 0)
        return assay_fail_message(err, ASSAY_EFORMAT, ASSAY_MSG_FED_NO_ARRAY,
                                  "path", path, "why", l->why, NULL);
    *out = z->n == 1 ? &z->arrays[0] : assay_npz_find(z, input);
    if (*out != NULL)
        return 0;
    for (size_t i = 0; i < z->n; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names),
                 "%s%.60s", i > 0 ? ", " : "", z->arrays[i].name);
    return assay_fail_message(err, ASSAY_EFORMAT, ASSAY_MSG_FED_WHICH, "path",
                              path, "n", assay_num_u(z->n).text, "names", names,
                              "input", input, NULL);
}

/* Bytes have no dtype: the sizes of a picture tell it. */
static enum assay_dtype raw_dtype(size_t bytes, uint32_t width, uint32_t height)
{
    uint64_t pixels = (uint64_t)width * height;

    if (bytes == 12 * pixels)
        return ASSAY_F32;
    return bytes == 6 * pixels ? ASSAY_S16 : ASSAY_U8;
}

int assay_image_fed_read(struct assay_image_fed *out, const char *path,
                         const char *input, uint32_t width, uint32_t height,
                         struct assay_err *err)
{
    struct left_out left = {.why = ""};
    const struct assay_model_note note = {.self = &left, .note = leave_out};
    const struct assay_array *a;
    enum kind kind = kind_of(path);
    size_t n;
    int rc;

    memset(out, 0, sizeof(*out));
    if (kind == KIND_RAW) {
        rc = assay_file_read(&out->raw, &n, path, ASSAY_NPY_MAX_BYTES, err);
        if (rc < 0)
            return rc;
        out->got = (struct assay_received_got){
            .dtype = raw_dtype(n, width, height), .bytes = n, .data = out->raw};
        return 0;
    }
    rc = kind == KIND_NPY ? assay_npy_read(&out->npz, path, input, &note, err)
                          : assay_npz_read(&out->npz, path, &note, err);
    if (rc < 0)
        return rc;
    rc = pick(&a, &out->npz, path, input, &left, err);
    if (rc < 0) {
        assay_image_fed_close(out);
        return rc;
    }
    out->got = (struct assay_received_got){
        .dtype = a->dtype, .rank = a->rank, .bytes = a->bytes, .data = a->data};
    memcpy(out->got.dims, a->dims, sizeof(a->dims));
    return 0;
}

void assay_image_fed_close(struct assay_image_fed *f)
{
    if (f == NULL)
        return;
    assay_npz_close(&f->npz);
    assay_free(f->raw);
    memset(f, 0, sizeof(*f));
}
