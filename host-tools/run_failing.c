/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_failing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/model/record.h"
#include "host-tools/run_cause_looks.h"
#include "proto/bundle.h"

#define TEXT 1024
#define SHOWN 8 /* repro lines */

static size_t bytes_of(const struct assay_tensor *t)
{
    size_t n, bytes;

    return assay_tensor_count(t, &n, &bytes, NULL) < 0 ? 0 : bytes;
}

/* ---- names ------------------------------------------------------------------ */

/* "DIR/003_conv2.assay"; a second column of the same layer adds its name.
 * What a shell or a file system may not like becomes '_'. */
static const char *path_of(struct assay_run *r,
                           const struct assay_run_suspect *k)
{
    const struct assay_run_failing *f = &r->failing;
    bool again = f->n > 0 && f->v[f->n - 1].layer == k->layer;
    char name[128], path[4300];
    size_t n = 0;

    for (const char *p = r->s->layers[k->layer].name; *p && n < 100; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr("._-", *p) != NULL;

        name[n++] = plain ? *p : '_';
    }
    name[n] = '\0';
    snprintf(path, sizeof(path), "%.4000s/%03u_%s%s%s.assay",
             r->o->save_failing, k->layer, name, again ? "_" : "",
             again ? assay_column_name(k->column) : "");
    return assay_arena_str(r->arena, path, strlen(path));
}

/* ---- notes ------------------------------------------------------------------ */

static int note(struct assay_bundle_writer *w, const char *key,
                const char *text, struct assay_err *err)
{
    return text == NULL || text[0] == '\0'
               ? 0
               : assay_bundle_note(w, key, text, err);
}

static const char *environment(const struct assay_run *r, char *out, size_t cap)
{
    const struct assay_msg_info *i = &r->info.agent;
    char mask[24], features[300];

    snprintf(features, sizeof(features), "%.100s%s%.180s", i->soc,
             i->soc[0] != '\0' ? ", " : "", i->features);
    snprintf(mask, sizeof(mask), "0x%x", r->o->cpumask);
    return assay_message(out, cap, ASSAY_MSG_BUNDLE_ENVIRONMENT, "board",
                         i->board_id, "features", features, "kernels",
                         i->kernels, "agent", i->build_id, "mask", mask, NULL);
}

/* What case.json says of the compiled model; "" where nothing. */
static const char *toolchain(const struct assay_case *c, char *out, size_t cap)
{
    const char *const words[][2] = {
        {"march", c->march}, {"horizon_nn", c->horizon_nn}, {"hbdk", c->hbdk}};

    out[0] = '\0';
    for (size_t i = 0; i < 3; i++) {
        if (words[i][1][0] != '\0')
            snprintf(out + strlen(out), cap - strlen(out), "%s%s %s",
                     out[0] != '\0' ? ", " : "", words[i][0], words[i][1]);
    }
    return out;
}

static const char *cause_text(const struct assay_run_suspect *k, char *out,
                              size_t cap)
{
    const struct assay_tensor *t = &k->one->tensors[k->one->layers[0].output];
    const struct assay_hypothesis *h;
    char what[200], id[200];

    out[0] = '\0';
    if (k->has_layout) {
        assay_run_cause_layout(k, what, sizeof(what));
        snprintf(out, cap, "%s %s", k->layout.id, what);
    } else if (k->found != NULL && k->found->n_proved > 0) {
        h = &k->found->v[0];
        assay_message(out, cap, ASSAY_MSG_BUNDLE_CAUSE, "id",
                      assay_hypothesis_text(h, t, id, sizeof(id)), "matched",
                      assay_num_u(h->differing_matched).text, "differing",
                      assay_num_u(h->differing).text, "all_matched",
                      assay_num_u(h->all_matched).text, "all",
                      assay_num_u(h->all).text, NULL);
    }
    return out;
}

/* The edit that --hypothesis takes; "" where nothing single is proved. */
static const char *hypothesis(const struct assay_run_suspect *k, char *out,
                              size_t cap)
{
    out[0] = '\0';
    if (k != NULL && k->found != NULL && k->found->n_proved > 0 &&
        k->found->v[0].n_edits == 1)
        assay_edit_text(&k->found->v[0].edits[0], out, cap);
    return out;
}

