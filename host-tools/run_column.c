/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of the compiled model, sim and bpu: what they hold of a sample
 * is compared with the reference, and where it differs the engine runs the
 * layer on the column's own inputs. An input that was not observed is the
 * reference's where nothing in front of it differs, and else is recomputed
 * from the last tensors that were observed.
 */
#include <string.h>

#include "host-tools/diff/backward.h"
#include "host-tools/messages.h"
#include "host-tools/run_chain.h"
#include "host-tools/run_other.h"

int assay_run_sides_open(struct assay_run *r, struct assay_err *err)
{
    const struct assay_options *o = r->o;
    bool other = assay_run_other_is(o->got);
    const char *paths[ASSAY_SIDES] = {o->sim, o->bpu, other ? NULL : o->got};
    size_t tensors = (size_t)r->s->n_tensors + 1;
    size_t layers = (size_t)r->s->n_layers + 1;
    bool any = false;
    int rc =
        assay_case_find_columns(&r->p.c, paths, o->hybrid, &r->p.note, err);

    if (rc == 0 && other)
        rc = assay_run_other_open(r, err);
    for (unsigned s = 0; s < ASSAY_SIDES && rc == 0; s++) {
        struct assay_run_side *k = &r->sides[s];

        if (r->p.c.columns[s].n_have == 0)
            continue;
        any = true;
        k->values = assay_calloc(tensors, sizeof(*k->values));
        k->dirty = assay_calloc(tensors, sizeof(*k->dirty));
        k->derived = assay_calloc(tensors, sizeof(*k->derived));
        k->facts = assay_calloc(layers, sizeof(*k->facts));
        if (k->values == NULL || k->dirty == NULL || k->derived == NULL ||
            k->facts == NULL)
            rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    }
    if (rc == 0 && !any && o->hybrid != NULL && r->p.note.note != NULL)
        r->p.note.note(r->p.note.self,
                       assay_message_text(ASSAY_MSG_HYBRID_UNUSED));
    if (rc == 0 && (any || o->hybrid != NULL) && r->p.c.hybrid != NULL)
        rc = assay_feature_map_open(&r->features, r->p.c.hybrid, r->s,
                                    &r->p.note, err);
    return rc;
}

void assay_run_sides_forget(struct assay_run *r)
{
    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        struct assay_run_side *k = &r->sides[s];

        assay_sample_close(&k->observed);
        memset(&k->observed, 0, sizeof(k->observed));
        k->here = false;
    }
}

void assay_run_sides_close(struct assay_run *r)
{
    assay_run_sides_forget(r);
    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        assay_free(r->sides[s].values);
        assay_free(r->sides[s].dirty);
        assay_free(r->sides[s].derived);
        assay_free(r->sides[s].facts);
    }
    assay_feature_map_close(&r->features);
}

/* Is what was observed of the tensor not the reference's? */
static bool is_other(const struct assay_run *r, const struct assay_run_side *k,
                     uint32_t t)
{
    size_t n, bytes;

    return r->values[t] != NULL && k->observed.values[t] != NULL &&
           assay_tensor_count(&r->s->tensors[t], &n, &bytes, NULL) == 0 &&
           memcmp(r->values[t], k->observed.values[t], bytes) != 0;
}

/* Going back through layers that assay_backward can undo: is a tensor known
 * there, so that nothing needs to be derived? */
static bool known_before(const struct assay_run *r,
                         const struct assay_run_side *k, uint32_t t)
{
    while (k->observed.values[t] == NULL && r->producer[t] >= 0) {
        uint32_t layer = (uint32_t)r->producer[t];

        if (r->s->layers[layer].op == ASSAY_OP_SKIPPED ||
            !assay_backward_can(r->s, layer))
            return false;
        t = r->s->layers[layer].inputs[0];
    }
    return true;
}

/* What differs behind a tensor that was not observed would accuse the layers
 * in between: where only one tensor gives it, that one was there. Not where
 * its own layer was not selected: the reference is what it had then. */
