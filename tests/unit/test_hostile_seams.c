/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where parts of the agent meet: a self-test and the sessions that wait for
 * it, deadlines of what nobody waits for any more, a run that is over before
 * its client has taken it, memory of whoever lost the lease.
 *
 * links: tests/support/agents.c tests/support/proc.c tests/support/slices.c
 * links: tests/support/hostile.c tests/support/hostile_table.c
 * links: agent/ lib/net/ proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
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
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/hostile.h"
#include "tests/support/proc.h"

#define PAGE 4096u
#define MIB (1u << 20)

static const uint8_t zeros[MIB];

static void pause_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static bool is_silent(const struct hostile_peer *p, int ms)
{
    struct pollfd waits = {.fd = p->fd, .events = POLLIN};

    return poll(&waits, 1, ms) == 0;
}

static struct assay_msg lease(bool force)
{
    struct assay_msg m = hostile_plain(ASSAY_MSG_LEASE_ACQUIRE);

    m.u.lease = (struct assay_msg_lease){
        .owner = "seams@test 1", .ttl_ms = 60000, .force = force};
    return m;
}

/* What was found, all of it; the verdict of the end. */
static int hear_test(struct hostile_peer *p, unsigned *items)
{
    for (*items = 0;; (*items)++) {
        hostile_until(p, ASSAY_MSG_SELF_TEST_REPLY);
        if (p->got.u.self_test.kind == ASSAY_SELF_TEST_END)
            return (int)p->got.u.self_test.verdict;
    }
}

/* Self-tests, wished for in one piece; the process of the first stands still.
 * One that was over too soon is wished for again. */
static pid_t tests_that_wait(struct hostile_peer *p, uint64_t memory, int n)
{
    const struct assay_msg m = hostile_number(ASSAY_MSG_SELF_TEST, memory);
    struct assay_buf all;
    unsigned items;

    for (int tries = 0; tries < 50; tries++) {
        pid_t pid = 0;

        assay_buf_init(&all);
        for (int i = 0; i < n; i++)
            assert_int_equal(
                assay_msg_frame(&all, &m, false, p->sequence++, NULL), 0);
        assert_true(hostile_send(p, all.data, all.len));
        assay_buf_close(&all);
        while (pid == 0 && is_silent(p, 0))
            pid = proc_first_child(hostile_agent()->pid);
        if (pid != 0 && kill(pid, SIGSTOP) == 0 && is_silent(p, 100))
            return pid;
        for (int i = 0; i < n; i++) {
            if (pid != 0)
                kill(pid, SIGCONT);
            hear_test(p, &items);
        }
    }
    fail_msg("no self-test could be stopped");
    return 0;
}

static pid_t test_that_waits(struct hostile_peer *p, uint64_t memory)
{
    return tests_that_wait(p, memory, 1);
}

/* Two wishes in one piece, and one of somebody else meanwhile. */
static void test_tests_one_behind_another(void **state)
{
    const struct assay_msg m = hostile_number(ASSAY_MSG_SELF_TEST, PAGE);
    struct hostile_peer first, second;
    unsigned items, more;
    pid_t pid;

    (void)state;
    hostile_reach(&first, hostile_agent(), HOSTILE_READY);
    hostile_reach(&second, hostile_agent(), HOSTILE_READY);
    pid = tests_that_wait(&second, PAGE, 2);
    hostile_say(&first, m, NULL, 0);
    pause_ms(100);
    kill(pid, SIGCONT);
    assert_int_equal(hear_test(&second, &items), ASSAY_VERDICT_GOOD);
    assert_true(items > 5);
    hear_test(&first, &more);
    assert_int_equal(more, items);
    hear_test(&second, &more);
    assert_int_equal(more, items);
    hostile_hang_up(&first);
    hostile_hang_up(&second);
}

/* It was not read meanwhile: it is not to blame for its silence. */
static void test_test_longer_than_a_lease(void **state)
{
    struct hostile_peer p;
    unsigned items;
    pid_t pid;

    (void)state;
    hostile_ttl_ms = 1000;
    hostile_reach(&p, hostile_agent(), HOSTILE_LEASED);
    hostile_ttl_ms = 60000;
    pid = test_that_waits(&p, PAGE);
    pause_ms(1400);
    kill(pid, SIGCONT);
    hear_test(&p, &items);
    hostile_say(&p, hostile_number(ASSAY_MSG_PING, 1), NULL, 0);
    hostile_until(&p, ASSAY_MSG_PONG);
    hostile_hang_up(&p);
}

