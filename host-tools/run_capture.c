/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_capture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 4 /* layers whose statistics a text report has */

bool assay_run_digests_only(const struct assay_run *r)
{
    return r->o->capture >= ASSAY_CAPTURE_DIGEST;
}

const char *assay_run_capture_name(const struct assay_run *r)
{
    static const char *const names[ASSAY_CAPTURE_COUNT] = {"full", "differing",
                                                           "digest", "stats"};

    return names[r->o->capture];
}

int assay_run_capture_open(struct assay_run *r, struct assay_err *err)
{
    if (r->o->capture != ASSAY_CAPTURE_STATS)
        return 0;
    r->stats = assay_calloc((size_t)r->s->n_layers + 1, sizeof(*r->stats));
    return r->stats != NULL
               ? 0
               : assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

void assay_run_capture_close(struct assay_run *r)
{
    assay_free(r->stats);
    r->stats = NULL;
}

/* ---- asking ------------------------------------------------------------- */

enum assay_capture assay_run_capture(const struct assay_run *r,
                                     const struct assay_pass *pass)
{
    if (pass->repeat)
        return pass->capture;
    /* What the compiled model gave is compared in full: it is here. */
    if (pass->column >= ASSAY_COL_SIM && r->o->capture != ASSAY_CAPTURE_FULL)
        return ASSAY_CAPTURE_DIFFERING;
    return r->o->capture;
}

static bool has_tolerance(const struct assay_run *r, uint32_t layer)
{
    const struct assay_tolerance *tol = &r->layers[layer].tol;
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];

    return assay_dtype_is_int(t->dtype) ? tol->max_lsb > 0
                                        : tol->rtol > 0 || tol->atol > 0;
}

/* What the result of a layer will be compared with; NULL: with nothing. */
static const void *compared_with(const struct assay_run *r,
                                 const struct assay_pass *pass, uint32_t layer)
{
    uint32_t t = r->s->layers[layer].output;

    if (!pass->layers[layer] || (pass->judge != NULL && !pass->judge[layer]))
        return NULL;
    return pass->column >= ASSAY_COL_SIM
               ? r->sides[pass->column - ASSAY_COL_SIM].observed.values[t]
               : r->values[t];
}

bool assay_run_by_digest(const struct assay_run *r,
                         const struct assay_pass *pass, uint32_t layer)
{
    return assay_run_capture(r, pass) >= ASSAY_CAPTURE_DIGEST &&
           pass->backend == r->board && !has_tolerance(r, layer);
}

size_t assay_run_expect(const struct assay_run *r,
                        const struct assay_pass *pass,
                        struct assay_run_tensor *expect)
{
    enum assay_capture capture = assay_run_capture(r, pass);
    size_t n = 0, elements;

    if (pass->backend != r->board || capture == ASSAY_CAPTURE_FULL)
        return 0;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const void *data = compared_with(r, pass, i);
        uint32_t t = r->s->layers[i].output;

        if (data == NULL || r->s->layers[i].op == ASSAY_OP_SKIPPED ||
            assay_run_by_digest(r, pass, i) ||
            assay_tensor_count(&r->s->tensors[t], &elements, &expect[n].bytes,
                               NULL) < 0)
            continue;
        expect[n].tensor = t;
        expect[n++].data = data;
    }
    return n;
}

/* ---- judging ------------------------------------------------------------ */

int assay_run_diff_digests(const struct assay_run *r, uint32_t layer,
                           const void *ref, const uint8_t *digests,
                           size_t tiles, struct assay_diff *out)
{
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    size_t elements, bytes;
    uint8_t *expected;
    int rc = assay_tensor_count(t, &elements, &bytes, NULL);

    if (rc < 0 || assay_tiles(bytes) != tiles)
        return rc < 0 ? rc : ASSAY_EPROTOCOL;
    expected = assay_alloc(tiles * 16 + 1);
    if (expected == NULL)
        return ASSAY_EMEMORY;
    assay_tile_digests(ref, bytes, expected);
    assay_diff_tensor(t, ref, ref, &r->layers[layer].tol, out);
    out->tiles = tiles;
    for (size_t i = 0; i < tiles; i++) {
        if (memcmp(expected + i * 16, digests + i * 16, 16) == 0)
            continue;
        if (out->tiles_differing++ == 0)
            out->first_tile = i;
    }
    assay_free(expected);
    out->mismatch = out->outside = out->tiles_differing;
    out->by_digest = out->tiles_differing > 0;
    return 0;
}

