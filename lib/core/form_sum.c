/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bias and accumulator. A convolution's kernel begins its sum with a bias and
 * holds it in 32 bits that wrap where x is 8 bits wide. A rule that says the
 * same thing is left to the kernel, so that the fused ends serve it; any other
 * rule gets steps.
 */
#include "lib/core/form_private.h"

#include <stdio.h>
#include <string.h>

/* The tensor of the bias, once there is one. */
#define BIAS_TENSOR ASSAY_FIELD_BIAS

bool assay_form_has_sum(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
           l->op == ASSAY_OP_CONV_TRANSPOSE2D || l->op == ASSAY_OP_MATMUL;
}

static bool takes_bias(const struct assay_layer *l)
{
    return assay_form_has_sum(l) && l->op != ASSAY_OP_MATMUL;
}

/* Output channels, which the bias is spread to. */
static int64_t channels(const struct assay_rule_use *u)
{
    return u->s->tensors[u->l->inputs[1]].dims[0];
}

static const struct assay_rule_step *first_step(const struct assay_rule *r,
                                                uint32_t *at)
{
    const struct assay_rule_step *s = r->step[ASSAY_SECTION_LAST];

    *at = r->n[ASSAY_SECTION_LAST] && s->word == ASSAY_WORD_DERIVE;
    return *at < r->n[ASSAY_SECTION_LAST] ? &s[*at] : NULL;
}

/* Only sums until it wraps: then it does not matter where they wrap before. */
static bool wraps_later(const struct assay_rule *r, uint32_t at)
{
    const struct assay_rule_step *s = r->step[ASSAY_SECTION_LAST];

    for (uint32_t i = at; i < r->n[ASSAY_SECTION_LAST]; i++) {
        if (s[i].word == ASSAY_WORD_WRAP)
            return s[i].bits == 32;
        if (s[i].word != ASSAY_WORD_ADD_INPUT &&
            s[i].word != ASSAY_WORD_ADD_SCALED &&
            (s[i].word != ASSAY_WORD_ADD || s[i].mode != ASSAY_ADD_WIDE))
            return false;
    }
    return false;
}

/* Can |sum| + |bias| leave int32? */
static bool may_leave(const struct assay_rule_use *u, int64_t bias)
{
    const struct assay_tensor *x = &u->s->tensors[u->l->inputs[0]];
    const struct assay_tensor *w = &u->s->tensors[u->l->inputs[1]];
    int64_t cells = 1, room = (INT32_MAX - bias) /
                              (x->dtype == ASSAY_S8 ? 128 : 255) / 128;

    for (uint32_t i = 1; i < w->rank; i++) {
        if (w->dims[i] > room / cells)
            return true;
        cells *= w->dims[i];
    }
    return false;
}

int assay_form_sum(struct assay_rule_use *u)
{
    const struct assay_field *bias = assay_field_find(u->l, "bias");
    const struct assay_rule_step *s;
    enum assay_dtype x;
    int64_t most = 0;
    uint32_t at;

    if (!assay_form_has_sum(u->l))
        return 0;
    if (u->l->n_inputs < 2 || u->l->inputs[0] >= u->s->n_tensors ||
        u->l->inputs[1] >= u->s->n_tensors)
        return assay_fail(u->err, ASSAY_EFORMAT, "it has no weights");
    x = u->s->tensors[u->l->inputs[0]].dtype;
    u->sum_wraps = x == ASSAY_S8 || x == ASSAY_U8;
    s = first_step(u->rule, &at);
    if (!takes_bias(u->l) || !bias || !s || s->word != ASSAY_WORD_ADD ||
        s->mode != ASSAY_ADD_WIDE || !s->arg[0].name ||
        strcmp(s->arg[0].name, "bias") != 0)
        return 0;
    if (bias->n != 1 && bias->n != channels(u))
        return assay_fail(u->err, ASSAY_EFORMAT,
                          "field 'bias' has %u entries, expected 1 or %lld",
                          (unsigned)bias->n, (long long)channels(u));
    for (uint32_t i = 0; i < bias->n; i++) {
        int64_t v = bias->v[i];

        if (v < INT32_MIN || v > INT32_MAX)
            return 0;
        most = v > most ? v : -v > most ? -v : most;
    }
    u->bias_in_sum =
        !u->sum_wraps || wraps_later(u->rule, at + 1) || !may_leave(u, most);
    return 0;
}

