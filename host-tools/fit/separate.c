/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input of a layer on which the candidates that are left give different
 * outputs. Tried, in this order: the extremes that the weights allow, values
 * solved for accumulators on which two candidates differ (prove.c gives
 * them), random values at several amplitudes. Whether any input separates is
 * not known before one is found: the tries are bounded.
 */
#include <string.h>

#include "host-tools/fit/pool.h"
#include "kernels/requant.h"

#define CLASSES 64
#define WITNESSES 48

struct hunt {
    struct assay_fit_found *f;
    const struct assay_fit_layer *l;
    const struct assay_layer *y;
    uint64_t seed;
    struct assay_fit_choice classes[CLASSES];
    size_t n_classes;
    struct assay_fit_witness witness[WITNESSES];
    size_t n_witnesses;
    void *input[4]; /* under way; constants borrowed */
    size_t bytes[4];
    int64_t *acc, *second;
    uint32_t *state;
    size_t best;
};

static uint64_t next(struct hunt *h)
{
    h->seed ^= h->seed << 13;
    h->seed ^= h->seed >> 7;
    h->seed ^= h->seed << 17;
    return h->seed;
}

static int64_t between(struct hunt *h, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(next(h) % (uint64_t)(hi - lo + 1));
}

static const struct assay_tensor *tensor_of(const struct hunt *h, unsigned i)
{
    return &h->l->slice->tensors[h->y->inputs[i]];
}

static void put(const struct hunt *h, unsigned i, size_t at, int64_t v)
{
    enum assay_dtype t = tensor_of(h, i)->dtype;
    union assay_value value;
    int64_t lo, hi;

    assay_dtype_range(t, &lo, &hi);
    value.i = v < lo ? lo : v > hi ? hi : v;
    if (t == ASSAY_F32)
        value.f = (float)v;
    assay_store_values(t, (uint8_t *)h->input[i] + at * assay_dtype_bytes(t),
                       &value, 1);
}

/* ---- what is tried --------------------------------------------------------- */

static void random_inputs(struct hunt *h, unsigned shift)
{
    for (unsigned i = 0; i < h->y->n_inputs && i < 4; i++) {
        const struct assay_tensor *t = tensor_of(h, i);
        int64_t lo = -1024, hi = 1024;

        if (!h->bytes[i])
            continue;
        if (assay_dtype_is_int(t->dtype))
            assay_dtype_range(t->dtype, &lo, &hi);
        for (size_t k = 0; k < h->bytes[i] / assay_dtype_bytes(t->dtype); k++)
            put(h, i, k, between(h, lo, hi) >> shift);
    }
}

/* A tap of the window of one output position of a convolution. */
struct window {
    int64_t oy, ox;
    uint32_t channel;
};

static bool cell_of(const struct hunt *h, const struct window *w, int64_t ky,
                    int64_t kx, int64_t ci, int64_t *at)
{
    const struct assay_conv2d_params *p = &h->y->p.conv2d;
    const struct assay_tensor *x = tensor_of(h, 0);
    const struct assay_tensor *k = tensor_of(h, 1);
    int64_t og = k->dims[0] / p->groups, ig = k->dims[3];
    int64_t iy = w->oy * p->stride_h - p->pad_top + ky * p->dilation_h;
    int64_t ix = w->ox * p->stride_w - p->pad_left + kx * p->dilation_w;

    if (iy < 0 || iy >= x->dims[1] || ix < 0 || ix >= x->dims[2])
        return false;
    *at = (iy * x->dims[2] + ix) * x->dims[3] + w->channel / og * ig + ci;
    return true;
}

/* The taps of a window one after another; what is left of `target`. */
static int64_t spend(struct hunt *h, const struct window *w, int64_t target,
                     int64_t least)
{
    const struct assay_tensor *k = tensor_of(h, 1);
    const int8_t *v = k->data;
    int64_t lo, hi, at, taps = k->dims[1] * k->dims[2] * k->dims[3];

    assay_dtype_range(tensor_of(h, 0)->dtype, &lo, &hi);
    for (int64_t t = 0; t < taps; t++) {
        int64_t weight = v[w->channel * taps + t], size, x;
        size = weight < 0 ? -weight : weight;
        if (size < least || (least > 1 && size >= 2 * least) ||
            !cell_of(h, w, t / k->dims[3] / k->dims[2],
                     t / k->dims[3] % k->dims[2], t % k->dims[3], &at))
            continue;
        x = weight ? target / weight : 0;
        x = x < lo ? lo : x > hi ? hi : x;
        put(h, 0, (size_t)at, x);
        target -= x * weight;
    }
    return target;
}

/* Large weights first, so that small ones fill up what is left. */
static void solve_conv(struct hunt *h, const struct window *w, int64_t target)
{
    const struct assay_tensor *k = tensor_of(h, 1);
    int64_t at;

    for (int64_t t = 0; t < k->dims[1] * k->dims[2] * k->dims[3]; t++)
        if (cell_of(h, w, t / k->dims[3] / k->dims[2],
                    t / k->dims[3] % k->dims[2], t % k->dims[3], &at))
            put(h, 0, (size_t)at, 0);
    for (int64_t least = 64; least >= 1; least /= 2)
        target = spend(h, w, target, least);
}

