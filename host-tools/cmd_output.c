/* SPDX-License-Identifier: Apache-2.0 */
/* output: what turns the model's outputs into what an application read. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/diff/diff.h"
#include "host-tools/messages.h"
#include "host-tools/output_model.h"
#include "host-tools/report/json_text.h"

#define LINE 1024
#define SHORT_HASH 4 /* bytes that a person compares */

struct findings {
    const struct assay_prepared *p;
    struct assay_output_case c;
    struct assay_output_result *r; /* c.n_got */
};

static const char *head_name(const struct findings *f, size_t h)
{
    return f->c.heads[h].t.name;
}

/* ---- verdict ------------------------------------------------------------- */

static bool all_layout(const struct assay_output_hit *h)
{
    for (size_t k = 0; k < h->n_steps; k++)
        if (!assay_output_is_layout(h->steps[k].id))
            return false;
    return true;
}

static enum assay_verdict verdict_of(const struct assay_output_result *r)
{
    switch (r->status) {
    case ASSAY_OUTPUT_EQUAL:
    case ASSAY_OUTPUT_WITHIN: return ASSAY_VERDICT_MATCH;
    case ASSAY_OUTPUT_EXPLAINED:
        return all_layout(&r->hits[0]) ? ASSAY_VERDICT_LAYOUT
                                       : ASSAY_VERDICT_OUTPUT;
    default: return ASSAY_VERDICT_UNEXPLAINED;
    }
}

/* The worst of all arrays: what nothing explains, numbers, places. */
static enum assay_verdict verdict(const struct findings *f)
{
    static const enum assay_verdict worst[] = {
        ASSAY_VERDICT_UNEXPLAINED, ASSAY_VERDICT_OUTPUT, ASSAY_VERDICT_LAYOUT};

    for (size_t w = 0; w < sizeof(worst) / sizeof(worst[0]); w++)
        for (size_t k = 0; k < f->c.n_got; k++)
            if (verdict_of(&f->r[k]) == worst[w])
                return worst[w];
    return ASSAY_VERDICT_MATCH;
}

/* Whose values an array holds, SIZE_MAX: unknown. */
static size_t values_of(const struct assay_output_result *r)
{
    if (r->status == ASSAY_OUTPUT_EXPLAINED)
        return r->hits[0].head;
    return r->status == ASSAY_OUTPUT_UNEXPLAINED ? SIZE_MAX : r->head;
}

static bool was_read(const struct findings *f, size_t head)
{
    for (size_t k = 0; k < f->c.n_got; k++)
        if (values_of(&f->r[k]) == head ||
            f->c.got[k].expected == (int64_t)head)
            return true;
    return false;
}

/* ---- text ---------------------------------------------------------------- */

/* Names come from files: control bytes do not steer a terminal. */
static void print_line(char *line)
{
    for (char *c = line; *c != '\0'; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    puts(line);
}

static void say(enum assay_message_id id, const char *a, const char *av,
                const char *b, const char *bv, const char *c, const char *cv)
{
    char line[LINE];

    assay_message(line, sizeof(line), id, a, av, b, bv, c, cv, NULL);
    print_line(line);
}

/* "L5 it is 'boxes', then NHWC -> NCHW" */
static const char *steps_text(char *out, size_t cap,
                              const struct assay_output_hit *h, bool ids)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t k = 0; k < h->n_steps && at < cap; k++)
        at += (size_t)snprintf(out + at, cap - at, "%s%s%s%s",
                               k > 0 ? ", then " : "",
                               ids ? assay_output_id(h->steps[k].id) : "",
                               ids ? " " : "", h->steps[k].text);
    return out;
}

/* Advice of an entry once, however many steps have it. */
static void print_fixes(const struct assay_output_hit *h)
{
    for (size_t k = 0; k < h->n_steps; k++) {
        bool told = false;

        for (size_t i = 0; i < k; i++)
            told = told || strcmp(assay_output_fix(h->steps[i].id),
                                  assay_output_fix(h->steps[k].id)) == 0;
        if (!told)
            say(ASSAY_MSG_OUTPUT_FIX, "text", assay_output_fix(h->steps[k].id),
                NULL, NULL, NULL, NULL);
    }
}

