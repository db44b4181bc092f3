/* SPDX-License-Identifier: Apache-2.0 */
/* What programs multiply by, against the scales that they stand for. */
#include "host-tools/lint/lint_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double number(int64_t bits, bool wide)
{
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    if (wide) {
        memcpy(&d, &bits, sizeof(d));
        return d;
    }
    memcpy(&f, &low, sizeof(f));
    return (double)f;
}

bool assay_lint_gain(const struct assay_program *p, uint32_t channel,
                     double *gain)
{
    bool wide = false;

    *gain = 1.0;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        int64_t a = 0;

        if (s->a != NULL && s->n > 0)
            a = s->a[s->n > 1 && channel < s->n ? channel : 0];
        switch (s->kind) {
        case ASSAY_STEP_SHL: *gain = ldexp(*gain, (int)a); break;
        case ASSAY_STEP_SHR: *gain = ldexp(*gain, -(int)a); break;
        case ASSAY_STEP_MUL: *gain *= (double)a; break;
        case ASSAY_STEP_SRDHM:
        case ASSAY_STEP_SDMULH: *gain *= ldexp((double)a, -31); break;
        case ASSAY_STEP_TO_F64: wide = true; break;
        case ASSAY_STEP_FMUL:
        case ASSAY_STEP_FFMA: *gain *= number(a, wide); break;
        case ASSAY_STEP_FDIV: *gain /= number(a, wide); break;
        default: break;
        }
    }
    return isfinite(*gain);
}

/*
 * "966 * 2^-16 = 0.0147399902": what multiplies, and what it stands for. Steps
 * of floats, or two multipliers, are the number alone.
 */
static const char *decoded(const struct assay_program *p, uint32_t channel,
                           double gain, char *out, size_t cap)
{
    int64_t multiplier = 0, shift = 0;
    bool plain = p != NULL;

    for (uint32_t i = 0; plain && i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        int64_t a = s->a == NULL || s->n == 0
                        ? 0
                        : s->a[s->n > 1 && channel < s->n ? channel : 0];
        bool doubles =
            s->kind == ASSAY_STEP_SRDHM || s->kind == ASSAY_STEP_SDMULH;

        if (s->kind == ASSAY_STEP_MUL || doubles) {
            plain = plain && multiplier == 0;
            multiplier = a;
            shift += doubles ? 31 : 0;
        } else if (s->kind == ASSAY_STEP_SHL || s->kind == ASSAY_STEP_SHR) {
            shift += s->kind == ASSAY_STEP_SHR ? a : -a;
        } else if (s->kind >= ASSAY_STEP_TO_F32 &&
                   s->kind <= ASSAY_STEP_FROUND) {
            plain = false;
        }
    }
    if (plain && multiplier != 0)
        snprintf(out, cap, "%" PRId64 " * 2^%" PRId64 " = %.9g", multiplier,
                 -shift, gain);
    else
        snprintf(out, cap, "%.9g", gain);
    return out;
}

/* What a layer, or one of its operands, multiplies by. */
struct factor {
    const char *what;
    const struct assay_program *program; /* NULL: more than one */
    uint32_t channel;
    double want, got;
};

/* More than a half off is another shift or scale; a percent is a scale that is
 * not this one; less, a multiplier that was rounded to too few bits. */
static void compare(struct assay_linter *c, const struct assay_layer *l,
                    const struct factor *f)
{
    char expected[32], found[96];
    double r = f->want > 0.0 ? f->got / f->want : 0.0;
    bool few = fabs(r - 1.0) <= 1.0 / 128.0;

    snprintf(expected, sizeof(expected), "%.9g", f->want);
    assay_lint_add(
        c, ASSAY_LINT_FACTOR,
        r > 1.4 || r < 0.7 ? ASSAY_CONTRADICTION : ASSAY_WARNING, l->name,
        expected, decoded(f->program, f->channel, f->got, found, sizeof(found)),
        "%s of layer '%s' multiplies by %s (channel %" PRIu32
        "), but its scales say %s: %.3g %% off%s",
        f->what, l->name, found, f->channel, expected, 100.0 * (r - 1.0),
        few ? ", a multiplier of too few bits" : "");
}

