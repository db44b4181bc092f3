/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of a layer on which the candidates that are left give different
 * outputs. Points where they differ are known (points.c, every.c); values are
 * put so that they are met (place.c), random ones between. Each input that
 * tells more apart is kept. Whether any input tells the rest apart is not
 * known before one is found: tries in vain are bounded.
 */
#include <string.h>

#include "host-tools/fit/hunt.h"
#include "kernels/requant.h"
#include "lib/core/form.h"

#define CLASSES 512
#define POINTS 96
#define WORK ((size_t)1 << 24) /* elements times classes, of one layer */

int64_t assay_fit_hunt_between(struct assay_fit_hunt *h, int64_t lo, int64_t hi)
{
    h->seed ^= h->seed << 13;
    h->seed ^= h->seed >> 7;
    h->seed ^= h->seed << 17;
    return lo + (int64_t)(h->seed % (uint64_t)(hi - lo + 1));
}

void assay_fit_hunt_put(const struct assay_fit_hunt *h, unsigned i, size_t at,
                        int64_t v)
{
    enum assay_dtype t = assay_fit_hunt_tensor(h, i)->dtype;
    union assay_value value;
    int64_t lo, hi;

    assay_dtype_range(t, &lo, &hi);
    value.i = v < lo ? lo : v > hi ? hi : v;
    assay_store_values(t, (uint8_t *)h->input[i] + at * assay_dtype_bytes(t),
                       &value, 1);
}

int64_t assay_fit_hunt_get(const struct assay_fit_hunt *h, unsigned i,
                           size_t at)
{
    enum assay_dtype t = assay_fit_hunt_tensor(h, i)->dtype;
    union assay_value value;

    assay_load_values(
        t, (const uint8_t *)h->input[i] + at * assay_dtype_bytes(t), &value, 1);
    return value.i;
}

/* ---- what is tried --------------------------------------------------------- */

/* Halves between two integers of a quantizer, and its rails. */
static void halves(struct assay_fit_hunt *h, unsigned i, size_t n)
{
    const struct assay_field *f = assay_field_find(h->y, "scale_f32");
    int64_t lo, hi;
    float scale = 1;

    assay_dtype_range(h->l->dtype, &lo, &hi);
    if (f && f->n == 1) {
        uint32_t bits = (uint32_t)f->v[0];
        memcpy(&scale, &bits, sizeof(scale));
    }
    for (size_t k = 0; k < n; k++) {
        int64_t most = assay_fit_hunt_between(h, 0, 1) ? 8 : hi;
        int64_t q = assay_fit_hunt_between(h, -most - 1, most);
        ((float *)h->input[i])[k] = ((float)q + 0.5f) * scale;
    }
}

static void random_inputs(struct assay_fit_hunt *h, unsigned k)
{
    static const int shifts[6] = {0, 2, 4, 6, 8, 10};

    for (unsigned i = 0; i < h->y->n_inputs && i < 4; i++) {
        const struct assay_tensor *t = assay_fit_hunt_tensor(h, i);
        size_t n = assay_fit_layer_count(h->l, i);
        int64_t lo, hi;

        if (!h->owned[i])
            continue;
        if (t->dtype == ASSAY_F32)
            halves(h, i, n);
        if (!assay_dtype_is_int(t->dtype))
            continue;
        assay_dtype_range(t->dtype, &lo, &hi);
        for (size_t at = 0; at < n; at++)
            assay_fit_hunt_put(h, i, at,
                               assay_fit_hunt_between(h, lo, hi) >>
                                   shifts[(k + 4 * i) % 6]);
    }
}

static void make(struct assay_fit_hunt *h, unsigned k)
{
    random_inputs(h, k / 3);
    if (k % 6 == 4 && h->y->op == ASSAY_OP_CONV2D)
        assay_fit_place_conv(h, k / 6, true);
    else if (k % 3 < 2)
        assay_fit_place(h, k / 3 * 2 + k % 3);
}

