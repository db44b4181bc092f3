/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worst-case sums of a layer, channel by channel, from its weights: every
 * input value that the dtype has, each tap at its worst. Then the layer's
 * program over that interval, step by step.
 */
#include "host-tools/lint/lint_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What one channel is worth. */
struct sums {
    int64_t lo, hi; /* without bias */
    int64_t bias;
    bool any; /* a weight that is not 0 */
};

/* Over the channels of a layer: the worst one. */
struct worst {
    uint32_t n;       /* channels that are hit */
    uint32_t channel; /* the first or worst of them */
    int64_t value;
    unsigned bits;
};

static unsigned signed_bits(int64_t lo, int64_t hi)
{
    unsigned n = 1;

    while (n < 64 && (hi > (INT64_C(1) << (n - 1)) - 1 ||
                      lo < -(INT64_C(1) << (n - 1)))) {
        n++;
        if (n == 64)
            break;
    }
    return n;
}

/* Sums of it stay in 64 bits. */
static int64_t within(int64_t v)
{
    const int64_t most = INT64_C(1) << 61;

    return v > most ? most : v < -most ? -most : v;
}

static void sum_channel(const struct assay_linter *c,
                        const struct assay_layer *l, uint32_t o,
                        struct sums *out)
{
    const struct assay_tensor *x = assay_lint_in(c, l, 0);
    const struct assay_tensor *w = assay_lint_in(c, l, 1);
    size_t all = 0, bytes = 0, taps;
    int64_t lo, hi, zx = assay_lint_zero(x, 0), zw = assay_lint_zero(w, o);

    memset(out, 0, sizeof(*out));
    if (assay_tensor_count(w, &all, &bytes, NULL) < 0)
        return;
    taps = all / (size_t)w->dims[0];
    assay_dtype_range(x->dtype, &lo, &hi);
    for (size_t i = 0; i < taps; i++) {
        int64_t v = assay_lint_load(w, o * taps + i) - zw;
        int64_t a = (lo - zx) * v, b = (hi - zx) * v;

        out->lo += a < b ? a : b;
        out->hi += a < b ? b : a;
        out->any = out->any || v != 0;
    }
    if (assay_layer_has_bias(l) && l->n_inputs > 2) {
        const struct assay_tensor *b = assay_lint_in(c, l, 2);
        size_t n = 0;

        if (b->data != NULL && assay_tensor_count(b, &n, &bytes, NULL) == 0 &&
            bytes <= b->size && assay_dtype_is_int(b->dtype) && o < n)
            out->bias = within(assay_lint_load(b, o));
    }
}

static void hit(struct worst *w, uint32_t channel, int64_t value, unsigned bits)
{
    if (w->n++ > 0 && bits <= w->bits)
        return;
    w->channel = channel;
    w->value = value;
    w->bits = bits;
}

/* The program of one channel over its interval: where it leaves a width. */
struct walk {
    struct worst mid, left;
    unsigned mid_limit; /* bits of that step */
    struct worst stuck;
};

/* A limit of the result itself is meant; one in the middle may not be. */
static bool scales_behind(const struct assay_program *p, uint32_t at)
{
    for (uint32_t i = at + 1; i < p->n_steps; i++)
        if (p->steps[i].kind == ASSAY_STEP_MUL ||
            p->steps[i].kind == ASSAY_STEP_SHR ||
            p->steps[i].kind == ASSAY_STEP_SRDHM ||
            p->steps[i].kind == ASSAY_STEP_SDMULH)
            return true;
    return false;
}

