/* SPDX-License-Identifier: Apache-2.0 */
/* Lease, constants and slice: what a board has to have before a run. */
#include <stdlib.h>
#include <string.h>

#include "host-tools/client.h"
#include "lib/core/buf.h"

#define LEASE_TTL_MS 60000u
#define QUERY_MAX 30000u /* digests in one header of 1 MiB */

struct piece {
    uint8_t sha256[ASSAY_SHA256_LEN];
    const void *data;
    size_t n;
};

static int by_digest(const void *a, const void *b)
{
    return memcmp(((const struct piece *)a)->sha256,
                  ((const struct piece *)b)->sha256, ASSAY_SHA256_LEN);
}

static int acquire(struct assay_client *c, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_LEASE_ACQUIRE};
    struct assay_msg answer;
    int rc;

    if (c->leased)
        return 0;
    m.u.lease = (struct assay_msg_lease){
        .owner = c->owner, .ttl_ms = LEASE_TTL_MS, .force = c->force};
    rc = assay_client_send(c, &m, NULL, err);
    if (rc == 0)
        rc = assay_client_expect(c, ASSAY_MSG_LEASE_GRANTED, &answer, err);
    if (rc < 0)
        return rc;
    if (answer.u.lease.taken_from[0] != '\0' && c->taken != NULL) {
        assay_client_printable(answer.u.lease.taken_from);
        c->taken(answer.u.lease.taken_from);
    }
    assay_msg_close(&answer);
    c->leased = true;
    return 0;
}

static int put(struct assay_client *c, const struct piece *p,
               struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_PUT};
    struct assay_msg answer;
    size_t at = 0;
    int rc;

    memcpy(m.u.blob.sha256, p->sha256, ASSAY_SHA256_LEN);
    m.u.blob.total = p->n;
    do {
        size_t n = p->n - at;

        if (n > ASSAY_CHUNK_MAX)
            n = ASSAY_CHUNK_MAX;
        m.u.blob.offset = at;
        m.payload_bytes = (uint32_t)n;
        rc = assay_client_send(c, &m, (const uint8_t *)p->data + at, err);
        if (rc < 0)
            return rc;
        at += n;
    } while (at < p->n);
    rc = assay_client_expect(c, ASSAY_MSG_BLOB_STORED, &answer, err);
    if (rc == 0)
        assay_msg_close(&answer);
    return rc;
}

static int put_missing(struct assay_client *c, const struct piece *pieces,
                       size_t n, const struct assay_msg_digests *missing,
                       struct assay_err *err)
{
    for (size_t i = 0; i < missing->n; i++) {
        const uint8_t *sha = missing->sha256 + i * ASSAY_SHA256_LEN;
        const struct piece *p =
            bsearch(sha, pieces, n, sizeof(*pieces), by_digest);
        int rc;

        if (p == NULL)
            return assay_fail(err, ASSAY_EPROTOCOL,
                              "board '%.200s' asks for a constant that it was "
                              "not offered",
                              c->target.text);
        rc = put(c, p, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Asks which of these are not there, and sends them. */
static int offer(struct assay_client *c, const struct piece *pieces, size_t n,
                 struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_QUERY};
    struct assay_msg answer;
    struct assay_buf digests;
    int rc = 0;

    assay_buf_init(&digests);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = assay_buf_append(&digests, pieces[i].sha256, ASSAY_SHA256_LEN);
    if (rc < 0)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for %zu digests", n);
    m.u.digests.sha256 = digests.data;
    m.u.digests.n = n;
    if (rc == 0)
        rc = assay_client_send(c, &m, NULL, err);
    if (rc == 0)
        rc = assay_client_expect(c, ASSAY_MSG_BLOB_MISSING, &answer, err);
    if (rc == 0) {
        rc = put_missing(c, pieces, n, &answer.u.digests, err);
        assay_msg_close(&answer);
    }
    assay_buf_close(&digests);
    return rc;
}

/* All constants, each once, and the description last: it is what a small
 * budget drops latest. */
static int collect(const struct assay_slice *s, struct piece **out, size_t *n,
                   struct assay_err *err)
{
    struct piece *p = assay_calloc(s->n_tensors + 1u, sizeof(*p));
    size_t k = 0, unique = 0;

    if (p == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for constants");
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        const struct assay_tensor *t = &s->tensors[i];

        if (t->role != ASSAY_ROLE_CONSTANT)
            continue;
        memcpy(p[k].sha256, t->sha256, ASSAY_SHA256_LEN);
        p[k].data = t->data;
        p[k++].n = t->size;
    }
    qsort(p, k, sizeof(*p), by_digest);
    for (size_t i = 0; i < k; i++) {
        if (unique == 0 || by_digest(&p[unique - 1], &p[i]) != 0)
            p[unique++] = p[i];
    }
    *out = p;
    *n = unique;
    return 0;
}

static int send_all(struct assay_client *c, const struct assay_slice *slice,
                    const struct piece *description, struct assay_err *err)
{
    struct piece *pieces = NULL;
    size_t n = 0;
    int rc = collect(slice, &pieces, &n, err);

    for (size_t i = 0; i < n && rc == 0; i += QUERY_MAX)
        rc = offer(c, pieces + i, n - i < QUERY_MAX ? n - i : QUERY_MAX, err);
    if (rc == 0)
        rc = offer(c, description, 1, err);
    assay_free(pieces);
    return rc;
}

int assay_client_load(struct assay_backend *b, const struct assay_slice *slice,
                      struct assay_err *err)
{
    struct assay_client *c = (struct assay_client *)b;
    struct assay_msg m = {.type = ASSAY_MSG_SLICE_LOAD};
    struct assay_msg answer;
    struct piece description;
    struct assay_buf text;
    int rc;

    c->slice = NULL;
    assay_buf_init(&text);
    rc = assay_slice_encode(slice, &text, err);
    if (rc == 0)
        rc = acquire(c, err);
    if (rc < 0)
        goto out;
    description.data = text.data;
    description.n = text.len;
    assay_sha256(text.data, text.len, description.sha256);
    rc = send_all(c, slice, &description, err);
    if (rc < 0)
        goto out;
    memcpy(m.u.blob.sha256, description.sha256, ASSAY_SHA256_LEN);
    rc = assay_client_send(c, &m, NULL, err);
    if (rc == 0)
        rc = assay_client_expect(c, ASSAY_MSG_SLICE_LOADED, &answer, err);
    if (rc < 0)
        goto out;
    if (answer.u.loaded.layers != slice->n_layers)
        rc =
            assay_fail(err, ASSAY_EPROTOCOL,
                       "board '%.200s' loaded %u layers, %u were sent",
                       c->target.text, answer.u.loaded.layers, slice->n_layers);
    else
        c->slice = slice;
    assay_msg_close(&answer);
out:
    assay_buf_close(&text);
    return rc;
}
