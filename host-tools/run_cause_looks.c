/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_cause_looks.h"

#include <stdio.h>
#include <string.h>

static const struct assay_tensor *output_of(const struct assay_run_suspect *k)
{
    return &k->one->tensors[k->one->layers[0].output];
}

static size_t bytes_of(const struct assay_tensor *t)
{
    size_t n, bytes;

    return assay_tensor_count(t, &n, &bytes, NULL) < 0 ? 0 : bytes;
}

/* ---- another tensor ---------------------------------------------------------- */

/* Any tensor with just these bytes? Spares the look at the others. */
static bool is_there(const struct assay_run *r, uint32_t output,
                     const void *got)
{
    size_t bytes = bytes_of(&r->s->tensors[output]);

    for (uint32_t t = 0; t < r->s->n_tensors; t++)
        if (t != output && r->values[t] &&
            bytes_of(&r->s->tensors[t]) == bytes &&
            memcmp(r->values[t], got, bytes) == 0)
            return true;
    return false;
}

void assay_run_cause_swapped(const struct assay_run *r,
                             struct assay_run_suspect *k,
                             const struct assay_suspect_sample *s)
{
    uint32_t output = r->s->layers[k->layer].output;
    bool first = k->n_samples == 0;
    struct assay_layout l;

    if (!first && !k->swapped)
        return;
    k->swapped = is_there(r, output, s->got) &&
                 assay_layout_find(&l, &r->s->tensors[output], s->base, s->got,
                                   r->s, (const void *const *)r->values) &&
                 l.kind == ASSAY_LAYOUT_OTHER_OUTPUT &&
                 (first || l.n[0] == k->layout.n[0]);
    if (!k->swapped)
        return;
    if (!first) {
        l.compared += k->layout.compared;
        l.all += k->layout.all;
    }
    k->layout = l;
    k->swapped_name = r->s->tensors[l.n[0]].name;
}

/* ---- layout ------------------------------------------------------------------ */

/* Nothing differs, and in no other arrangement would it. */
static bool says_nothing(const struct assay_tensor *t,
                         const struct assay_suspect_sample *s)
{
    size_t bytes = bytes_of(t), width = assay_dtype_bytes(t->dtype);

    return memcmp(s->base, s->got, bytes) == 0 && bytes >= width &&
           memcmp(s->base, (const uint8_t *)s->base + width, bytes - width) ==
               0;
}

static bool same_layout(const struct assay_layout *a,
                        const struct assay_layout *b)
{
    return a->kind == b->kind && a->source_order == b->source_order &&
           memcmp(a->axes, b->axes, sizeof(a->axes)) == 0 &&
           memcmp(a->axis, b->axis, sizeof(a->axis)) == 0 &&
           memcmp(a->n, b->n, sizeof(a->n)) == 0;
}

/* What else it may be called is so in all samples. */
static void keep_also(struct assay_layout *l, const struct assay_layout *before)
{
    for (unsigned i = 0, n = 0; i < ASSAY_LAYOUT_ALSO; i++) {
        const char *id = l->also[i];

        l->also[i] = NULL;
        for (unsigned k = 0; id != NULL && k < ASSAY_LAYOUT_ALSO; k++)
            if (before->also[k] != NULL && strcmp(id, before->also[k]) == 0)
                l->also[n++] = id;
    }
}

/* Adds one sample to k->layout; found: it holds others. */
static bool add_layout(struct assay_run_suspect *k,
                       const struct assay_suspect_sample *s, bool found)
{
    const struct assay_tensor *t = output_of(k);
    struct assay_layout l;

    if (!assay_layout_find(&l, t, s->base, s->got, NULL, NULL) ||
        (found && !same_layout(&l, &k->layout)))
        return false;
    if (found) {
        keep_also(&l, &k->layout);
        l.compared += k->layout.compared;
        l.all += k->layout.all;
    }
    k->layout = l;
    return true;
}

/* One arrangement in all samples. */
static bool is_layout(struct assay_run_suspect *k)
{
    bool found = false;

    for (size_t i = 0; i < k->n_samples; i++) {
        if (says_nothing(output_of(k), &k->samples[i]))
            continue;
        if (!add_layout(k, &k->samples[i], found))
            return false;
        found = true;
    }
    return found;
}

bool assay_run_cause_still_layout(const struct assay_run *r,
                                  struct assay_run_suspect *k,
                                  const struct assay_suspect_sample *s)
{
    if (says_nothing(output_of(k), s))
        return true;
    if (!k->swapped)
        return add_layout(k, s, true);
    assay_run_cause_swapped(r, k, s);
    return k->swapped;
}

/* Of samples in which it differs it was asked while they were open. */
static bool is_swapped(const struct assay_run_suspect *k)
{
    for (size_t i = 0; i < k->n_samples && k->swapped; i++)
        if (k->mismatch[i] == 0)
            return false;
    return k->swapped;
}

const char *assay_run_cause_layout(const struct assay_run_suspect *k, char *out,
                                   size_t cap)
{
    if (k->layout.kind != ASSAY_LAYOUT_OTHER_OUTPUT)
        return assay_layout_text(&k->layout, output_of(k), out, cap);
    snprintf(out, cap, "bytes of tensor '%s'", k->swapped_name);
    return out;
}

/* ---- fingerprints ------------------------------------------------------------ */

/* Without accumulators, where they cannot be had, fewer kinds are asked. */
static void fingerprints(struct assay_run_suspect *k,
                         const struct assay_suspect *s, uint32_t cpu_flags)
{
    struct assay_fingerprint_view v = {.t = output_of(k),
                                       .layer = &k->one->layers[0],
                                       .slice = k->one,
                                       .base = k->samples[0].base,
                                       .got = k->samples[0].got,
                                       .inputs = k->samples[0].inputs};
    int64_t *sums = NULL;

    if (assay_cause_sums(&sums, s, 0, cpu_flags, NULL) == 0)
        v.acc = sums;
    k->n_fingerprints = assay_fingerprint(&v, k->fingerprints);
    for (size_t i = 0; i < k->n_fingerprints && k->n_channels == 0; i++) {
        k->channel_ratio = k->fingerprints[i].kind == ASSAY_FP_CHANNEL_RATIO;
        k->n_channels =
            assay_fingerprint_by_channel(&v, &k->fingerprints[i], k->channels,
                                         ASSAY_PLOT_BARS, &k->channel_step);
    }
    assay_free(sums);
}

void assay_run_cause_looks(struct assay_run_suspect *k,
                           const struct assay_suspect *s, uint32_t cpu_flags)
{
    k->has_layout = is_swapped(k) || is_layout(k);
    if (!k->has_layout)
        fingerprints(k, s, cpu_flags);
}
