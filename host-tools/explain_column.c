/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/explain_column.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/run_lines.h"
#include "lib/core/form.h"

#define WIDTH 52 /* columns in front of a value */
#define READINGS 64
#define ENTRIES 6 /* of a table, that are listed */
#define TEXT 400

/* Columns that differ by the same value, with the same inputs. */
struct parted {
    char names[80];
    union assay_value v;
    const struct assay_explain_column *column; /* the first of them */
    struct assay_explain own;                  /* on inputs of its own */
    bool has_own; /* they give another element than ours */
    bool inherited;
    struct assay_preimage sets[ASSAY_POINTS];
    struct assay_reading readings[READINGS];
    size_t n_readings;
};

struct page {
    FILE *out;
    const struct assay_explain *e;
    enum assay_value_kind kind; /* of the result */
    union assay_value result;
    struct parted parted[ASSAY_EXPLAIN_COLUMNS];
    size_t n_parted;
    struct assay_lines lines;
};

static bool same(enum assay_value_kind kind, const union assay_value *a,
                 const union assay_value *b)
{
    if (kind == ASSAY_VALUE_INT)
        return a->i == b->i;
    return memcmp(&a->f, &b->f, sizeof(a->f)) == 0 ||
           (isnan(a->f) && isnan(b->f));
}

/* The calculation that the column itself would have made. */
static const struct assay_explain *its(const struct page *p,
                                       const struct parted *k)
{
    return k->has_own ? &k->own : p->e;
}

/* ---- where each column left it ----------------------------------------------- */

/* On the column's own inputs, where these are known and are not ours. */
static int on_its_own(const struct page *p, struct parted *k,
                      struct assay_err *err)
{
    const struct assay_explain *e = p->e;
    union assay_value v;
    int rc;

    if (k->column->inputs == NULL || k->column->inputs == e->inputs)
        return 0;
    k->own = (struct assay_explain){.one = e->one,
                                    .inputs = k->column->inputs,
                                    .element = e->element,
                                    .taps = true};
    rc = assay_explain_make(&k->own, err);
    if (rc != 0 || k->own.n_points == 0)
        return rc;
    v = assay_explain_result(&k->own);
    k->has_own = !same(p->kind, &v, &p->result);
    k->inherited = k->has_own && same(p->kind, &v, &k->v);
    return 0;
}

static int find_parting(struct page *p, struct parted *k, struct assay_err *err)
{
    const struct assay_explain *e;
    int rc = p->e->n_points > 0 ? on_its_own(p, k, err) : 0;

    e = its(p, k);
    if (rc != 0 || e->n_points == 0 || k->inherited)
        return rc;
    assay_parting_sets(e->points, e->n_points, &k->v, k->sets);
    k->n_readings = assay_parting_readings(e->points, e->n_points, k->sets,
                                           k->readings, READINGS);
    return 0;
}

static int add_parted(struct page *p, const struct assay_explain_column *c,
                      struct assay_err *err)
{
    struct parted *k = p->parted;

    for (size_t i = 0; i < p->n_parted; i++, k++) {
        if (!same(p->kind, &k->v, &c->v) || k->column->inputs != c->inputs)
            continue;
        snprintf(k->names + strlen(k->names),
                 sizeof(k->names) - strlen(k->names), ", %s", c->name);
        return 0;
    }
    k->column = c;
    k->v = c->v;
    snprintf(k->names, sizeof(k->names), "%s", c->name);
    p->n_parted++;
    return find_parting(p, k, err);
}

/* ---- texts --------------------------------------------------------------------- */

static const char *set_text(const struct assay_preimage *s, char *out,
                            size_t cap)
{
    bool is_int = s->kind == ASSAY_VALUE_INT;
    bool open_lo = is_int ? s->lo <= -ASSAY_PREIMAGE_LIMIT : isinf(s->f_lo);
    bool open_hi = is_int ? s->hi >= ASSAY_PREIMAGE_LIMIT : isinf(s->f_hi);
    union assay_value lo = {.i = s->lo}, hi = {.i = s->hi};
    char a[40], b[40];

    if (s->kind == ASSAY_VALUE_F64) {
        lo.d = s->f_lo;
        hi.d = s->f_hi;
    } else if (!is_int) {
        lo.f = (float)s->f_lo;
        hi.f = (float)s->f_hi;
    }
    assay_explain_text(s->kind, &lo, a, sizeof(a));
    assay_explain_text(s->kind, &hi, b, sizeof(b));
    if (s->empty)
        snprintf(out, cap, "none");
    else if (open_lo && open_hi)
        snprintf(out, cap, "any");
    else if (open_lo || open_hi)
        snprintf(out, cap, "%s %s", open_lo ? "<=" : ">=", open_lo ? b : a);
    else if (strcmp(a, b) == 0)
        snprintf(out, cap, "%s", a);
    else
        snprintf(out, cap, "[%s, %s]", a, b);
    return out;
}