static void walk_channel(struct walk *k, const struct assay_linter *c,
                         const struct assay_layer *l, uint32_t o,
                         const struct sums *sum)
{
    struct assay_interval v =
        assay_interval_int(sum->lo + sum->bias, sum->hi + sum->bias);
    struct assay_interval second = {0};
    bool cut = false;
    bool has_second = l->op == ASSAY_OP_CONV2D && l->p.conv2d.has_second;

    if (has_second)
        second = assay_interval_of(assay_lint_in(c, l, l->n_inputs - 1)->dtype);
    for (uint32_t i = 0; i < l->out_program.n_steps; i++) {
        struct assay_program one = {.n_steps = 1};
        const struct assay_step *step = &l->out_program.steps[i];
        unsigned before;
        struct assay_interval was = v;

        one.steps[0] = *step;
        if (assay_program_range(&one, o, has_second ? &second : NULL, &v, "",
                                NULL) < 0)
            return; /* the plan has its own sentence for it */
        if (was.kind != ASSAY_VALUE_INT)
            continue;
        before = signed_bits(was.lo, was.hi);
        if ((step->kind == ASSAY_STEP_SAT || step->kind == ASSAY_STEP_WRAP) &&
            !cut && before > step->bits && scales_behind(&l->out_program, i)) {
            cut = true; /* the first one: the others see what it keeps */
            hit(&k->mid, o, was.hi > -(was.lo + 1) ? was.hi : was.lo, before);
            k->mid_limit = step->bits;
        }
        if (v.kind == ASSAY_VALUE_INT && before <= 32 &&
            signed_bits(v.lo, v.hi) > 32 &&
            (step->kind == ASSAY_STEP_SHL ||
             (step->kind == ASSAY_STEP_SHR &&
              step->a[step->n > 1 ? o : 0] < 0)))
            hit(&k->left, o, v.hi > -(v.lo + 1) ? v.hi : v.lo,
                signed_bits(v.lo, v.hi));
    }
    if (v.kind == ASSAY_VALUE_INT && v.lo == v.hi && sum->any &&
        sum->lo < sum->hi && sum->bias != 0)
        hit(&k->stuck, o, sum->bias, 0);
}

static void say_sums(struct assay_linter *c, const struct assay_layer *l,
                     const struct worst *acc, const struct walk *k, uint32_t n)
{
    char found[64], expected[48];

    if (acc->n > 0) {
        snprintf(found, sizeof(found), "%u bits", acc->bits);
        assay_lint_add(c, ASSAY_LINT_ACC_32, ASSAY_WARNING, l->name,
                       "at most 32 bits", found,
                       "sums of layer '%s' can need %u bits (channel %" PRIu32
                       ", %" PRId64 "; headroom %d bits) in %" PRIu32
                       " of %" PRIu32 " channels",
                       l->name, acc->bits, acc->channel, acc->value,
                       32 - (int)acc->bits, acc->n, n);
    }
    if (k->mid.n > 0) {
        snprintf(found, sizeof(found), "%u bits", k->mid.bits);
        snprintf(expected, sizeof(expected), "at most %u bits", k->mid_limit);
        assay_lint_add(
            c, ASSAY_LINT_MID_16, ASSAY_HINT, l->name, expected, found,
            "values of layer '%s' can need %u bits (channel %" PRIu32
            ") where a step keeps %u, in %" PRIu32 " of %" PRIu32
            " channels: only data says whether they do",
            l->name, k->mid.bits, k->mid.channel, k->mid_limit, k->mid.n, n);
    }
    if (k->left.n > 0) {
        snprintf(found, sizeof(found), "%" PRId64, k->left.value);
        assay_lint_add(c, ASSAY_LINT_LEFT_SHIFT, ASSAY_WARNING, l->name,
                       "at most 32 bits", found,
                       "left-shift overflow in layer '%s': channel %" PRIu32
                       " reaches %s",
                       l->name, k->left.channel, found);
    }
    if (k->stuck.n > 0) {
        snprintf(found, sizeof(found), "%" PRId64, k->stuck.value);
        assay_lint_add(c, ASSAY_LINT_BIAS_STUCK, ASSAY_WARNING, l->name,
                       "a bias that the sum can balance", found,
                       "the bias %s of channel %" PRIu32 " of layer '%s' keeps "
                       "the output at one value whatever the input, in %" PRIu32
                       " of %" PRIu32 " channels",
                       found, k->stuck.channel, l->name, k->stuck.n, n);
    }
}

