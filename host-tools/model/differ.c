/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/differ.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "host-tools/model/sample.h"

#define MAX_DIFFERENCES 64

void assay_case_differ(struct assay_case *c, const char *id,
                       const char *subject, const char *file,
                       const char *expected, const char *found, const char *fmt,
                       ...)
{
    struct assay_case_difference *d;
    va_list args;

    for (size_t i = 0; i < c->n_differences; i++)
        if (!strcmp(c->differences[i].id, id) &&
            !strncmp(c->differences[i].subject, subject,
                     sizeof(c->differences[i].subject) - 1))
            return;
    if (!c->differences)
        c->differences = assay_calloc(MAX_DIFFERENCES, sizeof(*d));
    if (!c->differences || c->n_differences == MAX_DIFFERENCES)
        return;
    d = &c->differences[c->n_differences++];
    d->id = id;
    snprintf(d->subject, sizeof(d->subject), "%s", subject);
    snprintf(d->file, sizeof(d->file), "%s", file);
    snprintf(d->expected, sizeof(d->expected), "%s", expected);
    snprintf(d->found, sizeof(d->found), "%s", found);
    va_start(args, fmt);
    vsnprintf(d->sentence, sizeof(d->sentence), fmt, args);
    va_end(args);
}

void assay_case_differences_close(struct assay_case *c)
{
    assay_free(c->differences);
    c->differences = NULL;
    c->n_differences = 0;
}

/* ---- case.json ---------------------------------------------------------- */

static const char *text_of(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s ? s : "";
}

static void differ_march(struct assay_case *c, const char *side,
                         const json_t *j, const char *file)
{
    const char *found = text_of(j, "march");

    if (!found[0] || !c->march[0] || !strcmp(found, c->march))
        return;
    assay_case_differ(c, "march", side, file, c->march, found,
                      "%s was made for march %.32s, the reference for %.32s: "
                      "tails, tables and rounding may be others there, so "
                      "differing bits are no finding about the compiler",
                      side, found, c->march);
}

static void differ_tools(struct assay_case *c, const char *side,
                         const json_t *mine, const json_t *theirs,
                         const char *file)
{
    const char *key, *found;
    const json_t *v;
    char subject[128];

    json_object_foreach((json_t *)theirs, key, v)
    {
        const char *have = text_of(mine, key);

        found = json_string_value(v);
        if (!found || !found[0] || !have[0] || !strcmp(found, have))
            continue;
        snprintf(subject, sizeof(subject), "%s %.60s", side, key);
        assay_case_differ(c, "version", subject, file, have, found,
                          "%s was made by %.60s %.60s, the reference by "
                          "%.60s: versions may fuse and round otherwise, make "
                          "both with one before you judge bits",
                          side, key, found, have);
    }
}

static const char *shown(const json_t *v, char *text, size_t cap)
{
    if (json_is_string(v))
        snprintf(text, cap, "%.80s", json_string_value(v));
    else if (json_is_integer(v))
        snprintf(text, cap, "%lld", (long long)json_integer_value(v));
    else if (json_is_boolean(v))
        snprintf(text, cap, "%s", json_is_true(v) ? "true" : "false");
    else
        snprintf(text, cap, "%s", v ? "?" : "not set");
    return text;
}

static void differ_option(struct assay_case *c, const char *side,
                          const char *key, const json_t *a, const json_t *b,
                          const char *file)
{
    char subject[128], have[96], found[96];

    if (a && b && json_equal((json_t *)a, (json_t *)b))
        return;
    snprintf(subject, sizeof(subject), "%s %.60s", side, key);
    assay_case_differ(c, "option", subject, file, shown(a, have, sizeof(have)),
                      shown(b, found, sizeof(found)),
                      "%s was made with %.60s = %.60s, the reference with "
                      "%.60s: consistency levels and high precision qpp change "
                      "bits on purpose",
                      side, key, found, have);
}

static void differ_options(struct assay_case *c, const char *side,
                           const json_t *mine, const json_t *theirs,
                           const char *file)
{
    const char *key;
    const json_t *v;

    if (!json_is_object(mine) || !json_is_object(theirs))
        return;
    json_object_foreach((json_t *)mine, key, v)
        differ_option(c, side, key, v, json_object_get(theirs, key), file);
    json_object_foreach((json_t *)theirs, key, v)
    {
        if (!json_object_get(mine, key))
            differ_option(c, side, key, NULL, v, file);
    }
}

