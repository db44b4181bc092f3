/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of int16 in eight segments: lines outside, interpolated tables
 * of 64 entries inside (docs/numerics.md "segment_table").
 */
#include "lib/engine/ops.h"

#include <inttypes.h>
#include <string.h>

struct params {
    struct assay_segment_table p; /* table: set by run */
    const struct assay_segment_table_kernel *kernel;
};

static const char *const FIELDS[ASSAY_SEGMENT_FIELDS] = {
    "bound", "scale", "bias", "left shift", "right shift"};

_Static_assert(ASSAY_SEGMENTS == ASSAY_KERNEL_SEGMENTS, "same table");

static int check_kinds(const struct assay_op_check *c)
{
    const struct assay_segment_params *q = &c->layer->p.segment;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    if (x->dtype != ASSAY_S8 && x->dtype != ASSAY_S16)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "input dtype: expected int8 or int16, found "
                                  "%s",
                                  assay_dtype_name(x->dtype));
    const struct {
        const char *name;
        int found, min, max;
    } fields[] = {
        {"symmetry", q->symmetry, ASSAY_SYMMETRY_NONE, ASSAY_SYMMETRY_Y},
        {"round", q->round, 0, ASSAY_ROUND_HALF_ZERO},
        {"mix_round", q->mix_round, 0, ASSAY_ROUND_HALF_ZERO},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].found < fields[i].min || fields[i].found > fields[i].max)
            return ASSAY_REFUSE_LAYER(
                c, ASSAY_ERANGE, "%s: expected %d to %d, found %d",
                fields[i].name, fields[i].min, fields[i].max, fields[i].found);
    return 0;
}

/* A constant of n elements of a dtype. */
static int check_table(const struct assay_op_check *c, const char *what,
                       const struct assay_tensor *t, enum assay_dtype dtype,
                       size_t n)
{
    if (t->dtype != dtype || assay_tensor_elements(t) != n)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "%s: expected %zu elements of %s, found %zu "
                                  "of %s",
                                  what, n, assay_dtype_name(dtype),
                                  assay_tensor_elements(t),
                                  assay_dtype_name(t->dtype));
    return assay_check_constant(c, what, t);
}

static int read_segments(const struct assay_op_check *c,
                         struct assay_segment_table *p)
{
    const char *data = assay_layer_input(c, 2)->data;
    for (int s = 0; s < ASSAY_SEGMENTS; s++) {
        int32_t row[ASSAY_SEGMENT_FIELDS];
        memcpy(row, data + (size_t)s * sizeof(row), sizeof(row));
        p->segments[s].bound = row[0];
        p->segments[s].scale = row[1];
        p->segments[s].bias = row[2];
        p->segments[s].left_shift = row[3];
        p->segments[s].right_shift = row[4];
        for (int f = 3; f < ASSAY_SEGMENT_FIELDS; f++)
            if (row[f] < 0 || row[f] > 31)
                return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                          "%s of segment %d: expected 0 to "
                                          "31, found %" PRId32,
                                          FIELDS[f], s, row[f]);
        if (s > 0 && row[0] < p->segments[s - 1].bound)
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "%s of segment %d: expected at least "
                                      "%" PRId32 ", that of the one before, "
                                      "found %" PRId32,
                                      FIELDS[0], s, p->segments[s - 1].bound,
                                      row[0]);
    }
    /*
     * |x| <= 2^15 and an int32 scale are below 2^47, an int32 bias shifted
     * left by 31 is at most 2^62, and half of the right shift 2^30: whatever
     * the fields hold, the sum is inside int64.
     */
    return 0;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_segment_params *q = &c->layer->p.segment;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_same_dims(c, x, "output", y);
    if (!rc)
        rc = assay_check_no_in_programs(c);
    if (!rc)
        rc = check_kinds(c);
    if (!rc)
        rc = check_table(c, "table", assay_layer_input(c, 1), ASSAY_S16,
                         (size_t)(ASSAY_SEGMENTS - 2) * ASSAY_SEGMENT_ENTRIES);
    if (!rc)
        rc = check_table(c, "segments", assay_layer_input(c, 2), ASSAY_S32,
                         (size_t)ASSAY_SEGMENTS * ASSAY_SEGMENT_FIELDS);
    if (!rc)
        rc = read_segments(c, &k->p);
    if (rc)
        return rc;
    /* Lines are saturated to int16; what lies between int16 entries is one. */
    struct assay_interval v = assay_interval_of(ASSAY_S16);
    rc = assay_check_out_program(c, 1, &v); /* no channels: per tensor only */
    if (rc)
        return rc;
    k->p.x_dtype = x->dtype;
    k->p.y_dtype = y->dtype;
    k->p.n = assay_tensor_elements(x);
    k->p.symmetry = (enum assay_symmetry)q->symmetry;
    k->p.round = (enum assay_round)q->round;
    k->p.mix_round = (enum assay_round)q->mix_round;
    k->p.out = &c->layer->out_program;
    k->kernel = assay_pick_segment_table(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    struct assay_segment_table p = k->p;
    p.table = io->in[1]; /* aligned by the plan */
    k->kernel->run(&p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_segment_table = {
    .number = ASSAY_OP_SEGMENT_TABLE,
    .params_bytes = sizeof(struct params),
    .min_inputs = 3,
    .max_inputs = 3,
    .check = check,
    .run = run,
};
