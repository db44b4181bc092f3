/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that move elements: axes, strides, blocks of channels, places. */
#include <stdio.h>
#include <string.h>

#include "host-tools/output/output_private.h"

#define UNKNOWN ((struct assay_output_value){.known = false})

/* ---- axes ---------------------------------------------------------------- */

static struct assay_output_value at_affine(const struct assay_output_node *n,
                                           size_t sample, int64_t i)
{
    int64_t at = 0;

    for (uint32_t a = n->rank; a-- > 0; i /= n->dims[a])
        at += i % n->dims[a] * n->strides[a];
    return assay_output_ask_from(n, sample, at);
}

static void dense_strides(const int64_t *dims, uint32_t rank, int64_t *out)
{
    int64_t k = 1;

    for (uint32_t a = rank; a-- > 0; k *= dims[a])
        out[a] = k;
}

static void axes_text(char *out, size_t cap, const struct assay_output_node *n,
                      const uint8_t *order)
{
    char to[ASSAY_MAX_RANK + 1] = "";
    size_t at = 0;

    for (uint32_t a = 0; a < n->rank; a++)
        to[a] = n->axes[order[a]];
    if (strlen(n->axes) == n->rank && n->rank > 1) {
        snprintf(out, cap, "%s -> %s", n->axes, to);
        return;
    }
    for (uint32_t a = 0; a < n->rank && at < cap; a++)
        at += (size_t)snprintf(out + at, cap - at, "%s%d",
                               a == 0 ? "axes in the order " : " ",
                               (int)order[a]);
}

/* got has the model's axes in this order. */
static void one_order(struct assay_output_search *s,
                      const struct assay_output_node *n, const uint8_t *order)
{
    struct assay_output_node x = assay_output_on(n, at_affine);
    int64_t strides[ASSAY_MAX_RANK], dims[ASSAY_MAX_RANK];
    char text[100], back[100];

    axes_text(text, sizeof(text), n, order);
    dense_strides(n->dims, n->rank, strides);
    for (uint32_t a = 0; a < n->rank; a++) {
        x.dims[a] = n->dims[order[a]];
        x.strides[a] = strides[order[a]];
        if (n->axes[0] != '\0')
            x.axes[a] = n->axes[order[a]];
    }
    assay_output_visit(s, &x, ASSAY_OUTPUT_PERMUTED, "%s", text);
    /* Taken for data of that order and put into the model's: another map,
     * unless the axes that change places are of one size. */
    if (memcmp(x.dims, n->dims, n->rank * sizeof(n->dims[0])) == 0)
        return;
    memcpy(dims, x.dims, sizeof(dims));
    dense_strides(dims, n->rank, strides);
    x = assay_output_on(n, at_affine);
    for (uint32_t a = 0; a < n->rank; a++)
        x.strides[order[a]] = strides[a];
    snprintf(back, sizeof(back), "%s", text);
    assay_output_visit(s, &x, ASSAY_OUTPUT_PERMUTED,
                       "taken for the order behind %s and turned back", back);
}

static void orders(struct assay_output_search *s,
                   const struct assay_output_node *n, const uint8_t *moving,
                   uint32_t n_moving, uint32_t at, uint8_t *order,
                   unsigned used)
{
    if (at == n_moving) {
        bool moved = false;

        for (uint32_t k = 0; k < n_moving; k++)
            moved = moved || order[moving[k]] != moving[k];
        if (moved)
            one_order(s, n, order);
        return;
    }
    for (uint32_t k = 0; k < n_moving; k++) {
        if ((used >> k & 1) != 0)
            continue;
        order[moving[at]] = moving[k];
        orders(s, n, moving, n_moving, at + 1, order, used | 1u << k);
    }
}

/* Axes of one place stand where the usual order has them: NHWC -> NCHW is
 * said of 1x1x9x5, too. */
void assay_output_permuted(struct assay_output_search *s,
                           const struct assay_output_node *n)
{
    static const uint8_t usual[2][4] = {{0, 3, 1, 2}, {0, 2, 3, 1}};
    uint8_t moving[ASSAY_MAX_RANK], order[ASSAY_MAX_RANK];
    uint32_t n_moving = 0;

    for (uint32_t a = 0; a < n->rank; a++) {
        order[a] = (uint8_t)a;
        if (n->dims[a] > 1)
            moving[n_moving++] = (uint8_t)a;
    }
    if (n_moving < 2 || n_moving > 5)
        return;
    if (n->rank == 4 && n_moving == 2 &&
        (n->dims[1] == 1 || n->dims[2] == 1 || n->dims[3] == 1) &&
        n->dims[0] == 1) {
        /* With two axes that are longer than one there is one order. */
        bool channels_last = strcmp(n->axes, "NHWC") == 0;

        if (n->dims[channels_last ? 3 : 1] > 1) {
            one_order(s, n, usual[channels_last ? 0 : 1]);
            return;
        }
    }
    orders(s, n, moving, n_moving, 0, order, 0);
}

