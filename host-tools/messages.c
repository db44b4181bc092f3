/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/messages.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_ARGS 12

static const struct {
    const char *name, *args, *text;
} table[ASSAY_MSG_COUNT] = {
#define ASSAY_MESSAGE(id, args, text) {#id, args, text},
#include "host-tools/messages.def"
#undef ASSAY_MESSAGE
};

struct arg {
    const char *name, *text;
};

const char *assay_message_name(enum assay_message_id id)
{
    return (unsigned)id < ASSAY_MSG_COUNT ? table[id].name : "?";
}

const char *assay_message_text(enum assay_message_id id)
{
    return (unsigned)id < ASSAY_MSG_COUNT ? table[id].text : "?";
}

const char *assay_message_args(enum assay_message_id id)
{
    return (unsigned)id < ASSAY_MSG_COUNT ? table[id].args : "";
}

static const char *find_arg(const struct arg *args, size_t n, const char *name,
                            size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(args[i].name) == len && memcmp(args[i].name, name, len) == 0)
            return args[i].text != NULL ? args[i].text : "";
    }
    return NULL;
}

static void put(char *out, size_t cap, size_t *at, const char *s, size_t n)
{
    for (size_t i = 0; i < n && *at + 1 < cap; i++)
        out[(*at)++] = s[i];
}

/* Names come from files: they do not steer a terminal. */
static void put_value(char *out, size_t cap, size_t *at, const char *s)
{
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;

        put(out, cap, at, c < 32 || c == 127 ? "?" : s, 1);
    }
}

static void expand(char *out, size_t cap, const char *text,
                   const struct arg *args, size_t n_args)
{
    size_t at = 0;

    if (cap == 0)
        return;
    while (*text != '\0') {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        const char *value = NULL;

        if (end != NULL)
            value = find_arg(args, n_args, text + 1, (size_t)(end - text - 1));
        if (value != NULL) {
            put_value(out, cap, &at, value);
            text = end + 1;
        } else {
            put(out, cap, &at, text++, 1);
        }
    }
    out[at] = '\0';
}

static size_t collect(struct arg *args, va_list ap)
{
    size_t n = 0;
    const char *name;

    while (n < MAX_ARGS && (name = va_arg(ap, const char *)) != NULL) {
        args[n].name = name;
        args[n++].text = va_arg(ap, const char *);
    }
    return n;
}

const char *assay_message(char *out, size_t cap, enum assay_message_id id, ...)
{
    struct arg args[MAX_ARGS];
    va_list ap;
    size_t n;

    va_start(ap, id);
    n = collect(args, ap);
    va_end(ap);
    expand(out, cap, assay_message_text(id), args, n);
    return out;
}

const char *assay_message_fill(char *out, size_t cap, const char *text, ...)
{
    struct arg args[MAX_ARGS];
    va_list ap;
    size_t n;

    va_start(ap, text);
    n = collect(args, ap);
    va_end(ap);
    expand(out, cap, text, args, n);
    return out;
}

int assay_fail_message(struct assay_err *err, int code,
                       enum assay_message_id id, ...)
{
    char text[sizeof(err->text)];
    struct arg args[MAX_ARGS];
    va_list ap;
    size_t n;

    va_start(ap, id);
    n = collect(args, ap);
    va_end(ap);
    expand(text, sizeof(text), assay_message_text(id), args, n);
    return assay_fail(err, code, "%s", text);
}

struct assay_num assay_num_u(uint64_t v)
{
    struct assay_num n;

    snprintf(n.text, sizeof(n.text), "%" PRIu64, v);
    return n;
}

struct assay_num assay_num_f(int digits, double v)
{
    struct assay_num n;

    if (snprintf(n.text, sizeof(n.text), "%.*f", digits, v) >=
        (int)sizeof(n.text))
        return assay_num_g(6, v);
    return n;
}

struct assay_num assay_num_g(int digits, double v)
{
    struct assay_num n;

    if (snprintf(n.text, sizeof(n.text), "%.*g", digits, v) >=
        (int)sizeof(n.text))
        n.text[0] = '\0';
    return n;
}

struct assay_num assay_num_bytes(uint64_t v)
{
    struct assay_num n;

    if (v < 1000)
        snprintf(n.text, sizeof(n.text), "%" PRIu64 " B", v);
    else if (v < 1024 * 1024)
        snprintf(n.text, sizeof(n.text), "%.1f kB", (double)v / 1000.0);
    else if (v < 1024ull * 1024 * 1024)
        snprintf(n.text, sizeof(n.text), "%.1f MiB",
                 (double)v / (1024.0 * 1024.0));
    else
        snprintf(n.text, sizeof(n.text), "%.1f GiB",
                 (double)v / (1024.0 * 1024.0 * 1024.0));
    return n;
}
