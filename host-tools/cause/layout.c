/* SPDX-License-Identifier: Apache-2.0 */
/* Which arrangement gives all of got from ref: order of asking, and chance. */
#include <math.h>
#include <stdlib.h>

#include "host-tools/cause/layout_private.h"

#define ENOUGH_BITS 20.0
#define SAME_PAIR 8 /* times that a pair of values counts */
#define PASSES 16   /* over the tensor, for all arrangements together */
#define LEAST_WORK (UINT64_C(1) << 24)

static unsigned bucket_of(uint64_t v, size_t width)
{
    if (width == 1)
        return (unsigned)v;
    return (unsigned)((v * UINT64_C(0x9e3779b97f4a7c15)) >> 52);
}

int64_t assay_layout_affine(const struct assay_layout_map *m, int64_t i)
{
    int64_t at = m->offset;

    for (uint32_t a = m->rank; a-- > 0; i /= m->dims[a])
        at += i % m->dims[a] * m->strides[a];
    return at;
}

int64_t assay_layout_same_place(const struct assay_layout_map *m, int64_t i)
{
    (void)m;
    return i;
}

/* Element i is as foretold, or is not foretold (*known false). */
static bool fits_at(const struct assay_layout_ask *q,
                    const struct assay_layout_map *m, size_t i, bool *known)
{
    int64_t from = m->at(m, (int64_t)i);
    uint64_t v;

    *known = from >= 0;
    if (from < 0)
        return true;
    v = assay_layout_value(m->from != NULL ? m->from : q->ref, q->width,
                           (size_t)from);
    if (m->value != NULL)
        v = m->value(v, q->width);
    return v == assay_layout_value(q->got, q->width, i);
}

/* What it says that element i, as foretold, is not ref's: bits. */
static double surprise(const struct assay_layout_ask *q,
                       const struct assay_layout_map *m, size_t i,
                       uint8_t *pairs)
{
    uint64_t r = assay_layout_value(q->ref, q->width, i);
    uint64_t g = assay_layout_value(q->got, q->width, i);
    unsigned pair = bucket_of(r * 31 + g, 8);
    uint64_t often = q->ref_count[bucket_of(g, q->width)];

    if (r == g || pairs[pair] >= SAME_PAIR)
        return 0.0;
    pairs[pair] += !m->repeats_count;
    /* A changed value need not be one of ref's: as rare as any of them. */
    if (m->value != NULL || often == 0)
        often = q->ref_count[bucket_of(r, q->width)];
    return log2((double)q->n / (double)often);
}

static bool fits_probes(struct assay_layout_ask *q,
                        const struct assay_layout_map *m)
{
    bool known;

    for (size_t k = 0; k < q->n_probes; k++) {
        if (q->work == 0)
            return false;
        q->work--;
        if (!fits_at(q, m, q->probes[k], &known))
            return false;
    }
    return true;
}

static bool fits_all(struct assay_layout_ask *q,
                     const struct assay_layout_map *m, struct assay_layout *out)
{
    uint8_t pairs[ASSAY_LAYOUT_BUCKETS] = {0};
    double bits = 0.0, enough = ENOUGH_BITS + m->bits;
    uint64_t compared = 0;
    bool known;

    for (size_t i = 0; i < q->n; i++) {
        if (q->work == 0 || !fits_at(q, m, i, &known))
            return false;
        q->work--;
        compared += known;
        if (known && bits < enough)
            bits += surprise(q, m, i, pairs);
    }
    out->compared = compared;
    out->all = q->n;
    return bits >= enough;
}

bool assay_layout_fits(struct assay_layout_ask *q,
                       const struct assay_layout_map *m,
                       struct assay_layout *out)
{
    return fits_probes(q, m) && fits_all(q, m, out);
}

/* ---- what is looked at --------------------------------------------------- */

static bool differs(const struct assay_layout_ask *q, size_t i)
{
    return memcmp(q->ref + i * q->width, q->got + i * q->width, q->width) != 0;
}

/* Probes, spread over the elements that differ, and the box around all. */
static void look_at_differing(struct assay_layout_ask *q)
{
    size_t differing = 0, step, k = 0;

    for (size_t i = 0; i < q->n; i++)
        differing += differs(q, i);
    step = differing / ASSAY_LAYOUT_PROBES + 1;
    for (uint32_t a = 0; a < q->t->rank; a++) {
        q->lo[a] = INT64_MAX;
        q->hi[a] = -1;
    }
    q->n_probes = 0;
    for (size_t i = 0; i < q->n; i++) {
        size_t rest = i;

        if (!differs(q, i))
            continue;
        if (k++ % step == 0)
            q->probes[q->n_probes++] = i;
        for (uint32_t a = q->t->rank; a-- > 0;) {
            int64_t at = (int64_t)(rest % (size_t)q->t->dims[a]);

            rest /= (size_t)q->t->dims[a];
            q->lo[a] = at < q->lo[a] ? at : q->lo[a];
            q->hi[a] = at > q->hi[a] ? at : q->hi[a];
        }
    }
}

static void count_values(struct assay_layout_ask *q)
{
    uint64_t got[ASSAY_LAYOUT_BUCKETS] = {0};

    memset(q->ref_count, 0, sizeof(q->ref_count));
    for (size_t i = 0; i < q->n; i++) {
        q->ref_count[bucket_of(assay_layout_value(q->ref, q->width, i),
                               q->width)]++;
        got[bucket_of(assay_layout_value(q->got, q->width, i), q->width)]++;
    }
    q->same_values = memcmp(got, q->ref_count, sizeof(got)) == 0;
}

static bool constant(const uint8_t *p, size_t width, size_t n)
{
    return memcmp(p, p + width, (n - 1) * width) == 0;
}