static const char *reading_text(const struct assay_reading *r)
{
    static const enum assay_message_id ids[] = {
        [ASSAY_READING_LEFT_OUT] = ASSAY_MSG_READING_LEFT_OUT,
        [ASSAY_READING_NO_ADDEND] = ASSAY_MSG_READING_NO_ADDEND,
        [ASSAY_READING_WRAPS] = ASSAY_MSG_READING_WRAPS,
        [ASSAY_READING_SATURATES] = ASSAY_MSG_READING_SATURATES,
        [ASSAY_READING_EXACT] = ASSAY_MSG_READING_EXACT,
        [ASSAY_READING_NOT_ROUNDED] = ASSAY_MSG_READING_NOT_ROUNDED,
        [ASSAY_READING_ROUNDED] = ASSAY_MSG_READING_ROUNDED,
        [ASSAY_READING_TWICE] = ASSAY_MSG_READING_TWICE,
        [ASSAY_READING_LAST_BIT] = ASSAY_MSG_READING_LAST_BIT,
        [ASSAY_READING_DOUBLE] = ASSAY_MSG_READING_DOUBLE,
        [ASSAY_READING_HALF] = ASSAY_MSG_READING_HALF,
        [ASSAY_READING_CUT] = ASSAY_MSG_READING_CUT,
    };

    return r->kind == ASSAY_READING_ROUND ? assay_round_name(r->round)
                                          : assay_message_text(ids[r->kind]);
}

/* "ceil, half_up": the readings of one point; "" without any. */
static const char *readings_text(const struct parted *k, uint32_t point,
                                 char *out, size_t cap)
{
    out[0] = '\0';
    for (size_t i = 0; i < k->n_readings; i++)
        if (k->readings[i].point == point)
            snprintf(out + strlen(out), cap - strlen(out), "%s%s",
                     out[0] != '\0' ? ", " : "", reading_text(&k->readings[i]));
    return out;
}

/* A point's line without its indent. */
static const char *step_of(const struct assay_explain *e, uint32_t point)
{
    for (size_t i = 0; i < e->n_lines; i++)
        if (e->lines[i].point == point)
            return e->lines[i].what + strspn(e->lines[i].what, " ");
    return "";
}

static const char *value_of(const struct assay_explain *e, uint32_t point,
                            char *out, size_t cap)
{
    return assay_explain_text(e->points[point].kind, &e->points[point].v, out,
                              cap);
}

/* ---- lines --------------------------------------------------------------------- */

static void print_line(const struct page *p, const struct assay_explain_line *l)
{
    uint32_t last = p->e->n_points - 1;
    int columns = 0;
    char set[100], how[200], own[40];

    for (const char *c = l->what; *c != '\0'; c++)
        columns += ((unsigned char)*c & 0xc0) != 0x80;
    fprintf(p->out, "\n%s%*s  %15s", l->what,
            columns < WIDTH ? WIDTH - columns : 0, "", l->value);
    if (l->point == ASSAY_NO_POINT || l->point == last)
        return;
    for (size_t i = 0; i < p->n_parted; i++) {
        const struct parted *k = &p->parted[i];

        /* Another way through the layer has other points. */
        if (k->inherited || its(p, k)->n_points != p->e->n_points ||
            k->sets[l->point].unknown)
            continue;
        fprintf(p->out, "   %s", k->names);
        if (k->has_own)
            fprintf(p->out, " has %s",
                    value_of(&k->own, l->point, own, sizeof(own)));
        fprintf(p->out, ": %s", set_text(&k->sets[l->point], set, sizeof(set)));
        if (readings_text(k, l->point, how, sizeof(how))[0] != '\0')
            fprintf(p->out, " (%s)", how);
    }
}

