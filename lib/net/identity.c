/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/identity.h"

#include <string.h>

#include <mbedtls/base64.h>
#include <mbedtls/oid.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/version.h>

#include "lib/core/buf.h"
#include "lib/core/hash.h"
#include "lib/net/pins.h"
#include "lib/net/private_file.h"
#include "lib/net/random.h"

#define KEY_FILE_MAX 32768u
#define CERT_FILE_MAX 262144u
#define RSA_BITS_MIN 2048u
#define PRINT_PREFIX "SHA256:"
#define PRINT_PREFIX_LEN 7
#define BASE64_LEN 43
#define BEGIN_CERT "-----BEGIN CERTIFICATE-----"

/* ---- fingerprints --------------------------------------------------------- */

int assay_key_fingerprint(const mbedtls_x509_crt *cert,
                          char out[ASSAY_FINGERPRINT_TEXT])
{
    uint8_t digest[ASSAY_SHA256_LEN];
    unsigned char text[BASE64_LEN + 2];
    size_t n;

    if (cert->pk_raw.p == NULL || cert->pk_raw.len == 0)
        return ASSAY_EFORMAT;
    assay_sha256(cert->pk_raw.p, cert->pk_raw.len, digest);
    if (mbedtls_base64_encode(text, sizeof(text), &n, digest, sizeof(digest)) !=
        0)
        return ASSAY_EINTERNAL;
    memcpy(out, PRINT_PREFIX, PRINT_PREFIX_LEN);
    memcpy(out + PRINT_PREFIX_LEN, text, BASE64_LEN); /* without the '=' */
    out[PRINT_PREFIX_LEN + BASE64_LEN] = '\0';
    return 0;
}

bool assay_is_fingerprint(const char *text)
{
    unsigned char padded[BASE64_LEN + 2], again[BASE64_LEN + 2];
    uint8_t digest[ASSAY_SHA256_LEN];
    size_t n;

    if (strncmp(text, PRINT_PREFIX, PRINT_PREFIX_LEN) != 0 ||
        strlen(text) != ASSAY_FINGERPRINT_TEXT - 1)
        return false;
    memcpy(padded, text + PRINT_PREFIX_LEN, BASE64_LEN);
    padded[BASE64_LEN] = '=';
    padded[BASE64_LEN + 1] = '\0';
    /* There and back: the last character has two bits that must be 0, so
     * that one key has one text. */
    return mbedtls_base64_decode(digest, sizeof(digest), &n, padded,
                                 BASE64_LEN + 1) == 0 &&
           n == sizeof(digest) &&
           mbedtls_base64_encode(again, sizeof(again), &n, digest,
                                 sizeof(digest)) == 0 &&
           memcmp(again, padded, BASE64_LEN) == 0;
}

/* ---- certificates --------------------------------------------------------- */

/* mbedTLS wants the NUL behind PEM, and no NUL behind DER. */
static bool is_pem(const struct assay_buf *text)
{
    return memmem(text->data, text->len, "-----BEGIN", 10) != NULL;
}

static size_t certificates_in(const struct assay_buf *text)
{
    const uint8_t *p = text->data, *end = text->data + text->len;
    size_t n = 0;

    while ((p = memmem(p, (size_t)(end - p), BEGIN_CERT,
                       sizeof(BEGIN_CERT) - 1)) != NULL) {
        n++;
        p += sizeof(BEGIN_CERT) - 1;
    }
    return n;
}

static int parse_certificates(mbedtls_x509_crt *out,
                              const struct assay_buf *text, const char *what,
                              const char *path, struct assay_err *err)
{
    size_t expected = is_pem(text) ? certificates_in(text) : 1, read = 0;
    int rc = mbedtls_x509_crt_parse(out, text->data,
                                    text->len + (is_pem(text) ? 1 : 0));

    if (rc < 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s '%s' holds no certificate that can be read: PEM "
                          "or DER expected, of a key on P-256 or P-384 or of "
                          "RSA (mbedTLS -0x%04x)",
                          what, path, (unsigned)-rc);
    for (const mbedtls_x509_crt *c = out; c != NULL; c = c->next)
        read++;
    /* mbedTLS passes over what it cannot read behind the first. */
    if (rc > 0 || read != expected)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s '%s': %zu of its %zu certificates cannot be read",
                          what, path, expected > read ? expected - read : 1,
                          expected);
    return 0;
}

static int load_certificates(mbedtls_x509_crt *out, const char *what,
                             const char *path, struct assay_err *err)
{
    struct assay_buf text;
    int rc;

    assay_buf_init(&text);
    rc = assay_private_read(&text, path, what, ASSAY_MODE_TRUSTED,
                            CERT_FILE_MAX, err);
    if (rc == 0 && assay_buf_append(&text, "", 1) < 0)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for '%s'", path);
    if (rc == 0) {
        text.len--;
        rc = parse_certificates(out, &text, what, path, err);
    }
    assay_buf_close(&text);
    return rc;
}

int assay_identity_load_ca(mbedtls_x509_crt *out, const char *path,
                           struct assay_err *err)
{
    mbedtls_x509_crt ca;
    int rc;

    mbedtls_x509_crt_init(&ca);
    rc = load_certificates(&ca, "list of authorities", path, err);
    if (rc < 0)
        mbedtls_x509_crt_free(&ca);
    else
        *out = ca;
    return rc;
}

/* A SubjectPublicKeyInfo on these curves, uncompressed, up to its point; so
 * said, the curve needs no look into what mbedTLS 3 made private. */
