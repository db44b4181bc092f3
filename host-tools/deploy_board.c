/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/deploy_board.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/embed.h"
#include "lib/net/ssh.h"
#include "proto/version.h"

ASSAY_EMBED(assay_board_scripts, "host-tools/deploy_board.sh");

/* Sections of that file. */
static const char *const names[] = {
    [ASSAY_SCRIPT_ASK] = "ask",
    [ASSAY_SCRIPT_PUT] = "put",
    [ASSAY_SCRIPT_TRY] = "try",
    [ASSAY_SCRIPT_PLACE] = "place",
    [ASSAY_SCRIPT_REMOVE] = "remove",
    [ASSAY_SCRIPT_SERVICE] = "service",
    [ASSAY_SCRIPT_FILE] = "file",
    [ASSAY_SCRIPT_LIST] = "list",
    [ASSAY_SCRIPT_START] = "start",
    [ASSAY_SCRIPT_STOP] = "stop",
    [ASSAY_SCRIPT_TAKE_AWAY] = "take-away",
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "out of memory");
}

static int append(struct assay_buf *out, const char *text,
                  struct assay_err *err)
{
    return assay_buf_append(out, text, strlen(text)) < 0 ? no_memory(err) : 0;
}

/* The lines of "#= NAME ...", joined by blanks, without comments. */
static int append_section(struct assay_buf *out, const char *name,
                          struct assay_err *err)
{
    const char *p = assay_board_scripts;
    size_t n = strlen(name);
    bool inside = false;
    int rc = 0;

    while (*p != '\0' && rc == 0) {
        size_t blanks = strspn(p, " "), len = strcspn(p, "\n");

        if (strncmp(p, "#= ", 3) == 0)
            inside = strncmp(p + 3, name, n) == 0 &&
                     (p[3 + n] == ' ' || p[3 + n] == '\n');
        else if (inside && p[blanks] != '#' && len > blanks) {
            if (assay_buf_append(out, p + blanks, len - blanks) < 0)
                rc = no_memory(err);
            else
                rc = append(out, " ", err);
        }
        p += len + (p[len] == '\n');
    }
    return rc;
}

int assay_board_command(struct assay_buf *out, enum assay_board_script script,
                        const char *const *words, size_t n,
                        struct assay_err *err)
{
    int rc = append(out, "sh -c '", err);

    if (rc == 0)
        rc = append_section(out, "begin", err);
    if (rc == 0)
        rc = append_section(out, names[script], err);
    if (rc == 0)
        rc = append(out, "' assay", err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = append(out, " ", err);
        if (rc == 0)
            rc = assay_shell_word(out, words[i], err);
    }
    if (rc == 0 && assay_buf_append(out, "", 1) < 0)
        rc = no_memory(err);
    return rc;
}

/* ---- answers -------------------------------------------------------------- */

bool assay_board_answer(const struct assay_buf *output, const char *key,
                        char *out, size_t cap)
{
    return assay_board_answer_at(output, key, 0, out, cap);
}

bool assay_board_answer_at(const struct assay_buf *output, const char *key,
                           unsigned at, char *out, size_t cap)
{
    const char *p = (const char *)output->data, *end;
    char head[64];
    size_t n;

    if (p == NULL)
        return false;
    end = p + output->len;
    n = (size_t)snprintf(head, sizeof(head), "assay: %s", key);
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const char *line_end;
        size_t k = 0;

        if (stop == NULL) /* a line that was cut is none */
            return false;
        line_end = stop > p && stop[-1] == '\r' ? stop - 1 : stop;
        if ((size_t)(line_end - p) >= n && memcmp(p, head, n) == 0 &&
            (p + n == line_end || p[n] == ' ') && at-- == 0) {
            for (p += n; p < line_end && *p == ' '; p++) {
            }
            for (; p < line_end && k + 1 < cap; p++)
                out[k++] = *p >= 0x20 && *p < 0x7f ? *p : '?';
            while (k > 0 && out[k - 1] == ' ')
                k--;
            out[k] = '\0';
            return true;
        }
        p = stop + 1;
    }
    return false;
}

static bool says_yes(const struct assay_buf *output, const char *key)
{
    char text[8];

    return assay_board_answer(output, key, text, sizeof(text)) &&
           strcmp(text, "yes") == 0;
}

/* "DEVICE BLOCKS USED FREE 5% MOUNT": the field in front of the percentage. */
static void read_free(struct assay_board_facts *f, const char *line)
{
    const char *percent = strchr(line, '%'), *p = percent;
    char *end = NULL;
    unsigned long long kib;

    while (p != NULL && p > line && p[-1] != ' ')
        p--;
    if (p == NULL || !isdigit((unsigned char)*p))
        return;
    while (p > line && p[-1] == ' ')
        p--;
    while (p > line && isdigit((unsigned char)p[-1]))
        p--;
    if (!isdigit((unsigned char)*p) || p == line || p[-1] != ' ')
        return;
    kib = strtoull(p, &end, 10);
    if (*end != ' ' || kib > UINT64_MAX / 1024)
        return;
    f->knows_free = true;
    f->free_bytes = kib * 1024;
}

bool assay_board_facts_read(struct assay_board_facts *out,
                            const struct assay_buf *output)
{
    struct assay_board_facts f = {0};
    char text[512];

    if (!assay_board_answer(output, "done", text, sizeof(text)))
        return false;
    assay_board_answer(output, "machine", f.machine, sizeof(f.machine));
    assay_board_answer(output, "system", f.system, sizeof(f.system));
    assay_board_answer(output, "old", f.old, sizeof(f.old));
    assay_board_answer(output, "on-path", f.on_path, sizeof(f.on_path));
    assay_board_answer(output, "daemons", f.daemons, sizeof(f.daemons));
    f.folder = says_yes(output, "folder");
    f.writable = says_yes(output, "writable");
    f.is_folder = says_yes(output, "is-folder");
    f.is_link = says_yes(output, "link");
    f.is_file = says_yes(output, "file");
    f.has_sha256sum = says_yes(output, "sha256sum");
    f.is_listed = says_yes(output, "listed");
    if (assay_board_answer(output, "free", text, sizeof(text)))
        read_free(&f, text);
    *out = f;
    return true;
}

const char *assay_board_version(const char *said)
{
    struct assay_build_version v;

    if (strncmp(said, "assayd ", 7) != 0 || assay_build_parse(&v, said + 7) < 0)
        return NULL;
    return said + 7;
}
