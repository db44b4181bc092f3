/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/user_dir.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

int assay_user_join(char out[PATH_MAX], const char *folder, const char *file,
                    struct assay_err *err)
{
    int n = snprintf(out, PATH_MAX, "%s%s%s", folder,
                     file[0] != '\0' ? "/" : "", file);

    if (n < 0 || n >= PATH_MAX)
        return assay_fail(err, ASSAY_EIO, "path '%.100s...' is too long",
                          folder);
    return 0;
}

/* The base directories say: a relative path is to be ignored. */
static const char *absolute(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && value[0] == '/' ? value : NULL;
}

static int find(char out[PATH_MAX], const char *variable, const char *below,
                const char *file, struct assay_err *err)
{
    const char *base = absolute(variable), *home;
    char folder[PATH_MAX];
    const struct passwd *pw;
    int n;

    if (base != NULL) {
        n = snprintf(folder, sizeof(folder), "%s/assay", base);
    } else {
        home = absolute("HOME");
        if (home == NULL && (pw = getpwuid(getuid())) != NULL)
            home = pw->pw_dir;
        if (home == NULL)
            return assay_fail(err, ASSAY_EUSAGE,
                              "no folder for keys: neither %s nor HOME is an "
                              "absolute path",
                              variable);
        n = snprintf(folder, sizeof(folder), "%s/%s/assay", home, below);
    }
    if (n < 0 || n >= PATH_MAX)
        return assay_fail(err, ASSAY_EIO, "path '%.100s...' is too long",
                          folder);
    return assay_user_join(out, folder, file, err);
}

int assay_user_config(char out[PATH_MAX], const char *file,
                      struct assay_err *err)
{
    return find(out, "XDG_CONFIG_HOME", ".config", file, err);
}

int assay_user_cache(char out[PATH_MAX], const char *file,
                     struct assay_err *err)
{
    return find(out, "XDG_CACHE_HOME", ".cache", file, err);
}

int assay_user_make_folder(const char *path, struct assay_err *err)
{
    char part[PATH_MAX];
    struct stat st;
    size_t n = strlen(path);

    if (n == 0 || n >= sizeof(part))
        return assay_fail(err, ASSAY_EIO, "folder '%.100s' cannot be made",
                          path);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        char keep = part[i];

        if (keep != '/' && keep != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return assay_fail(err, ASSAY_EIO, "folder '%s': %s", part,
                              strerror(errno));
        part[i] = keep;
    }
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return assay_fail(err, ASSAY_EIO, "'%s' is not a folder", path);
    return 0;
}
