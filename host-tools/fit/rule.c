/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate as a rule of lib/core/form.h, and back. */
#include <stdarg.h>
#include <string.h>

#include "host-tools/fit/space.h"
#include "lib/core/form.h"

/* ---- writing --------------------------------------------------------------- */

struct text {
    char *out;
    size_t n;
    bool step; /* a step stands before: "; " */
};

static void put(struct text *t, const char *s)
{
    while (*s && t->n + 1 < ASSAY_FIT_RULE_TEXT)
        t->out[t->n++] = *s++;
    t->out[t->n] = '\0';
}

/* Words up to NULL as one step. */
static void step(struct text *t, ...)
{
    va_list ap;
    const char *word;
    bool first = true;
    if (t->step)
        put(t, "; ");
    t->step = true;
    va_start(ap, t);
    while ((word = va_arg(ap, const char *)) != NULL) {
        if (!first)
            put(t, " ");
        first = false;
        put(t, word);
    }
    va_end(ap);
}

static void section(struct text *t, const char *name)
{
    if (t->n > 0)
        put(t, " | ");
    put(t, name);
    t->step = false;
}

/* What joins at one of the three positions. */
static void joins(struct text *t, const struct assay_fit_choice *c, unsigned at,
                  bool bias, bool second)
{
    const char *round = assay_round_name(c->v[ASSAY_FIT_SECOND_ROUND]);
    if (bias && c->v[ASSAY_FIT_BIAS] == at)
        step(t, "add", "bias", NULL);
    if (!second || c->v[ASSAY_FIT_SECOND] != at)
        return;
    if (c->v[ASSAY_FIT_HOW] == 0)
        step(t, "add_input", "second_shift", round, "second_scale", NULL);
    else
        step(t, "add_scaled", "second_scale", "second_shift", round, NULL);
}

static void width(struct text *t, const struct assay_fit_choice *c,
                  enum assay_fit_dim dim)
{
    static const char *const how[2][5] = {{"", "wrap", "sat", "", ""},
                                          {"", "sat", "wrap", "sat", "wrap"}};
    static const char *const bits[2][5] = {{"", "32", "32", "", ""},
                                           {"", "16", "16", "32", "32"}};
    unsigned k = dim == ASSAY_FIT_MIDDLE, v = c->v[dim];
    if (v > 0)
        step(t, how[k][v], bits[k][v], NULL);
}

static void last(struct text *t, const struct assay_fit_choice *c)
{
    step(t, c->v[ASSAY_FIT_OUT] ? "wrap" : "sat", "out", NULL);
    step(t, "relu", NULL);
}

static void tail(struct text *t, const struct assay_fit_choice *c)
{
    struct assay_fit_choice at = *c;
    at.v[ASSAY_FIT_BIAS] = at.v[ASSAY_FIT_SECOND] = ASSAY_FIT_AT_ACC;
    joins(t, &at, ASSAY_FIT_AT_ACC, true, true);
    width(t, c, ASSAY_FIT_WIDTH);
    last(t, c);
}

/* A sum of two tensors: the steps before the second one joins are x's. */
static void join_section(struct text *t, const struct assay_fit_choice *c,
                         unsigned at)
{
    if (c->v[ASSAY_FIT_SECOND] != at)
        return;
    section(t, "e: ");
    step(t, "shl", "e_shift", NULL);
    step(t, "mul", "e_scale", NULL);
    section(t, "");
    step(t, "derive",
         assay_fit_value_name(ASSAY_FIT_DERIVE, c->v[ASSAY_FIT_DERIVE]), NULL);
}

static void scaling(struct text *t, const struct assay_fit_space *space,
                    const struct assay_fit_choice *c, bool sum)
{
    const char *derive =
        assay_fit_value_name(ASSAY_FIT_DERIVE, c->v[ASSAY_FIT_DERIVE]);
    bool bias = space->radix[ASSAY_FIT_BIAS] > 1;
    bool second = space->radix[ASSAY_FIT_HOW] > 1;

    if (sum) {
        section(t, "x: ");
        step(t, "shl", "x_shift", NULL);
        join_section(t, c, ASSAY_FIT_AT_ACC);
    } else if (space->radix[ASSAY_FIT_DERIVE] > 1) {
        step(t, "derive", derive, NULL);
    }
    joins(t, c, ASSAY_FIT_AT_ACC, bias, second);
    width(t, c, ASSAY_FIT_WIDTH);
    step(t, "shr", "pre_shift", assay_round_name(c->v[ASSAY_FIT_PRE]), NULL);
    if (sum)
        join_section(t, c, ASSAY_FIT_AT_PRE);
    joins(t, c, ASSAY_FIT_AT_PRE, bias, second);
    width(t, c, ASSAY_FIT_MIDDLE);
    step(t, "mul", "scale", NULL);
    if (sum)
        join_section(t, c, ASSAY_FIT_AT_PRODUCT);
    joins(t, c, ASSAY_FIT_AT_PRODUCT, bias, second);
    step(t, "shr", "post_shift", assay_round_name(c->v[ASSAY_FIT_POST]), NULL);
    last(t, c);
}