static bool is_known_curve(const mbedtls_x509_crt *cert)
{
    static const uint8_t p256[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a,
                                   0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                                   0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
                                   0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
    static const uint8_t p384[] = {
        0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02,
        0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00, 0x04};
    const mbedtls_x509_buf *k = &cert->pk_raw;

    return (k->len == sizeof(p256) + 64 &&
            memcmp(k->p, p256, sizeof(p256)) == 0) ||
           (k->len == sizeof(p384) + 96 &&
            memcmp(k->p, p384, sizeof(p384)) == 0);
}

static int check_algorithm(mbedtls_x509_crt *cert, const char *path,
                           struct assay_err *err)
{
    unsigned bits = (unsigned)mbedtls_pk_get_bitlen(&cert->pk);

    if (mbedtls_pk_can_do(&cert->pk, MBEDTLS_PK_ECDSA)) {
        if (is_known_curve(cert))
            return 0;
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "certificate '%s' is of a key on another curve of %u "
                          "bits, expected P-256 or P-384",
                          path, bits);
    }
    if (!mbedtls_pk_can_do(&cert->pk, MBEDTLS_PK_RSA))
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "certificate '%s' is of a %s key, expected P-256, "
                          "P-384 or RSA",
                          path, mbedtls_pk_get_name(&cert->pk));
    if (bits < RSA_BITS_MIN)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "certificate '%s' is of an RSA key of %u bits, at "
                          "least %u are expected",
                          path, bits, RSA_BITS_MIN);
    return 0;
}

void assay_identity_name(const mbedtls_x509_crt *cert,
                         char out[ASSAY_IDENTITY_NAME])
{
    const mbedtls_x509_name *n = &cert->subject;

    out[0] = '\0';
    while (n != NULL && MBEDTLS_OID_CMP(MBEDTLS_OID_AT_CN, &n->oid) != 0)
        n = n->next;
    if (n == NULL || n->val.len >= ASSAY_IDENTITY_NAME ||
        memchr(n->val.p, '\0', n->val.len) != NULL)
        return;
    memcpy(out, n->val.p, n->val.len);
    out[n->val.len] = '\0';
    if (assay_pins_bad_name(out) != NULL)
        out[0] = '\0';
}

/* ---- keys ----------------------------------------------------------------- */

static int parse_key(mbedtls_pk_context *out, const struct assay_buf *text)
{
    size_t n = text->len + (is_pem(text) ? 1 : 0);

#if MBEDTLS_VERSION_MAJOR >= 3
    return mbedtls_pk_parse_key(out, text->data, n, NULL, 0, assay_random,
                                NULL);
#else
    return mbedtls_pk_parse_key(out, text->data, n, NULL, 0);
#endif
}

static int check_pair(const mbedtls_pk_context *pub,
                      const mbedtls_pk_context *key)
{
#if MBEDTLS_VERSION_MAJOR >= 3
    return mbedtls_pk_check_pair(pub, key, assay_random, NULL);
#else
    return mbedtls_pk_check_pair(pub, key);
#endif
}

static int load_key(mbedtls_pk_context *out, const char *path,
                    struct assay_err *err)
{
    struct assay_buf text;
    int rc, why;

    assay_buf_init(&text);
    /* Two bytes more, so that no copy is left behind by the NUL. */
    rc = assay_buf_reserve(&text, KEY_FILE_MAX + 2);
    if (rc == 0)
        rc = assay_private_read(&text, path, "private key", ASSAY_MODE_SECRET,
                                KEY_FILE_MAX, err);
    else
        assay_fail(err, rc, "no memory for '%s'", path);
    if (rc == 0) {
        text.data[text.len] = '\0';
        why = parse_key(out, &text);
        if (why == MBEDTLS_ERR_PK_PASSWORD_REQUIRED)
            rc = assay_fail(err, ASSAY_EUNSUPPORTED,
                            "private key '%s' is encrypted, and nobody is "
                            "there to type a password: its file's mode "
                            "protects it",
                            path);
        else if (why != 0)
            rc = assay_fail(err, ASSAY_EFORMAT,
                            "private key '%s' cannot be read: PEM or DER "
                            "expected, on P-256 or P-384 or RSA (mbedTLS "
                            "-0x%04x)",
                            path, (unsigned)-why);
    }
    if (text.data != NULL)
        mbedtls_platform_zeroize(text.data, text.cap);
    assay_buf_close(&text);
    return rc;
}

int assay_identity_load(struct assay_identity *out, const char *cert_path,
                        const char *key_path, struct assay_err *err)
{
    struct assay_identity id;
    int rc;

    memset(&id, 0, sizeof(id));
    mbedtls_x509_crt_init(&id.cert);
    mbedtls_pk_init(&id.key);
    rc = load_certificates(&id.cert, "certificate", cert_path, err);
    if (rc == 0)
        rc = check_algorithm(&id.cert, cert_path, err);
    if (rc == 0)
        rc = load_key(&id.key, key_path, err);
    if (rc == 0 && check_pair(&id.cert.pk, &id.key) != 0)
        rc = assay_fail(err, ASSAY_EMISMATCH,
                        "private key '%s' is not the one of certificate '%s'",
                        key_path, cert_path);
    if (rc == 0 && assay_key_fingerprint(&id.cert, id.fingerprint) < 0)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "certificate '%s' holds no public key", cert_path);
    if (rc < 0)
        assay_identity_close(&id);
    else
        *out = id;
    return rc;
}

void assay_identity_close(struct assay_identity *id)
{
    if (id == NULL)
        return;
    mbedtls_x509_crt_free(&id->cert);
    mbedtls_pk_free(&id->key);
    memset(id, 0, sizeof(*id));
}
