/* SPDX-License-Identifier: Apache-2.0 */
/* The hand calculation of one element, with every column beside it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/diff/diff.h"
#include "host-tools/explain_column.h"
#include "host-tools/messages.h"
#include "host-tools/model/observed.h"
#include "host-tools/prepare.h"
#include "host-tools/report/report.h"
#include "host-tools/run_other.h"
#include "kernels/cpu.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"
#include "lib/engine/run.h"

struct explain {
    const struct assay_options *o;
    struct assay_prepared p;
    struct assay_sample inputs, golden, sides[ASSAY_CASE_SIDES];
    struct assay_feature_map features;
    void **computed; /* what the engine gives where no golden is; owned */
    void *cpu;       /* of the layer, by this machine's kernels; owned */
    uint32_t layer;
    size_t element;
    struct assay_slice *one;
};

static void close_all(struct explain *x)
{
    for (uint32_t t = 0; x->computed && t < x->p.slice->n_tensors; t++)
        assay_free(x->computed[t]);
    assay_free(x->computed);
    assay_free(x->cpu);
    assay_slice_free(x->one);
    for (unsigned s = 0; s < ASSAY_CASE_SIDES; s++)
        assay_sample_close(&x->sides[s]);
    assay_feature_map_close(&x->features);
    assay_sample_close(&x->inputs);
    assay_sample_close(&x->golden);
    assay_prepare_close(&x->p);
}

/* ---- the element ----------------------------------------------------------- */

/* What is printed beside the calculation. */
struct sheet {
    const struct explain *x;
    const void *values[ASSAY_MAX_LAYER_INPUTS];
    const void *own[ASSAY_CASE_SIDES][ASSAY_MAX_LAYER_INPUTS];
    struct assay_explain_column columns[ASSAY_EXPLAIN_COLUMNS];
    size_t n;
};

static int bad_index(const struct explain *x, const struct assay_tensor *t,
                     struct assay_err *err)
{
    char shape[128], at[160];

    snprintf(at, sizeof(at), "%.150s", x->o->at);
    return assay_fail_message(
        err, ASSAY_EUSAGE, ASSAY_MSG_BAD_INDEX, "at", at, "layer",
        x->p.slice->layers[x->layer].name, "shape",
        assay_report_shape(t, shape, sizeof(shape)), NULL);
}

/* "0,3,3,7" in the stored order of the layer's output. */
static int find_element(struct explain *x, struct assay_err *err)
{
    const struct assay_layer *l = &x->p.slice->layers[x->layer];
    const struct assay_tensor *t = &x->p.slice->tensors[l->output];
    const char *p = x->o->at;

    x->element = 0;
    for (uint32_t a = 0; a < t->rank; a++) {
        char *end;
        long long i;

        errno = 0;
        i = strtoll(p, &end, 10);
        if (end == p || errno != 0 || i < 0 || i >= t->dims[a] ||
            *end != (a + 1 < t->rank ? ',' : '\0'))
            return bad_index(x, t, err);
        x->element = x->element * (size_t)t->dims[a] + (size_t)i;
        p = end + 1;
    }
    return t->rank > 0 || x->o->at[0] == '0' ? 0 : bad_index(x, t, err);
}

/* ---- values ---------------------------------------------------------------- */

static const void *given(const struct explain *x, uint32_t t)
{
    if (x->p.slice->tensors[t].role == ASSAY_ROLE_INPUT)
        return x->inputs.values[t];
    if (x->golden.values && x->golden.values[t])
        return x->golden.values[t];
    return x->computed ? x->computed[t] : NULL;
}

/* A layer on values that are there; NULL in *out: one is missing. */
static int run_layer(const struct explain *x, const struct assay_slice *one,
                     const struct assay_layer *l, uint32_t cpu_flags,
                     void **out, struct assay_err *err)
{
    const void *values[ASSAY_MAX_LAYER_INPUTS] = {0};
    size_t n, bytes;
    int rc =
        assay_tensor_count(&x->p.slice->tensors[l->output], &n, &bytes, err);

    *out = NULL;
    for (uint32_t i = 0; i < l->n_inputs && !rc; i++) {
        values[one->layers[0].inputs[i]] = given(x, l->inputs[i]);
        if (!values[one->layers[0].inputs[i]] &&
            x->p.slice->tensors[l->inputs[i]].role != ASSAY_ROLE_CONSTANT)
            return 0;
    }
    if (rc)
        return rc;
    *out = assay_alloc(bytes + 1);
    if (!*out)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    rc = assay_once(one, cpu_flags, values, one->layers[0].output, *out, bytes,
                    err);
    if (rc) {
        assay_free(*out);
        *out = NULL;
    }
    return rc;
}

