/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/record.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/sample.h"
#include "proto/bundle.h"

#define MAX_RECORD_BYTES ((size_t)2 << 30)

static bool probe(const uint8_t *head, size_t n)
{
    return assay_bundle_probe(head, n);
}

/* The slice leaves the bundle, with the memory that its constants are in. */
static int open_record(struct assay_slice **out, const uint8_t *data, size_t n,
                       const char *file, const struct assay_model_note *note,
                       struct assay_err *err)
{
    struct assay_bundle *b = NULL;
    const char *mutation;
    char text[600];
    int rc = assay_bundle_read(&b, data, n, err);

    if (rc < 0) {
        (void)assay_err_prefix(err, "%s", file);
        return rc;
    }
    mutation = assay_bundle_text(b, "mutation");
    snprintf(text, sizeof(text), "%.200s: changed on purpose: %.300s", file,
             mutation);
    if (mutation[0] != '\0' && note && note->note)
        note->note(note->self, text);
    *out = b->slice;
    (*out)->blobs = b->memory;
    b->slice = NULL;
    b->memory = NULL;
    assay_bundle_free(b);
    return 0;
}

const struct assay_model_reader assay_slice_reader = {.format = "slice",
                                                      .suffix = ".slice",
                                                      .recorded = true,
                                                      .probe = probe,
                                                      .open = open_record};
const struct assay_model_reader assay_bundle_reader = {.format = "slice",
                                                       .suffix = ".assay",
                                                       .recorded = true,
                                                       .probe = probe,
                                                       .open = open_record};

int assay_record_read(struct assay_bundle **out, const char *path,
                      struct assay_err *err)
{
    uint8_t *data;
    size_t n;
    int rc = assay_file_read(&data, &n, path, MAX_RECORD_BYTES, err);

    if (rc < 0)
        return rc;
    if (n == 0)
        rc = assay_fail(err, ASSAY_EFORMAT, "%s: an empty file", path);
    else if ((rc = assay_bundle_read(out, data, n, err)) < 0)
        (void)assay_err_prefix(err, "%s", path);
    assay_free(data);
    return rc;
}

int assay_record_write(const char *path, const struct assay_buf *bytes,
                       struct assay_err *err)
{
    return assay_file_write(path, bytes->data, bytes->len, err);
}

void assay_record_close(struct assay_bundle *b)
{
    assay_bundle_free(b);
}

const char *assay_record_text(const struct assay_bundle *b, const char *key)
{
    return assay_bundle_text(b, key);
}

/* ---- as a case ------------------------------------------------------------ */

static char *text_copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char *out = assay_alloc(n);

    if (out)
        memcpy(out, s, n);
    return out;
}

static bool any_value(const void **values, uint32_t n)
{
    for (uint32_t t = 0; t < n; t++)
        if (values[t])
            return true;
    return false;
}

/* Paths stand for "there is one". */
static int fill_case(struct assay_case *c, const char *path)
{
    const struct assay_bundle *b = c->record;
    const char *base = strrchr(path, '/');
    size_t n = b->n_samples;

    c->name = text_copy(base ? base + 1 : path);
    c->model_path = text_copy(path);
    c->inputs = assay_calloc(n, sizeof(*c->inputs));
    c->goldens = assay_calloc(n, sizeof(*c->goldens));
    c->input_rows = assay_calloc(n, sizeof(*c->input_rows));
    if (!c->name || !c->model_path || !c->inputs || !c->goldens ||
        !c->input_rows)
        return ASSAY_EMEMORY;
    c->n_samples = n;
    snprintf(c->opt, sizeof(c->opt), "%.15s",
             assay_bundle_text(b, "golden_opt"));
    for (size_t i = 0; i < n; i++) {
        c->input_rows[i] = ASSAY_CASE_WHOLE;
        c->inputs[i] = text_copy(path);
        if (!c->inputs[i])
            return ASSAY_EMEMORY;
        if (!any_value(b->samples[i].values[ASSAY_BUNDLE_EXPECTED],
                       b->slice->n_tensors))
            continue;
        c->goldens[i] = text_copy(path);
        if (!c->goldens[i])
            return ASSAY_EMEMORY;
        c->has_goldens = true;
    }
    return 0;
}

