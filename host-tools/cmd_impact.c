/* SPDX-License-Identifier: Apache-2.0 */
/* What each culprit of a column does to the model's outputs: tables, JSON. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/impact.h"
#include "host-tools/messages.h"
#include "host-tools/report/json_text.h"

#define NOTHING_SEEN 5 /* exit status: nothing was compared */

static const char *const whats[ASSAY_IMPACT_KINDS] = {
    [ASSAY_IMPACT_ALONE] = "alone",
    [ASSAY_IMPACT_AS_GOT] = "as_got",
    [ASSAY_IMPACT_MENDED] = "mended",
    [ASSAY_IMPACT_ALL] = "all",
};
static const char *const hows[] = {
    [ASSAY_IMPACT_GOT] = "got",
    [ASSAY_IMPACT_CAUSE] = "cause",
    [ASSAY_IMPACT_CARRIED] = "carried",
};

static uint64_t differing(const struct assay_impact *x,
                          const struct assay_impact_row *row)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < x->n_outputs && row->here; i++)
        n += row->outputs[i].d.mismatch;
    return n;
}

static uint64_t elements(const struct assay_impact *x)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < x->n_outputs && x->all.here; i++)
        n += x->all.outputs[i].d.count;
    return n;
}

/* Elements of the outputs that the column has, and those that all culprits
 * together give. */
static uint64_t checked(const struct assay_impact *x, uint64_t *equal)
{
    uint64_t n = 0;

    *equal = 0;
    for (uint32_t i = 0; i < x->n_outputs; i++) {
        n += x->check[i].d.count;
        *equal += x->check[i].d.count - x->check[i].d.mismatch;
    }
    return n;
}

/* ---- text -------------------------------------------------------------------- */

static void say(enum assay_message_id id, const char *a, const char *av,
                const char *b, const char *bv, const char *c, const char *cv)
{
    char line[1024];

    printf("%s\n",
           assay_message(line, sizeof(line), id, a, av, b, bv, c, cv, NULL));
}

static const char *name_of(const struct assay_run *r, uint32_t tensor)
{
    return r->s->tensors[tensor].name;
}

static void print_output(const struct assay_run *r, uint32_t tensor,
                         const struct assay_impact_output *o, const char *head)
{
    const struct assay_diff *d = &o->d;
    char max[32], n[48], top[48] = "-", cosine[32];

    if (assay_dtype_is_int(r->s->tensors[tensor].dtype))
        snprintf(max, sizeof(max), "%" PRId64, d->max_lsb);
    else
        snprintf(max, sizeof(max), "%.1e", d->max_abs);
    snprintf(n, sizeof(n), "%" PRIu64 "/%" PRIu64, d->mismatch, d->count);
    if (o->vectors > 0)
        snprintf(top, sizeof(top), "%" PRIu64 "/%" PRIu64, o->moved,
                 o->vectors);
    if (isnan(d->cosine))
        snprintf(cosine, sizeof(cosine), "-");
    else
        snprintf(cosine, sizeof(cosine), "%.6f", d->cosine);
    printf("%s %-20.80s %14s %9s %9s %7s\n", head, name_of(r, tensor), n, max,
           cosine, top);
}

/* The outputs that a row changes, its head in front of the first. */
static void print_row(const struct assay_run *r, const struct assay_impact *x,
                      const struct assay_impact_row *row, const char *head)
{
    char blank[128];
    bool any = false;

    snprintf(blank, sizeof(blank), "%*s", (int)strlen(head), "");
    for (uint32_t i = 0; i < x->n_outputs; i++) {
        if (row->outputs[i].d.mismatch == 0)
            continue;
        print_output(r, x->outputs[i], &row->outputs[i], any ? blank : head);
        any = true;
    }
    if (!any)
        printf("%s %s\n", head,
               assay_message_text(elements(x) > 0 ? ASSAY_MSG_IMPACT_NONE
                                                  : ASSAY_MSG_IMPACT_NOTHING));
}

static const char *mark(const struct assay_impact_row *row)
{
    static const char *const marks[] = {"", "*", "~"};

    return marks[row->how];
}

