/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of the compiled model: judgement of one layer, and where its
 * differences lie. */
#include "host-tools/diff/diff.h"

#include <string.h>

bool assay_column_wants_rerun(const struct assay_column_facts *f)
{
    return f->observed && (!f->has_reference || f->outside > 0);
}

static struct assay_judgement judged(enum assay_row_status status,
                                     enum assay_row_reason reason)
{
    return (struct assay_judgement){
        .status = status,
        .reason = reason,
        .culprit = status == ASSAY_ROW_DIVERGED,
    };
}

/* Only the engine can speak for a tensor that the reference lacks. */
static struct assay_judgement without_reference(
    const struct assay_column_facts *f)
{
    enum assay_row_status good =
        f->rerun_mismatch == 0 ? ASSAY_ROW_EXACT : ASSAY_ROW_WITHIN;

    if (!f->rerun)
        return judged(ASSAY_ROW_NOT_OBSERVED, ASSAY_WHY_NO_REFERENCE);
    if (f->rerun_outside > 0)
        return judged(ASSAY_ROW_DIVERGED, ASSAY_WHY_NO_REFERENCE);
    return judged(f->inputs_equal ? good : ASSAY_ROW_INHERITED,
                  ASSAY_WHY_NO_REFERENCE);
}

struct assay_judgement assay_judge_column(const struct assay_column_facts *f)
{
    if (!f->observed)
        return judged(ASSAY_ROW_NOT_OBSERVED, ASSAY_WHY_NONE);
    if (!f->has_reference)
        return without_reference(f);
    if (f->other_build)
        return judged(f->mismatch == 0  ? ASSAY_ROW_EXACT
                      : f->outside == 0 ? ASSAY_ROW_WITHIN
                                        : ASSAY_ROW_INHERITED,
                      ASSAY_WHY_OTHER_BUILD);
    if (f->mismatch == 0)
        return judged(ASSAY_ROW_EXACT,
                      f->inputs_equal ? ASSAY_WHY_NONE : ASSAY_WHY_MASKED);
    if (f->outside == 0)
        return judged(ASSAY_ROW_WITHIN, ASSAY_WHY_NONE);
    if (f->rerun && f->rerun_outside > 0)
        return judged(ASSAY_ROW_DIVERGED, ASSAY_WHY_NONE);
    if (f->inputs_equal) {
        /* The engine on the same inputs: then the reference is the odd one,
         * and the cpu's own culprit. Not by a tolerance, though. */
        if (f->rerun && f->rerun_mismatch == 0)
            return judged(ASSAY_ROW_INHERITED, ASSAY_WHY_AS_ENGINE);
        return judged(ASSAY_ROW_DIVERGED, ASSAY_WHY_NONE);
    }
    return judged(ASSAY_ROW_INHERITED,
                  f->rerun ? ASSAY_WHY_NONE : ASSAY_WHY_NOT_ISOLATED);
}

static enum assay_relation relation(bool differs)
{
    return differs ? ASSAY_REL_DIFFERS : ASSAY_REL_EQUAL;
}

void assay_column_relations(struct assay_evidence *e, bool of_bpu,
                            const struct assay_column_state *sim,
                            const struct assay_column_state *bpu,
                            enum assay_relation between)
{
    const struct assay_column_state *other = of_bpu ? sim : bpu;
    enum assay_relation *mine = of_bpu ? &e->bpu_ref : &e->sim_ref;
    enum assay_relation *theirs = of_bpu ? &e->sim_ref : &e->bpu_ref;

    *mine = ASSAY_REL_DIFFERS;
    *theirs = e->sim_bpu = ASSAY_REL_UNKNOWN;
    if (!other->observed)
        return;
    e->sim_bpu = between;
    /* What the other merely inherited is right given its own inputs. */
    *theirs = relation(other->differs &&
                       (between == ASSAY_REL_EQUAL || other->culprit));
}

/* Elements of an h x w image within `width` of the edges of a set. */
static int64_t ring_area(unsigned set, int64_t width, int64_t h, int64_t w)
{
    int64_t rows = 0, columns = 0;

    rows += (set & ASSAY_EDGE_TOP) != 0 ? width : 0;
    rows += (set & ASSAY_EDGE_BOTTOM) != 0 ? width : 0;
    columns += (set & ASSAY_EDGE_LEFT) != 0 ? width : 0;
    columns += (set & ASSAY_EDGE_RIGHT) != 0 ? width : 0;
    if (rows > h)
        rows = h;
    if (columns > w)
        columns = w;
    return h * w - (h - rows) * (w - columns);
}

unsigned assay_diff_edges(const struct assay_tensor *t,
                          const struct assay_diff *d, int64_t *width)
{
    const char *ha = strchr(t->axes, 'H'), *wa = strchr(t->axes, 'W');
    int64_t h, w, best;
    unsigned found = 0;

    if (ha == NULL || wa == NULL || d->mismatch < 2)
        return 0;
    /* One place of the image says nothing of an edge. */
    if (d->box_lo[ha - t->axes] == d->box_hi[ha - t->axes] &&
        d->box_lo[wa - t->axes] == d->box_hi[wa - t->axes])
        return 0;
    h = t->dims[ha - t->axes];
    w = t->dims[wa - t->axes];
    best = h * w * 2 / 3 + 1;
    for (unsigned set = 1; set < ASSAY_EDGE_SETS; set++) {
        int64_t area = ring_area(set, d->edge_depth[set] + 1, h, w);

        if (area < best) {
            best = area;
            found = set;
            *width = d->edge_depth[set] + 1;
        }
    }
    return found;
}
