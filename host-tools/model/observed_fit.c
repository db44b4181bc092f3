/* SPDX-License-Identifier: Apache-2.0 */
/* How the bytes of a dumped file lie: the one layout that they can have. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/differ.h"
#include "host-tools/model/observed_private.h"
#include "host-tools/model/sample.h"

#define MAX_KEPT 6u

/* Layouts that give different elements. */
struct kept {
    size_t n;
    struct assay_dump_layout layout[MAX_KEPT];
    uint8_t *dense[MAX_KEPT];
    bool equal[MAX_KEPT];
    bool more;
};

static void drop(struct kept *k, size_t i)
{
    assay_free(k->dense[i]);
    k->n--;
    memmove(&k->dense[i], &k->dense[i + 1], (k->n - i) * sizeof(*k->dense));
    memmove(&k->layout[i], &k->layout[i + 1], (k->n - i) * sizeof(*k->layout));
    memmove(&k->equal[i], &k->equal[i + 1], (k->n - i) * sizeof(*k->equal));
}

static void kept_close(struct kept *k)
{
    while (k->n > 0)
        drop(k, k->n - 1);
}

/* All elements alike say nothing. */
static bool constant(const uint8_t *p, size_t n, size_t unit)
{
    return n <= unit || memcmp(p, p + unit, n - unit) == 0;
}

/* Are the elements, in the source's order, those of the reference? */
static int equals(struct assay_observing *l, uint32_t tensor,
                  enum assay_dtype dtype, const uint8_t *dense, bool *yes)
{
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    const void *reference = assay_observed_reference(l, tensor);
    size_t count, bytes;
    uint8_t *moved;

    *yes = false;
    if (reference == NULL || dtype != t->dtype ||
        assay_tensor_count(t, &count, &bytes, NULL) < 0)
        return 0;
    moved = assay_alloc(bytes != 0 ? bytes : 1);
    if (moved == NULL)
        return assay_observed_no_memory(l, t->name);
    assay_sample_permute(t, t->perm, assay_dtype_bytes(dtype), dense, moved,
                         count);
    *yes = memcmp(moved, reference, bytes) == 0;
    assay_free(moved);
    return 0;
}

static void swap(uint8_t *p, size_t n, size_t unit)
{
    for (size_t i = 0; i + unit <= n; i += unit)
        for (size_t a = 0; a < unit / 2; a++) {
            uint8_t b = p[i + a];

            p[i + a] = p[i + unit - 1 - a];
            p[i + unit - 1 - a] = b;
        }
}

/* One more layout, where its padding is zero and its elements are new. */
static int keep(struct assay_observing *l, struct kept *k,
                const struct assay_dump_files *f,
                const struct assay_dump_layout *layout, bool given)
{
    size_t bytes = assay_dump_dense_bytes(layout);
    uint8_t *dense = assay_alloc(bytes != 0 ? bytes : 1);

    if (dense == NULL)
        return assay_observed_no_memory(l, f->path);
    assay_dump_strip(layout, f->data, dense);
    if (given || assay_dump_padding_zero(layout, f->data, f->n, dense)) {
        size_t i;

        for (i = 0; i < k->n && memcmp(k->dense[i], dense, bytes) != 0; i++)
            ;
        if (i == k->n && k->n < MAX_KEPT) {
            k->layout[k->n] = *layout;
            k->dense[k->n++] = dense;
            return 0;
        }
        k->more = k->more || i == k->n;
    }
    assay_free(dense);
    return 0;
}

/* Does the text say the same, element for element of the file's order? */
static int text_agrees(struct assay_observing *l,
                       const struct assay_dump_files *f,
                       const struct assay_dump_layout *layout,
                       enum assay_dtype dtype, bool *yes)
{
    size_t bytes = assay_dump_dense_bytes(layout);
    uint8_t *own;

    *yes = true;
    if (!f->has_text || f->text.n != bytes / layout->unit)
        return 0;
    own = assay_alloc(bytes != 0 ? bytes : 1);
    if (own == NULL)
        return assay_observed_no_memory(l, f->path);
    assay_dump_strip_file_order(layout, f->data, own);
    *yes = assay_dump_text_differs(&f->text, dtype, own) == f->text.n;
    assay_free(own);
    return 0;
}

/* What may be between the bytes of a file and those of the reference. */
enum change {
    AS_THEY_ARE,
    SWAPPED, /* each element's bytes turned round */
    CENTRED, /* 128 was not taken away */
};

