/* SPDX-License-Identifier: Apache-2.0 */
/* What a column received of a picture: how it was fed. */
#include <string.h>

#include "host-tools/image_received.h"
#include "host-tools/prepare_picture.h"
#include "host-tools/run_input.h"

#define SEARCHED 4 /* samples; what is said holds in all of them */

static const char *keep(struct assay_run *r, const char *text)
{
    const char *kept = assay_arena_str(r->arena, text, strlen(text));

    return kept != NULL ? kept : "";
}

/* A sample that is as it was given says nothing of the others. */
static bool is_right(const struct assay_run *r,
                     const struct assay_run_input_data *d, uint32_t sample)
{
    size_t n, bytes;

    return assay_tensor_count(&r->s->tensors[d->tensors[d->which]], &n, &bytes,
                              NULL) == 0 &&
           d->given[d->which][sample] != NULL &&
           memcmp(d->given[d->which][sample], d->got[sample], bytes) == 0;
}

/* Searches one sample; close p in any case. */
static int search(struct assay_image_pair *p, const struct assay_run *r,
                  const struct assay_run_input_data *d, uint32_t sample,
                  struct assay_err *err)
{
    const struct assay_model_note silent = {.note = NULL};
    const struct assay_pictures *q = r->p.pictures;
    const struct assay_tensor *t = &r->s->tensors[q->tensor];
    struct assay_received_got *g = &p->fed.got;
    size_t n;
    int rc = assay_tensor_count(t, &n, &g->bytes, err);

    p->picture_path = r->p.c.inputs[sample];
    p->fed_path = t->name;
    p->doors = q->doors;
    g->dtype = t->dtype;
    g->rank = t->rank;
    assay_tensor_source_dims(t, g->dims);
    g->data = d->got[sample];
    if (rc == 0)
        rc = assay_pictures_read(q, p->picture_path, &silent, &p->picture, err);
    return rc == 0 ? assay_image_compare(p, 1, err) : rc;
}

static void close_pair(struct assay_image_pair *p)
{
    assay_picture_close(&p->picture);
    for (uint32_t i = 0; i < ASSAY_IMAGE_DOORS; i++)
        assay_received_free(p->found[i]);
}

/* Hits of the first sample, as causes. */
static void take_first(struct assay_run *r, struct assay_report_input *in,
                       const struct assay_image_pair *p)
{
    const struct assay_received *f = p->found[p->best];
    char ids[128], names[600], text[ASSAY_LINE_TEXT];

    in->sentence = keep(r, assay_image_sentence(p, text, sizeof(text)));
    if (f->changes == 0)
        return; /* the buffer of the other door: nothing was done wrong */
    for (uint32_t i = 0; i < f->n; i++) {
        const struct assay_received_hit *h = &f->hits[i];

        if (in->n == ASSAY_REPORT_INPUT_CAUSES) {
            in->n_more++;
            continue;
        }
        assay_image_causes(p, p->best, h, ids, sizeof(ids), names,
                           sizeof(names));
        in->causes[in->n++] = (struct assay_report_input_cause){
            .id = keep(r, ids),
            .what = keep(r, names),
            .fix = keep(r, assay_image_fix(p, p->best, h, text, sizeof(text))),
            .within = !h->exact,
            .all_matched = h->all_matched,
            .all = h->all,
            .n_samples = 1,
        };
    }
    in->n_more += f->n_more;
}

/* Only what fits this sample as well stays. */
static void keep_common(struct assay_report_input *in,
                        const struct assay_image_pair *p)
{
    const struct assay_received *f = p->found[p->best];
    char ids[128], names[600];
    uint32_t n = 0;

    for (uint32_t c = 0; c < in->n; c++) {
        bool again = false;

        for (uint32_t i = 0; i < f->n && !again; i++) {
            assay_image_causes(p, p->best, &f->hits[i], ids, sizeof(ids), names,
                               sizeof(names));
            again = strcmp(ids, in->causes[c].id) == 0 &&
                    strcmp(names, in->causes[c].what) == 0;
            if (again) {
                in->causes[c].all_matched += f->hits[i].all_matched;
                in->causes[c].all += f->hits[i].all;
                in->causes[c].n_samples++;
            }
        }
        if (again)
            in->causes[n++] = in->causes[c];
    }
    in->n = n;
}

int assay_run_input_picture(struct assay_run *r, struct assay_report_input *in,
                            const struct assay_run_input_data *d,
                            struct assay_err *err)
{
    uint32_t searched = 0;
    int rc = 0;

    if (r->p.pictures == NULL || r->p.pictures->tensor != in->tensor)
        return 0;
    for (uint32_t s = 0; s < d->n_samples && rc == 0 && searched < SEARCHED;
         s++) {
        struct assay_image_pair *p;

        if (d->got[s] == NULL || is_right(r, d, s))
            continue;
        p = assay_calloc(1, sizeof(*p));
        if (p == NULL)
            return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                                      NULL);
        rc = search(p, r, d, s, err);
        if (rc == 0 && searched++ == 0)
            take_first(r, in, p);
        else if (rc == 0)
            keep_common(in, p);
        close_pair(p);
        assay_free(p);
    }
    return rc;
}
