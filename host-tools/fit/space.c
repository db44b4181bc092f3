/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/fit/space.h"

#include <string.h>

#include "lib/core/form.h"

static const struct {
    const char *name;
    const char *values[9];
} DIMS[ASSAY_FIT_DIMS] = {
    [ASSAY_FIT_INDEX] = {"index", {"ascending", "unsigned"}},
    [ASSAY_FIT_BETWEEN] = {"interpolation", {"once", "twice"}},
    [ASSAY_FIT_LINE] = {"line", {0}},
    [ASSAY_FIT_MIX] = {"mix", {0}},
    [ASSAY_FIT_POSITIVE] = {"positive shift", {0}},
    [ASSAY_FIT_BIAS] = {"bias",
                        {"accumulator", "behind the pre-shift",
                         "behind the product"}},
    [ASSAY_FIT_SECOND] = {"second input",
                          {"accumulator", "behind the pre-shift",
                           "behind the product"}},
    [ASSAY_FIT_HOW] = {"second input's way",
                       {"shift, then multiply", "multiply, then shift"}},
    [ASSAY_FIT_SECOND_ROUND] = {"second input's shift", {0}},
    [ASSAY_FIT_WIDTH] = {"accumulator", {"wide", "wrap 32", "sat 32"}},
    [ASSAY_FIT_PRE] = {"pre-shift", {0}},
    [ASSAY_FIT_MIDDLE] = {"between",
                          {"wide", "sat 16", "wrap 16", "sat 32", "wrap 32"}},
    [ASSAY_FIT_DERIVE] = {"multiplier", {"floor", "half_up", "ceil"}},
    [ASSAY_FIT_POST] = {"post-shift", {0}},
    [ASSAY_FIT_OUT] = {"output", {"sat", "wrap"}},
};

const char *assay_fit_dim_name(enum assay_fit_dim dim)
{
    return DIMS[dim].name;
}

const char *assay_fit_value_name(enum assay_fit_dim dim, unsigned value)
{
    return DIMS[dim].values[0] && value < 8 ? DIMS[dim].values[value]
                                            : assay_round_name(value);
}

/* ---- forms ----------------------------------------------------------------- */

#define BIT(d) (1u << (d))
#define SCALING \
    (BIT(ASSAY_FIT_WIDTH) | BIT(ASSAY_FIT_PRE) | BIT(ASSAY_FIT_MIDDLE) | \
     BIT(ASSAY_FIT_DERIVE) | BIT(ASSAY_FIT_POST) | BIT(ASSAY_FIT_OUT))
#define SECONDS \
    (BIT(ASSAY_FIT_SECOND) | BIT(ASSAY_FIT_HOW) | BIT(ASSAY_FIT_SECOND_ROUND))
/* Convolutions carry their multipliers: nothing is derived. */
#define OF_CONV \
    (BIT(ASSAY_FIT_BIAS) | SECONDS | (SCALING & ~BIT(ASSAY_FIT_DERIVE)))
#define OF_TAIL \
    (BIT(ASSAY_FIT_HOW) | BIT(ASSAY_FIT_SECOND_ROUND) | BIT(ASSAY_FIT_WIDTH) | \
     BIT(ASSAY_FIT_OUT))
#define OF_SUM (BIT(ASSAY_FIT_SECOND) | SCALING)
#define OF_SHIFT (BIT(ASSAY_FIT_POST) | BIT(ASSAY_FIT_OUT))

static const struct form {
    const char *name;
    enum assay_fit_kind kind;
    unsigned dims;
} FORMS[] = {
    {"conv", ASSAY_FIT_STAGED, OF_CONV},
    {"conv_transpose", ASSAY_FIT_STAGED, OF_CONV},
    {"linear", ASSAY_FIT_STAGED, OF_CONV},
    {"conv_tail", ASSAY_FIT_STAGED, OF_TAIL},
    {"linear_tail", ASSAY_FIT_STAGED, OF_TAIL},
    {"matmul", ASSAY_FIT_STAGED, BIT(ASSAY_FIT_BIAS) | SCALING},
    {"add", ASSAY_FIT_STAGED, OF_SUM},
    {"sub", ASSAY_FIT_STAGED, OF_SUM},
    {"mul", ASSAY_FIT_STAGED, SCALING},
    {"rescale", ASSAY_FIT_STAGED, SCALING},
    {"reduce", ASSAY_FIT_STAGED, SCALING},
    {"global_avg_pool", ASSAY_FIT_STAGED, SCALING},
    {"avg_pool", ASSAY_FIT_STAGED, SCALING},
    {"lut", ASSAY_FIT_ENUMERATED, BIT(ASSAY_FIT_INDEX)},
    {"lut_segments", ASSAY_FIT_ENUMERATED,
     BIT(ASSAY_FIT_LINE) | BIT(ASSAY_FIT_MIX) | BIT(ASSAY_FIT_OUT)},
    {"resize", ASSAY_FIT_ENUMERATED, BIT(ASSAY_FIT_BETWEEN) | OF_SHIFT},
    {"resize_twice", ASSAY_FIT_ENUMERATED, BIT(ASSAY_FIT_BETWEEN) | OF_SHIFT},
    {"grid_sample", ASSAY_FIT_ENUMERATED, OF_SHIFT},
    {"prelu", ASSAY_FIT_ENUMERATED,
     BIT(ASSAY_FIT_POSITIVE) | BIT(ASSAY_FIT_PRE) | OF_SHIFT},
    {"quantize", ASSAY_FIT_ENUMERATED, BIT(ASSAY_FIT_POST)},
};

