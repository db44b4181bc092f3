/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_chain.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/chain_files.h"
#include "host-tools/model/file.h"

static void note(const struct assay_run *r, const char *text)
{
    if (r->p.note.note != NULL)
        r->p.note.note(r->p.note.self, text);
}

/* ---- files ---------------------------------------------------------------- */

static const char *prefix_of(const struct assay_run *r)
{
    const struct assay_vendor *v = r->p.vendor;

    if (v != NULL && v->yaml.present)
        return v->yaml.prefix;
    return v != NULL && v->deps.present ? v->deps.prefix : "";
}

/* In the case, its vendor/, or what --vendor names; owned, NULL: none. */
static char *find_beside(const struct assay_run *r, const char *const *ends,
                         const char *prefix)
{
    const struct assay_options *o = r->o;
    char *beside =
        r->p.c.folder != NULL ? assay_file_join(r->p.c.folder, "vendor") : NULL;
    const char *folders[2 + ASSAY_MAX_REPEATS];
    char *found = NULL, text[300];
    size_t n = 0;

    for (size_t i = 0; i < o->vendor.n; i++)
        folders[n++] = o->vendor.v[i];
    if (r->p.c.folder != NULL)
        folders[n++] = r->p.c.folder;
    if (beside != NULL)
        folders[n++] = beside;
    for (size_t i = 0; i < n && found == NULL; i++) {
        uint32_t several;

        found = assay_chain_find(folders[i], ends, prefix, &several);
        if (found == NULL && several > 1) {
            assay_message(text, sizeof(text), ASSAY_MSG_CHAIN_SEVERAL, "n",
                          assay_num_u(several).text, "ends", ends[0], "folder",
                          folders[i], NULL);
            note(r, text);
        }
    }
    assay_free(beside);
    return found;
}

static int hash_one(struct assay_run *r, enum assay_chain_role role,
                    const char *named, const char *const *ends,
                    const char *prefix, struct assay_err *err)
{
    struct assay_chain_item *item = &r->chain->chain.v[role];
    char *found = named == NULL ? find_beside(r, ends, prefix) : NULL;
    const char *path = named != NULL ? named : found;
    int rc = 0;

    if (named != NULL && !assay_file_is_regular(named))
        rc = assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_CHAIN_NO_FILE, "path",
                                named, NULL);
    else if (path != NULL)
        rc = assay_chain_hash(item, r->arena, &path, 1, err);
    assay_free(found);
    return rc;
}

static int hash_files(struct assay_run *r, struct assay_err *err)
{
    static const char *const compiled[] = {".bin", ".hbm", NULL};
    static const char *const floats[] = {"float.onnx",
                                         "_original_float_model.onnx", NULL};
    struct assay_chain_item *v = r->chain->chain.v;
    const struct assay_case *c = &r->p.c;
    const char *model = c->model_path;
    int rc = hash_one(r, ASSAY_CHAIN_FLOAT, r->o->float_model, floats, "", err);

    if (rc == 0)
        rc = assay_chain_hash(&v[ASSAY_CHAIN_FIXED], r->arena, &model, 1, err);
    if (rc == 0)
        rc = hash_one(r, ASSAY_CHAIN_COMPILED, r->o->compiled, compiled,
                      prefix_of(r), err);
    if (rc == 0 && c->inputs != NULL)
        rc =
            assay_chain_hash(&v[ASSAY_CHAIN_INPUTS], r->arena,
                             (const char *const *)c->inputs, c->n_samples, err);
    if (rc == 0 && c->goldens != NULL)
        rc = assay_chain_hash(&v[ASSAY_CHAIN_GOLDEN], r->arena,
                              (const char *const *)c->goldens, c->n_samples,
                              err);
    for (unsigned s = 0; s < 2 && rc == 0; s++) {
        if (c->columns[s].n_have > 0)
            rc = assay_chain_hash(&v[ASSAY_CHAIN_SIM + s], r->arena,
                                  (const char *const *)c->columns[s].paths,
                                  c->n_samples, err);
    }
    return rc;
}

