/* SPDX-License-Identifier: Apache-2.0 */
/* Does a chain give what was read, and would chance do the same? */
#include <math.h>
#include <string.h>

#include "host-tools/output/search_private.h"

#define SAME_VALUE 4 /* times that a value counts */
#define NEW_BITS 16.0
#define ENOUGH_BITS 12.0

unsigned assay_output_bucket(struct assay_output_value v)
{
    double d = assay_output_real(v) + 0.0;
    uint64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    return (unsigned)((bits * UINT64_C(0x9e3779b97f4a7c15)) >> 52);
}

/* ---- judging a chain ----------------------------------------------------- */

static struct assay_output_value read_at(const struct assay_output_search *s,
                                         const struct assay_output_node *n,
                                         size_t sample, int64_t i)
{
    const struct assay_output_got *g = s->ask.got;
    struct assay_output_value v = assay_output_read(g, n->dtype, sample, i), o;
    int64_t inner = 1, first;
    double sum = 0.0;

    if (n->undo == ASSAY_OUTPUT_UNDO_NOTHING)
        return v;
    if (n->undo == ASSAY_OUTPUT_UNDO_SIGMOID)
        return assay_output_float(1.0 / (1.0 + exp(-assay_output_real(v))));
    for (uint32_t a = (uint32_t)n->undo_axis + 1; a < n->rank; a++)
        inner *= n->dims[a];
    first = i - i / inner % n->dims[n->undo_axis] * inner;
    for (int64_t c = 0; c < n->dims[n->undo_axis]; c++) {
        o = assay_output_read(g, n->dtype, sample, first + c * inner);
        sum += exp(assay_output_real(o) - assay_output_real(v));
    }
    return assay_output_float(1.0 / sum);
}

bool assay_output_fits_at(const struct assay_output_search *s,
                          const struct assay_output_node *n, size_t sample,
                          int64_t i, bool *known, bool *within)
{
    struct assay_output_value v = n->at(n, sample, i), g;

    *known = v.known;
    if (!v.known)
        return true;
    g = read_at(s, n, sample, i);
    if (assay_output_same(v, g))
        return true;
    *within = true;
    return (n->dtype == ASSAY_F32 || s->ask.got->loose) &&
           assay_output_near(v, g);
}

bool assay_output_as_expected(const struct assay_output_search *s,
                              int64_t count, size_t sample, int64_t i,
                              struct assay_output_value g)
{
    const struct assay_output_tensor *t =
        &s->ask.m->heads[s->expected != SIZE_MAX ? s->expected : s->ask.head].t;
    int64_t gives = 1;

    if (s->unboxed)
        return false;
    for (uint32_t a = 0; a < t->rank; a++)
        gives *= t->dims[a];
    return count == gives && t->values[sample] != NULL &&
           assay_output_same(assay_output_load(t->values[sample], t->dtype, i),
                             g);
}

static void count_values(struct assay_output_search *s, enum assay_dtype dtype)
{
    const struct assay_output_got *g = s->ask.got;
    int64_t n = assay_output_elements(g, dtype);

    if (s->counted[dtype])
        return;
    s->counted[dtype] = true;
    for (size_t k = 0; k < s->ask.m->n_samples; k++)
        for (int64_t i = 0; g->values[k] != NULL && i < n; i++)
            s->often[dtype]
                    [assay_output_bucket(assay_output_read(g, dtype, k, i))]++;
}

/* Do fewer steps of the chain give it as well? Then it is no evidence of the
 * others, which may do nothing but leave gaps where something else stands. */
static bool without_it(const struct assay_output_node *n, size_t sample,
                       int64_t i, struct assay_output_value g)
{
    const struct assay_output_node *a = n->from;

    if (n->cut && a != NULL) /* the size itself is what is seen */
        a = a->from;
    for (; a != NULL && n->undo == ASSAY_OUTPUT_UNDO_NOTHING; a = a->from) {
        struct assay_output_value v = {.known = false};

        if (i < a->count)
            v = a->at(a, sample, i);
        if (v.known && assay_output_same(v, g))
            return true;
    }
    return false;
}

/* What it says that this element is as foretold: bits. */
static double surprise(struct assay_output_search *s,
                       const struct assay_output_node *n, int64_t count,
                       size_t sample, int64_t i)
{
    struct assay_output_value g =
        assay_output_read(s->ask.got, n->dtype, sample, i);
    double real = assay_output_real(g), bits;
    unsigned b = assay_output_bucket(g);

    if (s->used_values[b] >= SAME_VALUE || !isfinite(real) ||
        assay_output_as_expected(s, count, sample, i, g) ||
        without_it(n, sample, i, g))
        return 0.0;
    if (n->undo != ASSAY_OUTPUT_UNDO_NOTHING) {
        double f = assay_output_real(read_at(s, n, sample, i));

        /* Where the function is flat, anything fits. */
        if (f < 1e-4 || f > 1.0 - 1e-4)
            return 0.0;
    }
    s->used_values[b]++;
    bits = log2((double)s->read /
                (double)assay_dtype_bytes(s->ask.got->raw ? n->dtype
                                                          : s->ask.got->dtype) /
                (double)s->often[n->dtype][b]);
    if (s->given[b] == 0 && floor(real) != real)
        return NEW_BITS;
    return s->given[b] == 0 ? fmax(bits, s->range_bits) : bits;
}

/* The whole of what was read, once its probes fit. */
static bool fits_all(struct assay_output_search *s,
                     const struct assay_output_node *n, int64_t count,
                     struct assay_output_hit *hit, bool *proved)
{
    const struct assay_output_got *g = s->ask.got;
    double enough = ENOUGH_BITS + log2((double)s->tried + 1.0), bits = 0.0;
    bool known, within = false;

    memset(s->used_values, 0, sizeof(s->used_values));
    count_values(s, n->dtype);
    memset(hit, 0, sizeof(*hit));
    for (size_t k = 0; k < s->ask.m->n_samples; k++) {
        for (int64_t i = 0; g->values[k] != NULL && i < count; i++) {
            if (!assay_output_fits_at(s, n, k, i, &known, &within))
                return false;
            hit->all++;
            hit->compared += known;
            if (known && bits < enough)
                bits += surprise(s, n, count, k, i);
        }
    }
    hit->within = within;
    *proved = bits >= enough;
    /* Steps without any evidence only leave gaps. */
    return hit->compared > 0 && (bits > 0.0 || s->n_steps + s->left == 0);
}

bool assay_output_judge(struct assay_output_search *s,
                        const struct assay_output_node *n,
                        struct assay_output_hit *hit, bool *proved)
{
    const struct assay_output_got *g = s->ask.got;
    int64_t count = assay_output_elements(g, n->dtype);
    int64_t width = (int64_t)assay_dtype_bytes(g->raw ? n->dtype : g->dtype);
    bool known, within = false, any = false;

    s->tried++;
    if (count <= 0 || (n->padded ? count > n->count : count != n->count))
        return false;
    if (n->undo != ASSAY_OUTPUT_UNDO_NOTHING &&
        (count != n->count || (!g->raw && g->dtype != ASSAY_F32)))
        return false;
    for (size_t k = 0; k < s->n_probes; k++) {
        if (!assay_output_fits_at(s, n, s->probes[k].sample,
                                  s->probes[k].byte / width, &known, &within))
            return false;
        any = any || known;
    }
    return any && fits_all(s, n, count, hit, proved);
}
