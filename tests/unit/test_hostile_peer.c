/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that knows the protocol and does not mean well: wrong order, wrong
 * sizes, too much, too little, and gone at any moment. The agent answers each
 * with its sentence, serves the next one, and ends with 0.
 *
 * links: tests/support/agents.c tests/support/proc.c tests/support/slices.c
 * links: tests/support/hostile.c agent/ lib/net/ proto/
 * links: gen/proto/assay.pb-c.c lib/core/ lib/engine/ lib/engine/ops/ kernels/
 * links: kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/net/abstract.h"
#include "proto/codec.h"
#include "tests/support/hostile.h"

#define BIG (8u << 20) /* twice the ring */

static struct agents agent;
static char board[64];
static struct hostile_text big; /* two copies of BIG bytes */

static void refused(struct hostile_peer *p, bool fatal, const char *sentence)
{
    assert_int_equal(hostile_hear(p), ASSAY_MSG_ERROR);
    if (strstr(p->sentence, sentence) == NULL)
        fail_msg("'%s' lacks '%s'", p->sentence, sentence);
    assert_int_equal(p->got.u.error.fatal, fatal);
    if (fatal)
        assert_int_equal(hostile_hear(p), 0);
}

enum stage { HELLO, READY, LEASED, LOADED, RUNNING };

static void give_input(struct hostile_peer *p)
{
    static uint8_t chunk[1u << 20];

    for (uint32_t at = 0; at < BIG; at += sizeof(chunk))
        assert_true(
            hostile_say(p, hostile_tensor(0, BIG, at), chunk, sizeof(chunk)));
}

static void reach(struct hostile_peer *p, enum stage stage)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};

    hostile_dial(p, &agent);
    if (stage == HELLO)
        return;
    m.u.hello = (struct assay_msg_hello){1, 1, ASSAY_VERSION};
    hostile_say(p, m, NULL, 0);
    hostile_until(p, ASSAY_MSG_HELLO_ACK);
    if (stage == READY)
        return;
    m = hostile_plain(ASSAY_MSG_LEASE_ACQUIRE);
    m.u.lease.owner = "hostile@test 1";
    m.u.lease.ttl_ms = 60000;
    m.u.lease.force = true;
    hostile_say(p, m, NULL, 0);
    hostile_until(p, ASSAY_MSG_LEASE_GRANTED);
    if (stage == LEASED)
        return;
    hostile_say(p,
                hostile_blob(ASSAY_MSG_BLOB_PUT, big.identity, big.text.len, 0),
                big.text.data, (uint32_t)big.text.len);
    hostile_until(p, ASSAY_MSG_BLOB_STORED);
    hostile_say(p, hostile_blob(ASSAY_MSG_SLICE_LOAD, big.identity, 0, 0), NULL,
                0);
    hostile_until(p, ASSAY_MSG_SLICE_LOADED);
    if (stage == LOADED)
        return;
    give_input(p);
    hostile_say(p, hostile_start(1, 65536), NULL, 0);
    hostile_until(p, ASSAY_MSG_CHUNK);
}

static void assert_runs(struct hostile_peer *p, uint32_t run)
{
    give_input(p);
    hostile_say(p, hostile_start(run, UINT64_MAX), NULL, 0);
    hostile_until(p, ASSAY_MSG_RUN_END);
    assert_string_equal(p->sentence, "");
    assert_int_equal(p->got.u.run_end.run, run);
    assert_int_equal(p->got.u.run_end.layers_done, 2);
    assert_int_equal(p->got.u.run_end.bytes, 2 * BIG);
}

/* ---- tests ---------------------------------------------------------------- */