static void print_explained(const struct assay_output_got *g,
                            const struct assay_output_result *r)
{
    const struct assay_output_hit *h = &r->hits[0];
    char text[LINE];

    say(all_layout(h) ? ASSAY_MSG_OUTPUT_LAYOUT : ASSAY_MSG_OUTPUT_OUTPUT,
        "output", g->name, "how", h->within ? "within 1e-5" : "identical",
        "steps", steps_text(text, sizeof(text), h, false));
    for (size_t k = 0; k < h->n_steps; k++)
        say(ASSAY_MSG_OUTPUT_STEP, "id", assay_output_id(h->steps[k].id),
            "name", assay_output_name(h->steps[k].id), "text",
            h->steps[k].text);
    say(ASSAY_MSG_OUTPUT_PROOF, "compared", assay_num_u(h->compared).text,
        "all", assay_num_u(h->all).text, "samples",
        assay_num_u(r->samples).text);
    if (h->compared < h->all)
        say(ASSAY_MSG_OUTPUT_GAPS, "gaps",
            assay_num_u(h->all - h->compared).text, NULL, NULL, NULL, NULL);
    for (size_t k = 1; k < r->n_hits; k++)
        say(ASSAY_MSG_OUTPUT_OR, "steps",
            steps_text(text, sizeof(text), &r->hits[k], true), NULL, NULL, NULL,
            NULL);
    if (r->n_more > 0)
        say(ASSAY_MSG_OUTPUT_MORE, "more", assay_num_u(r->n_more).text, NULL,
            NULL, NULL, NULL);
    print_fixes(h);
}

static void print_evidence(const struct findings *f,
                           const struct assay_output_got *g,
                           const struct assay_output_result *r)
{
    const struct assay_output_evidence *e = &r->evidence;
    const char *head = head_name(f, g->expected >= 0 ? (size_t)g->expected : 0);
    char line[LINE];

    if (e->gives == 0)
        return;
    if (!e->comparable) {
        say(ASSAY_MSG_OUTPUT_SIZES, "read",
            assay_num_u((uint64_t)(e->read > 0 ? e->read : 0)).text, "gives",
            assay_num_u((uint64_t)e->gives).text, "output", head);
        return;
    }
    assay_message(line, sizeof(line), ASSAY_MSG_OUTPUT_WHERE, "differing",
                  assay_num_u(e->differing).text, "all",
                  assay_num_u(e->all).text, "max",
                  assay_num_g(4, e->max_abs).text, "cosine",
                  isnan(e->cosine) ? "-" : assay_num_f(6, e->cosine).text,
                  "output", head, NULL);
    print_line(line);
    if (e->same_numbers)
        say(ASSAY_MSG_OUTPUT_SAME_NUMBERS, "", "", NULL, NULL, NULL, NULL);
    if (e->has_ratio)
        say(ASSAY_MSG_OUTPUT_RATIO, "ratio", assay_num_g(6, e->ratio).text,
            NULL, NULL, NULL, NULL);
    if (e->has_offset)
        say(ASSAY_MSG_OUTPUT_OFFSET, "offset", assay_num_g(6, e->offset).text,
            NULL, NULL, NULL, NULL);
    for (size_t k = 0; k < e->n_first; k++) {
        assay_message(line, sizeof(line), ASSAY_MSG_OUTPUT_FIRST, "sample",
                      assay_num_u(e->first[k].sample).text, "index",
                      assay_num_u((uint64_t)e->first[k].index).text, "model",
                      assay_num_g(8, e->first[k].model).text, "got",
                      assay_num_g(8, e->first[k].got).text, NULL);
        print_line(line);
    }
}

