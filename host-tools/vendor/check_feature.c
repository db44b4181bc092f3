/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled model's inputs and outputs, as hbdk-disas lists them, against
 * the model's tensors. Dimensions are positional, whatever they mean: a
 * feature that a fused Transpose feeds is NCHW, and its strides are listed
 * rotated, [n, c, h, w].
 */
#include <stdio.h>
#include <string.h>

#include "host-tools/vendor/check.h"

static const char fused[] = "_nhwc2nchw_transposed_output0";

const struct assay_tensor *assay_vcheck_feature_tensor(
    const struct assay_checker *c, const char *name, bool *moved)
{
    const struct assay_tensor *t = assay_vcheck_tensor(c, name, NULL);
    size_t n = strlen(name), k = sizeof(fused) - 1;
    const struct assay_layer *l;
    char node[600];

    *moved = false;
    if (t != NULL || n <= k || n - k >= sizeof(node) ||
        strcmp(name + n - k, fused) != 0)
        return t;
    snprintf(node, sizeof(node), "%.*s", (int)(n - k), name);
    l = assay_vcheck_layer(c, node);
    if (l == NULL)
        return NULL;
    *moved = true;
    return &c->s->tensors[l->output];
}

/* Without the dimensions of 1. */
static uint32_t squeeze(const int64_t *dims, uint32_t rank, int64_t *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] != 1)
            out[n++] = dims[i];
    }
    return n;
}

static void check_dims(struct assay_checker *c,
                       const struct assay_vendor_feature *f,
                       const struct assay_tensor *t, bool moved)
{
    int64_t dims[ASSAY_MAX_RANK], a[ASSAY_MAX_RANK], b[ASSAY_MAX_RANK];
    char expected[160], found[160];
    uint32_t na, nb;

    assay_tensor_source_dims(t, dims);
    if (moved && t->rank == 4) {
        int64_t channels = dims[3];

        dims[3] = dims[2];
        dims[2] = dims[1];
        dims[1] = channels;
    }
    na = squeeze(dims, t->rank, a);
    nb = squeeze(f->valid, f->rank, b);
    if (na == nb && memcmp(a, b, na * sizeof(*a)) == 0)
        return;
    assay_vcheck_dims(dims, t->rank, expected, sizeof(expected));
    assay_vcheck_dims(f->valid, f->rank, found, sizeof(found));
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "feature-shape", f->file, f->name,
                     expected, found,
                     "%s '%.100s' of the compiled model is %s, tensor '%.100s' "
                     "is %s",
                     f->is_input ? "input" : "output", f->name, found, t->name,
                     expected);
}

static int64_t element_bytes(const char *dtype)
{
    if (strstr(dtype, "int8") != NULL)
        return 1;
    if (strstr(dtype, "16") != NULL)
        return 2;
    return strstr(dtype, "32") != NULL ? 4 : 0;
}

/* Contiguous over the aligned dimensions, listed in either order? */
static void check_stride(struct assay_checker *c,
                         const struct assay_vendor_feature *f)
{
    int64_t s[ASSAY_MAX_RANK], at = element_bytes(f->dtype);
    char found[160], expected[160];
    bool same;

    for (uint32_t i = 0; i < f->rank; i++) {
        if (f->aligned[i] < f->valid[i]) {
            assay_vcheck_dims(f->aligned, f->rank, found, sizeof(found));
            assay_vcheck_dims(f->valid, f->rank, expected, sizeof(expected));
            assay_vcheck_add(c, ASSAY_WARNING, "stride", f->file, f->name,
                             expected, found,
                             "feature '%.100s' has %s aligned elements for %s",
                             f->name, found, expected);
            return;
        }
    }
    if (!f->has_stride || at == 0)
        return;
    for (uint32_t i = f->rank; i-- > 0;) {
        s[i] = at;
        if (__builtin_mul_overflow(at, f->aligned[i], &at))
            return;
    }
    same = memcmp(s, f->stride, f->rank * sizeof(*s)) == 0;
    if (!same && f->rank == 4)
        same = f->stride[0] == s[0] && f->stride[1] == s[3] &&
               f->stride[2] == s[1] && f->stride[3] == s[2];
    if (same)
        return;
    assay_vcheck_dims(s, f->rank, expected, sizeof(expected));
    assay_vcheck_dims(f->stride, f->rank, found, sizeof(found));
    assay_vcheck_add(c, ASSAY_WARNING, "stride", f->file, f->name, expected,
                     found,
                     "feature '%.100s' has strides %s, its aligned dimensions "
                     "give %s in either order",
                     f->name, found, expected);
}

static void check_source(struct assay_checker *c,
                         const struct assay_vendor_feature *f)
{
    const struct assay_vendor_config *k = c->config;

    if (k == NULL || !f->is_input || f->source[0] == '\0')
        return;
    for (uint32_t i = 0; i < k->n_inputs; i++) {
        bool nv12 = strcmp(k->inputs[i].type_rt, "nv12") == 0;
        bool pyramid = strcmp(f->source, "pyramid") == 0;

        if (strcmp(k->inputs[i].name, f->name) != 0 &&
            !(k->n_inputs == 1 && k->inputs[i].name[0] == '\0'))
            continue;
        if (nv12 != pyramid && strcmp(f->source, "resizer") != 0)
            assay_vcheck_add(c, ASSAY_WARNING, "input-source", f->file, f->name,
                             nv12 ? "pyramid" : "DDR", f->source,
                             "input '%.100s': '%.40s' images come from %s, the "
                             "compiled model reads %.40s",
                             f->name, k->inputs[i].type_rt,
                             nv12 ? "the pyramid" : "memory", f->source);
    }
}

void assay_vcheck_features(struct assay_checker *c)
{
    const char *first = NULL;
    uint32_t lost = 0;

    for (uint32_t i = 0; i < c->v->n_features; i++) {
        const struct assay_vendor_feature *f = &c->v->features[i];
        bool moved;
        const struct assay_tensor *t =
            assay_vcheck_feature_tensor(c, f->name, &moved);
        const char *dtype;

        check_stride(c, f);
        check_source(c, f);
        if (t == NULL) {
            first = first == NULL ? f->name : first;
            lost++;
            continue;
        }
        check_dims(c, f, t, moved);
        dtype = assay_dtype_name(t->dtype);
        if (f->dtype[0] != '\0' && strcmp(f->dtype, dtype) != 0)
            assay_vcheck_add(c, ASSAY_CONTRADICTION, "feature-dtype", f->file,
                             f->name, dtype, f->dtype,
                             "%s '%.100s' of the compiled model is %.40s, "
                             "tensor '%.100s' is %s",
                             f->is_input ? "input" : "output", f->name,
                             f->dtype, t->name, dtype);
    }
    if (lost > 0)
        assay_vcheck_add(c, ASSAY_HINT, "feature-names", c->v->features[0].file,
                         first, "", "",
                         "%u of %u features of the compiled model have no "
                         "tensor of that name here, first '%.100s'",
                         lost, c->v->n_features, first);
}