static void test_lease_waits_for_a_test(void **state)
{
    struct hostile_peer tests, wants;
    unsigned items;
    pid_t pid;

    (void)state;
    hostile_reach(&tests, hostile_agent(), HOSTILE_READY);
    hostile_reach(&wants, hostile_agent(), HOSTILE_READY);
    pid = test_that_waits(&tests, 16 * MIB);
    hostile_say(&wants, lease(false), NULL, 0);
    assert_true(is_silent(&wants, 200));
    kill(pid, SIGCONT);
    hear_test(&tests, &items);
    hostile_until(&wants, ASSAY_MSG_LEASE_GRANTED);
    hostile_hang_up(&wants);
    hostile_hang_up(&tests);
}

static bool is_leased(struct hostile_peer *asks)
{
    hostile_say(asks, hostile_plain(ASSAY_MSG_STATUS), NULL, 0);
    hostile_until(asks, ASSAY_MSG_STATUS_REPLY);
    return asks->got.u.info.lease_owner[0] != '\0';
}

/* Its lease does not outlive it, however long the test takes and whatever it
 * said meanwhile. */
static void test_hung_up_during_a_test(void **state)
{
    struct hostile_peer tests, asks;
    bool leased = true;
    pid_t pid;

    (void)state;
    hostile_reach(&tests, hostile_agent(), HOSTILE_LEASED);
    hostile_reach(&asks, hostile_agent(), HOSTILE_READY);
    pid = test_that_waits(&tests, PAGE);
    assert_true(is_leased(&asks));
    hostile_say(&tests, hostile_number(ASSAY_MSG_PING, 1), NULL, 0);
    assert_true(is_silent(&tests, 100)); /* it is read, and not answered */
    hostile_say(&tests, hostile_number(ASSAY_MSG_PING, 2), NULL, 0);
    hostile_hang_up(&tests);
    for (int i = 0; i < 100 && leased; i++) {
        pause_ms(20);
        leased = is_leased(&asks);
    }
    assert_int_equal(proc_first_child(hostile_agent()->pid), pid);
    assert_false(leased);
    kill(pid, SIGCONT);
    hostile_hang_up(&asks);
}

/* What was found holds until something else was found. */
static void test_bad_until_proved_good(void **state)
{
    struct hostile_peer tests, runs;
    unsigned items;
    pid_t pid;

    (void)state;
    hostile_reach(&runs, hostile_agent(), HOSTILE_LOADED);
    hostile_reach(&tests, hostile_agent(), HOSTILE_READY);
    pid = test_that_waits(&tests, PAGE);
    kill(pid, SIGILL);
    kill(pid, SIGCONT);
    assert_int_equal(hear_test(&tests, &items), ASSAY_VERDICT_BAD);
    pid = test_that_waits(&tests, PAGE);
    hostile_say(&runs, hostile_start(1, UINT64_MAX), NULL, 0);
    assert_int_equal(hostile_hear(&runs), ASSAY_MSG_ERROR);
    assert_int_equal(runs.got.u.error.code, ASSAY_EBOARD_BAD);
    kill(pid, SIGCONT);
    assert_int_equal(hear_test(&tests, &items), ASSAY_VERDICT_GOOD);
    hostile_say(&runs, hostile_start(1, UINT64_MAX), NULL, 0);
    hostile_until(&runs, ASSAY_MSG_RUN_END);
    hostile_hang_up(&runs);
    hostile_hang_up(&tests);
}

/* Inputs that were refused, or whose slice has gone, are not awaited. */
static void test_inputs_that_are_over(void **state)
{
    struct hostile_peer p;

    (void)state;
    hostile_reach(&p, hostile_agent(), HOSTILE_LOADED);
    hostile_say(&p, hostile_tensor(0, HOSTILE_SMALL, 0), zeros, 3);
    hostile_say(&p, hostile_start(1, 0), NULL, 0);
    assert_int_equal(hostile_hear(&p), ASSAY_MSG_ERROR);
    assert_non_null(strstr(p.sentence, "is cut"));
    assert_true(is_silent(&p, 700));
    hostile_say(&p, hostile_number(ASSAY_MSG_PING, 1), NULL, 0);
    hostile_until(&p, ASSAY_MSG_PONG);
    hostile_hang_up(&p);
}

static void test_expectations_without_a_run(void **state)
{
    struct assay_msg m = hostile_plain(ASSAY_MSG_RUN_EXPECT);
    struct hostile_peer p;

    (void)state;
    m.u.run_expect = (struct assay_msg_run_expect){
        .tensor = 1, .tiles = 1, .digests = zeros, .n = 1};
    hostile_reach(&p, hostile_agent(), HOSTILE_LOADED);
    hostile_say(&p, m, NULL, 0);
    assert_int_equal(hostile_hear(&p), ASSAY_MSG_ERROR);
    assert_non_null(strstr(p.sentence, "inputs did not arrive within 400 ms"));
    hostile_hang_up(&p);
}