/* Its own inverse. */
static void change(uint8_t *p, size_t n, enum change how, size_t unit)
{
    if (how == SWAPPED)
        swap(p, n, unit);
    for (size_t i = 0; how == CENTRED && i < n; i++)
        p[i] ^= 0x80;
}

/* Leaves those layouts that are the reference then. */
static int by_reference(struct assay_observing *l, struct kept *k,
                        uint32_t tensor, enum assay_dtype dtype,
                        enum change how)
{
    size_t unit = assay_dtype_bytes(dtype);
    bool is[MAX_KEPT] = {false}, any = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < k->n; i++) {
        size_t bytes = assay_dump_dense_bytes(&k->layout[i]);

        change(k->dense[i], bytes, how, unit);
        rc = equals(l, tensor, dtype, k->dense[i], &is[i]);
        change(k->dense[i], bytes, how, unit);
        k->equal[i] = is[i] && how == AS_THEY_ARE;
        any = any || is[i];
    }
    for (size_t i = k->n; rc == 0 && any && i-- > 0;)
        if (!is[i])
            drop(k, i);
    return rc;
}

static bool is_image(const struct assay_tensor *t)
{
    return t->dtype == ASSAY_S8 && t->role == ASSAY_ROLE_INPUT;
}

/* The text decides, and then the reference: what is equal to it was it. */
static int decide(struct assay_observing *l, struct kept *k,
                  const struct assay_dump_files *f, uint32_t tensor,
                  enum assay_dtype dtype)
{
    bool agrees[MAX_KEPT], any = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && k->n > 1 && i < k->n; i++) {
        rc = text_agrees(l, f, &k->layout[i], dtype, &agrees[i]);
        any = any || agrees[i];
    }
    for (size_t i = k->n; rc == 0 && any && k->n > 1 && i-- > 0;)
        if (!agrees[i])
            drop(k, i);
    if (rc == 0)
        rc = by_reference(l, k, tensor, dtype, AS_THEY_ARE);
    if (rc == 0 && k->n > 1 && assay_dtype_bytes(dtype) > 1)
        rc = by_reference(l, k, tensor, dtype, SWAPPED);
    if (rc == 0 && k->n > 1 && is_image(&l->slice->tensors[tensor]))
        rc = by_reference(l, k, tensor, dtype, CENTRED);
    return rc;
}

static void finish(struct assay_fitted *out, struct kept *k, size_t layouts,
                   const struct assay_dump_layout *first)
{
    out->fit = ASSAY_FIT_SIZE;
    if (k->n == 1 && !k->more) {
        out->fit = ASSAY_FIT_ONE;
        out->layout = k->layout[0];
        out->equal = k->equal[0];
        out->dense = k->dense[0];
        k->dense[0] = NULL;
        snprintf(out->text, sizeof(out->text), "%s", out->layout.text);
    } else if (k->n > 1) {
        out->fit = ASSAY_FIT_SEVERAL;
        snprintf(out->text, sizeof(out->text), "'%s' or '%s'%s",
                 k->layout[0].text, k->layout[1].text,
                 k->n > 2 || k->more ? " or others" : "");
    } else if (layouts > 0) {
        out->fit = ASSAY_FIT_PADDING;
        snprintf(out->text, sizeof(out->text), "%s", first->text);
    }
}

/* Strides of model_info, where the file has the size that is said there, or
 * else that of the strides. */
static bool given_layout(struct assay_dump_layout *out,
                         const struct assay_tensor *t, size_t unit,
                         const struct assay_model_info_tensor *info, size_t n)
{
    if (info->stride_rank == 0 ||
        !assay_dump_layout_given(out, t, unit, info->rank, info->valid,
                                 info->stride, n))
        return false;
    return info->aligned_bytes > 0 ? (size_t)info->aligned_bytes == n
                                   : assay_dump_layout_ends(out, n);
}

