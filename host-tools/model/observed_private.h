/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a sample of a column: what its sources share. Internal to
 * host-tools/model: observed.c places tensors and reads npz, observed_folder.c
 * the simulator's texts.
 */
#ifndef ASSAY_MODEL_OBSERVED_PRIVATE_H
#define ASSAY_MODEL_OBSERVED_PRIVATE_H

#include "host-tools/model/observed.h"

struct assay_observing {
    struct assay_sample *s;
    struct assay_case *c;
    enum assay_case_side side;
    size_t sample;
    const struct assay_slice *slice;
    const struct assay_feature_map *map;
    struct assay_sample reference; /* read when a name is unknown */
    const struct assay_model_note *note;
    uint8_t *marks; /* by tensor: what observed.c knows of its sources */
    struct assay_err *err;
};

/* Data of one name: either values of integers or an array of an npz. */
struct assay_observed_data {
    const char *file, *name;
    uint32_t rank;
    const int64_t *dims;
    const struct assay_array *array; /* or */
    const int64_t *values;
};

/* A note, once a run. */
void assay_observed_tell(struct assay_observing *l, const char *file,
                         const char *name, const char *why);
int assay_observed_no_memory(const struct assay_observing *l, const char *what);
/* Finds the tensors of a name; false (told by a note): there are none. */
bool assay_observed_named(struct assay_observing *l, const char *file,
                          const char *name, struct assay_observed_match *m);
/* Puts the data where the match says. */
int assay_observed_take(struct assay_observing *l,
                        const struct assay_observed_match *m,
                        const struct assay_observed_data *x) ASSAY_MUST_CHECK;
int assay_observed_check_type(struct assay_observing *l,
                              const struct assay_tensor *t,
                              const struct assay_observed_data *x)
    ASSAY_MUST_CHECK;
int assay_observed_check_binding(struct assay_observing *l, const char *meta,
                                 const char *file) ASSAY_MUST_CHECK;

/* All files of a folder, in the order of their names. */
int assay_observed_folder(struct assay_observing *l, const char *folder)
    ASSAY_MUST_CHECK;

#endif
