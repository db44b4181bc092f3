/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates and keys: what is made is read again; modes, owners, kinds of
 * keys, pairs that are none, garbage, and files cut anywhere.
 *
 * links: lib/net/identity.c lib/net/pins.c lib/net/private_file.c
 * links: lib/net/random.c lib/net/keygen.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lmbedx509 -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include <mbedtls/ecp.h>
#include <mbedtls/rsa.h>

#include "lib/net/identity.h"
#include "lib/net/keygen.h"
#include "lib/net/pins.h"
#include "lib/net/random.h"

static char folder[] = "/tmp/test-identity.XXXXXX";
static char cert_path[64], key_path[64];
static struct assay_keygen made, other;

static void write_file(const char *path, const void *data, size_t n,
                       mode_t mode)
{
    FILE *f;

    unlink(path);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void write_pair(void)
{
    write_file(cert_path, made.cert_pem, strlen(made.cert_pem), 0644);
    write_file(key_path, made.key_pem, strlen(made.key_pem), 0600);
}

static void expect(int code, const char *sentence)
{
    struct assay_identity id;
    struct assay_err err = {0};
    int rc;

    memset(&id, 0x55, sizeof(id));
    rc = assay_identity_load(&id, cert_path, key_path, &err);
    if (rc != code || strstr(err.text, sentence) == NULL)
        fail_msg("%d '%s', expected %d '%s'", rc, err.text, code, sentence);
    assert_int_equal(id.fingerprint[0], 0x55); /* untouched */
}

/* Of openssl: a certificate, and `openssl x509 -pubkey -noout | openssl pkey
 * -pubin -outform DER | openssl dgst -sha256 -binary | base64`. */
static const char by_openssl[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBeTCCAR+gAwIBAgIUMWsi5oTnXuzImKHK/3YKgvE/xjEwCgYIKoZIzj0EAwIw\n"
    "EjEQMA4GA1UEAwwHYm9hcmQtNzAeFw0yNjEyMDMwNTM5NTFaFw0zNjExMzAwNTM5\n"
    "NTFaMBIxEDAOBgNVBAMMB2JvYXJkLTcwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
    "AARmJ540FLEJA24tgK9RQlP/RwI8rmZcri1FJ/+KKEepv70l1bt2ybqb02bNWioN\n"
    "5wQZVnO+v93QXeCh7nTc3vL8o1MwUTAdBgNVHQ4EFgQUwYxfl4BJuRB7mDcqqvb4\n"
    "8+Ute+MwHwYDVR0jBBgwFoAUwYxfl4BJuRB7mDcqqvb48+Ute+MwDwYDVR0TAQH/\n"
    "BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA8NJE/rFvAhopoC8oegZaOK39/SK+\n"
    "4JRDPA4zIu+M05wCIGftmWO1FRC+BKHA3YnqZp5ivZeb6LQLdQwUj23jLydB\n"
    "-----END CERTIFICATE-----\n";

static void fingerprint(void **state)
{
    char print[ASSAY_FINGERPRINT_TEXT], name[ASSAY_IDENTITY_NAME];
    mbedtls_x509_crt cert;

    (void)state;
    mbedtls_x509_crt_init(&cert);
    assert_true(assay_key_fingerprint(&cert, print) < 0);
    assert_int_equal(mbedtls_x509_crt_parse(&cert,
                                            (const unsigned char *)by_openssl,
                                            sizeof(by_openssl)),
                     0);
    assert_int_equal(assay_key_fingerprint(&cert, print), 0);
    assert_string_equal(print,
                        "SHA256:eSLRvR47UFYdZTJdR+G7TL898uJKJ9IiAhvzas5PGL8");
    assert_true(assay_is_fingerprint(print));
    assay_identity_name(&cert, name);
    assert_string_equal(name, "board-7");
    mbedtls_x509_crt_free(&cert);
}

static void pair(void **state)
{
    struct assay_identity id;
    struct assay_err err = {0};
    char name[ASSAY_IDENTITY_NAME];

    (void)state;
    write_pair();
    if (assay_identity_load(&id, cert_path, key_path, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(id.fingerprint, made.fingerprint);
    assert_string_not_equal(id.fingerprint, other.fingerprint);
    assay_identity_name(&id.cert, name);
    assert_string_equal(name, "ann@lab");
    /* Boards have no clock. */
    assert_int_equal(id.cert.valid_from.year, 2000);
    assert_int_equal(id.cert.valid_to.year, 9999);
    assay_identity_close(&id);
    assay_identity_close(&id);
    assay_identity_close(NULL);
}

static void der(void **state)
{
    struct assay_identity id;
    struct assay_err err = {0};
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;
    unsigned char bytes[512];
    int n;

    (void)state;
    write_pair();
    assert_int_equal(assay_identity_load(&id, cert_path, key_path, &err), 0);
    cert = id.cert;
    key = id.key;
    write_file(cert_path, cert.raw.p, cert.raw.len, 0644);
    n = mbedtls_pk_write_key_der(&key, bytes, sizeof(bytes));
    assert_true(n > 0);
    write_file(key_path, bytes + sizeof(bytes) - n, (size_t)n, 0600);
    assay_identity_close(&id);
    if (assay_identity_load(&id, cert_path, key_path, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(id.fingerprint, made.fingerprint);
    assay_identity_close(&id);
}

static void names(void **state)
{
    static const char *const bad[] = {
        "",
        "a b",
        "a,CN=b",
        "a\\b",
        "a=b",
        "a/b",
        "\xc3\xa4",
        "a\n",
        "a23456789b123456789c123456789d123456789e123456789f123456789g12345",
    };
    struct assay_err err = {0};
    struct assay_keygen k = {.fingerprint = "same"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(assay_keygen(&k, bad[i], &err), ASSAY_EUSAGE);
        assert_non_null(strstr(err.text, "name"));
        assert_string_equal(k.fingerprint, "same");
    }
    assert_int_equal(assay_keygen(&k, bad[8] + 1, &err), 0);
    assay_keygen_close(&k);
    assert_int_equal(k.key_pem[0], 0);
}

/* ---- files ---------------------------------------------------------------- */

static void modes(void **state)
{
    static const struct {
        mode_t mode;
        const char *sentence;
    } keys[] = {
        {0640, "so that group may read it: chmod 600 it"},
        {0620, "so that group may write it: chmod 600 it"},
        {0610, "so that group may execute it: chmod 600 it"},
        {0604, "so that others may read it: chmod 600 it"},
        {0602, "so that others may write it: chmod 600 it"},
        {0644, "so that others may read it: chmod 600 it"},
        {0666, "so that others may read it: chmod 600 it"},
        {0777, "so that others may read it: chmod 600 it"},
    };

    (void)state;
    write_pair();
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        assert_int_equal(chmod(key_path, keys[i].mode), 0);
        expect(ASSAY_EIO, keys[i].sentence);
        expect(ASSAY_EIO, key_path);
    }
    assert_int_equal(chmod(key_path, 0400), 0);
    assert_int_equal(chmod(cert_path, 0664), 0);
    expect(ASSAY_EIO, "so that group may write it: chmod go-w it");
    assert_int_equal(chmod(cert_path, 0646), 0);
    expect(ASSAY_EIO, "so that others may write it: chmod go-w it");
}

static void places(void **state)
{
    char keep[64];

    (void)state;
    write_pair();
    unlink(key_path);
    expect(ASSAY_EIO, "No such file");
    assert_int_equal(mkfifo(key_path, 0600), 0);
    alarm(10); /* nobody writes: it must not be waited for */
    expect(ASSAY_EFORMAT, "is not a regular file");
    alarm(0);
    memcpy(keep, key_path, sizeof(keep));
    memcpy(key_path, folder, sizeof(folder));
    expect(ASSAY_EFORMAT, "is not a regular file");
    memcpy(key_path, keep, sizeof(keep));
    unlink(key_path);
    write_pair();
    if (chown(key_path, 12345, (gid_t)-1) == 0)
        expect(ASSAY_EIO, "belongs to user 12345");
    write_pair();
    unlink(cert_path);
    expect(ASSAY_EIO, "No such file");
}

/* ---- contents ------------------------------------------------------------- */

static void mismatch(void **state)
{
    (void)state;
    write_pair();
    write_file(key_path, other.key_pem, strlen(other.key_pem), 0600);
    expect(ASSAY_EMISMATCH, "is not the one of certificate");
}

static void garbage(void **state)
{
    static char large[300000];
    static const char encrypted[] =
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
        "DEK-Info: AES-128-CBC,000102030405060708090A0B0C0D0E0F\n\n"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
        "-----END EC PRIVATE KEY-----\n";
    struct assay_keygen bad;

    (void)state;
    write_pair();
    write_file(key_path, "", 0, 0600);
    expect(ASSAY_EFORMAT, "cannot be read");
    write_file(key_path, "\0\0\0\0", 4, 0600);
    expect(ASSAY_EFORMAT, "cannot be read");
    write_file(key_path, made.cert_pem, strlen(made.cert_pem), 0600);
    expect(ASSAY_EFORMAT, "cannot be read");
    write_file(key_path, encrypted, sizeof(encrypted) - 1, 0600);
    expect(ASSAY_EUNSUPPORTED, "is encrypted");
    memset(large, 'x', sizeof(large));
    write_file(key_path, large, sizeof(large), 0600);
    expect(ASSAY_EFORMAT, "is longer than 32768 bytes");
    write_pair();
    write_file(cert_path, "", 0, 0644);
    expect(ASSAY_EFORMAT, "holds no certificate");
    write_file(cert_path, made.key_pem, strlen(made.key_pem), 0600);
    expect(ASSAY_EFORMAT, "holds no certificate");
    write_file(cert_path, large, sizeof(large), 0644);
    expect(ASSAY_EFORMAT, "is longer than 262144 bytes");
    /* Its signature is nobody's business here, its key is. */
    bad = made;
    bad.cert_pem[100] = bad.cert_pem[100] == 'A' ? 'B' : 'A';
    write_file(cert_path, bad.cert_pem, strlen(bad.cert_pem), 0644);
    {
        struct assay_identity id;

        if (assay_identity_load(&id, cert_path, key_path, NULL) == 0) {
            assert_string_equal(id.fingerprint, made.fingerprint);
            assay_identity_close(&id);
        }
    }
    assay_keygen_close(&bad);
}

/* A chain goes to the peer whole, or not at all. */
static void chain(void **state)
{
    struct assay_identity id;
    mbedtls_x509_crt ca;
    struct assay_err err = {0};
    char both[4096];

    (void)state;
    write_pair();
    snprintf(both, sizeof(both), "%s%s", made.cert_pem, by_openssl);
    write_file(cert_path, both, strlen(both), 0644);
    assert_int_equal(assay_identity_load(&id, cert_path, key_path, &err), 0);
    assert_non_null(id.cert.next);
    assert_string_equal(id.fingerprint, made.fingerprint);
    assay_identity_close(&id);
    assert_int_equal(assay_identity_load_ca(&ca, cert_path, &err), 0);
    mbedtls_x509_crt_free(&ca);
    /* The other way round the key is that of no first certificate. */
    snprintf(both, sizeof(both), "%s%s", by_openssl, made.cert_pem);
    write_file(cert_path, both, strlen(both), 0644);
    expect(ASSAY_EMISMATCH, "is not the one of certificate");
    for (size_t cut = 20; cut < sizeof(by_openssl) - 2; cut += 64) {
        snprintf(both, sizeof(both), "%s%.*s", made.cert_pem,
                 (int)(sizeof(by_openssl) - 1 - cut), by_openssl);
        write_file(cert_path, both, strlen(both), 0644);
        if (strstr(both + strlen(made.cert_pem), "CERTIFICATE-----") != NULL)
            expect(ASSAY_EFORMAT, "1 of its 2 certificates cannot be read");
    }
    write_file(cert_path, "x", 1, 0644);
    assert_int_equal(assay_identity_load_ca(&ca, cert_path, &err),
                     ASSAY_EFORMAT);
    assert_non_null(strstr(err.text, "list of authorities"));
}

static void cut(void **state)
{
    size_t n = strlen(made.cert_pem);

    (void)state;
    write_pair();
    for (size_t at = 0; at < n - 1; at += 64) {
        write_file(cert_path, made.cert_pem, at, 0644);
        expect(ASSAY_EFORMAT, "holds no certificate");
    }
    write_pair();
    n = strlen(made.key_pem);
    for (size_t at = 0; at < n - 1; at += 64) {
        write_file(key_path, made.key_pem, at, 0600);
        expect(ASSAY_EFORMAT, "cannot be read");
    }
}

/* ---- kinds of keys -------------------------------------------------------- */

static void write_key(mbedtls_pk_context *key)
{
    static unsigned char pem[8192];
    mbedtls_x509write_cert crt;
    mbedtls_mpi serial;

    assert_int_equal(mbedtls_pk_write_key_pem(key, pem, sizeof(pem)), 0);
    write_file(key_path, pem, strlen((char *)pem), 0600);
    mbedtls_mpi_init(&serial);
    assert_int_equal(mbedtls_mpi_lset(&serial, 7), 0);
    mbedtls_x509write_crt_init(&crt);
    mbedtls_x509write_crt_set_md_alg(&crt, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(&crt, key);
    mbedtls_x509write_crt_set_issuer_key(&crt, key);
    assert_int_equal(mbedtls_x509write_crt_set_subject_name(&crt, "CN=k"), 0);
    assert_int_equal(mbedtls_x509write_crt_set_issuer_name(&crt, "CN=k"), 0);
    assert_int_equal(mbedtls_x509write_crt_set_validity(&crt, "20000101000000",
                                                        "20300101000000"),
                     0);
    assert_int_equal(mbedtls_x509write_crt_set_serial(&crt, &serial), 0);
    assert_int_equal(
        mbedtls_x509write_crt_pem(&crt, pem, sizeof(pem), assay_random, NULL),
        0);
    write_file(cert_path, pem, strlen((char *)pem), 0644);
    mbedtls_x509write_crt_free(&crt);
    mbedtls_mpi_free(&serial);
    mbedtls_pk_free(key);
}

static void on_curve(mbedtls_ecp_group_id curve)
{
    mbedtls_pk_context key;

    mbedtls_pk_init(&key);
    assert_int_equal(
        mbedtls_pk_setup(&key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY)), 0);
    assert_int_equal(
        mbedtls_ecp_gen_key(curve, mbedtls_pk_ec(key), assay_random, NULL), 0);
    write_key(&key);
}

static void of_rsa(unsigned bits)
{
    mbedtls_pk_context key;

    mbedtls_pk_init(&key);
    assert_int_equal(
        mbedtls_pk_setup(&key, mbedtls_pk_info_from_type(MBEDTLS_PK_RSA)), 0);
    assert_int_equal(mbedtls_rsa_gen_key(mbedtls_pk_rsa(key), assay_random,
                                         NULL, bits, 65537),
                     0);
    write_key(&key);
}

static void expect_good(void)
{
    struct assay_identity id;
    struct assay_err err = {0};

    if (assay_identity_load(&id, cert_path, key_path, &err) < 0)
        fail_msg("%s", err.text);
    assay_identity_close(&id);
}

static void kinds(void **state)
{
    (void)state;
    on_curve(MBEDTLS_ECP_DP_SECP256R1);
    expect_good();
    on_curve(MBEDTLS_ECP_DP_SECP384R1);
    expect_good();
    on_curve(MBEDTLS_ECP_DP_SECP521R1);
    expect(ASSAY_EUNSUPPORTED, "another curve of 521 bits");
    /* As long as P-256, and not it. */
    on_curve(MBEDTLS_ECP_DP_SECP256K1);
    expect(ASSAY_EUNSUPPORTED, "another curve of 256 bits");
    on_curve(MBEDTLS_ECP_DP_BP256R1);
    expect(ASSAY_EUNSUPPORTED, "another curve of 256 bits");
    on_curve(MBEDTLS_ECP_DP_SECP224R1);
    expect(ASSAY_EUNSUPPORTED, "another curve of 224 bits");
    of_rsa(2048);
    expect_good();
    of_rsa(1024);
    expect(ASSAY_EUNSUPPORTED, "an RSA key of 1024 bits, at least 2048");
    of_rsa(2040);
    expect(ASSAY_EUNSUPPORTED, "an RSA key of 2040 bits, at least 2048");
}

/* ---- frame ---------------------------------------------------------------- */

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(cert_path, sizeof(cert_path), "%s/cert.pem", folder);
    snprintf(key_path, sizeof(key_path), "%s/key.pem", folder);
    return assay_keygen(&made, "ann@lab", NULL) == 0 &&
                   assay_keygen(&other, "bob@lab", NULL) == 0
               ? 0
               : -1;
}

static int end(void **state)
{
    (void)state;
    unlink(cert_path);
    unlink(key_path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprint), cmocka_unit_test(pair),
        cmocka_unit_test(der),         cmocka_unit_test(names),
        cmocka_unit_test(modes),       cmocka_unit_test(places),
        cmocka_unit_test(mismatch),    cmocka_unit_test(garbage),
        cmocka_unit_test(chain),       cmocka_unit_test(cut),
        cmocka_unit_test(kinds),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
