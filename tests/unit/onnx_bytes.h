/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protobuf bytes field by field, so that a test can write a model that
 * no library would write. Numbers of fields: host-tools/model/onnx.proto.
 */
#ifndef ASSAY_TEST_ONNX_BYTES_H
#define ASSAY_TEST_ONNX_BYTES_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    uint8_t data[16384];
    size_t n;
};

static inline void put(struct bytes *b, const void *p, size_t n)
{
    assert(b->n + n <= sizeof(b->data));
    memcpy(b->data + b->n, p, n);
    b->n += n;
}

static inline void put_varint(struct bytes *b, uint64_t v)
{
    do {
        uint8_t c = (uint8_t)(v & 127) | (v > 127 ? 128 : 0);

        put(b, &c, 1);
        v >>= 7;
    } while (v);
}

static inline void put_int(struct bytes *b, int field, int64_t v)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)v);
}

static inline void put_raw(struct bytes *b, int field, const void *p, size_t n)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, n);
    put(b, p, n);
}

static inline void put_str(struct bytes *b, int field, const char *s)
{
    put_raw(b, field, s, strlen(s));
}

static inline void put_msg(struct bytes *b, int field, const struct bytes *m)
{
    put_raw(b, field, m->data, m->n);
}

static inline void put_float(struct bytes *b, int field, float f)
{
    put_varint(b, (uint64_t)field << 3 | 5);
    put(b, &f, 4);
}

/* Dimensions of a shape, or the elements of a list. */
struct dims {
    int n;
    int64_t d[12];
};
#define DIMS(...) \
    ((struct dims){(int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), {__VA_ARGS__}})
#define SCALAR ((struct dims){0, {0}})

/* graph.input (11), output (12), value_info (13) */
static inline void put_info(struct bytes *graph, int field, const char *name,
                            int type, struct dims d)
{
    struct bytes shape = {.n = 0}, tensor = {.n = 0}, t = {.n = 0},
                 info = {.n = 0};

    for (int i = 0; i < d.n; i++) {
        struct bytes dim = {.n = 0};

        if (d.d[i])
            put_int(&dim, 1, d.d[i]);
        put_msg(&shape, 1, &dim);
    }
    put_int(&tensor, 1, type);
    put_msg(&tensor, 2, &shape);
    put_msg(&t, 1, &tensor);
    put_str(&info, 1, name);
    put_msg(&info, 2, &t);
    put_msg(graph, field, &info);
}

static inline void put_const(struct bytes *graph, const char *name, int type,
                             struct dims d, const void *raw, size_t n)
{
    struct bytes t = {.n = 0};

    for (int i = 0; i < d.n; i++)
        put_int(&t, 1, d.d[i]);
    put_int(&t, 2, type);
    put_str(&t, 8, name);
    put_raw(&t, 9, raw, n);
    put_msg(graph, 5, &t);
}

static inline void put_scale(struct bytes *graph, const char *name, float v)
{
    put_const(graph, name, 1, SCALAR, &v, 4);
}

static inline void put_zero(struct bytes *graph, const char *name, int type,
                            int v)
{
    int8_t c = (int8_t)v;

    put_const(graph, name, type, SCALAR, &c, 1);
}

/* inputs, outputs: words parted by blanks; "-" is left out. */
static inline void put_words(struct bytes *node, int field, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");

        put_raw(node, field, words, words[0] == '-' && n == 1 ? 0 : n);
        words += n + (words[n] == ' ');
    }
}

static inline struct bytes node(const char *name, const char *domain,
                                const char *op, const char *in, const char *out)
{
    struct bytes n = {.n = 0};

    put_words(&n, 1, in);
    put_words(&n, 2, out);
    put_str(&n, 3, name);
    put_str(&n, 4, op);
    put_str(&n, 7, domain);
    return n;
}

static inline void put_ints(struct bytes *node, const char *name, struct dims d)
{
    struct bytes a = {.n = 0};

    put_str(&a, 1, name);
    for (int i = 0; i < d.n; i++)
        put_int(&a, 8, d.d[i]);
    put_int(&a, 20, 7);
    put_msg(node, 5, &a);
}

static inline void put_attr_int(struct bytes *node, const char *name, int64_t v)
{
    struct bytes a = {.n = 0};

    put_str(&a, 1, name);
    put_int(&a, 3, v);
    put_int(&a, 20, 2);
    put_msg(node, 5, &a);
}

static inline void put_attr_str(struct bytes *node, const char *name,
                                const char *v)
{
    struct bytes a = {.n = 0};

    put_str(&a, 1, name);
    put_str(&a, 4, v);
    put_int(&a, 20, 3);
    put_msg(node, 5, &a);
}

static inline struct bytes model(const struct bytes *graph, int opset)
{
    struct bytes m = {.n = 0}, set = {.n = 0};

    put_int(&m, 1, 8);
    put_msg(&m, 7, graph);
    if (opset) {
        put_str(&set, 1, "");
        put_int(&set, 2, opset);
        put_msg(&m, 8, &set);
    }
    return m;
}

#endif