static void solve_convs(struct hunt *h, size_t first)
{
    const struct assay_conv2d_params *p = &h->y->p.conv2d;
    const struct assay_tensor *k = tensor_of(h, 1);
    const int64_t *out = h->l->slice->tensors[h->y->output].dims;
    int64_t step_h = ((k->dims[1] - 1) * p->dilation_h) / p->stride_h + 1;
    int64_t step_w = ((k->dims[2] - 1) * p->dilation_w) / p->stride_w + 1;
    size_t n = first;

    for (int64_t oy = step_h / 2; oy < out[1]; oy += step_h)
        for (int64_t ox = step_w / 2; ox < out[2]; ox += step_w) {
            const struct assay_fit_witness *t =
                &h->witness[n++ % h->n_witnesses];
            struct window w = {.oy = oy, .ox = ox, .channel = t->channel};
            solve_conv(h, &w, t->acc);
        }
}

/* Two values whose sum or product is the accumulator. */
static void solve_binary(struct hunt *h, size_t first)
{
    const struct assay_fit_problem *p = &h->l->problem;
    const bool product = h->y->p.binary.combine == ASSAY_COMBINE_MUL;
    size_t n[2];

    for (unsigned i = 0; i < 2; i++)
        n[i] = assay_fit_layer_count(h->l, i);
    if (n[0] != n[1] || !h->bytes[0] || !h->bytes[1])
        return;
    for (size_t k = 0; k < n[0]; k++) {
        const struct assay_fit_witness *t =
            &h->witness[(first + k) % h->n_witnesses];
        uint32_t c = p->channels > 1 ? (uint32_t)(k % p->channels) : 0;
        int64_t e = between(h, p->second_lo, p->second_hi), x;

        if (product) {
            for (e = 127; e > 1 && t->acc % e; e--)
                ;
            x = t->acc / e;
        } else {
            x = t->acc - assay_fit_term(p, 0, 0, e, c);
            x = p->x_shift
                    ? assay_shr(x, (int)p->x_shift[c], ASSAY_ROUND_HALF_UP)
                    : x;
        }
        put(h, 0, k, x);
        put(h, 1, k, e);
    }
}

/* A sum over a window or axes, or one value: the first cells hold it all. */
static void solve_sum(struct hunt *h, size_t first)
{
    const struct assay_tensor *t = tensor_of(h, 0);
    size_t n = assay_fit_layer_count(h->l, 0);
    size_t outs = assay_fit_layer_count(h->l, -1);
    int64_t lo, hi, inner = t->rank ? t->dims[t->rank - 1] : 1;
    bool one = h->y->op == ASSAY_OP_UNARY;

    assay_dtype_range(t->dtype, &lo, &hi);
    for (size_t k = 0; k < n; k++)
        put(h, 0, k, 0);
    for (size_t k = 0; one && k < n; k++)
        put(h, 0, k, h->witness[(first + k) % h->n_witnesses].acc);
    for (size_t c = 0; !one && c < (size_t)inner && c < outs; c++) {
        int64_t left = h->witness[(first + c) % h->n_witnesses].acc;
        for (size_t k = c; k < n && left; k += (size_t)inner) {
            int64_t v = left < lo ? lo : left > hi ? hi : left;
            put(h, 0, k, v);
            left -= v;
        }
    }
}

/* Every weight meets the value that drives its sum to one end. */
static void extremes(struct hunt *h, bool up)
{
    const int64_t *out = h->l->slice->tensors[h->y->output].dims;
    const struct assay_tensor *k = tensor_of(h, 1);
    struct window w = {.oy = out[1] / 2, .ox = out[2] / 2};
    int64_t lo, hi, at, taps = k->dims[1] * k->dims[2] * k->dims[3];
    const int8_t *v = k->data;

    assay_dtype_range(tensor_of(h, 0)->dtype, &lo, &hi);
    w.channel = (uint32_t)(next(h) % (uint64_t)k->dims[0]);
    for (int64_t t = 0; t < taps; t++)
        if (cell_of(h, &w, t / k->dims[3] / k->dims[2],
                    t / k->dims[3] % k->dims[2], t % k->dims[3], &at))
            put(h, 0, (size_t)at,
                (v[w.channel * taps + t] > 0) == up ? hi : lo);
}

static void make(struct hunt *h, unsigned k)
{
    bool conv = h->y->op == ASSAY_OP_CONV2D;
    static const unsigned amplitudes[4] = {0, 2, 4, 6};

    random_inputs(h, amplitudes[k / 3 % 4]);
    if (k % 3 == 1 && conv) {
        extremes(h, k / 3 % 2);
    } else if (k % 3 == 0 && h->n_witnesses > 0) {
        if (conv)
            solve_convs(h, k * 7u);
        else if (h->y->op == ASSAY_OP_BINARY)
            solve_binary(h, k * 7u);
        else if (h->y->op == ASSAY_OP_POOL || h->y->op == ASSAY_OP_REDUCE ||
                 h->y->op == ASSAY_OP_UNARY)
            solve_sum(h, k * 7u);
    }
}

