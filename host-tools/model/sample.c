/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of one sample, in the slice's stored order. */
#include "host-tools/model/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/case_meta.h"
#include "host-tools/model/record.h"

void assay_sample_close(struct assay_sample *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_tensors; i++)
        assay_free(s->values[i]);
    assay_free(s->values);
    memset(s, 0, sizeof(*s));
}

static int read_file(struct assay_npz *z, const char *path,
                     const struct assay_model_note *note, struct assay_err *err)
{
    size_t n = strlen(path);

    if (n > 4 && !strcmp(path + n - 4, ".npy"))
        return assay_npy_read(z, path, "in0", note, err);
    return assay_npz_read(z, path, note, err);
}

static int read_inputs(struct assay_npz *z, const struct assay_case *c,
                       size_t sample, const struct assay_model_note *note,
                       struct assay_err *err)
{
    if (c->maker)
        return c->maker->make(c->maker->self, c->inputs[sample], z, err);
    return read_file(z, c->inputs[sample], note, err);
}

void assay_sample_shape(char *out, size_t cap, uint32_t rank,
                        const int64_t *dims)
{
    size_t at = 0;
    bool empty = false;

    out[0] = '\0';
    for (uint32_t i = 0; i < rank; i++)
        empty |= dims[i] == 0;
    if (empty)
        at += (size_t)snprintf(out, cap, "empty: ");
    for (uint32_t i = 0; i < rank && at + 24 < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%" PRId64, i ? "x" : "",
                               dims[i]);
    if (!rank)
        snprintf(out, cap, "scalar");
}

void assay_sample_permute(const struct assay_tensor *t,
                          const uint8_t perm[ASSAY_MAX_RANK], size_t unit,
                          const uint8_t *src, uint8_t *dst, size_t count)
{
    size_t s = 1;
    size_t stride[ASSAY_MAX_RANK] = {0};
    int64_t source[ASSAY_MAX_RANK], at[ASSAY_MAX_RANK] = {0};
    bool same = true;

    for (uint32_t i = 0; i < t->rank; i++)
        same &= perm[i] == i;
    if (same) {
        memcpy(dst, src, count * unit);
        return;
    }
    memset(source, 0, sizeof(source));
    for (uint32_t i = 0; i < t->rank; i++)
        source[perm[i]] = t->dims[i];
    for (uint32_t d = t->rank; d-- > 0;) {
        for (uint32_t i = 0; i < t->rank; i++)
            if (perm[i] == d)
                stride[i] = s;
        s *= (size_t)source[d];
    }
    for (size_t k = 0, from = 0; k < count; k++) {
        memcpy(dst + k * unit, src + from * unit, unit);
        for (uint32_t i = t->rank; i-- > 0;) {
            from += stride[i];
            if (++at[i] < t->dims[i])
                break;
            from -= stride[i] * (size_t)t->dims[i];
            at[i] = 0;
        }
    }
}

/*
 * Finds the bytes of the tensor in an array: the whole, or one row where the
 * first axis counts samples. *bytes_at NULL: the shape does not fit.
 */
static const uint8_t *find_bytes(const struct assay_array *a,
                                 const struct assay_tensor *t, size_t row,
                                 size_t bytes)
{
    int64_t dims[ASSAY_MAX_RANK];
    uint32_t skip = 0;

    assay_tensor_source_dims(t, dims);
    if (row != ASSAY_CASE_WHOLE) {
        bool more = a->rank == t->rank + 1;
        uint32_t from = more ? 0 : 1;

        if (a->rank < 1 || (!more && a->rank != t->rank) ||
            memcmp(a->dims + 1, dims + from,
                   (t->rank - from) * sizeof(*dims)) ||
            row >= (size_t)a->dims[0] || a->bytes != bytes * (size_t)a->dims[0])
            return NULL;
        return (const uint8_t *)a->data + row * bytes;
    }
    /* A batch of one may be left out. */
    if (a->rank + 1 == t->rank && dims[0] == 1)
        skip = 1;
    if (a->rank + skip != t->rank ||
        memcmp(a->dims, dims + skip, a->rank * sizeof(*dims)) ||
        a->bytes != bytes)
        return NULL;
    return a->data;
}

