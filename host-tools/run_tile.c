/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One output tile of a culprit: the channels of a dense convolution or matrix
 * product in which most elements differ, with their weights, bias and operands
 * only. Taken where it is much smaller and still computes and fails the same.
 */
#include <string.h>

#include "host-tools/run_failing.h"
#include "kernels/cpu.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

#define TILE 16  /* channels */
#define WORTH 32 /* channels of a layer from which on a tile is taken */

struct cut {
    int64_t lo, n, all; /* channels */
};

static size_t bytes_of(const struct assay_tensor *t)
{
    size_t n, bytes;

    return assay_tensor_count(t, &n, &bytes, NULL) < 0 ? 0 : bytes;
}

/* ---- the slice ---------------------------------------------------------------- */

static bool cut_quant(struct assay_quant *q, int32_t axis, const struct cut *c)
{
    if (q->n <= 1)
        return true;
    if (q->axis != axis || (int64_t)q->n != c->all)
        return false;
    q->scale += c->lo;
    q->zero_point += c->lo;
    q->n = (uint32_t)c->n;
    q->axis = c->n > 1 ? axis : -1;
    return true;
}

/* A constant whose first axis is the output's channels. */
static bool cut_constant(struct assay_tensor *t, const struct cut *c)
{
    size_t row;

    if (t->role != ASSAY_ROLE_CONSTANT || t->rank == 0 ||
        t->dims[0] != c->all || t->size % (size_t)c->all != 0 ||
        !cut_quant(&t->quant, 0, c))
        return false;
    row = t->size / (size_t)c->all;
    t->data = (const uint8_t *)t->data + row * (size_t)c->lo;
    t->size = row * (size_t)c->n;
    t->dims[0] = c->n;
    return true;
}

static bool cut_operand(uint32_t *n, const int64_t **a, const struct cut *c)
{
    if (*n <= 1)
        return true;
    if ((int64_t)*n != c->all)
        return false;
    if (*a != NULL)
        *a += c->lo;
    return true;
}

static bool cut_program(struct assay_program *p, const struct cut *c)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        struct assay_step *s = &p->steps[i];

        if (!cut_operand(&s->n, &s->a, c) || !cut_operand(&s->n, &s->b, c))
            return false;
        if (s->n > 1)
            s->n = (uint32_t)c->n;
    }
    return true;
}

static bool cut_fields(struct assay_slice *s, struct assay_layer *l,
                       const struct cut *c)
{
    struct assay_field *f;

    if (l->n_fields == 0)
        return true;
    f = assay_arena_copy(s->arena, l->fields, l->n_fields * sizeof(*f));
    if (f == NULL)
        return false;
    for (uint32_t i = 0; i < l->n_fields; i++) {
        if (!cut_operand(&f[i].n, &f[i].v, c))
            return false;
        if (f[i].n > 1)
            f[i].n = (uint32_t)c->n;
    }
    l->fields = f;
    return true;
}

/* Every operand that has a value a channel follows; false: one does not. */
static bool cut_slice(struct assay_slice *s, const struct cut *c)
{
    struct assay_layer *l = &s->layers[0];
    struct assay_tensor *y = &s->tensors[l->output];

    for (uint32_t i = 1; i < l->n_inputs; i++) {
        if (l->inputs[i] == l->inputs[i - 1] ||
            !cut_constant(&s->tensors[l->inputs[i]], c))
            return false;
    }
    if (!cut_program(&l->out_program, c) || !cut_fields(s, l, c) ||
        !cut_quant(&y->quant, (int32_t)y->rank - 1, c))
        return false;
    y->dims[y->rank - 1] = c->n;
    return true;
}

/* ---- the bytes ------------------------------------------------------------------ */

/* The tile's part of an output; owned by the caller; NULL: no memory. */
void *assay_tile_bytes(const struct assay_tile *t, const struct assay_tensor *y,
                       const void *whole)
{
    size_t unit = assay_dtype_bytes(y->dtype), all = bytes_of(y);
    size_t from = unit * (size_t)y->dims[y->rank - 1];
    size_t to = unit * (size_t)t->n;
    uint8_t *out = assay_alloc(all / from * to + 1);

    for (size_t k = 0; out != NULL && k < all / from; k++)
        memcpy(out + k * to,
               (const uint8_t *)whole + k * from + unit * (size_t)t->lo, to);
    return out;
}

