/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/preflight.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names --------------------------------------------------------------- */

const char *assay_claim_about_name(enum assay_claim_about about)
{
    static const char *const names[] = {
        "march", "soc", "hbdk", "hbrt", "dnn", "bpu", "nn", "model builder"};

    return (unsigned)about < ASSAY_ABOUT_COUNT ? names[about] : "?";
}

const char *assay_claim_by_name(enum assay_claim_by by)
{
    static const char *const names[] = {
        "case",           "configuration", "build log", "quantized model",
        "compiled model", "loaded model",  "column",    "runtime",
        "board",
    };

    return (unsigned)by < ASSAY_BY_COUNT ? names[by] : "?";
}

const char *assay_fit_state_name(enum assay_fit_state state)
{
    static const char *const names[] = {"-", "fits", "note", "CONTRADICTION"};

    return state <= ASSAY_FIT_CONTRADICTION ? names[state] : "?";
}

const char *assay_claim_place(const struct assay_claim *c, char *out,
                              size_t cap)
{
    const char *slash = strrchr(c->file, '/');
    const char *name = slash != NULL ? slash + 1 : c->file;

    if (name[0] != '\0' && c->line > 0)
        snprintf(out, cap, "%.100s line %u", name, c->line);
    else
        snprintf(out, cap, "%.100s", name);
    return out;
}

/* ---- marches ------------------------------------------------------------- */

static const struct {
    const char *code, *march;
} code_names[] = {
    {"b25e", "bayes-e"},        {"b25", "bayes"},  {"b30", "nash*"},
    {"b30g", "nash*"},          {"b30p", "nash*"}, {"bernoulli2", "bernoulli2"},
    {"bernoulli", "bernoulli"},
};

const char *assay_march_plain(const char *march, char *out, size_t cap)
{
    size_t n = 0;

    for (; march[n] != '\0' && n + 1 < cap; n++)
        out[n] = march[n] == '_' ? '-' : (char)tolower((unsigned char)march[n]);
    out[n] = '\0';
    for (size_t i = 0; i < sizeof(code_names) / sizeof(code_names[0]); i++) {
        if (strcmp(out, code_names[i].code) == 0) {
            snprintf(out, cap, "%s", code_names[i].march);
            break;
        }
    }
    return out;
}

/* Letters in front: "nash", "bayes", "bernoulli". */
static size_t family(const char *march)
{
    size_t n = 0;

    while (islower((unsigned char)march[n]))
        n++;
    return n;
}

static bool one_family(const char *a, const char *b)
{
    size_t n = family(a);

    return n == family(b) && strncmp(a, b, n) == 0;
}

static bool marches_fit(const char *x, const char *y, bool families)
{
    char a[64], b[64];

    assay_march_plain(x, a, sizeof(a));
    assay_march_plain(y, b, sizeof(b));
    if (families || strchr(a, '*') != NULL || strchr(b, '*') != NULL)
        return one_family(a, b);
    return strcmp(a, b) == 0;
}

/* Does the text have this word, not as a part of another? */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = text; *p != '\0'; p++) {
        if (strncasecmp(p, word, n) == 0 &&
            (p == text || !isalnum((unsigned char)p[-1])) &&
            !isalnum((unsigned char)p[n]))
            return true;
    }
    return false;
}

const char *assay_march_of_soc(const char *soc)
{
    static const struct {
        const char *word, *march;
    } socs[] = {
        {"s100p", "nash-m"},  {"s100", "nash-e"},   {"s600", "nash-p"},
        {"j6e", "nash-e"},    {"j6m", "nash-m"},    {"j6p", "nash-p"},
        {"j6h", "nash-h"},    {"j6b", "nash-b"},    {"x5", "bayes-e"},
        {"j5", "bayes"},      {"x3", "bernoulli2"}, {"xj3", "bernoulli2"},
        {"j3", "bernoulli2"},
    };
    /* Short names are those of other makers' boards, too. */
    bool vendor = has_word(soc, "rdk") || has_word(soc, "hobot") ||
                  has_word(soc, "horizon") || has_word(soc, "robotics");

    for (size_t i = 0; i < sizeof(socs) / sizeof(socs[0]); i++) {
        if (strcasecmp(soc, socs[i].word) == 0 ||
            (vendor && has_word(soc, socs[i].word)))
            return socs[i].march;
    }
    return "";
}

