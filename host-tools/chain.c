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

/* Is what a column gave the earlier run's in every layer, where the reference
 * is another one now? Equal outputs of an equal reference say nothing. */
static bool same_content(struct assay_stale *out,
                         const struct assay_chain_run *before,
                         const struct assay_chain_run *now, unsigned side)
{
    out->layers = out->moved = 0;
    out->side = side;
    for (uint32_t i = 0; i < now->layers.n; i++) {
        const struct assay_chain_layer *a = &now->layers.v[i];
        const struct assay_chain_layer *b;

        if (a->got[side][0] == '\0')
            continue;
        b = find(&before->layers, a->name, i);
        if (b == NULL || b->got[side][0] == '\0')
            continue;
        if (strcmp(a->got[side], b->got[side]) != 0)
            return false;
        out->layers++;
        out->moved += a->expected[0] != '\0' && b->expected[0] != '\0' &&
                      strcmp(a->expected, b->expected) != 0;
    }
    return out->moved > 0;
}

void assay_chain_compare(struct assay_stale *out,
                         const struct assay_chain_run *before,
                         const struct assay_chain_run *now, bool fix)
{
    const uint32_t model = 1u << ASSAY_CHAIN_FLOAT | 1u << ASSAY_CHAIN_FIXED;
    const uint32_t compiled = 1u << ASSAY_CHAIN_COMPILED;
    const uint32_t columns = 1u << ASSAY_CHAIN_SIM | 1u << ASSAY_CHAIN_BPU;
    bool came_or_went = false;

    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        const struct assay_chain_item *a = &before->chain->v[i];
        const struct assay_chain_item *b = &now->chain->v[i];

        came_or_went = came_or_went || a->here != b->here;
        if (!a->here || !b->here)
            continue;
        if (equal(a->sha256, b->sha256))
            out->unchanged |= 1u << i;
        else
            out->changed |= 1u << i;
    }
    if (now->matched)
        return;
    if ((out->changed & model) != 0 && (out->unchanged & compiled) != 0) {
        out->kind = ASSAY_STALE_COMPILED;
        return;
    }
    if ((out->changed & ~columns) != 0) {
        for (unsigned side = 2; side-- > 0;) {
            if (same_content(out, before, now, side)) {
                out->kind = ASSAY_STALE_CONTENT;
                return;
            }
        }
    }
    out->layers = out->moved = out->side = 0;
    if ((out->changed & 1u << ASSAY_CHAIN_GOLDEN) != 0 &&
        (out->unchanged & compiled) != 0 &&
        (out->unchanged & 1u << ASSAY_CHAIN_INPUTS) != 0)
        out->kind = ASSAY_STALE_GOLDEN;
    else if (fix && out->changed == 0 && !came_or_went && out->unchanged != 0 &&
             !before->matched)
        out->kind = ASSAY_STALE_NOTHING;
}

static const char *spoken(enum assay_chain_role role)
{
    static const char *const names[] = {
        "float model", "quantized model",     "compiled file",   "inputs",
        "reference",   "simulator's results", "board's results",
    };

    return names[role];
}

const char *assay_chain_changes(const struct assay_chain *before,
                                const struct assay_chain *now, uint32_t roles,
                                char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < ASSAY_CHAIN_COUNT; i++) {
        if ((roles & 1u << i) == 0 || at + 80 > cap)
            continue;
        at += (size_t)snprintf(
            out + at, cap - at, "%s%s %.*s -> %.*s", at > 0 ? ", " : "",
            spoken((enum assay_chain_role)i), ASSAY_CHAIN_SHORT,
            before->v[i].sha256, ASSAY_CHAIN_SHORT, now->v[i].sha256);
    }
    return out;
}
