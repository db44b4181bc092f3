/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a rule to its steps. */
#include "lib/core/form_private.h"

#include <stdio.h>
#include <string.h>

/* What each word takes (F field or integer, R rounding, M width of an
 * addition, N bits, O `out`, I order of a table) and the value's type before
 * and behind it: i integer, f binary32, - as it is (and not in a program). */
static const struct {
    const char *name, *operands;
    char before, behind;
} words[] = {
    [ASSAY_WORD_ADD] = {"add", "FM", 'i', 'i'},
    [ASSAY_WORD_SHL] = {"shl", "F", 'i', 'i'},
    [ASSAY_WORD_SHR] = {"shr", "FR", 'i', 'i'},
    [ASSAY_WORD_MUL] = {"mul", "F", 'i', 'i'},
    [ASSAY_WORD_ADD_ZP] = {"add_zp", "F", 'i', 'i'},
    [ASSAY_WORD_ADD_INPUT] = {"add_input", "FRF", 'i', 'i'},
    [ASSAY_WORD_ADD_SCALED] = {"add_scaled", "FFR", 'i', 'i'},
    [ASSAY_WORD_SRDHM] = {"srdhm", "F", 'i', 'i'},
    [ASSAY_WORD_SDMULH] = {"sdmulh", "F", 'i', 'i'},
    [ASSAY_WORD_SAT] = {"sat", "N", 'i', 'i'},
    [ASSAY_WORD_WRAP] = {"wrap", "N", 'i', 'i'},
    [ASSAY_WORD_CLAMP] = {"clamp", "FF", 'i', 'i'},
    [ASSAY_WORD_RELU] = {"relu", "", 'i', 'i'},
    [ASSAY_WORD_TO_F32] = {"to_f32", "", 'i', 'f'},
    [ASSAY_WORD_FMUL] = {"fmul", "F", 'f', 'f'},
    [ASSAY_WORD_FDIV] = {"fdiv", "F", 'f', 'f'},
    [ASSAY_WORD_FADD] = {"fadd", "F", 'f', 'f'},
    [ASSAY_WORD_FCLAMP] = {"fclamp", "O", 'f', 'f'},
    [ASSAY_WORD_FROUND] = {"fround", "R", 'f', 'i'},
    [ASSAY_WORD_DERIVE] = {"derive", "R", '-', '-'},
    [ASSAY_WORD_INDEX] = {"index", "I", '-', '-'},
    [ASSAY_WORD_LINE] = {"line", "R", '-', '-'},
    [ASSAY_WORD_MIX] = {"mix", "R", '-', '-'},
    [ASSAY_WORD_BETWEEN] = {"between", "F", '-', '-'},
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static const char *const rounds[] = {
    [ASSAY_ROUND_FLOOR] = "floor",
    [ASSAY_ROUND_CEIL] = "ceil",
    [ASSAY_ROUND_TRUNC] = "trunc",
    [ASSAY_ROUND_HALF_UP] = "half_up",
    [ASSAY_ROUND_HALF_EVEN] = "half_even",
    [ASSAY_ROUND_HALF_AWAY] = "half_away",
    [ASSAY_ROUND_HALF_DOWN] = "half_down",
    [ASSAY_ROUND_HALF_ZERO] = "half_zero",
    [ASSAY_ROUND_ADD_HALF] = "add_half",
};
#define N_ROUNDS ASSAY_ROUND_ADD_HALF /* that a rule may say */

const char *assay_round_name(unsigned round)
{
    return round < sizeof(rounds) / sizeof(rounds[0]) ? rounds[round] : "?";
}

static const char *const fields[] = {
    "bias",        "second_shift", "second_scale", "pre_shift", "scale",
    "post_shift",  "x_shift",      "e_shift",      "e_scale",   "frac",
    "scale_f32",   "zero_point",   "pos_scale",    "pos_shift", "slope",
    "slope_shift", "neg_scale",    "neg_shift",
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Operand limits of words whose integer stands in the rule itself; those of
 * fields are checked when the rule is applied. */
static const struct {
    enum assay_word word;
    int64_t lo, hi;
} limits[] = {
    {ASSAY_WORD_SHL, 0, 62},
    {ASSAY_WORD_SHR, -62, 62},
    {ASSAY_WORD_ADD_INPUT, -62, 62},
    {ASSAY_WORD_BETWEEN, 0, 24},
};

struct token {
    const char *p;
    size_t n;
};

struct parser {
    const struct assay_form *form;
    const char *text, *p;
    struct assay_rule *rule;
    struct assay_err *err;
    unsigned section;
    char type; /* of the value here */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct parser *p)
{
    while (is_blank(*p->p))
        p->p++;
}

static struct token next(struct parser *p)
{
    struct token t;

    skip_blanks(p);
    t.p = p->p;
    while (*p->p && !is_blank(*p->p) && !strchr(";|:", *p->p))
        p->p++;
    t.n = (size_t)(p->p - t.p);
    return t;
}

static bool is(const struct token *t, const char *word)
{
    return strlen(word) == t->n && memcmp(t->p, word, t->n) == 0;
}

static int fail(const struct parser *p, const char *at, const char *what,
                const struct token *t, const char *expected)
{
    char word[48];
    unsigned n = t->n > 40 ? 40 : (unsigned)t->n;

    snprintf(word, sizeof(word), "%.*s", (int)n, t->p);
    for (char *c = word; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    return assay_fail(
        p->err, ASSAY_EUSAGE,
        "rule of form '%s', step %u, column %u: '%s' %s: expected "
        "%s",
        p->form->name, (unsigned)p->rule->n[p->section] + 1,
        (unsigned)(at - p->text) + 1, word, what, expected);
}

static void join(char *out, size_t cap, const char *const *names, size_t n)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && at < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%s", i ? ", " : "",
                               names[i]);
}

/* ---- operands ----------------------------------------------------------- */

static int read_round(struct parser *p, uint8_t *round)
{
    struct token t = next(p);
    char list[120];

    for (size_t i = 0; i < N_ROUNDS; i++) {
        if (is(&t, rounds[i])) {
            *round = (uint8_t)i;
            return 0;
        }
    }
    join(list, sizeof(list), rounds, N_ROUNDS);
    return fail(p, t.p,
                t.n ? "is no rounding" : "is where a rounding is missing", &t,
                list);
}

/* -?[0-9]+ within an int64. */
static bool read_int(const struct token *t, int64_t *v)
{
    bool minus = t->n > 1 && t->p[0] == '-';
    uint64_t sum = 0;

    if (t->n == 0 || t->n > 19)
        return false;
    for (size_t i = minus; i < t->n; i++) {
        if (t->p[i] < '0' || t->p[i] > '9')
            return false;
        sum = sum * 10 + (uint64_t)(t->p[i] - '0');
    }
    if (sum > INT64_MAX)
        return false;
    *v = minus ? -(int64_t)sum : (int64_t)sum;
    return true;
}

static int check_limit(struct parser *p, const struct token *t,
                       enum assay_word word, int64_t v)
{
    char range[64];

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (limits[i].word != word || (v >= limits[i].lo && v <= limits[i].hi))
            continue;
        snprintf(range, sizeof(range), "%lld to %lld", (long long)limits[i].lo,
                 (long long)limits[i].hi);
        return fail(p, t->p, "is out of range", t, range);
    }
    return 0;
}

