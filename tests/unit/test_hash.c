/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests against published vectors.
 *
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/core/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void sha256_of(const char *text, const char *want)
{
    uint8_t digest[ASSAY_SHA256_LEN];
    char hex[2 * ASSAY_SHA256_LEN + 1];
    assay_sha256(text, strlen(text), digest);
    assay_hex(digest, sizeof(digest), hex);
    assert_string_equal(hex, want);
}

/* FIPS 180-2, appendix B. */
static void sha256_vectors(void **state)
{
    (void)state;
    sha256_of("", "e3b0c44298fc1c149afbf4c8996fb924"
                  "27ae41e4649b934ca495991b7852b855");
    sha256_of("abc", "ba7816bf8f01cfea414140de5dae2223"
                     "b00361a396177a9cb410ff61f20015ad");
    uint8_t a[ASSAY_SHA256_LEN], b[ASSAY_SHA256_LEN];
    assay_sha256("", 0, a);
    assay_sha256(NULL, 0, b);
    assert_memory_equal(a, b, sizeof(a));
}

/* The digest of nothing under XXH3, from the xxhash specification. */
static void xxh3_vectors(void **state)
{
    uint8_t digest[16];
    char hex[33];
    (void)state;
    assert_true(assay_xxh64("", 0) == 0x2d06800538d394c2ull);
    assay_xxh128("", 0, digest);
    assay_hex(digest, 16, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    assert_true(assay_xxh64("a", 1) != assay_xxh64("b", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_vectors),
        cmocka_unit_test(xxh3_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
