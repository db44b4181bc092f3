/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/separate.h"

#include <string.h>

#include "kernels/requant.h"
#include "lib/engine/once.h"

#define CLASSES 32
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

/* One hypothesis of each class, the first ones of more than fit. */
static uint32_t choose(const struct assay_search *found,
                       const struct assay_hypothesis **v)
{
    uint32_t n = 0;

    for (size_t i = 0; i < found->n_proved && n < CLASSES; i++)
        if (found->v[i].class_number == n + 1)
            v[n++] = &found->v[i];
    return n;
}

struct trial {
    const struct assay_suspect *s;
    const struct assay_hypothesis *v[CLASSES];
    uint32_t n;
    void **inputs;
    uint8_t *base, *out[CLASSES];
    uint32_t group[CLASSES];
    size_t bytes, width;
};

static int open_trial(struct trial *t, const struct assay_suspect *s,
                      const struct assay_search *found, struct assay_err *err)
{
    const struct assay_tensor *y = assay_suspect_output(s);
    uint32_t inputs = assay_suspect_inputs(s);
    size_t n, bytes;
    int rc = assay_tensor_count(y, &n, &t->bytes, err);

    t->s = s;
    t->width = assay_dtype_bytes(y->dtype);
    t->n = choose(found, t->v);
    t->inputs = assay_calloc(inputs + 1, sizeof(*t->inputs));
    t->base = assay_alloc(t->bytes + 1);
    if (rc == 0 && (!t->inputs || !t->base))
        rc = no_memory(err);
    for (uint32_t i = 0; i < t->n && rc == 0; i++) {
        t->out[i] = assay_alloc(t->bytes + 1);
        rc = t->out[i] ? 0 : no_memory(err);
    }
    for (uint32_t i = 0; i < inputs && rc == 0; i++) {
        rc = assay_tensor_count(&s->one->tensors[i], &n, &bytes, err);
        if (rc || s->one->tensors[i].role == ASSAY_ROLE_CONSTANT)
            continue;
        t->inputs[i] = assay_alloc(bytes + 1);
        rc = t->inputs[i] ? 0 : no_memory(err);
    }
    return rc;
}

static void close_trial(struct trial *t)
{
    for (uint32_t i = 0; t->inputs && i < assay_suspect_inputs(t->s); i++)
        assay_free(t->inputs[i]);
    for (uint32_t i = 0; i < t->n; i++)
        assay_free(t->out[i]);
    assay_free(t->inputs);
    assay_free(t->base);
}

static int run(struct trial *t, uint32_t cpu_flags, struct assay_err *err)
{
    const void *const *inputs = (const void *const *)t->inputs;
    int rc = assay_once(t->s->one, cpu_flags, inputs,
                        assay_suspect_inputs(t->s), t->base, t->bytes, err);

    return rc ? rc
              : assay_cause_apply(t->out, t->s, t->v, t->n, inputs, t->base,
                                  cpu_flags, err);
}

/* Groups of equal outputs; how many. */
static uint32_t group(struct trial *t)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t k = 0;

        while (k < i && memcmp(t->out[k], t->out[i], t->bytes) != 0)
            k++;
        t->group[i] = k < i ? t->group[k] : n++;
    }
    return n;
}

static uint64_t count(const struct trial *t)
{
    uint64_t n = 0;

    for (size_t e = 0; e + t->width <= t->bytes; e += t->width) {
        bool equal = true;

        for (uint32_t i = 1; i < t->n; i++)
            equal =
                equal && memcmp(t->out[0] + e, t->out[i] + e, t->width) == 0;
        n += !equal;
    }
    return n;
}

/* ---- the search ------------------------------------------------------------ */

/* What was kept of an earlier trial is overwritten by the next ones. */
static void keep(struct trial *best, struct trial *t)
{
    struct trial other = *best;

    *best = *t;
    *t = other;
}

static int search(struct trial *best, struct trial *t,
                  struct assay_separation *out, uint32_t cpu_flags,
                  struct assay_err *err)
{
    struct maker m = {.s = t->s, .seed = 0x9e3779b97f4a7c15u};
    int rc = 0;

    for (unsigned k = 0; k < TRIES && rc == 0 && out->n_groups < t->n; k++) {
        uint32_t n;

        fill(&m, k, t->inputs);
        rc = run(t, cpu_flags, err);
        out->tried++;
        n = rc ? 0 : group(t);
        if (n <= out->n_groups)
            continue;
        out->n_groups = n;
        out->differing = count(t);
        keep(best, t);
    }
    return rc;
}

/* The best trial becomes the caller's. */
static int hand_over(struct assay_separation *out, struct trial *best,
                     struct assay_err *err)
{
    out->group = assay_calloc(CLASSES, sizeof(*out->group));
    out->outputs = assay_calloc(CLASSES, sizeof(*out->outputs));
    if (!out->group || !out->outputs)
        return no_memory(err);
    memcpy(out->group, best->group, sizeof(best->group));
    memcpy(out->outputs, best->out, sizeof(best->out));
    memset(best->out, 0, sizeof(best->out));
    out->inputs = best->inputs;
    out->base = best->base;
    best->inputs = NULL;
    best->base = NULL;
    return 0;
}

int assay_cause_separate(struct assay_separation *out,
                         const struct assay_suspect *s,
                         const struct assay_search *found, uint32_t cpu_flags,
                         struct assay_err *err)
{
    struct trial t = {.n = 0}, best = {.n = 0};
    int rc;

    memset(out, 0, sizeof(*out));
    rc = open_trial(&t, s, found, err);
    if (rc == 0)
        rc = open_trial(&best, s, found, err);
    out->n_inputs = assay_suspect_inputs(s);
    out->n_classes = t.n;
    out->n_groups = t.n > 0;
    if (rc == 0)
        rc = search(&best, &t, out, cpu_flags, err);
    if (rc == 0)
        rc = hand_over(out, &best, err);
    close_trial(&t);
    close_trial(&best);
    if (rc)
        assay_separation_close(out);
    return rc;
}

void assay_separation_close(struct assay_separation *s)
{
    for (uint32_t t = 0; s->inputs && t < s->n_inputs; t++)
        assay_free(s->inputs[t]);
    for (uint32_t i = 0; s->outputs && i < s->n_classes; i++)
        assay_free(s->outputs[i]);
    assay_free(s->inputs);
    assay_free(s->outputs);
    assay_free(s->base);
    assay_free(s->group);
    memset(s, 0, sizeof(*s));
}
