/* SPDX-License-Identifier: Apache-2.0 */
/* lint: what a model says of itself before anything runs. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/cmd.h"
#include "host-tools/diff/diff.h"
#include "host-tools/lint/lint.h"
#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "host-tools/prepare.h"
#include "host-tools/report/json_text.h"
#include "lib/core/buf.h"

#define MAX_DTYPES (16u << 20)

static void list_checks(void)
{
    const struct assay_lint_check *k;

    for (unsigned i = 0; (k = assay_lint_check(i)) != NULL; i++)
        printf("%-22s %-13s %s\n", k->id, assay_severity_name(k->worst),
               k->text);
}

static bool add_json(json_t *array, const struct assay_finding *f)
{
    return json_array_append_new(
               array,
               json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "severity",
                         assay_severity_name(f->severity), "id", f->id, "layer",
                         assay_json_text(f->subject), "sentence",
                         assay_json_text(f->sentence), "expected",
                         assay_json_text(f->expected), "found",
                         assay_json_text(f->found), "file",
                         assay_json_text(f->file))) == 0;
}

static json_t *to_json(const struct assay_prepared *p,
                       const struct assay_findings *f, int code)
{
    char hash[2 * ASSAY_SHA256_LEN + 1];
    json_t *array = json_array();
    bool good = array != NULL;

    for (uint32_t i = 0; i < p->findings.n; i++)
        good = good && add_json(array, &p->findings.v[i]);
    for (uint32_t i = 0; i < f->n; i++)
        good = good && add_json(array, &f->v[i]);
    if (!good) {
        json_decref(array);
        return NULL;
    }
    assay_hex(p->slice->model_sha256, ASSAY_SHA256_LEN, hash);
    return json_pack(
        "{s:s, s:{s:o, s:s}, s:i, s:{s:I, s:I, s:I}, s:o, s:i}", "schema",
        "assay-lint/1", "model", "name", assay_json_text(p->slice->model_name),
        "sha256", hash, "layers", (int)p->slice->n_layers, "counts",
        "contradictions",
        (json_int_t)f->count[ASSAY_CONTRADICTION] +
            p->findings.count[ASSAY_CONTRADICTION],
        "warnings",
        (json_int_t)f->count[ASSAY_WARNING] + p->findings.count[ASSAY_WARNING],
        "hints",
        (json_int_t)f->count[ASSAY_HINT] + p->findings.count[ASSAY_HINT],
        "findings", array, "exit_code", code);
}

static int write_json(const struct assay_options *o,
                      const struct assay_prepared *p,
                      const struct assay_findings *f, int code,
                      struct assay_err *err)
{
    if (!o->json_stdout && o->json == NULL)
        return 0;
    return assay_cmd_write_json(o, to_json(p, f, code), err);
}

/* Control bytes of names do not steer a terminal. */
static void print_finding(const struct assay_finding *f)
{
    char line[1024];

    assay_prepare_finding(f, line, sizeof(line));
    for (char *c = line; *c != '\0'; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    printf("  %s [%s]\n", line, f->id);
}

static void print_text(const struct assay_prepared *p,
                       const struct assay_findings *f)
{
    char line[1024], name[200], hash[2 * ASSAY_SHA256_LEN + 1];
    const uint32_t *a = f->count, *b = p->findings.count;

    snprintf(name, sizeof(name), "%.190s", p->slice->model_name);
    assay_hex(p->slice->model_sha256, ASSAY_SHA256_LEN, hash);
    printf("%s\n",
           assay_message(line, sizeof(line), ASSAY_MSG_IMPORT_HEAD, "model",
                         name, "hash", hash, "layers",
                         assay_num_u(p->slice->n_layers).text, "tensors",
                         assay_num_u(p->slice->n_tensors).text, NULL));
    for (uint32_t i = 0; i < p->findings.n; i++)
        print_finding(&p->findings.v[i]);
    for (uint32_t i = 0; i < f->n; i++)
        print_finding(&f->v[i]);
    printf(
        "%s\n",
        assay_message(
            line, sizeof(line), ASSAY_MSG_LINT_COUNTS, "contradictions",
            assay_num_u(a[ASSAY_CONTRADICTION] + b[ASSAY_CONTRADICTION]).text,
            "warnings", assay_num_u(a[ASSAY_WARNING] + b[ASSAY_WARNING]).text,
            "hints", assay_num_u(a[ASSAY_HINT] + b[ASSAY_HINT]).text, NULL));
}

/* Scales that were derived from multipliers say nothing against them. */
static bool *given(const struct assay_prepared *p, struct assay_arena *arena)
{
    bool *v = assay_arena_array(arena, (size_t)p->slice->n_tensors + 1, 1);

    for (uint32_t i = 0; v != NULL && i < p->slice->n_tensors; i++)
        v[i] = !p->own_numerics ||
               p->slice->tensors[i].role == ASSAY_ROLE_CONSTANT ||
               (p->scales.origin != NULL &&
                p->scales.origin[i] != ASSAY_SCALE_UNKNOWN &&
                p->scales.origin[i] != ASSAY_SCALE_DERIVED);
    return v;
}

static int look(struct assay_findings *f, const struct assay_prepared *p,
                const struct assay_options *o, struct assay_err *err)
{
    struct assay_arena *arena = assay_arena_new();
    struct assay_lint_options l = {.dtypes_file = o->expect_dtypes};
    uint8_t *table = NULL;
    size_t n;
    int rc = 0;

    l.scale_given = arena != NULL ? given(p, arena) : NULL;
    if (l.scale_given == NULL)
        rc = assay_fail(err, ASSAY_EMEMORY, "out of memory");
    if (rc == 0 && o->expect_dtypes != NULL) {
        rc = assay_file_read(&table, &n, o->expect_dtypes, MAX_DTYPES, err);
        l.dtypes = (const char *)table;
    }
    if (rc == 0)
        rc = assay_lint(f, p->slice, &l, err);
    assay_free(table);
    assay_arena_free(arena);
    return rc;
}

int assay_cmd_lint(const struct assay_options *o, int argc, char **argv)
{
    struct assay_prepared p;
    struct assay_findings f = {0};
    struct assay_err err = {0};
    int rc, code = 0;

    (void)argc;
    (void)argv;
    if (o->list) {
        list_checks();
        return 0;
    }
    rc = assay_prepare(&p, o, &err);
    if (rc < 0)
        return assay_cmd_failed(&err);
    rc = assay_prepare_check(&p, &err);
    if (rc == 0)
        rc = look(&f, &p, o, &err);
    if (rc == 0 &&
        f.count[ASSAY_CONTRADICTION] + p.findings.count[ASSAY_CONTRADICTION] >
            0)
        code = assay_exit_combine(0, ASSAY_CLASS_USAGE);
    if (rc == 0 && !o->json_stdout)
        print_text(&p, &f);
    if (rc == 0)
        rc = write_json(o, &p, &f, code, &err);
    if (rc < 0)
        code = assay_cmd_failed(&err);
    assay_findings_free(&f);
    assay_prepare_close(&p);
    return code;
}
