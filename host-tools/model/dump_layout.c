/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/dump_layout.h"

#include <stdio.h>
#include <string.h>

enum rule {
    DENSE,
    LAST,       /* the last axis to 16, 32, 64, 128 or 256k bytes */
    IMAGE,      /* C <= 4: H to 2, W to 32 */
    IMAGE_FOUR, /* and C to 4 */
    ROW,        /* the last axis to `align` bytes */
    ROW_HEIGHT, /* and the axis in front of it to 32 elements */
    PAIR,       /* the last two axes together to `align` bytes */
};
struct arrangement {
    enum rule rule;
    size_t align;
    bool bayes, nash, nash_p; /* marches that have it */
};
static const struct arrangement arrangements[] = {
    {DENSE, 1, true, true, true},         {LAST, 0, true, false, false},
    {IMAGE, 0, true, false, false},       {IMAGE_FOUR, 0, true, false, false},
    {ROW, 32, false, true, false},        {PAIR, 32, false, true, false},
    {ROW_HEIGHT, 32, false, true, false}, {ROW, 64, false, false, true},
    {PAIR, 64, false, false, true},       {ROW_HEIGHT, 64, false, false, true},
    {ROW, 16, false, false, false},       {ROW, 128, false, false, false},
    {ROW, 256, false, false, false},      {PAIR, 16, false, false, false},
    {PAIR, 128, false, false, false},     {PAIR, 256, false, false, false},
};
#define N_ARRANGEMENTS (sizeof(arrangements) / sizeof(arrangements[0]))

enum assay_dump_march assay_dump_march(const char *march)
{
    if (strncmp(march, "bayes", 5) == 0 || strncmp(march, "bernoulli", 9) == 0)
        return ASSAY_DUMP_BAYES;
    if (strncmp(march, "nash-p", 6) == 0 || strncmp(march, "nash-h", 6) == 0)
        return ASSAY_DUMP_NASH_P;
    return strncmp(march, "nash", 4) == 0 ? ASSAY_DUMP_NASH : ASSAY_DUMP_ANY;
}

static bool of_march(const struct arrangement *a, enum assay_dump_march march)
{
    switch (march) {
    case ASSAY_DUMP_BAYES: return a->bayes;
    case ASSAY_DUMP_NASH: return a->nash;
    case ASSAY_DUMP_NASH_P: return a->nash_p;
    default: return a->bayes || a->nash || a->nash_p;
    }
}

/* Rounds up; false: too large. */
static bool up(size_t *v, size_t to)
{
    size_t over = *v % to;

    return over == 0 || !__builtin_add_overflow(*v, to - over, v);
}

/* 256k + {0, 16, 32, 64, 128}. */
static bool up_channels(size_t *v)
{
    size_t over = *v % 256, base = *v - over, to = 256;

    if (over == 0)
        return true;
    for (size_t step = 16; step <= 128; step *= 2) {
        if (over <= step) {
            to = step;
            break;
        }
    }
    return !__builtin_add_overflow(base, to, v);
}

/* The layout's extents in its own order become strides. */
struct extents {
    size_t n[ASSAY_MAX_RANK]; /* elements, in the file's order */
    size_t row, pair;         /* bytes of the last axis, of the last two; */
                              /* 0: as the elements say */
};

static bool extents_of(struct extents *e, const struct assay_dump_layout *l,
                       const struct arrangement *a)
{
    uint32_t last = l->rank - 1;

    memset(e, 0, sizeof(*e));
    for (uint32_t i = 0; i < l->rank; i++)
        e->n[i] = (size_t)l->dims[l->order[i]];
    if (a->rule == DENSE)
        return true;
    if (l->rank == 0 || __builtin_mul_overflow(e->n[last], l->unit, &e->row))
        return false;
    switch (a->rule) {
    case LAST: return up_channels(&e->row);
    case IMAGE:
    case IMAGE_FOUR:
        if (l->rank != 4 || e->n[3] > 4)
            return false;
        if (a->rule == IMAGE_FOUR)
            e->row = 4 * l->unit;
        return up(&e->n[1], 2) && up(&e->n[2], 32);
    case ROW_HEIGHT:
        if (l->rank < 2 || !up(&e->n[last - 1], 32))
            return false;
        return up(&e->row, a->align);
    case ROW: return up(&e->row, a->align);
    default:
        return l->rank >= 2 &&
               !__builtin_mul_overflow(e->row, e->n[last - 1], &e->pair) &&
               up(&e->pair, a->align);
    }
}

