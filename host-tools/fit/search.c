/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/fit/search.h"

#include <string.h>

#include "kernels/requant.h"

#define BLOCK 2048u
#define FIRST 256u /* the first block is small: most candidates die in it */
#define LEVELS 6   /* WIDTH PRE MIDDLE DERIVE POST OUT */
#define MOST 8     /* choices of one level */
#define TERMS 16

enum mode { FILTER, SPLIT, COUNT };

struct machine {
    const struct assay_fit_problem *p;
    enum mode mode;
    size_t n; /* of the block */
    uint32_t *channel;
    int64_t *acc, *second, *golden;
    int64_t *term[TERMS];
    const int64_t *bias_term, *second_term; /* of the join under way */
    unsigned bias_at, second_at;
    int64_t *v[LEVELS + 1][MOST]; /* [0][0]: what goes in */
    uint32_t *live[LEVELS + 1];   /* union of the candidates of a group */
    size_t sub[LEVELS + 1];       /* candidates below one choice of a level */
    unsigned derive;
    uint64_t *seen; /* SPLIT: hashes of the block's outputs */
    size_t n_seen, cap_seen;
    void *memory;
};

static int64_t add64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t mul64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

int64_t assay_fit_width(int64_t v, unsigned width)
{
    return width == 1 ? assay_wrap(v, 32) : width == 2 ? assay_sat(v, 32) : v;
}

int64_t assay_fit_middle(int64_t v, unsigned middle)
{
    switch (middle) {
    case 1: return assay_sat(v, 16);
    case 2: return assay_wrap(v, 16);
    case 3: return assay_sat(v, 32);
    case 4: return assay_wrap(v, 32);
    default: return v;
    }
}

static int64_t shift(int64_t v, int64_t by, unsigned round)
{
    return by > 62 ? assay_shr(assay_shr(v, 62, (enum assay_round)round),
                               (int)(by > 124 ? 62 : by - 62),
                               (enum assay_round)round)
                   : assay_shr(v, (int)(by < -62 ? -62 : by),
                               (enum assay_round)round);
}

int64_t assay_fit_term(const struct assay_fit_problem *p, unsigned how,
                       unsigned round, int64_t second, uint32_t channel)
{
    int64_t by = p->second_shift ? p->second_shift[channel] : 0;
    int64_t k = p->second_scale ? p->second_scale[channel] : 1;
    int64_t t = how ? shift(mul64(second, k), by, round)
                    : mul64(shift(second, by, round), k);
    return p->subtract ? (int64_t)(0 - (uint64_t)t) : t;
}

static int64_t output(const struct assay_fit_problem *p, unsigned out,
                      int64_t v)
{
    unsigned bits = (unsigned)assay_dtype_bytes(p->dtype) * 8;
    int64_t lo, hi;
    assay_dtype_range(p->dtype, &lo, &hi);
    if (lo == 0) /* unsigned */
        v = out      ? (int64_t)((uint64_t)v & (uint64_t)hi)
            : v < lo ? lo
            : v > hi ? hi
                     : v;
    else
        v = out ? assay_wrap(v, bits) : assay_sat(v, bits);
    return p->relu && v < 0 ? 0 : v;
}

int64_t assay_fit_output(const struct assay_fit_problem *p,
                         const struct assay_fit_choice *c, int64_t acc,
                         int64_t second, uint32_t channel)
{
    const uint8_t *k = c->v;
    unsigned d = k[ASSAY_FIT_DERIVE];
    int64_t b = p->bias ? p->bias[channel] : 0, t = 0, v = acc;
    bool has_second = p->second_shift || p->second_scale;

    if (has_second)
        t = assay_fit_term(p, k[ASSAY_FIT_HOW], k[ASSAY_FIT_SECOND_ROUND],
                           second, channel);
    for (unsigned at = 0; at < 3; at++) {
        if (at == 1 && p->pre_shift)
            v = shift(v, p->pre_shift[channel], k[ASSAY_FIT_PRE]);
        if (at == 2 && p->scale[d])
            v = mul64(v, p->scale[d][channel]);
        if (k[ASSAY_FIT_BIAS] == at)
            v = add64(v, b);
        if (k[ASSAY_FIT_SECOND] == at)
            v = add64(v, t);
        if (at == 0)
            v = assay_fit_width(v, k[ASSAY_FIT_WIDTH]);
        if (at == 1)
            v = assay_fit_middle(v, k[ASSAY_FIT_MIDDLE]);
    }
    if (p->post_shift[d])
        v = shift(v, p->post_shift[d][channel], k[ASSAY_FIT_POST]);
    return output(p, k[ASSAY_FIT_OUT], v);
}

