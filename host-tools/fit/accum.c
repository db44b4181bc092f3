/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/fit/accum.h"

#include <string.h>

#include "kernels/cpu.h"
#include "kernels/kernels.h"
#include "kernels/requant.h"
#include "lib/core/form.h"
#include "lib/engine/run.h"

static int no_memory(const struct assay_fit_layer *l, struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "layer '%.200s': no memory",
                      assay_fit_layer_of(l)->name);
}

/* ---- a slice of one layer -------------------------------------------------- */

struct single {
    struct assay_slice *s;
    const void *given[4]; /* by tensor of s: inputs come first */
    void *widened[4];     /* owned */
    void *out;
    size_t bytes;
};

static void single_close(struct single *o)
{
    assay_slice_free(o->s);
    for (unsigned i = 0; i < 4; i++)
        assay_free(o->widened[i]);
}

static int copy_tensor(struct single *o, const struct assay_tensor *from,
                       uint32_t *index, struct assay_err *err)
{
    int rc = assay_slice_add_tensor(o->s, index, err);
    struct assay_tensor *t;
    if (rc)
        return rc;
    t = &o->s->tensors[*index];
    *t = *from;
    t->is_output = false;
    if (t->role == ASSAY_ROLE_ACTIVATION)
        t->role = ASSAY_ROLE_INPUT;
    return 0;
}

/* `inputs` of the layer and its output; programs as they are. */
static int single_open(struct single *o, const struct assay_fit_layer *l,
                       const uint32_t *inputs, uint32_t n,
                       struct assay_err *err)
{
    const struct assay_layer *from = assay_fit_layer_of(l);
    struct assay_layer *to;
    uint32_t index, tensor;
    int rc = 0;

    memset(o, 0, sizeof(*o));
    o->s = assay_slice_new();
    if (!o->s)
        return no_memory(l, err);
    o->s->model_name = o->s->model_format = o->s->numerics = "";
    for (uint32_t i = 0; !rc && i < n; i++)
        rc = copy_tensor(o, &l->slice->tensors[inputs[i]], &index, err);
    if (!rc)
        rc = copy_tensor(o, &l->slice->tensors[from->output], &tensor, err);
    if (!rc)
        rc = assay_slice_add_layer(o->s, n, &index, err);
    if (rc)
        return rc;
    o->s->tensors[tensor].role = ASSAY_ROLE_ACTIVATION;
    o->s->tensors[tensor].is_output = true;
    to = &o->s->layers[index];
    uint32_t *mine = to->inputs;
    *to = *from;
    to->inputs = mine;
    to->n_inputs = n;
    to->output = tensor;
    for (uint32_t i = 0; i < n; i++) /* one tensor may stand twice */
        mine[i] = i;
    return 0;
}

static const void *fetch(void *self, uint32_t tensor)
{
    const struct single *o = self;
    return tensor < 4 ? o->given[tensor] : NULL;
}

static int ignore(void *self, const struct assay_layer_info *info)
{
    (void)self;
    (void)info;
    return 0;
}

static int keep(void *self, const struct assay_layer_info *info,
                const void *data)
{
    struct single *o = self;
    o->bytes = info->bytes;
    memcpy(o->out, data, info->bytes);
    return 0;
}

static int single_run(struct single *o, void *out, struct assay_err *err)
{
    struct assay_kernel_table table;
    struct assay_plan *plan = NULL;
    const struct assay_run_request request = {
        .mode = ASSAY_RUN_ISOLATED, .fetch = fetch, .self = o};
    const struct assay_sink sink = {
        .self = o, .begin = ignore, .tensor = keep, .end = ignore};
    uint8_t *block = NULL;
    int rc;

    assay_kernel_table_init(&table, assay_cpu_probe());
    rc = assay_plan_new(&plan, o->s, &table, NULL, err);
    if (rc)
        return rc;
    block = assay_alloc(assay_plan_arena_bytes(plan) + 64);
    o->out = out;
    o->bytes = 0;
    if (!block)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for an arena");
    else
        rc = assay_run(plan, (void *)(((uintptr_t)block + 63) & ~(uintptr_t)63),
                       &request, &sink, err);
    if (!rc && !o->bytes)
        rc = assay_fail(err, ASSAY_EFORMAT, "the layer was not computed");
    assay_free(block);
    assay_plan_free(plan);
    return rc;
}

