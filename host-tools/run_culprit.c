/* SPDX-License-Identifier: Apache-2.0 */
/* The block of the first culprit: where, which columns, which layer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/report/report.h"
#include "host-tools/run_bad.h"
#include "host-tools/run_capture.h"
#include "host-tools/run_failing.h"
#include "host-tools/run_input.h"
#include "host-tools/run_pattern.h"

#define TEXT 1024

/* "last row and last column", "last 2 rows"; false: they lie anywhere. */
static bool edge_text(const struct assay_tensor *t, const struct assay_diff *d,
                      char *out, size_t cap)
{
    static const struct {
        unsigned edge;
        enum assay_message_id one, many;
    } kinds[] = {
        {ASSAY_EDGE_TOP, ASSAY_MSG_EDGE_TOP, ASSAY_MSG_EDGE_TOP_N},
        {ASSAY_EDGE_BOTTOM, ASSAY_MSG_EDGE_BOTTOM, ASSAY_MSG_EDGE_BOTTOM_N},
        {ASSAY_EDGE_LEFT, ASSAY_MSG_EDGE_LEFT, ASSAY_MSG_EDGE_LEFT_N},
        {ASSAY_EDGE_RIGHT, ASSAY_MSG_EDGE_RIGHT, ASSAY_MSG_EDGE_RIGHT_N},
    };
    int64_t width = 0;
    unsigned set = assay_diff_edges(t, d, &width), left = set;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t at = strlen(out);

        if ((set & kinds[i].edge) == 0)
            continue;
        left &= ~kinds[i].edge;
        assay_message(out + at, cap - at,
                      width == 1 ? kinds[i].one : kinds[i].many, "n",
                      assay_num_u((uint64_t)width).text, NULL);
        at = strlen(out);
        if (left != 0)
            snprintf(out + at, cap - at, "%s",
                     (left & (left - 1)) == 0
                         ? assay_message_text(ASSAY_MSG_AND)
                         : ", ");
    }
    return set != 0;
}

static bool edge_line(const struct assay_tensor *t, const struct assay_diff *d,
                      const char *prefix, struct assay_lines *l)
{
    char text[TEXT], edges[160];

    if (!edge_text(t, d, edges, sizeof(edges)))
        return false;
    assay_message(text, sizeof(text), ASSAY_MSG_WHERE_EDGES_COUNT, "edges",
                  edges, "mismatch", assay_num_u(d->mismatch).text, NULL);
    assay_line_add(l, prefix, text);
    return true;
}

/* Pure: "all mismatches in channels 64..65" where the box is narrow. */
static void box_line(const struct assay_tensor *t, const struct assay_diff *d,
                     struct assay_lines *l)
{
    static const struct {
        char axis;
        enum assay_message_id id;
    } kinds[] = {
        {'C', ASSAY_MSG_WHERE_CHANNELS},
        {'H', ASSAY_MSG_WHERE_ROWS},
        {'W', ASSAY_MSG_WHERE_COLUMNS},
    };
    char text[TEXT];
    int64_t wide;
    bool edges = assay_diff_edges(t, d, &wide) != 0;

    for (uint32_t a = 0; a < t->rank && d->mismatch > 1; a++) {
        int64_t width = d->box_hi[a] - d->box_lo[a] + 1;

        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            if (t->axes[a] != kinds[k].axis || 2 * width > t->dims[a] ||
                (edges && kinds[k].axis != 'C'))
                continue;
            assay_message(text, sizeof(text), kinds[k].id, "lo",
                          assay_num_u((uint64_t)d->box_lo[a]).text, "hi",
                          assay_num_u((uint64_t)d->box_hi[a]).text, "all",
                          assay_num_u((uint64_t)t->dims[a]).text, NULL);
            assay_line_add(l, "          ", text);
        }
    }
}

/* Elements in all samples: a layer is run on the reference's inputs only where
 * its inputs or outputs differ, elsewhere its output is known to be equal. */