static void enumerated(struct text *t, const char *form,
                       const struct assay_fit_choice *c)
{
    const char *post = assay_round_name(c->v[ASSAY_FIT_POST]);
    const char *out = c->v[ASSAY_FIT_OUT] ? "wrap" : "sat";

    if (strcmp(form, "lut") == 0) {
        step(t, "index", c->v[ASSAY_FIT_INDEX] ? "unsigned" : "ascending",
             NULL);
    } else if (strcmp(form, "lut_segments") == 0) {
        step(t, "line", assay_round_name(c->v[ASSAY_FIT_LINE]), NULL);
        step(t, "mix", assay_round_name(c->v[ASSAY_FIT_MIX]), NULL);
        step(t, out, "out", NULL);
    } else if (strcmp(form, "quantize") == 0) {
        step(t, "fdiv", "scale_f32", NULL);
        step(t, "fclamp", "out", NULL);
        step(t, "fround", post, NULL);
    } else if (strcmp(form, "prelu") == 0) {
        section(t, "pos: ");
        step(t, "mul", "pos_scale", NULL);
        step(t, "shr", "pos_shift", assay_round_name(c->v[ASSAY_FIT_POSITIVE]),
             NULL);
        step(t, out, "out", NULL);
        section(t, "neg: ");
        step(t, "mul", "slope", NULL);
        step(t, "shr", "slope_shift", assay_round_name(c->v[ASSAY_FIT_PRE]),
             NULL);
        step(t, "mul", "neg_scale", NULL);
        step(t, "shr", "neg_shift", post, NULL);
        step(t, out, "out", NULL);
    } else {
        if (c->v[ASSAY_FIT_BETWEEN])
            step(t, "between", "8", NULL);
        step(t, "shr", "frac", post, NULL);
        step(t, out, "out", NULL);
    }
}

void assay_fit_rule(const char *form, const struct assay_fit_choice *choice,
                    char out[ASSAY_FIT_RULE_TEXT])
{
    struct text t = {.out = out};
    struct assay_fit_space space = assay_fit_space_of(form);
    bool sum =
        space.radix[ASSAY_FIT_SECOND] > 1 && space.radix[ASSAY_FIT_HOW] == 1;

    out[0] = '\0';
    if (assay_fit_kind_of(form) == ASSAY_FIT_ENUMERATED)
        enumerated(&t, form, choice);
    else if (space.radix[ASSAY_FIT_POST] == 1)
        tail(&t, choice);
    else
        scaling(&t, &space, choice, sum);
}

/* ---- reading --------------------------------------------------------------- */

struct words {
    char text[64];
    const char *v[5];
    unsigned n;
};

struct parse {
    struct assay_fit_choice c;
    const char *form;
    unsigned at; /* position: acc, behind pre-shift, product; 3: shifted */
    bool second, negative;
};

static bool is(const struct words *w, unsigned i, const char *word)
{
    return i < w->n && strcmp(w->v[i], word) == 0;
}

static bool round_of(const struct words *w, unsigned i, uint8_t *out)
{
    for (unsigned r = 0; r < 8; r++)
        if (is(w, i, assay_round_name(r))) {
            *out = (uint8_t)r;
            return true;
        }
    return false;
}

static bool parse_shr(struct parse *p, const struct words *w)
{
    static const struct {
        const char *field;
        enum assay_fit_dim dim;
        unsigned at;
    } shifts[] = {
        {"pre_shift", ASSAY_FIT_PRE, 1},      {"post_shift", ASSAY_FIT_POST, 3},
        {"frac", ASSAY_FIT_POST, 3},          {"slope_shift", ASSAY_FIT_PRE, 1},
        {"pos_shift", ASSAY_FIT_POSITIVE, 3}, {"neg_shift", ASSAY_FIT_POST, 3},
    };
    for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++)
        if (w->n == 3 && is(w, 1, shifts[i].field)) {
            p->at = shifts[i].at;
            return round_of(w, 2, &p->c.v[shifts[i].dim]);
        }
    return false;
}

static bool parse_width(struct parse *p, const struct words *w)
{
    bool wrap = is(w, 0, "wrap");
    if (w->n != 2)
        return false;
    if (is(w, 1, "out")) {
        p->c.v[ASSAY_FIT_OUT] = wrap;
        return true;
    }
    if (p->at == 0 && is(w, 1, "32"))
        p->c.v[ASSAY_FIT_WIDTH] = wrap ? 1 : 2;
    else if (p->at <= 1 && is(w, 1, "16"))
        p->c.v[ASSAY_FIT_MIDDLE] = wrap ? 2 : 1;
    else if (p->at == 1 && is(w, 1, "32"))
        p->c.v[ASSAY_FIT_MIDDLE] = wrap ? 4 : 3;
    else
        return false;
    return true;
}

