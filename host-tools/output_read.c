/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the application read: files and folders of --got, sorted by name and
 * sample, and whose output each array should be.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "host-tools/output_model.h"

#define MAX_ARRAYS 1024
#define MAX_FILES 20000
#define MAX_BYTES ((size_t)1 << 30)
#define MAX_TEXT ((size_t)1 << 28)

struct reading {
    struct assay_output_case *c;
    const struct assay_model_note *note;
    const char *name; /* NAME= of the option, or NULL */
    size_t sample;    /* SIZE_MAX: not said */
    size_t fallback;  /* --sample, or 0 */
    bool one;         /* --sample was given */
    unsigned depth;
    struct assay_err *err;
};

/* An array of one file. */
struct array {
    const char *file, *name;
    bool raw, loose;
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    size_t bytes;
    const void *data;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

/* ---- whose output -------------------------------------------------------- */

static bool same_letters(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if (*a != *b &&
            (isalnum((unsigned char)*a) || isalnum((unsigned char)*b)))
            return false;
    return *a == *b;
}

/* By its name; what a file's name cannot hold may be another sign. "out1" and
 * "output1" are the second one. A single output needs no name. */
static int64_t expected_of(const struct assay_output_case *c, const char *name)
{
    static const char *const prefixes[] = {"output_", "output", "out_", "out"};
    const char *digits;
    char *end;
    unsigned long k;

    for (size_t h = 0; h < c->model.n_heads; h++)
        if (strcmp(c->heads[h].t.name, name) == 0)
            return (int64_t)h;
    for (size_t h = 0; h < c->model.n_heads; h++)
        if (same_letters(c->heads[h].t.name, name))
            return (int64_t)h;
    for (size_t p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++) {
        if (strncmp(name, prefixes[p], strlen(prefixes[p])) != 0)
            continue;
        digits = name + strlen(prefixes[p]);
        k = strtoul(digits, &end, 10);
        if (isdigit((unsigned char)*digits) && *end == '\0' &&
            k < c->model.n_heads)
            return (int64_t)k;
    }
    return c->model.n_heads == 1 ? 0 : -1;
}

static size_t head_bytes(const struct assay_output_case *c, size_t h,
                         enum assay_dtype dtype)
{
    const struct assay_output_tensor *t = &c->heads[h].t;
    size_t n = assay_dtype_bytes(dtype);

    for (uint32_t a = 0; a < t->rank; a++)
        n *= (size_t)t->dims[a];
    return n;
}

/* Does an array hold all samples one behind another? So where it has exactly
 * as many elements as all of them, and no output has as many. */
static bool holds_all(const struct reading *r, const struct array *x,
                      int64_t expected)
{
    const struct assay_output_case *c = r->c;
    size_t n = c->model.n_samples;
    bool all = false;

    if (n < 2 || r->one || x->bytes % n != 0)
        return false;
    if (!x->raw && (x->rank == 0 || x->dims[0] % (int64_t)n != 0))
        return false;
    for (size_t h = 0; h < c->model.n_heads; h++) {
        size_t one = head_bytes(c, h, x->raw ? c->heads[h].t.dtype : x->dtype);

        if (expected >= 0 && (size_t)expected != h)
            continue;
        if (one == x->bytes)
            return false;
        all = all || one * n == x->bytes;
    }
    return all;
}

/* ---- one array ----------------------------------------------------------- */

static struct assay_output_got *find_got(struct reading *r, const char *name)
{
    struct assay_output_case *c = r->c;
    struct assay_output_got *g;
    void **values;
    char *own;

