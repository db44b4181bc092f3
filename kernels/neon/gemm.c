/* SPDX-License-Identifier: Apache-2.0 */
/* not a kernel: the matrix product below the convolutions. */
#include "kernels/neon/gemm.h"

#include <string.h>

/* What is known of the weights at run time, in front of the packed data. */
struct packed_head {
    int32_t no_min;     /* no weight is -128 */
    int32_t any_w_zero; /* some folded weight zero point is not 0 */
    int32_t reserved[14];
};

/* Sizes that follow from the parameters. */
struct geometry {
    size_t group_c, group_oc; /* channels of a group */
    size_t group_padded;      /* group_oc rounded up to tiles */
    size_t depth, steps;
    size_t padded; /* all groups */
    size_t pixels;
    size_t block; /* pixels gathered at a time */
};

/* Panels of a block stay in half a first-level cache. */
#define BLOCK_BYTES 16384u
#define BLOCK_PIXELS 128u

static struct geometry geometry_of(const struct assay_gemm *g,
                                   const struct assay_conv2d *p)
{
    struct geometry s;
    size_t bytes;

    s.group_c = (size_t)(p->c / p->groups);
    s.group_oc = (size_t)(p->oc / p->groups);
    s.group_padded = assay_round_up(s.group_oc, g->cols);
    s.depth = (size_t)p->kh * (size_t)p->kw * s.group_c;
    s.steps = assay_round_up(s.depth * g->element, 16) / 16;
    s.padded = s.group_padded * (size_t)p->groups;
    s.pixels = (size_t)p->n * (size_t)p->oh * (size_t)p->ow;
    bytes = s.steps * 16;
    s.block = BLOCK_BYTES / bytes / g->rows * g->rows;
    if (s.block > BLOCK_PIXELS)
        s.block = BLOCK_PIXELS;
    if (s.block < g->rows)
        s.block = g->rows;
    return s;
}

bool assay_gemm_supports(const struct assay_conv2d *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8) &&
           (p->w_dtype == ASSAY_S8 || p->w_dtype == ASSAY_U8);
}

size_t assay_gemm_packed_size(const struct assay_gemm *g,
                              const struct assay_conv2d *p)
{
    struct geometry s = geometry_of(g, p);

    return sizeof(struct packed_head) +
           assay_round_up(s.padded * 2 * sizeof(int32_t), 64) +
           s.padded * s.steps * 16;
}

/* One channel: its weights into the tile, its folded bias. */
static uint32_t pack_channel(const struct assay_gemm *g,
                             const struct geometry *s, const uint8_t *w,
                             uint8_t flip, size_t column, int8_t *tile,
                             int32_t *no_min)
{
    uint32_t sum = 0;

    for (size_t k = 0; k < s->depth; k++) {
        int8_t v = (int8_t)(w[k] ^ flip);
        size_t lane = k % 16;

        if (v == -128)
            *no_min = 0;
        sum += (uint32_t)v;
        tile[k / 16 * 16 * g->cols + lane / g->quad * g->quad * g->cols +
             column * g->quad + lane % g->quad] = v;
    }
    return sum;
}

/* The same in 16 bits, without its zero point. */
static void pack_wide(const struct assay_gemm *g, const struct assay_conv2d *p,
                      const struct geometry *s, size_t o, size_t column,
                      int8_t *tile)
{
    const uint8_t *w = (const uint8_t *)p->weights + o * s->depth;
    int16_t *to = (int16_t *)(void *)tile + column * 8;

    for (size_t k = 0; k < s->depth; k++) {
        int32_t v = p->w_dtype == ASSAY_U8 ? w[k] : (int8_t)w[k];

        to[k / 8 * 8 * g->cols + k % 8] = (int16_t)(v - p->w_zero[o]);
    }
}