static uint64_t elements_of(const struct assay_run_layer *k,
                            const struct assay_diff *d)
{
    return d->count < k->cumulative.count ? k->cumulative.count : d->count;
}

static uint64_t tensor_elements(const struct assay_tensor *t)
{
    size_t elements = 0, bytes;

    return assay_tensor_count(t, &elements, &bytes, NULL) < 0 || elements == 0
               ? 1
               : elements;
}

static void where_lines(const struct assay_run *r, const struct assay_tensor *t,
                        const struct assay_diff *d, uint64_t count,
                        struct assay_lines *l)
{
    char text[TEXT], most[64], index[160], other[200], source[160];
    enum assay_message_id side = ASSAY_MSG_WHERE_BOTH;
    bool integer = assay_dtype_is_int(t->dtype);
    double exponent;

    bool nan = d->ref_nan + d->got_nan > 0;

    if (d->by_digest) {
        assay_message(text, sizeof(text), ASSAY_MSG_WHERE_TILES, "differing",
                      assay_num_u(d->tiles_differing).text, "tiles",
                      assay_num_u(d->tiles * (count / tensor_elements(t))).text,
                      "first", assay_num_u(d->first_tile).text, NULL);
        assay_line_add(l, "  where   ", text);
        return;
    }
    if (d->higher == d->mismatch)
        side = ASSAY_MSG_WHERE_UP;
    else if (d->higher == 0 && !nan) /* a NaN is neither */
        side = ASSAY_MSG_WHERE_DOWN;
    if (integer && d->max_lsb == 1)
        assay_message(most, sizeof(most), ASSAY_MSG_WHERE_ALL_ONE, NULL);
    else if (integer)
        assay_message(most, sizeof(most), ASSAY_MSG_WHERE_MAX, "max",
                      assay_num_u((uint64_t)d->max_lsb).text, NULL);
    else
        assay_message(most, sizeof(most), ASSAY_MSG_WHERE_FLOAT, "max",
                      assay_num_g(3, d->max_abs).text, NULL);
    assay_message(text, sizeof(text), ASSAY_MSG_WHERE_COUNT, "mismatch",
                  assay_num_u(d->mismatch).text, "count",
                  assay_num_u(count).text, "most", most, "side",
                  nan ? "" : assay_message_text(side), NULL);
    assay_line_add(l, "  where   ", text);
    if (nan)
        assay_line_add(l, "          ",
                       assay_message(text, sizeof(text), ASSAY_MSG_WHERE_NAN,
                                     "ref", assay_num_u(d->ref_nan).text, "got",
                                     assay_num_u(d->got_nan).text, NULL));
    if (isnan(d->cosine))
        assay_line_add(l, "          ",
                       assay_message_text(ASSAY_MSG_WHERE_COSINE));
    if (assay_diff_rate(d, count, &exponent))
        assay_line_add(
            l, "          ",
            assay_message(text, sizeof(text), ASSAY_MSG_WHERE_RATE, "percent",
                          assay_num_g(3, 100.0 * exp2(-exponent)).text,
                          "exponent", assay_num_f(1, exponent).text, "bits",
                          assay_num_g(3, round(exponent - 1.0)).text, NULL));
    edge_line(t, d, "          ", l);
    box_line(t, d, l);
    if (r->n_bad > 1) {
        assay_run_bad_name(r, d->sample, source, sizeof(source));
        assay_message(text, sizeof(text), ASSAY_MSG_WHERE_OF_SAMPLE, "name",
                      source, NULL);
        assay_line_add(l, "          ", text);
    }
    for (size_t i = 0; i < d->n_first && i < 4; i++) {
        int digits = integer ? 17 : 9;

        assay_report_index(t, d->first[i].index, false, index, sizeof(index));
        assay_report_index(t, d->first[i].index, true, source, sizeof(source));
        other[0] = '\0';
        if (strcmp(index, source) != 0)
            assay_message(other, sizeof(other), ASSAY_MSG_WHERE_SOURCE, "index",
                          source, NULL);
        assay_message(
            text, sizeof(text), ASSAY_MSG_WHERE_ELEMENT, "index", index, "ref",
            assay_num_g(digits, d->first[i].ref).text, "got",
            assay_num_g(digits, d->first[i].got).text, "diff",
            assay_num_g(digits, d->first[i].got - d->first[i].ref).text,
            "source", other, NULL);
        assay_line_add(l, "          ", text);
    }
}