/* ---- one block ------------------------------------------------------------- */

#define EACH(expr) \
    for (size_t i = 0; i < m->n; i++) \
    out[i] = (expr)

static void join_at(const struct machine *m, unsigned at, int64_t *out)
{
    if (m->bias_at == at && m->p->bias)
        EACH(add64(out[i], m->p->bias[m->channel[i]]));
    if (m->second_at == at && m->second_term)
        EACH(add64(out[i], m->second_term[i]));
}

/* Choice k of a level, from what the level before gave. */
static void apply(struct machine *m, unsigned level, unsigned k,
                  const int64_t *in, int64_t *out)
{
    const struct assay_fit_problem *p = m->p;
    const uint32_t *c = m->channel;
    const int64_t *by;

    switch (level) {
    case 0: EACH(assay_fit_width(in[i], k)); break;
    case 1:
        by = p->pre_shift;
        if (by)
            EACH(shift(in[i], by[c[i]], k));
        else
            memcpy(out, in, m->n * sizeof(*out));
        join_at(m, ASSAY_FIT_AT_PRE, out);
        break;
    case 2: EACH(assay_fit_middle(in[i], k)); break;
    case 3:
        by = p->scale[k];
        if (by)
            EACH(mul64(in[i], by[c[i]]));
        else
            memcpy(out, in, m->n * sizeof(*out));
        join_at(m, ASSAY_FIT_AT_PRODUCT, out);
        break;
    case 4:
        by = p->post_shift[m->derive];
        if (by)
            EACH(shift(in[i], by[c[i]], k));
        else
            memcpy(out, in, m->n * sizeof(*out));
        break;
    default: EACH(output(p, k, in[i])); break;
    }
}