void assay_gemm_pack(const struct assay_gemm *g, const struct assay_conv2d *p,
                     void *packed)
{
    struct geometry s = geometry_of(g, p);
    struct packed_head *head = packed;
    int32_t *bias = (int32_t *)(void *)(head + 1);
    int32_t *w_zero = bias + s.padded;
    int8_t *tiles = (int8_t *)packed +
                    (assay_gemm_packed_size(g, p) - s.padded * s.steps * 16);
    uint8_t flip = p->w_dtype == ASSAY_U8 ? 0x80 : 0;
    int32_t x_zero = p->x_zero - (p->x_dtype == ASSAY_U8 ? 128 : 0);

    memset(packed, 0, assay_gemm_packed_size(g, p));
    head->no_min = 1;
    for (size_t o = 0; o < (size_t)p->oc; o++) {
        size_t group = o / s.group_oc, j = o % s.group_oc;
        size_t at = group * s.group_padded + j;
        int8_t *tile = tiles + at / g->cols * g->cols * s.steps * 16;
        int32_t zero = p->w_zero[o] - (flip ? 128 : 0);
        uint32_t sum;

        if (p->bias)
            bias[at] = p->bias[o];
        if (g->element == 2) {
            pack_wide(g, p, &s, o, at % g->cols, tile);
            continue;
        }
        sum = pack_channel(g, &s, (const uint8_t *)p->weights + o * s.depth,
                           flip, at % g->cols, tile, &head->no_min);
        sum -= (uint32_t)zero * (uint32_t)s.depth;
        bias[at] = (int32_t)((uint32_t)bias[at] - (uint32_t)x_zero * sum);
        w_zero[at] = zero;
        if (zero != 0)
            head->any_w_zero = 1;
    }
}

/* Scratch, in this order, each part 64-byte aligned. */
struct scratch_parts {
    size_t panels, line, sums, operands, tail, second, acc, total;
};

static struct scratch_parts parts_of(const struct assay_gemm *g,
                                     const struct geometry *s)
{
    struct scratch_parts o;

    o.panels = 0;
    o.line = o.panels + assay_round_up(s->block * s->steps * 16, 64);
    o.sums = o.line + assay_round_up(s->steps * 16 + 32, 64);
    o.operands = o.sums + assay_round_up(s->block * 4, 64);
    o.tail = o.operands + assay_round_up(ASSAY_EPILOGUE_BYTES(s->padded), 64);
    o.second = o.tail + assay_round_up(s->block * g->cols * 4, 64);
    o.acc = o.second + assay_round_up(s->block * g->cols * 4, 64);
    o.total = o.acc + assay_round_up(s->block * s->group_padded * 4, 64);
    return o;
}

size_t assay_gemm_scratch_size(const struct assay_gemm *g,
                               const struct assay_conv2d *p)
{
    struct geometry s = geometry_of(g, p);

    return parts_of(g, &s).total;
}

/* The state of one run that its steps share. */
struct run {
    const struct assay_gemm *g;
    const struct assay_conv2d *p;
    struct geometry s;
    struct assay_epilogue e;
    assay_tile_fn *tile;
    const int8_t *tiles;
    int8_t *panels;
    uint8_t *line, *tail, *second_tail, *y;
    int32_t *sums, *acc;
    size_t y_size, second_size; /* bytes of an element; 0: no second */
};

/* All full panels of a block, and a last lower one. */
static void run_panels(const struct run *r, struct assay_tile_job job, size_t n)
{
    size_t rows = r->g->rows, full = n / rows, rest = n % rows;
    assay_tile_fn *low = rest <= 4 && r->g->tile_4 ? r->g->tile_4 : r->tile;

    low = rest == 1 ? r->g->tile_1 : low;

    if (full) {
        job.panels = full;
        r->tile(&job);
        job.x += full * rows * r->s.steps * 16;
        job.y += full * rows * job.y_row;
        job.sums = job.sums ? job.sums + full * rows : NULL;
        if (job.second)
            job.second += full * rows * job.second_row;
    }
    if (rest) {
        job.panels = 1;
        low(&job);
    }
}

/* Bytes of n rows, from one distance to another. */
static void copy_rows(uint8_t *to, size_t to_row, const uint8_t *from,
                      size_t from_row, size_t bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * to_row, from + i * from_row, bytes);
}

/*
 * One tile of columns, `at` the element of its first pixel and channel. What
 * is computed goes straight to the output, except where a tile sticks out of
 * it: then through `tail`, which has room for a whole block.
 */