static const char *column_state(const struct assay_run_layer *k,
                                enum assay_column c, char *out, size_t cap)
{
    const struct assay_diff *d = &k->column[c];

    if (c == ASSAY_COL_CPU && k->judgement.culprit)
        d = &k->isolated;
    else if (!k->column_seen[c])
        return assay_message(out, cap, ASSAY_MSG_COLUMN_UNSEEN, NULL);
    if (d->mismatch == 0)
        return assay_message(out, cap, ASSAY_MSG_COLUMN_EQUAL, NULL);
    if (d->by_digest)
        return assay_message(out, cap, ASSAY_MSG_COLUMN_TILES, "differing",
                             assay_num_u(d->tiles_differing).text, NULL);
    return assay_message(out, cap, ASSAY_MSG_COLUMN_DIFF, "mismatch",
                         assay_num_u(d->mismatch).text, "count",
                         assay_num_u(elements_of(k, d)).text, NULL);
}

static const char *through_text(const struct assay_run *r, uint32_t layer,
                                enum assay_column column, char *out, size_t cap)
{
    uint32_t through[64], shown = 0, left = 0;
    uint32_t n = assay_run_through(r, layer, column, through, 64);
    char names[400] = "", more[64] = "";

    out[0] = '\0';
    for (uint32_t i = 0; i < n && i < 64; i++) {
        const struct assay_layer *y = &r->s->layers[through[i]];

        if (assay_run_only_moves(y))
            continue;
        if (shown == 3) {
            left++;
            continue;
        }
        snprintf(names + strlen(names), sizeof(names) - strlen(names),
                 "%s%.100s", shown++ > 0 ? ", " : "", y->name);
    }
    if (shown == 0)
        return out;
    left += n > 64 ? n - 64 : 0;
    if (left > 0) {
        assay_message(more, sizeof(more), ASSAY_MSG_AND_MORE, "more",
                      assay_num_u(left).text, NULL);
        strcat(names, more);
    }
    return assay_message(out, cap,
                         shown + left == 1 ? ASSAY_MSG_JUDGED_THROUGH
                                           : ASSAY_MSG_JUDGED_THROUGH_MANY,
                         "layers", names, NULL);
}

/* What differs in a column: given its own inputs, where that is known. */
static const struct assay_diff *culprit_diff(const struct assay_run *r,
                                             uint32_t layer,
                                             enum assay_column column)
{
    const struct assay_run_layer *k = &r->layers[layer];
    const struct assay_diff *d;

    if (column == ASSAY_COL_CPU)
        return &k->isolated;
    d = &k->side[column - ASSAY_COL_SIM].isolated;
    return d->mismatch > 0 ? d : &k->column[column];
}

