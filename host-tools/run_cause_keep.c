/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_cause_keep.h"

#include <string.h>

#include "host-tools/run_ask.h"
#include "host-tools/run_cause_looks.h"
#include "kernels/cpu.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

#define BUDGET ((size_t)512 << 20) /* bytes of tensors that are kept */

void assay_run_cause_forget(const struct assay_run_suspect *k,
                            struct assay_suspect_sample *s)
{
    for (uint32_t i = 0; s->inputs && i < assay_run_cause_inputs(k); i++)
        assay_free((void *)s->inputs[i]);
    assay_free((void *)s->inputs);
    assay_free((void *)s->base);
    assay_free((void *)s->got);
    memset(s, 0, sizeof(*s));
}

void assay_run_causes_close(struct assay_run *r)
{
    for (size_t i = 0; r->causes && i < r->causes->n; i++) {
        struct assay_run_suspect *k = &r->causes->v[i];

        for (size_t s = 0; s < k->n_samples; s++)
            assay_run_cause_forget(k, &k->samples[s]);
        assay_search_free(k->found);
        assay_search_free(k->found_before);
        assay_separation_close(&k->apart);
        assay_slice_free(k->one);
    }
    if (r->causes) {
        assay_free(r->causes->v);
        assay_free(r->causes->equal);
    }
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

/* Which layers must be computed to have this one's inputs. */
static bool mark_needed(const struct assay_run *r, const void *const *values,
                        uint32_t layer, bool *mark)
{
    mark[layer] = true;
    for (uint32_t i = layer + 1; i-- > 0;) {
        const struct assay_layer *l = &r->s->layers[i];

        if (mark[i] && i < layer && l->op == ASSAY_OP_SKIPPED)
            return false;
        for (uint32_t j = 0; j < l->n_inputs && mark[i]; j++) {
            uint32_t t = l->inputs[j];
            int64_t p = r->producer[t];

            if (values[t] || r->s->tensors[t].role == ASSAY_ROLE_CONSTANT)
                continue;
            if (p < 0 || p >= (int64_t)i)
                return false;
            mark[p] = true;
        }
    }
    return true;
}

/* What the engine gives for a layer whose inputs are there; owned by the
 * caller, NULL: it cannot be had. */
static void *computed(const struct assay_run *r, const void *const *values,
                      uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];
    size_t bytes = bytes_of(&r->s->tensors[l->output]);
    const void *given[ASSAY_MAX_LAYER_INPUTS] = {0};
    struct assay_slice *one = NULL;
    void *out = assay_alloc(bytes + 1);
    bool done = out && assay_slice_single(&one, r->s, layer, NULL) == 0;

    for (uint32_t i = 0; done && i < l->n_inputs; i++)
        given[one->layers[0].inputs[i]] = values[l->inputs[i]];
    done = done && assay_once(one, assay_cpu_probe(), given,
                              one->layers[0].output, out, bytes, NULL) == 0;
    if (!done) {
        assay_free(out);
        out = NULL;
    }
    assay_slice_free(one);
    return out;
}

/* Adds to values what a layer reads: recomputed from the last tensors that are
 * there. owned: by tensor, to be freed by the caller. */
