/* SPDX-License-Identifier: Apache-2.0 */
/* L, U: the layer's output in memory in another way: something behind it. */
#include <string.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/edit_graph.h"

/* Elements in the order of the view, which the reader takes for its own. */
static int view(struct assay_slice *s, uint32_t layer, uint32_t rank,
                const int64_t *dims, const int64_t *strides, int64_t offset,
                struct assay_err *err)
{
    struct assay_layer *made;
    uint32_t fresh;
    int rc = assay_edit_behind(s, layer, &fresh, &made, err);

    if (rc)
        return rc;
    made->op = ASSAY_OP_VIEW;
    made->p.view.rank = rank;
    memcpy(made->p.view.dims, dims, rank * sizeof(*dims));
    memcpy(made->p.view.strides, strides, rank * sizeof(*strides));
    made->p.view.offset = offset;
    return 0;
}

/* N, C, H, W in memory, read as N, H, W, C; or back. */
static int swap_layout(struct assay_slice *s, uint32_t layer, bool to_nchw,
                       struct assay_err *err)
{
    const struct assay_tensor *t = &s->tensors[s->layers[layer].output];
    int64_t n = t->dims[0], h = t->dims[1], w = t->dims[2], c = t->dims[3];
    const int64_t nchw[4] = {n, c, h, w};
    const int64_t from[4] = {h * w * c, 1, w * c, c};
    const int64_t nhwc[4] = {n, h, w, c};
    const int64_t back[4] = {h * w * c, w, 1, h * w};

    if (t->rank != 4)
        return ASSAY_EDIT_NOT_HERE;
    if (c == 1 || h * w == 1)
        return ASSAY_EDIT_SAME;
    return to_nchw ? view(s, layer, 4, nchw, from, 0, err)
                   : view(s, layer, 4, nhwc, back, 0, err);
}

/* Channels in blocks of k, each block by itself. */
static int packed(struct assay_slice *s, uint32_t layer, int64_t k,
                  struct assay_err *err)
{
    const struct assay_tensor *t = &s->tensors[s->layers[layer].output];
    int64_t n = t->dims[0], h = t->dims[1], w = t->dims[2], c = t->dims[3];
    const int64_t dims[4] = {n, c / k, h * w, k};
    const int64_t strides[4] = {h * w * c, k, c, 1};

    if (t->rank != 4 || c % k != 0 || c == k)
        return ASSAY_EDIT_NOT_HERE;
    return h * w == 1 ? ASSAY_EDIT_SAME
                      : view(s, layer, 4, dims, strides, 0, err);
}

/* The sign bit of every byte. */
static int flip_sign(struct assay_slice *s, uint32_t layer,
                     struct assay_err *err)
{
    uint32_t given = s->layers[layer].output, fresh, table, *inputs;
    bool is_signed = s->tensors[given].dtype == ASSAY_S8;
    struct assay_layer *made;
    struct assay_tensor *t;
    uint8_t *data;
    int rc;

    if (assay_dtype_bytes(s->tensors[given].dtype) != 1)
        return ASSAY_EDIT_NOT_HERE;
    data = assay_arena_alloc(s->arena, 256);
    inputs = assay_arena_array(s->arena, 2, sizeof(*inputs));
    if (!data || !inputs)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a table");
    for (int i = 0; i < 256; i++) /* entry i: of the i-th smallest value */
        data[i] = (uint8_t)(is_signed ? i : i ^ 0x80);
    rc = assay_edit_behind(s, layer, &fresh, &made, err);
    if (!rc)
        rc = assay_edit_tensor(s, given, "table", &table, err);
    if (rc)
        return rc;
    t = &s->tensors[table];
    t->role = ASSAY_ROLE_CONSTANT;
    t->rank = 1;
    t->dims[0] = 256;
    t->axes[0] = '\0';
    t->perm[0] = 0;
    t->quant = (struct assay_quant){.axis = -1};
    t->data = data;
    t->size = 256;
    assay_sha256(data, 256, t->sha256);
    inputs[0] = fresh;
    inputs[1] = table;
    made->inputs = inputs;
    made->n_inputs = 2;
    made->op = ASSAY_OP_TABLE;
    return 0;
}

int assay_edit_bytes(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    switch (e->id) {
    case ASSAY_CAUSE_L1: return swap_layout(s, *layer, e->variant == 0, err);
    case ASSAY_CAUSE_L3:
        return packed(s, *layer, (int64_t)4 << e->variant, err);
    case ASSAY_CAUSE_U1: return flip_sign(s, *layer, err);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}
