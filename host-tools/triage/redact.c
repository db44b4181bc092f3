/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct text {
    const char *from, *at, *end; /* at: what is looked at */
    struct assay_redaction *r;
};

/* What is found at a place: `len` bytes become `to`. */
struct match {
    size_t len;
    const char *to;
    enum assay_redacted kind;
    size_t keep; /* of these the last are kept behind `to` */
};

const char *assay_redacted_name(enum assay_redacted kind)
{
    static const char *const names[] = {"secret", "user", "host", "path"};

    return names[kind];
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool begins(const struct text *t, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(t->end - t->at) >= n && strncasecmp(t->at, word, n) == 0;
}

static bool at_word(const struct text *t)
{
    return t->at == t->from || !word_char(t->at[-1]);
}

/* ---- secrets ------------------------------------------------------------ */

static bool value_char(char c)
{
    return !isspace((unsigned char)c) && c != '"' && c != '\'' && c != ',' &&
           c != '&' && c != ';' && c != '}' && c != ')';
}

static bool quote_char(char c)
{
    return c == '"' || c == '\'';
}

/* Where a value stops that is in quotes: behind them. Text within text has
 * its quotes escaped, and the inner value ends at the next such quote. */
static size_t quoted_length(const char *p, const char *end)
{
    bool escaped = *p == '\\';
    const char *s = p + escaped;
    char quote = *s++;

    while (s < end && *s != quote && *s != '\n')
        s += 1 + (!escaped && *s == '\\' && s + 1 < end && s[1] != '\n');
    return (size_t)(s - p) + (s < end && *s == quote);
}

static size_t value_length(const char *p, const char *end)
{
    const char *s = p;

    if (s < end &&
        (quote_char(*s) || (*s == '\\' && s + 1 < end && quote_char(s[1]))))
        return quoted_length(p, end);
    while (s < end && value_char(*s))
        s++;
    return (size_t)(s - p);
}

/* A header's value has blanks in it: "Basic abc", "a=b; c=d". */
static size_t header_length(const char *p, const char *end)
{
    const char *s = p;

    while (s < end && *s != '\n' && *s != '\r' && !quote_char(*s))
        s++;
    return (size_t)(s - p);
}

static bool key_named(const struct text *t, size_t *len)
{
    static const char *const keys[] = {
        "password",    "passwd",      "passphrase", "pwd",
        "secret_key",  "secretkey",   "secret",     "token",
        "api_key",     "apikey",      "api-key",    "access_key_id",
        "access_key",  "accesskeyid", "accesskey",  "access-key",
        "private_key", "privatekey",  "credential", "authorization",
        "cookie",      "auth"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        *len = strlen(keys[i]);
        if (begins(t, keys[i])) {
            *len += t->at + *len < t->end && t->at[*len] == 's';
            return true;
        }
    }
    return false;
}

/* password = "x", --token x, "secret": "x", sshpass -p x: the value. */
static bool secret_value(const struct text *t, struct match *m)
{
    const char *p = t->at;
    bool option = p - t->from >= 2 && p[-1] == '-' && p[-2] == '-', header;
    size_t len;

    header = begins(t, "authorization") || begins(t, "cookie");

    if (begins(t, "sshpass -p")) {
        p += 10;
        option = true;
    } else if (key_named(t, &len)) {
        p += len;
        if (p < t->end && word_char(*p))
            return false;
    } else {
        return false;
    }
    p += t->end - p >= 2 && *p == '\\' && quote_char(p[1]);
    p += p < t->end && quote_char(*p);
    while (p < t->end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < t->end && (*p == '=' || *p == ':'))
        p++;
    else if (!option)
        return false;
    while (p < t->end && (*p == ' ' || *p == '\t'))
        p++;
    if (t->end - p >= 7 && strncasecmp(p, "bearer ", 7) == 0)
        p += 7;
    len = header ? header_length(p, t->end) : 0;
    if (len == 0)
        len = value_length(p, t->end);
    if (len == 0)
        return false;
    m->keep = (size_t)(p - t->at); /* here: what stays in front */
    m->len = m->keep + len;
    m->to = "<secret>";
    m->kind = ASSAY_REDACTED_SECRET;
    return true;
}

/* A block of a key, and tokens that are known by how they begin. */
static bool secret_alone(const struct text *t, struct match *m)
{
    static const struct {
        const char *begin;
        size_t least;
    } tokens[] = {{"ghp_", 30},  {"gho_", 30},        {"ghs_", 30},
                  {"ghu_", 30},  {"github_pat_", 30}, {"glpat-", 20},
                  {"AKIA", 20},  {"ASIA", 20},        {"hf_", 30},
                  {"xoxb-", 20}, {"xoxp-", 20},       {"sk-", 30},
                  {"npm_", 30},  {"pypi-", 30},       {"dckr_pat_", 24},
                  {"eyJ", 40},   {"bearer ", 16}};
    const char *p = t->at, *close;

    if (begins(t, "-----BEGIN ") &&
        memmem(p, t->end - p < 64 ? (size_t)(t->end - p) : 64, "PRIVATE KEY",
               11) != NULL) {
        close = memmem(p + 11, (size_t)(t->end - p - 11), "-----END ", 9);
        close = close != NULL ? memmem(close + 9, (size_t)(t->end - close - 9),
                                       "-----", 5)
                              : NULL;
        m->len = close != NULL ? (size_t)(close + 5 - p) : (size_t)(t->end - p);
        m->to = "<secret>";
        m->kind = ASSAY_REDACTED_SECRET;
        return true;
    }
    for (size_t i = 0; at_word(t) && i < sizeof(tokens) / sizeof(tokens[0]);
         i++) {
        size_t n = strlen(tokens[i].begin);

        if ((size_t)(t->end - p) < tokens[i].least ||
            strncmp(p, tokens[i].begin, n) != 0)
            continue;
        while (p + n < t->end && (word_char(p[n]) || p[n] == '-' ||
                                  p[n] == '.' || p[n] == '/' || p[n] == '+'))
            n++;
        if (n < tokens[i].least)
            continue;
        m->len = n;
        m->to = "<secret>";
        m->kind = ASSAY_REDACTED_SECRET;
        return true;
    }
    return false;
}

/* ---- users and machines -------------------------------------------------- */

static bool host_char(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '-';
}

static size_t host_length(const char *p, const char *end)
{
    const char *s = p;

    while (s < end && host_char(*s))
        s++;
    while (s > p && (s[-1] == '.' || s[-1] == '-'))
        s--;
    return (size_t)(s - p);
}

/* [2001:db8::7] */
static size_t bracket_length(const char *p, const char *end)
{
    const char *s = p;

    if (s >= end || *s++ != '[')
        return 0;
    while (s < end && (isxdigit((unsigned char)*s) || *s == ':' || *s == '.'))
        s++;
    return s < end && *s == ']' ? (size_t)(s + 1 - p) : 0;
}

/* curl -u user:password */
static bool user_option(const struct text *t, struct match *m)
{
    const char *p = t->at + 3;

    if (!begins(t, "-u ") ||
        !(t->at == t->from || isspace((unsigned char)t->at[-1])))
        return false;
    while (p < t->end && (word_char(*p) || *p == '.' || *p == '-'))
        p++;
    if (p == t->at + 3 || t->end - p < 2 || *p != ':' || !value_char(p[1]))
        return false;
    m->len = (size_t)(p + 1 - t->at) + value_length(p + 1, t->end);
    m->to = "-u <user>:<secret>";
    m->kind = ASSAY_REDACTED_SECRET;
    return true;
}

/* user@host, user:password@host. */
static bool user_at_host(const struct text *t, struct match *m)
{
    const char *p = t->at;
    size_t host;
    bool secret = false;

    if (!at_word(t) || !word_char(*p))
        return false;
    while (p < t->end && (word_char(*p) || *p == '.' || *p == '-' || *p == '+'))
        p++;
    if (p < t->end && *p == ':') {
        const char *last = p;

        /* Up to the last '@': a password may hold one. */
        for (const char *q = p + 1;
             q < t->end && q - p < 256 && value_char(*q) && *q != '/'; q++)
            if (*q == '@' && q > p + 1)
                last = q;
        secret = last > p;
        p = last;
    }
    if (p >= t->end || *p != '@')
        return false;
    host = bracket_length(p + 1, t->end);
    if (host == 0)
        host = host_length(p + 1, t->end);
    if (host == 0 || (p[1] != '[' && !isalnum((unsigned char)p[1])))
        return false;
    m->len = (size_t)(p - t->at) + 1 + host;
    m->to = secret ? "<user>:<secret>@<host>" : "<user>@<host>";
    m->kind = secret ? ASSAY_REDACTED_SECRET : ASSAY_REDACTED_USER;
    return true;
}

/* Is it said in front that these numbers are a version? */
static bool version_before(const struct text *t)
{
    static const char *const words[] = {"version", "ver",        "hbdk",
                                        "hbrt",    "horizon_nn", "hb_mapper"};
    const char *p = t->at;
    size_t n;

    while (p > t->from && strchr(" =:\"'", p[-1]) != NULL)
        p--;
    n = (size_t)(p - t->from);
    if (n > 0 &&
        (p[-1] == 'v' || p[-1] == 'V' || p[-1] == '-' || p[-1] == '_') &&
        p == t->at)
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i]);

        if (n >= len && strncasecmp(p - len, words[i], len) == 0)
            return true;
    }
    return false;
}