static void print_culprit(const struct assay_run *r,
                          const struct assay_impact *x,
                          const struct assay_impact_culprit *k)
{
    const char *name = r->s->layers[k->layer].name;
    bool first = true;

    for (unsigned what = 0; what < ASSAY_IMPACT_ALL; what++) {
        const struct assay_impact_row *row = &k->rows[what];
        char index[16], label[32], head[128];

        /* What inherits nothing gives the same, alone and as it is; and one
         * culprit mended leaves nothing. */
        if (!row->here ||
            (what == ASSAY_IMPACT_AS_GOT && k->is_culprit && !k->inherits) ||
            (what == ASSAY_IMPACT_MENDED && x->n < 2))
            continue;
        snprintf(index, sizeof(index), "%03u", k->layer);
        snprintf(label, sizeof(label), "%s%s",
                 assay_message_text(
                     (enum assay_message_id)(ASSAY_MSG_IMPACT_ALONE + what)),
                 mark(row));
        snprintf(head, sizeof(head), " %3s %-18.40s %-14.40s %-9s",
                 first ? index : "", first ? name : "", first ? k->cause : "",
                 label);
        print_row(r, x, row, head);
        first = false;
    }
}

/* What the marks say, and where a difference got no further. */
static void print_notes(const struct assay_impact *x)
{
    bool how[3] = {false}, cut = x->all.cut;

    for (uint32_t k = 0; k < x->n; k++)
        for (unsigned what = 0; what < ASSAY_IMPACT_ALL; what++) {
            how[x->v[k].rows[what].how] = true;
            cut = cut || x->v[k].rows[what].cut;
        }
    if (how[ASSAY_IMPACT_CAUSE])
        printf(" %s\n", assay_message_text(ASSAY_MSG_IMPACT_BY_CAUSE));
    if (how[ASSAY_IMPACT_CARRIED])
        printf(" %s\n", assay_message_text(ASSAY_MSG_IMPACT_BY_CARRY));
    if (cut)
        printf(" %s\n", assay_message_text(ASSAY_MSG_IMPACT_CUT));
}

/* The culprit without which least differs. */
static void print_first(const struct assay_run *r, const struct assay_impact *x)
{
    const struct assay_impact_culprit *best = &x->v[0];

    for (uint32_t k = 1; k < x->n; k++)
        if (differing(x, &x->v[k].rows[ASSAY_IMPACT_MENDED]) <
            differing(x, &best->rows[ASSAY_IMPACT_MENDED]))
            best = &x->v[k];
    if (x->n > 1 &&
        differing(x, &best->rows[ASSAY_IMPACT_MENDED]) < differing(x, &x->all))
        say(ASSAY_MSG_IMPACT_MEND, "layer", r->s->layers[best->layer].name,
            "left",
            assay_num_u(differing(x, &best->rows[ASSAY_IMPACT_MENDED])).text,
            "all", assay_num_u(differing(x, &x->all)).text);
}

static void print_check(const struct assay_impact *x, const char *column)
{
    uint64_t equal, n = checked(x, &equal);

    if (n == 0)
        say(ASSAY_MSG_IMPACT_UNCHECKED, "column", column, "", "", "", "");
    else
        say(equal == n ? ASSAY_MSG_IMPACT_EQUAL : ASSAY_MSG_IMPACT_UNEQUAL,
            "column", column, "equal", assay_num_u(equal).text, "n",
            assay_num_u(n).text);
}

static void print_column(const struct assay_run *r,
                         const struct assay_impact *x, bool only)
{
    const char *column = assay_column_name(assay_side_column(x->side));
    char head[128];

    say(ASSAY_MSG_IMPACT_HEAD, "column", column, "from",
        r->p.c.columns[x->side].from != NULL ? r->p.c.columns[x->side].from
                                             : "",
        "samples", assay_num_u(x->n_samples).text);
    if (x->n == 0) {
        say(ASSAY_MSG_IMPACT_CLEAN, "column", column, "", "", "", "");
        return;
    }
    printf(" idx %-18s %-14s %-9s %-20s %14s %9s %9s\n", "culprit", "cause", "",
           "output", "mism", "max", "cos");
    for (uint32_t k = 0; k < x->n; k++)
        print_culprit(r, x, &x->v[k]);
    if (!only && x->n > 1) {
        snprintf(head, sizeof(head), "     %-18s %-14s %-9s", "", "",
                 assay_message_text(ASSAY_MSG_IMPACT_ALL_OF_THEM));
        print_row(r, x, &x->all, head);
    }
    print_notes(x);
    if (only)
        return;
    print_check(x, column);
    print_first(r, x);
}

