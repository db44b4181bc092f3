/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of image.csv: three bytes in, three out. An op is the direction, the
 * range, then the matrix where it is not 601 and the arithmetic where it is
 * not integer: rgb2yuv_studio_709_real. "c" is centred. The NV12 rows go
 * through a picture of 2x2 pixels.
 */
#include "tests/vectors/vcheck.h"

#include <string.h>

#include "host-tools/image/colour.h"
#include "host-tools/image/nv12.h"

static bool ends(const char *op, const char *word)
{
    return strstr(op, word) != NULL;
}

/* Y, U, V as an NV12 picture, read as NV12 or as NV21. */
static void through_nv12(uint8_t *out, const uint8_t *yuv, bool as_nv21)
{
    struct assay_nv12 n;
    uint8_t four[12], bytes[6], back[12];

    if (assay_nv12_layout(&n, 2, 2, 0, ASSAY_ODD_REFUSE, NULL) != 0 ||
        n.bytes != sizeof(bytes))
        return;
    for (size_t i = 0; i < 4; i++)
        memcpy(four + 3 * i, yuv, 3);
    assay_nv12_from_yuv(bytes, &n, four, ASSAY_DOWN_MEAN);
    n.nv21 = as_nv21;
    assay_nv12_to_yuv(back, &n, bytes, ASSAY_UP_REPLICATE);
    memcpy(out, back + 9, 3);
}

static void run(const char *op, uint8_t *out, const uint8_t *in)
{
    struct assay_colour c = {
        .range = ends(op, "_full") ? ASSAY_RANGE_FULL : ASSAY_RANGE_STUDIO,
        .matrix = ends(op, "_709") ? ASSAY_MATRIX_709 : ASSAY_MATRIX_601,
        .arith = ends(op, "_real") ? ASSAY_COLOUR_REAL : ASSAY_COLOUR_INTEGER,
    };

    if (strncmp(op, "rgb2", 4) == 0)
        assay_rgb_to_yuv(out, in, 1, &c);
    else if (strncmp(op, "yuv2rgb", 7) == 0)
        assay_yuv_to_rgb(out, in, 1, &c);
    else
        through_nv12(out, in, strncmp(op, "nv21_", 5) == 0);
}

static bool known(const char *op)
{
    return strncmp(op, "rgb2yuv_", 8) == 0 ||
           strncmp(op, "rgb2cyuv_", 9) == 0 ||
           strncmp(op, "yuv2rgb_", 8) == 0 || strcmp(op, "nv12_to_cyuv") == 0 ||
           strcmp(op, "nv21_read_as_nv12_cyuv") == 0;
}

void assay_vc_image(struct assay_vc_table *t,
                    const struct assay_vc_under_test *u)
{
    (void)u;
    for (size_t i = 0; i < t->rows; i++) {
        const char *op = assay_vc_cell(t, i, 0);
        uint8_t in[3], out[3] = {0};

        if (!known(op)) {
            assay_vc_refused(t, i, "unknown op");
            continue;
        }
        for (size_t k = 0; k < 3; k++)
            in[k] = (uint8_t)assay_vc_int(t, i, 1 + k);
        run(op, out, in);
        for (size_t k = 0; k < 3; k++) {
            int64_t want = assay_vc_int(t, i, 4 + k);
            int64_t got = out[k] - (ends(op, "cyuv") ? 128 : 0);

            assay_vc_expect(t, i, want, got);
            if (want != got)
                break; /* a row fails once */
        }
    }
}
