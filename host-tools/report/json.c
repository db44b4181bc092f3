/* SPDX-License-Identifier: Apache-2.0 */
/* docs/assay-report-1.schema.json describes what is written here. */
#include "host-tools/report/json_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host-tools/report/json_probe.h"
#include "lib/core/buf.h"

/* JSON has no infinity: null means infinite (equal) or not a number. */
static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *texts(struct assay_report *r, const char *const *v, size_t n)
{
    json_t *a = json_array();

    for (size_t i = 0; i < n; i++)
        assay_json_append(r, a, assay_json_text(v[i]));
    return a;
}

static json_t *arithmetic(struct assay_report *r,
                          const struct assay_report_head *h)
{
    json_t *o = json_object(), *a = json_array();

    for (size_t i = 0; i < h->n_rules; i++) {
        json_t *rule = json_object();

        assay_json_set(r, rule, "form", assay_json_text(h->rules[i].form));
        assay_json_set(r, rule, "rule", assay_json_text(h->rules[i].rule));
        assay_json_set(r, rule, "layers",
                       assay_json_integer(h->rules[i].layers));
        assay_json_set(r, rule, "proved",
                       assay_json_integer(h->rules[i].proved));
        assay_json_set(r, rule, "golden", assay_json_text(h->rules[i].golden));
        assay_json_set(r, rule, "note", assay_json_text(h->rules[i].note));
        assay_json_append(r, a, rule);
    }
    assay_json_set(r, o, "name", assay_json_text(h->numerics));
    assay_json_set(r, o, "source", assay_json_text(h->numerics_source));
    assay_json_set(r, o, "rules", a);
    return o;
}

static void put_head(struct assay_report *r, const struct assay_report_head *h)
{
    json_t *o = json_object();

    assay_json_set(r, r->root, "schema", assay_json_text("assay-report/1"));
    assay_json_set(r, o, "name", assay_json_text("assay"));
    assay_json_set(r, o, "version", assay_json_text(h->tool_version));
    assay_json_set(r, r->root, "tool", o);
    o = json_object();
    assay_json_set(r, o, "version", assay_json_text(h->agent));
    assay_json_set(r, o, "protocol", assay_json_integer(h->protocol));
    assay_json_set(r, o, "kernels", assay_json_text(h->kernels));
    assay_json_set(r, r->root, "agent", o);
    o = json_object();
    assay_json_set(r, o, "id", assay_json_text(h->board));
    assay_json_set(r, o, "soc", assay_json_text(h->soc));
    assay_json_set(r, o, "features", assay_json_text(h->features));
    assay_json_set(r, r->root, "board", o);
    o = json_object();
    assay_json_set(r, o, "name", assay_json_text(h->model));
    assay_json_set(r, o, "sha256", assay_json_text(h->model_sha256));
    assay_json_set(r, o, "stage", assay_json_text(h->model_stage));
    assay_json_set(r, r->root, "model", o);
    o = json_object();
    assay_json_set(r, o, "started", assay_json_text(h->started));
    assay_json_set(r, o, "duration_ms", assay_json_integer(h->duration_ms));
    assay_json_set(r, o, "samples", assay_json_integer(h->samples));
    assay_json_set(r, o, "seed", json_null());
    assay_json_set(r, o, "mode", assay_json_text(h->mode));
    assay_json_set(r, o, "capture", assay_json_text(h->capture));
    assay_json_set(r, o, "repeat", assay_json_integer(1));
    assay_json_set(r, o, "cpumask", assay_json_integer(h->cpumask));
    assay_json_set(r, o, "reference", assay_json_text(h->reference));
    assay_json_set(r, o, "numerics", assay_json_text(h->numerics));
    assay_json_set(r, o, "arithmetic", arithmetic(r, h));
    assay_json_set(r, o, "argv", texts(r, h->argv, h->argc));
    assay_json_set(r, r->root, "run", o);
}