/* Another culprit: "name (compile, last row only, judged through ...)". */
static void also_item(const struct assay_run *r,
                      const struct assay_run_summary *sum,
                      const struct assay_run_culprit *c, char *out, size_t cap)
{
    const struct assay_layer *y = &r->s->layers[c->layer];
    const struct assay_tensor *t = &r->s->tensors[y->output];
    char parts[TEXT] = "", edges[160], one[600];
    bool side = c->column != ASSAY_COL_CPU;

    if (assay_run_cause_text(r, c->layer, c->column, one, sizeof(one))[0] !=
        '\0')
        snprintf(parts, sizeof(parts), ", %.300s", one);

    if (!side || c->verdict != sum->verdict)
        snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), ", %s",
                 assay_verdict_name(c->verdict));
    if (c->column != sum->first_column)
        snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), ", %s",
                 assay_column_name(c->column));
    if (side && edge_text(t, culprit_diff(r, c->layer, c->column), edges,
                          sizeof(edges))) {
        assay_message(one, sizeof(one), ASSAY_MSG_WHERE_EDGES, "edges", edges,
                      NULL);
        snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts),
                 ", %.200s", one);
    }
    if (side &&
        through_text(r, c->layer, c->column, one, sizeof(one))[0] != '\0')
        snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts),
                 ", %.500s", one);
    snprintf(out, cap, parts[0] != '\0' ? "%.100s (%.700s)" : "%.100s", y->name,
             parts[0] != '\0' ? parts + 2 : "");
}

static void also_line(const struct assay_run *r,
                      const struct assay_run_summary *sum,
                      struct assay_lines *l)
{
    char also[TEXT] = "", item[TEXT], more[64];
    uint32_t left = 0;

    for (uint32_t i = 0; i < r->n_culprits; i++) {
        const struct assay_run_culprit *c = &r->culprits[i];

        if (c->layer == sum->first_culprit && c->column == sum->first_column)
            continue;
        if (strlen(also) > 200) {
            left++;
            continue;
        }
        also_item(r, sum, c, item, sizeof(item));
        snprintf(also + strlen(also), sizeof(also) - strlen(also), "%s%.700s",
                 also[0] != '\0' ? ", " : "", item);
    }
    if (left > 0) {
        assay_message(more, sizeof(more), ASSAY_MSG_AND_MORE, "more",
                      assay_num_u(left).text, NULL);
        snprintf(also + strlen(also), sizeof(also) - strlen(also), "%s", more);
    }
    if (also[0] != '\0')
        assay_line_add(l, "  also    ", also);
}

/* "3x3 s2", "5x1 s2x1 d2"; the parts that say nothing are left out. */
static void window_text(int64_t kh, int64_t kw, int32_t sh, int32_t sw,
                        int32_t dh, int32_t dw, char *out, size_t cap)
{
    snprintf(out, cap, "%lldx%lld", (long long)kh, (long long)kw);
    if (sh != 1 || sw != 1)
        snprintf(out + strlen(out), cap - strlen(out),
                 sh == sw ? " s%d" : " s%dx%d", sh, sw);
    if (dh != 1 || dw != 1)
        snprintf(out + strlen(out), cap - strlen(out),
                 dh == dw ? " d%d" : " d%dx%d", dh, dw);
}

/* "conv 3x3 s2, int16 input, pads t,l,b,r = 0,0,1,1" */
static bool window_line(const struct assay_run *r, const struct assay_layer *y,
                        struct assay_lines *l)
{
    const struct assay_tensor *x = &r->s->tensors[y->inputs[0]], *w;
    char text[TEXT], kernel[96], pads[64], groups[64] = "";
    enum assay_message_id what = ASSAY_MSG_WINDOW_CONV;
    const struct assay_conv2d_params *p = &y->p.conv2d;
    const struct assay_pool_params *q = &y->p.pool;

