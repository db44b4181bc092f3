/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence for the vendor's support, as one zip: both reports, the hashes of
 * all files, the vendor's files and the logs with secrets and paths filtered,
 * and the tensors of one bad case. Models are not in it: their hashes are.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/messages.h"
#include "host-tools/model/archive.h"
#include "host-tools/model/file.h"
#include "host-tools/model/npy.h"
#include "host-tools/report/json_text.h"
#include "host-tools/triage/redact.h"
#include "host-tools/triage_report.h"
#include "lib/core/hash.h"

#define MAX_TEXT ((size_t)64 << 20) /* of a file that is packed */
#define MAX_HASHED ((size_t)8 << 30)
#define MAX_FILES 20000u
#define MAX_DEPTH 4

struct bundle {
    const struct assay_triage *t;
    const struct assay_options *o;
    struct assay_archive *zip;
    struct assay_redaction r;
    json_t *files;    /* of the manifest */
    json_t *filtered; /* one entry a text that lost something */
    uint32_t members, hashed;
    struct assay_err *err;
};

static int no_memory(struct bundle *b)
{
    return assay_fail(b->err, ASSAY_EMEMORY, "%s: out of memory", b->o->bundle);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* What the filter took out of one text, for the list of it. */
static int note_filtered(struct bundle *b, const char *member,
                         const uint32_t *before)
{
    json_t *entry = NULL;

    for (int k = 0; k < ASSAY_REDACTED_COUNT; k++) {
        uint32_t n = b->r.count[k] - before[k];

        if (n == 0)
            continue;
        if (entry == NULL)
            entry = json_pack("{s:o}", "file", assay_json_text(member));
        json_object_set_new(entry, assay_redacted_name((enum assay_redacted)k),
                            json_integer((json_int_t)n));
    }
    if (entry == NULL)
        return 0;
    return json_array_append_new(b->filtered, entry) == 0 ? 0 : no_memory(b);
}

static int put(struct bundle *b, const char *member, const void *data, size_t n)
{
    b->members++;
    return assay_archive_add(b->zip, member, data, n, true, b->err);
}

static int put_text(struct bundle *b, const char *member, const char *text,
                    size_t n)
{
    struct assay_buf clean;
    uint32_t before[ASSAY_REDACTED_COUNT];
    int rc;

    memcpy(before, b->r.count, sizeof(before));
    assay_buf_init(&clean);
    rc = assay_redact(&clean, text, n, &b->r, b->err);
    if (rc == 0)
        rc = put(b, member, clean.data, clean.len);
    if (rc == 0)
        rc = note_filtered(b, member, before);
    assay_buf_close(&clean);
    return rc;
}

/* A name in the zip: without folders of this machine, and once only. */
static void member_name(struct bundle *b, char *out, size_t cap,
                        const char *folder, const char *path)
{
    snprintf(out, cap, "%s/%03u-%.200s", folder, b->members, base_name(path));
}

static int put_file(struct bundle *b, const char *folder, const char *path)
{
    uint8_t *data = NULL;
    char member[300];
    size_t n = 0;
    int rc = assay_file_read(&data, &n, path, MAX_TEXT, b->err);

    if (rc < 0)
        return rc;
    member_name(b, member, sizeof(member), folder, path);
    rc = put_text(b, member, (const char *)data, n);
    assay_free(data);
    return rc;
}

/* ---- hashes --------------------------------------------------------------- */

static int hash_file(struct bundle *b, const char *path, const char *shown)
{
    struct assay_file_map m = {0};
    uint8_t sha[ASSAY_SHA256_LEN];
    char hex[2 * ASSAY_SHA256_LEN + 1];
    struct assay_buf name;
    json_t *entry;
    int rc = assay_file_map(&m, path, MAX_HASHED, b->err);

    if (rc < 0)
        return rc;
    assay_sha256_passing(m.data, m.size, assay_file_drop, &m, sha);
    assay_hex(sha, sizeof(sha), hex);
    assay_buf_init(&name);
    rc = assay_redact(&name, shown, strlen(shown) + 1, &b->r, b->err);
    entry = json_pack("{s:o, s:I, s:s}", "name",
                      assay_json_text((const char *)name.data), "bytes",
                      (json_int_t)m.size, "sha256", hex);
    if (rc == 0 && json_array_append_new(b->files, entry) != 0)
        rc = no_memory(b);
    assay_buf_close(&name);
    assay_file_unmap(&m);
    if (rc == 0 && ++b->hashed > MAX_FILES)
        rc = assay_fail(b->err, ASSAY_ERANGE, "%s: more than %u files to hash",
                        b->o->bundle, MAX_FILES);
    return rc;
}

/* All files of a folder; `shown` is its name in the manifest, or NULL. */
static int hash_folder(struct bundle *b, const char *path, const char *shown,
                       int depth)
{
    struct assay_names names;
    int rc = assay_names_list(&names, b->t->arena, path, b->err);

    for (uint32_t i = 0; i < names.n && rc == 0; i++) {
        const char *inner = assay_names_join(b->t->arena, path, names.v[i]),
                   *name = shown == NULL ? names.v[i]
                                         : assay_names_join(b->t->arena, shown,
                                                            names.v[i]);

        if (inner == NULL || name == NULL)
            return no_memory(b);
        if (assay_file_is_folder(inner))
            rc = depth < MAX_DEPTH ? hash_folder(b, inner, name, depth + 1) : 0;
        else if (assay_file_is_regular(inner) &&
                 strcmp(names.v[i], base_name(b->o->bundle)) != 0)
            /* The last bundle is no evidence of the next one. */
            rc = hash_file(b, inner, name);
    }
    return rc;
}

static int hash_any(struct bundle *b, const char *path)
{
    if (assay_file_is_folder(path))
        return hash_folder(b, path, base_name(path), 0);
    return hash_file(b, path, base_name(path));
}

static int hash_all(struct bundle *b)
{
    int rc = 0;

    if (b->o->operand != NULL)
        rc = hash_folder(b, b->o->operand, NULL, 0);
    for (size_t i = 0; i < sizeof(b->o->stage) / sizeof(b->o->stage[0]); i++)
        if (rc == 0 && b->o->stage[i] != NULL)
            rc = hash_any(b, b->o->stage[i]);
    for (size_t i = 0; i < b->o->vendor.n && rc == 0; i++)
        rc = hash_any(b, b->o->vendor.v[i]);
    for (size_t i = 0; i < b->o->logs.n && rc == 0; i++)
        rc = hash_any(b, b->o->logs.v[i]);
    return rc;
}

/* ---- one bad case --------------------------------------------------------- */

static int put_array(struct bundle *b, const char *folder, uint32_t index,
                     const struct assay_array *a)
{
    uint8_t header[512], *data;
    char member[300], name[100];
    size_t head = assay_npy_header(header, sizeof(header), a->dtype, a->rank,
                                   a->dims),
           k = 0;

    for (; a->name[k] != '\0' && k + 1 < sizeof(name); k++)
        name[k] = strchr("/\\:*?\"<>|", a->name[k]) != NULL ||
                          (unsigned char)a->name[k] < 32
                      ? '.'
                      : a->name[k];
    name[k] = '\0';
    snprintf(member, sizeof(member), "badcase/%.80s/%04u-%s.npy", folder, index,
             name);
    data = head > 0 ? malloc(head + a->bytes) : NULL;
    if (data == NULL)
        return no_memory(b);
    memcpy(data, header, head);
    memcpy(data + head, a->data, a->bytes);
    b->members++;
    return assay_archive_take(b->zip, member, data, head + a->bytes, true,
                              b->err);
}

static int put_sample(struct bundle *b, const struct assay_stage_set *set,
                      const char *folder, uint32_t sample)
{
    struct assay_npz z = {0};
    int rc = assay_stage_read(&z, set, sample, NULL, b->err);

    for (size_t i = 0; i < z.n && rc == 0; i++)
        rc = put_array(b, folder, (uint32_t)i, &z.arrays[i]);
    assay_npz_close(&z);
    return rc;
}

/* The sample of that name in FOLDER/inputs, where there is one. */
static int put_inputs(struct bundle *b, const char *name)
{
    struct assay_stage_set set = {0};
    const char *path;
    int rc;

    if (b->o->operand == NULL)
        return 0;
    path = assay_names_join(b->t->arena, b->o->operand, "inputs");
    if (path == NULL)
        return no_memory(b);
    if (!assay_file_is_folder(path))
        return 0;
    rc = assay_stage_open(&set, b->t->arena, ASSAY_STAGE_FLOAT, path, b->err);
    for (uint32_t i = 0; rc == 0 && i < set.n; i++)
        if (strcmp(set.samples[i].name, name) == 0)
            rc = put_sample(b, &set, "inputs", i);
    return rc;
}

/* The worst sample of the first break; where nothing breaks, the first. */
static int put_badcase(struct bundle *b)
{
    const char *name = NULL;
    int rc = 0;

    for (int i = 0; i < ASSAY_STAGE_COUNT && rc == 0; i++) {
        const struct assay_stage_set *set = &b->t->sets[i];
        uint32_t sample = 0;

        if (set->path == NULL)
            continue;
        if (b->t->first >= 0 &&
            !assay_triage_bad_sample(b->t, (enum assay_stage)i, &sample))
            continue;
        if (name == NULL)
            name = set->samples[sample].name;
        rc = put_sample(b, set, assay_stage_info((enum assay_stage)i)->name,
                        sample);
    }
    return rc == 0 && name != NULL ? put_inputs(b, name) : rc;
}

/* ---- reports -------------------------------------------------------------- */

static int put_json(struct bundle *b, const char *member, json_t *root)
{
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
    int rc =
        text != NULL ? put_text(b, member, text, strlen(text)) : no_memory(b);

    free(text);
    json_decref(root);
    return rc;
}

static int put_reports(struct bundle *b)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    int rc;

    if (f == NULL)
        return no_memory(b);
    assay_triage_text(f, b->t);
    if (fclose(f) != 0) {
        free(text);
        return no_memory(b);
    }
    rc = put_text(b, "triage.txt", text, n);
    free(text);
    return rc == 0 ? put_json(b, "triage.json", assay_triage_json(b->t)) : rc;
}