static int derive(struct assay_run *r, struct assay_run_side *k,
                  struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = r->s->n_layers; i-- > 0 && rc == 0;) {
        const struct assay_layer *l = &r->s->layers[i];
        uint32_t x = l->n_inputs > 0 ? l->inputs[0] : 0, y = l->output;

        if (l->op == ASSAY_OP_SKIPPED || l->n_inputs == 0 ||
            k->observed.values[y] == NULL || r->values[x] == NULL ||
            (!is_other(r, k, y) && !k->derived[x]) || known_before(r, k, x) ||
            (r->producer[x] >= 0 && !r->layers[r->producer[x]].selected) ||
            !assay_backward_can(r->s, i))
            continue;
        rc = assay_backward(&k->observed.values[x], r->s, i,
                            k->observed.values[y], err);
        k->derived[x] = k->derived[x] || k->observed.values[x] != NULL;
    }
    return rc;
}

int assay_run_sides_read(struct assay_run *r, uint32_t sample,
                         struct assay_err *err)
{
    int rc = 0;

    for (unsigned s = 0; s < ASSAY_SIDES && rc == 0; s++) {
        const struct assay_case_column *c = &r->p.c.columns[s];

        if (s == ASSAY_CASE_GOT && r->other != NULL) {
            if (r->board != NULL)
                rc = assay_run_other_read(r, err);
            continue;
        }
        if (c->n_have == 0 || c->paths[sample] == NULL)
            continue;
        rc = assay_case_observed(&r->sides[s].observed, &r->p.c,
                                 (enum assay_case_side)s, sample, r->s,
                                 &r->features, &r->p.note, err);
        r->sides[s].here = rc == 0;
        if (rc == 0)
            rc = derive(r, &r->sides[s], err);
    }
    return rc;
}

static bool any_dirty(const struct assay_run *r, const bool *dirty,
                      uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];

    for (uint32_t j = 0; j < l->n_inputs; j++) {
        if (dirty[l->inputs[j]])
            return true;
    }
    return false;
}

/* Inputs of the model: the column may hold its own. */
static void take_inputs(struct assay_run *r, struct assay_run_side *k)
{
    const struct assay_tolerance strict = {0};
    struct assay_diff d;

    for (uint32_t t = 0; t < r->s->n_tensors; t++) {
        const void *own = k->observed.values[t];

        k->values[t] = r->values[t];
        k->dirty[t] = false;
        if (own == NULL || r->producer[t] >= 0)
            continue;
        k->values[t] = own;
        if (r->values[t] == NULL)
            continue;
        assay_diff_tensor(&r->s->tensors[t], r->values[t], own, &strict, &d);
        d.sample = r->sample;
        k->dirty[t] = d.mismatch > 0;
        if (d.mismatch > 0 && !k->other_input) {
            k->other_input = true;
            k->input = t;
        }
        if (k->other_input && k->input == t)
            assay_diff_merge(&k->input_diff, &d);
    }
}

/* A layer's output as the column has it, against the reference. */
static void compare(struct assay_run *r, unsigned side, uint32_t layer)
{
    struct assay_run_side *k = &r->sides[side];
    struct assay_run_layer *y = &r->layers[layer];
    struct assay_column_facts *f = &k->facts[layer];
    enum assay_column column = assay_side_column(side);
    uint32_t t = r->s->layers[layer].output;
    const void *ref = r->values[t], *got = k->observed.values[t];
    struct assay_diff d;

    memset(f, 0, sizeof(*f));
    f->inputs_equal = !any_dirty(r, k->dirty, layer);
    f->observed = got != NULL;
    f->has_reference = ref != NULL;
    k->dirty[t] = !f->inputs_equal;
    if (got == NULL) {
        k->values[t] = f->inputs_equal ? ref : NULL;
        return;
    }
    k->values[t] = got;
    y->side[side].observed = true;
    if (ref == NULL) {
        k->dirty[t] = true; /* it may; see settle */
        return;
    }
    assay_diff_tensor(&r->s->tensors[t], ref, got, &y->tol, &d);
    d.sample = r->sample;
    f->mismatch = d.mismatch;
    f->outside = d.outside;
    k->dirty[t] = d.mismatch > 0;
    if (y->selected) {
        y->column_seen[column] = true;
        assay_diff_merge(&y->column[column], &d);
        if (side != ASSAY_CASE_GOT)
            assay_run_digest(
                r, layer, (enum assay_run_digest_of)(ASSAY_DIGEST_SIM + side),
                got);
    }
}

