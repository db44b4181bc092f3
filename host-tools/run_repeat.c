/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_repeat.h"

#include <stdio.h>
#include <string.h>

#include "kernels/cpu.h"

/* A layer over all samples. */
struct layer {
    struct assay_repeat_layer found; /* the worst state, the sum of runs */
    bool seen;                       /* first is of a difference */
    struct assay_diff first; /* ref: the run that is judged, got: the other */
};

struct assay_run_repeats {
    struct assay_repeat_kind kinds[ASSAY_REPEAT_KINDS];
    char names[ASSAY_REPEAT_KINDS][32];
    uint32_t n_kinds;
    uint32_t runs_of[ASSAY_REPEAT_KINDS], runs; /* in all samples */
    uint32_t samples;
    struct layer *layers;
    /* The sample that is under way: outputs of the run that is judged (NULL:
     * it is the reference's), kinds and digests by run. */
    void **base;
    bool *has_base;
    bool any_base;
    uint8_t *kind;                      /* one a run */
    struct assay_repeat_digest *digest; /* [run * layers + layer] */
    uint32_t n_runs, cap;
    struct assay_repeat_layer *now;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

/* ---- which runs there are ------------------------------------------------- */

static void add_rung(struct assay_run_repeats *k, uint32_t mask,
                     const char *name)
{
    struct assay_repeat_kind *kind = &k->kinds[k->n_kinds];

    snprintf(k->names[k->n_kinds], sizeof(k->names[0]), "--cpumask %s", name);
    *kind = (struct assay_repeat_kind){k->names[k->n_kinds], k->n_kinds, mask,
                                       k->kinds[0].capture};
    k->n_kinds++;
}

/* Each rung below the one that is judged. */
static void find_kinds(const struct assay_run *r, struct assay_run_repeats *k)
{
    uint32_t have = r->info.agent.cpu_flags & r->o->cpumask;

    bool data = r->o->capture < ASSAY_CAPTURE_DIGEST;

    k->kinds[k->n_kinds++] = (struct assay_repeat_kind){
        "plain", 0, r->o->cpumask, data ? r->o->capture : ASSAY_CAPTURE_DIGEST};
    if (!r->o->local)
        k->kinds[k->n_kinds++] = (struct assay_repeat_kind){
            data ? "--capture digest" : "--capture full", 0, r->o->cpumask,
            data ? ASSAY_CAPTURE_DIGEST : ASSAY_CAPTURE_FULL};
    if (have != 0)
        add_rung(k, 0, "0");
    if ((have & ~ASSAY_CPU_NEON) != 0 && (have & ASSAY_CPU_NEON) != 0)
        add_rung(k, ASSAY_CPU_NEON, "neon");
    if ((have & ASSAY_CPU_I8MM) != 0 && (have & ASSAY_CPU_DOTPROD) != 0)
        add_rung(k, have & ~ASSAY_CPU_I8MM, "dotprod");
}

int assay_run_repeat_open(struct assay_run *r, struct assay_err *err)
{
    struct assay_run_repeats *k;
    size_t n = (size_t)r->s->n_layers + 1;

    if (r->o->repeat < 2)
        return 0;
    k = r->repeats = assay_calloc(1, sizeof(*k));
    if (k == NULL)
        return no_memory(err);
    find_kinds(r, k);
    /* A rung that ran once and differs is run once more. */
    k->cap = r->o->repeat + k->n_kinds;
    k->layers = assay_calloc(n, sizeof(*k->layers));
    k->now = assay_calloc(n, sizeof(*k->now));
    k->base = assay_calloc(n, sizeof(*k->base));
    k->has_base = assay_calloc(n, sizeof(*k->has_base));
    k->kind = assay_calloc(k->cap, sizeof(*k->kind));
    k->digest = assay_calloc(k->cap * n, sizeof(*k->digest));
    if (k->layers == NULL || k->now == NULL || k->base == NULL ||
        k->has_base == NULL || k->kind == NULL || k->digest == NULL)
        return no_memory(err);
    return 0;
}

void assay_run_repeat_forget(struct assay_run *r)
{
    struct assay_run_repeats *k = r->repeats;

    if (k == NULL || k->base == NULL || k->has_base == NULL)
        return;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        assay_free(k->base[i]);
        k->base[i] = NULL;
        k->has_base[i] = false;
    }
    k->any_base = false;
    k->n_runs = 0;
    if (k->digest != NULL)
        memset(k->digest, 0, r->s->n_layers * sizeof(*k->digest));
}

