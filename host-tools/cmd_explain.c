/* SPDX-License-Identifier: Apache-2.0 */
/* The hand calculation of one element, with every column beside it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/diff/diff.h"
#include "host-tools/explain.h"
#include "host-tools/messages.h"
#include "host-tools/model/observed.h"
#include "host-tools/prepare.h"
#include "host-tools/report/report.h"
#include "host-tools/run_other.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"
#include "lib/engine/run.h"

struct explain {
    const struct assay_options *o;
    struct assay_prepared p;
    struct assay_sample inputs, golden, sides[ASSAY_CASE_SIDES];
    struct assay_feature_map features;
    void **computed; /* what the engine gives where no golden is; owned */
    uint32_t layer;
    size_t element;
    struct assay_slice *one;
};

static void close_all(struct explain *x)
{
    for (uint32_t t = 0; x->computed && t < x->p.slice->n_tensors; t++)
        assay_free(x->computed[t]);
    assay_free(x->computed);
    assay_slice_free(x->one);
    for (unsigned s = 0; s < ASSAY_CASE_SIDES; s++)
        assay_sample_close(&x->sides[s]);
    assay_feature_map_close(&x->features);
    assay_sample_close(&x->inputs);
    assay_sample_close(&x->golden);
    assay_prepare_close(&x->p);
}

/* ---- the element ----------------------------------------------------------- */

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
                     const struct assay_layer *l, void **out,
                     struct assay_err *err)
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
    rc = assay_once(one, 0, values, one->layers[0].output, *out, bytes, err);
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
            rc = run_layer(x, one, l, &x->computed[l->output], err);
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

    printf("%s  %s, %s -> %s, arithmetic %s          tensor %s%s", l->name,
           l->source_op, assay_dtype_name(in->dtype),
           assay_dtype_name(y->dtype),
           l->arith != NULL && l->arith[0] != '\0' ? l->arith : "-", y->name,
           assay_report_index(y, x->element, false, index, sizeof(index)));
}

static void print_column(const struct explain *x, const char *name,
                         const void *data, const union assay_value *result)
{
    const struct assay_tensor *y =
        &x->p.slice->tensors[x->p.slice->layers[x->layer].output];
    char value[40];
    union assay_value v;

    if (data == NULL)
        return;
    assay_load_values(y->dtype,
                      (const uint8_t *)data +
                          x->element * assay_dtype_bytes(y->dtype),
                      &v, 1);
    printf("   %s %s%s", name,
           assay_explain_value(y->dtype, &v, value, sizeof(value)),
           memcmp(&v, result, assay_dtype_bytes(y->dtype)) == 0 ? ""
                                                                : " (differs)");
}

/* The engine computes what is printed: anything else is a fault of ours. */
static int print(const struct explain *x, struct assay_err *err)
{
    const struct assay_slice *s = x->p.slice;
    const struct assay_layer *l = &s->layers[x->layer];
    const void *values[ASSAY_MAX_LAYER_INPUTS] = {0};
    const struct assay_explain e = {.one = x->one,
                                    .inputs = values,
                                    .element = x->element,
                                    .taps = x->o->verbose > 0,
                                    .out = stdout};
    union assay_value result = {.i = 0}, engine = {.i = 0};
    enum assay_dtype dtype = s->tensors[l->output].dtype;

    for (uint32_t i = 0; i < l->n_inputs; i++)
        values[x->one->layers[0].inputs[i]] = given(x, l->inputs[i]);
    assay_load_values(dtype,
                      (const uint8_t *)x->computed[l->output] +
                          x->element * assay_dtype_bytes(dtype),
                      &engine, 1);
    print_head(x);
    if (!assay_explain_print(&e, &result)) {
        result = engine;
        assay_explain_line(stdout, "  by the engine, without a calculation",
                           "");
    } else if (memcmp(&result, &engine, assay_dtype_bytes(dtype)) != 0) {
        printf("\n");
        return assay_fail_message(err, ASSAY_EINTERNAL, ASSAY_MSG_EXPLAIN_OTHER,
                                  "layer", l->name, NULL);
    }
    print_column(x, "reference",
                 x->golden.values ? x->golden.values[l->output] : NULL,
                 &result);
    print_column(x, "cpu", x->computed[l->output], &result);
    for (unsigned k = 0; k < ASSAY_CASE_SIDES; k++)
        print_column(
            x,
            assay_column_name((enum assay_column)((unsigned)ASSAY_COL_SIM + k)),
            x->sides[k].values ? x->sides[k].values[l->output] : NULL, &result);
    printf("\n");
    return 0;
}

static int explain(struct explain *x, struct assay_err *err)
{
    const struct assay_slice *s = x->p.slice;
    int rc = assay_find_layer(&x->layer, s, x->o->layer, err);

    if (rc == 0)
        rc = find_element(x, err);
    if (rc == 0)
        rc = read_sample(x, err);
    if (rc == 0)
        rc = compute(x, err);
    if (rc == 0 && x->computed[s->layers[x->layer].output] == NULL)
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