static void put_findings(struct assay_report *r,
                         const struct assay_report_head *h)
{
    json_t *a = json_array();

    for (size_t i = 0; i < h->n_findings; i++) {
        const struct assay_report_finding *f = &h->findings[i];
        json_t *o = json_object();

        assay_json_set(r, o, "severity", assay_json_text(f->severity));
        assay_json_set(r, o, "id", assay_json_text(f->id));
        assay_json_set(r, o, "file", assay_json_text(f->file));
        assay_json_set(r, o, "subject", assay_json_text(f->subject));
        assay_json_set(r, o, "sentence", assay_json_text(f->sentence));
        assay_json_set(r, o, "expected", assay_json_text(f->expected));
        assay_json_set(r, o, "found", assay_json_text(f->found));
        assay_json_append(r, a, o);
    }
    assay_json_set(r, r->root, "findings", a);
}

static int json_open(struct assay_report **out,
                     const struct assay_report_head *h,
                     const struct assay_report_options *o,
                     struct assay_err *err)
{
    struct assay_report *r = assay_calloc(1, sizeof(*r));

    if (r != NULL) {
        r->o = o;
        r->root = json_object();
        r->layers = json_array();
    }
    if (r == NULL || r->root == NULL || r->layers == NULL) {
        assay_free(r);
        return assay_fail(err, ASSAY_EMEMORY, "%s",
                          assay_status_sentence(ASSAY_EMEMORY));
    }
    r->columns = h->columns;
    put_head(r, h);
    put_findings(r, h);
    assay_json_chain(r, h);
    assay_json_set(r, r->root, "notes", texts(r, h->notes, h->n_notes));
    *out = r;
    return 0;
}

static json_t *dims_of(struct assay_report *r, const int64_t *v, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < n; i++)
        assay_json_append(r, a, json_integer(v[i]));
    return a;
}

static json_t *index_of(struct assay_report *r, const struct assay_tensor *t,
                        uint64_t index, bool source)
{
    int64_t at[ASSAY_MAX_RANK] = {0};

    for (uint32_t a = t->rank; a-- > 0;) {
        at[source ? t->perm[a] : a] = (int64_t)(index % (uint64_t)t->dims[a]);
        index /= (uint64_t)t->dims[a];
    }
    return dims_of(r, at, t->rank);
}

static json_t *value_of(const struct assay_tensor *t, double v)
{
    if (assay_dtype_is_int(t->dtype))
        return json_integer((json_int_t)v);
    return number(v);
}

static json_t *firsts(struct assay_report *r, const struct assay_tensor *t,
                      const struct assay_diff *d)
{
    json_t *a = json_array();

    for (size_t i = 0; i < d->n_first; i++) {
        json_t *o = json_object();

        assay_json_set(r, o, "sample", assay_json_integer(d->sample));
        assay_json_set(r, o, "index", index_of(r, t, d->first[i].index, false));
        assay_json_set(r, o, "index_source",
                       index_of(r, t, d->first[i].index, true));
        assay_json_set(r, o, "ref", value_of(t, d->first[i].ref));
        assay_json_set(r, o, "got", value_of(t, d->first[i].got));
        assay_json_set(r, o, "diff",
                       value_of(t, d->first[i].got - d->first[i].ref));
        assay_json_append(r, a, o);
    }
    return a;
}

