/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that knows the protocol and does not mean well: wrong order, wrong
 * sizes, too much, too little, and gone at any moment. The agent answers each
 * with its sentence, serves the next one, and ends with 0.
 *
 * links: tests/support/agents.c tests/support/slices.c agent/ lib/net/ proto/
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
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "kernels/cpu.h"
#include "lib/net/abstract.h"
#include "proto/codec.h"
#include "tests/support/agents.h"
#include "tests/support/slices.h"

#define BIG (8u << 20) /* twice the ring */

static struct agents agent;
static char board[64];
static struct assay_buf text; /* a description */
static uint8_t identity[ASSAY_SHA256_LEN];

struct peer {
    int fd;
    uint32_t sequence;
    struct assay_frame_decoder in;
    struct assay_msg got; /* the last that came */
    char sentence[512];   /* of it, if it is an error */
};

/* in[BIG] -> a -> b, a copy each. */
static void make_slice(void)
{
    static const int64_t dims[1] = {BIG};
    struct assay_slice *s = slices_new();
    uint32_t in = 0, a = 1;

    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    slices_tensor(s, "a", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    slices_tensor(s, "b", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    slices_layer(s, "one", ASSAY_OP_UNARY, 1, &in, 1);
    slices_layer(s, "two", ASSAY_OP_UNARY, 1, &a, 2);
    assay_buf_init(&text);
    assert_int_equal(assay_slice_encode(s, &text, NULL), 0);
    assay_sha256(text.data, text.len, identity);
    assay_slice_free(s);
}

static void dial(struct peer *p)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 20};

    memset(p, 0, sizeof(*p));
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", agent.target + 5);
    p->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(p->fd >= 0);
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    assert_int_equal(connect(p->fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assay_frame_decoder_init(&p->in, true);
}

static void hang_up(struct peer *p)
{
    close(p->fd);
    assay_msg_close(&p->got);
    assay_frame_decoder_close(&p->in);
}

/* false: the agent hung up. */
static bool say(struct peer *p, struct assay_msg m, const void *payload,
                uint32_t n)
{
    struct assay_buf out;
    bool sent;

    m.payload_bytes = n;
    assay_buf_init(&out);
    assert_int_equal(assay_msg_frame(&out, &m, false, p->sequence++, NULL), 0);
    assert_int_equal(assay_buf_append(&out, payload, n), 0);
    sent = send(p->fd, out.data, out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
    assay_buf_close(&out);
    return sent;
}

/* 0: the agent hung up. */
static int hear(struct peer *p)
{
    struct assay_err err = {0};
    struct assay_frame frame;
    uint8_t bytes[65536];
    ssize_t n;
    int rc;

    assay_msg_close(&p->got);
    p->sentence[0] = '\0';
    while ((rc = assay_frame_next(&p->in, &frame, &err)) == 0) {
        n = recv(p->fd, bytes, sizeof(bytes), 0);
        if (n <= 0)
            return 0;
        assert_int_equal(assay_frame_push(&p->in, bytes, (size_t)n, &err), 0);
    }
    assert_int_equal(rc, 1);
    assert_int_equal(assay_msg_decode(&p->got, &frame, &err), 0);
    if (p->got.type == ASSAY_MSG_ERROR)
        snprintf(p->sentence, sizeof(p->sentence), "%s", p->got.u.error.text);
    if (p->got.type == ASSAY_MSG_RUN_END)
        snprintf(p->sentence, sizeof(p->sentence), "%s",
                 p->got.u.run_end.error.text);
    return (int)p->got.type;
}

/* Everything up to that message; the results in between are passed over. */
static void until(struct peer *p, enum assay_msg_type type)
{
    int got;

    while ((got = hear(p)) != (int)type) {
        if (got == 0 || got == ASSAY_MSG_ERROR)
            fail_msg("%s expected, found %s '%s'", assay_msg_name(type),
                     assay_msg_name((enum assay_msg_type)got), p->sentence);
    }
}

static void refused(struct peer *p, bool fatal, const char *sentence)
{
    assert_int_equal(hear(p), ASSAY_MSG_ERROR);
    if (strstr(p->sentence, sentence) == NULL)
        fail_msg("'%s' lacks '%s'", p->sentence, sentence);
    assert_int_equal(p->got.u.error.fatal, fatal);
    if (fatal)
        assert_int_equal(hear(p), 0);
}

static struct assay_msg plain(enum assay_msg_type type)
{
    return (struct assay_msg){.type = type};
}

static struct assay_msg numbered(enum assay_msg_type type, uint64_t number)
{
    return (struct assay_msg){.type = type, .u.number = number};
}

static struct assay_msg blob(enum assay_msg_type type, const uint8_t *sha,
                             uint64_t total, uint64_t offset)
{
    struct assay_msg m = {.type = type};

    memcpy(m.u.blob.sha256, sha, ASSAY_SHA256_LEN);
    m.u.blob.total = total;
    m.u.blob.offset = offset;
    return m;
}

static struct assay_msg tensor(uint32_t index, uint64_t total, uint64_t offset)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_TENSOR};

    m.u.run_tensor = (struct assay_msg_run_tensor){index, total, offset};
    return m;
}

static struct assay_msg start(uint32_t run, uint64_t credit)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_START};

    m.u.run_start = (struct assay_msg_run_start){
        .run = run, .cpumask = ASSAY_CPU_ALL, .credit = credit};
    return m;
}

