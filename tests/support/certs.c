/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/certs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mbedtls/oid.h>
#include <mbedtls/rsa.h>
#include <mbedtls/version.h>

#include "lib/net/random.h"

static void must(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "certs: %s: -0x%04x\n", what, (unsigned)-rc);
    abort();
}

static void make_key(mbedtls_pk_context *key, unsigned rsa_bits)
{
    mbedtls_pk_init(key);
    if (rsa_bits > 0) {
        must(mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_RSA)),
             "setup");
        must(mbedtls_rsa_gen_key(mbedtls_pk_rsa(*key), assay_random, NULL,
                                 rsa_bits, 65537),
             "rsa");
        return;
    }
    must(mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY)),
         "setup");
    must(mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key),
                             assay_random, NULL),
         "ec");
}

/* SEQUENCE { [2] host | [7] address } */
static void add_names(mbedtls_x509write_cert *crt, const struct certs_wish *w)
{
    static const unsigned char none[4] = {0};
    unsigned char der[128];
    size_t n = 2, len;

    if (w->host != NULL) {
        len = strlen(w->host);
        der[n++] = 0x82;
        der[n++] = (unsigned char)len;
        memcpy(der + n, w->host, len);
        n += len;
    }
    if (memcmp(w->ip4, none, 4) != 0) {
        der[n++] = 0x87;
        der[n++] = 4;
        memcpy(der + n, w->ip4, 4);
        n += 4;
    }
    der[0] = 0x30;
    der[1] = (unsigned char)(n - 2);
    if (n > 2)
        must(mbedtls_x509write_crt_set_extension(
                 crt, MBEDTLS_OID_SUBJECT_ALT_NAME,
                 MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, der, n),
             "names");
}

/* SEQUENCE { OID } */
static void add_usage(mbedtls_x509write_cert *crt, const char *oid)
{
    unsigned char der[32] = {0x30};
    size_t len = strlen(oid);

    der[1] = (unsigned char)(len + 2);
    der[2] = 0x06;
    der[3] = (unsigned char)len;
    memcpy(der + 4, oid, len);
    must(mbedtls_x509write_crt_set_extension(
             crt, MBEDTLS_OID_EXTENDED_KEY_USAGE,
             MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0, der, len + 4),
         "usage");
}

static void set_serial(mbedtls_x509write_cert *crt)
{
    static unsigned char serial = 1;
#if MBEDTLS_VERSION_NUMBER >= 0x03040000
    must(mbedtls_x509write_crt_set_serial_raw(crt, &serial, 1), "serial");
#else
    mbedtls_mpi number;

    mbedtls_mpi_init(&number);
    must(mbedtls_mpi_lset(&number, serial), "serial");
    must(mbedtls_x509write_crt_set_serial(crt, &number), "serial");
    mbedtls_mpi_free(&number);
#endif
    serial++;
}

void certs_make(struct assay_identity *out, const struct certs_wish *w)
{
    mbedtls_x509write_cert crt;
    char subject[128], issuer[128], issuer_name[ASSAY_IDENTITY_NAME];
    unsigned char pem[4096];

    memset(out, 0, sizeof(*out));
    make_key(&out->key, w->rsa_bits);
    snprintf(subject, sizeof(subject), "CN=%s", w->name);
    snprintf(issuer, sizeof(issuer), "%s", subject);
    if (w->issuer != NULL) {
        assay_identity_name(&w->issuer->cert, issuer_name);
        snprintf(issuer, sizeof(issuer), "CN=%.100s", issuer_name);
    }
    mbedtls_x509write_crt_init(&crt);
    mbedtls_x509write_crt_set_version(&crt, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(&crt, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(&crt, &out->key);
    mbedtls_x509write_crt_set_issuer_key(
        &crt, w->issuer != NULL
                  ? (mbedtls_pk_context *)(uintptr_t)&w->issuer->key
                  : &out->key);
    must(mbedtls_x509write_crt_set_subject_name(&crt, subject), "subject");
    must(mbedtls_x509write_crt_set_issuer_name(&crt, issuer), "issuer");
    must(mbedtls_x509write_crt_set_validity(
             &crt, w->from != NULL ? w->from : "20000101000000",
             w->until != NULL ? w->until : "99991231235959"),
         "validity");
    set_serial(&crt);
    must(mbedtls_x509write_crt_set_basic_constraints(&crt, w->is_ca, -1),
         "constraints");
    add_names(&crt, w);
    if (w->usage_oid != NULL)
        add_usage(&crt, w->usage_oid);
    must(mbedtls_x509write_crt_pem(&crt, pem, sizeof(pem), assay_random, NULL),
         "pem");
    mbedtls_x509write_crt_free(&crt);
    mbedtls_x509_crt_init(&out->cert);
    must(mbedtls_x509_crt_parse(&out->cert, pem, strlen((const char *)pem) + 1),
         "parse");
    must(assay_key_fingerprint(&out->cert, out->fingerprint), "fingerprint");
}

void certs_append(struct assay_identity *id, const struct assay_identity *ca)
{
    must(
        mbedtls_x509_crt_parse_der(&id->cert, ca->cert.raw.p, ca->cert.raw.len),
        "append");
}

void certs_copy(struct assay_identity *out, const struct assay_identity *id)
{
    unsigned char pem[8192];
    const mbedtls_x509_crt *c;

    memset(out, 0, sizeof(*out));
    mbedtls_x509_crt_init(&out->cert);
    for (c = &id->cert; c != NULL; c = c->next)
        must(mbedtls_x509_crt_parse_der(&out->cert, c->raw.p, c->raw.len),
             "copy");
    must(mbedtls_pk_write_key_pem((mbedtls_pk_context *)(uintptr_t)&id->key,
                                  pem, sizeof(pem)),
         "write key");
    mbedtls_pk_init(&out->key);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    must(mbedtls_pk_parse_key(&out->key, pem, strlen((const char *)pem) + 1,
                              NULL, 0, assay_random, NULL),
         "parse key");
#else
    must(mbedtls_pk_parse_key(&out->key, pem, strlen((const char *)pem) + 1,
                              NULL, 0),
         "parse key");
#endif
    memcpy(out->fingerprint, id->fingerprint, sizeof(out->fingerprint));
}

void certs_copy_ca(mbedtls_x509_crt *out, const struct assay_identity *id)
{
    mbedtls_x509_crt_init(out);
    must(mbedtls_x509_crt_parse_der(out, id->cert.raw.p, id->cert.raw.len),
         "copy ca");
}