/* A NaN in front makes NaN of much that is behind: it is told. */
static void tell_nan(const struct assay_tensor *t, const uint8_t *from,
                     size_t count, const char *file, const char *name,
                     const struct assay_model_note *note)
{
    size_t n = 0;
    char text[700];

    if (t->dtype != ASSAY_F32 || !note || !note->note)
        return;
    for (size_t i = 0; i < count; i++) {
        float f;

        memcpy(&f, from + i * sizeof(f), sizeof(f));
        n += isnan(f);
    }
    if (n == 0)
        return;
    snprintf(text, sizeof(text),
             "%.300s: array '%.200s': %zu of %zu elements are NaN", file, name,
             n, count);
    note->note(note->self, text);
}

static int take(struct assay_sample *s, const struct assay_slice *slice,
                uint32_t index, const struct assay_array *a, size_t row,
                const char *file, const struct assay_model_note *note,
                struct assay_err *err)
{
    const struct assay_tensor *t = &slice->tensors[index];
    int64_t dims[ASSAY_MAX_RANK];
    char want[256], found[256];
    const uint8_t *from;
    size_t count, bytes;
    int rc = assay_tensor_count(t, &count, &bytes, err);

    if (rc)
        return rc;
    if (a->dtype != t->dtype)
        return assay_fail(err, ASSAY_EMISMATCH,
                          "%s: array '%s' is %s, but the model's tensor is %s",
                          file, a->name, assay_dtype_name(a->dtype),
                          assay_dtype_name(t->dtype));
    from = find_bytes(a, t, row, bytes);
    if (!from) {
        assay_tensor_source_dims(t, dims);
        assay_sample_shape(want, sizeof(want), t->rank, dims);
        assay_sample_shape(found, sizeof(found), a->rank, a->dims);
        return assay_fail(err, ASSAY_EMISMATCH,
                          "%s: array '%s' is %s, but the model's tensor is %s",
                          file, a->name, found, want);
    }
    if (s->values[index])
        return 0;
    tell_nan(t, from, count, file, a->name, note);
    s->values[index] = assay_alloc(bytes ? bytes : 1);
    if (!s->values[index])
        return assay_fail(err, ASSAY_EMEMORY, "%s: no memory for %zu bytes",
                          file, bytes);
    assay_sample_permute(t, t->perm, assay_dtype_bytes(t->dtype), from,
                         s->values[index], count);
    s->n_found++;
    return 0;
}

int assay_sample_new(struct assay_sample *s, const struct assay_slice *slice,
                     struct assay_err *err)
{
    memset(s, 0, sizeof(*s));
    s->values = assay_calloc(slice->n_tensors ? slice->n_tensors : 1,
                             sizeof(*s->values));
    if (!s->values)
        return assay_fail(err, ASSAY_EMEMORY, "sample: out of memory");
    s->n_tensors = slice->n_tensors;
    return 0;
}

/* By name, or "in0", "in1" ... in the order of the model's inputs. */
static const struct assay_array *input_array(const struct assay_npz *z,
                                             const struct assay_tensor *t,
                                             size_t nth)
{
    const struct assay_array *a = assay_npz_find(z, t->name);
    char alias[24];

    if (a)
        return a;
    snprintf(alias, sizeof(alias), "in%zu", nth);
    return assay_npz_find(z, alias);
}

static int check_sample(const struct assay_case *c, size_t sample,
                        struct assay_err *err)
{
    if (sample < c->n_samples)
        return 0;
    return assay_fail(err, ASSAY_ERANGE, "sample %zu of %zu", sample,
                      c->n_samples);
}

int assay_case_inputs(struct assay_sample *out, const struct assay_case *c,
                      size_t sample, const struct assay_slice *slice,
                      const struct assay_model_note *note,
                      struct assay_err *err)
{
    struct assay_sample s = {0};
    struct assay_npz z = {0};
    size_t nth = 0;
    int rc = check_sample(c, sample, err);

