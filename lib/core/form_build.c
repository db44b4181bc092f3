/* SPDX-License-Identifier: Apache-2.0 */
/* From the steps of a rule and the fields of a layer to a program. */
#include "lib/core/form_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/arith_build.h"

const struct assay_field *assay_rule_field(const struct assay_rule_use *u,
                                           const char *name)
{
    if (u->derived_scale.n && !strcmp(name, "scale"))
        return &u->derived_scale;
    if (u->derived_shift.n && !strcmp(name, "post_shift"))
        return &u->derived_shift;
    return assay_field_find(u->l, name);
}

/* ---- derive ------------------------------------------------------------- */

static double rounded(double v, uint8_t round)
{
    double below = floor(v), rest = v - below;

    switch (round) {
    case ASSAY_ROUND_FLOOR:
    case ASSAY_ROUND_TRUNC: return below; /* v > 0 */
    case ASSAY_ROUND_CEIL: return below + (rest > 0);
    case ASSAY_ROUND_HALF_EVEN:
        return below + (rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0));
    case ASSAY_ROUND_HALF_DOWN:
    case ASSAY_ROUND_HALF_ZERO: return below + (rest > 0.5);
    default: return below + (rest >= 0.5);
    }
}

#define DERIVED_LEAST 16384 /* 2^14: a multiplier has 15 bits */
#define DERIVED_SHIFT 62

/* real ~ scale * 2^-shift, scale in [2^14, 2^15) where the shift allows it. */
static void free_shift(double real, uint8_t round, int64_t *scale,
                       int64_t *shift)
{
    int exponent;

    (void)frexp(real, &exponent); /* real = f * 2^exponent, f in [0.5, 1) */
    *shift = 15 - exponent;
    if (*shift > DERIVED_SHIFT)
        *shift = DERIVED_SHIFT;
    *scale = (int64_t)rounded(ldexp(real, (int)*shift), round);
    if (*scale == 2 * DERIVED_LEAST) {
        *scale = DERIVED_LEAST;
        (*shift)--;
    }
}

static int derive_one(struct assay_rule_use *u, uint8_t round, double real,
                      const int64_t *given, int64_t *scale, int64_t *shift)
{
    double v;

    if (!isfinite(real) || real <= 0 || real >= 1073741824.0)
        return assay_fail(u->err, ASSAY_ERANGE,
                          "field 'real' is %g, expected above 0 and below 2^30",
                          real);
    if (!given) {
        free_shift(real, round, scale, shift);
        if (*shift >= 0)
            return 0;
        return assay_fail(u->err, ASSAY_ERANGE,
                          "field 'real' is %g: a multiplier of 15 bits needs "
                          "a shift to the left",
                          real);
    }
    if (*given < 0 || *given > DERIVED_SHIFT)
        return assay_fail(u->err, ASSAY_ERANGE,
                          "field 'post_shift' is %lld, expected 0 to %d",
                          (long long)*given, DERIVED_SHIFT);
    v = rounded(ldexp(real, (int)*given), round);
    if (v >= 4611686018427387904.0)
        return assay_fail(u->err, ASSAY_ERANGE,
                          "field 'real' is %g: times 2^%lld it leaves 62 bits",
                          real, (long long)*given);
    *scale = (int64_t)v;
    *shift = *given;
    return 0;
}

static bool names_scale(const struct assay_rule *r)
{
    for (uint32_t i = 0; i < r->n[ASSAY_SECTION_LAST]; i++)
        for (int a = 0; a < 2; a++) {
            const char *name = r->step[ASSAY_SECTION_LAST][i].arg[a].name;

            if (name && !strcmp(name, "scale"))
                return true;
        }
    return false;
}