/* What no golden has in front of the layer, and the layer itself. */
static int compute(struct explain *x, struct assay_err *err)
{
    const struct assay_slice *s = x->p.slice;
    int rc = 0;

    x->computed = assay_calloc((size_t)s->n_tensors + 1, sizeof(void *));
    if (!x->computed)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (uint32_t i = 0; i <= x->layer && !rc; i++) {
        const struct assay_layer *l = &s->layers[i];
        struct assay_slice *one = NULL;

        if (l->op == ASSAY_OP_SKIPPED || (i < x->layer && given(x, l->output)))
            continue;
        rc = assay_slice_single(&one, s, i, err);
        if (!rc)
            rc = run_layer(x, one, l, 0, &x->computed[l->output], err);
        if (!rc && i == x->layer)
            rc = run_layer(x, one, l, assay_cpu_probe(), &x->cpu, err);
        assay_slice_free(one);
    }
    return rc;
}

static int read_sample(struct explain *x, struct assay_err *err)
{
    const struct assay_case *c = &x->p.c;
    const char *paths[ASSAY_CASE_SIDES] = {x->o->sim, x->o->bpu, x->o->got};
    uint32_t s = x->o->sample;
    int rc = 0;

    if (s >= c->n_samples)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_NO_SAMPLE, "n",
                                assay_num_u(s).text, "last",
                                assay_num_u(c->n_samples - 1).text, NULL);
    else if (assay_run_other_is(x->o->got))
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_EXPLAIN_SLICE,
                                "path", x->o->got, NULL);
    if (rc == 0)
        rc = assay_case_inputs(&x->inputs, c, s, x->p.slice, &x->p.note, err);
    if (rc == 0 && c->goldens != NULL && c->goldens[s] != NULL)
        rc = assay_case_golden(&x->golden, c, s, x->p.slice, &x->p.note, err);
    if (rc == 0)
        rc = assay_case_find_columns(&x->p.c, paths, x->o->hybrid, &x->p.note,
                                     err);
    if (rc == 0 && x->p.c.hybrid != NULL)
        rc = assay_feature_map_open(&x->features, x->p.c.hybrid, x->p.slice,
                                    &x->p.note, err);
    for (unsigned k = 0; k < ASSAY_CASE_SIDES && rc == 0; k++) {
        if (c->columns[k].n_have == 0 || c->columns[k].paths[s] == NULL)
            continue;
        rc = assay_case_observed(&x->sides[k], &x->p.c, (enum assay_case_side)k,
                                 s, x->p.slice, &x->features, &x->p.note, err);
    }
    return rc;
}

/* ---- what is printed ------------------------------------------------------- */

static void print_head(const struct explain *x)
{
    const struct assay_layer *l = &x->p.slice->layers[x->layer];
    const struct assay_tensor *in = &x->p.slice->tensors[l->inputs[0]];
    const struct assay_tensor *y = &x->p.slice->tensors[l->output];
    char index[160];

    printf("%s  %s, %s -> %s%s, arithmetic %s          tensor %s%s", l->name,
           l->source_op, assay_dtype_name(in->dtype),
           assay_dtype_name(y->dtype),
           l->half ? " (binary16 at the source)" : "",
           l->arith != NULL && l->arith[0] != '\0' ? l->arith : "-", y->name,
           assay_report_index(y, x->element, false, index, sizeof(index)));
}

static union assay_value at(const struct explain *x, const void *data)
{
    enum assay_dtype dtype =
        x->p.slice->tensors[x->p.slice->layers[x->layer].output].dtype;
    union assay_value v = {.i = 0};

    assay_load_values(
        dtype, (const uint8_t *)data + x->element * assay_dtype_bytes(dtype),
        &v, 1);
    return v;
}

static void add_column(struct sheet *k, const char *name, const void *data,
                       const void *const *inputs)
{
    if (data != NULL)
        k->columns[k->n++] = (struct assay_explain_column){
            .name = name, .v = at(k->x, data), .inputs = inputs};
}

/* What a side itself had in front of the layer; false: not all of it is
 * known, unless the layer stands at the model's inputs. */
