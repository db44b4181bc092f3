/* SPDX-License-Identifier: Apache-2.0 */
/* Forms, their fields, and a rule applied to a layer. */
#include "lib/core/form.h"

#include <string.h>

#include "lib/core/form_private.h"

static const struct assay_form forms[] = {
    {.name = "conv"},
    {.name = "conv_tail"},
    {.name = "conv_float", .to_float = true},
    {.name = "conv_transpose"},
    {.name = "linear"},
    {.name = "linear_tail"},
    {.name = "matmul"},
    {.name = "add", .first = "x", .second = "e"},
    {.name = "sub", .first = "x", .second = "e"},
    {.name = "mul", .first = "x", .second = "e"},
    {.name = "rescale"},
    {.name = "reduce"},
    {.name = "global_avg_pool"},
    {.name = "avg_pool"},
    {.name = "prelu", .first = "pos", .second = "neg"},
    {.name = "lut", .index = true},
    {.name = "lut_segments", .segments = true},
    {.name = "resize", .between = true},
    {.name = "resize_twice", .between = true},
    {.name = "grid_sample"},
    {.name = "quantize", .from_float = true},
    {.name = "dequantize", .to_float = true},
};
#define N_FORMS (sizeof(forms) / sizeof(forms[0]))

const char *assay_form_name(unsigned i)
{
    return i < N_FORMS ? forms[i].name : NULL;
}

const struct assay_form *assay_form_find(const char *name)
{
    for (size_t i = 0; i < N_FORMS; i++)
        if (strcmp(forms[i].name, name) == 0)
            return &forms[i];
    return NULL;
}

/* ---- fields ------------------------------------------------------------- */

const struct assay_field *assay_field_find(const struct assay_layer *l,
                                           const char *name)
{
    for (uint32_t i = 0; i < l->n_fields; i++)
        if (strcmp(l->fields[i].name, name) == 0)
            return &l->fields[i];
    return NULL;
}

int assay_field_add(struct assay_slice *s, struct assay_layer *l,
                    const char *name, uint32_t n, const int64_t *v,
                    struct assay_err *err)
{
    struct assay_field *all =
        assay_arena_array(s->arena, l->n_fields + 1u, sizeof(*all));
    struct assay_field f = {.n = n};

    f.name = assay_arena_str(s->arena, name, strlen(name));
    f.v = assay_arena_copy(s->arena, v, n * sizeof(*v));
    if (!all || !f.name || !f.v)
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    if (l->n_fields)
        memcpy(all, l->fields, l->n_fields * sizeof(*all));
    all[l->n_fields++] = f;
    l->fields = all;
    return 0;
}

/* ---- rules -------------------------------------------------------------- */

static int unknown_form(const char *name, struct assay_err *err)
{
    char list[300] = "";

    for (size_t i = 0; i < N_FORMS; i++) {
        strncat(list, i ? ", " : "", sizeof(list) - strlen(list) - 1);
        strncat(list, forms[i].name, sizeof(list) - strlen(list) - 1);
    }
    return assay_fail(err, ASSAY_EUSAGE, "unknown form '%.40s': expected %s",
                      name, list);
}

int assay_rule_check(const char *form, const char *text, struct assay_err *err)
{
    const struct assay_form *f = assay_form_find(form);
    struct assay_rule rule;

    return f ? assay_rule_parse(f, text, &rule, err) : unknown_form(form, err);
}

/* What a rule sets beside programs; as they are where it does not say. */
struct choices {
    struct assay_segment_params segment;
    uint8_t mid_shift;
    uint32_t table;
    bool has_table;
};

static int choose_between(struct assay_rule_use *u,
                          const struct assay_rule_step *step, struct choices *c)
{
    const struct assay_field *frac = assay_field_find(u->l, "frac");
    const struct assay_field *f;
    int64_t v = step->arg[0].v;

    if (step->arg[0].name) {
        f = assay_field_find(u->l, step->arg[0].name);
        if (!f)
            return 0;
        v = f->v[0];
    }
    /* A nearest element has nothing behind the point. */
    if (u->l->op != ASSAY_OP_RESIZE || !u->l->p.resize.weight_bits)
        return 0;
    if (v < 0 || v > 24 || !frac || v > frac->v[0])
        return assay_fail(u->err, ASSAY_ERANGE,
                          "between %lld: the sum has %lld bits behind the "
                          "point",
                          (long long)v, frac ? (long long)frac->v[0] : 0);
    u->between = v;
    c->mid_shift = (uint8_t)v;
    return 0;
}

static int choose(struct assay_rule_use *u, struct choices *c)
{
    const struct assay_rule *r = u->rule;
    int rc = 0;

    memset(c, 0, sizeof(*c));
    if (u->l->op == ASSAY_OP_SEGMENT_TABLE)
        c->segment = u->l->p.segment;
    for (uint32_t i = 0; !rc && i < r->n[ASSAY_SECTION_LAST]; i++) {
        const struct assay_rule_step *s = &r->step[ASSAY_SECTION_LAST][i];

        if (s->word == ASSAY_WORD_LINE)
            c->segment.round = s->round;
        else if (s->word == ASSAY_WORD_MIX)
            c->segment.mix_round = s->round;
        else if (s->word == ASSAY_WORD_BETWEEN)
            rc = choose_between(u, s, c);
        else if (s->word == ASSAY_WORD_INDEX) {
            rc = assay_form_table(u, s->mode, &c->table);
            c->has_table = true;
        }
    }
    return rc;
}

