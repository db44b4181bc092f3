/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms that give each element by itself, of 8 or 16 bits: what choices do is
 * known for every input there is, since the engine can run them all.
 */
#include <string.h>

#include "host-tools/fit/pool.h"
#include "kernels/requant.h"

#define CELLS 8192u              /* of one run */
#define WORK ((uint64_t)1 << 27) /* elements of all choices */

struct every {
    const struct assay_fit_layer *l;
    const struct assay_fit_choice *choices;
    size_t n;
    uint32_t *class, *was; /* the first equal one: now, before a run */
    struct assay_fit_points *points;
    int64_t lo, values, channels, rows; /* rows: of one run */
    size_t out_unit, in_unit;
    uint8_t *x, *out;
};

static bool is_elementwise(const struct assay_layer *y)
{
    return y->op == ASSAY_OP_PRELU || y->op == ASSAY_OP_TABLE ||
           y->op == ASSAY_OP_SEGMENT_TABLE;
}

static bool open_every(struct every *e)
{
    const struct assay_layer *y = assay_fit_layer_of(e->l);
    const struct assay_tensor *x = &e->l->slice->tensors[y->inputs[0]];
    int64_t hi;

    if (!is_elementwise(y) || x->rank < 2 || !assay_dtype_is_int(x->dtype) ||
        assay_dtype_bytes(x->dtype) > 2)
        return false;
    for (uint32_t i = 1; i < y->n_inputs; i++)
        if (e->l->slice->tensors[y->inputs[i]].role != ASSAY_ROLE_CONSTANT)
            return false;
    e->channels = y->op == ASSAY_OP_PRELU ? x->dims[x->rank - 1] : 1;
    assay_dtype_range(x->dtype, &e->lo, &hi);
    e->values = hi - e->lo + 1;
    if (e->channels > CELLS ||
        (uint64_t)e->values * (uint64_t)e->channels * e->n > WORK)
        return false;
    e->rows = CELLS / e->channels;
    e->rows = e->rows < e->values ? e->rows : e->values;
    e->in_unit = assay_dtype_bytes(x->dtype);
    e->out_unit = assay_dtype_bytes(e->l->dtype);
    return true;
}

/* Rows of the values from `first` on. */
static void fill(struct every *e, int64_t first, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < e->channels; c++) {
            int64_t at = r * e->channels + c, v = e->lo + first + r;
            if (e->in_unit == 1)
                e->x[at] = (uint8_t)v;
            else
                ((uint16_t *)(void *)e->x)[at] = (uint16_t)v;
        }
}

static void witness(struct every *e, int64_t first, const uint8_t *a,
                    const uint8_t *b, size_t bytes)
{
    size_t at = 0;

    if (!e->points || e->points->n == e->points->cap)
        return;
    while (at < bytes && a[at] == b[at])
        at++;
    at /= e->out_unit;
    e->points->v[e->points->n++] = (struct assay_fit_point){
        .channel = (uint32_t)(at % (size_t)e->channels),
        .acc = e->lo + first + (int64_t)(at / (size_t)e->channels)};
}

/* Who does not give what the first of its class gives begins another one. */
static void split(struct every *e, int64_t first, size_t bytes)
{
    memcpy(e->was, e->class, e->n * sizeof(*e->was));
    for (size_t k = 0; k < e->n; k++) {
        const uint8_t *mine = e->out + k * bytes;
        size_t from = e->was[k], j = from;

        /* Itself at the latest; of the same class before. */
        while (j < k && (e->was[j] != from || e->class[j] != j ||
                         memcmp(mine, e->out + j * bytes, bytes) != 0))
            j++;
        e->class[k] = (uint32_t)j;
        if (j == k && k != from)
            witness(e, first, mine, e->out + from * bytes, bytes);
    }
}

static int run_values(struct every *e, int64_t first, struct assay_err *err)
{
    int64_t left = e->values - first;
    int64_t rows = left < e->rows ? left : e->rows;
    size_t bytes = (size_t)(rows * e->channels) * e->out_unit;
    struct assay_err refused = {0};
    int rc = 0;

    fill(e, first, rows);
    for (size_t k = 0; !rc && k < e->n; k++) {
        char rule[ASSAY_FIT_RULE_TEXT];
        uint8_t *out = e->out + k * bytes;

        assay_fit_rule(e->l->form, &e->choices[k], rule);
        rc = assay_fit_layer_values(e->l, rule, e->x, rows, e->channels, out,
                                    &refused);
    }
    if (rc)
        return assay_fail(err, rc, "%s", refused.text);
    split(e, first, bytes);
    return 0;
}

int assay_fit_every(const struct assay_fit_layer *l,
                    const struct assay_fit_choice *choices, size_t n,
                    uint32_t *class, struct assay_fit_points *points,
                    bool *done, struct assay_err *err)
{
    struct every e = {
        .l = l, .choices = choices, .n = n, .class = class, .points = points};
    int rc = 0;

    *done = false;
    if (n == 0 || !open_every(&e))
        return 0;
    e.x = assay_alloc(CELLS * e.in_unit);
    e.out = assay_alloc(n * CELLS * e.out_unit);
    e.was = assay_alloc(n * sizeof(*e.was));
    if (!e.x || !e.out || !e.was)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a proof");
    for (size_t k = 0; k < n; k++)
        class[k] = 0;
    for (int64_t v = 0; !rc && v < e.values; v += e.rows)
        rc = run_values(&e, v, err);
    assay_free(e.x);
    assay_free(e.out);
    assay_free(e.was);
    *done = !rc;
    return rc;
}