static bool complete(const struct assay_run *r, const void **values,
                     void **owned, uint32_t layer)
{
    bool *mark = assay_calloc((size_t)r->s->n_layers + 1, 1);
    bool done = mark && mark_needed(r, values, layer, mark);

    for (uint32_t i = 0; done && i < layer; i++) {
        uint32_t t = r->s->layers[i].output;

        if (!mark[i] || values[t])
            continue;
        values[t] = owned[t] = computed(r, values, i);
        done = values[t] != NULL;
    }
    assay_free(mark);
    return done;
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

bool assay_run_cause_is_kept(const struct assay_run_suspect *k, uint32_t sample)
{
    for (size_t i = 0; i < k->n_samples; i++)
        if (k->from[i] == sample)
            return true;
    return false;
}

bool assay_run_cause_wants(const struct assay_run_suspect *k, uint32_t sample)
{
    return k->n_samples > 0 && k->n_samples < ASSAY_SUSPECT_SAMPLES &&
           !assay_run_cause_is_kept(k, sample);
}

/* Bytes that one sample of the suspect takes. */
static size_t sample_bytes(const struct assay_run_suspect *k)
{
    size_t sum = 0;

    for (uint32_t t = 0; t < assay_run_cause_inputs(k); t++)
        if (k->one->tensors[t].role != ASSAY_ROLE_CONSTANT)
            sum += bytes_of(&k->one->tensors[t]);
    return sum + 2 * bytes_of(&k->one->tensors[assay_run_cause_inputs(k)]);
}

static void drop_last(struct assay_run *r, struct assay_run_suspect *k)
{
    assay_run_cause_forget(k, &k->samples[--k->n_samples]);
    r->causes->bytes -= sample_bytes(k);
}

/* Room for one more sample: the suspects that have most give theirs up, each
 * keeps one. */
static bool make_room(struct assay_run *r, size_t bytes)
{
    struct assay_run_causes *c = r->causes;

    while (c->bytes + bytes > BUDGET) {
        struct assay_run_suspect *most = NULL;

        for (size_t i = 0; i < c->n; i++)
            if (c->v[i].n_samples > 1 &&
                (!most || c->v[i].n_samples > most->n_samples))
                most = &c->v[i];
        if (!most)
            return false;
        drop_last(r, most);
    }
    return true;
}

void assay_run_cause_keep(struct assay_run *r, struct assay_run_suspect *k,
                          struct assay_suspect_sample *s, uint64_t mismatch,
                          uint32_t from, size_t most)
{
    size_t at;

    if (k->n_samples >= most)
        drop_last(r, k);
    if (!make_room(r, sample_bytes(k))) {
        assay_run_cause_forget(k, s);
        return;
    }
    for (at = k->n_samples; at > 0 && k->mismatch[at - 1] < mismatch; at--) {
        k->samples[at] = k->samples[at - 1];
        k->mismatch[at] = k->mismatch[at - 1];
        k->from[at] = k->from[at - 1];
    }
    k->samples[at] = *s;
    k->mismatch[at] = mismatch;
    k->from[at] = from;
    k->n_samples++;
    r->causes->bytes += sample_bytes(k);
    memset(s, 0, sizeof(*s));
}

/* Inputs from values, and what the engine gives on them; got is not set. */
static bool fill(const struct assay_run *r, const struct assay_run_suspect *k,
                 const void *const *values, struct assay_suspect_sample *s)
{
    const struct assay_layer *l = &r->s->layers[k->layer];
    size_t tensors = (size_t)r->s->n_tensors + 1;
    size_t bytes = bytes_of(&r->s->tensors[l->output]);
    const void **all = assay_calloc(tensors, sizeof(*all));
    void **owned = assay_calloc(tensors, sizeof(*owned));
    void **inputs =
        assay_calloc(assay_run_cause_inputs(k) + 1, sizeof(*inputs));
    void *base = assay_alloc(bytes + 1);
    bool whole = all && owned && inputs && base;

    if (whole) {
        memcpy(all, values, r->s->n_tensors * sizeof(*all));
        whole = complete(r, all, owned, k->layer);
    }
    for (uint32_t i = 0; whole && i < l->n_inputs; i++) {
        uint32_t mine = k->one->layers[0].inputs[i], t = l->inputs[i];

        if (inputs[mine] || r->s->tensors[t].role == ASSAY_ROLE_CONSTANT)
            continue;
        inputs[mine] = copy_of(&r->s->tensors[t], all[t]);
        whole = inputs[mine] != NULL;
    }
    s->inputs = (const void *const *)inputs;
    s->base = base;
    for (uint32_t t = 0; owned && t < r->s->n_tensors; t++)
        assay_free(owned[t]);
    assay_free(owned);
    assay_free(all);
    return whole &&
           assay_once(k->one, assay_cpu_probe(), s->inputs,
                      assay_run_cause_inputs(k), base, bytes, NULL) == 0;
}

/* ---- while a sample runs ---------------------------------------------------- */

/* A board that differs from the host outranks a reference that does. */
static bool is_of_kind(struct assay_run *r, struct assay_run_suspect *k,
                       bool of_reference)
{
    if (k->n_samples > 0 && of_reference && !k->of_reference)
        return false;
    if (k->n_samples > 0 && !of_reference && k->of_reference)
        k->n_differing = 0;
    while (k->n_samples > 0 && !of_reference && k->of_reference)
        drop_last(r, k);
    k->of_reference = of_reference;
    return true;
}

static void take(struct assay_run *r, uint32_t layer, enum assay_column column,
                 const void *const *values, const void *got, uint64_t mismatch)
{
    uint32_t y = r->s->layers[layer].output;
    struct assay_suspect_sample s = {0};
    struct assay_run_suspect *k;

    if (!got || mismatch == 0)
        return;
    k = suspect_of(r, layer, column);
    if (!k || !is_of_kind(r, k, got == r->values[y]))
        return;
    k->n_differing++;
    if (k->n_samples == ASSAY_SUSPECT_SAMPLES &&
        k->mismatch[k->n_samples - 1] >= mismatch)
        return;
    s.got = copy_of(&r->s->tensors[y], got);
    if (s.got && fill(r, k, values, &s)) {
        assay_run_cause_swapped(r, k, &s);
        assay_run_cause_keep(r, k, &s, mismatch, r->sample,
                             ASSAY_SUSPECT_SAMPLES);
    } else {
        assay_run_cause_forget(k, &s);
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

/* Were an input of the layer and its output both written in another order?
 * Then the column computed on the reference's. */
static bool all_rearranged(const struct assay_run *r,
                           const struct assay_run_side *k, uint32_t i)
{
    const struct assay_layer *l = &r->s->layers[i];
    bool other = false;

    for (uint32_t n = 0; n < l->n_inputs && !other; n++)
        other = rearranged(r, k, l->inputs[n]);
    return other && rearranged(r, k, l->output);
}

/* Did the board give the reference's bytes on the reference's inputs? Then
 * that need not be asked again. */
static void note_equal(struct assay_run *r, uint32_t i)
{
    const struct assay_layer_facts *f = &r->now[i].facts;

    if (r->causes->equal)
        r->causes->equal[(size_t)r->sample * r->s->n_layers + i] =
            (f->compared && f->inputs_equal && f->mismatch == 0) ||
            (f->isolated_run && f->isolated_mismatch == 0);
}

void assay_run_causes_take(struct assay_run *r,
                           const struct assay_judgement *cpu)
{
    for (uint32_t i = 0; r->causes && i < r->s->n_layers; i++) {
        note_equal(r, i);
        if (!r->layers[i].selected)
            continue;
        if (cpu[i].culprit)
            take_cpu(r, i);
        for (unsigned s = 0; s < ASSAY_SIDES; s++) {
            const struct assay_run_side *k = &r->sides[s];

            if (k->here && assay_judge_column(&k->facts[i]).culprit)
                take(r, i, assay_side_column(s),
                     all_rearranged(r, k, i) ? r->values : k->values,
                     k->observed.values[r->s->layers[i].output],
                     k->facts[i].rerun_mismatch);
        }
    }
}

/* ---- when a sample is open again -------------------------------------------- */

/* What the column has, the reference where nothing in front of it differs;
 * NULL: to be recomputed. */
static void fill_values(const struct assay_run *r,
                        const struct assay_run_side *k, const void **values,
                        bool *dirty)
{
    for (uint32_t t = 0; t < r->s->n_tensors; t++) {
        const void *own = k->observed.values[t];

        values[t] = own ? own : r->values[t];
        dirty[t] =
            own && (!r->values[t] || memcmp(own, r->values[t],
                                            bytes_of(&r->s->tensors[t])) != 0);
    }
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *l = &r->s->layers[i];

        for (uint32_t j = 0; j < l->n_inputs && !k->observed.values[l->output];
             j++)
            dirty[l->output] = dirty[l->output] || dirty[l->inputs[j]];
        if (dirty[l->output] && !k->observed.values[l->output])
            values[l->output] = NULL;
    }
}

bool assay_run_cause_is_there(const struct assay_run *r,
                              const struct assay_run_suspect *k)
{
    uint32_t y = r->s->layers[k->layer].output;

    if (k->column >= ASSAY_COL_SIM)
        return r->sides[k->column - ASSAY_COL_SIM].here &&
               r->sides[k->column - ASSAY_COL_SIM].observed.values[y] != NULL;
    return r->values[y] != NULL;
}

/* What was got then; a copy. */
static void *got_of(struct assay_run *r, const struct assay_run_suspect *k,
                    const void *const *inputs)
{
    uint32_t y = r->s->layers[k->layer].output;
    const struct assay_tensor *t = &r->s->tensors[y];
    void *out;

    if (k->column >= ASSAY_COL_SIM)
        return copy_of(t,
                       r->sides[k->column - ASSAY_COL_SIM].observed.values[y]);
    if (k->of_reference ||
        (r->causes->equal &&
         r->causes->equal[(size_t)r->sample * r->s->n_layers + k->layer]))
        return copy_of(t, r->values[y]);
    out = assay_alloc(bytes_of(t) + 1);
    if (out && assay_run_ask(r, k->layer, k->column, inputs, out) < 0) {
        assay_free(out);
        out = NULL;
    }
    return out;
}

bool assay_run_cause_read(struct assay_run *r,
                          const struct assay_run_suspect *k,
                          struct assay_suspect_sample *s)
{
    size_t tensors = (size_t)r->s->n_tensors + 1;
    const void **values = assay_calloc(tensors, sizeof(*values));
    bool *dirty = assay_calloc(tensors, sizeof(*dirty));
    const struct assay_run_side *side =
        k->column < ASSAY_COL_SIM ? NULL : &r->sides[k->column - ASSAY_COL_SIM];
    bool whole = values && dirty && assay_run_cause_is_there(r, k);

    memset(s, 0, sizeof(*s));
    if (whole && (!side || all_rearranged(r, side, k->layer)))
        memcpy(values, r->values, r->s->n_tensors * sizeof(*values));
    else if (whole)
        fill_values(r, side, values, dirty);
    whole = whole && fill(r, k, values, s);
    if (whole)
        s->got = got_of(r, k, s->inputs);
    if (!s->got) {
        assay_run_cause_forget(k, s);
        whole = false;
    }
    assay_free(values);
    assay_free(dirty);
    return whole;
}
