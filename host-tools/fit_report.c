/* SPDX-License-Identifier: Apache-2.0 */
/* What fit-arith found, as text and as JSON (schema assay-fit/1). */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/fit_case.h"
#include "host-tools/messages.h"

#define SHOWN 4   /* other candidates of a layer, in the text */
#define LISTED 64 /* and in JSON */

/* Candidates that are told of, with the elements of the pool against them. */
struct listed {
    const struct assay_fit_pool *p;
    bool *wanted;     /* by candidate of the pool's space */
    uint64_t *differ; /* the same */
};

/* The classes of a layer that the winner is not in. */
static size_t others_of(const struct assay_fit_found *f,
                        const struct assay_fit_pool *p,
                        struct assay_fit_choice *out, size_t cap)
{
    struct assay_fit_choice all[LISTED + 1];
    const struct assay_fit_space *space = &f->l->problem.space;
    uint32_t mine =
        p->left > 0 ? f->state[assay_fit_index(space, &p->winner)] : 0;
    size_t n = assay_fit_representatives(space, f->state, f->n,
                                         p->left > 0 ? &p->winner : NULL, all,
                                         LISTED + 1),
           kept = 0;

    for (size_t i = 0; i < n && kept < cap; i++) {
        if (f->state[assay_fit_index(space, &all[i])] == mine)
            continue;
        /* What the layer lacks is as in the winner. */
        for (unsigned d = 0; p->left > 0 && d < ASSAY_FIT_DIMS; d++) {
            if (space->radix[d] == 1)
                all[i].v[d] = p->winner.v[d];
        }
        out[kept++] = all[i];
    }
    return kept;
}

/* What the layer lacks is as in the winner. */
static size_t index_in_pool(const struct assay_fit_found *f,
                            const struct assay_fit_pool *p,
                            struct assay_fit_choice c)
{
    for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++) {
        if (f->l->problem.space.radix[d] == 1)
            c.v[d] = p->left > 0 ? p->winner.v[d] : 0;
    }
    return assay_fit_index(&p->space, &c);
}

static int list(struct listed *l, const struct assay_fit_pool *p,
                struct assay_err *err)
{
    l->p = p;
    l->wanted = assay_calloc(p->n, sizeof(*l->wanted));
    l->differ = assay_calloc(p->n, sizeof(*l->differ));
    if (l->wanted == NULL || l->differ == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (size_t k = 0; k < p->n_layers; k++) {
        struct assay_fit_choice other[LISTED];
        size_t n = others_of(p->layers[k], p, other, LISTED);

        for (size_t i = 0; i < n; i++)
            l->wanted[index_in_pool(p->layers[k], p, other[i])] = true;
    }
    return assay_fit_pool_count(p, l->wanted, l->differ, err);
}

/* "post-shift half_even, output wrap": where a candidate is not the winner. */
static void describe(const struct assay_fit_space *space,
                     const struct assay_fit_pool *p,
                     const struct assay_fit_choice *c, char *out, size_t cap)
{
    out[0] = '\0';
    for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++) {
        if (space->radix[d] == 1 || (p->left > 0 && c->v[d] == p->winner.v[d]))
            continue;
        snprintf(out + strlen(out), cap - strlen(out), "%s%s %s",
                 out[0] != '\0' ? ", " : "",
                 assay_fit_dim_name((enum assay_fit_dim)d),
                 assay_fit_value_name((enum assay_fit_dim)d, c->v[d]));
    }
}

/* Candidates that the pool is left with, one of each class but the winner's. */
static size_t left_of(const struct assay_fit_pool *p,
                      struct assay_fit_choice *out, size_t cap)
{
    struct assay_fit_choice all[LISTED + 1];
    uint32_t mine =
        p->left > 0 ? p->state[assay_fit_index(&p->space, &p->winner)] : 0;
    size_t n = assay_fit_representatives(&p->space, p->state, p->n, &p->winner,
                                         all, LISTED + 1),
           kept = 0;

    for (size_t i = 0; i < n && kept < cap; i++) {
        if (p->state[assay_fit_index(&p->space, &all[i])] == mine)
            continue;
        /* What no layer has is as in the winner. */
        for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++) {
            if (p->space.radix[d] == 1)
                all[i].v[d] = p->winner.v[d];
        }
        out[kept++] = all[i];
    }
    return kept;
}

/* A layer that has an input which tells a candidate from the pool's rule, and
 * the input's name; NULL: none. */