/* As elements of one type. */
static int as_type(struct assay_fitted *out, struct assay_observing *l,
                   const struct assay_dump_files *f, uint32_t tensor,
                   unsigned orders, enum assay_dtype dtype)
{
    const struct assay_model_info_tensor *info =
        assay_observed_info(l, &f->name);
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    struct assay_dump_layout *v =
        assay_calloc(ASSAY_DUMP_MAX_LAYOUTS, sizeof(*v));
    size_t n = 0, unit = assay_dtype_bytes(dtype);
    struct kept k = {0};
    bool given;
    int rc = 0;

    if (v == NULL)
        return assay_observed_no_memory(l, f->path);
    out->dtype = dtype;
    given = info != NULL && given_layout(&v[0], t, unit, info, f->n);
    n = given ? 1
              : assay_dump_layouts(v, t, unit, orders,
                                   assay_dump_march(l->c->march), f->n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = keep(l, &k, f, &v[i], given);
    if (rc == 0)
        rc = decide(l, &k, f, tensor, dtype);
    if (rc == 0)
        finish(out, &k, n, &v[0]);
    kept_close(&k);
    assay_free(v);
    return rc;
}

/* Infinities and the NaN that processors make: what a broken layer gives, and
 * no integers of an accumulator. */
static bool is_infinite_or_nan(uint32_t w)
{
    uint32_t plain = w & 0x7fffffff;

    return plain == 0x7f800000 || plain == 0x7fc00000;
}

/* Is every element that is not 0 no number that a network computes? Then
 * these are integers. */
static bool not_floats(const uint8_t *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t w, exponent;

        memcpy(&w, p + 4 * i, sizeof(w));
        exponent = w >> 23 & 0xff;
        if (is_infinite_or_nan(w) ||
            (w != 0 && exponent != 0 && exponent != 0xff))
            return false;
    }
    return !constant(p, 4 * count, 4) || count == 1;
}

/* Are these floats integers times the scale of t? */
static bool are_scaled(const struct assay_fitted *x,
                       const struct assay_tensor *t, size_t count)
{
    uint8_t *scaled = assay_alloc(4 * count);
    bool are = scaled != NULL && !constant(x->dense, 4 * count, 4) &&
               assay_differ_integers(scaled, t, (const float *)(void *)x->dense,
                                     count);

    assay_free(scaled);
    return are;
}

/* Types of the same width: what the elements are, where that is certain. */
static void retype(struct assay_fitted *out, const struct assay_tensor *t)
{
    size_t count;
    bool own = out->dtype == t->dtype;

    if (out->fit != ASSAY_FIT_ONE || out->equal || out->layout.unit != 4)
        return;
    count = assay_dump_dense_bytes(&out->layout) / 4;
    if (out->dtype == ASSAY_F32 && not_floats(out->dense, count))
        out->dtype = ASSAY_S32;
    else if (out->dtype == ASSAY_S32 && own && are_scaled(out, t, count))
        out->dtype = ASSAY_F32;
}

/* An image's bytes as the runtime has them: it takes 128 away. */
static int centre(struct assay_observing *l, const struct assay_dump_files *f,
                  uint32_t tensor, struct assay_fitted *x)
{
    const struct assay_model_info_tensor *info =
        assay_observed_info(l, &f->name);
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    size_t n;
    bool said, equal = false;
    int rc = 0;

    if (x->fit != ASSAY_FIT_ONE || x->equal || !is_image(t) ||
        x->layout.unit != 1)
        return 0;
    n = assay_dump_dense_bytes(&x->layout);
    said = info != NULL &&
           (info->is_image || (info->has_dtype && info->dtype == ASSAY_U8));
    change(x->dense, n, CENTRED, 1);
    x->dtype = ASSAY_S8;
    rc = equals(l, tensor, ASSAY_S8, x->dense, &equal);
    if (equal && !said && constant(x->dense, n, 1)) {
        x->fit = ASSAY_FIT_SEVERAL;
        snprintf(x->text, sizeof(x->text),
                 "'int8' or 'bytes, which the runtime takes 128 from', since "
                 "all are alike");
    }
    x->centred = said || (equal && x->fit == ASSAY_FIT_ONE);
    x->equal = equal && x->centred;
    if (!x->centred)
        change(x->dense, n, CENTRED, 1);
    return rc;
}

int assay_observed_fit(struct assay_fitted *out, struct assay_observing *l,
                       const struct assay_dump_files *f, uint32_t tensor,
                       unsigned orders)
{
    static const enum assay_dtype other[] = {ASSAY_F32, ASSAY_S32, ASSAY_S16,
                                             ASSAY_S8};
    const struct assay_model_info_tensor *info =
        assay_observed_info(l, &f->name);
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    bool said = info != NULL && info->has_dtype;
    bool narrow =
        !said || assay_dtype_bytes(info->dtype) != assay_dtype_bytes(t->dtype);
    struct assay_fitted x = {0};
    int rc;

    rc = as_type(&x, l, f, tensor, orders,
                 said && narrow ? info->dtype : t->dtype);
    /* Floats for integers and the reverse: a tail that was removed, or one
     * that the application computed. */
    for (size_t i = 0; rc == 0 && !said && x.fit == ASSAY_FIT_SIZE &&
                       i < sizeof(other) / sizeof(other[0]);
         i++) {
        const char *id;
        uint32_t place;
        int64_t dims[ASSAY_MAX_RANK];

        assay_tensor_source_dims(t, dims);
        if (assay_dtype_bytes(other[i]) == assay_dtype_bytes(t->dtype) ||
            (t->dtype == ASSAY_F32 &&
             (!assay_differ_place(&place, &id, l->slice, tensor, other[i],
                                  t->rank, dims) ||
              l->slice->tensors[place].dtype != other[i])))
            continue;
        rc = as_type(&x, l, f, tensor, orders, other[i]);
    }
    if (rc == 0)
        retype(&x, t);
    if (rc == 0)
        rc = centre(l, f, tensor, &x);
    if (rc != 0)
        assay_fitted_close(&x);
    else
        *out = x;
    return rc;
}