void assay_run_repeat_close(struct assay_run *r)
{
    struct assay_run_repeats *k = r->repeats;

    if (k == NULL)
        return;
    assay_run_repeat_forget(r);
    assay_free(k->layers);
    assay_free(k->now);
    assay_free(k->base);
    assay_free(k->has_base);
    assay_free(k->kind);
    assay_free(k->digest);
    assay_free(k);
    r->repeats = NULL;
}

/* ---- results -------------------------------------------------------------- */

static const void *base_of(const struct assay_run *r, uint32_t layer)
{
    const struct assay_run_repeats *k = r->repeats;

    return k->base[layer] != NULL ? k->base[layer]
                                  : r->values[r->s->layers[layer].output];
}

static int keep_base(struct assay_run *r, uint32_t layer, const void *data,
                     size_t bytes)
{
    struct assay_run_repeats *k = r->repeats;
    const void *ref = r->values[r->s->layers[layer].output];

    k->has_base[layer] = true;
    if (ref != NULL && memcmp(ref, data, bytes) == 0)
        return 0;
    assay_free(k->base[layer]);
    k->base[layer] = assay_alloc(bytes + 1);
    if (k->base[layer] == NULL)
        return no_memory(&r->error);
    memcpy(k->base[layer], data, bytes);
    return 0;
}

void assay_run_repeat_digests(struct assay_run *r, uint32_t layer,
                              const uint8_t *digests, size_t tiles)
{
    struct assay_run_repeats *k = r->repeats;

    assay_xxh128(digests, tiles * 16,
                 k->digest[(size_t)k->n_runs * r->s->n_layers + layer].v);
    k->any_base = k->any_base || k->n_runs == 0;
}

int assay_run_repeat_take(struct assay_run *r, uint32_t layer, const void *data,
                          size_t bytes)
{
    const struct assay_tolerance strict = {0};
    struct assay_run_repeats *k = r->repeats;
    struct layer *l = &k->layers[layer];
    size_t tiles = assay_tiles(bytes);
    uint8_t *digests = assay_alloc(tiles * 16 + 1);

    if (digests == NULL)
        return no_memory(&r->error);
    assay_tile_digests(data, bytes, digests);
    assay_run_repeat_digests(r, layer, digests, tiles);
    assay_free(digests);
    if (k->n_runs == 0)
        return keep_base(r, layer, data, bytes);
    if (!k->has_base[layer] || l->seen ||
        memcmp(base_of(r, layer), data, bytes) == 0)
        return 0;
    l->seen = true;
    assay_diff_tensor(&r->s->tensors[r->s->layers[layer].output],
                      base_of(r, layer), data, &strict, &l->first);
    l->first.sample = r->sample;
    return 0;
}

/* ---- one sample ----------------------------------------------------------- */

static void end_run(struct assay_run *r, uint32_t kind)
{
    struct assay_run_repeats *k = r->repeats;

    k->kind[k->n_runs++] = (uint8_t)kind;
    k->runs_of[kind]++;
    k->runs++;
}

static int run_once(struct assay_run *r, const bool *layers, uint32_t kind)
{
    struct assay_run_repeats *k = r->repeats;
    const struct assay_pass pass = {
        .backend = r->board,
        .column = ASSAY_COL_CPU,
        .cpumask = k->kinds[kind].cpumask,
        .layers = layers,
        .repeat = true,
        .capture = (enum assay_capture)k->kinds[kind].capture,
    };
    int rc;

    memset(&k->digest[(size_t)k->n_runs * r->s->n_layers], 0,
           r->s->n_layers * sizeof(*k->digest));
    rc = assay_run_pass(r, &pass);
    if (rc == 0)
        end_run(r, kind);
    return rc;
}

