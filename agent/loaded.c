/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loaded.h"

#include <inttypes.h>
#include <string.h>

#include "lib/core/buf.h"

struct finder {
    struct assay_blobs *blobs;
    bool lacks; /* one of those that were asked for */
};

static const void *find_blob(void *self, const uint8_t sha256[32], size_t *size)
{
    struct finder *f = self;
    const void *data = assay_blobs_find(f->blobs, sha256, size);

    f->lacks = f->lacks || data == NULL;
    return data;
}

static void pin_all(struct assay_loaded *l, int change)
{
    for (uint32_t i = 0; i < l->slice->n_tensors; i++) {
        if (l->slice->tensors[i].role == ASSAY_ROLE_CONSTANT)
            assay_blobs_pin(l->blobs, l->slice->tensors[i].sha256, change);
    }
}

/* What decoding may take; what it took is not known exactly, so all of the
 * estimate stays charged. */
static uint64_t decode_estimate(size_t description)
{
    return (UINT64_C(1) << 20) + UINT64_C(32) * description;
}

static int decode(struct assay_loaded *l, const uint8_t sha256[32],
                  struct assay_err *err)
{
    struct finder finder = {l->blobs, false};
    struct assay_blob_source source = {&finder, find_blob};
    bool dropped = false;
    uint32_t before;
    uint64_t charge;
    const void *text;
    char hex[17];
    size_t n;
    int rc;

    text = assay_blobs_find(l->blobs, sha256, &n);
    assay_hex(sha256, 8, hex);
    if (text == NULL)
        return assay_fail(err, ASSAY_EUSAGE,
                          "slice sha256:%s… is not here: it was not sent, or "
                          "it was dropped for want of memory",
                          hex);
    charge = decode_estimate(n);
    /* Room is made before anything is taken. The text stays; what it refers to
     * was asked for last, and is dropped last. */
    assay_blobs_pin(l->blobs, sha256, 1);
    before = assay_blobs_count(l->blobs);
    rc = assay_budget_take(l->blobs, charge, "slice", err);
    if (rc == 0) {
        l->slice_charge = charge;
        dropped = assay_blobs_count(l->blobs) < before;
        rc = assay_slice_decode(&l->slice, text, n, &source, (size_t)charge,
                                err);
    }
    assay_blobs_pin(l->blobs, sha256, -1);
    if (rc == 0)
        pin_all(l, 1);
    else if (dropped && finder.lacks)
        rc = assay_fail(err, ASSAY_EMEMORY,
                        "slice of %" PRIu64 " bytes and its constants exceed "
                        "the agent's memory budget of %" PRIu64
                        " bytes (assayd --memory raises it)",
                        charge, assay_budget_limit(l->blobs));
    return rc;
}

int assay_loaded_plan(struct assay_loaded *l, uint32_t flags,
                      struct assay_err *err)
{
    struct assay_kernel_table table;
    struct assay_plan_limits limits;
    struct assay_plan *plan;
    uint64_t charge;
    int rc;

    if (l->plan != NULL && l->plan_flags == flags)
        return 0;
    assay_plan_free(l->plan);
    l->plan = NULL;
    assay_budget_give(l->blobs, l->plan_charge);
    l->plan_charge = 0;

    limits.memory_bytes = (size_t)assay_budget_free(l->blobs);
    if (limits.memory_bytes == 0)
        limits.memory_bytes = 1; /* 0 would mean: no limit */
    assay_kernel_table_init(&table, flags);
    rc = assay_plan_new(&plan, l->slice, &table, &limits, err);
    if (rc < 0)
        return rc;
    charge = (uint64_t)assay_plan_arena_bytes(plan) +
             assay_plan_packed_bytes(plan) + assay_plan_own_bytes(plan);
    rc = assay_budget_take(l->blobs, charge, "plan", err);
    if (rc < 0) {
        assay_plan_free(plan);
        return rc;
    }
    l->plan = plan;
    l->plan_charge = charge;
    l->plan_flags = flags;
    return 0;
}

