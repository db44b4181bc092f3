/* SPDX-License-Identifier: Apache-2.0 */
/* What fit-arith leaves: a numerics file, and separating inputs as npz. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host-tools/fit_case.h"
#include "host-tools/model/numerics_file.h"

#define MAX_NAME 40 /* of numerics files */

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "out of memory while saving");
}

/* Output dtypes of the pool's layers, as bits. */
static uint32_t dtypes_of(const struct assay_fit_pool *p)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < p->n_layers; i++)
        bits |= 1u << p->layers[i]->l->dtype;
    return bits;
}

/* What is cut in the middle would be no UTF-8. */
static void make_ascii(char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s > 126)
            *s = '?';
    }
}

/* "goldens of digits, stress: 3 layers, 1234 elements" */
static void golden_text(const struct assay_fit_pool *p, enum assay_dtype dtype,
                        char *out, size_t cap)
{
    uint64_t elements = 0, layers = 0;
    char names[200] = "";
    const char *last = "";

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct assay_fit_found *f = p->layers[i];

        if (f->l->dtype != dtype)
            continue;
        layers++;
        elements += f->l->n;
        if (strcmp(last, f->source) != 0 && strlen(names) < 120)
            snprintf(names + strlen(names), sizeof(names) - strlen(names),
                     "%s%.60s", names[0] != '\0' ? ", " : "", f->source);
        last = f->source;
    }
    make_ascii(names);
    snprintf(out, cap, "fit-arith: goldens of %s: %llu layers, %llu elements",
             names, (unsigned long long)layers, (unsigned long long)elements);
}

static json_t *rule_json(const struct assay_fit_pool *p)
{
    json_t *o = json_object(), *proved = json_object();
    char rule[ASSAY_FIT_RULE_TEXT], text[400];
    uint32_t bits = dtypes_of(p);

    assay_fit_rule(p->form, &p->winner, rule);
    json_object_set_new(o, "rule", json_string(rule));
    for (unsigned d = 1; assay_fit_is_unique(p) && d < 32; d++) {
        if (!(bits >> d & 1))
            continue;
        golden_text(p, (enum assay_dtype)d, text, sizeof(text));
        json_object_set_new(proved, assay_dtype_name((enum assay_dtype)d),
                            json_string(text));
    }
    if (assay_fit_is_unique(p))
        snprintf(text, sizeof(text),
                 "fit-arith: unique up to proven equivalence, %zu candidates",
                 p->left);
    else
        snprintf(text, sizeof(text),
                 "fit-arith: not proved: %zu candidates in %zu classes "
                 "reproduce all goldens; this is the one nearest to the rule "
                 "in use",
                 p->left, p->classes);
    json_object_set_new(o, "proved", proved);
    json_object_set_new(o, "note", json_string(text));
    return o;
}

/* The numerics in use; NULL: the models have none of forms. */
static const struct assay_numerics *in_use(const struct assay_fit_session *f)
{
    for (size_t i = 0; i < f->n_cases; i++) {
        if (f->cases[i].rules.n.n_rules > 0)
            return &f->cases[i].rules.n;
    }
    return NULL;
}

static bool is_built_in(const struct assay_numerics *n)
{
    return n != NULL && strcmp(n->source, "built in") == 0;
}

static bool was_searched(const struct assay_fit_session *f, const char *form)
{
    for (size_t i = 0; i < f->n_pools; i++) {
        if (strcmp(f->pools[i]->form, form) == 0)
            return true;
    }
    return false;
}

/* A rule in use that nothing better was found for. What the goldens speak
 * against is not proved, whatever did so before. */
static json_t *kept_json(const struct assay_numerics_rule *rule, bool fits)
{
    json_t *o = json_object(), *proved = json_object();
    char golden[300];

    snprintf(golden, sizeof(golden), "%s", rule->golden); /* may be of many */
    make_ascii(golden);
    for (unsigned d = 1; fits && d < 32; d++) {
        if (rule->proved >> d & 1)
            json_object_set_new(proved, assay_dtype_name((enum assay_dtype)d),
                                json_string(golden));
    }
    json_object_set_new(o, "rule", json_string(rule->rule));
    json_object_set_new(o, "proved", proved);
    json_object_set_new(
        o, "note",
        fits ? json_string(rule->note)
             : json_string("fit-arith: the rule in use; neither it nor any "
                           "other of the space reproduces all goldens"));
    return o;
}

/* With a built-in base only what it must not say. */
static void keep_rules(const struct assay_fit_session *f, json_t *rules)
{
    const struct assay_numerics *n = in_use(f);

    for (uint32_t i = 0; n != NULL && i < n->n_rules; i++) {
        const struct assay_numerics_rule *rule = &n->rules[i];
        bool searched = was_searched(f, rule->form);

        if (json_object_get(rules, rule->form) == NULL &&
            (searched || !is_built_in(n)))
            json_object_set_new(rules, rule->form, kept_json(rule, !searched));
    }
}

