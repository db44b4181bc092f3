/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The self-test: every kernel is told, good ones as good; a memory that
 * forgets a bit is found where it does.
 *
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/ lib/core/
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/engine/selftest.h"

#define MOST 256

struct seen {
    const char *kernel[MOST];
    unsigned n, bad, begun;
};

static void on_begin(void *self, const char *kernel, const char *slice)
{
    struct seen *s = self;

    assert_non_null(kernel);
    assert_non_null(slice);
    s->begun++;
}

static void on_result(void *self, const struct assay_selftest_result *r)
{
    struct seen *s = self;

    if (!r->good) {
        print_error("%s\n", r->why);
        s->bad++;
    }
    assert_true(s->n < MOST);
    s->kernel[s->n++] = r->kernel;
}

static void is_seen(void *arg, const char *slot, const char *name,
                    enum assay_isa isa)
{
    struct seen *s = arg;
    uint32_t cpu = assay_cpu_probe();
    bool found = false;

    (void)slot;
    if ((isa == ASSAY_ISA_NEON && !(cpu & ASSAY_CPU_NEON)) ||
        (isa == ASSAY_ISA_DOTPROD && !(cpu & ASSAY_CPU_DOTPROD)) ||
        (isa == ASSAY_ISA_I8MM && !(cpu & ASSAY_CPU_I8MM)))
        return;
    for (unsigned i = 0; i < s->n; i++)
        found = found || strcmp(s->kernel[i], name) == 0;
    if (!found)
        print_error("%s\n", name);
    assert_true(found);
}

static void test_every_kernel(void **state)
{
    struct seen s = {0};
    const struct assay_selftest_events events = {&s, on_begin, on_result};

    (void)state;
    assay_selftest_kernels(assay_cpu_probe(), &events);
    assert_int_equal(s.bad, 0);
    assert_true(s.n >= 24);
    assert_true(s.begun >= s.n);
    assay_kernel_list(is_seen, &s);
}

static void test_masked_rungs(void **state)
{
    struct seen all = {0}, scalar = {0};
    struct assay_selftest_events events = {&all, on_begin, on_result};

    (void)state;
    assay_selftest_kernels(assay_cpu_probe(), &events);
    events.self = &scalar;
    events.begin = NULL;
    assay_selftest_kernels(0, &events);
    assert_int_equal(scalar.n, 24);
    assert_true(all.n >= scalar.n);
    assert_int_equal(scalar.begun, 0);
}

static void test_memory(void **state)
{
    enum { WORDS = 5000 };
    uint64_t *m = malloc(WORDS * sizeof(*m));
    struct assay_selftest_fault fault;

    (void)state;
    assert_non_null(m);
    for (unsigned pattern = 0; pattern < ASSAY_SELFTEST_PATTERNS; pattern++) {
        assay_selftest_fill(m, WORDS, pattern);
        assert_true(assay_selftest_check(m, WORDS, pattern, &fault));
        m[4321] ^= UINT64_C(1) << 41; /* a bit that does not hold */
        assert_false(assay_selftest_check(m, WORDS, pattern, &fault));
        assert_int_equal(fault.offset, 4321 * 8);
        assert_true((fault.wanted ^ fault.found) == UINT64_C(1) << 41);
        /* An address line that is stuck: two places are one. */
        assay_selftest_fill(m, WORDS, pattern);
        if (pattern < 2) {
            m[8] = m[8 + 1024];
            assert_false(assay_selftest_check(m, WORDS, pattern, &fault));
            assert_int_equal(fault.offset, 8 * 8);
        }
    }
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel),
        cmocka_unit_test(test_masked_rungs),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