/* ---- accumulators ---------------------------------------------------------- */

/* Sums of 8-bit inputs wrap at 32 bits; those of 16-bit ones do not. */
static int widen(struct single *o, uint32_t i, struct assay_err *err)
{
    struct assay_tensor *t = &o->s->tensors[i];
    size_t n, bytes;
    int16_t *wide;
    int rc = assay_tensor_count(t, &n, &bytes, err);

    if (rc || assay_dtype_bytes(t->dtype) != 1)
        return rc;
    wide = assay_alloc(n * sizeof(*wide));
    if (!wide)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an input");
    for (size_t k = 0; k < n; k++)
        wide[k] = t->dtype == ASSAY_S8
                      ? (int16_t)((const int8_t *)o->given[i])[k]
                      : (int16_t)((const uint8_t *)o->given[i])[k];
    o->widened[i] = wide;
    o->given[i] = wide;
    t->dtype = ASSAY_S16;
    if (t->role == ASSAY_ROLE_CONSTANT) {
        t->data = wide;
        t->size = n * sizeof(*wide);
    }
    return 0;
}

/* The layer computes its sum alone, in 64 bits. */
static void strip(struct single *o)
{
    struct assay_layer *l = &o->s->layers[0];
    struct assay_tensor *y = &o->s->tensors[l->output];

    for (uint32_t i = 0; i < o->s->n_tensors; i++)
        o->s->tensors[i].quant = (struct assay_quant){.axis = -1};
    y->dtype = ASSAY_S64;
    l->out_program = (struct assay_program){.n_steps = 0};
    l->n_in_programs = 0;
    l->in_programs = NULL;
    if (l->op == ASSAY_OP_POOL) {
        l->p.pool.sum = ASSAY_SUM_RAW;
        l->p.pool.div = ASSAY_DIV_NONE;
    } else if (l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
               l->op == ASSAY_OP_CONV_TRANSPOSE2D) {
        l->p.conv2d.has_bias = l->p.conv2d.has_second = false;
    }
}

/* Two tensors: one of them, broadcast to the output; `which` or, for a
 * product, both. */
static void broadcast(struct single *o, struct assay_program programs[2],
                      struct assay_step *step, unsigned which)
{
    static const int64_t zero = 0;
    struct assay_layer *l = &o->s->layers[0];

    memset(programs, 0, 2 * sizeof(*programs));
    l->n_in_programs = 2;
    l->in_programs = programs;
    if (l->p.binary.combine == ASSAY_COMBINE_MUL)
        return;
    *step = (struct assay_step){.kind = ASSAY_STEP_MUL, .n = 1, .a = &zero};
    programs[1 - which].n_steps = 1;
    programs[1 - which].steps[0] = *step;
    l->p.binary.combine = ASSAY_COMBINE_ADD;
}

static int sums_once(const struct assay_fit_layer *l, const void *const *inputs,
                     unsigned which, int64_t *out, struct assay_err *err)
{
    const struct assay_layer *from = assay_fit_layer_of(l);
    uint32_t n = from->n_inputs < 2 ? 1 : 2;
    struct assay_program programs[2];
    struct assay_step step;
    struct single o;
    int rc;

    if (from->op == ASSAY_OP_POOL || from->op == ASSAY_OP_REDUCE ||
        from->op == ASSAY_OP_UNARY)
        n = 1;
    rc = single_open(&o, l, from->inputs, n, err);
    if (!rc) {
        for (uint32_t i = 0; i < n; i++)
            o.given[i] = o.s->tensors[i].role == ASSAY_ROLE_CONSTANT
                             ? o.s->tensors[i].data
                             : inputs[i];
        strip(&o);
        if (from->op == ASSAY_OP_BINARY)
            broadcast(&o, programs, &step, which);
        else if (from->op == ASSAY_OP_CONV2D || from->op == ASSAY_OP_GEMM ||
                 from->op == ASSAY_OP_CONV_TRANSPOSE2D ||
                 from->op == ASSAY_OP_MATMUL)
            rc = widen(&o, 0, err);
    }
    if (!rc)
        rc = single_run(&o, out, err);
    single_close(&o);
    return rc;
}