int assay_rule_derive(struct assay_rule_use *u)
{
    const struct assay_rule_step *s = u->rule->step[ASSAY_SECTION_LAST];
    const struct assay_field *real = assay_field_find(u->l, "real");
    const struct assay_field *given = assay_field_find(u->l, "post_shift");
    int64_t *scale, *shift;
    uint32_t n;

    if (!real || assay_field_find(u->l, "scale"))
        return 0;
    if (!u->rule->n[ASSAY_SECTION_LAST] || s->word != ASSAY_WORD_DERIVE)
        return names_scale(u->rule)
                   ? assay_fail(u->err, ASSAY_EUSAGE,
                                "there is no multiplier in the file, but a "
                                "real scale: expected a rule that begins with "
                                "derive")
                   : 0;
    n = given && given->n > real->n ? given->n : real->n;
    if ((real->n != 1 && real->n != n) ||
        (given && given->n != 1 && given->n != n))
        return assay_fail(u->err, ASSAY_EFORMAT,
                          "fields 'real' and 'post_shift' have %u and %u "
                          "entries",
                          (unsigned)real->n, (unsigned)given->n);
    scale = assay_arena_array(u->s->arena, 2 * (size_t)n, sizeof(*scale));
    if (!scale)
        return assay_fail(u->err, ASSAY_EMEMORY, "out of memory");
    shift = scale + n;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *g = given ? &given->v[given->n > 1 ? i : 0] : NULL;
        double v;
        int rc;

        memcpy(&v, &real->v[real->n > 1 ? i : 0], sizeof(v));
        rc = derive_one(u, s->round, v, g, &scale[i], &shift[i]);
        if (rc)
            return rc;
    }
    u->derived_scale = (struct assay_field){"scale", n, scale};
    u->derived_shift = (struct assay_field){"post_shift", n, shift};
    return 0;
}

/* ---- operands ----------------------------------------------------------- */

struct build {
    struct assay_rule_use *u;
    enum assay_dtype out;
    struct assay_program p;
};

static int no_memory(const struct build *b)
{
    return assay_fail(b->u->err, ASSAY_EMEMORY,
                      "out of memory while a program was built");
}

static int append(struct build *b, const struct assay_step *s)
{
    if (b->p.n_steps == ASSAY_MAX_STEPS)
        return assay_fail(b->u->err, ASSAY_EUNSUPPORTED,
                          "the program is longer than %d steps",
                          ASSAY_MAX_STEPS);
    b->p.steps[b->p.n_steps++] = *s;
    return 0;
}

static int literal(struct build *b, int64_t v, const int64_t **out)
{
    int64_t *a = assay_arena_alloc(b->u->s->arena, sizeof(*a));

    if (!a)
        return no_memory(b);
    *a = v;
    *out = a;
    return 0;
}

/* An operand's integers, borrowed from its field; *n 0: the layer has none. */
static int operand(struct build *b, const struct assay_rule_operand *o,
                   uint32_t *n, const int64_t **v)
{
    const struct assay_field *f;

    if (!o->name) {
        *n = 1;
        return literal(b, o->v, v);
    }
    f = assay_rule_field(b->u, o->name);
    *n = f ? f->n : 0;
    *v = f ? f->v : NULL;
    return 0;
}

static int check_range(const struct build *b,
                       const struct assay_rule_operand *o, uint32_t n,
                       const int64_t *v, int64_t lo, int64_t hi)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i] < lo || v[i] > hi)
            return assay_fail(b->u->err, ASSAY_ERANGE,
                              "%s%s%s is %lld, expected %lld to %lld",
                              o->name ? "field '" : "the operand",
                              o->name ? o->name : "", o->name ? "'" : "",
                              (long long)v[i], (long long)lo, (long long)hi);
    return 0;
}

/* `n` entries of a list that has one; made once for each field and layer. */
static int spread(struct build *b, const struct assay_rule_operand *o,
                  uint32_t n, uint32_t had, const int64_t **v)
{
    char name[40];
    const struct assay_field *f;
    int64_t *all;
    int rc;

    if (had == n)
        return 0;
    if (had != 1)
        return assay_fail(b->u->err, ASSAY_EFORMAT,
                          "two fields of one step have %u and %u entries",
                          (unsigned)had, (unsigned)n);
    snprintf(name, sizeof(name), ".%s", o->name ? o->name : "");
    f = o->name ? assay_field_find(b->u->l, name) : NULL;
    if (f && f->n == n && f->v[0] == **v) {
        *v = f->v;
        return 0;
    }
    all = assay_arena_array(b->u->s->arena, n, sizeof(*all));
    if (!all)
        return no_memory(b);
    for (uint32_t i = 0; i < n; i++)
        all[i] = **v;
    *v = all;
    if (!o->name)
        return 0;
    rc = assay_field_add(b->u->s, b->u->l, name, n, all, b->u->err);
    return rc;
}

/* Two operands of one length. */
static int pair(struct build *b, const struct assay_rule_step *r, uint32_t *n,
                const int64_t *v[2])
{
    uint32_t had[2];
    int rc = operand(b, &r->arg[0], &had[0], &v[0]);

    if (!rc)
        rc = operand(b, &r->arg[1], &had[1], &v[1]);
    if (rc)
        return rc;
    *n = had[0] > had[1] ? had[0] : had[1];
    if (!had[0] || !had[1])
        *n = 0;
    for (int i = 0; *n && !rc && i < 2; i++)
        rc = spread(b, &r->arg[i], *n, had[i], &v[i]);
    return rc;
}