static void print_columns(const struct page *p,
                          const struct assay_explain_column *columns, size_t n)
{
    char value[40];

    for (size_t i = 0; i < n; i++)
        fprintf(
            p->out, "   %s %s%s", columns[i].name,
            assay_explain_text(p->kind, &columns[i].v, value, sizeof(value)),
            same(p->kind, &columns[i].v, &p->result) ? "" : " (differs)");
    fprintf(p->out, "\n");
}

/* ---- sentences ----------------------------------------------------------------- */

static void say(struct page *p, const char *text)
{
    assay_line_add(&p->lines, "  ", text);
}

/* Numbers that both read, one by one; windows are the same. */
static void say_inherited(struct page *p, const struct parted *k,
                          struct assay_err *err)
{
    struct assay_explain ours = {.one = p->e->one,
                                 .inputs = p->e->inputs,
                                 .element = p->e->element,
                                 .taps = true};
    const struct assay_explain_line *first = NULL, *own = NULL;
    size_t n = 0, differ = 0;
    char text[TEXT], a[300], b[300];

    if (assay_explain_make(&ours, err) == 0 && ours.n_lines == k->own.n_lines) {
        for (size_t i = 0; i < ours.n_lines; i++) {
            if (!ours.lines[i].operand)
                continue;
            n++;
            if (strcmp(ours.lines[i].what, k->own.lines[i].what) == 0 &&
                strcmp(ours.lines[i].value, k->own.lines[i].value) == 0)
                continue;
            if (differ++ == 0) {
                first = &ours.lines[i];
                own = &k->own.lines[i];
            }
        }
    }
    if (first != NULL) {
        snprintf(a, sizeof(a), "%s = %s", own->what + strspn(own->what, " "),
                 own->value);
        snprintf(b, sizeof(b), "%s = %s",
                 first->what + strspn(first->what, " "), first->value);
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_READ,
                             "differ", assay_num_u(differ).text, "n",
                             assay_num_u(n).text, "there", a, "here", b, NULL));
    }
    assay_explain_close(&ours);
}

/* A table holds the value elsewhere, or nowhere: then it is another table. */
static void say_entries(struct page *p, const struct parted *k)
{
    const struct assay_explain *e = its(p, k);
    int64_t in[ENTRIES];
    size_t n;
    char text[TEXT], list[200] = "";

    if (e->one->layers[0].op != ASSAY_OP_TABLE)
        return;
    n = assay_explain_entries(e, &k->sets[0], in, ENTRIES);
    for (size_t i = 0; i < n && i < ENTRIES; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%" PRId64,
                 i > 0 ? ", " : "", in[i]);
    if (n > ENTRIES)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), ", ...");
    say(p, assay_message(text, sizeof(text),
                         n > 0 ? ASSAY_MSG_EXPLAIN_ENTRIES
                               : ASSAY_MSG_EXPLAIN_NO_ENTRY,
                         "list", list, NULL));
}

/* The number that padding would have to hold for the sum to be in the set. */
static void say_padding(struct page *p, const struct parted *k)
{
    const struct assay_explain *e = its(p, k);
    struct assay_preimage in;
    char text[TEXT], set[100];

    if (e->accumulator != ASSAY_NO_POINT &&
        assay_explain_padding(e, &k->sets[e->accumulator], &in))
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_PADDING, "n",
                             assay_num_u(e->pad_taps).text, "set",
                             set_text(&in, set, sizeof(set)), NULL));
}

/* What would have to stand in front: the accumulator, or each operand. */
static void say_needed(struct page *p, const struct parted *k)
{
    const struct assay_explain *e = its(p, k);
    char text[TEXT], set[100], value[40];

    for (uint32_t i = 0; i < e->n_points; i++) {
        bool named = e->accumulator != ASSAY_NO_POINT
                         ? i == e->accumulator
                         : e->points[i].by == ASSAY_POINT_START;

        if (!named || k->sets[i].empty || k->sets[i].unknown)
            continue;
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_NEEDED,
                             "what", step_of(e, i), "set",
                             set_text(&k->sets[i], set, sizeof(set)), "value",
                             value_of(e, i, value, sizeof(value)), NULL));
    }
}

