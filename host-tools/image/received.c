/* SPDX-License-Identifier: Apache-2.0 */
/* The search of received.h: readings by the number of their changes. */
#include "host-tools/image/received.h"

#include <string.h>

#include "host-tools/image/received_judge.h"
#include "lib/core/buf.h"

/* Free changes beyond those that the form of the tensor forces. */
#define FREE_CHANGES 3u
#define MOST_TRIED 400000u
/* Elements that are made in full: what a few seconds afford. */
#define MOST_ADAPTED ((uint64_t)400 << 20)

struct search {
    struct assay_judge j;
    struct assay_knobs k;
    struct assay_received *out;
    uint32_t level;  /* changes that are looked at now */
    uint32_t forced; /* knobs that cannot stay */
    bool similar;    /* the most similar is looked for, not what is equal */
    double best;
    struct assay_reading like;
    enum assay_knob like_knobs[ASSAY_KNOB_COUNT];
    uint32_t n_like_knobs;
    struct assay_err *err;
};

struct turned {
    struct assay_reading r;
    enum assay_knob knobs[ASSAY_KNOB_COUNT];
    uint32_t n;
};

static bool is_turned(const struct turned *t, enum assay_knob knob)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->knobs[i] == knob)
            return true;
    }
    return false;
}

static void keep(struct search *s, const struct assay_received_hit *hit,
                 const struct turned *t)
{
    bool blind = s->level > 0 && s->out->n > 0 && s->out->changes == 0;
    uint32_t *n = blind ? &s->out->n_blind : &s->out->n;
    struct assay_received_hit *v = blind ? s->out->blind : s->out->hits;

    if (*n == ASSAY_RECEIVED_HITS) {
        s->out->n_more += !blind;
        return;
    }
    v[*n] = *hit;
    memcpy(v[*n].knobs, t->knobs, sizeof(t->knobs));
    v[*n].n_knobs = t->n;
    if (!blind)
        s->out->changes = t->n;
    (*n)++;
}

/* One value for all pixels would fit any other. */
static int liken(struct search *s, const struct turned *t)
{
    struct assay_received_near near;
    double similar = -1.0;
    bool passes;
    int rc = 0;

    if (!t->r.spec.colour_first)
        rc = assay_judge_windows(&s->j, &t->r, &passes, &similar, s->err);
    if (rc == 0 && similar <= -1.0 && s->out->elements < 4096) {
        rc = assay_judge_near(&s->j, &t->r, &near, s->err);
        similar = near.correlation[0];
    }
    /* What is simpler comes first and keeps its place. */
    if (rc == 0 && similar > s->best + 1e-6) {
        s->best = similar;
        s->like = t->r;
        memcpy(s->like_knobs, t->knobs, sizeof(t->knobs));
        s->n_like_knobs = t->n;
    }
    return rc;
}

/* Colours before the size are of the whole picture: only with what goes
 * together with it. */
static bool is_affordable(const struct search *s, const struct turned *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        switch (t->knobs[i]) {
        case ASSAY_KNOB_FIRST:
        case ASSAY_KNOB_RANGE:
        case ASSAY_KNOB_FIT:
        case ASSAY_KNOB_FILTER:
        case ASSAY_KNOB_DTYPE: break;
        default:
            if (!s->k.forced[t->knobs[i]])
                return false;
        }
    }
    return t->n <= s->forced + 2;
}

/* Each turn, size, fit and filter is a picture of its own to make. Turns that
 * no file asks for come with one of the others. */
static bool is_likely(const struct search *s, const struct turned *t)
{
    uint32_t made = 0;

    for (uint32_t i = 0; i < t->n; i++)
        made += t->knobs[i] <= ASSAY_KNOB_PAD;
    return made <= 2 || !is_turned(t, ASSAY_KNOB_TURN) ||
           (t->r.turned_last == 0 &&
            (t->r.spec.orientation == 1 ||
             t->r.spec.orientation == s->j.facts.picture->orientation));
}

