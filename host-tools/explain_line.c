/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a hand calculation, and the points that stand behind them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/explain_private.h"
#include "host-tools/step_text.h"
#include "lib/core/form.h"

#define TEXT 260

const char *assay_explain_text(enum assay_value_kind kind,
                               const union assay_value *v, char *out,
                               size_t cap)
{
    if (kind == ASSAY_VALUE_F64)
        snprintf(out, cap, "%.17g", v->d);
    else if (kind == ASSAY_VALUE_F32)
        snprintf(out, cap, "%.9g", (double)v->f);
    else
        snprintf(out, cap, "%" PRId64, v->i);
    return out;
}

static void add_line(struct assay_explain *e, const char *what,
                     enum assay_value_kind kind, const union assay_value *v,
                     uint32_t point, bool operand)
{
    struct assay_explain_line *l = e->lines;

    if (e->n_lines == e->cap_lines) {
        size_t cap = e->cap_lines ? e->cap_lines * 2 : 64;

        l = assay_realloc(e->lines, cap * sizeof(*l));
        if (l == NULL) {
            e->no_memory = true;
            return;
        }
        e->lines = l;
        e->cap_lines = cap;
    }
    l = &e->lines[e->n_lines];
    *l = (struct assay_explain_line){
        .what = assay_arena_str(e->arena, what, strlen(what)),
        .point = point,
        .operand = operand};
    if (l->what == NULL) {
        e->no_memory = true;
        return;
    }
    assay_explain_text(kind, v, l->value, sizeof(l->value));
    e->n_lines++;
}

void assay_explain_say(struct assay_explain *e, enum assay_value_kind kind,
                       union assay_value v, const char *what, ...)
{
    char text[TEXT];
    va_list args;

    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    add_line(e, text, kind, &v, ASSAY_NO_POINT, false);
}

void assay_explain_say_operand(struct assay_explain *e,
                               enum assay_value_kind kind, union assay_value v,
                               const char *what)
{
    add_line(e, what, kind, &v, ASSAY_NO_POINT, true);
}

static uint32_t add_point(struct assay_explain *e, const struct assay_point *p,
                          const char *what, bool operand)
{
    uint32_t at = e->n_points;

    if (at == ASSAY_POINTS) { /* more than two programs have */
        e->no_memory = true;
        return at - 1;
    }
    e->points[at] = *p;
    assay_point_run(e->points, at);
    e->n_points++;
    add_line(e, what, e->points[at].kind, &e->points[at].v, at, operand);
    return at;
}

uint32_t assay_explain_start(struct assay_explain *e,
                             enum assay_value_kind kind, union assay_value v,
                             const char *what, ...)
{
    const struct assay_point p = {.kind = kind,
                                  .v = v,
                                  .lo = -ASSAY_PREIMAGE_LIMIT,
                                  .hi = ASSAY_PREIMAGE_LIMIT};
    char text[TEXT];
    va_list args;

    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    return add_point(e, &p, text, false);
}

uint32_t assay_explain_element(struct assay_explain *e, uint32_t input,
                               size_t i)
{
    const struct assay_tensor *t = assay_explain_input(e, input);
    struct assay_point p = {.kind = assay_explain_kind(t),
                            .v = assay_explain_get(e, input, i)};
    char text[TEXT];

    if (p.kind == ASSAY_VALUE_INT)
        assay_dtype_range(t->dtype, &p.lo, &p.hi);
    snprintf(text, sizeof(text), "  element %zu of %.150s", i, t->name);
    return add_point(e, &p, text, true);
}

uint32_t assay_explain_step(struct assay_explain *e, uint32_t from,
                            const struct assay_step *s, size_t channel,
                            int32_t second, const char *what)
{
    const struct assay_point p = {.by = ASSAY_POINT_STEP,
                                  .from = {from, from},
                                  .step = s,
                                  .channel = channel,
                                  .second = second};

    return add_point(e, &p, what, false);
}

uint32_t assay_explain_own(struct assay_explain *e, uint32_t from,
                           struct assay_step s, int64_t a, int64_t b,
                           const char *what)
{
    uint32_t i = e->n_own;

    if (i == ASSAY_EXPLAIN_OWN) { /* no layer has that many */
        e->no_memory = true;
        return from;
    }
    e->n_own++;
    e->own_a[i] = a;
    e->own_b[i] = b;
    s.n = 1;
    s.a = &e->own_a[i];
    s.b = &e->own_b[i];
    e->own[i] = s;
    return assay_explain_step(e, from, &e->own[i], 0, 0, what);
}

