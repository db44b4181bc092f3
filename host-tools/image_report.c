/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "host-tools/model/npy.h"
#include "host-tools/report/json_text.h"
#include "lib/core/buf.h"
#include "lib/core/hash.h"

struct summary {
    double min, max, mean;
    char hash[2 * ASSAY_SHA256_LEN + 1];
};

static double element(const struct assay_image_tensor *t, size_t offset)
{
    const uint8_t *p = (const uint8_t *)t->data + offset;
    float f;
    uint16_t u;

    switch (t->dtype) {
    case ASSAY_S8: return (int8_t)p[0];
    case ASSAY_U8: return p[0];
    case ASSAY_F32: memcpy(&f, p, sizeof(f)); return (double)f;
    default:
        memcpy(&u, p, sizeof(u));
        return t->dtype == ASSAY_S16 ? (int16_t)u : u;
    }
}

/* Of the elements, without what pads them; the hash is of all bytes. */
static void summarise(struct summary *s, const struct assay_image_tensor *t)
{
    uint8_t hash[ASSAY_SHA256_LEN];
    double sum = 0;
    size_t n = 1, at[4] = {0};

    for (uint32_t i = 0; i < t->rank; i++)
        n *= (size_t)t->dims[i];
    *s = (struct summary){.min = element(t, 0), .max = element(t, 0)};
    for (size_t k = 0; k < n; k++) {
        size_t offset = 0;
        double v;

        for (uint32_t i = 0; i < t->rank; i++)
            offset += at[i] * (size_t)t->strides[i];
        v = element(t, offset);
        s->min = v < s->min ? v : s->min;
        s->max = v > s->max ? v : s->max;
        sum += v;
        for (uint32_t i = t->rank; i-- > 0;) {
            if (++at[i] < (size_t)t->dims[i])
                break;
            at[i] = 0;
        }
    }
    s->mean = sum / (double)n;
    assay_sha256(t->data, t->bytes, hash);
    assay_hex(hash, sizeof(hash), s->hash);
}

/* ---- text ---------------------------------------------------------------------------- */

static void join(char *out, size_t cap, const int64_t *v, uint32_t n)
{
    size_t len = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < n && len < cap; i++)
        len += (size_t)snprintf(out + len, cap - len, "%s%" PRId64,
                                i > 0 ? "x" : "", v[i]);
}

static void print_head(const struct assay_image_made *m)
{
    char line[1024], size[32], target[32], hash[9], file[300];

    snprintf(file, sizeof(file), "%.290s", m->path);
    for (char *c = file; *c != '\0'; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?'; /* names do not steer a terminal */
    snprintf(size, sizeof(size), "%ux%u", m->picture->width,
             m->picture->height);
    snprintf(target, sizeof(target), "%ux%u", m->spec->width, m->spec->height);
    assay_hex(m->picture->sha256, 4, hash);
    printf("%s\n", assay_message(
                       line, sizeof(line), ASSAY_MSG_IMAGE_HEAD, "file", file,
                       "format", m->picture->format, "size", size, "hash", hash,
                       "type", assay_image_type_name(m->spec->type), "target",
                       target, "range", assay_range_name(m->spec->colour.range),
                       "fit", assay_fit_name(m->spec->fit), "filter",
                       assay_filter_name(m->spec->filter), NULL));
}

static void print_text(const struct assay_image_made *m)
{
    print_head(m);
    printf(" %-9s  %-7s  %-15s  %-22s  %8s  %8s  %10s  %s\n", "step", "dtype",
           "shape", "strides", "min", "max", "mean", "sha256");
    for (uint32_t i = 0; i < m->steps->n; i++) {
        const struct assay_image_tensor *t = &m->steps->steps[i];
        char dims[96], strides[96];
        struct summary s;

        join(dims, sizeof(dims), t->dims, t->rank);
        join(strides, sizeof(strides), t->strides, t->rank);
        summarise(&s, t);
        printf(" %-9s  %-7s  %-15s  %-22s  %8.6g  %8.6g  %10.4f  %.8s\n",
               t->name, assay_dtype_name(t->dtype), dims, strides, s.min, s.max,
               s.mean, s.hash);
    }
}

/* ---- JSON ---------------------------------------------------------------------------- */

static json_t *numbers(const int64_t *v, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = 0; a != NULL && i < n; i++)
        if (json_array_append_new(a, json_integer(v[i])) != 0) {
            json_decref(a);
            a = NULL;
        }
    return a;
}

/* JSON has no infinity: a scale can lead there. */
static json_t *real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *step_json(const struct assay_image_tensor *t)
{
    struct summary s;

    summarise(&s, t);
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:s}", "name",
                     t->name, "dtype", assay_dtype_name(t->dtype), "shape",
                     numbers(t->dims, t->rank), "strides",
                     numbers(t->strides, t->rank), "bytes",
                     (json_int_t)t->bytes, "min", real(s.min), "max",
                     real(s.max), "mean", real(s.mean), "sha256", s.hash);
}

