/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and zero points of tensors. */
#include "host-tools/lint/lint_private.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void scale_values(struct assay_linter *c, uint32_t index)
{
    const struct assay_tensor *t = &c->s->tensors[index];
    const char *owner = assay_lint_owner(c, index);
    char found[48];

    for (uint32_t i = 0; i < t->quant.n; i++) {
        float v = t->quant.scale[i];

        if (isfinite(v) && v > 0.0f)
            continue;
        snprintf(found, sizeof(found), "%.9g", (double)v);
        assay_lint_add(c, ASSAY_LINT_SCALE_BAD, ASSAY_CONTRADICTION, owner,
                       "finite, above 0", found,
                       "scale %" PRIu32 " of tensor '%s' is %s: expected a "
                       "finite number above 0",
                       i, t->name, found);
        return;
    }
    if (t->quant.n != 1 || t->role == ASSAY_ROLE_CONSTANT ||
        !assay_lint_scaled(c, index))
        return;
    snprintf(found, sizeof(found), "%.9g", (double)t->quant.scale[0]);
    if (t->quant.scale[0] == 1.0f)
        assay_lint_add(c, ASSAY_LINT_SCALE_ONE, ASSAY_WARNING, owner,
                       "a calibrated scale", "1",
                       "the scale of tensor '%s' is exactly 1: what was never "
                       "calibrated has it",
                       t->name);
    else if (t->quant.scale[0] <= FLT_EPSILON)
        assay_lint_add(c, ASSAY_LINT_SCALE_TINY, ASSAY_WARNING, owner,
                       "a calibrated scale", found,
                       "the scale of tensor '%s' is %s: an observer gives it "
                       "where min = max",
                       t->name, found);
}

static void zero_points(struct assay_linter *c, uint32_t index)
{
    const struct assay_tensor *t = &c->s->tensors[index];
    int64_t lo, hi;
    char found[32], expected[64];

    if (!assay_dtype_is_int(t->dtype) || t->quant.zero_point == NULL)
        return;
    assay_dtype_range(t->dtype, &lo, &hi);
    for (uint32_t i = 0; i < t->quant.n; i++) {
        int32_t z = t->quant.zero_point[i];

        if (z >= lo && z <= hi)
            continue;
        snprintf(found, sizeof(found), "%" PRId32, z);
        snprintf(expected, sizeof(expected), "%" PRId64 "..%" PRId64, lo, hi);
        assay_lint_add(c, ASSAY_LINT_ZERO_RANGE, ASSAY_CONTRADICTION,
                       assay_lint_owner(c, index), expected, found,
                       "zero point %" PRIu32 " of tensor '%s' is %s, which %s "
                       "cannot hold: expected %s",
                       i, t->name, found, assay_dtype_name(t->dtype), expected);
        return;
    }
}

/* A ReLU's 0 is the output's zero point: nothing below it is ever given. The
 * lowest value (or 0 where values are signed and symmetric) is meant. */
static void relu(struct assay_linter *c, const struct assay_layer *l)
{
    const struct assay_tensor *t = &c->s->tensors[l->output];
    int64_t lo, hi, z;
    bool is_relu = assay_lint_names(l->source_op, "relu") &&
                   !assay_lint_names(l->source_op, "prelu") &&
                   !assay_lint_names(l->source_op, "leaky");
    bool field = false;
    char found[32], expected[32];

    for (uint32_t i = 0; i < l->n_fields; i++)
        field = field || (assay_lint_names(l->fields[i].name, "relu") &&
                          l->fields[i].n == 1 && l->fields[i].v[0] != 0);
    if ((!is_relu && !field) || t->quant.n != 1 ||
        !assay_dtype_is_int(t->dtype))
        return;
    assay_dtype_range(t->dtype, &lo, &hi);
    z = assay_lint_zero(t, 0);
    if (z == lo || (z == 0 && lo < 0))
        return;
    snprintf(found, sizeof(found), "%" PRId64, z);
    snprintf(expected, sizeof(expected), "%" PRId64, field ? 0 : lo);
    /* A rule clamps at 0, not at the zero point; elsewhere a part of the range
     * is never used. */
    assay_lint_add(c, ASSAY_LINT_ZERO_RELU,
                   field || z >= hi ? ASSAY_CONTRADICTION : ASSAY_WARNING,
                   l->name, expected, found,
                   field ? "layer '%s' clamps at 0, but the zero point of its "
                           "output is %s: expected %s"
                   : z >= hi
                       ? "layer '%s' is a ReLU whose output has the zero point "
                         "%s, so nothing above 0 can be said: expected %s"
                       : "layer '%s' is a ReLU whose output has the zero point "
                         "%s, so values below it are never used: expected %s",
                   l->name, found, expected);
}

void assay_lint_scales(struct assay_linter *c)
{
    for (uint32_t i = 0; i < c->s->n_tensors; i++) {
        scale_values(c, i);
        zero_points(c, i);
    }
    for (uint32_t i = 0; i < c->s->n_layers; i++)
        relu(c, &c->s->layers[i]);
}