static int read_operand(struct parser *p, enum assay_word word, bool is_shift,
                        struct assay_rule_operand *out)
{
    struct token t = next(p);
    char list[400];

    if (read_int(&t, &out->v)) {
        out->name = NULL;
        return is_shift ? check_limit(p, &t, word, out->v) : 0;
    }
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (is(&t, fields[i])) {
            out->name = fields[i];
            return 0;
        }
    }
    snprintf(list, sizeof(list), "an integer or one of ");
    join(list + strlen(list), sizeof(list) - strlen(list), fields, N_FIELDS);
    return fail(p, t.p, t.n ? "is no field" : "is where a field is missing", &t,
                list);
}

/* wrap32 or sat32 may follow. */
static int read_mode(struct parser *p, uint8_t *mode)
{
    struct token t = next(p);

    if (t.n == 0)
        return 0;
    *mode = is(&t, "wrap32")  ? ASSAY_ADD_WRAP32
            : is(&t, "sat32") ? ASSAY_ADD_SAT32
                              : 0;
    return *mode ? 0
                 : fail(p, t.p, "is no width of an addition", &t,
                        "wrap32, sat32 or the end of the step");
}

static int read_bits(struct parser *p, uint8_t *bits)
{
    struct token t = next(p);
    int64_t v;

    if (is(&t, "out"))
        return 0;
    if (!read_int(&t, &v) || v < 2 || v > 63)
        return fail(p, t.p, "is no width", &t, "out, or 2 to 63 bits");
    *bits = (uint8_t)v;
    return 0;
}