void assay_case_differ_json(struct assay_case *c, const struct json_t *j,
                            const char *file)
{
    static const char *const sides[] = {"sim", "bpu"};
    const json_t *columns = json_object_get(j, "columns");

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        const json_t *s = json_object_get(columns, sides[i]);

        if (!json_is_object(s))
            continue;
        differ_march(c, sides[i], s, file);
        differ_tools(c, sides[i], json_object_get(j, "tools"),
                     json_object_get(s, "tools"), file);
        differ_options(c, sides[i], json_object_get(j, "options"),
                       json_object_get(s, "options"), file);
    }
}

/* ---- the model ---------------------------------------------------------- */

/* The value of hbdk.target in a text; false: not there. */
static bool find_target(const char *head, size_t n, char *out, size_t cap)
{
    static const char key[] = "hbdk.target";
    size_t at, k = 0;

    for (at = 0; at + sizeof(key) <= n; at++)
        if (!memcmp(head + at, key, sizeof(key) - 1))
            break;
    if (at + sizeof(key) > n)
        return false;
    at += sizeof(key) - 1;
    while (at < n && (head[at] == ' ' || head[at] == '='))
        at++;
    if (at >= n || head[at++] != '"')
        return false;
    while (at < n && head[at] != '"' && head[at] > ' ' && k + 1 < cap)
        out[k++] = head[at++];
    out[k] = '\0';
    return k > 0;
}

/* What a march, a target and a numerics are of: the first letters only, more
 * of it is not public. */