/* ---- JSON -------------------------------------------------------------------- */

static json_t *real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *json_output(const struct assay_run *r, uint32_t tensor,
                           const struct assay_impact_output *k)
{
    const struct assay_diff *d = &k->d;
    json_t *o = json_object();
    bool is_int = assay_dtype_is_int(r->s->tensors[tensor].dtype);

    json_object_set_new(o, "name", assay_json_text(name_of(r, tensor)));
    json_object_set_new(o, "count", json_integer((json_int_t)d->count));
    json_object_set_new(o, "mismatch", json_integer((json_int_t)d->mismatch));
    json_object_set_new(o, "max_lsb",
                        is_int ? json_integer(d->max_lsb) : json_null());
    json_object_set_new(o, "max_abs", real(d->max_abs));
    json_object_set_new(o, "cosine", real(d->cosine));
    json_object_set_new(o, "vectors", json_integer((json_int_t)k->vectors));
    json_object_set_new(o, "top1_moved", json_integer((json_int_t)k->moved));
    return o;
}

static json_t *json_outputs(const struct assay_run *r,
                            const struct assay_impact *x,
                            const struct assay_impact_output *v)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < x->n_outputs && v != NULL; i++)
        json_array_append_new(a, json_output(r, x->outputs[i], &v[i]));
    return a;
}

static json_t *json_row(const struct assay_run *r, const struct assay_impact *x,
                        const struct assay_impact_row *row)
{
    json_t *o;

    if (!row->here)
        return json_null();
    o = json_object();
    json_object_set_new(o, "how", json_string(hows[row->how]));
    json_object_set_new(o, "cut", json_boolean(row->cut));
    json_object_set_new(o, "mismatch",
                        json_integer((json_int_t)differing(x, row)));
    json_object_set_new(o, "outputs", json_outputs(r, x, row->outputs));
    return o;
}

static json_t *json_column(const struct assay_run *r,
                           const struct assay_impact *x)
{
    json_t *o = json_object(), *a = json_array();
    uint64_t equal, n = checked(x, &equal);

    json_object_set_new(
        o, "column",
        assay_json_text(assay_column_name(assay_side_column(x->side))));
    json_object_set_new(o, "samples", json_integer(x->n_samples));
    json_object_set_new(o, "elements", json_integer((json_int_t)elements(x)));
    for (uint32_t k = 0; k < x->n; k++) {
        const struct assay_impact_culprit *c = &x->v[k];
        json_t *j = json_object();

        json_object_set_new(j, "index", json_integer(c->layer));
        json_object_set_new(j, "name",
                            assay_json_text(r->s->layers[c->layer].name));
        json_object_set_new(j, "culprit", json_boolean(c->is_culprit));
        json_object_set_new(j, "hypothesis", assay_json_text(c->cause));
        json_object_set_new(j, "inherits", json_boolean(c->inherits));
        for (unsigned what = 0; what < ASSAY_IMPACT_ALL; what++)
            json_object_set_new(j, whats[what], json_row(r, x, &c->rows[what]));
        json_array_append_new(a, j);
    }
    json_object_set_new(o, "culprits", a);
    json_object_set_new(o, whats[ASSAY_IMPACT_ALL], json_row(r, x, &x->all));
    a = json_object();
    json_object_set_new(a, "count", json_integer((json_int_t)n));
    json_object_set_new(a, "equal", json_integer((json_int_t)equal));
    json_object_set_new(a, "outputs", json_outputs(r, x, x->check));
    json_object_set_new(o, "column_outputs", a);
    return o;
}

static int write_json(const struct assay_run *r, json_t *columns, int code,
                      struct assay_err *err)
{
    json_t *root = json_object();
    int rc = 0;