static uint64_t hash_of(const int64_t *v, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)v[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

static uint32_t number_of(struct machine *m, uint64_t hash)
{
    for (size_t i = 0; i < m->n_seen; i++)
        if (m->seen[i] == hash)
            return (uint32_t)i + 1;
    if (m->n_seen == m->cap_seen) {
        size_t cap = m->cap_seen ? 2 * m->cap_seen : 64;
        uint64_t *more = assay_realloc(m->seen, cap * sizeof(*more));
        if (!more)
            return 0;
        m->seen = more;
        m->cap_seen = cap;
    }
    m->seen[m->n_seen++] = hash;
    return (uint32_t)m->n_seen;
}

static uint32_t judge(struct machine *m, const int64_t *v)
{
    uint32_t differ = 0;
    if (m->mode == FILTER)
        return memcmp(v, m->golden, m->n * sizeof(*v)) == 0;
    if (m->mode == SPLIT)
        return number_of(m, hash_of(v, m->n));
    for (size_t i = 0; i < m->n; i++)
        differ += v[i] != m->golden[i];
    return differ;
}

static bool any(const uint32_t *live, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (live[i])
            return true;
    return false;
}

static void run_level(struct machine *m, unsigned level, const int64_t *in,
                      const uint32_t *live, uint32_t *result);

/* One distinct vector and the choices `group` (bits) that give it. */
static void run_group(struct machine *m, unsigned level, unsigned first,
                      unsigned group, const uint32_t *live, uint32_t *result)
{
    size_t sub = m->sub[level];
    const uint32_t *below = live + first * sub;

    if (group & (group - 1)) {
        uint32_t *both = m->live[level];
        memset(both, 0, sub * sizeof(*both));
        for (unsigned k = first; group >> k; k++)
            for (size_t i = 0; group >> k & 1 && i < sub; i++)
                both[i] |= live[k * sub + i];
        below = both;
    }
    if (level == 3)
        m->derive = first;
    if (level + 1 == LEVELS)
        result[first] = judge(m, m->v[level + 1][first]);
    else
        run_level(m, level + 1, m->v[level + 1][first], below,
                  result + first * sub);
    for (unsigned k = first + 1; group >> k; k++)
        if (group >> k & 1)
            memcpy(result + k * sub, result + first * sub,
                   sub * sizeof(*result));
}

static void run_level(struct machine *m, unsigned level, const int64_t *in,
                      const uint32_t *live, uint32_t *result)
{
    unsigned radix = m->p->space.radix[ASSAY_FIT_WIDTH + level];
    unsigned group[MOST] = {0};
    size_t sub = m->sub[level];

    for (unsigned k = 0; k < radix; k++) {
        unsigned same = k;
        if (!any(live + k * sub, sub))
            continue;
        apply(m, level, k, in, m->v[level + 1][k]);
        /* Derived multipliers come with shifts of their own. */
        for (unsigned j = 0; j < k && same == k && level != 3; j++)
            if (group[j] && memcmp(m->v[level + 1][j], m->v[level + 1][k],
                                   m->n * sizeof(int64_t)) == 0)
                same = j;
        group[same] |= 1u << k;
    }
    for (unsigned k = 0; k < radix; k++)
        if (group[k])
            run_group(m, level, k, group[k], live, result);
}

/* What the second input adds, for each way and rounding; equal ones share. */
static void make_terms(struct machine *m)
{
    const uint8_t *radix = m->p->space.radix;
    unsigned rounds = radix[ASSAY_FIT_SECOND_ROUND];
    for (unsigned t = 0; t < radix[ASSAY_FIT_HOW] * rounds; t++)
        for (size_t i = 0; i < m->n && m->second; i++)
            m->term[t][i] = assay_fit_term(m->p, t / rounds, t % rounds,
                                           m->second[i], m->channel[i]);
}

static unsigned same_term(const struct machine *m, unsigned t)
{
    for (unsigned j = 0; j < t; j++)
        if (memcmp(m->term[j], m->term[t], m->n * sizeof(int64_t)) == 0)
            return j;
    return t;
}

/* The candidates of one way of joining, from the accumulators on. */
static void run_join(struct machine *m, unsigned bias, unsigned second,
                     unsigned term, const uint32_t *live, uint32_t *result)
{
    int64_t *out = m->v[0][0];
    m->bias_at = bias;
    m->second_at = second;
    m->second_term = m->second ? m->term[term] : NULL;
    memcpy(out, m->acc, m->n * sizeof(*out));
    join_at(m, ASSAY_FIT_AT_ACC, out);
    run_level(m, 0, out, live, result);
}

/* `live`: one number a candidate; result: what judge() says of each. */
static void run_block(struct machine *m, const uint32_t *live, uint32_t *result,
                      uint32_t *both)
{
    const uint8_t *radix = m->p->space.radix;
    unsigned terms = radix[ASSAY_FIT_HOW] * radix[ASSAY_FIT_SECOND_ROUND];
    unsigned seconds = radix[ASSAY_FIT_SECOND];
    size_t sub = m->sub[0] * radix[ASSAY_FIT_WIDTH];
    unsigned same[TERMS];

    m->n_seen = 0;
    make_terms(m);
    for (unsigned t = 0; t < terms; t++)
        same[t] = m->second ? same_term(m, t) : t;
    for (unsigned j = 0; j < radix[ASSAY_FIT_BIAS] * seconds; j++) {
        const uint32_t *l = live + j * terms * sub;
        uint32_t *r = result + j * terms * sub;
        for (unsigned t = 0; t < terms; t++) {
            if (same[t] != t)
                continue;
            memcpy(both, l + t * sub, sub * sizeof(*both));
            for (unsigned u = t + 1; u < terms; u++)
                for (size_t i = 0; same[u] == t && i < sub; i++)
                    both[i] |= l[u * sub + i];
            if (!any(both, sub))
                continue;
            run_join(m, j / seconds, j % seconds, t, both, r + t * sub);
            for (unsigned u = t + 1; u < terms; u++)
                if (same[u] == t)
                    memcpy(r + u * sub, r + t * sub, sub * sizeof(*r));
        }
    }
}

/* ---- all blocks ------------------------------------------------------------ */

static int machine_open(struct machine *m, const struct assay_fit_problem *p,
                        enum mode mode, struct assay_err *err)
{
    size_t vectors = 3 + TERMS + (LEVELS + 1) * MOST, size = 1;
    int64_t *at;
    memset(m, 0, sizeof(*m));
    m->p = p;
    m->mode = mode;
    for (unsigned l = LEVELS; l-- > 0;) {
        m->sub[l] = size;
        size *= p->space.radix[ASSAY_FIT_WIDTH + l];
    }
    m->memory = assay_alloc(vectors * BLOCK * sizeof(int64_t) +
                            BLOCK * sizeof(uint32_t) +
                            LEVELS * size * sizeof(uint32_t));
    if (!m->memory)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for the search");
    at = m->memory;
    m->acc = at;
    m->golden = at + BLOCK;
    m->second = at + 2 * BLOCK;
    at += 3 * BLOCK;
    for (unsigned t = 0; t < TERMS; t++, at += BLOCK)
        m->term[t] = at;
    for (unsigned l = 0; l <= LEVELS; l++)
        for (unsigned k = 0; k < MOST; k++, at += BLOCK)
            m->v[l][k] = at;
    m->channel = (uint32_t *)at;
    for (unsigned l = 0; l < LEVELS; l++)
        m->live[l] = m->channel + BLOCK + l * size;
    return 0;
}

static void machine_close(struct machine *m)
{
    assay_free(m->seen);
    assay_free(m->memory);
}

/* Elements first, first + step, ... as the block. */
static void fill(struct machine *m, const struct assay_fit_elements *e,
                 size_t first, size_t step, size_t n)
{
    int64_t *second = e->second ? m->second : NULL;
    m->n = n;
    for (size_t k = 0, i = first; k < n; k++, i += step) {
        m->acc[k] = e->acc[i];
        m->channel[k] =
            e->channel ? e->channel[i] : (uint32_t)(i % m->p->channels);
        if (m->p->x_shift)
            m->acc[k] = assay_shr(m->acc[k], -(int)m->p->x_shift[m->channel[k]],
                                  ASSAY_ROUND_FLOOR);
        if (e->second)
            second[k] = e->second[i];
        if (e->golden)
            m->golden[k] = e->golden[i];
    }
    if (!e->second)
        m->second = NULL;
}

static int take_classes(uint32_t *state, const uint32_t *result, size_t n,
                        struct assay_err *err)
{
    size_t classes;
    return assay_fit_pair(state, result, n, &classes, err);
}

static int take(struct machine *m, uint32_t *state, const uint32_t *result,
                uint32_t *differ, size_t n, struct assay_err *err)
{
    if (m->mode == SPLIT)
        return take_classes(state, result, n, err);
    for (size_t i = 0; i < n; i++) {
        if (!state[i])
            continue;
        if (m->mode == FILTER)
            state[i] = result[i];
        else
            differ[i] += result[i];
    }
    return 0;
}

static int run_all(const struct assay_fit_problem *p,
                   const struct assay_fit_elements *e, enum mode mode,
                   uint32_t *state, uint32_t *differ, struct assay_err *err)
{
    size_t n = assay_fit_size(&p->space), done = 0;
    uint32_t *result = assay_calloc(2 * n, sizeof(*result));
    struct machine m;
    int rc = machine_open(&m, p, mode, err);

    if (!rc && !result)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for the search");
    if (!rc && mode == FILTER && e->n > FIRST) {
        fill(&m, e, 0, e->n / FIRST, FIRST); /* from all over the tensor */
        run_block(&m, state, result, result + n);
        rc = take(&m, state, result, differ, n, err);
    }
    while (!rc && done < e->n && any(state, n)) {
        size_t k = e->n - done < BLOCK ? e->n - done : BLOCK;
        fill(&m, e, done, 1, k);
        run_block(&m, state, result, result + n);
        rc = take(&m, state, result, differ, n, err);
        done += k;
    }
    if (m.memory)
        machine_close(&m);
    assay_free(result);
    return rc;
}

int assay_fit_pair(uint32_t *state, const uint32_t *other, size_t n,
                   size_t *classes, struct assay_err *err)
{
    size_t cap = 256, used = 0;
    struct slot {
        uint64_t key;
        uint32_t value;
    } * table;
    for (size_t i = 0; i < n; i++)
        used += state[i] != 0;
    while (cap < 2 * used)
        cap *= 2;
    table = assay_calloc(cap, sizeof(*table));
    if (!table)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for the search");
    *classes = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)state[i] << 32 | (other ? other[i] : 0);
        size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (cap - 1);
        if (!state[i])
            continue;
        while (table[at].key && table[at].key != key)
            at = (at + 1) & (cap - 1);
        if (!table[at].key) {
            table[at].key = key;
            table[at].value = (uint32_t)++ * classes;
        }
        state[i] = table[at].value;
    }
    assay_free(table);
    return 0;
}

int assay_fit_filter(const struct assay_fit_problem *p,
                     const struct assay_fit_elements *e, uint32_t *state,
                     size_t *left, struct assay_err *err)
{
    size_t n = assay_fit_size(&p->space);
    int rc = run_all(p, e, FILTER, state, NULL, err);
    *left = 0;
    for (size_t i = 0; i < n; i++)
        *left += state[i] != 0;
    return rc;
}

int assay_fit_split(const struct assay_fit_problem *p,
                    const struct assay_fit_elements *e, uint32_t *state,
                    size_t *classes, struct assay_err *err)
{
    int rc = run_all(p, e, SPLIT, state, NULL, err);
    return rc ? rc
              : assay_fit_pair(state, NULL, assay_fit_size(&p->space), classes,
                               err);
}

int assay_fit_count(const struct assay_fit_problem *p,
                    const struct assay_fit_elements *e, const uint32_t *state,
                    uint32_t *differ, struct assay_err *err)
{
    memset(differ, 0, assay_fit_size(&p->space) * sizeof(*differ));
    return run_all(p, e, COUNT, (uint32_t *)(uintptr_t)state, differ, err);
}