static const char *family(const char *name)
{
    static const struct {
        const char *prefix, *family;
    } all[] = {{"nash", "nash"},   {"B30", "nash"},  {"b30", "nash"},
               {"bayes", "bayes"}, {"B25", "bayes"}, {"b25", "bayes"}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (!strncmp(name, all[i].prefix, strlen(all[i].prefix)))
            return all[i].family;
    return "";
}

static bool apart(const char *a, const char *b)
{
    return family(a)[0] && family(b)[0] && strcmp(family(a), family(b));
}

void assay_case_differ_model(struct assay_case *c, const char *head, size_t n,
                             const char *file, const char *numerics)
{
    char target[32] = "";
    const char *march = c->march;

    if (find_target(head, n, target, sizeof(target)))
        memcpy(c->target, target, sizeof(c->target));
    if (apart(target, c->march))
        assay_case_differ(c, "march", "model", file, c->march, target,
                          "case.json says march %.32s, the model's "
                          "hbdk.target is %.32s: of another build",
                          c->march, target);
    if (!march[0])
        march = target;
    if (apart(march, numerics))
        assay_case_differ(c, "march", "numerics", file, march, numerics,
                          "the model is of march %.32s, the arithmetic in use "
                          "is '%.60s': chosen on purpose?",
                          march, numerics);
}

/* ---- tensors ------------------------------------------------------------ */

static bool is_quant(const struct assay_layer *l, const char *form)
{
    return l->form && !strcmp(l->form, form);
}

static bool same_place(const struct assay_tensor *t, enum assay_dtype have,
                       uint32_t rank, const int64_t *dims)
{
    int64_t mine[ASSAY_MAX_RANK] = {0};

    if (t->rank != rank ||
        assay_dtype_is_int(t->dtype) != assay_dtype_is_int(have))
        return false;
    assay_tensor_source_dims(t, mine);
    return !memcmp(mine, dims, rank * sizeof(*dims));
}

bool assay_differ_place(uint32_t *index, const char **id,
                        const struct assay_slice *slice, uint32_t tensor,
                        enum assay_dtype have, uint32_t rank,
                        const int64_t *dims)
{
    const struct assay_tensor *t = &slice->tensors[tensor];
    bool integers = assay_dtype_is_int(have);

    if (assay_dtype_is_int(t->dtype) == integers)
        return false;
    for (uint32_t i = 0; i < slice->n_layers; i++) {
        const struct assay_layer *l = &slice->layers[i];
        uint32_t other = l->n_inputs ? l->inputs[0] : tensor;

        if (integers && l->output == tensor && is_quant(l, "dequantize")) {
            *id = "removed-dequantize";
        } else if (integers && other == tensor && is_quant(l, "quantize")) {
            *id = "removed-quantize";
            other = l->output;
        } else if (!integers && other == tensor && is_quant(l, "dequantize")) {
            *id = "tail";
            other = l->output;
        } else {
            continue;
        }
        if (!same_place(&slice->tensors[other], have, rank, dims))
            continue;
        *index = other;
        return true;
    }
    return false;
}

bool assay_differ_integers(void *out, const struct assay_tensor *t,
                           const float *x, size_t count)
{
    size_t unit = assay_dtype_bytes(t->dtype), inner = 1;
    uint8_t *to = out;
    int64_t lo, hi;

    if (t->quant.n == 0 || !assay_dtype_is_int(t->dtype) ||
        (t->quant.n > 1 &&
         (t->quant.axis < 0 || (uint32_t)t->quant.axis >= t->rank)))
        return false;
    for (uint32_t a = 0; t->quant.n > 1 && a < t->rank; a++)
        if (t->perm[a] != a)
            return false;
    assay_dtype_range(t->dtype, &lo, &hi);
    for (uint32_t a = 0; t->quant.n > 1 && a < t->rank; a++)
        inner *= a > (uint32_t)t->quant.axis ? (size_t)t->dims[a] : 1;
    for (size_t i = 0; i < count; i++) {
        size_t k = t->quant.n > 1 ? i / inner % t->quant.n : 0;
        float s = t->quant.scale[k];
        double q = nearbyint((double)x[i] / (double)s);
        int64_t v;

        if (!isfinite(q) || t->quant.zero_point[k] != 0 || q < (double)lo ||
            q > (double)hi || (float)q * s != x[i])
            return false;
        v = (int64_t)q;
        memcpy(to + i * unit, &v, unit); /* little-endian */
    }
    return true;
}

/* ---- names -------------------------------------------------------------- */

static bool same_content(const struct assay_tensor *t, const void *reference,
                         const struct assay_array *a)
{
    size_t count, bytes, unit = assay_dtype_bytes(t->dtype);
    void *moved;
    bool same;

    if (!reference || assay_tensor_count(t, &count, &bytes, NULL) < 0)
        return false;
    moved = assay_alloc(bytes ? bytes : 1);
    if (!moved)
        return false;
    assay_sample_permute(t, t->perm, unit, a->data, moved, count);
    same = !memcmp(moved, reference, bytes);
    assay_free(moved);
    return same;
}

/* All elements alike: equal content says nothing about a name then. */
static bool constant(const struct assay_array *a)
{
    size_t unit = assay_dtype_bytes(a->dtype), n = unit;
    const uint8_t *p = a->data;

    for (uint32_t i = 0; i < a->rank; i++)
        n *= (size_t)a->dims[i];
    return n <= unit || !memcmp(p, p + unit, n - unit);
}

uint32_t assay_case_renamed_before(const struct assay_case *c,
                                   const struct assay_slice *slice,
                                   const char *name)
{
    for (size_t d = 0; d < c->n_differences; d++) {
        const struct assay_case_difference *x = &c->differences[d];

        if (strcmp(x->id, "renamed") != 0 || strcmp(x->subject, name) != 0)
            continue;
        for (uint32_t i = 0; i < slice->n_tensors; i++)
            if (!strcmp(slice->tensors[i].name, x->expected))
                return i;
    }
    return UINT32_MAX;
}

enum assay_renamed assay_differ_renamed(uint32_t *index, char *list, size_t cap,
                                        uint32_t before,
                                        const struct assay_slice *slice,
                                        const struct assay_sample *reference,
                                        const struct assay_npz *z,
                                        const struct assay_array *a)
{
    size_t may = 0, are = 0;

    list[0] = '\0';
    for (uint32_t i = 0; i < slice->n_tensors; i++) {
        const struct assay_tensor *t = &slice->tensors[i];
        int64_t dims[ASSAY_MAX_RANK] = {0};
        size_t n = strlen(list);

        assay_tensor_source_dims(t, dims);
        if (!t->is_output || t->dtype != a->dtype || t->rank != a->rank ||
            memcmp(dims, a->dims, t->rank * sizeof(*dims)) ||
            assay_npz_find(z, t->name))
            continue;
        if (i == before) {
            *index = i;
            return ASSAY_RENAMED_YES;
        }
        may++;
        snprintf(list + n, cap - n, "%s'%.60s'", n ? ", " : "", t->name);
        if (constant(a) || !same_content(t, reference->values[i], a))
            continue;
        are++;
        *index = i;
    }
    if (!may)
        return ASSAY_RENAMED_NO;
    return are == 1 ? ASSAY_RENAMED_YES : ASSAY_RENAMED_AMBIGUOUS;
}
