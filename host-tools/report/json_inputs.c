/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that a column has otherwise than they were given. */
#include "host-tools/report/json_private.h"

static json_t *causes(struct assay_report *r,
                      const struct assay_report_input *in)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < in->n; i++) {
        const struct assay_report_input_cause *c = &in->causes[i];
        json_t *o = json_object();

        assay_json_set(r, o, "id", assay_json_text(c->id));
        assay_json_set(r, o, "what", assay_json_text(c->what));
        assay_json_set(r, o, "fix", assay_json_text(c->fix));
        assay_json_set(r, o, "within", json_boolean(c->within));
        assay_json_set(r, o, "all_matched", assay_json_integer(c->all_matched));
        assay_json_append(r, a, o);
    }
    return a;
}

void assay_json_inputs(struct assay_report *r,
                       const struct assay_report_foot *f)
{
    json_t *a = json_array();

    for (size_t i = 0; i < f->n_inputs; i++) {
        const struct assay_report_input *in = &f->inputs[i];
        json_t *o = json_object();

        assay_json_set(r, o, "column",
                       assay_json_text(assay_column_name(in->column)));
        assay_json_set(r, o, "name", assay_json_text(in->name));
        assay_json_set(r, o, "samples", assay_json_integer(in->n_samples));
        assay_json_set(r, o, "mismatch", assay_json_integer(in->differing));
        assay_json_set(r, o, "count", assay_json_integer(in->all));
        assay_json_set(r, o, "causes", causes(r, in));
        assay_json_set(r, o, "more", assay_json_integer(in->n_more));
        assay_json_set(r, o, "nearest", assay_json_text(in->nearest));
        assay_json_set(r, o, "sentence", assay_json_text(in->sentence));
        assay_json_append(r, a, o);
    }
    assay_json_set(r, r->root, "inputs_received", a);
}