/* ---- steps -------------------------------------------------------------- */

static int one_operand(struct build *b, const struct assay_rule_step *r,
                       enum assay_step_kind kind)
{
    struct assay_step s = {.kind = (uint8_t)kind};
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    int rc = operand(b, &r->arg[0], &s.n, &s.a);

    if (rc || !s.n)
        return rc;
    if (kind == ASSAY_STEP_ADD)
        s.add_mode = r->mode;
    if (kind == ASSAY_STEP_SHR)
        s.round = r->round;
    if (kind == ASSAY_STEP_SHL || kind == ASSAY_STEP_SHR) {
        lo = kind == ASSAY_STEP_SHL ? 0 : -62;
        hi = 62;
    } else if (kind == ASSAY_STEP_SRDHM || kind == ASSAY_STEP_SDMULH) {
        lo = INT32_MIN;
        hi = INT32_MAX;
    }
    if (kind == ASSAY_STEP_SHR && b->u->between && r->arg[0].name &&
        !strcmp(r->arg[0].name, "frac"))
        rc = literal(b, s.a[0] - b->u->between, &s.a);
    if (!rc)
        rc = check_range(b, &r->arg[0], s.n, s.a, lo, hi);
    return rc ? rc : append(b, &s);
}

/* The second input, shifted before or behind the multiplication. */
static int second_input(struct build *b, const struct assay_rule_step *r)
{
    bool scaled = r->word == ASSAY_WORD_ADD_SCALED;
    struct assay_step s = {.kind = (uint8_t)(scaled ? ASSAY_STEP_ADD_SCALED
                                                    : ASSAY_STEP_ADD_INPUT),
                           .round = r->round};
    const int64_t *v[2];
    int rc = pair(b, r, &s.n, v);

    if (rc || !s.n)
        return rc;
    s.a = v[scaled];
    s.b = v[!scaled];
    rc = check_range(b, &r->arg[scaled], s.n, s.a, -62, 62);
    return rc ? rc : append(b, &s);
}

static int bounds(struct build *b, int64_t lo, int64_t hi)
{
    struct assay_step s = {.kind = ASSAY_STEP_CLAMP, .n = 1};
    int rc = literal(b, lo, &s.a);

    if (!rc)
        rc = literal(b, hi, &s.b);
    return rc ? rc : append(b, &s);
}

static int clamp(struct build *b, const struct assay_rule_step *r)
{
    struct assay_step s = {.kind = ASSAY_STEP_CLAMP};
    const int64_t *v[2];
    int rc = pair(b, r, &s.n, v);

    if (rc || !s.n)
        return rc;
    s.a = v[0];
    s.b = v[1];
    return append(b, &s);
}

/* sat and wrap are of signed integers; others are clamped. */
static int width(struct build *b, const struct assay_rule_step *r)
{
    bool wrap = r->word == ASSAY_WORD_WRAP;
    struct assay_step s = {
        .kind = (uint8_t)(wrap ? ASSAY_STEP_WRAP : ASSAY_STEP_SAT),
        .bits = r->bits};
    int64_t lo, hi;

    if (wrap && s.bits == 32 && b->p.n_steps == 0 && b->u->sum_wraps)
        return 0;
    if (s.bits)
        return append(b, &s);
    if (!assay_dtype_is_int(b->out))
        return assay_fail(b->u->err, ASSAY_EUSAGE,
                          "%s out: the output is %s, expected integers",
                          wrap ? "wrap" : "sat", assay_dtype_name(b->out));
    if (b->out == ASSAY_S64)
        return 0;
    /* What a segment table gives has 16 bits already. */
    if (b->u->l->op == ASSAY_OP_SEGMENT_TABLE && b->out == ASSAY_S16 &&
        b->p.n_steps == 0)
        return 0;
    assay_dtype_range(b->out, &lo, &hi);
    if (lo < 0) {
        s.bits = (uint8_t)(8 * assay_dtype_bytes(b->out));
        return append(b, &s);
    }
    if (wrap)
        return assay_fail(b->u->err, ASSAY_EUNSUPPORTED,
                          "wrap out: the output is %s, known is a signed one",
                          assay_dtype_name(b->out));
    return bounds(b, lo, hi);
}

