/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is seen without a search: one value throughout, cache lines of another
 * sample, a shape that says another layout than the elements have. And what
 * can be said of what nothing explains.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/output/output_private.h"

#define LINE_BYTES 64
#define LEAST 8 /* elements that tell a stale line */

static void explain_by(struct assay_output_result *out,
                       const struct assay_output_ask *q,
                       enum assay_output_id id, const char *fmt, ...)
    ASSAY_PRINTF(4, 5);

static void explain_by(struct assay_output_result *out,
                       const struct assay_output_ask *q,
                       enum assay_output_id id, const char *fmt, ...)
{
    struct assay_output_hit *h = &out->hits[0];
    size_t width = q->got->raw ? assay_dtype_bytes(q->m->heads[q->head].t.dtype)
                               : assay_dtype_bytes(q->got->dtype);
    va_list args;

    memset(h, 0, sizeof(*h));
    out->n_hits = 1;
    out->n_more = 0;
    out->weak = false;
    h->head = q->head;
    h->n_steps = 1;
    h->steps[0].id = id;
    va_start(args, fmt);
    vsnprintf(h->steps[0].text, sizeof(h->steps[0].text), fmt, args);
    va_end(args);
    h->compared = h->all = out->samples * (q->got->bytes / width);
}

/* ---- one value ----------------------------------------------------------- */

static bool one_value(void *const *values, size_t n, enum assay_dtype dtype,
                      int64_t count, struct assay_output_value *v)
{
    bool any = false;

    for (size_t k = 0; k < n; k++) {
        for (int64_t i = 0; values[k] != NULL && i < count; i++) {
            struct assay_output_value x =
                assay_output_load(values[k], dtype, i);

            if (any && !assay_output_same(*v, x))
                return false;
            *v = x;
            any = true;
        }
    }
    return any;
}

bool assay_output_constant(struct assay_output_result *out,
                           const struct assay_output_ask *q)
{
    const struct assay_output_got *g = q->got;
    enum assay_dtype dtype = g->raw ? q->m->heads[q->head].t.dtype : g->dtype;
    struct assay_output_node n;
    struct assay_output_value v = {0}, x = {0};
    int64_t count = assay_output_elements(g, dtype);

    assay_output_root(&n, &q->m->heads[q->head].t, q->own);
    if (count < 4 || !one_value(g->values, q->m->n_samples, dtype, count, &v) ||
        one_value(n.t->values, q->m->n_samples, n.dtype, n.count, &x))
        return false;
    explain_by(out, q, ASSAY_OUTPUT_CONSTANT, "%g everywhere",
               assay_output_real(v));
    return true;
}

/* ---- cache lines --------------------------------------------------------- */

struct lines {
    uint64_t own, other, elements; /* lines; elements that tell */
};

/* Is each line of a sample its own or the other's? other NULL: zeros. */
static bool in_lines(struct lines *l, const uint8_t *got, const uint8_t *own,
                     const uint8_t *other, size_t bytes, size_t width)
{
    static const uint8_t zeros[LINE_BYTES];

    for (size_t at = 0; at < bytes; at += LINE_BYTES) {
        size_t n = bytes - at < LINE_BYTES ? bytes - at : LINE_BYTES;
        const uint8_t *o = other != NULL ? other + at : zeros;

        if (memcmp(got + at, own + at, n) == 0) {
            l->own += memcmp(own + at, o, n) != 0;
            continue;
        }
        if (memcmp(got + at, o, n) != 0)
            return false;
        l->other++;
        for (size_t i = 0; i + width <= n; i += width)
            l->elements += memcmp(got + at + i, own + at + i, width) != 0;
    }
    return true;
}

/* step: from a sample to the one whose lines stand in it; 0: zeros. */
static bool lines_of(struct lines *l, const struct assay_output_ask *q,
                     const struct assay_output_node *n, int step)
{
    const struct assay_output_got *g = q->got;
    size_t width = assay_dtype_bytes(n->dtype);

    memset(l, 0, sizeof(*l));
    for (size_t k = 0; k < q->m->n_samples; k++) {
        size_t other = k + (size_t)step;

        if (g->values[k] == NULL)
            continue;
        if (n->t->values[k] == NULL)
            return false;
        if (step != 0 &&
            (other >= q->m->n_samples || n->t->values[other] == NULL)) {
            /* Nothing is known of what it was before: all is its own. */
            if (memcmp(g->values[k], n->t->values[k], g->bytes) != 0)
                return false;
            continue;
        }
        if (!in_lines(l, g->values[k], n->t->values[k],
                      step != 0 ? n->t->values[other] : NULL, g->bytes, width))
            return false;
    }
    return l->own > 0 && l->other > 0 && l->elements >= LEAST;
}