/* "dir/fitted.json" to "fitted", as the reader of such files takes names. */
static json_t *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char name[MAX_NAME + 1];
    size_t n;

    snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1 : path);
    for (n = strlen(name); n > 5 && strcmp(name + n - 5, ".json") == 0; n -= 5)
        name[n - 5] = '\0';
    for (char *c = name; *c != '\0'; c++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789._-",
                   *c) == NULL)
            *c = '_';
    }
    return json_string(name[0] == '\0' || assay_numerics_is_path(name) ? "found"
                                                                       : name);
}

static int write_json(const json_t *root, const char *path,
                      struct assay_err *err)
{
    char temporary[4200];

    snprintf(temporary, sizeof(temporary), "%.4096s.part%ld", path,
             (long)getpid());
    if (json_dump_file(root, temporary, JSON_INDENT(2)) != 0 ||
        rename(temporary, path) != 0) {
        int e = errno;

        unlink(temporary);
        return assay_fail(err, ASSAY_EIO, "%.300s: cannot write: %s", path,
                          strerror(e));
    }
    return 0;
}

int assay_fit_save(const struct assay_fit_session *f, const char *path,
                   struct assay_err *err)
{
    json_t *root = json_object(), *rules = json_object();
    char none[300] = ""; /* the reader takes 400 */
    int rc;

    if (root == NULL || rules == NULL) {
        json_decref(root);
        json_decref(rules);
        return no_memory(err);
    }
    for (size_t i = 0; i < f->n_pools; i++) {
        const struct assay_fit_pool *p = f->pools[i];

        if (p->left > 0)
            json_object_set_new(rules, p->form, rule_json(p));
        else if (strlen(none) < 200)
            snprintf(none + strlen(none), sizeof(none) - strlen(none),
                     "; no rule of the space fits form %s", p->form);
    }
    json_object_set_new(root, "schema", json_string("assay-numerics/1"));
    json_object_set_new(root, "name", name_of(path));
    json_object_set_new(root, "note",
                        json_sprintf("found by assay fit-arith%s", none));
    keep_rules(f, rules);
    if (is_built_in(in_use(f)))
        json_object_set_new(root, "base", json_string(in_use(f)->name));
    json_object_set_new(root, "rules", rules);
    rc = write_json(root, path, err);
    json_decref(root);
    return rc;
}

/* ---- separating inputs ----------------------------------------------------- */

void assay_fit_input_name(const struct assay_fit_found *f, size_t k, char *out,
                          size_t cap)
{
    size_t n;

    snprintf(out, cap, "%.60s.%03u.%.100s.%zu.npz", f->source, f->l->layer,
             assay_fit_layer_of(f->l)->name, k);
    n = strlen(out);
    for (size_t i = 0; i < n; i++) {
        if (out[i] == '/' || out[i] == '\\' || (unsigned char)out[i] <= ' ')
            out[i] = '_';
    }
    if (out[0] == '.')
        out[0] = '_';
}

static int save_one(const struct assay_fit_found *f, void *const *input,
                    const char *path, struct assay_err *err)
{
    const struct assay_layer *y = assay_fit_layer_of(f->l);
    struct assay_npz_writer *w = NULL;
    int rc = assay_npz_create(&w, path, err);

    for (uint32_t i = 0; i < y->n_inputs && i < 4 && rc == 0; i++) {
        bool again = false;

        for (uint32_t k = 0; k < i; k++)
            again = again || y->inputs[k] == y->inputs[i];
        if (input[i] != NULL && !again)
            rc = assay_npz_add_tensor(w, &f->l->slice->tensors[y->inputs[i]],
                                      input[i], err);
    }
    if (rc == 0)
        return assay_npz_finish(w, err);
    assay_npz_abort(w);
    return rc;
}

int assay_fit_save_inputs(const struct assay_fit_session *f, const char *dir,
                          struct assay_err *err)
{
    char folder[4096], path[4400], name[256];
    int rc = 0;

    snprintf(folder, sizeof(folder), "%.4000s/separating", dir);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return assay_fail(err, ASSAY_EIO, "%.300s: cannot create: %s", folder,
                          strerror(errno));
    for (size_t i = 0; i < f->n_found; i++) {
        const struct assay_fit_found *l = f->found[i];

        for (size_t k = 0; k < l->n_inputs && rc == 0; k++) {
            assay_fit_input_name(l, k, name, sizeof(name));
            snprintf(path, sizeof(path), "%s/%s", folder, name);
            rc = save_one(l, l->inputs[k], path, err);
        }
    }
    return rc;
}