static const struct assay_fit_found *teller(const struct assay_fit_pool *p,
                                            const struct assay_fit_choice *c,
                                            char *file, size_t cap)
{
    for (size_t i = 0; i < p->n_layers; i++) {
        size_t k = assay_fit_told(p->layers[i], c, &p->winner);

        if (k == 0)
            continue;
        assay_fit_input_name(p->layers[i], k - 1, file, cap);
        return p->layers[i];
    }
    return NULL;
}

/* ---- text ------------------------------------------------------------------ */

static void say(enum assay_message_id id, const char *const *args)
{
    char line[1400];

    /* Pairs of name and value; at most six. */
    printf("%s\n",
           assay_message(line, sizeof(line), id, args[0], args[1], args[2],
                         args[3], args[4], args[5], args[6], args[7], args[8],
                         args[9], args[10], args[11], NULL));
}

/* Files are named where they are written. */
static void text_inputs(const struct assay_fit_found *f, bool written)
{
    char input[256] = "";
    struct assay_num k[3] = {assay_num_u(f->n_inputs),
                             assay_num_u(f->separated),
                             assay_num_u(f->classes)};

    if (f->separated < 2) {
        say(f->separated == 1 ? ASSAY_MSG_FIT_NO_INPUT
                              : ASSAY_MSG_FIT_INPUT_LIMIT,
            (const char *[12]){NULL});
        return;
    }
    assay_fit_input_name(f, 0, input, sizeof(input));
    say(!written          ? ASSAY_MSG_FIT_INPUT
        : f->n_inputs > 1 ? ASSAY_MSG_FIT_INPUT_FILES
                          : ASSAY_MSG_FIT_INPUT_FILE,
        (const char *[12]){"file", input, "inputs", k[0].text, "count",
                           k[1].text, "classes", k[2].text});
}

static void text_layer(const struct assay_fit_found *f, const struct listed *l,
                       bool written)
{
    const struct assay_fit_pool *p = l->p;
    struct assay_fit_choice other[SHOWN];
    size_t n = others_of(f, p, other, SHOWN);
    char text[400];

    say(f->classes > 1 ? ASSAY_MSG_FIT_LAYER : ASSAY_MSG_FIT_LAYER_ONE,
        (const char *[12]){"name", assay_fit_layer_of(f->l)->name, "case",
                           f->source, "count", assay_num_u(f->l->n).text,
                           "left", assay_num_u(f->left).text, "classes",
                           assay_num_u(f->classes).text});
    for (size_t i = 0; i < n; i++) {
        uint64_t against = l->differ[index_in_pool(f, p, other[i])];

        describe(&f->l->problem.space, p, &other[i], text, sizeof(text));
        say(against > 0 ? ASSAY_MSG_FIT_OTHER : ASSAY_MSG_FIT_OTHER_LEFT,
            (const char *[12]){"what", text, "count",
                               assay_num_u(against).text});
    }
    if (f->classes > 1)
        text_inputs(f, written);
}

static void text_left(const struct assay_fit_pool *p, bool written)
{
    struct assay_fit_choice other[SHOWN];
    size_t n = p->left > 0 ? left_of(p, other, SHOWN) : 0;

    for (size_t i = 0; i < n; i++) {
        char what[400] = "", file[256] = "";
        const struct assay_fit_found *f =
            teller(p, &other[i], file, sizeof(file));

        describe(&p->space, p, &other[i], what, sizeof(what));
        say(f == NULL ? ASSAY_MSG_FIT_LEFT_UNTOLD
            : written ? ASSAY_MSG_FIT_LEFT_FILE
                      : ASSAY_MSG_FIT_LEFT,
            (const char *[12]){"what", what, "file", file, "name",
                               f != NULL ? assay_fit_layer_of(f->l)->name
                                         : ""});
    }
}

