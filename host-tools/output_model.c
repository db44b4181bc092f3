/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of a case, and what stands in front of them. */
#include "host-tools/output_model.h"

#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/model/observed.h"
#include "host-tools/model/sample.h"

#define MAX_HEADS 1024

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

/* The tensor in the source's order, without values yet. */
static int describe(struct assay_output_tensor *out, void ***values,
                    struct assay_arena *a, const struct assay_tensor *t,
                    size_t n_samples, struct assay_err *err)
{
    int32_t *zeros;

    memset(out, 0, sizeof(*out));
    out->name = t->name;
    out->dtype = t->dtype;
    out->rank = t->rank;
    assay_tensor_source_dims(t, out->dims);
    if (strlen(t->axes) == t->rank)
        for (uint32_t i = 0; i < t->rank; i++)
            out->axes[t->perm[i]] = t->axes[i];
    out->quant = t->quant;
    if (t->quant.n > 1 && t->quant.axis >= 0 &&
        (uint32_t)t->quant.axis < t->rank &&
        t->dims[t->quant.axis] == (int64_t)t->quant.n)
        out->quant.axis = t->perm[t->quant.axis];
    else if (t->quant.n > 1)
        out->quant.n = 0; /* scales of something else */
    *values = assay_arena_array(a, n_samples + 1, sizeof(**values));
    zeros = assay_arena_array(a, (size_t)t->quant.n + 1, sizeof(*zeros));
    if (*values == NULL || zeros == NULL)
        return no_memory(err);
    if (t->quant.zero_point == NULL)
        out->quant.zero_point = zeros;
    out->values = *values;
    return 0;
}

/* Stored order to the source's. */
static int put_value(void **slot, struct assay_arena *a,
                     const struct assay_tensor *t, const void *stored,
                     struct assay_err *err)
{
    struct assay_tensor source = *t;
    size_t count, bytes;
    int rc = assay_tensor_count(t, &count, &bytes, err);

    if (rc < 0)
        return rc;
    *slot = assay_arena_alloc(a, bytes);
    if (*slot == NULL)
        return no_memory(err);
    assay_tensor_source_dims(t, source.dims);
    for (uint32_t i = 0; i < t->rank; i++)
        source.perm[t->perm[i]] = (uint8_t)i;
    assay_sample_permute(&source, source.perm, assay_dtype_bytes(t->dtype),
                         stored, *slot, count);
    return 0;
}

/* The layer that gives a tensor, and the only tensor that it reads. */
static const struct assay_layer *in_front(const struct assay_slice *s,
                                          uint32_t tensor, uint32_t *input)
{
    const struct assay_layer *found = NULL;
    unsigned n = 0;

    for (uint32_t i = 0; i < s->n_layers; i++)
        if (s->layers[i].output == tensor)
            found = &s->layers[i];
    for (uint32_t k = 0; found != NULL && k < found->n_inputs; k++) {
        if (s->tensors[found->inputs[k]].role == ASSAY_ROLE_CONSTANT)
            continue;
        *input = found->inputs[k];
        n++;
    }
    return n == 1 ? found : NULL;
}

/* One output and the chain in front of it; index[]: whose values they are. */
struct sources {
    uint32_t tensor[1 + ASSAY_OUTPUT_BEFORE];
    void **values[1 + ASSAY_OUTPUT_BEFORE];
};

static int describe_head(struct assay_output_head *h, struct sources *x,
                         struct assay_arena *a, const struct assay_slice *s,
                         uint32_t tensor, size_t n_samples,
                         struct assay_err *err)
{
    const struct assay_layer *l;
    int rc =
        describe(&h->t, &x->values[0], a, &s->tensors[tensor], n_samples, err);

    x->tensor[0] = tensor;
    for (size_t k = 0; rc == 0 && k < ASSAY_OUTPUT_BEFORE; k++) {
        l = in_front(s, tensor, &tensor);
        if (l == NULL || s->tensors[tensor].role != ASSAY_ROLE_ACTIVATION)
            break;
        h->op[k] = l->source_op != NULL ? l->source_op : "";
        rc = describe(&h->before[k], &x->values[k + 1], a, &s->tensors[tensor],
                      n_samples, err);
        x->tensor[k + 1] = tensor;
        h->n_before = k + 1;
    }
    return rc;
}

