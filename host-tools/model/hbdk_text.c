/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/hbdk_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/buf.h"

struct reader {
    const char *at, *end; /* end: behind the last byte */
    size_t line;          /* of at, from 1 */
    const char *file;
    struct assay_err *err;
};

/* One line without its end; "\n", "\r\n" and nothing at the end all end it. */
struct line {
    const char *s;
    size_t n, number;
};

static bool next_line(struct reader *r, struct line *out)
{
    const char *nl;

    if (r->at == r->end)
        return false;
    nl = memchr(r->at, '\n', (size_t)(r->end - r->at));
    out->s = r->at;
    out->n = (size_t)((nl != NULL ? nl : r->end) - r->at);
    out->number = ++r->line;
    r->at = nl != NULL ? nl + 1 : r->end;
    if (out->n > 0 && out->s[out->n - 1] == '\r')
        out->n--;
    while (out->n > 0 && (out->s[out->n - 1] == ' '))
        out->n--;
    return true;
}

static int refuse(const struct reader *r, size_t line, const char *expected,
                  const char *found, size_t n)
{
    char shown[41];
    size_t k = 0;

    for (; k < n && k + 1 < sizeof(shown); k++)
        shown[k] = isprint((unsigned char)found[k]) ? found[k] : '?';
    shown[k] = '\0';
    return assay_fail(r->err, ASSAY_EFORMAT,
                      "%s: line %zu: expected %s, found '%s'%s", r->file, line,
                      expected, shown, k < n ? " and more" : "");
}

