/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/observed_private.h"

#include <inttypes.h>
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

static bool no_hash(void *self, const char *name, char hex[65])
{
    (void)self;
    (void)name;
    (void)hex;
    return false;
}

int assay_observed_check_binding(struct assay_observing *l, const char *meta,
                                 const char *file)
{
    char have[2 * ASSAY_SHA256_LEN + 1];

    if (meta)
        return assay_case_check_meta(meta, file, l->slice->model_sha256,
                                     no_hash, NULL, l->err);
    assay_hex(l->slice->model_sha256, ASSAY_SHA256_LEN, have);
    if (l->c->model_sha256[0] && strcmp(l->c->model_sha256, have))
        return assay_fail(l->err, ASSAY_EMISMATCH,
                          "%s: belongs to another model: model_sha256 %s, but "
                          "the model has %s",
                          file, l->c->model_sha256, have);
    return 0;
}

/* An output under another name, by its content: m has it. True: it may be
 * one, and that is told; nothing is guessed. */
static bool find_renamed(struct assay_observing *l, const struct assay_npz *z,
                         const struct assay_array *a, const char *path,
                         struct assay_observed_match *m)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_err ignored = {0};
    char list[200];
    uint32_t index;

    if (assay_feature_map_find(l->map, a->name) != NULL)
        return false;
    if (l->reference.values == NULL &&
        assay_case_golden(&l->reference, l->c, l->sample, l->slice, &silent,
                          &ignored) < 0)
        return false;
    switch (
        assay_differ_renamed(&index, list, sizeof(list),
                             assay_case_renamed_before(l->c, l->slice, a->name),
                             l->slice, &l->reference, z, a)) {
    case ASSAY_RENAMED_NO: return false;
    case ASSAY_RENAMED_YES:
        m->n = 1;
        m->v[0].tensor = index;
        m->v[0].nchw = false;
        assay_case_differ(l->c, "renamed", a->name, path,
                          l->slice->tensors[index].name, a->name,
                          "'%.100s' is no name of the model: type, shape and "
                          "content are those of '%.100s' alone, taken as it",
                          a->name, l->slice->tensors[index].name);
        return false;
    default:
        assay_case_differ(l->c, "ambiguous", a->name, path, list, a->name,
                          "'%.60s' is no name of the model; type and shape "
                          "fit %s, the content not exactly one, or all its "
                          "elements are alike: not compared, give it its name",
                          a->name, list);
        return true;
    }
}

static int load_npz(struct assay_observing *l, const char *path)
{
    struct assay_npz z = {0};
    int rc = assay_npz_read(&z, path, l->note, l->err);

    if (!rc)
        rc = assay_observed_check_binding(l, z.meta, path);
    if (!rc)
        assay_case_maker(&l->c->columns[l->side], z.meta, path);
    for (size_t i = 0; !rc && i < z.n; i++) {
        const struct assay_array *a = &z.arrays[i];
        struct assay_observed_data x = {.file = path,
                                        .name = a->name,
                                        .rank = a->rank,
                                        .dims = a->dims,
                                        .array = a};
        struct assay_observed_match m;
        bool known;

        assay_observed_find(&m, l->slice, l->map, a->name);
        known = m.n > 0;
        if (!known && find_renamed(l, &z, a, path, &m))
            continue; /* told */
        if ((!known && m.n > 0) || assay_observed_named(l, path, a->name, &m))
            rc = assay_observed_take(l, &m, &x);
    }
    assay_sample_close(&l->reference);
    memset(&l->reference, 0, sizeof(l->reference));
    assay_npz_close(&z);
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
    struct assay_observing l = {&s,  c,   side, sample, slice,
                                map, {0}, note, NULL,   err};
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
    else if (assay_file_is_folder(path))
        rc = assay_observed_folder(&l, path);
    else
        rc = load_npz(&l, path);
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