static int make_tensor(struct assay_rule_use *u, uint32_t *index)
{
    const struct assay_field *bias = assay_field_find(u->l, "bias");
    int64_t n = channels(u);
    int32_t *v = assay_arena_array(u->s->arena, (size_t)n, sizeof(*v));
    struct assay_tensor *t;
    char name[600];
    int rc;

    if (!v)
        return assay_fail(u->err, ASSAY_EMEMORY, "out of memory");
    for (int64_t i = 0; i < n; i++)
        v[i] = (int32_t)bias->v[bias->n > 1 ? i : 0];
    rc = assay_slice_add_tensor(u->s, index, u->err);
    if (rc)
        return rc;
    t = &u->s->tensors[*index];
    snprintf(name, sizeof(name), "%.500s/bias", u->l->name);
    t->name = assay_arena_str(u->s->arena, name, strlen(name));
    if (!t->name)
        return assay_fail(u->err, ASSAY_EMEMORY, "out of memory");
    t->role = ASSAY_ROLE_CONSTANT;
    t->dtype = ASSAY_S32;
    t->rank = 1;
    t->dims[0] = n;
    t->data = v;
    t->size = (size_t)n * sizeof(*v);
    assay_sha256(t->data, t->size, t->sha256);
    return 0;
}

/* The tensor is remembered, and the inputs have room for it from then on. */
static int find_tensor(struct assay_rule_use *u, uint32_t *index)
{
    const struct assay_field *f = assay_field_find(u->l, BIAS_TENSOR);
    struct assay_layer *l = u->l;
    uint32_t *inputs;
    int64_t kept;
    int rc = 0;

    if (f) {
        *index = (uint32_t)f->v[0];
        return 0;
    }
    if (assay_layer_has_bias(l)) {
        *index = l->inputs[2];
    } else {
        rc = make_tensor(u, index);
        inputs =
            assay_arena_array(u->s->arena, l->n_inputs + 1u, sizeof(*inputs));
        if (rc)
            return rc;
        if (!inputs)
            return assay_fail(u->err, ASSAY_EMEMORY, "out of memory");
        memcpy(inputs, l->inputs, l->n_inputs * sizeof(*inputs));
        l->inputs = inputs;
    }
    kept = *index;
    return assay_field_add(u->s, l, BIAS_TENSOR, 1, &kept, u->err);
}

int assay_form_set_bias(struct assay_rule_use *u)
{
    struct assay_layer *l = u->l;
    uint32_t index, behind;
    int rc;

    if (!takes_bias(l) || !assay_field_find(l, "bias"))
        return 0;
    if (u->bias_in_sum == assay_layer_has_bias(l) &&
        (!assay_layer_has_bias(l) || assay_field_find(l, BIAS_TENSOR)))
        return 0;
    rc = find_tensor(u, &index);
    if (rc || u->bias_in_sum == assay_layer_has_bias(l))
        return rc;
    if (u->bias_in_sum) {
        behind = l->n_inputs++ - 2;
        memmove(l->inputs + 3, l->inputs + 2, behind * sizeof(*l->inputs));
        l->inputs[2] = index;
    } else {
        behind = l->n_inputs-- - 3;
        memmove(l->inputs + 2, l->inputs + 3, behind * sizeof(*l->inputs));
    }
    if (l->op != ASSAY_OP_GEMM)
        l->p.conv2d.has_bias = u->bias_in_sum;
    return 0;
}
