/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_cause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/messages.h"
#include "host-tools/run_cause_looks.h"
#include "kernels/cpu.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

#define BUDGET ((size_t)512 << 20) /* bytes of tensors that are kept */
#define SEARCHED 4                 /* culprits of a run; others: all */

static void close_sample(struct assay_suspect_sample *s, uint32_t inputs)
{
    for (uint32_t i = 0; s->inputs && i < inputs; i++)
        assay_free((void *)s->inputs[i]);
    assay_free((void *)s->inputs);
    assay_free((void *)s->base);
    assay_free((void *)s->got);
    memset(s, 0, sizeof(*s));
}

static uint32_t inputs_of(const struct assay_run_suspect *k)
{
    return k->one->layers[0].output;
}

void assay_run_causes_close(struct assay_run *r)
{
    for (size_t i = 0; r->causes && i < r->causes->n; i++) {
        struct assay_run_suspect *k = &r->causes->v[i];

        for (size_t s = 0; s < k->n_samples; s++)
            close_sample(&k->samples[s], inputs_of(k));
        assay_search_free(k->found);
        assay_separation_close(&k->apart);
        assay_slice_free(k->one);
    }
    if (r->causes)
        assay_free(r->causes->v);
    assay_free(r->causes);
    r->causes = NULL;
}

/* ---- keeping --------------------------------------------------------------- */

static size_t bytes_of(const struct assay_tensor *t)
{
    size_t n, bytes;

    return assay_tensor_count(t, &n, &bytes, NULL) < 0 ? 0 : bytes;
}

static void *copy_of(const struct assay_tensor *t, const void *from)
{
    size_t bytes = bytes_of(t);
    void *to = from ? assay_alloc(bytes + 1) : NULL;

    if (to)
        memcpy(to, from, bytes);
    return to;
}

static void *value_of(const struct assay_run *r, const void *const *values,
                      uint32_t tensor, unsigned depth);

/* What the engine gives for a layer on such inputs; NULL: it cannot be had. */
static void *computed(const struct assay_run *r, const void *const *values,
                      uint32_t layer, unsigned depth)
{
    const struct assay_layer *l = &r->s->layers[layer];
    const struct assay_tensor *y = &r->s->tensors[l->output];
    void *given[ASSAY_MAX_LAYER_INPUTS] = {0}, *out = NULL;
    struct assay_slice *one = NULL;
    bool whole = l->op != ASSAY_OP_SKIPPED && depth > 0 &&
                 assay_slice_single(&one, r->s, layer, NULL) == 0;

    for (uint32_t i = 0; whole && i < l->n_inputs; i++) {
        uint32_t t = l->inputs[i], mine = one->layers[0].inputs[i];

        if (given[mine] || r->s->tensors[t].role == ASSAY_ROLE_CONSTANT)
            continue;
        given[mine] = value_of(r, values, t, depth - 1);
        whole = given[mine] != NULL;
    }
    if (whole)
        out = assay_alloc(bytes_of(y) + 1);
    if (out && assay_once(one, assay_cpu_probe(), (const void *const *)given,
                          one->layers[0].output, out, bytes_of(y), NULL) < 0) {
        assay_free(out);
        out = NULL;
    }
    for (uint32_t i = 0; i < ASSAY_MAX_LAYER_INPUTS; i++)
        assay_free(given[i]);
    assay_slice_free(one);
    return out;
}

/* A copy of a tensor as the column has it: recomputed from the last tensors
 * that it has, where it lacks it. */
static void *value_of(const struct assay_run *r, const void *const *values,
                      uint32_t tensor, unsigned depth)
{
    int64_t p = r->producer[tensor];

    if (values[tensor])
        return copy_of(&r->s->tensors[tensor], values[tensor]);
    return p < 0 ? NULL : computed(r, values, (uint32_t)p, depth);
}

static struct assay_run_suspect *suspect_of(struct assay_run *r, uint32_t layer,
                                            enum assay_column column)
{
    struct assay_run_causes *c = r->causes;
    struct assay_run_suspect *k;

    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].layer == layer && c->v[i].column == column)
            return &c->v[i];
    if (c->n == c->cap) {
        size_t more = c->cap ? 2 * c->cap : 16;
        struct assay_run_suspect *v = assay_calloc(more, sizeof(*v));

        if (!v)
            return NULL;
        if (c->n)
            memcpy(v, c->v, c->n * sizeof(*v));
        assay_free(c->v);
        c->v = v;
        c->cap = more;
    }
    k = &c->v[c->n];
    k->layer = layer;
    k->column = column;
    if (assay_slice_single(&k->one, r->s, layer, NULL) < 0)
        return NULL;
    c->n++;
    return k;
}

