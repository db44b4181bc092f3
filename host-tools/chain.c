/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/chain.h"

#include <stdio.h>
#include <string.h>

const char *assay_chain_role_name(enum assay_chain_role role)
{
    static const char *const names[] = {
        "float-model", "model", "compiled", "inputs", "golden", "sim", "bpu",
    };

    return (unsigned)role < ASSAY_CHAIN_COUNT ? names[role] : "?";
}

static bool equal(const char *a, const char *b)
{
    return a[0] != '\0' && strcmp(a, b) == 0;
}

static const struct assay_chain_layer *find(const struct assay_chain_layers *l,
                                            const char *name, uint32_t hint)
{
    /* The same model has them in the same order. */
    if (hint < l->n && strcmp(l->v[hint].name, name) == 0)
        return &l->v[hint];
    for (uint32_t i = 0; i < l->n; i++) {
        if (strcmp(l->v[i].name, name) == 0)
            return &l->v[i];
    }
    return NULL;
}

/* ---- what was there when -------------------------------------------------- */

static void snapshot(struct assay_chain_made *out,
                     const struct assay_chain_run *run)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->started, sizeof(out->started), "%s", run->started);
    for (unsigned i = 0; i <= ASSAY_CHAIN_GOLDEN; i++) {
        if (i != ASSAY_CHAIN_COMPILED && run->chain->v[i].here)
            memcpy(out->sha256[i], run->chain->v[i].sha256,
                   sizeof(out->sha256[i]));
    }
}

/* The earlier run's bits in every layer that both have, of at least one. */
static bool same_bits(const struct assay_chain_run *before,
                      const struct assay_chain_run *now, unsigned side,
                      uint32_t *layers, uint32_t *moved)
{
    *layers = *moved = 0;
    for (uint32_t i = 0; i < now->layers.n; i++) {
        const struct assay_chain_layer *a = &now->layers.v[i], *b;

        if (a->got[side][0] == '\0')
            continue;
        b = find(&before->layers, a->name, i);
        if (b == NULL || b->got[side][0] == '\0')
            continue;
        if (strcmp(a->got[side], b->got[side]) != 0)
            return false;
        (*layers)++;
        *moved += a->expected[0] != '\0' && a->then[side][0] != '\0' &&
                  strcmp(a->expected, a->then[side]) != 0;
    }
    return *layers > 0;
}

static bool same_item(const struct assay_chain_run *before,
                      const struct assay_chain_run *now, unsigned role)
{
    const struct assay_chain_item *a = &before->chain->v[role];
    const struct assay_chain_item *b = &now->chain->v[role];
    uint32_t layers, moved;

    if (!a->here || !b->here)
        return false;
    return equal(a->sha256, b->sha256) ||
           (role != ASSAY_CHAIN_COMPILED &&
            same_bits(before, now, role - ASSAY_CHAIN_SIM, &layers, &moved));
}

static void inherit_layers(struct assay_chain_run *now,
                           const struct assay_chain_run *before)
{
    for (uint32_t i = 0; i < now->layers.n; i++) {
        struct assay_chain_layer *a = &now->layers.v[i];
        const struct assay_chain_layer *b =
            before != NULL ? find(&before->layers, a->name, i) : NULL;

        for (unsigned side = 0; side < 2; side++) {
            bool same = b != NULL && equal(a->got[side], b->got[side]);
            const char *then = !same                      ? a->expected
                               : b->then[side][0] != '\0' ? b->then[side]
                                                          : b->expected;

            memcpy(a->then[side], then, sizeof(a->then[side]));
        }
    }
}

void assay_chain_inherit(struct assay_chain_run *now,
                         const struct assay_chain_run *before)
{
    static const unsigned roles[] = {ASSAY_CHAIN_COMPILED, ASSAY_CHAIN_SIM,
                                     ASSAY_CHAIN_BPU};

    if (now->matched)
        before = NULL; /* it is as good as made of what is here now */
    inherit_layers(now, before);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        struct assay_chain_item *k = &now->chain->v[roles[i]];

        if (!k->here)
            continue;
        if (before == NULL || !same_item(before, now, roles[i]))
            snapshot(&k->made, now);
        else if (before->chain->v[roles[i]].made.started[0] != '\0')
            k->made = before->chain->v[roles[i]].made;
        else
            snapshot(&k->made, before);
    }
}

/* ---- what is stale ---------------------------------------------------------- */

/* Roles that are others now than when this was made; bit a role. */
static uint32_t since(const struct assay_chain_made *made,
                      const struct assay_chain *now)
{
    uint32_t roles = 0;

    for (unsigned i = 0; i <= ASSAY_CHAIN_GOLDEN; i++) {
        if (made->sha256[i][0] != '\0' && now->v[i].here &&
            strcmp(made->sha256[i], now->v[i].sha256) != 0)
            roles |= 1u << i;
    }
    return roles;
}