void assay_fitted_close(struct assay_fitted *x)
{
    if (x == NULL)
        return;
    assay_free(x->dense);
    x->dense = NULL;
}

/* ---- what is wrong with it ---------------------------------------------- */

/* The elements that the text lists: all of the file, or the valid ones. */
static uint8_t *listed(const struct assay_dump_files *f,
                       const struct assay_fitted *x, size_t *bytes)
{
    size_t unit = x->layout.unit;
    uint8_t *own;

    *bytes = assay_dump_dense_bytes(&x->layout);
    if (f->text.n != *bytes / unit)
        *bytes = f->n / unit * unit;
    own = assay_alloc(*bytes != 0 ? *bytes : 1);
    if (own == NULL)
        return NULL;
    if (*bytes == assay_dump_dense_bytes(&x->layout))
        assay_dump_strip_file_order(&x->layout, f->data, own);
    else
        memcpy(own, f->data, *bytes);
    return own;
}

static int text_differs(struct assay_observing *l,
                        const struct assay_dump_files *f, uint8_t *own,
                        size_t bytes, const struct assay_fitted *x)
{
    size_t unit = x->layout.unit;
    size_t at = assay_dump_text_differs(&f->text, x->dtype, own);
    double found;

    if (at == f->text.n)
        return 0;
    found = assay_dump_value(x->dtype, own + at * unit);
    swap(own, bytes, unit);
    if (unit > 1 &&
        assay_dump_text_differs(&f->text, x->dtype, own) == f->text.n)
        return assay_fail(l->err, ASSAY_EFORMAT,
                          "%.300s: its bytes are swapped: the text beside it "
                          "says the same when each element is read as "
                          "big-endian; expected little-endian",
                          f->path);
    return assay_fail(l->err, ASSAY_EMISMATCH,
                      "%.300s: element %zu is %.9g, but '%.100s' says %.9g: "
                      "not of the same run",
                      f->path, at, found, f->file[ASSAY_DUMP_TXT],
                      f->text.v[at]);
}

static int check_text(struct assay_observing *l,
                      const struct assay_dump_files *f,
                      const struct assay_fitted *x)
{
    size_t bytes;
    uint8_t *own;
    int rc;

    if (!f->has_text)
        return 0;
    own = listed(f, x, &bytes);
    if (own == NULL)
        return assay_observed_no_memory(l, f->path);
    if (f->text.n != bytes / x->layout.unit)
        rc = assay_fail(l->err, ASSAY_EMISMATCH,
                        "%.300s: %zu elements, but '%.100s' lists %zu: cut, or "
                        "not of the same run",
                        f->path,
                        assay_dump_dense_bytes(&x->layout) / x->layout.unit,
                        f->file[ASSAY_DUMP_TXT], f->text.n);
    else
        rc = text_differs(l, f, own, bytes, x);
    assay_free(own);
    return rc;
}

int assay_observed_fit_check(struct assay_observing *l,
                             const struct assay_dump_files *f, uint32_t tensor,
                             const struct assay_fitted *x)
{
    size_t bytes = assay_dump_dense_bytes(&x->layout);
    bool equal = false;
    int rc = check_text(l, f, x);

    if (rc != 0 || x->layout.unit == 1 || x->equal ||
        constant(x->dense, bytes, x->layout.unit))
        return rc;
    swap(x->dense, bytes, x->layout.unit);
    rc = equals(l, tensor, x->dtype, x->dense, &equal);
    swap(x->dense, bytes, x->layout.unit);
    if (rc == 0 && equal)
        rc = assay_fail(l->err, ASSAY_EFORMAT,
                        "%.300s: its bytes are swapped: as big-endian it is "
                        "the reference of '%.100s', expected little-endian",
                        f->path, l->slice->tensors[tensor].name);
    return rc;
}
