/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/observed_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/case_meta.h"
#include "host-tools/model/differ.h"
#include "host-tools/model/file.h"
#include "host-tools/model/record.h"
#include "host-tools/model/sample.h"

enum { DISPUTED = 1, BEHIND = 2 }; /* by two sources; a Transpose alone */

/* Each name is told of once a run, however many samples have it. */
void assay_observed_tell(struct assay_observing *l, const char *file,
                         const char *name, const char *why)
{
    char text[700];
    uint64_t h;

    snprintf(text, sizeof(text), "%.300s %.300s", name, why);
    h = assay_xxh64(text, strlen(text));
    for (size_t i = 0; i < l->c->n_told; i++)
        if (l->c->told[i] == h)
            return;
    if (l->c->n_told < sizeof(l->c->told) / sizeof(l->c->told[0]))
        l->c->told[l->c->n_told++] = h;
    if (!l->note || !l->note->note)
        return;
    snprintf(text, sizeof(text), "%.200s: '%.120s': %.300s", file, name, why);
    l->note->note(l->note->self, text);
}

void assay_observed_detail(const struct assay_observing *l, const char *file,
                           const char *fmt, ...)
{
    char text[560], line[900];
    va_list ap;

    if (!l->note || !l->note->detail)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    snprintf(line, sizeof(line), "%.300s: %s", file, text);
    l->note->detail(l->note->self, line);
}

int assay_observed_no_memory(const struct assay_observing *l, const char *what)
{
    return assay_fail(l->err, ASSAY_EMEMORY, "%s: out of memory", what);
}

/* Equal but for dimensions of 1; and a batch of 1 may be left out. */
static bool same_dims(uint32_t a_rank, const int64_t *a, uint32_t b_rank,
                      const int64_t *b)
{
    uint32_t i = 0, j = 0;

    for (;;) {
        while (i < a_rank && a[i] == 1)
            i++;
        while (j < b_rank && b[j] == 1)
            j++;
        if (i == a_rank || j == b_rank)
            return i == a_rank && j == b_rank;
        if (a[i++] != b[j++])
            return false;
    }
}

static bool fits(const struct assay_tensor *t, bool nchw,
                 const struct assay_observed_data *x, char *want, size_t cap)
{
    int64_t dims[ASSAY_MAX_RANK] = {0};

    if (nchw && t->rank == 4) {
        dims[0] = t->dims[0];
        dims[1] = t->dims[3];
        dims[2] = t->dims[1];
        dims[3] = t->dims[2];
    } else {
        assay_tensor_source_dims(t, dims);
    }
    assay_sample_shape(want, cap, t->rank, dims);
    if (nchw)
        return t->rank == 4 && x->rank == 4 &&
               !memcmp(dims, x->dims, 4 * sizeof(*dims));
    return same_dims(t->rank, dims, x->rank, x->dims);
}

static int64_t value_at(const struct assay_observed_data *x, size_t i)
{
    const uint8_t *p;

    if (x->values)
        return x->values[i];
    p = (const uint8_t *)x->array->data +
        i * assay_dtype_bytes(x->array->dtype);
    switch (x->array->dtype) {
    case ASSAY_S8: return (int8_t)*p;
    case ASSAY_U8: return *p;
    case ASSAY_S16: {
        int16_t v;
        memcpy(&v, p, sizeof(v));
        return v;
    }
    case ASSAY_U16: {
        uint16_t v;
        memcpy(&v, p, sizeof(v));
        return v;
    }
    case ASSAY_S32: {
        int32_t v;
        memcpy(&v, p, sizeof(v));
        return v;
    }
    default: {
        int64_t v;
        memcpy(&v, p, sizeof(v));
        return v;
    }
    }
}

/* The integers in the tensor's own type; a value that is none is refused. */
static int narrow(struct assay_observing *l, const struct assay_tensor *t,
                  const struct assay_observed_data *x, uint8_t *out,
                  size_t count)
{
    size_t unit = assay_dtype_bytes(t->dtype);
    int64_t lo, hi;

    assay_dtype_range(t->dtype, &lo, &hi);
    for (size_t i = 0; i < count; i++) {
        int64_t v = value_at(x, i);

        if (v < lo || v > hi)
            return assay_fail(
                l->err, ASSAY_EMISMATCH,
                "%s: '%.100s': element %zu is %" PRId64
                ", but the model's tensor is %s (%" PRId64 "..%" PRId64 ")",
                x->file, x->name, i, v, assay_dtype_name(t->dtype), lo, hi);
        memcpy(out + i * unit, &v, unit); /* little-endian */
    }
    return 0;
}