/* ---- which channels --------------------------------------------------------------- */

/* The block of channels with the most differing elements. */
static int64_t worst_block(const struct assay_run_suspect *k,
                           const struct assay_tensor *y)
{
    size_t unit = assay_dtype_bytes(y->dtype);
    size_t channels = (size_t)y->dims[y->rank - 1];
    size_t n = bytes_of(y) / unit;
    const uint8_t *a = k->samples[0].base, *b = k->samples[0].got;
    uint64_t most = 0;
    int64_t at = 0;

    for (size_t lo = 0; lo < channels; lo += TILE) {
        uint64_t count = 0;

        for (size_t i = lo; i < n; i += channels) {
            for (size_t c = 0; c < TILE && lo + c < channels; c++)
                count +=
                    memcmp(a + (i + c) * unit, b + (i + c) * unit, unit) != 0;
        }
        if (count > most) {
            most = count;
            at = (int64_t)lo;
        }
    }
    return at;
}

static bool dense(const struct assay_run_suspect *k, struct cut *c)
{
    const struct assay_layer *l = &k->one->layers[0];
    const struct assay_tensor *y = &k->one->tensors[l->output];
    bool conv = l->op == ASSAY_OP_CONV2D && l->p.conv2d.groups == 1;

    if ((!conv && l->op != ASSAY_OP_GEMM) || l->p.conv2d.has_second ||
        l->n_inputs < 2 || y->rank == 0)
        return false;
    c->all = y->dims[y->rank - 1];
    c->lo = worst_block(k, y);
    c->n = c->all - c->lo < TILE ? c->all - c->lo : TILE;
    return c->all >= WORTH;
}

/* Does the tile compute what the layer does there, and still fail? */
static bool holds(const struct assay_run *r, const struct assay_run_suspect *k,
                  const struct assay_tile *t)
{
    const struct assay_tensor *y = &k->one->tensors[k->one->layers[0].output];
    const struct assay_tensor *z = &t->slice->tensors[k->one->layers[0].output];
    struct assay_diff d = {0};
    bool same = true;

    for (size_t i = 0; i < k->n_samples && same; i++) {
        const struct assay_suspect_sample *s = &k->samples[i];
        void *base = assay_tile_bytes(t, y, s->base);
        void *got = assay_tile_bytes(t, y, s->got);
        void *now = assay_alloc(bytes_of(z) + 1);

        same =
            base != NULL && got != NULL && now != NULL &&
            assay_once(t->slice, assay_cpu_probe(), s->inputs,
                       k->one->layers[0].output, now, bytes_of(z), NULL) == 0 &&
            memcmp(now, base, bytes_of(z)) == 0;
        if (same && d.outside == 0)
            assay_diff_tensor(z, base, got, &r->layers[k->layer].tol, &d);
        assay_free(base);
        assay_free(got);
        assay_free(now);
    }
    return same && d.outside > 0;
}

/* A cause that holds for some channels only is not to be cut apart, nor is
 * what one kernel does and another does not: it may hang on the width. */
static bool free_of_channels(const struct assay_run_suspect *k)
{
    if (k->column == ASSAY_COL_CPU && !k->of_reference)
        return false;
    return !k->has_layout && (k->found == NULL || k->found->n_proved == 0 ||
                              k->found->v[0].scope.kind == ASSAY_SCOPE_ALL);
}

bool assay_tile_open(struct assay_tile *out, const struct assay_run *r,
                     const struct assay_run_suspect *k)
{
    struct assay_tile t = {0};
    struct cut c;

    if (k->n_samples == 0 || !free_of_channels(k) || !dense(k, &c) ||
        assay_slice_copy(&t.slice, k->one, NULL) < 0)
        return false;
    t.lo = c.lo;
    t.n = c.n;
    t.all = c.all;
    if (!cut_slice(t.slice, &c) || !holds(r, k, &t)) {
        assay_slice_free(t.slice);
        return false;
    }
    *out = t;
    return true;
}
