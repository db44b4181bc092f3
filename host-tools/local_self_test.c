/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test of this process: kernels and memory. A board's agent looks at
 * its clock and sensors too, and does it in a process that may die. */
#include <stdio.h>
#include <stdlib.h>

#include "host-tools/local_self_test.h"
#include "host-tools/progress.h"
#include "kernels/cpu.h"
#include "lib/core/buf.h"
#include "lib/engine/selftest.h"
#include "proto/codec.h"

#define MEMORY_DEFAULT (UINT64_C(4) << 20)
#define MEMORY_MAX (UINT64_C(1) << 30)

struct local_test {
    void (*found)(void *self, const struct assay_msg_self_test *item);
    void *self;
    struct assay_msg_self_test end;
    char sentence[300];
};

static void tell(struct local_test *t, const struct assay_msg_self_test *item)
{
    t->end.checks++;
    if (item->verdict == ASSAY_VERDICT_BAD) {
        if (t->end.verdict == ASSAY_VERDICT_GOOD)
            snprintf(t->sentence, sizeof(t->sentence), "%s", item->text);
        t->end.verdict = ASSAY_VERDICT_BAD;
    }
    t->found(t->self, item);
}

static void on_result(void *self, const struct assay_selftest_result *r)
{
    const struct assay_msg_self_test item = {
        .kind = ASSAY_SELF_TEST_KERNEL,
        .verdict = r->good ? ASSAY_VERDICT_GOOD : ASSAY_VERDICT_BAD,
        .name = r->kernel,
        .rung = assay_isa_name(r->isa),
        .text = r->why,
        .checks = 1,
    };

    tell(self, &item);
}

static void test_memory(struct local_test *t, uint64_t bytes)
{
    struct assay_msg_self_test item = {.kind = ASSAY_SELF_TEST_MEMORY,
                                       .verdict = ASSAY_VERDICT_NONE,
                                       .name = "",
                                       .rung = "",
                                       .checks = 1};
    struct assay_selftest_fault fault;
    size_t words;
    uint64_t *m;
    char text[160] = "no memory is free for it";

    if (bytes == 0)
        bytes = MEMORY_DEFAULT;
    words = (size_t)((bytes < MEMORY_MAX ? bytes : MEMORY_MAX) / sizeof(*m));
    m = assay_alloc(words * sizeof(*m) + 1);
    if (m != NULL) {
        item.verdict = ASSAY_VERDICT_GOOD;
        snprintf(text, sizeof(text), "%zu KiB, %d patterns",
                 words * sizeof(*m) / 1024, ASSAY_SELFTEST_PATTERNS);
    }
    for (unsigned p = 0; m != NULL && p < ASSAY_SELFTEST_PATTERNS &&
                         item.verdict == ASSAY_VERDICT_GOOD;
         p++) {
        assay_selftest_fill(m, words, p);
        if (assay_selftest_check(m, words, p, &fault))
            continue;
        item.verdict = ASSAY_VERDICT_BAD;
        snprintf(text, sizeof(text),
                 "memory at byte %zu of %zu held %016llx, %016llx was written",
                 fault.offset, words * sizeof(*m),
                 (unsigned long long)fault.found,
                 (unsigned long long)fault.wanted);
    }
    assay_free(m);
    item.text = text;
    tell(t, &item);
}

int assay_local_self_test(uint32_t cpumask, uint64_t memory_bytes,
                          void (*found)(void *self,
                                        const struct assay_msg_self_test *),
                          void *self)
{
    struct local_test t = {
        .found = found,
        .self = self,
        .end = {.kind = ASSAY_SELF_TEST_END,
                .verdict = ASSAY_VERDICT_GOOD,
                .name = "",
                .rung = ""},
    };
    const struct assay_selftest_events events = {&t, NULL, on_result};
    uint64_t begin = assay_monotonic_ms();

    assay_selftest_kernels(assay_cpu_probe() & cpumask, &events);
    test_memory(&t, memory_bytes);
    t.end.text = t.sentence;
    t.end.time_us = (assay_monotonic_ms() - begin) * 1000;
    found(self, &t.end);
    return 0;
}
