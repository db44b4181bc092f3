/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of steps, fewest first: what is tried, and what proves one. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/output/search_private.h"

static const struct {
    assay_output_family_fn *run;
    unsigned most; /* times in a chain */
} families[] = {
    {assay_output_functions, 1}, {assay_output_boxes, 2},
    {assay_output_types, 1},     {assay_output_permuted, 1},
    {assay_output_strided, 2},   {assay_output_moved, 1},
    {assay_output_cut, 1},
};
#define N_FAMILIES (sizeof(families) / sizeof(families[0]))

const struct assay_output_ask *assay_output_asking(
    const struct assay_output_search *s)
{
    return &s->ask;
}

static bool same_steps_but(const struct assay_output_hit *h,
                           const struct assay_output_search *s,
                           enum assay_output_id id)
{
    bool one = false;

    if (h->n_steps != s->n_steps)
        return false;
    for (size_t k = 0; k < s->n_steps; k++) {
        if (h->steps[k].id != s->steps[k].id)
            return false;
        if (strcmp(h->steps[k].text, s->steps[k].text) != 0) {
            if (one || s->steps[k].id != id)
                return false;
            one = true;
        }
    }
    return one;
}

static void keep(struct assay_output_search *s, struct assay_output_hit *hit,
                 size_t bytes, bool weak)
{
    struct assay_output_result *r = s->out;

    hit->head = s->ask.head;
    hit->n_steps = s->n_steps;
    memcpy(hit->steps, s->steps, sizeof(hit->steps));
    if (r->n_hits > 0 &&
        (weak != r->weak
             ? weak
             : bytes < s->best ||
                   (bytes == s->best && hit->within && !r->hits[0].within)))
        return;
    if (r->n_hits > 0 && (weak != r->weak || bytes > s->best ||
                          (r->hits[0].within && !hit->within)))
        r->n_hits = r->n_more = 0;
    /* Two orders of axes that move the same elements are one. */
    for (size_t k = 0; k < r->n_hits; k++)
        if (same_steps_but(&r->hits[k], s, ASSAY_OUTPUT_PERMUTED) &&
            strncmp(s->steps[s->n_steps - 1].text, "taken", 5) == 0)
            return;
    s->best = bytes;
    r->weak = weak;
    if (r->n_hits < ASSAY_OUTPUT_HITS)
        r->hits[r->n_hits++] = *hit;
    else
        r->n_more++;
}

static size_t bytes_of(const struct assay_output_search *s,
                       const struct assay_output_node *n,
                       const struct assay_output_hit *hit)
{
    const struct assay_output_got *g = s->ask.got;

    return (size_t)hit->compared *
           assay_dtype_bytes(g->raw ? n->dtype : g->dtype);
}

/* ---- chains -------------------------------------------------------------- */

static void expand(struct assay_output_search *s,
                   const struct assay_output_node *n, size_t from, size_t used)
{
    size_t family = s->family, was = s->used;

    for (size_t f = from; f < N_FAMILIES; f++) {
        s->family = f;
        s->used = f == from ? used : 0;
        if (s->used < families[f].most)
            families[f].run(s, n);
    }
    s->family = family;
    s->used = was;
}

void assay_output_visit(struct assay_output_search *s,
                        const struct assay_output_node *n,
                        enum assay_output_id id, const char *fmt, ...)
{
    struct assay_output_step *step = &s->steps[s->n_steps];
    struct assay_output_hit hit;
    bool fits = false, proved = true;
    va_list args;

    /* Most chains do not fit: their words are not written. */
    if (s->left == 1) {
        fits = assay_output_judge(s, n, &hit, &proved);
        if (!fits)
            return;
    }
    step->id = id;
    va_start(args, fmt);
    vsnprintf(step->text, sizeof(step->text), fmt, args);
    va_end(args);
    s->n_steps++;
    s->left--;
    s->ask.deeper = s->left > 0 ? s->left - 1 : 0;
    if (fits)
        keep(s, &hit, bytes_of(s, n, &hit), !proved);
    else
        expand(s, n, s->family, s->used + 1);
    s->left++;
    s->n_steps--;
    s->ask.deeper = s->left - 1;
}

/* A root of a chain of s->left more steps. */
static void give(struct assay_output_search *s,
                 const struct assay_output_node *n, int id, const char *text)
{
    struct assay_output_hit hit;
    size_t more = id >= 0;
    bool proved;

    if (more > s->left)
        return;
    if (more > 0) {
        s->steps[s->n_steps].id = (enum assay_output_id)id;
        snprintf(s->steps[s->n_steps].text, sizeof(s->steps[0].text), "%s",
                 text);
    }
    s->n_steps += more;
    s->left -= more;
    if (s->left > 0) {
        s->ask.deeper = s->left - 1;
        expand(s, n, 0, 0);
    } else if (assay_output_judge(s, n, &hit, &proved)) {
        keep(s, &hit, bytes_of(s, n, &hit), s->n_steps > 0 && !proved);
    }
    s->left += more;
    s->n_steps -= more;
}

