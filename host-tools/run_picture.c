/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/prepare_picture.h"

struct assay_run_steps {
    size_t n;
    struct assay_report_step *v; /* in the run's arena, as its texts */
};

/* Of the dtypes that a spec can have. */
static double element(const struct assay_image_tensor *x, size_t i)
{
    switch (x->dtype) {
    case ASSAY_S8: return ((const int8_t *)x->data)[i];
    case ASSAY_S16: return ((const int16_t *)x->data)[i];
    case ASSAY_U16: return ((const uint16_t *)x->data)[i];
    case ASSAY_F32: return (double)((const float *)x->data)[i];
    default: return ((const uint8_t *)x->data)[i];
    }
}

/* The smallest and the largest element. */
static void range_of(struct assay_report_step *out,
                     const struct assay_image_tensor *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double v = element(x, i);

        out->lo = i == 0 || v < out->lo ? v : out->lo;
        out->hi = i == 0 || v > out->hi ? v : out->hi;
    }
}

/* Elements of an array that are not the step's; its form must be the same. */
static bool differing(uint64_t *out, const struct assay_image_tensor *x,
                      const struct assay_array *a)
{
    size_t unit = assay_dtype_bytes(x->dtype);

    if (a->dtype != x->dtype || a->bytes != x->bytes)
        return false;
    *out = 0;
    for (size_t i = 0; i < x->bytes; i += unit)
        *out += memcmp((const uint8_t *)a->data + i,
                       (const uint8_t *)x->data + i, unit) != 0;
    return true;
}

/* What a file of the sample holds under the name of the step. */
static void look(struct assay_report_step *s, struct assay_report_seen *out,
                 const struct assay_image_tensor *x, const struct assay_npz *z)
{
    char name[400];
    const struct assay_array *a;

    snprintf(name, sizeof(name), "%.300s.%s", s->input, s->name);
    a = assay_npz_find(z, name);
    if (a == NULL)
        a = assay_npz_find(z, s->name);
    if (a == NULL)
        return;
    out->found = true;
    out->other_form = !differing(&out->mismatch, x, a);
}

static void look_in(struct assay_report_step *steps, size_t n,
                    const struct assay_image_adapted *a, size_t which,
                    const char *path)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_err ignored = {0};
    struct assay_npz z = {0};
    size_t len = path != NULL ? strlen(path) : 0;

    if (len < 5 || strcmp(path + len - 4, ".npz") != 0 ||
        assay_npz_read(&z, path, &silent, &ignored) < 0)
        return; /* what is wrong with it was said when it was read */
    for (size_t i = 0; i < n; i++)
        look(&steps[i], &steps[i].seen[which], &a->steps[i], &z);
    assay_npz_close(&z);
}

static const char *keep(struct assay_run *r, const char *text)
{
    const char *kept = assay_arena_str(r->arena, text, strlen(text));

    return kept != NULL ? kept : "";
}

static void describe(struct assay_run *r, struct assay_report_step *s,
                     const struct assay_image_tensor *x, uint32_t sample)
{
    uint8_t sha[ASSAY_SHA256_LEN];
    char hex[2 * ASSAY_SHA256_LEN + 1];

    s->sample = sample;
    s->input = r->s->tensors[r->p.pictures->tensor].name;
    s->file = r->p.c.inputs[sample];
    s->name = x->name;
    s->dtype = x->dtype;
    s->rank = x->rank;
    memcpy(s->dims, x->dims, x->rank * sizeof(*x->dims));
    s->count = x->bytes / assay_dtype_bytes(x->dtype);
    range_of(s, x, s->count);
    assay_sha256(x->data, x->bytes, sha);
    assay_hex(sha, sizeof(sha), hex);
    s->sha256 = keep(r, hex);
}

static int one_sample(struct assay_run *r, uint32_t sample,
                      struct assay_err *err)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_image_adapted a = {0};
    struct assay_picture picture = {0};
    struct assay_report_step *v = r->steps->v + r->steps->n;
    int rc = assay_pictures_adapt(r->p.pictures, r->p.c.inputs[sample], &silent,
                                  &picture, &a, err);

    for (uint32_t i = 0; i < a.n && rc == 0; i++)
        describe(r, &v[i], &a.steps[i], sample);
    if (rc == 0) {
        for (unsigned s = 0; s < ASSAY_SIDES; s++) {
            const struct assay_case_column *c = &r->p.c.columns[s];

            if (c->n_have > 0)
                look_in(v, a.n, &a, 1 + s, c->paths[sample]);
        }
        look_in(v, a.n, &a, 0, r->p.c.goldens[sample]);
        r->steps->n += a.n;
    }
    assay_image_adapted_close(&a);
    assay_picture_close(&picture);
    return rc;
}

