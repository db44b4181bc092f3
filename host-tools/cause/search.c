/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which edits of a layer give what the suspect got. Singles first, in the
 * order of the catalogue; a free number is solved for; combinations of two
 * only when no single one is proved.
 */
#include "host-tools/cause/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/cause/search_private.h"
#include "lib/core/arith.h"

#define MAX_HYPOTHESES 1024
#define MAX_SEEDS 4   /* singles that combinations are built on */
#define MAX_PAIRS 400 /* combinations that are tried */

struct collector {
    struct assay_search_ctx x;
    struct assay_search *out;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for a search of causes");
}

/* The narrowest scope that a tally proves, or the whole. */
static struct assay_scope proved_scope(const struct assay_search_ctx *x,
                                       const struct assay_tally *t,
                                       bool *proved)
{
    *proved = true;
    for (uint32_t k = 0; k < x->n_scopes; k++)
        if ((t->failed >> k & 1) == 0)
            return x->scopes[k];
    *proved = false;
    return x->scopes[0];
}

/* Does its maker compute it so, as far as is known? */
static enum assay_expected expected(const struct assay_search_ctx *x,
                                    const struct assay_candidate *y)
{
    const struct assay_slice *one = x->s->one;
    const struct assay_layer *base = &one->layers[x->s->edited];
    const struct assay_layer *l = &y->slice->layers[y->layer];
    bool columns = y->edits[0].id == ASSAY_CAUSE_O1 && y->layer > x->s->edited;
    const char *arith;

    if (y->n_edits != 1 || l->real_op == ASSAY_REAL_NONE || !base->source_op)
        return ASSAY_EXPECTED_NOT;
    /* An operator of integers is not made of floats in any form. */
    if (x->o->literal && (y->has_float || columns) &&
        strncmp(base->source_op, "QLinear", 7) != 0)
        return ASSAY_EXPECTED_LITERAL;
    arith = x->o->numerics
                ? assay_numerics_arith(x->o->numerics, l->real_op,
                                       one->tensors[base->output].dtype)
                : NULL;
    return arith && strcmp(arith, l->arith) == 0 &&
                   strcmp(arith, base->arith) != 0
               ? ASSAY_EXPECTED_OF_NUMERICS
               : ASSAY_EXPECTED_NOT;
}

/* What is proved can be run, or is nothing that anybody computed. */
static int keep(struct collector *c, const struct assay_candidate *y,
                const struct assay_tally *t, struct assay_err *err)
{
    struct assay_hypothesis h = {.n_edits = y->n_edits,
                                 .differing_matched = t->differing_matched,
                                 .differing = c->x.differing,
                                 .all_matched = t->all_matched,
                                 .all = c->x.all,
                                 .broken = t->broken,
                                 .turn = c->out->tried};
    int rc;

    memcpy(h.edits, y->edits, sizeof(h.edits));
    h.scope = proved_scope(&c->x, t, &h.proved);
    if (h.proved)
        h.expected = expected(&c->x, y);
    if (h.proved && h.scope.kind != ASSAY_SCOPE_ALL) {
        h.all_matched = h.all; /* outside of it nothing was edited */
        h.broken = 0;
    }
    if (t->differing_matched == 0 || c->out->n == MAX_HYPOTHESES)
        return 0;
    rc = h.proved ? assay_candidate_check(&c->x, y, err) : 0;
    if (rc)
        return rc;
    c->out->n_proved += h.proved;
    c->out->v[c->out->n++] = h;
    return 0;
}

/* A slice that the engine refuses is no fault that anybody could have. */
static bool refused(int rc)
{
    return rc == ASSAY_ERANGE || rc == ASSAY_EUNSUPPORTED ||
           rc == ASSAY_EFORMAT;
}

/* What an edit matches; hope: nothing speaks against it yet.
 * ASSAY_EDIT_* > 0: it does not apply. */