/* count, mismatch, ... of one comparison. */
static void put_diff(struct assay_report *r, json_t *o,
                     const struct assay_tensor *t, const struct assay_diff *d)
{
    json_t *hist = json_array();

    for (unsigned i = 0; i < ASSAY_LSB_HIST; i++)
        assay_json_append(r, hist, assay_json_integer(d->lsb_hist[i]));
    assay_json_set(r, o, "count", assay_json_integer(d->count));
    assay_json_set(r, o, "mismatch",
                   assay_json_known(d, assay_json_integer(d->mismatch)));
    assay_json_set(r, o, "outside",
                   assay_json_known(d, assay_json_integer(d->outside)));
    assay_json_set(r, o, "max_lsb",
                   assay_json_known(d, json_integer(d->max_lsb)));
    assay_json_set(r, o, "mean_signed",
                   assay_json_known(d, number(d->mean_signed)));
    assay_json_set(r, o, "lsb_hist", assay_json_known(d, hist));
    assay_json_set(r, o, "first", firsts(r, t, d));
    assay_json_set(r, o, "cosine", assay_json_known(d, number(d->cosine)));
    assay_json_set(r, o, "sqnr_db", assay_json_known(d, number(d->sqnr_db)));
    assay_json_set(r, o, "l1", assay_json_known(d, number(d->l1)));
    assay_json_set(r, o, "atol", assay_json_known(d, number(d->max_abs)));
    assay_json_tiles(r, o, d);
}

static json_t *diff_or_null(struct assay_report *r,
                            const struct assay_tensor *t,
                            const struct assay_diff *d)
{
    json_t *o;

    if (d->count == 0)
        return json_null();
    o = json_object();
    put_diff(r, o, t, d);
    return o;
}

/* What only a column of the compiled model has. */
static void put_compiled(struct assay_report *r, json_t *o,
                         const struct assay_tensor *t,
                         const struct assay_row_column *k)
{
    assay_json_set(r, o, "reason",
                   assay_json_text(assay_row_reason_name(k->reason)));
    assay_json_set(r, o, "isolated", diff_or_null(r, t, &k->isolated));
    assay_json_set(r, o, "judged_through", texts(r, k->through, k->n_through));
    if (k->culprit)
        assay_json_set(r, o, "verdict",
                       assay_json_text(assay_verdict_name(k->verdict)));
}

static json_t *columns_of(struct assay_report *r, const struct assay_row *row)
{
    json_t *columns = json_object();

    for (unsigned c = 0; c < ASSAY_COL_COUNT; c++) {
        const struct assay_row_column *k = &row->columns[c];
        json_t *o;

        if (!k->observed && (r->columns & (1u << c)) == 0)
            continue;
        o = json_object();
        assay_json_set(r, o, "count", assay_json_integer(k->diff.count));
        assay_json_set(
            r, o, "mismatch",
            assay_json_known(&k->diff, assay_json_integer(k->diff.mismatch)));
        assay_json_set(
            r, o, "max_lsb",
            assay_json_known(&k->diff, json_integer(k->diff.max_lsb)));
        assay_json_set(r, o, "first", firsts(r, row->tensor, &k->diff));
        assay_json_set(r, o, "status",
                       assay_json_text(assay_row_status_name(k->status)));
        if (k->digest[0] != '\0')
            assay_json_set(r, o, "digest", assay_json_text(k->digest));
        if (k->digest_then[0] != '\0')
            assay_json_set(r, o, "digest_expected_then",
                           assay_json_text(k->digest_then));
        if (c >= ASSAY_COL_SIM)
            put_compiled(r, o, row->tensor, k);
        assay_json_set(r, columns, assay_column_name((enum assay_column)c), o);
    }
    return columns;
}

static void put_quant(struct assay_report *r, json_t *o,
                      const struct assay_quant *q)
{
    json_t *scale = json_null(), *zero = json_null();

    if (q->n == 1) {
        scale = number((double)q->scale[0]);
        zero = json_integer(q->zero_point[0]);
    } else if (q->n > 1) {
        scale = json_array();
        zero = json_array();
        for (uint32_t i = 0; i < q->n; i++) {
            assay_json_append(r, scale, number((double)q->scale[i]));
            assay_json_append(r, zero, json_integer(q->zero_point[i]));
        }
    }
    assay_json_set(r, o, "scale", scale);
    assay_json_set(r, o, "zero_point", zero);
}

