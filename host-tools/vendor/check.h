/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of assay_vendor_check: internal to this room. */
#ifndef ASSAY_VENDOR_CHECK_H
#define ASSAY_VENDOR_CHECK_H

#include "host-tools/vendor/vendor.h"

struct assay_name {
    const char *name;
    uint32_t index;
};

struct assay_checker {
    struct assay_findings *out;
    const struct assay_vendor *v;
    const struct assay_slice *s;
    const struct assay_vendor_facts *facts;
    const struct assay_vendor_config *config; /* the YAML, else the log's */
    struct assay_name *layers, *tensors;      /* sorted by name */
    bool *seen_tensor;
    bool no_memory;
};

/* Texts are copied. `subject` may be "". */
void assay_vcheck_add(struct assay_checker *c, enum assay_severity severity,
                      const char *id, const char *file, const char *subject,
                      const char *expected, const char *found, const char *fmt,
                      ...) ASSAY_PRINTF(8, 9);
/* NULL: there is none. Of layers of one name (the outputs of a Split) the
 * first. */
const struct assay_layer *assay_vcheck_layer(const struct assay_checker *c,
                                             const char *name);
const struct assay_tensor *assay_vcheck_tensor(const struct assay_checker *c,
                                               const char *name,
                                               uint32_t *index);
/* "1x3x32x32" */
const char *assay_vcheck_dims(const int64_t *dims, uint32_t rank, char *out,
                              size_t cap);
/* Is the threshold that of the scale, at the digits that the file has? */
bool assay_vcheck_threshold(const struct assay_checker *c, double threshold,
                            double digits, const struct assay_tensor *t);

/* Is the model one of the Nash family, as case or configuration say? What is
 * known of operators and inputs there is less. */
bool assay_vcheck_is_nash(const struct assay_checker *c);
/* check_feature.c: the tensor of a compiled model's input or output; *moved:
 * there it is NCHW, here NHWC. NULL: there is none. */
const struct assay_tensor *assay_vcheck_feature_tensor(
    const struct assay_checker *c, const char *name, bool *moved);

void assay_vcheck_inputs(struct assay_checker *c);   /* check_input.c */
void assay_vcheck_nodes(struct assay_checker *c);    /* check_node.c */
void assay_vcheck_settings(struct assay_checker *c); /* check_setting.c */
void assay_vcheck_features(struct assay_checker *c); /* check_feature.c */
void assay_vcheck_board(struct assay_checker *c);    /* check_board.c */
/* check_preprocess.c: colour, mean and scale of one input's node. */
void assay_vcheck_preprocess(struct assay_checker *c,
                             const struct assay_vendor_input *in,
                             const struct assay_vendor_preprocess *p);
bool assay_vcheck_is_image(const char *type);

#endif