static int measure(const struct assay_search_ctx *x,
                   const struct assay_candidate *y, struct assay_tally *t,
                   bool *hope, struct assay_err *err)
{
    int rc = assay_candidate_try(x, y, hope, err);

    for (size_t i = 0; !rc && *hope && i < x->s->n_samples; i++) {
        rc = assay_candidate_run(x, y, i, err);
        if (!rc)
            assay_judge_count(x, i, t);
    }
    return rc;
}

static int judge(struct collector *c, const struct assay_edit *edits,
                 uint32_t n, struct assay_err *err)
{
    struct assay_candidate y;
    struct assay_tally t = {0};
    bool hope;
    int rc = assay_candidate_open(&y, &c->x, edits, n, err);

    if (rc)
        return rc;
    c->out->tried++;
    rc = measure(&c->x, &y, &t, &hope, err);
    if (!rc && hope)
        rc = keep(c, &y, &t, err);
    assay_candidate_close(&y);
    return refused(rc) ? ASSAY_EDIT_NOT_HERE : rc;
}

/* Does it give every element? */
static int gives_all(const struct assay_search_ctx *x,
                     const struct assay_edit *e, bool *all,
                     struct assay_err *err)
{
    struct assay_candidate y;
    struct assay_tally t = {0};
    bool hope;
    int rc = assay_candidate_open(&y, x, e, 1, err);

    *all = false;
    if (rc > 0)
        return 0;
    if (!rc) {
        rc = measure(x, &y, &t, &hope, err);
        *all = !rc && hope && t.all_matched == x->all;
        assay_candidate_close(&y);
    }
    return refused(rc) ? 0 : rc;
}

/* The number farthest from e->value, towards `end`, that gives all as well:
 * those that do are a range. */
static int farthest(const struct assay_search_ctx *x, struct assay_edit e,
                    int64_t end, int64_t *out, struct assay_err *err)
{
    int64_t far = end;
    int rc = 0;

    *out = e.value;
    while (*out != far && rc == 0) {
        int64_t half = (far - *out) / 2;
        bool all;

        e.value = *out + (half != 0 ? half : far - *out);
        rc = gives_all(x, &e, &all, err);
        if (all)
            *out = e.value;
        else
            far = e.value - (far > *out ? 1 : -1);
    }
    return rc;
}

/* A number that is proved need not be the only one: the ends of its range. */
static int whole_range(struct collector *c, const struct assay_edit *e,
                       const struct assay_solution *s, struct assay_err *err)
{
    const int64_t ends[2] = {s->lo, s->hi};
    int rc = 0;

    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        struct assay_edit other = *e;
        bool known = false;

        rc = farthest(&c->x, *e, ends[i], &other.value, err);
        for (uint32_t k = 0; k < s->n; k++)
            known = known || s->values[k] == other.value;
        if (rc == 0 && !known)
            rc = judge(c, &other, 1, err);
    }
    return rc;
}

static int single(struct collector *c, struct assay_edit *e,
                  struct assay_err *err)
{
    struct assay_solution s;
    size_t n = c->out->n_proved;
    int rc;

    if (!assay_cause_of(e->id)->solved)
        return judge(c, e, 1, err);
    rc = assay_solve(&c->x, e, &s, err);
    for (uint32_t i = 0; rc == 0 && i < s.n; i++) {
        e->value = s.values[i];
        rc = judge(c, e, 1, err);
        rc = rc < 0 ? rc : 0; /* what is there already is none */
        if (rc == 0 && c->out->n_proved > n) {
            n = SIZE_MAX; /* once */
            rc = whole_range(c, e, &s, err);
        }
    }
    return refused(rc) ? ASSAY_EDIT_NOT_HERE : rc;
}