static void test_out_of_turn(void **state)
{
    static const struct {
        enum stage stage;
        enum assay_msg_type type;
        const char *sentence;
    } rows[] = {
        {HELLO, ASSAY_MSG_PING, "PING is out of turn: the session is in"},
        {HELLO, ASSAY_MSG_LEASE_RELEASE, "in state 'hello'"},
        {READY, ASSAY_MSG_HELLO, "HELLO is out of turn"},
        {READY, ASSAY_MSG_CANCEL, "in state 'ready' (no lease)"},
        {READY, ASSAY_MSG_CREDIT, "in state 'ready' (no lease)"},
        {READY, ASSAY_MSG_BLOB_QUERY, "in state 'ready' (no lease)"},
        {LEASED, ASSAY_MSG_RUN_START, "'leased' (no slice is loaded)"},
        {LEASED, ASSAY_MSG_CANCEL, "'leased' (no slice is loaded)"},
        {LOADED, ASSAY_MSG_HELLO, "in state 'loaded'"},
        {RUNNING, ASSAY_MSG_RUN_START, "in state 'running'"},
        {RUNNING, ASSAY_MSG_LEASE_RELEASE, "in state 'running'"},
        {RUNNING, ASSAY_MSG_BLOB_QUERY, "in state 'running'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hostile_peer p;
        int got;

        reach(&p, rows[i].stage);
        hostile_say(&p, hostile_plain(rows[i].type), NULL, 0);
        while ((got = hostile_hear(&p)) != ASSAY_MSG_ERROR && got != 0) {
        }
        if (strstr(p.sentence, rows[i].sentence) == NULL)
            fail_msg("%zu: '%s' lacks '%s'", i, p.sentence, rows[i].sentence);
        assert_int_equal(hostile_hear(&p), 0);
        hostile_hang_up(&p);
    }
}

/* Gone in every state, also inside a frame; the next one has the board. */
static void test_vanishes(void **state)
{
    struct hostile_peer p;

    (void)state;
    for (int stage = HELLO; stage <= RUNNING; stage++) {
        reach(&p, (enum stage)stage);
        if (stage % 2)
            assert_int_equal(send(p.fd, "ASY1", 4, MSG_NOSIGNAL), 4);
        hostile_hang_up(&p);
    }
    reach(&p, LEASED); /* inside an upload */
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, big.identity, 100000, 0),
                "abc", 3);
    hostile_hang_up(&p);
    reach(&p, LOADED);
    assert_runs(&p, 7);
    hostile_hang_up(&p);
}

static void test_uploads(void **state)
{
    uint8_t sha[ASSAY_SHA256_LEN] = {1}, none[ASSAY_SHA256_LEN];
    struct hostile_peer p;

    (void)state;
    reach(&p, LEASED);
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, 3, 0), "abc", 3);
    refused(&p, false, "constant of 3 bytes has sha256:ba7816bf8f01cfea");
    assay_sha256("", 0, none);
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, none, 0, 0), NULL, 0);
    hostile_until(&p, ASSAY_MSG_BLOB_STORED);
    hostile_say(&p, hostile_blob(ASSAY_MSG_SLICE_LOAD, none, 0, 0), NULL, 0);
    refused(&p, false, "model_sha256 length");
    hostile_say(&p, hostile_blob(ASSAY_MSG_SLICE_LOAD, sha, 0, 0), NULL, 0);
    refused(&p, false, "slice sha256:0100000000000000… is not here");
    /* One that no budget holds: told behind its last byte, never taken. */
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, UINT64_MAX, 0), "abc",
                3);
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, UINT64_MAX, 9), "abc",
                3);
    refused(&p, true, "chunk at 9 of 18446744073709551615, expected at 3 of");
    hostile_hang_up(&p);
    reach(&p, LEASED); /* another one in the middle of one */
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, 9, 0), "abc", 3);
    sha[0] = 2;
    hostile_say(&p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, 9, 3), "abc", 3);
    refused(&p, true, "of the one that was begun");
    hostile_hang_up(&p);
}