static void run_tile(const struct run *r, struct assay_tile_job job,
                     size_t columns, size_t n, size_t at)
{
    size_t oc = (size_t)r->p->oc, rows = r->g->rows, cols = r->g->cols;
    size_t y_size = r->y_size, second_size = r->second_size;
    size_t done = columns == cols ? n / rows * rows : 0;
    uint8_t *y = r->y + at * y_size;
    const uint8_t *second = NULL;

    if (second_size)
        second = (const uint8_t *)r->p->second + at * second_size;
    if (done) {
        job.y = y;
        job.y_row = oc * y_size;
        job.second = second;
        job.second_row = oc * second_size;
        run_panels(r, job, done);
        job.x += done * r->s.steps * 16;
        job.sums = job.sums ? job.sums + done : NULL;
    }
    if (done == n)
        return;
    if (second) {
        job.second = r->second_tail;
        job.second_row = cols * second_size;
        copy_rows(r->second_tail, job.second_row,
                  second + done * oc * second_size, oc * second_size,
                  columns * second_size, n - done);
    }
    job.y = r->tail;
    job.y_row = cols * y_size;
    run_panels(r, job, n - done);
    copy_rows(y + done * oc * y_size, oc * y_size, r->tail, job.y_row,
              columns * y_size, n - done);
}

static void run_block(const struct run *r, size_t group, size_t first, size_t n)
{
    const struct geometry *s = &r->s;
    size_t cols = r->g->cols, oc = (size_t)r->p->oc;
    size_t channel = group * s->group_padded;
    struct assay_tile_job job = {
        .steps = s->steps,
        .x = r->panels,
        .w = r->tiles + channel * s->steps * 16,
        .e = &r->e,
        .channel = channel,
        .sums = r->e.w_zero ? r->sums : NULL,
    };

    for (size_t j = 0; j < s->group_oc; j += cols) {
        size_t columns = s->group_oc - j < cols ? s->group_oc - j : cols;

        if (r->e.form == ASSAY_EPI_NONE) {
            job.y = (uint8_t *)(r->acc + j);
            job.y_row = s->group_padded * 4;
            run_panels(r, job, n);
        } else {
            run_tile(r, job, columns, n, first * oc + group * s->group_oc + j);
        }
        job.w += cols * s->steps * 16;
        job.channel += cols;
    }
    if (r->e.form == ASSAY_EPI_NONE)
        assay_interpret_rows(r->p, r->acc, s->group_padded, n,
                             group * s->group_oc, s->group_oc,
                             first * oc + group * s->group_oc, r->y);
}

void assay_gemm_run(const struct assay_gemm *g, const struct assay_conv2d *p,
                    const void *packed, const void *x, void *y, void *scratch)
{
    struct run r = {.g = g, .p = p, .s = geometry_of(g, p), .y = y};
    struct assay_conv2d image = *p; /* of bytes */
    struct scratch_parts at = parts_of(g, &r.s);
    const struct packed_head *head = packed;
    uint8_t *base = scratch;

    r.panels = (int8_t *)(base + at.panels);
    r.line = base + at.line;
    r.sums = (int32_t *)(void *)(base + at.sums);
    r.tail = base + at.tail;
    r.second_tail = base + at.second;
    r.acc = (int32_t *)(void *)(base + at.acc);
    r.tiles = (const int8_t *)packed +
              (assay_gemm_packed_size(g, p) - r.s.padded * r.s.steps * 16);
    r.tile = head->no_min ? g->tile_fast : g->tile;
    assay_epilogue_match(&r.e, p, (size_t)p->groups, r.s.group_oc,
                         r.s.group_padded, base + at.operands);
    r.y_size = assay_epi_bytes(r.e.form);
    r.second_size = r.e.second_dtype ? assay_dtype_size(r.e.second_dtype) : 0;
    r.e.bias = (const int32_t *)(const void *)(head + 1);
    r.e.w_zero = head->any_w_zero ? r.e.bias + r.s.padded : NULL;
    image.c *= (int32_t)g->element;
    for (size_t first = 0; first < r.s.pixels; first += r.s.block) {
        size_t n =
            r.s.pixels - first < r.s.block ? r.s.pixels - first : r.s.block;

        for (size_t group = 0; group < (size_t)p->groups; group++) {
            size_t rows = g->rows;

            assay_gemm_gather(&image, group, first, n, rows, x, r.line,
                              r.panels);
            if (r.e.w_zero)
                assay_gemm_sums(r.panels, n, rows, r.s.steps, r.sums);
            run_block(&r, group, first, n);
        }
    }
}