/* ---- judging --------------------------------------------------------------- */

static uint32_t hash_of(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return (uint32_t)(h >> 32 ^ h);
}

/* Outputs of every class by the engine; how many different ones. */
static int split_enumerated(struct assay_fit_hunt *h, size_t *classes,
                            struct assay_err *err)
{
    size_t bytes =
        assay_fit_layer_count(h->l, -1) * assay_dtype_bytes(h->l->dtype);
    uint32_t hash[CLASSES];
    void *out = assay_alloc(bytes + 1);
    int rc = out ? 0 : assay_fail(err, ASSAY_EMEMORY, "no memory for a search");

    for (size_t k = 0; !rc && k < h->n_classes; k++) {
        char rule[ASSAY_FIT_RULE_TEXT];
        assay_fit_rule(h->l->form, &h->classes[k], rule);
        rc = assay_fit_layer_run(h->l, rule, (const void *const *)h->input, out,
                                 err);
        hash[k] = hash_of(out, bytes);
    }
    assay_free(out);
    return rc ? rc : assay_fit_pair(h->state, hash, h->n_classes, classes, err);
}

static int split_staged(struct assay_fit_hunt *h, size_t *classes,
                        struct assay_err *err)
{
    struct assay_fit_elements e = {.n = assay_fit_layer_count(h->l, -1),
                                   .acc = h->acc,
                                   .second = h->l->second ? h->second : NULL};
    int rc = assay_fit_layer_sums(h->l, (const void *const *)h->input, h->acc,
                                  e.second ? h->second : NULL, err);

    return rc ? rc
              : assay_fit_split(&h->l->problem, &e, h->state, classes, err);
}

static int keep(struct assay_fit_hunt *h, struct assay_err *err)
{
    const struct assay_fit_space *space = &h->l->problem.space;
    uint32_t *group = assay_calloc(h->f->classes + 1, sizeof(*group));
    void **to = h->f->inputs[h->f->n_inputs];

    h->f->group[h->f->n_inputs++] = group;
    if (!group)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an input");
    for (size_t k = 0; k < h->n_classes; k++)
        group[k] = h->state[h->l->kind == ASSAY_FIT_STAGED
                                ? assay_fit_index(space, &h->classes[k])
                                : k];

    for (unsigned i = 0; i < h->y->n_inputs && i < 4; i++) {
        if (!h->owned[i])
            continue;
        to[i] = assay_alloc(h->bytes[i] + 1);
        if (!to[i])
            return assay_fail(err, ASSAY_EMEMORY, "no memory for an input");
        memcpy(to[i], h->input[i], h->bytes[i]);
    }
    return 0;
}

static int hunt(struct assay_fit_hunt *h, unsigned tries, struct assay_err *err)
{
    struct assay_fit_found *f = h->f;
    size_t each = assay_fit_layer_count(h->l, -1) * h->n_classes, left;
    unsigned vain = 0;
    int rc = 0;

    left = each < WORK ? WORK / (each + 1) : 1;
    left = left < 2 * tries ? 2 * tries : left > 2000 ? 2000 : left;
    f->separated = 1;
    for (unsigned k = 0;
         !rc && k < left && f->separated < h->n_classes &&
         f->n_inputs < ASSAY_FIT_INPUTS &&
         (vain < tries || (h->l->kind == ASSAY_FIT_ENUMERATED && k < 64));
         k++) {
        size_t classes = 0;

        make(h, k);
        rc = h->l->kind == ASSAY_FIT_STAGED
                 ? split_staged(h, &classes, err)
                 : split_enumerated(h, &classes, err);
        vain++;
        if (rc || classes <= f->separated)
            continue;
        vain = 0;
        f->separated = classes;
        rc = keep(h, err);
    }
    return rc;
}

/* ---- a layer --------------------------------------------------------------- */