    if (y->op == ASSAY_OP_POOL) {
        what = ASSAY_MSG_WINDOW_POOL;
        window_text(q->kh, q->kw, q->stride_h, q->stride_w, q->dilation_h,
                    q->dilation_w, kernel, sizeof(kernel));
        snprintf(pads, sizeof(pads), "%d,%d,%d,%d", q->pad_top, q->pad_left,
                 q->pad_bottom, q->pad_right);
    } else if (y->op == ASSAY_OP_CONV2D || y->op == ASSAY_OP_CONV_TRANSPOSE2D) {
        w = &r->s->tensors[y->inputs[1]];
        window_text(w->dims[1], w->dims[2], p->stride_h, p->stride_w,
                    p->dilation_h, p->dilation_w, kernel, sizeof(kernel));
        snprintf(pads, sizeof(pads), "%d,%d,%d,%d", p->pad_top, p->pad_left,
                 p->pad_bottom, p->pad_right);
        if (y->op == ASSAY_OP_CONV_TRANSPOSE2D)
            what = ASSAY_MSG_WINDOW_TRANSPOSED;
        else if (p->groups > 1 && p->groups == x->dims[3])
            what = ASSAY_MSG_WINDOW_DEPTHWISE;
        if (p->groups > 1 && what != ASSAY_MSG_WINDOW_DEPTHWISE)
            assay_message(groups, sizeof(groups), ASSAY_MSG_WINDOW_GROUPS,
                          "groups", assay_num_u((uint64_t)p->groups).text,
                          NULL);
    } else {
        return false;
    }
    assay_message(text, sizeof(text), ASSAY_MSG_LAYER_WINDOW, "what",
                  assay_message_text(what), "kernel", kernel, "more", groups,
                  "dtype", assay_dtype_name(x->dtype), "pads", pads, NULL);
    assay_line_add(l, "  layer   ", text);
    return true;
}

static void layer_line(const struct assay_run *r, const struct assay_layer *y,
                       struct assay_lines *l)
{
    char text[TEXT], shape[128];

    assay_message(
        text, sizeof(text), ASSAY_MSG_LAYER_LINE, "op", y->source_op, "shape",
        assay_report_shape(&r->s->tensors[y->output], shape, sizeof(shape)),
        "arith", y->arith != NULL && y->arith[0] != '\0' ? y->arith : "-",
        NULL);
    assay_line_add(l, "  layer   ", text);
}

/* How many elements differ says nothing where they are elsewhere. */
static bool is_layout(const struct assay_run *r, uint32_t layer,
                      enum assay_column column)
{
    const struct assay_run_suspect *k = assay_run_cause_of(r, layer, column);

    return k != NULL && k->has_layout;
}

static void cpu_lines(const struct assay_run *r, uint32_t layer,
                      struct assay_lines *l)
{
    const struct assay_run_layer *k = &r->layers[layer];
    const struct assay_layer *y = &r->s->layers[layer];
    char text[TEXT], host[96], scalar[96], cpu[96];

    if (!is_layout(r, layer, ASSAY_COL_CPU))
        where_lines(r, &r->s->tensors[y->output], &k->isolated,
                    elements_of(k, &k->isolated), l);
    assay_message(text, sizeof(text), ASSAY_MSG_COLUMNS_LINE, "host",
                  column_state(k, ASSAY_COL_HOST, host, sizeof(host)), "scalar",
                  column_state(k, ASSAY_COL_CPU_SCALAR, scalar, sizeof(scalar)),
                  "cpu", column_state(k, ASSAY_COL_CPU, cpu, sizeof(cpu)),
                  NULL);
    assay_line_add(l, "  columns ", text);
    layer_line(r, y, l);
}

static void input_lines(const struct assay_run *r, enum assay_column column,
                        struct assay_lines *l)
{
    const struct assay_run_side *side = &r->sides[column - ASSAY_COL_SIM];
    const struct assay_tensor *t = &r->s->tensors[side->input];
    char text[TEXT], name[200];

    snprintf(name, sizeof(name), "%.190s", t->name);
    where_lines(r, t, &side->input_diff, side->input_diff.count, l);
    assay_message(text, sizeof(text), ASSAY_MSG_WHERE_INPUT, "input", name,
                  NULL);
    assay_line_add(l, "          ", text);
    assay_run_input_lines(r, column, l);
}

