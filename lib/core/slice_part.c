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

/* Index in s of the layer's input i, which is copied when it is new. */
static int input_of(struct assay_slice *s, const struct assay_slice *from,
                    const struct assay_layer *l, uint32_t i, uint32_t *mine,
                    struct assay_err *err)
{
    int rc;

    for (uint32_t k = 0; k < i; k++) {
        if (l->inputs[k] == l->inputs[i]) {
            mine[i] = mine[k];
            return 0;
        }
    }
    rc = copy_tensor(s, &from->tensors[l->inputs[i]], &mine[i], err);
    if (rc)
        return rc;
    s->tensors[mine[i]].is_output = false;
    if (s->tensors[mine[i]].role == ASSAY_ROLE_ACTIVATION)
        s->tensors[mine[i]].role = ASSAY_ROLE_INPUT;
    return 0;
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

int assay_slice_single(struct assay_slice **out, const struct assay_slice *from,
                       uint32_t layer, struct assay_err *err)
{
    const struct assay_layer *l = &from->layers[layer];
    uint32_t index = 0, output = 0;
    int rc = begin(out, from, err);

    if (!rc)
        rc = assay_slice_add_layer(*out, l->n_inputs, &index, err);
    for (uint32_t i = 0; !rc && i < l->n_inputs; i++)
        rc = input_of(*out, from, l, i, (*out)->layers[index].inputs, err);
    if (!rc)
        rc = copy_tensor(*out, &from->tensors[l->output], &output, err);
    if (!rc)
        rc = copy_layer(*out, &(*out)->layers[index], l, err);
    if (!rc)
        rc = part_fields(*out, &(*out)->layers[index], l, err);
    if (!rc) {
        (*out)->tensors[output].role = ASSAY_ROLE_ACTIVATION;
        (*out)->tensors[output].is_output = true;
        (*out)->layers[index].output = output;
    }
    return end(out, rc);
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