static int read_order(struct parser *p, uint8_t *mode)
{
    struct token t = next(p);

    *mode = is(&t, "unsigned");
    if (*mode || is(&t, "ascending"))
        return 0;
    return fail(p, t.p, "is no order of a table", &t, "ascending or unsigned");
}

static int read_out(struct parser *p)
{
    struct token t = next(p);

    return is(&t, "out") ? 0 : fail(p, t.p, "is no range", &t, "out");
}

static int read_operands(struct parser *p, struct assay_rule_step *s)
{
    unsigned arg = 0;
    int rc = 0;

    for (const char *o = words[s->word].operands; *o && !rc; o++) {
        /* add_scaled's first one is its multiplier. */
        bool is_shift = s->word == ASSAY_WORD_ADD_SCALED ? arg == 1 : arg == 0;

        if (*o == 'F') {
            rc = read_operand(p, s->word, is_shift, &s->arg[arg]);
            arg++;
        } else if (*o == 'R') {
            rc = read_round(p, &s->round);
        } else if (*o == 'M') {
            rc = read_mode(p, &s->mode);
        } else if (*o == 'N') {
            rc = read_bits(p, &s->bits);
        } else if (*o == 'I') {
            rc = read_order(p, &s->mode);
        } else {
            rc = read_out(p);
        }
    }
    return rc;
}

/* ---- steps -------------------------------------------------------------- */

static bool allowed(const struct parser *p, enum assay_word word)
{
    bool last = p->section == ASSAY_SECTION_LAST;

    switch (word) {
    case ASSAY_WORD_DERIVE: return last && p->rule->n[p->section] == 0;
    case ASSAY_WORD_INDEX: return last && p->form->index;
    case ASSAY_WORD_LINE:
    case ASSAY_WORD_MIX: return last && p->form->segments;
    case ASSAY_WORD_BETWEEN: return last && p->form->between;
    case ASSAY_WORD_ADD_INPUT:
    case ASSAY_WORD_ADD_SCALED: return last;
    default: return true;
    }
}

static int check_word(struct parser *p, const struct token *t,
                      enum assay_word word)
{
    char before = words[word].before;

    if (!allowed(p, word))
        return fail(p, t->p, "cannot stand here", t,
                    word == ASSAY_WORD_DERIVE
                        ? "it first in the last section"
                        : "a step that this form and section have");
    if (before != '-' && before != p->type)
        return fail(p, t->p, "does not fit the value before it", t,
                    p->type == 'i' ? "a step that takes an integer"
                                   : "a step that takes a binary32");
    if (words[word].behind != '-')
        p->type = words[word].behind;
    return 0;
}

static int unknown_word(struct parser *p, const struct token *t)
{
    const char *names[N_WORDS];
    char list[300];

    for (size_t i = 0; i < N_WORDS; i++)
        names[i] = words[i].name;
    join(list, sizeof(list), names, N_WORDS);
    return fail(p, t->p, t->n ? "is no step" : "is where a step is missing", t,
                list);
}