static void side_lines(const struct assay_run *r, uint32_t layer,
                       enum assay_column column, struct assay_lines *l)
{
    const struct assay_run_layer *k = &r->layers[layer];
    const struct assay_layer *y = &r->s->layers[layer];
    const struct assay_tensor *t = &r->s->tensors[y->output];
    const struct assay_diff *d = culprit_diff(r, layer, column);
    char text[TEXT], cpu[96], sim[96], bpu[96];

    if (k->side[column - ASSAY_COL_SIM].input_differs)
        input_lines(r, column, l);
    else if (!is_layout(r, layer, column) && !edge_line(t, d, "  where   ", l))
        where_lines(r, t, d, k->column[column].count, l);
    if (through_text(r, layer, column, text, sizeof(text))[0] != '\0')
        assay_line_add(l, "          ", text);
    if (r->sides[ASSAY_CASE_BPU].n_samples > 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_COLUMNS_COMPILED, "cpu",
                      column_state(k, ASSAY_COL_CPU, cpu, sizeof(cpu)), "sim",
                      column_state(k, ASSAY_COL_SIM, sim, sizeof(sim)), "bpu",
                      column_state(k, ASSAY_COL_BPU, bpu, sizeof(bpu)), NULL);
        assay_line_add(l, "  columns ", text);
    }
    assay_run_made_line(r, column, l);
    if (!window_line(r, y, l))
        layer_line(r, y, l);
}

/* pinpoint: every culprit's cause. */
static void others_lines(const struct assay_run *r,
                         const struct assay_run_summary *sum,
                         struct assay_lines *l)
{
    char text[TEXT], prefix[64];

    for (uint32_t i = 0; i < r->n_culprits; i++) {
        const struct assay_run_culprit *c = &r->culprits[i];
        const struct assay_layer *y = &r->s->layers[c->layer];
        const struct assay_diff *d = culprit_diff(r, c->layer, c->column);

        if (c->layer == sum->first_culprit && c->column == sum->first_column)
            continue;
        assay_message(text, sizeof(text), ASSAY_MSG_CULPRIT, "index",
                      assay_num_u(c->layer).text, "name", y->name, "column",
                      assay_column_name(c->column), NULL);
        snprintf(prefix, sizeof(prefix),
                 "%s: ", assay_verdict_name(c->verdict));
        assay_line_add(l, prefix, text);
        if (!is_layout(r, c->layer, c->column))
            where_lines(r, &r->s->tensors[y->output], d, d->count, l);
        assay_run_cause_lines(r, c->layer, c->column, l);
    }
}

void assay_run_culprit_lines(const struct assay_run *r,
                             const struct assay_run_summary *sum,
                             struct assay_lines *l)
{
    const struct assay_layer *y = &r->s->layers[sum->first_culprit];
    char text[TEXT], prefix[64], index[16];
    enum assay_message_id id;

    snprintf(index, sizeof(index), "%03u", sum->first_culprit);
    assay_message(text, sizeof(text), ASSAY_MSG_SUM_FIRST, "index", index,
                  "name", y->name, NULL);
    assay_line_add(l, " ", text);
    assay_line_add(l, "", "");
    assay_run_sentence(r, sum, text, sizeof(text), &id);
    snprintf(prefix, sizeof(prefix), "%s: ", assay_verdict_name(sum->verdict));
    assay_line_add(l, prefix, text);
    assay_run_bad_lines(r, l);
    if (sum->first_column == ASSAY_COL_CPU)
        cpu_lines(r, sum->first_culprit, l);
    else
        side_lines(r, sum->first_culprit, sum->first_column, l);
    assay_run_cause_lines(r, sum->first_culprit, sum->first_column, l);
    assay_run_capture_line(r, l);
    assay_run_pattern_line(r, sum, l);
    if (r->o->command == ASSAY_CMD_PINPOINT)
        others_lines(r, sum, l);
    else
        also_line(r, sum, l);
    assay_run_fit_lines(r, l);
    assay_run_failing_lines(r, sum, l);
}
