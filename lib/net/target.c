/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/target.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 256
#define TEXT_MAX 4096

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for a target");
}

/* ---- shell-like words ----------------------------------------------------- */

struct splitter {
    const char *p;
    char *out;
    size_t len;
};

/* Appends one word's characters; false when a quote is not closed. */
static bool one_word(struct splitter *s)
{
    char quote = '\0';

    for (; *s->p != '\0'; s->p++) {
        char c = *s->p;

        if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n'))
            return true;
        if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
        } else if (quote != '\0' && c == quote) {
            quote = '\0';
        } else if (c == '\\' && quote != '\'') {
            if (s->p[1] == '\0')
                return false;
            if (quote == '"' && s->p[1] != '"' && s->p[1] != '\\')
                s->out[s->len++] = c;
            s->out[s->len++] = *++s->p;
        } else {
            s->out[s->len++] = c;
        }
    }
    return quote == '\0';
}

int assay_split_words(struct assay_arena *arena, const char *text, char ***argv,
                      struct assay_err *err)
{
    struct splitter s = {.p = text};
    char **words = assay_arena_array(arena, WORDS_MAX + 1, sizeof(*words));
    size_t n = 0;

    s.out = assay_arena_alloc(arena, strlen(text) * 2 + 2);
    if (words == NULL || s.out == NULL)
        return no_memory(err);
    for (;;) {
        while (*s.p == ' ' || *s.p == '\t' || *s.p == '\n')
            s.p++;
        if (*s.p == '\0')
            break;
        if (n == WORDS_MAX)
            return assay_fail(err, ASSAY_EUSAGE,
                              "command has more than %d words", WORDS_MAX);
        words[n++] = s.out + s.len;
        if (!one_word(&s))
            return assay_fail(err, ASSAY_EUSAGE,
                              "command '%s' ends inside a quote", text);
        s.out[s.len++] = '\0';
    }
    words[n] = NULL;
    *argv = words;
    return 0;
}

/* ---- kinds ---------------------------------------------------------------- */

static int parse_exec(struct assay_target *t, const char *command,
                      struct assay_err *err)
{
    int rc = assay_split_words(t->arena, command, &t->argv, err);

    if (rc < 0)
        return rc;
    if (t->argv[0] == NULL)
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': command expected behind 'exec:'",
                          t->text);
    t->kind = ASSAY_TARGET_EXEC;
    return 0;
}

/* What is safe as a word of the remote shell without quotes. */
static bool plain_word(const char *s)
{
    for (; *s != '\0'; s++) {
        if (!isalnum((unsigned char)*s) && strchr("._/~+@:-[]%", *s) == NULL)
            return false;
    }
    return true;
}

static int parse_ssh(struct assay_target *t, char *rest, struct assay_err *err)
{
    char *host = rest, *at = strrchr(rest, '@'), *colon;
    const char *path = "assayd";
    char *name = at != NULL ? at + 1 : rest;

    if (name[0] == '[') { /* [::1]:PATH */
        char *end = strchr(name, ']');

        if (end == NULL)
            return assay_fail(err, ASSAY_EUSAGE, "target '%s': ']' expected",
                              t->text);
        colon = end[1] == ':' ? end + 1 : NULL;
    } else {
        colon = strchr(name, ':');
    }
    if (colon != NULL) {
        *colon = '\0';
        path = colon + 1;
    }
    if (name[0] == '\0' || host[0] == '\0' || host[0] == '@')
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': USER@HOST expected behind 'ssh:'",
                          t->text);
    if (host[0] == '-' || name[0] == '-')
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': a host that begins with '-' would be "
                          "an option of ssh",
                          t->text);
    if (path[0] == '\0' || path[0] == '-' || !plain_word(path) ||
        !plain_word(host))
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': the remote shell would not take '%s' "
                          "as one plain word",
                          t->text, plain_word(host) ? path : host);
    t->argv = assay_arena_array(t->arena, 6, sizeof(*t->argv));
    if (t->argv == NULL)
        return no_memory(err);
    t->argv[0] = assay_arena_str(t->arena, "ssh", 3);
    t->argv[1] = assay_arena_str(t->arena, "-T", 2);
    t->argv[2] = host;
    t->argv[3] = assay_arena_str(t->arena, path, strlen(path));
    t->argv[4] = assay_arena_str(t->arena, "--stdio", 7);
    for (int i = 0; i < 5; i++) {
        if (t->argv[i] == NULL)
            return no_memory(err);
    }
    t->kind = ASSAY_TARGET_EXEC;
    t->is_ssh = true;
    return 0;
}

