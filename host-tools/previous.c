/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/previous.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/file.h"

#define MAX_REPORT ((size_t)512 << 20)
#define MAX_LAYERS 100000u

struct reader {
    struct assay_previous *p;
    struct assay_arena *arena;
    const char *path;
    struct assay_err *err;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s",
                      assay_status_sentence(ASSAY_EMEMORY));
}

static bool is_hex(const char *s, size_t n)
{
    return s != NULL && strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* What is printed again is printable: at most 200 bytes of it. */
static const char *text(struct reader *r, const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    size_t n = s != NULL ? strlen(s) : 0;
    char *copy =
        assay_arena_str(r->arena, s != NULL ? s : "", n < 200 ? n : 200);

    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
            *c = '?';
    }
    return copy;
}

static void read_made(struct assay_chain_made *out, const json_t *o)
{
    const char *started = json_string_value(json_object_get(o, "started"));

    /* A time, and nothing else, is printed again. */
    if (started == NULL || strlen(started) >= sizeof(out->started) ||
        strspn(started, "0123456789-:TZ.+") != strlen(started))
        return;
    snprintf(out->started, sizeof(out->started), "%s", started);
    for (unsigned i = 0; i <= ASSAY_CHAIN_GOLDEN; i++) {
        const char *sha = json_string_value(json_object_get(
            o, assay_chain_role_name((enum assay_chain_role)i)));

        if (is_hex(sha, 64))
            memcpy(out->sha256[i], sha, 65);
    }
}

static int read_item(struct reader *r, const json_t *o)
{
    const char *role = json_string_value(json_object_get(o, "role"));
    const char *sha = json_string_value(json_object_get(o, "sha256"));

    for (unsigned i = 0; role != NULL && i < ASSAY_CHAIN_COUNT; i++) {
        struct assay_chain_item *k = &r->p->chain.v[i];

        if (strcmp(role, assay_chain_role_name((enum assay_chain_role)i)) != 0)
            continue;
        if (!is_hex(sha, 64) || k->here)
            return assay_fail(r->err, ASSAY_EFORMAT,
                              "%s: 'chain': '%s': expected one sha256 of 64 "
                              "hexadecimal digits",
                              r->path, role);
        k->here = true;
        memcpy(k->sha256, sha, 65);
        read_made(&k->made, json_object_get(o, "made"));
        k->file = text(r, o, "file");
        r->p->items++;
        return k->file != NULL ? 0 : no_memory(r->err);
    }
    return 0; /* of a later version */
}

static void digest(char out[33], const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    if (is_hex(s, 32))
        memcpy(out, s, 33);
}

static int read_layers(struct reader *r, const json_t *layers)
{
    size_t n = json_array_size(layers), i;
    struct assay_chain_layer *v;
    json_t *o;

    if (n > MAX_LAYERS)
        return assay_fail(r->err, ASSAY_ERANGE, "%s: more than %u layers",
                          r->path, MAX_LAYERS);
    v = assay_arena_array(r->arena, n + 1, sizeof(*v));
    if (v == NULL)
        return no_memory(r->err);
    json_array_foreach(layers, i, o)
    {
        const char *name = json_string_value(json_object_get(o, "name"));
        const json_t *columns = json_object_get(o, "columns");

        memset(&v[i], 0, sizeof(v[i]));
        v[i].name = assay_arena_str(r->arena, name != NULL ? name : "",
                                    name != NULL ? strlen(name) : 0);
        if (v[i].name == NULL)
            return no_memory(r->err);
        digest(v[i].expected, o, "digest_expected");
        digest(v[i].got[0], json_object_get(columns, "sim"), "digest");
        digest(v[i].got[1], json_object_get(columns, "bpu"), "digest");
        digest(v[i].then[0], json_object_get(columns, "sim"),
               "digest_expected_then");
        digest(v[i].then[1], json_object_get(columns, "bpu"),
               "digest_expected_then");
    }
    r->p->layers = (struct assay_chain_layers){(uint32_t)n, v};
    return 0;
}

static int read_report(struct reader *r, const json_t *j)
{
    const char *schema = json_string_value(json_object_get(j, "schema"));
    const char *verdict = json_string_value(json_object_get(j, "verdict"));
    const json_t *chain = json_object_get(j, "chain"), *o;
    size_t i;
    int rc = 0;

    if (schema == NULL || strcmp(schema, "assay-report/1") != 0)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: no report of a run: expected schema "
                          "'assay-report/1', found '%.40s'",
                          r->path, schema != NULL ? schema : "");
    r->p->file = r->path;
    r->p->matched = verdict != NULL && strcmp(verdict, "match") == 0;
    r->p->started = text(r, json_object_get(j, "run"), "started");
    r->p->model = text(r, json_object_get(j, "model"), "name");
    if (r->p->started == NULL || r->p->model == NULL)
        return no_memory(r->err);
    json_array_foreach(chain, i, o)
    {
        if (rc == 0)
            rc = read_item(r, o);
    }
    return rc == 0 ? read_layers(r, json_object_get(j, "layers")) : rc;
}

int assay_previous_read(struct assay_previous *out, struct assay_arena *arena,
                        const char *path, struct assay_err *err)
{
    struct reader r = {out, arena, path, err};
    uint8_t *data = NULL;
    json_error_t e;
    json_t *j;
    size_t n;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = assay_file_read(&data, &n, path, MAX_REPORT, err);
    if (rc < 0)
        return rc;
    j = json_loadb((const char *)data, n, 0, &e);
    assay_free(data);
    if (j == NULL)
        return assay_fail(err, ASSAY_EFORMAT, "%s: line %d: %s", path, e.line,
                          e.text);
    rc = read_report(&r, j);
    json_decref(j);
    return rc;
}
