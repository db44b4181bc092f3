/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/ssh.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net/target.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for a command of ssh");
}

static bool is_made_of(const char *s, size_t n, const char *marks)
{
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) &&
            (s[i] == '\0' || strchr(marks, s[i]) == NULL))
            return false;
    }
    return true;
}

/* ---- words of the remote shell -------------------------------------------- */

/* Bytes of "~" or "~USER" in front, which quotes would hide. */
static size_t home_prefix(const char *word)
{
    size_t n = word[0] == '~' ? strcspn(word, "/") : 0;

    return n > 0 && is_made_of(word + 1, n - 1, "._-") ? n : 0;
}

static int append(struct assay_buf *out, const char *s, size_t n,
                  struct assay_err *err)
{
    return assay_buf_append(out, s, n) < 0 ? no_memory(err) : 0;
}

int assay_shell_word(struct assay_buf *out, const char *word,
                     struct assay_err *err)
{
    size_t home = home_prefix(word);
    int rc;

    for (const char *p = word; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '\\')
            return assay_fail(err, ASSAY_EUSAGE,
                              "path '%.100s' for the board has a %s in it",
                              *p == '\\' ? word : "?",
                              *p == '\\' ? "backslash" : "control byte");
    }
    rc = append(out, word, home, err);
    word += home;
    if (home + strlen(word) > 0 && is_made_of(word, strlen(word), "._/+@:-,="))
        return rc == 0 ? append(out, word, strlen(word), err) : rc;
    if (rc == 0 && home > 0 && *word == '/') { /* the slash ends the name */
        rc = append(out, "/", 1, err);
        word++;
    }
    if (rc == 0)
        rc = append(out, "'", 1, err);
    for (; rc == 0 && *word != '\0'; word++)
        rc = *word == '\'' ? append(out, "'\\''", 4, err)
                           : append(out, word, 1, err);
    return rc == 0 ? append(out, "'", 1, err) : rc;
}

/* ---- [USER@]HOST[:PATH] ---------------------------------------------------- */

/* Bytes of [USER@]HOST in front: to a ':' that is not within brackets. */
static int host_length(size_t *n, const char *rest, const char *text,
                       struct assay_err *err)
{
    size_t k = strcspn(rest, ":[");

    if (rest[k] == '[' && (k == 0 || rest[k - 1] == '@')) { /* [::1] */
        k += strcspn(rest + k, "]");
        if (rest[k] == '\0')
            return assay_fail(err, ASSAY_EUSAGE, "target '%s': ']' expected",
                              text);
        k++;
        if (rest[k] != '\0' && rest[k] != ':')
            return assay_fail(err, ASSAY_EUSAGE,
                              "target '%s': ':PATH' expected behind ']'", text);
    } else {
        k += strcspn(rest + k, ":");
    }
    *n = k;
    return 0;
}

static int check_host(const char *host, const char *text, struct assay_err *err)
{
    const char *at = strrchr(host, '@');
    const char *name = at != NULL ? at + 1 : host;

    if (name[0] == '\0' || at == host)
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': USER@HOST expected behind 'ssh:'",
                          text);
    if (host[0] == '-' || name[0] == '-')
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': a host that begins with '-' would be "
                          "an option of ssh",
                          text);
    if (!is_made_of(host, strlen(host), "._-+@:%"))
        return assay_fail(err, ASSAY_EUSAGE,
                          "target '%s': '%s' is no name of a user and a host",
                          text, host);
    return 0;
}

int assay_ssh_parse(struct assay_ssh *out, struct assay_arena *arena,
                    const char *rest, const char *text, struct assay_err *err)
{
    struct assay_ssh s = {NULL, NULL};
    struct assay_buf word;
    char *host, *open;
    size_t n = 0;
    int rc = host_length(&n, rest, text, err);

    if (rc < 0)
        return rc;
    host = assay_arena_str(arena, rest, n);
    if (host == NULL)
        return no_memory(err);
    open = strchr(host, '[');
    if (open != NULL && (open == host || open[-1] == '@')) {
        /* ssh wants an address without brackets. */
        host[n - 1] = '\0';
        memmove(open, open + 1, strlen(open));
    }
    rc = check_host(host, text, err);
    if (rc < 0)
        return rc;
    s.host = host;
    if (rest[n] == ':') {
        s.path = assay_arena_str(arena, rest + n + 1, strlen(rest + n + 1));
        if (s.path == NULL)
            return no_memory(err);
        if (s.path[0] == '\0' || s.path[0] == '-')
            return assay_fail(err, ASSAY_EUSAGE,
                              "target '%s': a path that does not begin with "
                              "'-' expected behind ':'",
                              text);
        assay_buf_init(&word); /* only to see that it can be quoted */
        rc = assay_shell_word(&word, s.path, err);
        assay_buf_close(&word);
        if (rc < 0)
            return rc;
    }
    *out = s;
    return 0;
}

/* ---- the command ---------------------------------------------------------- */

int assay_ssh_argv(char ***argv, struct assay_arena *arena, const char *command,
                   const char *host, const char *remote, struct assay_err *err)
{
    const char *own = getenv("ASSAY_SSH");
    char **words, **all;
    size_t n = 0;
    int rc = assay_split_words(
        arena, own != NULL && own[0] != '\0' ? own : command, &words, err);

    if (rc < 0)
        return assay_err_prefix(err, "ASSAY_SSH");
    while (words[n] != NULL)
        n++;
    if (n == 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "ASSAY_SSH: a command expected, blanks found");
    all = assay_arena_array(arena, n + 4, sizeof(*all));
    if (all == NULL)
        return no_memory(err);
    memcpy(all, words, n * sizeof(*all));
    all[n] = assay_arena_str(arena, "-T", 2);
    all[n + 1] = assay_arena_str(arena, host, strlen(host));
    all[n + 2] = assay_arena_str(arena, remote, strlen(remote));
    if (all[n] == NULL || all[n + 1] == NULL || all[n + 2] == NULL)
        return no_memory(err);
    *argv = all;
    return 0;
}
