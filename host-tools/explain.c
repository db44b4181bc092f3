/* SPDX-License-Identifier: Apache-2.0 */
/* What the element of each kind of layer is made of. */
#include "host-tools/explain.h"

#include "host-tools/explain_private.h"
#include "host-tools/messages.h"

static void binary(struct assay_explain *e)
{
    const struct assay_layer *l = assay_explain_layer(e);
    uint32_t ab[2];

    for (uint32_t i = 0; i < 2; i++) {
        ab[i] = assay_explain_element(
            e, i, assay_explain_broadcast(e, assay_explain_input(e, i)));
        if (i < l->n_in_programs)
            ab[i] =
                assay_explain_program(e, &l->in_programs[i], ab[i],
                                      assay_explain_channel(e), NULL, "    ");
    }
    ab[0] = assay_explain_combine(e, ab[0], ab[1], l->p.binary.combine,
                                  l->p.binary.k);
    assay_explain_program(e, &l->out_program, ab[0], assay_explain_channel(e),
                          NULL, "  ");
}

static void unary(struct assay_explain *e)
{
    assay_explain_program(e, &assay_explain_layer(e)->out_program,
                          assay_explain_element(e, 0, e->element),
                          assay_explain_channel(e), NULL, "  ");
}

/* One program where x >= 0, the other where it is not. */
static void prelu(struct assay_explain *e)
{
    union assay_value x = assay_explain_get(e, 0, e->element);
    bool is_float = assay_explain_input(e, 0)->dtype == ASSAY_F32;
    bool below = is_float ? !(x.f >= 0) : x.i < 0;
    uint32_t at = assay_explain_element(e, 0, e->element);

    assay_explain_program(e, &assay_explain_layer(e)->in_programs[below], at,
                          assay_explain_channel(e), NULL, "  ");
}

static void table(struct assay_explain *e)
{
    const struct assay_tensor *t = assay_explain_input(e, 0);
    union assay_value x = assay_explain_get(e, 0, e->element);
    size_t at = (size_t)(x.i + (t->dtype == ASSAY_S8 ? 128 : 0));

    /* The element is no point: a table is no step that can be undone. */
    assay_explain_say(e, ASSAY_VALUE_INT, x, "  element %zu of %.150s",
                      e->element, t->name);
    assay_explain_program(
        e, &assay_explain_layer(e)->out_program,
        assay_explain_start(e, assay_explain_kind(assay_explain_input(e, 1)),
                            assay_explain_get(e, 1, at), "  table[%zu]", at),
        assay_explain_channel(e), NULL, "  ");
}

size_t assay_explain_entries(const struct assay_explain *e,
                             const struct assay_preimage *set, int64_t *out,
                             size_t cap)
{
    int64_t lo, hi;
    size_t n = 0;

    assay_dtype_range(assay_explain_input(e, 0)->dtype, &lo, &hi);
    for (int64_t x = lo; x <= hi; x++) {
        union assay_value v = assay_explain_get(e, 1, (size_t)(x - lo));

        if (assay_preimage_has(set, &v) && n++ < cap)
            out[n - 1] = x;
    }
    return n;
}

static void (*const explainers[])(struct assay_explain *e) = {
    [ASSAY_OP_CONV2D] = assay_explain_products,
    [ASSAY_OP_GEMM] = assay_explain_products,
    [ASSAY_OP_CONV_TRANSPOSE2D] = assay_explain_products,
    [ASSAY_OP_MATMUL] = assay_explain_matmul,
    [ASSAY_OP_BINARY] = binary,
    [ASSAY_OP_UNARY] = unary,
    [ASSAY_OP_PRELU] = prelu,
    [ASSAY_OP_TABLE] = table,
    [ASSAY_OP_SEGMENT_TABLE] = assay_explain_segments,
    [ASSAY_OP_POOL] = assay_explain_pool,
    [ASSAY_OP_REDUCE] = assay_explain_reduce,
    [ASSAY_OP_CONCAT] = assay_explain_concat,
    [ASSAY_OP_VIEW] = assay_explain_view,
    [ASSAY_OP_RESHAPE] = assay_explain_reshape,
    [ASSAY_OP_GATHER] = assay_explain_gather,
    [ASSAY_OP_SELECT] = assay_explain_select,
    [ASSAY_OP_RESIZE] = assay_explain_resize,
    [ASSAY_OP_GRID_SAMPLE] = assay_explain_grid,
    [ASSAY_OP_SOFTMAX] = assay_explain_softmax,
    [ASSAY_OP_FUNCTION] = assay_explain_function,
    [ASSAY_OP_NORMALIZE] = assay_explain_normalize,
};

int assay_explain_make(struct assay_explain *e, struct assay_err *err)
{
    enum assay_op op = assay_explain_layer(e)->op;

    e->arena = assay_arena_new();
    e->accumulator = ASSAY_NO_POINT;
    e->no_memory = e->arena == NULL;
    if (!e->no_memory && op < sizeof(explainers) / sizeof(explainers[0]) &&
        explainers[op] != NULL)
        explainers[op](e);
    return e->no_memory
               ? assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL)
               : 0;
}

void assay_explain_close(struct assay_explain *e)
{
    if (e == NULL)
        return;
    assay_free(e->lines);
    assay_arena_free(e->arena);
    e->lines = NULL;
    e->arena = NULL;
    e->n_lines = e->cap_lines = 0;
    e->n_points = 0;
}

union assay_value assay_explain_result(const struct assay_explain *e)
{
    return e->points[e->n_points - 1].v;
}

enum assay_value_kind assay_explain_result_kind(const struct assay_explain *e)
{
    return assay_explain_kind(assay_explain_output(e));
}
