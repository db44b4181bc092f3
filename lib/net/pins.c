/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/pins.h"

#include <errno.h>
#include <string.h>

#include "lib/net/private_file.h"

#define SHOWN 60 /* characters of a line that an error repeats */

struct parser {
    struct assay_pins *out;
    size_t cap;
    enum assay_pins_kind kind;
    const char *path;
    size_t line;
    struct assay_err *err;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for pins");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

const char *assay_pins_bad_name(const char *name)
{
    size_t n = strlen(name);

    if (n == 0)
        return "is empty";
    if (n > ASSAY_PIN_NAME_MAX)
        return "is longer than 200 characters";
    if (name[0] == '#')
        return "begins with '#', which is a comment";
    if (strncmp(name, "SHA256:", 7) == 0)
        return "is a fingerprint";
    for (size_t i = 0; i < n; i++) {
        if (name[i] <= ' ' || name[i] > '~')
            return "holds something else than printable ASCII without blanks";
    }
    return NULL;
}

static int line_error(const struct parser *p, const char *text)
{
    return assay_fail(p->err, ASSAY_EFORMAT, "'%s', line %zu: %s", p->path,
                      p->line, text);
}

/* ---- one line ------------------------------------------------------------- */

static int check_name(const struct parser *p, const char *name)
{
    const char *why = assay_pins_bad_name(name);

    if (why == NULL)
        return 0;
    return assay_fail(p->err, ASSAY_EFORMAT, "'%s', line %zu: the name %s",
                      p->path, p->line, why);
}

static int check_fingerprint(const struct parser *p, const char *text)
{
    if (assay_is_fingerprint(text))
        return 0;
    if (strncmp(text, "SHA256:", 7) != 0)
        return assay_fail(p->err, ASSAY_EFORMAT,
                          "'%s', line %zu: fingerprint '%.*s' does not begin "
                          "with 'SHA256:'",
                          p->path, p->line, SHOWN, text);
    if (strlen(text) != ASSAY_FINGERPRINT_TEXT - 1)
        return assay_fail(p->err, ASSAY_EFORMAT,
                          "'%s', line %zu: fingerprint '%.*s' has %zu "
                          "characters behind 'SHA256:', expected 43",
                          p->path, p->line, SHOWN, text, strlen(text) - 7);
    return assay_fail(p->err, ASSAY_EFORMAT,
                      "'%s', line %zu: fingerprint '%s' is not base64 of 32 "
                      "bytes",
                      p->path, p->line, text);
}

static int check_new(const struct parser *p, const char *name,
                     const char *fingerprint)
{
    const char *other = assay_pins_find_name(p->out, name);

    if (other != NULL)
        return assay_fail(p->err, ASSAY_EFORMAT,
                          "'%s', line %zu: name '%s' stands in an earlier line",
                          p->path, p->line, name);
    other = assay_pins_find(p->out, fingerprint);
    if (other != NULL && p->kind == ASSAY_PINS_CLIENTS)
        return assay_fail(p->err, ASSAY_EFORMAT,
                          "'%s', line %zu: this fingerprint is that of '%s' in "
                          "an earlier line",
                          p->path, p->line, other);
    return 0;
}

/* Cuts a word out of *at; "" when there is none. */
static char *next_word(char **at)
{
    char *word = *at, *end;

    while (is_blank(*word))
        word++;
    for (end = word; *end != '\0' && !is_blank(*end); end++) {
    }
    *at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

static int add_pin(struct parser *p, const char *name, const char *fingerprint)
{
    struct assay_pins *out = p->out;

    if (out->count == p->cap) {
        size_t cap = p->cap == 0 ? 16 : p->cap * 2;
        struct assay_pin *larger =
            assay_arena_array(out->arena, cap, sizeof(*larger));

        if (larger == NULL)
            return no_memory(p->err);
        if (out->count > 0)
            memcpy(larger, out->pins, out->count * sizeof(*larger));
        out->pins = larger;
        p->cap = cap;
    }
    out->pins[out->count].name = name;
    memcpy(out->pins[out->count].fingerprint, fingerprint,
           ASSAY_FINGERPRINT_TEXT);
    out->count++;
    return 0;
}

/* `line` is the parser's own copy, without its end. */
static int take_line(struct parser *p, char *line)
{
    char *name = next_word(&line), *fingerprint;
    int rc;

    if (name[0] == '\0' || name[0] == '#')
        return 0;
    fingerprint = next_word(&line);
    if (fingerprint[0] == '\0')
        return line_error(p, "NAME SHA256:FINGERPRINT expected, found one "
                             "word");
    if (next_word(&line)[0] != '\0')
        return line_error(p, "NAME SHA256:FINGERPRINT expected, found more "
                             "than two words");
    rc = check_name(p, name);
    if (rc == 0)
        rc = check_fingerprint(p, fingerprint);
    if (rc == 0)
        rc = check_new(p, name, fingerprint);
    if (rc == 0 && p->out->count == ASSAY_PINS_MAX)
        rc = assay_fail(p->err, ASSAY_EFORMAT,
                        "'%s', line %zu: more than %u pins", p->path, p->line,
                        ASSAY_PINS_MAX);
    return rc < 0 ? rc : add_pin(p, name, fingerprint);
}

/* ---- a file --------------------------------------------------------------- */

static int take_lines(struct parser *p, char *text, size_t n)
{
    char *end = text + n;

    while (text < end) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        char *next = stop != NULL ? stop + 1 : end;
        int rc;

        if (stop == NULL)
            stop = end; /* the arena's NUL stands there */
        p->line++;
        if (memchr(text, '\0', (size_t)(stop - text)) != NULL)
            return line_error(p, "holds a NUL byte");
        if (stop > text && stop[-1] == '\r')
            stop--;
        *stop = '\0';
        rc = take_line(p, text);
        if (rc < 0)
            return rc;
        text = next;
    }
    return 0;
}

int assay_pins_parse(struct assay_pins *out, const char *text, size_t n,
                     enum assay_pins_kind kind, const char *path,
                     struct assay_err *err)
{
    struct assay_pins pins = {.arena = assay_arena_new()};
    struct parser p = {.out = &pins, .kind = kind, .path = path, .err = err};
    char *copy;
    int rc;

