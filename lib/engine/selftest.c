/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/selftest.h"

#include <string.h>

#include "lib/core/buf.h"
#include "lib/core/hash.h"
#include "lib/engine/ops.h"
#include "lib/engine/plan.h"
#include "lib/engine/run.h"
#include "lib/engine/selftest_slices.h"

#define OUTPUT_MAX 8192u /* of all layers of a slice */
#define KERNELS_MAX 256
#define DIGEST_BYTES 16

struct test {
    const struct assay_selftest_events *events;
    uint32_t flags;
    struct {
        const char *name;
        enum assay_isa isa;
        bool seen;
    } kernels[KERNELS_MAX];
    unsigned n_kernels;
    /* Of the slice that runs: */
    struct assay_selftest_slice slice;
    const char *slice_name;
    uint8_t output[OUTPUT_MAX];
    size_t len;
};

/* ---- judging ---------------------------------------------------------------- */

static int kernel_index(const struct test *t, const char *name)
{
    for (unsigned i = 0; i < t->n_kernels; i++) {
        if (strcmp(t->kernels[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

static void tell(struct test *t, unsigned kernel, const char *slice,
                 const char *why)
{
    const struct assay_selftest_result r = {
        .kernel = t->kernels[kernel].name,
        .isa = t->kernels[kernel].isa,
        .slice = slice,
        .good = why[0] == '\0',
        .why = why,
    };

    t->kernels[kernel].seen = true;
    t->events->result(t->events->self, &r);
}

static void judge(struct test *t, unsigned kernel, const char *golden)
{
    uint8_t sha[ASSAY_SHA256_LEN];
    char found[2 * DIGEST_BYTES + 1];
    struct assay_err err = {0};

    assay_sha256(t->output, t->len, sha);
    assay_hex(sha, DIGEST_BYTES, found);
    if (strcmp(found, golden) != 0)
        assay_fail(&err, ASSAY_EINTERNAL,
                   "kernel %s computed '%s' wrong: digest %s, expected %s",
                   t->kernels[kernel].name, t->slice_name, found, golden);
    tell(t, kernel, t->slice_name, err.text);
}

/* ---- running a slice --------------------------------------------------------- */

static const void *fetch(void *self, uint32_t tensor)
{
    const struct test *t = self;

    return t->slice.data[tensor];
}

static int begin(void *self, const struct assay_layer_info *info)
{
    const struct test *t = self;

    if (t->events->begin != NULL)
        t->events->begin(t->events->self, info->kernel, t->slice_name);
    return 0;
}

/* Binary32 without the last 8 bits, rounded half up in their place. */
static void coarsen(uint8_t *data, size_t n)
{
    uint32_t u;

    for (size_t i = 0; i + sizeof(u) <= n; i += sizeof(u)) {
        memcpy(&u, data + i, sizeof(u));
        u = (u + 0x80) & 0xffffff00u;
        memcpy(data + i, &u, sizeof(u));
    }
}

static int take(void *self, const struct assay_layer_info *info,
                const void *data)
{
    struct test *t = self;

    if (info->bytes > OUTPUT_MAX - t->len)
        return ASSAY_EINTERNAL;
    memcpy(t->output + t->len, data, info->bytes);
    if (t->slice.coarse)
        coarsen(t->output + t->len, info->bytes);
    t->len += info->bytes;
    return 0;
}

static int end(void *self, const struct assay_layer_info *info)
{
    (void)self;
    (void)info;
    return 0;
}

static int run(struct test *t, const struct assay_plan *plan,
               struct assay_err *err)
{
    const struct assay_run_request request = {
        .mode = ASSAY_RUN_CUMULATIVE, .fetch = fetch, .self = t};
    const struct assay_sink sink = {t, begin, take, end};
    size_t bytes = assay_plan_arena_bytes(plan) + ASSAY_ALIGNMENT;
    char *block = assay_alloc(bytes);
    int rc;

    if (block == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a self-test");
    t->len = 0;
    rc = assay_run(plan,
                   (void *)(((uintptr_t)block + ASSAY_ALIGNMENT - 1) &
                            ~(uintptr_t)(ASSAY_ALIGNMENT - 1)),
                   &request, &sink, err);
    assay_free(block);
    return rc;
}

/* The slice on its best kernels of these flags, where that is a new one. */
static int run_rung(struct test *t, enum assay_isa isa, uint32_t flags,
                    unsigned k, struct assay_err *err)
{
    struct assay_kernel_table table;
    struct assay_plan *plan = NULL;
    int rc, kernel;

    assay_kernel_table_init(&table, flags);
    rc = assay_plan_new(&plan, t->slice.slice, &table, NULL, err);
    if (rc < 0)
        return rc;
    kernel = kernel_index(t, assay_plan_kernel(plan, 0));
    if (kernel >= 0 && t->kernels[kernel].isa == isa) {
        rc = run(t, plan, err);
        if (rc == 0)
            judge(t, (unsigned)kernel, assay_selftest_slice_golden(k));
    }
    assay_plan_free(plan);
    return rc;
}

static void run_slice(struct test *t, enum assay_isa isa, uint32_t flags,
                      unsigned k)
{
    struct assay_err err = {0};
    int rc = assay_selftest_slice_open(&t->slice, k, &err);

    t->slice_name = assay_selftest_slice_name(k);
    if (rc == 0)
        rc = run_rung(t, isa, flags, k, &err);
    if (rc < 0) {
        assay_err_prefix(&err, "self-test of '%s'", t->slice_name);
        /* Whose fault is not known: the first of the rung tells it. */
        for (unsigned i = 0; i < t->n_kernels; i++) {
            if (t->kernels[i].isa == isa) {
                tell(t, i, t->slice_name, err.text);
                break;
            }
        }
    }
    assay_selftest_slice_close(&t->slice);
}

/* ---- the step interpreter ----------------------------------------------------- */

#define VALUES 61
#define CHANNELS 7

static int64_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

static int64_t bits_of_double(double d)
{
    int64_t i;

    memcpy(&i, &d, sizeof(i));
    return i;
}

/* Integers, binary32 and binary64: every kind of step but those of a second
 * operand, which the sums of products have. */
static void interpret(struct test *t, assay_program_fn *fn)
{
    static const int64_t ten = 10, three = 3, shift = 5, m = 0x5a000001,
                         low = -32000, high = 31000;
    int64_t per[CHANNELS];
    const int64_t f[] = {bits_of(0.4375f), bits_of(-3.0f), bits_of(-120.5f),
                         bits_of(119.0f), bits_of(7.0f)};
    const int64_t d[] = {bits_of_double(0.1), bits_of_double(3.0),
                         bits_of_double(-2.25)};
    const struct assay_program programs[] = {
        {12,
         {{ASSAY_STEP_ADD, 0, ASSAY_ADD_SAT32, 0, CHANNELS, per, NULL},
          {ASSAY_STEP_SHL, 0, 0, 0, 1, &three, NULL},
          {ASSAY_STEP_WRAP, 0, 0, 32, 0, NULL, NULL},
          {ASSAY_STEP_SRDHM, 0, 0, 0, 1, &m, NULL},
          {ASSAY_STEP_SHR, ASSAY_ROUND_HALF_EVEN, 0, 0, 1, &three, NULL},
          {ASSAY_STEP_SDMULH, 0, 0, 0, 1, &m, NULL},
          {ASSAY_STEP_MUL, 0, 0, 0, CHANNELS, per, NULL},
          {ASSAY_STEP_SHR, ASSAY_ROUND_HALF_AWAY, 0, 0, 1, &ten, NULL},
          {ASSAY_STEP_SAT, 0, 0, 24, 0, NULL, NULL},
          {ASSAY_STEP_SHR, ASSAY_ROUND_FLOOR, 0, 0, 1, &shift, NULL},
          {ASSAY_STEP_ADD_ZP, 0, 0, 0, 1, &ten, NULL},
          {ASSAY_STEP_CLAMP, 0, 0, 0, 1, &low, &high}}},
        {7,
         {{ASSAY_STEP_TO_F32, 0, 0, 0, 0, NULL, NULL},
          {ASSAY_STEP_FMUL, 0, 0, 0, 1, &f[0], NULL},
          {ASSAY_STEP_FADD, 0, 0, 0, 1, &f[1], NULL},
          {ASSAY_STEP_FDIV, 0, 0, 0, 1, &f[4], NULL},
          {ASSAY_STEP_FFMA, 0, 0, 0, 1, &f[0], &f[1]},
          {ASSAY_STEP_FCLAMP, 0, 0, 0, 1, &f[2], &f[3]},
          {ASSAY_STEP_FROUND, ASSAY_ROUND_HALF_EVEN, 0, 0, 0, NULL, NULL}}},
        {5,
         {{ASSAY_STEP_TO_F64, 0, 0, 0, 0, NULL, NULL},
          {ASSAY_STEP_FMUL, 0, 0, 0, 1, &d[0], NULL},
          {ASSAY_STEP_FDIV, 0, 0, 0, 1, &d[1], NULL},
          {ASSAY_STEP_FADD, 0, 0, 0, 1, &d[2], NULL},
          {ASSAY_STEP_FROUND, ASSAY_ROUND_HALF_UP, 0, 0, 0, NULL, NULL}}},
    };
    struct assay_selftest_draw draw;

    assay_selftest_draw_begin(&draw, t->slice_name, 0);
    for (int c = 0; c < CHANNELS; c++)
        per[c] = assay_selftest_draw_next(&draw, -3000, 3000);
    t->len = 0;
    for (size_t p = 0; p < sizeof(programs) / sizeof(programs[0]); p++) {
        union assay_value v[VALUES];
        const struct assay_block block = {
            .v = v, .n = VALUES, .channel = 2, .channels = CHANNELS};

        assay_selftest_draw_begin(&draw, t->slice_name, (unsigned)p + 1);
        for (int i = 0; i < VALUES; i++)
            v[i].i = assay_selftest_draw_next(&draw, -2000, 2000);
        fn(&programs[p], &block);
        memcpy(t->output + t->len, v, sizeof(v)); /* little-endian */
        t->len += sizeof(v);
    }
}

static void run_program(struct test *t, enum assay_isa isa, uint32_t flags)
{
    static const char golden[] =
#define ASSAY_SELFTEST_SLICE(name, coarse, golden)
#define ASSAY_SELFTEST_PROGRAM(name, golden) golden
#include "lib/engine/selftest.def"
#undef ASSAY_SELFTEST_SLICE
#undef ASSAY_SELFTEST_PROGRAM
        ;
    struct assay_kernel_table table;
    int kernel;

    assay_kernel_table_init(&table, flags);
    if (table.program[isa] == NULL)
        return;
    t->slice_name = "program";
    kernel = kernel_index(t, table.program[isa]->name);
    if (t->events->begin != NULL)
        t->events->begin(t->events->self, table.program[isa]->name,
                         t->slice_name);
    interpret(t, table.program[isa]->run);
    if (kernel >= 0)
        judge(t, (unsigned)kernel, golden);
}

/* ---- all kernels ---------------------------------------------------------------- */

static uint32_t flags_of(enum assay_isa isa)
{
    switch (isa) {
    case ASSAY_ISA_I8MM:
        return ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD | ASSAY_CPU_I8MM;
    case ASSAY_ISA_DOTPROD: return ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD;
    case ASSAY_ISA_NEON: return ASSAY_CPU_NEON;
    default: return 0;
    }
}

static void list_kernel(void *arg, const char *slot, const char *name,
                        enum assay_isa isa)
{
    struct test *t = arg;
    uint32_t needs = flags_of(isa);

    (void)slot;
    if ((t->flags & needs) != needs || t->n_kernels == KERNELS_MAX)
        return;
    t->kernels[t->n_kernels].name = name;
    t->kernels[t->n_kernels++].isa = isa;
}

void assay_selftest_kernels(uint32_t flags,
                            const struct assay_selftest_events *events)
{
    static struct test t; /* large; callers are one thread */

    memset(&t, 0, sizeof(t));
    t.events = events;
    t.flags = flags;
    assay_kernel_list(list_kernel, &t);
    for (int isa = ASSAY_ISA_REF; isa < ASSAY_ISA_COUNT; isa++) {
        uint32_t needs = flags_of((enum assay_isa)isa);

        if ((flags & needs) != needs)
            continue;
        for (unsigned k = 0; assay_selftest_slice_name(k) != NULL; k++)
            run_slice(&t, (enum assay_isa)isa, needs, k);
        run_program(&t, (enum assay_isa)isa, needs);
    }
    /* A kernel that a new line of kernels.def brought and no slice reaches
     * is not proved, and not passed over. */
    for (unsigned i = 0; i < t.n_kernels; i++) {
        if (!t.kernels[i].seen)
            tell(&t, i, "", "no built-in slice reaches this kernel");
    }
}

/* ---- memory ---------------------------------------------------------------------- */

static uint64_t word_of(unsigned pattern, size_t i)
{
    uint64_t own = (uint64_t)i * UINT64_C(0x0001000100010001);

    switch (pattern) {
    case 0: return own;
    case 1: return ~own;
    default: return UINT64_C(1) << (i % 64);
    }
}

void assay_selftest_fill(uint64_t *memory, size_t words, unsigned pattern)
{
    volatile uint64_t *p = memory; /* it has to reach the memory */

    for (size_t i = 0; i < words; i++)
        p[i] = word_of(pattern, i);
}

bool assay_selftest_check(const uint64_t *memory, size_t words,
                          unsigned pattern, struct assay_selftest_fault *fault)
{
    const volatile uint64_t *p = memory;

    for (size_t i = 0; i < words; i++) {
        uint64_t found = p[i], wanted = word_of(pattern, i);

        if (found != wanted) {
            *fault =
                (struct assay_selftest_fault){i * sizeof(*p), wanted, found};
            return false;
        }
    }
    return true;
}
