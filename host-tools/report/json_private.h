/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the JSON report: json.c writes it, json_causes.c what it says
 * of culprits and their causes, json_chain.c the artefacts. One thread.
 */
#ifndef ASSAY_REPORT_JSON_PRIVATE_H
#define ASSAY_REPORT_JSON_PRIVATE_H

#include <jansson.h>

#include "host-tools/report/json_text.h"
#include "host-tools/report/report.h"

struct assay_report {
    const struct assay_report_options *o;
    json_t *root, *layers;
    uint32_t columns; /* of the compiled model */
    bool failed;      /* out of memory while building */
};

static inline json_t *assay_json_integer(uint64_t v)
{
    return json_integer((json_int_t)v);
}

static inline void assay_json_set(struct assay_report *r, json_t *object,
                                  const char *key, json_t *value)
{
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        r->failed = true;
}

static inline void assay_json_append(struct assay_report *r, json_t *array,
                                     json_t *value)
{
    if (value == NULL || json_array_append_new(array, value) != 0)
        r->failed = true;
}

/* Puts what is known of inputs that differ into r->root; json_inputs.c. */
void assay_json_inputs(struct assay_report *r,
                       const struct assay_report_foot *f);
/* json_capture.c: statistics into a layer, where there are some; a number that
 * digests do not tell (taken over), else null; tiles, where they were compared.
 */
void assay_json_stats(struct assay_report *r, json_t *row,
                      const struct assay_row *from);
json_t *assay_json_known(const struct assay_diff *d, json_t *v);
void assay_json_tiles(struct assay_report *r, json_t *o,
                      const struct assay_diff *d);
/* json_chain.c: chain, preflight and previous into r->root. */
void assay_json_chain(struct assay_report *r,
                      const struct assay_report_head *h);

/* Puts hypotheses and culprits into r->root. */
void assay_json_causes(struct assay_report *r,
                       const struct assay_report_foot *f);

#endif