/* ---- strides ------------------------------------------------------------- */

/* n[0]: elements of a row, n[1]: from one row to the next. */
static struct assay_output_value at_strided(const struct assay_output_node *n,
                                            size_t sample, int64_t i)
{
    int64_t row = i / n->n[1], at = i % n->n[1];

    return at < n->n[0] ? assay_output_ask_from(n, sample, row * n->n[0] + at)
                        : UNKNOWN;
}

static struct assay_output_value at_unstrided(const struct assay_output_node *n,
                                              size_t sample, int64_t i)
{
    int64_t from = i / n->n[0] * n->n[1] + i % n->n[0];

    return from < n->from->count ? assay_output_ask_from(n, sample, from)
                                 : UNKNOWN;
}

/* Rows are n[1] apart and were read as if n[2]. */
static struct assay_output_value at_pitch(const struct assay_output_node *n,
                                          size_t sample, int64_t i)
{
    int64_t b = i / n->n[0] * n->n[2] + i % n->n[0];
    int64_t row = b / n->n[1], at = b % n->n[1];

    return at < n->n[0] && row * n->n[0] + at < n->count
               ? assay_output_ask_from(n, sample, row * n->n[0] + at)
               : UNKNOWN;
}

#define MAX_PITCHES 24

struct pitches {
    int64_t v[MAX_PITCHES];
    size_t n;
};

static void add_pitch(struct pitches *p, int64_t v, int64_t row)
{
    for (size_t k = 0; k < p->n; k++)
        if (p->v[k] == v)
            return;
    if (v > row && p->n < MAX_PITCHES)
        p->v[p->n++] = v;
}

/* How far apart rows of axes from `axis` on may be: bytes and places of the
 * axis, aligned. */
static void pitches_of(struct pitches *p, const struct assay_output_node *n,
                       uint32_t axis, int64_t row)
{
    int64_t width = (int64_t)assay_dtype_bytes(n->dtype);
    int64_t inner = row / n->dims[axis];

    p->n = 0;
    for (int64_t to = 4; to <= 256; to *= 2)
        if (to % width == 0)
            add_pitch(p, (row * width + to - 1) / to * to / width, row);
    for (int64_t to = 2; to <= 64; to *= 2)
        add_pitch(p, (n->dims[axis] + to - 1) / to * to * inner, row);
}

static void padded_rows(struct assay_output_search *s,
                        const struct assay_output_node *n, uint32_t axis,
                        int64_t row, int64_t pitch)
{
    struct assay_output_node x = assay_output_on(n, at_strided);
    int64_t width = (int64_t)assay_dtype_bytes(n->dtype);
    int64_t inner = row / n->dims[axis];

    if (pitch > (INT64_MAX >> 8) / n->count)
        return;
    x.n[0] = row;
    x.n[1] = pitch;
    x.count = n->count / row * pitch;
    x.padded = true;
    if (pitch % inner == 0) {
        x.dims[axis] = pitch / inner;
    } else {
        x.rank = axis + 1;
        x.dims[axis] = pitch;
        x.axes[0] = '\0';
    }
    assay_output_visit(s, &x, ASSAY_OUTPUT_STRIDED,
                       "rows of %lld bytes are %lld bytes apart",
                       (long long)(row * width), (long long)(pitch * width));
    x = assay_output_on(n, at_unstrided);
    x.n[0] = row;
    x.n[1] = pitch;
    assay_output_visit(s, &x, ASSAY_OUTPUT_UNSTRIDED,
                       "rows of %lld bytes are read %lld bytes apart",
                       (long long)(row * width), (long long)(pitch * width));
}

/* Two strides that marches have. */
static void two_pitches(struct assay_output_search *s,
                        const struct assay_output_node *n, int64_t row)
{
    int64_t width = (int64_t)assay_dtype_bytes(n->dtype);

    for (int64_t a = 16; a <= 64; a *= 2)
        for (int64_t b = 16; b <= 64; b *= 2) {
            struct assay_output_node x = assay_output_on(n, at_pitch);
            int64_t has = (row * width + a - 1) / a * a / width;
            int64_t read = (row * width + b - 1) / b * b / width;

            if (has == read || has == row || read == row)
                continue;
            x.n[0] = row;
            x.n[1] = has;
            x.n[2] = read;
            assay_output_visit(
                s, &x, ASSAY_OUTPUT_PITCH,
                "rows of %lld bytes are %lld bytes apart, read as %lld",
                (long long)(row * width), (long long)(has * width),
                (long long)(read * width));
        }
}

static struct assay_output_value at_packed(const struct assay_output_node *n,
                                           size_t sample, int64_t i)
{
    int64_t k = n->n[0], inner = n->n[1], channels = n->n[2], blocks = n->n[3];
    int64_t c = i % k, rest = i / k % inner;
    int64_t block = i / k / inner % blocks, outer = i / k / inner / blocks;

    c += block * k;
    if (c >= channels)
        return UNKNOWN;
    return assay_output_ask_from(n, sample,
                                 n->n[4]
                                     ? (outer * inner + rest) * channels + c
                                     : (outer * channels + c) * inner + rest);
}