/* What the files say of the vendor's versions. */
static json_t *versions(const struct bundle *b)
{
    const struct assay_vendor *v = b->t->evidence->vendor;

    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o}", "assay", ASSAY_VERSION, "hbdk",
        assay_json_text(v ? v->hbdk_version : ""), "horizon_nn",
        assay_json_text(v ? v->horizon_nn_version : ""), "hb_mapper",
        assay_json_text(v ? v->hb_mapper_version : ""), "compiled_model",
        assay_json_text(v ? v->disas_version : ""), "march",
        assay_json_text(v && v->yaml.present ? v->yaml.march : ""));
}

static int put_manifest(struct bundle *b)
{
    json_t *root = json_pack("{s:s, s:o, s:O, s:O}", "schema",
                             "assay-triage-bundle/1", "versions", versions(b),
                             "files", b->files, "filtered", b->filtered);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
    int rc = text != NULL ? put(b, "manifest.json", text, strlen(text))
                          : no_memory(b);

    free(text);
    json_decref(root);
    return rc;
}

static int fill(struct bundle *b)
{
    int rc = put_reports(b);

    for (uint32_t i = 0; i < b->t->evidence->n_files && rc == 0; i++)
        rc = put_file(b, "vendor", b->t->evidence->files[i].path);
    for (size_t i = 0; i < b->o->logs.n && rc == 0; i++)
        rc = put_file(b, "logs", b->o->logs.v[i]);
    if (rc == 0)
        rc = put_badcase(b);
    if (rc == 0)
        rc = hash_all(b);
    return rc == 0 ? put_manifest(b) : rc;
}

