/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice with a fault on purpose: one layer computes what an entry of the
 * catalogue says. Kernels stay as they are; what deviates is data.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/backend.h"
#include "host-tools/cause/catalogue.h"
#include "host-tools/cmd.h"
#include "host-tools/messages.h"
#include "host-tools/model/record.h"
#include "host-tools/prepare.h"
#include "lib/core/arith.h"
#include "lib/core/slice_part.h"
#include "proto/bundle.h"

#define REQUANT "requant="
#define PAD "pad="

struct mutation {
    const struct assay_prepared *p;
    uint32_t source;           /* the layer, in the model */
    const char *name;          /* its name there */
    struct assay_slice *slice; /* a copy, changed */
    uint32_t layer;            /* the layer in it: others may stand in front */
    char done[600];            /* edits that were made */
    bool listing;              /* numbers stand for any */
};

/* The catalogue's spelling of an edit; false: it is requant=NAME. */
static bool spell(const char *text, char *out, size_t cap)
{
    if (strncmp(text, REQUANT, strlen(REQUANT)) == 0)
        return false;
    if (strncmp(text, PAD, strlen(PAD)) == 0)
        snprintf(out, cap, "P5=all:%.100s", text + strlen(PAD));
    else
        snprintf(out, cap, "%.150s", text);
    return true;
}

static int requant(struct mutation *m, const char *name, struct assay_err *err)
{
    if (m->slice->layers[m->layer].form != NULL)
        return assay_rule_apply(m->slice, m->layer, name, err);
    return assay_arith_apply(m->slice, m->layer, name, err);
}

static void name_edit(const struct assay_edit *e, const char *value, char *out,
                      size_t cap)
{
    const struct assay_cause *c = assay_cause_of(e->id);
    char variant[32];

    assay_cause_variant(c, e->variant, variant, sizeof(variant));
    assay_message_fill(out, cap, c->name, "variant", variant, "value", value,
                       NULL);
}

/* 0, ASSAY_EDIT_*, or a failure; *what: the edit in words, of that size. */
static int apply(struct mutation *m, const char *text, char *what, size_t cap,
                 struct assay_err *err)
{
    struct assay_edit e;
    char spelt[160], value[24];
    int rc;

    if (!spell(text, spelt, sizeof(spelt))) {
        snprintf(what, cap, "%s",
                 assay_message_text(ASSAY_MSG_MUTATE_OTHER_ARITHMETIC));
        rc = requant(m, text + strlen(REQUANT), err);
        m->slice->layers[m->layer].arith_overridden = true;
        return rc;
    }
    rc = assay_edit_parse(&e, spelt, err);
    if (rc < 0)
        return rc;
    snprintf(value, sizeof(value), "%" PRId64, e.value);
    name_edit(&e, m->listing ? "N" : value, what, cap);
    return assay_edit_apply(m->slice, &m->layer, &e, err);
}

static int describe(const struct assay_slice *s, struct assay_buf *out,
                    struct assay_err *err)
{
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        struct assay_tensor *t = &s->tensors[i];

        if (t->role == ASSAY_ROLE_CONSTANT)
            assay_sha256(t->data, t->size, t->sha256);
    }
    return assay_slice_encode(s, out, err);
}

/* Does the copy say the same as before, byte for byte? */
static int unchanged(const struct mutation *m, const struct assay_buf *before,
                     bool *same, struct assay_err *err)
{
    struct assay_buf now;
    bool flag = m->slice->layers[m->layer].arith_overridden;
    int rc;

    assay_buf_init(&now);
    m->slice->layers[m->layer].arith_overridden =
        m->p->slice->layers[m->source].arith_overridden;
    rc = describe(m->slice, &now, err);
    m->slice->layers[m->layer].arith_overridden = flag;
    *same = rc == 0 && now.len == before->len &&
            memcmp(now.data, before->data, now.len) == 0;
    assay_buf_close(&now);
    return rc;
}