    if (!rc && c->record)
        return assay_record_sample(out, c, sample, slice, ASSAY_RECORD_INPUTS,
                                   err);
    if (!rc)
        rc = read_inputs(&z, c, sample, note, err);
    if (!rc)
        rc = assay_sample_new(&s, slice, err);
    for (uint32_t t = 0; !rc && t < slice->n_tensors; t++) {
        const struct assay_array *a;

        if (slice->tensors[t].role != ASSAY_ROLE_INPUT)
            continue;
        a = input_array(&z, &slice->tensors[t], nth++);
        if (!a)
            rc = assay_fail(err, ASSAY_EMISMATCH,
                            "%s: no array for the model's input '%s'",
                            c->inputs[sample], slice->tensors[t].name);
        else
            rc = take(&s, slice, t, a, c->input_rows[sample], c->inputs[sample],
                      note, err);
    }
    assay_npz_close(&z);
    if (rc)
        assay_sample_close(&s);
    else
        *out = s;
    return rc;
}

/* The hash of an input as its reference saw it: bytes in source order. */
struct input_hashes {
    const struct assay_slice *slice;
    struct assay_npz z;
    size_t row;
};

static bool hash_input(void *self, const char *name, char hex[65])
{
    const struct input_hashes *h = self;
    uint8_t sha[ASSAY_SHA256_LEN];
    size_t nth = 0, count, bytes;

    for (uint32_t t = 0; t < h->slice->n_tensors; t++) {
        const struct assay_tensor *x = &h->slice->tensors[t];
        const struct assay_array *a;
        const uint8_t *from;

        if (x->role != ASSAY_ROLE_INPUT)
            continue;
        a = input_array(&h->z, x, nth++);
        if (strcmp(x->name, name))
            continue;
        if (!a || assay_tensor_count(x, &count, &bytes, NULL))
            return false;
        from = find_bytes(a, x, h->row, bytes);
        if (!from)
            return false;
        assay_sha256(from, bytes, sha);
        assay_hex(sha, sizeof(sha), hex);
        return true;
    }
    return false;
}

static int check_bindings(const struct assay_case *c, size_t sample,
                          const struct assay_slice *slice,
                          const struct assay_npz *golden, struct assay_err *err)
{
    struct input_hashes h = {.slice = slice, .row = c->input_rows[sample]};
    char have[2 * ASSAY_SHA256_LEN + 1];
    int rc;

    if (!golden->meta) {
        assay_hex(slice->model_sha256, ASSAY_SHA256_LEN, have);
        if (c->model_sha256[0] && strcmp(c->model_sha256, have))
            return assay_fail(err, ASSAY_EMISMATCH,
                              "%s: this reference belongs to another model: "
                              "model_sha256 %s, but the model has %s",
                              c->goldens[sample], c->model_sha256, have);
        return 0;
    }
    rc = read_inputs(&h.z, c, sample, NULL, err);
    if (!rc)
        rc = assay_case_check_meta(golden->meta, c->goldens[sample],
                                   slice->model_sha256, hash_input, &h, err);
    assay_npz_close(&h.z);
    return rc;
}

int assay_case_golden(struct assay_sample *out, const struct assay_case *c,
                      size_t sample, const struct assay_slice *slice,
                      const struct assay_model_note *note,
                      struct assay_err *err)
{
    struct assay_sample s = {0};
    struct assay_npz z = {0};
    int rc = check_sample(c, sample, err);

    if (!rc && c->record)
        return assay_record_sample(out, c, sample, slice, ASSAY_RECORD_EXPECTED,
                                   err);
    if (!rc)
        rc = assay_sample_new(&s, slice, err);
    if (!rc && c->goldens[sample])
        rc = read_file(&z, c->goldens[sample], note, err);
    if (!rc && c->goldens[sample])
        rc = check_bindings(c, sample, slice, &z, err);
    for (uint32_t t = 0; !rc && t < slice->n_tensors; t++) {
        const struct assay_tensor *x = &slice->tensors[t];
        const struct assay_array *a;

        /* Constants are the model's; "?" is a tensor without a shape. */
        if (x->role == ASSAY_ROLE_CONSTANT || x->axes[0] == '?')
            continue;
        a = assay_npz_find(&z, x->name);
        if (a)
            rc = take(&s, slice, t, a, ASSAY_CASE_WHOLE, c->goldens[sample],
                      note, err);
    }
    assay_npz_close(&z);
    if (rc)
        assay_sample_close(&s);
    else
        *out = s;
    return rc;
}