    if (pins.arena == NULL)
        return no_memory(err);
    copy = assay_arena_str(pins.arena, text, n);
    if (copy == NULL)
        rc = no_memory(err);
    else if (n > ASSAY_PINS_FILE_MAX)
        rc = assay_fail(err, ASSAY_EFORMAT, "'%s' is longer than %u bytes",
                        path, ASSAY_PINS_FILE_MAX);
    else
        rc = take_lines(&p, copy, n);
    if (rc < 0)
        assay_pins_close(&pins);
    else
        *out = pins;
    return rc;
}

static int load(struct assay_pins *out, const char *path,
                enum assay_pins_kind kind, struct assay_err *err)
{
    struct assay_buf text;
    int rc;

    assay_buf_init(&text);
    rc = assay_private_read(&text, path,
                            kind == ASSAY_PINS_CLIENTS ? "list of clients"
                                                       : "list of boards",
                            ASSAY_MODE_TRUSTED, ASSAY_PINS_FILE_MAX, err);
    if (rc < 0 && kind == ASSAY_PINS_BOARDS && errno == ENOENT) {
        *out = (struct assay_pins){0};
        rc = 0;
    } else if (rc == 0) {
        rc = assay_pins_parse(out, (const char *)text.data, text.len, kind,
                              path, err);
    }
    assay_buf_close(&text);
    return rc;
}

int assay_pins_load(struct assay_pins *out, const char *path,
                    struct assay_err *err)
{
    return load(out, path, ASSAY_PINS_CLIENTS, err);
}

int assay_pins_load_boards(struct assay_pins *out, const char *path,
                           struct assay_err *err)
{
    return load(out, path, ASSAY_PINS_BOARDS, err);
}

void assay_pins_close(struct assay_pins *pins)
{
    if (pins == NULL)
        return;
    assay_arena_free(pins->arena);
    *pins = (struct assay_pins){0};
}

const char *assay_pins_find(const struct assay_pins *pins,
                            const char *fingerprint)
{
    for (size_t i = 0; i < pins->count; i++) {
        if (strcmp(pins->pins[i].fingerprint, fingerprint) == 0)
            return pins->pins[i].name;
    }
    return NULL;
}

const char *assay_pins_find_name(const struct assay_pins *pins,
                                 const char *name)
{
    for (size_t i = 0; i < pins->count; i++) {
        if (strcmp(pins->pins[i].name, name) == 0)
            return pins->pins[i].fingerprint;
    }
    return NULL;
}
