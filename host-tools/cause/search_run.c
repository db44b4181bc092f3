/* SPDX-License-Identifier: Apache-2.0 */
/* What an edited layer gives: from accumulators, from the base, or anew. */
#include <string.h>

#include "host-tools/cause/search_private.h"
#include "kernels/kernels.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"
#include "lib/engine/plan.h"

/* Narrow sums that no input can make leave 16 bits are the same sums. */
static int open_partial(struct assay_candidate *c,
                        const struct assay_search_ctx *x, uint32_t variant)
{
    if (!x->sums || !assay_partial_variant(variant, &c->partial))
        return ASSAY_EDIT_NOT_HERE;
    c->has_partial = true;
    return assay_partial_can_leave(x->s->one, 0, &c->partial) ? 0
                                                              : ASSAY_EDIT_SAME;
}

/* The same fault in all layers that have something of the kind, are of one
 * operator and read the same type: a compiler that is wrong is so in one of
 * its kernels. */
static int edit_every(struct assay_candidate *c, const struct assay_edit *e,
                      struct assay_err *err)
{
    enum assay_dtype dtype = 0;
    enum assay_op op = 0;
    uint32_t n = 0;

    /* What is put in is put behind those that are still to come. */
    for (uint32_t i = c->slice->n_layers; i-- > 0;) {
        const struct assay_layer *l = &c->slice->layers[i];
        enum assay_dtype reads = c->slice->tensors[l->inputs[0]].dtype;
        int rc = ASSAY_EDIT_NOT_HERE;

        c->layer = i;
        if (n == 0 || (reads == dtype && l->op == op))
            rc = assay_edit_apply(c->slice, &c->layer, e, err);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            dtype = reads;
            op = c->slice->layers[c->layer].op;
        }
        n += rc == 0;
    }
    return n > 1 ? 0 : ASSAY_EDIT_NOT_HERE;
}

static int open_float(struct assay_candidate *c,
                      const struct assay_search_ctx *x, uint32_t variant)
{
    if (!x->sums || !assay_float_form_variant(variant, &c->form))
        return ASSAY_EDIT_NOT_HERE;
    c->has_float = true;
    return assay_float_form_fits(x->s->one, 0, &c->form);
}

int assay_candidate_open(struct assay_candidate *c,
                         const struct assay_search_ctx *x,
                         const struct assay_edit *edits, uint32_t n,
                         struct assay_err *err)
{
    int rc;

    memset(c, 0, sizeof(*c));
    rc = assay_slice_copy(&c->slice, x->s->one, err);
    c->layer = x->s->edited;
    for (uint32_t i = 0; i < n && !rc; i++) {
        if (x->s->edited == ASSAY_EVERY_LAYER)
            rc = edit_every(c, &edits[i], err);
        else if (edits[i].id == ASSAY_CAUSE_A1)
            rc = open_partial(c, x, edits[i].variant);
        else if (edits[i].id == ASSAY_CAUSE_S4)
            rc = n == 1 ? open_float(c, x, edits[i].variant)
                        : ASSAY_EDIT_NOT_HERE; /* what of it would be left? */
        else
            rc = assay_edit_apply(c->slice, &c->layer, &edits[i], err);
        c->edits[c->n_edits++] = edits[i];
    }
    if (!rc && c->has_partial && !assay_sums_serve(x, c))
        rc = ASSAY_EDIT_NOT_HERE; /* its sums are those of another layer */
    if (rc)
        assay_candidate_close(c);
    return rc;
}

void assay_candidate_close(struct assay_candidate *c)
{
    assay_slice_free(c->slice);
    c->slice = NULL;
}

/* Do the layers behind it read nothing that goes into it? */
static bool reads_no_input(const struct assay_search_ctx *x,
                           const struct assay_slice *s)
{
    for (uint32_t i = 1; i < s->n_layers; i++)
        for (uint32_t k = 0; k < s->layers[i].n_inputs; k++)
            if (s->layers[i].inputs[k] < assay_suspect_inputs(x->s) &&
                s->tensors[s->layers[i].inputs[k]].role != ASSAY_ROLE_CONSTANT)
                return false;
    return true;
}

/* Is the layer itself as it was, and only something behind it? Then what it
 * gave need not be computed again. */
