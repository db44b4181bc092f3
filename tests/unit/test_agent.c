/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client and an agent with everything between them, and everything that
 * may go wrong with a run: workers that hang or die, clients that stall or
 * vanish, budgets, leases.
 *
 * links: tests/support/agents.c tests/support/proc.c tests/support/slices.c agent/ lib/net/ proto/
 * links: host-tools/client*.c host-tools/boards.c host-tools/messages.c
 * links: host-tools/private_write.c host-tools/session_cache.c
 * links: host-tools/tls_files.c host-tools/user_dir.c gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "kernels/cpu.h"
#include "tests/support/agents.h"
#include "tests/support/slices.h"

#define BUDGET (256u << 20)
#define SIDE 3000 /* a gemm of 27 GMAC: nobody waits for its end */
#define BIG (24u << 20)

enum { L_FIRST, L_SECOND, L_SLOW, L_LAST, N_LAYERS };

static const int64_t one = 1, bottom = -128, top = 127;
static char board[64];

/* ---- slices --------------------------------------------------------------- */

static void increment(struct assay_slice *s, const char *name, uint32_t in,
                      uint32_t out)
{
    uint32_t l = slices_layer(s, name, ASSAY_OP_UNARY, 1, &in, out);

    slices_step(&s->layers[l].out_program, ASSAY_STEP_ADD_ZP, 1, &one, NULL);
    slices_step(&s->layers[l].out_program, ASSAY_STEP_CLAMP, 1, &bottom, &top);
}

/* in -> first -> second -> last, and x -> slow beside them. */
static struct assay_slice *with_slow_layer(void)
{
    static const int64_t square[2] = {SIDE, SIDE}, four[1] = {4};
    static uint8_t weights[SIDE * SIDE];
    struct assay_slice *s = slices_new();
    uint32_t w, l;

    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, four);
    slices_tensor(s, "a", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, four);
    slices_tensor(s, "b", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, four);
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 2, square);
    w = slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 2, square);
    slices_data(s, w, weights);
    assay_sha256(weights, sizeof(weights), s->tensors[w].sha256);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 2, square);
    slices_tensor(s, "c", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, four);
    for (uint32_t i = 3; i < 6; i++)
        slices_quant(s, i, 1.0f, 0);
    increment(s, "first", 0, 1);
    increment(s, "second", 1, 2);
    l = slices_layer(s, "slow", ASSAY_OP_GEMM, 2, (uint32_t[]){3, 4}, 5);
    s->layers[l].p.conv2d =
        (struct assay_conv2d_params){1, 1, 1, 1, 0, 0, 0, 0, 1, false, false};
    slices_step(&s->layers[l].out_program, ASSAY_STEP_CLAMP, 1, &bottom, &top);
    increment(s, "last", 2, 6);
    return s;
}

/* Outputs that neither the ring nor the window holds. */
static struct assay_slice *with_big_layers(void)
{
    static const int64_t dims[1] = {BIG};
    struct assay_slice *s = slices_new();

    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    slices_tensor(s, "a", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    slices_tensor(s, "b", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    increment(s, "first", 0, 1);
    increment(s, "second", 1, 2);
    return s;
}

/* ---- a run and what came of it -------------------------------------------- */

struct seen {
    struct agents *agent;
    uint32_t layers[8], missing[8], begun[8];
    size_t n_layers, n_missing, n_begun;
    int8_t last[4];
    char kernel[128];
    int kill_worker; /* signal for the worker when `slow` begins */
    int kill_agent;
    int stop_with; /* what `layer` answers */
    volatile int interrupted;
    bool interrupt_at_slow, doze;
    uint64_t most_resident;
    bool equal;
};

static void on_begin(void *self, uint32_t layer, const char *kernel)
{
    struct seen *s = self;

    (void)kernel;
    s->begun[s->n_begun++] = layer;
    if (layer != L_SLOW)
        return;
    if (s->kill_worker != 0)
        kill(agents_worker(s->agent), s->kill_worker);
    if (s->kill_agent != 0)
        kill(s->agent->pid, s->kill_agent);
    if (s->interrupt_at_slow)
        s->interrupted = 1;
}

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct timespec doze = {.tv_sec = 2, .tv_nsec = 500000000};
    struct seen *s = self;

    (void)time_us;
    s->layers[s->n_layers++] = layer;
    snprintf(s->kernel, sizeof(s->kernel), "%s", kernel);
    if (bytes == 4)
        memcpy(s->last, data, 4);
    if (bytes == BIG) {
        const int8_t *p = data;
        uint64_t resident = agents_resident(s->agent->pid);

        s->equal = true;
        for (size_t i = 0; i < BIG && s->equal; i++)
            s->equal = p[i] == (int8_t)(i % 100) + 1 + (int)layer;
        if (resident > s->most_resident)
            s->most_resident = resident;
        if (s->doze && layer == 0)
            nanosleep(&doze, NULL);
    }
    return s->stop_with;
}

static int on_missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct seen *s = self;

