/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/probe.h"

#include "lib/core/slice_part.h"
#include "lib/engine/once.h"
#include "lib/engine/probe_private.h"
#include "lib/engine/range.h"
#include "lib/engine/sums.h"

#define TABLE_WORK 8 /* about instructions, an element */

const void *assay_probe_bytes(const struct assay_probe_ctx *c, uint32_t tensor)
{
    const struct assay_tensor *t = &c->one->tensors[tensor];

    return t->role == ASSAY_ROLE_CONSTANT ? t->data : c->inputs[tensor];
}

size_t assay_probe_channels(const struct assay_tensor *t)
{
    return t->rank > 0 && t->dims[t->rank - 1] > 0
               ? (size_t)t->dims[t->rank - 1]
               : 1;
}

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for accumulators");
}

/* ---- what it will cost ---------------------------------------------------- */

static void add_work(uint64_t *work, uint64_t more)
{
    *work = *work + more < *work ? UINT64_MAX : *work + more;
}

static size_t count_of(const struct assay_tensor *t)
{
    size_t n, bytes;

    return assay_tensor_count(t, &n, &bytes, NULL) < 0 ? 0 : n;
}

/* Running the layer once more, by its kernel. */
static uint64_t kernel_work(const struct assay_probe_ctx *c)
{
    const struct assay_tensor *w;
    uint64_t work, factor;

    if (c->l->n_inputs < 2)
        return (uint64_t)c->n * TABLE_WORK;
    w = &c->one->tensors[c->l->inputs[1]];
    if (c->l->op == ASSAY_OP_MATMUL)
        factor = assay_probe_channels(c->x);
    else if (assay_sums_has(c->one))
        factor = count_of(w) / assay_probe_channels(c->y);
    else
        factor = TABLE_WORK;
    return __builtin_mul_overflow((uint64_t)c->n, factor, &work) ? UINT64_MAX
                                                                 : work;
}

static bool has_operand_programs(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_BINARY || l->op == ASSAY_OP_CONCAT ||
           l->op == ASSAY_OP_POOL || l->op == ASSAY_OP_PRELU;
}

static uint64_t work_of(const struct assay_probe_ctx *c)
{
    const struct assay_layer *l = c->l;
    uint64_t work = assay_probe_values_work(&l->out_program, c->n);

    add_work(&work, kernel_work(c));
    for (uint32_t i = 0; i < l->n_in_programs && has_operand_programs(l); i++) {
        uint32_t input = l->op == ASSAY_OP_PRELU ? 0 : i;

        if (input < l->n_inputs)
            add_work(&work, assay_probe_values_work(
                                &l->in_programs[i],
                                count_of(&c->one->tensors[l->inputs[input]])));
    }
    if (l->op == ASSAY_OP_POOL)
        add_work(&work, assay_probe_pool_work(c));
    return work;
}

/* ---- sums ------------------------------------------------------------------- */

static void span(struct assay_probe_ctx *c, const int64_t *sums,
                 size_t *smallest, size_t *largest)
{
    *smallest = *largest = 0;
    for (size_t e = 0; e < c->n; e++) {
        *smallest = sums[e] < sums[*smallest] ? e : *smallest;
        *largest = sums[e] > sums[*largest] ? e : *largest;
    }
    c->p->has_sums = 1;
    c->p->min = sums[*smallest];
    c->p->max = sums[*largest];
}

static void audit_sums(struct assay_probe_ctx *c, int64_t *sums,
                       const int32_t *second)
{
    const int32_t *bias = assay_layer_has_bias(c->l)
                              ? assay_probe_bytes(c, c->l->inputs[2])
                              : NULL;
    const struct assay_probe_values in = {.dtype = ASSAY_S64,
                                          .data = sums,
                                          .second = second,
                                          .n = c->n,
                                          .channels =
                                              assay_probe_channels(c->y)};
    size_t smallest, largest;

    for (size_t e = 0; bias != NULL && e < c->n; e++)
        sums[e] += bias[e % in.channels];
    span(c, sums, &smallest, &largest);
    assay_probe_running(c, smallest, largest);
    /* Sums of 8-bit inputs are the engine's in 32 bits. */
    if (assay_dtype_bytes(c->x->dtype) == 1)
        for (size_t e = 0; e < c->n; e++)
            sums[e] = (int32_t)(uint32_t)sums[e];
    assay_probe_values(c->p, 0, &c->l->out_program, &in);
}

