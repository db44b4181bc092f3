/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/session_cache.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host-tools/private_write.h"
#include "host-tools/user_dir.h"
#include "lib/core/hash.h"
#include "lib/net/conn_tls.h"
#include "lib/net/private_file.h"

/* Magic, the time it was got (seconds, little endian), SHA-256 of the time
 * and the session, the session. The hash is against damage: a session with a
 * wrong secret would be resumed and break the handshake. */
#define MAGIC "assay-session-1\n"
#define MAGIC_BYTES 16
#define TIME_BYTES 8
#define HEAD_BYTES (MAGIC_BYTES + ASSAY_SHA256_LEN + TIME_BYTES)

void assay_session_cache_init(struct assay_session_cache *c, const char *board,
                              const char *fingerprint)
{
    uint8_t digest[ASSAY_SHA256_LEN];
    char key[512], name[sizeof("sessions/") + 2 * ASSAY_SHA256_LEN];
    int n = snprintf(key, sizeof(key), "%s\n%s", board, fingerprint);

    *c = (struct assay_session_cache){.path = ""};
    if (n < 0 || (size_t)n >= sizeof(key))
        return;
    assay_sha256(key, (size_t)n, digest);
    memcpy(name, "sessions/", 9);
    assay_hex(digest, sizeof(digest), name + 9);
    if (assay_user_cache(c->path, name, NULL) < 0)
        c->path[0] = '\0';
}

/* Of a whole file; the session is what is behind its head. */
static bool is_good(const uint8_t *data, size_t n)
{
    uint8_t digest[ASSAY_SHA256_LEN];
    const uint8_t *when = data + MAGIC_BYTES + ASSAY_SHA256_LEN;
    int64_t now = (int64_t)time(NULL), got = 0;

    if (n <= HEAD_BYTES || memcmp(data, MAGIC, MAGIC_BYTES) != 0)
        return false;
    assay_sha256(when, n - MAGIC_BYTES - ASSAY_SHA256_LEN, digest);
    if (memcmp(digest, data + MAGIC_BYTES, sizeof(digest)) != 0)
        return false;
    for (int i = TIME_BYTES - 1; i >= 0; i--)
        got = (int64_t)((uint64_t)got << 8 | when[i]);
    return got <= now && got >= now - ASSAY_SESSION_LIFETIME_S;
}

size_t assay_session_cache_get(void *self, uint8_t *out, size_t cap)
{
    struct assay_session_cache *c = self;
    struct assay_buf file;
    size_t n = 0;

    c->offered = false;
    if (c->path[0] == '\0')
        return 0;
    assay_buf_init(&file);
    if (assay_private_read(&file, c->path, "session", ASSAY_MODE_SECRET,
                           HEAD_BYTES + ASSAY_TLS_SESSION_MAX, NULL) == 0 &&
        is_good(file.data, file.len) && file.len - HEAD_BYTES <= cap) {
        n = file.len - HEAD_BYTES;
        memcpy(out, file.data + HEAD_BYTES, n);
    }
    if (file.data != NULL)
        explicit_bzero(file.data, file.cap);
    assay_buf_close(&file);
    c->offered = n > 0;
    return n;
}

void assay_session_cache_put(void *self, const uint8_t *blob, size_t n)
{
    struct assay_session_cache *c = self;
    uint8_t file[HEAD_BYTES + ASSAY_TLS_SESSION_MAX];
    uint8_t *when = file + MAGIC_BYTES + ASSAY_SHA256_LEN;
    uint64_t now = (uint64_t)time(NULL);
    char *slash = strrchr(c->path, '/');
    int rc;

    if (slash == NULL || n == 0 || n > ASSAY_TLS_SESSION_MAX)
        return;
    memcpy(file, MAGIC, MAGIC_BYTES);
    for (int i = 0; i < TIME_BYTES; i++)
        when[i] = (uint8_t)(now >> (8 * i));
    memcpy(file + HEAD_BYTES, blob, n);
    assay_sha256(when, TIME_BYTES + n, file + MAGIC_BYTES);
    *slash = '\0';
    rc = assay_user_make_folder(c->path, NULL);
    *slash = '/';
    if (rc == 0)
        (void)!assay_private_replace(c->path, "session", 0600, false, file,
                                     HEAD_BYTES + n, NULL);
    explicit_bzero(file, sizeof(file));
}

void assay_session_cache_forget(struct assay_session_cache *c)
{
    if (c->path[0] != '\0')
        unlink(c->path);
    c->offered = false;
}
