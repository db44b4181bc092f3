/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which transformation did a program really apply? Given the picture that was
 * meant, what the model wants made of it (a spec), and the tensor that was
 * really fed: all readings of that tensor that differ from what is wanted in
 * the fewest things. A reading is adapted and compared, so what is said of it
 * is true of every element, or it is not said. Things that can differ are
 * knobs (received_knobs.h); readings with one change come before those with
 * two, and all of the least number are given: what this picture does not tell
 * apart is listed, never guessed.
 *
 * Integers are compared as they are (8 bits: the byte, whatever its sign is
 * called), floats within ASSAY_RECEIVED_ATOL + ASSAY_RECEIVED_RTOL * |wanted|,
 * since scripts order their float operations in many ways.
 * Pure; one thread.
 */
#ifndef ASSAY_IMAGE_RECEIVED_H
#define ASSAY_IMAGE_RECEIVED_H

#include "host-tools/image/adapt.h"

#define ASSAY_RECEIVED_ATOL 1e-6
#define ASSAY_RECEIVED_RTOL 1e-5

/* What was fed: dense elements, as an npy has them. */
struct assay_received_got {
    enum assay_dtype dtype;
    uint32_t rank; /* 0: bytes of a file, whose shape nobody told */
    int64_t dims[ASSAY_MAX_RANK];
    size_t bytes;
    const void *data; /* borrowed */
};

/* What is wanted, and what the model does by itself behind it: the same done
 * by the script is then done twice. */
struct assay_received_wanted {
    struct assay_image_spec spec; /* mean and scale also where not applied */
    bool model_centres, model_normalises;
};

/* The things that can differ, in the order of the search. */
enum assay_knob {
    ASSAY_KNOB_SIZE,
    ASSAY_KNOB_TURN,
    ASSAY_KNOB_FIT,
    ASSAY_KNOB_FILTER,
    ASSAY_KNOB_PAD,
    ASSAY_KNOB_FIRST,
    ASSAY_KNOB_TYPE,
    ASSAY_KNOB_RANGE,
    ASSAY_KNOB_MATRIX,
    ASSAY_KNOB_ARITH,
    ASSAY_KNOB_DOWN,
    ASSAY_KNOB_UP,
    ASSAY_KNOB_ODD,
    ASSAY_KNOB_CENTRE,
    ASSAY_KNOB_VALUES,
    ASSAY_KNOB_QUANTIZE,
    ASSAY_KNOB_LAYOUT,
    ASSAY_KNOB_MEMORY,
    ASSAY_KNOB_SHIFT,
    ASSAY_KNOB_DTYPE, /* follows from the others and from the tensor */
    ASSAY_KNOB_COUNT,
};

/* Where the elements lie. Strides are in elements. */
enum assay_memory {
    ASSAY_MEMORY_DENSE,
    ASSAY_MEMORY_PADDED,  /* rows are `stride` apart */
    ASSAY_MEMORY_CUT,     /* such rows, read as if they were dense */
    ASSAY_MEMORY_SHEARED, /* dense rows, read as if `stride` apart */
};

/* One way in which a picture became a tensor. */
struct assay_reading {
    struct assay_image_spec spec; /* dense NHWC, whatever nchw below says */
    bool nchw;
    uint8_t turned_last; /* EXIF's number, behind the resizing; 0: not */
    bool swap_chroma;    /* Y, V, U of three channels */
    bool planar;   /* NV12, NV21: chroma in planes of its own, I420, YV12 */
    bool from_bgr; /* red and blue swapped before colours are converted */
    bool solved;   /* mean and scale were solved for */
    enum assay_memory memory;
    size_t stride;
    int chroma_shift;       /* NV12: the pairs begin so many bytes too far */
    enum assay_dtype dtype; /* what its steps give */
    enum assay_dtype held;  /* what the tensor holds it as */
};

struct assay_received_hit {
    struct assay_reading reading;
    enum assay_knob knobs[ASSAY_KNOB_COUNT]; /* what differs */
    uint32_t n_knobs;
    /* Of the elements that this reading says something about. */
    uint64_t differing_matched, differing, all_matched, all;
    uint64_t unseen; /* padding, and what lay outside of the picture's memory */
    bool exact;      /* to the bit, not only within the tolerance */
};

#define ASSAY_RECEIVED_CHANNELS 3
/* When nothing fits: the reading that is most like it. */
struct assay_received_near {
    bool found;
    struct assay_received_hit hit; /* not proved */
    double max_difference;
    uint32_t channels;
    /* got = gain * reading + offset, least squares, by channel. */
    double correlation[ASSAY_RECEIVED_CHANNELS];
    double gain[ASSAY_RECEIVED_CHANNELS], offset[ASSAY_RECEIVED_CHANNELS];
};

#define ASSAY_RECEIVED_HITS 64
struct assay_received {
    struct assay_reading wanted;
    bool comparable;    /* the tensor has the wanted form; else all differs */
    uint32_t changes;   /* of the hits; 0: it is what was wanted */
    uint32_t n, n_more; /* hits, and those beyond the array */
    struct assay_received_hit hits[ASSAY_RECEIVED_HITS];
    /* changes 0: readings with one change that give the same of this picture */
    uint32_t n_blind;
    struct assay_received_hit blind[ASSAY_RECEIVED_HITS];
    struct assay_received_near near; /* n 0 alone */
    uint64_t elements;
    uint64_t tried; /* readings that were looked at */
    bool cut;       /* there were more of them than are looked at */
};

#define ASSAY_RECEIVED_UNCHANGED UINT32_MAX
/* max_changes: no more are looked for; 0: as many as are affordable;
 * UNCHANGED: only whether it is what is wanted. ASSAY_E*
 * for what cannot be read as a picture of the form RGB, for a spec that cannot
 * be, and for want of memory; finding nothing is no failure. Owned; freed by
 * assay_received_free. */
int assay_received_search(struct assay_received **out,
                          const struct assay_picture *picture,
                          const struct assay_received_wanted *wanted,
                          const struct assay_received_got *got,
                          uint32_t max_changes, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_received_free(struct assay_received *r); /* NULL safe */

/* "RGB NHWC float32 divided by 255", and of the knobs that are named whatever
 * that leaves out: ", letterbox, 640x640". */
const char *assay_reading_text(const struct assay_reading *r,
                               const enum assay_knob *knobs, uint32_t n_knobs,
                               char *out, size_t cap);
/* "float32 [1,640,640,3]" */
const char *assay_received_form(const struct assay_received_got *got, char *out,
                                size_t cap);

#endif