static void text_pool(const struct listed *l, bool written)
{
    const struct assay_fit_pool *p = l->p;
    char rule[ASSAY_FIT_RULE_TEXT];
    struct assay_num n[5] = {assay_num_u(p->n_layers), assay_num_u(p->elements),
                             assay_num_u(p->left), assay_num_u(p->n),
                             assay_num_u(p->classes)};
    const char *args[12] = {"form",  p->form,   "layers",  n[0].text,
                            "count", n[1].text, "left",    n[2].text,
                            "all",   n[3].text, "classes", n[4].text};

    printf("\n");
    say(ASSAY_MSG_FIT_FORM, args);
    if (p->left == 0) {
        say(ASSAY_MSG_FIT_OUTSIDE, args);
    } else {
        assay_fit_rule(p->form, &p->winner, rule);
        printf("  %s\n", rule);
        say(assay_fit_is_unique(p) ? ASSAY_MSG_FIT_UNIQUE : ASSAY_MSG_FIT_MANY,
            args);
        text_left(p, written);
    }
    if (!p->has_base)
        say(ASSAY_MSG_FIT_BASE_OUTSIDE, args);
    else
        say(p->base_left ? ASSAY_MSG_FIT_BASE_LEFT : ASSAY_MSG_FIT_BASE_WRONG,
            args);
    for (size_t i = 0; i < p->n_layers; i++)
        text_layer(p->layers[i], l, written);
}

static void text(const struct assay_fit_session *f, const struct listed *l,
                 const struct assay_options *o, uint64_t ms)
{
    struct assay_num n[6] = {
        assay_num_u(f->n_cases),   assay_num_u(f->n_found),
        assay_num_u(f->n_pools),   assay_num_f(1, (double)ms / 1000),
        assay_num_u(f->no_golden), assay_num_u(f->n_cut)};
    const char *dir = o->output_dir != NULL ? o->output_dir : "";
    const char *args[12] = {"cases",   n[0].text, "layers",  n[1].text,
                            "forms",   n[2].text, "seconds", n[3].text,
                            "without", n[4].text, "dir",     dir};

    say(ASSAY_MSG_FIT_HEAD, args);
    if (f->n_found == 0)
        say(ASSAY_MSG_FIT_NOTHING, args);
    if (f->no_golden > 0)
        say(ASSAY_MSG_FIT_NO_GOLDEN, args);
    if (f->stopped)
        say(ASSAY_MSG_FIT_STOPPED, (const char *[12]){"cut", n[5].text});
    for (size_t i = 0; i < f->n_pools; i++)
        text_pool(&l[i], o->output_dir != NULL);
    if (o->output_dir != NULL && f->n_found > 0) {
        printf("\n");
        say(ASSAY_MSG_FIT_SAVED, args);
    } else if (f->n_found > 0) {
        printf("\n");
        say(ASSAY_MSG_FIT_NEXT, args);
    }
}

/* ---- JSON ------------------------------------------------------------------ */

static json_t *string(const char *s)
{
    json_t *j = json_string(s);

    return j != NULL ? j : json_string("?");
}

static json_t *rule_of(const char *form, const struct assay_fit_choice *c)
{
    char rule[ASSAY_FIT_RULE_TEXT];

    assay_fit_rule(form, c, rule);
    return json_string(rule);
}

/* Classes of different groups are told apart by the layer's inputs. */
static json_int_t group_of(const struct assay_fit_found *f,
                           const struct assay_fit_choice *c)
{
    uint32_t class = f->state[assay_fit_index(&f->l->problem.space, c)];

    return f->n_inputs > 0 && class > 0 ? f->group[f->n_inputs - 1][class - 1]
                                        : 0;
}

static json_t *json_layer(const struct assay_fit_found *f,
                          const struct listed *l)
{
    const struct assay_fit_pool *p = l->p;
    struct assay_fit_choice other[LISTED];
    size_t n = others_of(f, p, other, LISTED);
    json_t *o = json_object(), *others = json_array(), *inputs = json_array();
    char file[256];

    json_object_set_new(o, "layer", string(assay_fit_layer_of(f->l)->name));
    json_object_set_new(o, "case", string(f->source));
    json_object_set_new(o, "elements", json_integer((json_int_t)f->l->n));
    json_object_set_new(o, "candidates", json_integer((json_int_t)f->left));
    json_object_set_new(o, "classes", json_integer((json_int_t)f->classes));
    json_object_set_new(
        o, "in_use_left",
        json_boolean(
            p->has_base &&
            f->state[assay_fit_index(&f->l->problem.space, &p->base)] != 0));
    json_object_set_new(o, "separated", json_integer((json_int_t)f->separated));
    for (size_t k = 0; k < f->n_inputs; k++) {
        assay_fit_input_name(f, k, file, sizeof(file));
        json_array_append_new(inputs, string(file));
    }
    json_object_set_new(o, "inputs", inputs);
    for (size_t i = 0; i < n; i++) {
        json_t *k = json_object();

        json_object_set_new(k, "rule", rule_of(p->form, &other[i]));
        json_object_set_new(
            k, "pool_differs",
            json_integer((json_int_t)l->differ[index_in_pool(f, p, other[i])]));
        json_object_set_new(
            k, "told",
            json_boolean(p->left > 0 &&
                         assay_fit_told(f, &other[i], &p->winner) > 0));
        json_object_set_new(k, "group", json_integer(group_of(f, &other[i])));
        json_array_append_new(others, k);
    }
    json_object_set_new(o, "others", others);
    return o;
}

