/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_bad.h"

#include "host-tools/run_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 5 /* in text; JSON has all */

static void add(struct assay_run_bad *b, uint32_t layer,
                enum assay_column column, uint64_t mismatch)
{
    if (b->culprits++ == 0) {
        b->layer = layer;
        b->column = column;
    }
    b->mismatch += mismatch;
}

void assay_run_bad_take(struct assay_run *r, const struct assay_judgement *cpu)
{
    struct assay_run_bad b = {.sample = r->sample};

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer_facts *f = &r->now[i].facts;

        if (!r->layers[i].selected)
            continue;
        if (cpu[i].culprit)
            add(&b, i, ASSAY_COL_CPU,
                f->isolated_run ? f->isolated_mismatch : f->mismatch);
        for (unsigned s = 0; s < ASSAY_SIDES; s++) {
            const struct assay_column_facts *k = &r->sides[s].facts[i];

            if (r->sides[s].here && assay_judge_column(k).culprit)
                add(&b, i, assay_side_column(s),
                    k->rerun ? k->rerun_mismatch : k->mismatch);
        }
    }
    if (b.culprits > 0)
        r->bad[r->n_bad++] = b;
}

static int by_badness(const void *p, const void *q)
{
    const struct assay_run_bad *a = p, *b = q;

    if (a->mismatch != b->mismatch)
        return a->mismatch > b->mismatch ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

void assay_run_bad_sort(struct assay_run *r)
{
    if (r->n_bad > 1)
        qsort(r->bad, r->n_bad, sizeof(*r->bad), by_badness);
}

const char *assay_run_bad_name(const struct assay_run *r, uint32_t sample,
                               char *out, size_t cap)
{
    const struct assay_case *c = &r->p.c;
    const char *path = c->inputs != NULL ? c->inputs[sample] : NULL;
    const char *name = path != NULL ? strrchr(path, '/') : NULL;
    char row[24] = "";

    if (path == NULL) { /* of a bundle */
        snprintf(out, cap, "%u", sample);
        return out;
    }
    if (c->input_rows != NULL && c->input_rows[sample] != ASSAY_CASE_WHOLE)
        snprintf(row, sizeof(row), "[%zu]", c->input_rows[sample]);
    snprintf(out, cap, "%.200s%s", name != NULL ? name + 1 : path, row);
    return out;
}

void assay_run_bad_lines(const struct assay_run *r, struct assay_lines *l)
{
    char text[1024], list[800] = "", name[240], one[480], more[64];

    if (r->n_samples < 2 || r->n_bad == 0)
        return;
    for (uint32_t i = 0; i < r->n_bad && i < SHOWN; i++) {
        const struct assay_run_bad *b = &r->bad[i];
        size_t at = strlen(list);

        assay_run_bad_name(r, b->sample, name, sizeof(name));
        assay_message(one, sizeof(one),
                      assay_run_digests_only(r)
                          ? (i == 0 ? ASSAY_MSG_BAD_FIRST_DIGEST
                                    : ASSAY_MSG_BAD_ONE_DIGEST)
                      : i == 0 ? ASSAY_MSG_BAD_FIRST
                               : ASSAY_MSG_BAD_ONE,
                      "name", name, "mismatch", assay_num_u(b->mismatch).text,
                      "layer", r->s->layers[b->layer].name, NULL);
        snprintf(list + at, sizeof(list) - at, "%s%.150s", i > 0 ? ", " : "",
                 one);
    }
    if (r->n_bad > SHOWN)
        strcat(list,
               assay_message(more, sizeof(more), ASSAY_MSG_AND_MORE, "more",
                             assay_num_u(r->n_bad - SHOWN).text, NULL));
    assay_message(text, sizeof(text), ASSAY_MSG_BAD_SAMPLES, "bad",
                  assay_num_u(r->n_bad).text, "all",
                  assay_num_u(r->n_samples).text, "list", list, NULL);
    assay_line_add(l, "  samples ", text);
}

size_t assay_run_bad_samples(const struct assay_run *r,
                             const struct assay_report_bad **out)
{
    struct assay_report_bad *v =
        assay_arena_array(r->arena, (size_t)r->n_bad + 1, sizeof(*v));
    size_t n = 0;

    for (; v != NULL && n < r->n_bad; n++) {
        const struct assay_run_bad *b = &r->bad[n];
        char name[240];

        assay_run_bad_name(r, b->sample, name, sizeof(name));
        v[n] = (struct assay_report_bad){
            .sample = b->sample,
            .input = assay_arena_str(r->arena, name, strlen(name)),
            .culprits = b->culprits,
            .layer = b->layer,
            .name = r->s->layers[b->layer].name,
            .column = b->column,
            .mismatch = b->mismatch,
            .by_digest = assay_run_digests_only(r),
        };
    }
    *out = v;
    return n;
}
