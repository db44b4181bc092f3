/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/keygen.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <mbedtls/ecp.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>

#include "lib/net/random.h"

#define SERIAL_BYTES 16

static int check_name(const char *name, struct assay_err *err)
{
    size_t n = strlen(name);

    if (n == 0 || n > ASSAY_KEYGEN_NAME_MAX)
        return assay_fail(err, ASSAY_EUSAGE,
                          "a name of %zu characters: 1 to %u are expected", n,
                          ASSAY_KEYGEN_NAME_MAX);
    for (const char *p = name; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && strchr("._@:-", *p) == NULL)
            return assay_fail(err, ASSAY_EUSAGE,
                              "name '%s': letters, digits and . _ @ : - are "
                              "expected",
                              name);
    }
    return 0;
}

static int set_serial(mbedtls_x509write_cert *crt)
{
    unsigned char serial[SERIAL_BYTES];
    int rc = assay_random(NULL, serial, sizeof(serial));

    if (rc != 0)
        return rc;
    serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40); /* positive */
#if MBEDTLS_VERSION_NUMBER >= 0x03040000
    rc = mbedtls_x509write_crt_set_serial_raw(crt, serial, sizeof(serial));
#else
    mbedtls_mpi number;

    mbedtls_mpi_init(&number);
    rc = mbedtls_mpi_read_binary(&number, serial, sizeof(serial));
    if (rc == 0)
        rc = mbedtls_x509write_crt_set_serial(crt, &number);
    mbedtls_mpi_free(&number);
#endif
    return rc;
}

static int write_certificate(struct assay_keygen *out, mbedtls_pk_context *key,
                             const char *name)
{
    char subject[ASSAY_KEYGEN_NAME_MAX + 4];
    mbedtls_x509write_cert crt;
    int rc;

    snprintf(subject, sizeof(subject), "CN=%s", name);
    mbedtls_x509write_crt_init(&crt);
    mbedtls_x509write_crt_set_version(&crt, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(&crt, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(&crt, key);
    mbedtls_x509write_crt_set_issuer_key(&crt, key);
    rc = mbedtls_x509write_crt_set_subject_name(&crt, subject);
    if (rc == 0)
        rc = mbedtls_x509write_crt_set_issuer_name(&crt, subject);
    if (rc == 0)
        rc = mbedtls_x509write_crt_set_validity(&crt, "20000101000000",
                                                "99991231235959");
    if (rc == 0)
        rc = set_serial(&crt);
    if (rc == 0)
        rc = mbedtls_x509write_crt_set_basic_constraints(&crt, 0, -1);
    if (rc == 0)
        rc = mbedtls_x509write_crt_set_key_usage(
            &crt, MBEDTLS_X509_KU_DIGITAL_SIGNATURE);
    if (rc == 0)
        rc = mbedtls_x509write_crt_pem(&crt, (unsigned char *)out->cert_pem,
                                       sizeof(out->cert_pem), assay_random,
                                       NULL);
    mbedtls_x509write_crt_free(&crt);
    return rc;
}

static int fingerprint_of(struct assay_keygen *out)
{
    mbedtls_x509_crt cert;
    int rc;

    mbedtls_x509_crt_init(&cert);
    rc = mbedtls_x509_crt_parse(&cert, (const unsigned char *)out->cert_pem,
                                strlen(out->cert_pem) + 1);
    if (rc == 0)
        rc = assay_key_fingerprint(&cert, out->fingerprint);
    mbedtls_x509_crt_free(&cert);
    return rc;
}

int assay_keygen(struct assay_keygen *out, const char *name,
                 struct assay_err *err)
{
    struct assay_keygen made = {0};
    mbedtls_pk_context key;
    int rc = check_name(name, err);

    if (rc < 0)
        return rc;
    mbedtls_pk_init(&key);
    rc = mbedtls_pk_setup(&key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
    if (rc == 0)
        rc = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(key),
                                 assay_random, NULL);
    if (rc == 0)
        rc = mbedtls_pk_write_key_pem(&key, (unsigned char *)made.key_pem,
                                      sizeof(made.key_pem));
    if (rc == 0)
        rc = write_certificate(&made, &key, name);
    if (rc == 0)
        rc = fingerprint_of(&made);
    mbedtls_pk_free(&key);
    if (rc == 0)
        *out = made;
    else
        rc = assay_fail(err, ASSAY_EINTERNAL,
                        "cannot make a key for '%s' (mbedTLS -0x%04x)", name,
                        (unsigned)-rc);
    assay_keygen_close(&made);
    return rc;
}

void assay_keygen_close(struct assay_keygen *k)
{
    if (k != NULL)
        mbedtls_platform_zeroize(k, sizeof(*k));
}
