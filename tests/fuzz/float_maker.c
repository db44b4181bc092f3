/* SPDX-License-Identifier: Apache-2.0 */
/* Float functions, normalizations; and selections, of any dtype. */
#include <string.h>

#include "tests/fuzz/slice_maker.h"

#define FLOATS (1u << ASSAY_F32)
#define INTEGERS (0xfeu & ~FLOATS)

bool make_function(struct work *w)
{
    uint32_t in = find_input(w, UINT32_MAX, FLOATS);

    if (in == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in);
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_FUNCTION, 1, &in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, ASSAY_F32, x.rank, x.dims));

    if (!l)
        return false;
    l->p.function.kind =
        (uint8_t)choose(w->c, ASSAY_FUNCTION_ABS, ASSAY_FUNCTION_COS);
    return true;
}

bool make_normalize(struct work *w)
{
    uint32_t in[3], n = 1;
    struct assay_normalize_params p = {0};

    in[0] = find_input(w, (uint32_t)choose(w->c, 1, 4), FLOATS);
    if (in[0] == UINT32_MAX)
        return false;
    const struct assay_tensor x = *made_tensor(w, in[0]);
    uint32_t axis = (uint32_t)choose(w->c, 0, x.rank - 1);

    p.kind = (uint8_t)choose(w->c, ASSAY_NORMALIZE_LAYER, ASSAY_NORMALIZE_RMS);
    p.axis = (int32_t)axis;
    p.epsilon = (float)choose(w->c, 0, 100) / 1000.0f;
    p.has_gamma = chance(w->c, 50);
    p.has_beta = chance(w->c, 50);
    for (int i = 0; i < p.has_gamma + p.has_beta; i++)
        in[n++] = chance(w->c, 50)
                      ? add_constant(w, ASSAY_F32, x.rank - axis, x.dims + axis)
                      : add_tensor(w, ASSAY_ROLE_INPUT, ASSAY_F32,
                                   x.rank - axis, x.dims + axis);
    struct assay_layer *l = add_layer(
        w, ASSAY_OP_NORMALIZE, n, in,
        add_tensor(w, ASSAY_ROLE_ACTIVATION, ASSAY_F32, x.rank, x.dims));

    if (!l)
        return false;
    l->p.normalize = p;
    return true;
}

/* One input has the output's dims, the others less of them. */
bool make_select(struct work *w)
{
    uint32_t in[3], whole = (uint32_t)choose(w->c, 0, 2);
    enum assay_dtype dtype, condition;

    in[whole] =
        find_input(w, (uint32_t)choose(w->c, 0, 4), whole ? 0xfeu : INTEGERS);
    if (in[whole] == UINT32_MAX)
        return false;
    const struct assay_tensor y = *made_tensor(w, in[whole]);

    condition = dtype = y.dtype;
    if (whole == 0)
        dtype = any_dtype(w->c);
    else
        do
            condition = any_dtype(w->c);
        while (!(INTEGERS >> condition & 1));
    for (uint32_t i = 0; i < 3; i++) {
        struct assay_tensor t = y;
        uint32_t drop =
            (uint32_t)choose(w->c, 0, chance(w->c, 30) ? y.rank : 0);

        if (i == whole)
            continue;
        t.rank -= drop;
        for (uint32_t k = 0; k < t.rank; k++)
            t.dims[k] = chance(w->c, 20) ? 1 : y.dims[k + drop];
        in[i] = add_tensor(w, ASSAY_ROLE_INPUT, i ? dtype : condition, t.rank,
                           t.dims);
    }
    return add_layer(w, ASSAY_OP_SELECT, 3, in,
                     add_tensor(w, ASSAY_ROLE_ACTIVATION, dtype, y.rank,
                                y.dims)) != NULL;
}
