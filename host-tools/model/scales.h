/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scales of a model whose integers do not need them: what `show` and reports
 * say of sizes comes from here, no arithmetic does. In order of trust: the
 * model file itself (its borders), scales.json (tensor -> scales), the
 * vendor's calibrated model (nodes HzCalibration), and what shifts and
 * multipliers imply. A scale is carried through layers that keep it. Of two
 * that contradict each other the first is used and a note names both.
 * Zero points are 0. One thread.
 */
#ifndef ASSAY_MODEL_SCALES_H
#define ASSAY_MODEL_SCALES_H

#include "host-tools/model/model.h"

enum assay_scale_origin {
    ASSAY_SCALE_UNKNOWN = 0,
    ASSAY_SCALE_MODEL = 1,
    ASSAY_SCALE_JSON = 2,
    ASSAY_SCALE_CALIBRATED = 3,
    ASSAY_SCALE_DERIVED = 4,
};

struct assay_scale_name {
    const char *name;
    uint32_t tensor;
};
struct assay_scales {
    struct assay_slice *slice;      /* borrowed; its tensors' quant is filled */
    uint8_t *origin;                /* enum assay_scale_origin, one a tensor */
    struct assay_scale_name *names; /* sorted */
};

/* Takes what the slice has already as the model's own. */
int assay_scales_open(struct assay_scales *sc, struct assay_slice *slice,
                      struct assay_err *err) ASSAY_MUST_CHECK;
/* One file: JSON or a calibrated model, told apart by its content. Files of
 * the first kind come first. */
int assay_scales_read(struct assay_scales *sc, const char *path,
                      const struct assay_model_note *note,
                      struct assay_err *err) ASSAY_MUST_CHECK;
/* What is still unknown and follows from the arithmetic. */
int assay_scales_derive(struct assay_scales *sc, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Is the file JSON? Neither kind is looked at further. */
int assay_scales_is_json(const char *path, bool *is, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* "model", "scales.json", "calibrated", "derived"; "-": not known. */
const char *assay_scales_origin_name(const struct assay_scales *sc,
                                     uint32_t tensor);
void assay_scales_close(struct assay_scales *sc); /* NULL safe */

/* ---- scales_carry.c ----------------------------------------------------- */

/* Gives a tensor its scales (n values, along the stored axis when n > 1). */
int assay_scales_set(struct assay_scales *sc, uint32_t tensor, uint32_t n,
                     int32_t axis, const float *v,
                     enum assay_scale_origin origin, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Through layers that keep scales, both ways, until nothing is new. */
int assay_scales_carry(struct assay_scales *sc, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