/* RKNN's users give a chip name as target. A name with a port is a host. */
static bool is_chip_name(const char *s)
{
    static const char *const chips[] = {
        "x3",      "x5",        "rdkx3",      "rdkx5",  "rdk-x3",  "rdk-x5",
        "rdks100", "rdk-s100",  "j3",         "j5",     "j6",      "j6e",
        "j6m",     "j6p",       "j6b",        "j6h",    "s100",    "s100p",
        "s600",    "bernoulli", "bernoulli2", "bayes",  "bayes-e", "nash",
        "nash-e",  "nash-m",    "nash-p",     "nash-b", "nash-h",
    };
    const char *p = s;

    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++) {
        if (strcasecmp(s, chips[i]) == 0)
            return true;
    }
    if (strncasecmp(s, "rk", 2) != 0 && strncasecmp(s, "rv", 2) != 0)
        return false;
    for (p += 2; isdigit((unsigned char)*p); p++) {
    }
    return p - s == 6 && strlen(p) <= 1;
}

static int parse_port(struct assay_target *t, const char *s,
                      struct assay_err *err)
{
    unsigned v = 0;
    size_t n = strlen(s);

    for (size_t i = 0; i < n && v <= 65535; i++) {
        if (!isdigit((unsigned char)s[i]))
            v = 65536;
        else
            v = v * 10 + (unsigned)(s[i] - '0');
    }
    if (n == 0 || v > 65535)
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': port '%s' is not a number in 0..65535",
                          t->text, s);
    t->port = (uint16_t)v;
    return 0;
}

static int parse_tcp(struct assay_target *t, char *text, bool is_tls,
                     struct assay_err *err)
{
    char *port = NULL, *end;

    if (is_chip_name(text))
        return assay_fail(err, ASSAY_EUSAGE,
                          "address expected: '%s' is the name of a chip, "
                          "give HOST[:PORT], unix:PATH, exec:COMMAND or "
                          "ssh:USER@HOST",
                          text);
    if (text[0] == '[') {
        end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return assay_fail(err, ASSAY_EUSAGE,
                              "target '%s': [ADDRESS]:PORT expected", t->text);
        port = end[1] == ':' ? end + 2 : NULL;
        *end = '\0';
        text++;
    } else {
        end = strchr(text, ':');
        if (end != NULL && strchr(end + 1, ':') == NULL) {
            *end = '\0';
            port = end + 1;
        }
    }
    t->kind = ASSAY_TARGET_TCP;
    t->host = text;
    t->is_tls = is_tls || !assay_target_is_loopback(text);
    t->port = ASSAY_DEFAULT_PORT;
    if (text[0] == '\0')
        return assay_fail(err, ASSAY_EUSAGE, "target '%s': host expected",
                          t->text);
    for (const char *p = text; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && strchr(".-_:%", *p) == NULL)
            return assay_fail(err, ASSAY_EUSAGE,
                              "target '%s': '%c' cannot be in a host name",
                              t->text, *p);
    }
    return port != NULL ? parse_port(t, port, err) : 0;
}

static int parse_any(struct assay_target *t, const char *text,
                     struct assay_err *err)
{
    char *copy;

    if (text == NULL || text[0] == '\0')
        return assay_fail(err, ASSAY_EUSAGE, "target is empty");
    if (strlen(text) > TEXT_MAX)
        return assay_fail(err, ASSAY_EUSAGE,
                          "target of %zu bytes is longer than %d", strlen(text),
                          TEXT_MAX);
    t->text = assay_arena_str(t->arena, text, strlen(text));
    copy = assay_arena_str(t->arena, text, strlen(text));
    if (t->text == NULL || copy == NULL)
        return no_memory(err);
    if (strncmp(copy, "unix:", 5) == 0) {
        if (copy[5] == '\0')
            return assay_fail(err, ASSAY_EUSAGE,
                              "target '%s': path expected behind 'unix:'",
                              text);
        t->kind = ASSAY_TARGET_UNIX;
        t->path = copy + 5;
        return 0;
    }
    if (strncmp(copy, "exec:", 5) == 0)
        return parse_exec(t, copy + 5, err);
    if (strncmp(copy, "ssh:", 4) == 0)
        return parse_ssh(t, copy + 4, err);
    if (strncmp(copy, "tls:", 4) == 0)
        return parse_tcp(t, copy + 4, true, err);
    return parse_tcp(t, copy, false, err);
}

int assay_target_parse(struct assay_target *out, const char *text,
                       struct assay_err *err)
{
    struct assay_target t = {.arena = assay_arena_new()};
    int rc;

    if (t.arena == NULL)
        return no_memory(err);
    rc = parse_any(&t, text, err);
    if (rc < 0) {
        assay_arena_free(t.arena);
        return rc;
    }
    *out = t;
    return 0;
}

void assay_target_close(struct assay_target *t)
{
    if (t == NULL)
        return;
    assay_arena_free(t->arena);
    memset(t, 0, sizeof(*t));
}

bool assay_target_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (strcasecmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return false;
}
