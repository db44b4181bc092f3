/* SPDX-License-Identifier: Apache-2.0 */
/* Which arithmetic: --numerics, --arith, and what is proved of it. */
#include "host-tools/prepare.h"

#include <string.h>

#include "host-tools/messages.h"
#include "lib/core/arith.h"

static void join_names(char *out, size_t cap, const char *(*name)(unsigned i))
{
    out[0] = '\0';
    for (unsigned i = 0; name(i) != NULL; i++) {
        if (i > 0)
            strncat(out, " ", cap - strlen(out) - 1);
        strncat(out, name(i), cap - strlen(out) - 1);
    }
}

static bool known_name(const char *name, const char *(*known)(unsigned i))
{
    for (unsigned i = 0; known(i) != NULL; i++) {
        if (strcmp(known(i), name) == 0)
            return true;
    }
    return false;
}

static const char *nearest_name(const char *name,
                                const char *(*known)(unsigned i))
{
    const char *near = "";
    unsigned best = ~0u;

    for (unsigned i = 0; known(i) != NULL; i++) {
        unsigned d = assay_edit_distance(name, known(i));

        if (d < best) {
            best = d;
            near = known(i);
        }
    }
    return near;
}

/* Rules are of several words, names of one. */
static bool is_rule(const char *text)
{
    return strpbrk(text, " \t;|") != NULL;
}

int assay_prepare_names(const struct assay_options *o, struct assay_err *err)
{
    char list[400];

    if (o->numerics != NULL && !assay_numerics_is_path(o->numerics) &&
        !known_name(o->numerics, assay_numerics_known)) {
        join_names(list, sizeof(list), assay_numerics_known);
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_NUMERICS,
                                  "name", o->numerics, "known", list, NULL);
    }
    for (size_t i = 0; i < o->arith.n; i++) {
        const char *name = strrchr(o->arith.v[i], '=') + 1;

        if (!is_rule(name) && !known_name(name, assay_arith_name) &&
            !known_name(name, assay_numerics_builtin))
            return assay_fail_message(
                err, ASSAY_EUSAGE, ASSAY_MSG_NO_ARITHMETIC, "name", name,
                "near", nearest_name(name, assay_arith_name), NULL);
    }
    return 0;
}

/* ---- --numerics --------------------------------------------------------- */

/* Goldens of one family prove nothing of another: its rules may be tried on
 * any model, its proofs stay behind. A file of the user's own says itself what
 * proved it. */
static int drop_foreign_proofs(struct assay_prepared *p, struct assay_err *err)
{
    struct assay_numerics *n = &p->rules.n;
    struct assay_numerics_rule *rules;

    if (!known_name(n->name, assay_numerics_builtin) ||
        strcmp(n->name, p->slice->numerics) == 0 || n->n_rules == 0)
        return 0;
    rules =
        assay_arena_copy(p->rules.arena, n->rules, n->n_rules * sizeof(*rules));
    if (rules == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "numerics: out of memory");
    for (uint32_t i = 0; i < n->n_rules; i++)
        rules[i].proved = 0;
    n->rules = rules;
    return 0;
}

static int use_rules(struct assay_prepared *p, const char *name,
                     struct assay_err *err)
{
    int rc = assay_numerics_open(&p->rules, name, err);

    if (rc == 0)
        rc = drop_foreign_proofs(p, err);
    if (rc == 0)
        rc = assay_numerics_use(p->slice, &p->rules.n, err);
    p->numerics = rc == 0 ? p->rules.n.name : NULL;
    return rc;
}

/* A recorded slice keeps its programs; what proves them is looked up. */
static int use_recorded(struct assay_prepared *p, const struct assay_options *o,
                        struct assay_err *err)
{
    const struct assay_slice *s = p->slice;
    int rc = 0;

    if (o->numerics != NULL)
        return assay_fail_message(
            err, ASSAY_EUSAGE, ASSAY_MSG_NUMERICS_RECORDED, "name", o->numerics,
            "path", assay_prepare_path(o), "own", s->numerics, NULL);
    for (uint32_t i = 0; i < s->n_layers; i++)
        p->own_numerics = p->own_numerics || s->layers[i].form != NULL;
    if (p->own_numerics && known_name(s->numerics, assay_numerics_builtin))
        rc = assay_numerics_open(&p->rules, s->numerics, err);
    else
        p->rules.n =
            (struct assay_numerics){.name = s->numerics, .source = "the slice"};
    p->numerics = s->numerics;
    return rc;
}

int assay_prepare_numerics(struct assay_prepared *p,
                           const struct assay_options *o, struct assay_err *err)
{
    const char *own = p->slice->numerics;
    bool chosen = o->numerics != NULL;
    bool of_forms = chosen && (assay_numerics_is_path(o->numerics) ||
                               known_name(o->numerics, assay_numerics_builtin));

    if (strcmp(p->slice->model_format, "slice") == 0)
        return use_recorded(p, o, err);
    if (own[0] != '\0') {
        p->own_numerics = true;
        if (!chosen || of_forms)
            return use_rules(p, chosen ? o->numerics : own, err);
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NUMERICS_OWN,
                                  "name", o->numerics, "model",
                                  p->slice->model_name, "own", own, NULL);
    }
    if (of_forms)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NUMERICS_NOT_OWN,
                                  "name", o->numerics, "model",
                                  p->slice->model_name, NULL);
    p->numerics = chosen ? o->numerics : assay_case_numerics(&p->c);
    return assay_numerics_apply(p->slice, p->numerics, err);
}

