/* SPDX-License-Identifier: Apache-2.0 */
/* Why a column's own input is another than the one that was given. */
#include "host-tools/run_input.h"

#include <string.h>

#include "host-tools/model/npz.h"

/* All inputs of the model in some samples, and a column's own. */
struct kept {
    struct assay_run_input_data d;
    uint32_t *tensors;
    void ***own; /* [input][sample]; NULL: the column lacks it */
};

static void forget(struct kept *k)
{
    for (uint32_t i = 0; i < k->d.n_inputs; i++) {
        for (uint32_t s = 0; s < ASSAY_RUN_INPUT_SAMPLES; s++) {
            if (k->d.given != NULL && k->d.given[i] != NULL)
                assay_free(k->d.given[i][s]);
            if (k->own != NULL && k->own[i] != NULL)
                assay_free(k->own[i][s]);
        }
        if (k->d.given != NULL)
            assay_free(k->d.given[i]);
        if (k->own != NULL)
            assay_free(k->own[i]);
    }
    assay_free(k->d.given);
    assay_free(k->own);
    assay_free(k->tensors);
}

static int reserve(struct kept *k, const struct assay_run *r,
                   struct assay_err *err)
{
    bool good;

    k->tensors = assay_calloc((size_t)r->s->n_tensors + 1, sizeof(uint32_t));
    for (uint32_t t = 0; k->tensors != NULL && t < r->s->n_tensors; t++) {
        if (r->s->tensors[t].role == ASSAY_ROLE_INPUT)
            k->tensors[k->d.n_inputs++] = t;
    }
    k->d.tensors = k->tensors;
    k->d.given = assay_calloc(k->d.n_inputs + 1u, sizeof(*k->d.given));
    k->own = assay_calloc(k->d.n_inputs + 1u, sizeof(*k->own));
    good = k->tensors != NULL && k->d.given != NULL && k->own != NULL;
    for (uint32_t i = 0; i < k->d.n_inputs && good; i++) {
        k->d.given[i] = assay_calloc(ASSAY_RUN_INPUT_SAMPLES, sizeof(void *));
        k->own[i] = assay_calloc(ASSAY_RUN_INPUT_SAMPLES, sizeof(void *));
        good = k->d.given[i] != NULL && k->own[i] != NULL;
    }
    return good
               ? 0
               : assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

/* A copy in the source's order. */
static int copy(void **out, const struct assay_tensor *t, const void *stored,
                struct assay_err *err)
{
    size_t n, bytes;
    int rc = assay_tensor_count(t, &n, &bytes, err);

    if (rc == 0 && stored != NULL) {
        *out = assay_alloc(bytes + 1);
        if (*out == NULL)
            rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
        else
            assay_npz_source_order(t, stored, *out);
    }
    return rc;
}

/* The first samples once more: their files are read again. */
static int read_samples(struct kept *k, struct assay_run *r, unsigned side,
                        struct assay_err *err)
{
    uint32_t n = assay_run_done(r);
    int rc = 0;

    if (n > ASSAY_RUN_INPUT_SAMPLES)
        n = ASSAY_RUN_INPUT_SAMPLES;
    for (uint32_t s = 0; s < n && rc == 0; s++) {
        rc = assay_run_sample_open(r, s, err);
        for (uint32_t i = 0; i < k->d.n_inputs && rc == 0; i++) {
            uint32_t t = k->tensors[i];

            rc = copy(&k->d.given[i][s], &r->s->tensors[t], r->values[t], err);
            if (rc == 0 && r->sides[side].here)
                rc = copy(&k->own[i][s], &r->s->tensors[t],
                          r->sides[side].observed.values[t], err);
        }
        assay_run_sample_close(r);
        k->d.n_samples = s + 1;
    }
    return rc;
}

/* Elements of one input that differ; false: none does. */
static bool differs(const struct kept *k, const struct assay_run *r, uint32_t i,
                    struct assay_report_input *in)
{
    const struct assay_tensor *t = &r->s->tensors[k->tensors[i]];
    size_t n, bytes, unit = assay_dtype_bytes(t->dtype);

    if (assay_tensor_count(t, &n, &bytes, NULL) < 0)
        return false;
    for (uint32_t s = 0; s < k->d.n_samples; s++) {
        const uint8_t *a = k->d.given[i][s], *b = k->own[i][s];

        if (a == NULL || b == NULL)
            continue;
        in->n_samples++;
        in->all += n;
        for (size_t e = 0; e < n; e++)
            in->differing += memcmp(a + e * unit, b + e * unit, unit) != 0;
    }
    return in->differing > 0;
}

static int search_side(struct assay_run *r, unsigned side,
                       struct assay_err *err)
{
    struct kept k = {0};
    int rc = reserve(&k, r, err);

