/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of an operation, and parameters of a call, by name. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

const struct assay_mlir_attr *assay_hbir_attr(struct assay_hbir *im,
                                              const char *name)
{
    for (uint32_t i = 0; im->call && i < im->call->n; i++)
        if (!strcmp(im->call->names[i], name))
            return im->call->values[i];
    return im->call ? NULL : assay_mlir_op_attr(im->op, name);
}

/* ---- which ones may stand there ----------------------------------------- */

static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; (p = strstr(p, name)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

/* Bookkeeping of the compiler, which changes no value. */
static bool harmless(const char *name)
{
    return !strncmp(name, "hbir.", 5) || !strncmp(name, "hbdk.", 5) ||
           listed("instanceId processDone operandSegmentSizes "
                  "resultSegmentSizes foldable",
                  name);
}

static int check_dict(struct assay_hbir *im, const struct assay_mlir_attr *d,
                      const char *allowed)
{
    for (uint32_t i = 0; d && i < d->n; i++)
        if (!listed(allowed, d->names[i]) && !harmless(d->names[i]))
            return assay_hbir_skip(im, "attribute '%.100s' is not known",
                                   d->names[i]);
    return 0;
}

int assay_hbir_attrs(struct assay_hbir *im, const char *allowed)
{
    int rc = check_dict(im, im->op->properties, allowed);

    return rc ? rc : check_dict(im, im->op->attributes, allowed);
}

/* ---- values ------------------------------------------------------------- */

static int wrong_kind(struct assay_hbir *im, const char *name,
                      const char *expected)
{
    return assay_hbir_skip(im, "attribute '%s' is not understood: expected %s",
                           name, expected);
}

static int missing(struct assay_hbir *im, const char *name)
{
    return assay_hbir_skip(im, "attribute '%s' is missing", name);
}

static int out_of_range(struct assay_hbir *im, const char *name, int64_t found,
                        int64_t lo, int64_t hi)
{
    return assay_hbir_fail(
        im, ASSAY_ERANGE, "attribute '%s': expected %lld to %lld, found %lld",
        name, (long long)lo, (long long)hi, (long long)found);
}

static bool as_int(const struct assay_mlir_attr *a, int64_t *out)
{
    if ((a->kind != ASSAY_MLIR_INT && a->kind != ASSAY_MLIR_BOOL) ||
        a->data_size > 8)
        return false;
    *out = a->i;
    return true;
}

int assay_hbir_int(struct assay_hbir *im, const char *name, int64_t lo,
                   int64_t hi, const int64_t *def, int64_t *out)
{
    const struct assay_mlir_attr *a = assay_hbir_attr(im, name);

    if (!a && !def)
        return missing(im, name);
    *out = def ? *def : 0;
    if (a && !as_int(a, out))
        return wrong_kind(im, name, "an integer");
    return a && (*out < lo || *out > hi) ? out_of_range(im, name, *out, lo, hi)
                                         : 0;
}

int assay_hbir_bool(struct assay_hbir *im, const char *name, const bool *def,
                    bool *out)
{
    const struct assay_mlir_attr *a = assay_hbir_attr(im, name);

    if (!a && !def)
        return missing(im, name);
    *out = def ? *def : false;
    if (!a)
        return 0;
    if (a->kind == ASSAY_MLIR_UNIT)
        *out = true;
    else if (a->kind == ASSAY_MLIR_BOOL ||
             (a->kind == ASSAY_MLIR_INT && (a->i == 0 || a->i == 1)))
        *out = a->i != 0;
    else
        return wrong_kind(im, name, "true or false");
    return 0;
}

/* Integers of a dense attribute. */
static bool dense_int(const struct assay_mlir_attr *a, size_t i, int64_t *out)
{
    const struct assay_mlir_type *e = a->type ? a->type->element : NULL;
    const char *p = a->data;
    int32_t s32;

    if (!e || e->kind != ASSAY_MLIR_INTEGER)
        return false;
    if (e->width == 64) {
        memcpy(out, p + (a->splat ? 0 : i * 8), 8);
    } else if (e->width == 32) {
        memcpy(&s32, p + (a->splat ? 0 : i * 4), 4);
        *out = s32;
    }
    return e->width == 32 || e->width == 64;
}

static uint32_t dense_count(const struct assay_mlir_attr *a)
{
    const struct assay_mlir_type *t = a->type;

    if (a->kind != ASSAY_MLIR_DENSE || !t || t->rank != 1 || !t->element ||
        t->dims[0] < 0 || t->dims[0] > UINT32_MAX)
        return 0;
    return (uint32_t)t->dims[0];
}

/* Number of a list's integers, or -1. */
static int64_t list_size(const struct assay_mlir_attr *a)
{
    if (a->kind == ASSAY_MLIR_ARRAY || a->kind == ASSAY_MLIR_TYPED_ARRAY)
        return a->n;
    return a->kind == ASSAY_MLIR_DENSE ? (int64_t)dense_count(a) : -1;
}

static bool list_int(const struct assay_mlir_attr *a, uint32_t i, int64_t *out)
{
    return a->kind == ASSAY_MLIR_DENSE ? dense_int(a, i, out)
                                       : as_int(a->items[i], out);
}

int assay_hbir_ints(struct assay_hbir *im, const char *name, uint32_t max,
                    int64_t *out, uint32_t *n, bool *found)
{
    const struct assay_mlir_attr *a = assay_hbir_attr(im, name);
    int64_t count = a ? list_size(a) : 0;

    *found = a != NULL;
    *n = 0;
    if (a && a->kind == ASSAY_MLIR_INT) {
        *n = 1;
        return as_int(a, out) ? 0 : wrong_kind(im, name, "integers");
    }
    if (count < 0 || count > max)
        return wrong_kind(im, name, "a list of integers");
    for (uint32_t i = 0; i < count; i++)
        if (!list_int(a, i, &out[i]))
            return wrong_kind(im, name, "a list of integers");
    *n = (uint32_t)count;
    return 0;
}

int assay_hbir_row(struct assay_hbir *im, const char *name, uint32_t count,
                   int64_t lo, int64_t hi, const int64_t *def, int64_t *out)
{
    int64_t v[64];
    uint32_t n;
    bool found;
    int rc = assay_hbir_ints(im, name, 64, v, &n, &found);

    if (rc)
        return rc;
    if (!found && !def)
        return missing(im, name);
    if (!found) {
        memcpy(out, def, count * sizeof(*out));
        return 0;
    }
    if (n != count)
        return assay_hbir_skip(im,
                               "attribute '%s': expected %u integers, found "
                               "%u",
                               name, count, n);
    for (uint32_t i = 0; i < n; i++)
        if (v[i] < lo || v[i] > hi)
            return out_of_range(im, name, v[i], lo, hi);
    memcpy(out, v, count * sizeof(*out));
    return 0;
}

static bool same_word(const char *a, size_t n, const char *b, size_t m)
{
    if (n != m)
        return false;
    for (size_t i = 0; i < n; i++)
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]))
            return false;
    return true;
}