static void bias_values(struct assay_linter *c, const struct assay_layer *l,
                        const struct worst *rail, const struct worst *line,
                        uint32_t n)
{
    char found[64];

    if (rail->n > 0) {
        snprintf(found, sizeof(found), "%" PRId64, rail->value);
        assay_lint_add(c, ASSAY_LINT_BIAS_RAIL, ASSAY_CONTRADICTION, l->name,
                       "inside int32", found,
                       "the bias of layer '%s' is clipped to %s in channel "
                       "%" PRIu32 ", %" PRIu32 " of %" PRIu32
                       " channels: its scale is too small",
                       l->name, found, rail->channel, rail->n, n);
    }
    if (line->n > 0) {
        snprintf(found, sizeof(found), "%u ranges", line->bits);
        assay_lint_add(c, ASSAY_LINT_BIAS_LINE, ASSAY_WARNING, l->name,
                       "at most 4 ranges of the output", found,
                       "the bias %" PRId64 " of channel %" PRIu32
                       " of layer '%s' alone is %u times the output's range, "
                       "in %" PRIu32 " of %" PRIu32
                       " channels: a folded batch norm out of line",
                       line->value, line->channel, l->name, line->bits, line->n,
                       n);
    }
}

/* How many ranges of the output the bias is worth; 0: that is not known. */
static unsigned ranges(const struct assay_linter *c,
                       const struct assay_layer *l, uint32_t o, int64_t bias)
{
    const struct assay_tensor *y = &c->s->tensors[l->output];
    int64_t lo, hi;
    double gain, r;

    if (!assay_dtype_is_int(y->dtype) || y->dtype == ASSAY_S32 ||
        y->dtype == ASSAY_S64 || !assay_lint_gain(&l->out_program, o, &gain))
        return 0;
    assay_dtype_range(y->dtype, &lo, &hi);
    r = fabs((double)bias * gain) / (double)(hi - lo);
    return r < 1e9 ? (unsigned)r : 1000000000u;
}

static void layer_sums(struct assay_linter *c, const struct assay_layer *l)
{
    const struct assay_tensor *w = assay_lint_in(c, l, 1);
    struct worst acc = {0}, rail = {0}, line = {0};
    struct walk k;
    uint32_t n = (uint32_t)w->dims[0];

    memset(&k, 0, sizeof(k));
    for (uint32_t o = 0; o < n; o++) {
        struct sums sum;
        unsigned bits, r;

        sum_channel(c, l, o, &sum);
        bits = signed_bits(sum.lo + sum.bias, sum.hi + sum.bias);
        if (bits > 32)
            hit(&acc, o,
                sum.hi + sum.bias > -(sum.lo + sum.bias) ? sum.hi + sum.bias
                                                         : sum.lo + sum.bias,
                bits);
        /* One off the rail too: -2147483647 is a symmetric clip. */
        if (sum.bias >= INT32_MAX || sum.bias <= -INT32_MAX)
            hit(&rail, o, sum.bias, 0);
        r = ranges(c, l, o, sum.bias);
        if (r > 4)
            hit(&line, o, sum.bias, r);
        walk_channel(&k, c, l, o, &sum);
    }
    bias_values(c, l, &rail, &line, n);
    say_sums(c, l, &acc, &k, n);
}

/* Integers of at most 16 bits: sums of products stay in 64. */
static bool is_narrow(enum assay_dtype d)
{
    return assay_dtype_is_int(d) && assay_dtype_bytes(d) <= 2;
}

void assay_lint_sums(struct assay_linter *c)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];

        if (assay_lint_has_weights(c, l) &&
            is_narrow(assay_lint_in(c, l, 0)->dtype) &&
            is_narrow(assay_lint_in(c, l, 1)->dtype))
            layer_sums(c, l);
    }
}