    (void)tensor;
    s->missing[s->n_missing++] = layer;
    return 0;
}

#define TO .layer = on_layer, .missing = on_missing, .begin = on_begin
#define INTO(seen_) (&(struct assay_results){.self = (seen_), TO})

static struct assay_backend *connect_to(const struct agents *a,
                                        const char *owner, uint64_t timeout_ms,
                                        struct seen *seen, bool force)
{
    struct assay_client_options options = {
        .target = a->target,
        .timeout_ms = timeout_ms,
        .owner = owner,
        .force = force,
        .interrupted = seen != NULL ? &seen->interrupted : NULL,
    };
    struct assay_backend *b = NULL;
    struct assay_err err = {0};

    if (assay_client_open(&b, &options, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static const int8_t input[4] = {0, 10, -128, 127};
static int8_t square[SIDE * SIDE];

static int run(struct assay_backend *b, struct seen *seen, bool slow,
               uint64_t layer_timeout_ms, struct assay_err *err)
{
    static const bool without[N_LAYERS] = {true, true, false, true};
    struct assay_run_tensor given[2] = {{0, input, sizeof(input)},
                                        {3, square, sizeof(square)}};
    struct assay_backend_run request = {
        .layers = slow ? NULL : without,
        .cpumask = ASSAY_CPU_ALL,
        .given = given,
        .n_given = slow ? 2 : 1,
        .layer_timeout_ms = layer_timeout_ms,
    };

    return b->vt->run(b, &request, INTO(seen), err);
}

/* ---- fixtures ------------------------------------------------------------- */

struct fixture {
    struct agents agent;
    struct assay_slice *slice;
    struct assay_backend *b;
    struct seen seen;
};

static struct fixture *setup(uint64_t timeout_ms)
{
    static struct fixture f;
    struct assay_err err = {0};
    static unsigned count;

    /* A failed test may leave its agent: another board for the next. */
    snprintf(board, sizeof(board), "unit-%d-%u", (int)getpid(), count++);
    memset(&f, 0, sizeof(f));
    agents_start(&f.agent, board, BUDGET);
    f.slice = with_slow_layer();
    f.seen.agent = &f.agent;
    f.b = connect_to(&f.agent, "me@test 1", timeout_ms, &f.seen, false);
    if (f.b->vt->load(f.b, f.slice, &err) < 0)
        fail_msg("%s", err.text);
    return &f;
}

static void teardown(struct fixture *f)
{
    f->b->vt->close(f->b);
    assert_int_equal(agents_stop(&f->agent), 0);
    assay_slice_free(f->slice);
}

/* The session has survived: the same connection runs again. */
static void assert_alive(struct fixture *f)
{
    struct assay_err err = {0};
    int8_t want[4] = {3, 13, -125, 127};
    int rc;

    memset(&f->seen, 0, sizeof(f->seen));
    f->seen.agent = &f->agent;
    rc = run(f->b, &f->seen, false, 0, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, 0);
    assert_int_equal(f->seen.n_layers, 3);
    assert_memory_equal(f->seen.last, want, 4);
}

static void assert_before_slow(const struct seen *s)
{
    assert_int_equal(s->n_layers, 2);
    assert_int_equal(s->layers[0], L_FIRST);
    assert_int_equal(s->layers[1], L_SECOND);
}

/* ---- tests ---------------------------------------------------------------- */

static void test_run(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_backend_info info;
    struct assay_err err = {0};

    (void)state;
    assert_alive(f);
    assert_true(strstr(f->seen.kernel, "unary") != NULL);
    assert_int_equal(f->b->vt->info(f->b, &info, &err), 0);
    assert_string_equal(info.agent.board_id, board);
    assert_string_equal(info.agent.lease_owner, "me@test 1");
    assert_int_equal(info.protocol, 1);
    assert_int_equal(info.agent.blobs, 2);
    assert_true(info.agent.memory_used > SIDE * SIDE);
    assert_true(f->b->vt->received(f->b) > 0);
    teardown(f);
}

static void test_isolated_and_missing(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_run_tensor given[1] = {{1, input, 4}};
    struct assay_backend_run request = {
        .isolated = true, .cpumask = 0, .given = given, .n_given = 1};
    struct assay_err err = {0};
    int8_t want[4] = {1, 11, -127, 127};

    (void)state;
    assert_int_equal(f->b->vt->run(f->b, &request, INTO(&f->seen), &err), 0);
    assert_int_equal(f->seen.n_layers, 1);
    assert_int_equal(f->seen.layers[0], L_SECOND);
    assert_int_equal(f->seen.n_missing, 3);
    assert_memory_equal(f->seen.last, want, 4);
    teardown(f);
}

static void test_bad_requests(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_run_tensor given[1] = {{0, input, 3}};
    struct assay_backend_run request = {
        .cpumask = 0, .given = given, .n_given = 1};
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(f->b->vt->run(f->b, &request, INTO(&f->seen), &err),
                     ASSAY_ERANGE);
    assert_non_null(strstr(err.text, "'in'"));
    given[0] = (struct assay_run_tensor){4, square, sizeof(square)};
    assert_int_equal(f->b->vt->run(f->b, &request, INTO(&f->seen), &err),
                     ASSAY_ERANGE);
    assert_non_null(strstr(err.text, "constant"));
    given[0] = (struct assay_run_tensor){77, input, 4};
    assert_true(f->b->vt->run(f->b, &request, INTO(&f->seen), &err) < 0);
    assert_non_null(strstr(err.text, "77"));
    assert_alive(f);
    teardown(f);
}

/* The layer 'slow' ends badly; those before it are there, and the session is. */
static void slow_ends(int code, int kill_worker, uint64_t layer_ms,
                      const char *sentence)
{
    struct fixture *f = setup(10000);
    struct assay_err err = {0};

    f->seen.kill_worker = kill_worker;
    assert_int_equal(run(f->b, &f->seen, true, layer_ms, &err), code);
    assert_non_null(strstr(err.text, "'slow'"));
    assert_non_null(strstr(err.text, sentence));
    assert_non_null(strstr(err.text, "kernel assay_"));
    assert_before_slow(&f->seen);
    assert_alive(f);
    teardown(f);
}

static void test_late(void **state)
{
    (void)state;
    slow_ends(ASSAY_ELAYER_TIMEOUT, 0, 300, "did not finish within 300 ms");
    agents_run_ms = 400;
    slow_ends(ASSAY_ELAYER_TIMEOUT, 0, 0, "run did not end within 400 ms");
    agents_run_ms = 0;
}

static void test_worker_died(void **state)
{
    (void)state;
    slow_ends(ASSAY_EKILLED, SIGKILL, 0, "killed, perhaps by the kernel");
    slow_ends(ASSAY_ECRASH, SIGSEGV, 0, "signal 11 (SIGSEGV");
}

static void test_interrupted(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_err err = {0};

    (void)state;
    f->seen.interrupt_at_slow = true;
    assert_int_equal(run(f->b, &f->seen, true, 0, &err), ASSAY_ECANCELLED);
    assert_before_slow(&f->seen);
    assert_alive(f);
    teardown(f);
}

static void test_stopped_by_sink(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_err err = {0};

    (void)state;
    f->seen.stop_with = ASSAY_EMISMATCH;
    assert_int_equal(run(f->b, &f->seen, true, 0, &err), ASSAY_EMISMATCH);
    assert_int_equal(f->seen.n_layers, 1);
    assert_alive(f);
    teardown(f);
}

static void test_agent_lost(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_err err = {0};

    (void)state;
    f->seen.kill_agent = SIGKILL;
    assert_int_equal(run(f->b, &f->seen, true, 0, &err), ASSAY_ELOST);
    assert_non_null(strstr(err.text, "'slow'"));
    assert_before_slow(&f->seen);
    assert_int_equal(run(f->b, &f->seen, false, 0, &err), ASSAY_ELOST);
    f->b->vt->close(f->b);
    assert_int_equal(agents_stop(&f->agent), 1000 + SIGKILL);
    assay_slice_free(f->slice);
}

static void test_agent_silent(void **state)
{
    struct fixture *f = setup(1000);
    struct assay_err err = {0};

    (void)state;
    f->seen.kill_agent = SIGSTOP;
    assert_int_equal(run(f->b, &f->seen, true, 0, &err), ASSAY_ELOST);
    assert_non_null(strstr(err.text, "silent for 1 s while running 'slow'"));
    f->b->vt->close(f->b);
    assert_int_equal(agents_stop(&f->agent), 0);
    assay_slice_free(f->slice);
}

/* A layer that takes longer than the client's patience with silence: the
 * agent answers pings, so the board is not called lost. */
static void test_long_layer_is_not_silence(void **state)
{
    struct fixture *f = setup(500);
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(run(f->b, &f->seen, true, 1500, &err),
                     ASSAY_ELAYER_TIMEOUT);
    teardown(f);
}

static void big_run(struct fixture *f, int want_rc, struct assay_err *err)
{
    int8_t *data = malloc(BIG);
    struct assay_run_tensor given[1] = {{0, data, BIG}};
    struct assay_backend_run request = {
        .cpumask = ASSAY_CPU_ALL, .given = given, .n_given = 1};

    for (size_t i = 0; i < BIG; i++)
        data[i] = (int8_t)(i % 100);
    assay_slice_free(f->slice);
    f->slice = with_big_layers();
    assert_int_equal(f->b->vt->load(f->b, f->slice, err), 0);
    assert_int_equal(f->b->vt->run(f->b, &request, INTO(&f->seen), err),
                     want_rc);
    free(data);
}

static void test_big_results(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_err err = {0};

    (void)state;
    big_run(f, 0, &err);
    assert_int_equal(f->seen.n_layers, 2);
    assert_true(f->seen.equal);
#ifndef __SANITIZE_ADDRESS__ /* it keeps freed memory for a while */
    /* The input and the ring, but not two outputs of 24 MiB. */
    assert_true(f->seen.most_resident < (uint64_t)BIG + (40u << 20));
#endif
    teardown(f);
}

static void test_client_stalls(void **state)
{
    struct fixture *f = setup(1000);
    struct assay_err err = {0};

    (void)state;
    f->seen.doze = true;
    big_run(f, ASSAY_ECLIENT_STALLED, &err);
    assert_non_null(strstr(err.text, "1000 ms"));
    teardown(f);
}

static void test_memory(void **state)
{
    struct agents agent;
    struct assay_slice *s = with_slow_layer(), *big = with_big_layers();
    struct assay_backend *b;
    struct assay_err err = {0};

    (void)state;
    agents_start(&agent, "unit-memory", 8u << 20);
    b = connect_to(&agent, "me@test 1", 10000, NULL, false);
    assert_int_equal(b->vt->load(b, s, &err), ASSAY_EMEMORY);
    assert_non_null(strstr(err.text, "constant of 9000000 bytes exceeds"));
    assert_non_null(strstr(err.text, "--memory"));
    assert_int_equal(b->vt->load(b, big, &err), ASSAY_EMEMORY);
    b->vt->close(b);
    assert_int_equal(agents_stop(&agent), 0);
    assay_slice_free(s);
    assay_slice_free(big);
}

/* Two agents of one board, as two `--stdio` agents without a daemon are. */
static void test_lease_of_two_processes(void **state)
{
    struct fixture *f = setup(10000);
    struct agents other;
    struct assay_backend *b;
    struct assay_backend_info info;
    struct assay_err err = {0};

    (void)state;
    agents_start(&other, board, BUDGET);
    b = connect_to(&other, "you@test 2", 10000, NULL, false);
    assert_int_equal(b->vt->load(b, f->slice, &err), ASSAY_EBUSY);
    assert_non_null(strstr(err.text, "me@test 1"));
    assert_int_equal(b->vt->info(b, &info, &err), 0);
    assert_string_equal(info.agent.lease_owner, "me@test 1");
    assert_true(info.agent.lease_expires_ms > 0 &&
                info.agent.lease_expires_ms <= 60000);
    b->vt->close(b);
    assert_alive(f);

    b = connect_to(&other, "you@test 2", 10000, NULL, true);
    assert_int_equal(b->vt->load(b, f->slice, &err), 0);
    assert_int_equal(run(f->b, &f->seen, false, 0, &err), ASSAY_EBUSY);
    assert_non_null(strstr(err.text, "taken over by 'you@test 2'"));
    b->vt->close(b);
    assert_int_equal(agents_stop(&other), 0);
    teardown(f);
}

static void test_lease_of_one_process(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_backend *b;
    struct assay_err err = {0};

    (void)state;
    b = connect_to(&f->agent, "you@test 2", 10000, NULL, false);
    assert_int_equal(b->vt->load(b, f->slice, &err), ASSAY_EBUSY);
    assert_non_null(strstr(err.text, "me@test 1"));
    b->vt->close(b);
    b = connect_to(&f->agent, "you@test 2", 10000, NULL, true);
    assert_int_equal(b->vt->load(b, f->slice, &err), 0);
    assert_int_equal(run(f->b, &f->seen, false, 0, &err), ASSAY_EBUSY);
    b->vt->close(b);
    teardown(f);
}

/* SIGTERM in the middle of a run: the worker goes with its agent. */
static void test_stop_while_running(void **state)
{
    struct fixture *f = setup(10000);
    struct assay_err err = {0};

    (void)state;
    f->seen.kill_agent = SIGTERM;
    assert_int_equal(run(f->b, &f->seen, true, 0, &err), ASSAY_ELOST);
    teardown(f);
}

/* Who is impatient sends SIGTERM again: an orderly end stays one. */
static void test_stop_again_and_again(void **state)
{
    struct fixture *f = setup(10000);
    siginfo_t info = {0};

    (void)state;
    while (waitid(P_PID, (id_t)f->agent.pid, &info,
                  WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == 0)
        kill(f->agent.pid, SIGTERM);
    teardown(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_isolated_and_missing),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_worker_died),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_stopped_by_sink),
        cmocka_unit_test(test_agent_lost),
        cmocka_unit_test(test_agent_silent),
        cmocka_unit_test(test_long_layer_is_not_silence),
        cmocka_unit_test(test_big_results),
        cmocka_unit_test(test_client_stalls),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_lease_of_two_processes),
        cmocka_unit_test(test_lease_of_one_process),
        cmocka_unit_test(test_stop_while_running),
        cmocka_unit_test(test_stop_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
