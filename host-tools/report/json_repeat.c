/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of --repeat: which there were, and what a layer gave in them. */
#include "host-tools/report/json_private.h"

static json_t *kind_of(struct assay_report *r,
                       const struct assay_repeat_kind *k, uint32_t runs)
{
    json_t *o = json_object();

    assay_json_set(r, o, "kind", assay_json_text(k->name));
    assay_json_set(r, o, "cpumask", assay_json_integer(k->cpumask));
    assay_json_set(r, o, "runs", assay_json_integer(runs));
    return o;
}

json_t *assay_json_repeat_runs(struct assay_report *r,
                               const struct assay_report_head *h)
{
    json_t *a = json_array();

    for (size_t i = 0; i < h->n_repeat_kinds; i++)
        assay_json_append(r, a,
                          kind_of(r, &h->repeat_kinds[i], h->repeat_runs[i]));
    return a;
}

static json_t *first_of(struct assay_report *r, const struct assay_row *row)
{
    const struct assay_diff *d = row->repeat.first;
    json_t *o;

    if (d == NULL || d->n_first == 0)
        return json_null();
    o = json_object();
    assay_json_set(r, o, "sample", assay_json_integer(d->sample));
    assay_json_set(r, o, "mismatch", assay_json_integer(d->mismatch));
    assay_json_set(r, o, "index",
                   assay_json_index(r, row->tensor, d->first[0].index, false));
    assay_json_set(r, o, "index_source",
                   assay_json_index(r, row->tensor, d->first[0].index, true));
    assay_json_set(r, o, "was", assay_json_value(row->tensor, d->first[0].ref));
    assay_json_set(r, o, "other",
                   assay_json_value(row->tensor, d->first[0].got));
    return o;
}

json_t *assay_json_repeat(struct assay_report *r, const struct assay_row *row)
{
    const struct assay_row_repeat *p = &row->repeat;
    json_t *o, *odd;

    if (p->runs == 0)
        return json_null();
    o = json_object();
    odd = json_array();
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        json_t *k = kind_of(r, &p->kinds[i], p->runs_of[i]);

        assay_json_set(r, k, "odd", assay_json_integer(p->odd_of[i]));
        assay_json_append(r, odd, k);
    }
    assay_json_set(r, o, "state", assay_json_text(p->state));
    assay_json_set(r, o, "runs", assay_json_integer(p->runs));
    assay_json_set(r, o, "odd", assay_json_integer(p->odd));
    assay_json_set(r, o, "kinds", odd);
    assay_json_set(r, o, "first", first_of(r, row));
    return o;
}
