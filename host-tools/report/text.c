/* SPDX-License-Identifier: Apache-2.0 */
/* The table for terminals: never wider than 120 columns without --wide. */
#include "host-tools/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/core/buf.h"

#define COLUMNS 120

enum field {
    F_INDEX,
    F_OP,
    F_NAME,
    F_SHAPE,
    F_CPU,
    F_SIM,
    F_BPU,
    F_GOT,
    F_MISM,
    F_MAX,
    F_BIAS,
    F_FIRST,
    F_COS,
    F_SQNR,
    F_ISOLATED,
    F_CAUSE,
    F_STATUS,
    F_COUNT,
};

/* Widths without columns of the compiled model, and with one; 0: the field is
 * not printed (the last one of a line takes what it needs). With both, names
 * give way. */
static const struct {
    const char *title;
    int width, compiled, both;
    bool right, cut;
} fields[F_COUNT] = {
    [F_INDEX] = {"idx", 3, 3, 3, true, false},
    [F_OP] = {"op", 11, 16, 16, false, true},
    [F_NAME] = {"name", 18, 18, 15, false, true},
    [F_SHAPE] = {"shape", 12, 11, 10, false, true},
    [F_CPU] = {"cpu", 0, 9, 9, false, false},
    [F_SIM] = {"sim", 0, 9, 9, false, false},
    [F_BPU] = {"bpu", 0, 9, 9, false, false},
    [F_GOT] = {"got", 0, 9, 9, false, false},
    [F_MISM] = {"mism", 12, 12, 11, true, false},
    [F_MAX] = {"max", 5, 5, 5, true, false},
    [F_BIAS] = {"bias", 5, 0, 0, true, false},
    [F_FIRST] = {"first", 13, 12, 11, false, true},
    [F_COS] = {"cos", 6, 0, 0, true, false},
    [F_SQNR] = {"sqnr", 5, 0, 0, true, false},
    [F_ISOLATED] = {"isolated", 8, 8, 8, true, false},
    [F_CAUSE] = {"cause", 0, 5, 3, false, false},
    [F_STATUS] = {"status", -1, 0, 0, false, false},
};

struct assay_report {
    const struct assay_report_options *o;
    FILE *f;
    bool rows, titled;
    uint32_t columns; /* of the compiled model: bit a column */
    uint32_t printed, left;
};

/* 0: the field is not in this report's table. */
static int width_of(const struct assay_report *r, enum field k)
{
    static const struct {
        enum field field;
        enum assay_column column;
    } sides[] = {
        {F_SIM, ASSAY_COL_SIM}, {F_BPU, ASSAY_COL_BPU}, {F_GOT, ASSAY_COL_GOT}};
    bool many = (r->columns & (r->columns - 1)) != 0;

    if (r->columns == 0)
        return fields[k].width;
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
        if (k == sides[i].field && (r->columns & 1u << sides[i].column) == 0)
            return 0;
    return many ? fields[k].both : fields[k].compiled;
}

static bool inside_character(char c) /* of UTF-8: not its first byte */
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The last (of a name) or first bytes of a text that is too long, whole
 * characters only. */
static void cut_text(char *out, size_t cap, const char *text, size_t width,
                     bool name)
{
    size_t n = strlen(text);
    size_t at = name ? n - (width - 2) : width - 2;

    if (name) { /* a name's end tells more */
        while (inside_character(text[at]))
            at++;
        snprintf(out, cap, "..%s", text + at);
    } else {
        while (at > 0 && inside_character(text[at]))
            at--;
        snprintf(out, cap, "%.*s..", (int)at, text);
    }
}

static void put_field(const struct assay_report *r, char *line, size_t cap,
                      size_t *goal, enum field k, const char *text)
{
    char cut[32];
    size_t at = strlen(line), n = strlen(text), pad = 0;
    bool last = width_of(r, k) < 0 || k == F_CAUSE;
    size_t width = width_of(r, k) < 0 ? 0 : (size_t)width_of(r, k);

    if (!r->o->wide && fields[k].cut && n > width) {
        cut_text(cut, sizeof(cut), text, width, k == F_NAME);
        text = cut;
        n = strlen(cut);
    }
    *goal += 1 + width;
    /* A long field eats the padding of those behind it. */
    if (*goal > at + 1 + n)
        pad = *goal - at - 1 - n;
    if (fields[k].right)
        snprintf(line + at, cap - at, " %*s%s", (int)pad, "", text);
    else if (last)
        snprintf(line + at, cap - at, " %s", text);
    else
        snprintf(line + at, cap - at, " %s%*s", text, (int)pad, "");
}