static bool parse_join(struct parse *p, const struct words *w)
{
    if (p->at > ASSAY_FIT_AT_PRODUCT)
        return false;
    if (is(w, 0, "add")) {
        p->c.v[ASSAY_FIT_BIAS] = (uint8_t)p->at;
        if (w->n == 3)
            p->c.v[ASSAY_FIT_WIDTH] = is(w, 2, "wrap32") ? 1 : 2;
        return is(w, 1, "bias") && w->n <= 3 && (w->n == 2 || p->at == 0);
    }
    p->c.v[ASSAY_FIT_SECOND] = (uint8_t)p->at;
    p->c.v[ASSAY_FIT_HOW] = is(w, 0, "add_scaled");
    if (is(w, 0, "add_scaled"))
        return is(w, 1, "second_scale") && is(w, 2, "second_shift") &&
               round_of(w, 3, &p->c.v[ASSAY_FIT_SECOND_ROUND]);
    return is(w, 1, "second_shift") && is(w, 3, "second_scale") &&
           round_of(w, 2, &p->c.v[ASSAY_FIT_SECOND_ROUND]);
}

static bool parse_plain(struct parse *p, const struct words *w)
{
    if (is(w, 0, "mul")) {
        if (is(w, 1, "scale"))
            p->at = 2;
        return is(w, 1, "scale") || is(w, 1, "e_scale") || is(w, 1, "slope") ||
               is(w, 1, "pos_scale") || is(w, 1, "neg_scale");
    }
    if (is(w, 0, "shl"))
        return is(w, 1, "x_shift") || is(w, 1, "e_shift");
    if (is(w, 0, "index")) {
        p->c.v[ASSAY_FIT_INDEX] = is(w, 1, "unsigned");
        return w->n == 2;
    }
    if (is(w, 0, "line"))
        return round_of(w, 1, &p->c.v[ASSAY_FIT_LINE]);
    if (is(w, 0, "mix"))
        return round_of(w, 1, &p->c.v[ASSAY_FIT_MIX]);
    if (is(w, 0, "between")) {
        p->c.v[ASSAY_FIT_BETWEEN] = is(w, 1, "8");
        return is(w, 1, "8") || is(w, 1, "0");
    }
    if (is(w, 0, "fround"))
        return round_of(w, 1, &p->c.v[ASSAY_FIT_POST]);
    if (is(w, 0, "derive")) {
        p->c.v[ASSAY_FIT_DERIVE] = (uint8_t)(is(w, 1, "half_up") ? 1
                                             : is(w, 1, "ceil")  ? 2
                                                                 : 0);
        return is(w, 1, "floor") || is(w, 1, "half_up") || is(w, 1, "ceil");
    }
    return is(w, 0, "relu") || (is(w, 0, "fdiv") && is(w, 1, "scale_f32")) ||
           (is(w, 0, "fclamp") && is(w, 1, "out"));
}

static bool parse_step(struct parse *p, const char *s, size_t n)
{
    struct words w = {.n = 0};
    char *save = NULL;
    if (n >= sizeof(w.text))
        return false;
    memcpy(w.text, s, n);
    w.text[n] = '\0';
    for (char *word = strtok_r(w.text, " \t", &save); word;
         word = strtok_r(NULL, " \t", &save)) {
        if (w.n == 5)
            return false;
        w.v[w.n++] = word;
    }
    if (w.n == 0)
        return true;
    if (is(&w, 0, "shr"))
        return parse_shr(p, &w);
    if (is(&w, 0, "sat") || is(&w, 0, "wrap"))
        return parse_width(p, &w);
    if (is(&w, 0, "add") || is(&w, 0, "add_input") || is(&w, 0, "add_scaled"))
        return parse_join(p, &w);
    return parse_plain(p, &w);
}

static bool parse_section(struct parse *p, const char *s, size_t n)
{
    const char *colon = memchr(s, ':', n);
    unsigned at = p->at;
    bool e = false;
    if (colon) {
        while (s < colon && *s == ' ')
            s++, n--;
        e = *s == 'e';
        if (e) /* the second tensor joins where x's steps have led to */
            p->c.v[ASSAY_FIT_SECOND] = (uint8_t)at;
        n -= (size_t)(colon + 1 - s);
        s = colon + 1;
    }
    while (n > 0) {
        const char *end = memchr(s, ';', n);
        size_t len = end ? (size_t)(end - s) : n;
        if (!parse_step(p, s, len))
            return false;
        s += len + (end != NULL);
        n -= len + (end != NULL);
    }
    if (e)
        p->at = at;
    return true;
}

bool assay_fit_parse(const char *form, const char *rule,
                     struct assay_fit_choice *out)
{
    struct parse p = {.form = form};
    struct assay_fit_space space = assay_fit_space_of(form);
    for (const char *s = rule;;) {
        const char *end = strchr(s, '|');
        if (!parse_section(&p, s, end ? (size_t)(end - s) : strlen(s)))
            return false;
        if (!end)
            break;
        s = end + 1;
    }
    for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++)
        if (space.radix[d] == 1)
            p.c.v[d] = 0;
    *out = p.c;
    return p.c.v[ASSAY_FIT_SECOND] <= ASSAY_FIT_AT_PRODUCT;
}
