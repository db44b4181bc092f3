/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/report/json_probe.h"

static json_t *width_of(uint8_t width)
{
    return width == ASSAY_PROBE_UNKNOWN
               ? json_null()
               : json_boolean(width == ASSAY_PROBE_LEAVES);
}

json_t *assay_json_accumulator(const struct assay_probe *p)
{
    int bits_32 = assay_probe_headroom(p, 32);
    int bits_16 = assay_probe_headroom(p, 16);

    if (!p->has_sums)
        return json_null();
    return json_pack(
        "{s:I, s:I, s:i, s:b, s:b, s:o, s:o, s:o}", "min", (json_int_t)p->min,
        "max", (json_int_t)p->max, "headroom_bits", bits_32, "exceeds_16",
        bits_16 < 0, "saturated", bits_32 < 0, "running_exceeds_16",
        width_of(p->sums[ASSAY_PROBE_RUNNING_16]), "running_exceeds_32",
        width_of(p->sums[ASSAY_PROBE_RUNNING_32]), "pairs_exceed_16",
        width_of(p->sums[ASSAY_PROBE_PAIRS_16]));
}

/* null: the step cannot meet it. */
static json_t *count_of(const struct assay_probe_step *s, unsigned can,
                        uint64_t n)
{
    return (s->can & can) == 0 ? json_null() : json_integer((json_int_t)n);
}

static json_t *step_of(const struct assay_probe_step *s, const char *name)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "operand", s->operand,
                     "step", name, "ties",
                     count_of(s, ASSAY_PROBE_TIES, s->ties), "below",
                     count_of(s, ASSAY_PROBE_LOW, s->low), "above",
                     count_of(s, ASSAY_PROBE_HIGH, s->high), "left",
                     count_of(s, ASSAY_PROBE_LEFT, s->left));
}

static json_t *steps_of(const struct assay_row_probe *p)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < p->p->n_steps; i++)
        if (json_array_append_new(a, step_of(&p->p->steps[i], p->steps[i])) !=
            0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static json_t *facts_of(const struct assay_probe *p)
{
    json_t *o = json_object();

    for (unsigned i = 0; i < ASSAY_PROBE_FACTS; i++)
        if ((p->facts >> i & 1) != 0 &&
            json_object_set_new(o,
                                assay_probe_fact_key((enum assay_probe_fact)i),
                                json_integer((json_int_t)p->fact[i])) != 0) {
            json_decref(o);
            return NULL;
        }
    return o;
}

static json_t *entries_of(const struct assay_probe *p)
{
    uint32_t first, last, read = assay_probe_entries(p, &first, &last);

    if (p->n_entries == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:o, s:o}", "of", (json_int_t)p->n_entries,
                     "read", (json_int_t)read, "first",
                     read > 0 ? json_integer(first) : json_null(), "last",
                     read > 0 ? json_integer(last) : json_null());
}

json_t *assay_json_exercised(const struct assay_row_probe *p)
{
    return json_pack("{s:s, s:I, s:o, s:o, s:o}", "by",
                     p->by_board ? "board" : "host", "values",
                     (json_int_t)p->p->values, "steps", steps_of(p), "facts",
                     facts_of(p->p), "entries", entries_of(p->p));
}
