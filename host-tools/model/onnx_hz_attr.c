/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of horizon nodes: lists, numbers, words; refusals name them. */
#include <string.h>

#include "host-tools/model/onnx_hz.h"

static int missing_attr(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, const char *name)
{
    return assay_onnx_fail(im, n, ASSAY_EFORMAT, "attribute '%s' is missing",
                           name);
}

static int bad_type(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, const char *name,
                    const char *expected, int32_t found)
{
    return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                           "attribute '%s': expected %s, found %s", name,
                           expected, assay_onnx_attr_type_name(found));
}

static int check_range(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const char *name,
                       const int64_t *v, size_t count, int64_t lo, int64_t hi)
{
    for (size_t i = 0; i < count; i++)
        if (v[i] < lo || v[i] > hi)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "attribute '%s': element %zu is %lld, "
                                   "expected %lld to %lld",
                                   name, i, (long long)v[i], (long long)lo,
                                   (long long)hi);
    return 0;
}

/* One or `channels` entries, as the file has them. */
static int read_list(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const char *name,
                     int64_t channels, int64_t lo, int64_t hi,
                     const int64_t *missing, struct assay_hz_list *out)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);

    if (!a && !missing)
        return missing_attr(im, n, name);
    out->n = 1;
    if (!a || a->type == ASSAY_ONNX_INT) {
        out->v = a ? &a->i : missing;
    } else if (a->type == ASSAY_ONNX_INTS) {
        if (!a->n || (a->n != 1 && channels && (int64_t)a->n != channels))
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "attribute '%s': expected 1 or %lld "
                                   "integers, found %zu",
                                   name, channels ? (long long)channels : 1,
                                   a->n);
        out->n = (uint32_t)a->n;
        out->v = a->ints;
    } else {
        return bad_type(im, n, name, "a list of integers", a->type);
    }
    return check_range(im, n, name, out->v, out->n, lo, hi);
}

static bool all_equal(const struct assay_hz_list *l)
{
    for (uint32_t i = 1; i < l->n; i++)
        if (l->v[i] != l->v[0])
            return false;
    return true;
}

int assay_hz_list(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *name, int64_t channels, int64_t lo, int64_t hi,
                  const int64_t *missing, struct assay_hz_list *out)
{
    int rc = read_list(im, n, name, channels, lo, hi, missing, out);

    if (!rc && all_equal(out))
        out->n = 1;
    return rc;
}

int assay_hz_list_one(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, const char *name,
                      int64_t channels, int64_t lo, int64_t hi,
                      struct assay_hz_list *out)
{
    int rc = assay_hz_list(im, n, name, channels, lo, hi, NULL, out);

    if (!rc && out->n != 1)
        rc = assay_onnx_skip(im,
                             "attribute '%s' of '%s' differs from channel to "
                             "channel, which was never measured",
                             name, n->op);
    return rc;
}

int assay_hz_row(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 const char *name, size_t count, int64_t lo, int64_t hi,
                 const int64_t **out)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);

    if (!a)
        return missing_attr(im, n, name);
    if (a->type != ASSAY_ONNX_INTS)
        return bad_type(im, n, name, "a list of integers", a->type);
    if (a->n != count)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute '%s': expected %zu integers, found "
                               "%zu",
                               name, count, a->n);
    *out = a->ints;
    return check_range(im, n, name, a->ints, count, lo, hi);
}

int assay_hz_int(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 const char *name, int64_t lo, int64_t hi,
                 const int64_t *missing, int64_t *out)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);

    if (!a && !missing)
        return missing_attr(im, n, name);
    if (a && a->type != ASSAY_ONNX_INT)
        return bad_type(im, n, name, "an integer", a->type);
    *out = a ? a->i : *missing;
    if (*out < lo || *out > hi)
        return assay_onnx_fail(
            im, n, ASSAY_ERANGE, "attribute '%s': %lld, expected %lld to %lld",
            name, (long long)*out, (long long)lo, (long long)hi);
    return 0;
}

/* Position of a word in words parted by blanks, or -1. */
static int find_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (int i = 0; *words; i++) {
        size_t len = strcspn(words, " ");

        if (len == n && !memcmp(words, word, n))
            return i;
        words += len + (words[len] == ' ');
    }
    return -1;
}