int assay_version_compare(const char *a, const char *b, bool *minor)
{
    *minor = false;
    for (unsigned i = 0; *a != '\0' || *b != '\0'; i++) {
        char *end_a, *end_b;
        unsigned long x =
            strtoul(isdigit((unsigned char)*a) ? a : "0", &end_a, 10);
        unsigned long y =
            strtoul(isdigit((unsigned char)*b) ? b : "0", &end_b, 10);

        if (x != y) {
            *minor = i >= 2;
            return x < y ? -1 : 1;
        }
        a += strcspn(a, ".");
        b += strcspn(b, ".");
        a += *a == '.';
        b += *b == '.';
        if (i == 3)
            break; /* what follows is a build's name */
    }
    return 0;
}

/* ---- the rules ------------------------------------------------------------ */

static bool of_model(enum assay_claim_by by)
{
    return by <= ASSAY_BY_LOADED;
}

static const char *march_of(const struct assay_claim *c)
{
    if (c->about == ASSAY_ABOUT_MARCH)
        return c->value;
    return c->about == ASSAY_ABOUT_SOC ? assay_march_of_soc(c->value) : "";
}

static void mark(struct assay_preflight *p, uint32_t row, uint32_t against,
                 enum assay_fit_state state)
{
    struct assay_preflight_row *r = &p->rows[row];

    if (state == ASSAY_FIT_OK && p->rows[against].state == ASSAY_FIT_ALONE)
        p->rows[against].state = state;
    if (state <= r->state)
        return;
    r->state = state;
    if (state >= ASSAY_FIT_NOTE)
        r->against = (int64_t)against;
}

/* All against the first that speaks for the model: the case, the
 * configuration, the log, the text, the compiled file. */
static void compare_marches(struct assay_preflight *p)
{
    int64_t first = -1;

    for (unsigned by = 0; by < ASSAY_BY_LOADED && first < 0; by++) {
        for (uint32_t i = 0; i < p->n && first < 0; i++) {
            if (p->rows[i].claim.by == by && march_of(&p->rows[i].claim)[0])
                first = (int64_t)i;
        }
    }
    for (uint32_t i = 0; i < p->n && first >= 0; i++) {
        const struct assay_claim *c = &p->rows[i].claim;
        const char *march = march_of(c);

        if (march[0] == '\0' || (int64_t)i == first)
            continue;
        /* A column of a sibling is compared on purpose: it has its own
         * remark. */
        mark(p, i, (uint32_t)first,
             marches_fit(march_of(&p->rows[first].claim), march,
                         c->by == ASSAY_BY_COLUMN)
                 ? ASSAY_FIT_OK
                 : ASSAY_FIT_CONTRADICTION);
    }
}

/* HBRT 4 runs Nash, HBRT 3 what came before it. */
static bool hbrt_fits(const char *version, const char *march)
{
    char plain[64];
    bool nash =
        one_family(assay_march_plain(march, plain, sizeof(plain)), "nash");
    unsigned long major = strtoul(version, NULL, 10);

    return major < 3 || (major >= 4) == nash;
}

static void compare_hbrt_march(struct assay_preflight *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct assay_claim *c = &p->rows[i].claim;

        if (c->about != ASSAY_ABOUT_HBRT || c->by != ASSAY_BY_RUNTIME)
            continue;
        for (uint32_t k = 0; k < p->n; k++) {
            const struct assay_claim *m = &p->rows[k].claim;

            if (m->about == ASSAY_ABOUT_MARCH && of_model(m->by) &&
                !hbrt_fits(c->value, m->value)) {
                mark(p, i, k, ASSAY_FIT_CONTRADICTION);
                break;
            }
        }
    }
}

