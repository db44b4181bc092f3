/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/impact.h"

#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/run_lines.h"
#include "kernels/requant.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"
#include "lib/engine/run.h"

#define CHUNK 512 /* elements at a time */

/* A model's tensors in one scenario: borrowed, or own. */
struct state {
    const void **value;
    void **own;  /* NULL: not allocated yet */
    bool *dirty; /* other than in the base */
};

struct work {
    struct assay_impact *x;
    struct assay_run *r;
    const struct assay_slice *s;
    struct assay_plan *plan;
    void *block, *arena; /* arena: the first aligned byte of block */
    struct state base, all, now;
    bool *mask;
    int64_t *culprit; /* a layer's index in x->v, or -1 */
    /* of the layer under way */
    const struct state *reading;
    void *out;
    bool found;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

static size_t bytes_of(const struct assay_tensor *t)
{
    size_t n, bytes;

    return assay_tensor_count(t, &n, &bytes, NULL) < 0 ? 0 : bytes;
}

/* ---- one layer -------------------------------------------------------------- */

static const void *fetch(void *self, uint32_t tensor)
{
    const struct work *w = self;

    return w->reading->value[tensor];
}

static int ignore(void *self, const struct assay_layer_info *info)
{
    (void)self;
    (void)info;
    return 0;
}

static int keep(void *self, const struct assay_layer_info *info,
                const void *data)
{
    struct work *w = self;

    memcpy(w->out, data, info->bytes);
    w->found = true;
    return 0;
}

/* The engine on the tensors of `from`; false in *found: an input is missing. */
static int engine(struct work *w, const struct state *from, uint32_t layer,
                  void *out, bool *found, struct assay_err *err)
{
    const struct assay_run_request request = {.mode = ASSAY_RUN_ISOLATED,
                                              .layers = w->mask,
                                              .fetch = fetch,
                                              .self = w};
    const struct assay_sink sink = {
        .self = w, .begin = ignore, .tensor = keep, .end = ignore};
    int rc;

    w->reading = from;
    w->out = out;
    w->found = false;
    w->mask[layer] = true;
    rc = assay_run(w->plan, w->arena, &request, &sink, err);
    w->mask[layer] = false;
    *found = w->found;
    return rc;
}

static void *own(struct work *w, struct state *s, uint32_t tensor,
                 struct assay_err *err)
{
    if (s->own[tensor] == NULL)
        s->own[tensor] = assay_alloc(bytes_of(&w->s->tensors[tensor]) + 1);
    if (s->own[tensor] == NULL)
        (void)no_memory(err);
    return s->own[tensor];
}

static int compute(struct work *w, struct state *s, uint32_t layer,
                   struct assay_err *err)
{
    uint32_t y = w->s->layers[layer].output;
    void *out = own(w, s, y, err);
    bool found = false;
    int rc =
        out == NULL ? ASSAY_EMEMORY : engine(w, s, layer, out, &found, err);

    s->value[y] = rc == 0 && found ? out : NULL;
    return rc;
}

/* ---- a culprit on inputs that the column did not have ----------------------- */

static const void *observed(const struct work *w, uint32_t tensor)
{
    return w->r->sides[w->x->side].observed.values[tensor];
}

/* What the column had there: observed, else computed from what was. */
static const void *in_column(const struct work *w, uint32_t tensor)
{
    const void *got = observed(w, tensor);

    return got != NULL ? got : w->all.value[tensor];
}

static bool same(const struct work *w, uint32_t tensor, const void *a,
                 const void *b)
{
    return a == b || (a != NULL && b != NULL &&
                      memcmp(a, b, bytes_of(&w->s->tensors[tensor])) == 0);
}

/* Does the layer read there what it reads in the column? */
static bool reads_as_column(const struct work *w, const struct state *s,
                            uint32_t layer)
{
    const struct assay_layer *l = &w->s->layers[layer];

    for (uint32_t i = 0; i < l->n_inputs; i++) {
        uint32_t t = l->inputs[i];

        if (w->s->tensors[t].role != ASSAY_ROLE_CONSTANT &&
            !same(w, t, s->value[t], in_column(w, t)))
            return false;
    }
    return true;
}

static int by_cause(const struct work *w, const struct state *s,
                    const struct assay_impact_culprit *k, void *out,
                    struct assay_err *err)
{
    const struct assay_layer *l = &w->s->layers[k->layer];
    const void *given[ASSAY_MAX_LAYER_INPUTS] = {0};
    uint32_t n = 0;