int assay_observed_check_type(struct assay_observing *l,
                              const struct assay_tensor *t,
                              const struct assay_observed_data *x)
{
    enum assay_dtype have = x->array ? x->array->dtype : ASSAY_S64;

    if (x->array ? have == t->dtype : assay_dtype_is_int(t->dtype))
        return 0;
    if (!assay_dtype_is_int(have) || !assay_dtype_is_int(t->dtype))
        return assay_fail(l->err, ASSAY_EMISMATCH,
                          "%s: '%.100s' is %s, but the model's tensor '%.100s' "
                          "is %s",
                          x->file, x->name,
                          x->array ? assay_dtype_name(have) : "integers",
                          t->name, assay_dtype_name(t->dtype));
    assay_observed_tell(
        l, x->file, x->name,
        "another integer type than the model's tensor: taken where every "
        "value fits");
    return 0;
}

/* Takes ownership of data: the tensor in stored order; its own name counts. */
static void put(struct assay_observing *l, uint32_t index, bool behind,
                void *data, size_t bytes, const struct assay_observed_data *x)
{
    void **slot = &l->s->values[index];
    uint8_t *mark = &l->marks[index];

    if (*slot == NULL || ((*mark & BEHIND) && !behind)) {
        l->s->n_found += *slot == NULL;
        assay_free(*slot);
        *slot = data;
        *mark = behind ? BEHIND : 0;
        return;
    }
    if (behind == ((*mark & BEHIND) != 0) && memcmp(*slot, data, bytes) != 0 &&
        !(*mark & DISPUTED)) {
        *mark |= DISPUTED;
        assay_observed_tell(
            l, x->file, l->slice->tensors[index].name,
            "given twice with different values: not trusted, left out");
    }
    assay_free(data);
}

/* Floats of the column, where the model has integers with a scale. */
static bool take_scaled(const struct assay_observing *l,
                        const struct assay_tensor *t,
                        const struct assay_observed_data *x, bool nchw,
                        uint8_t *out, size_t count)
{
    if (!x->array || x->array->dtype != ASSAY_F32 || nchw ||
        !assay_differ_integers(out, t, x->array->data, count))
        return false;
    assay_case_differ(l->c, "tail", x->name, x->file,
                      assay_dtype_name(t->dtype), "float32",
                      "'%.100s' is float32 here and %s in the model: each "
                      "value is an integer times the scale, compared as that "
                      "integer",
                      x->name, assay_dtype_name(t->dtype));
    return true;
}

/* The tensor that an array stands for, when it has integers for floats or
 * floats for integers. */
static uint32_t place(const struct assay_observing *l, uint32_t index,
                      const struct assay_observed_data *x)
{
    const struct assay_tensor *t = &l->slice->tensors[index];
    const char *id, *was, *have;
    uint32_t other;

    if (!x->array || !assay_differ_place(&other, &id, l->slice, index,
                                         x->array->dtype, x->rank, x->dims))
        return index;
    was = assay_dtype_name(t->dtype);
    have = assay_dtype_name(x->array->dtype);
    if (!strcmp(id, "tail"))
        assay_case_differ(l->c, id, x->name, x->file, was, have,
                          "'%.100s' is %s here and %s in the model: a tail "
                          "with high precision; compared behind Dequantize, "
                          "as '%.100s'",
                          x->name, have, was, l->slice->tensors[other].name);
    else
        assay_case_differ(l->c, id, x->name, x->file, was, have,
                          "'%.100s' is %s here and %s in the model: its %s "
                          "was removed; compared as '%.100s'",
                          x->name, have, was,
                          strstr(id, "dequantize") ? "Dequantize" : "Quantize",
                          l->slice->tensors[other].name);
    return other;
}

static int wrong_shape(struct assay_observing *l, const struct assay_tensor *t,
                       const struct assay_observed_data *x, bool nchw,
                       const char *want)
{
    char found[256];

    assay_sample_shape(found, sizeof(found), x->rank, x->dims);
    return assay_fail(l->err, ASSAY_EMISMATCH,
                      "%s: '%.100s' is %s, but the model's tensor '%.100s' "
                      "is %s%s",
                      x->file, x->name, found, t->name, want,
                      nchw ? " in NCHW" : "");
}

static int take_one(struct assay_observing *l, uint32_t index, bool nchw,
                    bool behind, const struct assay_observed_data *x)
{
    static const uint8_t to_nhwc[ASSAY_MAX_RANK] = {0, 2, 3, 1};
    const struct assay_tensor *t = &l->slice->tensors[index];
    size_t count, bytes, unit = assay_dtype_bytes(t->dtype);
    uint8_t *moved = NULL, *dst = NULL;
    bool same, scaled;
    const void *from;
    char want[256];
    int rc = assay_tensor_count(t, &count, &bytes, l->err);

    if (rc)
        return rc;
    same = fits(t, nchw, x, want, sizeof(want));
    dst = assay_alloc(bytes ? bytes : 1);
    moved = assay_alloc(bytes ? bytes : 1);
    if (!dst || !moved)
        rc = assay_observed_no_memory(l, x->file);
    scaled = !rc && same && assay_dtype_is_int(t->dtype) &&
             take_scaled(l, t, x, nchw, moved, count);
    if (!rc && !scaled)
        rc = assay_observed_check_type(l, t, x);
    if (!rc && !same)
        rc = wrong_shape(l, t, x, nchw, want);
    from = moved;
    if (!rc && !scaled) {
        if (x->array && x->array->dtype == t->dtype)
            from = x->array->data;
        else
            rc = narrow(l, t, x, moved, count);
    }
    if (!rc) {
        assay_sample_permute(t, nchw ? to_nhwc : t->perm, unit, from, dst,
                             count);
        put(l, index, behind, dst, bytes, x);
        dst = NULL;
    }
    assay_free(dst);
    assay_free(moved);
    return rc;
}