    for (size_t k = 0; k < c->n_got; k++)
        if (strcmp(c->got[k].name, name) == 0)
            return &c->got[k];
    if (c->n_got == c->cap_got) {
        size_t cap = c->cap_got > 0 ? 2 * c->cap_got : 16;

        g = assay_arena_array(c->arena, cap, sizeof(*g));
        if (g == NULL)
            return NULL;
        if (c->n_got > 0)
            memcpy(g, c->got, c->n_got * sizeof(*g));
        c->got = g;
        c->cap_got = cap;
    }
    own = assay_arena_str(c->arena, name, strlen(name));
    values =
        assay_arena_array(c->arena, c->model.n_samples + 1, sizeof(*values));
    if (own == NULL || values == NULL)
        return NULL;
    g = &c->got[c->n_got++];
    g->name = own;
    g->values = values;
    g->expected = expected_of(c, name);
    return g;
}

static int put_sample(struct reading *r, struct assay_output_got *g,
                      const struct array *x, size_t sample, size_t bytes,
                      const uint8_t *data)
{
    void **slot = (void **)&g->values[sample];

    if (*slot != NULL)
        return assay_fail(r->err, ASSAY_EMISMATCH,
                          "%.200s: '%.100s' of sample %zu was read already",
                          x->file, g->name, sample);
    *slot = assay_arena_copy(r->c->arena, data, bytes);
    return *slot != NULL ? 0 : no_memory(r->err);
}

static bool alike(const struct assay_output_got *g, const struct array *x,
                  size_t bytes)
{
    return g->bytes == bytes && g->raw == x->raw && g->loose == x->loose &&
           (x->raw || g->dtype == x->dtype);
}

static int take(struct reading *r, const struct array *x)
{
    struct assay_output_got *g = find_got(r, r->name ? r->name : x->name);
    size_t n = r->c->model.n_samples, parts = 1;
    size_t sample = r->sample != SIZE_MAX ? r->sample : r->fallback;
    int rc = 0;

    if (g == NULL)
        return no_memory(r->err);
    if (r->c->n_got > MAX_ARRAYS)
        return assay_fail(r->err, ASSAY_EUNSUPPORTED,
                          "%.200s: more than %d arrays were read", x->file,
                          MAX_ARRAYS);
    if (x->bytes == 0)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%.200s: '%.100s' has no elements", x->file, g->name);
    if (r->sample == SIZE_MAX && holds_all(r, x, g->expected)) {
        parts = n;
        sample = 0;
    }
    if (g->bytes == 0) {
        g->raw = x->raw;
        g->loose = x->loose;
        g->dtype = x->dtype;
        g->rank = x->rank;
        memcpy(g->dims, x->dims, sizeof(g->dims));
        if (x->rank > 0)
            g->dims[0] /= (int64_t)parts;
        g->bytes = x->bytes / parts;
    } else if (!alike(g, x, x->bytes / parts)) {
        return assay_fail(r->err, ASSAY_EMISMATCH,
                          "%.200s: '%.100s' is of another type or size than in "
                          "the sample before",
                          x->file, g->name);
    }
    for (size_t k = 0; rc == 0 && k < parts; k++)
        rc = put_sample(r, g, x, sample + k, g->bytes,
                        (const uint8_t *)x->data + k * g->bytes);
    return rc;
}

/* ---- files --------------------------------------------------------------- */

static bool ends_with(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);

    return n >= k && strcmp(path + n - k, suffix) == 0;
}

/* The file's name without folders and suffix. */
static void stem_of(char *out, size_t cap, const char *path)
{
    const char *name = strrchr(path, '/');
    char *dot;

    snprintf(out, cap, "%s", name != NULL ? name + 1 : path);
    dot = strrchr(out, '.');
    if (dot != NULL && dot != out)
        *dot = '\0';
}

static int read_arrays(struct reading *r, const char *path, const char *stem)
{
    struct assay_npz z = {0};
    int rc = ends_with(path, ".npz")
                 ? assay_npz_read(&z, path, r->note, r->err)
                 : assay_npy_read(&z, path, stem, r->note, r->err);

    if (rc == 0 && r->name != NULL && z.n > 1)
        rc =
            assay_fail(r->err, ASSAY_EUSAGE,
                       "--got %.100s=%.200s: the file has %zu arrays, expected "
                       "one",
                       r->name, path, z.n);
    for (size_t k = 0; rc == 0 && k < z.n; k++) {
        const struct assay_array *a = &z.arrays[k];
        struct array x = {.file = path,
                          .name = a->name,
                          .dtype = a->dtype,
                          .rank = a->rank,
                          .bytes = a->bytes,
                          .data = a->data};

        memcpy(x.dims, a->dims, sizeof(x.dims));
        rc = take(r, &x);
    }
    assay_npz_close(&z);
    return rc;
}

static int read_raw(struct reading *r, const char *path, const char *stem)
{
    struct array x = {
        .file = path, .name = stem, .raw = true, .dtype = ASSAY_U8};
    uint8_t *data = NULL;
    int rc = assay_file_read(&data, &x.bytes, path, MAX_BYTES, r->err);

    x.data = data;
    if (rc == 0)
        rc = take(r, &x);
    assay_free(data);
    return rc;
}

