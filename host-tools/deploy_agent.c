/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/deploy_agent.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/messages.h"
#include "host-tools/model/file.h"
#include "lib/core/buf.h"
#include "lib/core/hash.h"
#include "proto/version.h"

#define AGENT_MAX (64u << 20)
#define MARK "@(#)assayd "

static int refuse(struct assay_err *err, const char *path, const char *expected,
                  const char *found)
{
    return assay_fail_message(err, ASSAY_EFORMAT, ASSAY_MSG_DEPLOY_NO_AGENT,
                              "path", path, "expected", expected, "found",
                              found, NULL);
}

/* ---- what kind of program ------------------------------------------------- */

static int check_segments(const uint8_t *data, size_t bytes,
                          const Elf64_Ehdr *h, const char *path,
                          struct assay_err *err)
{
    size_t table = 0, end = 0;
    bool loads = false;

    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0 ||
        h->e_phoff > bytes ||
        !assay_mul_size(h->e_phnum, sizeof(Elf64_Phdr), &table) ||
        !assay_add_size((size_t)h->e_phoff, table, &end) || end > bytes)
        return refuse(err, path, "a program with its segments",
                      "a file that is cut");
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;

        memcpy(&p, data + h->e_phoff + i * sizeof(p), sizeof(p));
        if (p.p_type == PT_INTERP)
            return refuse(err, path, "a static program",
                          "one that needs libraries of the board");
        if (p.p_type != PT_LOAD)
            continue;
        loads = true;
        if (p.p_offset > bytes || p.p_filesz > bytes - p.p_offset)
            return refuse(err, path, "a program with its segments",
                          "a file that is cut");
    }
    return loads ? 0
                 : refuse(err, path, "a program", "an ELF file without one");
}

static int check_elf(const uint8_t *data, size_t bytes, const char *path,
                     struct assay_err *err)
{
    char found[64];
    Elf64_Ehdr h;

    if (bytes < sizeof(h) || memcmp(data, ELFMAG, SELFMAG) != 0)
        return refuse(err, path, "an ELF program", "another kind of file");
    memcpy(&h, data, sizeof(h));
    snprintf(found, sizeof(found), "class %u, data %u, machine %u",
             data[EI_CLASS], data[EI_DATA], h.e_machine);
    if (data[EI_CLASS] != ELFCLASS64 || data[EI_DATA] != ELFDATA2LSB ||
        h.e_machine != EM_AARCH64)
        return refuse(err, path, "a program for aarch64 (machine 183)",
                      h.e_machine == EM_X86_64 ? "one for x86-64" : found);
    if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
        return refuse(err, path, "a program", "an object or a core file");
    return check_segments(data, bytes, &h, path, err);
}

/* ---- which version -------------------------------------------------------- */

static int find_version(const uint8_t *data, size_t bytes, const char *path,
                        char version[64], struct assay_err *err)
{
    const uint8_t *p = data, *end = data + bytes;
    struct assay_build_version v;
    char text[64];

    while ((p = memmem(p, (size_t)(end - p), MARK, sizeof(MARK) - 1)) != NULL) {
        size_t n;

        p += sizeof(MARK) - 1;
        n = strnlen((const char *)p, (size_t)(end - p));
        if (n >= sizeof(text) || p + n == end)
            continue;
        memcpy(text, p, n + 1);
        if (assay_build_parse(&v, text) < 0)
            continue;
        memcpy(version, text, n + 1);
        return 0;
    }
    return refuse(err, path, "an assayd that says its version",
                  "another program, or a build that is too old");
}

int assay_agent_file_check(const uint8_t *data, size_t bytes, const char *path,
                           char version[64], struct assay_err *err)
{
    int rc = check_elf(data, bytes, path, err);

    return rc == 0 ? find_version(data, bytes, path, version, err) : rc;
}

/* ---- where ---------------------------------------------------------------- */

/* The folder of this program, into out. */
static bool own_folder(char *out, size_t cap)
{
    ssize_t n = readlink("/proc/self/exe", out, cap - 1);
    char *slash;

    if (n <= 0 || (size_t)n >= cap - 1)
        return false;
    out[n] = '\0';
    slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static int find(char **path, struct assay_err *err)
{
    static const char *const places[] = {
        "../aarch64/assayd",
        "aarch64/assayd",
        "../libexec/assay/aarch64/assayd",
    };
    char folder[4096];

    if (!own_folder(folder, sizeof(folder)))
        snprintf(folder, sizeof(folder), ".");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char *joined = assay_file_join(folder, places[i]);

        if (joined == NULL)
            return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                                      NULL);
        if (assay_file_is_regular(joined)) {
            *path = joined;
            return 0;
        }
        assay_free(joined);
    }
    return assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_DEPLOY_WHERE, "folder",
                              folder, NULL);
}

int assay_agent_file_open(struct assay_agent_file *out, const char *path,
                          struct assay_err *err)
{
    struct assay_agent_file f = {0};
    uint8_t digest[ASSAY_SHA256_LEN];
    int rc = 0;

    if (path == NULL)
        rc = find(&f.path, err);
    else if ((f.path = assay_file_join("", path)) == NULL)
        rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (rc == 0) {
        rc = assay_file_read(&f.data, &f.bytes, f.path, AGENT_MAX, err);
        if (rc < 0)
            assay_err_prefix(err, "agent");
    }
    if (rc == 0)
        rc = assay_agent_file_check(f.data, f.bytes, f.path, f.version, err);
    if (rc < 0) {
        assay_agent_file_close(&f);
        return rc;
    }
    assay_sha256(f.data, f.bytes, digest);
    assay_hex(digest, sizeof(digest), f.sha256);
    *out = f;
    return 0;
}

void assay_agent_file_close(struct assay_agent_file *f)
{
    assay_free(f->path);
    assay_free(f->data);
    f->path = NULL;
    f->data = NULL;
}
