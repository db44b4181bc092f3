/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiled model gave for one sample: tensors of the slice in its
 * stored order, from an npz or from the simulator's texts.
 *
 * Whose a name is: the model's tensor of exactly that name; the tensor that
 * the vendor's hybrid model gives for it; and for
 * <node>_nhwc2nchw_transposed_output0, which is NCHW, the output of layer
 * <node> (or what the model's own Transpose of that name reads, where that is
 * not there by a name of its own). What fits nothing, or two things, is told by
 * a note and left out; a name that fits with other dimensions or another type
 * is refused.
 */
#ifndef ASSAY_MODEL_OBSERVED_H
#define ASSAY_MODEL_OBSERVED_H

#include "host-tools/model/case.h"

/* Feature of the compiled model -> tensor; from P_hybrid_model.onnx. */
struct assay_feature {
    char *name; /* owned */
    uint32_t tensor;
    const char *why; /* it gives no tensor; NULL: it gives `tensor` */
};
struct assay_feature_map {
    struct assay_feature *v;
    size_t n;
};
int assay_feature_map_open(struct assay_feature_map *out, const char *path,
                           const struct assay_slice *slice,
                           const struct assay_model_note *note,
                           struct assay_err *err) ASSAY_MUST_CHECK;
void assay_feature_map_close(struct assay_feature_map *m); /* NULL safe */
/* NULL: the hybrid model has no such feature. */
const struct assay_feature *assay_feature_map_find(
    const struct assay_feature_map *m, const char *feature);

/* Which tensors one name gives. */
#define ASSAY_MAX_MATCHES 3
struct assay_observed_match {
    size_t n;
    struct {
        uint32_t tensor;
        bool nchw; /* the data are NCHW, the tensor is NHWC */
        /* What the Transpose reads that gives the tensor of that name: taken
         * where nothing else says what it is. */
        bool behind;
    } v[ASSAY_MAX_MATCHES];
    /* Not NULL: the hybrid model says otherwise than the name of this layer;
     * only what the hybrid model says is in v. */
    const char *denied;
};
void assay_observed_find(struct assay_observed_match *out,
                         const struct assay_slice *slice,
                         const struct assay_feature_map *map, const char *name);

/* Sample `sample` of a column that has one. map may be empty. c remembers the
 * names that a note has told of: each is told once. */
int assay_case_observed(struct assay_sample *out, struct assay_case *c,
                        enum assay_case_side side, size_t sample,
                        const struct assay_slice *slice,
                        const struct assay_feature_map *map,
                        const struct assay_model_note *note,
                        struct assay_err *err) ASSAY_MUST_CHECK;

#endif