static const char *verdict(const struct assay_run *r,
                           const struct assay_run_suspect *k)
{
    for (uint32_t i = 0; i < r->n_culprits; i++) {
        if (r->culprits[i].layer == k->layer &&
            r->culprits[i].column == k->column)
            return assay_verdict_name(r->culprits[i].verdict);
    }
    return "";
}

/* What the two sides are: where every engine agrees, the reference is the odd
 * one; else the engine of this host is right. */
static void sides(const struct assay_run *r, const struct assay_run_suspect *k,
                  const char **expected, const char **got)
{
    static char reference[256];

    assay_run_reference(r, reference, sizeof(reference));
    *expected = k->of_reference ? reference : "host";
    *got = k->of_reference ? "host" : assay_column_name(k->column);
}

static int put_notes(struct assay_bundle_writer *w, const struct assay_run *r,
                     const struct assay_run_suspect *k, struct assay_err *err)
{
    const struct assay_tolerance *tol = &r->layers[k->layer].tol;
    char text[TEXT], cause[TEXT], tolerance[128], edit[96];
    const char *expected, *got;
    int rc;

    sides(r, k, &expected, &got);
    snprintf(tolerance, sizeof(tolerance), "max_lsb %lld atol %.9g rtol %.9g",
             (long long)tol->max_lsb, tol->atol, tol->rtol);
    rc = note(w, "model", r->s->model_name, err);
    if (rc == 0)
        rc = note(w, "layer", r->s->layers[k->layer].name, err);
    if (rc == 0)
        rc = note(w, "column", assay_column_name(k->column), err);
    if (rc == 0)
        rc = note(w, "verdict", verdict(r, k), err);
    if (rc == 0)
        rc = note(w, "environment", environment(r, text, sizeof(text)), err);
    if (rc == 0)
        rc = note(w, "toolchain", toolchain(&r->p.c, text, sizeof(text)), err);
    if (rc == 0)
        rc = note(w, "numerics", r->p.numerics, err);
    if (rc == 0)
        rc = note(w, "tolerance", tolerance, err);
    if (rc == 0)
        rc = note(w, "expected", expected, err);
    if (rc == 0 && k->of_reference)
        rc = note(w, "golden_opt", r->p.c.opt, err);
    if (rc == 0)
        rc = note(w, "got", got, err);
    if (rc == 0)
        rc = note(w, "cause", cause_text(k, cause, sizeof(cause)), err);
    if (rc == 0)
        rc = note(w, "hypothesis", hypothesis(k, edit, sizeof(edit)), err);
    return rc;
}

/* ---- one bundle --------------------------------------------------------------- */

static int put_output(struct assay_bundle_writer *w,
                      const struct assay_run_suspect *k,
                      const struct assay_tile *tile,
                      enum assay_bundle_kind kind, const void *data,
                      struct assay_err *err)
{
    uint32_t y = k->one->layers[0].output;
    const struct assay_tensor *t = &k->one->tensors[y];
    void *part;
    int rc;

    if (tile->slice == NULL)
        return assay_bundle_tensor(w, kind, y, data, bytes_of(t), err);
    part = assay_tile_bytes(tile, t, data);
    if (part == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    rc = assay_bundle_tensor(w, kind, y, part,
                             bytes_of(&tile->slice->tensors[y]), err);
    assay_free(part);
    return rc;
}

static int put_sample(struct assay_bundle_writer *w,
                      const struct assay_run_suspect *k,
                      const struct assay_tile *tile, size_t i,
                      struct assay_err *err)
{
    const struct assay_suspect_sample *s = &k->samples[i];
    const void *expected = k->of_reference ? s->got : s->base;
    const void *got = k->of_reference ? s->base : s->got;
    int rc = 0;