/* One slot a tensor; what is given comes on top. */
static int charge_given(struct assay_loaded *l, struct assay_err *err)
{
    uint64_t n = (l->slice->n_tensors + UINT64_C(1)) *
                 (sizeof(*l->given) + sizeof(*l->expect));
    int rc = assay_budget_take(l->blobs, n, "slice", err);

    if (rc == 0)
        l->slice_charge += n;
    return rc;
}

int assay_loaded_open(struct assay_loaded **out, struct assay_blobs *blobs,
                      const uint8_t sha256[ASSAY_SHA256_LEN], uint32_t flags,
                      struct assay_err *err)
{
    struct assay_loaded *l = assay_calloc(1, sizeof(*l));
    int rc;

    if (l == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a slice");
    l->blobs = blobs;
    rc = decode(l, sha256, err);
    if (rc == 0)
        rc = charge_given(l, err);
    if (rc == 0) {
        l->given = assay_calloc(l->slice->n_tensors + 1u, sizeof(*l->given));
        l->expect = assay_calloc(l->slice->n_tensors + 1u, sizeof(*l->expect));
        rc = l->given != NULL && l->expect != NULL
                 ? assay_loaded_plan(l, flags, err)
                 : assay_fail(err, ASSAY_EMEMORY, "no memory for a slice");
    }
    if (rc < 0) {
        assay_loaded_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

void assay_loaded_close(struct assay_loaded *l)
{
    if (l == NULL)
        return;
    assay_plan_free(l->plan);
    assay_budget_give(l->blobs, l->plan_charge);
    if (l->given != NULL && l->expect != NULL)
        assay_loaded_drop_given(l);
    assay_free(l->given);
    assay_free(l->expect);
    if (l->slice != NULL)
        pin_all(l, -1);
    assay_slice_free(l->slice);
    assay_budget_give(l->blobs, l->slice_charge);
    assay_free(l);
}

static int begin_given(struct assay_loaded *l,
                       const struct assay_msg_run_tensor *t,
                       struct assay_err *err)
{
    const struct assay_tensor *want = &l->slice->tensors[t->tensor];
    struct assay_given *g = &l->given[t->tensor];
    size_t elements, bytes;
    int rc = assay_tensor_count(want, &elements, &bytes, err);

    if (rc < 0)
        return rc;
    if (bytes != t->total)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s' was given %" PRIu64
                          " bytes, its shape and type need %zu",
                          want->name, t->total, bytes);
    if (want->role == ASSAY_ROLE_CONSTANT)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s' is a constant and cannot be given",
                          want->name);
    rc = assay_budget_take(l->blobs, bytes, "input tensor", err);
    if (rc < 0)
        return rc;
    g->data = assay_alloc(bytes);
    if (g->data == NULL) {
        assay_budget_give(l->blobs, bytes);
        return assay_fail(err, ASSAY_EMEMORY,
                          "no memory for input tensor '%s' of %zu bytes",
                          want->name, bytes);
    }
    l->given_charge += bytes;
    g->bytes = bytes;
    g->received = 0;
    return 0;
}

int assay_loaded_give(struct assay_loaded *l,
                      const struct assay_msg_run_tensor *t,
                      const uint8_t *payload, uint32_t n, struct assay_err *err)
{
    struct assay_given *g;

    if (t->tensor >= l->slice->n_tensors)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor index %u is given, the slice has %u",
                          t->tensor, l->slice->n_tensors);
    g = &l->given[t->tensor];
    if (g->data == NULL) {
        int rc = begin_given(l, t, err);

        if (rc < 0)
            return rc;
    }
    if (t->total != g->bytes || t->offset != g->received)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s': chunk at %" PRIu64 " of %" PRIu64
                          ", expected at %zu of %zu",
                          l->slice->tensors[t->tensor].name, t->offset,
                          t->total, g->received, g->bytes);
    memcpy(g->data + g->received, payload, n);
    g->received += n;
    return 0;
}

