/* SPDX-License-Identifier: Apache-2.0 */
/* Strings once each, tables by them, and the stack for lists. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"
#include "lib/core/hash.h"

static bool grow_names(struct assay_mlir_parser *p)
{
    size_t cap = p->cap_names ? p->cap_names * 2 : 1024;
    struct assay_mlir_name *v = assay_calloc(cap, sizeof(*v));

    if (!v)
        return assay_mlir_no_memory(p);
    for (size_t i = 0; i < p->cap_names; i++) {
        size_t k = p->names[i].hash & (cap - 1);

        if (!p->names[i].s)
            continue;
        while (v[k].s)
            k = (k + 1) & (cap - 1);
        v[k] = p->names[i];
    }
    assay_free(p->names);
    p->names = v;
    p->cap_names = cap;
    return true;
}

const char *assay_mlir_intern(struct assay_mlir_parser *p, const char *s,
                              size_t n)
{
    uint32_t hash = (uint32_t)assay_xxh64(s, n);
    struct assay_mlir_name *e;
    size_t k;

    if (p->n_names * 2 >= p->cap_names && !grow_names(p))
        return NULL;
    for (k = hash & (p->cap_names - 1); (e = &p->names[k])->s;
         k = (k + 1) & (p->cap_names - 1))
        if (e->hash == hash && e->n == n && !memcmp(e->s, s, n))
            return e->s;
    e->s = assay_arena_str(p->arena, s, n);
    if (!e->s) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    e->n = n;
    e->hash = hash;
    p->n_names++;
    return e->s;
}

static size_t slot_of(const struct assay_mlir_map *m, const char *key,
                      uint64_t number)
{
    uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
    size_t k;

    h = (h ^ h >> 29 ^ number) * UINT64_C(0xBF58476D1CE4E5B9);
    k = (size_t)(h >> 32) & (m->cap - 1);
    while (m->pairs[k].key &&
           (m->pairs[k].key != key || m->pairs[k].number != number))
        k = (k + 1) & (m->cap - 1);
    return k;
}

void *assay_mlir_map_get(const struct assay_mlir_map *m, const char *key,
                         uint64_t number)
{
    return m->cap ? m->pairs[slot_of(m, key, number)].value : NULL;
}

bool assay_mlir_map_put(struct assay_mlir_parser *p, struct assay_mlir_map *m,
                        const char *key, uint64_t number, void *value)
{
    size_t k;

    if (m->n * 2 >= m->cap) {
        struct assay_mlir_map big = {.n = m->n,
                                     .cap = m->cap ? m->cap * 2 : 64};

        big.pairs = assay_calloc(big.cap, sizeof(*big.pairs));
        if (!big.pairs)
            return assay_mlir_no_memory(p);
        for (size_t i = 0; i < m->cap; i++)
            if (m->pairs[i].key)
                big.pairs[slot_of(&big, m->pairs[i].key, m->pairs[i].number)] =
                    m->pairs[i];
        assay_free(m->pairs);
        *m = big;
    }
    k = slot_of(m, key, number);
    if (!m->pairs[k].key)
        m->n++;
    m->pairs[k] = (struct assay_mlir_pair){key, number, value};
    return true;
}

bool assay_mlir_push(struct assay_mlir_parser *p, const void *item)
{
    if (p->n_stack == p->cap_stack) {
        size_t cap = p->cap_stack ? p->cap_stack * 2 : 256, size;
        const void **v = NULL;

        if (assay_mul_size(cap, sizeof(*v), &size))
            v = assay_realloc(p->stack, size);
        if (!v)
            return assay_mlir_no_memory(p);
        p->stack = v;
        p->cap_stack = cap;
    }
    p->stack[p->n_stack++] = item;
    return true;
}

const void **assay_mlir_pop(struct assay_mlir_parser *p, size_t mark,
                            uint32_t *n)
{
    size_t count = p->n_stack - mark;
    const void **v;

    if (count > UINT32_MAX) {
        assay_mlir_fail(p, &p->at.tok, "a list of %zu items", count);
        return NULL;
    }
    v = assay_arena_copy(p->arena, p->stack ? p->stack + mark : NULL,
                         count * sizeof(*v));
    if (!v) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    p->n_stack = mark;
    *n = (uint32_t)count;
    return v;
}

void assay_mlir_parser_close(struct assay_mlir_parser *p)
{
    assay_free(p->names);
    assay_free(p->types.pairs);
    assay_free(p->attr_aliases.pairs);
    assay_free(p->type_aliases.pairs);
    assay_free(p->values.pairs);
    assay_free(p->blocks.pairs);
    assay_free(p->resources.pairs);
    assay_free(p->locs.pairs);
    assay_free(p->stack);
    assay_free(p->scope);
    assay_free(p->scope_numbers);
    assay_free(p->small_ints);
    assay_buf_close(&p->text);
}