static void print_one(const struct findings *f, size_t k)
{
    const struct assay_output_got *g = &f->c.got[k];
    const struct assay_output_result *r = &f->r[k];
    char line[LINE], text[LINE];

    switch (r->status) {
    case ASSAY_OUTPUT_EQUAL:
    case ASSAY_OUTPUT_WITHIN:
        assay_message(line, sizeof(line),
                      r->status == ASSAY_OUTPUT_EQUAL ? ASSAY_MSG_OUTPUT_EQUAL
                                                      : ASSAY_MSG_OUTPUT_WITHIN,
                      "read", g->name, "output", head_name(f, r->head), "all",
                      assay_num_u(r->hits[0].all).text, "samples",
                      assay_num_u(r->samples).text, NULL);
        print_line(line);
        return;
    case ASSAY_OUTPUT_EXPLAINED: print_explained(g, r); return;
    default: break;
    }
    say(ASSAY_MSG_OUTPUT_UNEXPLAINED, "read", g->name, "tried",
        assay_num_u(r->tried).text, NULL, NULL);
    print_evidence(f, g, r);
    for (size_t h = 0; h < r->n_hits && h < 3; h++)
        say(ASSAY_MSG_OUTPUT_WEAK, "steps",
            steps_text(text, sizeof(text), &r->hits[h], true), NULL, NULL, NULL,
            NULL);
}

/* "boxes holds 'scores', scores holds 'boxes'"; false: none moved. */
static bool reordered_text(char *out, size_t cap, const struct findings *f)
{
    size_t at = 0, n = 0;

    out[0] = '\0';
    for (size_t k = 0; k < f->c.n_got && at < cap; k++) {
        size_t of = values_of(&f->r[k]);

        if (of == SIZE_MAX || f->c.got[k].expected < 0 ||
            (size_t)f->c.got[k].expected == of)
            continue;
        at += (size_t)snprintf(out + at, cap - at, "%s%s holds '%s'",
                               n++ > 0 ? ", " : "", f->c.got[k].name,
                               head_name(f, of));
    }
    return n > 1;
}

static void print_text(const struct findings *f, enum assay_verdict v)
{
    char line[LINE], hash[2 * SHORT_HASH + 1], text[LINE - 64];
    size_t missing = 0, at = 0;

    assay_hex(f->p->slice->model_sha256, SHORT_HASH, hash);
    assay_message(line, sizeof(line), ASSAY_MSG_OUTPUT_HEAD, "model",
                  f->p->slice->model_name, "hash", hash, "samples",
                  assay_num_u(f->c.model.n_samples).text, "from", f->c.from,
                  "outputs", assay_num_u(f->c.model.n_heads).text, NULL);
    print_line(line);
    for (size_t k = 0; k < f->c.n_got; k++)
        print_one(f, k);
    if (reordered_text(text, sizeof(text), f))
        say(ASSAY_MSG_OUTPUT_REORDERED, "text", text, NULL, NULL, NULL, NULL);
    text[0] = '\0';
    for (size_t h = 0; h < f->c.model.n_heads; h++) {
        if (was_read(f, h))
            continue;
        if (at < sizeof(text))
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s'%s'",
                                   missing > 0 ? ", " : "", head_name(f, h));
        missing++;
    }
    if (v == ASSAY_VERDICT_MATCH)
        say(ASSAY_MSG_OUTPUT_MATCH, "read",
            assay_num_u(f->c.model.n_heads - missing).text, "outputs",
            assay_num_u(f->c.model.n_heads).text, NULL, NULL);
    if (missing > 0)
        say(ASSAY_MSG_OUTPUT_NOT_READ, "outputs", text, NULL, NULL, NULL, NULL);
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *hits_json(const struct findings *f,
                         const struct assay_output_result *r)
{
    json_t *all = json_array();

    for (size_t k = 0; k < r->n_hits; k++) {
        const struct assay_output_hit *h = &r->hits[k];
        json_t *steps = json_array();

        for (size_t i = 0; i < h->n_steps; i++)
            json_array_append_new(
                steps, json_pack("{s:s, s:s, s:o, s:s}", "id",
                                 assay_output_id(h->steps[i].id), "name",
                                 assay_output_name(h->steps[i].id), "text",
                                 assay_json_text(h->steps[i].text), "fix",
                                 assay_output_fix(h->steps[i].id)));
        json_array_append_new(
            all,
            json_pack("{s:o, s:o, s:b, s:b, s:I, s:I}", "output",
                      assay_json_text(head_name(f, h->head)), "steps", steps,
                      "exact", !h->within, "proved", !r->weak, "compared",
                      (json_int_t)h->compared, "all", (json_int_t)h->all));
    }
    return all;
}

static json_t *number(double d)
{
    return isfinite(d) ? json_real(d) : json_null();
}