static bool differs(double want, double got)
{
    return !(fabs(got - want) <= fabs(want) / 4096.0);
}

/* How far apart, in powers of two. */
static double distance(double want, double got)
{
    return got > 0.0 && want > 0.0 ? fabs(log2(got / want)) : 1e9;
}

static void of_sums(struct assay_linter *c, const struct assay_layer *l)
{
    const struct assay_tensor *x = assay_lint_in(c, l, 0);
    const struct assay_tensor *w = assay_lint_in(c, l, 1);
    const struct assay_tensor *y = &c->s->tensors[l->output];
    bool real = y->dtype == ASSAY_F32 && y->quant.n == 0;
    double worst = -1.0, worst_want = 0.0, worst_got = 0.0;
    uint32_t at = 0;

    if (!assay_lint_has_weights(c, l) || !assay_lint_scaled(c, l->inputs[0]) ||
        x->quant.n != 1 || !assay_lint_scaled(c, l->inputs[1]) ||
        (!real && (!assay_lint_scaled(c, l->output) || y->quant.n != 1)) ||
        l->out_program.n_steps == 0)
        return;
    for (uint32_t o = 0; o < (uint32_t)w->dims[0]; o++) {
        double got, want;

        if (w->quant.n > 1 && o >= w->quant.n)
            break;
        want = assay_lint_scale(x, 0) * assay_lint_scale(w, o) /
               (real ? 1.0 : assay_lint_scale(y, 0));
        if (!assay_lint_gain(&l->out_program, o, &got) || !differs(want, got) ||
            distance(want, got) <= worst)
            continue;
        worst = distance(want, got);
        at = o;
        worst_want = want;
        worst_got = got;
    }
    if (worst >= 0.0)
        compare(c, l,
                &(struct factor){"the result", &l->out_program, at, worst_want,
                                 worst_got});
}

/* Operand by operand: its program, then the output's. */
static void of_operands(struct assay_linter *c, const struct assay_layer *l)
{
    const struct assay_tensor *y = &c->s->tensors[l->output];
    bool real = y->dtype == ASSAY_F32 && y->quant.n == 0;
    double behind, got;

    if ((!real && (!assay_lint_scaled(c, l->output) || y->quant.n != 1)) ||
        !assay_lint_gain(&l->out_program, 0, &behind))
        return;
    for (uint32_t i = 0; i < l->n_inputs && i < l->n_in_programs; i++) {
        const struct assay_tensor *x = assay_lint_in(c, l, i);
        double want;

        if (!assay_lint_scaled(c, l->inputs[i]) || x->quant.n != 1)
            continue;
        want = assay_lint_scale(x, 0) / (real ? 1.0 : assay_lint_scale(y, 0));
        if (!assay_lint_gain(&l->in_programs[i], 0, &got))
            continue;
        /* fma(b, k, a): the second operand is multiplied in the join. */
        if (l->op == ASSAY_OP_BINARY && i == 1 &&
            l->p.binary.combine == ASSAY_COMBINE_FFMA)
            got *= (double)l->p.binary.k;
        if (differs(want, got * behind))
            compare(c, l,
                    &(struct factor){i == 0 ? "operand 0" : "an operand",
                                     behind == 1.0 ? &l->in_programs[i] : NULL,
                                     0, want, got * behind});
    }
}

void assay_lint_factors(struct assay_linter *c)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];
        bool sum = l->op == ASSAY_OP_BINARY &&
                   (l->p.binary.combine == ASSAY_COMBINE_ADD ||
                    l->p.binary.combine == ASSAY_COMBINE_FADD ||
                    l->p.binary.combine == ASSAY_COMBINE_FFMA);

        if (l->n_inputs >= 2 && l->op != ASSAY_OP_BINARY)
            of_sums(c, l);
        if (sum || l->op == ASSAY_OP_CONCAT)
            of_operands(c, l);
    }
}