    /* The distinct inputs, in order: assay_slice_single's numbers. */
    for (uint32_t i = 0; i < l->n_inputs; i++) {
        uint32_t j = 0;

        while (j < i && l->inputs[j] != l->inputs[i])
            j++;
        if (j == i)
            given[n++] = s->value[l->inputs[i]];
    }
    return assay_once(k->edited, 0, given, k->n_inputs, out,
                      bytes_of(&w->s->tensors[l->output]), err);
}

/* to += got - base, within the type. */
static void carry(const struct assay_tensor *t, uint8_t *to, const uint8_t *got,
                  const uint8_t *base)
{
    union assay_value a[CHUNK], b[CHUNK], c[CHUNK];
    size_t width = assay_dtype_bytes(t->dtype), n = bytes_of(t) / width;
    int64_t lo, hi;

    if (assay_dtype_is_int(t->dtype))
        assay_dtype_range(t->dtype, &lo, &hi);
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t k = n - at < CHUNK ? n - at : CHUNK;

        assay_load_values(t->dtype, to + at * width, a, k);
        assay_load_values(t->dtype, got + at * width, b, k);
        assay_load_values(t->dtype, base + at * width, c, k);
        for (size_t i = 0; i < k; i++) {
            if (!assay_dtype_is_int(t->dtype)) {
                a[i].f += b[i].f - c[i].f;
                continue;
            }
            a[i].i += b[i].i - c[i].i;
            a[i].i = a[i].i < lo ? lo : a[i].i > hi ? hi : a[i].i;
        }
        assay_store_values(t->dtype, to + at * width, a, k);
    }
}

/* The engine's result, and the difference that the column shows from it on its
 * own inputs. 64-bit results are left as they are. */
static int carried(struct work *w, struct state *s, uint32_t layer,
                   struct assay_err *err)
{
    const struct assay_tensor *t = &w->s->tensors[w->s->layers[layer].output];
    const void *got = observed(w, w->s->layers[layer].output);
    struct state column = {.value = assay_calloc((size_t)w->s->n_tensors + 1,
                                                 sizeof(*column.value))};
    void *base = assay_alloc(bytes_of(t) + 1);
    bool found = false;
    int rc = 0;

    if (column.value == NULL || base == NULL)
        rc = no_memory(err);
    for (uint32_t i = 0; rc == 0 && i < w->s->n_tensors; i++)
        column.value[i] = in_column(w, i);
    if (rc == 0)
        rc = engine(w, &column, layer, base, &found, err);
    if (rc == 0)
        rc = compute(w, s, layer, err);
    if (rc == 0 && found && s->value[w->s->layers[layer].output] != NULL &&
        t->dtype != ASSAY_S64)
        carry(t, s->own[w->s->layers[layer].output], got, base);
    assay_free(column.value);
    assay_free(base);
    return rc;
}

static int deviate(struct work *w, struct state *s,
                   const struct assay_impact_culprit *k, bool forced,
                   struct assay_impact_row *row, struct assay_err *err)
{
    uint32_t y = w->s->layers[k->layer].output;
    enum assay_impact_how how = ASSAY_IMPACT_GOT;
    int rc = 0;

    if (forced || k->input_differs || reads_as_column(w, s, k->layer)) {
        s->value[y] = observed(w, y);
    } else if (k->edited != NULL && own(w, s, y, err) != NULL) {
        how = ASSAY_IMPACT_CAUSE;
        rc = by_cause(w, s, k, s->own[y], err);
        s->value[y] = s->own[y];
    } else {
        how = ASSAY_IMPACT_CARRIED;
        rc = carried(w, s, k->layer, err);
    }
    if (how > row->how)
        row->how = how;
    return rc;
}