static int leaf(struct search *s, struct turned *t)
{
    struct assay_received_hit hit;
    bool passes = true;
    int rc = 0;

    assay_reading_settle(&t->r, is_turned(t, ASSAY_KNOB_MEMORY), &s->j.facts);
    /* Bytes as floats are no change where floats are wanted. */
    if (!assay_judge_same_dtype(t->r.dtype, t->r.held) &&
        !assay_judge_same_dtype(s->out->wanted.dtype, t->r.held))
        t->knobs[t->n++] = ASSAY_KNOB_DTYPE;
    if (t->n != s->level || !assay_reading_fits(&t->r, s->j.facts.elements))
        return 0;
    for (uint32_t i = 0; i < t->n; i++) {
        if (!assay_knob_matters(t->knobs[i], &t->r, &s->j.facts))
            return 0;
    }
    if (!is_likely(s, t) || (t->r.spec.colour_first && !is_affordable(s, t)))
        return 0;
    if (s->out->tried >= MOST_TRIED || s->j.adapted > MOST_ADAPTED) {
        s->out->cut = true;
        return 0;
    }
    s->out->tried++;
    if (assay_image_spec_check(&t->r.spec, NULL) < 0)
        return 0;
    if (s->similar)
        return liken(s, t);
    if (!t->r.spec.colour_first)
        rc = assay_judge_windows(&s->j, &t->r, &passes, NULL, s->err);
    if (rc == 0 && passes)
        rc = assay_judge_full(&s->j, &t->r, &hit, &passes, NULL, s->err);
    if (rc == 0 && passes)
        keep(s, &hit, t);
    return rc;
}

static uint32_t forced_from(const struct search *s, unsigned knob)
{
    uint32_t n = 0;

    for (; knob < ASSAY_KNOB_COUNT; knob++)
        n += s->k.forced[knob];
    return n;
}

/* Turns `left` of the knobs from this one on. */
static int turn(struct search *s, const struct turned *t, unsigned knob,
                uint32_t left)
{
    int rc = 0;

    if (forced_from(s, knob) > left)
        return 0;
    if (knob == ASSAY_KNOB_DTYPE || left == 0) {
        struct turned last = *t;

        return left == 0 ? leaf(s, &last) : 0;
    }
    if (!s->k.forced[knob])
        rc = turn(s, t, knob + 1, left);
    for (uint32_t i = 1; rc == 0 && i < s->k.n[knob]; i++) {
        struct turned next = *t;

        assay_knob_turn(&next.r, (enum assay_knob)knob, s->k.v[knob][i],
                        &s->j.facts);
        next.knobs[next.n++] = (enum assay_knob)knob;
        rc = turn(s, &next, knob + 1, left - 1);
    }
    return rc;
}

/* All readings with so many changes. That of the dtype is no knob that is
 * turned: it follows. */
static int level(struct search *s, uint32_t changes)
{
    struct turned t = {.r = s->out->wanted};
    int rc;

    s->level = changes;
    rc = turn(s, &t, 0, changes);
    if (rc == 0 && changes > 0)
        rc = turn(s, &t, 0, changes - 1);
    return rc;
}

static bool has_knob(const struct assay_received_hit *h, enum assay_knob knob)
{
    for (uint32_t i = 0; i < h->n_knobs; i++) {
        if (h->knobs[i] == knob)
            return true;
    }
    return false;
}

/* A solved gain and offset is no news beside a way to scale that has a
 * name, and one that equals another hit's with other colours is. */
static void drop_solved(struct assay_received *r)
{
    uint32_t n = 0;
    bool named = false;

    for (uint32_t i = 0; i < r->n; i++)
        named = named || (!r->hits[i].reading.solved &&
                          has_knob(&r->hits[i], ASSAY_KNOB_VALUES));
    for (uint32_t i = 0; named && i < r->n; i++) {
        if (!r->hits[i].reading.solved)
            r->hits[n++] = r->hits[i];
    }
    if (named)
        r->n = n;
}