static bool strides_of(struct assay_dump_layout *l, const struct extents *e)
{
    size_t at = l->unit;

    for (uint32_t i = l->rank; i-- > 0;) {
        l->stride[l->order[i]] = at;
        if (__builtin_mul_overflow(at, e->n[i], &at))
            return false;
        if (i + 1 == l->rank && e->row > 0)
            at = e->row;
        if (i + 2 == l->rank && e->pair > 0)
            at = e->pair;
    }
    l->bytes = at;
    return true;
}

static const char *order_name(unsigned order, const struct assay_tensor *t)
{
    if (order == ASSAY_DUMP_STORED)
        return t->axes[0] != '\0' ? t->axes : "stored order";
    return order == ASSAY_DUMP_NCHW ? "NCHW" : "the model's order";
}

static void describe(struct assay_dump_layout *l, const struct arrangement *a,
                     const char *order)
{
    char text[64] = "dense";

    switch (a->rule) {
    case DENSE: break;
    case LAST:
        snprintf(text, sizeof(text), "last axis padded to %zu bytes",
                 l->stride[l->order[l->rank >= 2 ? l->rank - 2 : 0]]);
        break;
    case IMAGE: snprintf(text, sizeof(text), "H to 2, W to 32"); break;
    case IMAGE_FOUR:
        snprintf(text, sizeof(text), "H to 2, W to 32, C to 4");
        break;
    case ROW:
        snprintf(text, sizeof(text), "last axis to %zu bytes", a->align);
        break;
    case ROW_HEIGHT:
        snprintf(text, sizeof(text),
                 "last axis to %zu bytes, the one before to 32", a->align);
        break;
    default:
        snprintf(text, sizeof(text), "last two axes to %zu bytes", a->align);
    }
    snprintf(l->text, sizeof(l->text), "%s, %s", order, text);
}

/* The source's axes as the file has them; false: no such order. */
static bool axes_of(struct assay_dump_layout *l, const struct assay_tensor *t,
                    unsigned order)
{
    static const uint8_t nchw[4] = {0, 3, 1, 2};

    l->rank = t->rank;
    assay_tensor_source_dims(t, l->dims);
    for (uint32_t i = 0; i < t->rank; i++)
        l->order[i] = (uint8_t)i;
    if (order == ASSAY_DUMP_STORED)
        memcpy(l->order, t->perm, t->rank);
    if (order == ASSAY_DUMP_NCHW && t->rank != 4)
        return false;
    if (order == ASSAY_DUMP_NCHW)
        memcpy(l->order, nchw, sizeof(nchw));
    return true;
}

static bool same(const struct assay_dump_layout *a,
                 const struct assay_dump_layout *b)
{
    return a->bytes == b->bytes &&
           memcmp(a->stride, b->stride, sizeof(a->stride)) == 0;
}

/* Has a file of `bytes` this layout, maybe with a tail up to a power of two? */
static bool has_size(const struct assay_dump_layout *l, size_t bytes, bool tail)
{
    size_t whole = l->bytes;

    if (!tail || l->bytes >= bytes)
        return l->bytes == bytes;
    for (size_t to = 16; to <= 4096; to *= 2) {
        whole = l->bytes;
        if (up(&whole, to) && whole == bytes)
            return true;
    }
    return false;
}

static size_t add_order(struct assay_dump_layout *out, size_t n,
                        const struct assay_tensor *t, size_t unit,
                        unsigned order, enum assay_dump_march march,
                        bool others, size_t bytes, bool tail)
{
    struct assay_dump_layout l = {.unit = unit};
    struct extents e;

    if (!axes_of(&l, t, order))
        return n;
    for (size_t i = 0; i < N_ARRANGEMENTS && n < ASSAY_DUMP_MAX_LAYOUTS; i++) {
        bool known = false;

        if (of_march(&arrangements[i], march) == others ||
            !extents_of(&e, &l, &arrangements[i]) || !strides_of(&l, &e) ||
            !has_size(&l, bytes, tail))
            continue;
        for (size_t k = 0; k < n && !known; k++)
            known = same(&out[k], &l);
        if (known)
            continue;
        describe(&l, &arrangements[i], order_name(order, t));
        out[n++] = l;
    }
    return n;
}