static void put_line(struct assay_report *r, const char *const *texts, bool red)
{
    char line[1024] = "";
    size_t goal = 0;

    for (unsigned k = 0; k < F_COUNT; k++) {
        if (width_of(r, (enum field)k) != 0)
            put_field(r, line, sizeof(line), &goal, (enum field)k, texts[k]);
    }
    if (!r->o->wide && strlen(line) > COLUMNS) {
        size_t at = COLUMNS;

        while (at > 0 && inside_character(line[at]))
            at--;
        line[at] = '\0';
    }
    if (red && r->o->color)
        fprintf(r->f, "\033[31m%s\033[0m\n", line);
    else
        fprintf(r->f, "%s\n", line);
}

static int text_open(struct assay_report **out,
                     const struct assay_report_head *h,
                     const struct assay_report_options *o,
                     struct assay_err *err)
{
    struct assay_report *r = assay_calloc(1, sizeof(*r));

    if (r == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%s",
                          assay_status_sentence(ASSAY_EMEMORY));
    r->o = o;
    r->f = o->stream;
    r->columns = h->columns;
    r->rows = o->all || h->exit_code != 0;
    if (h->banner != NULL)
        fprintf(r->f, "%s\n", h->banner);
    for (size_t i = 0; i < h->n_lines; i++)
        fprintf(r->f, "# %s\n", h->lines[i]);
    *out = r;
    return 0;
}

static void format_max(const struct assay_row *row, const struct assay_diff *d,
                       char *out, size_t cap)
{
    if (assay_dtype_is_int(row->tensor->dtype))
        snprintf(out, cap, "%" PRId64, d->max_lsb);
    else
        snprintf(out, cap, "%.0e", d->max_abs);
}

/* A cosine below 1 by little still shows 1.0000: four digits, as promised. */
static void format_numbers(const struct assay_diff *d, char *cosine, char *sqnr,
                           char *bias, size_t cap)
{
    if (isnan(d->cosine))
        snprintf(cosine, cap, "-");
    else
        snprintf(cosine, cap, "%.4f", d->cosine);
    if (isinf(d->sqnr_db))
        snprintf(sqnr, cap, "%s", d->sqnr_db > 0 ? "inf" : "-inf");
    else
        snprintf(sqnr, cap, "%.1f", d->sqnr_db);
    if (fabs(d->mean_signed) < 100.0)
        snprintf(bias, cap, "%+.2f", d->mean_signed);
    else
        snprintf(bias, cap, "%+.0e", d->mean_signed);
}

static const char *status_text(enum assay_row_status status)
{
    if (status == ASSAY_ROW_DIVERGED)
        return "DIVERGED";
    if (status == ASSAY_ROW_ERROR)
        return "ERROR";
    if (status == ASSAY_ROW_NOT_OBSERVED)
        return "not observed";
    return assay_row_status_name(status);
}

/* The same in a column's cell. */
static const char *cell_text(const struct assay_row_column *k)
{
    return k->status == ASSAY_ROW_NOT_OBSERVED ? "-" : status_text(k->status);
}

/* The comparison that a row shows: that of its worst column, cpu first. */
static enum assay_column shown_column(const struct assay_report *r,
                                      const struct assay_row *row)
{
    enum assay_column best = ASSAY_COL_CPU;

    for (unsigned c = ASSAY_COL_SIM; c < ASSAY_COL_COUNT; c++) {
        const struct assay_row_column *k = &row->columns[c];

        if ((r->columns & (1u << c)) != 0 && k->observed &&
            k->status != ASSAY_ROW_NOT_OBSERVED &&
            (k->status > row->columns[best].status ||
             row->columns[best].status == ASSAY_ROW_NOT_OBSERVED))
            best = (enum assay_column)c;
    }
    return best;
}