enum stage { HELLO, READY, LEASED, LOADED, RUNNING };

static void give_input(struct peer *p)
{
    static uint8_t chunk[1u << 20];

    for (uint32_t at = 0; at < BIG; at += sizeof(chunk))
        assert_true(say(p, tensor(0, BIG, at), chunk, sizeof(chunk)));
}

static void reach(struct peer *p, enum stage stage)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};

    dial(p);
    if (stage == HELLO)
        return;
    m.u.hello = (struct assay_msg_hello){1, 1, "hostile"};
    say(p, m, NULL, 0);
    until(p, ASSAY_MSG_HELLO_ACK);
    if (stage == READY)
        return;
    m = plain(ASSAY_MSG_LEASE_ACQUIRE);
    m.u.lease.owner = "hostile@test 1";
    m.u.lease.ttl_ms = 60000;
    m.u.lease.force = true;
    say(p, m, NULL, 0);
    until(p, ASSAY_MSG_LEASE_GRANTED);
    if (stage == LEASED)
        return;
    say(p, blob(ASSAY_MSG_BLOB_PUT, identity, text.len, 0), text.data,
        (uint32_t)text.len);
    until(p, ASSAY_MSG_BLOB_STORED);
    say(p, blob(ASSAY_MSG_SLICE_LOAD, identity, 0, 0), NULL, 0);
    until(p, ASSAY_MSG_SLICE_LOADED);
    if (stage == LOADED)
        return;
    give_input(p);
    say(p, start(1, 65536), NULL, 0);
    until(p, ASSAY_MSG_CHUNK);
}

static void assert_runs(struct peer *p, uint32_t run)
{
    give_input(p);
    say(p, start(run, UINT64_MAX), NULL, 0);
    until(p, ASSAY_MSG_RUN_END);
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
        struct peer p;
        int got;

        reach(&p, rows[i].stage);
        say(&p, plain(rows[i].type), NULL, 0);
        while ((got = hear(&p)) != ASSAY_MSG_ERROR && got != 0) {
        }
        if (strstr(p.sentence, rows[i].sentence) == NULL)
            fail_msg("%zu: '%s' lacks '%s'", i, p.sentence, rows[i].sentence);
        assert_int_equal(hear(&p), 0);
        hang_up(&p);
    }
}

/* Gone in every state, also inside a frame; the next one has the board. */
static void test_vanishes(void **state)
{
    struct peer p;

    (void)state;
    for (int stage = HELLO; stage <= RUNNING; stage++) {
        reach(&p, (enum stage)stage);
        if (stage % 2)
            assert_int_equal(send(p.fd, "ASY1", 4, MSG_NOSIGNAL), 4);
        hang_up(&p);
    }
    reach(&p, LEASED); /* inside an upload */
    say(&p, blob(ASSAY_MSG_BLOB_PUT, identity, 100000, 0), "abc", 3);
    hang_up(&p);
    reach(&p, LOADED);
    assert_runs(&p, 7);
    hang_up(&p);
}