    json_object_set_new(root, "schema", json_string("assay-impact/1"));
    json_object_set_new(root, "model", assay_json_text(r->s->model_name));
    json_object_set_new(root, "samples", json_integer(r->n_samples));
    json_object_set_new(root, "exit_code", json_integer(code));
    json_object_set(root, "columns", columns);
    if (r->o->json_stdout) {
        /* That it cannot be written is told when the command ends. */
        (void)json_dumpf(root, stdout, JSON_INDENT(2));
        printf("\n");
    }
    if (rc == 0 && r->o->json != NULL &&
        json_dump_file(root, r->o->json, JSON_INDENT(2)) != 0)
        rc = assay_fail(err, ASSAY_EIO, "%.300s: cannot write: %s", r->o->json,
                        strerror(errno));
    json_decref(root);
    return rc;
}

/* ---- the command --------------------------------------------------------------- */

/* The engine may differ from the reference itself; then it is said. */
static void note_engine(const struct assay_run *r)
{
    char line[1024];
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->s->n_layers; i++)
        n += r->layers[i].judgement.culprit;
    if (n > 0)
        fprintf(stderr, "%s\n",
                assay_message(line, sizeof(line), ASSAY_MSG_IMPACT_ENGINE,
                              "layers", assay_num_u(n).text, NULL));
}

static int find_only(const struct assay_run *r, int64_t *only,
                     struct assay_err *err)
{
    uint32_t layer;
    int rc;

    *only = -1;
    if (r->o->layer == NULL)
        return 0;
    rc = assay_find_layer(&layer, r->s, r->o->layer, err);
    if (rc < 0)
        return rc;
    *only = layer;
    for (unsigned s = 0; s < ASSAY_SIDES; s++)
        if (r->layers[layer].side[s].observed)
            return 0;
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMPACT_NOT_OBSERVED,
                              "layer", r->s->layers[layer].name, NULL);
}

/* Is there a culprit, or a tensor that changes an output? */
static bool changes(const struct assay_impact *x)
{
    for (uint32_t k = 0; k < x->n; k++)
        if (x->v[k].is_culprit ||
            differing(x, &x->v[k].rows[ASSAY_IMPACT_AS_GOT]) > 0)
            return true;
    return false;
}

/* Of the columns that observed something. */
static int columns_of(struct assay_run *r, json_t *list, int *code,
                      struct assay_err *err)
{
    int64_t only;
    int rc = find_only(r, &only, err);

    *code = NOTHING_SEEN;
    for (unsigned s = 0; s < ASSAY_SIDES && rc == 0; s++) {
        struct assay_impact x = {0};

        if (r->sides[s].n_samples == 0 ||
            (only >= 0 && !r->layers[only].side[s].observed))
            continue;
        rc = assay_impact_compute(&x, r, s, only, err);
        if (rc == 0) {
            *code = changes(&x) ? 1 : *code == 1;
            if (!r->o->json_stdout)
                print_column(r, &x, only >= 0);
            json_array_append_new(list, json_column(r, &x));
        }
        assay_impact_close(&x);
    }
    if (rc == 0 && *code == NOTHING_SEEN)
        fprintf(stderr, "%s\n", assay_message_text(ASSAY_MSG_IMPACT_NO_COLUMN));
    return rc;
}

int assay_impact_report(struct assay_run *r)
{
    struct assay_err err = {0};
    json_t *list = json_array();
    int code = 0, rc = 0;

    if (r->error.code != 0)
        err = r->error;
    rc = err.code;
    if (rc == 0 && r->interrupted == 0) {
        note_engine(r);
        rc = columns_of(r, list, &code, &err);
        if (rc == 0)
            rc = write_json(r, list, code, &err);
    }
    json_decref(list);
    if (rc < 0)
        return assay_cmd_failed(&err);
    return r->interrupted != 0 ? 128 + r->interrupted : code;
}

int assay_cmd_impact(const struct assay_options *o, int argc, char **argv)
{
    struct assay_options mine = *o;

    /* The engine of this process computes; no board is asked. */
    mine.local = true;
    mine.target = NULL;
    return assay_cmd_run(&mine, argc, argv);
}