/* Numbers between blanks, commas and brackets; lines with # are remarks. All
 * integers, or binary32. */
static int parse_numbers(struct assay_buf *b, bool *integers, const char *p,
                         size_t n, const char *path, struct assay_err *err)
{
    const char *end = p + n, *begin = p;
    int rc = 0;

    *integers = true;
    while (p < end && rc == 0) {
        char *stop;
        double d;

        if (*p == '#')
            while (p < end && *p != '\n')
                p++;
        if (p < end && strchr(" \t\r\n,;[]()", *p) != NULL && *p != '\0') {
            p++;
            continue;
        }
        if (p == end)
            break;
        d = strtod(p, &stop);
        if (stop == p || stop > end)
            return assay_fail(err, ASSAY_EFORMAT,
                              "%.200s: byte %zu: expected a number", path,
                              (size_t)(p - begin));
        *integers = *integers && d == floor(d) && fabs(d) < 1e15 &&
                    memchr(p, '.', (size_t)(stop - p)) == NULL;
        rc = assay_buf_append(b, &d, sizeof(d));
        p = stop;
    }
    return rc < 0 ? no_memory(err) : 0;
}

static int read_text(struct reading *r, const char *path, const char *stem)
{
    struct array x = {.file = path, .name = stem, .rank = 1};
    struct assay_buf b;
    uint8_t *data = NULL;
    bool integers = true;
    size_t n;
    int rc = assay_file_read(&data, &n, path, MAX_TEXT, r->err);

    assay_buf_init(&b);
    if (rc == 0)
        rc = parse_numbers(&b, &integers, (const char *)data, n, path, r->err);
    n = b.len / sizeof(double);
    for (size_t k = 0; k < n; k++) {
        double d;
        int64_t v;
        float f;

        /* In place: neither is longer than what it was. */
        memcpy(&d, b.data + k * sizeof(d), sizeof(d));
        v = integers ? (int64_t)d : 0;
        f = (float)d;
        if (integers)
            memcpy(b.data + k * sizeof(v), &v, sizeof(v));
        else
            memcpy(b.data + k * sizeof(f), &f, sizeof(f));
    }
    x.dtype = integers ? ASSAY_S64 : ASSAY_F32;
    x.loose = !integers;
    x.dims[0] = (int64_t)n;
    x.bytes = n * assay_dtype_bytes(x.dtype);
    x.data = b.data;
    if (rc == 0)
        rc = take(r, &x);
    assay_buf_close(&b);
    assay_free(data);
    return rc;
}

static int read_path(struct reading *r, const char *path);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list(struct reading *r, const char *folder, char ***names, size_t *n)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    size_t cap = 0;
    int rc = 0;

    if (d == NULL)
        return assay_fail(r->err, ASSAY_EIO, "%.300s: %s", folder,
                          strerror(errno));
    while (rc == 0 && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        if (*n == cap) {
            char **more;

            cap = cap > 0 ? 2 * cap : 32;
            more = cap > MAX_FILES ? NULL
                                   : assay_realloc(*names, cap * sizeof(*more));
            if (more == NULL) {
                rc = no_memory(r->err);
                break;
            }
            *names = more;
        }
        (*names)[*n] =
            assay_arena_str(r->c->arena, e->d_name, strlen(e->d_name));
        rc = (*names)[(*n)++] != NULL ? 0 : no_memory(r->err);
    }
    closedir(d);
    if (rc == 0 && *n > 1)
        qsort(*names, *n, sizeof(**names), by_name);
    return rc;
}

/* NNNN.npz, NNNN/: the sample of that number; SIZE_MAX: neither. */
static size_t sample_of(const char *path, const char *stem)
{
    char *end;
    unsigned long k = strtoul(stem, &end, 10);

    return isdigit((unsigned char)stem[0]) && *end == '\0' &&
                   (ends_with(path, ".npz") || assay_file_is_folder(path))
               ? k
               : SIZE_MAX;
}