static int operand_programs(struct assay_rule_use *u, struct assay_program p[2])
{
    struct assay_layer *l = u->l;
    bool any =
        u->rule->n[ASSAY_SECTION_FIRST] || u->rule->n[ASSAY_SECTION_SECOND];
    int rc;

    rc = assay_rule_program(u, ASSAY_SECTION_FIRST, &p[0]);
    if (!rc)
        rc = assay_rule_program(u, ASSAY_SECTION_SECOND, &p[1]);
    if (rc || !any || l->n_in_programs)
        return rc;
    l->in_programs = assay_arena_array(u->s->arena, 2, sizeof(*p));
    if (!l->in_programs)
        return assay_fail(u->err, ASSAY_EMEMORY, "out of memory");
    l->n_in_programs = 2;
    return 0;
}

static void commit(struct assay_rule_use *u, const struct choices *c,
                   const struct assay_program in[2],
                   const struct assay_program *out)
{
    struct assay_layer *l = u->l;

    if (l->n_in_programs == 2 &&
        (l->op == ASSAY_OP_BINARY || l->op == ASSAY_OP_PRELU)) {
        l->in_programs[0] = in[0];
        l->in_programs[1] = in[1];
    }
    l->out_program = *out;
    if (l->op == ASSAY_OP_SEGMENT_TABLE)
        l->p.segment = c->segment;
    if (l->op == ASSAY_OP_RESIZE)
        l->p.resize.mid_shift = c->mid_shift;
    if (c->has_table)
        l->inputs[1] = c->table;
}

static int build(struct assay_rule_use *u)
{
    struct assay_program in[2], out;
    struct choices c;
    int rc = assay_form_sum(u);

    if (!rc)
        rc = choose(u, &c);
    if (!rc)
        rc = assay_rule_derive(u);
    if (!rc)
        rc = operand_programs(u, in);
    if (!rc)
        rc = assay_rule_program(u, ASSAY_SECTION_LAST, &out);
    if (!rc)
        rc = assay_form_set_bias(u);
    if (!rc)
        commit(u, &c, in, &out);
    return rc;
}

int assay_rule_apply(struct assay_slice *s, uint32_t layer, const char *text,
                     struct assay_err *err)
{
    const struct assay_form *form;
    struct assay_rule rule;
    struct assay_rule_use u = {.s = s, .rule = &rule, .err = err};
    const char *kept;
    int rc;

    if (layer >= s->n_layers)
        return assay_fail(err, ASSAY_ERANGE, "layer %u of %u", (unsigned)layer,
                          (unsigned)s->n_layers);
    u.l = &s->layers[layer];
    form = u.l->form && u.l->op != ASSAY_OP_SKIPPED ? assay_form_find(u.l->form)
                                                    : NULL;
    if (!form)
        rc = assay_fail(err, ASSAY_EUNSUPPORTED,
                        "there is no arithmetic to choose here");
    else if (u.l->output >= s->n_tensors)
        rc = assay_fail(err, ASSAY_EFORMAT, "output is tensor %u of %u",
                        (unsigned)u.l->output, (unsigned)s->n_tensors);
    else
        rc = assay_rule_parse(form, text, &rule, err);
    if (!rc)
        rc = build(&u);
    kept = u.l->rule;
    if (!rc && (!kept || strcmp(kept, text) != 0)) {
        kept = assay_arena_str(s->arena, text, strlen(text));
        if (!kept)
            rc = assay_fail(err, ASSAY_EMEMORY, "out of memory");
    }
    if (rc) {
        assay_err_prefix(err, "layer '%s'", u.l->name ? u.l->name : "");
        return rc;
    }
    u.l->rule = kept;
    u.l->arith = form->name;
    return 0;
}

/* ---- numerics ----------------------------------------------------------- */

const struct assay_numerics_rule *assay_numerics_find(
    const struct assay_numerics *n, const char *form)
{
    for (uint32_t i = 0; i < n->n_rules; i++)
        if (strcmp(n->rules[i].form, form) == 0)
            return &n->rules[i];
    return NULL;
}

int assay_numerics_use(struct assay_slice *s, const struct assay_numerics *n,
                       struct assay_err *err)
{
    const char *name = assay_arena_str(s->arena, n->name, strlen(n->name));

    if (!name)
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];
        const struct assay_numerics_rule *r;
        int rc;

        if (l->op == ASSAY_OP_SKIPPED || !l->form || l->arith_overridden)
            continue;
        r = assay_numerics_find(n, l->form);
        if (!r)
            return assay_fail(err, ASSAY_EUNSUPPORTED,
                              "layer '%s': numerics '%s' has no rule for form "
                              "'%s'",
                              l->name ? l->name : "", n->name, l->form);
        rc = assay_rule_apply(s, i, r->rule, err);
        if (rc) {
            assay_err_prefix(err, "numerics '%s'", n->name);
            return rc;
        }
    }
    s->numerics = name;
    return 0;
}
