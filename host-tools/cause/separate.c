/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/separate.h"

#include <string.h>

#include "host-tools/cause/search_private.h"
#include "kernels/requant.h"
#include "lib/engine/once.h"

#define CLASSES 16
#define TRIES 48

struct maker {
    const struct assay_suspect *s;
    uint64_t seed;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY,
                      "no memory for an input that tells causes apart");
}

static uint64_t next(struct maker *m)
{
    m->seed ^= m->seed << 13;
    m->seed ^= m->seed >> 7;
    m->seed ^= m->seed << 17;
    return m->seed;
}

/* Of element i under the k-th way: rails, all of the range, a part of it, few
 * that are not zero; fractions near ties where it is a float. */
static union assay_value element(struct maker *m, const struct assay_tensor *t,
                                 unsigned k)
{
    union assay_value v = {.i = 0};
    uint64_t r = next(m);
    int64_t lo, hi;

    if (t->dtype == ASSAY_F32) {
        float scale = t->quant.n > 0 ? t->quant.scale[0] : 0.125f;

        v.f = ((float)(int64_t)(r % 513) - 256.0f + 0.5f * (float)(r >> 60)) *
              scale;
        return v;
    }
    assay_dtype_range(t->dtype, &lo, &hi);
    if (t->dtype == ASSAY_S32 || t->dtype == ASSAY_S64) {
        lo = INT32_MIN;
        hi = INT32_MAX;
    }
    switch (k % 4) {
    case 0: v.i = lo + (int64_t)(r % (uint64_t)(hi - lo + 1)); break;
    case 1: v.i = (r >> 33 & 1) ? hi : lo; break;
    case 2:
        v.i = (lo + (int64_t)(r % (uint64_t)(hi - lo + 1))) >> (k / 4 % 7);
        break;
    default:
        v.i = (r & 7) == 0 ? lo + (int64_t)(r >> 8) % (hi - lo + 1) : 0;
        break;
    }
    v.i = v.i < lo ? lo : v.i > hi ? hi : v.i;
    return v;
}

/* All values of 8 bits, and of two inputs all pairs, over several inputs. */
static int64_t counted(const struct assay_tensor *t, uint32_t input, size_t i)
{
    int64_t lo, hi;

    assay_dtype_range(t->dtype, &lo, &hi);
    return lo + (int64_t)((i >> (input % 2 * 8)) & 0xff);
}

static void fill(struct maker *m, unsigned k, void **inputs)
{
    uint32_t n = assay_suspect_inputs(m->s);

    for (uint32_t t = 0; t < n; t++) {
        const struct assay_tensor *k_t = &m->s->one->tensors[t];
        size_t count, bytes, width = assay_dtype_bytes(k_t->dtype);

        if (!inputs[t] || assay_tensor_count(k_t, &count, &bytes, NULL) < 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            union assay_value v;

            if (width == 1 && k % 4 == 3)
                v.i = counted(k_t, t, i + (size_t)(k / 4) * count);
            else
                v = element(m, k_t, k);

            assay_store_values(k_t->dtype, (uint8_t *)inputs[t] + i * width, &v,
                               1);
        }
    }
}

/* ---- outputs of each class ------------------------------------------------- */

struct classes {
    struct assay_candidate v[CLASSES];
    uint8_t *out[CLASSES];
    uint32_t n;
    size_t bytes, width;
};

static void close_classes(struct classes *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        assay_candidate_close(&c->v[i]);
        assay_free(c->out[i]);
    }
}

static int open_classes(struct classes *c, const struct assay_suspect *s,
                        const struct assay_search *found, struct assay_err *err)
{
    const struct assay_tensor *y = assay_suspect_output(s);
    const struct assay_search_ctx x = {.s = s};
    size_t n;
    int rc = assay_tensor_count(y, &n, &c->bytes, err);

    c->width = assay_dtype_bytes(y->dtype);
    for (size_t i = 0; !rc && i < found->n_proved && c->n < CLASSES; i++) {
        const struct assay_hypothesis *h = &found->v[i];

        if (h->class_number != c->n + 1)
            continue; /* its class has one already */
        if (!assay_cause_is_slice(assay_cause_of(h->edits[0].id)))
            break; /* nothing that could be run on another input */
        rc = assay_candidate_open(&c->v[c->n], &x, h->edits, h->n_edits, err);
        if (rc)
            break;
        c->out[c->n] = assay_alloc(c->bytes + 1);
        c->n++;
        rc = c->out[c->n - 1] ? 0 : no_memory(err);
    }
    return rc;
}