static int take_sample(struct assay_output_case *c, const struct sources *x,
                       size_t k, const struct assay_slice *s,
                       const struct assay_sample *v, size_t *found,
                       struct assay_err *err)
{
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < c->model.n_heads; h++)
        for (size_t b = 0; rc == 0 && b <= c->heads[h].n_before; b++) {
            uint32_t t = x[h].tensor[b];

            if (v->values[t] == NULL)
                continue;
            *found += b == 0;
            rc = put_value(&x[h].values[b][k], c->arena, &s->tensors[t],
                           v->values[t], err);
        }
    return rc;
}

/* Samples of the golden, or of the column that was asked for. */
static int take_samples(struct assay_output_case *c, const struct sources *x,
                        struct assay_prepared *p, const struct assay_options *o,
                        struct assay_err *err)
{
    enum assay_case_side side =
        o->column == ASSAY_COL_BPU ? ASSAY_CASE_BPU : ASSAY_CASE_SIM;
    bool column = o->column != ASSAY_COL_HOST;
    const char *paths[ASSAY_CASE_SIDES] = {o->sim, o->bpu, NULL};
    struct assay_feature_map map = {0};
    size_t found = 0;
    int rc = 0;

    c->from = column ? assay_column_name(o->column) : "the reference";
    if (column) {
        rc = assay_case_find_columns(&p->c, paths, o->hybrid, &p->note, err);
        if (rc == 0 && p->c.columns[side].n_have == 0)
            rc = assay_fail_message(err, ASSAY_EUSAGE,
                                    ASSAY_MSG_OUTPUT_NO_COLUMN, "column",
                                    c->from, NULL);
        if (rc == 0 && p->c.hybrid != NULL)
            rc = assay_feature_map_open(&map, p->c.hybrid, p->slice, &p->note,
                                        err);
    }
    for (size_t k = 0; rc == 0 && k < p->c.n_samples; k++) {
        struct assay_sample v = {0};

        if (column && p->c.columns[side].paths[k] == NULL)
            continue;
        rc = column ? assay_case_observed(&v, &p->c, side, k, p->slice, &map,
                                          &p->note, err)
                    : assay_case_golden(&v, &p->c, k, p->slice, &p->note, err);
        if (rc == 0)
            rc = take_sample(c, x, k, p->slice, &v, &found, err);
        assay_sample_close(&v);
    }
    assay_feature_map_close(&map);
    if (rc == 0 && found == 0)
        rc = assay_fail_message(err, ASSAY_EMISMATCH,
                                ASSAY_MSG_OUTPUT_NO_OUTPUTS, "from", c->from,
                                NULL);
    return rc;
}

int assay_output_case_open(struct assay_output_case *c,
                           struct assay_prepared *p,
                           const struct assay_options *o, struct assay_err *err)
{
    const struct assay_slice *s = p->slice;
    struct sources *x;
    size_t n = 0;
    int rc = 0;

    memset(c, 0, sizeof(*c));
    for (uint32_t t = 0; t < s->n_tensors; t++)
        n += s->tensors[t].is_output;
    if (n > MAX_HEADS)
        return assay_fail_message(
            err, ASSAY_EUNSUPPORTED, ASSAY_MSG_OUTPUT_TOO_MANY, "count",
            assay_num_u(n).text, "limit", assay_num_u(MAX_HEADS).text, NULL);
    c->slice = s;
    c->arena = assay_arena_new();
    if (c->arena == NULL)
        return no_memory(err);
    c->heads = assay_arena_array(c->arena, n + 1, sizeof(*c->heads));
    x = assay_arena_array(c->arena, n + 1, sizeof(*x));
    if (c->heads == NULL || x == NULL)
        return no_memory(err);
    c->model = (struct assay_output_model){
        .heads = c->heads,
        .n_samples = p->c.n_samples,
        .image_w = o->picture_size[0],
        .image_h = o->picture_size[1],
        .size_w = o->size[0],
        .size_h = o->size[1],
        .corner = o->corner,
    };
    for (uint32_t t = 0; rc == 0 && t < s->n_tensors; t++) {
        size_t h = c->model.n_heads;

        if (!s->tensors[t].is_output)
            continue;
        rc = describe_head(&c->heads[h], &x[h], c->arena, s, t, p->c.n_samples,
                           err);
        c->model.n_heads++;
    }
    return rc == 0 ? take_samples(c, x, p, o, err) : rc;
}

void assay_output_case_close(struct assay_output_case *c)
{
    assay_arena_free(c->arena);
    c->arena = NULL;
}