/* Does the layer read an input of the model that is not the one given? */
static bool reads_other_input(const struct assay_run *r, const bool *dirty,
                              uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];

    for (uint32_t j = 0; j < l->n_inputs; j++) {
        if (r->s->tensors[l->inputs[j]].role == ASSAY_ROLE_INPUT &&
            dirty[l->inputs[j]])
            return true;
    }
    return false;
}

static void judge(struct assay_run *r, unsigned side)
{
    struct assay_run_side *k = &r->sides[side];
    enum assay_column column = assay_side_column(side);
    bool any = false;

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_run_cell *c = &r->layers[i].side[side];
        struct assay_judgement j;

        if (!r->layers[i].selected)
            continue;
        j = assay_judge_column(&k->facts[i]);
        if (j.status != ASSAY_ROW_NOT_OBSERVED)
            r->layers[i].column_seen[column] = any = true;
        if (reads_other_input(r, k->dirty, i)) {
            c->input_differs = true;
            j.culprit = any = true;
        }
        assay_judgement_merge(&c->judgement, &j);
        if (j.culprit && r->o->fail_fast)
            r->stopped = true;
    }
    k->n_samples += any;
}

/* Tensors of both columns: do they differ, or may they? */
static bool differ(const struct assay_run *r, uint32_t t)
{
    const struct assay_tolerance strict = {0};
    const void *a = r->sides[ASSAY_CASE_SIM].observed.values[t];
    const void *b = r->sides[ASSAY_CASE_BPU].observed.values[t];
    struct assay_diff d;

    if (a == NULL || b == NULL)
        return r->sides[ASSAY_CASE_SIM].dirty[t] ||
               r->sides[ASSAY_CASE_BPU].dirty[t];
    assay_diff_tensor(&r->s->tensors[t], a, b, &strict, &d);
    return d.mismatch > 0;
}

/* Do both columns hold the same, where both hold something? Data that differ
 * say nothing where the layer's inputs do as well. */
static int relate(struct assay_run *r)
{
    bool *apart = assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*apart));

    if (apart == NULL)
        return assay_fail_message(&r->error, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                                  NULL);
    for (uint32_t t = 0; t < r->s->n_tensors; t++)
        apart[t] = r->producer[t] < 0 && differ(r, t);
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_run_layer *y = &r->layers[i];
        uint32_t t = r->s->layers[i].output;
        bool inputs = any_dirty(r, apart, i);

        apart[t] = differ(r, t);
        if (r->sides[ASSAY_CASE_SIM].observed.values[t] == NULL ||
            r->sides[ASSAY_CASE_BPU].observed.values[t] == NULL)
            continue;
        if (apart[t] && inputs)
            y->apart = true;
        else if (apart[t])
            y->sim_bpu = ASSAY_REL_DIFFERS;
        else if (y->sim_bpu == ASSAY_REL_UNKNOWN)
            y->sim_bpu = ASSAY_REL_EQUAL;
    }
    assay_free(apart);
    return 0;
}

/* What the main backend gave for a layer on the reference's inputs; NULL: that
 * is not known. */
static const void *on_reference(const struct assay_run *r, uint32_t layer)
{
    const struct assay_sample_layer *n = &r->now[layer];

    if (n->result[ASSAY_COL_CPU] != NULL)
        return n->result[ASSAY_COL_CPU];
    if ((n->facts.compared && n->facts.inputs_equal &&
         n->facts.mismatch == 0) ||
        (n->facts.isolated_run && n->facts.isolated_mismatch == 0))
        return r->values[r->s->layers[layer].output];
    return NULL;
}