int assay_hz_word(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *name, const char *words, bool required,
                  int *which)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);

    *which = -1;
    if (!a)
        return required ? missing_attr(im, n, name) : 0;
    if (a->type != ASSAY_ONNX_STRING)
        return bad_type(im, n, name, "a string", a->type);
    *which = find_word(words, a->s);
    if (*which < 0)
        return assay_onnx_skip(im,
                               "attribute '%s' of '%s' is '%.60s', which is "
                               "not known: expected one of '%s'",
                               name, n->op, a->s, words);
    return 0;
}

int assay_hz_format(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, bool required, bool *nhwc)
{
    int which;
    int rc = assay_hz_word(im, n, "data_format", "NHWC", required, &which);

    if (!rc && nhwc)
        *nhwc = which == 0;
    return rc;
}

int assay_hz_rounding(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n)
{
    int which;

    return assay_hz_word(im, n, "rounding_method", "ROUND HARDWARE", false,
                         &which);
}

/*
 * Attributes that no emitter reads since they have no effect: where the
 * integers came from, the table's name, the colours' name (the conversion is in
 * the weights). They still have to be what they are called.
 */
static int check_remark(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n,
                        const struct assay_onnx_attr *a)
{
    static const struct {
        const char *name;
        int32_t type;
    } remarks[] = {
        {"weight_thresholds", ASSAY_ONNX_FLOATS},
        {"input_scales", ASSAY_ONNX_FLOATS},
        {"lut_type", ASSAY_ONNX_STRING},
        {"input_type", ASSAY_ONNX_STRING},
    };

    for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++)
        if (!strcmp(a->name, remarks[i].name) && a->type != remarks[i].type)
            return bad_type(im, n, a->name,
                            assay_onnx_attr_type_name(remarks[i].type),
                            a->type);
    return 0;
}

int assay_hz_attrs(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, const char *words)
{
    int rc = 0;

    for (uint32_t i = 0; !rc && i < n->n_attrs; i++) {
        if (find_word(words, n->attrs[i].name) < 0)
            return assay_onnx_skip(im, "attribute '%.80s' of '%s' is not known",
                                   n->attrs[i].name, n->op);
        rc = check_remark(im, n, &n->attrs[i]);
    }
    return rc;
}

int assay_hz_ints(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *name, uint32_t input, int64_t *out,
                  uint32_t *count, bool *found)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);
    uint32_t v = assay_onnx_input(n, input);
    const struct assay_onnx_const *k;

    *found = a || v != ASSAY_ONNX_NONE;
    *count = 0;
    if (a && v != ASSAY_ONNX_NONE)
        return assay_onnx_fail(
            im, n, ASSAY_EFORMAT,
            "%s: there as an attribute and as input '%.100s'", name,
            im->g->values[v].name);
    if (a && (a->type != ASSAY_ONNX_INTS || a->n > ASSAY_MAX_RANK))
        return a->type != ASSAY_ONNX_INTS
                   ? bad_type(im, n, name, "a list of integers", a->type)
                   : assay_onnx_fail(im, n, ASSAY_ERANGE,
                                     "attribute '%s': %zu integers, more than "
                                     "the limit of %d",
                                     name, a->n, ASSAY_MAX_RANK);
    if (a) {
        *count = (uint32_t)a->n;
        memcpy(out, a->ints, a->n * sizeof(*out));
        return 0;
    }
    if (v == ASSAY_ONNX_NONE)
        return 0;
    k = im->g->values[v].k;
    if (!k)
        return assay_onnx_skip(im,
                               "'%s': '%.100s' is computed, expected a "
                               "constant",
                               n->op, im->g->values[v].name);
    if ((k->dtype != ASSAY_S64 && k->dtype != ASSAY_S32) ||
        k->count > ASSAY_MAX_RANK)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "input '%.100s' (%s): expected at most %d "
                               "integers, found %zu of %s",
                               im->g->values[v].name, name, ASSAY_MAX_RANK,
                               k->count, assay_onnx_type_name(k->onnx_type));
    *count = (uint32_t)k->count;
    for (size_t i = 0; i < k->count; i++)
        out[i] = assay_onnx_const_int(k, i);
    return 0;
}