/* The samples that differ most, the worst first. */
static void keep(struct assay_run_suspect *k, struct assay_suspect_sample *s,
                 uint64_t mismatch, uint32_t from)
{
    size_t at = k->n_samples;

    while (at > 0 && k->mismatch[at - 1] < mismatch)
        at--;
    if (k->n_samples == ASSAY_SUSPECT_SAMPLES)
        close_sample(&k->samples[--k->n_samples], inputs_of(k));
    memmove(&k->samples[at + 1], &k->samples[at],
            (k->n_samples - at) * sizeof(*s));
    memmove(&k->mismatch[at + 1], &k->mismatch[at],
            (k->n_samples - at) * sizeof(mismatch));
    memmove(&k->from[at + 1], &k->from[at], (k->n_samples - at) * sizeof(from));
    k->samples[at] = *s;
    k->mismatch[at] = mismatch;
    k->from[at] = from;
    k->n_samples++;
}

static bool fill(const struct assay_run *r, const struct assay_run_suspect *k,
                 const void *const *values, const void *got,
                 struct assay_suspect_sample *s)
{
    const struct assay_layer *l = &r->s->layers[k->layer];
    const struct assay_tensor *y = &r->s->tensors[l->output];
    void **inputs = assay_calloc(inputs_of(k) + 1, sizeof(*inputs));
    void *base = assay_alloc(bytes_of(y) + 1);
    bool whole = inputs && base;

    for (uint32_t i = 0; whole && i < l->n_inputs; i++) {
        uint32_t mine = k->one->layers[0].inputs[i];

        if (inputs[mine] ||
            r->s->tensors[l->inputs[i]].role == ASSAY_ROLE_CONSTANT)
            continue;
        inputs[mine] = value_of(r, values, l->inputs[i], 64);
        whole = inputs[mine] != NULL;
    }
    s->inputs = (const void *const *)inputs;
    s->base = base;
    s->got = copy_of(y, got);
    return whole && s->got &&
           assay_once(k->one, assay_cpu_probe(), s->inputs, inputs_of(k), base,
                      bytes_of(y), NULL) == 0;
}

static void take(struct assay_run *r, uint32_t layer, enum assay_column column,
                 const void *const *values, const void *got, uint64_t mismatch)
{
    size_t bytes = 4 * bytes_of(&r->s->tensors[r->s->layers[layer].output]);
    struct assay_run_suspect *k;
    struct assay_suspect_sample s = {0};

    if (!got || mismatch == 0 || r->causes->bytes + bytes > BUDGET)
        return;
    k = suspect_of(r, layer, column);
    if (!k || (k->n_samples == ASSAY_SUSPECT_SAMPLES &&
               k->mismatch[k->n_samples - 1] >= mismatch))
        return;
    r->causes->bytes += bytes;
    k->of_reference = got == r->values[r->s->layers[layer].output];
    if (fill(r, k, values, got, &s)) {
        assay_run_cause_swapped(r, k, &s);
        keep(k, &s, mismatch, r->sample);
    } else {
        close_sample(&s, inputs_of(k));
    }
}

/* Where every engine agrees, the odd one is the reference. */
static void take_cpu(struct assay_run *r, uint32_t i)
{
    const struct assay_sample_layer *n = &r->now[i];
    uint32_t t = r->s->layers[i].output;
    const void *host = n->result[ASSAY_COL_HOST];
    const void *cpu = n->result[ASSAY_COL_CPU];
    bool apart =
        host && cpu && memcmp(host, cpu, bytes_of(&r->s->tensors[t])) != 0;

    take(r, i, ASSAY_COL_CPU, r->values, apart ? cpu : r->values[t],
         n->facts.isolated_mismatch ? n->facts.isolated_mismatch
                                    : n->facts.mismatch);
}

/* Are the column's tensors the reference's, in another order? */
static bool rearranged(const struct assay_run *r,
                       const struct assay_run_side *k, uint32_t tensor)
{
    const void *ref = r->values[tensor], *got = k->observed.values[tensor];
    const struct assay_tensor *t = &r->s->tensors[tensor];
    struct assay_layout l;

    return ref && got && memcmp(ref, got, bytes_of(t)) != 0 &&
           assay_layout_find(&l, t, ref, got, NULL, NULL);
}