static void test_uploads(void **state)
{
    uint8_t sha[ASSAY_SHA256_LEN] = {1}, none[ASSAY_SHA256_LEN];
    struct peer p;

    (void)state;
    reach(&p, LEASED);
    say(&p, blob(ASSAY_MSG_BLOB_PUT, sha, 3, 0), "abc", 3);
    refused(&p, false, "constant of 3 bytes has sha256:ba7816bf8f01cfea");
    assay_sha256("", 0, none);
    say(&p, blob(ASSAY_MSG_BLOB_PUT, none, 0, 0), NULL, 0);
    until(&p, ASSAY_MSG_BLOB_STORED);
    say(&p, blob(ASSAY_MSG_SLICE_LOAD, none, 0, 0), NULL, 0);
    refused(&p, false, "model_sha256 length");
    say(&p, blob(ASSAY_MSG_SLICE_LOAD, sha, 0, 0), NULL, 0);
    refused(&p, false, "slice sha256:0100000000000000… is not here");
    /* One that no budget holds: told behind its last byte, never taken. */
    say(&p, blob(ASSAY_MSG_BLOB_PUT, sha, UINT64_MAX, 0), "abc", 3);
    say(&p, blob(ASSAY_MSG_BLOB_PUT, sha, UINT64_MAX, 9), "abc", 3);
    refused(&p, true, "chunk at 9 of 18446744073709551615, expected at 3 of");
    hang_up(&p);
    reach(&p, LEASED); /* another one in the middle of one */
    say(&p, blob(ASSAY_MSG_BLOB_PUT, sha, 9, 0), "abc", 3);
    sha[0] = 2;
    say(&p, blob(ASSAY_MSG_BLOB_PUT, sha, 9, 3), "abc", 3);
    refused(&p, true, "of the one that was begun");
    hang_up(&p);
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
    struct assay_msg m = start(1, UINT64_MAX);
    struct peer p;

    (void)state;
    reach(&p, LOADED);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        say(&p, tensor(rows[i].index, rows[i].total, rows[i].offset), "abc", 3);
        say(&p, start(1, 0), NULL, 0);
        refused(&p, false, rows[i].sentence);
    }
    m.u.run_start.layers = (const uint8_t *)"\1\0";
    m.u.run_start.layers_bytes = 2;
    say(&p, m, NULL, 0);
    refused(&p, false, "layer filter has 2 bytes, 2 layers need 1");
    /* Nothing given at all: the run ends, and says what was missing. */
    say(&p, start(2, 0), NULL, 0);
    until(&p, ASSAY_MSG_RUN_END);
    assert_int_equal(p.got.u.run_end.layers_done, 0);
    /* Loaded twice, then two runs in a row. */
    say(&p, blob(ASSAY_MSG_SLICE_LOAD, identity, 0, 0), NULL, 0);
    until(&p, ASSAY_MSG_SLICE_LOADED);
    assert_runs(&p, 3);
    assert_runs(&p, 4);
    hang_up(&p);
}

