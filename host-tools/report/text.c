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
    F_MISM,
    F_MAX,
    F_BIAS,
    F_FIRST,
    F_COS,
    F_SQNR,
    F_ISOLATED,
    F_STATUS,
    F_COUNT,
};

static const struct {
    const char *title;
    int width;
    bool right, cut;
} fields[F_COUNT] = {
    [F_INDEX] = {"idx", 3, true, false},
    [F_OP] = {"op", 11, false, true},
    [F_NAME] = {"name", 18, false, true},
    [F_SHAPE] = {"shape", 12, false, true},
    [F_MISM] = {"mism", 12, true, false},
    [F_MAX] = {"max", 5, true, false},
    [F_BIAS] = {"bias", 5, true, false},
    [F_FIRST] = {"first", 13, false, true},
    [F_COS] = {"cos", 6, true, false},
    [F_SQNR] = {"sqnr", 5, true, false},
    [F_ISOLATED] = {"isolated", 8, true, false},
    [F_STATUS] = {"status", 0, false, false},
};

struct assay_report {
    const struct assay_report_options *o;
    FILE *f;
    bool rows, titled;
    uint32_t printed, left;
};

static void put_field(char *line, size_t cap, size_t *goal, enum field k,
                      const char *text, bool wide)
{
    char cut[32];
    size_t at = strlen(line), n = strlen(text);
    size_t width = (size_t)fields[k].width, pad = 0;

    if (!wide && fields[k].cut && n > width) { /* a name's end tells more */
        if (k == F_NAME)
            snprintf(cut, sizeof(cut), "..%s", text + n - (width - 2));
        else
            snprintf(cut, sizeof(cut), "%.*s..", (int)width - 2, text);
        text = cut;
        n = width;
    }
    *goal += 1 + width;
    /* A long field eats the padding of those behind it. */
    if (*goal > at + 1 + n)
        pad = *goal - at - 1 - n;
    if (fields[k].right)
        snprintf(line + at, cap - at, " %*s%s", (int)pad, "", text);
    else if (k == F_STATUS)
        snprintf(line + at, cap - at, " %s", text);
    else
        snprintf(line + at, cap - at, " %s%*s", text, (int)pad, "");
}

static void put_line(struct assay_report *r, const char *const *texts, bool red)
{
    char line[1024] = "";
    size_t goal = 0;

    for (unsigned k = 0; k < F_COUNT; k++)
        put_field(line, sizeof(line), &goal, (enum field)k, texts[k],
                  r->o->wide);
    if (!r->o->wide && strlen(line) > COLUMNS)
        line[COLUMNS] = '\0';
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
    r->rows = o->all || h->exit_code != 0;
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

static const char *status_text(const struct assay_row *row)
{
    if (row->status == ASSAY_ROW_DIVERGED)
        return "DIVERGED";
    if (row->status == ASSAY_ROW_ERROR)
        return "ERROR";
    if (row->status == ASSAY_ROW_NOT_OBSERVED)
        return "not observed";
    return assay_row_status_name(row->status);
}

static bool shown(const struct assay_report *r, const struct assay_row *row)
{
    if (r->o->all)
        return true;
    if (!r->rows || row->status == ASSAY_ROW_EXACT)
        return false;
    return row->status != ASSAY_ROW_NOT_OBSERVED;
}

static int text_row(struct assay_report *r, const struct assay_row *row)
{
    const struct assay_diff *d = assay_row_diff(row);
    char index[16], shape[128], mism[48] = "-", max[32] = "-", bias[32] = "-";
    char first[160] = "-", cosine[32] = "-", sqnr[32] = "-", iso[32] = "-";
    const char *texts[F_COUNT];

    if (!shown(r, row))
        return 0;
    if (r->printed >= r->o->max_rows && !r->o->all) {
        r->left++;
        return 0;
    }
    if (!r->titled) {
        for (unsigned k = 0; k < F_COUNT; k++)
            texts[k] = fields[k].title;
        put_line(r, texts, false);
        r->titled = true;
    }
    snprintf(index, sizeof(index), "%03u", row->index);
    assay_report_shape(row->tensor, shape, sizeof(shape));
    if (d->count > 0) {
        snprintf(mism, sizeof(mism), "%" PRIu64 "/%" PRIu64, d->mismatch,
                 d->count);
        format_max(row, d, max, sizeof(max));
        format_numbers(d, cosine, sqnr, bias, sizeof(bias));
        if (d->n_first > 0)
            assay_report_index(row->tensor, d->first[0].index, false, first,
                               sizeof(first));
    }
    if (row->isolated.count > 0)
        snprintf(iso, sizeof(iso), "%" PRIu64, row->isolated.mismatch);
    texts[F_INDEX] = index;
    texts[F_OP] = row->op;
    texts[F_NAME] = row->name;
    texts[F_SHAPE] = shape;
    texts[F_MISM] = mism;
    texts[F_MAX] = max;
    texts[F_BIAS] = bias;
    texts[F_FIRST] = first;
    texts[F_COS] = cosine;
    texts[F_SQNR] = sqnr;
    texts[F_ISOLATED] = iso;
    texts[F_STATUS] = status_text(row);
    put_line(r, texts, row->status == ASSAY_ROW_DIVERGED);
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