static const struct form *form_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof(FORMS) / sizeof(FORMS[0]); i++)
        if (strcmp(FORMS[i].name, name) == 0)
            return &FORMS[i];
    return NULL;
}

enum assay_fit_kind assay_fit_kind_of(const char *form)
{
    const struct form *f = form_of(form);
    return f ? f->kind : ASSAY_FIT_NONE;
}

static unsigned radix_of(enum assay_fit_dim dim)
{
    switch (dim) {
    case ASSAY_FIT_INDEX:
    case ASSAY_FIT_BETWEEN:
    case ASSAY_FIT_HOW:
    case ASSAY_FIT_OUT: return 2;
    case ASSAY_FIT_BIAS:
    case ASSAY_FIT_SECOND:
    case ASSAY_FIT_WIDTH:
    case ASSAY_FIT_DERIVE: return 3;
    case ASSAY_FIT_MIDDLE: return 5;
    default: return 8;
    }
}

static struct assay_fit_space space_of(unsigned dims)
{
    struct assay_fit_space s;
    for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++)
        s.radix[d] =
            (uint8_t)(dims >> d & 1 ? radix_of((enum assay_fit_dim)d) : 1);
    return s;
}

struct assay_fit_space assay_fit_space_of(const char *form)
{
    const struct form *f = form_of(form);
    return space_of(f ? f->dims : 0);
}

struct assay_fit_space assay_fit_space_layer(const struct assay_slice *s,
                                             const struct assay_layer *l)
{
    const struct form *f = form_of(l->form);
    unsigned dims = f ? f->dims : 0;
    bool binary = l->op == ASSAY_OP_BINARY;
    (void)s;
    if (f && f->kind == ASSAY_FIT_STAGED) {
        if (!assay_field_find(l, "bias"))
            dims &= ~BIT(ASSAY_FIT_BIAS);
        if (!binary && (!assay_field_find(l, "second_shift") ||
                        !assay_field_find(l, "second_scale")))
            dims &= ~(unsigned)SECONDS;
        if (!assay_field_find(l, "pre_shift"))
            dims &= ~BIT(ASSAY_FIT_PRE);
        if (assay_field_find(l, "scale") || !assay_field_find(l, "real"))
            dims &= ~BIT(ASSAY_FIT_DERIVE);
        if (!assay_field_find(l, "post_shift") && !assay_field_find(l, "real"))
            dims &= ~BIT(ASSAY_FIT_POST);
    }
    return space_of(dims);
}

size_t assay_fit_size(const struct assay_fit_space *space)
{
    size_t n = 1;
    for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++)
        n *= space->radix[d];
    return n;
}

struct assay_fit_choice assay_fit_choice_at(const struct assay_fit_space *space,
                                            size_t index)
{
    struct assay_fit_choice c;
    for (unsigned d = ASSAY_FIT_DIMS; d-- > 0;) {
        c.v[d] = (uint8_t)(index % space->radix[d]);
        index /= space->radix[d];
    }
    return c;
}

size_t assay_fit_index(const struct assay_fit_space *space,
                       const struct assay_fit_choice *choice)
{
    size_t index = 0;
    for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++)
        index =
            index * space->radix[d] + (space->radix[d] > 1 ? choice->v[d] : 0);
    return index;
}

unsigned assay_fit_distance(const struct assay_fit_space *space,
                            const struct assay_fit_choice *a,
                            const struct assay_fit_choice *b)
{
    unsigned n = 0;
    for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++)
        n += space->radix[d] > 1 && a->v[d] != b->v[d];
    return n;
}