/* What a layer of the column is run on: where its input and its output were
 * both written in another order, the column computed on the reference's. */
static const void *const *side_values(const struct assay_run *r,
                                      const struct assay_run_side *k,
                                      uint32_t i)
{
    const struct assay_layer *l = &r->s->layers[i];
    bool other = false;

    for (uint32_t n = 0; n < l->n_inputs && !other; n++)
        other = rearranged(r, k, l->inputs[n]);
    return (const void *const *)(other && rearranged(r, k, l->output)
                                     ? r->values
                                     : k->values);
}

void assay_run_causes_take(struct assay_run *r,
                           const struct assay_judgement *cpu)
{
    if (!r->causes)
        r->causes = assay_calloc(1, sizeof(*r->causes));
    for (uint32_t i = 0; r->causes && i < r->s->n_layers; i++) {
        if (!r->layers[i].selected)
            continue;
        if (cpu[i].culprit)
            take_cpu(r, i);
        for (unsigned s = 0; s < ASSAY_SIDES; s++) {
            const struct assay_run_side *k = &r->sides[s];

            if (k->here && assay_judge_column(&k->facts[i]).culprit)
                take(r, i, assay_side_column(s), side_values(r, k, i),
                     k->observed.values[r->s->layers[i].output],
                     k->facts[i].rerun_mismatch);
        }
    }
}

/* ---- samples in which it is equal ------------------------------------------- */

static bool is_kept(const struct assay_run_suspect *k, uint32_t sample)
{
    for (size_t i = 0; i < k->n_samples; i++)
        if (k->from[i] == sample)
            return true;
    return k->n_samples == ASSAY_SUSPECT_SAMPLES;
}

/* What the column has of the sample that is open, else the reference. */
static const void **values_of(const struct assay_run *r,
                              enum assay_column column)
{
    const void **v = assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*v));
    const struct assay_run_side *k =
        column < ASSAY_COL_SIM ? NULL : &r->sides[column - ASSAY_COL_SIM];

    for (uint32_t t = 0; v && t < r->s->n_tensors; t++) {
        v[t] = r->values[t];
        if (k && k->here && k->observed.values[t])
            v[t] = k->observed.values[t];
    }
    return v;
}

/* A cause must leave it as it is: it is kept where the engine gives just what
 * was got. */
static void take_equal(struct assay_run *r, struct assay_run_suspect *k)
{
    uint32_t y = r->s->layers[k->layer].output;
    size_t bytes = bytes_of(&r->s->tensors[y]);
    bool side = k->column >= ASSAY_COL_SIM;
    struct assay_suspect_sample s = {0};
    const void **values;

    if ((side && (!r->sides[k->column - ASSAY_COL_SIM].here ||
                  !r->sides[k->column - ASSAY_COL_SIM].observed.values[y])) ||
        (!side && !k->of_reference) || r->causes->bytes + 4 * bytes > BUDGET)
        return;
    values = values_of(r, k->column);
    if (values && values[y] && fill(r, k, values, values[y], &s) &&
        memcmp(s.base, s.got, bytes) == 0) {
        r->causes->bytes += 4 * bytes;
        keep(k, &s, 0, r->sample);
    } else {
        close_sample(&s, inputs_of(k));
    }
    assay_free(values);
}

static int complete(struct assay_run *r, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t s = 0; s < r->n_samples && s < ASSAY_SUSPECT_SAMPLES; s++) {
        bool any = false;

        for (size_t i = 0; i < r->causes->n; i++)
            any = any || !is_kept(&r->causes->v[i], s);
        if (!any)
            continue;
        rc = assay_run_sample_open(r, s, err);
        for (size_t i = 0; rc == 0 && i < r->causes->n; i++)
            if (!is_kept(&r->causes->v[i], s))
                take_equal(r, &r->causes->v[i]);
        assay_run_sample_close(r);
        if (rc < 0)
            break;
    }
    return rc;
}

/* ---- searching ------------------------------------------------------------- */

static int by_layer(const void *p, const void *q)
{
    const struct assay_run_suspect *a = p, *b = q;

    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return (int)a->column - (int)b->column;
}