static bool own_inputs(const struct explain *x, const struct assay_sample *side,
                       const void **values)
{
    const struct assay_slice *s = x->p.slice;
    const struct assay_layer *l = &s->layers[x->layer];

    for (uint32_t i = 0; i < l->n_inputs; i++) {
        uint32_t t = l->inputs[i];

        if (s->tensors[t].role == ASSAY_ROLE_CONSTANT)
            continue;
        values[x->one->layers[0].inputs[i]] =
            side->values[t] != NULL                  ? side->values[t]
            : s->tensors[t].role == ASSAY_ROLE_INPUT ? x->inputs.values[t]
                                                     : NULL;
        if (values[x->one->layers[0].inputs[i]] == NULL)
            return false;
    }
    return true;
}

static void add_sides(struct sheet *k)
{
    const struct explain *x = k->x;
    uint32_t output = x->p.slice->layers[x->layer].output;

    for (unsigned s = 0; s < ASSAY_CASE_SIDES; s++) {
        const struct assay_sample *side = &x->sides[s];

        if (side->values != NULL)
            add_column(k,
                       assay_column_name(
                           (enum assay_column)((unsigned)ASSAY_COL_SIM + s)),
                       side->values[output],
                       own_inputs(x, side, k->own[s]) ? k->own[s] : NULL);
    }
}

/* The engine computes what is printed: anything else is a fault of ours. */
static int check(const struct explain *x, const struct assay_explain *e,
                 const union assay_value *engine, struct assay_err *err)
{
    const struct assay_layer *l = &x->p.slice->layers[x->layer];
    union assay_value v;
    bool is_float = assay_explain_result_kind(e) != ASSAY_VALUE_INT;

    if (e->n_points == 0)
        return 0;
    v = assay_explain_result(e);
    if (is_float ? memcmp(&v.f, &engine->f, sizeof(v.f)) == 0 ||
                       (isnan(v.f) && isnan(engine->f))
                 : v.i == engine->i)
        return 0;
    return assay_fail_message(err, ASSAY_EINTERNAL, ASSAY_MSG_EXPLAIN_OTHER,
                              "layer", l->name, NULL);
}

static int print(struct explain *x, struct assay_err *err)
{
    const struct assay_layer *l = &x->p.slice->layers[x->layer];
    struct sheet k = {.x = x};
    struct assay_explain e = {.one = x->one,
                              .inputs = k.values,
                              .element = x->element,
                              .taps = x->o->verbose > 0};
    union assay_value engine = at(x, x->computed[l->output]);
    int rc;

    for (uint32_t i = 0; i < l->n_inputs; i++)
        k.values[x->one->layers[0].inputs[i]] = given(x, l->inputs[i]);
    add_column(&k, "reference",
               x->golden.values ? x->golden.values[l->output] : NULL, k.values);
    add_column(&k, "host", x->computed[l->output], k.values);
    add_column(&k, "cpu", x->cpu, k.values);
    add_sides(&k);
    rc = assay_explain_make(&e, err);
    if (rc == 0)
        rc = check(x, &e, &engine, err);
    if (rc == 0) {
        print_head(x);
        rc = assay_explain_print(stdout, &e, &engine, k.columns, k.n, err);
    }
    assay_explain_close(&e);
    return rc;
}

static int explain(struct explain *x, struct assay_err *err)
{
    const struct assay_slice *s = x->p.slice;
    const struct assay_layer *l;
    int rc = assay_find_layer(&x->layer, s, x->o->layer, err);

    if (rc == 0)
        rc = find_element(x, err);
    if (rc == 0)
        rc = read_sample(x, err);
    if (rc == 0)
        rc = compute(x, err);
    l = &s->layers[x->layer];
    if (rc == 0 && l->op == ASSAY_OP_SKIPPED)
        rc = assay_fail_message(
            err, ASSAY_EUSAGE, ASSAY_MSG_EXPLAIN_SKIPPED, "layer", l->name,
            "reason", l->skip_reason != NULL ? l->skip_reason : "", NULL);
    if (rc == 0 && x->computed[l->output] == NULL)
        rc = assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_EXPLAIN_NO_INPUT,
                                "layer", x->o->layer, NULL);
    if (rc == 0)
        rc = assay_slice_single(&x->one, s, x->layer, err);
    return rc == 0 ? print(x, err) : rc;
}

int assay_cmd_explain(const struct assay_options *o, int argc, char **argv)
{
    struct explain x = {.o = o};
    struct assay_err err = {0};
    int rc, code = 0;

    (void)argc;
    (void)argv;
    rc = assay_prepare(&x.p, o, &err);
    if (rc < 0)
        return assay_cmd_failed(&err);
    rc = explain(&x, &err);
    if (rc < 0)
        code = assay_cmd_failed(&err);
    close_all(&x);
    return code;
}