/* Did the rung's only run give something else? */
static bool is_unsure(const struct assay_run *r, uint32_t kind)
{
    const struct assay_run_repeats *k = r->repeats;
    uint32_t n = 0, run = 0;
    size_t layers = r->s->n_layers;

    for (uint32_t i = 0; i < k->n_runs; i++) {
        if (k->kind[i] == kind) {
            n++;
            run = i;
        }
    }
    return n == 1 && memcmp(&k->digest[0], &k->digest[run * layers],
                            layers * sizeof(*k->digest)) != 0;
}

static void add_up(struct assay_run *r)
{
    struct assay_run_repeats *k = r->repeats;

    assay_repeat_judge(k->now, r->s, k->kinds, k->kind, k->n_runs, k->digest);
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_repeat_layer *sum = &k->layers[i].found;

        if (k->now[i].state > sum->state)
            sum->state = k->now[i].state;
        sum->odd += k->now[i].odd;
        for (uint32_t j = 0; j < k->n_kinds; j++)
            sum->odd_of[j] += k->now[i].odd_of[j];
    }
    k->samples++;
}

int assay_run_repeat(struct assay_run *r, const bool *layers)
{
    struct assay_run_repeats *k = r->repeats;
    int rc = 0;

    if (k == NULL)
        return 0;
    if (k->any_base) /* the run that was judged is the first one */
        end_run(r, 0);
    for (uint32_t i = k->n_runs; i < r->o->repeat && rc == 0; i++)
        rc = run_once(r, layers, i % k->n_kinds);
    for (uint32_t i = 1; i < k->n_kinds && rc == 0; i++) {
        if (is_unsure(r, i))
            rc = run_once(r, layers, i);
    }
    if (k->n_runs > 1)
        add_up(r);
    return rc;
}

/* ---- what came of it ------------------------------------------------------ */

enum assay_repeat_state assay_run_repeat_state(const struct assay_run *r,
                                               uint32_t layer)
{
    if (r->repeats == NULL || !r->layers[layer].selected)
        return ASSAY_REPEAT_SAME;
    return r->repeats->layers[layer].found.state;
}

/* "plain 2 of 20, --cpumask 0 1 of 20"; without odd: "plain 20, ...". */
static const char *kinds_text(const struct assay_run_repeats *k,
                              const struct assay_repeat_layer *odd, char *out,
                              size_t cap)
{
    out[0] = '\0';
    for (uint32_t i = 0; i < k->n_kinds; i++) {
        size_t at = strlen(out);
        const char *comma = at > 0 ? ", " : "";

        if (k->runs_of[i] == 0)
            continue;
        if (odd != NULL)
            snprintf(out + at, cap - at, "%s%s %u of %u", comma,
                     k->kinds[i].name, odd->odd_of[i], k->runs_of[i]);
        else
            snprintf(out + at, cap - at, "%s%s %u", comma, k->kinds[i].name,
                     k->runs_of[i]);
    }
    return out;
}

static void value_text(const struct assay_tensor *t, double v, char out[32])
{
    snprintf(out, 32, assay_dtype_is_int(t->dtype) ? "%.0f" : "%.9g", v);
}

void assay_run_repeat_culprit_lines(const struct assay_run *r, uint32_t layer,
                                    struct assay_lines *l)
{
    const struct assay_run_repeats *k = r->repeats;
    const struct layer *y = &k->layers[layer];
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    const struct assay_run_layer *row = &r->layers[layer];
    const struct assay_diff *ref =
        row->isolated.count > 0 ? &row->isolated : &row->cumulative;
    char text[ASSAY_LINE_TEXT], kinds[256], at[128], was[32], other[32];
    uint32_t behind = 0;