/* The third door: an edit takes its slice to be one that can be run. */
static int plan(const struct assay_slice *s, struct assay_err *err)
{
    struct assay_backend *b = NULL;
    int rc = assay_local_open(&b, 0, err);

    if (rc < 0)
        return rc;
    rc = b->vt->load(b, s, err);
    b->vt->close(b);
    return rc;
}

static int runnable(const struct mutation *m, const char *text,
                    struct assay_err *err)
{
    struct assay_err why = {0};
    int rc = plan(m->slice, &why);

    if (rc == ASSAY_EMEMORY)
        return assay_fail(err, rc, "%s", why.text);
    if (rc < 0)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_MUTATE_NO_RUN,
                                  "edit", text, "layer", m->name, "why",
                                  why.text, NULL);
    return 0;
}

static int refuse(const struct mutation *m, const char *text, const char *what,
                  int rc, struct assay_err *err)
{
    const struct assay_layer *l = &m->p->slice->layers[m->source];

    if (rc == ASSAY_EDIT_SAME)
        return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_MUTATE_SAME,
                                  "edit", text, "what", what, "layer", m->name,
                                  NULL);
    return assay_fail_message(err, ASSAY_EUSAGE, ASSAY_MSG_MUTATE_NOT_HERE,
                              "edit", text, "what", what, "layer", m->name,
                              "op", l->source_op, NULL);
}

/* One edit, with a sentence for each way in which it cannot be. */
static int change(struct mutation *m, const char *text, char *what, size_t cap,
                  struct assay_err *err)
{
    struct assay_buf before;
    bool same = false;
    int rc;

    assay_buf_init(&before);
    rc = describe(m->slice, &before, err);
    if (rc == 0)
        rc = apply(m, text, what, cap, err);
    if (rc == 0)
        rc = unchanged(m, &before, &same, err);
    if (rc == 0 && same)
        rc = ASSAY_EDIT_SAME;
    if (rc > 0)
        rc = refuse(m, text, what, rc, err);
    if (rc == 0)
        rc = runnable(m, text, err);
    assay_buf_close(&before);
    return rc;
}

/* ---- --list ----------------------------------------------------------------- */

static int begin(struct mutation *m, struct assay_err *err)
{
    assay_slice_free(m->slice);
    m->slice = NULL;
    m->layer = m->source;
    return assay_slice_copy(&m->slice, m->p->slice, err);
}

/* 1: it applies and changes something; 0: it does not. */
static int tried(struct mutation *m, const char *text, char *what, size_t cap,
                 struct assay_err *err)
{
    struct assay_err ignored = {0};
    int rc = begin(m, err);

    if (rc < 0)
        return rc;
    rc = change(m, text, what, cap, &ignored);
    if (rc == ASSAY_EMEMORY)
        return assay_fail(err, rc, "%s", ignored.text);
    return rc == 0;
}

static int list_one(struct mutation *m, const char *text, const char *shown,
                    unsigned *n, struct assay_err *err)
{
    char what[200] = "";
    int rc = tried(m, text, what, sizeof(what), err);

    if (rc == 1) {
        printf("%-22s %s\n", shown, what);
        ++*n;
    }
    return rc < 0 ? rc : 0;
}

/* A number that an entry solves for is written as N; one of these shows
 * whether there is anything to solve. */
static int list_solved(struct mutation *m, struct assay_edit *e, unsigned *n,
                       struct assay_err *err)
{
    static const int64_t values[] = {1, 0, -1, 100};
    char text[64], shown[64];
    unsigned before = *n;
    int rc = 0;

    for (size_t i = 0; i < 4 && rc == 0 && *n == before; i++) {
        e->value = values[i];
        assay_edit_text(e, text, sizeof(text));
        snprintf(shown, sizeof(shown), "%.*s:N", (int)strcspn(text, ":"), text);
        rc = list_one(m, text, shown, n, err);
    }
    return rc;
}