static int read_step(struct parser *p, const struct token *t)
{
    struct assay_rule_step *s;
    struct token rest;
    size_t word = 0;
    int rc;

    while (word < N_WORDS && !is(t, words[word].name))
        word++;
    if (word == N_WORDS)
        return unknown_word(p, t);
    rc = check_word(p, t, (enum assay_word)word);
    if (rc)
        return rc;
    if (p->rule->n[p->section] == ASSAY_RULE_STEPS)
        return fail(p, t->p, "is one too many", t, "at most 24 steps");
    s = &p->rule->step[p->section][p->rule->n[p->section]];
    memset(s, 0, sizeof(*s));
    s->word = (enum assay_word)word;
    rc = read_operands(p, s);
    if (rc)
        return rc;
    rest = next(p);
    if (rest.n > 0 || *p->p == ':') {
        rest.n += rest.n == 0;
        return fail(p, rest.p, "is one word too many", &rest,
                    "';', '|' or the end");
    }
    p->rule->n[p->section]++;
    return 0;
}

/* ---- sections ----------------------------------------------------------- */

static char first_type(const struct parser *p)
{
    return p->section == ASSAY_SECTION_LAST && p->form->from_float ? 'f' : 'i';
}

static int check_end(struct parser *p)
{
    struct token t = {p->p, 0};
    char want =
        p->section == ASSAY_SECTION_LAST && p->form->to_float ? 'f' : 'i';

    if (p->type == want)
        return 0;
    return fail(p, p->p, "ends with the wrong type", &t,
                want == 'f' ? "a binary32 (to_f32)" : "an integer (fround)");
}

/* Which section the name opens; those behind it were not yet seen. */
static int open_section(struct parser *p, const struct token *t, unsigned *seen)
{
    char list[64];
    unsigned which;

    if (p->form->first && is(t, p->form->first))
        which = ASSAY_SECTION_FIRST;
    else if (p->form->second && is(t, p->form->second))
        which = ASSAY_SECTION_SECOND;
    else {
        if (p->form->first)
            snprintf(list, sizeof(list), "%s: or %s:", p->form->first,
                     p->form->second);
        return fail(p, t->p, "is no section of this form", t,
                    p->form->first ? list : "none with a name");
    }
    if (*seen & 1u << which)
        return fail(p, t->p, "is a section twice", t, "it once");
    *seen |= 1u << which;
    p->section = which;
    return 0;
}

/* One section, to the '|' behind it or to the end of the text. */
static int read_section(struct parser *p, unsigned *seen)
{
    struct token t;
    int rc = 0;

    p->section = ASSAY_SECTION_LAST;
    t = next(p);
    skip_blanks(p);
    if (*p->p == ':') {
        rc = open_section(p, &t, seen);
        if (rc)
            return rc;
        p->p++;
        t = next(p);
    }
    if (p->section == ASSAY_SECTION_LAST) {
        if (*seen & 1u << ASSAY_SECTION_LAST)
            return fail(p, t.p, "stands behind the last section", &t,
                        "its name before every other section");
        *seen |= 1u << ASSAY_SECTION_LAST;
    }
    p->type = first_type(p);
    for (;;) {
        rc = read_step(p, &t);
        if (rc)
            return rc;
        if (*p->p != ';')
            return check_end(p);
        p->p++;
        t = next(p);
    }
}

int assay_rule_parse(const struct assay_form *form, const char *text,
                     struct assay_rule *out, struct assay_err *err)
{
    struct parser p = {
        .form = form, .text = text, .p = text, .rule = out, .err = err};
    unsigned seen = 0;
    int rc;

    memset(out->n, 0, sizeof(out->n));
    if (strlen(text) > ASSAY_RULE_TEXT)
        return assay_fail(err, ASSAY_EUSAGE,
                          "rule of form '%s': expected at most %d characters, "
                          "found %zu",
                          form->name, ASSAY_RULE_TEXT, strlen(text));
    for (;;) {
        rc = read_section(&p, &seen);
        if (rc || *p.p == '\0')
            return rc;
        if (seen & 1u << ASSAY_SECTION_LAST) {
            struct token t = {p.p, 1};

            return fail(&p, p.p, "stands behind the last section", &t,
                        "a name ('x:') before it");
        }
        p.p++;
    }
}