/* The file is the earlier run's: was the model, or the reference, another one
 * when it was seen first? */
static enum assay_stale_kind compiled_kind(const struct assay_chain *now)
{
    const uint32_t models = 1u << ASSAY_CHAIN_FLOAT | 1u << ASSAY_CHAIN_FIXED;
    const struct assay_chain_made *made = &now->v[ASSAY_CHAIN_COMPILED].made;
    uint32_t roles = since(made, now);

    if ((roles & models) != 0)
        return ASSAY_STALE_COMPILED;
    if ((roles & 1u << ASSAY_CHAIN_GOLDEN) != 0 &&
        (roles & 1u << ASSAY_CHAIN_INPUTS) == 0 &&
        made->sha256[ASSAY_CHAIN_INPUTS][0] != '\0')
        return ASSAY_STALE_GOLDEN;
    return ASSAY_STALE_NOT;
}

/* What a column gave is what it gave before in every layer, where the reference
 * is another one now, and not by an option. Equal outputs of an equal reference
 * say nothing. */
static bool same_content(struct assay_stale *out,
                         const struct assay_chain_run *before,
                         const struct assay_chain_run *now, unsigned side)
{
    const struct assay_chain_made *made =
        &now->chain->v[ASSAY_CHAIN_SIM + side].made;
    uint32_t layers, moved;

    if (!now->chain->v[ASSAY_CHAIN_SIM + side].here ||
        since(made, now->chain) == 0 ||
        !same_bits(before, now, side, &layers, &moved) || moved == 0)
        return false;
    out->kind = ASSAY_STALE_CONTENT;
    out->made = made;
    out->side = side;
    out->layers = layers;
    out->moved = moved;
    return true;
}

static bool compare_items(struct assay_stale *out,
                          const struct assay_chain *before,
                          const struct assay_chain *now)
{
    bool came_or_went = false;

    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        const struct assay_chain_item *a = &before->v[i], *b = &now->v[i];

        came_or_went = came_or_went || a->here != b->here;
        if (!a->here || !b->here)
            continue;
        if (equal(a->sha256, b->sha256))
            out->unchanged |= 1u << i;
        else
            out->changed |= 1u << i;
    }
    return came_or_went;
}

void assay_chain_compare(struct assay_stale *out,
                         const struct assay_chain_run *before,
                         const struct assay_chain_run *now, bool fix)
{
    enum assay_stale_kind kind = ASSAY_STALE_NOT;
    bool came_or_went;

    memset(out, 0, sizeof(*out));
    came_or_went = compare_items(out, before->chain, now->chain);
    if (now->matched)
        return;
    if ((out->unchanged & 1u << ASSAY_CHAIN_COMPILED) != 0)
        kind = compiled_kind(now->chain);
    if (kind != ASSAY_STALE_COMPILED && (same_content(out, before, now, 1) ||
                                         same_content(out, before, now, 0)))
        return;
    out->kind = kind;
    if (kind != ASSAY_STALE_NOT)
        out->made = &now->chain->v[ASSAY_CHAIN_COMPILED].made;
    else if (fix && out->changed == 0 && !came_or_went && out->unchanged != 0 &&
             !before->matched)
        out->kind = ASSAY_STALE_NOTHING;
}

/* ---- words ------------------------------------------------------------------- */

static const char *spoken(enum assay_chain_role role)
{
    static const char *const names[] = {
        "float model", "quantized model",     "compiled file",   "inputs",
        "reference",   "simulator's results", "board's results",
    };

    return names[role];
}

static size_t change(char *out, size_t cap, size_t at, unsigned role,
                     const char *from, const char *to)
{
    if (at + 80 > cap)
        return at;
    return at + (size_t)snprintf(
                    out + at, cap - at, "%s%s %.*s -> %.*s", at > 0 ? ", " : "",
                    spoken((enum assay_chain_role)role), ASSAY_CHAIN_SHORT,
                    from, ASSAY_CHAIN_SHORT, to);
}

const char *assay_chain_since(const struct assay_chain_made *made,
                              const struct assay_chain *now, char *out,
                              size_t cap)
{
    uint32_t roles = since(made, now);
    size_t at = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        if ((roles & 1u << i) != 0)
            at = change(out, cap, at, i, made->sha256[i], now->v[i].sha256);
    }
    return out;
}

const char *assay_chain_changes(const struct assay_chain *before,
                                const struct assay_chain *now, uint32_t roles,
                                char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        if ((roles & 1u << i) != 0)
            at = change(out, cap, at, i, before->v[i].sha256, now->v[i].sha256);
    }
    return out;
}