/* "'shr 20 floor' (half_up, ceil)"; how many steps. */
static size_t steps_text(const struct page *p, const struct parted *k,
                         char *out, size_t cap)
{
    const struct assay_explain *e = its(p, k);
    size_t n = 0;
    char how[200];

    out[0] = '\0';
    for (uint32_t i = 0; i < e->n_points; i++) {
        if (readings_text(k, i, how, sizeof(how))[0] == '\0')
            continue;
        snprintf(out + strlen(out), cap - strlen(out), "%s'%.60s' (%s)",
                 n++ > 0 ? ", " : "", step_of(e, i), how);
    }
    return n;
}

static void say_where(struct page *p, const struct parted *k, const char *value)
{
    const struct assay_explain *e = its(p, k);
    uint32_t at;
    bool hard = assay_parting_first(e->points, e->n_points, k->sets, &at);
    char text[TEXT], steps[300];
    size_t n = steps_text(p, k, steps, sizeof(steps));

    if (hard)
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_NOT_BEFORE,
                             "column", k->names, "value", value, "step",
                             step_of(e, at), NULL));
    if (n > 0)
        say(p, assay_message(
                   text, sizeof(text),
                   n == 1 ? ASSAY_MSG_EXPLAIN_STEP : ASSAY_MSG_EXPLAIN_STEPS,
                   "column", k->names, "value", value, "steps", steps, NULL));
    else if (!hard)
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_IN_FRONT,
                             "column", k->names, "value", value, "step",
                             e->accumulator != ASSAY_NO_POINT
                                 ? step_of(e, e->accumulator)
                                 : step_of(e, at),
                             NULL));
    if (hard)
        return;
    say_needed(p, k);
    say_entries(p, k);
    say_padding(p, k);
}

static void say_parted(struct page *p, const struct parted *k,
                       struct assay_err *err)
{
    const struct assay_explain *e = its(p, k);
    char text[TEXT], value[40], own[40];

    assay_explain_text(p->kind, &k->v, value, sizeof(value));
    if (e->n_points == 0 ||
        (p->kind == ASSAY_VALUE_F32 && (isnan(k->v.f) || isnan(p->result.f)))) {
        say(p, assay_message(text, sizeof(text),
                             e->n_points == 0 ? ASSAY_MSG_EXPLAIN_NO_STEPS
                                              : ASSAY_MSG_EXPLAIN_NAN,
                             "column", k->names, "value", value, NULL));
        return;
    }
    if (k->inherited) {
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_INHERITED,
                             "column", k->names, "value", value, NULL));
        say_inherited(p, k, err);
        return;
    }
    if (k->has_own) {
        value_of(e, e->n_points - 1, own, sizeof(own));
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_OWN,
                             "column", k->names, "value", own, NULL));
    }
    say_where(p, k, value);
    if (k->column->inputs == NULL)
        say(p, assay_message(text, sizeof(text), ASSAY_MSG_EXPLAIN_UNSEEN,
                             "column", k->names, NULL));
}

int assay_explain_print(FILE *out, const struct assay_explain *e,
                        const union assay_value *engine,
                        const struct assay_explain_column *columns, size_t n,
                        struct assay_err *err)
{
    struct page *p = assay_calloc(1, sizeof(*p));
    int rc = 0;

    if (p == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    *p = (struct page){.out = out, .e = e, .lines.arena = e->arena};
    p->result = e->n_points > 0 ? assay_explain_result(e) : *engine;
    p->kind = assay_explain_result_kind(e);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (!same(p->kind, &columns[i].v, &p->result))
            rc = add_parted(p, &columns[i], err);
    if (e->n_points == 0)
        fprintf(out, "\n  %s",
                assay_message_text(ASSAY_MSG_EXPLAIN_NO_CALCULATION));
    for (size_t i = 0; i < e->n_lines && rc == 0; i++)
        print_line(p, &e->lines[i]);
    if (rc == 0)
        print_columns(p, columns, n);
    for (size_t i = 0; i < p->n_parted && rc == 0; i++)
        say_parted(p, &p->parted[i], err);
    for (size_t i = 0; i < p->lines.n; i++)
        fprintf(out, "%s\n", p->lines.v[i]);
    for (size_t i = 0; i < p->n_parted; i++)
        assay_explain_close(&p->parted[i].own);
    assay_free(p);
    return rc;
}
