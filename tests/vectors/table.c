/* SPDX-License-Identifier: Apache-2.0 */
/* Golden rows: reading, sorting into groups, counting. */
#include "tests/vectors/vcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TOLD 5

void *assay_vc_alloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) {
        fprintf(stderr, "vcheck: out of memory\n");
        exit(3);
    }
    return p;
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t len = 0, cap = 1 << 16;
    char *text = assay_vc_alloc(cap, 1);
    for (;;) {
        len += fread(text + len, 1, cap - len - 1, f);
        if (len < cap - 1)
            break;
        cap *= 2;
        text = realloc(text, cap);
        if (!text)
            exit(3);
    }
    int bad = ferror(f);
    fclose(f);
    if (bad) {
        free(text);
        return NULL;
    }
    text[len] = '\0';
    return text;
}

static size_t count_char(const char *s, char c)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == c;
    return n;
}

/* Cuts one line into `cols` cells; false when it has another number. */
static bool split(char *line, size_t cols, const char **cells)
{
    for (size_t i = 0; i < cols; i++) {
        cells[i] = line;
        char *comma = strchr(line, ',');
        if ((comma == NULL) != (i + 1 == cols))
            return false;
        if (comma) {
            *comma = '\0';
            line = comma + 1;
        }
    }
    return true;
}

static bool parse(struct assay_vc_table *t, const char *header)
{
    char *line = t->text, *save = NULL;
    t->cols = count_char(header, ',') + 1;
    t->cells =
        assay_vc_alloc(count_char(t->text, '\n') * t->cols, sizeof(*t->cells));
    t->order = assay_vc_alloc(count_char(t->text, '\n'), sizeof(*t->order));
    line = strtok_r(line, "\n", &save);
    if (!line || strcmp(line, header) != 0) {
        fprintf(stderr, "vcheck: %s: header is '%s': expected '%s'\n", t->file,
                line ? line : "", header);
        return false;
    }
    for (; (line = strtok_r(NULL, "\n", &save)); t->rows++) {
        if (!split(line, t->cols, t->cells + t->rows * t->cols)) {
            fprintf(stderr, "vcheck: %s: row %zu: expected %zu cells\n",
                    t->file, t->rows + 2, t->cols);
            return false;
        }
        t->order[t->rows] = t->rows;
    }
    return true;
}

struct assay_vc_table *assay_vc_load(const char *dir, const char *file,
                                     const char *header)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
        return NULL;
    struct assay_vc_table *t = assay_vc_alloc(1, sizeof(*t));
    t->file = file;
    t->text = read_all(path);
    if (!t->text)
        fprintf(stderr, "vcheck: cannot read '%s'\n", path);
    if (!t->text || !parse(t, header)) {
        assay_vc_free(t);
        return NULL;
    }
    return t;
}

void assay_vc_free(struct assay_vc_table *t)
{
    if (!t)
        return;
    free(t->text);
    free((void *)t->cells);
    free(t->order);
    free(t);
}

const char *assay_vc_cell(const struct assay_vc_table *t, size_t row,
                          size_t col)
{
    return t->cells[row * t->cols + col];
}

int64_t assay_vc_int(const struct assay_vc_table *t, size_t row, size_t col)
{
    return strtoll(assay_vc_cell(t, row, col), NULL, 10);
}

float assay_vc_f32(const struct assay_vc_table *t, size_t row, size_t col)
{
    uint32_t u = (uint32_t)strtoull(assay_vc_cell(t, row, col), NULL, 16);
    float f;
    memcpy(&f, &u, sizeof(f));
    return f;
}

double assay_vc_f64(const struct assay_vc_table *t, size_t row, size_t col)
{
    uint64_t u = strtoull(assay_vc_cell(t, row, col), NULL, 16);
    double d;
    memcpy(&d, &u, sizeof(d));
    return d;
}

int assay_vc_round(const char *name)
{
    static const char *const names[] = {
        [ASSAY_ROUND_FLOOR] = "floor",
        [ASSAY_ROUND_CEIL] = "ceil",
        [ASSAY_ROUND_TRUNC] = "trunc",
        [ASSAY_ROUND_HALF_UP] = "half_up",
        [ASSAY_ROUND_HALF_EVEN] = "half_even",
        [ASSAY_ROUND_HALF_AWAY] = "half_away",
        [ASSAY_ROUND_HALF_DOWN] = "half_down",
        [ASSAY_ROUND_HALF_ZERO] = "half_zero",
    };
    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static int compare(const struct assay_vc_table *t, unsigned mask, size_t a,
                   size_t b)
{
    for (size_t c = 0; c < t->cols; c++) {
        if (!(mask >> c & 1))
            continue;
        int d = strcmp(assay_vc_cell(t, a, c), assay_vc_cell(t, b, c));
        if (d)
            return d;
    }
    return 0;
}

/* qsort has no argument for the comparison: one sort at a time. */
static const struct assay_vc_table *sort_table;
static unsigned sort_mask;

static int by_key(const void *pa, const void *pb)
{
    size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
    int d = compare(sort_table, sort_mask, a, b);
    return d ? d : a < b ? -1 : a > b;
}

void assay_vc_sort(struct assay_vc_table *t, unsigned column_mask)
{
    sort_table = t;
    sort_mask = column_mask;
    qsort(t->order, t->rows, sizeof(*t->order), by_key);
}

size_t assay_vc_group_end(const struct assay_vc_table *t, unsigned column_mask,
                          size_t first)
{
    size_t end = first + 1;
    while (end < t->rows &&
           compare(t, column_mask, t->order[first], t->order[end]) == 0)
        end++;
    return end;
}

static void tell_row(const struct assay_vc_table *t, size_t row)
{
    printf("  %s %s row %zu:", t->rung, t->file, row + 2);
    for (size_t c = 0; c < t->cols; c++)
        printf(" %s", assay_vc_cell(t, row, c));
}

void assay_vc_expect(struct assay_vc_table *t, size_t row, int64_t expected,
                     int64_t got)
{
    if (expected == got)
        return;
    t->failed++;
    if (t->told++ < MAX_TOLD) {
        tell_row(t, row);
        printf(": exp %lld got %lld diff %+lld\n", (long long)expected,
               (long long)got, (long long)(got - expected));
    }
}

void assay_vc_refused(struct assay_vc_table *t, size_t row, const char *why)
{
    t->failed++;
    if (t->told++ < MAX_TOLD) {
        tell_row(t, row);
        printf(": refused: %s\n", why);
    }
}
