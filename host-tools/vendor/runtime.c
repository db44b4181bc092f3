/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vendor's runtime prints when it starts and loads a model, alone or
 * among the lines of any application: versions of the BPU library, of HBRT
 * and DNN, the march that it was set to, who built the model that it loaded.
 * A value that the end of the file may have cut says nothing.
 */
#include <ctype.h>
#include <string.h>

#include "host-tools/vendor/parse.h"

struct runtime {
    struct assay_vendor *v;
    const char *file;
    uint32_t line;
    struct assay_err *err;
};

/* A value stands between two marks of a line. */
struct mark {
    const char *before; /* "": right behind what the mark in front gave */
    const char *after;  /* "": a blank or the end of the line */
    enum assay_claim_about about;
    enum assay_claim_by by;
};

static const struct mark marks[] = {
    {"[BPU_PLAT]BPU Platform Version(", ")", ASSAY_ABOUT_BPU, ASSAY_BY_RUNTIME},
    {"! soc info(", ")", ASSAY_ABOUT_SOC, ASSAY_BY_RUNTIME},
    {"[HBRT] set log level as 0. version = ", "", ASSAY_ABOUT_HBRT,
     ASSAY_BY_RUNTIME},
    {"set bpu march to ", "(", ASSAY_ABOUT_MARCH, ASSAY_BY_RUNTIME},
    {"[DNN] Runtime version = ", "_(", ASSAY_ABOUT_DNN, ASSAY_BY_RUNTIME},
    {"[DNN]: ", "_(", ASSAY_ABOUT_DNN, ASSAY_BY_RUNTIME},
    {"[HorizonRT] The model builder version = ", "", ASSAY_ABOUT_MAPPER,
     ASSAY_BY_LOADED},
};

static int claim(struct runtime *r, enum assay_claim_about about,
                 enum assay_claim_by by, const char *value, size_t n)
{
    struct assay_claim like = {
        .about = about,
        .by = by,
        .file = r->file,
        .line = r->line,
        .model = "",
    };

    return assay_vendor_claim(r->v, &like, value, n, r->err);
}

/* What stands behind the first of these words; NULL: they are not there. */
static const char *behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);

    return at != NULL ? at + strlen(words) : NULL;
}

/* The text up to `after`; NULL: the line has no such end. */
static const char *end_of(const char *value, const char *after)
{
    if (after[0] != '\0')
        return strstr(value, after);
    return value + strcspn(value, " \t\r");
}

static int read_marks(struct runtime *r, const char *line)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && rc == 0; i++) {
        const char *value = behind(line, marks[i].before), *end;

        if (value == NULL)
            continue;
        end = end_of(value, marks[i].after);
        if (end != NULL)
            rc = claim(r, marks[i].about, marks[i].by, value,
                       (size_t)(end - value));
        /* "1.24.5_(3.15.55 HBRT)" */
        if (rc == 0 && end != NULL && strcmp(marks[i].after, "_(") == 0) {
            value = end + 2;
            end = strstr(value, " HBRT)");
            if (end != NULL)
                rc = claim(r, ASSAY_ABOUT_HBRT, ASSAY_BY_RUNTIME, value,
                           (size_t)(end - value));
        }
    }
    return rc;
}

/* "BPULib verison(2, 1, 2)" as 2.1.2. */
static int read_library(struct runtime *r, const char *line)
{
    const char *p = behind(line, "BPULib verison(");
    char text[32];
    size_t n = 0;

    if (p == NULL)
        return 0;
    for (; *p != '\0' && *p != ')' && n < sizeof(text); p++) {
        if (*p != ' ')
            text[n++] = *p == ',' ? '.' : *p;
    }
    return *p == ')' ? claim(r, ASSAY_ABOUT_BPU, ASSAY_BY_RUNTIME, text, n) : 0;
}

/* The runtime's own warning: "Model: NAME. Inconsistency between the hbrt
 * library version A and the model build version B detected". Each part is
 * looked for behind the one before it, since they share blanks. */
static int read_warning(struct runtime *r, const char *line)
{
    static const char between[] = " and the model build version ";
    const char *loaded =
        behind(line, "Inconsistency between the hbrt library version ");
    const char *loaded_end = loaded != NULL ? strstr(loaded, between) : NULL;
    const char *built =
        loaded_end != NULL ? loaded_end + strlen(between) : NULL;
    const char *built_end = built != NULL ? strstr(built, " detected") : NULL;
    const char *model = behind(line, "Model: ");
    const char *stop = model != NULL ? strstr(model, ". Inconsistency") : NULL;
    struct assay_claim like = {
        .about = ASSAY_ABOUT_HBRT,
        .by = ASSAY_BY_LOADED,
        .file = r->file,
        .line = r->line,
        .model = "",
        .complained = true,
    };
    int rc;

    if (built_end == NULL)
        return 0;
    rc = claim(r, ASSAY_ABOUT_HBRT, ASSAY_BY_RUNTIME, loaded,
               (size_t)(loaded_end - loaded));
    if (rc < 0)
        return rc;
    if (stop != NULL) {
        for (const char *c = model; c < stop; c++) {
            if (!isprint((unsigned char)*c))
                stop = model; /* no name that can be shown */
        }
        like.model =
            assay_arena_str(r->v->arena, model, (size_t)(stop - model));
        if (like.model == NULL)
            return assay_fail(r->err, ASSAY_EMEMORY, "%s",
                              assay_status_sentence(ASSAY_EMEMORY));
    }
    return assay_vendor_claim(r->v, &like, built, (size_t)(built_end - built),
                              r->err);
}

int assay_vendor_read_runtime(struct assay_vendor *v, char *data, size_t n,
                              const char *file, struct assay_err *err)
{
    struct runtime r = {.v = v, .file = file, .err = err};
    char *line = data, *end = data + n;
    int rc = 0;

    while (line < end && rc == 0) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        char *next = stop != NULL ? stop + 1 : end;

        r.line++;
        /* A last line without its end may be cut: a blank is what tells that
         * a value is whole. */
        if (stop == NULL) {
            stop = end;
            while (stop > line && stop[-1] != ' ' && stop[-1] != ')')
                stop--;
        }
        assay_vendor_clean(line, (size_t)(stop - line));
        rc = read_marks(&r, line);
        if (rc == 0)
            rc = read_library(&r, line);
        if (rc == 0)
            rc = read_warning(&r, line);
        line = next;
    }
    return rc;
}