/* What HBRT a model wants: hbdk's own number where it is the same (Nash). */
static bool wants_hbrt(const struct assay_claim *c)
{
    if (c->about == ASSAY_ABOUT_HBRT)
        return c->by == ASSAY_BY_BUILD || c->by == ASSAY_BY_LOADED;
    return c->about == ASSAY_ABOUT_HBDK &&
           (c->by == ASSAY_BY_BUILD || c->by == ASSAY_BY_COMPILED) &&
           strtoul(c->value, NULL, 10) == 4;
}

static enum assay_fit_state newer(const struct assay_claim *wants,
                                  const struct assay_claim *has)
{
    bool minor;
    int d = assay_version_compare(wants->value, has->value, &minor);

    if (d == 0)
        return ASSAY_FIT_OK;
    /* An older toolchain is what runtimes are made to run. */
    if (d < 0 || (minor && !wants->complained))
        return ASSAY_FIT_NOTE;
    return ASSAY_FIT_CONTRADICTION;
}

static void compare_hbrt(struct assay_preflight *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; k < p->n; k++) {
            const struct assay_claim *wants = &p->rows[i].claim;
            const struct assay_claim *has = &p->rows[k].claim;

            if (wants_hbrt(wants) && has->about == ASSAY_ABOUT_HBRT &&
                has->by >= ASSAY_BY_RUNTIME &&
                (!wants->complained || strcmp(wants->file, has->file) == 0))
                mark(p, i, k, newer(wants, has));
        }
    }
}

/* Is it the same, less exactly: "1.9.7" of "1.9.7_(3.15.18 HBRT)"? 1.1 is
 * not of 1.10. */
static bool begins(const char *value, const char *longer)
{
    size_t n = strlen(value);

    return strncmp(value, longer, n) == 0 && !isdigit((unsigned char)longer[n]);
}

/* One source, two values: of two runs, or two machines. Both are told. */
static void compare_own(struct assay_preflight *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct assay_claim *a = &p->rows[i].claim;
            const struct assay_claim *b = &p->rows[k].claim;

            if (a->about == b->about && a->by == b->by &&
                a->by != ASSAY_BY_LOADED && a->by != ASSAY_BY_COLUMN &&
                !begins(a->value, b->value) && !begins(b->value, a->value))
                mark(p, i, k, ASSAY_FIT_NOTE);
        }
    }
}

/* Is what the runtime loaded the build that the log is of? Only where it
 * names no such builder at all. */
static void compare_builder(struct assay_preflight *p)
{
    for (uint32_t k = 0; k < p->n; k++) {
        const struct assay_claim *build = &p->rows[k].claim;
        bool met = false;

        if (build->about != ASSAY_ABOUT_MAPPER || build->by != ASSAY_BY_BUILD)
            continue;
        for (uint32_t i = 0; i < p->n; i++)
            met = met || (p->rows[i].claim.about == ASSAY_ABOUT_MAPPER &&
                          p->rows[i].claim.by == ASSAY_BY_LOADED &&
                          strcmp(p->rows[i].claim.value, build->value) == 0);
        for (uint32_t i = 0; i < p->n; i++) {
            if (p->rows[i].claim.about == ASSAY_ABOUT_MAPPER &&
                p->rows[i].claim.by == ASSAY_BY_LOADED)
                mark(p, i, k, met ? ASSAY_FIT_OK : ASSAY_FIT_NOTE);
        }
    }
}

/* hbdk and horizon_nn of the case and of the build's files. */
static void compare_tools(struct assay_preflight *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; k < p->n; k++) {
            const struct assay_claim *a = &p->rows[i].claim;
            const struct assay_claim *b = &p->rows[k].claim;

            if ((a->about != ASSAY_ABOUT_HBDK && a->about != ASSAY_ABOUT_NN) ||
                a->about != b->about || !of_model(a->by) || b->by >= a->by)
                continue;
            mark(p, i, k,
                 strcmp(a->value, b->value) == 0 ? ASSAY_FIT_OK
                                                 : ASSAY_FIT_NOTE);
        }
    }
}

int assay_preflight(struct assay_preflight *out, struct assay_arena *arena,
                    const struct assay_claim *claims, uint32_t n,
                    struct assay_err *err)
{
    struct assay_preflight p = {.n = n};

