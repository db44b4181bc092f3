/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/report/json_private.h"

/* How many samples its cause stands on, and what settled it. */
static void put_search(struct assay_report *r, json_t *o,
                       const struct assay_report_culprit *c)
{
    set(r, o, "samples",
        c->samples == 0
            ? json_null()
            : json_pack("{s:i, s:i, s:i, s:i}", "differing", (int)c->differing,
                        "searched", (int)c->searched, "looked_at",
                        (int)c->looked_at, "all", (int)c->samples));
    set(r, o, "settled",
        c->asked == 0
            ? json_null()
            : json_pack("{s:i, s:I, s:i, s:i}", "inputs", (int)c->asked,
                        "elements", (json_int_t)c->answered, "classes_before",
                        (int)c->classes_before, "classes_left",
                        (int)c->classes_left));
}

static void put_culprits(struct assay_report *r,
                         const struct assay_report_foot *f)
{
    json_t *a = json_array();

    for (size_t i = 0; i < f->n_culprits; i++) {
        const struct assay_report_culprit *c = &f->culprits[i];
        json_t *o = json_object();

        set(r, o, "index", integer(c->index));
        set(r, o, "name", text(c->name));
        set(r, o, "column", text(assay_column_name(c->column)));
        set(r, o, "verdict", text(assay_verdict_name(c->verdict)));
        set(r, o, "hypothesis",
            c->hypothesis != NULL && c->hypothesis[0] != '\0'
                ? text(c->hypothesis)
                : json_null());
        put_search(r, o, c);
        append(r, a, o);
    }
    set(r, r->root, "culprits", a);
}

static json_t *hypotheses(struct assay_report *r,
                          const struct assay_report_foot *f)
{
    json_t *a = json_array();

    for (size_t i = 0; i < f->n_hypotheses; i++) {
        const struct assay_report_hypothesis *v = &f->hypotheses[i];
        json_t *o = json_object();

        set(r, o, "layer", integer(v->layer));
        set(r, o, "name", text(v->name));
        set(r, o, "column", text(assay_column_name(v->column)));
        set(r, o, "id", text(v->id));
        set(r, o, "differing_matched", integer(v->differing_matched));
        set(r, o, "differing", integer(v->differing));
        set(r, o, "all_matched", integer(v->all_matched));
        set(r, o, "all", integer(v->all));
        set(r, o, "proved", json_boolean(v->proved));
        set(r, o, "expected", json_boolean(v->expected));
        set(r, o, "struck", json_boolean(v->struck));
        set(r, o, "scope", v->scope[0] != '\0' ? text(v->scope) : json_null());
        set(r, o, "class", v->proved ? integer(v->class_number) : json_null());
        append(r, a, o);
    }
    return a;
}

void assay_json_causes(struct assay_report *r,
                       const struct assay_report_foot *f)
{
    set(r, r->root, "hypotheses", hypotheses(r, f));
    put_culprits(r, f);
}