/* "max" of "max", of "#hbdk<PoolMode max>", of "PoolMode::MAX". */
static bool last_word(const struct assay_mlir_attr *a, const char **p,
                      size_t *n)
{
    const char *end, *at;

    if ((a->kind != ASSAY_MLIR_STRING && a->kind != ASSAY_MLIR_OPAQUE &&
         a->kind != ASSAY_MLIR_SYMBOL) ||
        !a->text)
        return false;
    end = a->text + strlen(a->text);
    while (end > a->text && !isalnum((unsigned char)end[-1]))
        end--;
    at = end;
    while (at > a->text && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
        at--;
    *p = at;
    *n = (size_t)(end - at);
    return *n > 0;
}

int assay_hbir_word(struct assay_hbir *im, const char *name, const char *words,
                    int def, int *which)
{
    const struct assay_mlir_attr *a = assay_hbir_attr(im, name);
    const char *p;
    size_t n;
    int number = 0;

    if (!a && def < 0)
        return missing(im, name);
    *which = def;
    if (!a)
        return 0;
    if (!last_word(a, &p, &n))
        return wrong_kind(im, name, words);
    for (const char *w = words; *w; number++) {
        size_t m = strcspn(w, " ");

        if (same_word(p, n, w, m)) {
            *which = number;
            return 0;
        }
        w += m + (w[m] == ' ');
    }
    return assay_hbir_skip(im, "attribute '%s' is '%.60s', known are: %s", name,
                           a->text, words);
}

static bool as_real(const struct assay_mlir_attr *a, double *out)
{
    if (a->kind == ASSAY_MLIR_REAL)
        *out = a->d;
    else if (a->kind == ASSAY_MLIR_INT)
        *out = (double)a->i;
    return (a->kind == ASSAY_MLIR_REAL || a->kind == ASSAY_MLIR_INT) &&
           isfinite(*out);
}

static bool dense_real(const struct assay_mlir_attr *a, size_t i, double *out)
{
    const struct assay_mlir_type *e = a->type->element;
    const char *p = a->data;
    float f;

    if (e->kind != ASSAY_MLIR_FLOAT)
        return false;
    if (!strcmp(e->text, "f64")) {
        memcpy(out, p + (a->splat ? 0 : i * 8), 8);
    } else if (!strcmp(e->text, "f32")) {
        memcpy(&f, p + (a->splat ? 0 : i * 4), 4);
        *out = (double)f;
    } else {
        return false;
    }
    return isfinite(*out);
}

int assay_hbir_reals(struct assay_hbir *im, const char *name, uint32_t max,
                     uint32_t *n, const double **out)
{
    const struct assay_mlir_attr *a = assay_hbir_attr(im, name);
    int64_t count = a ? list_size(a) : 0;
    bool one = a && (a->kind == ASSAY_MLIR_REAL || a->kind == ASSAY_MLIR_INT);
    double *v;

    *n = 0;
    *out = NULL;
    if (!a)
        return 0;
    count = one ? 1 : count;
    if (count < 1 || count > max)
        return wrong_kind(im, name, "a list of numbers");
    v = assay_arena_array(im->work, (size_t)count, sizeof(*v));
    if (!v)
        return assay_hbir_no_memory(im);
    for (uint32_t i = 0; i < count; i++) {
        bool good = one                           ? as_real(a, &v[i])
                    : a->kind == ASSAY_MLIR_DENSE ? dense_real(a, i, &v[i])
                                                  : as_real(a->items[i], &v[i]);
        if (!good)
            return wrong_kind(im, name, "a list of numbers");
    }
    *n = (uint32_t)count;
    *out = v;
    return 0;
}

int assay_hbir_list(struct assay_hbir *im, const char *name, int64_t channels,
                    int64_t lo, int64_t hi, struct assay_hbir_list *out)
{
    const struct assay_mlir_attr *a = assay_hbir_attr(im, name);
    int64_t count = a && a->kind != ASSAY_MLIR_INT ? list_size(a) : 1;
    int64_t *v;

    *out = (struct assay_hbir_list){0, NULL};
    if (!a)
        return 0;
    if (count < 1)
        return wrong_kind(im, name, "an integer or a list of integers");
    if (count != 1 && count != channels)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "attribute '%s': expected 1 or %lld integers, "
                               "found %lld",
                               name, (long long)channels, (long long)count);
    v = assay_arena_array(im->work, (size_t)count, sizeof(*v));
    if (!v)
        return assay_hbir_no_memory(im);
    for (uint32_t i = 0; i < count; i++) {
        if (!(a->kind == ASSAY_MLIR_INT ? as_int(a, &v[i])
                                        : list_int(a, i, &v[i])))
            return wrong_kind(im, name, "an integer or a list of integers");
        if (v[i] < lo || v[i] > hi)
            return out_of_range(im, name, v[i], lo, hi);
    }
    *out = (struct assay_hbir_list){(uint32_t)count, v};
    return 0;
}

int assay_hbir_axis(struct assay_hbir *im, const char *name, uint32_t rank,
                    const int64_t *def, int64_t *out)
{
    int64_t v[ASSAY_MAX_RANK];
    uint32_t n;
    bool found;
    int rc = assay_hbir_ints(im, name, ASSAY_MAX_RANK, v, &n, &found);

    if (rc)
        return rc;
    if (!found && !def)
        return missing(im, name);
    if (found && n != 1)
        return wrong_kind(im, name, "one integer");
    *out = found ? v[0] : *def;
    if (*out < -(int64_t)rank || *out >= (int64_t)rank)
        return assay_hbir_fail(im, ASSAY_ERANGE,
                               "attribute '%s': %lld does not fit rank %u",
                               name, (long long)*out, rank);
    *out += *out < 0 ? rank : 0;
    return 0;
}
