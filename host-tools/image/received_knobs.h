/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The knobs of the search: which values each can have, what turning one does
 * to a reading, and how a difference is told. Pure; any thread.
 */
#ifndef ASSAY_IMAGE_RECEIVED_KNOBS_H
#define ASSAY_IMAGE_RECEIVED_KNOBS_H

#include "host-tools/image/received.h"

#define ASSAY_KNOB_VALUES_MAX 16

/* Values of all knobs; value 0 of each is what is wanted. */
struct assay_knobs {
    uint32_t n[ASSAY_KNOB_COUNT];
    uint32_t v[ASSAY_KNOB_COUNT][ASSAY_KNOB_VALUES_MAX];
    bool forced[ASSAY_KNOB_COUNT]; /* what is wanted cannot have this form */
};

/* What a search stands on. */
struct assay_knob_facts {
    const struct assay_received_wanted *wanted;
    const struct assay_picture *picture;
    const struct assay_received_got *got;
    size_t elements; /* of got */
};

/* The reading that is wanted: value 0 everywhere. */
void assay_reading_wanted(struct assay_reading *out,
                          const struct assay_knob_facts *f);
void assay_knobs_init(struct assay_knobs *k, const struct assay_knob_facts *f);
/* Turns one knob of a reading; in the order of enum assay_knob. */
void assay_knob_turn(struct assay_reading *r, enum assay_knob knob,
                     uint32_t value, const struct assay_knob_facts *f);
/* Fills what follows from the rest: the dtype, and, where the knob of memory
 * was not turned, the rows that a wanted alignment gives. */
void assay_reading_settle(struct assay_reading *r, bool memory_turned,
                          const struct assay_knob_facts *f);
/* False: turning this knob changes nothing in a reading like r. */
bool assay_knob_matters(enum assay_knob knob, const struct assay_reading *r,
                        const struct assay_knob_facts *f);

/* ---- where elements lie (received_place.c) ------------------------------ */

/* Channels, and rows and columns of the canonical order: NHWC pixels, of NV12
 * rows of bytes. */
struct assay_form {
    bool planes; /* NV12 or NV21 */
    uint32_t channels, width, height;
    uint64_t rows, row; /* in memory, elements a row */
    uint64_t chroma_rows;
};
/* False: the sizes do not go together (an odd side of NV12). */
bool assay_reading_shape(struct assay_form *out, const struct assay_reading *r);
/* Can n elements be this reading? */
bool assay_reading_fits(const struct assay_reading *r, uint64_t n);
/* The element of the tensor that holds a canonical one, or -1: none of n does.
 * Of planes: row y and column x of both, c is 0. */
int64_t assay_reading_place(const struct assay_form *f,
                            const struct assay_reading *r, uint64_t n,
                            uint64_t y, uint64_t x, uint32_t c);

/* ---- how it is told ----------------------------------------------------- */

/* received.def: which entry of the catalogue a difference is, its name and what
 * to change. Texts have {wanted} and {got}: assay_knob_value of both. */
enum assay_fed {
#define ASSAY_FED(key, id, name, fix) ASSAY_FED_##key,
#include "host-tools/image/received.def"
#undef ASSAY_FED
    ASSAY_FED_COUNT,
};
struct assay_fed_text {
    const char *id, *name, *fix;
};
const struct assay_fed_text *assay_fed_text(enum assay_fed fed);
/* What a knob of `got` that is not as in `wanted` means. */
enum assay_fed assay_fed_of(enum assay_knob knob,
                            const struct assay_reading *got,
                            const struct assay_reading *wanted,
                            const struct assay_received_wanted *facts);
/* The value of a knob in words: "letterbox", "BGR". */
const char *assay_knob_value(enum assay_knob knob,
                             const struct assay_reading *r, char *out,
                             size_t cap);

#endif
