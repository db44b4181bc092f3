/* SPDX-License-Identifier: Apache-2.0 */
/* See image_received.h. */
#include "host-tools/image_received.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/messages.h"

const char *assay_image_verdict_name(enum assay_image_verdict v)
{
    static const char *const names[] = {"match", "input", "unexplained"};

    return names[v];
}

enum assay_image_verdict assay_image_pair_verdict(
    const struct assay_image_pair *p)
{
    const struct assay_received *r = p->found[p->best];

    if (r->n > 0 && r->changes == 0)
        return ASSAY_IMAGE_MATCH;
    return r->n > 0 || p->other >= 0 ? ASSAY_IMAGE_INPUT
                                     : ASSAY_IMAGE_UNEXPLAINED;
}

/* Fewest changes; of as many the door of the tensor's form, then the first. */
static bool is_better(const struct assay_received *a,
                      const struct assay_received *b)
{
    if (b->n == 0 || a->changes != b->changes)
        return b->n == 0 || a->changes < b->changes;
    return a->comparable && !b->comparable;
}

static int search_doors(struct assay_image_pair *p, struct assay_err *err)
{
    uint32_t most = 0;

    for (uint32_t d = 0; d < p->doors.n; d++) {
        const struct assay_received *r;
        int rc;

        rc = assay_received_search(&p->found[d], &p->picture,
                                   &p->doors.v[d].wanted, &p->fed.got, most,
                                   err);
        if (rc < 0)
            return assay_err_prefix(err, "%.200s", p->fed_path);
        r = p->found[d];
        if (r->n == 0)
            continue;
        if (is_better(r, p->found[p->best]))
            p->best = d;
        if (r->changes == 0)
            break; /* it is what this door wants */
        most = p->found[p->best]->changes;
    }
    return 0;
}

/* Is it what another input should have got of its own picture? */
static int look_at_others(struct assay_image_pair *v, uint32_t n, uint32_t i,
                          struct assay_err *err)
{
    struct assay_received *r = NULL;

    for (uint32_t k = 0; k < n && v[i].other < 0; k++) {
        int rc;

        if (k == i)
            continue;
        rc =
            assay_received_search(&r, &v[k].picture, &v[k].doors.v[0].wanted,
                                  &v[i].fed.got, ASSAY_RECEIVED_UNCHANGED, err);
        if (rc < 0)
            return rc;
        if (r->n > 0)
            v[i].other = (int)k;
        assay_received_free(r);
    }
    return 0;
}

int assay_image_compare(struct assay_image_pair *v, uint32_t n,
                        struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        v[i].other = -1;
        rc = search_doors(&v[i], err);
        if (rc == 0 && assay_image_pair_verdict(&v[i]) != ASSAY_IMAGE_MATCH)
            rc = look_at_others(v, n, i, err);
    }
    return rc;
}

static int read_pair(struct assay_image_pair *p, const struct assay_options *o,
                     const struct assay_image_told *told,
                     const struct assay_raw *raw, uint32_t index,
                     uint32_t *n_inputs, struct assay_err *err)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_image_told own = *told;
    int rc;

    p->picture_path = o->cases.v[index];
    p->fed_path = o->fed.v[index];
    rc = raw != NULL
             ? assay_picture_read_raw(&p->picture, p->picture_path, raw, err)
             : assay_picture_read(&p->picture, p->picture_path, &silent, err);
    if (rc < 0)
        return rc;
    /* Without --size it is the picture's own. */
    if (own.spec.width == 0 && own.typed) {
        own.spec.width = p->picture.width;
        own.spec.height = p->picture.height;
    }
    rc = assay_image_wanted(&p->doors, n_inputs, o, &own, index, err);
    if (rc < 0)
        return rc;
    return assay_image_fed_read(&p->fed, p->fed_path, p->doors.input,
                                p->doors.v[0].wanted.spec.width,
                                p->doors.v[0].wanted.spec.height, err);
}

static void close_pair(struct assay_image_pair *p)
{
    assay_picture_close(&p->picture);
    assay_image_fed_close(&p->fed);
    for (uint32_t d = 0; d < ASSAY_IMAGE_DOORS; d++)
        assay_received_free(p->found[d]);
}

int assay_image_received(const struct assay_options *o,
                         const struct assay_image_told *told,
                         const struct assay_raw *raw, struct assay_err *err)
{
    struct assay_image_pair *v;
    uint32_t n = (uint32_t)o->fed.n, read = 0, n_inputs;
    int rc = 0, code = 0;

    if (n != o->cases.n || n > ASSAY_IMAGE_PAIRS)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_FED_PAIRS, "got",
                                  assay_num_u(n).text, "pictures",
                                  assay_num_u(o->cases.n).text, "most",
                                  assay_num_u(ASSAY_IMAGE_PAIRS).text, NULL);
    v = assay_calloc(n, sizeof(*v));
    if (v == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    while (rc == 0 && read < n) {
        rc = read_pair(&v[read], o, told, raw, read, &n_inputs, err);
        read++;
    }
    if (rc == 0)
        rc = assay_image_compare(v, n, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        if (assay_image_pair_verdict(&v[i]) != ASSAY_IMAGE_MATCH)
            code = 1;
    }
    if (rc == 0)
        rc = assay_image_received_report(o, v, n, code, err);
    for (uint32_t i = 0; i < read; i++)
        close_pair(&v[i]);
    assay_free(v);
    return rc < 0 ? rc : code;
}
