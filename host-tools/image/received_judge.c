/* SPDX-License-Identifier: Apache-2.0 */
/* See received_judge.h. */
#include "host-tools/image/received_judge.h"

#include <math.h>
#include <string.h>

#include "host-tools/image/received_element.h"
#include "host-tools/image/received_sized.h"
#include "lib/core/buf.h"

bool assay_judge_same_dtype(enum assay_dtype a, enum assay_dtype b)
{
    return a == b || (assay_dtype_bytes(a) == 1 && assay_dtype_bytes(b) == 1);
}

/* ---- elements of a reading ------------------------------------------------ */

/* A part of the picture in the reading's own order, and where it lies. */
struct part {
    enum assay_dtype made;
    const uint8_t *data;
    int64_t step_y, step_x, step_c; /* bytes */
    bool planes;
    uint32_t channels;
    uint64_t width, height; /* of Y where there are planes */
    uint64_t chroma_rows, chroma_row;
    uint64_t at_x, at_y; /* of its first pixel in the whole */
    uint32_t margin;
    struct assay_form whole;
};

static void part_of(struct part *p, const struct assay_image_tensor *t,
                    const struct assay_form *whole,
                    const struct assay_image_spec *s)
{
    struct assay_nv12 n;
    uint32_t d = t->rank - (whole->planes ? 2 : 3);

    *p = (struct part){.made = t->dtype,
                       .data = t->data,
                       .planes = whole->planes,
                       .channels = whole->channels,
                       .width = s->width,
                       .height = s->height,
                       .whole = *whole};
    p->step_y = t->strides[d];
    p->step_x = t->strides[d + 1];
    p->step_c = whole->planes ? 0 : t->strides[d + 2];
    if (whole->planes &&
        assay_nv12_layout(&n, s->width, s->height, 0, s->odd, NULL) == 0) {
        p->chroma_rows = n.chroma_height;
        p->chroma_row = 2 * (uint64_t)n.chroma_width;
    }
}

/* What is called for every element of a part that lies in the tensor: its
 * value in the reading and the index in the tensor; false: enough. */
typedef bool (*element_fn)(void *self, double made, uint64_t index, uint32_t c);

static bool walk_rows(const struct part *p, const struct assay_reading *r,
                      uint64_t n, bool chroma, element_fn fn, void *self)
{
    uint64_t rows = chroma ? p->chroma_rows : p->height;
    uint64_t row = chroma ? p->chroma_row : p->width;
    uint64_t edge_y = chroma ? p->margin / 2 : p->margin;
    uint64_t to_y = chroma ? p->whole.height + p->at_y / 2 : p->at_y;

    for (uint64_t y = edge_y; y + edge_y < rows; y++)
        for (uint64_t x = p->margin; x + p->margin < row; x++)
            for (uint32_t c = 0; c < p->channels; c++) {
                uint64_t from = y + (chroma ? p->height : 0);
                int64_t at = assay_reading_place(&p->whole, r, n, y + to_y,
                                                 x + p->at_x, c);
                const uint8_t *e = p->data + (int64_t)from * p->step_y +
                                   (int64_t)x * p->step_x +
                                   (int64_t)c * p->step_c;

                if (at >= 0 &&
                    !fn(self, assay_element_value(p->made, e), (uint64_t)at,
                        p->planes && chroma ? 1 + x % 2 : c))
                    return false;
            }
    return true;
}

static bool walk(const struct part *p, const struct assay_reading *r,
                 uint64_t n, element_fn fn, void *self)
{
    return walk_rows(p, r, n, false, fn, self) &&
           (!p->planes || walk_rows(p, r, n, true, fn, self));
}

/* ---- comparing ------------------------------------------------------------ */

struct compared {
    const struct assay_judge *j;
    enum assay_dtype made; /* the reading's dtype */
    uint64_t placed, matched, differing, differing_matched;
    bool exact, go_on;
    uint8_t *same;
};

