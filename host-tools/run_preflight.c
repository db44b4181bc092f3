/* SPDX-License-Identifier: Apache-2.0 */
/* Versions before anything runs: who says what, and what of it stops a run. */
#include "host-tools/run_preflight.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/model/differ.h"

struct claims {
    struct assay_claim *v;
    uint32_t n, cap;
};

static void add(struct claims *c, enum assay_claim_about about,
                enum assay_claim_by by, const char *value, const char *file)
{
    if (value == NULL || value[0] == '\0' || c->n == c->cap)
        return;
    c->v[c->n++] = (struct assay_claim){
        .about = about,
        .by = by,
        .value = value,
        .file = file != NULL ? file : "",
        .model = "",
    };
}

/* What the runtime says of a model that it loaded is of this run only where
 * it is this model; without a name in the configuration it may be. */
static bool of_another_model(const struct assay_run *r,
                             const struct assay_claim *k)
{
    const struct assay_vendor *v = r->p.vendor;
    const char *prefix = v->yaml.present
                             ? v->yaml.prefix
                             : (v->deps.present ? v->deps.prefix : "");

    return k->by == ASSAY_BY_LOADED && k->model[0] != '\0' &&
           prefix[0] != '\0' && strcmp(k->model, prefix) != 0;
}

static void add_case(struct claims *c, const struct assay_run *r)
{
    const struct assay_case *k = &r->p.c;

    add(c, ASSAY_ABOUT_MARCH, ASSAY_BY_CASE, k->march, "case.json");
    add(c, ASSAY_ABOUT_HBDK, ASSAY_BY_CASE, k->hbdk, "case.json");
    add(c, ASSAY_ABOUT_NN, ASSAY_BY_CASE, k->horizon_nn, "case.json");
    if (strcmp(k->engine, "horizon_nn") == 0)
        add(c, ASSAY_ABOUT_NN, ASSAY_BY_CASE, k->engine_version, "golden");
    if (strcmp(k->engine, "hbdk4") == 0)
        add(c, ASSAY_ABOUT_HBDK, ASSAY_BY_CASE, k->engine_version, "golden");
    add(c, ASSAY_ABOUT_MARCH, ASSAY_BY_MODEL, k->target, k->model_path);
    for (size_t i = 0; i < k->n_differences; i++) {
        const struct assay_case_difference *d = &k->differences[i];

        if (strcmp(d->id, "march") == 0 &&
            (strcmp(d->subject, "sim") == 0 || strcmp(d->subject, "bpu") == 0))
            add(c, ASSAY_ABOUT_MARCH, ASSAY_BY_COLUMN, d->found, d->file);
    }
}

/* "libhbrt_bayes_aarch64.so libdnn.so.1.24.5": names say whose runtime it is,
 * and of the versions what they carry. */
static void add_library(struct claims *c, struct assay_run *r, const char *name,
                        size_t n)
{
    static const struct {
        const char *begin;
        enum assay_claim_about about;
        const char *value; /* NULL: the version behind ".so." */
    } known[] = {
        {"libhbrt_bayes", ASSAY_ABOUT_MARCH, "bayes*"},
        {"libhbrt_bernoulli", ASSAY_ABOUT_MARCH, "bernoulli*"},
        {"libhbrt4", ASSAY_ABOUT_MARCH, "nash*"},
        {"libhbrt", ASSAY_ABOUT_HBRT, NULL},
        {"libdnn", ASSAY_ABOUT_DNN, NULL},
    };
    const char *so = memmem(name, n, ".so.", 4);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const char *value = known[i].value;

        if (strncmp(name, known[i].begin, strlen(known[i].begin)) != 0)
            continue;
        if (value == NULL && so != NULL)
            value =
                assay_arena_str(r->arena, so + 4, (size_t)(name + n - so) - 4);
        add(c, known[i].about, ASSAY_BY_RUNTIME, value,
            assay_arena_str(r->arena, name, n));
    }
}

static void add_board(struct claims *c, struct assay_run *r)
{
    const char *p = r->info.agent.runtime != NULL ? r->info.agent.runtime : "";

    add(c, ASSAY_ABOUT_SOC, ASSAY_BY_BOARD, r->info.agent.soc, "");
    while (*p != '\0') {
        size_t n = strcspn(p, " ");

        add_library(c, r, p, n);
        p += n + (p[n] != '\0');
    }
}

#define BOARD_CLAIMS 64u