static int singles(struct collector *c, const struct assay_edit *only,
                   struct assay_err *err)
{
    for (unsigned id = 0; id < ASSAY_CAUSE_COUNT; id++) {
        uint32_t n = assay_cause_variants(assay_cause_of(id));

        for (uint32_t v = 0; v < n; v++) {
            struct assay_edit e = {.id = (enum assay_cause_id)id, .variant = v};
            int rc;

            if (only &&
                (only->id != e.id ||
                 (only->variant != v && only->variant != ASSAY_ALL_VARIANTS)))
                continue;
            rc = single(c, &e, err);

            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* ---- combinations ---------------------------------------------------------- */

static char letter(const struct assay_edit *e)
{
    return assay_cause_of(e->id)->id[0];
}

static int pairs_with(struct collector *c, const struct assay_edit *first,
                      uint32_t *left, struct assay_err *err)
{
    for (unsigned id = 0; id < ASSAY_CAUSE_COUNT; id++) {
        const struct assay_cause *cause = assay_cause_of(id);
        uint32_t n = assay_cause_variants(cause);

        for (uint32_t v = 0; v<n && * left> 0; v++) {
            struct assay_edit e[2] = {
                *first, {.id = (enum assay_cause_id)id, .variant = v}};
            int rc;

            if (letter(&e[0]) == letter(&e[1]) || cause->solved)
                continue;
            /* Weights, pads and data first, the program last. */
            if (id < (unsigned)first->id) {
                e[0] = e[1];
                e[1] = *first;
            }
            rc = judge(c, e, 2, err);
            if (rc < 0)
                return rc;
            *left -= rc == 0;
        }
    }
    return 0;
}

static int by_rank(const void *p, const void *q)
{
    const struct assay_hypothesis *a = p, *b = q;

    if (a->proved != b->proved)
        return a->proved ? -1 : 1;
    if (a->proved && (a->scope.kind == ASSAY_SCOPE_ALL) !=
                         (b->scope.kind == ASSAY_SCOPE_ALL))
        return a->scope.kind == ASSAY_SCOPE_ALL ? -1 : 1;
    if ((a->expected == ASSAY_EXPECTED_NOT) !=
        (b->expected == ASSAY_EXPECTED_NOT))
        return a->expected != ASSAY_EXPECTED_NOT ? -1 : 1;
    if (a->n_edits != b->n_edits)
        return a->n_edits < b->n_edits ? -1 : 1;
    if (a->struck != b->struck)
        return a->struck ? -1 : 1;
    if (a->differing_matched != b->differing_matched)
        return a->differing_matched > b->differing_matched ? -1 : 1;
    if (a->all_matched != b->all_matched)
        return a->all_matched > b->all_matched ? -1 : 1;
    if (a->edits[0].id != b->edits[0].id)
        return a->edits[0].id < b->edits[0].id ? -1 : 1;
    if (a->edits[0].variant != b->edits[0].variant)
        return a->edits[0].variant < b->edits[0].variant ? -1 : 1;
    return a->turn < b->turn ? -1 : a->turn > b->turn;
}

/* A scope narrows what the whole output does not prove. */
static void drop_scoped(struct assay_search *s)
{
    size_t n = 0;
    bool whole = false;

    for (size_t i = 0; i < s->n; i++)
        whole =
            whole || (s->v[i].proved && s->v[i].scope.kind == ASSAY_SCOPE_ALL);
    for (size_t i = 0; i < s->n; i++) {
        if (whole && s->v[i].proved && s->v[i].scope.kind != ASSAY_SCOPE_ALL) {
            s->n_proved--;
            continue;
        }
        s->v[n++] = s->v[i];
    }
    s->n = n;
}

static void sort(struct assay_search *s)
{
    if (s->n > 1)
        qsort(s->v, s->n, sizeof(*s->v), by_rank);
}

/* Numbers of classes that are left, in order. */
static void renumber(struct assay_search *s)
{
    uint32_t before = s->n_classes;

    s->n_classes = 0;
    for (uint32_t c = 1; c <= before; c++) {
        bool any = false;

        for (size_t i = 0; i < s->n_proved; i++) {
            if (s->v[i].class_number != c)
                continue;
            any = true;
            s->v[i].class_number = s->n_classes + 1;
        }
        s->n_classes += any;
    }
}

void assay_search_sort(struct assay_search *s)
{
    s->n_proved = 0;
    for (size_t i = 0; i < s->n; i++)
        s->n_proved += s->v[i].proved;
    sort(s);
    renumber(s);
}

static int pairs(struct collector *c, struct assay_err *err)
{
    struct assay_edit seeds[MAX_SEEDS];
    uint32_t n = 0, left = MAX_PAIRS;
    int rc = 0;

    sort(c->out);
    for (size_t i = 0; i < c->out->n && n < MAX_SEEDS; i++)
        if (2 * c->out->v[i].differing_matched >= c->x.differing)
            seeds[n++] = c->out->v[i].edits[0];
    for (uint32_t i = 0; i < n && rc == 0 && c->out->n_proved == 0; i++)
        rc = pairs_with(c, &seeds[i], &left, err);
    return rc;
}

/* ---- the search ------------------------------------------------------------ */

int assay_search_ctx_open(struct assay_search_ctx *x,
                          const struct assay_suspect *s, uint32_t cpu_flags,
                          struct assay_arena *memory, struct assay_err *err)
{
    int rc;

    memset(x, 0, sizeof(*x));
    x->s = s;
    x->layer = assay_suspect_layer(s);
    x->output = assay_suspect_output(s);
    x->cpu_flags = cpu_flags;
    x->memory = memory;
    rc = assay_tensor_count(x->output, &x->n, &x->bytes, err);
    if (rc)
        return rc;
    x->width = assay_dtype_bytes(x->output->dtype);
    x->channels =
        x->output->rank > 0 ? (size_t)x->output->dims[x->output->rank - 1] : 1;
    x->result = assay_arena_alloc(memory, x->bytes);
    return x->result ? 0 : no_memory(err);
}

static int open_context(struct assay_search_ctx *x,
                        const struct assay_suspect *s,
                        const struct assay_search_options *o,
                        struct assay_arena *memory, struct assay_err *err)
{
    int rc = assay_search_ctx_open(x, s, o->cpu_flags, memory, err);

    x->o = o;
    if (rc == 0)
        rc = assay_judge_open(x, err);
    return rc || x->differing == 0 || assay_suspect_is_segment(s)
               ? rc
               : assay_sums_open(x, err);
}

/* Proved edits that leave the same slice are one class. */
static int number_classes(struct collector *c, struct assay_err *err)
{
    uint32_t classes = 0;

    for (size_t i = 0; i < c->out->n_proved; i++) {
        struct assay_hypothesis *h = &c->out->v[i];
        int same = 0;

        for (size_t k = 0; k < i && same == 0; k++) {
            same = assay_candidate_same(&c->x, &c->out->v[k], h, err);
            if (same < 0)
                return same;
            if (same > 0)
                h->class_number = c->out->v[k].class_number;
        }
        if (same == 0)
            h->class_number = ++classes;
    }
    c->out->n_classes = classes;
    return 0;
}

int assay_cause_search(struct assay_search **out, const struct assay_suspect *s,
                       const struct assay_search_options *o,
                       struct assay_err *err)
{
    struct assay_arena *memory = assay_arena_new();
    struct collector c = {.out = NULL};
    int rc;

    *out = NULL;
    c.out = memory ? assay_arena_alloc(memory, sizeof(*c.out)) : NULL;
    if (c.out)
        c.out->v = assay_arena_array(memory, MAX_HYPOTHESES, sizeof(*c.out->v));
    if (!c.out || !c.out->v) {
        assay_arena_free(memory);
        return no_memory(err);
    }
    c.out->memory = memory;
    rc = open_context(&c.x, s, o, memory, err);
    c.out->differing = c.x.differing;
    c.out->all = c.x.all;
    if (!rc && c.x.differing > 0) {
        rc = singles(&c, o->only, err);
        if (rc >= 0 && o->pairs && !o->only && c.out->n_proved == 0)
            rc = pairs(&c, err);
        drop_scoped(c.out);
        sort(c.out);
        if (rc >= 0)
            rc = number_classes(&c, err);
    }
    if (rc < 0) {
        assay_search_free(c.out);
        return rc;
    }
    *out = c.out;
    return 0;
}

void assay_search_free(struct assay_search *s)
{
    if (s)
        assay_arena_free(s->memory); /* s lives in it */
}