static int relu(struct build *b)
{
    int64_t lo, hi;

    if (!assay_field_find(b->u->l, "relu"))
        return 0;
    if (!assay_dtype_is_int(b->out))
        return assay_fail(b->u->err, ASSAY_EUSAGE,
                          "relu: the output is %s, expected integers",
                          assay_dtype_name(b->out));
    assay_dtype_range(b->out, &lo, &hi);
    return bounds(b, 0, hi);
}

static int64_t float_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return (int64_t)u;
}

/* A field holds binary32 bits; an integer in the rule is that number. */
static int float_step(struct build *b, const struct assay_rule_step *r,
                      enum assay_step_kind kind)
{
    struct assay_step s = {.kind = (uint8_t)kind};
    struct assay_rule_operand o = r->arg[0];
    int rc;

    if (!o.name)
        o.v = float_bits((float)o.v);
    rc = operand(b, &o, &s.n, &s.a);
    if (rc || !s.n)
        return rc;
    rc = check_range(b, &o, s.n, s.a, 0, UINT32_MAX);
    return rc ? rc : append(b, &s);
}

static int fclamp(struct build *b)
{
    struct assay_step s = {.kind = ASSAY_STEP_FCLAMP, .n = 1};
    int64_t lo, hi;
    int rc;

    if (!assay_dtype_is_int(b->out))
        return assay_fail(b->u->err, ASSAY_EUSAGE,
                          "fclamp out: the output is %s, expected integers",
                          assay_dtype_name(b->out));
    assay_dtype_range(b->out, &lo, &hi);
    rc = literal(b, float_bits((float)lo), &s.a);
    if (!rc)
        rc = literal(b, float_bits((float)hi), &s.b);
    return rc ? rc : append(b, &s);
}

static int plain(struct build *b, enum assay_step_kind kind, uint8_t round)
{
    struct assay_step s = {.kind = (uint8_t)kind, .round = round};

    return append(b, &s);
}

static int step(struct build *b, const struct assay_rule_step *r)
{
    switch (r->word) {
    case ASSAY_WORD_ADD: return one_operand(b, r, ASSAY_STEP_ADD);
    case ASSAY_WORD_SHL: return one_operand(b, r, ASSAY_STEP_SHL);
    case ASSAY_WORD_SHR: return one_operand(b, r, ASSAY_STEP_SHR);
    case ASSAY_WORD_MUL: return one_operand(b, r, ASSAY_STEP_MUL);
    case ASSAY_WORD_ADD_ZP: return one_operand(b, r, ASSAY_STEP_ADD_ZP);
    case ASSAY_WORD_SRDHM: return one_operand(b, r, ASSAY_STEP_SRDHM);
    case ASSAY_WORD_SDMULH: return one_operand(b, r, ASSAY_STEP_SDMULH);
    case ASSAY_WORD_ADD_INPUT:
    case ASSAY_WORD_ADD_SCALED: return second_input(b, r);
    case ASSAY_WORD_SAT:
    case ASSAY_WORD_WRAP: return width(b, r);
    case ASSAY_WORD_CLAMP: return clamp(b, r);
    case ASSAY_WORD_RELU: return relu(b);
    case ASSAY_WORD_TO_F32: return plain(b, ASSAY_STEP_TO_F32, 0);
    case ASSAY_WORD_FMUL: return float_step(b, r, ASSAY_STEP_FMUL);
    case ASSAY_WORD_FDIV: return float_step(b, r, ASSAY_STEP_FDIV);
    case ASSAY_WORD_FADD: return float_step(b, r, ASSAY_STEP_FADD);
    case ASSAY_WORD_FCLAMP: return fclamp(b);
    case ASSAY_WORD_FROUND: return plain(b, ASSAY_STEP_FROUND, r->round);
    case ASSAY_WORD_DERIVE:
    case ASSAY_WORD_INDEX:
    case ASSAY_WORD_LINE:
    case ASSAY_WORD_MIX:
    case ASSAY_WORD_BETWEEN: break; /* parameters: form.c */
    }
    return 0;
}

int assay_rule_program(struct assay_rule_use *u, uint32_t section,
                       struct assay_program *out)
{
    struct build b = {.u = u, .out = u->s->tensors[u->l->output].dtype};
    bool skip = section == ASSAY_SECTION_LAST && u->bias_in_sum;

    for (uint32_t i = 0; i < u->rule->n[section]; i++) {
        const struct assay_rule_step *r = &u->rule->step[section][i];
        int rc;

        if (skip && r->word == ASSAY_WORD_ADD) {
            skip = false; /* the kernel's sum begins with it */
            continue;
        }
        rc = step(&b, r);
        if (rc)
            return rc;
    }
    *out = b.p;
    return 0;
}