int assay_case_from_record(struct assay_case *out, const char *path,
                           struct assay_err *err)
{
    struct assay_case c = {0};
    int rc = assay_record_read(&c.record, path, err);

    if (rc == 0 && c.record->n_samples == 0)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: a slice without samples: expected a bundle as "
                        "assay run --save-failing writes it",
                        path);
    if (rc == 0 && (rc = fill_case(&c, path)) < 0)
        (void)assay_fail(err, rc, "%s: out of memory", path);
    if (rc < 0)
        assay_case_close(&c);
    else
        *out = c;
    return rc;
}

/* `was` is the tensor as the record has it: the file is read twice, and may
 * have become another one in between. */
static int copy_value(struct assay_sample *s, const struct assay_tensor *t,
                      const struct assay_tensor *was, uint32_t index,
                      const void *from, struct assay_err *err)
{
    size_t count, bytes, old;
    int rc = assay_tensor_count(t, &count, &bytes, err);

    if (rc == 0)
        rc = assay_tensor_count(was, &count, &old, err);
    if (rc < 0)
        return rc;
    if (bytes != old)
        return assay_fail(err, ASSAY_EMISMATCH,
                          "tensor '%.200s' has become another one", t->name);
    s->values[index] = assay_alloc(bytes ? bytes : 1);
    if (!s->values[index])
        return assay_fail(err, ASSAY_EMEMORY, "no memory for %zu bytes", bytes);
    memcpy(s->values[index], from, bytes);
    s->n_found++;
    return 0;
}

int assay_record_sample(struct assay_sample *out, const struct assay_case *c,
                        size_t sample, const struct assay_slice *slice,
                        enum assay_record_kind kind, struct assay_err *err)
{
    const void *const *values = c->record->samples[sample].values[kind];
    const struct assay_slice *was = c->record->slice;
    struct assay_sample s = {0};
    int rc = assay_sample_new(&s, slice, err);

    if (rc == 0 && slice->n_tensors != was->n_tensors)
        rc = assay_fail(err, ASSAY_EMISMATCH, "%s: it has become another one",
                        c->model_path);
    for (uint32_t t = 0; rc == 0 && t < slice->n_tensors; t++) {
        const struct assay_tensor *x = &slice->tensors[t];
        bool input = x->role == ASSAY_ROLE_INPUT;

        if (values[t])
            rc = copy_value(&s, x, &was->tensors[t], t, values[t], err);
        else if (input && kind == ASSAY_RECORD_INPUTS)
            rc = assay_fail(err, ASSAY_EFORMAT,
                            "%s: sample %zu lacks the input '%.200s'",
                            c->model_path, sample, x->name);
    }
    if (rc < 0)
        assay_sample_close(&s);
    else
        *out = s;
    return rc;
}

const void *assay_record_got(const struct assay_case *c, size_t sample,
                             uint32_t tensor)
{
    return c->record->samples[sample].values[ASSAY_BUNDLE_GOT][tensor];
}

int assay_record_columns(struct assay_case *c, struct assay_err *err)
{
    static const char *const names[ASSAY_CASE_SIDES] = {"sim", "bpu", "got"};
    const struct assay_bundle *b = c->record;
    const char *column = assay_bundle_text(b, "column");

    for (unsigned s = 0; s < ASSAY_CASE_SIDES; s++) {
        struct assay_case_column *k = &c->columns[s];

        if (strcmp(column, names[s]) != 0)
            continue;
        k->paths = assay_calloc(c->n_samples, sizeof(*k->paths));
        k->from = text_copy(c->name);
        for (size_t i = 0; k->paths && i < c->n_samples; i++) {
            if (!any_value(b->samples[i].values[ASSAY_BUNDLE_GOT],
                           b->slice->n_tensors))
                continue;
            k->paths[i] = text_copy(c->model_path);
            k->n_have += k->paths[i] != NULL;
        }
        if (!k->paths || !k->from)
            return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", c->name);
    }
    return 0;
}