static bool compare(void *self, double made, uint64_t index, uint32_t c)
{
    struct compared *k = self;
    const struct assay_received_got *g = k->j->facts.got;
    bool exact = true;
    bool equal = assay_element_equal(g->dtype,
                                     (const uint8_t *)g->data +
                                         index * assay_dtype_bytes(g->dtype),
                                     k->made, made, k->j->half, &exact);
    bool differed = k->j->same == NULL || k->j->same[index] == 0;

    (void)c;
    k->placed++;
    k->matched += equal;
    k->differing += differed;
    k->differing_matched += differed && equal;
    k->exact = k->exact && exact;
    if (k->same != NULL)
        k->same[index] = equal;
    return equal || k->go_on;
}

/* ---- solving for gain and offset ------------------------------------------ */

/* Bytes of the reading before it is normalised, and what the tensor has: the
 * lowest and the highest byte of each channel give a line. */
struct line {
    const struct assay_received_got *g;
    double lo[3], hi[3], at_lo[3], at_hi[3];
    bool any[3];
};

static double got_at(const struct assay_received_got *g, uint64_t index)
{
    return assay_element_value(g->dtype,
                               (const uint8_t *)g->data +
                                   index * assay_dtype_bytes(g->dtype));
}

static bool take_ends(void *self, double made, uint64_t index, uint32_t c)
{
    struct line *l = self;
    double got = got_at(l->g, index);

    if (!l->any[c] || made < l->lo[c]) {
        l->lo[c] = made;
        l->at_lo[c] = got;
    }
    if (!l->any[c] || made > l->hi[c]) {
        l->hi[c] = made;
        l->at_hi[c] = got;
    }
    l->any[c] = true;
    return true;
}

/* False: no line, a flat one, or that of the bytes themselves. A channel of
 * one value takes the gain of another. */
static bool solve(const struct line *l, double gain[3], double offset[3])
{
    double other = 0.0;
    bool itself = true;

    for (int c = 0; c < 3; c++) {
        gain[c] = 0.0;
        if (l->any[c] && l->hi[c] > l->lo[c])
            other = gain[c] =
                (l->at_hi[c] - l->at_lo[c]) / (l->hi[c] - l->lo[c]);
    }
    for (int c = 0; c < 3; c++) {
        if (gain[c] == 0.0)
            gain[c] = other;
        offset[c] = l->any[c] ? l->at_lo[c] - gain[c] * l->lo[c] : 0.0;
        if (!isfinite(gain[c]) || gain[c] == 0.0 || !isfinite(offset[c]))
            return false;
        itself = itself && gain[c] == 1.0 && offset[c] == 0.0;
    }
    return !itself;
}

struct off_line {
    const struct assay_received_got *g;
    double gain[3], offset[3];
};

static bool on_line(void *self, double made, uint64_t index, uint32_t c)
{
    const struct off_line *o = self;
    double want = o->gain[c] * made + o->offset[c];

    return fabs(got_at(o->g, index) - want) <=
           1e-4 * (fabs(want) + fabs(o->gain[c]) * 16.0);
}

/* ---- windows -------------------------------------------------------------- */

static void reading_bytes(struct assay_image_spec *s,
                          const struct assay_reading *r)
{
    *s = r->spec;
    if (r->solved)
        s->normalise = 0;
}

struct correlated {
    const struct assay_received_got *g;
    double n[3], a[3], b[3], aa[3], bb[3], ab[3], worst;
    uint64_t placed, differing;
    enum assay_dtype made;
    bool half;
};

static bool correlate(void *self, double made, uint64_t index, uint32_t c)
{
    struct correlated *k = self;
    double got = got_at(k->g, index);
    bool exact;

    if (!isfinite(got))
        got = 0.0;
    k->n[c] += 1.0;
    k->a[c] += made;
    k->b[c] += got;
    k->aa[c] += made * made;
    k->bb[c] += got * got;
    k->ab[c] += made * got;
    k->placed++;
    k->differing += !assay_element_equal(
        k->g->dtype,
        (const uint8_t *)k->g->data + index * assay_dtype_bytes(k->g->dtype),
        k->made, made, k->half, &exact);
    if (fabs(got - made) > k->worst)
        k->worst = fabs(got - made);
    return true;
}