/* A layer whose inputs are the reference's need not run once more: what it
 * gives on them is known. */
static bool known(struct assay_run *r, unsigned side, uint32_t layer)
{
    const void *data = r->sides[side].facts[layer].inputs_equal
                           ? on_reference(r, layer)
                           : NULL;

    if (data != NULL)
        assay_run_take_side(r, side, layer, data);
    return data != NULL;
}

static int rerun(struct assay_run *r, unsigned side)
{
    const struct assay_run_side *k = &r->sides[side];
    bool *wanted = assay_calloc((size_t)r->s->n_layers + 1, sizeof(*wanted));
    bool any = false;
    int rc = 0;

    if (wanted == NULL)
        return assay_fail_message(&r->error, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                                  NULL);
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        wanted[i] = r->layers[i].selected && r->layers[i].run &&
                    r->s->layers[i].op != ASSAY_OP_SKIPPED &&
                    assay_column_wants_rerun(&k->facts[i]) &&
                    !known(r, side, i);
        any = any || wanted[i];
    }
    if (any)
        rc = assay_run_on_side(r, (enum assay_case_side)side, wanted);
    assay_free(wanted);
    return rc;
}

/* Now that the engine has run them: what it computes as well is clean, where
 * there was no reference to say so. */
static void settle(struct assay_run *r, unsigned side)
{
    struct assay_run_side *k = &r->sides[side];

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_column_facts *f = &k->facts[i];
        uint32_t t = r->s->layers[i].output;

        f->inputs_equal = !any_dirty(r, k->dirty, i);
        if (!f->observed)
            k->dirty[t] = !f->inputs_equal;
        else if (!f->has_reference)
            k->dirty[t] =
                !f->inputs_equal || !f->rerun || f->rerun_mismatch > 0;
    }
}

int assay_run_sides_judge(struct assay_run *r)
{
    int rc = 0;

    for (unsigned s = 0; s < ASSAY_SIDES && rc == 0; s++) {
        if (!r->sides[s].here)
            continue;
        take_inputs(r, &r->sides[s]);
        rc = derive(r, &r->sides[s], &r->error); /* a reference since then */
        for (uint32_t i = 0; i < r->s->n_layers; i++)
            compare(r, s, i);
        if (rc == 0)
            rc = rerun(r, s);
        settle(r, s);
        assay_run_side_builds(r, s);
    }
    for (unsigned s = 0; s < ASSAY_SIDES && rc == 0; s++) {
        if (r->sides[s].here)
            judge(r, s);
    }
    if (rc == 0 && r->sides[ASSAY_CASE_SIM].here &&
        r->sides[ASSAY_CASE_BPU].here)
        rc = relate(r);
    return rc;
}

bool assay_run_only_moves(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_VIEW || l->op == ASSAY_OP_RESHAPE ||
           l->op == ASSAY_OP_GATHER ||
           (l->op == ASSAY_OP_CONCAT && l->n_in_programs == 0);
}

uint32_t assay_run_through(const struct assay_run *r, uint32_t layer,
                           enum assay_column column, uint32_t *out,
                           uint32_t cap)
{
    bool *mark = assay_calloc((size_t)r->s->n_layers + 1, sizeof(*mark));
    uint32_t n = 0, first = layer;

    if (mark == NULL)
        return 0;
    mark[layer] = true;
    /* Producers stand in front of what reads them. */
    for (uint32_t i = layer + 1; i-- > 0;) {
        const struct assay_layer *l = &r->s->layers[i];

        if (!mark[i])
            continue;
        first = i;
        for (uint32_t j = 0; j < l->n_inputs; j++) {
            int64_t p = r->producer[l->inputs[j]];

            if (p >= 0 && p < (int64_t)i &&
                !r->layers[p].side[column - ASSAY_COL_SIM].observed)
                mark[p] = true;
        }
    }
    for (uint32_t i = first; i < layer; i++) {
        if (!mark[i])
            continue;
        if (n < cap)
            out[n] = i;
        n++;
    }
    assay_free(mark);
    return n;
}