/* ---- scenarios --------------------------------------------------------------- */

/* Which culprits deviate. */
struct scenario {
    enum assay_impact_what what;
    uint32_t culprit; /* index in x->v */
    struct assay_impact_row *row;
};

static bool deviates(const struct work *w, const struct scenario *c,
                     int64_t culprit)
{
    if (culprit < 0 ||
        observed(w, w->s->layers[w->x->v[culprit].layer].output) == NULL)
        return false;
    if (c->what == ASSAY_IMPACT_ALL)
        return w->x->v[culprit].is_culprit;
    if (c->what == ASSAY_IMPACT_MENDED)
        return w->x->v[culprit].is_culprit && culprit != c->culprit;
    return culprit == c->culprit;
}

static bool reads_dirty(const struct work *w, const struct state *s,
                        uint32_t layer)
{
    const struct assay_layer *l = &w->s->layers[layer];

    for (uint32_t i = 0; i < l->n_inputs; i++)
        if (s->dirty[l->inputs[i]])
            return true;
    return false;
}

static int run_scenario(struct work *w, struct state *s,
                        const struct scenario *c, struct assay_err *err)
{
    bool forced = c->what == ASSAY_IMPACT_ALL || c->what == ASSAY_IMPACT_AS_GOT;
    int rc = 0;

    for (uint32_t t = 0; t < w->s->n_tensors; t++) {
        s->value[t] = w->base.value[t];
        s->dirty[t] = false;
    }
    for (uint32_t i = 0; i < w->s->n_layers && rc == 0; i++) {
        uint32_t y = w->s->layers[i].output;

        if (deviates(w, c, w->culprit[i]))
            rc = deviate(w, s, &w->x->v[w->culprit[i]], forced, c->row, err);
        else if (!reads_dirty(w, s, i))
            continue;
        else if (w->s->layers[i].op == ASSAY_OP_SKIPPED)
            c->row->cut = true;
        else
            rc = compute(w, s, i, err);
        s->dirty[y] = !same(w, y, s->value[y], w->base.value[y]);
    }
    return rc;
}

/* Length of the vectors of scores that a tensor is; 0: it is none. */
static size_t scores(const struct assay_tensor *t)
{
    int64_t n = 0;

    for (uint32_t a = 1; a < t->rank; a++) {
        if (t->dims[a] == 1)
            continue;
        if (n != 0)
            return 0;
        n = t->dims[a];
    }
    return (size_t)n;
}

static double number(enum assay_dtype dtype, const uint8_t *p, size_t i)
{
    union assay_value v;

    assay_load_values(dtype, p + i * assay_dtype_bytes(dtype), &v, 1);
    return assay_dtype_is_int(dtype) ? (double)v.i : (double)v.f;
}

static size_t largest(enum assay_dtype dtype, const uint8_t *p, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (number(dtype, p, i) > number(dtype, p, best))
            best = i;
    return best;
}

static void count_moved(const struct assay_tensor *t, const uint8_t *ref,
                        const uint8_t *got, struct assay_impact_output *out)
{
    size_t n = scores(t), bytes = n * assay_dtype_bytes(t->dtype);

    if (n == 0)
        return;
    for (size_t at = 0; at < bytes_of(t); at += bytes) {
        out->vectors++;
        out->moved +=
            largest(t->dtype, ref + at, n) != largest(t->dtype, got + at, n);
    }
}

static void merge(const struct work *w, uint32_t tensor, const void *ref,
                  const void *got, struct assay_impact_output *into)
{
    const struct assay_tensor *t = &w->s->tensors[tensor];
    const struct assay_tolerance strict = {0};
    struct assay_diff d;

    if (ref == NULL || got == NULL)
        return;
    assay_diff_tensor(t, ref, got, &strict, &d);
    d.sample = w->r->sample;
    assay_diff_merge(&into->d, &d);
    count_moved(t, ref, got, into);
}

static int row_of(struct work *w, struct state *s, const struct scenario *c,
                  struct assay_err *err)
{
    int rc = run_scenario(w, s, c, err);

