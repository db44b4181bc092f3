/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/edit_graph.h"

#include <stdio.h>
#include <string.h>

#include "kernels/requant.h"
#include "lib/core/slice_part.h"

#define MAX_NAME 300

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited layer");
}

/* ---- tensors ----------------------------------------------------------- */

/* Of a name that the slice does not have yet. */
static const char *fresh_name(struct assay_slice *s, const char *like,
                              const char *suffix)
{
    char name[MAX_NAME];

    snprintf(name, sizeof(name), "%.200s/%s", like, suffix);
    for (unsigned i = 2; assay_slice_find_tensor(s, name) >= 0; i++)
        snprintf(name, sizeof(name), "%.200s/%s%u", like, suffix, i);
    return assay_arena_str(s->arena, name, strlen(name));
}

int assay_edit_tensor(struct assay_slice *s, uint32_t like, const char *suffix,
                      uint32_t *index, struct assay_err *err)
{
    const char *name = fresh_name(s, s->tensors[like].name, suffix);
    struct assay_tensor *t;
    int rc = name ? assay_slice_add_tensor(s, index, err) : no_memory(err);

    if (rc)
        return rc;
    t = &s->tensors[*index];
    *t = s->tensors[like];
    t->name = name;
    t->role = ASSAY_ROLE_ACTIVATION;
    t->is_output = false;
    t->data = NULL;
    t->size = 0;
    return 0;
}

void assay_edit_shape(struct assay_tensor *t, uint32_t rank,
                      const int64_t *dims)
{
    t->rank = rank;
    memset(t->dims, 0, sizeof(t->dims));
    memcpy(t->dims, dims, rank * sizeof(*dims));
    for (uint8_t i = 0; i < ASSAY_MAX_RANK; i++)
        t->perm[i] = i;
    t->axes[0] = '\0';
    if (t->quant.n > 1)
        t->quant = (struct assay_quant){.axis = -1};
}

/* The tensor becomes a constant. */
static int set_data(struct assay_tensor *t, const void *data,
                    struct assay_err *err)
{
    size_t n, bytes;
    int rc = assay_tensor_count(t, &n, &bytes, err);

    if (rc)
        return rc;
    t->role = ASSAY_ROLE_CONSTANT;
    t->data = data;
    t->size = bytes;
    memset(t->sha256, 0, sizeof(t->sha256));
    return 0;
}

int assay_edit_constant(struct assay_slice *s, uint32_t like, const void *data,
                        uint32_t *index, struct assay_err *err)
{
    int rc = assay_edit_tensor(s, like, "edited", index, err);

    return rc ? rc : set_data(&s->tensors[*index], data, err);
}

int assay_edit_fill(struct assay_slice *s, uint32_t like, const int64_t *dims,
                    int64_t v, uint32_t *index, struct assay_err *err)
{
    size_t n, bytes, width = assay_dtype_bytes(s->tensors[like].dtype);
    union assay_value value = {.i = v};
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
    if (t->dtype == ASSAY_F32)
        value.f = (float)v;
    for (size_t i = 0; i < n; i++)
        assay_store_values(t->dtype, data + i * width, &value, 1);
    return set_data(t, data, err);
}

int assay_edit_table(struct assay_slice *s, uint32_t like, const int64_t v[256],
                     uint32_t *index, struct assay_err *err)
{
    const int64_t dims[] = {256};
    struct assay_tensor *t;
    uint8_t *data = assay_arena_alloc(s->arena, 256);
    int rc =
        data ? assay_edit_tensor(s, like, "table", index, err) : no_memory(err);

    if (rc)
        return rc;
    t = &s->tensors[*index];
    assay_edit_shape(t, 1, dims);
    for (int i = 0; i < 256; i++)
        data[i] = (uint8_t)v[i];
    return set_data(t, data, err);
}

/* ---- layers ------------------------------------------------------------ */

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

int assay_edit_behind_n(struct assay_slice *s, uint32_t layer, uint32_t n,
                        uint32_t *fresh, struct assay_layer **made,
                        struct assay_err *err)
{
    uint32_t given = s->layers[layer].output;
    struct assay_layer *l;
    int rc = assay_edit_tensor(s, given, "unedited", fresh, err);

    if (!rc)
        rc = assay_slice_insert_layer(s, layer + 1, n, err);
    if (rc)
        return rc;
    l = &s->layers[layer + 1];
    l->name = s->tensors[*fresh].name;
    l->source_op = "edit";
    l->source_index = s->layers[layer].source_index;
    for (uint32_t i = 0; i < n; i++)
        l->inputs[i] = *fresh;
    l->output = given;
    s->layers[layer].output = *fresh;
    *made = l;
    return 0;
}

int assay_edit_behind(struct assay_slice *s, uint32_t layer, uint32_t *fresh,
                      struct assay_layer **made, struct assay_err *err)
{
    return assay_edit_behind_n(s, layer, 1, fresh, made, err);
}

int assay_edit_view_behind(struct assay_slice *s, uint32_t layer,
                           const struct assay_view_params *view,
                           struct assay_err *err)
{
    struct assay_layer *made;
    uint32_t fresh;
    int rc = assay_edit_behind(s, layer, &fresh, &made, err);

    if (rc)
        return rc;
    made->op = ASSAY_OP_VIEW;
    made->p.view = *view;
    return 0;
}

int assay_edit_view_before(struct assay_slice *s, uint32_t *layer, uint32_t i,
                           const struct assay_view_params *view,
                           struct assay_err *err)
{
    uint32_t x = s->layers[*layer].inputs[i], y;
    struct assay_layer *made;
    int rc = assay_edit_tensor(s, x, "view", &y, err);

    if (!rc)
        rc = assay_edit_before(s, layer, 1, &x, y, i, &made, err);
    if (rc)
        return rc;
    made->op = ASSAY_OP_VIEW;
    made->p.view = *view;
    return 0;
}

int assay_edit_programs(struct assay_slice *s, struct assay_layer *l,
                        uint32_t n, struct assay_err *err)
{
    l->in_programs = assay_arena_array(s->arena, n, sizeof(*l->in_programs));
    l->n_in_programs = l->in_programs ? n : 0;
    return l->in_programs ? 0 : no_memory(err);
}