int assay_observed_take(struct assay_observing *l,
                        const struct assay_observed_match *m,
                        const struct assay_observed_data *x)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < m->n; i++)
        rc = take_one(l, place(l, m->v[i].tensor, x), m->v[i].nchw,
                      m->v[i].behind, x);
    return rc;
}

/* Finds the tensors of a name; false (told by a note): there are none. */
bool assay_observed_named(struct assay_observing *l, const char *file,
                          const char *name, struct assay_observed_match *m)
{
    const struct assay_feature *f;

    assay_observed_find(m, l->slice, l->map, name);
    if (m->denied)
        assay_observed_tell(
            l, file, name,
            "the hybrid model and the name of a layer say different tensors: "
            "the hybrid model's is taken");
    if (m->n)
        return true;
    f = assay_feature_map_find(l->map, name);
    assay_observed_tell(
        l, file, name,
        f && f->why ? f->why
                    : "neither a tensor of the model nor the output of one of "
                      "its layers: ignored");
    return false;
}

const void *assay_observed_reference(struct assay_observing *l, uint32_t tensor)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_err ignored = {0};

    if (!l->reference_read) {
        l->reference_read = true;
        (void)!assay_case_golden(&l->reference, l->c, l->sample, l->slice,
                                 &silent, &ignored);
        (void)!assay_case_inputs(&l->inputs, l->c, l->sample, l->slice, &silent,
                                 &ignored);
    }
    if (l->reference.values != NULL && l->reference.values[tensor] != NULL)
        return l->reference.values[tensor];
    return l->inputs.values != NULL ? l->inputs.values[tensor] : NULL;
}

/* What the column's folder says for all samples, then the sample's own. */
static int load(struct assay_observing *l, const char *path)
{
    const char *info = l->c->columns[l->side].model_info;
    const char *slash = strrchr(path, '/');
    char *name = (char *)(uintptr_t)(slash ? slash + 1 : path), *folder;
    struct assay_dump_name dump;
    int rc = info ? assay_observed_model_info(l, info) : 0;

    if (rc)
        return rc;
    if (assay_file_is_folder(path))
        return assay_observed_folder(l, path);
    if (!assay_dump_name(&dump, name))
        return assay_observed_npz(l, path);
    folder = assay_file_join("", path);
    if (!folder)
        return assay_observed_no_memory(l, path);
    folder[name - path > 0 ? name - path - 1 : 0] = '\0';
    rc = assay_observed_check_binding(l, NULL, path);
    if (!rc)
        rc = assay_observed_dumps(l, folder, &name, 1);
    assay_free(folder);
    return rc;
}

int assay_case_observed(struct assay_sample *out, struct assay_case *c,
                        enum assay_case_side side, size_t sample,
                        const struct assay_slice *slice,
                        const struct assay_feature_map *map,
                        const struct assay_model_note *note,
                        struct assay_err *err)
{
    struct assay_sample s = {0};
    struct assay_observing l = {.s = &s,
                                .c = c,
                                .side = side,
                                .sample = sample,
                                .slice = slice,
                                .map = map,
                                .note = note,
                                .err = err};
    const char *path = c->columns[side].paths[sample];
    int rc;

    if (c->record)
        return assay_record_sample(out, c, sample, slice, ASSAY_RECORD_GOT,
                                   err);
    rc = assay_sample_new(&s, slice, err);
    if (rc)
        return rc;
    l.marks = assay_calloc((size_t)slice->n_tensors + 1, 1);
    if (!l.marks)
        rc = assay_observed_no_memory(&l, path);
    if (!rc)
        rc = load(&l, path);
    assay_sample_close(&l.reference);
    assay_sample_close(&l.inputs);
    assay_model_info_close(&l.info);
    for (uint32_t t = 0; !rc && t < slice->n_tensors; t++) {
        if (!(l.marks[t] & DISPUTED))
            continue;
        assay_free(s.values[t]);
        s.values[t] = NULL;
        s.n_found--;
    }
    assay_free(l.marks);
    if (rc)
        assay_sample_close(&s);
    else
        *out = s;
    return rc;
}
