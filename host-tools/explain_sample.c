/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are read between their pixels: resize and grid sample. */
#include <inttypes.h>
#include <stdio.h>

#include "host-tools/explain_private.h"

/* Two cells of an axis and their weights. */
struct taps {
    int64_t at[2], weight[2];
};

struct place {
    int64_t n, oy, ox;
    size_t c;
};

static struct place place_of(const struct assay_explain *e)
{
    const struct assay_tensor *y = assay_explain_output(e);
    int64_t position = (int64_t)(e->element / assay_explain_channels(y));

    return (struct place){.n = position / y->dims[2] / y->dims[1],
                          .oy = position / y->dims[2] % y->dims[1],
                          .ox = position % y->dims[2],
                          .c = assay_explain_channel(e)};
}

static size_t pixel(const struct assay_explain *e, const struct place *p,
                    int64_t row, int64_t column)
{
    const struct assay_tensor *x = assay_explain_input(e, 0);

    return (size_t)((p->n * x->dims[1] + row) * x->dims[2] + column) *
               assay_explain_channels(x) +
           p->c;
}

static void say_coordinate(struct assay_explain *e, char axis, int64_t q,
                           const char *how)
{
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(q), "    %c %s",
                      axis, how);
}

static int64_t inside(int64_t at, int64_t size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static struct taps resize_taps(struct assay_explain *e, char axis, int64_t i,
                               int64_t size)
{
    const struct assay_resize_params *p = &assay_explain_layer(e)->p.resize;
    int64_t step = axis == 'h' ? p->step_h : p->step_w;
    int64_t start = axis == 'h' ? p->start_h : p->start_w;
    int bits = p->decimal_bits - p->weight_bits;
    int64_t q = assay_shr(i * step + start, bits, ASSAY_ROUND_FLOOR);
    int64_t one = (int64_t)1 << p->weight_bits;
    int64_t cell = assay_shr(q, p->weight_bits, ASSAY_ROUND_FLOOR);
    char how[120];

    snprintf(how, sizeof(how),
             "at (%" PRId64 " * %" PRId64 " + %" PRId64
             ") shr %d, in 1/%" PRId64,
             i, step, start, bits, one);
    say_coordinate(e, axis, q, how);
    return (struct taps){.at = {inside(cell, size), inside(cell + 1, size)},
                         .weight = {one - (q - cell * one), q - cell * one}};
}

void assay_explain_resize(struct assay_explain *e)
{
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_tensor *x = assay_explain_input(e, 0);
    const struct place p = place_of(e);
    struct taps v = resize_taps(e, 'h', p.oy, x->dims[1]);
    struct taps h = resize_taps(e, 'w', p.ox, x->dims[2]);
    int64_t sum = 0;
    char text[240];

    for (int i = 0; i < 2; i++) {
        int64_t a = assay_explain_get(e, 0, pixel(e, &p, v.at[i], h.at[0])).i;
        int64_t b = assay_explain_get(e, 0, pixel(e, &p, v.at[i], h.at[1])).i;
        int64_t mix = assay_shr(a * h.weight[0] + b * h.weight[1],
                                l->p.resize.mid_shift, ASSAY_ROUND_FLOOR);

        snprintf(text, sizeof(text),
                 "    row %" PRId64 ": ((%" PRId64 ") * (%" PRId64
                 ") + (%" PRId64 ") * (%" PRId64 ")) shr %u floor",
                 v.at[i], a, h.weight[0], b, h.weight[1],
                 (unsigned)l->p.resize.mid_shift);
        assay_explain_say_operand(e, ASSAY_VALUE_INT, assay_explain_int(mix),
                                  text);
        assay_explain_say(e, ASSAY_VALUE_INT,
                          assay_explain_int(mix * v.weight[i]),
                          "    mul %" PRId64, v.weight[i]);
        sum += mix * v.weight[i];
    }
    assay_explain_program(e, &l->out_program,
                          assay_explain_start(e, ASSAY_VALUE_INT,
                                              assay_explain_int(sum),
                                              "  sum of both rows"),
                          p.c, NULL, "  ");
}

/* ---- grid sample --------------------------------------------------------------- */

static struct taps grid_taps(struct assay_explain *e, char axis, int64_t i,
                             size_t at, int64_t size)
{
    const struct assay_grid_sample_params *p =
        &assay_explain_layer(e)->p.grid_sample;
    int64_t one = (int64_t)1 << p->coord_shift, last = (size - 1) * one;
    int64_t offset = assay_explain_get(e, 1, at).i;
    int64_t q = (p->absolute ? 0 : i * one) + offset;
    struct taps t = {{0, 0}, {1, 0}};
    char how[120];

    if (p->padding == ASSAY_GRID_BORDER)
        q = q < 0 ? 0 : q > last ? last : q;
    snprintf(how, sizeof(how),
             "at %" PRId64 " * %" PRId64 " + (%" PRId64 ")%s, in 1/%" PRId64,
             p->absolute ? 0 : i, one, offset,
             p->padding == ASSAY_GRID_BORDER ? ", in the image" : "", one);
    say_coordinate(e, axis, q, how);
    t.at[0] = assay_shr(q, p->coord_shift,
                        p->nearest ? ASSAY_ROUND_HALF_UP : ASSAY_ROUND_FLOOR);
    t.at[1] = t.at[0] + 1;
    if (!p->nearest) {
        t.weight[1] = q - t.at[0] * one;
        t.weight[0] = one - t.weight[1];
    }
    return t;
}

static int64_t grid_pixel(struct assay_explain *e, const struct place *p,
                          int64_t row, int64_t column, int64_t weight)
{
    const struct assay_tensor *x = assay_explain_input(e, 0);
    int64_t v;
    char text[160];

    if (weight == 0 || row < 0 || row >= x->dims[1] || column < 0 ||
        column >= x->dims[2])
        return 0;
    v = assay_explain_get(e, 0, pixel(e, p, row, column)).i;
    snprintf(text, sizeof(text),
             "    tap %" PRId64 ",%" PRId64 " (%" PRId64 ") * (%" PRId64 ")",
             row, column, v, weight);
    assay_explain_say_operand(e, ASSAY_VALUE_INT, assay_explain_int(v * weight),
                              text);
    return v * weight;
}

void assay_explain_grid(struct assay_explain *e)
{
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_tensor *x = assay_explain_input(e, 0);
    const struct place p = place_of(e);
    size_t pair =
        e->element / assay_explain_channels(assay_explain_output(e)) * 2;
    size_t v_at = pair + (l->p.grid_sample.xy ? 1 : 0), h_at = pair * 2 + 1;
    struct taps v, h;
    int64_t sum = 0;
    size_t taps = 0;

    h_at -= v_at;
    v = grid_taps(e, 'h', p.oy, v_at, x->dims[1]);
    h = grid_taps(e, 'w', p.ox, h_at, x->dims[2]);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            size_t before = e->n_lines;

            sum +=
                grid_pixel(e, &p, v.at[i], h.at[j], v.weight[i] * h.weight[j]);
            taps += e->n_lines > before;
        }
    }
    assay_explain_program(e, &l->out_program,
                          assay_explain_start(e, ASSAY_VALUE_INT,
                                              assay_explain_int(sum),
                                              "  sum x*w of %zu taps", taps),
                          p.c, NULL, "  ");
}
