/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_pattern.h"

#include <string.h>

#include "host-tools/run_cause.h"

static bool is_sum(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
           l->op == ASSAY_OP_CONV_TRANSPOSE2D;
}

static const char *arith_of(const struct assay_layer *l)
{
    return l->arith != NULL ? l->arith : "";
}

/* Layers that the same code may have computed. */
static bool same_kind(const struct assay_layer *a, const struct assay_layer *b)
{
    return (is_sum(a) ? is_sum(b) : a->op == b->op) &&
           strcmp(arith_of(a), arith_of(b)) == 0;
}

static int64_t channels(const struct assay_run *r, uint32_t layer)
{
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];

    return t->rank > 0 ? t->dims[t->rank - 1] : 1;
}

static bool is_culprit(const struct assay_run *r, uint32_t layer,
                       enum assay_column column)
{
    for (uint32_t i = 0; i < r->n_culprits; i++)
        if (r->culprits[i].layer == layer && r->culprits[i].column == column)
            return true;
    return false;
}

/* Equal on its own inputs, not by chance on others. */
static bool is_equal(const struct assay_run *r, uint32_t layer,
                     enum assay_column column)
{
    const struct assay_run_layer *k = &r->layers[layer];
    const struct assay_judgement *j =
        column < ASSAY_COL_SIM ? &k->judgement
                               : &k->side[column - ASSAY_COL_SIM].judgement;

    return k->selected && j->reason == ASSAY_WHY_NONE &&
           (j->status == ASSAY_ROW_EXACT || j->status == ASSAY_ROW_INHERITED);
}

/* Does the rule hold? Counts those it says differ, and the others. */
static bool holds(const struct assay_run *r,
                  const struct assay_run_summary *sum, uint32_t modulus,
                  bool multiple, struct assay_report_pattern *out)
{
    const struct assay_layer *first = &r->s->layers[sum->first_culprit];
    enum assay_column column = sum->first_column;

    *out = (struct assay_report_pattern){.modulus = modulus,
                                         .multiple = multiple,
                                         .column = column,
                                         .arith = arith_of(first)};
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        bool differs = is_culprit(r, i, column);
        bool said = (channels(r, i) % modulus == 0) == multiple;

        if (!same_kind(first, &r->s->layers[i]) ||
            (!differs && !is_equal(r, i, column)))
            continue;
        if (differs != said)
            return false;
        out->layers += differs;
        out->others += !differs;
    }
    return out->layers >= 2 && out->others >= 1;
}

static bool proves(const struct assay_run_suspect *k,
                   const struct assay_edit *e)
{
    for (size_t i = 0; k != NULL && k->found != NULL && i < k->found->n_proved;
         i++) {
        const struct assay_hypothesis *h = &k->found->v[i];

        if (h->n_edits == 1 && h->edits[0].id == e->id &&
            h->edits[0].variant == e->variant)
            return true;
    }
    return false;
}

/* An edit that is proved in every one of them; "" there is none. */
static const char *common_cause(const struct assay_run *r,
                                const struct assay_run_summary *sum)
{
    const struct assay_run_suspect *k =
        assay_run_cause_of(r, sum->first_culprit, sum->first_column);
    const struct assay_layer *first = &r->s->layers[sum->first_culprit];
    char text[96];

    for (size_t n = 0; k != NULL && k->found != NULL && n < k->found->n_proved;
         n++) {
        const struct assay_edit *e = &k->found->v[n].edits[0];
        bool all = k->found->v[n].n_edits == 1;

        for (uint32_t i = 0; i < r->n_culprits && all; i++) {
            const struct assay_run_culprit *c = &r->culprits[i];

            if (c->column == sum->first_column &&
                same_kind(first, &r->s->layers[c->layer]))
                all = proves(assay_run_cause_of(r, c->layer, c->column), e);
        }
        if (!all)
            continue;
        assay_edit_text(e, text, sizeof(text));
        return assay_arena_str(r->arena, text, strlen(text));
    }
    return "";
}

bool assay_run_pattern(const struct assay_run *r,
                       const struct assay_run_summary *sum,
                       struct assay_report_pattern *out)
{
    if (sum->n_culprits < 2)
        return false;
    for (uint32_t m = 4; m <= 16; m *= 2)
        for (unsigned multiple = 0; multiple < 2; multiple++)
            if (holds(r, sum, m, multiple != 0, out)) {
                out->cause = common_cause(r, sum);
                return true;
            }
    return false;
}

void assay_run_pattern_line(const struct assay_run *r,
                            const struct assay_run_summary *sum,
                            struct assay_lines *l)
{
    struct assay_report_pattern p;
    char text[400], rule[32];

    if (!assay_run_pattern(r, sum, &p))
        return;
    assay_message(rule, sizeof(rule),
                  p.multiple ? ASSAY_MSG_PATTERN_MULTIPLE
                             : ASSAY_MSG_PATTERN_OTHER,
                  "m", assay_num_u(p.modulus).text, NULL);
    assay_message(text, sizeof(text),
                  p.cause[0] != '\0' ? ASSAY_MSG_PATTERN_CAUSE
                                     : ASSAY_MSG_PATTERN,
                  "rule", rule, "layers", assay_num_u(p.layers).text, "cause",
                  p.cause, "others", assay_num_u(p.others).text, "arith",
                  p.arith[0] != '\0' ? p.arith : "-", NULL);
    assay_line_add(l, "  pattern ", text);
}
