/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/report/json_private.h"

/* How many samples its cause stands on, and what settled it. */
static void put_search(struct assay_report *r, json_t *o,
                       const struct assay_report_culprit *c)
{
    assay_json_set(r, o, "samples",
                   c->samples == 0
                       ? json_null()
                       : json_pack("{s:i, s:i, s:i, s:i}", "differing",
                                   (int)c->differing, "searched",
                                   (int)c->searched, "looked_at",
                                   (int)c->looked_at, "all", (int)c->samples));
    assay_json_set(r, o, "settled",
                   c->asked == 0
                       ? json_null()
                       : json_pack("{s:i, s:I, s:i, s:i}", "inputs",
                                   (int)c->asked, "elements",
                                   (json_int_t)c->answered, "classes_before",
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

        assay_json_set(r, o, "index", assay_json_integer(c->index));
        assay_json_set(r, o, "name", assay_json_text(c->name));
        assay_json_set(r, o, "column",
                       assay_json_text(assay_column_name(c->column)));
        assay_json_set(r, o, "verdict",
                       assay_json_text(assay_verdict_name(c->verdict)));
        assay_json_set(r, o, "hypothesis",
                       c->hypothesis != NULL && c->hypothesis[0] != '\0'
                           ? assay_json_text(c->hypothesis)
                           : json_null());
        put_search(r, o, c);
        assay_json_append(r, a, o);
    }
    assay_json_set(r, r->root, "culprits", a);
}

static json_t *hypotheses(struct assay_report *r,
                          const struct assay_report_foot *f)
{
    json_t *a = json_array();

    for (size_t i = 0; i < f->n_hypotheses; i++) {
        const struct assay_report_hypothesis *v = &f->hypotheses[i];
        json_t *o = json_object();

        assay_json_set(r, o, "layer", assay_json_integer(v->layer));
        assay_json_set(r, o, "name", assay_json_text(v->name));
        assay_json_set(r, o, "column",
                       assay_json_text(assay_column_name(v->column)));
        assay_json_set(r, o, "id", assay_json_text(v->id));
        assay_json_set(r, o, "differing_matched",
                       assay_json_integer(v->differing_matched));
        assay_json_set(r, o, "differing", assay_json_integer(v->differing));
        assay_json_set(r, o, "all_matched", assay_json_integer(v->all_matched));
        assay_json_set(r, o, "all", assay_json_integer(v->all));
        assay_json_set(r, o, "proved", json_boolean(v->proved));
        assay_json_set(r, o, "expected", json_boolean(v->expected));
        assay_json_set(r, o, "struck", json_boolean(v->struck));
        assay_json_set(r, o, "scope",
                       v->scope[0] != '\0' ? assay_json_text(v->scope)
                                           : json_null());
        assay_json_set(r, o, "class",
                       v->proved ? assay_json_integer(v->class_number)
                                 : json_null());
        assay_json_append(r, a, o);
    }
    return a;
}

static json_t *bad_samples(struct assay_report *r,
                           const struct assay_report_foot *f)
{
    json_t *a = json_array();

    for (size_t i = 0; i < f->n_bad; i++) {
        const struct assay_report_bad *b = &f->bad[i];
        json_t *o = json_object();

        assay_json_set(r, o, "sample", assay_json_integer(b->sample));
        assay_json_set(r, o, "input", assay_json_text(b->input));
        assay_json_set(r, o, "mismatch",
                       b->by_digest ? json_null()
                                    : assay_json_integer(b->mismatch));
        assay_json_set(r, o, "culprits", assay_json_integer(b->culprits));
        assay_json_set(r, o, "index", assay_json_integer(b->layer));
        assay_json_set(r, o, "name", assay_json_text(b->name));
        assay_json_set(r, o, "column",
                       assay_json_text(assay_column_name(b->column)));
        assay_json_append(r, a, o);
    }
    return a;
}

static json_t *reruns(struct assay_report *r, const struct assay_report_foot *f)
{
    json_t *all = json_object();

    for (unsigned c = ASSAY_COL_CPU_SCALAR; c < ASSAY_COL_COUNT; c++) {
        json_t *o = json_object();

        assay_json_set(r, o, "layers", assay_json_integer(f->reruns[c].layers));
        assay_json_set(r, o, "tensors",
                       assay_json_integer(f->reruns[c].tensors));
        assay_json_set(r, o, "bytes", assay_json_integer(f->reruns[c].bytes));
        assay_json_set(r, all, assay_column_name((enum assay_column)c), o);
    }
    return all;
}

static json_t *pattern(struct assay_report *r,
                       const struct assay_report_pattern *p)
{
    json_t *o;

    if (p->modulus == 0)
        return json_null();
    o = json_object();
    assay_json_set(r, o, "column",
                   assay_json_text(assay_column_name(p->column)));
    assay_json_set(r, o, "modulus", assay_json_integer(p->modulus));
    assay_json_set(r, o, "multiple", json_boolean(p->multiple));
    assay_json_set(r, o, "layers", assay_json_integer(p->layers));
    assay_json_set(r, o, "others", assay_json_integer(p->others));
    assay_json_set(r, o, "cause",
                   p->cause[0] != '\0' ? assay_json_text(p->cause)
                                       : json_null());
    return o;
}

void assay_json_causes(struct assay_report *r,
                       const struct assay_report_foot *f)
{
    assay_json_set(r, r->root, "hypotheses", hypotheses(r, f));
    put_culprits(r, f);
    assay_json_set(r, r->root, "bad_samples", bad_samples(r, f));
    assay_json_set(r, r->root, "pattern", pattern(r, &f->pattern));
    assay_json_set(r, r->root, "reruns", reruns(r, f));
}
