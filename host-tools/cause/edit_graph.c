/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/edit_graph.h"

#include <stdio.h>
#include <string.h>

#include "kernels/requant.h"
#include "lib/core/slice_part.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited layer");
}

int assay_edit_tensor(struct assay_slice *s, uint32_t like, const char *suffix,
                      uint32_t *index, struct assay_err *err)
{
    char name[300];
    struct assay_tensor *t;
    int rc = assay_slice_add_tensor(s, index, err);

    if (rc)
        return rc;
    t = &s->tensors[*index];
    *t = s->tensors[like];
    snprintf(name, sizeof(name), "%.200s/%s", t->name, suffix);
    t->name = assay_arena_str(s->arena, name, strlen(name));
    t->role = ASSAY_ROLE_ACTIVATION;
    t->is_output = false;
    t->data = NULL;
    t->size = 0;
    return t->name ? 0 : no_memory(err);
}

int assay_edit_fill(struct assay_slice *s, uint32_t like, const int64_t *dims,
                    int64_t v, uint32_t *index, struct assay_err *err)
{
    size_t n, bytes, width = assay_dtype_bytes(s->tensors[like].dtype);
    const union assay_value value = {.i = v};
    struct assay_tensor *t;
    uint8_t *data;
    int rc = assay_edit_tensor(s, like, "constant", index, err);

    if (rc)
        return rc;
    t = &s->tensors[*index];
    memcpy(t->dims, dims, t->rank * sizeof(*dims));
    rc = assay_tensor_count(t, &n, &bytes, err);
    if (rc)
        return rc;
    data = assay_arena_alloc(s->arena, bytes);
    if (!data)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        assay_store_values(t->dtype, data + i * width, &value, 1);
    t->role = ASSAY_ROLE_CONSTANT;
    t->data = data;
    t->size = bytes;
    assay_sha256(data, bytes, t->sha256);
    return 0;
}

int assay_edit_before(struct assay_slice *s, uint32_t *layer, uint32_t n,
                      const uint32_t *inputs, uint32_t output, uint32_t input,
                      struct assay_layer **made, struct assay_err *err)
{
    struct assay_layer *l;
    int rc = assay_slice_insert_layer(s, *layer, n, err);

    if (rc)
        return rc;
    l = &s->layers[*layer];
    *layer += 1;
    l->name = s->tensors[output].name;
    l->source_op = "edit";
    l->source_index = s->layers[*layer].source_index;
    memcpy(l->inputs, inputs, n * sizeof(*inputs));
    l->output = output;
    s->layers[*layer].inputs[input] = output;
    *made = l;
    return 0;
}

int assay_edit_behind(struct assay_slice *s, uint32_t layer, uint32_t *fresh,
                      struct assay_layer **made, struct assay_err *err)
{
    uint32_t given = s->layers[layer].output;
    struct assay_layer *l;
    int rc = assay_edit_tensor(s, given, "unedited", fresh, err);

    if (!rc)
        rc = assay_slice_insert_layer(s, layer + 1, 1, err);
    if (rc)
        return rc;
    l = &s->layers[layer + 1];
    l->name = s->tensors[*fresh].name;
    l->source_op = "edit";
    l->source_index = s->layers[layer].source_index;
    l->inputs[0] = *fresh;
    l->output = given;
    s->layers[layer].output = *fresh;
    *made = l;
    return 0;
}