static int list_edits(struct mutation *m, struct assay_err *err)
{
    const struct assay_layer *l = &m->p->slice->layers[m->source];
    char text[160];
    unsigned n = 0;
    int rc = 0;

    m->listing = true;
    for (unsigned id = 0; id < ASSAY_CAUSE_COUNT && rc == 0; id++) {
        struct assay_edit e = {.id = (enum assay_cause_id)id};
        const struct assay_cause *c = assay_cause_of(e.id);

        for (; e.variant < assay_cause_variants(c) && rc == 0; e.variant++) {
            assay_edit_text(&e, text, sizeof(text));
            rc = c->solved ? list_solved(m, &e, &n, err)
                           : list_one(m, text, text, &n, err);
        }
    }
    for (unsigned i = 0; assay_arith_name(i) != NULL && rc == 0; i++) {
        snprintf(text, sizeof(text), REQUANT "%.100s", assay_arith_name(i));
        if (l->form == NULL)
            rc = list_one(m, text, text, &n, err);
    }
    if (rc == 0)
        printf("%s\n",
               assay_message(text, sizeof(text), ASSAY_MSG_MUTATE_LISTED, "n",
                             assay_num_u(n).text, "layer", m->name, "op",
                             l->source_op, NULL));
    return rc;
}

/* ---- writing ---------------------------------------------------------------- */

int assay_cmd_write_slice(const char *path, struct assay_slice *s,
                          const char *mutation, struct assay_err *err)
{
    struct assay_bundle_writer w;
    struct assay_buf out;
    char text[4600];
    int rc;

    assay_buf_init(&out);
    rc = assay_bundle_begin(&w, &out, ASSAY_VERSION, err);
    if (rc == 0)
        rc = assay_bundle_note(&w, "model", s->model_name, err);
    if (rc == 0 && mutation[0] != '\0')
        rc = assay_bundle_note(&w, "mutation", mutation, err);
    if (rc == 0)
        rc = assay_bundle_slice(&w, s, err);
    if (rc == 0)
        rc = assay_bundle_end(&w, err);
    if (rc == 0)
        rc = assay_record_write(path, &out, err);
    if (rc == 0)
        printf("%s\n",
               assay_message(text, sizeof(text), ASSAY_MSG_SLICE_WROTE, "path",
                             path, "layers", assay_num_u(s->n_layers).text,
                             "bytes", assay_num_bytes(out.len).text, NULL));
    assay_bundle_close(&w);
    assay_buf_close(&out);
    return rc;
}

static int mutate(struct mutation *m, const struct assay_options *o,
                  struct assay_err *err)
{
    char line[1024], what[200], index[16];
    int rc = begin(m, err);

    for (size_t i = 0; i < o->set.n && rc == 0; i++) {
        rc = change(m, o->set.v[i], what, sizeof(what), err);
        if (rc < 0)
            break;
        snprintf(m->done + strlen(m->done), sizeof(m->done) - strlen(m->done),
                 "%s%.100s", i > 0 ? " " : "", o->set.v[i]);
        snprintf(index, sizeof(index), "%03u", m->source);
        printf("%s\n", assay_message(line, sizeof(line), ASSAY_MSG_MUTATE_DONE,
                                     "index", index, "layer", m->name, "edit",
                                     o->set.v[i], "what", what, NULL));
    }
    if (rc < 0)
        return rc;
    snprintf(line, sizeof(line), "%.400s %.590s", m->name, m->done);
    return assay_cmd_write_slice(o->output_dir, m->slice, line, err);
}

int assay_cmd_mutate(const struct assay_options *o, int argc, char **argv)
{
    struct assay_prepared p;
    struct assay_err err = {0};
    struct mutation m = {.p = &p};
    int rc = assay_prepare(&p, o, &err);

    (void)argc;
    (void)argv;
    if (rc < 0)
        return assay_cmd_failed(&err);
    rc = plan(p.slice, &err);
    if (rc == 0)
        rc = assay_find_layer(&m.source, p.slice, o->layer, &err);
    if (rc == 0) {
        m.name = p.slice->layers[m.source].name;
        rc = o->list ? list_edits(&m, &err) : mutate(&m, o, &err);
    }
    assay_slice_free(m.slice);
    assay_prepare_close(&p);
    return rc < 0 ? assay_cmd_failed(&err) : 0;
}
