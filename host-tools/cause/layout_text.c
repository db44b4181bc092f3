/* SPDX-License-Identifier: Apache-2.0 */
/* What a layout is called. */
#include <inttypes.h>
#include <stdio.h>

#include "host-tools/cause/layout_private.h"

/* Label of an axis in the order that the layout is in; '\0': it has none. */
static char label_of(const struct assay_layout *l, const struct assay_tensor *t,
                     int axis)
{
    if (t->axes[0] == '\0')
        return '\0';
    for (uint32_t a = 0; l->source_order && a < t->rank; a++)
        if (t->perm[a] == axis)
            return t->axes[a];
    return t->axes[axis];
}

/* "rows"; `units`: what lies in the buffer rather than places of the axis. */
static const char *word_of(char label, bool units)
{
    switch (label) {
    case 'N': return "images";
    case 'C': return units ? "planes" : "channels";
    case 'H': return "rows";
    case 'W': return units ? "pixels" : "columns";
    default: return NULL;
    }
}

static const char *axis_word(const struct assay_layout *l,
                             const struct assay_tensor *t, int axis, bool units,
                             char *out, size_t cap)
{
    const char *word = word_of(label_of(l, t, axis), units);

    if (word != NULL)
        snprintf(out, cap, "%s", word);
    else
        snprintf(out, cap, "%s of axis %d", units ? "blocks" : "places", axis);
    return out;
}

/* "NHWC -> NCHW", "axes 0 1 2 -> 2 0 1". */
static void permuted_text(const struct assay_layout *l,
                          const struct assay_tensor *t, char *out, size_t cap)
{
    char from[4 * ASSAY_MAX_RANK + 1] = "", to[4 * ASSAY_MAX_RANK + 1] = "";
    size_t f = 0, g = 0;
    bool labels = t->axes[0] != '\0';

    for (uint32_t a = 0; a < t->rank; a++) {
        if (labels) {
            from[f++] = label_of(l, t, (int)a);
            to[g++] = label_of(l, t, l->axes[a]);
            continue;
        }
        f += (size_t)snprintf(from + f, sizeof(from) - f, " %" PRIu32, a);
        g += (size_t)snprintf(to + g, sizeof(to) - g, " %u",
                              (unsigned)l->axes[a]);
    }
    snprintf(out, cap, "%s%s ->%s%s", labels ? "" : "axes",
             l->n[0] == 1 ? to : from, labels ? " " : "",
             l->n[0] == 1 ? from : to);
}

static void reversed_text(const struct assay_layout *l,
                          const struct assay_tensor *t, char *out, size_t cap)
{
    char a[40], b[40];

    axis_word(l, t, l->axis[0], false, a, sizeof(a));
    if (l->axis[1] >= 0)
        snprintf(out, cap, "%s and %s in the opposite order", a,
                 axis_word(l, t, l->axis[1], false, b, sizeof(b)));
    else
        snprintf(out, cap, "%s in the opposite order%s", a,
                 strcmp(l->id, "Y6") == 0 && t->dims[l->axis[0]] == 3
                     ? " (RGB <-> BGR)"
                     : "");
}

static void shifted_text(const struct assay_layout *l,
                         const struct assay_tensor *t, char *out, size_t cap)
{
    int64_t by = l->n[0] < 0 ? -l->n[0] : l->n[0];
    const char *where = l->n[0] < 0 ? "start" : "end";
    char word[40];

    if (by == 1)
        snprintf(out, cap, "moved by one element towards the %s", where);
    else
        snprintf(out, cap,
                 "moved by %" PRId64 " elements (one of the %s) towards the %s",
                 by, axis_word(l, t, l->axis[0], true, word, sizeof(word)),
                 where);
}

static void body(const struct assay_layout *l, const struct assay_tensor *t,
                 char *out, size_t cap)
{
    char word[40];

    switch (l->kind) {
    case ASSAY_LAYOUT_NONE: out[0] = '\0'; break;
    case ASSAY_LAYOUT_PERMUTED: permuted_text(l, t, out, cap); break;
    case ASSAY_LAYOUT_REVERSED: reversed_text(l, t, out, cap); break;
    case ASSAY_LAYOUT_SWAPPED:
        snprintf(out, cap, "%s %" PRId64 " and %" PRId64 " swapped",
                 axis_word(l, t, l->axis[0], false, word, sizeof(word)),
                 l->n[0], l->n[1]);
        break;
    case ASSAY_LAYOUT_STRIDED:
        snprintf(out, cap, "%s %" PRId64 " bytes apart, read as %" PRId64,
                 axis_word(l, t, l->axis[0], true, word, sizeof(word)), l->n[0],
                 l->n[1]);
        break;
    case ASSAY_LAYOUT_SIGN:
        snprintf(out, cap,
                 "signed taken for unsigned (the top bit of every "
                 "element is the other one)");
        break;
    case ASSAY_LAYOUT_BYTE_ORDER:
        snprintf(out, cap, "bytes of every element in the opposite order");
        break;
    case ASSAY_LAYOUT_SHIFTED: shifted_text(l, t, out, cap); break;
    case ASSAY_LAYOUT_PACKED:
        snprintf(out, cap,
                 l->n[1] == 1
                     ? "channels not packed, read as blocks of %" PRId64
                     : "channels in blocks of %" PRId64 ", read as not packed",
                 l->n[0]);
        break;
    case ASSAY_LAYOUT_OTHER_OUTPUT:
        snprintf(out, cap, "bytes of tensor %" PRId64 " of the slice", l->n[0]);
        break;
    }
}

const char *assay_layout_text(const struct assay_layout *l,
                              const struct assay_tensor *t, char *out,
                              size_t cap)
{
    size_t n;

    if (cap == 0)
        return out;
    body(l, t, out, cap);
    n = strlen(out);
    if (l->source_order && l->kind != ASSAY_LAYOUT_PERMUTED)
        snprintf(out + n, cap - n, ", in the source's order of axes");
    return out;
}