static void load(enum assay_dtype dtype, const void *from, int64_t *to,
                 size_t n)
{
    /* union assay_value is 64 bits of which integers fill all */
    for (size_t i = 0; i < n; i++) {
        union assay_value v;
        assay_load_values(
            dtype, (const uint8_t *)from + i * assay_dtype_bytes(dtype), &v, 1);
        to[i] = v.i;
    }
}

int assay_fit_layer_sums(const struct assay_fit_layer *l,
                         const void *const *inputs, int64_t *out,
                         int64_t *second, struct assay_err *err)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    int rc = sums_once(l, inputs, 0, out, err), at = assay_fit_second_input(y);

    if (rc || !second || at < 0)
        return rc;
    if (y->op == ASSAY_OP_BINARY)
        return sums_once(l, inputs, 1, second, err);
    load(l->slice->tensors[y->inputs[at]].dtype, inputs[at], second,
         assay_fit_layer_count(l, -1));
    return 0;
}

/* A table stands in the slice as the rule in use has turned it; other rules
 * want it as the file has it (lib/core/form_table.c). */
static void given_table(const struct assay_layer *from, uint32_t *inputs)
{
    const struct assay_field *f = assay_field_find(from, ".table");

    if (f && from->n_inputs == 2)
        inputs[1] = (uint32_t)f->v[0];
}

static void forget_turned(struct assay_layer *l)
{
    while (l->n_fields > 0 && l->fields[l->n_fields - 1].name[0] == '.')
        l->n_fields--;
}

/* The layer under a rule; tensors 0 and the output in another shape, if any. */
static int run_rule(const struct assay_fit_layer *l, const char *rule,
                    const void *const *inputs, const int64_t *shape, void *out,
                    struct assay_err *err)
{
    const struct assay_layer *from = assay_fit_layer_of(l);
    uint32_t tensors[4];
    struct single o;
    int rc;

    if (from->n_inputs > 4)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "layer '%.200s': too many inputs", from->name);
    memcpy(tensors, from->inputs, from->n_inputs * sizeof(*tensors));
    given_table(from, tensors);
    rc = single_open(&o, l, tensors, from->n_inputs, err);
    for (uint32_t i = 0; !rc && i < from->n_inputs; i++)
        o.given[i] = inputs[i];
    for (uint32_t a = 0; !rc && shape && a < o.s->tensors[0].rank; a++)
        o.s->tensors[0].dims[a] = o.s->tensors[o.s->layers[0].output].dims[a] =
            shape[a];
    if (!rc) {
        forget_turned(&o.s->layers[0]);
        rc = assay_rule_apply(o.s, 0, rule, err);
    }
    if (!rc)
        rc = single_run(&o, out, err);
    single_close(&o);
    return rc;
}

int assay_fit_layer_run(const struct assay_fit_layer *l, const char *rule,
                        const void *const *inputs, void *out,
                        struct assay_err *err)
{
    return run_rule(l, rule, inputs, NULL, out, err);
}

int assay_fit_layer_values(const struct assay_fit_layer *l, const char *rule,
                           const void *x, int64_t rows, int64_t channels,
                           void *out, struct assay_err *err)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    uint32_t rank = l->slice->tensors[y->inputs[0]].rank;
    const void *inputs[4] = {x};
    int64_t shape[ASSAY_MAX_RANK];

    for (uint32_t i = 1; i < y->n_inputs && i < 4; i++)
        inputs[i] = l->slice->tensors[y->inputs[i]].data;
    for (uint32_t a = 0; a < rank; a++)
        shape[a] = 1;
    if (channels == 1) {
        shape[rank - 1] = rows;
    } else {
        shape[rank - 1] = channels;
        shape[rank - 2] = rows;
    }
    return run_rule(l, rule, inputs, shape, out, err);
}

/* ---- layers ---------------------------------------------------------------- */

size_t assay_fit_layer_count(const struct assay_fit_layer *l, int64_t input)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    size_t n = 0, bytes;
    const struct assay_tensor *t =
        &l->slice->tensors[input < 0 ? y->output : y->inputs[input]];
    return assay_tensor_count(t, &n, &bytes, NULL) < 0 ? 0 : n;
}

int assay_fit_layer_open(struct assay_fit_layer **out,
                         const struct assay_slice *slice, uint32_t layer,
                         struct assay_err *err)
{
    const struct assay_layer *y = &slice->layers[layer];
    enum assay_fit_kind kind = assay_fit_kind_of(y->form);
    struct assay_fit_layer *l;
    int rc = 0;