/* ---- statistics --------------------------------------------------------- */

void assay_run_stats_take(struct assay_run *r, const struct assay_pass *pass,
                          uint32_t layer, const struct assay_stats *stats,
                          const void *data)
{
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    struct assay_stats_rule rule;
    struct assay_stats own = {0};
    size_t elements, bytes;

    if (r->stats == NULL || pass->column != ASSAY_COL_CPU || pass->reference ||
        r->stats[layer].told)
        return;
    if (stats == NULL) {
        if (assay_tensor_count(t, &elements, &bytes, NULL) < 0)
            return;
        assay_stats_rule(&rule, r->s, layer);
        assay_stats_add(&own, &rule, data, elements);
        stats = &own;
    }
    r->stats[layer].told = true;
    assay_stats_merge(&r->stats[layer].board, stats);
}

void assay_run_stats_settle(struct assay_run *r)
{
    for (uint32_t i = 0; r->stats != NULL && i < r->s->n_layers; i++) {
        struct assay_run_stats *k = &r->stats[i];
        uint32_t y = r->s->layers[i].output;
        struct assay_stats_rule rule;
        struct assay_stats one = {0};
        size_t elements, bytes;

        if (k->told && r->values[y] != NULL &&
            assay_tensor_count(&r->s->tensors[y], &elements, &bytes, NULL) ==
                0) {
            assay_stats_rule(&rule, r->s, i);
            assay_stats_add(&one, &rule, r->values[y], elements);
            assay_stats_merge(&k->reference, &one);
        }
        k->told = false;
    }
}

/* ---- telling ------------------------------------------------------------ */

static const char *stats_text(const struct assay_stats *s, char *out,
                              size_t cap)
{
    double low = s->is_float ? s->real_min : (double)s->min;
    double high = s->is_float ? s->real_max : (double)s->max;

    return assay_message(
        out, cap, s->is_float ? ASSAY_MSG_STATS_FLOAT : ASSAY_MSG_STATS_INTEGER,
        "min", assay_num_g(17, low).text, "max", assay_num_g(17, high).text,
        "mean", assay_num_g(6, assay_stats_mean(s)).text, "zeros",
        assay_num_u(s->zeros).text, "saturated",
        assay_num_u(s->at_low + s->at_high).text, "nan",
        assay_num_u(s->nan).text, "inf", assay_num_u(s->inf).text, NULL);
}

/* Of both sides, where they differ. */
void assay_run_stats_lines(const struct assay_run *r, struct assay_lines *l)
{
    char text[ASSAY_LINE_TEXT], one[400];
    uint32_t shown = 0;

    for (uint32_t i = 0; r->stats != NULL && i < r->s->n_layers; i++) {
        const struct assay_run_stats *k = &r->stats[i];

        if (!r->layers[i].selected || k->reference.count == 0 ||
            assay_stats_equal(&k->board, &k->reference) || shown++ >= SHOWN)
            continue;
        assay_message(text, sizeof(text), ASSAY_MSG_STATS_LAYER, "layer",
                      r->s->layers[i].name, NULL);
        assay_line_add(l, " ", text);
        assay_line_add(l, "   board     ",
                       stats_text(&k->board, one, sizeof(one)));
        assay_line_add(l, "   reference ",
                       stats_text(&k->reference, one, sizeof(one)));
    }
    if (shown > SHOWN)
        assay_line_add(l, " ",
                       assay_message(text, sizeof(text), ASSAY_MSG_STATS_MORE,
                                     "more", assay_num_u(shown - SHOWN).text,
                                     NULL));
}

void assay_run_capture_line(const struct assay_run *r, struct assay_lines *l)
{
    char text[ASSAY_LINE_TEXT];

    if (!assay_run_digests_only(r))
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_CAPTURE_NO_CAUSE, "capture",
                  assay_run_capture_name(r), NULL);
    assay_line_add(l, "  cause   ", text);
}

void assay_run_capture_row(const struct assay_run *r, struct assay_row *row)
{
    const struct assay_run_stats *k =
        r->stats != NULL ? &r->stats[row->index] : NULL;

    if (k == NULL)
        return;
    row->stats_board = k->board.count > 0 ? &k->board : NULL;
    row->stats_reference = k->reference.count > 0 ? &k->reference : NULL;
}
