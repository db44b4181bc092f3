/* SPDX-License-Identifier: Apache-2.0 */
/* What a column received against what it was given, byte for byte: the search
 * for what an application read wrongly, turned to the other end. */
#include "host-tools/run_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/output/output.h"

/* An input as the search wants a tensor, in the source's order. */
static void describe(struct assay_output_tensor *out,
                     const struct assay_tensor *t, void *const *values)
{
    memset(out, 0, sizeof(*out));
    out->name = t->name;
    out->dtype = t->dtype;
    out->rank = t->rank;
    assay_tensor_source_dims(t, out->dims);
    for (uint32_t i = 0; i < t->rank; i++)
        out->axes[t->perm[i]] = t->axes[i];
    out->quant = t->quant;
    out->values = values;
}

/* A chain that foretells less of an input could be chance, and says little. */
static bool is_enough(const struct assay_output_hit *h)
{
    return h->n_steps <= 2 && h->compared >= h->all - h->all / 10;
}

static const char *keep(struct assay_run *r, const char *text)
{
    const char *kept = assay_arena_str(r->arena, text, strlen(text));

    return kept != NULL ? kept : "";
}

static void add_hit(struct assay_run *r, struct assay_report_input *in,
                    const struct assay_output_hit *h)
{
    struct assay_report_input_cause *c;
    char id[64] = "", what[512] = "", fix[1024] = "";

    if (in->n == ASSAY_REPORT_INPUT_CAUSES) {
        in->n_more++;
        return;
    }
    for (size_t i = 0; i < h->n_steps; i++) {
        const struct assay_output_step *s = &h->steps[i];
        size_t a = strlen(id), b = strlen(what), f = strlen(fix);

        snprintf(id + a, sizeof(id) - a, "%s%s", i > 0 ? "+" : "",
                 assay_output_id(s->id));
        snprintf(what + b, sizeof(what) - b, "%s%s", i > 0 ? ", then " : "",
                 s->text[0] != '\0' ? s->text : assay_output_name(s->id));
        snprintf(fix + f, sizeof(fix) - f, "%s%s", i > 0 ? "; " : "",
                 assay_output_fix(s->id));
    }
    c = &in->causes[in->n++];
    *c = (struct assay_report_input_cause){
        .id = keep(r, id),
        .what = keep(r, what),
        .fix = keep(r, fix),
        .within = h->within,
        .all_matched = h->compared,
        .all = in->all,
        .n_samples = in->n_samples,
    };
}

static void add_cause(struct assay_run *r, struct assay_report_input *in,
                      const char *id, enum assay_message_id what,
                      const char *value, enum assay_message_id fix, bool within)
{
    char text[256];

    assay_message(text, sizeof(text), what, "value", value, NULL);
    in->causes[in->n++] = (struct assay_report_input_cause){
        .id = id,
        .what = keep(r, text),
        .fix = assay_message_text(fix),
        .within = within,
        .all_matched = in->all,
        .all = in->all,
        .n_samples = in->n_samples,
    };
}

/* Is the one the other with this axis (of the source) reversed? */
static bool is_reversed_along(const int64_t *dims, uint32_t rank, uint32_t axis,
                              size_t unit, const struct assay_run_input_data *d)
{
    int64_t inner = 1, outer = 1, n = dims[axis];

    for (uint32_t i = 0; i < rank; i++) {
        if (i < axis)
            outer *= dims[i];
        else if (i > axis)
            inner *= dims[i];
    }
    for (uint32_t s = 0; s < d->n_samples; s++) {
        const uint8_t *a = d->given[d->which][s], *b = d->got[s];
        size_t row = (size_t)inner * unit;

        for (int64_t k = 0; a != NULL && b != NULL && k < outer * n; k++) {
            int64_t from = k / n * n + n - 1 - k % n;

            if (memcmp(b + (size_t)k * row, a + (size_t)from * row, row) != 0)
                return false;
        }
    }
    return true;
}

/* Red for blue: the colours in the reverse order, in every sample. A fixed-point
 * model's inputs have no labels: there an axis of three or four is looked at. */