static bool shown(const struct assay_report *r, const struct assay_row *row)
{
    if (r->o->all)
        return true;
    if (!r->rows || row->status == ASSAY_ROW_EXACT)
        return false;
    return row->status != ASSAY_ROW_NOT_OBSERVED;
}

static void put_title(struct assay_report *r)
{
    const char *texts[F_COUNT];

    if (r->titled)
        return;
    for (unsigned k = 0; k < F_COUNT; k++)
        texts[k] = fields[k].title;
    put_line(r, texts, false);
    r->titled = true;
}

static void put_row(struct assay_report *r, const struct assay_row *row)
{
    enum assay_column c = shown_column(r, row);
    const struct assay_row_column *k = &row->columns[c];
    const struct assay_diff *d =
        c == ASSAY_COL_CPU ? assay_row_diff(row) : &k->diff;
    const struct assay_diff *isolated =
        c == ASSAY_COL_CPU ? &row->isolated : &k->isolated;
    char index[16], shape[128], mism[48] = "-", max[32] = "-", bias[32] = "-";
    char first[160] = "-", cosine[32] = "-", sqnr[32] = "-", iso[32] = "-";

    snprintf(index, sizeof(index), "%03u", row->index);
    assay_report_shape(row->tensor, shape, sizeof(shape));
    if (d->count > 0 && !d->by_digest) { /* digests count nothing */
        snprintf(mism, sizeof(mism), "%" PRIu64 "/%" PRIu64, d->mismatch,
                 d->count);
        format_max(row, d, max, sizeof(max));
        format_numbers(d, cosine, sqnr, bias, sizeof(bias));
        if (d->n_first > 0)
            assay_report_index(row->tensor, d->first[0].index, false, first,
                               sizeof(first));
    }
    if (isolated->count > 0 && !isolated->by_digest)
        snprintf(iso, sizeof(iso), "%" PRIu64, isolated->mismatch);
    put_line(r,
             (const char *[F_COUNT]){
                 [F_INDEX] = index,
                 [F_OP] = row->op,
                 [F_NAME] = row->name,
                 [F_SHAPE] = shape,
                 [F_CPU] = cell_text(&row->columns[ASSAY_COL_CPU]),
                 [F_SIM] = cell_text(&row->columns[ASSAY_COL_SIM]),
                 [F_BPU] = cell_text(&row->columns[ASSAY_COL_BPU]),
                 [F_GOT] = cell_text(&row->columns[ASSAY_COL_GOT]),
                 [F_MISM] = mism,
                 [F_MAX] = max,
                 [F_BIAS] = bias,
                 [F_FIRST] = first,
                 [F_COS] = cosine,
                 [F_SQNR] = sqnr,
                 [F_ISOLATED] = iso,
                 [F_CAUSE] = row->cause != NULL && row->cause[0] != '\0'
                                 ? row->cause
                                 : "-",
                 [F_STATUS] = status_text(row->status),
             },
             row->status == ASSAY_ROW_DIVERGED);
}

static int text_row(struct assay_report *r, const struct assay_row *row)
{
    if (!shown(r, row))
        return 0;
    if (r->printed >= r->o->max_rows && !r->o->all) {
        r->left++;
        return 0;
    }
    put_title(r);
    put_row(r, row);
    r->printed++;
    return 0;
}

static void put_more(struct assay_report *r)
{
    const char *text = r->o->more_rows != NULL ? r->o->more_rows : "{more}";
    const char *mark = strstr(text, "{more}");

    if (mark == NULL)
        return;
    fprintf(r->f, " %.*s%u%s\n", (int)(mark - text), text, r->left,
            mark + strlen("{more}"));
}

static int text_close(struct assay_report *r, const struct assay_report_foot *f,
                      struct assay_err *err)
{
    bool bad;

    if (r->left > 0)
        put_more(r);
    for (size_t i = 0; i < f->n_lines; i++)
        fprintf(r->f, "%s\n", f->lines[i]);
    bad = fflush(r->f) != 0 || ferror(r->f);
    assay_free(r);
    if (bad)
        return assay_fail(err, ASSAY_EIO,
                          "cannot write to the standard output");
    return 0;
}

const struct assay_report_writer assay_report_text = {
    .format = "text",
    .open = text_open,
    .row = text_row,
    .close = text_close,
};