int assay_run_preflight(struct assay_run *r, struct assay_err *err)
{
    const struct assay_vendor *v = r->p.vendor;
    struct claims c = {.cap = BOARD_CLAIMS + (v != NULL ? v->n_claims : 0)};

    /* A bundle has run already; impact follows a run that told it. */
    if (r->p.c.record != NULL || r->o->command == ASSAY_CMD_IMPACT)
        return 0;
    c.v = assay_arena_array(r->arena, c.cap, sizeof(*c.v));
    if (c.v == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    add_case(&c, r);
    for (uint32_t i = 0; v != NULL && i < v->n_claims; i++) {
        if (!of_another_model(r, &v->claims[i]) && c.n < c.cap)
            c.v[c.n++] = v->claims[i];
    }
    if (r->board != NULL && !r->o->local)
        add_board(&c, r);
    return assay_preflight(&r->preflight, r->arena, c.v, c.n, err);
}

bool assay_run_preflight_stops(const struct assay_run *r)
{
    return r->preflight.contradictions > 0 && !r->o->no_preflight;
}

/* The first contradiction. */
static const char *first_sentence(const struct assay_run *r, char *out,
                                  size_t cap)
{
    out[0] = '\0';
    for (uint32_t i = 0; i < r->preflight.n; i++) {
        if (r->preflight.rows[i].state == ASSAY_FIT_CONTRADICTION)
            return assay_preflight_sentence(&r->preflight, i, out, cap);
    }
    return out;
}

const char *assay_run_version_sentence(const struct assay_run *r, char *out,
                                       size_t cap)
{
    char both[ASSAY_LINE_TEXT - 64];

    return assay_message(out, cap, ASSAY_MSG_VERDICT_VERSION, "both",
                         first_sentence(r, both, sizeof(both)), NULL);
}

void assay_run_preflight_lines(const struct assay_run *r, struct assay_lines *l)
{
    char both[800], text[ASSAY_LINE_TEXT];
    bool first = assay_run_preflight_stops(r); /* it is the first line */

    for (uint32_t i = 0; i < r->preflight.n; i++) {
        enum assay_fit_state state = r->preflight.rows[i].state;

        if (state < ASSAY_FIT_NOTE)
            continue;
        if (state == ASSAY_FIT_CONTRADICTION && first) {
            first = false;
            continue;
        }
        assay_preflight_sentence(&r->preflight, i, both, sizeof(both));
        assay_message(text, sizeof(text),
                      state == ASSAY_FIT_NOTE ? ASSAY_MSG_PREFLIGHT_NOTE
                                              : ASSAY_MSG_PREFLIGHT_AGAINST,
                      "both", both, NULL);
        assay_line_add(l, "", text);
    }
}

void assay_run_preflight_table(const struct assay_run *r)
{
    char place[160], text[1024], both[800];

    if (r->preflight.n == 0) {
        printf("%s\n", assay_message_text(ASSAY_MSG_PREFLIGHT_NOTHING));
        return;
    }
    printf("%-13s %-15s %-24s %-13s %s\n", "about", "says", "value", "state",
           "where");
    for (uint32_t i = 0; i < r->preflight.n; i++) {
        const struct assay_preflight_row *k = &r->preflight.rows[i];

        printf("%-13s %-15s %-24.60s %-13s %s\n",
               assay_claim_about_name(k->claim.about),
               assay_claim_by_name(k->claim.by), k->claim.value,
               assay_fit_state_name(k->state),
               assay_claim_place(&k->claim, place, sizeof(place)));
    }
    for (uint32_t i = 0; i < r->preflight.n; i++) {
        enum assay_fit_state state = r->preflight.rows[i].state;

        if (state < ASSAY_FIT_NOTE)
            continue;
        assay_preflight_sentence(&r->preflight, i, both, sizeof(both));
        printf("%s\n", assay_message(text, sizeof(text),
                                     state == ASSAY_FIT_NOTE
                                         ? ASSAY_MSG_PREFLIGHT_NOTE
                                         : ASSAY_MSG_PREFLIGHT_AGAINST,
                                     "both", both, NULL));
    }
}

int assay_run_preflight_report(const struct assay_run *r,
                               struct assay_report_head *head)
{
    struct assay_report_version *v =
        assay_arena_array(r->arena, (size_t)r->preflight.n + 1, sizeof(*v));

    if (v == NULL)
        return ASSAY_EMEMORY;
    for (uint32_t i = 0; i < r->preflight.n; i++) {
        const struct assay_preflight_row *k = &r->preflight.rows[i];
        char both[800];

        assay_preflight_sentence(&r->preflight, i, both, sizeof(both));
        v[i] = (struct assay_report_version){
            .about = assay_claim_about_name(k->claim.about),
            .by = assay_claim_by_name(k->claim.by),
            .value = k->claim.value,
            .file = k->claim.file,
            .model = k->claim.model,
            .line = k->claim.line,
            .state = k->state == ASSAY_FIT_CONTRADICTION
                         ? assay_severity_name(ASSAY_CONTRADICTION)
                         : (k->state == ASSAY_FIT_NOTE ? "note" : "fits"),
            .sentence = assay_arena_str(r->arena, both, strlen(both)),
        };
        if (k->state == ASSAY_FIT_ALONE)
            v[i].state = "alone";
    }
    head->versions = v;
    head->n_versions = r->preflight.n;
    return 0;
}