static json_t *to_json(const struct assay_options *o,
                       const struct assay_image_made *m)
{
    char hash[2 * ASSAY_SHA256_LEN + 1];
    json_t *steps = json_array();
    const struct assay_image_spec *s = m->spec;

    for (uint32_t i = 0; steps != NULL && i < m->steps->n; i++)
        if (json_array_append_new(steps, step_json(&m->steps->steps[i])) != 0) {
            json_decref(steps);
            steps = NULL;
        }
    assay_hex(m->picture->sha256, ASSAY_SHA256_LEN, hash);
    return json_pack(
        "{s:s, s:{s:o, s:s, s:i, s:i, s:i, s:s}, s:s, s:i, s:i, s:s, s:s, s:s, "
        "s:s, s:s, s:o, s:o, s:i}",
        "schema", "assay-image/1", "picture", "name", assay_json_text(m->path),
        "format", m->picture->format, "width", (int)m->picture->width, "height",
        (int)m->picture->height, "orientation", m->picture->orientation,
        "sha256", hash, "type", assay_image_type_name(s->type), "width",
        (int)s->width, "height", (int)s->height, "range",
        assay_range_name(s->colour.range), "matrix",
        assay_matrix_name(s->colour.matrix), "arith",
        assay_colour_arith_name(s->colour.arith), "fit", assay_fit_name(s->fit),
        "filter", assay_filter_name(s->filter), "steps", steps, "written",
        assay_json_text(o->output_dir), "exit_code", 0);
}

int assay_image_report(const struct assay_options *o,
                       const struct assay_image_made *made,
                       struct assay_err *err)
{
    if (!o->json_stdout)
        print_text(made);
    if (!o->json_stdout && o->json == NULL)
        return 0;
    return assay_cmd_write_json(o, to_json(o, made), err);
}

/* ---- files ----------------------------------------------------------------------------- */

/* Shape in a file that knows no strides: where rows are padded, rows of
 * elements. */
static uint32_t file_dims(int64_t dims[4], const struct assay_image_tensor *t)
{
    int64_t size = (int64_t)assay_dtype_bytes(t->dtype), dense = size;

    for (uint32_t i = t->rank; i-- > 0; dense *= t->dims[i]) {
        if (t->strides[i] != dense) {
            dims[0] = (int64_t)t->bytes / t->strides[i];
            dims[1] = t->strides[i] / size;
            return 2;
        }
    }
    memcpy(dims, t->dims, sizeof(t->dims));
    return t->rank;
}

static int write_npz(const char *path, const struct assay_image_adapted *steps,
                     struct assay_err *err)
{
    struct assay_npz_writer *w = NULL;
    int rc = assay_npz_create(&w, path, err);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; rc == 0 && i < steps->n; i++) {
        const struct assay_image_tensor *t = &steps->steps[i];
        int64_t dims[4];
        uint32_t rank = file_dims(dims, t);

        rc = assay_npz_add(w, t->name, t->dtype, rank, dims, t->data, err);
    }
    if (rc == 0)
        return assay_npz_finish(w, err);
    assay_npz_abort(w);
    return rc;
}

static int write_npy(const char *path, const struct assay_image_tensor *t,
                     struct assay_err *err)
{
    struct assay_buf b;
    int64_t dims[4];
    uint32_t rank = file_dims(dims, t);
    uint8_t head[256];
    size_t n = assay_npy_header(head, sizeof(head), t->dtype, rank, dims);
    int rc = 0;

    assay_buf_init(&b);
    if (assay_buf_append(&b, head, n) < 0 ||
        assay_buf_append(&b, t->data, t->bytes) < 0)
        rc = assay_fail(err, ASSAY_EMEMORY, "out of memory");
    if (rc == 0)
        rc = assay_file_write(path, b.data, b.len, err);
    assay_buf_close(&b);
    return rc;
}

int assay_image_write(const char *path, const struct assay_image_adapted *steps,
                      struct assay_err *err)
{
    const struct assay_image_tensor *t = assay_image_result(steps);
    const char *suffix = strrchr(path, '.');

    if (suffix != NULL && strcmp(suffix, ".npz") == 0)
        return write_npz(path, steps, err);
    if (suffix != NULL && strcmp(suffix, ".npy") == 0)
        return write_npy(path, t, err);
    if (suffix != NULL && strcmp(suffix, ".bin") == 0)
        return assay_file_write(path, t->data, t->bytes, err);
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_IMAGE_SUFFIX, "file",
                              path, "suffixes", ".npy, .npz or .bin", NULL);
}