/* Memory that is left for a plan behind n times `size` and an input that
 * sums.c may widen; false: none. */
static bool memory_for(const struct assay_probe_ctx *c, size_t size,
                       struct assay_plan_limits *limits)
{
    size_t bytes;

    if (__builtin_mul_overflow(c->n, size, &bytes) ||
        __builtin_add_overflow(bytes, count_of(c->x) * sizeof(int16_t),
                               &bytes) ||
        bytes >= c->limits.memory)
        return false;
    limits->memory_bytes =
        c->limits.memory == SIZE_MAX ? 0 : c->limits.memory - bytes;
    return true;
}

static int probe_sums(struct assay_probe_ctx *c)
{
    bool has_second = c->l->op != ASSAY_OP_GEMM && c->l->p.conv2d.has_second;
    struct assay_plan_limits limits;
    int32_t *second = NULL;
    int64_t *sums;
    int rc;

    if (!memory_for(c, sizeof(*sums) + (has_second ? sizeof(*second) : 0),
                    &limits))
        return ASSAY_PROBE_TOO_MUCH;
    sums = assay_calloc(c->n + 1, sizeof(*sums));
    if (has_second)
        second = assay_calloc(c->n + 1, sizeof(*second));
    if (sums == NULL || (has_second && second == NULL)) {
        rc = no_memory(c->err);
    } else {
        rc = assay_sums_compute(sums, c->n, c->one, c->inputs, c->l->output,
                                c->cpu_flags, &limits, c->err);
        if (rc == 0 && has_second)
            assay_sums_second(second, c->n, c->one, c->inputs);
        if (rc == 0)
            audit_sums(c, sums, second);
    }
    assay_free(sums);
    assay_free(second);
    return rc;
}

/* ---- what stands in front of the output program ---------------------------- */

/* Integers that are summed or joined: what their extremes say is worth it. */
static bool joins_integers(const struct assay_layer *l)
{
    switch (l->op) {
    case ASSAY_OP_MATMUL: return true;
    case ASSAY_OP_REDUCE: return l->p.reduce.kind == ASSAY_REDUCE_SUM;
    case ASSAY_OP_BINARY:
        return l->p.binary.combine == ASSAY_COMBINE_ADD ||
               l->p.binary.combine == ASSAY_COMBINE_SUB;
    default: return false;
    }
}

/* 1: it cannot be had as this dtype. */
static int bare(struct assay_probe_ctx *c, enum assay_dtype dtype, void *out,
                const struct assay_plan_limits *limits)
{
    uint32_t y = c->l->output;
    struct assay_err refused = {0};
    struct assay_slice *s = NULL;
    int rc = assay_slice_copy(&s, c->one, c->err);

    if (rc)
        return rc;
    s->layers[0].out_program.n_steps = 0;
    s->tensors[y].dtype = dtype;
    s->tensors[y].quant = (struct assay_quant){.axis = -1};
    rc = assay_once_within(s, c->cpu_flags, c->inputs, y, out,
                           c->n * assay_dtype_bytes(dtype), limits, &refused);
    assay_slice_free(s);
    return rc == 0 || rc == ASSAY_EMEMORY ? rc : 1;
}

static int probe_bare(struct assay_probe_ctx *c)
{
    const enum assay_dtype dtypes[] = {ASSAY_S64, ASSAY_S32, ASSAY_F32,
                                       c->x->dtype};
    struct assay_plan_limits limits;
    size_t smallest, largest;
    void *values;
    int rc = 1;

    if (!memory_for(c, sizeof(int64_t), &limits))
        return ASSAY_PROBE_TOO_MUCH;
    values = assay_calloc(c->n + 1, sizeof(int64_t));
    if (values == NULL)
        return no_memory(c->err);
    for (size_t i = 0; i < 4 && rc == 1; i++) {
        const struct assay_probe_values in = {.dtype = dtypes[i],
                                              .data = values,
                                              .n = c->n,
                                              .channels =
                                                  assay_probe_channels(c->y)};

        rc = bare(c, dtypes[i], values, &limits);
        if (rc == 0 && dtypes[i] == ASSAY_S64 && joins_integers(c->l))
            span(c, values, &smallest, &largest);
        if (rc == 0)
            assay_probe_values(c->p, 0, &c->l->out_program, &in);
    }
    assay_free(values);
    return rc == 1 ? ASSAY_PROBE_NOTHING : rc;
}

