/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that are like their input; two operands, broadcast. */
#include <string.h>

#include "host-tools/model/onnx_hz.h"

int assay_hz_like(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  enum assay_op op, uint32_t n_in, const uint32_t *in,
                  unsigned mask, const char *arith, struct assay_layer **l)
{
    const struct assay_tensor *t = &im->s->tensors[in[0]];
    int64_t dims[ASSAY_MAX_RANK];
    uint32_t y;
    int rc;

    memcpy(dims, t->dims, sizeof(dims));
    rc = assay_hz_output(im, n, 0, mask, t->rank, dims, t->axes, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, op, n_in, in, y, l);
    if (!rc)
        (*l)->arith = arith;
    return rc;
}

int assay_hz_broadcast(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const uint32_t *in,
                       uint32_t tail, uint32_t *rank, int64_t *dims)
{
    const struct assay_tensor *a = &im->s->tensors[in[0]];
    const struct assay_tensor *b = &im->s->tensors[in[1]];

    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i + tail < *rank; i++) {
        int64_t da = i + a->rank < *rank ? 1 : a->dims[i + a->rank - *rank];
        int64_t db = i + b->rank < *rank ? 1 : b->dims[i + b->rank - *rank];

        if (da != db && da != 1 && db != 1)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "operands '%.100s' and '%.100s': %lld and "
                                   "%lld in dimension %u",
                                   a->name, b->name, (long long)da,
                                   (long long)db, i);
        dims[i] = da == 1 ? db : da;
    }
    return 0;
}

/* Leading ones: of a constant in place, of an activation by a helper. */
static int same_rank(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, uint32_t rank,
                     uint32_t *index)
{
    struct assay_tensor *t = &im->s->tensors[*index];
    uint32_t lead = rank - t->rank;

    if (t->role != ASSAY_ROLE_CONSTANT)
        return assay_onnx_expand(im, n, rank, index);
    for (uint32_t i = rank; i-- > 0;) {
        t->dims[i] = i < lead ? 1 : t->dims[i - lead];
        t->perm[i] = (uint8_t)i;
    }
    t->rank = rank;
    return 0;
}

int assay_hz_pair(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const uint32_t *operands, enum assay_dtype between,
                  unsigned mask, const char *axes, enum assay_combine combine,
                  struct assay_layer **l)
{
    uint32_t in[2] = {operands[0], operands[1]}, rank, y;
    int64_t dims[ASSAY_MAX_RANK];
    int rc = assay_hz_broadcast(im, n, in, 0, &rank, dims);

    if (!rc)
        rc = assay_onnx_out(im, n, rank, dims);
    for (int i = 0; !rc && i < 2; i++)
        rc = same_rank(im, n, rank, &in[i]);
    for (int i = 0; !rc && i < 2 && !axes[0]; i++)
        axes = assay_hz_axes(im, in[i]);
    if (!rc)
        rc = between ? assay_hz_between(im, n, between, rank, dims, &y)
                     : assay_hz_output(im, n, 0, mask, rank, dims, axes, &y);
    if (!rc)
        rc = between
                 ? assay_onnx_new_part(im, n, ASSAY_OP_BINARY, 2, in, y, l)
                 : assay_onnx_new_layer(im, n, ASSAY_OP_BINARY, 2, in, y, l);
    if (!rc)
        rc = assay_onnx_new_programs(im, *l, 2);
    if (!rc)
        (*l)->p.binary.combine = combine;
    return rc;
}