uint32_t assay_explain_combine(struct assay_explain *e, uint32_t a, uint32_t b,
                               enum assay_combine how, float k)
{
    static const char *const names[] = {
        [ASSAY_COMBINE_ADD] = "a + b",      [ASSAY_COMBINE_SUB] = "a - b",
        [ASSAY_COMBINE_MUL] = "a * b",      [ASSAY_COMBINE_FADD] = "a + b",
        [ASSAY_COMBINE_FSUB] = "a - b",     [ASSAY_COMBINE_FMUL] = "a * b",
        [ASSAY_COMBINE_FDIV] = "a / b",     [ASSAY_COMBINE_FFMA] = "fma(b, ",
        [ASSAY_COMBINE_MAX] = "max(a, b)",  [ASSAY_COMBINE_MIN] = "min(a, b)",
        [ASSAY_COMBINE_FMAX] = "max(a, b)", [ASSAY_COMBINE_FMIN] = "min(a, b)",
    };
    const struct assay_point p = {
        .by = ASSAY_POINT_COMBINE,
        .kind = assay_combine_is_int(how) ? ASSAY_VALUE_INT : ASSAY_VALUE_F32,
        .from = {a, b},
        .how = how,
        .k = k};
    char text[TEXT];

    if (how == ASSAY_COMBINE_FFMA)
        snprintf(text, sizeof(text), "  %s%.9g, a)", names[how], (double)k);
    else
        snprintf(text, sizeof(text), "  %s", names[how]);
    return add_point(e, &p, text, false);
}

uint32_t assay_explain_divide(struct assay_explain *e, uint32_t from, int64_t n,
                              enum assay_value_kind kind,
                              enum assay_round round)
{
    const struct assay_point p = {.by = ASSAY_POINT_DIVIDE,
                                  .kind = kind,
                                  .from = {from, from},
                                  .n = n,
                                  .round = round};
    char text[TEXT];

    snprintf(text, sizeof(text), "  / %" PRId64 " %s", n,
             kind == ASSAY_VALUE_INT ? assay_round_name(round) : "in binary32");
    return add_point(e, &p, text, false);
}

uint32_t assay_explain_program(struct assay_explain *e,
                               const struct assay_program *p, uint32_t from,
                               size_t channel, const int32_t *second,
                               const char *indent)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        uint8_t kind = p->steps[i].kind;
        char step[160], what[220];

        assay_step_text(p, i, channel, step, sizeof(step));
        snprintf(what, sizeof(what), "%s%s", indent, step);
        if (second != NULL &&
            (kind == ASSAY_STEP_ADD_INPUT || kind == ASSAY_STEP_ADD_SCALED))
            snprintf(what + strlen(what), sizeof(what) - strlen(what),
                     " of %" PRId32, *second);
        from = assay_explain_step(e, from, &p->steps[i], channel,
                                  second != NULL ? *second : 0, what);
    }
    return from;
}

union assay_value assay_explain_get(const struct assay_explain *e,
                                    uint32_t input, size_t i)
{
    const struct assay_tensor *k = assay_explain_input(e, input);
    const uint8_t *data =
        k->role == ASSAY_ROLE_CONSTANT
            ? k->data
            : e->inputs[assay_explain_layer(e)->inputs[input]];
    union assay_value v;

    assay_load_values(k->dtype, data + i * assay_dtype_bytes(k->dtype), &v, 1);
    return v;
}

size_t assay_explain_broadcast(const struct assay_explain *e,
                               const struct assay_tensor *t)
{
    const struct assay_tensor *y = assay_explain_output(e);
    size_t at = 0, stride = 1, element = e->element;

    for (uint32_t a = 0; a < y->rank; a++) {
        size_t i = element % (size_t)y->dims[y->rank - 1 - a];
        int64_t dim = a < t->rank ? t->dims[t->rank - 1 - a] : 1;

        element /= (size_t)y->dims[y->rank - 1 - a];
        if (dim > 1)
            at += i * stride;
        stride *= (size_t)dim;
    }
    return at;
}