static json_t *json_left(const struct assay_fit_pool *p)
{
    struct assay_fit_choice other[LISTED];
    size_t n = p->left > 0 ? left_of(p, other, LISTED) : 0;
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        char file[256];
        const struct assay_fit_found *f =
            teller(p, &other[i], file, sizeof(file));
        json_t *k = json_object();

        json_object_set_new(k, "rule", rule_of(p->form, &other[i]));
        if (f != NULL) {
            json_object_set_new(k, "layer",
                                string(assay_fit_layer_of(f->l)->name));
            json_object_set_new(k, "case", string(f->source));
            json_object_set_new(k, "input", string(file));
        }
        json_array_append_new(list, k);
    }
    return list;
}

static json_t *json_pool(const struct listed *l)
{
    const struct assay_fit_pool *p = l->p;
    json_t *o = json_object(), *layers = json_array();

    json_object_set_new(o, "form", string(p->form));
    json_object_set_new(o, "elements", json_integer((json_int_t)p->elements));
    json_object_set_new(o, "space", json_integer((json_int_t)p->n));
    json_object_set_new(o, "candidates", json_integer((json_int_t)p->left));
    json_object_set_new(o, "classes", json_integer((json_int_t)p->classes));
    json_object_set_new(o, "unique", json_boolean(assay_fit_is_unique(p)));
    json_object_set_new(o, "in_use_known", json_boolean(p->has_base));
    json_object_set_new(o, "in_use_left", json_boolean(p->base_left));
    json_object_set_new(
        o, "rule", p->left > 0 ? rule_of(p->form, &p->winner) : json_null());
    json_object_set_new(o, "others", json_left(p));
    for (size_t i = 0; i < p->n_layers; i++)
        json_array_append_new(layers, json_layer(p->layers[i], l));
    json_object_set_new(o, "layers", layers);
    return o;
}

static int json(const struct assay_fit_session *f, const struct listed *l,
                const struct assay_options *o, int code, uint64_t ms,
                struct assay_err *err)
{
    json_t *root = json_object(), *forms = json_array();
    int rc = 0;

    json_object_set_new(root, "schema", json_string("assay-fit/1"));
    json_object_set_new(root, "exit_code", json_integer(code));
    json_object_set_new(root, "duration_ms", json_integer((json_int_t)ms));
    json_object_set_new(root, "stopped", json_boolean(f->stopped));
    json_object_set_new(root, "without_golden", json_integer(f->no_golden));
    for (size_t i = 0; i < f->n_pools; i++)
        json_array_append_new(forms, json_pool(&l[i]));
    json_object_set_new(root, "forms", forms);
    if (o->json_stdout) {
        if (json_dumpf(root, stdout, JSON_INDENT(2)) != 0)
            rc = assay_fail(err, ASSAY_EIO, "cannot write the JSON report");
        printf("\n");
    }
    if (rc == 0 && o->json != NULL &&
        json_dump_file(root, o->json, JSON_INDENT(2)) != 0)
        rc = assay_fail(err, ASSAY_EIO, "%.300s: cannot write: %s", o->json,
                        strerror(errno));
    json_decref(root);
    return rc;
}

int assay_fit_report(const struct assay_fit_session *f,
                     const struct assay_options *o, int code, uint64_t ms,
                     struct assay_err *err)
{
    struct listed *l = assay_calloc(f->n_pools + 1, sizeof(*l));
    int rc = 0;

    if (l == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (size_t i = 0; i < f->n_pools && rc == 0; i++)
        rc = list(&l[i], f->pools[i], err);
    if (rc == 0 && !o->json_stdout)
        text(f, l, o, ms);
    if (rc == 0)
        rc = json(f, l, o, code, ms, err);
    for (size_t i = 0; i < f->n_pools; i++) {
        assay_free(l[i].wanted);
        assay_free(l[i].differ);
    }
    assay_free(l);
    return rc;
}
