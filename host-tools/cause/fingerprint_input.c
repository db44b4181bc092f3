/* SPDX-License-Identifier: Apache-2.0 */
/* What got is a function of: one input element, or base half a pixel on. */
#include <math.h>
#include <stdlib.h>

#include "host-tools/cause/fingerprint_private.h"

/* ---- the input element --------------------------------------------------- */

struct input_value {
    uint64_t got; /* bits */
    size_t n;
    bool differs;
};

static uint64_t bits_of(const struct assay_fp *f, const void *p, size_t i)
{
    uint64_t v = 0;

    memcpy(&v, (const uint8_t *)p + i * f->width, f->width);
    return v;
}

/* The one input that is computed, of the output's elements; NULL: there is
 * none. */
static const struct assay_tensor *the_input(const struct assay_fp *f,
                                            const void **bytes)
{
    const struct assay_layer *l = f->v->layer;
    const struct assay_tensor *found = NULL;
    size_t n = 1;

    if (l == NULL || f->v->slice == NULL || f->v->inputs == NULL)
        return NULL;
    for (uint32_t k = 0; k < l->n_inputs; k++) {
        const struct assay_tensor *t = &f->v->slice->tensors[l->inputs[k]];

        if (t->role == ASSAY_ROLE_CONSTANT || t == found)
            continue;
        if (found != NULL)
            return NULL;
        found = t;
        *bytes = f->v->inputs[l->inputs[k]];
    }
    if (found == NULL || *bytes == NULL || !assay_dtype_is_int(found->dtype) ||
        assay_dtype_bytes(found->dtype) > 2)
        return NULL;
    for (uint32_t a = 0; a < found->rank; a++)
        n *= (size_t)found->dims[a]; /* proved by the plan */
    return n == f->n ? found : NULL;
}

static bool is_function(const struct assay_fp *f, const struct assay_tensor *x,
                        const void *bytes, int64_t lo, struct input_value *v)
{
    for (size_t i = 0; i < f->n; i++) {
        struct input_value *at = &v[assay_fp_integer(bytes, x->dtype, i) - lo];
        uint64_t got = bits_of(f, f->v->got, i);
        bool differs = assay_fp_differs(f, i);

        if (at->n > 0 && (at->got != got || at->differs != differs))
            return false;
        *at = (struct input_value){got, at->n + 1, differs};
    }
    return true;
}

bool assay_fp_input_function(const struct assay_fp *f,
                             struct assay_fingerprint *out)
{
    const void *bytes = NULL;
    const struct assay_tensor *x = the_input(f, &bytes);
    struct input_value *v;
    int64_t lo, hi;
    double facts = 0.0, share = (double)f->differing / (double)f->n;
    bool fits;

    if (x == NULL)
        return false;
    assay_dtype_range(x->dtype, &lo, &hi);
    v = calloc((size_t)(hi - lo + 1), sizeof(*v));
    fits = v != NULL && is_function(f, x, bytes, lo, v);
    out->x[0] = 0.0;
    for (int64_t k = lo; fits && k <= hi; k++) {
        const struct input_value *at = &v[k - lo];

        if (!at->differs)
            continue;
        if (out->x[0] == 0.0)
            out->n[0] = k;
        out->n[1] = k;
        out->x[0] += 1.0;
        facts += (double)(at->n - 1);
    }
    free(v);
    return fits && !assay_fp_chance(fmin(share, assay_fp_alike(f, 0.0)), facts);
}

/* ---- half a pixel -------------------------------------------------------- */

/* Neighbours on the way: axis, +1 or -1, and how far that is in elements. */
struct step {
    int axis;
    int to;
    int64_t stride;
};

static struct step step_along(const struct assay_fp *f, int axis, int to)
{
    struct step s = {axis, to, 1};

    for (int a = axis + 1; axis >= 0 && a < (int)f->v->t->rank; a++)
        s.stride *= f->v->t->dims[a];
    return s;
}

/* Does the image end before the neighbour? */
static bool leaves(const struct assay_fp *f, const struct step *s, size_t i)
{
    int64_t at = assay_fp_along(f, i, s->axis) + s->to;

    return at < 0 || at >= f->v->t->dims[s->axis];
}

static double base_at(const struct assay_fp *f, size_t i, int64_t by)
{
    return assay_fp_value(f, f->v->base, (size_t)((int64_t)i + by));
}

/* Elements that could tell, those that are as foretold, and of these those
 * that differ. */
struct tally {
    size_t telling, fits, matched;
};

/* Every `every`th element. */
static struct tally count_moved(const struct assay_fp *f, const struct step *s,
                                unsigned n, size_t every)
{
    int64_t by0 = s[0].to * s[0].stride, by1 = s[1].to * s[1].stride;
    struct tally k = {0};

    for (size_t i = 0; i < f->n; i += every) {
        double b = base_at(f, i, 0), mean, tol = 1.0;

        if (leaves(f, &s[0], i) || (n > 1 && leaves(f, &s[1], i)))
            continue;
        mean = n > 1 ? (b + base_at(f, i, by0) + base_at(f, i, by1) +
                        base_at(f, i, by0 + by1)) /
                           4.0
                     : (b + base_at(f, i, by0)) / 2.0;
        if (!f->is_int)
            tol = 1e-3 * fabs(mean - b);
        if (!(fabs(mean - b) >= 2.0 * tol) || mean == b)
            continue;
        k.telling++;
        if (fabs(assay_fp_value(f, f->v->got, i) - mean) <= tol) {
            k.fits++;
            k.matched += assay_fp_differs(f, i);
        }
    }
    return k;
}

static bool moved(const struct assay_fp *f, const struct step *s, unsigned n,
                  struct assay_fingerprint *out)
{
    /* A few thousand first: nearly always they say that it is not that. */
    struct tally k = count_moved(f, s, n, f->n / 4096 + 1);

    if (k.telling >= 20 && 100 * k.fits < 80 * k.telling)
        return false;
    k = count_moved(f, s, n, 1);
    if (k.telling < 20 || 100 * k.fits < 95 * k.telling)
        return false;
    for (unsigned a = 0; a < 2; a++) {
        out->n[a] = a < n ? s[a].axis : -1;
        out->x[a] = a < n ? s[a].to / 2.0 : 0.0;
    }
    out->matched = k.matched;
    return true;
}

bool assay_fp_half_pixel(const struct assay_fp *f,
                         struct assay_fingerprint *out)
{
    if (f->axis_h < 0 || f->axis_w < 0)
        return false;
    for (int k = 0; k < 4; k++) {
        const struct step both[2] = {step_along(f, f->axis_h, k & 1 ? -1 : 1),
                                     step_along(f, f->axis_w, k & 2 ? -1 : 1)};

        if (moved(f, both, 2, out))
            return true;
    }
    for (int k = 0; k < 4; k++) {
        const struct step one[2] = {
            step_along(f, k < 2 ? f->axis_h : f->axis_w, k & 1 ? -1 : 1)};

        if (moved(f, one, 1, out))
            return true;
    }
    return false;
}