static bool ipv4(const struct text *t, struct match *m)
{
    const char *p = t->at;

    if (!isdigit((unsigned char)*p) ||
        (p > t->from && (word_char(p[-1]) || p[-1] == '.')) ||
        version_before(t))
        return false;
    for (int part = 0; part < 4; part++) {
        int v = 0, digits = 0;

        while (p < t->end && isdigit((unsigned char)*p) && digits < 4) {
            v = v * 10 + (*p++ - '0');
            digits++;
        }
        if (digits == 0 || digits > 3 || v > 255)
            return false;
        if (part < 3 && (p >= t->end || *p++ != '.'))
            return false;
    }
    if (p < t->end && (word_char(*p) || (*p == '.' && p + 1 < t->end &&
                                         isdigit((unsigned char)p[1]))))
        return false;
    m->len = (size_t)(p - t->at);
    m->to = "<host>";
    m->kind = ASSAY_REDACTED_HOST;
    return true;
}

/* 00-1b-44-11-3a-b7 */
static bool dashes(const struct text *t, struct match *m)
{
    const char *p = t->at;

    if (t->end - p < 17 || !at_word(t) || (p > t->from && p[-1] == '-') ||
        (t->end - p > 17 && (word_char(p[17]) || p[17] == '-')))
        return false;
    for (int i = 0; i < 17; i++)
        if (i % 3 == 2 ? p[i] != '-' : !isxdigit((unsigned char)p[i]))
            return false;
    m->len = 17;
    m->to = "<host>";
    m->kind = ASSAY_REDACTED_HOST;
    return true;
}