/* ---- the earlier run ------------------------------------------------------- */

static int read_previous(struct assay_run *r, struct assay_err *err)
{
    struct assay_run_chain *k = r->chain;
    const char *path = r->o->previous;
    char own[4200], text[640];
    struct assay_err why = {0};
    int rc;

    k->fix = path != NULL;
    if (path == NULL && r->o->output_dir != NULL) {
        snprintf(own, sizeof(own), "%.4000s/report.json", r->o->output_dir);
        if (assay_file_is_regular(own))
            path = assay_arena_str(r->arena, own, strlen(own));
    }
    if (path == NULL)
        return 0;
    rc = assay_previous_read(&k->previous, r->arena, path, &why);
    if (rc < 0 && k->fix) {
        *err = why;
        return rc;
    }
    if (rc < 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_PREVIOUS_UNREAD, "why",
                      why.text, NULL);
        note(r, text);
        return 0;
    }
    if (k->previous.items == 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_PREVIOUS_OLD, "file", path,
                      NULL);
        note(r, text);
        return 0;
    }
    k->has_previous =
        k->fix || strcmp(k->previous.model, r->s->model_name) == 0;
    return 0;
}

int assay_run_chain_open(struct assay_run *r, struct assay_err *err)
{
    int rc;

    if (r->p.c.record != NULL)
        return 0; /* a bundle: its files are elsewhere */
    r->chain = assay_arena_array(r->arena, 1, sizeof(*r->chain));
    if (r->chain == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    memset(r->chain, 0, sizeof(*r->chain));
    r->chain->digests = assay_arena_array(r->arena, (size_t)r->s->n_layers + 1,
                                          sizeof(*r->chain->digests));
    if (r->chain->digests == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    memset(r->chain->digests, 0,
           (size_t)r->s->n_layers * sizeof(*r->chain->digests));
    rc = read_previous(r, err);
    return rc == 0 ? hash_files(r, err) : rc;
}

/* ---- contents --------------------------------------------------------------- */

void assay_run_digest(struct assay_run *r, uint32_t layer,
                      enum assay_run_digest_of of, const void *data)
{
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    struct assay_run_digest *d;
    size_t count, bytes;
    uint8_t pair[2][16];

    if (r->chain == NULL || assay_tensor_count(t, &count, &bytes, NULL) < 0)
        return;
    d = &r->chain->digests[layer];
    if (data == NULL) {
        d->unknown[of] = true;
        return;
    }
    memcpy(pair[0], d->v[of], sizeof(pair[0]));
    assay_xxh128(data, bytes, pair[1]);
    assay_xxh128(pair, sizeof(pair), d->v[of]);
    d->has[of] = true;
}

static void hex_of(const struct assay_run *r, uint32_t layer,
                   enum assay_run_digest_of of, char out[33])
{
    const struct assay_run_digest *d = &r->chain->digests[layer];

    out[0] = '\0';
    if (d->has[of] && !d->unknown[of])
        assay_hex(d->v[of], sizeof(d->v[of]), out);
}

void assay_run_chain_row(const struct assay_run *r, struct assay_row *row)
{
    if (r->chain == NULL)
        return;
    hex_of(r, row->index, ASSAY_DIGEST_EXPECTED, row->digest_expected);
    hex_of(r, row->index, ASSAY_DIGEST_CPU, row->columns[ASSAY_COL_CPU].digest);
    hex_of(r, row->index, ASSAY_DIGEST_SIM, row->columns[ASSAY_COL_SIM].digest);
    hex_of(r, row->index, ASSAY_DIGEST_BPU, row->columns[ASSAY_COL_BPU].digest);
    for (unsigned side = 0; side < 2 && r->chain->layers != NULL; side++) {
        const struct assay_chain_layer *l = &r->chain->layers[row->index];
        struct assay_row_column *c = &row->columns[assay_side_column(side)];

        if (l->got[side][0] != '\0' && strcmp(l->then[side], l->expected) != 0)
            memcpy(c->digest_then, l->then[side], sizeof(c->digest_then));
    }
}

void assay_run_chain_judge(struct assay_run *r,
                           const struct assay_run_summary *sum)
{
    const uint32_t compiled = 1u << ASSAY_COL_SIM | 1u << ASSAY_COL_BPU;
    struct assay_run_chain *k = r->chain;
    struct assay_chain_layer *v;
    struct assay_chain_run before, now;

    if (k == NULL)
        return;
    v = assay_arena_array(r->arena, (size_t)r->s->n_layers + 1, sizeof(*v));
    if (v == NULL)
        return;
    memset(v, 0, ((size_t)r->s->n_layers + 1) * sizeof(*v));
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        v[i].name = r->s->layers[i].name;
        hex_of(r, i, ASSAY_DIGEST_EXPECTED, v[i].expected);
        hex_of(r, i, ASSAY_DIGEST_SIM, v[i].got[0]);
        hex_of(r, i, ASSAY_DIGEST_BPU, v[i].got[1]);
    }
    k->layers = v;
    before = (struct assay_chain_run){&k->previous.chain, k->previous.layers,
                                      k->previous.started, k->previous.matched};
    now = (struct assay_chain_run){
        &k->chain,
        {r->s->n_layers, v},
        r->started,
        sum->n_culprits == 0 && !assay_run_only_inherited(sum) &&
            (sum->observed & compiled) != 0,
    };
    assay_chain_inherit(&now, k->has_previous ? &before : NULL);
    /* What was cut says nothing. */
    if (k->has_previous && r->error.code == 0 && r->interrupted == 0)
        assay_chain_compare(&k->stale, &before, &now, k->fix);
}

bool assay_run_is_stale(const struct assay_run *r)
{
    return r->chain != NULL && r->chain->stale.kind != ASSAY_STALE_NOT;
}

/* ---- words ------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static const char *previous_time(const struct assay_run *r)
{
    const struct assay_previous *p = &r->chain->previous;

    return p->started[0] != '\0' ? p->started : base_name(p->file);
}

enum assay_message_id assay_run_stale_message(const struct assay_run *r)
{
    static const enum assay_message_id ids[] = {
        [ASSAY_STALE_NOT] = ASSAY_MSG_STALE_NOTHING,
        [ASSAY_STALE_CONTENT] = ASSAY_MSG_STALE_CONTENT,
        [ASSAY_STALE_COMPILED] = ASSAY_MSG_STALE_COMPILED,
        [ASSAY_STALE_GOLDEN] = ASSAY_MSG_STALE_GOLDEN,
        [ASSAY_STALE_NOTHING] = ASSAY_MSG_STALE_NOTHING,
    };

    return ids[r->chain->stale.kind];
}

const char *assay_run_stale_sentence(const struct assay_run *r, char *out,
                                     size_t cap)
{
    const struct assay_run_chain *k = r->chain;
    const struct assay_chain_item *c = &k->chain.v[ASSAY_CHAIN_COMPILED];
    const struct assay_chain_made *made = k->stale.made;
    char changes[400], hash[ASSAY_CHAIN_SHORT + 4], file[120];

    changes[0] = '\0';
    if (made != NULL)
        assay_chain_since(made, &k->chain, changes, sizeof(changes));
    snprintf(hash, sizeof(hash), "%.*s", ASSAY_CHAIN_SHORT, c->sha256);
    snprintf(file, sizeof(file), "%.110s", c->here ? base_name(c->file) : "");
    return assay_message(out, cap, assay_run_stale_message(r), "file", file,
                         "hash", hash, "time", previous_time(r), "changes",
                         changes, "column",
                         assay_column_name(assay_side_column(k->stale.side)),
                         "layers", assay_num_u(k->stale.layers).text, "moved",
                         assay_num_u(k->stale.moved).text, NULL);
}

void assay_run_chain_lines(const struct assay_run *r, struct assay_lines *l)
{
    char text[ASSAY_LINE_TEXT], line[ASSAY_LINE_TEXT];
    size_t at = 0;

    if (r->chain == NULL)
        return;
    text[0] = '\0';
    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        const struct assay_chain_item *k = &r->chain->chain.v[i];

        if (k->here && at + 64 < sizeof(text))
            at += (size_t)snprintf(
                text + at, sizeof(text) - at, "%s%s %.*s", at > 0 ? "  " : "",
                assay_chain_role_name((enum assay_chain_role)i),
                ASSAY_CHAIN_SHORT, k->sha256);
    }
    if (at > 0)
        assay_line_add(l, "",
                       assay_message(line, sizeof(line), ASSAY_MSG_HEAD_CHAIN,
                                     "chain", text, NULL));
    if (!r->chain->has_previous)
        return;
    assay_chain_changes(&r->chain->previous.chain, &r->chain->chain,
                        r->chain->stale.changed, text, sizeof(text));
    assay_line_add(l, "",
                   assay_message(line, sizeof(line),
                                 text[0] != '\0' ? ASSAY_MSG_HEAD_PREVIOUS
                                                 : ASSAY_MSG_HEAD_PREVIOUS_SAME,
                                 "time", previous_time(r), "changes", text,
                                 NULL));
}

static const char *kind_name(enum assay_stale_kind kind)
{
    static const char *const names[] = {"", "compiled", "content", "golden",
                                        "nothing-changed"};

    return names[kind];
}

static size_t role_names(uint32_t roles, const char **out)
{
    size_t n = 0;

    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        if ((roles & 1u << i) != 0)
            out[n++] = assay_chain_role_name((enum assay_chain_role)i);
    }
    return n;
}

static int made_pairs(const struct assay_run *r,
                      const struct assay_chain_item *item,
                      struct assay_report_artefact *out)
{
    const char **v =
        assay_arena_array(r->arena, 2 * (size_t)ASSAY_CHAIN_COUNT, sizeof(*v));

    if (v == NULL)
        return ASSAY_EMEMORY;
    out->made = v;
    for (unsigned i = 0; i <= ASSAY_CHAIN_GOLDEN; i++) {
        if (item->made.sha256[i][0] == '\0')
            continue;
        v[2 * out->n_made] = assay_chain_role_name((enum assay_chain_role)i);
        v[2 * out->n_made++ + 1] = item->made.sha256[i];
    }
    return 0;
}

int assay_run_chain_report(const struct assay_run *r,
                           struct assay_report_head *head)
{
    const struct assay_run_chain *k = r->chain;
    struct assay_report_artefact *v;
    const char **roles;

    if (k == NULL)
        return 0;
    v = assay_arena_array(r->arena, ASSAY_CHAIN_COUNT, sizeof(*v));
    roles = assay_arena_array(r->arena, 2 * (size_t)ASSAY_CHAIN_COUNT,
                              sizeof(*roles));
    if (v == NULL || roles == NULL)
        return ASSAY_EMEMORY;
    head->chain = v;
    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        const struct assay_chain_item *item = &k->chain.v[i];

        if (!item->here)
            continue;
        v[head->n_chain] = (struct assay_report_artefact){
            .role = assay_chain_role_name((enum assay_chain_role)i),
            .file = item->file,
            .sha256 = item->sha256,
            .modified = item->modified,
            .size = item->size,
            .files = item->files,
            .made_started = item->made.started,
        };
        if (made_pairs(r, item, &v[head->n_chain++]) < 0)
            return ASSAY_EMEMORY;
    }
    if (!k->has_previous)
        return 0;
    head->previous = (struct assay_report_previous){
        .file = k->previous.file,
        .started = k->previous.started,
        .stale = kind_name(k->stale.kind),
        .changed = roles,
        .unchanged = roles + ASSAY_CHAIN_COUNT,
    };
    head->previous.n_changed = role_names(k->stale.changed, roles);
    head->previous.n_unchanged =
        role_names(k->stale.unchanged, roles + ASSAY_CHAIN_COUNT);
    return 0;
}