/* Channels, axis 1 or the last one, in blocks of k. */
static void packed(struct assay_output_search *s,
                   const struct assay_output_node *n)
{
    if (n->rank < 3)
        return;
    for (int last = 0; last < 2; last++) {
        int64_t channels = n->dims[last ? n->rank - 1 : 1];

        for (int64_t k = 4; k <= 32; k *= 2) {
            struct assay_output_node x = assay_output_on(n, at_packed);

            if (channels < 2 || (last && channels <= k))
                continue;
            x.n[0] = k;
            x.n[1] = n->count / n->dims[0] / channels;
            x.n[2] = channels;
            x.n[3] = (channels + k - 1) / k;
            x.n[4] = last;
            x.count = n->dims[0] * x.n[1] * x.n[3] * k;
            x.padded = x.count > n->count;
            x.rank = 1;
            x.dims[0] = x.count;
            x.axes[0] = '\0';
            assay_output_visit(s, &x, ASSAY_OUTPUT_PACKED,
                               "channels (axis %d) in blocks of %d",
                               last ? (int)n->rank - 1 : 1, (int)k);
        }
    }
}

void assay_output_strided(struct assay_output_search *s,
                          const struct assay_output_node *n)
{
    int64_t row = 1, done = 1;
    struct pitches p;

    for (uint32_t a = n->rank; a-- > 1;) {
        row *= n->dims[a];
        /* One row alone has nothing behind it. */
        if (row == done || row == n->count)
            continue;
        done = row;
        pitches_of(&p, n, a, row);
        for (size_t k = 0; k < p.n; k++)
            padded_rows(s, n, a, row, p.v[k]);
        two_pitches(s, n, row);
    }
    packed(s, n);
}

/* ---- places -------------------------------------------------------------- */

static struct assay_output_value at_moved(const struct assay_output_node *n,
                                          size_t sample, int64_t i)
{
    int64_t from = i - n->n[0];

    return from >= 0 && from < n->from->count
               ? assay_output_ask_from(n, sample, from)
               : UNKNOWN;
}

static void move_by(struct assay_output_search *s,
                    const struct assay_output_node *n, int64_t by,
                    const char *what)
{
    struct assay_output_node x = assay_output_on(n, at_moved);

    if (by <= 0 || by >= n->count)
        return;
    x.n[0] = by;
    assay_output_visit(s, &x, ASSAY_OUTPUT_SHIFTED,
                       "%lld elements (%s) too early: they follow behind what "
                       "was in front",
                       (long long)by, what);
    x.n[0] = -by;
    assay_output_visit(s, &x, ASSAY_OUTPUT_SHIFTED,
                       "the first %lld elements (%s) were left out",
                       (long long)by, what);
}

void assay_output_moved(struct assay_output_search *s,
                        const struct assay_output_node *n)
{
    int64_t width = (int64_t)assay_dtype_bytes(n->dtype);
    int64_t header = assay_output_asking(s)->npy_header;
    int64_t row = n->rank > 0 ? n->dims[n->rank - 1] : 1, rows = row;
    struct assay_output_node x = assay_output_on(n, at_moved);

    if (header > 0 && header % width == 0) {
        x.n[0] = header / width;
        x.count = n->count + x.n[0];
        x.padded = true;
        assay_output_visit(s, &x, ASSAY_OUTPUT_HEADER,
                           "%lld bytes of an npy's header in front",
                           (long long)header);
    }
    move_by(s, n, 1, "one");
    if (row > 1)
        move_by(s, n, row, "a row");
    if (n->rank > 1)
        rows = row * n->dims[n->rank - 2];
    if (rows > row)
        move_by(s, n, rows, "a plane");
    for (int64_t bytes = 64; bytes <= 128; bytes += 64)
        if (bytes / width != row && bytes / width != rows)
            move_by(s, n, bytes / width,
                    bytes == 64 ? "64 bytes" : "128 bytes");
}

static struct assay_output_value at_begin(const struct assay_output_node *n,
                                          size_t sample, int64_t i)
{
    return i < n->from->count ? assay_output_ask_from(n, sample, i) : UNKNOWN;
}

void assay_output_cut(struct assay_output_search *s,
                      const struct assay_output_node *n)
{
    const struct assay_output_got *g = assay_output_asking(s)->got;
    struct assay_output_node x = assay_output_on(n, at_begin);

    x.count = assay_output_elements(g, n->dtype);
    x.cut = true;
    if (n->padded || x.count <= 0)
        return;
    if (x.count < n->count)
        assay_output_visit(s, &x, ASSAY_OUTPUT_TRUNCATED,
                           "the first %lld of %lld elements",
                           (long long)x.count, (long long)n->count);
    else if (x.count > n->count)
        assay_output_visit(s, &x, ASSAY_OUTPUT_LONGER,
                           "%lld elements, the output has %lld",
                           (long long)x.count, (long long)n->count);
}