static bool only_behind(const struct assay_search_ctx *x,
                        const struct assay_candidate *c)
{
    const struct assay_layer *a = x->layer, *b = &c->slice->layers[0];
    const struct assay_tensor *y = &c->slice->tensors[b->output];

    return !assay_suspect_is_segment(x->s) && c->slice->n_layers > 1 &&
           y->dtype == x->output->dtype &&
           memcmp(y->dims, x->output->dims, sizeof(y->dims)) == 0 &&
           c->layer == 0 && a->op == b->op && a->n_inputs == b->n_inputs &&
           memcmp(a->inputs, b->inputs, a->n_inputs * sizeof(*a->inputs)) ==
               0 &&
           memcmp(&a->p, &b->p, sizeof(a->p)) == 0 &&
           a->out_program.n_steps == b->out_program.n_steps &&
           memcmp(a->out_program.steps, b->out_program.steps,
                  a->out_program.n_steps * sizeof(a->out_program.steps[0])) ==
               0 &&
           reads_no_input(x, c->slice);
}

static int run_behind(const struct assay_search_ctx *x,
                      const struct assay_candidate *c, size_t sample,
                      struct assay_err *err)
{
    const void *values[ASSAY_MAX_LAYER_INPUTS + 64] = {0};
    struct assay_slice *s;
    uint32_t given = c->slice->layers[0].output;
    int rc;

    if (given >= sizeof(values) / sizeof(values[0]))
        return assay_fail(err, ASSAY_ERANGE,
                          "layer '%.200s': too many inputs for a search",
                          x->layer->name);
    rc = assay_slice_copy(&s, c->slice, err);
    if (rc)
        return rc;
    values[given] = x->s->samples[sample].base;
    s->tensors[given].role = ASSAY_ROLE_INPUT;
    s->layers++;
    s->n_layers--;
    rc = assay_once(s, x->cpu_flags, values, given + 1, x->result, x->bytes,
                    err);
    assay_slice_free(s);
    return rc;
}

int assay_candidate_run(const struct assay_search_ctx *x,
                        const struct assay_candidate *c, size_t sample,
                        struct assay_err *err)
{
    if (assay_sums_serve(x, c)) {
        assay_sums_run(x, c, sample, 0, x->n, x->result);
        return 0;
    }
    if (only_behind(x, c))
        return run_behind(x, c, sample, err);
    return assay_once(c->slice, x->cpu_flags, x->s->samples[sample].inputs,
                      assay_suspect_inputs(x->s), x->result, x->bytes, err);
}

int assay_candidate_check(const struct assay_search_ctx *x,
                          const struct assay_candidate *c,
                          struct assay_err *err)
{
    struct assay_kernel_table table;
    struct assay_plan *plan = NULL;
    int rc;

    if (!assay_sums_serve(x, c))
        return 0;
    assay_kernel_table_init(&table, x->cpu_flags);
    rc = assay_plan_new(&plan, c->slice, &table, NULL, err);
    assay_plan_free(plan);
    return rc;
}

/* ---- a few elements first -------------------------------------------------- */

#define SLOW_ELEMENTS 32 /* of sums that are done again */

/* One that is right is enough where all are soon there; sums of 16 bits or of
 * floats are not, and are nothing unless at least half of them are right. */
static bool hope_of_sums(const struct assay_search_ctx *x,
                         const struct assay_candidate *c)
{
    const uint8_t *got = x->s->samples[x->worst].got;
    size_t n = x->n_first_differing, matched = 0, least = 1;

    if (c->has_partial || c->has_float) {
        n = n < SLOW_ELEMENTS ? n : SLOW_ELEMENTS;
        least = (n + 1) / 2;
    }
    for (size_t i = 0; i < n && matched < least; i++) {
        size_t e = x->first[i];
        uint8_t v[8];

        assay_sums_run(x, c, x->worst, e, 1, v);
        matched += memcmp(v, got + e * x->width, x->width) == 0;
    }
    return matched >= least;
}

/* One output channel of the layer, and how many elements an output then has;
 * false: it cannot be had by itself. */
static bool can_cut(const struct assay_search_ctx *x,
                    const struct assay_candidate *c)
{
    const struct assay_layer *l = &c->slice->layers[c->layer];

    return c->layer + 1 == c->slice->n_layers && x->channels > 1 &&
           (l->op == ASSAY_OP_GEMM ||
            (l->op == ASSAY_OP_CONV2D && l->p.conv2d.groups == 1)) &&
           !l->p.conv2d.has_second &&
           c->slice->tensors[l->inputs[1]].role == ASSAY_ROLE_CONSTANT;
}

