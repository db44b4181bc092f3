/* SPDX-License-Identifier: Apache-2.0 */
/* What was run with a compiled model: model_info's text, hb_verifier's log. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/vendor/parse.h"

int assay_vendor_read_model_info(struct assay_vendor *v, char *data, size_t n,
                                 const char *file, struct assay_err *err)
{
    int rc;

    if (v->n_infos == ASSAY_VENDOR_MAX_INFOS)
        return assay_vendor_too_many(file, "texts of model_info", err);
    rc = assay_model_info_parse(&v->infos[v->n_infos], data, n, file, err);
    v->n_infos += rc == 0;
    return rc;
}

const struct assay_model_info *assay_vendor_model_info(
    const struct assay_vendor *v)
{
    for (uint32_t i = 0; v != NULL && i < v->n_infos; i++)
        for (uint32_t k = 0; k < v->infos[i].n; k++)
            if (v->infos[i].v[k].stride_rank > 0)
                return &v->infos[i];
    return v != NULL && v->n_infos > 0 ? &v->infos[0] : NULL;
}

/* ---- hb_verifier -------------------------------------------------------- */

struct verifier {
    struct assay_vendor *v;
    struct assay_vendor_verifier *run;
    struct assay_vendor_comparison counts; /* until its check is named */
    const char *file;
    struct assay_err *err;
};

static int no_memory(struct verifier *r)
{
    return assay_fail(r->err, ASSAY_EMEMORY, "%s: out of memory", r->file);
}

/* A log has the runs of a day one behind the other. */
static int begin(struct verifier *r)
{
    r->run = assay_vendor_grow(r->v, &r->v->verifiers, &r->v->n_verifiers,
                               &r->v->cap_verifiers, sizeof(*r->run),
                               ASSAY_VENDOR_MAX_LIST);
    if (r->run == NULL)
        return assay_vendor_too_many(r->file, "runs of hb_verifier", r->err);
    *r->run = (struct assay_vendor_verifier){
        .file = r->file, .version = "", .digits = "", .error = ""};
    memset(&r->counts, 0, sizeof(r->counts));
    return 0;
}

static const char *behind(const char *line, const char *word)
{
    size_t n = strlen(word);

    return strncmp(line, word, n) == 0 ? line + n : NULL;
}

static int keep(struct verifier *r, const char **slot, const char *text)
{
    *slot = assay_vendor_str(r->v, text);
    return *slot != NULL ? 0 : no_memory(r);
}

/* "Quanti.onnx and Arm result Strict check PASSED" */
static int checked(struct verifier *r, char *line, const char *result)
{
    struct assay_vendor_comparison *c;
    char *end = strstr(line, " result Strict check ");

    c = assay_vendor_grow(r->v, &r->run->v, &r->run->n, &r->run->cap,
                          sizeof(*c), ASSAY_VENDOR_MAX_LIST);
    if (c == NULL)
        return assay_vendor_too_many(r->file, "comparisons", r->err);
    *c = r->counts;
    memset(&r->counts, 0, sizeof(r->counts));
    *end = '\0';
    c->passed = strncmp(result, "PASSED", 6) == 0 ? 1 : -1;
    return keep(r, &c->pair, line);
}

/* The message of a line: behind its time, and whether it is an error. */
static char *message_of(char *line, bool *error)
{
    static const char *const levels[] = {"INFO", "WARNING", "ERROR", "DEBUG"};
    char *p = strstr(line, " line No: ");

    *error = false;
    if (p != NULL) {
        p += strlen(" line No: ");
        while (isdigit((unsigned char)*p))
            p++;
    } else {
        p = line;
        while (isdigit((unsigned char)*p) || (*p != '\0' && strchr("-:, ", *p)))
            p++;
    }
    while (*p == ' ')
        p++;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        size_t n = strlen(levels[i]);
        bool coloured = *p == '\033' && strlen(p) > 5;
        char *word = coloured ? p + 5 : p;

        if (strncmp(word, levels[i], n) != 0 ||
            (word[n] != ' ' && word[n] != '\033'))
            continue;
        *error = i == 2;
        p = word + n;
        while (*p == ' ' || *p == '\033' || strncmp(p, "[0m", 3) == 0)
            p += *p == '[' ? 3 : 1;
        break;
    }
    return p;
}

/* Does a run begin here? A log that was cut begins with a result. */
static bool begins(const struct verifier *r, const char *message)
{
    if (strstr(message, "HB_Verifier Starts") != NULL)
        return true;
    return r->run == NULL &&
           (strstr(message, " result Strict check ") != NULL ||
            behind(message, "mismatch result num: ") != NULL ||
            behind(message, "verifier tool version ") != NULL);
}

static int one_line(struct verifier *r, char *line)
{
    bool error;
    char *p = message_of(line, &error);
    const char *rest;

    if (begins(r, p)) {
        int rc = begin(r);

        if (rc != 0)
            return rc;
    }
    if (r->run == NULL)
        return 0;
    if ((rest = strstr(p, " result Strict check ")) != NULL)
        return checked(r, p, rest + strlen(" result Strict check "));
    if ((rest = behind(p, "verifier tool version ")) != NULL)
        return keep(r, &r->run->version, rest);
    if ((rest = behind(p, "compare_digits: ")) != NULL)
        return keep(r, &r->run->digits, rest);
    if ((rest = behind(p, "dump_all_nodes_results: ")) != NULL)
        r->run->all_nodes = strncmp(rest, "True", 4) == 0;
    if ((rest = behind(p, "mismatch result num: ")) != NULL) {
        r->counts.mismatch = strtoull(rest, NULL, 10);
        r->counts.has_counts = true;
    }
    if ((rest = behind(p, "total result num: ")) != NULL)
        r->counts.total = strtoull(rest, NULL, 10);
    if ((rest = behind(p, "max abs error: ")) != NULL) {
        r->counts.max_abs = strtod(rest, NULL);
        r->counts.has_max = true;
    }
    if (error && r->run->error[0] == '\0')
        return keep(r, &r->run->error, p);
    return 0;
}

int assay_vendor_read_verifier(struct assay_vendor *v, char *data, size_t n,
                               const char *file, struct assay_err *err)
{
    struct verifier r = {.v = v, .file = file, .err = err};
    int rc = 0;

    for (char *p = data, *end = data + n; rc == 0 && p < end;) {
        char *stop = memchr(p, '\n', (size_t)(end - p));

        if (stop == NULL)
            stop = end;
        *stop = '\0';
        if (stop > p && stop[-1] == '\r')
            stop[-1] = '\0';
        if (*p != '\0')
            rc = one_line(&r, p);
        p = stop + 1;
    }
    return rc;
}