static int begin_expect(struct assay_loaded *l,
                        const struct assay_msg_run_expect *e,
                        struct assay_err *err)
{
    const struct assay_tensor *want = &l->slice->tensors[e->tensor];
    struct assay_expected *x = &l->expect[e->tensor];
    size_t elements, bytes, tiles;
    int rc = assay_tensor_count(want, &elements, &bytes, err);

    if (rc < 0)
        return rc;
    if (want->role != ASSAY_ROLE_ACTIVATION)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s' is no output of a layer: nothing can be "
                          "expected of it",
                          want->name);
    tiles = assay_tiles(bytes);
    if (e->tiles != tiles)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s': %" PRIu64 " digests are expected to "
                          "come, its %zu bytes have %zu tiles",
                          want->name, e->tiles, bytes, tiles);
    bytes = tiles * ASSAY_TILE_DIGEST;
    rc = assay_budget_take(l->blobs, bytes, "list of expected digests", err);
    if (rc < 0)
        return rc;
    x->digests = assay_alloc(bytes);
    if (x->digests == NULL) {
        assay_budget_give(l->blobs, bytes);
        return assay_fail(err, ASSAY_EMEMORY,
                          "no memory for the digests of tensor '%s'",
                          want->name);
    }
    l->given_charge += bytes;
    x->tiles = tiles;
    x->received = 0;
    return 0;
}

int assay_loaded_expect(struct assay_loaded *l,
                        const struct assay_msg_run_expect *e,
                        struct assay_err *err)
{
    struct assay_expected *x;

    if (e->tensor >= l->slice->n_tensors)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor index %u is expected, the slice has %u",
                          e->tensor, l->slice->n_tensors);
    x = &l->expect[e->tensor];
    if (x->digests == NULL) {
        int rc = begin_expect(l, e, err);

        if (rc < 0)
            return rc;
    }
    if (e->tiles != x->tiles || e->first != x->received)
        return assay_fail(err, ASSAY_ERANGE,
                          "tensor '%s': digests from tile %" PRIu64
                          " of %" PRIu64 " on, expected from %" PRIu64
                          " of %" PRIu64,
                          l->slice->tensors[e->tensor].name, e->first, e->tiles,
                          x->received, x->tiles);
    /* The codec has seen that they end within their total. */
    memcpy(x->digests + x->received * ASSAY_TILE_DIGEST, e->digests,
           e->n * ASSAY_TILE_DIGEST);
    x->received += e->n;
    return 0;
}

int assay_loaded_check_given(const struct assay_loaded *l,
                             struct assay_err *err)
{
    for (uint32_t i = 0; i < l->slice->n_tensors; i++) {
        const struct assay_given *g = &l->given[i];

        if (g->data != NULL && g->received != g->bytes)
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%s' is cut: %zu of %zu bytes were "
                              "given",
                              l->slice->tensors[i].name, g->received, g->bytes);
        if (l->expect[i].received != l->expect[i].tiles)
            return assay_fail(err, ASSAY_ERANGE,
                              "tensor '%s': %" PRIu64 " of %" PRIu64
                              " digests came",
                              l->slice->tensors[i].name, l->expect[i].received,
                              l->expect[i].tiles);
    }
    return 0;
}

void assay_loaded_drop_given(struct assay_loaded *l)
{
    for (uint32_t i = 0; l->slice != NULL && i < l->slice->n_tensors; i++) {
        assay_free(l->given[i].data);
        l->given[i] = (struct assay_given){0};
        assay_free(l->expect[i].digests);
        l->expect[i] = (struct assay_expected){0};
    }
    assay_budget_give(l->blobs, l->given_charge);
    l->given_charge = 0;
}