/* A constant's row of channel k. */
static void cut_rows(struct assay_tensor *t, size_t k)
{
    size_t row = t->size / (size_t)t->dims[0];

    t->data = (const uint8_t *)t->data + k * row;
    t->size = row;
    t->dims[0] = 1;
}

static void cut_program(struct assay_program *p, size_t k)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        struct assay_step *s = &p->steps[i];

        if (s->n < 2)
            continue;
        s->a = s->a ? s->a + k : NULL;
        s->b = s->b ? s->b + k : NULL;
        s->n = 1;
    }
}

static void cut_quant(struct assay_tensor *t, size_t k)
{
    if (t->quant.n < 2)
        return;
    t->quant.scale += k;
    t->quant.zero_point += k;
    t->quant.n = 1;
    t->quant.axis = -1;
}

/* The channel of `worst` with most differing elements among the first. */
static size_t channel_of(const struct assay_search_ctx *x)
{
    size_t best = x->first[0] % x->channels, most = 0;

    for (size_t i = 0; i < x->n_first_differing; i++) {
        size_t c = x->first[i] % x->channels, n = 0;

        for (size_t k = i; k < x->n_first_differing; k++)
            n += x->first[k] % x->channels == c;
        if (n > most) {
            most = n;
            best = c;
        }
    }
    return best;
}

/* The edited layer with output channel k alone. */
static int cut(struct assay_slice **out, const struct assay_candidate *c,
               size_t k, struct assay_err *err)
{
    int rc = assay_slice_copy(out, c->slice, err);
    struct assay_layer *l;
    struct assay_tensor *y;

    if (rc)
        return rc;
    l = &(*out)->layers[c->layer];
    y = &(*out)->tensors[l->output];
    cut_rows(&(*out)->tensors[l->inputs[1]], k);
    cut_quant(&(*out)->tensors[l->inputs[1]], k);
    if (assay_layer_has_bias(l))
        cut_rows(&(*out)->tensors[l->inputs[2]], k);
    y->dims[y->rank - 1] = 1;
    cut_quant(y, k);
    cut_program(&l->out_program, k);
    return 0;
}

static int try_channel(const struct assay_search_ctx *x,
                       const struct assay_candidate *c, bool *hope,
                       struct assay_err *err)
{
    const uint8_t *got = x->s->samples[x->worst].got;
    size_t k = channel_of(x), rows = x->n / x->channels;
    size_t differing = 0, matched = 0;
    uint8_t *out = assay_alloc(rows * x->width);
    struct assay_slice *s = NULL;
    int rc = out ? cut(&s, c, k, err)
                 : assay_fail(err, ASSAY_EMEMORY, "no memory for a trial");

    if (!rc)
        rc = assay_once(s, x->cpu_flags, x->s->samples[x->worst].inputs,
                        assay_suspect_inputs(x->s), out, rows * x->width, err);
    for (size_t i = 0; i < rows && !rc; i++) {
        size_t e = i * x->channels + k;

        if (!assay_judge_differs(x, x->worst, e))
            continue;
        differing++;
        matched +=
            memcmp(out + i * x->width, got + e * x->width, x->width) == 0;
    }
    /* All for a cause, half for a part of one: the rest is chance. */
    *hope = 2 * matched >= differing;
    assay_slice_free(s);
    assay_free(out);
    return rc;
}

/* A segment costs as much as all of its layers: one sample must show half of
 * what differs there. */
static int try_segment(const struct assay_search_ctx *x,
                       const struct assay_candidate *c, bool *hope,
                       struct assay_err *err)
{
    const uint8_t *got = x->s->samples[x->worst].got;
    size_t matched = 0;
    int rc = assay_candidate_run(x, c, x->worst, err);

    for (size_t i = 0; i < x->n_first_differing && !rc; i++) {
        size_t e = x->first[i] * x->width;

        matched += memcmp(x->result + e, got + e, x->width) == 0;
    }
    *hope = 2 * matched >= x->n_first_differing;
    return rc;
}

int assay_candidate_try(const struct assay_search_ctx *x,
                        const struct assay_candidate *c, bool *hope,
                        struct assay_err *err)
{
    *hope = true;
    if (assay_sums_serve(x, c)) {
        *hope = hope_of_sums(x, c);
        return 0;
    }
    if (assay_suspect_is_segment(x->s))
        return try_segment(x, c, hope, err);
    return can_cut(x, c) ? try_channel(x, c, hope, err) : 0;
}
