/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in segments: lines at both ends, interpolation between entries. */
#include <inttypes.h>

#include "host-tools/explain_private.h"
#include "lib/core/form.h"

#define LAST (ASSAY_SEGMENTS - 1)
#define FRACTION_BITS 8

enum { BOUND, SCALE, BIAS, LEFT, RIGHT };

static int64_t field(const struct assay_explain *e, int64_t segment,
                     int64_t which)
{
    return assay_explain_get(e, 2,
                             (size_t)(segment * ASSAY_SEGMENT_FIELDS + which))
        .i;
}

static void say(struct assay_explain *e, const char *what, int64_t v)
{
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(v), "%s", what);
}

static int64_t shifted(struct assay_explain *e, int64_t v, int64_t bits,
                       enum assay_round round)
{
    int64_t out = assay_shr(v, (int)bits, round);

    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(out),
                      "    shr %" PRId64 " %s", bits, assay_round_name(round));
    return out;
}

/* Between two of the entries of an inner segment. */
static int64_t interpolated(struct assay_explain *e, int64_t segment, int64_t t)
{
    int64_t last = (ASSAY_SEGMENT_ENTRIES << FRACTION_BITS) - 1;
    int64_t at = t < 0 ? 0 : t > last ? last : t, i = at >> FRACTION_BITS;
    int64_t f = at & ((1 << FRACTION_BITS) - 1);
    int64_t first = (segment - 1) * ASSAY_SEGMENT_ENTRIES;
    int64_t j = i + 1 < ASSAY_SEGMENT_ENTRIES ? i + 1 : i;
    int64_t left = assay_explain_get(e, 1, (size_t)(first + i)).i;
    int64_t right = assay_explain_get(e, 1, (size_t)(first + j)).i;
    int64_t weight = (1 << FRACTION_BITS) - f, mix = left * weight + right * f;

    if (at != t)
        assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(at),
                          "    clamp 0 %" PRId64, last);
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(left),
                      "    entry %" PRId64, i);
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(right),
                      "    entry %" PRId64, j);
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(mix),
                      "    mix (%" PRId64 ") * (%" PRId64 ") + (%" PRId64
                      ") * (%" PRId64 ")",
                      left, weight, right, f);
    return shifted(
        e, mix, FRACTION_BITS,
        (enum assay_round)assay_explain_layer(e)->p.segment.mix_round);
}

/* f(v), 16 bits. */
static int64_t value_of(struct assay_explain *e, int64_t v)
{
    enum assay_round round =
        (enum assay_round)assay_explain_layer(e)->p.segment.round;
    int64_t s = 0, scaled, bias, t;

    while (s < LAST && field(e, s, BOUND) < v)
        s++;
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(field(e, s, BOUND)),
                      "    segment %" PRId64 "%s", s,
                      s < LAST ? ", up to" : ", the last, behind");
    say(e, "    its input", v);
    scaled = v * field(e, s, SCALE);
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(scaled),
                      "    mul %" PRId64, field(e, s, SCALE));
    bias = assay_shr(field(e, s, BIAS), -(int)field(e, s, LEFT),
                     ASSAY_ROUND_FLOOR);
    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(scaled + bias),
                      "    add (%" PRId64 " shl %" PRId64 ")",
                      field(e, s, BIAS), field(e, s, LEFT));
    t = shifted(e, scaled + bias, field(e, s, RIGHT), round);
    if (s > 0 && s < LAST)
        return interpolated(e, s, t);
    say(e, "    sat 16", assay_sat(t, 16));
    return assay_sat(t, 16);
}

void assay_explain_segments(struct assay_explain *e)
{
    uint8_t symmetry = assay_explain_layer(e)->p.segment.symmetry;
    int64_t x = assay_explain_get(e, 0, e->element).i, v = x, r;
    bool mirrors = symmetry != ASSAY_SYMMETRY_NONE && x < 0;

    assay_explain_say(e, ASSAY_VALUE_INT, assay_explain_int(x),
                      "  element %zu of %.150s", e->element,
                      assay_explain_input(e, 0)->name);
    if (mirrors) {
        v = assay_sat(-x, 16);
        say(e, "    negated, sat 16", v);
    }
    r = value_of(e, v);
    if (mirrors && symmetry == ASSAY_SYMMETRY_ORIGIN) {
        r = assay_sat(-r, 16);
        say(e, "    negated, sat 16", r);
    }
    assay_explain_program(e, &assay_explain_layer(e)->out_program,
                          assay_explain_start(e, ASSAY_VALUE_INT,
                                              assay_explain_int(r),
                                              "  what the table gives"),
                          0, NULL, "  ");
}