    if (c->row->outputs == NULL)
        c->row->outputs = assay_arena_array(
            w->r->arena, (size_t)w->x->n_outputs + 1, sizeof(*c->row->outputs));
    if (rc == 0 && c->row->outputs == NULL)
        rc = no_memory(err);
    for (uint32_t i = 0; rc == 0 && i < w->x->n_outputs; i++) {
        uint32_t t = w->x->outputs[i];

        merge(w, t, w->base.value[t], s->value[t], &c->row->outputs[i]);
    }
    c->row->here = true;
    return rc;
}

/* The reference's tensors; what it lacks, the engine computes from them. */
static int make_base(struct work *w, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t t = 0; t < w->s->n_tensors; t++)
        w->base.value[t] = w->r->values[t];
    for (uint32_t i = 0; i < w->s->n_layers && rc == 0; i++)
        if (w->base.value[w->s->layers[i].output] == NULL &&
            w->s->layers[i].op != ASSAY_OP_SKIPPED)
            rc = compute(w, &w->base, i, err);
    return rc;
}

static int sample_rows(struct work *w, struct assay_err *err)
{
    struct assay_impact *x = w->x;
    struct scenario c = {.what = ASSAY_IMPACT_ALL, .row = &x->all};
    int rc = make_base(w, err);

    if (rc == 0)
        rc = row_of(w, &w->all, &c, err);
    for (uint32_t i = 0; i < x->n_outputs && rc == 0; i++)
        merge(w, x->outputs[i], observed(w, x->outputs[i]),
              w->all.value[x->outputs[i]], &x->check[i]);
    for (uint32_t k = 0; k < x->n && rc == 0; k++) {
        x->v[k].inherits =
            x->v[k].inherits || !reads_as_column(w, &w->base, x->v[k].layer);
        for (unsigned what = 0; what < ASSAY_IMPACT_ALL && rc == 0; what++) {
            c = (struct scenario){.what = (enum assay_impact_what)what,
                                  .culprit = k,
                                  .row = &x->v[k].rows[what]};
            if (what == ASSAY_IMPACT_AS_GOT || x->v[k].is_culprit)
                rc = row_of(w, &w->now, &c, err);
        }
    }
    return rc;
}

/* ---- what there is ------------------------------------------------------------ */

/* The proved cause as a slice of the layer alone. */
static int take_cause(struct work *w, struct assay_impact_culprit *k,
                      struct assay_err *err)
{
    enum assay_column column = assay_side_column(w->x->side);
    const struct assay_run_suspect *c =
        assay_run_cause_of(w->r, k->layer, column);
    const struct assay_hypothesis *h;
    uint32_t layer = 0;
    int rc;

    assay_run_cause_text(w->r, k->layer, column, k->cause, sizeof(k->cause));
    if (c == NULL || c->has_layout || !assay_run_cause_proved(c))
        return 0;
    h = &c->found->v[0];
    if (h->scope.kind != ASSAY_SCOPE_ALL)
        return 0;
    rc = assay_slice_copy(&k->edited, c->one, err);
    for (uint32_t i = 0; i < h->n_edits && rc == 0; i++)
        rc = assay_edit_apply(k->edited, &layer, &h->edits[i], err);
    k->n_inputs = c->one->layers[0].output;
    if (rc > 0) { /* then it is not to be had as a slice */
        assay_slice_free(k->edited);
        k->edited = NULL;
    }
    return rc < 0 ? rc : 0;
}

static int take_culprits(struct work *w, int64_t only, struct assay_err *err)
{
    struct assay_impact *x = w->x;
    int rc = 0;

    x->v = assay_calloc((size_t)w->s->n_layers + 1, sizeof(*x->v));
    if (x->v == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < w->s->n_layers && rc == 0; i++) {
        const struct assay_run_cell *c = &w->r->layers[i].side[x->side];
        struct assay_impact_culprit *k = &x->v[x->n];

        w->culprit[i] = -1;
        if (only >= 0 ? only != (int64_t)i : !c->judgement.culprit)
            continue;
        w->culprit[i] = x->n++;
        k->layer = i;
        k->is_culprit = c->judgement.culprit;
        k->input_differs = c->input_differs;
        rc = take_cause(w, k, err);
    }
    return rc;
}

