/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that a column has otherwise than they were given, and the steps that
 * made inputs of pictures. */
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
        assay_json_set(r, o, "all", assay_json_integer(c->all));
        assay_json_set(r, o, "samples", assay_json_integer(c->n_samples));
        assay_json_append(r, a, o);
    }
    return a;
}

static json_t *seen(struct assay_report *r, const struct assay_report_step *s)
{
    json_t *all = json_object();

    for (size_t c = 0; c < ASSAY_REPORT_SEEN; c++) {
        const struct assay_report_seen *k = &s->seen[c];
        json_t *o;

        if (!k->found)
            continue;
        o = json_object();
        assay_json_set(r, o, "status",
                       assay_json_text(k->other_form     ? "other form"
                                       : k->mismatch > 0 ? "diverged"
                                                         : "exact"));
        assay_json_set(r, o, "mismatch",
                       k->other_form ? json_null()
                                     : assay_json_integer(k->mismatch));
        assay_json_set(r, all, assay_report_seen_names[c], o);
    }
    return all;
}

static void put_steps(struct assay_report *r, const struct assay_report_foot *f)
{
    json_t *a = json_array();

    for (size_t i = 0; i < f->n_steps; i++) {
        const struct assay_report_step *s = &f->steps[i];
        json_t *o = json_object(), *shape = json_array();

        for (uint32_t k = 0; k < s->rank; k++)
            assay_json_append(r, shape, json_integer(s->dims[k]));
        assay_json_set(r, o, "sample", assay_json_integer(s->sample));
        assay_json_set(r, o, "input", assay_json_text(s->input));
        assay_json_set(r, o, "file", assay_json_text(s->file));
        assay_json_set(r, o, "step", assay_json_text(s->name));
        assay_json_set(r, o, "dtype",
                       assay_json_text(assay_dtype_name(s->dtype)));
        assay_json_set(r, o, "shape", shape);
        assay_json_set(r, o, "count", assay_json_integer(s->count));
        assay_json_set(r, o, "min", json_real(s->lo));
        assay_json_set(r, o, "max", json_real(s->hi));
        assay_json_set(r, o, "sha256", assay_json_text(s->sha256));
        assay_json_set(r, o, "columns", seen(r, s));
        assay_json_append(r, a, o);
    }
    assay_json_set(r, r->root, "input_steps", a);
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
    put_steps(r, f);
}