/* The names of the vendor's compare_per_layer_out.csv, for its readers. */
static void put_vendor(struct assay_report *r, json_t *o,
                       const struct assay_row *row, const struct assay_diff *d)
{
    const struct assay_quant *q = &row->tensor->quant;

    assay_json_set(r, o, "Cosine", assay_json_known(d, number(d->cosine)));
    assay_json_set(r, o, "L1", assay_json_known(d, number(d->l1)));
    assay_json_set(r, o, "Atol", assay_json_known(d, number(d->max_abs)));
    assay_json_set(r, o, "max_qscale_diff",
                   assay_json_known(d, json_integer(d->max_lsb)));
    assay_json_set(r, o, "qscale",
                   q->n == 1 ? number((double)q->scale[0]) : json_null());
}

/* The table of hb_mapper's log, for this layer. */
static json_t *vendor_of(struct assay_report *r,
                         const struct assay_row_vendor *v)
{
    json_t *o = json_object();

    assay_json_set(r, o, "on", assay_json_text(v->on));
    assay_json_set(r, o, "subgraph", assay_json_text(v->subgraph));
    assay_json_set(r, o, "type", assay_json_text(v->type));
    assay_json_set(r, o, "cosine",
                   v->has_cosine ? number(v->cosine) : json_null());
    assay_json_set(r, o, "threshold",
                   v->has_threshold ? number(v->threshold) : json_null());
    assay_json_set(r, o, "dtype", assay_json_text(v->dtype));
    return o;
}

static void put_probe(struct assay_report *r, json_t *row,
                      const struct assay_row_probe *p)
{
    assay_json_set(r, row, "accumulator", assay_json_accumulator(p->p));
    assay_json_set(r, row, "exercised", assay_json_exercised(p));
    assay_json_set(r, row, "never_reached", texts(r, p->never, p->n_never));
}

static void put_digests(struct assay_report *r, json_t *o,
                        const struct assay_row *row)
{
    const char *got = row->columns[ASSAY_COL_CPU].digest;

    if (row->digest_expected[0] != '\0')
        assay_json_set(r, o, "digest_expected",
                       assay_json_text(row->digest_expected));
    if (got[0] != '\0')
        assay_json_set(r, o, "digest_got", assay_json_text(got));
}

static int json_row(struct assay_report *r, const struct assay_row *row)
{
    const struct assay_tensor *t = row->tensor;
    const struct assay_diff *d = assay_row_diff(row);
    int64_t source[ASSAY_MAX_RANK] = {0};
    json_t *o = json_object(), *time = json_object();

    assay_tensor_source_dims(t, source);
    assay_json_set(r, o, "index", assay_json_integer(row->index));
    assay_json_set(r, o, "source_index", assay_json_integer(row->source_index));
    assay_json_set(r, o, "name", assay_json_text(row->name));
    assay_json_set(r, o, "op", assay_json_text(row->op));
    assay_json_set(r, o, "tensor", assay_json_text(t->name));
    assay_json_set(r, o, "inputs", texts(r, row->inputs, row->n_inputs));
    assay_json_set(r, o, "shape", dims_of(r, t->dims, t->rank));
    assay_json_set(r, o, "shape_source", dims_of(r, source, t->rank));
    assay_json_set(r, o, "dtype", assay_json_text(assay_dtype_name(t->dtype)));
    put_quant(r, o, &t->quant);
    assay_json_set(r, o, "arith", assay_json_text(row->arith));
    assay_json_set(r, o, "arith_overridden",
                   json_boolean(row->arith_overridden));
    assay_json_set(r, o, "status",
                   assay_json_text(assay_row_status_name(row->status)));
    assay_json_set(r, o, "reason",
                   assay_json_text(assay_row_reason_name(row->reason)));
    assay_json_set(r, o, "detail", assay_json_text(row->detail));
    if (d->count > 0) {
        put_diff(r, o, t, d);
        put_vendor(r, o, row, d);
    } else {
        assay_json_set(r, o, "count", assay_json_integer(0));
        assay_json_set(r, o, "mismatch", assay_json_integer(0));
        assay_json_set(r, o, "max_lsb", assay_json_integer(0));
        assay_json_set(r, o, "first", json_array());
    }
    assay_json_set(r, o, "isolated", diff_or_null(r, t, &row->isolated));
    assay_json_set(r, o, "cumulative", diff_or_null(r, t, &row->cumulative));
    assay_json_set(r, o, "columns", columns_of(r, row));
    put_digests(r, o, row);
    assay_json_set(r, time, "compute", assay_json_integer(row->time_us));
    assay_json_set(r, o, "time_us", time);
    assay_json_set(r, o, "kernel", assay_json_text(row->kernel));
    assay_json_set(r, o, "fingerprint",
                   texts(r, row->fingerprints, row->n_fingerprints));
    assay_json_set(r, o, "fingerprint_sample",
                   row->n_fingerprints > 0
                       ? assay_json_integer(row->fingerprint_sample)
                       : json_null());
    if (row->probe.p != NULL)
        put_probe(r, o, &row->probe);
    assay_json_stats(r, o, row);
    if (row->has_vendor)
        assay_json_set(r, o, "vendor", vendor_of(r, &row->vendor));
    if (row->culprit)
        assay_json_set(r, o, "verdict",
                       assay_json_text(assay_verdict_name(row->verdict)));
    assay_json_append(r, r->layers, o);
    return r->failed ? ASSAY_EMEMORY : 0;
}