static int open_inputs(struct assay_fit_hunt *h, struct assay_err *err)
{
    const struct assay_fit_sample *s = &h->l->samples[0];

    for (unsigned i = 0; i < h->y->n_inputs && i < 4; i++) {
        h->bytes[i] = s->bytes[i];
        h->input[i] = s->input[i]; /* a constant */
        h->owned[i] = s->bytes[i] > 0;
        for (unsigned k = 0; k < i; k++)
            if (h->y->inputs[k] == h->y->inputs[i]) {
                h->input[i] = h->input[k];
                h->owned[i] = false;
            }
        if (!h->owned[i])
            continue;
        h->input[i] = assay_alloc(s->bytes[i]);
        if (!h->input[i]) {
            h->owned[i] = false;
            return assay_fail(err, ASSAY_EMEMORY, "no memory for a search");
        }
        memcpy(h->input[i], s->input[i], s->bytes[i]);
    }
    return 0;
}

static int find_points(struct assay_fit_hunt *h, struct assay_err *err)
{
    uint32_t *class;
    bool done;
    int rc;

    if (h->l->kind == ASSAY_FIT_STAGED)
        return assay_fit_find_points(h->l, h->classes, h->n_classes, NULL,
                                     &h->points, err);
    class = assay_alloc(h->n_classes * sizeof(*class));
    if (!class)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a search");
    rc = assay_fit_every(h->l, h->classes, h->n_classes, class, &h->points,
                         &done, err);
    assay_free(class);
    return rc;
}

static int open_hunt(struct assay_fit_hunt *h, struct assay_err *err)
{
    size_t n = assay_fit_layer_count(h->l, -1);
    const struct assay_fit_space *space = &h->l->problem.space;
    int rc = open_inputs(h, err);

    if (rc)
        return rc;
    h->points.cap = POINTS;
    h->points.v = assay_alloc(POINTS * sizeof(*h->points.v));
    h->classes = assay_alloc(CLASSES * sizeof(*h->classes));
    h->acc = assay_alloc(n * sizeof(*h->acc) + 8);
    h->second = assay_alloc(n * sizeof(*h->second) + 8);
    h->state = assay_calloc(h->f->n + CLASSES, sizeof(*h->state));
    if (!h->points.v || !h->classes || !h->acc || !h->second || !h->state)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a search");
    h->n_classes = assay_fit_representatives(space, h->f->state, h->f->n, NULL,
                                             h->classes, CLASSES);
    for (size_t k = 0; k < h->n_classes; k++)
        h->state[h->l->kind == ASSAY_FIT_STAGED
                     ? assay_fit_index(space, &h->classes[k])
                     : k] = 1;
    return find_points(h, err);
}

int assay_fit_separate(struct assay_fit_found *f, unsigned tries,
                       struct assay_err *err)
{
    struct assay_fit_hunt h = {.f = f,
                               .l = f->l,
                               .y = assay_fit_layer_of(f->l),
                               .seed = 0x2545f4914f6cdd1du};
    int rc;

    if (f->l->n_samples == 0 || f->classes < 2)
        return 0;
    rc = open_hunt(&h, err);
    if (!rc)
        rc = hunt(&h, tries, err);
    for (unsigned i = 0; i < 4; i++)
        if (h.owned[i])
            assay_free(h.input[i]);
    assay_free(h.points.v);
    assay_free(h.classes);
    assay_free(h.acc);
    assay_free(h.second);
    assay_free(h.state);
    return rc;
}

size_t assay_fit_told(const struct assay_fit_found *f,
                      const struct assay_fit_choice *a,
                      const struct assay_fit_choice *b)
{
    const struct assay_fit_space *space = &f->l->problem.space;
    uint32_t i = f->state[assay_fit_index(space, a)];
    uint32_t j = f->state[assay_fit_index(space, b)];

    for (size_t k = 0; i && j && k < f->n_inputs; k++)
        if (f->group[k][i - 1] && f->group[k][j - 1] &&
            f->group[k][i - 1] != f->group[k][j - 1])
            return k + 1;
    return 0;
}