bool assay_output_tiles(struct assay_output_result *out,
                        const struct assay_output_ask *q)
{
    static const struct {
        int step;
        const char *text;
    } all[] = {{-1, "of the sample before"},
               {1, "of the sample behind"},
               {0, "zeros, never written or never read"}};
    const struct assay_output_got *g = q->got;
    struct assay_output_node n;
    struct lines l;

    assay_output_root(&n, &q->m->heads[q->head].t, q->own);
    if (!g->raw && g->dtype != n.dtype)
        return false;
    if (g->bytes != (size_t)n.count * assay_dtype_bytes(n.dtype))
        return false;
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
        if (!lines_of(&l, q, &n, all[k].step))
            continue;
        explain_by(out, q, ASSAY_OUTPUT_STALE_TILES,
                   "%llu lines of %d bytes are %s", (unsigned long long)l.other,
                   LINE_BYTES, all[k].text);
        return true;
    }
    return false;
}

/* ---- shapes -------------------------------------------------------------- */

static uint32_t squeeze(int64_t *out, const int64_t *dims, uint32_t rank)
{
    uint32_t n = 0;

    for (uint32_t a = 0; a < rank; a++)
        if (dims[a] != 1)
            out[n++] = dims[a];
    return n;
}

static void shape_text(char *out, size_t cap, const int64_t *dims,
                       uint32_t rank)
{
    size_t at = 0;

    out[0] = '\0';
    for (uint32_t a = 0; a < rank && at < cap; a++)
        at += (size_t)snprintf(out + at, cap - at, "%s%lld", a > 0 ? "x" : "",
                               (long long)dims[a]);
}

/* The same sizes in another order, over elements that did not move. */
bool assay_output_reshaped(struct assay_output_result *out,
                           const struct assay_output_ask *q)
{
    const struct assay_output_got *g = q->got;
    const struct assay_output_tensor *t = &q->m->heads[q->head].t;
    int64_t a[ASSAY_MAX_RANK], b[ASSAY_MAX_RANK];
    uint32_t n = squeeze(a, t->dims, t->rank);
    char is[48], was[48];

    if (g->raw || squeeze(b, g->dims, g->rank) != n || n < 2 ||
        memcmp(a, b, n * sizeof(*a)) == 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;

        while (k < n && b[k] != a[i])
            k++;
        if (k == n)
            return false;
        b[k] = b[i];
    }
    shape_text(was, sizeof(was), t->dims, t->rank);
    shape_text(is, sizeof(is), g->dims, g->rank);
    explain_by(out, q, ASSAY_OUTPUT_RESHAPED, "%s is called %s", was, is);
    return true;
}

/* ---- evidence ------------------------------------------------------------ */

struct sums {
    double rr, gg, rg, max;
    uint64_t model_hash, got_hash; /* of numbers, in any order */
    bool first, ratio, offset;
};

static uint64_t mixed(struct assay_output_value v)
{
    double d = assay_output_real(v) + 0.0;
    uint64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    bits ^= bits >> 31;
    bits *= UINT64_C(0x9e3779b97f4a7c15);
    return bits ^ bits >> 29;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fmax(fabs(a), fabs(b));
}

static void look(struct assay_output_evidence *e, struct sums *s, size_t k,
                 int64_t i, struct assay_output_value v,
                 struct assay_output_value g)
{
    double m = assay_output_real(v), r = assay_output_real(g);

    e->all++;
    s->model_hash += mixed(v);
    s->got_hash += mixed(g);
    s->rr += m * m;
    s->gg += r * r;
    s->rg += m * r;
    if (fabs(m) > 1e-30 && !s->first) {
        s->first = true;
        e->ratio = r / m;
        e->offset = r - m;
    }
    s->ratio = s->ratio && close_to(r, m * e->ratio);
    s->offset = s->offset && close_to(r, m + e->offset);
    if (assay_output_same(v, g))
        return;
    e->differing++;
    e->max_abs = fmax(e->max_abs, fabs(r - m));
    if (e->n_first < ASSAY_OUTPUT_FIRST) {
        e->first[e->n_first].sample = k;
        e->first[e->n_first].index = i;
        e->first[e->n_first].model = m;
        e->first[e->n_first++].got = r;
    }
}

void assay_output_evidence(struct assay_output_evidence *e,
                           const struct assay_output_ask *q)
{
    const struct assay_output_got *g = q->got;
    struct assay_output_node n;
    struct sums s = {.ratio = true, .offset = true};

    assay_output_root(&n, &q->m->heads[q->head].t, q->own);
    memset(e, 0, sizeof(*e));
    e->cosine = NAN;
    e->gives = n.count;
    e->read = assay_output_elements(g, n.dtype);
    e->comparable = e->read == n.count;
    if (!e->comparable)
        return;
    for (size_t k = 0; k < q->m->n_samples; k++)
        for (int64_t i = 0;
             g->values[k] != NULL && n.t->values[k] != NULL && i < n.count; i++)
            look(e, &s, k, i, assay_output_load(n.t->values[k], n.dtype, i),
                 assay_output_read(g, n.dtype, k, i));
    e->same_numbers = e->all > 1 && s.model_hash == s.got_hash;
    e->has_ratio = s.first && s.ratio && e->all > 3;
    e->has_offset = s.first && s.offset && !e->has_ratio && e->all > 3;
    if (s.rr > 0.0 && s.gg > 0.0)
        e->cosine = s.rg / sqrt(s.rr * s.gg);
}
