/* SPDX-License-Identifier: Apache-2.0 */
/* What the process of a self-test does: it may die of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/ring.h"
#include "agent/selftest.h"
#include "agent/sysinfo.h"
#include "lib/engine/selftest.h"

#define PLAUSIBLE 1704067200 /* 2024: no board of before runs this */

struct child {
    int fd;
    pid_t parent;
};

/* Nobody waits for the findings of a daemon that is gone. */
static void tell(const struct child *c, const struct assay_test_item *item)
{
    if (getppid() != c->parent ||
        write(c->fd, item, sizeof(*item)) != (ssize_t)sizeof(*item))
        _exit(1);
}

/* ---- kernels --------------------------------------------------------------------- */

static void on_begin(void *self, const char *kernel, const char *slice)
{
    struct assay_test_item item = {.kind = ASSAY_SELF_TEST_KERNEL, .begins = 1};

    snprintf(item.name, sizeof(item.name), "%s", kernel);
    snprintf(item.text, sizeof(item.text), "%s", slice);
    tell(self, &item);
}

static void on_result(void *self, const struct assay_selftest_result *r)
{
    struct assay_test_item item = {.kind = ASSAY_SELF_TEST_KERNEL,
                                   .verdict = r->good ? ASSAY_VERDICT_GOOD
                                                      : ASSAY_VERDICT_BAD};

    snprintf(item.name, sizeof(item.name), "%s", r->kernel);
    snprintf(item.rung, sizeof(item.rung), "%s", assay_isa_name(r->isa));
    snprintf(item.text, sizeof(item.text), "%.*s", (int)sizeof(item.text) - 1,
             r->why);
    tell(self, &item);
}

/* ---- memory ---------------------------------------------------------------------- */

static void test_memory(const struct child *c, uint64_t bytes)
{
    struct assay_test_item item = {.kind = ASSAY_SELF_TEST_MEMORY,
                                   .verdict = ASSAY_VERDICT_GOOD,
                                   .begins = 1};
    struct assay_selftest_fault fault;
    size_t words = (size_t)(bytes / sizeof(uint64_t));
    uint64_t *m = MAP_FAILED;

    tell(c, &item);
    item.begins = 0;
    if (words > 0)
        m = mmap(NULL, words * sizeof(*m), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) {
        item.verdict = ASSAY_VERDICT_NONE;
        snprintf(item.text, sizeof(item.text), "no memory is free for it");
        tell(c, &item);
        return;
    }
    snprintf(item.text, sizeof(item.text), "%" PRIu64 " KiB, %d patterns",
             bytes / 1024, ASSAY_SELFTEST_PATTERNS);
    for (unsigned p = 0; p < ASSAY_SELFTEST_PATTERNS; p++) {
        assay_selftest_fill(m, words, p);
        if (!assay_selftest_check(m, words, p, &fault)) {
            item.verdict = ASSAY_VERDICT_BAD;
            snprintf(item.text, sizeof(item.text),
                     "memory at byte %zu of %" PRIu64 " held %016" PRIx64
                     ", %016" PRIx64 " was written",
                     fault.offset, bytes, fault.found, fault.wanted);
            break;
        }
    }
    tell(c, &item);
    munmap(m, words * sizeof(*m));
}

/* ---- clock and sensors ------------------------------------------------------------- */

static void test_clock(const struct child *c)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    struct assay_test_item item = {.kind = ASSAY_SELF_TEST_CLOCK,
                                   .verdict = ASSAY_VERDICT_GOOD,
                                   .name = "monotonic"};
    uint64_t begin = assay_now_us(), last = begin, now;
    time_t wall = time(NULL);
    struct tm tm;

    for (int i = 0; i < 1000 && item.verdict == ASSAY_VERDICT_GOOD; i++) {
        now = assay_now_us();
        if (now < last) {
            item.verdict = ASSAY_VERDICT_BAD;
            snprintf(item.text, sizeof(item.text),
                     "clock went back by %" PRIu64 " us", last - now);
        }
        last = now;
    }
    nanosleep(&nap, NULL);
    now = assay_now_us();
    if (item.verdict == ASSAY_VERDICT_GOOD && now < begin + 1000) {
        item.verdict = ASSAY_VERDICT_BAD;
        snprintf(item.text, sizeof(item.text),
                 "clock stands: 2 ms of sleep were %" PRIu64 " us",
                 now - begin);
    }
    tell(c, &item);
    item = (struct assay_test_item){
        .kind = ASSAY_SELF_TEST_CLOCK,
        .verdict = wall >= PLAUSIBLE ? ASSAY_VERDICT_GOOD : ASSAY_VERDICT_NONE,
        .name = "wall"};
    if (wall < PLAUSIBLE || gmtime_r(&wall, &tm) == NULL ||
        strftime(item.text, sizeof(item.text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        snprintf(item.text, sizeof(item.text), "no clock");
    tell(c, &item);
}

static void read_sensors(const struct child *c)
{
    struct assay_sensors s;
    struct assay_test_item item = {.kind = ASSAY_SELF_TEST_TEMPERATURE,
                                   .verdict = ASSAY_VERDICT_NONE};

    assay_sysinfo_sensors(assay_sysinfo_sysfs(), &s);
    if (s.temperature_mc != 0) {
        item.verdict = ASSAY_VERDICT_GOOD;
        snprintf(item.name, sizeof(item.name), "%s", s.zone);
        snprintf(item.text, sizeof(item.text), "%.1f C",
                 s.temperature_mc / 1000.0);
    }
    tell(c, &item);
    item = (struct assay_test_item){.kind = ASSAY_SELF_TEST_FREQUENCY,
                                    .verdict = ASSAY_VERDICT_NONE};
    if (s.khz != 0) {
        item.verdict = ASSAY_VERDICT_GOOD;
        snprintf(item.text, sizeof(item.text), "%" PRIu64 " of %" PRIu64 " MHz",
                 s.khz / 1000, s.max_khz / 1000);
    }
    tell(c, &item);
}

void assay_test_child(int fd, uint32_t cpu_flags, uint64_t memory_bytes)
{
    struct child c = {fd, getppid()};
    const struct assay_selftest_events events = {&c, on_begin, on_result};

    assay_selftest_kernels(cpu_flags, &events);
    test_memory(&c, memory_bytes);
    test_clock(&c);
    read_sensors(&c);
    _exit(0);
}