    p.rows = assay_arena_array(arena, (size_t)n + 1, sizeof(*p.rows));
    if (p.rows == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%s",
                          assay_status_sentence(ASSAY_EMEMORY));
    for (uint32_t i = 0; i < n; i++)
        p.rows[i] =
            (struct assay_preflight_row){claims[i], ASSAY_FIT_ALONE, -1};
    compare_marches(&p);
    compare_hbrt_march(&p);
    compare_hbrt(&p);
    compare_builder(&p);
    compare_tools(&p);
    compare_own(&p);
    for (uint32_t i = 0; i < n; i++) {
        p.contradictions += p.rows[i].state == ASSAY_FIT_CONTRADICTION;
        p.notes += p.rows[i].state == ASSAY_FIT_NOTE;
    }
    *out = p;
    return 0;
}

/* ---- the sentence ---------------------------------------------------------- */

/* "the model is built for bayes-e", "the board's runtime has hbrt 3.15.47.0" */
static void side(const struct assay_claim *c, bool second, char *out,
                 size_t cap)
{
    static const char *const again[] = {"case.json", "the configuration",
                                        "the build's log", "the model's text"};
    const char *march = march_of(c);
    char what[160];

    if (c->about == ASSAY_ABOUT_SOC)
        snprintf(what, sizeof(what), "%.60s, which is %s", c->value, march);
    else if (c->about == ASSAY_ABOUT_MARCH)
        snprintf(what, sizeof(what), "%.60s", c->value);
    else
        snprintf(what, sizeof(what), "%s %.60s",
                 assay_claim_about_name(c->about), c->value);
    if (second && c->by <= ASSAY_BY_MODEL) {
        snprintf(out, cap, "%s says %s", again[c->by], what);
        return;
    }
    switch (c->by) {
    case ASSAY_BY_CASE:
    case ASSAY_BY_CONFIG:
    case ASSAY_BY_BUILD:
    case ASSAY_BY_MODEL:
        snprintf(out, cap, "the model is built %s %s",
                 march[0] != '\0' ? "for" : "with", what);
        break;
    case ASSAY_BY_COMPILED:
        snprintf(out, cap, "the compiled model is %s %s",
                 march[0] != '\0' ? "for" : "of", what);
        break;
    case ASSAY_BY_LOADED:
        snprintf(out, cap,
                 "the model %s%.60s%sthat was loaded is built with %s",
                 c->model[0] != '\0' ? "'" : "", c->model,
                 c->model[0] != '\0' ? "' " : "", what);
        break;
    case ASSAY_BY_COLUMN:
        snprintf(out, cap, "a column was made for %s", what);
        break;
    case ASSAY_BY_RUNTIME:
        snprintf(out, cap, "the board's runtime %s %s",
                 c->about == ASSAY_ABOUT_MARCH ? "says" : "is", what);
        break;
    default: snprintf(out, cap, "the board is %s", what); break;
    }
}

const char *assay_preflight_sentence(const struct assay_preflight *p,
                                     uint32_t row, char *out, size_t cap)
{
    const struct assay_preflight_row *r = &p->rows[row];
    const struct assay_claim *a = &p->rows[r->against].claim, *b = &r->claim;
    char one[300], two[300], place[2][140];

    out[0] = '\0';
    if (r->against < 0)
        return out;
    if (b->by <= ASSAY_BY_LOADED && a->by >= ASSAY_BY_RUNTIME) {
        const struct assay_claim *swap = a; /* the model's side first */

        a = b;
        b = swap;
    }
    side(a, false, one, sizeof(one));
    side(b, true, two, sizeof(two));
    assay_claim_place(a, place[0], sizeof(place[0]));
    assay_claim_place(b, place[1], sizeof(place[1]));
    snprintf(out, cap, "%s%s%s%s, %s%s%s%s", one, place[0][0] ? " (" : "",
             place[0], place[0][0] ? ")" : "", two, place[1][0] ? " (" : "",
             place[1], place[1][0] ? ")" : "");
    return out;
}