/* Addresses of six or more groups, or with "::": IPv6, MAC. With few groups
 * the first one has all its digits: else it may be a name of C++. */
static bool colons(const struct text *t, struct match *m)
{
    const char *p = t->at;
    int colon = 0, hex = 0, first = 0;
    bool twice = false;

    if (!at_word(t) || (p > t->from && p[-1] == ':') ||
        !isxdigit((unsigned char)*p))
        return false;
    while (p < t->end && (isxdigit((unsigned char)*p) || *p == ':')) {
        hex = *p == ':' ? 0 : hex + 1;
        if (hex > 4)
            return false;
        first = colon == 0 ? hex > first ? hex : first : first;
        colon += *p == ':';
        twice = twice || (*p == ':' && p + 1 < t->end && p[1] == ':');
        p++;
    }
    if ((p < t->end && word_char(*p)) || p[-1] == ':' ||
        !(colon >= 5 || (twice && (colon >= 3 || first == 4))))
        return false;
    m->len = (size_t)(p - t->at);
    m->to = "<host>";
    m->kind = ASSAY_REDACTED_HOST;
    return true;
}

/* scheme://host: the host. file:// is a path. */
static bool url_host(const struct text *t, struct match *m)
{
    if (t->at - t->from < 3 || memcmp(t->at - 3, "://", 3) != 0 ||
        *t->at == '/')
        return false;
    m->len = host_length(t->at, t->end);
    m->to = "<host>";
    m->kind = ASSAY_REDACTED_HOST;
    return m->len > 0;
}

/* ---- paths --------------------------------------------------------------- */

static bool path_char(char c)
{
    return (unsigned char)c > 32 && strchr("\"'`:;,()[]{}<>|*?\\", c) == NULL;
}

/* Where paths of a machine begin. Names of layers begin with '/' as well:
 * a path is known by its first folder. */
static size_t path_root(const struct text *t)
{
    static const char *const roots[] = {
        "/home/",     "/root",  "/Users/", "/mnt/",     "/data/",
        "/opt/",      "/tmp/",  "/var/",   "/usr/",     "/etc/",
        "/workspace", "/srv/",  "/media/", "/nfs/",     "/run/",
        "/userdata/", "/app/",  "/lib/",   "/private/", "/open_explorer",
        "~/",         "$HOME/", "${HOME}/"};
    const char *p = t->at;
    bool url = p - t->from >= 3 && memcmp(p - 3, "://", 3) == 0;

    if (p > t->from && (word_char(p[-1]) || p[-1] == '.' || p[-1] == '>' ||
                        (p[-1] == '/' && *p == '/' && !url)))
        return 0;
    for (uint32_t i = 0; i < t->r->n_own; i++) {
        size_t n = strlen(t->r->own[i]);

        if (n > 1 && (size_t)(t->end - p) >= n &&
            memcmp(p, t->r->own[i], n) == 0)
            return n;
    }
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
        if ((size_t)(t->end - p) >= strlen(roots[i]) &&
            memcmp(p, roots[i], strlen(roots[i])) == 0)
            return strlen(roots[i]);
    return 0;
}

