/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one value: tables, tables by segments, PRelu. */
#include <string.h>

#include "host-tools/model/onnx_hz.h"

#define N_ENTRIES ((ASSAY_SEGMENTS - 2) * ASSAY_SEGMENT_ENTRIES)

int assay_hz_lut(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    const struct assay_onnx_const *table;
    struct assay_layer *l;
    uint32_t in[2];
    int rc = assay_hz_format(im, n, false, NULL);

    if (!rc)
        rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_S8, &in[0]);
    if (!rc)
        rc = assay_hz_const(im, n, 1, "table", ASSAY_S8, 256, &table);
    if (!rc)
        rc = assay_onnx_new_constant(im, im->g->values[n->in[1]].name, table,
                                     table->rank, NULL, "", &in[1]);
    if (rc)
        return rc;
    rc = assay_hz_like(im, n, ASSAY_OP_TABLE, 2, in, ASSAY_HZ_S8, "", &l);
    if (!rc)
        l->form = "lut";
    return rc;
}

/* Rows of bound, scale, bias, left shift, right shift. */
static int segments(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, uint32_t *index)
{
    static const struct {
        const char *name;
        int64_t lo, hi;
    } fields[ASSAY_SEGMENT_FIELDS] = {
        {"bound", INT16_MIN, INT16_MAX}, {"scale", INT32_MIN, INT32_MAX},
        {"bias", INT32_MIN, INT32_MAX},  {"left_shift", 0, 31},
        {"right_shift", 0, 31},
    };
    const int64_t dims[2] = {ASSAY_SEGMENTS, ASSAY_SEGMENT_FIELDS};
    int32_t rows[ASSAY_SEGMENTS * ASSAY_SEGMENT_FIELDS];
    const int64_t *v;

    for (int f = 0; f < ASSAY_SEGMENT_FIELDS; f++) {
        int rc = assay_hz_row(im, n, fields[f].name, ASSAY_SEGMENTS,
                              fields[f].lo, fields[f].hi, &v);

        if (rc)
            return rc;
        for (int s = 0; s < ASSAY_SEGMENTS; s++) {
            rows[s * ASSAY_SEGMENT_FIELDS + f] = (int32_t)v[s];
            if (f == 0 && s > 0 && v[s] < v[s - 1])
                return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                       "attribute 'bound': element %d is "
                                       "%lld, below the one before it",
                                       s, (long long)v[s]);
        }
    }
    return assay_hz_made(im, n, "segments", ASSAY_S32, 2, dims, rows, index);
}

static int entries(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t *index)
{
    const int64_t dims[2] = {ASSAY_SEGMENTS - 2, ASSAY_SEGMENT_ENTRIES};
    int16_t table[N_ENTRIES];
    const int64_t *v;
    int rc =
        assay_hz_row(im, n, "table_param", N_ENTRIES, INT16_MIN, INT16_MAX, &v);

    if (rc)
        return rc;
    for (int i = 0; i < N_ENTRIES; i++)
        table[i] = (int16_t)v[i];
    return assay_hz_made(im, n, "table", ASSAY_S16, 2, dims, table, index);
}

int assay_hz_lut2(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    struct assay_layer *l;
    uint32_t in[3];
    int mode;
    int rc = assay_hz_format(im, n, false, NULL);

    if (!rc)
        rc = assay_hz_rounding(im, n);
    if (!rc)
        rc = assay_hz_word(im, n, "symmetry_mode",
                           "NONE ORIGIN_SYMMETRIC Y_SYMMETRIC", true, &mode);
    if (!rc)
        rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_S16, &in[0]);
    if (!rc)
        rc = entries(im, n, &in[1]);
    if (!rc)
        rc = segments(im, n, &in[2]);
    if (!rc)
        rc = assay_hz_like(im, n, ASSAY_OP_SEGMENT_TABLE, 3, in, ASSAY_HZ_S8_16,
                           "", &l);
    if (rc)
        return rc;
    l->form = "lut_segments";
    l->p.segment.symmetry = (uint8_t)(ASSAY_SYMMETRY_NONE + mode);
    return 0;
}

struct prelu {
    struct assay_hz_list scale, shift, accu, neg_scale, neg_shift, slope;
};

static int prelu_lists(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, int64_t channels,
                       struct prelu *k)
{
    int rc = assay_hz_list(im, n, "positive_scale", channels, INT32_MIN,
                           INT32_MAX, NULL, &k->scale);

    if (!rc)
        rc = assay_hz_list(im, n, "positive_right_shift", channels, 0, 31, NULL,
                           &k->shift);
    if (!rc)
        rc = assay_hz_list(im, n, "accu_right_shift", channels, 0, 31, NULL,
                           &k->accu);
    if (!rc)
        rc = assay_hz_list(im, n, "negative_scale", channels, INT32_MIN,
                           INT32_MAX, NULL, &k->neg_scale);
    if (!rc)
        rc = assay_hz_list(im, n, "negative_right_shift", channels, 0, 31, NULL,
                           &k->neg_shift);
    return rc;
}

/* One slope, or one a channel of the last dimension. */
static int prelu_slope(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, int64_t channels,
                       struct assay_hz_list *out)
{
    const struct assay_onnx_const *k;
    int64_t *v;
    int rc = assay_hz_const(im, n, 1, "slope", ASSAY_S16, 0, &k);

    if (rc)
        return rc;
    if (k->count != 1 && (int64_t)k->count != channels)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "slope '%.100s': expected 1 or %lld elements, "
                               "found %zu",
                               im->g->values[n->in[1]].name,
                               (long long)channels, k->count);
    if (k->count > 1 && k->dims[k->rank - 1] != channels)
        return assay_onnx_skip(im,
                               "slope '%.100s' of '%s' is not along the last "
                               "dimension",
                               im->g->values[n->in[1]].name, n->op);
    v = assay_arena_array(im->g->arena, k->count, sizeof(*v));
    if (!v)
        return assay_onnx_no_memory(im);
    for (size_t i = 0; i < k->count; i++)
        v[i] = assay_onnx_const_int(k, i);
    out->n = (uint32_t)k->count;
    out->v = v;
    return 0;
}

static int prelu_fields(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, struct assay_layer *l,
                        const struct prelu *k)
{
    const struct {
        const char *name;
        const struct assay_hz_list *list;
    } fields[] = {
        {"pos_scale", &k->scale},     {"pos_shift", &k->shift},
        {"slope", &k->slope},         {"slope_shift", &k->accu},
        {"neg_scale", &k->neg_scale}, {"neg_shift", &k->neg_shift},
    };
    int rc = 0;

    l->form = "prelu";
    for (size_t i = 0; !rc && i < sizeof(fields) / sizeof(fields[0]); i++)
        rc = assay_hz_field(im, n, l, fields[i].name, fields[i].list);
    return rc;
}

int assay_hz_prelu(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n)
{
    struct assay_layer *l;
    struct prelu k;
    int64_t channels;
    uint32_t x;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_S8_16, &x);
    if (rc)
        return rc;
    channels = im->s->tensors[x].dims[3];
    rc = prelu_lists(im, n, channels, &k);
    if (!rc)
        rc = prelu_slope(im, n, channels, &k.slope);
    if (!rc)
        rc =
            assay_hz_like(im, n, ASSAY_OP_PRELU, 1, &x, ASSAY_HZ_S8_16, "", &l);
    if (!rc)
        rc = assay_onnx_new_programs(im, l, 2);
    return rc ? rc : prelu_fields(im, n, l, &k);
}