static void test_tensors(void **state)
{
    static const struct {
        uint32_t index;
        uint64_t total, offset;
        const char *sentence;
    } rows[] = {
        {3, BIG, 0, "tensor index 3 is given, the slice has 3"},
        {UINT32_MAX, 3, 0, "tensor index 4294967295 is given"},
        {0, 3, 0, "tensor 'in' was given 3 bytes, its shape and type need 8"},
        {0, UINT64_MAX, 0, "tensor 'in' was given 18446744073709551615"},
        {0, BIG, 9, "tensor 'in': chunk at 9 of 8388608, expected at 0 of"},
        {0, BIG, 0, "tensor 'in' is cut: 3 of 8388608 bytes were given"},
    };
    struct assay_msg m = hostile_start(1, UINT64_MAX);
    struct hostile_peer p;

    (void)state;
    reach(&p, LOADED);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hostile_say(
            &p, hostile_tensor(rows[i].index, rows[i].total, rows[i].offset),
            "abc", 3);
        hostile_say(&p, hostile_start(1, 0), NULL, 0);
        refused(&p, false, rows[i].sentence);
    }
    m.u.run_start.layers = (const uint8_t *)"\1\0";
    m.u.run_start.layers_bytes = 2;
    hostile_say(&p, m, NULL, 0);
    refused(&p, false, "layer filter has 2 bytes, 2 layers need 1");
    /* Nothing given at all: the run ends, and says what was missing. */
    hostile_say(&p, hostile_start(2, 0), NULL, 0);
    hostile_until(&p, ASSAY_MSG_RUN_END);
    assert_int_equal(p.got.u.run_end.layers_done, 0);
    /* Loaded twice, then two runs in a row. */
    hostile_say(&p, hostile_blob(ASSAY_MSG_SLICE_LOAD, big.identity, 0, 0),
                NULL, 0);
    hostile_until(&p, ASSAY_MSG_SLICE_LOADED);
    assert_runs(&p, 3);
    assert_runs(&p, 4);
    hostile_hang_up(&p);
}

