/* SPDX-License-Identifier: Apache-2.0 */
/* Digests by mbedTLS (2.28 and 3.x) and xxhash. */
#include "lib/core/hash.h"

#include <string.h>

#include <mbedtls/sha256.h>
#include <mbedtls/version.h>
#include <xxhash.h>

/* 2.x has the functions that report errors under another name. */
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
#define SHA256 mbedtls_sha256
#define SHA256_STARTS mbedtls_sha256_starts
#define SHA256_UPDATE mbedtls_sha256_update
#define SHA256_FINISH mbedtls_sha256_finish
#else
#define SHA256 mbedtls_sha256_ret
#define SHA256_STARTS mbedtls_sha256_starts_ret
#define SHA256_UPDATE mbedtls_sha256_update_ret
#define SHA256_FINISH mbedtls_sha256_finish_ret
#endif

#define PASSING_BYTES ((size_t)1 << 20)

void assay_sha256(const void *data, size_t n, uint8_t out[ASSAY_SHA256_LEN])
{
    static const unsigned char nothing[1];
    /* Software SHA-256 of memory cannot fail; should a hardware driver do so
     * nevertheless, an all-zero digest fits nothing. */
    if (SHA256(n ? data : nothing, n, out, 0) != 0)
        memset(out, 0, ASSAY_SHA256_LEN);
}

void assay_sha256_passing(const void *data, size_t n,
                          void (*passed)(void *self, size_t offset), void *self,
                          uint8_t out[ASSAY_SHA256_LEN])
{
    mbedtls_sha256_context c;
    size_t at = 0;
    int rc;

    mbedtls_sha256_init(&c);
    rc = SHA256_STARTS(&c, 0);
    while (!rc && at < n) {
        size_t k = n - at < PASSING_BYTES ? n - at : PASSING_BYTES;

        rc = SHA256_UPDATE(&c, (const unsigned char *)data + at, k);
        at += k;
        passed(self, at);
    }
    if (rc || SHA256_FINISH(&c, out) != 0)
        memset(out, 0, ASSAY_SHA256_LEN);
    mbedtls_sha256_free(&c);
}

void assay_hex(const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

uint64_t assay_xxh64(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}

void assay_xxh128(const void *data, size_t n, uint8_t out[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, n));
    memcpy(out, canonical.digest, 16);
}

size_t assay_tiles(size_t n)
{
    return n / ASSAY_TILE_BYTES + (n % ASSAY_TILE_BYTES != 0);
}

void assay_tile_digests(const void *data, size_t n, uint8_t *out)
{
    const uint8_t *p = data;

    for (; n > 0; out += 16) {
        size_t k = n < ASSAY_TILE_BYTES ? n : ASSAY_TILE_BYTES;

        assay_xxh128(p, k, out);
        p += k;
        n -= k;
    }
}
