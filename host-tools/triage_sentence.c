/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of triage that its text and its JSON share. */
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/triage_report.h"

const char *assay_triage_reason(char *out, size_t cap,
                                const struct assay_transition *s)
{
    const struct assay_tensor_step *x = &s->tensors[s->first];
    const struct assay_pair_stats *w = &x->worst;
    struct assay_num error = assay_num_g(4, assay_pair_error(w)),
                     error_limit = assay_num_g(4, s->error_max);

    switch (x->reason) {
    case ASSAY_REASON_BITS:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_BITS, "differing",
                             assay_num_u(w->differing).text, "all",
                             assay_num_u(w->n).text, NULL);
    case ASSAY_REASON_ODD:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_ODD, "count",
                             assay_num_u(w->odd).text, "all",
                             assay_num_u(w->n).text, NULL);
    case ASSAY_REASON_COSINE:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_COSINE, "cosine",
                             assay_num_g(6, assay_pair_cosine(w)).text, "limit",
                             assay_num_g(6, s->cosine_min).text, NULL);
    case ASSAY_REASON_DRIFT:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_DRIFT, "error",
                             error.text, "limit", error_limit.text, NULL);
    default:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_ERROR, "error",
                             error.text, "limit", error_limit.text, NULL);
    }
}

const char *assay_triage_why(char *out, size_t cap,
                             const struct assay_transition *s,
                             const struct assay_tensor_step *x)
{
    if (x == NULL)
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_WHY_NOTHING, NULL);
    switch (x->why) {
    case ASSAY_BAD_NAME:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_WHY_NAME, "to",
                             assay_stage_info(s->to)->name, NULL);
    case ASSAY_BAD_SHAPE:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_WHY_SHAPE, "shapes",
                             x->shapes, NULL);
    case ASSAY_BAD_SCALE:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_WHY_SCALE, NULL);
    case ASSAY_BAD_ODD:
        return assay_message(out, cap, ASSAY_MSG_TRIAGE_WHY_ODD, NULL);
    default: return assay_message(out, cap, ASSAY_MSG_TRIAGE_WHY_EMPTY, NULL);
    }
}

static void list(char *out, size_t cap, const char *word)
{
    if (out[0] != '\0')
        strncat(out, ", ", cap - strlen(out) - 1);
    strncat(out, word, cap - strlen(out) - 1);
}

const char *assay_triage_sides(char *out, size_t cap, enum assay_stage from,
                               enum assay_stage to)
{
    uint32_t sides = assay_policy_sides(from, to);

    out[0] = '\0';
    for (int i = ASSAY_SIDE_TRAINING; i <= ASSAY_SIDE_BOARD; i++)
        if ((sides & 1u << i) != 0)
            list(out, cap, assay_side_name((enum assay_side)i));
    return out;
}

const char *assay_triage_between(char *out, size_t cap, enum assay_stage from,
                                 enum assay_stage to)
{
    out[0] = '\0';
    for (int i = (int)from + 1; i < (int)to; i++)
        list(out, cap, assay_stage_info((enum assay_stage)i)->name);
    return out;
}

const char *assay_triage_verdict(const struct assay_transition *s)
{
    static const char *const names[] = {"ok", "BREAKS", "not comparable"};

    return names[s->verdict];
}

const char *assay_triage_dtype_why(enum assay_dtype_why why)
{
    static const char *const names[] = {"as-asked", "not-hit", "overridden",
                                        "fell-back", "unsaid"};

    return names[why];
}
