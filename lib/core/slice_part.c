/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/slice_part.h"

#include <string.h>

#include "lib/core/form.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "slice: no memory for a part of it");
}

static int copy_tensor(struct assay_slice *s, const struct assay_tensor *from,
                       uint32_t *index, struct assay_err *err)
{
    int rc = assay_slice_add_tensor(s, index, err);

    if (!rc)
        s->tensors[*index] = *from;
    return rc;
}

/* All but its inputs, which stay as they are in `to`. */
static int copy_layer(struct assay_slice *s, struct assay_layer *to,
                      const struct assay_layer *from, struct assay_err *err)
{
    uint32_t *inputs = to->inputs;

    *to = *from;
    to->inputs = inputs;
    to->in_programs =
        assay_arena_copy(s->arena, from->in_programs,
                         from->n_in_programs * sizeof(*from->in_programs));
    return to->in_programs || from->n_in_programs == 0 ? 0 : no_memory(err);
}

static int begin(struct assay_slice **out, const struct assay_slice *from,
                 struct assay_err *err)
{
    struct assay_slice *s = assay_slice_new();

    *out = s;
    if (!s)
        return no_memory(err);
    s->model_name = from->model_name;
    s->model_format = from->model_format;
    s->numerics = from->numerics;
    memcpy(s->model_sha256, from->model_sha256, sizeof(s->model_sha256));
    return 0;
}

static int end(struct assay_slice **out, int rc)
{
    if (rc) {
        assay_slice_free(*out);
        *out = NULL;
    }
    return rc;
}

int assay_slice_copy(struct assay_slice **out, const struct assay_slice *from,
                     struct assay_err *err)
{
    uint32_t index;
    int rc = begin(out, from, err);

    for (uint32_t i = 0; !rc && i < from->n_tensors; i++)
        rc = copy_tensor(*out, &from->tensors[i], &index, err);
    for (uint32_t i = 0; !rc && i < from->n_layers; i++) {
        const struct assay_layer *l = &from->layers[i];

        rc = assay_slice_add_layer(*out, l->n_inputs, &index, err);
        if (rc)
            break;
        memcpy((*out)->layers[index].inputs, l->inputs,
               l->n_inputs * sizeof(*l->inputs));
        rc = copy_layer(*out, &(*out)->layers[index], l, err);
    }
    return end(out, rc);
}

#define NONE UINT32_MAX

/* The layer's inputs in s, by what became of the tensors of `from`; one that
 * is new is copied. */
static int inputs_of(struct assay_slice *s, const struct assay_slice *from,
                     const struct assay_layer *l, uint32_t *became,
                     struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < l->n_inputs && !rc; i++) {
        uint32_t *mine = &became[l->inputs[i]];

        if (*mine != NONE)
            continue;
        rc = copy_tensor(s, &from->tensors[l->inputs[i]], mine, err);
        if (rc)
            break;
        s->tensors[*mine].is_output = false;
        if (s->tensors[*mine].role == ASSAY_ROLE_ACTIVATION)
            s->tensors[*mine].role = ASSAY_ROLE_INPUT;
    }
    return rc;
}

/* Fields that are indices of tensors: those of the layer's own inputs have
 * another one now, others are not there. */
static int part_fields(struct assay_slice *s, struct assay_layer *to,
                       const struct assay_layer *from, struct assay_err *err)
{
    uint32_t n = 0;
    struct assay_field *f;
    int64_t *index;

    if (from->n_fields == 0)
        return 0;
    f = assay_arena_array(s->arena, from->n_fields, sizeof(*f));
    index = assay_arena_array(s->arena, from->n_fields, sizeof(*index));
    if (!f || !index)
        return no_memory(err);
    for (uint32_t i = 0; i < from->n_fields; i++) {
        f[n] = from->fields[i];
        if (!assay_field_is_tensor(f[n].name)) {
            n++;
            continue;
        }
        for (uint32_t k = 0; k < from->n_inputs; k++) {
            if ((int64_t)from->inputs[k] != from->fields[i].v[0])
                continue;
            index[n] = to->inputs[k];
            f[n].v = &index[n];
            n++;
            break;
        }
    }
    to->fields = f;
    to->n_fields = n;
    return 0;
}

static int part_layer(struct assay_slice *s, const struct assay_layer *l,
                      const uint32_t *became, struct assay_err *err)
{
    uint32_t index = 0;
    int rc = assay_slice_add_layer(s, l->n_inputs, &index, err);

    for (uint32_t i = 0; i < l->n_inputs && !rc; i++)
        s->layers[index].inputs[i] = became[l->inputs[i]];
    if (!rc)
        rc = copy_layer(s, &s->layers[index], l, err);
    if (!rc)
        rc = part_fields(s, &s->layers[index], l, err);
    if (!rc)
        s->layers[index].output = became[l->output];
    return rc;
}

/* Its tensors: what it is given, then what its layers give. */
static int part_tensors(struct assay_slice *s, const struct assay_slice *from,
                        const uint32_t *layers, uint32_t n, uint32_t *became,
                        struct assay_err *err)
{
    int rc = 0;

    for (uint32_t t = 0; t < from->n_tensors; t++)
        became[t] = NONE;
    for (uint32_t i = 0; i < n; i++) /* none of these is given */
        became[from->layers[layers[i]].output] = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = inputs_of(s, from, &from->layers[layers[i]], became, err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        uint32_t y = from->layers[layers[i]].output;

        rc = copy_tensor(s, &from->tensors[y], &became[y], err);
        if (rc)
            break;
        s->tensors[became[y]].role = ASSAY_ROLE_ACTIVATION;
        s->tensors[became[y]].is_output = i + 1 == n;
    }
    return rc;
}

int assay_slice_part(struct assay_slice **out, const struct assay_slice *from,
                     const uint32_t *layers, uint32_t n, struct assay_err *err)
{
    uint32_t *became = assay_alloc(from->n_tensors * sizeof(*became) + 1);
    int rc = begin(out, from, err);

    if (!became && !rc)
        rc = no_memory(err);
    if (!rc)
        rc = part_tensors(*out, from, layers, n, became, err);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = part_layer(*out, &from->layers[layers[i]], became, err);
    assay_free(became);
    return end(out, rc);
}

int assay_slice_single(struct assay_slice **out, const struct assay_slice *from,
                       uint32_t layer, struct assay_err *err)
{
    return assay_slice_part(out, from, &layer, 1, err);
}

int assay_slice_insert_layer(struct assay_slice *s, uint32_t at,
                             uint32_t n_inputs, struct assay_err *err)
{
    struct assay_layer fresh;
    uint32_t index;
    int rc = assay_slice_add_layer(s, n_inputs, &index, err);

    if (rc)
        return rc;
    fresh = s->layers[index];
    memmove(&s->layers[at + 1], &s->layers[at],
            (index - at) * sizeof(*s->layers));
    s->layers[at] = fresh;
    return 0;
}