/* Least squares of channel c; false: one side does not vary. */
static bool regress(const struct correlated *k, int c, double *gain,
                    double *offset, double *correlation)
{
    double n = k->n[c];
    double aa = n > 0 ? k->aa[c] - k->a[c] * k->a[c] / n : 0.0;
    double bb = n > 0 ? k->bb[c] - k->b[c] * k->b[c] / n : 0.0;
    double ab = n > 0 ? k->ab[c] - k->a[c] * k->b[c] / n : 0.0;

    *gain = *correlation = 0.0;
    *offset = n > 0 ? k->b[c] / n : 0.0;
    if (aa <= 1e-9 * k->aa[c] || bb <= 1e-9 * k->bb[c])
        return false;
    *gain = ab / aa;
    *offset = (k->b[c] - *gain * k->a[c]) / n;
    *correlation = ab / sqrt(aa * bb);
    return true;
}

static int adapt_window(struct assay_image_adapted *a, struct part *p,
                        const struct assay_judge_window *w,
                        const struct assay_reading *r, struct assay_err *err)
{
    struct assay_image_spec s;
    struct assay_form whole;
    struct assay_picture view = {.form = ASSAY_PICTURE_RGB,
                                 .width = w->width,
                                 .height = w->height,
                                 .bytes = (size_t)3 * w->width * w->height,
                                 .data = (uint8_t *)w->rgb,
                                 .orientation = 1,
                                 .format = "rgb"};
    int rc;

    reading_bytes(&s, r);
    s.width = w->width;
    s.height = w->height;
    rc = assay_image_adapt_sized(a, &s, &view, err);
    if (rc < 0)
        return rc;
    if (!assay_reading_shape(&whole, r))
        return assay_fail(err, ASSAY_EUSAGE, "the picture has an odd side");
    part_of(p, assay_image_result(a), &whole, &s);
    p->at_x = w->x;
    p->at_y = w->y;
    p->margin = ASSAY_JUDGE_MARGIN;
    return 0;
}

static void look(const struct assay_judge *j, const struct part *p,
                 const struct assay_reading *r, bool *passes,
                 struct correlated *k)
{
    struct compared c = {.j = j, .made = p->made, .exact = true};
    uint64_t n = j->facts.elements;

    if (k != NULL) {
        k->made = p->made;
        walk(p, r, n, correlate, k);
    }
    if (r->solved) {
        struct line l = {.g = j->facts.got};
        struct off_line o = {.g = j->facts.got};

        walk(p, r, n, take_ends, &l);
        /* A window of one colour speaks neither for nor against it. */
        *passes = *passes &&
                  (!solve(&l, o.gain, o.offset) || walk(p, r, n, on_line, &o));
    } else
        *passes = *passes && walk(p, r, n, compare, &c);
}

int assay_judge_windows(struct assay_judge *j, const struct assay_reading *r,
                        bool *passes, double *similar, struct assay_err *err)
{
    struct assay_judge_sized *z;
    struct correlated k = {.g = j->facts.got, .half = j->half};
    double sum = 0.0, gain, offset, one;
    int rc = assay_judge_sized_of(&z, j, r, false, err), channels = 0;

    *passes = true;
    for (uint32_t i = 0; rc == 0 && i < z->n_windows; i++) {
        struct assay_image_adapted a = {0};
        struct part p;

        if (!*passes && similar == NULL)
            break;
        rc = adapt_window(&a, &p, &z->windows[i], r, err);
        if (rc == 0)
            look(j, &p, r, passes, similar != NULL ? &k : NULL);
        assay_image_adapted_close(&a);
    }
    if (similar == NULL || rc < 0)
        return rc;
    for (int c = 0; c < 3; c++) {
        channels += k.n[c] > 0;
        if (regress(&k, c, &gain, &offset, &one))
            sum += one;
    }
    *similar = channels > 0 ? sum / channels : -1.0;
    return 0;
}

/* ---- all of it ------------------------------------------------------------ */