    for (uint32_t t = 0; t < k->one->layers[0].output && rc == 0; t++) {
        if (s->inputs[t] != NULL)
            rc = assay_bundle_tensor(w, ASSAY_BUNDLE_INPUT, t, s->inputs[t],
                                     bytes_of(&k->one->tensors[t]), err);
    }
    if (rc == 0)
        rc = put_output(w, k, tile, ASSAY_BUNDLE_EXPECTED, expected, err);
    if (rc == 0)
        rc = put_output(w, k, tile, ASSAY_BUNDLE_GOT, got, err);
    if (rc == 0)
        rc = assay_bundle_run(w, (uint32_t)i, err);
    return rc;
}

static int put_all(struct assay_bundle_writer *w, const struct assay_run *r,
                   const struct assay_run_suspect *k,
                   const struct assay_tile *tile, struct assay_err *err)
{
    char text[100];
    int rc = put_notes(w, r, k, err);

    if (rc == 0 && tile->slice != NULL)
        rc = note(
            w, "tile",
            assay_message(text, sizeof(text), ASSAY_MSG_BUNDLE_TILE, "lo",
                          assay_num_u((uint64_t)tile->lo).text, "hi",
                          assay_num_u((uint64_t)(tile->lo + tile->n - 1)).text,
                          "all", assay_num_u((uint64_t)tile->all).text, NULL),
            err);
    if (rc == 0)
        rc = assay_bundle_slice(w, tile->slice ? tile->slice : k->one, err);
    for (size_t i = 0; i < k->n_samples && rc == 0; i++)
        rc = put_sample(w, k, tile, i, err);
    return rc == 0 ? assay_bundle_end(w, err) : rc;
}

static int save(const struct assay_run *r, const struct assay_run_suspect *k,
                const char *path, struct assay_err *err)
{
    struct assay_tile tile = {0};
    struct assay_bundle_writer w;
    struct assay_buf out;
    int rc;

    assay_buf_init(&out);
    (void)assay_tile_open(&tile, r, k);
    rc = assay_bundle_begin(&w, &out, ASSAY_VERSION, err);
    if (rc == 0)
        rc = put_all(&w, r, k, &tile, err);
    if (rc == 0)
        rc = assay_record_write(path, &out, err);
    assay_slice_free(tile.slice);
    assay_bundle_close(&w);
    assay_buf_close(&out);
    return rc;
}

int assay_run_save_failing(struct assay_run *r, struct assay_err *err)
{
    struct assay_run_failing *f = &r->failing;
    size_t n = r->causes != NULL ? r->causes->n : 0;
    int rc = 0;

    if (r->o->save_failing == NULL || n == 0)
        return 0;
    f->v = assay_arena_array(r->arena, n, sizeof(*f->v));
    if (f->v == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (mkdir(r->o->save_failing, 0777) != 0 && errno != EEXIST)
        return assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_CANNOT_WRITE,
                                  "path", r->o->save_failing, "why",
                                  strerror(errno), NULL);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct assay_run_suspect *k = &r->causes->v[i];
        struct assay_run_saved *s = &f->v[f->n];

        if (k->n_samples == 0)
            continue;
        *s = (struct assay_run_saved){k->layer, k->column, path_of(r, k)};
        if (s->path == NULL)
            rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
        else
            rc = save(r, k, s->path, err);
        f->n += rc == 0;
    }
    return rc;
}

/* ---- repro lines --------------------------------------------------------------- */

/* In single quotes where a shell would read it otherwise. */
static const char *quoted(const char *path, char *out, size_t cap)
{
    bool plain = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                              "WXYZ0123456789._-/+,:=@%") == strlen(path);

    snprintf(out, cap, plain || strchr(path, '\'') != NULL ? "%s" : "'%s'",
             path);
    return out;
}

static void repro_line(const struct assay_run *r,
                       const struct assay_run_saved *s, const char *prefix,
                       struct assay_lines *l)
{
    const struct assay_run_suspect *k =
        assay_run_cause_of(r, s->layer, s->column);
    char text[4600], path[4400], edit[96];

    hypothesis(k, edit, sizeof(edit));
    assay_message(text, sizeof(text), ASSAY_MSG_REPRO, "path",
                  quoted(s->path, path, sizeof(path)), "option",
                  edit[0] != '\0' ? " --hypothesis " : "", "edit", edit, NULL);
    assay_line_add(l, prefix, text);
}

