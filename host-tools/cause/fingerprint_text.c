/* SPDX-License-Identifier: Apache-2.0 */
/* What a fingerprint is called. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/cause/fingerprint.h"
#include "host-tools/diff/diff.h"

/* " at the bottom and right", "" for all four edges. */
static const char *edges_text(unsigned set, char *out, size_t cap)
{
    static const struct {
        unsigned edge;
        const char *name;
    } edges[] = {{ASSAY_EDGE_TOP, "top"},
                 {ASSAY_EDGE_LEFT, "left"},
                 {ASSAY_EDGE_BOTTOM, "bottom"},
                 {ASSAY_EDGE_RIGHT, "right"}};
    size_t n = 0;

    out[0] = '\0';
    if (set == ASSAY_EDGE_SETS - 1)
        return out;
    for (unsigned i = 0; i < 4; i++)
        if ((set & edges[i].edge) && n < cap)
            n +=
                (size_t)snprintf(out + n, cap - n, "%s%s",
                                 n == 0 ? ", at the " : " and ", edges[i].name);
    return out;
}

static const char *axis_text(const struct assay_tensor *t, int64_t axis,
                             char *out, size_t cap)
{
    bool label = axis >= 0 && axis < (int64_t)t->rank && t->axes[0] != '\0';

    if (label && cap > 1)
        memcpy(out, (const char[2]){t->axes[axis], '\0'}, 2);
    else
        snprintf(out, cap, "axis %" PRId64, axis);
    return out;
}

static void place_text(const struct assay_fingerprint *f,
                       const struct assay_tensor *t, char *out, size_t cap)
{
    int64_t channels = t->rank > 0 ? t->dims[t->rank - 1] : 1;
    char edges[64];

    for (uint32_t a = 0; t->axes[0] != '\0' && a < t->rank; a++)
        if (t->axes[a] == 'C')
            channels = t->dims[a];
    if (f->kind == ASSAY_FP_EDGE_RING)
        snprintf(out, cap, "edge ring, %" PRId64 " wide%s", f->n[0],
                 edges_text((unsigned)f->n[1], edges, sizeof(edges)));
    else if (f->kind == ASSAY_FP_TAIL_CHANNELS && f->n[0] == channels - 1)
        snprintf(out, cap, "only channel %" PRId64 " (tail of %" PRId64 ")",
                 f->n[0], f->n[1]);
    else if (f->kind == ASSAY_FP_TAIL_CHANNELS)
        snprintf(out, cap,
                 "only channels %" PRId64 "..%" PRId64 " (tail of %" PRId64 ")",
                 f->n[0], channels - 1, f->n[1]);
    else if (f->kind == ASSAY_FP_EVERY_NTH)
        snprintf(out, cap,
                 "only channels %" PRId64 ", %" PRId64 ", ... (every %" PRId64
                 "th)",
                 f->n[1], f->n[1] + f->n[0], f->n[0]);
    else
        snprintf(out, cap,
                 "only %" PRId64 "..%" PRId64 ", one input of the concat",
                 f->n[0], f->n[1]);
}

static void half_pixel_text(const struct assay_fingerprint *f,
                            const struct assay_tensor *t, char *out, size_t cap)
{
    char a[32], b[32];

    axis_text(t, f->n[0], a, sizeof(a));
    if (f->n[1] < 0)
        snprintf(out, cap, "moved by half a pixel along %s", a);
    else
        snprintf(out, cap, "moved by half a pixel along %s and %s", a,
                 axis_text(t, f->n[1], b, sizeof(b)));
}

static void factor_text(const struct assay_fingerprint *f, char *out,
                        size_t cap)
{
    const char *what =
        f->kind == ASSAY_FP_BIAS ? "its bias" : "the sum of its weights";

    snprintf(out, cap, "difference of a channel is %.4g times %s%s", f->x[0],
             what, f->n[0] == 1 ? "" : ", in steps of the output");
}

static void input_text(const struct assay_fingerprint *f, char *out, size_t cap)
{
    snprintf(out, cap,
             "depends on the input element alone (%.0f of its values, "
             "%" PRId64 "..%" PRId64 ")",
             f->x[0], f->n[0], f->n[1]);
}

const char *assay_fingerprint_text(const struct assay_fingerprint *f,
                                   const struct assay_tensor *t, char *out,
                                   size_t cap)
{
    if (cap == 0)
        return out;
    out[0] = '\0';
    switch (f->kind) {
    case ASSAY_FP_EDGE_RING:
    case ASSAY_FP_TAIL_CHANNELS:
    case ASSAY_FP_EVERY_NTH:
    case ASSAY_FP_CONCAT_BLOCK: place_text(f, t, out, cap); break;
    case ASSAY_FP_CHANNEL_CONSTANT:
        snprintf(out, cap, "constant per channel");
        break;
    case ASSAY_FP_BIAS:
    case ASSAY_FP_WEIGHT_SUM: factor_text(f, out, cap); break;
    case ASSAY_FP_ONE_SIDED:
        snprintf(out, cap, "one-sided, always %s",
                 f->n[0] > 0 ? "higher" : "lower");
        break;
    case ASSAY_FP_TWO_SIDED:
        snprintf(out, cap, "two-sided, at most 2 LSB");
        break;
    case ASSAY_FP_NEGATIVE_SUM:
        snprintf(out, cap, "only where the accumulator is negative");
        break;
    case ASSAY_FP_CLAMP_LIMITS:
        snprintf(out, cap, "only at the %s",
                 f->n[0] < 0   ? "lower limit"
                 : f->n[0] > 0 ? "upper limit"
                               : "limits");
        break;
    case ASSAY_FP_INPUT_FUNCTION: input_text(f, out, cap); break;
    case ASSAY_FP_HALF_PIXEL: half_pixel_text(f, t, out, cap); break;
    case ASSAY_FP_MULTIPLE:
        snprintf(out, cap, "accumulators differ by multiples of 2^%" PRId64,
                 f->n[0]);
        break;
    case ASSAY_FP_RATE:
        snprintf(out, cap, "about 1 in 2^%" PRId64 " elements, by one LSB",
                 f->n[0]);
        break;
    case ASSAY_FP_SATURATED:
        snprintf(out, cap, "%" PRId64 " channel%s at a limit", f->n[0],
                 f->n[0] == 1 ? "" : "s");
        break;
    case ASSAY_FP_RATIO:
        snprintf(out, cap, "%.6g times what is expected", f->x[0]);
        break;
    case ASSAY_FP_CHANNEL_RATIO:
        snprintf(out, cap,
                 "one ratio a channel, %.4g (channel %" PRId64
                 ") to %.4g (channel %" PRId64 ") times what is expected",
                 f->x[0], f->n[0], f->x[1], f->n[1]);
        break;
    case ASSAY_FP_SHIFTED:
        snprintf(out, cap, "shifted by %.9g everywhere", f->x[0]);
        break;
    }
    return out;
}