/* Paths that are this machine's, whatever their first folder is called. */
static void own_paths(struct bundle *b, char cwd[4096], char operand[4096])
{
    const char *home = getenv("HOME");

    if (home != NULL && home[0] == '/')
        b->r.own[b->r.n_own++] = home;
    if (getcwd(cwd, 4096) != NULL)
        b->r.own[b->r.n_own++] = cwd;
    if (b->o->operand != NULL && realpath(b->o->operand, operand) != NULL)
        b->r.own[b->r.n_own++] = operand;
}

int assay_triage_bundle(const struct assay_triage *t,
                        const struct assay_options *o, FILE *notes,
                        struct assay_err *err)
{
    static char cwd[4096], operand[4096];
    struct bundle b = {.t = t, .o = o, .err = err};
    char line[600];
    int rc = assay_archive_create(&b.zip, o->bundle, err);

    if (rc < 0)
        return rc;
    own_paths(&b, cwd, operand);
    b.files = json_array();
    b.filtered = json_array();
    rc = b.files != NULL && b.filtered != NULL ? fill(&b) : no_memory(&b);
    if (rc == 0)
        rc = assay_archive_finish(b.zip, err);
    else
        assay_archive_abort(b.zip);
    json_decref(b.files);
    json_decref(b.filtered);
    if (rc == 0 && notes != NULL)
        fprintf(notes, "%s\n",
                assay_message(
                    line, sizeof(line), ASSAY_MSG_TRIAGE_BUNDLE, "path",
                    o->bundle, "members", assay_num_u(b.members).text,
                    "secrets",
                    assay_num_u(b.r.count[ASSAY_REDACTED_SECRET]).text, "users",
                    assay_num_u(b.r.count[ASSAY_REDACTED_USER]).text, "hosts",
                    assay_num_u(b.r.count[ASSAY_REDACTED_HOST]).text, "paths",
                    assay_num_u(b.r.count[ASSAY_REDACTED_PATH]).text, NULL));
    return rc;
}