static bool is_reversed(const struct assay_tensor *t,
                        const struct assay_run_input_data *d)
{
    const char *c = strchr(t->axes, 'C');
    int64_t dims[ASSAY_MAX_RANK] = {0};

    assay_tensor_source_dims(t, dims);
    for (uint32_t axis = 0; axis < t->rank && t->rank >= 3; axis++) {
        if ((c != NULL && t->perm[c - t->axes] != axis) ||
            (dims[axis] != 3 && dims[axis] != 4))
            continue;
        if (is_reversed_along(dims, t->rank, axis, assay_dtype_bytes(t->dtype),
                              d))
            return true;
    }
    return false;
}

/* Floats that are `ratio` times what was given, or that plus `offset`; where
 * they are nothing of the kind, false. */
static bool is_affine(const struct assay_tensor *t,
                      const struct assay_run_input_data *d, double ratio,
                      double offset)
{
    size_t n, bytes;

    if (assay_tensor_count(t, &n, &bytes, NULL) < 0)
        return false;
    for (uint32_t s = 0; s < d->n_samples; s++) {
        const float *a = d->given[d->which][s], *b = d->got[s];

        for (size_t i = 0; a != NULL && b != NULL && i < n; i++) {
            double want = ratio * (double)a[i] + offset;

            if (!(fabs((double)b[i] - want) <= 1e-5 * fabs(want) + 1e-6))
                return false;
        }
    }
    return true;
}

/* The largest element of the first sample says what the number would be. */
static void try_affine(struct assay_run *r, struct assay_report_input *in,
                       const struct assay_tensor *t,
                       const struct assay_run_input_data *d)
{
    const float *a = d->given[d->which][0], *b = d->got[0];
    size_t n, bytes, most = 0;
    double ratio, offset;

    if (t->dtype != ASSAY_F32 || a == NULL || b == NULL ||
        assay_tensor_count(t, &n, &bytes, NULL) < 0 || n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (fabsf(a[i]) > fabsf(a[most]))
            most = i;
    }
    offset = (double)b[most] - (double)a[most];
    ratio = a[most] != 0.0f ? (double)b[most] / (double)a[most] : 0.0;
    if (ratio != 0.0 && is_affine(t, d, ratio, 0.0))
        add_cause(r, in, "Q3", ASSAY_MSG_INPUT_RATIO,
                  assay_num_g(6, ratio).text, ASSAY_MSG_INPUT_RATIO_FIX, true);
    else if (is_affine(t, d, 1.0, offset))
        add_cause(r, in, "Y9", ASSAY_MSG_INPUT_OFFSET,
                  assay_num_g(6, offset).text, ASSAY_MSG_INPUT_OFFSET_FIX,
                  true);
}

int assay_run_input_bytes(struct assay_run *r, struct assay_report_input *in,
                          const struct assay_run_input_data *d,
                          struct assay_err *err)
{
    struct assay_output_head *heads = assay_calloc(d->n_inputs, sizeof(*heads));
    struct assay_output_result *found = assay_calloc(1, sizeof(*found));
    const struct assay_tensor *t = &r->s->tensors[in->tensor];
    struct assay_output_model m = {
        .n_heads = d->n_inputs, .n_samples = d->n_samples, .heads = heads};
    struct assay_output_got got = {
        .name = t->name,
        .dtype = t->dtype,
        .rank = t->rank,
        .values = d->got,
        .expected = d->which,
    };
    size_t n;
    int rc =
        heads == NULL || found == NULL
            ? assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL)
            : assay_tensor_count(t, &n, &got.bytes, err);

    assay_tensor_source_dims(t, got.dims);
    for (uint32_t i = 0; i < d->n_inputs && rc == 0; i++)
        describe(&heads[i].t, &r->s->tensors[d->tensors[i]], d->given[i]);
    if (rc == 0 && is_reversed(t, d)) {
        add_cause(r, in, "Y6", ASSAY_MSG_INPUT_REVERSED, "",
                  ASSAY_MSG_INPUT_REVERSED_FIX, false);
    } else if (rc == 0) {
        rc = assay_output_explain(found, &m, &got, err);
        for (size_t i = 0; rc == 0 && i < found->n_hits &&
                           found->status == ASSAY_OUTPUT_EXPLAINED;
             i++) {
            if (is_enough(&found->hits[i]))
                add_hit(r, in, &found->hits[i]);
        }
        if (rc == 0 && in->n == 0)
            try_affine(r, in, t, d);
    }
    assay_free(found);
    assay_free(heads);
    return rc;
}