/* How many rows of each status every column has. */
static void put_column_counts(struct assay_report *r,
                              const struct assay_report_foot *f)
{
    json_t *all = json_object();

    for (unsigned c = ASSAY_COL_CPU; c < ASSAY_COL_COUNT; c++) {
        json_t *o = json_object();

        if (c != ASSAY_COL_CPU && (r->columns & (1u << c)) == 0) {
            json_decref(o);
            continue;
        }
        for (unsigned s = 0; s <= ASSAY_ROW_DIVERGED; s++)
            assay_json_set(r, o,
                           assay_row_status_name((enum assay_row_status)s),
                           assay_json_integer(f->column_status[c][s]));
        assay_json_set(r, all, assay_column_name((enum assay_column)c), o);
    }
    assay_json_set(r, r->root, "column_counts", all);
}

static json_t *fits(struct assay_report *r, const struct assay_report_foot *f)
{
    json_t *a = json_array();

    for (size_t i = 0; i < f->n_fits; i++) {
        const struct assay_report_fit *v = &f->fits[i];
        json_t *o = json_object();

        assay_json_set(r, o, "form", assay_json_text(v->form));
        assay_json_set(r, o, "rule",
                       v->rule[0] != '\0' ? assay_json_text(v->rule)
                                          : json_null());
        assay_json_set(r, o, "unique", json_boolean(v->unique));
        assay_json_set(r, o, "in_use", json_boolean(v->in_use));
        assay_json_set(r, o, "cut", json_boolean(v->cut));
        assay_json_set(r, o, "layers", assay_json_integer(v->layers));
        assay_json_set(r, o, "differing", assay_json_integer(v->differing));
        assay_json_set(r, o, "elements", assay_json_integer(v->elements));
        assay_json_set(r, o, "candidates", assay_json_integer(v->candidates));
        assay_json_set(r, o, "classes", assay_json_integer(v->classes));
        assay_json_set(r, o, "space", assay_json_integer(v->space));
        assay_json_append(r, a, o);
    }
    return a;
}