static int take_outputs(struct work *w, struct assay_err *err)
{
    struct assay_impact *x = w->x;

    x->outputs = assay_calloc((size_t)w->s->n_tensors + 1, sizeof(uint32_t));
    if (x->outputs == NULL)
        return no_memory(err);
    for (uint32_t t = 0; t < w->s->n_tensors; t++)
        if (w->s->tensors[t].is_output && w->r->producer[t] >= 0)
            x->outputs[x->n_outputs++] = t;
    x->check = assay_calloc((size_t)x->n_outputs + 1, sizeof(*x->check));
    return x->check != NULL ? 0 : no_memory(err);
}

static int state_open(struct state *s, size_t n, struct assay_err *err)
{
    s->value = assay_calloc(n + 1, sizeof(*s->value));
    s->own = assay_calloc(n + 1, sizeof(*s->own));
    s->dirty = assay_calloc(n + 1, sizeof(*s->dirty));
    return s->value != NULL && s->own != NULL && s->dirty != NULL
               ? 0
               : no_memory(err);
}

static void state_close(struct state *s, size_t n)
{
    for (size_t t = 0; s->own != NULL && t < n; t++)
        assay_free(s->own[t]);
    assay_free(s->value);
    assay_free(s->own);
    assay_free(s->dirty);
}

static int work_open(struct work *w, struct assay_err *err)
{
    struct assay_kernel_table table;
    size_t n = w->s->n_tensors;
    int rc = state_open(&w->base, n, err);

    if (rc == 0)
        rc = state_open(&w->all, n, err);
    if (rc == 0)
        rc = state_open(&w->now, n, err);
    if (rc < 0)
        return rc;
    w->mask = assay_calloc((size_t)w->s->n_layers + 1, sizeof(*w->mask));
    w->culprit = assay_calloc((size_t)w->s->n_layers + 1, sizeof(*w->culprit));
    if (w->mask == NULL || w->culprit == NULL)
        return no_memory(err);
    assay_kernel_table_init(&table, 0);
    rc = assay_plan_new(&w->plan, w->s, &table, NULL, err);
    if (rc < 0)
        return rc;
    w->block = assay_alloc(assay_plan_arena_bytes(w->plan) + 64);
    w->arena = (void *)(((uintptr_t)w->block + 63) & ~(uintptr_t)63);
    return w->block != NULL ? 0 : no_memory(err);
}

static void work_close(struct work *w)
{
    state_close(&w->base, w->s->n_tensors);
    state_close(&w->all, w->s->n_tensors);
    state_close(&w->now, w->s->n_tensors);
    assay_plan_free(w->plan);
    assay_free(w->block);
    assay_free(w->mask);
    assay_free(w->culprit);
}

void assay_impact_close(struct assay_impact *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        assay_slice_free(x->v[i].edited);
    assay_free(x->v);
    assay_free(x->outputs);
    assay_free(x->check);
    memset(x, 0, sizeof(*x));
}

int assay_impact_compute(struct assay_impact *out, struct assay_run *r,
                         unsigned side, int64_t only, struct assay_err *err)
{
    struct work w = {.x = out, .r = r, .s = r->s};
    int rc;

    memset(out, 0, sizeof(*out));
    out->side = side;
    out->n_samples = r->sides[side].n_samples;
    rc = work_open(&w, err);
    if (rc == 0)
        rc = take_culprits(&w, only, err);
    if (rc == 0)
        rc = take_outputs(&w, err);
    for (uint32_t s = 0; s < r->n_samples && out->n > 0 && rc == 0; s++) {
        rc = assay_run_sample_open(r, s, err);
        if (rc == 0 && r->sides[side].here)
            rc = sample_rows(&w, err);
        assay_run_sample_close(r);
    }
    work_close(&w);
    return rc;
}