static json_t *evidence_json(const struct assay_output_evidence *e)
{
    if (e->gives == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:b, s:o, s:o}", "read",
                     (json_int_t)e->read, "gives", (json_int_t)e->gives,
                     "differing", (json_int_t)e->differing, "all",
                     (json_int_t)e->all, "max_abs",
                     number(e->comparable ? e->max_abs : NAN), "cosine",
                     number(e->cosine), "same_numbers", e->same_numbers,
                     "ratio", number(e->has_ratio ? e->ratio : NAN), "offset",
                     number(e->has_offset ? e->offset : NAN));
}

static json_t *to_json(const struct findings *f, enum assay_verdict v, int code)
{
    static const char *const statuses[] = {"exact", "within", "explained",
                                           "unexplained"};
    char hash[2 * ASSAY_SHA256_LEN + 1];
    json_t *all = json_array(), *missing = json_array();

    for (size_t k = 0; k < f->c.n_got; k++) {
        const struct assay_output_got *g = &f->c.got[k];
        const struct assay_output_result *r = &f->r[k];

        json_array_append_new(
            all,
            json_pack("{s:o, s:o, s:s, s:s, s:i, s:I, s:o, s:i, s:o}", "name",
                      assay_json_text(g->name), "expected",
                      g->expected >= 0
                          ? assay_json_text(head_name(f, (size_t)g->expected))
                          : json_null(),
                      "status", statuses[r->status], "verdict",
                      assay_verdict_name(verdict_of(r)), "samples",
                      (int)r->samples, "tried", (json_int_t)r->tried,
                      "explanations", hits_json(f, r), "more_explanations",
                      (int)r->n_more, "evidence", evidence_json(&r->evidence)));
    }
    for (size_t h = 0; h < f->c.model.n_heads; h++)
        if (!was_read(f, h))
            json_array_append_new(missing, assay_json_text(head_name(f, h)));
    assay_hex(f->p->slice->model_sha256, ASSAY_SHA256_LEN, hash);
    return json_pack("{s:s, s:{s:o, s:s}, s:s, s:i, s:o, s:o, s:s, s:i}",
                     "schema", "assay-output/1", "model", "name",
                     assay_json_text(f->p->slice->model_name), "sha256", hash,
                     "given_by", f->c.from, "samples",
                     (int)f->c.model.n_samples, "outputs", all, "not_read",
                     missing, "verdict", assay_verdict_name(v), "exit_code",
                     code);
}

static int write_json(const struct assay_options *o, const struct findings *f,
                      enum assay_verdict v, int code, struct assay_err *err)
{
    if (!o->json_stdout && o->json == NULL)
        return 0;
    return assay_cmd_write_json(o, to_json(f, v, code), err);
}

/* ---- command ------------------------------------------------------------- */

static int look(struct findings *f, struct assay_err *err)
{
    int rc = 0;

    f->r = assay_calloc(f->c.n_got + 1, sizeof(*f->r));
    if (f->r == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (size_t k = 0; rc == 0 && k < f->c.n_got; k++)
        rc = assay_output_explain(&f->r[k], &f->c.model, &f->c.got[k], err);
    return rc;
}

int assay_cmd_output(const struct assay_options *o, int argc, char **argv)
{
    struct assay_prepared p;
    struct findings f = {.p = &p};
    struct assay_err err = {0};
    enum assay_verdict v = ASSAY_VERDICT_MATCH;
    int rc, code = 0;

    (void)argc;
    (void)argv;
    rc = assay_prepare(&p, o, &err);
    if (rc < 0)
        return assay_cmd_failed(&err);
    rc = assay_prepare_check(&p, &err);
    if (rc == 0)
        rc = assay_output_case_open(&f.c, &p, o, &err);
    if (rc == 0)
        rc = assay_output_case_read(&f.c, o, &p.note, &err);
    if (rc == 0)
        rc = look(&f, &err);
    if (rc == 0) {
        v = verdict(&f);
        code = assay_verdict_exit(v);
        if (!o->json_stdout)
            print_text(&f, v);
        rc = write_json(o, &f, v, code, &err);
    }
    if (rc < 0)
        code = assay_exit_combine(code, assay_cmd_failed(&err));
    assay_free(f.r);
    assay_output_case_close(&f.c);
    assay_prepare_close(&p);
    return code;
}
