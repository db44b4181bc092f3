/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/deploy_board.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net/ssh.h"
#include "proto/version.h"

/* In front of each. Nothing is globbed but where it is asked for. */
#define BEGIN \
    "set -f; say() { echo \"assay: $*\"; }; " \
    "d=${1%/*}; [ -n \"$d\" ] || d=/; "
/* --version of a program, one line, whatever it is. */
#define VERSION(program) "$(" program " --version </dev/null 2>&1 | head -n 1)"

/* The temporary file goes away with the shell, unless it is whole; a folder
 * is left with none of an earlier attempt. noclobber: never through a link. */
static const char *const scripts[] = {
    [ASSAY_SCRIPT_ASK] = BEGIN
    "say machine $(uname -m); say system $(uname -s); "
    "say user $(id -u); "
    "[ -d \"$d\" ] && say folder yes; "
    "[ -w \"$d\" ] && say writable yes; "
    "[ -d \"$1\" ] && say is-folder yes; "
    "[ -h \"$1\" ] && say link yes; "
    "[ -f \"$1\" ] && say file yes && "
    "say old " VERSION(
        "\"$1\"") "; "
                  "command -v sha256sum >/dev/null && say sha256sum yes; "
                  "[ -d /run/systemd/system ] && say systemd yes; "
                  "say free $(df -P -k \"$d\" 2>/dev/null | tail -n 1); "
                  "say daemons $(sed -n \"s/.*@assayd[.]//p\" /proc/net/unix "
                  "2>/dev/null | sort -u | head -n 4); "
                  "say on-path $(command -v assayd); "
                  "say done",
    [ASSAY_SCRIPT_PUT] = BEGIN
    "t=$2; c() { rm -f \"$t\"; }; trap c EXIT; "
    "trap \"exit 1\" HUP INT TERM PIPE; "
    "set +f; rm -f \"$d\"/.assayd-deploy.*; set -f -C; umask 077; "
    "cat >\"$t\" || { say fail write; exit 0; }; "
    "n=$(wc -c <\"$t\"); "
    "[ \"$n\" -eq \"$3\" ] || { say fail short $n; exit 0; }; "
    "chmod 755 \"$t\" || { say fail chmod; exit 0; }; "
    "command -v sha256sum >/dev/null && say sum $(sha256sum <\"$t\"); "
    "trap - EXIT; say done",
    [ASSAY_SCRIPT_TRY] = BEGIN "say version " VERSION("\"$1\"") "; say done",
    [ASSAY_SCRIPT_PLACE] = BEGIN
    "sync; mv -f \"$2\" \"$1\" || { say fail rename; exit 0; }; sync; "
    "say version " VERSION(
        "\"$1\"") "; "
                  "say on-path $(command -v assayd); say done",
    [ASSAY_SCRIPT_REMOVE] =
        BEGIN "rm -f \"$@\" || { say fail remove; exit 0; }; sync; say done",
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

int assay_board_command(struct assay_buf *out, enum assay_board_script script,
                        const char *const *words, size_t n,
                        struct assay_err *err)
{
    int rc = append(out, "sh -c '", err);

    if (rc == 0)
        rc = append(out, scripts[script], err);
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
            (p + n == line_end || p[n] == ' ')) {
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
    f.has_systemd = says_yes(output, "systemd");
    f.is_root = assay_board_answer(output, "user", text, sizeof(text)) &&
                strcmp(text, "0") == 0;
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