/* A decimal integer in [lo, hi] at *at; *at moves behind it. */
static bool number(const char **at, const char *end, int64_t lo, int64_t hi,
                   int64_t *out)
{
    const char *p = *at;
    bool minus = p < end && *p == '-';
    int64_t v = 0;

    p += minus;
    if (p == end || !isdigit((unsigned char)*p))
        return false;
    for (; p < end && isdigit((unsigned char)*p); p++) {
        int64_t digit = *p - '0';

        if (v > (INT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (minus)
        v = -v;
    if (v < lo || v > hi)
        return false;
    *at = p;
    *out = v;
    return true;
}

/* "#key = rest", in any of the three spellings. */
static bool header(const struct line *l, const char *key, const char **rest)
{
    size_t n = strlen(key);
    const char *p = l->s + 1, *end = l->s + l->n;

    if ((size_t)(end - p) <= n || memcmp(p, key, n) != 0)
        return false;
    p += n;
    while (p < end && *p == ' ')
        p++;
    if (p == end || (*p != '=' && *p != ':'))
        return false;
    p++;
    while (p < end && *p == ' ')
        p++;
    *rest = p;
    return true;
}

static int take_dims(struct reader *r, const struct line *l, const char *p,
                     struct assay_hbdk_text *out)
{
    const char *end = l->s + l->n, *start = p;
    size_t room = (size_t)(r->end - l->s);

    if (out->rank != 0)
        return refuse(r, l->number, "valid_dim once", l->s, l->n);
    out->count = 1;
    for (;;) {
        int64_t v;

        if (out->rank == ASSAY_MAX_RANK || !number(&p, end, 1, INT32_MAX, &v))
            return refuse(r, l->number, "dimensions like 1x8x8x16", start,
                          (size_t)(end - start));
        out->dims[out->rank++] = v;
        /* A value takes a byte at least: more cannot be in this file. */
        if ((size_t)v > room / out->count)
            return refuse(r, l->number, "no more elements than the file holds",
                          start, (size_t)(end - start));
        out->count *= (size_t)v;
        if (p == end)
            return 0;
        if (*p++ != 'x')
            return refuse(r, l->number, "dimensions like 1x8x8x16", start,
                          (size_t)(end - start));
    }
}

/* Blank-separated integers; the shifts of the simulator's float file. */
static int check_numbers(struct reader *r, const struct line *l, const char *p)
{
    const char *end = l->s + l->n;
    int64_t v;

    while (p < end) {
        if (!number(&p, end, INT32_MIN, INT32_MAX, &v) ||
            (p < end && *p != ' '))
            return refuse(r, l->number, "integers", p, (size_t)(end - p));
        while (p < end && *p == ' ')
            p++;
    }
    return 0;
}

static int take_header(struct reader *r, const struct line *l,
                       struct assay_hbdk_text *out)
{
    const char *rest;

    if (header(l, "valid_dim", &rest))
        return take_dims(r, l, rest, out);
    if (header(l, "shift", &rest) || header(l, "dynamic_n", &rest))
        return check_numbers(r, l, rest);
    return 0; /* operator (the same for every layer), or a newer remark */
}

static int take_row(struct reader *r, const struct line *l, int64_t lo,
                    int64_t hi, enum assay_dtype dtype, size_t want,
                    int64_t *out)
{
    const char *p = l->s, *end = l->s + l->n;
    char expected[96];
    size_t n = 0;

    while (p < end) {
        const char *start = p;
        size_t word;

        if (*p == ' ') {
            p++;
            continue;
        }
        for (word = 0; p + word < end && p[word] != ' '; word++)
            ;
        if (n == want) {
            snprintf(expected, sizeof(expected), "%zu values in a row", want);
            return refuse(r, l->number, expected, "more", 4);
        }
        if (!number(&p, end, lo, hi, &out[n]) || p != start + word) {
            snprintf(expected, sizeof(expected),
                     "an %s (%" PRId64 "..%" PRId64 ")",
                     assay_dtype_name(dtype), lo, hi);
            return refuse(r, l->number, expected, start, word);
        }
        n++;
    }
    if (n < want) {
        char found[24];

        snprintf(expected, sizeof(expected), "%zu values in a row", want);
        snprintf(found, sizeof(found), "%zu", n);
        return refuse(r, l->number, expected, found, strlen(found));
    }
    return 0;
}

static int wrong_rows(const struct reader *r, size_t rows, size_t have,
                      bool more)
{
    return assay_fail(r->err, ASSAY_EFORMAT,
                      "%s: line %zu: expected %zu rows of the last dimension, "
                      "found %s%zu",
                      r->file, r->line, rows, more ? "more than " : "", have);
}

static int take_rows(struct reader *r, struct line *l, bool any,
                     enum assay_dtype dtype, struct assay_hbdk_text *out)
{
    size_t width = (size_t)out->dims[out->rank - 1];
    size_t rows = out->count / width, have = 0;
    int64_t lo, hi;
    int rc;

    assay_dtype_range(dtype, &lo, &hi);
    for (; any; any = next_line(r, l)) {
        if (l->n == 0)
            continue;
        if (have == rows)
            return wrong_rows(r, rows, have, true);
        rc = take_row(r, l, lo, hi, dtype, width, out->values + have * width);
        if (rc < 0)
            return rc;
        have++;
    }
    return have == rows ? 0 : wrong_rows(r, rows, have, false);
}

int assay_hbdk_text_parse(struct assay_hbdk_text *out, const char *data,
                          size_t n, enum assay_dtype dtype, const char *file,
                          struct assay_err *err)
{
    struct reader r = {.at = data, .end = data + n, .file = file, .err = err};
    struct assay_hbdk_text t = {0};
    struct line l = {0};
    bool any;
    int rc = 0;

    if (n > ASSAY_HBDK_MAX_BYTES)
        return assay_fail(err, ASSAY_ERANGE,
                          "%s: %zu bytes, expected at most %zu", file, n,
                          ASSAY_HBDK_MAX_BYTES);
    while ((any = next_line(&r, &l)) && (l.n == 0 || l.s[0] == '#')) {
        rc = l.n > 0 ? take_header(&r, &l, &t) : 0;
        if (rc < 0)
            return rc;
    }
    if (r.line == 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: expected a text of the simulator, found an "
                          "empty file",
                          file);
    if (t.rank == 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: line %zu: expected a header line #valid_dim=, "
                          "found none before the values",
                          file, r.line);
    t.values = assay_calloc(t.count, sizeof(*t.values));
    if (t.values == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", file);
    rc = take_rows(&r, &l, any, dtype, &t);
    if (rc < 0)
        assay_hbdk_text_close(&t);
    else
        *out = t;
    return rc;
}

void assay_hbdk_text_close(struct assay_hbdk_text *t)
{
    if (t == NULL)
        return;
    assay_free(t->values);
    memset(t, 0, sizeof(*t));
}

enum assay_hbdk_kind assay_hbdk_name(const char *name, const char **feature,
                                     size_t *n)
{
    static const char head[] = "hbdk_output", middle[] = "_feature_";
    static const struct {
        const char *text;
        enum assay_hbdk_kind kind;
    } ends[] = {
        {"_elem_int.txt", ASSAY_HBDK_INT},
        {"_elem_float.txt", ASSAY_HBDK_FLOAT},
    };
    const char *p = name;
    size_t left;

    if (strncmp(p, head, strlen(head)) != 0)
        return ASSAY_HBDK_OTHER;
    p += strlen(head);
    if (!isdigit((unsigned char)*p))
        return ASSAY_HBDK_OTHER;
    while (isdigit((unsigned char)*p))
        p++;
    if (strncmp(p, middle, strlen(middle)) != 0)
        return ASSAY_HBDK_OTHER;
    p += strlen(middle);
    left = strlen(p);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t k = strlen(ends[i].text);

        if (left <= k || strcmp(p + left - k, ends[i].text) != 0)
            continue;
        *feature = p;
        *n = left - k;
        return ends[i].kind;
    }
    return ASSAY_HBDK_OTHER;
}

bool assay_hbdk_is_copy(const char *name)
{
    static const char end[] = "_NATIVE.bin";
    size_t n = strlen(name), k = sizeof(end) - 1;

    return !strncmp(name, "input_", 6) && n > k && !strcmp(name + n - k, end);
}
