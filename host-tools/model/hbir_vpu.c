/* SPDX-License-Identifier: Apache-2.0 */
/* Float layers of the vector unit: compared with a tolerance. */
#include <math.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

static int same(struct assay_hbir *im, uint32_t x, uint32_t *y)
{
    int64_t dims[ASSAY_MAX_RANK];
    char axes[ASSAY_MAX_RANK + 1];

    memcpy(dims, im->s->tensors[x].dims, sizeof(dims));
    memcpy(axes, im->s->tensors[x].axes, sizeof(axes));
    return assay_hbir_output(im, 0, ASSAY_HBIR_F32, im->s->tensors[x].rank,
                             dims, axes, y);
}

int assay_hbir_function(struct assay_hbir *im)
{
    struct assay_layer *l;
    uint32_t x, y;
    int rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_F32, &x);

    if (!rc)
        rc = same(im, x, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_FUNCTION, 1, &x, y, &l);
    if (!rc)
        l->p.function.kind = (uint8_t)im->argument;
    return rc;
}

int assay_hbir_softmax(struct assay_hbir *im)
{
    struct assay_layer *l;
    const char *name = assay_hbir_attr(im, "axis") ? "axis" : "dim";
    uint32_t x, y, in, out, last;
    int64_t axis;
    int rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_F32, &x);

    if (!rc && !im->s->tensors[x].rank)
        rc = assay_hbir_skip(im, "an input without dimensions");
    if (!rc)
        rc = assay_hbir_axis(im, name, im->s->tensors[x].rank, NULL, &axis);
    if (!rc)
        rc = same(im, x, &y);
    if (rc)
        return rc;
    last = im->s->tensors[x].rank - 1;
    in = x;
    out = y;
    if (axis != last) {
        rc = assay_hbir_to_last(im, x, (uint32_t)axis, &in);
        if (!rc)
            rc = assay_hbir_between(im, "turned", ASSAY_F32, last + 1,
                                    im->s->tensors[in].dims, &out);
    }
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_SOFTMAX, 1, &in, out, &l);
    if (rc)
        return rc;
    l->p.softmax.kind = ASSAY_SOFTMAX_F32;
    return axis == last ? 0 : assay_hbir_from_last(im, out, (uint32_t)axis, y);
}

/* ---- normalization ------------------------------------------------------ */

/* The axes from *axis on: a list of all of them, or the first. */
static int read_axes(struct assay_hbir *im, uint32_t rank, int64_t *axis)
{
    int64_t v[ASSAY_MAX_RANK], at;
    unsigned seen = 0;
    uint32_t n;
    bool found;
    int rc;

    if (assay_hbir_attr(im, "axis"))
        return assay_hbir_axis(im, "axis", rank, NULL, axis);
    rc = assay_hbir_ints(im, "dims", ASSAY_MAX_RANK, v, &n, &found);
    if (!rc && (!found || !n))
        rc = assay_hbir_skip(im, "attribute 'dims' is missing");
    for (uint32_t i = 0; !rc && i < n; i++) {
        at = v[i] < 0 ? v[i] + rank : v[i];
        if (at < 0 || at >= (int64_t)rank)
            return assay_hbir_fail(im, ASSAY_ERANGE,
                                   "attribute 'dims': %lld does not fit rank "
                                   "%u",
                                   (long long)v[i], rank);
        seen |= 1u << at;
    }
    if (rc)
        return rc;
    for (*axis = rank; *axis > 0 && (seen >> (*axis - 1) & 1);)
        (*axis)--;
    if (*axis == (int64_t)rank || seen >> *axis << *axis != seen)
        return assay_hbir_skip(im, "attribute 'dims': known are the last "
                                   "ones");
    return 0;
}

static int factor(struct assay_hbir *im, uint32_t i, const char *what,
                  uint32_t x, int64_t axis, uint32_t *index)
{
    const struct assay_tensor *t = &im->s->tensors[x], *f;
    int64_t want = 1, found = 1;
    int rc = assay_hbir_input(im, i, what, ASSAY_HBIR_F32, index);

    if (rc)
        return rc;
    t = &im->s->tensors[x];
    f = &im->s->tensors[*index];
    for (uint32_t d = (uint32_t)axis; d < t->rank; d++)
        want = want > INT32_MAX ? want : want * t->dims[d];
    for (uint32_t d = 0; d < f->rank; d++)
        found = found > INT32_MAX ? found : found * f->dims[d];
    if (want != found)
        return assay_hbir_fail(
            im, ASSAY_EFORMAT, "%s '%.100s' of %lld elements, expected %lld",
            what, f->name, (long long)found, (long long)want);
    return 0;
}

int assay_hbir_normalize(struct assay_hbir *im)
{
    uint32_t in[3], y, n = im->op->n_operands, n_eps;
    const char *name = assay_hbir_attr(im, "epsilon") ? "epsilon" : "eps";
    const double *eps;
    struct assay_layer *l;
    int64_t axis = 0;
    int rc = assay_hbir_input(im, 0, "input", ASSAY_HBIR_F32, &in[0]);

    if (!rc)
        rc = read_axes(im, im->s->tensors[in[0]].rank, &axis);
    if (!rc)
        rc = assay_hbir_reals(im, name, 1, &n_eps, &eps);
    if (!rc && !n_eps)
        rc = assay_hbir_skip(im, "attribute 'eps' is missing");
    if (!rc && (eps[0] < 0 || !isfinite((float)eps[0])))
        rc = assay_hbir_fail(im, ASSAY_ERANGE,
                             "attribute '%s' is %g, expected 0 or more", name,
                             eps[0]);
    if (!rc && n > 1)
        rc = factor(im, 1, "weight", in[0], axis, &in[1]);
    if (!rc && n > 2)
        rc = factor(im, 2, "bias", in[0], axis, &in[2]);
    if (!rc && n > 2 && im->argument == ASSAY_NORMALIZE_RMS)
        rc = assay_hbir_skip(im, "%u operands, known are 2", n);
    if (!rc)
        rc = same(im, in[0], &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_NORMALIZE, n, in, y, &l);
    if (rc)
        return rc;
    l->p.normalize = (struct assay_normalize_params){
        .kind = (uint8_t)im->argument,
        .axis = (int32_t)axis,
        .epsilon = (float)eps[0],
        .has_gamma = n > 1,
        .has_beta = n > 2,
    };
    return 0;
}
