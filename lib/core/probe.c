/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/probe.h"

#include "lib/core/slice.h"

struct assay_probe_step *assay_probe_step(struct assay_probe *p,
                                          unsigned operand, unsigned step)
{
    struct assay_probe_step *s = p->steps;

    for (; s < p->steps + p->n_steps; s++)
        if (s->operand == operand && s->step == step)
            return s;
    if (p->n_steps == ASSAY_PROBE_STEPS)
        return NULL;
    p->n_steps++;
    *s = (struct assay_probe_step){.operand = (uint8_t)operand,
                                   .step = (uint8_t)step};
    return s;
}

static void merge_steps(struct assay_probe *into,
                        const struct assay_probe *from)
{
    for (uint32_t i = 0; i < from->n_steps; i++) {
        const struct assay_probe_step *f = &from->steps[i];
        struct assay_probe_step *s =
            assay_probe_step(into, f->operand, f->step);

        if (s == NULL)
            continue;
        s->can |= f->can;
        s->ties += f->ties;
        s->low += f->low;
        s->high += f->high;
        s->left += f->left;
    }
}

/* One that leaves is enough; that all fit must be known of all. */
static uint8_t merge_width(bool first, uint8_t a, uint8_t b)
{
    if (a == ASSAY_PROBE_LEAVES || b == ASSAY_PROBE_LEAVES)
        return ASSAY_PROBE_LEAVES;
    return first || a == b ? b : ASSAY_PROBE_UNKNOWN;
}

void assay_probe_merge(struct assay_probe *into, const struct assay_probe *from)
{
    bool first = into->values == 0;

    into->work += from->work;
    if (from->values == 0)
        return;
    for (unsigned i = 0; i < ASSAY_PROBE_SUMS; i++)
        into->sums[i] = merge_width(first, into->sums[i], from->sums[i]);
    if (from->has_sums) {
        if (!into->has_sums || from->min < into->min)
            into->min = from->min;
        if (!into->has_sums || from->max > into->max)
            into->max = from->max;
        into->has_sums = 1;
    }
    into->values += from->values;
    into->facts |= from->facts;
    for (unsigned i = 0; i < ASSAY_PROBE_FACTS; i++)
        into->fact[i] += from->fact[i];
    if (from->n_entries > into->n_entries)
        into->n_entries = from->n_entries;
    for (unsigned i = 0; i < sizeof(into->entries); i++)
        into->entries[i] |= from->entries[i];
    merge_steps(into, from);
}

int assay_probe_headroom(const struct assay_probe *p, unsigned bits)
{
    uint64_t below = p->min < 0 ? ~(uint64_t)p->min : 0;
    uint64_t above = p->max > 0 ? (uint64_t)p->max : 0;
    uint64_t most = below > above ? below : above;
    int used = 1; /* the sign */

    for (; most > 0; most >>= 1)
        used++;
    return (int)bits - used;
}

uint32_t assay_probe_entries(const struct assay_probe *p, uint32_t *first,
                             uint32_t *last)
{
    uint32_t n = 0;

    *first = *last = 0;
    for (uint32_t i = 0; i < p->n_entries && i < ASSAY_PROBE_ENTRIES; i++) {
        if ((p->entries[i / 8] >> i % 8 & 1) == 0)
            continue;
        if (n++ == 0)
            *first = i;
        *last = i;
    }
    return n;
}

static const char *bad_step(const struct assay_probe *p, uint32_t at)
{
    const struct assay_probe_step *s = &p->steps[at];

    if (s->operand > ASSAY_MAX_LAYER_INPUTS)
        return "operand";
    if (s->step >= ASSAY_MAX_STEPS)
        return "step";
    if (s->can == 0 || s->can > ASSAY_PROBE_CAN_ALL)
        return "can";
    if (((s->can & ASSAY_PROBE_TIES) == 0 && s->ties > 0) ||
        ((s->can & ASSAY_PROBE_LOW) == 0 && s->low > 0) ||
        ((s->can & ASSAY_PROBE_HIGH) == 0 && s->high > 0) ||
        ((s->can & ASSAY_PROBE_LEFT) == 0 && s->left > 0))
        return "count of a step";
    for (uint32_t i = 0; i < at; i++)
        if (p->steps[i].operand == s->operand && p->steps[i].step == s->step)
            return "step that is there twice";
    return NULL;
}

static const char *bad_entries(const struct assay_probe *p)
{
    if (p->n_entries != 0 && p->n_entries != 8 &&
        p->n_entries != ASSAY_PROBE_ENTRIES)
        return "n_entries";
    for (uint32_t i = p->n_entries / 8; i < sizeof(p->entries); i++)
        if (p->entries[i] != 0)
            return "entries";
    return NULL;
}

const char *assay_probe_bad_field(const struct assay_probe *p)
{
    const char *bad = NULL;

    if (p->has_sums > 1 ||
        (p->has_sums ? p->min > p->max : p->min != 0 || p->max != 0))
        return "sums";
    for (unsigned i = 0; i < ASSAY_PROBE_SUMS; i++)
        if (p->sums[i] > ASSAY_PROBE_LEAVES)
            return "width of partial sums";
    if (p->facts >> ASSAY_PROBE_FACTS != 0)
        return "facts";
    for (unsigned i = 0; i < ASSAY_PROBE_FACTS; i++)
        if ((p->facts >> i & 1) == 0 && p->fact[i] != 0)
            return "count of a fact";
    if (p->n_steps > ASSAY_PROBE_STEPS)
        return "n_steps";
    for (uint32_t i = 0; i < p->n_steps && bad == NULL; i++)
        bad = bad_step(p, i);
    if (bad == NULL)
        bad = bad_entries(p);
    if (bad == NULL && p->values == 0 &&
        (p->has_sums || p->facts != 0 || p->n_entries != 0 || p->n_steps != 0))
        return "values";
    return bad;
}

const char *assay_probe_fact_key(enum assay_probe_fact fact)
{
    switch (fact) {
#define ASSAY_PROBE_FACT(name, number, key) \
    case ASSAY_PROBE_##name: \
        return key;
#include "lib/core/probe.def"
#undef ASSAY_PROBE_FACT
    }
    return "?";
}
