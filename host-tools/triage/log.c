/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/log.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/triage/cells.h"

#define MAX_LINE 2000 /* of a line: globs are not run over megabytes */
#define MAX_HITS 4096u

static const struct assay_log_message messages[] = {
#define ASSAY_LOG(id, pattern, meaning, remedy) {id, pattern, meaning, remedy},
#include "host-tools/triage/log.def"
#undef ASSAY_LOG
};

const struct assay_log_message *assay_log_find(const char *line, size_t n)
{
    char text[MAX_LINE + 2], glob[128];

    if (n > MAX_LINE)
        n = MAX_LINE;
    memcpy(text, line, n);
    text[n] = ' '; /* what must not follow a number has something to match */
    text[n + 1] = '\0';
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        snprintf(glob, sizeof(glob), "*%s*", messages[i].pattern);
        if (fnmatch(glob, text, FNM_CASEFOLD | FNM_NOESCAPE) == 0)
            return &messages[i];
    }
    return NULL;
}

/* The word, with nothing of a word around it. */
static bool has_word(const char *line, size_t n, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; len <= n && i <= n - len; i++) {
        bool before = i > 0 && (isalnum((unsigned char)line[i - 1]) ||
                                line[i - 1] == '_');
        bool behind = i + len < n && (isalnum((unsigned char)line[i + len]) ||
                                      line[i + len] == '_');

        if (!before && !behind && assay_text_has(line + i, len, word))
            return true;
    }
    return false;
}

bool assay_log_is_error(const char *line, size_t n)
{
    static const char *const words[] = {"error", "fatal", "exception",
                                        "check failed", "critical"};

    if (n > MAX_LINE)
        n = MAX_LINE;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (has_word(line, n, words[i]))
            return true;
    /* "ValueError: ...", "[E]" */
    return memmem(line, n, "Error:", 6) != NULL ||
           memmem(line, n, "[E]", 3) != NULL;
}

static struct assay_log_hit *add(struct assay_log *log)
{
    struct assay_log_hit *grown;

    if (log->n_hits >= MAX_HITS)
        return NULL;
    if (log->n_hits == log->cap) {
        uint32_t cap = log->cap == 0 ? 32 : log->cap * 2;

        grown = assay_arena_array(log->arena, cap, sizeof(*grown));
        if (grown == NULL)
            return NULL;
        if (log->n_hits > 0)
            memcpy(grown, log->hits, log->n_hits * sizeof(*grown));
        log->hits = grown;
        log->cap = cap;
    }
    return &log->hits[log->n_hits++];
}

static struct assay_log_hit *same_id(struct assay_log *log, const char *id)
{
    for (uint32_t i = 0; i < log->n_hits; i++)
        if (log->hits[i].message != NULL &&
            strcmp(log->hits[i].message->id, id) == 0)
            return &log->hits[i];
    return NULL;
}

static int take(struct assay_log *log, const struct assay_log_message *m,
                const char *file, const struct assay_lines *l,
                struct assay_err *err)
{
    struct assay_log_hit *hit = m != NULL ? same_id(log, m->id) : NULL;

    if (hit != NULL) {
        hit->count++;
        return 0;
    }
    if (m == NULL && log->n_unknown++ >= ASSAY_MAX_UNKNOWN)
        return 0;
    hit = add(log);
    if (hit == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%s: no memory for its messages",
                          file);
    hit->message = m;
    hit->file = file;
    hit->line = l->number;
    hit->count = 1;
    hit->text =
        assay_arena_str(log->arena, l->line, l->len < 300 ? l->len : 300);
    return hit->text != NULL ? 0
                             : assay_fail(err, ASSAY_EMEMORY,
                                          "%s: no memory for a line", file);
}

int assay_log_scan(struct assay_log *log, const char *file, const char *text,
                   size_t n, struct assay_err *err)
{
    struct assay_lines l;
    int rc = 0;

    if (memchr(text, '\0', n) != NULL)
        return assay_fail(err, ASSAY_EFORMAT, "%s: is no text: a byte 0", file);
    log->n_files++;
    assay_lines_begin(&l, text, n);
    while (rc == 0 && assay_lines_next(&l)) {
        const struct assay_log_message *m = assay_log_find(l.line, l.len);

        if (m != NULL || assay_log_is_error(l.line, l.len))
            rc = take(log, m, file, &l, err);
    }
    return rc;
}