    *out = NULL;
    if (kind == ASSAY_FIT_NONE || y->op == ASSAY_OP_SKIPPED ||
        !assay_dtype_is_int(slice->tensors[y->output].dtype))
        return 0;
    l = assay_calloc(1, sizeof(*l));
    if (!l)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for layer '%.200s'",
                          y->name);
    l->slice = slice;
    l->layer = layer;
    l->form = y->form;
    l->kind = kind;
    l->dtype = slice->tensors[y->output].dtype;
    l->problem.space = assay_fit_space_layer(slice, y);
    l->problem.channels = 1;
    l->memory = assay_arena_new();
    if (!l->memory)
        rc = no_memory(l, err);
    if (!rc && kind == ASSAY_FIT_STAGED)
        rc = assay_fit_operands(l, err);
    if (rc) {
        assay_fit_layer_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

void assay_fit_layer_close(struct assay_fit_layer *l)
{
    if (!l)
        return;
    for (size_t s = 0; s < l->n_samples; s++)
        for (unsigned i = 0; i < 4; i++)
            if (l->samples[s].bytes[i])
                assay_free(l->samples[s].input[i]);
    assay_free(l->samples);
    assay_free(l->acc);
    assay_free(l->second);
    assay_free(l->golden);
    assay_arena_free(l->memory);
    assay_free(l);
}

static int grow(const struct assay_fit_layer *l, int64_t **v, size_t n,
                struct assay_err *err)
{
    int64_t *more = assay_realloc(*v, (l->n + n) * sizeof(*more));
    if (!more)
        return no_memory(l, err);
    *v = more;
    return 0;
}

/* Inputs of a sample are kept: the engine runs on them, candidate by
 * candidate, and searches for separating ones begin from them. */
static int keep_inputs(struct assay_fit_layer *l, const void *const *inputs,
                       struct assay_err *err)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    struct assay_fit_sample *more = assay_realloc(
                                l->samples, (l->n_samples + 1) * sizeof(*more)),
                            *s;

    if (!more)
        return no_memory(l, err);
    l->samples = more;
    s = &more[l->n_samples];
    memset(s, 0, sizeof(*s));
    l->n_samples++;
    for (uint32_t i = 0; i < y->n_inputs && i < 4; i++) {
        const struct assay_tensor *t = &l->slice->tensors[y->inputs[i]];
        size_t bytes =
            assay_fit_layer_count(l, i) * assay_dtype_bytes(t->dtype);
        if (t->role == ASSAY_ROLE_CONSTANT) {
            s->input[i] = (void *)(uintptr_t)t->data;
            continue;
        }
        s->input[i] = assay_alloc(bytes ? bytes : 1);
        if (!s->input[i])
            return no_memory(l, err);
        s->bytes[i] = bytes;
        memcpy(s->input[i], inputs[i], bytes);
    }
    return 0;
}

int assay_fit_layer_add(struct assay_fit_layer *l, const void *const *values,
                        struct assay_err *err)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    const void *inputs[4] = {NULL};
    size_t n = assay_fit_layer_count(l, -1);
    bool second = l->kind == ASSAY_FIT_STAGED && assay_fit_second_input(y) >= 0;
    int rc = 0;

    for (uint32_t i = 0; i < y->n_inputs && i < 4; i++) {
        const struct assay_tensor *t = &l->slice->tensors[y->inputs[i]];
        inputs[i] =
            t->role == ASSAY_ROLE_CONSTANT ? t->data : values[y->inputs[i]];
        if (!inputs[i])
            return 0; /* not in this sample */
    }
    if (!values[y->output] || y->n_inputs > 4)
        return 0;
    rc = grow(l, &l->golden, n, err);
    if (!rc && l->kind == ASSAY_FIT_STAGED)
        rc = grow(l, &l->acc, n, err);
    if (!rc && second)
        rc = grow(l, &l->second, n, err);
    if (!rc && l->kind == ASSAY_FIT_STAGED)
        rc = assay_fit_layer_sums(l, inputs, l->acc + l->n,
                                  second ? l->second + l->n : NULL, err);
    if (!rc)
        rc = keep_inputs(l, inputs, err);
    if (rc)
        return rc;
    load(l->dtype, values[y->output], l->golden + l->n, n);
    l->n += n;
    return 0;
}