static int probe_unary(struct assay_probe_ctx *c)
{
    const struct assay_probe_values in = {
        .dtype = c->x->dtype,
        .data = assay_probe_bytes(c, c->l->inputs[0]),
        .n = c->n,
        .channels = assay_probe_channels(c->y)};

    assay_probe_values(c->p, 0, &c->l->out_program, &in);
    return 0;
}

/* ---- operands ----------------------------------------------------------------- */

/* Programs of operands that are data; of both branches of a PRELU. */
static int probe_operands(struct assay_probe_ctx *c)
{
    const struct assay_layer *l = c->l;
    bool branches = l->op == ASSAY_OP_PRELU;
    int rc = ASSAY_PROBE_NOTHING;

    for (uint32_t i = 0; i < l->n_in_programs && has_operand_programs(l); i++) {
        uint32_t input = branches ? 0 : i;
        const struct assay_tensor *t;
        struct assay_probe_values in = {0};

        if (input >= l->n_inputs)
            break;
        t = &c->one->tensors[l->inputs[input]];
        if (t->role == ASSAY_ROLE_CONSTANT || l->in_programs[i].n_steps == 0)
            continue;
        in.dtype = t->dtype;
        in.data = c->inputs[l->inputs[input]];
        in.n = count_of(t);
        in.channels = assay_probe_channels(t);
        if (branches)
            in.branch = i == 0 ? ASSAY_PROBE_UP : ASSAY_PROBE_DOWN;
        assay_probe_values(c->p, i + 1, &l->in_programs[i], &in);
        rc = 0;
    }
    return rc;
}

/* What is in front of the output program, and that program. */
static int probe_output(struct assay_probe_ctx *c)
{
    if (assay_sums_has(c->one))
        return probe_sums(c);
    if (c->l->out_program.n_steps == 0 && !joins_integers(c->l))
        return ASSAY_PROBE_NOTHING;
    return c->l->op == ASSAY_OP_UNARY ? probe_unary(c) : probe_bare(c);
}

/* Has the layer anything to look at? */
static bool has_subject(const struct assay_probe_ctx *c)
{
    const struct assay_layer *l = c->l;

    for (uint32_t i = 0; i < l->n_in_programs && has_operand_programs(l); i++)
        if (l->in_programs[i].n_steps > 0)
            return true;
    return l->out_program.n_steps > 0 || assay_sums_has(c->one) ||
           joins_integers(l) || l->op == ASSAY_OP_POOL ||
           l->op == ASSAY_OP_TABLE || l->op == ASSAY_OP_SEGMENT_TABLE ||
           l->op == ASSAY_OP_PRELU;
}

/* What belongs to the operator itself. */
static int probe_operator(struct assay_probe_ctx *c)
{
    switch (c->l->op) {
    case ASSAY_OP_POOL: assay_probe_pool(c); return 0;
    case ASSAY_OP_TABLE:
    case ASSAY_OP_SEGMENT_TABLE:
    case ASSAY_OP_PRELU: assay_probe_table(c); return 0;
    default: return ASSAY_PROBE_NOTHING;
    }
}

int assay_probe_layer(struct assay_probe *p, const struct assay_slice *one,
                      const void *const *inputs, uint32_t cpu_flags,
                      const struct assay_probe_limits *limits,
                      struct assay_err *err)
{
    const struct assay_layer *l = &one->layers[0];
    struct assay_probe_ctx c = {.p = p,
                                .one = one,
                                .l = l,
                                .x = &one->tensors[l->inputs[0]],
                                .y = &one->tensors[l->output],
                                .inputs = inputs,
                                .cpu_flags = cpu_flags,
                                .limits = *limits,
                                .err = err};
    size_t bytes;
    int rc, output;

    *p = (struct assay_probe){0};
    rc = assay_tensor_count(c.y, &c.n, &bytes, err);
    if (rc)
        return rc;
    if (!has_subject(&c))
        return ASSAY_PROBE_NOTHING;
    p->work = work_of(&c);
    output = p->work > limits->work ? ASSAY_PROBE_TOO_MUCH : probe_output(&c);
    if (output == 0 || output == ASSAY_PROBE_NOTHING) {
        int own = probe_operator(&c), operands = probe_operands(&c);

        rc = output == 0 || own == 0 || operands == 0 ? 0 : ASSAY_PROBE_NOTHING;
    } else {
        rc = output;
    }
    if (rc != 0)
        *p = (struct assay_probe){0};
    else
        p->values = c.n;
    return rc;
}
