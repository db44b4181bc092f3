/* SPDX-License-Identifier: Apache-2.0 */
/* Error values: one text, written by whoever knows why. */
#include "lib/core/err.h"

#include <stdio.h>
#include <string.h>

static const struct {
    int code;
    enum assay_status_class cls;
    const char *name;
    const char *sentence;
} STATUSES[] = {
#define ASSAY_STATUS(name, number, cls, sentence) \
    {number, ASSAY_CLASS_##cls, #name, sentence},
#include "lib/core/status.def"
#undef ASSAY_STATUS
};
#define N_STATUSES (sizeof(STATUSES) / sizeof(STATUSES[0]))

int assay_fail(struct assay_err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    char text[sizeof(err->text)]; /* an argument may be err->text itself */
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof(text), fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    memcpy(err->text, text, sizeof(text));
    err->code = code;
    return code;
}

int assay_err_prefix(struct assay_err *err, const char *fmt, ...)
{
    if (!err)
        return ASSAY_EINTERNAL;
    char text[sizeof(err->text)];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0)
        return err->code;
    size_t at = (size_t)n, room = sizeof(text) - 1, rest = strlen(err->text);
    if (at + 2 < room) { /* else there is only room for the prefix */
        memcpy(text + at, ": ", 2);
        at += 2;
        if (rest > room - at)
            rest = room - at; /* a text that is too long loses its end */
        memcpy(text + at, err->text, rest);
        text[at + rest] = '\0';
    }
    memcpy(err->text, text, sizeof(text));
    return err->code;
}

/* Index in STATUSES, or N_STATUSES. */
static size_t find(int code)
{
    size_t i = 0;
    while (i < N_STATUSES && STATUSES[i].code != code)
        i++;
    return i;
}

const char *assay_status_name(int code)
{
    if (code == ASSAY_OK)
        return "OK";
    size_t i = find(code);
    return i < N_STATUSES ? STATUSES[i].name : "?";
}

const char *assay_status_sentence(int code)
{
    if (code == ASSAY_OK)
        return "no error";
    size_t i = find(code);
    return i < N_STATUSES ? STATUSES[i].sentence : "unknown error";
}

/* An unknown code comes from a newer agent: its fault, not the user's. */
enum assay_status_class assay_status_class(int code)
{
    size_t i = find(code);
    return i < N_STATUSES ? STATUSES[i].cls : ASSAY_CLASS_AGENT;
}