static int read_folder(struct reading *r, const char *folder)
{
    char **names = NULL;
    size_t n = 0, was = r->sample;
    int rc = list(r, folder, &names, &n);

    if (rc == 0 && n == 0)
        rc = assay_fail(r->err, ASSAY_EFORMAT, "%.300s: the folder is empty",
                        folder);
    r->depth++;
    for (size_t k = 0; rc == 0 && k < n; k++) {
        char *path = assay_file_join(folder, names[k]), stem[256];
        size_t sample;

        if (path == NULL) {
            rc = no_memory(r->err);
            break;
        }
        stem_of(stem, sizeof(stem), path);
        sample = was == SIZE_MAX ? sample_of(path, stem) : SIZE_MAX;
        if (sample != SIZE_MAX && sample >= r->c->model.n_samples)
            rc = assay_fail(r->err, ASSAY_EMISMATCH,
                            "%.200s: sample %zu, but the case has %zu", path,
                            sample, r->c->model.n_samples);
        r->sample = sample != SIZE_MAX ? sample : was;
        if (rc == 0 && (sample != SIZE_MAX || !assay_file_is_folder(path)))
            rc = read_path(r, path);
        assay_free(path);
    }
    r->depth--;
    r->sample = was;
    assay_free(names);
    return rc;
}

static int read_path(struct reading *r, const char *path)
{
    char stem[256];

    stem_of(stem, sizeof(stem), path);
    if (r->depth < 2 && assay_file_is_folder(path))
        return read_folder(r, path);
    if (ends_with(path, ".npz") || ends_with(path, ".npy"))
        return read_arrays(r, path, stem);
    return ends_with(path, ".txt") ? read_text(r, path, stem)
                                   : read_raw(r, path, stem);
}

/* [NAME=]FILE; a file with such a name is a file. */
static int read_option(struct reading *r, const char *value)
{
    const char *eq = strchr(value, '=');

    r->name = NULL;
    if (eq != NULL && eq != value && !assay_file_is_regular(value) &&
        !assay_file_is_folder(value)) {
        r->name = assay_arena_str(r->c->arena, value, (size_t)(eq - value));
        if (r->name == NULL)
            return no_memory(r->err);
        if (expected_of(r->c, r->name) < 0)
            return assay_fail_message(r->err, ASSAY_EUSAGE,
                                      ASSAY_MSG_OUTPUT_NO_NAME, "name", r->name,
                                      "near", r->c->heads[0].t.name, NULL);
        value = eq + 1;
    }
    return read_path(r, value);
}

static bool is_output(const struct assay_output_case *c, const char *name)
{
    int64_t t = assay_slice_find_tensor(c->slice, name);

    return t >= 0 && c->slice->tensors[t].is_output;
}

/* A dump of all tensors holds the outputs and inner ones: these are no
 * outputs. Where no output has its name, the model may have been compiled to
 * end at an inner tensor. */
static void leave_out_inner(struct assay_output_case *c,
                            const struct assay_model_note *note)
{
    size_t outputs = 0, n = 0;
    char text[160];

    for (size_t k = 0; k < c->n_got; k++)
        outputs += is_output(c, c->got[k].name);
    if (outputs == 0)
        return;
    for (size_t k = 0; k < c->n_got; k++) {
        const char *name = c->got[k].name;

        if (is_output(c, name) || assay_slice_find_tensor(c->slice, name) < 0)
            c->got[n++] = c->got[k];
    }
    if (n < c->n_got && note->note != NULL)
        note->note(note->self,
                   assay_message(text, sizeof(text), ASSAY_MSG_OUTPUT_INNER,
                                 "count", assay_num_u(c->n_got - n).text,
                                 NULL));
    c->n_got = n;
}

int assay_output_case_read(struct assay_output_case *c,
                           const struct assay_options *o,
                           const struct assay_model_note *note,
                           struct assay_err *err)
{
    struct reading r = {.c = c,
                        .note = note,
                        .sample = SIZE_MAX,
                        .fallback = o->sample,
                        .one = o->one_sample,
                        .err = err};
    int rc = 0;

    if (o->sample >= c->model.n_samples)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_OUTPUT_NO_SAMPLE,
                                  "sample", assay_num_u(o->sample).text,
                                  "count", assay_num_u(c->model.n_samples).text,
                                  NULL);
    for (size_t k = 0; rc == 0 && k < o->read.n; k++)
        rc = read_option(&r, o->read.v[k]);
    if (rc == 0 && c->n_got == 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_OUTPUT_NOTHING,
                                  "path", o->read.v[0], NULL);
    if (rc == 0)
        leave_out_inner(c, note);
    return rc;
}