static void test_flow(void **state)
{
    struct hostile_peer p;

    (void)state;
    reach(&p, LOADED);
    hostile_say(&p, hostile_number(ASSAY_MSG_CANCEL, 1), NULL,
                0); /* nothing runs */
    hostile_say(&p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    give_input(&p);
    hostile_say(&p, hostile_start(5, 65536), NULL, 0);
    hostile_until(&p, ASSAY_MSG_CHUNK);
    hostile_say(&p, hostile_number(ASSAY_MSG_CANCEL, 4), NULL,
                0); /* of another run */
    hostile_say(&p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    hostile_say(&p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    hostile_until(&p, ASSAY_MSG_RUN_END);
    assert_string_equal(p.sentence, "");
    assert_int_equal(p.got.u.run_end.layers_done, 2);
    give_input(&p);
    hostile_say(&p, hostile_start(6, 65536), NULL, 0);
    hostile_until(&p, ASSAY_MSG_CHUNK);
    hostile_say(&p, hostile_number(ASSAY_MSG_CANCEL, 6), NULL, 0);
    hostile_until(&p, ASSAY_MSG_RUN_END);
    assert_non_null(strstr(p.sentence, "run cancelled"));
    assert_runs(&p, 7);
    hostile_hang_up(&p);
}

/* A client that gives no credit, or credit of nothing, has its own error. */
static void test_no_credit(void **state)
{
    struct assay_msg m = hostile_start(1, 0);
    struct hostile_peer p;
    int got;

    (void)state;
    m.u.run_start.stall_timeout_ms = 300;
    reach(&p, LOADED);
    give_input(&p);
    hostile_say(&p, m, NULL, 0);
    hostile_say(&p, hostile_number(ASSAY_MSG_CREDIT, 0), NULL, 0);
    while ((got = hostile_hear(&p)) != ASSAY_MSG_RUN_END && got != 0) {
    }
    assert_non_null(strstr(p.sentence, "the client took no results for 300"));
    assert_int_equal(hostile_hear(&p), 0);
    hostile_hang_up(&p);
}

/* Sleeps in the kernel: the ring is full. */
static bool sleeps(pid_t pid)
{
    struct timespec pause = {.tv_nsec = 10000000};
    char path[64], state = '?';

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 500 && state != 'S'; i++) {
        FILE *f = fopen(path, "r");

        if (f == NULL || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = '?';
        if (f != NULL)
            fclose(f);
        nanosleep(&pause, NULL);
    }
    return state == 'S';
}

/* SIGSTOP while it waits for room: charged once there is room. */
static void test_stopped_worker(void **state)
{
    struct assay_msg m = hostile_start(1, 65536);
    struct hostile_peer p;
    pid_t worker;

    (void)state;
    m.u.run_start.layer_timeout_ms = 1000;
    reach(&p, LOADED);
    give_input(&p);
    hostile_say(&p, m, NULL, 0);
    hostile_until(&p, ASSAY_MSG_CHUNK);
    worker = agents_worker(&agent);
    assert_true(worker > 0 && sleeps(worker));
    assert_int_equal(kill(worker, SIGSTOP), 0);
    hostile_say(&p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    hostile_until(&p, ASSAY_MSG_RUN_END);
    assert_int_equal(p.got.u.run_end.error.code, ASSAY_ELAYER_TIMEOUT);
    assert_non_null(strstr(p.sentence, "layer 'one'"));
    assert_runs(&p, 2);
    hostile_hang_up(&p);
}

static void test_lease_expires(void **state)
{
    struct assay_msg m = hostile_plain(ASSAY_MSG_LEASE_ACQUIRE);
    struct hostile_peer p;

    (void)state;
    reach(&p, READY);
    m.u.lease.owner = "short@test 1";
    m.u.lease.ttl_ms = 1;
    hostile_say(&p, m, NULL, 0);
    hostile_until(&p, ASSAY_MSG_LEASE_GRANTED);
    assert_int_equal(p.got.u.lease.ttl_ms, 1000); /* the least */
    refused(&p, true, "lease expired: no message for 1000 ms");
    hostile_hang_up(&p);
}

static void test_flood(void **state)
{
    struct timeval soon = {.tv_usec = 300000};
    uint64_t before = agents_resident(agent.pid);
    struct hostile_peer p;
    unsigned sent = 0;

    (void)state;
    reach(&p, READY);
    /* Asks and does not read: it is not read either, memory does not grow. */
    setsockopt(p.fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    while (sent < 400000 &&
           hostile_say(&p, hostile_plain(ASSAY_MSG_STATUS), NULL, 0))
        sent++;
    assert_true(sent < 400000);
#ifdef AGENTS_MEMORY_TELLS
    assert_true(agents_resident(agent.pid) < before + (16u << 20));
#endif
    (void)before;
    hostile_hang_up(&p);
}

/* The one too many is told why; when another leaves it is served. */
static void test_crowd(void **state)
{
    static struct hostile_peer crowd[64];
    struct hostile_peer p;

    (void)state;
    for (int i = 0; i < 64; i++)
        reach(&crowd[i], READY);
    hostile_dial(&p, &agent);
    refused(&p, true, "has 64 connections, no more are taken");
    hostile_hang_up(&p);
    for (int i = 0; i < 64; i++)
        hostile_hang_up(&crowd[i]);
    do { /* the agent hears of it when it hears of it */
        hostile_dial(&p, &agent);
        hostile_say(&p,
                    (struct assay_msg){.type = ASSAY_MSG_HELLO,
                                       .u.hello = {1, 1, ASSAY_VERSION}},
                    NULL, 0);
    } while (hostile_hear(&p) != ASSAY_MSG_HELLO_ACK &&
             (hostile_hang_up(&p), true));
    hostile_hang_up(&p);
}

/* Another process has the board, and ends when it is asked. */
static void test_holder_ends(void **state)
{
    struct pollfd waits = {.events = POLLIN};
    char name[96];
    struct assay_msg m = hostile_plain(ASSAY_MSG_LEASE_ACQUIRE);
    int asked;
    struct hostile_peer p;

    (void)state;
    reach(&p, READY);
    snprintf(name, sizeof(name), "assay-lease.%s", board);
    waits.fd = assay_abstract_listen(name);
    assert_true(waits.fd >= 0);
    m.u.lease.owner = "next@test 1";
    hostile_say(&p, m, NULL, 0);
    assert_int_equal(poll(&waits, 1, 5000), 1);
    asked = accept(waits.fd, NULL, NULL);
    assert_true(asked >= 0);
    close(waits.fd);
    close(asked);
    hostile_until(&p, ASSAY_MSG_LEASE_GRANTED);
    hostile_hang_up(&p);
}

static int set_up(void **state)
{
    struct assay_slice *s;

    (void)state;
    snprintf(board, sizeof(board), "hostile-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    s = hostile_copies(BIG);
    hostile_text_of(&big, s);
    assay_slice_free(s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assay_buf_close(&big.text);
    return agents_stop(&agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_turn),
        cmocka_unit_test(test_vanishes),
        cmocka_unit_test(test_uploads),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_flow),
        cmocka_unit_test(test_no_credit),
        cmocka_unit_test(test_stopped_worker),
        cmocka_unit_test(test_lease_expires),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_holder_ends),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
