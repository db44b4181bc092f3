/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked sizes, a growing byte buffer, and a bump arena.
 * Not thread safe; each object belongs to one thread at a time.
 */
#ifndef ASSAY_CORE_BUF_H
#define ASSAY_CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b (or a + b); false and *out untouched when it overflows. */
bool assay_mul_size(size_t a, size_t b, size_t *out);
bool assay_add_size(size_t a, size_t b, size_t *out);

/* The allocator of all rooms above kernels/. Tests replace it to inject
 * failures; NULL means out of memory. */
void *assay_alloc(size_t n);
void *assay_calloc(size_t count, size_t size);
void *assay_realloc(void *p, size_t n);
void assay_free(void *p);
/* Like realloc, and n == 0 frees p. NULL: libc. Set it before the first call
 * or not at all: what one allocator gave, the other cannot free. */
extern void *(*assay_alloc_hook)(void *p, size_t n);

struct assay_buf {
    uint8_t *data; /* owned; freed by assay_buf_close */
    size_t len, cap;
};
void assay_buf_init(struct assay_buf *b);
void assay_buf_close(struct assay_buf *b); /* NULL safe, idempotent */
int assay_buf_append(struct assay_buf *b, const void *data, size_t n);
int assay_buf_reserve(struct assay_buf *b, size_t extra);
void assay_buf_consume(struct assay_buf *b, size_t n); /* drops a prefix */

/* Memory with one lifetime: everything is freed by close. 16-byte aligned. */
struct assay_arena;
struct assay_arena *assay_arena_new(void); /* NULL: out of memory */
void assay_arena_free(struct assay_arena *a);
size_t assay_arena_bytes(const struct assay_arena *a);    /* that it took */
void *assay_arena_alloc(struct assay_arena *a, size_t n); /* zeroed */
void *assay_arena_array(struct assay_arena *a, size_t count, size_t size);
void *assay_arena_copy(struct assay_arena *a, const void *p, size_t n);
char *assay_arena_str(struct assay_arena *a, const char *s, size_t n);

#endif
