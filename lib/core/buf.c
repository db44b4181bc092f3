/* SPDX-License-Identifier: Apache-2.0 */
/* Checked sizes, the allocator with its hook, the buffer and the arena. */
#include "lib/core/buf.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/err.h"

#define FIRST_BLOCK ((size_t)4096)
#define LARGEST_BLOCK ((size_t)1 << 20)

void *(*assay_alloc_hook)(void *p, size_t n);

bool assay_mul_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

bool assay_add_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* n == 0 is an allocation of one byte: NULL means out of memory only. No
 * object is larger than PTRDIFF_MAX. */
void *assay_alloc(size_t n)
{
    if (n > PTRDIFF_MAX)
        return NULL;
    if (n == 0)
        n = 1;
    return assay_alloc_hook ? assay_alloc_hook(NULL, n) : malloc(n);
}

void *assay_calloc(size_t count, size_t size)
{
    size_t n;
    if (!assay_mul_size(count, size, &n) || n > PTRDIFF_MAX)
        return NULL;
    if (!assay_alloc_hook)
        return n ? calloc(count, size) : calloc(1, 1);
    void *p = assay_alloc(n);
    if (p)
        memset(p, 0, n);
    return p;
}

void *assay_realloc(void *p, size_t n)
{
    if (n > PTRDIFF_MAX)
        return NULL;
    if (n == 0)
        n = 1;
    return assay_alloc_hook ? assay_alloc_hook(p, n) : realloc(p, n);
}

void assay_free(void *p)
{
    if (!p)
        return;
    if (assay_alloc_hook)
        assay_alloc_hook(p, 0);
    else
        free(p);
}

void assay_buf_init(struct assay_buf *b)
{
    *b = (struct assay_buf){0};
}

void assay_buf_close(struct assay_buf *b)
{
    if (!b)
        return;
    assay_free(b->data);
    *b = (struct assay_buf){0};
}

int assay_buf_reserve(struct assay_buf *b, size_t extra)
{
    size_t need, cap = b->cap ? b->cap : 64;
    if (!assay_add_size(b->len, extra, &need))
        return ASSAY_EMEMORY;
    if (need <= b->cap)
        return 0;
    while (cap < need)
        if (!assay_mul_size(cap, 2, &cap))
            cap = need;
    uint8_t *data = assay_realloc(b->data, cap);
    if (!data)
        return ASSAY_EMEMORY;
    b->data = data;
    b->cap = cap;
    return 0;
}

int assay_buf_append(struct assay_buf *b, const void *data, size_t n)
{
    int rc = assay_buf_reserve(b, n);
    if (rc < 0 || n == 0)
        return rc;
    memcpy(b->data + b->len, data, n);
    b->len += n;
    return 0;
}

void assay_buf_consume(struct assay_buf *b, size_t n)
{
    if (n >= b->len) {
        b->len = 0;
        return;
    }
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->data, b->data + n, b->len);
}

/* Blocks grow, so that small arenas are small and large ones are few. */
struct block {
    struct block *next;
    size_t used, cap; /* of the bytes behind this header */
};
_Static_assert(sizeof(struct block) <= 32, "the header takes 32 bytes");
#define HEADER ((size_t)32)

struct assay_arena {
    struct block *head; /* allocated from; older blocks behind it */
    size_t next_cap;
    size_t bytes; /* of all blocks */
};

struct assay_arena *assay_arena_new(void)
{
    struct assay_arena *a = assay_calloc(1, sizeof(*a));
    if (a)
        a->next_cap = FIRST_BLOCK;
    return a;
}

void assay_arena_free(struct assay_arena *a)
{
    if (!a)
        return;
    for (struct block *b = a->head; b;) {
        struct block *next = b->next;
        assay_free(b);
        b = next;
    }
    assay_free(a);
}

size_t assay_arena_bytes(const struct assay_arena *a)
{
    return a->bytes;
}

static struct block *new_block(struct assay_arena *a, size_t cap)
{
    size_t total;
    if (!assay_add_size(HEADER, cap, &total))
        return NULL;
    struct block *b = assay_alloc(total);
    if (!b)
        return NULL;
    *b = (struct block){.cap = cap};
    a->bytes += total;
    return b;
}

/* n bytes, not zeroed. */
static void *take(struct assay_arena *a, size_t n)
{
    size_t need;
    if (!assay_add_size(n, 15, &need))
        return NULL;
    need = need < 16 ? 16 : need & ~(size_t)15;
    struct block *b = a->head;
    if (!b || b->cap - b->used < need) {
        bool own = need > a->next_cap / 2;
        b = new_block(a, own ? need : a->next_cap);
        if (!b)
            return NULL;
        if (own && a->head) {
            /* A large piece has a block of its own behind the head, so the
             * head's rest stays in use. */
            b->next = a->head->next;
            a->head->next = b;
        } else {
            b->next = a->head;
            a->head = b;
        }
        if (!own && a->next_cap < LARGEST_BLOCK)
            a->next_cap *= 2;
    }
    void *p = (char *)b + HEADER + b->used;
    b->used += need;
    return p;
}

void *assay_arena_alloc(struct assay_arena *a, size_t n)
{
    void *p = take(a, n);
    if (p)
        memset(p, 0, n);
    return p;
}

void *assay_arena_array(struct assay_arena *a, size_t count, size_t size)
{
    size_t n;
    return assay_mul_size(count, size, &n) ? assay_arena_alloc(a, n) : NULL;
}

void *assay_arena_copy(struct assay_arena *a, const void *p, size_t n)
{
    void *copy = take(a, n);
    if (copy && n)
        memcpy(copy, p, n);
    return copy;
}

/* n bytes of s and a NUL. */
char *assay_arena_str(struct assay_arena *a, const char *s, size_t n)
{
    size_t size;
    if (!assay_add_size(n, 1, &size))
        return NULL;
    char *copy = take(a, size);
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}