static void push(struct assay_output_search *s, enum assay_output_id id,
                 const char *fmt, const char *arg)
{
    struct assay_output_step *step = &s->steps[s->n_steps++];

    step->id = id;
    snprintf(step->text, sizeof(step->text), fmt, arg);
    s->left--;
}

/* Where one sample alone was read, it may be any other one. */
static void push_order(struct assay_output_search *s, size_t o)
{
    static const char *const whose[] = {
        "", "each sample's is that of the one before",
        "each sample's is that of the one behind",
        "every sample's is that of the first",
        "every sample's is that of the last"};
    char text[64];

    if (s->only == SIZE_MAX) {
        push(s, ASSAY_OUTPUT_OTHER_SAMPLE, "%s", whose[o]);
        return;
    }
    snprintf(text, sizeof(text), "sample %zu's, not sample %zu's",
             s->orders[o][s->only], s->only);
    push(s, ASSAY_OUTPUT_OTHER_SAMPLE, "%s", text);
}

/* All chains of exactly `depth` steps. */
static void all_of(struct assay_output_search *s, size_t depth)
{
    const struct assay_output_model *m = s->ask.m;

    for (size_t o = 0; o < s->n_orders && (o == 0 || depth > 0); o++) {
        for (size_t h = 0; h < m->n_heads; h++) {
            bool other = s->expected != SIZE_MAX && h != s->expected;

            if ((size_t)(o > 0) + other > depth)
                continue;
            s->n_steps = 0;
            s->left = depth;
            if (o > 0)
                push_order(s, o);
            if (other)
                push(s, ASSAY_OUTPUT_OTHER_HEAD, "it is '%.100s'",
                     m->heads[h].t.name);
            s->ask.head = h;
            assay_output_roots(s, h, s->orders[o], give);
        }
    }
}

/* ---- beginning ----------------------------------------------------------- */

/* The first sample may have been right: nothing was there before it. */
static bool first_is_right(const struct assay_output_search *s)
{
    const struct assay_output_got *g = s->ask.got;
    struct assay_output_node n;
    bool known, within, good;

    if (s->expected == SIZE_MAX || g->values[0] == NULL ||
        s->ask.m->heads[s->expected].t.values[0] == NULL)
        return false;
    assay_output_root(&n, &s->ask.m->heads[s->expected].t, s->orders[0]);
    good = assay_output_elements(g, n.dtype) == n.count;
    for (int64_t i = 0; good && i < n.count; i++)
        good = assay_output_fits_at(s, &n, 0, i, &known, &within);
    return good;
}