int assay_run_picture_steps(struct assay_run *r, struct assay_err *err)
{
    uint32_t n = assay_run_done(r);
    int rc = 0;

    if (r->p.pictures == NULL)
        return 0;
    if (n > ASSAY_RUN_PICTURE_SAMPLES)
        n = ASSAY_RUN_PICTURE_SAMPLES;
    r->steps = assay_arena_array(r->arena, 1, sizeof(*r->steps));
    if (r->steps != NULL)
        r->steps->v =
            assay_arena_array(r->arena, (size_t)n * ASSAY_IMAGE_MAX_STEPS + 1,
                              sizeof(*r->steps->v));
    if (r->steps == NULL || r->steps->v == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    for (uint32_t s = 0; s < n && rc == 0; s++)
        rc = one_sample(r, s, err);
    return rc;
}

int assay_run_picture_save(struct assay_run *r, struct assay_err *err)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_image_adapted a = {0};
    struct assay_picture picture = {0};
    char name[400];
    int rc;

    if (r->p.pictures == NULL)
        return 0;
    rc = assay_pictures_adapt(r->p.pictures, r->p.c.inputs[r->sample], &silent,
                              &picture, &a, err);
    for (uint32_t i = 0; i < a.n && rc == 0; i++) {
        const struct assay_image_tensor *x = &a.steps[i];

        snprintf(name, sizeof(name), "%.300s.%s",
                 r->s->tensors[r->p.pictures->tensor].name, x->name);
        rc = assay_npz_add(r->saving, name, x->dtype, x->rank, x->dims, x->data,
                           err);
    }
    assay_image_adapted_close(&a);
    assay_picture_close(&picture);
    return rc;
}

void assay_run_picture_head(const struct assay_run *r, struct assay_lines *l)
{
    const struct assay_pictures *p = r->p.pictures;
    char text[ASSAY_LINE_TEXT], steps[400] = "";
    size_t n = r->steps != NULL ? r->steps->n : 0;

    if (p == NULL || n == 0)
        return;
    for (size_t i = 0; i < n && r->steps->v[i].sample == 0; i++)
        snprintf(steps + strlen(steps), sizeof(steps) - strlen(steps), "%s%s",
                 i > 0 ? ", " : "", r->steps->v[i].name);
    assay_message(text, sizeof(text), ASSAY_MSG_HEAD_PICTURE, "input",
                  r->s->tensors[p->tensor].name, "file", r->steps->v[0].file,
                  "type", assay_image_type_name(p->spec.type), "steps", steps,
                  NULL);
    assay_line_add(l, "", text);
}

static bool any_other(const struct assay_report_step *s)
{
    for (size_t c = 0; c < ASSAY_REPORT_SEEN; c++) {
        if (s->seen[c].found && (s->seen[c].other_form || s->seen[c].mismatch))
            return true;
    }
    return false;
}

static void seen_text(const struct assay_report_step *s, char *out, size_t cap)
{
    const char *const *names = assay_report_seen_names;

    out[0] = '\0';
    for (size_t c = 0; c < ASSAY_REPORT_SEEN; c++) {
        const struct assay_report_seen *k = &s->seen[c];
        size_t at = strlen(out);

        if (!k->found)
            continue;
        if (k->other_form)
            snprintf(out + at, cap - at, "  %s another form", names[c]);
        else if (k->mismatch > 0)
            snprintf(out + at, cap - at, "  %s differs %" PRIu64 "/%" PRIu64,
                     names[c], k->mismatch, s->count);
        else
            snprintf(out + at, cap - at, "  %s exact", names[c]);
    }
}

void assay_run_picture_lines(const struct assay_run *r, struct assay_lines *l)
{
    char line[ASSAY_LINE_TEXT], shape[100], seen[300];
    bool all = r->o->all;
    size_t n = r->steps != NULL ? r->steps->n : 0;

    for (size_t i = 0; i < n; i++)
        all = all || any_other(&r->steps->v[i]);
    for (size_t i = 0; i < n && all; i++) {
        const struct assay_report_step *s = &r->steps->v[i];

        if (s->sample > 0 && !any_other(s))
            continue;
        shape[0] = '\0';
        for (uint32_t a = 0; a < s->rank; a++)
            snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape),
                     "%s%" PRId64, a > 0 ? "x" : "", s->dims[a]);
        seen_text(s, seen, sizeof(seen));
        snprintf(line, sizeof(line), "in%-2u %-10s %-16s %-8s %.4g..%.4g%s",
                 s->sample, s->name, shape, assay_dtype_name(s->dtype), s->lo,
                 s->hi, seen);
        assay_line_add(l, " ", line);
    }
}

size_t assay_run_picture_report(const struct assay_run *r,
                                const struct assay_report_step **out)
{
    *out = r->steps != NULL ? r->steps->v : NULL;
    return r->steps != NULL ? r->steps->n : 0;
}