/* ---- --arith ------------------------------------------------------------ */

/* The rule that another built-in numerics has for the form of a layer. */
static int apply_named(struct assay_prepared *p, uint32_t layer,
                       const char *name, struct assay_err *err)
{
    const char *form = p->slice->layers[layer].form;
    const struct assay_numerics_rule *rule;
    struct assay_numerics_file other;
    int rc = assay_numerics_open(&other, name, err);

    if (rc < 0)
        return rc;
    rule = form != NULL ? assay_numerics_find(&other.n, form) : NULL;
    rc = assay_rule_apply(p->slice, layer, rule != NULL ? rule->rule : "", err);
    assay_numerics_close(&other);
    return rc;
}

static int apply_rule(struct assay_prepared *p, uint32_t layer,
                      const char *layer_name, const char *value,
                      struct assay_err *err)
{
    if (is_rule(value))
        return assay_rule_apply(p->slice, layer, value, err);
    if (known_name(value, assay_numerics_builtin))
        return apply_named(p, layer, value, err);
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_ARITH_OWN, "layer",
                              layer_name, "name", value, "model",
                              p->slice->model_name, NULL);
}

static int override_one(struct assay_prepared *p, const char *text,
                        struct assay_err *err)
{
    struct assay_slice *s = p->slice;
    const char *eq = strrchr(text, '=');
    size_t n = (size_t)(eq - text);
    char name[512];
    uint32_t layer;
    int rc;

    if (n >= sizeof(name))
        n = sizeof(name) - 1;
    memcpy(name, text, n);
    name[n] = '\0';
    rc = assay_find_layer(&layer, s, name, err);
    if (rc < 0)
        return rc;
    if (p->own_numerics)
        rc = apply_rule(p, layer, name, eq + 1, err);
    else if (known_name(eq + 1, assay_arith_name))
        rc = assay_arith_apply(s, layer, eq + 1, err);
    else
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_ARITH_NOT_OWN,
                                "layer", name, "name", eq + 1, "model",
                                s->model_name, NULL);
    if (rc == 0)
        s->layers[layer].arith_overridden = true;
    return rc;
}

/* Was the same layer named by an option before? */
static bool is_again(const struct assay_strings *arith, size_t i)
{
    size_t n = (size_t)(strrchr(arith->v[i], '=') - arith->v[i]);

    for (size_t k = 0; k < i; k++)
        if ((size_t)(strrchr(arith->v[k], '=') - arith->v[k]) == n &&
            memcmp(arith->v[k], arith->v[i], n) == 0)
            return true;
    return false;
}

int assay_prepare_arith(struct assay_prepared *p, const struct assay_options *o,
                        struct assay_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < o->arith.n && rc == 0; i++) {
        char name[512];

        if (!is_again(&o->arith, i)) {
            rc = override_one(p, o->arith.v[i], err);
            continue;
        }
        snprintf(name, sizeof(name), "%.*s",
                 (int)(strrchr(o->arith.v[i], '=') - o->arith.v[i]),
                 o->arith.v[i]);
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_ARITH_TWICE,
                                "layer", name, NULL);
    }
    return rc;
}

/* ---- what is proved ----------------------------------------------------- */

static bool form_proved(const struct assay_prepared *p, uint32_t layer)
{
    const struct assay_layer *l = &p->slice->layers[layer];
    enum assay_dtype dtype = p->slice->tensors[l->output].dtype;
    const struct assay_numerics_rule *rule =
        assay_numerics_find(&p->rules.n, l->form);

    return rule != NULL && (rule->proved & 1u << dtype) != 0;
}

bool assay_prepare_proved(const struct assay_prepared *p, uint32_t layer)
{
    const struct assay_slice *s = p->slice;
    const struct assay_layer *l = &s->layers[layer];

    if (l->form != NULL)
        return form_proved(p, layer);
    /* A part of an operation is no better proved than the part that computes:
     * what lies between them has no golden. */
    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (s->layers[i].source_index == l->source_index &&
            s->layers[i].form != NULL && !form_proved(p, i))
            return false;
    }
    return l->real_op == ASSAY_REAL_NONE ||
           assay_numerics_proved(p->numerics, l->real_op,
                                 s->tensors[l->output].dtype);
}

static bool has_form(const struct assay_slice *s, uint32_t i)
{
    return s->layers[i].op != ASSAY_OP_SKIPPED && s->layers[i].form != NULL;
}

const struct assay_numerics_rule *assay_prepare_rule(
    const struct assay_prepared *p, uint32_t i, uint32_t *layers,
    uint32_t *proved)
{
    const struct assay_slice *s = p->slice;
    const char *form = s->layers[i].form;

    *layers = *proved = 0;
    if (!has_form(s, i))
        return NULL;
    for (uint32_t j = 0; j < s->n_layers; j++) {
        if (!has_form(s, j) || strcmp(s->layers[j].form, form) != 0)
            continue;
        if (j < i)
            return NULL;
        (*layers)++;
        *proved += assay_prepare_proved(p, j);
    }
    return assay_numerics_find(&p->rules.n, form);
}

void assay_prepare_count(const struct assay_prepared *p, uint32_t *layers,
                         uint32_t *proved)
{
    *layers = *proved = 0;
    for (uint32_t i = 0; i < p->slice->n_layers; i++) {
        if (!has_form(p->slice, i))
            continue;
        (*layers)++;
        *proved += assay_prepare_proved(p, i);
    }
}