/* Groups of equal outputs; how many. */
static uint32_t group(const struct classes *c, uint32_t *groups)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t k = 0;

        while (k < i && memcmp(c->out[k], c->out[i], c->bytes) != 0)
            k++;
        groups[i] = k < i ? groups[k] : n++;
    }
    return n;
}

static uint64_t count(const struct classes *c)
{
    uint64_t n = 0;

    for (size_t e = 0; e + c->width <= c->bytes; e += c->width) {
        bool equal = true;

        for (uint32_t i = 1; i < c->n; i++)
            equal =
                equal && memcmp(c->out[0] + e, c->out[i] + e, c->width) == 0;
        n += !equal;
    }
    return n;
}

static int run_all(const struct classes *c, const struct assay_suspect *s,
                   void **inputs, uint32_t cpu_flags, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < c->n && !rc; i++)
        rc = assay_once(c->v[i].slice, cpu_flags, (const void *const *)inputs,
                        assay_suspect_inputs(s), c->out[i], c->bytes, err);
    return rc;
}

/* ---- the search ------------------------------------------------------------ */

static int allocate(const struct assay_suspect *s, void **inputs,
                    struct assay_err *err)
{
    for (uint32_t t = 0; t < assay_suspect_inputs(s); t++) {
        size_t n, bytes;
        int rc = assay_tensor_count(&s->one->tensors[t], &n, &bytes, err);

        if (rc)
            return rc;
        if (s->one->tensors[t].role == ASSAY_ROLE_CONSTANT)
            continue;
        inputs[t] = assay_alloc(bytes + 1);
        if (!inputs[t])
            return no_memory(err);
    }
    return 0;
}

static void keep(struct assay_separation *out, void **inputs,
                 const uint32_t *groups, uint32_t n, const struct classes *c)
{
    void **mine = out->inputs;

    for (uint32_t t = 0; t < out->n_inputs; t++) {
        void *other = mine[t];

        mine[t] = inputs[t];
        inputs[t] = other;
    }
    memcpy(out->group, groups, c->n * sizeof(*groups));
    out->n_groups = n;
    out->differing = count(c);
}

int assay_cause_separate(struct assay_separation *out,
                         const struct assay_suspect *s,
                         const struct assay_search *found, uint32_t cpu_flags,
                         struct assay_err *err)
{
    struct maker m = {.s = s, .seed = 0x9e3779b97f4a7c15u};
    uint32_t groups[CLASSES], inputs = assay_suspect_inputs(s);
    void **trial = assay_calloc(inputs + 1, sizeof(*trial));
    struct classes c = {.n = 0};
    int rc;

    memset(out, 0, sizeof(*out));
    out->n_inputs = inputs;
    out->inputs = assay_calloc(inputs + 1, sizeof(*out->inputs));
    out->group = assay_calloc(CLASSES, sizeof(*out->group));
    rc = trial && out->inputs && out->group ? 0 : no_memory(err);
    if (!rc)
        rc = allocate(s, trial, err);
    if (!rc)
        rc = allocate(s, out->inputs, err);
    if (!rc)
        rc = open_classes(&c, s, found, err);
    out->n_classes = c.n;
    out->n_groups = c.n > 0;
    for (unsigned k = 0; k < TRIES && !rc && out->n_groups < c.n; k++) {
        uint32_t n;

        fill(&m, k, trial);
        rc = run_all(&c, s, trial, cpu_flags, err);
        out->tried++;
        n = rc ? 0 : group(&c, groups);
        if (n > out->n_groups)
            keep(out, trial, groups, n, &c);
    }
    close_classes(&c);
    for (uint32_t t = 0; trial && t < inputs; t++)
        assay_free(trial[t]);
    assay_free(trial);
    if (rc)
        assay_separation_close(out);
    return rc;
}

void assay_separation_close(struct assay_separation *s)
{
    for (uint32_t t = 0; s->inputs && t < s->n_inputs; t++)
        assay_free(s->inputs[t]);
    assay_free(s->inputs);
    assay_free(s->group);
    memset(s, 0, sizeof(*s));
}
