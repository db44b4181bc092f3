/* SPDX-License-Identifier: Apache-2.0 */
/* What a board sent instead of data, as JSON. */
#include "host-tools/report/json_private.h"

#include <math.h>

static json_t *real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *stats_of(struct assay_report *r, const struct assay_stats *s)
{
    json_t *o = json_object(), *bins = json_array();

    for (unsigned i = 0; i < ASSAY_STATS_BINS; i++)
        assay_json_append(r, bins, assay_json_integer(s->bins[i]));
    assay_json_set(r, o, "count", assay_json_integer(s->count));
    assay_json_set(r, o, "min",
                   s->is_float ? real(s->real_min) : json_integer(s->min));
    assay_json_set(r, o, "max",
                   s->is_float ? real(s->real_max) : json_integer(s->max));
    assay_json_set(r, o, "mean", real(assay_stats_mean(s)));
    assay_json_set(r, o, "zeros", assay_json_integer(s->zeros));
    assay_json_set(r, o, "at_low", assay_json_integer(s->at_low));
    assay_json_set(r, o, "at_high", assay_json_integer(s->at_high));
    assay_json_set(r, o, "nan", assay_json_integer(s->nan));
    assay_json_set(r, o, "inf", assay_json_integer(s->inf));
    assay_json_set(r, o, "bins", bins);
    return o;
}

void assay_json_stats(struct assay_report *r, json_t *row,
                      const struct assay_row *from)
{
    json_t *o;

    if (from->stats_board == NULL)
        return;
    o = json_object();
    assay_json_set(r, o, "board", stats_of(r, from->stats_board));
    assay_json_set(r, o, "reference",
                   from->stats_reference != NULL
                       ? stats_of(r, from->stats_reference)
                       : json_null());
    assay_json_set(r, row, "statistics", o);
}

json_t *assay_json_known(const struct assay_diff *d, json_t *v)
{
    if (!d->by_digest)
        return v;
    json_decref(v);
    return json_null();
}

void assay_json_tiles(struct assay_report *r, json_t *o,
                      const struct assay_diff *d)
{
    if (!d->by_digest)
        return;
    assay_json_set(r, o, "tiles", assay_json_integer(d->tiles));
    assay_json_set(r, o, "tiles_differing",
                   assay_json_integer(d->tiles_differing));
    assay_json_set(r, o, "first_tile", assay_json_integer(d->first_tile));
}