/* ---- judging --------------------------------------------------------------- */

static uint64_t hash_of(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h ? h : 1;
}

/* Outputs of every class by the engine; how many different ones. */
static int count_enumerated(struct hunt *h, size_t *classes,
                            struct assay_err *err)
{
    size_t bytes =
        assay_fit_layer_count(h->l, -1) * assay_dtype_bytes(h->l->dtype);
    uint64_t seen[CLASSES];
    void *out = assay_alloc(bytes + 1);
    int rc = out ? 0 : assay_fail(err, ASSAY_EMEMORY, "no memory for a search");

    *classes = 0;
    for (size_t k = 0; !rc && k < h->n_classes; k++) {
        char rule[ASSAY_FIT_RULE_TEXT];
        size_t j = 0;
        assay_fit_rule(h->l->form, &h->classes[k], rule);
        rc = assay_fit_layer_run(h->l, rule, (const void *const *)h->input, out,
                                 err);
        seen[*classes] = hash_of(out, bytes);
        while (j < *classes && seen[j] != seen[*classes])
            j++;
        *classes += j == *classes;
    }
    assay_free(out);
    return rc;
}

static int count_staged(struct hunt *h, size_t *classes, struct assay_err *err)
{
    struct assay_fit_elements e = {.n = assay_fit_layer_count(h->l, -1),
                                   .acc = h->acc,
                                   .second = h->l->second ? h->second : NULL};
    int rc = assay_fit_layer_sums(h->l, (const void *const *)h->input, h->acc,
                                  e.second ? h->second : NULL, err);

    if (rc)
        return rc;
    memset(h->state, 0, h->f->n * sizeof(*h->state));
    for (size_t k = 0; k < h->n_classes; k++)
        h->state[assay_fit_index(&h->l->problem.space, &h->classes[k])] = 1;
    return assay_fit_split(&h->l->problem, &e, h->state, classes, err);
}

static int keep(struct hunt *h, size_t classes, struct assay_err *err)
{
    h->best = h->f->separated = classes;
    for (unsigned i = 0; i < h->y->n_inputs && i < 4; i++) {
        if (!h->bytes[i])
            continue;
        if (!h->f->input[i])
            h->f->input[i] = assay_alloc(h->bytes[i]);
        if (!h->f->input[i])
            return assay_fail(err, ASSAY_EMEMORY, "no memory for an input");
        memcpy(h->f->input[i], h->input[i], h->bytes[i]);
    }
    return 0;
}

static int hunt(struct hunt *h, unsigned tries, struct assay_err *err)
{
    int rc = 0;

    h->best = 1;
    for (unsigned k = 0; !rc && k < tries && h->best < h->n_classes; k++) {
        size_t classes = 0;
        make(h, k);
        rc = h->l->kind == ASSAY_FIT_STAGED
                 ? count_staged(h, &classes, err)
                 : count_enumerated(h, &classes, err);
        if (!rc && classes > h->best)
            rc = keep(h, classes, err);
    }
    return rc;
}

static int open_hunt(struct hunt *h, struct assay_err *err)
{
    const struct assay_fit_sample *s = &h->l->samples[0];
    size_t n = assay_fit_layer_count(h->l, -1);

    for (unsigned i = 0; i < h->y->n_inputs && i < 4; i++) {
        h->bytes[i] = s->bytes[i];
        h->input[i] = s->bytes[i] ? assay_alloc(s->bytes[i]) : s->input[i];
        if (!h->input[i])
            return assay_fail(err, ASSAY_EMEMORY, "no memory for a search");
        if (s->bytes[i])
            memcpy(h->input[i], s->input[i], s->bytes[i]);
    }
    h->acc = assay_alloc(n * sizeof(*h->acc) + 8);
    h->second = assay_alloc(n * sizeof(*h->second) + 8);
    h->state = assay_alloc(h->f->n * sizeof(*h->state));
    if (!h->acc || !h->second || !h->state)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a search");
    h->n_classes = assay_fit_representatives(
        &h->l->problem.space, h->f->state, h->f->n, NULL, h->classes, CLASSES);
    if (h->l->kind == ASSAY_FIT_STAGED)
        h->n_witnesses = assay_fit_witnesses(h->l, h->classes, h->n_classes,
                                             h->witness, WITNESSES);
    return 0;
}

int assay_fit_separate(struct assay_fit_found *f, unsigned tries,
                       struct assay_err *err)
{
    struct hunt h = {.f = f,
                     .l = f->l,
                     .y = assay_fit_layer_of(f->l),
                     .seed = 0x2545f4914f6cdd1du};
    int rc;

    if (f->l->n_samples == 0 || f->classes < 2)
        return 0;
    rc = open_hunt(&h, err);
    if (!rc)
        rc = hunt(&h, tries, err);
    if (!rc && f->separated == 0)
        f->separated = 1; /* tried, none found */
    for (unsigned i = 0; i < 4; i++)
        if (h.bytes[i])
            assay_free(h.input[i]);
    assay_free(h.acc);
    assay_free(h.second);
    assay_free(h.state);
    return rc;
}
