/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict table of the design: one row a line, the first that fits. */
#include "host-tools/diff/diff.h"

#define EQ ASSAY_REL_EQUAL
#define NE ASSAY_REL_DIFFERS

static bool match(const struct assay_evidence *e)
{
    return !e->culprit && !e->input_differs && !e->output_differs &&
           !e->version_differs && !e->stale && !e->flaky && !e->layout_found;
}

static bool layout(const struct assay_evidence *e)
{
    return e->layout_found;
}

static bool assay_kernel(const struct assay_evidence *e)
{
    return e->host_scalar == EQ && e->scalar_cpu == NE;
}

static bool board_cpu(const struct assay_evidence *e)
{
    return e->host_scalar == NE;
}

/* The engine agrees with itself and not with the reference. */
static bool engine_against_ref(const struct assay_evidence *e)
{
    return e->host_cpu == EQ && e->cpu_ref == NE;
}

static bool unproven(const struct assay_evidence *e)
{
    return engine_against_ref(e) && !e->numerics_proved;
}

static bool arithmetic(const struct assay_evidence *e)
{
    return engine_against_ref(e) && e->hypothesis_proved;
}

static bool compile(const struct assay_evidence *e)
{
    return !e->input_differs && !e->another_sample && e->cpu_ref == EQ &&
           e->sim_ref == NE && e->bpu_ref != EQ && e->sim_bpu != NE;
}

static bool runtime(const struct assay_evidence *e)
{
    if (e->another_sample && e->board_memory)
        return true;
    return !e->input_differs && e->sim_ref == EQ &&
           (e->sim_bpu == NE || e->bpu_ref == NE);
}

static bool input(const struct assay_evidence *e)
{
    return e->input_differs;
}

static bool output(const struct assay_evidence *e)
{
    return e->output_differs;
}

static bool version(const struct assay_evidence *e)
{
    return e->version_differs;
}

static bool stale(const struct assay_evidence *e)
{
    return e->stale;
}

static bool flaky(const struct assay_evidence *e)
{
    return e->flaky;
}

static bool anything(const struct assay_evidence *e)
{
    (void)e;
    return true;
}

static const struct {
    enum assay_verdict verdict;
    const char *name;
    int exit_code;
    bool (*fits)(const struct assay_evidence *e);
} table[ASSAY_VERDICT_COUNT] = {
    {ASSAY_VERDICT_MATCH, "match", 0, match},
    {ASSAY_VERDICT_LAYOUT, "layout", 1, layout},
    {ASSAY_VERDICT_ASSAY_KERNEL, "assay-kernel", 4, assay_kernel},
    {ASSAY_VERDICT_BOARD_CPU, "board-cpu", 4, board_cpu},
    {ASSAY_VERDICT_UNPROVEN, "unproven", 5, unproven},
    {ASSAY_VERDICT_ARITHMETIC, "arithmetic", 1, arithmetic},
    {ASSAY_VERDICT_COMPILE, "compile", 1, compile},
    {ASSAY_VERDICT_RUNTIME, "runtime", 1, runtime},
    {ASSAY_VERDICT_INPUT, "input", 1, input},
    {ASSAY_VERDICT_OUTPUT, "output", 1, output},
    {ASSAY_VERDICT_VERSION, "version", 2, version},
    {ASSAY_VERDICT_STALE, "stale", 1, stale},
    {ASSAY_VERDICT_FLAKY, "flaky", 6, flaky},
    {ASSAY_VERDICT_UNEXPLAINED, "unexplained", 1, anything},
};

const char *assay_verdict_name(enum assay_verdict v)
{
    return (unsigned)v < ASSAY_VERDICT_COUNT ? table[v].name : "?";
}

int assay_verdict_exit(enum assay_verdict v)
{
    /* What is not in the table is never a pass. */
    return (unsigned)v < ASSAY_VERDICT_COUNT ? table[v].exit_code : 1;
}

enum assay_verdict assay_verdict(const struct assay_evidence *e)
{
    for (unsigned i = 0; i < ASSAY_VERDICT_COUNT; i++) {
        if (table[i].fits(e))
            return table[i].verdict;
    }
    return ASSAY_VERDICT_UNEXPLAINED;
}

int assay_exit_combine(int a, int b)
{
    /* A divergence outranks the rest: did the model regress? */
    static const int rank[] = {1, 2, 4, 3, 5, 6};

    if (a == b)
        return a;
    for (size_t i = 0; i < sizeof(rank) / sizeof(rank[0]); i++) {
        if (a == rank[i] || b == rank[i])
            return rank[i];
    }
    return a != 0 ? a : b;
}
