/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic in use and its tolerances, as reports print them. */
#include <stdio.h>

#include "host-tools/messages.h"
#include "host-tools/run_lines.h"

static void rule_lines(const struct assay_run *r, struct assay_lines *l)
{
    char text[2048], counts[100];

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_numerics_rule *rule;
        uint32_t layers, proved;

        rule = assay_prepare_rule(&r->p, i, &layers, &proved);
        if (rule == NULL)
            continue;
        assay_message(counts, sizeof(counts), ASSAY_MSG_HEAD_RULE_COUNT,
                      "proved", assay_num_u(proved).text, "layers",
                      assay_num_u(layers).text, NULL);
        assay_message(text, sizeof(text), ASSAY_MSG_HEAD_RULE, "form",
                      rule->form, "rule", rule->rule, "count", counts, NULL);
        assay_line_add(l, "", text);
    }
}

void assay_run_numerics_lines(const struct assay_run *r, struct assay_lines *l)
{
    char text[1024];
    uint32_t layers, proved;

    if (!r->p.own_numerics)
        return;
    assay_prepare_count(&r->p, &layers, &proved);
    assay_message(text, sizeof(text), ASSAY_MSG_HEAD_RULES, "numerics",
                  r->p.numerics, "source", r->p.rules.n.source, "proved",
                  assay_num_u(proved).text, "layers", assay_num_u(layers).text,
                  NULL);
    assay_line_add(l, "", text);
    if (r->o->verbose > 0)
        rule_lines(r, l);
}

int assay_run_numerics_rules(const struct assay_run *r,
                             struct assay_report_head *head)
{
    struct assay_report_rule *v = assay_arena_array(
        r->arena, (size_t)r->p.rules.n.n_rules + 1, sizeof(*v));

    if (v == NULL)
        return ASSAY_EMEMORY;
    head->numerics_source =
        r->p.own_numerics ? r->p.rules.n.source : "built in";
    head->rules = v;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_numerics_rule *rule;
        uint32_t layers, proved;

        rule = assay_prepare_rule(&r->p, i, &layers, &proved);
        if (rule != NULL)
            v[head->n_rules++] =
                (struct assay_report_rule){rule->form, rule->rule, rule->golden,
                                           rule->note, layers,     proved};
    }
    return 0;
}

static bool any_half(const struct assay_run *r)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        if (r->s->layers[i].half)
            return true;
    return false;
}

/* As far as they hold for all layers. */
void assay_run_tolerance_lines(const struct assay_run *r, struct assay_lines *l)
{
    const struct assay_options *o = r->o;
    char text[200];

    assay_message(
        text, sizeof(text), ASSAY_MSG_HEAD_TOLERANCE, "rtol",
        assay_num_g(3, assay_threshold_of(&o->rtol, "", ASSAY_RTOL)).text,
        "atol",
        assay_num_g(3, assay_threshold_of(&o->atol, "", ASSAY_ATOL)).text,
        NULL);
    assay_line_add(l, "", text);
    if (!any_half(r))
        return;
    assay_message(
        text, sizeof(text), ASSAY_MSG_HEAD_TOLERANCE_HALF, "rtol",
        assay_num_g(3, assay_threshold_of(&o->rtol, "", ASSAY_RTOL_HALF)).text,
        "atol",
        assay_num_g(3, assay_threshold_of(&o->atol, "", ASSAY_ATOL_HALF)).text,
        NULL);
    assay_line_add(l, "", text);
}
