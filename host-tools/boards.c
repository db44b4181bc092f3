/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/boards.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/file.h>

#include "host-tools/private_write.h"
#include "host-tools/user_dir.h"
#include "lib/net/private_file.h"

#define WHAT "list of boards"
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 50000000L

int assay_boards_load(struct assay_boards *out, struct assay_err *err)
{
    int rc = assay_user_config(out->path, "boards", err);

    out->pins = (struct assay_pins){0};
    return rc < 0 ? rc : assay_pins_load_boards(&out->pins, out->path, err);
}

void assay_boards_close(struct assay_boards *b)
{
    assay_pins_close(&b->pins);
}

int assay_board_name(char out[ASSAY_PIN_NAME_MAX + 1],
                     const struct assay_target *target, struct assay_err *err)
{
    bool v6 = strchr(target->host, ':') != NULL;
    int n = snprintf(out, ASSAY_PIN_NAME_MAX + 1, "%s%s%s:%u", v6 ? "[" : "",
                     target->host, v6 ? "]" : "", target->port);

    if (n < 0 || n > (int)ASSAY_PIN_NAME_MAX)
        return assay_fail(err, ASSAY_EUSAGE,
                          "board '%.60s...' has a longer name than %u "
                          "characters",
                          target->host, ASSAY_PIN_NAME_MAX);
    for (char *p = out; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    return 0;
}

/* Of the folder, since the file itself is replaced; 5 s at most. */
static int lock(const char *folder, int *out, struct assay_err *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return assay_fail(err, ASSAY_EIO, "folder '%s': %s", folder,
                          strerror(errno));
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
        if (errno != EWOULDBLOCK || i == LOCK_TRIES) {
            int rc = assay_fail(err, ASSAY_EIO,
                                "folder '%s' is locked by another 'assay "
                                "pair': %s",
                                folder, strerror(errno));

            close(fd);
            return rc;
        }
        nanosleep(&pause, NULL);
    }
    *out = fd;
    return 0;
}

/* Under the lock: what another process added meanwhile is kept. */
static int add_line(const char *path, const char *name, const char *fingerprint,
                    struct assay_err *err)
{
    char line[ASSAY_PIN_NAME_MAX + ASSAY_FINGERPRINT_TEXT + 4];
    struct assay_buf text;
    struct assay_pins check = {0};
    bool open_end;
    int n, rc;

    assay_buf_init(&text);
    rc = assay_private_read(&text, path, WHAT, ASSAY_MODE_TRUSTED,
                            ASSAY_PINS_FILE_MAX, err);
    if (rc < 0 && errno == ENOENT)
        rc = 0;
    open_end = text.len > 0 && text.data[text.len - 1] != '\n';
    n = snprintf(line, sizeof(line), "%s%s %s\n", open_end ? "\n" : "", name,
                 fingerprint);
    if (rc == 0 && assay_buf_append(&text, line, (size_t)n) < 0)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for '%s'", path);
    if (rc == 0) /* what we could not read back is not written */
        rc = assay_pins_parse(&check, (const char *)text.data, text.len,
                              ASSAY_PINS_BOARDS, path, err);
    if (rc == 0)
        rc = assay_private_replace(path, WHAT, 0600, true, text.data, text.len,
                                   err);
    assay_pins_close(&check);
    assay_buf_close(&text);
    return rc;
}

int assay_boards_add(const struct assay_boards *b, const char *name,
                     const char *fingerprint, struct assay_err *err)
{
    char folder[PATH_MAX];
    int fd = -1, rc = assay_user_config(folder, "", err);

    if (rc == 0)
        rc = assay_user_make_folder(folder, err);
    if (rc == 0)
        rc = lock(folder, &fd, err);
    if (rc < 0)
        return rc;
    rc = add_line(b->path, name, fingerprint, err);
    close(fd);
    return rc;
}