static bool make_orders(struct assay_output_search *s, struct assay_arena *a)
{
    const struct assay_output_got *g = s->ask.got;
    size_t n = s->ask.m->n_samples, given = 0;

    for (size_t k = 0; k < n; k++) {
        if (g->values[k] == NULL)
            continue;
        s->only = given++ == 0 ? k : SIZE_MAX;
    }
    s->n_orders = given > 1                 ? 5
                  : n < ASSAY_OUTPUT_ORDERS ? n
                                            : ASSAY_OUTPUT_ORDERS;
    for (size_t o = 0; o < s->n_orders; o++) {
        s->orders[o] = assay_arena_array(a, n, sizeof(*s->orders[o]));
        if (s->orders[o] == NULL)
            return false;
        /* All others, where one was read. */
        for (size_t k = 0; k < n; k++)
            s->orders[o][k] = o == 0 ? k : o - (o <= s->only);
    }
    s->ask.own = s->orders[0];
    for (size_t k = 0; k < n && given > 1; k++) {
        s->orders[1][k] = k == 0 ? SIZE_MAX : k - 1;
        s->orders[2][k] = k + 1 < n ? k + 1 : SIZE_MAX;
        s->orders[3][k] = 0;
        s->orders[4][k] = n - 1;
    }
    if (given > 1 && first_is_right(s))
        s->orders[1][0] = 0;
    return true;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* Elements that are looked at first: half of them such as differ. */
static void choose_probes(struct assay_output_search *s)
{
    const struct assay_output_got *g = s->ask.got;
    size_t n = s->ask.m->n_samples;
    uint64_t state = 1;

    for (size_t tries = 0;
         tries < 64 * ASSAY_OUTPUT_PROBES && s->n_probes < ASSAY_OUTPUT_PROBES;
         tries++) {
        size_t k = next_random(&state) % n, at = next_random(&state) % g->bytes;
        enum assay_dtype dtype = g->dtype;
        int64_t count, i;

        if (g->values[k] == NULL)
            continue;
        if (s->expected != SIZE_MAX && g->raw)
            dtype = s->ask.m->heads[s->expected].t.dtype;
        count = assay_output_elements(g, dtype);
        i = (int64_t)(at / assay_dtype_bytes(dtype));
        if (tries < 32 * ASSAY_OUTPUT_PROBES &&
            s->n_probes < ASSAY_OUTPUT_PROBES / 2 && i < count &&
            assay_output_as_expected(s, count, k, i,
                                     assay_output_read(g, dtype, k, i)))
            continue;
        s->probes[s->n_probes].sample = k;
        s->probes[s->n_probes++].byte = (int64_t)at;
    }
}

static void look_at_values(struct assay_output_search *s)
{
    const struct assay_output_model *m = s->ask.m;
    const struct assay_output_got *g = s->ask.got;
    double lo = INFINITY, hi = -INFINITY;

    for (size_t h = 0; h < m->n_heads; h++) {
        struct assay_output_node n;

        assay_output_root(&n, &m->heads[h].t, s->orders[0]);
        for (size_t k = 0; k < m->n_samples; k++)
            for (int64_t i = 0; n.t->values[k] != NULL && i < n.count; i++)
                s->given[assay_output_bucket(
                    assay_output_load(n.t->values[k], n.dtype, i))] = 1;
    }
    for (size_t k = 0; k < m->n_samples; k++) {
        int64_t n = assay_output_elements(g, g->dtype);

        if (g->values[k] == NULL)
            continue;
        s->read += g->bytes;
        for (int64_t i = 0; !g->raw && i < n; i++) {
            double d = assay_output_real(assay_output_read(g, g->dtype, k, i));

            lo = fmin(lo, d);
            hi = fmax(hi, d);
        }
    }
    if (!g->raw && hi > lo && isfinite(hi - lo))
        s->range_bits = fmin(8.0, log2(hi - lo + 1.0));
}

/* An npy that was read as raw bytes begins with its magic and its length. */
static int64_t npy_header(const struct assay_output_got *g, size_t n_samples)
{
    for (size_t k = 0; k < n_samples; k++) {
        const uint8_t *p = g->values[k];

        if (p == NULL)
            continue;
        if (g->bytes < 16 || memcmp(p, "\x93NUMPY\x01", 7) != 0)
            return 0;
        return 10 + p[8] + 256 * p[9];
    }
    return 0;
}

static bool should_be_unboxed(const struct assay_output_search *s)
{
    struct assay_output_node n;
    int axis;

    if (s->expected == SIZE_MAX || s->ask.m->image_w == 0)
        return false;
    assay_output_root(&n, &s->ask.m->heads[s->expected].t, s->orders[0]);
    axis = assay_output_box_axis(&n);
    return axis >= 0 && n.dims[axis] == 4 && n.dtype == ASSAY_F32;
}

static void deepen(struct assay_output_search *s, struct assay_output_ask *q)
{
    struct assay_output_result *r = s->out;

    all_of(s, 0);
    if (r->n_hits > 0) {
        r->head = r->hits[0].head;
        r->status =
            r->hits[0].within ? ASSAY_OUTPUT_WITHIN : ASSAY_OUTPUT_EQUAL;
        q->head = r->head;
        if (assay_output_reshaped(r, q))
            r->status = ASSAY_OUTPUT_EXPLAINED;
        return;
    }
    r->status = ASSAY_OUTPUT_EXPLAINED;
    if (q->head != SIZE_MAX && assay_output_constant(r, q))
        return;
    for (size_t depth = 1; depth <= ASSAY_OUTPUT_STEPS; depth++) {
        all_of(s, depth);
        if (r->n_hits > 0 && !r->weak)
            break;
        if (depth == 1 && q->head != SIZE_MAX && assay_output_tiles(r, q))
            return;
    }
    if (r->n_hits == 0 || r->weak) {
        r->status = ASSAY_OUTPUT_UNEXPLAINED;
        if (q->head != SIZE_MAX)
            assay_output_evidence(&r->evidence, q);
    }
}

int assay_output_explain(struct assay_output_result *out,
                         const struct assay_output_model *m,
                         const struct assay_output_got *got,
                         struct assay_err *err)
{
    struct assay_arena *arena = assay_arena_new();
    struct assay_output_search *s =
        arena != NULL ? assay_arena_alloc(arena, sizeof(*s)) : NULL;
    struct assay_output_ask notice;
    int rc = 0;

    memset(out, 0, sizeof(*out));
    if (s != NULL) {
        s->ask = (struct assay_output_ask){.m = m, .got = got};
        s->out = out;
        s->expected = got->expected >= 0 ? (size_t)got->expected : SIZE_MAX;
    }
    if (s == NULL || !make_orders(s, arena)) {
        assay_arena_free(arena);
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    }
    for (size_t k = 0; k < m->n_samples; k++)
        out->samples += got->values[k] != NULL;
    if (out->samples == 0 || got->bytes == 0) {
        rc = assay_fail(err, ASSAY_EMISMATCH, "'%.100s': nothing was read",
                        got->name);
    } else {
        look_at_values(s);
        choose_probes(s);
        s->unboxed = should_be_unboxed(s);
        s->ask.npy_header = npy_header(got, m->n_samples);
        notice = s->ask;
        notice.head = s->expected;
        if (m->n_heads == 1)
            notice.head = 0;
        deepen(s, &notice);
        out->tried = s->tried;
    }
    assay_arena_free(arena);
    return rc;
}