    if (rc == 0)
        rc = read_samples(&k, r, side, err);
    for (uint32_t i = 0; i < k.d.n_inputs && rc == 0; i++) {
        struct assay_report_input in = {
            .column = assay_side_column(side),
            .tensor = k.tensors[i],
            .name = r->s->tensors[k.tensors[i]].name,
            .nearest = "",
            .sentence = "",
        };

        if (!differs(&k, r, i, &in))
            continue;
        k.d.which = i;
        k.d.got = k.own[i];
        rc = assay_run_input_picture(r, &in, &k.d, err);
        if (rc == 0 && in.n == 0)
            rc = assay_run_input_bytes(r, &in, &k.d, err);
        r->inputs_found->v[r->inputs_found->n++] = in;
    }
    forget(&k);
    return rc;
}

int assay_run_input_search(struct assay_run *r, struct assay_err *err)
{
    int rc = 0;

    for (unsigned s = 0; s < ASSAY_SIDES && rc == 0; s++) {
        if (!r->sides[s].other_input)
            continue;
        if (r->inputs_found == NULL) {
            size_t n = (size_t)ASSAY_SIDES * r->s->n_tensors + 1;

            r->inputs_found =
                assay_arena_array(r->arena, 1, sizeof(*r->inputs_found));
            if (r->inputs_found != NULL)
                r->inputs_found->v =
                    assay_arena_array(r->arena, n, sizeof(*r->inputs_found->v));
            if (r->inputs_found == NULL || r->inputs_found->v == NULL)
                return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                                          NULL);
        }
        rc = search_side(r, s, err);
    }
    return rc;
}

const struct assay_report_input *assay_run_input_of(const struct assay_run *r,
                                                    enum assay_column column,
                                                    uint32_t tensor)
{
    for (size_t i = 0; r->inputs_found != NULL && i < r->inputs_found->n; i++) {
        const struct assay_report_input *in = &r->inputs_found->v[i];

        if (in->column == column && in->tensor == tensor)
            return in;
    }
    return NULL;
}

static const struct assay_report_input *first_of(const struct assay_run *r,
                                                 enum assay_column column)
{
    return assay_run_input_of(r, column,
                              r->sides[column - ASSAY_COL_SIM].input);
}

const char *assay_run_input_id(const struct assay_run *r,
                               enum assay_column column)
{
    const struct assay_report_input *in = first_of(r, column);

    return in != NULL && in->n > 0 ? in->causes[0].id : "";
}

void assay_run_input_lines(const struct assay_run *r, enum assay_column column,
                           struct assay_lines *l)
{
    const struct assay_report_input *in = first_of(r, column);
    char text[ASSAY_LINE_TEXT];

    if (in == NULL)
        return;
    if (in->sentence[0] != '\0')
        assay_line_add(l, "  fed     ", in->sentence);
    for (uint32_t i = 0; i < in->n; i++) {
        const struct assay_report_input_cause *c = &in->causes[i];

        if (i == 0)
            assay_message(text, sizeof(text),
                          c->within ? ASSAY_MSG_INPUT_CAUSE_WITHIN
                                    : ASSAY_MSG_INPUT_CAUSE,
                          "id", c->id, "what", c->what, "matched",
                          assay_num_u(c->all_matched).text, "all",
                          assay_num_u(c->all).text, NULL);
        else
            assay_message(text, sizeof(text), ASSAY_MSG_CAUSE_OR, "what", c->id,
                          "name", c->what, NULL);
        assay_line_add(l, i == 0 ? "  cause   " : "          ", text);
    }
    if (in->n > 0 && in->causes[0].n_samples < in->n_samples)
        assay_line_add(
            l, "          ",
            assay_message(text, sizeof(text), ASSAY_MSG_INPUT_SAMPLES, "n",
                          assay_num_u(in->causes[0].n_samples).text, "samples",
                          assay_num_u(in->n_samples).text, NULL));
    if (in->n_more > 0)
        assay_line_add(l, "          ",
                       assay_message(text, sizeof(text),
                                     ASSAY_MSG_CAUSE_OR_MORE, "more",
                                     assay_num_u(in->n_more).text, NULL));
    if (in->n > 0 && in->causes[0].fix[0] != '\0')
        assay_line_add(l, "  try     ", in->causes[0].fix);
    if (in->n == 0)
        assay_line_add(l, "  cause   ",
                       in->nearest[0] != '\0'
                           ? in->nearest
                           : assay_message_text(ASSAY_MSG_INPUT_NO_CAUSE));
}

size_t assay_run_inputs_report(const struct assay_run *r,
                               const struct assay_report_input **out)
{
    *out = r->inputs_found != NULL ? r->inputs_found->v : NULL;
    return r->inputs_found != NULL ? r->inputs_found->n : 0;
}