static void new_layout(struct assay_layout *l)
{
    *l = (struct assay_layout){.axis = {-1, -1}, .n = {-1, -1}};
}

/* The entry as another name of what was found, unless it is one already. */
static void call_also(struct assay_layout *found, const char *id)
{
    unsigned i = 0;

    if (strcmp(found->id, id) == 0)
        return;
    while (i < ASSAY_LAYOUT_ALSO && found->also[i] != NULL &&
           strcmp(found->also[i], id) != 0)
        i++;
    if (i < ASSAY_LAYOUT_ALSO)
        found->also[i] = id;
}

/* The first one that fits is what was found; of others that foretell as much,
 * the entries. */
static void take(struct assay_layout *found, const struct assay_layout *l)
{
    if (found->kind == ASSAY_LAYOUT_NONE) {
        *found = *l;
        return;
    }
    if (l->compared < found->compared)
        return;
    call_also(found, l->id);
    for (unsigned i = 0; i < ASSAY_LAYOUT_ALSO && l->also[i] != NULL; i++)
        call_also(found, l->also[i]);
}

static void ask(struct assay_layout_ask *q, assay_layout_ask_fn *kind,
                struct assay_layout *found)
{
    struct assay_layout l;

    new_layout(&l);
    if (kind(q, &l)) {
        l.source_order = q->source_order;
        take(found, &l);
    }
}

static bool strided(struct assay_layout_ask *q, struct assay_layout *out)
{
    struct assay_layout other;

    if (!assay_layout_strided(q, NULL, out))
        return false;
    new_layout(&other);
    if (assay_layout_strided(q, out->id, &other))
        call_also(out, other.id);
    return true;
}

/* Kinds of buffers, which stored and source order answer differently. */
static void ask_buffer(struct assay_layout_ask *q, struct assay_layout *found)
{
    ask(q, assay_layout_permuted, found);
    ask(q, strided, found);
    ask(q, assay_layout_packed, found);
    ask(q, assay_layout_shifted, found);
}

static bool source_is_stored(const struct assay_tensor *t)
{
    for (uint32_t a = 0; a < t->rank; a++)
        if (t->perm[a] != a)
            return false;
    return true;
}

/* Stored bytes in the source's order. */
static uint8_t *to_source(const struct assay_layout_ask *q,
                          const struct assay_tensor *source, const uint8_t *p)
{
    uint8_t *out = malloc(q->n * q->width);
    struct assay_layout_map m = {.rank = source->rank};
    int64_t strides[ASSAY_MAX_RANK];

    if (out == NULL)
        return NULL;
    assay_layout_strides(q->t->dims, q->t->rank, strides);
    for (uint32_t a = 0; a < source->rank; a++) {
        m.dims[q->t->perm[a]] = q->t->dims[a];
        m.strides[q->t->perm[a]] = strides[a];
    }
    for (size_t i = 0; i < q->n; i++)
        memcpy(out + i * q->width,
               p + (size_t)assay_layout_affine(&m, (int64_t)i) * q->width,
               q->width);
    return out;
}

static void ask_source(struct assay_layout_ask *q, struct assay_layout *found)
{
    const struct assay_tensor *stored = q->t;
    const uint8_t *stored_ref = q->ref, *stored_got = q->got;
    struct assay_tensor source = *stored;
    uint8_t *ref, *got;

    for (uint32_t a = 0; a < stored->rank; a++) {
        source.dims[stored->perm[a]] = stored->dims[a];
        if (stored->axes[0] != '\0')
            source.axes[stored->perm[a]] = stored->axes[a];
    }
    ref = to_source(q, &source, q->ref);
    got = to_source(q, &source, q->got);
    if (ref != NULL && got != NULL) {
        q->t = &source;
        q->source_order = true;
        q->ref = ref;
        q->got = got;
        look_at_differing(q);
        ask_buffer(q, found);
    }
    q->t = stored;
    q->source_order = false;
    q->ref = stored_ref;
    q->got = stored_got;
    free(ref);
    free(got);
}

static bool is_permutation(const struct assay_tensor *t)
{
    uint32_t seen = 0;

    for (uint32_t a = 0; a < t->rank; a++)
        if (t->perm[a] < t->rank)
            seen |= UINT32_C(1) << t->perm[a];
    return seen == (UINT32_C(1) << t->rank) - 1;
}

bool assay_layout_find(struct assay_layout *out, const struct assay_tensor *t,
                       const void *ref, const void *got,
                       const struct assay_slice *whole,
                       const void *const *values)
{
    struct assay_layout_ask q = {.t = t,
                                 .width = assay_dtype_bytes(t->dtype),
                                 .n = 1,
                                 .ref = ref,
                                 .got = got};
    struct assay_layout other;

    new_layout(out);
    for (uint32_t a = 0; a < t->rank; a++)
        q.n *= (size_t)t->dims[a]; /* proved by the plan */
    if (q.n < 2 || q.width == 0 || memcmp(ref, got, q.n * q.width) == 0 ||
        constant(ref, q.width, q.n) || constant(got, q.width, q.n))
        return false;
    q.work = PASSES * (uint64_t)q.n + LEAST_WORK;
    count_values(&q);
    look_at_differing(&q);
    ask(&q, assay_layout_sign, out);
    ask(&q, assay_layout_byte_order, out);
    new_layout(&other);
    if (assay_layout_other_output(&q, whole, values, &other))
        take(out, &other);
    ask(&q, assay_layout_reversed, out);
    ask(&q, assay_layout_swapped, out);
    ask_buffer(&q, out);
    if (is_permutation(t) && !source_is_stored(t))
        ask_source(&q, out);
    return out->kind != ASSAY_LAYOUT_NONE;
}