static int search(const struct assay_run *r, struct assay_run_suspect *k,
                  const struct assay_edit *only, struct assay_err *err)
{
    const struct assay_case_column *maker =
        k->column >= ASSAY_COL_SIM ? &r->p.c.columns[k->column - ASSAY_COL_SIM]
                                   : NULL;
    const struct assay_suspect s = {.one = k->one,
                                    .whole = r->s,
                                    .layer = k->layer,
                                    .samples = k->samples,
                                    .n_samples = k->n_samples};
    const struct assay_search_options o = {
        .pairs = true,
        .only = r->o->hypothesis ? only : NULL,
        .cpu_flags = assay_cpu_probe(),
        .numerics = maker ? maker->numerics : NULL,
        .literal = maker && maker->literal};
    int rc;

    k->searched = true;
    assay_run_cause_looks(k, &s, o.cpu_flags);
    if (k->has_layout && k->layout.compared == k->layout.all)
        return 0;
    rc = assay_cause_search(&k->found, &s, &o, err);
    /* What reproduces every element outranks what was compared in part. */
    if (rc == 0 && k->found->n_proved > 0)
        k->has_layout = false;
    if (rc == 0 && k->found->n_classes > 1)
        rc = assay_cause_separate(&k->apart, &s, k->found, o.cpu_flags, err);
    return rc;
}

/* "P5" is all its variants. */
static int read_only(const char *text, struct assay_edit *only,
                     struct assay_err *err)
{
    if (!text || strchr(text, '='))
        return text ? assay_edit_parse(only, text, err) : 0;
    *only = (struct assay_edit){.id = assay_cause_find(text),
                                .variant = ASSAY_ALL_VARIANTS};
    return only->id < ASSAY_CAUSE_COUNT ? 0 : assay_edit_parse(only, text, err);
}

static int save_input(struct assay_run *r, struct assay_run_suspect *k,
                      struct assay_err *err)
{
    char path[4400];
    struct assay_npz_writer *w = NULL;
    int rc;

    snprintf(path, sizeof(path), "%.4000s/separating/%03u.npz",
             r->o->output_dir, k->layer);
    rc = assay_npz_create(&w, path, err);
    for (uint32_t t = 0; rc == 0 && t < k->apart.n_inputs; t++)
        if (k->apart.inputs[t])
            rc = assay_npz_add_tensor(w, &k->one->tensors[t],
                                      k->apart.inputs[t], err);
    if (rc < 0) {
        assay_npz_abort(w);
        return rc;
    }
    k->apart_path = assay_arena_str(r->arena, path, strlen(path));
    return assay_npz_finish(w, err);
}

/* With -o: the inputs that would tell. */
static int save_apart(struct assay_run *r, struct assay_err *err)
{
    char folder[4096];
    int rc = 0;

    if (r->o->output_dir == NULL)
        return 0;
    snprintf(folder, sizeof(folder), "%.4000s/separating", r->o->output_dir);
    for (size_t i = 0; i < r->causes->n && rc == 0; i++) {
        struct assay_run_suspect *k = &r->causes->v[i];

        if (k->apart.n_groups < 2)
            continue;
        mkdir(r->o->output_dir, 0777); /* a failure shows itself below */
        mkdir(folder, 0777);
        rc = save_input(r, k, err);
    }
    return rc;
}

int assay_run_causes_search(struct assay_run *r, struct assay_err *err)
{
    size_t most = r->o->command == ASSAY_CMD_RUN ? SEARCHED : SIZE_MAX;
    struct assay_edit only;
    int rc = read_only(r->o->hypothesis, &only, err);

    if (rc || !r->causes || r->causes->n == 0)
        return rc;
    rc = complete(r, err);
    if (r->causes->n > 1)
        qsort(r->causes->v, r->causes->n, sizeof(*r->causes->v), by_layer);
    for (size_t i = 0; i < r->causes->n && i < most && rc == 0; i++)
        if (r->causes->v[i].n_samples > 0)
            rc = search(r, &r->causes->v[i], &only, err);
    return rc ? rc : save_apart(r, err);
}

const struct assay_run_suspect *assay_run_cause_of(const struct assay_run *r,
                                                   uint32_t layer,
                                                   enum assay_column column)
{
    for (size_t i = 0; r->causes && i < r->causes->n; i++)
        if (r->causes->v[i].layer == layer && r->causes->v[i].column == column)
            return &r->causes->v[i];
    return NULL;
}

bool assay_run_cause_proved(const struct assay_run_suspect *k)
{
    return k && (k->has_layout || (k->found && k->found->n_proved > 0));
}
