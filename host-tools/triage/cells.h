/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables in texts: lines of cells between '|', of CSV, or of columns that two
 * blanks part. Pure; any thread.
 */
#ifndef ASSAY_TRIAGE_CELLS_H
#define ASSAY_TRIAGE_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSAY_MAX_CELLS 48u
#define ASSAY_CELLS_BYTES 8192u

enum assay_cell_style { ASSAY_CELLS_PIPE, ASSAY_CELLS_CSV, ASSAY_CELLS_BLANKS };

/* The cells of one line, trimmed, control bytes as '?'. */
struct assay_cells {
    uint32_t n;
    const char *v[ASSAY_MAX_CELLS];
    char buf[ASSAY_CELLS_BYTES];
};

/* Lines of a text, without their ends. */
struct assay_lines {
    const char *at, *end;
    uint32_t number; /* of the line that was given last; from 1 */
    const char *line;
    size_t len;
};
void assay_lines_begin(struct assay_lines *l, const char *text, size_t n);
bool assay_lines_next(struct assay_lines *l);

/* false: no row of that style, or one that is too long or has too many
 * cells. */
bool assay_cells_split(struct assay_cells *c, const char *line, size_t len,
                       enum assay_cell_style style);
/* As a line is written: with '|' in front, with commas, else blanks. */
enum assay_cell_style assay_cells_style(const char *line, size_t len);
/* The column of that name (letters and digits count, case does not); -1. */
int assay_cells_column(const struct assay_cells *head, const char *name);
/* The text of a column; "" where the row has no such cell. */
const char *assay_cells_text(const struct assay_cells *row, int column);
/* NAN where it is no number. */
double assay_cells_number(const struct assay_cells *row, int column);

/* Is the word in the text, without regard to case? */
bool assay_text_has(const char *text, size_t n, const char *word);

#endif