/* What is wanted, compared first: which elements differ. */
static int baseline(struct search *s, uint8_t *same)
{
    struct assay_received *out = s->out;
    struct assay_received_hit hit;
    bool proved;
    int rc;

    out->comparable =
        assay_reading_fits(&out->wanted, out->elements) &&
        assay_judge_same_dtype(out->wanted.dtype, out->wanted.held);
    if (!out->comparable)
        return 0;
    rc = assay_judge_full(&s->j, &out->wanted, &hit, &proved, same, s->err);
    s->j.same = same;
    return rc;
}

static int nearest(struct search *s)
{
    uint32_t last = s->forced + 2;
    int rc = 0;

    s->similar = true;
    s->best = -2.0;
    s->out->tried = 0;
    s->j.adapted = 0;
    for (uint32_t i = 0; rc == 0 && i <= last; i++)
        rc = level(s, i);
    s->out->cut = false;
    if (rc < 0 || s->best < -1.0)
        return rc;
    s->like.solved = false;
    rc = assay_judge_near(&s->j, &s->like, &s->out->near, s->err);
    memcpy(s->out->near.hit.knobs, s->like_knobs, sizeof(s->like_knobs));
    s->out->near.hit.n_knobs = s->n_like_knobs;
    return rc;
}

static int run(struct search *s, uint32_t max_changes)
{
    struct assay_received *out = s->out;
    uint32_t last;
    bool cut;
    uint64_t tried;
    int rc = 0;

    s->forced = forced_from(s, 0);
    if (max_changes == ASSAY_RECEIVED_UNCHANGED)
        return level(s, 0);
    last = s->forced + FREE_CHANGES;
    /* Floats where bytes are wanted are a change of their own. */
    if (!assay_judge_same_dtype(out->wanted.dtype, out->wanted.held))
        last++;
    if (max_changes > 0 && last > max_changes)
        last = max_changes;
    for (uint32_t i = 0; rc == 0 && i <= last && out->n == 0; i++)
        rc = level(s, i);
    if (rc < 0)
        return rc;
    drop_solved(out);
    if (out->n > 0)
        return out->changes == 0 ? level(s, 1) : 0;
    cut = out->cut;
    tried = out->tried;
    rc = nearest(s);
    out->cut = cut;
    out->tried = tried;
    return rc;
}

static int check_got(const struct assay_received_got *g, size_t *elements,
                     struct assay_err *err)
{
    size_t unit = assay_dtype_bytes(g->dtype);

    if (unit == 0 || g->bytes == 0 || g->bytes % unit != 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "the tensor that was fed has no elements");
    *elements = g->bytes / unit;
    return 0;
}

int assay_received_search(struct assay_received **out,
                          const struct assay_picture *picture,
                          const struct assay_received_wanted *wanted,
                          const struct assay_received_got *got,
                          uint32_t max_changes, struct assay_err *err)
{
    struct search s = {.err = err};
    uint8_t *same = NULL;
    size_t elements = 0;
    int rc = assay_image_spec_check(&wanted->spec, err);

    if (rc == 0)
        rc = check_got(got, &elements, err);
    if (rc < 0)
        return rc;
    if (picture->form != ASSAY_PICTURE_RGB)
        return assay_fail(err, ASSAY_EUSAGE,
                          "what was fed is looked for from a picture of "
                          "colours, not from raw nv12");
    s.out = assay_calloc(1, sizeof(*s.out));
    same = assay_calloc(elements, 1);
    if (s.out == NULL || same == NULL) {
        assay_free(s.out);
        assay_free(same);
        return assay_fail(err, ASSAY_EMEMORY, "out of memory");
    }
    s.j.facts = (struct assay_knob_facts){wanted, picture, got, elements};
    s.out->elements = elements;
    assay_reading_wanted(&s.out->wanted, &s.j.facts);
    assay_knobs_init(&s.k, &s.j.facts);
    rc = baseline(&s, same);
    if (rc == 0)
        rc = run(&s, max_changes);
    s.out->wanted.held = s.out->wanted.dtype;
    assay_judge_close(&s.j);
    assay_free(same);
    if (rc < 0) {
        assay_free(s.out);
        return rc;
    }
    *out = s.out;
    return 0;
}

void assay_received_free(struct assay_received *r)
{
    assay_free(r);
}
