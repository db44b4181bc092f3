/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/chain_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "host-tools/model/file.h"
#include "lib/core/hash.h"

#define MAX_FILE ((size_t)64 << 30)
#define MAX_ENTRIES 4096u

struct hashing {
    struct assay_chain_item *item;
    struct assay_buf digests; /* 32 bytes a file */
    time_t latest;
    struct assay_err *err;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s",
                      assay_status_sentence(ASSAY_EMEMORY));
}

static int hash_file(struct hashing *h, const char *path)
{
    struct assay_file_map m;
    struct stat st;
    uint8_t digest[ASSAY_SHA256_LEN];
    int rc = assay_file_map(&m, path, MAX_FILE, h->err);

    if (rc < 0)
        return rc;
    assay_sha256_passing(m.data, m.size, assay_file_drop, &m, digest);
    h->item->size += m.size;
    assay_file_unmap(&m);
    h->item->files++;
    if (stat(path, &st) == 0 && st.st_mtime > h->latest)
        h->latest = st.st_mtime;
    return assay_buf_append(&h->digests, digest, sizeof(digest)) < 0
               ? no_memory(h->err)
               : 0;
}

static int no_dots(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Files only; what is deeper is no result of a sample. */
static int hash_folder(struct hashing *h, const char *path)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, no_dots, alphasort), rc = 0;

    if (n < 0)
        return assay_fail(h->err, ASSAY_EIO, "%s: %s", path, strerror(errno));

    for (int i = 0; i < n; i++) {
        char *file = assay_file_join(path, names[i]->d_name);

        if (file == NULL)
            rc = no_memory(h->err);
        else if (rc == 0 && assay_file_is_regular(file))
            rc = hash_file(h, file);
        assay_free(file);
        free(names[i]);
    }
    free(names);
    return rc;
}

static void finish(struct hashing *h)
{
    uint8_t digest[ASSAY_SHA256_LEN];
    struct tm tm;

    if (h->item->files == 0)
        return;
    h->item->here = true;
    if (h->item->files == 1)
        memcpy(digest, h->digests.data, sizeof(digest));
    else
        assay_sha256(h->digests.data, h->digests.len, digest);
    assay_hex(digest, sizeof(digest), h->item->sha256);
    if (h->latest == 0 || gmtime_r(&h->latest, &tm) == NULL ||
        strftime(h->item->modified, sizeof(h->item->modified),
                 "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        h->item->modified[0] = '\0';
}

int assay_chain_hash(struct assay_chain_item *item, struct assay_arena *arena,
                     const char *const *paths, size_t n, struct assay_err *err)
{
    struct hashing h = {.item = item, .err = err};
    const char *last = NULL;
    int rc = 0;

    memset(item, 0, sizeof(*item));
    item->file = "";
    assay_buf_init(&h.digests);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (paths[i] == NULL || (last != NULL && strcmp(last, paths[i]) == 0))
            continue;
        if (last == NULL)
            item->file = assay_arena_str(arena, paths[i], strlen(paths[i]));
        last = paths[i];
        if (item->file == NULL)
            rc = no_memory(err);
        else if (assay_file_is_folder(paths[i]))
            rc = hash_folder(&h, paths[i]);
        else if (assay_file_is_regular(paths[i]))
            rc = hash_file(&h, paths[i]);
    }
    if (rc == 0)
        finish(&h);
    assay_buf_close(&h.digests);
    return rc;
}

static bool ends_with(const char *name, const char *const *ends)
{
    size_t n = strlen(name);

    for (size_t i = 0; ends[i] != NULL; i++) {
        size_t k = strlen(ends[i]);

        if (n >= k && strcmp(name + n - k, ends[i]) == 0)
            return true;
    }
    return false;
}

char *assay_chain_find(const char *folder, const char *const *ends,
                       const char *prefix, uint32_t *several)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    char *found = NULL, *named = NULL;
    uint32_t entries = 0, names = 0;

    *several = 0;
    while (d != NULL && (e = readdir(d)) != NULL && entries++ < MAX_ENTRIES) {
        char *path;

        if (!ends_with(e->d_name, ends))
            continue;
        path = assay_file_join(folder, e->d_name);
        if (path == NULL || !assay_file_is_regular(path)) {
            assay_free(path);
            continue;
        }
        (*several)++;
        if (prefix[0] != '\0' &&
            strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
            e->d_name[strlen(prefix)] == '.') {
            names++;
            assay_free(named);
            named = path;
        } else {
            assay_free(found);
            found = path;
        }
    }
    if (d != NULL)
        closedir(d);
    if (names == 1) {
        assay_free(found);
        *several = 1;
        return named;
    }
    if (*several == 1 && names == 0)
        return found;
    assay_free(found);
    assay_free(named);
    return NULL;
}