/* Tiles have come, and nothing more does, as it does not read. */
static void wait_until_stuck(const struct hostile_peer *p)
{
    int waiting = 0, before = -1;

    for (int i = 0; i < 200 && (waiting < 65536 || waiting != before); i++) {
        before = waiting;
        pause_ms(50);
        assert_int_equal(ioctl(p->fd, FIONREAD, &waiting), 0);
    }
    assert_true(waiting >= 65536);
}

static void wait_for_no_worker(void)
{
    for (int i = 0; i < 200 && proc_first_child(hostile_agent()->pid) != 0; i++)
        pause_ms(50);
    assert_int_equal(proc_first_child(hostile_agent()->pid), 0);
}

/* Somebody else's lease ends by itself. */
static void wait_for_the_lease(struct hostile_peer *p)
{
    int got = 0;

    for (int i = 0; i < 200 && got != ASSAY_MSG_LEASE_GRANTED; i++) {
        pause_ms(50);
        hostile_say(p, lease(false), NULL, 0);
        got = hostile_hear(p);
    }
    if (got != ASSAY_MSG_LEASE_GRANTED)
        fail_msg("%s", p->sentence);
}

/* A run was cancelled, its client takes a little of what was on its way, and
 * then nothing: it does not keep the board. */
static void test_cancelled_and_not_taken(void **state)
{
    struct assay_msg m = hostile_start(2, 14 * 65536);
    struct hostile_peer p, next;
    static uint8_t some[4 * 65536];

    (void)state;
    hostile_reach(&p, hostile_agent(), HOSTILE_RUNNING);
    hostile_say(&p, hostile_number(ASSAY_MSG_CANCEL, 1), NULL, 0);
    hostile_until(&p, ASSAY_MSG_RUN_END);
    for (uint64_t at = 0; at < HOSTILE_BIG; at += MIB)
        hostile_say(&p, hostile_tensor(0, HOSTILE_BIG, at), zeros, MIB);
    m.u.run_start.stall_timeout_ms = 600;
    hostile_say(&p, m, NULL, 0);
    wait_until_stuck(&p);
    hostile_say(&p, hostile_number(ASSAY_MSG_CANCEL, 2), NULL, 0);
    wait_for_no_worker();
    assert_true(recv(p.fd, some, sizeof(some), MSG_WAITALL) > 0);
    hostile_reach(&next, hostile_agent(), HOSTILE_READY);
    wait_for_the_lease(&next);
    hostile_hang_up(&next);
    hostile_hang_up(&p);
}

/* Whoever lost the lease has lost its memory, however long it stays. */
static void test_memory_goes_with_the_lease(void **state)
{
    static const uint8_t sha[ASSAY_SHA256_LEN] = {1};
    struct hostile_peer loses, takes;

    (void)state;
    hostile_reach(&loses, hostile_agent(), HOSTILE_LOADED);
    hostile_say(&loses, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, 40 * MIB, 0),
                zeros, MIB);
    hostile_say(&loses, hostile_number(ASSAY_MSG_PING, 1), NULL, 0);
    hostile_until(&loses, ASSAY_MSG_PONG);
    hostile_reach(&takes, hostile_agent(), HOSTILE_LEASED); /* by force */
    hostile_say(&takes, hostile_plain(ASSAY_MSG_STATUS), NULL, 0);
    hostile_until(&takes, ASSAY_MSG_STATUS_REPLY);
    /* Constants of other tests are kept, and whoever lost it has buffers. */
    assert_in_range(takes.got.u.info.memory_used, 0, 4 * MIB);
    hostile_hang_up(&takes);
    hostile_hang_up(&loses);
}

static int set_up(void **state)
{
    agents_blob_ms = 400;
    return hostile_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tests_one_behind_another),
        cmocka_unit_test(test_test_longer_than_a_lease),
        cmocka_unit_test(test_lease_waits_for_a_test),
        cmocka_unit_test(test_hung_up_during_a_test),
        cmocka_unit_test(test_bad_until_proved_good),
        cmocka_unit_test(test_inputs_that_are_over),
        cmocka_unit_test(test_expectations_without_a_run),
        cmocka_unit_test(test_cancelled_and_not_taken),
        cmocka_unit_test(test_memory_goes_with_the_lease),
    };

    return cmocka_run_group_tests(tests, set_up, hostile_tear_down);
}