size_t assay_dump_layouts(struct assay_dump_layout *out,
                          const struct assay_tensor *t, size_t unit,
                          unsigned orders, enum assay_dump_march march,
                          size_t bytes)
{
    size_t n = 0;

    /* What the march has, then what others have; a tail only then. */
    for (unsigned pass = 0; pass < 4 && n == 0; pass++) {
        for (unsigned order = 1; order <= ASSAY_DUMP_NCHW; order *= 2)
            if ((orders & order) != 0)
                n = add_order(out, n, t, unit, order, march, (pass & 1) != 0,
                              bytes, pass >= 2);
    }
    return n;
}

bool assay_dump_layout_given(struct assay_dump_layout *out,
                             const struct assay_tensor *t, size_t unit,
                             uint32_t rank, const int64_t *valid,
                             const int64_t *stride, size_t file_bytes)
{
    struct assay_dump_layout l = {.unit = unit, .rank = rank};
    size_t end = unit;
    int64_t own[ASSAY_MAX_RANK] = {0};
    bool turned = false;

    assay_tensor_source_dims(t, own);
    if (rank != t->rank)
        return false;
    memcpy(l.dims, own, rank * sizeof(*own));
    for (uint32_t i = 0; i < rank; i++)
        l.order[i] = (uint8_t)i;
    if (memcmp(valid, own, rank * sizeof(*own)) != 0)
        turned = true;
    if (turned && rank == 4 && t->perm[1] != 1)
        memcpy(l.order, t->perm, rank);
    else if (turned && rank == 4)
        memcpy(l.order, (const uint8_t[4]){0, 3, 1, 2}, 4);
    for (uint32_t i = 0; i < rank; i++) {
        size_t room;

        if (valid[i] != own[l.order[i]] || stride[i] < (int64_t)unit ||
            __builtin_mul_overflow((size_t)stride[i], (size_t)(valid[i] - 1),
                                   &room) ||
            __builtin_add_overflow(end, room, &end))
            return false;
        l.stride[l.order[i]] = (size_t)stride[i];
    }
    l.bytes = end;
    snprintf(l.text, sizeof(l.text), "strides of model_info");
    *out = l;
    return end <= file_bytes;
}

bool assay_dump_layout_ends(const struct assay_dump_layout *l,
                            size_t file_bytes)
{
    struct assay_dump_layout whole = *l;

    for (uint32_t i = 0; i < l->rank; i++) {
        size_t all;

        if (__builtin_mul_overflow(l->stride[i], (size_t)l->dims[i], &all))
            return false;
        whole.bytes = all > whole.bytes ? all : whole.bytes;
    }
    return file_bytes >= l->bytes &&
           (file_bytes <= whole.bytes || has_size(&whole, file_bytes, true));
}

size_t assay_dump_dense_bytes(const struct assay_dump_layout *l)
{
    size_t n = l->unit;

    for (uint32_t i = 0; i < l->rank; i++)
        n *= (size_t)l->dims[i];
    return n;
}

/* Elements with the axes of `order` outermost first. */
static void strip(const struct assay_dump_layout *l, const uint8_t *order,
                  const uint8_t *file, uint8_t *dst)
{
    size_t count = assay_dump_dense_bytes(l) / l->unit;
    int64_t at[ASSAY_MAX_RANK] = {0};
    size_t from = 0;

    for (size_t k = 0; k < count; k++) {
        memcpy(dst + k * l->unit, file + from, l->unit);
        for (uint32_t i = l->rank; i-- > 0;) {
            uint8_t axis = order[i];

            from += l->stride[axis];
            if (++at[axis] < l->dims[axis])
                break;
            from -= l->stride[axis] * (size_t)l->dims[axis];
            at[axis] = 0;
        }
    }
}

void assay_dump_strip(const struct assay_dump_layout *l, const uint8_t *file,
                      uint8_t *dst)
{
    static const uint8_t own[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

    _Static_assert(sizeof(own) >= ASSAY_MAX_RANK, "an axis each");
    strip(l, own, file, dst);
}

void assay_dump_strip_file_order(const struct assay_dump_layout *l,
                                 const uint8_t *file, uint8_t *dst)
{
    strip(l, l->order, file, dst);
}

static size_t non_zero(const uint8_t *p, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        k += p[i] != 0;
    return k;
}

bool assay_dump_padding_zero(const struct assay_dump_layout *l,
                             const uint8_t *file, size_t bytes,
                             const uint8_t *dense)
{
    return non_zero(file, bytes) == non_zero(dense, assay_dump_dense_bytes(l));
}