static void test_flow(void **state)
{
    struct peer p;

    (void)state;
    reach(&p, LOADED);
    say(&p, numbered(ASSAY_MSG_CANCEL, 1), NULL, 0); /* nothing runs */
    say(&p, numbered(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    give_input(&p);
    say(&p, start(5, 65536), NULL, 0);
    until(&p, ASSAY_MSG_CHUNK);
    say(&p, numbered(ASSAY_MSG_CANCEL, 4), NULL, 0); /* of another run */
    say(&p, numbered(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    say(&p, numbered(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    until(&p, ASSAY_MSG_RUN_END);
    assert_string_equal(p.sentence, "");
    assert_int_equal(p.got.u.run_end.layers_done, 2);
    give_input(&p);
    say(&p, start(6, 65536), NULL, 0);
    until(&p, ASSAY_MSG_CHUNK);
    say(&p, numbered(ASSAY_MSG_CANCEL, 6), NULL, 0);
    until(&p, ASSAY_MSG_RUN_END);
    assert_non_null(strstr(p.sentence, "run cancelled"));
    assert_runs(&p, 7);
    hang_up(&p);
}

/* A client that gives no credit, or credit of nothing, has its own error. */
static void test_no_credit(void **state)
{
    struct assay_msg m = start(1, 0);
    struct peer p;
    int got;

    (void)state;
    m.u.run_start.stall_timeout_ms = 300;
    reach(&p, LOADED);
    give_input(&p);
    say(&p, m, NULL, 0);
    say(&p, numbered(ASSAY_MSG_CREDIT, 0), NULL, 0);
    while ((got = hear(&p)) != ASSAY_MSG_RUN_END && got != 0) {
    }
    assert_non_null(strstr(p.sentence, "the client took no results for 300"));
    assert_int_equal(hear(&p), 0);
    hang_up(&p);
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
    struct assay_msg m = start(1, 65536);
    struct peer p;
    pid_t worker;

    (void)state;
    m.u.run_start.layer_timeout_ms = 1000;
    reach(&p, LOADED);
    give_input(&p);
    say(&p, m, NULL, 0);
    until(&p, ASSAY_MSG_CHUNK);
    worker = agents_worker(&agent);
    assert_true(worker > 0 && sleeps(worker));
    assert_int_equal(kill(worker, SIGSTOP), 0);
    say(&p, numbered(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    until(&p, ASSAY_MSG_RUN_END);
    assert_int_equal(p.got.u.run_end.error.code, ASSAY_ELAYER_TIMEOUT);
    assert_non_null(strstr(p.sentence, "layer 'one'"));
    assert_runs(&p, 2);
    hang_up(&p);
}

static void test_lease_expires(void **state)
{
    struct assay_msg m = plain(ASSAY_MSG_LEASE_ACQUIRE);
    struct peer p;

    (void)state;
    reach(&p, READY);
    m.u.lease.owner = "short@test 1";
    m.u.lease.ttl_ms = 1;
    say(&p, m, NULL, 0);
    until(&p, ASSAY_MSG_LEASE_GRANTED);
    assert_int_equal(p.got.u.lease.ttl_ms, 1000); /* the least */
    refused(&p, true, "lease expired: no message for 1000 ms");
    hang_up(&p);
}

static void test_flood(void **state)
{
    struct timeval soon = {.tv_usec = 300000};
    uint64_t before = agents_resident(agent.pid);
    struct peer p;
    unsigned sent = 0;

    (void)state;
    reach(&p, READY);
    /* Asks and does not read: it is not read either, memory does not grow. */
    setsockopt(p.fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    while (sent < 400000 && say(&p, plain(ASSAY_MSG_STATUS), NULL, 0))
        sent++;
    assert_true(sent < 400000);
#ifdef AGENTS_MEMORY_TELLS
    assert_true(agents_resident(agent.pid) < before + (16u << 20));
#endif
    (void)before;
    hang_up(&p);
}

/* The one too many is told why; when another leaves it is served. */
static void test_crowd(void **state)
{
    static struct peer crowd[64];
    struct peer p;

    (void)state;
    for (int i = 0; i < 64; i++)
        reach(&crowd[i], READY);
    dial(&p);
    refused(&p, true, "has 64 connections, no more are taken");
    hang_up(&p);
    for (int i = 0; i < 64; i++)
        hang_up(&crowd[i]);
    do { /* the agent hears of it when it hears of it */
        dial(&p);
        say(&p,
            (struct assay_msg){.type = ASSAY_MSG_HELLO,
                               .u.hello = {1, 1, "hostile"}},
            NULL, 0);
    } while (hear(&p) != ASSAY_MSG_HELLO_ACK && (hang_up(&p), true));
    hang_up(&p);
}

/* Another process has the board, and ends when it is asked. */
static void test_holder_ends(void **state)
{
    struct pollfd waits = {.events = POLLIN};
    char name[96];
    struct assay_msg m = plain(ASSAY_MSG_LEASE_ACQUIRE);
    int asked;
    struct peer p;

    (void)state;
    reach(&p, READY);
    snprintf(name, sizeof(name), "assay-lease.%s", board);
    waits.fd = assay_abstract_listen(name);
    assert_true(waits.fd >= 0);
    m.u.lease.owner = "next@test 1";
    say(&p, m, NULL, 0);
    assert_int_equal(poll(&waits, 1, 5000), 1);
    asked = accept(waits.fd, NULL, NULL);
    assert_true(asked >= 0);
    close(waits.fd);
    close(asked);
    until(&p, ASSAY_MSG_LEASE_GRANTED);
    hang_up(&p);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(board, sizeof(board), "hostile-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    make_slice();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assay_buf_close(&text);
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