void assay_run_failing_lines(const struct assay_run *r,
                             const struct assay_run_summary *sum,
                             struct assay_lines *l)
{
    const struct assay_run_failing *f = &r->failing;
    char text[200];
    size_t first = 0, shown = 1;

    if (r->o->save_failing != NULL && r->n_culprits > f->n) {
        assay_message(text, sizeof(text), ASSAY_MSG_REPRO_UNSAVED, "n",
                      assay_num_u(r->n_culprits - f->n).text, NULL);
        assay_line_add(l, "  repro   ", text);
    }
    if (f->n == 0)
        return;
    for (size_t i = 0; i < f->n; i++) {
        if (f->v[i].layer == sum->first_culprit &&
            f->v[i].column == sum->first_column)
            first = i;
    }
    repro_line(r, &f->v[first], "  repro   ", l);
    for (size_t i = 0; i < f->n && shown < SHOWN; i++) {
        if (i == first)
            continue;
        repro_line(r, &f->v[i], "          ", l);
        shown++;
    }
    if (f->n > shown) {
        assay_message(text, sizeof(text), ASSAY_MSG_REPRO_MORE, "more",
                      assay_num_u(f->n - shown).text, NULL);
        assay_line_add(l, "          ", text);
    }
}

/* ---- replay --------------------------------------------------------------------- */

void assay_run_replay_begin(struct assay_run *r)
{
    const struct assay_options *o = r->o;
    long long lsb;
    double atol, rtol;

    if (r->p.c.record == NULL ||
        sscanf(assay_record_text(r->p.c.record, "tolerance"),
               "max_lsb %lld atol %lf rtol %lf", &lsb, &atol, &rtol) != 3 ||
        !(lsb >= 0 && atol >= 0.0 && rtol >= 0.0))
        return;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_tolerance *tol = &r->layers[i].tol;

        if (o->max_lsb.n == 0)
            tol->max_lsb = lsb;
        if (o->atol.n == 0)
            tol->atol = atol;
        if (o->rtol.n == 0)
            tol->rtol = rtol;
    }
}

void assay_run_replay_take(struct assay_run *r, uint32_t layer,
                           const void *data)
{
    uint32_t t = r->s->layers[layer].output;
    const struct assay_tensor *y = &r->s->tensors[t];
    const struct assay_tolerance strict = {0};
    const char *column = assay_record_text(r->p.c.record, "column");
    const void *got = assay_record_got(&r->p.c, r->sample, t);
    struct assay_diff d;

    if (got == NULL || strcmp(column, "cpu") != 0)
        return;
    assay_diff_tensor(y, got, data, &strict, &d);
    r->failing.compared += d.count;
    r->failing.again += d.count - d.mismatch;
}

void assay_run_replay_lines(const struct assay_run *r, struct assay_lines *l)
{
    const struct assay_bundle *b = r->p.c.record;
    char text[TEXT];

    if (b == NULL)
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_REPLAY_OF, "layer",
                  assay_record_text(b, "layer"), "model",
                  assay_record_text(b, "model"), "column",
                  assay_record_text(b, "column"), "environment",
                  assay_record_text(b, "environment"), NULL);
    assay_line_add(l, "", text);
    if (assay_record_text(b, "tile")[0] != '\0') {
        assay_message(text, sizeof(text), ASSAY_MSG_REPLAY_TILE, "tile",
                      assay_record_text(b, "tile"), NULL);
        assay_line_add(l, "", text);
    }
    if (assay_record_text(b, "cause")[0] != '\0') {
        assay_message(text, sizeof(text), ASSAY_MSG_REPLAY_CAUSE, "cause",
                      assay_record_text(b, "cause"), NULL);
        assay_line_add(l, "", text);
    }
    if (r->failing.compared == 0)
        return;
    assay_message(text, sizeof(text),
                  r->failing.again == r->failing.compared
                      ? ASSAY_MSG_REPLAY_SAME
                      : ASSAY_MSG_REPLAY_OTHER,
                  "again", assay_num_u(r->failing.again).text, "count",
                  assay_num_u(r->failing.compared).text, NULL);
    assay_line_add(l, "", text);
}