static int adapt_full(struct assay_judge *j, struct assay_image_adapted *a,
                      struct part *p, const struct assay_reading *r,
                      struct assay_err *err)
{
    struct assay_image_spec s;
    struct assay_judge_sized *z;
    struct assay_form whole;
    int rc;

    reading_bytes(&s, r);
    if (s.colour_first)
        rc = assay_image_adapt(a, &s, j->facts.picture, err);
    else {
        rc = assay_judge_sized_of(&z, j, r, true, err);
        if (rc == 0)
            rc = assay_image_adapt_sized(a, &s, &z->picture, err);
    }
    if (rc < 0)
        return rc;
    if (!assay_reading_shape(&whole, r))
        return assay_fail(err, ASSAY_EUSAGE, "the picture has an odd side");
    part_of(p, assay_image_result(a), &whole, &s);
    j->adapted += j->facts.elements;
    return 0;
}

/* Puts the solved line into the spec; false: there is none. */
static bool put_line(struct assay_judge *j, const struct part *p,
                     struct assay_reading *r)
{
    struct line l = {.g = j->facts.got};
    double gain[3], offset[3];

    walk(p, r, j->facts.elements, take_ends, &l);
    if (!solve(&l, gain, offset))
        return false;
    for (int c = 0; c < 3; c++) {
        r->spec.scale[c] = (float)gain[c];
        r->spec.mean[c] = (float)(-offset[c] / gain[c]);
    }
    r->spec.scale_first = false;
    return true;
}

static int no_line(struct assay_received_hit *hit,
                   const struct assay_reading *r, bool *proved)
{
    *hit = (struct assay_received_hit){.reading = *r};
    *proved = false;
    return 0;
}

int assay_judge_full(struct assay_judge *j, const struct assay_reading *r,
                     struct assay_received_hit *hit, bool *proved,
                     uint8_t *same, struct assay_err *err)
{
    struct assay_image_adapted a = {0};
    struct assay_reading made = *r;
    struct part p;
    struct compared k = {
        .j = j, .exact = true, .go_on = same != NULL, .same = same};
    uint64_t n = j->facts.elements;
    int rc = adapt_full(j, &a, &p, &made, err);

    if (rc == 0 && made.solved) {
        bool line = put_line(j, &p, &made);

        assay_image_adapted_close(&a);
        a = (struct assay_image_adapted){0};
        if (!line)
            return no_line(hit, r, proved);
        made.solved = false;
        rc = adapt_full(j, &a, &p, &made, err);
        made.solved = true;
    }
    if (rc == 0) {
        k.made = p.made;
        walk(&p, &made, n, compare, &k);
        *hit = (struct assay_received_hit){
            .reading = made,
            .differing_matched = k.differing_matched,
            .differing = k.differing,
            .all_matched = k.matched,
            .all = k.placed,
            .unseen = n - k.placed,
            .exact = k.exact,
        };
        /* What is said of less than half of it is not said of it. */
        *proved = k.placed > 0 && k.matched == k.placed &&
                  (made.memory == ASSAY_MEMORY_PADDED || 2 * k.placed >= n);
    }
    assay_image_adapted_close(&a);
    return rc;
}

int assay_judge_near(struct assay_judge *j, const struct assay_reading *r,
                     struct assay_received_near *near, struct assay_err *err)
{
    struct assay_image_adapted a = {0};
    struct part p;
    struct correlated k = {.g = j->facts.got, .half = j->half};
    int rc = adapt_full(j, &a, &p, r, err);

    if (rc == 0) {
        k.made = p.made;
        walk(&p, r, j->facts.elements, correlate, &k);
        near->found = true;
        near->hit.reading = *r;
        near->hit.all = k.placed;
        near->hit.all_matched = k.placed - k.differing;
        near->hit.unseen = j->facts.elements - k.placed;
        near->max_difference = k.worst;
        near->channels = p.planes ? 3 : p.channels;
        for (int c = 0; c < 3; c++)
            regress(&k, c, &near->gain[c], &near->offset[c],
                    &near->correlation[c]);
    }
    assay_image_adapted_close(&a);
    return rc;
}