    assay_message(text, sizeof(text), ASSAY_MSG_REPEAT_ODD, "odd",
                  assay_num_u(y->found.odd).text, "runs",
                  assay_num_u(k->runs).text, "kinds",
                  kinds_text(k, &y->found, kinds, sizeof(kinds)), NULL);
    assay_line_add(l, "  repeat  ", text);
    if (y->seen && y->first.n_first > 0) {
        value_text(t, y->first.first[0].ref, was);
        value_text(t, y->first.first[0].got, other);
        assay_message(text, sizeof(text), ASSAY_MSG_REPEAT_WHERE, "mismatch",
                      assay_num_u(y->first.mismatch).text, "count",
                      assay_num_u(y->first.count).text, "sample",
                      assay_num_u(y->first.sample).text, "index",
                      assay_report_index(t, y->first.first[0].index, false, at,
                                         sizeof(at)),
                      "was", was, "other", other, NULL);
        assay_line_add(l, "  where   ", text);
    }
    if (ref->count > 0) {
        assay_message(text, sizeof(text),
                      ref->mismatch > 0 ? ASSAY_MSG_REPEAT_REFERENCE
                                        : ASSAY_MSG_REPEAT_REFERENCE_SAME,
                      "mismatch", assay_num_u(ref->mismatch).text, "count",
                      assay_num_u(ref->count).text, NULL);
        assay_line_add(l, "          ", text);
    }
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        behind += assay_run_repeat_state(r, i) == ASSAY_REPEAT_BEHIND;
    if (behind > 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_REPEAT_BEHIND, "layers",
                      assay_num_u(behind).text, NULL);
        assay_line_add(l, "          ", text);
    }
    assay_message(text, sizeof(text),
                  y->found.state == ASSAY_REPEAT_FLAKY
                      ? ASSAY_MSG_REPEAT_NEXT_FLAKY
                      : ASSAY_MSG_REPEAT_NEXT_RUNGS,
                  "layer", r->s->layers[layer].name, NULL);
    assay_line_add(l, "  next    ", text);
}

void assay_run_repeat_lines(const struct assay_run *r, struct assay_lines *l)
{
    const struct assay_run_repeats *k = r->repeats;
    char text[ASSAY_LINE_TEXT], kinds[256], where[64], files[64] = "";
    uint32_t at = 0;
    bool same;

    if (k == NULL)
        return;
    while (at < r->s->n_layers &&
           k->layers[at].found.state == ASSAY_REPEAT_SAME)
        at++;
    same = at == r->s->n_layers;
    assay_message(text, sizeof(text),
                  same ? ASSAY_MSG_REPEAT_SAME : ASSAY_MSG_REPEAT_DIFFERS,
                  "layer", same ? "" : r->s->layers[at].name, "runs",
                  assay_num_u(k->runs).text, "samples",
                  assay_num_u(k->samples).text, "where",
                  assay_message(where, sizeof(where),
                                r->o->local ? ASSAY_MSG_REPEAT_LOCAL
                                            : ASSAY_MSG_REPEAT_WORKERS,
                                NULL),
                  "kinds", kinds_text(k, NULL, kinds, sizeof(kinds)), NULL);
    assay_line_add(l, " ", text);
    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        if (r->sides[s].n_samples > 0)
            snprintf(files + strlen(files), sizeof(files) - strlen(files),
                     "%s%s", files[0] != '\0' ? ", " : "",
                     assay_column_name(assay_side_column(s)));
    }
    if (files[0] == '\0')
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_REPEAT_FILES, "columns", files,
                  NULL);
    assay_line_add(l, " ", text);
}

void assay_run_repeat_row(const struct assay_run *r, struct assay_row *row)
{
    const struct assay_run_repeats *k = r->repeats;
    const struct layer *l;

    if (k == NULL || k->runs == 0)
        return;
    l = &k->layers[row->index];
    row->repeat = (struct assay_row_repeat){
        .state = assay_repeat_state_name(l->found.state),
        .runs = k->runs,
        .odd = l->found.odd,
        .n_kinds = k->n_kinds,
        .kinds = k->kinds,
        .runs_of = k->runs_of,
        .odd_of = l->found.odd_of,
        .first = l->seen ? &l->first : NULL,
    };
    row->culprit = row->culprit ||
                   assay_run_repeat_state(r, row->index) >= ASSAY_REPEAT_RUNGS;
}

void assay_run_repeat_report(const struct assay_run *r,
                             struct assay_report_head *head)
{
    const struct assay_run_repeats *k = r->repeats;

    head->repeat = k != NULL ? r->o->repeat : 1;
    if (k == NULL)
        return;
    head->repeat_kinds = k->kinds;
    head->repeat_runs = k->runs_of;
    head->n_repeat_kinds = k->n_kinds;
}