/* C:\dir, D:/dir, \\server\share; backslashes may be escaped. */
static size_t windows_root(const struct text *t)
{
    const char *p = t->at;
    size_t n = 0, host;

    if (p > t->from && (word_char(p[-1]) || p[-1] == '\\'))
        return 0;
    if (t->end - p > 3 && isalpha((unsigned char)p[0]) && p[1] == ':' &&
        (p[2] == '\\' || (p[2] == '/' && p[3] != '/')))
        return 3;
    while (p + n < t->end && p[n] == '\\')
        n++;
    host = host_length(p + n, t->end);
    return (n == 2 || n == 4) && host > 0 && p + n + host < t->end &&
                   p[n + host] == '\\'
               ? n + host
               : 0;
}

/* "Alice B/x": how far it is to a separator behind blanks, where the words
 * look like names of folders; 0: the path ends here. */
static size_t over_blanks(const struct text *t, size_t n, bool windows)
{
    const char *p = t->at + n;
    size_t k = 0;

    /* A file's name with its suffix is the end. */
    for (const char *q = p; q > t->at && q[-1] != '/' && q[-1] != '\\'; q--)
        if (q[-1] == '.')
            return 0;
    for (; k < 64 && p + k < t->end; k++) {
        bool separator = p[k] == '/' || (windows && p[k] == '\\');

        if (separator)
            return k > 0 && p[k - 1] != ' ' ? k : 0;
        if (p[k] == ' ' ? p + k + 1 < t->end && p[k + 1] == '-'
                        : !path_char(p[k]))
            return 0;
    }
    return 0;
}

static bool path(const struct text *t, struct match *m)
{
    size_t n = path_root(t), slash = 0, more;
    bool quoted = t->at > t->from && quote_char(t->at[-1]);
    bool windows = n == 0, dot;

    if (windows)
        n = windows_root(t);
    if (n == 0)
        return false;
    do {
        while (t->at + n < t->end &&
               (path_char(t->at[n]) || (windows && t->at[n] == '\\')))
            n++;
        more = windows || quoted ? over_blanks(t, n, windows) : 0;
        n += more;
    } while (more > 0);
    while (n > 0 && t->at[n - 1] == '.')
        n--;
    for (size_t i = 0; i < n; i++)
        if (t->at[i] == '/' || (windows && t->at[i] == '\\'))
            slash = i;
    dot = memchr(t->at + slash, '.', n - slash) != NULL;
    m->len = n;
    m->to = "<path>";
    m->kind = ASSAY_REDACTED_PATH;
    /* The file's name: it tells which file, and no user. */
    m->keep = dot && n - slash > 1 ? n - slash : 0;
    return true;
}

/* -------------------------------------------------------------------------- */

static bool find(const struct text *t, struct match *m)
{
    *m = (struct match){0};
    if (secret_alone(t, m) || user_at_host(t, m) || url_host(t, m) ||
        ipv4(t, m) || colons(t, m) || dashes(t, m) || user_option(t, m))
        return true;
    return path(t, m);
}

static int put(struct assay_buf *out, const char *s, size_t n,
               struct assay_err *err)
{
    return assay_buf_append(out, s, n) < 0
               ? assay_fail(err, ASSAY_EMEMORY, "no memory for a text")
               : 0;
}

int assay_redact(struct assay_buf *out, const char *text, size_t n,
                 struct assay_redaction *r, struct assay_err *err)
{
    struct text t = {.from = text, .at = text, .end = text + n, .r = r};
    struct match m;
    int rc = 0;

    while (rc == 0 && t.at < t.end) {
        bool value;

        m = (struct match){0};
        value = secret_value(&t, &m);
        if (!value && !find(&t, &m)) {
            rc = put(out, t.at++, 1, err);
            continue;
        }
        r->count[m.kind]++;
        if (value) {
            rc = put(out, t.at, m.keep, err);
            m.keep = 0;
        }
        if (rc == 0)
            rc = put(out, m.to, strlen(m.to), err);
        if (rc == 0 && m.keep > 0)
            rc = put(out, t.at + m.len - m.keep, m.keep, err);
        t.at += m.len;
    }
    return rc;
}
