/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_lines.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS ((size_t)118) /* two are for the "# " of a header */

static void add_whole(struct assay_lines *l, const char *prefix,
                      const char *text, size_t n)
{
    char line[ASSAY_LINE_TEXT + 64];
    const char *kept;

    if (l->n == ASSAY_MAX_LINES)
        return;
    snprintf(line, sizeof(line), "%.60s%.*s", prefix, (int)n, text);
    kept = assay_arena_str(l->arena, line, strlen(line));
    if (kept != NULL)
        l->v[l->n++] = kept;
}

void assay_line_add_whole(struct assay_lines *l, const char *prefix,
                          const char *text)
{
    add_whole(l, prefix, text, ASSAY_LINE_TEXT - 1);
}

/* Bytes of text up to the last space within `room` columns; 0: it fits, or
 * has no space there. */
static size_t break_at(const char *text, size_t room)
{
    size_t columns = 0, space = 0;

    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == ' ')
            space = i;
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (columns > room)
            return space;
    }
    return 0;
}

void assay_line_add(struct assay_lines *l, const char *prefix, const char *text)
{
    /* Under a label the text goes on behind it. */
    const char *behind =
        strlen(prefix) > 2 && prefix[0] == ' ' ? "          " : "   ";
    size_t n;

    while (!l->wide && (n = break_at(text, COLUMNS - strlen(prefix))) > 0) {
        add_whole(l, prefix, text, n);
        text += n + 1;
        prefix = behind;
    }
    assay_line_add_whole(l, prefix, text);
}