static void put_foot(struct assay_report *r, const struct assay_report_foot *f)
{
    json_t *o = json_object();

    assay_json_set(r, o, "expected", assay_json_integer(f->expected));
    assay_json_set(r, o, "received", assay_json_integer(f->received));
    assay_json_set(r, o, "compared", assay_json_integer(f->compared));
    assay_json_set(r, o, "skipped", assay_json_integer(f->skipped));
    assay_json_set(r, r->root, "coverage", o);
    o = json_object();
    for (unsigned s = 0; s <= ASSAY_ROW_DIVERGED; s++)
        assay_json_set(r, o, assay_row_status_name((enum assay_row_status)s),
                       assay_json_integer(f->status[s]));
    assay_json_set(r, r->root, "counts", o);
    put_column_counts(r, f);
    if (json_object_set(r->root, "layers", r->layers) != 0)
        r->failed = true;
    assay_json_set(r, r->root, "fits", fits(r, f));
    assay_json_causes(r, f);
    assay_json_inputs(r, f);
    assay_json_set(r, r->root, "verdict",
                   f->has_verdict
                       ? assay_json_text(assay_verdict_name(f->verdict))
                       : json_null());
    assay_json_set(r, r->root, "verdict_id",
                   f->verdict_id[0] != '\0' ? assay_json_text(f->verdict_id)
                                            : json_null());
    assay_json_set(r, r->root, "sentence", assay_json_text(f->sentence));
    assay_json_set(r, r->root, "error",
                   f->error[0] != '\0' ? assay_json_text(f->error)
                                       : json_null());
    assay_json_set(r, r->root, "partial", json_boolean(f->partial));
    assay_json_set(r, r->root, "received_bytes",
                   assay_json_integer(f->received_bytes));
    assay_json_set(r, r->root, "not_examined",
                   texts(r, f->not_examined, f->n_not_examined));
    assay_json_set(r, r->root, "exit_code", json_integer(f->exit_code));
    assay_json_set(r, r->root, "artifacts",
                   texts(r, f->artifacts, f->n_artifacts));
}

static int cannot_write(const char *path, int why, struct assay_err *err)
{
    return assay_fail(err, ASSAY_EIO, "cannot write '%.200s': %s", path,
                      strerror(why));
}

/* 0, or the errno of what failed. Closes f. */
static int dump(const json_t *root, FILE *f)
{
    int why = 0;

    errno = 0;
    if (json_dumpf(root, f, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) != 0 ||
        fputc('\n', f) == EOF || fflush(f) != 0)
        why = errno != 0 ? errno : EIO;
    if (fclose(f) != 0 && why == 0)
        why = errno != 0 ? errno : EIO;
    return why;
}

/* A new file appears complete or not at all. A device, a pipe or a link that
 * is there already is written to, never replaced. */
static int write_file(const json_t *root, const char *path,
                      struct assay_err *err)
{
    char temp[4096];
    struct stat st;
    bool in_place = lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
    const char *name = in_place ? path : temp;
    FILE *f;
    int why;

    if (snprintf(temp, sizeof(temp), "%s.%ld.tmp", path, (long)getpid()) >=
        (int)sizeof(temp))
        return cannot_write(path, ENAMETOOLONG, err);
    f = fopen(name, "w");
    if (f == NULL)
        return cannot_write(path, errno, err);
    why = dump(root, f);
    if (why == 0 && !in_place && rename(temp, path) != 0)
        why = errno;
    if (why != 0 && !in_place)
        unlink(temp);
    return why != 0 ? cannot_write(path, why, err) : 0;
}

static int json_close(struct assay_report *r, const struct assay_report_foot *f,
                      struct assay_err *err)
{
    int rc = 0;

    put_foot(r, f);
    if (r->failed)
        rc = assay_fail(err, ASSAY_EMEMORY, "%s",
                        assay_status_sentence(ASSAY_EMEMORY));
    else if (r->o->path != NULL)
        rc = write_file(r->root, r->o->path, err);
    else if (json_dumpf(r->root, r->o->stream,
                        JSON_INDENT(1) | JSON_REAL_PRECISION(15)) != 0 ||
             fputc('\n', r->o->stream) == EOF || fflush(r->o->stream) != 0)
        rc = assay_fail(err, ASSAY_EIO, "cannot write to the standard output");
    json_decref(r->layers);
    json_decref(r->root);
    assay_free(r);
    return rc;
}

const struct assay_report_writer assay_report_json = {
    .format = "json",
    .open = json_open,
    .row = json_row,
    .close = json_close,
};
