/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON report: artefacts, versions, and the earlier run. */
#include "host-tools/report/json_private.h"

static json_t *made_of(struct assay_report *r,
                       const struct assay_report_artefact *k)
{
    json_t *o = json_object();

    assay_json_set(r, o, "started", assay_json_text(k->made_started));
    for (size_t i = 0; i < k->n_made; i++)
        assay_json_set(r, o, k->made[2 * i],
                       assay_json_text(k->made[2 * i + 1]));
    return o;
}

static json_t *artefacts(struct assay_report *r,
                         const struct assay_report_head *h)
{
    json_t *a = json_array();

    for (size_t i = 0; i < h->n_chain; i++) {
        const struct assay_report_artefact *k = &h->chain[i];
        json_t *o = json_object();

        assay_json_set(r, o, "role", assay_json_text(k->role));
        assay_json_set(r, o, "file", assay_json_text(k->file));
        assay_json_set(r, o, "files", assay_json_integer(k->files));
        assay_json_set(r, o, "sha256", assay_json_text(k->sha256));
        assay_json_set(r, o, "size_bytes", assay_json_integer(k->size));
        assay_json_set(r, o, "modified", assay_json_text(k->modified));
        if (k->made_started[0] != '\0')
            assay_json_set(r, o, "made", made_of(r, k));
        assay_json_append(r, a, o);
    }
    return a;
}

static json_t *versions(struct assay_report *r,
                        const struct assay_report_head *h)
{
    json_t *a = json_array();

    for (size_t i = 0; i < h->n_versions; i++) {
        const struct assay_report_version *k = &h->versions[i];
        json_t *o = json_object();

        assay_json_set(r, o, "about", assay_json_text(k->about));
        assay_json_set(r, o, "by", assay_json_text(k->by));
        assay_json_set(r, o, "value", assay_json_text(k->value));
        assay_json_set(r, o, "file", assay_json_text(k->file));
        assay_json_set(r, o, "line", assay_json_integer(k->line));
        assay_json_set(r, o, "model", assay_json_text(k->model));
        assay_json_set(r, o, "state", assay_json_text(k->state));
        assay_json_set(r, o, "sentence", assay_json_text(k->sentence));
        assay_json_append(r, a, o);
    }
    return a;
}

static json_t *roles(struct assay_report *r, const char *const *v, size_t n)
{
    json_t *a = json_array();

    for (size_t i = 0; i < n; i++)
        assay_json_append(r, a, assay_json_text(v[i]));
    return a;
}

void assay_json_chain(struct assay_report *r, const struct assay_report_head *h)
{
    const struct assay_report_previous *p = &h->previous;
    json_t *o;

    assay_json_set(r, r->root, "chain", artefacts(r, h));
    assay_json_set(r, r->root, "preflight", versions(r, h));
    if (p->file == NULL)
        return;
    o = json_object();
    assay_json_set(r, o, "file", assay_json_text(p->file));
    assay_json_set(r, o, "started", assay_json_text(p->started));
    assay_json_set(r, o, "stale", assay_json_text(p->stale));
    assay_json_set(r, o, "changed", roles(r, p->changed, p->n_changed));
    assay_json_set(r, o, "unchanged", roles(r, p->unchanged, p->n_unchanged));
    assay_json_set(r, r->root, "previous", o);
}
