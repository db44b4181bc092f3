/* SPDX-License-Identifier: Apache-2.0 */
/* Who may come in: by the fingerprint of a key, or by a CA. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <mbedtls/oid.h>

#include "lib/net/tls_context.h"

/* Tags of X.509's GeneralName. */
#define NAME_DNS 0x82
#define NAME_IP 0x87

/* ---- names ---------------------------------------------------------------- */

/* "*.example" stands for one label. */
static bool dns_matches(const unsigned char *name, size_t n, const char *host)
{
    const char *dot = strchr(host, '.');

    if (n == strlen(host) && strncasecmp((const char *)name, host, n) == 0)
        return true;
    return n > 2 && name[0] == '*' && name[1] == '.' && dot != NULL &&
           dot != host && strlen(dot) == n - 1 &&
           strncasecmp((const char *)name + 1, dot, n - 1) == 0;
}

/* The bytes of an address: 4, 16, or 0 for a name. */
static size_t address_of(const char *host, unsigned char out[16])
{
    if (inet_pton(AF_INET, host, out) == 1)
        return 4;
    return inet_pton(AF_INET6, host, out) == 1 ? 16 : 0;
}

bool assay_tls_names(const mbedtls_x509_crt *cert, const char *host)
{
    const mbedtls_x509_sequence *s = &cert->subject_alt_names;
    const mbedtls_x509_name *n;
    unsigned char address[16];
    size_t len = address_of(host, address);
    bool any = false;

    for (; s != NULL && s->buf.p != NULL; s = s->next) {
        any = true;
        if (s->buf.tag == NAME_DNS && len == 0 &&
            dns_matches(s->buf.p, s->buf.len, host))
            return true;
        if (s->buf.tag == NAME_IP && len > 0 && s->buf.len == len &&
            memcmp(s->buf.p, address, len) == 0)
            return true;
    }
    /* The subject counts where there are no other names. */
    for (n = &cert->subject; !any && n != NULL; n = n->next) {
        if (n->oid.p != NULL &&
            MBEDTLS_OID_CMP(MBEDTLS_OID_AT_CN, &n->oid) == 0 &&
            dns_matches(n->val.p, n->val.len, host))
            return true;
    }
    return false;
}

/* ---- the judgement -------------------------------------------------------- */

/* NULL: nothing is wrong with it. */
static const char *wrong_by_ca(const struct assay_tls_context *ctx,
                               const mbedtls_x509_crt *cert, const char *host)
{
    bool by_server = ctx->role == ASSAY_TLS_SERVER;
    const char *usage =
        by_server ? MBEDTLS_OID_CLIENT_AUTH : MBEDTLS_OID_SERVER_AUTH;
    size_t usage_len = by_server ? MBEDTLS_OID_SIZE(MBEDTLS_OID_CLIENT_AUTH)
                                 : MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH);
    uint32_t flags = 0;
    int rc;

    /* mbedTLS changes neither, it only lacks the const. */
    rc = mbedtls_x509_crt_verify((mbedtls_x509_crt *)(uintptr_t)cert,
                                 (mbedtls_x509_crt *)(uintptr_t)&ctx->own.ca,
                                 NULL, NULL, &flags, NULL, NULL);
    if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
        return "was not issued by the CA of --tls-ca";
    if (flags & MBEDTLS_X509_BADCERT_EXPIRED)
        return "has expired";
    if (flags & MBEDTLS_X509_BADCERT_FUTURE)
        return "is not valid yet";
    if (rc != 0)
        return "is weaker than TLS allows, or misused";
    if (mbedtls_x509_crt_check_extended_key_usage(cert, usage, usage_len) != 0)
        return by_server ? "is not for clients" : "is not for servers";
    if (host != NULL && !assay_tls_names(cert, host))
        return "names another host";
    return NULL;
}

static int let_in(struct assay_tls_peer *out, struct assay_tls_peer *p,
                  const char *name)
{
    p->resumed = out->resumed;
    snprintf(p->name, sizeof(p->name), "%s", name);
    *out = *p;
    return 0;
}

static int refuse(const struct assay_tls_context *ctx,
                  const struct assay_tls_peer *p, const char *common,
                  const char *by_ca, struct assay_err *err)
{
    const struct assay_tls_config *own = &ctx->own;
    char ca[120] = "";

    if (by_ca != NULL)
        snprintf(ca, sizeof(ca), " and its certificate %s", by_ca);
    if (ctx->role == ASSAY_TLS_SERVER)
        return assay_fail(
            err, ASSAY_ECONNECT,
            "client key %s is not authorised%s: the board's owner adds the "
            "line '%s %s' to the file of --authorized and sends SIGHUP",
            p->fingerprint, ca, common[0] != '\0' ? common : "NAME",
            p->fingerprint);
    if (own->wanted[0] != '\0')
        return assay_fail(err, ASSAY_ECONNECT,
                          "board's key is %s, but %s is pinned for '%s'%s: it "
                          "is another board, or somebody is in between; "
                          "nothing was sent to it, and 'assay pair --target "
                          "tls:%s' says how to go on",
                          p->fingerprint, own->wanted, own->wanted_name, ca,
                          own->wanted_name);
    return assay_fail(err, ASSAY_ECONNECT,
                      "board's key %s is not known%s: compare it with 'assay "
                      "pair', or give the CA that signed it with --tls-ca",
                      p->fingerprint, ca);
}

int assay_tls_judge_cert(const struct assay_tls_context *ctx,
                         const mbedtls_x509_crt *cert, const char *host,
                         struct assay_tls_peer *out, struct assay_err *err)
{
    const struct assay_tls_config *own = &ctx->own;
    const char *name, *by_ca = NULL;
    struct assay_tls_peer p = {0};
    char common[ASSAY_IDENTITY_NAME];

    if (cert == NULL || assay_key_fingerprint(cert, p.fingerprint) < 0)
        return assay_fail(err, ASSAY_ECONNECT,
                          "%s showed no certificate: the key of a pair is "
                          "needed (assay keygen makes one)",
                          ctx->role == ASSAY_TLS_SERVER ? "client" : "board");
    assay_identity_name(cert, common);
    snprintf(out->fingerprint, sizeof(out->fingerprint), "%s", p.fingerprint);
    if (own->accept_any)
        return let_in(out, &p, common);
    if (own->wanted[0] != '\0' && strcmp(own->wanted, p.fingerprint) == 0)
        return let_in(out, &p, own->wanted_name);
    name = assay_pins_find(&own->pins, p.fingerprint);
    if (name != NULL)
        return let_in(out, &p, name);
    if (own->has_ca) {
        by_ca = wrong_by_ca(ctx, cert, host);
        if (by_ca == NULL) {
            p.by_ca = true;
            return let_in(out, &p, common);
        }
    }
    return refuse(ctx, &p, common, by_ca, err);
}
