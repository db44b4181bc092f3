/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of worker and parent: order, wrapping, waiting for room, and a
 * reader that believes nothing.
 *
 * links: agent/ring.c lib/core/err.c lib/core/buf.c lib/core/probe.c
 * links: lib/core/stats.c lib/core/slice.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/ring.h"

static uint8_t tile[ASSAY_TILE_BYTES];

static void fill(unsigned i, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        tile[k] = (uint8_t)(i * 31 + k);
}

static uint32_t size_of(unsigned i)
{
    return i * 7919u % ASSAY_TILE_BYTES + 1;
}

/* More than five times what the ring holds, by a real second process. */
#define TILES 700

static void writer(struct assay_ring *r, int ready, int space)
{
    struct assay_ring_writer w = {r, ready, space};

    for (unsigned i = 0; i < TILES; i++) {
        struct assay_record rec = {
            .kind = i % 5 == 0 ? ASSAY_RECORD_BEGIN : ASSAY_RECORD_TILE,
            .bytes = size_of(i),
            .layer = i,
        };

        fill(i, rec.bytes);
        assay_ring_write(&w, &rec, tile);
    }
    _exit(0);
}

static void test_two_processes(void **state)
{
    struct assay_ring *r = assay_ring_new();
    struct assay_record rec;
    const uint8_t *data;
    uint64_t position = 0;
    unsigned seen = 0;
    int ready[2], space[2], status;
    char token[64];
    pid_t pid;

    (void)state;
    assert_non_null(r);
    assert_int_equal(pipe2(ready, O_NONBLOCK), 0);
    assert_int_equal(pipe(space), 0);
    pid = fork();
    if (pid == 0)
        writer(r, ready[1], space[0]);
    while (seen < TILES) {
        struct pollfd p = {.fd = ready[0], .events = POLLIN};
        int rc = assay_ring_next(r, &position, &rec, &data);

        assert_true(rc >= 0);
        if (rc == 0) {
            assert_int_equal(poll(&p, 1, 10000), 1);
            (void)!read(ready[0], token, sizeof(token));
            continue;
        }
        assert_int_equal(rec.layer, seen);
        if (rec.kind == ASSAY_RECORD_TILE) {
            fill(seen, size_of(seen));
            assert_int_equal(rec.bytes, size_of(seen));
            assert_memory_equal(data, tile, rec.bytes);
        }
        seen++;
        /* Released late, so that the writer has to wait. */
        if (seen % 40 == 0 ||
            assay_ring_next(r, &(uint64_t){position}, &rec, &data) == 0)
            assay_ring_release(r, position, space[1]);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(space[i]);
    }
    assay_ring_free(r);
}

static void put(struct assay_ring *r, uint64_t at, uint32_t kind,
                uint32_t bytes)
{
    memcpy(r->data + at, &kind, 4);
    memcpy(r->data + at + 4, &bytes, 4);
}

static const struct {
    uint64_t head, position;
    uint32_t kind, bytes;
} damaged[] = {
    {64, 0, ASSAY_RECORD_BEGIN, 0},                /* cut */
    {4096, 0, 0, 0},                               /* no kind */
    {4096, 0, 99, 0},                              /* unknown kind */
    {4096, 0, ASSAY_RECORD_TILE, 0},               /* empty tile */
    {4096, 0, ASSAY_RECORD_TILE, 65537},           /* more than a tile */
    {4096, 0, ASSAY_RECORD_TILE, 0xffffffff},      /* overflow */
    {4096, 0, ASSAY_RECORD_TILE, 60000},           /* more than was written */
    {4096, 0, ASSAY_RECORD_SKIP, 64},              /* not to the end */
    {4097, 0, ASSAY_RECORD_BEGIN, 0},              /* not aligned */
    {UINT64_C(1) << 40, 0, ASSAY_RECORD_BEGIN, 0}, /* more than the ring */
    {0, 64, ASSAY_RECORD_BEGIN, 0},                /* behind the reader */
    {ASSAY_RING_BYTES, ASSAY_RING_BYTES - 64, ASSAY_RECORD_BEGIN, 0},
    {ASSAY_RING_BYTES + 64, ASSAY_RING_BYTES - 64, ASSAY_RECORD_SKIP, 128},
};

static void test_damaged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        struct assay_ring *r = assay_ring_new();
        uint64_t position = damaged[i].position;
        struct assay_record rec;
        const uint8_t *data;

        atomic_store(&r->head, damaged[i].head);
        put(r, position % ASSAY_RING_BYTES, damaged[i].kind, damaged[i].bytes);
        if (assay_ring_next(r, &position, &rec, &data) != ASSAY_EINTERNAL)
            fail_msg("case %zu was taken", i);
        assert_int_equal(position, damaged[i].position);
        assay_ring_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_processes),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
