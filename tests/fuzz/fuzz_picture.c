/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures: the first bytes choose a spec (and raw forms), the rest is a file.
 * What is read is made into an input and back to a picture.
 *
 * links: host-tools/image/picture.c host-tools/image/png.c
 * links: host-tools/image/jpeg.c host-tools/image/exif.c
 * links: host-tools/image/colour.c host-tools/image/nv12.c
 * links: host-tools/image/resize.c host-tools/image/resize_antialias.c
 * links: host-tools/image/adapt.c host-tools/image/adapt_values.c
 * links: host-tools/image/spec.c host-tools/image/show.c
 * links: host-tools/model/file.c lib/core/ kernels/requant.c
 * covers: host-tools/image/picture.c host-tools/image/png.c
 * covers: host-tools/image/jpeg.c host-tools/image/exif.c
 * covers: host-tools/image/spec.c host-tools/image/adapt.c
 * libs: -lpng -ljpeg -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/image/show.h"
#include "lib/core/buf.h"

#define HEAD 16
#define MOST_PIXELS (1u << 18) /* larger pictures are read, not changed */

static void note(void *self, const char *text)
{
    (void)self;
    if (strlen(text) > 4096)
        abort();
}

static void choose(struct assay_image_spec *s, const uint8_t *b)
{
    static const enum assay_dtype dtypes[] = {ASSAY_IMAGE_NO_DTYPE,
                                              ASSAY_U8,
                                              ASSAY_S8,
                                              ASSAY_U16,
                                              ASSAY_S16,
                                              ASSAY_F32,
                                              ASSAY_S64};

    assay_image_spec_init(s, b[0] % (ASSAY_IMAGE_TYPE_COUNT + 1), b[1], b[2]);
    s->orientation = b[3] % 10;
    s->fit = b[4] % ASSAY_FIT_COUNT;
    s->filter = b[4] / 16 % ASSAY_FILTER_COUNT;
    s->colour_first = b[5] % 2;
    s->colour.arith = b[5] / 2 % ASSAY_COLOUR_ARITH_COUNT;
    s->colour.matrix = b[5] / 8 % ASSAY_MATRIX_COUNT;
    s->colour.range = b[5] / 16 % ASSAY_RANGE_COUNT;
    s->down = b[6] % ASSAY_DOWN_COUNT;
    s->up = b[6] / 4 % ASSAY_UP_COUNT;
    s->odd = b[6] / 16 % ASSAY_ODD_COUNT;
    s->widen = b[7] % 2;
    s->nchw = b[7] / 2 % 2;
    s->scale_first = b[7] / 4 % 2;
    s->centre = b[8] % 4;
    s->divide = b[8] / 4 % 3;
    s->normalise = b[8] / 16 % 3;
    s->mean[1] = b[9];
    s->scale[2] = (float)b[10] * 1e30f;
    s->dtype = dtypes[b[11] % 7];
    s->quantize_scale = (float)b[12] / 16;
    s->stride = b[13] % 4 == 0 ? (size_t)b[14] << b[13] % 60 : 0;
    s->align = b[14];
}

/* What was made is as large as it says, and can be shown. */
static void use(const struct assay_image_adapted *made,
                const struct assay_image_spec *spec)
{
    const struct assay_image_tensor *t = assay_image_result(made);
    struct assay_picture shown;
    struct assay_err err;
    size_t bytes;

    if (assay_image_bytes(&bytes, spec, t->dtype, &err) != 0 ||
        bytes != t->bytes)
        abort();
    if (assay_image_show(&shown, spec, t->dtype, t->data, t->bytes, &err) != 0)
        abort();
    assay_picture_close(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct assay_model_note n = {.note = note};
    struct assay_picture p = {0};
    struct assay_image_adapted made;
    struct assay_image_spec spec;
    struct assay_err err = {0};
    int rc;

    if (size < HEAD)
        return 0;
    choose(&spec, data);
    if (data[15] % 8 < ASSAY_RAW_COUNT) {
        struct assay_raw raw = {data[15] % 8, data[1], data[15] / 8,
                                data[13] % 3 == 0 ? data[14] : 0};

        rc = assay_picture_decode_raw(&p, data + HEAD, size - HEAD, &raw, "x",
                                      &err);
    } else {
        rc = assay_picture_decode(&p, data + HEAD, size - HEAD, "x", &n, &err);
    }
    if (rc == 0 && p.bytes / 3 < MOST_PIXELS &&
        assay_image_adapt(&made, &spec, &p, &err) == 0) {
        use(&made, &spec);
        assay_image_adapted_close(&made);
    }
    assay_picture_close(&p);
    return 0;
}
