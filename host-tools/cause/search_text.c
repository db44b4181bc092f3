/* SPDX-License-Identifier: Apache-2.0 */
/* How a hypothesis is written. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/cause/search.h"

const char *assay_scope_text(const struct assay_scope *s,
                             const struct assay_tensor *t, char *out,
                             size_t cap)
{
    int64_t channels = t->rank > 0 ? t->dims[t->rank - 1] : 1;

    out[0] = '\0';
    switch (s->kind) {
    case ASSAY_SCOPE_ALL: break;
    case ASSAY_SCOPE_TAIL_CHANNELS:
        snprintf(out, cap, "channels %" PRId64 "..%" PRId64, s->n,
                 channels - 1);
        break;
    case ASSAY_SCOPE_CHANNEL:
        snprintf(out, cap, "channel %" PRId64, s->n);
        break;
    case ASSAY_SCOPE_EDGES:
        snprintf(out, cap, "an edge ring %" PRId64 " wide", s->n);
        break;
    case ASSAY_SCOPE_LAST_ROWS:
        snprintf(out, cap, "rows from %" PRId64 " on", s->n);
        break;
    case ASSAY_SCOPE_LAST_COLUMNS:
        snprintf(out, cap, "columns from %" PRId64 " on", s->n);
        break;
    }
    return out;
}

const char *assay_hypothesis_text(const struct assay_hypothesis *h,
                                  const struct assay_tensor *t, char *out,
                                  size_t cap)
{
    char edits[2][64] = {"", ""}, scope[96];

    for (uint32_t i = 0; i < h->n_edits; i++)
        assay_edit_text(&h->edits[i], edits[i], sizeof(edits[i]));
    assay_scope_text(&h->scope, t, scope, sizeof(scope));
    snprintf(out, cap, "%s%s%s%s%s", edits[0], h->n_edits > 1 ? " and " : "",
             edits[1], scope[0] != '\0' ? " on " : "", scope);
    return out;
}
