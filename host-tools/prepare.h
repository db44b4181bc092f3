/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the command line to a slice that can be run: case or files, model,
 * numerics, overrides. Shared by run, import and show.
 */
#ifndef ASSAY_HOST_PREPARE_H
#define ASSAY_HOST_PREPARE_H

#include "host-tools/model/case.h"
#include "host-tools/model/numerics_file.h"
#include "host-tools/model/scales.h"
#include "host-tools/options.h"
#include "host-tools/vendor/vendor.h"

struct assay_prepared {
    struct assay_case c; /* without samples when only a model was named */
    struct assay_slice *slice;
    const char *numerics;
    bool own_numerics;                /* its layers carry their multipliers */
    struct assay_numerics_file rules; /* of such a model */
    struct assay_scales scales;       /* of such a model */
    struct assay_vendor *vendor;     /* what the vendor's tools left, or NULL */
    struct assay_findings findings;  /* of it against the model */
    struct assay_pictures *pictures; /* prepare_picture.h; NULL: none */
    struct assay_model_note note;
    char **told; /* notes and details, each once, for reports */
    size_t n_told;
    struct assay_npz reference; /* while a model is read, if it asks */
    bool reference_read;
    bool quiet, verbose;
};

/* p must stay where it is until close: notes point into it. */
int assay_prepare(struct assay_prepared *p, const struct assay_options *o,
                  struct assay_err *err) ASSAY_MUST_CHECK;
/* Indices, shapes and programs of a file are believed after this only; where
 * nothing is run. */
int assay_prepare_check(const struct assay_prepared *p, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_prepare_close(struct assay_prepared *p);
/* The path that --skip-if-missing looks at. */
const char *assay_prepare_path(const struct assay_options *o);

/* prepare_numerics.c. Names are checked before any file is opened: the cheap
 * mistakes first. */
int assay_prepare_names(const struct assay_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_prepare_numerics(struct assay_prepared *p,
                           const struct assay_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_prepare_arith(struct assay_prepared *p, const struct assay_options *o,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* Has a golden proved the arithmetic of this layer? Without a choice in it
 * (max pool, reshape) nothing is inferred. */
bool assay_prepare_proved(const struct assay_prepared *p, uint32_t layer);
/* The rule of the form of layer `i` and how many layers have that form; NULL
 * unless the layer is the first of them. Skipped layers do not count. */
const struct assay_numerics_rule *assay_prepare_rule(
    const struct assay_prepared *p, uint32_t i, uint32_t *layers,
    uint32_t *proved);
/* Layers with a form, and those of them that are proved. */
void assay_prepare_count(const struct assay_prepared *p, uint32_t *layers,
                         uint32_t *proved);

/* prepare_vendor.c: --vendor or case/vendor against the slice; called by
 * assay_prepare. */
int assay_prepare_vendor(struct assay_prepared *p,
                         const struct assay_options *o, const char *model,
                         struct assay_err *err) ASSAY_MUST_CHECK;
/* prepare_differ.c: march, target and arithmetic of a model's text against
 * case.json; called by assay_prepare. */
void assay_prepare_differences(struct assay_prepared *p, const char *model);
/* "contradiction: sentence (file)" */
void assay_prepare_finding(const struct assay_finding *f, char *out,
                           size_t cap);

/* The layer with the name most like `name`; "" when there is none. */
const char *assay_nearest_layer(const struct assay_slice *s, const char *name);
int assay_find_layer(uint32_t *out, const struct assay_slice *s,
                     const char *name, struct assay_err *err) ASSAY_MUST_CHECK;

#endif
