/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture in memory: from a PNG or JPEG file, which its first bytes tell, or
 * from raw bytes whose form and size the caller knows. Hostile input: sides
 * and pixels are capped before anything is allocated, a file that ends early
 * or contradicts itself is refused with one sentence. Any thread.
 */
#ifndef ASSAY_IMAGE_PICTURE_H
#define ASSAY_IMAGE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host-tools/model/model.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#define ASSAY_PICTURE_MAX_SIDE 16384u
#define ASSAY_PICTURE_MAX_PIXELS ((size_t)64 << 20)
#define ASSAY_PICTURE_MAX_FILE ((size_t)256 << 20)

enum assay_picture_form {
    ASSAY_PICTURE_RGB,  /* height rows of width times R, G, B; dense */
    ASSAY_PICTURE_NV12, /* Y rows, then rows of U, V pairs; even sides; dense */
};

struct assay_picture {
    enum assay_picture_form form;
    uint32_t width, height;
    size_t bytes;
    uint8_t *data;       /* owned, freed by assay_picture_close */
    uint8_t orientation; /* what EXIF says, 1..8; 1 where it says nothing */
    const char *format;  /* "png", "jpeg", "nv12", "nv21", "rgb", ...; static */
    uint8_t sha256[ASSAY_SHA256_LEN]; /* of the file */
};

/* Raw bytes in a file. */
enum assay_raw_form {
    ASSAY_RAW_NV12,
    ASSAY_RAW_NV21,
    ASSAY_RAW_RGB,
    ASSAY_RAW_BGR,
    ASSAY_RAW_GRAY,
    ASSAY_RAW_COUNT,
};
const char *assay_raw_form_name(enum assay_raw_form form); /* "nv12" */

struct assay_raw {
    enum assay_raw_form form;
    uint32_t width, height; /* NV12, NV21: even */
    size_t stride;          /* bytes from row to row; 0: dense */
};

/*
 * 16-bit samples keep their upper byte, palettes and gray become RGB,
 * transparency is dropped (the colour below it stays), CMYK is converted by
 * R = C * K / 255 of the inverted samples that Adobe writes. Each of these,
 * and an EXIF orientation other than 1, is told to `note` (may be NULL). The
 * pixels are as they are stored: nothing is turned here. Decoding of JPEG is
 * the library's slow integer DCT with fancy upsampling, as OpenCV and Pillow
 * have it. `name` is the file's, for sentences.
 */
int assay_picture_decode(struct assay_picture *out, const uint8_t *data,
                         size_t n, const char *name,
                         const struct assay_model_note *note,
                         struct assay_err *err) ASSAY_MUST_CHECK;
/* Does the file begin like one? False too where nothing can be read. */
bool assay_picture_is_one(const char *path);
int assay_picture_read(struct assay_picture *out, const char *path,
                       const struct assay_model_note *note,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* The bytes must be exactly as many as `raw` says (the last row may lack its
 * padding). NV21 becomes NV12, BGR and gray become RGB. */
int assay_picture_decode_raw(struct assay_picture *out, const uint8_t *data,
                             size_t n, const struct assay_raw *raw,
                             const char *name, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_picture_read_raw(struct assay_picture *out, const char *path,
                           const struct assay_raw *raw, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* A new RGB picture that is `p` seen through an EXIF orientation, 1..8: 1 as
 * it is, 2 mirrored left-right, 3 by 180 degrees, 4 mirrored top-bottom,
 * 5 transposed, 6 turned clockwise, 7 transposed along the other diagonal,
 * 8 turned counter-clockwise. `p` has the form RGB. */
int assay_picture_orient(struct assay_picture *out,
                         const struct assay_picture *p, unsigned orientation,
                         struct assay_err *err) ASSAY_MUST_CHECK;
void assay_picture_close(struct assay_picture *p); /* NULL safe, idempotent */

#endif
