/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes over the wire: an agent sends what this process computes itself, only
 * where it is asked; and a client does not believe an agent that makes them up.
 *
 * links: tests/support/agents.c tests/support/proc.c
 * links: tests/support/by_hand.c tests/support/connect.c
 * links: tests/support/slices.c agent/
 * links: host-tools/client.c host-tools/client_load.c host-tools/client_run.c
 * links: host-tools/client_self_test.c
 * links: host-tools/boards.c host-tools/client_tls.c host-tools/messages.c
 * links: host-tools/private_write.c host-tools/session_cache.c
 * links: host-tools/tls_files.c host-tools/user_dir.c lib/net/ proto/
 * links: gen/proto/assay.pb-c.c lib/core/ lib/engine/ lib/engine/ops/ kernels/
 * links: kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "kernels/cpu.h"
#include "lib/core/slice_part.h"
#include "lib/engine/probe.h"
#include "proto/codec.h"
#include "tests/support/agents.h"
#include "tests/support/by_hand.h"
#include "tests/support/connect.h"
#include "tests/support/slices.h"

#define N 40
#define MANY ((uint64_t)1 << 28)

static const int64_t one = 1, two = 2, low = -20, high = 20;

/* x -> halved (clamps) -> copied (no steps) -> summed (a gemm that rounds). */
enum { HALVED, COPIED, SUMMED, LAYERS };

static struct assay_slice *make_slice(void)
{
    static const int64_t x[2] = {1, N}, y[2] = {1, 3}, wide[2] = {3, N};
    static int8_t weights[3 * N];
    struct assay_slice *s = slices_new();
    uint32_t l;

    for (int i = 0; i < 3 * N; i++)
        weights[i] = (int8_t)(i * 7 % 255 - 127);
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 2, x);
    slices_tensor(s, "a", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 2, x);
    slices_tensor(s, "b", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 2, x);
    slices_data(s,
                slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 2, wide),
                weights);
    assay_sha256(weights, sizeof(weights), s->tensors[3].sha256);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S32, 2, y);
    for (uint32_t i = 0; i < 5; i++)
        slices_quant(s, i, 1.0f, 0);
    l = slices_layer(s, "halved", ASSAY_OP_UNARY, 1, (uint32_t[]){0}, 1);
    slices_shr(&s->layers[l].out_program, ASSAY_ROUND_HALF_EVEN, &one);
    slices_step(&s->layers[l].out_program, ASSAY_STEP_CLAMP, 1, &low, &high);
    slices_layer(s, "copied", ASSAY_OP_UNARY, 1, (uint32_t[]){1}, 2);
    l = slices_layer(s, "summed", ASSAY_OP_GEMM, 2, (uint32_t[]){2, 3}, 4);
    s->layers[l].p.conv2d =
        (struct assay_conv2d_params){1, 1, 1, 1, 0, 0, 0, 0, 1, false, false};
    slices_shr(&s->layers[l].out_program, ASSAY_ROUND_HALF_UP, &two);
    return s;
}

/* ---- what a client sees ---------------------------------------------------- */

struct seen {
    unsigned n_layers;
    unsigned n_probes[LAYERS];
    struct assay_probe probe[LAYERS];
    int8_t a[N]; /* halved */
};

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct seen *s = self;

    (void)kernel;
    (void)time_us;
    s->n_layers++;
    if (layer == HALVED && bytes == N)
        memcpy(s->a, data, N);
    return 0;
}

static void on_probe(void *self, uint32_t layer, const struct assay_probe *p)
{
    struct seen *s = self;

    s->n_probes[layer]++;
    s->probe[layer] = *p;
}

static int8_t input[N];

static int run(struct assay_backend *b, struct seen *seen, uint64_t work,
               struct assay_err *err)
{
    struct assay_run_tensor given = {0, input, sizeof(input)};
    struct assay_backend_run request = {.cpumask = ASSAY_CPU_ALL,
                                        .given = &given,
                                        .n_given = 1,
                                        .probe_work = work};
    struct assay_results results = {
        .self = seen, .layer = on_layer, .probe = on_probe};

    memset(seen, 0, sizeof(*seen));
    return b->vt->run(b, &request, &results, err);
}

/* ---- an honest agent ------------------------------------------------------- */

static void assert_same(const struct assay_slice *s, uint32_t layer,
                        const struct assay_probe *got, const void *x)
{
    const struct assay_probe_limits limits = {MANY, SIZE_MAX};
    const void *in[ASSAY_MAX_LAYER_INPUTS] = {x};
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_PROBE};
    struct assay_slice *one_layer;
    struct assay_buf a, b;

    assert_int_equal(assay_slice_single(&one_layer, s, layer, NULL), 0);
    assert_int_equal(assay_probe_layer(&m.u.layer_probe.probe, one_layer, in, 0,
                                       &limits, NULL),
                     0);
    assay_slice_free(one_layer);
    assay_buf_init(&a);
    assay_buf_init(&b);
    assert_int_equal(assay_msg_frame(&a, &m, true, 0, NULL), 0);
    m.u.layer_probe.probe = *got;
    assert_int_equal(assay_msg_frame(&b, &m, true, 0, NULL), 0);
    assert_true(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
    assay_buf_close(&a);
    assay_buf_close(&b);
}

static void test_honest(void **state)
{
    struct assay_slice *s = make_slice();
    struct assay_err err = {0};
    struct assay_backend *b;
    struct agents agent;
    char board[64];
    struct seen seen;

    (void)state;
    snprintf(board, sizeof(board), "probe-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    b = connect_and_load(agent.target, s);
    for (int i = 0; i < N; i++)
        input[i] = (int8_t)(i * 3 - 60);
    assert_int_equal(run(b, &seen, MANY, &err), 0);
    assert_true(seen.n_probes[HALVED] == 1 && seen.n_probes[SUMMED] == 1);
    assert_int_equal(seen.n_probes[COPIED], 0);
    assert_same(s, HALVED, &seen.probe[HALVED], input);
    assert_same(s, SUMMED, &seen.probe[SUMMED], seen.a);
    assert_true(seen.probe[HALVED].steps[0].ties > 0);
    assert_true(seen.probe[SUMMED].has_sums != 0);

    assert_int_equal(run(b, &seen, 0, &err), 0); /* not asked */
    assert_int_equal(seen.n_layers, LAYERS);
    assert_int_equal(seen.n_probes[HALVED] + seen.n_probes[SUMMED], 0);

    assert_int_equal(run(b, &seen, 1, &err), 0); /* left out, and it says so */
    assert_true(seen.n_probes[HALVED] == 1 && seen.probe[HALVED].values == 0);
    assert_int_equal(seen.probe[SUMMED].values, 0);
    b->vt->close(b);
    assert_int_equal(agents_stop(&agent), 0);
    assay_slice_free(s);
}

/* A probe takes credit as a tile does: it waits, and nothing else does. */
static void test_credit(void **state)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_START};
    struct assay_slice *s = make_slice();
    struct agents agent;
    struct hand p = {0};
    char board[64];

    (void)state;
    snprintf(board, sizeof(board), "probe-credit-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    hand_reach(&p, agent.target + 5, s);
    m = (struct assay_msg){.type = ASSAY_MSG_RUN_TENSOR, .payload_bytes = N};
    m.u.run_tensor.total = N;
    hand_ask(&p, m, input, 0);
    m = (struct assay_msg){.type = ASSAY_MSG_RUN_START};
    m.u.run_start = (struct assay_msg_run_start){
        .run = 9, .cpumask = ASSAY_CPU_ALL, .credit = N, .probe_work = MANY};
    hand_ask(&p, m, NULL, ASSAY_MSG_LAYER_BEGIN);
    hand_expect(&p, ASSAY_MSG_CHUNK); /* the credit is spent */
    hand_expect(&p, ASSAY_MSG_LAYER_END);
    m = (struct assay_msg){.type = ASSAY_MSG_CREDIT,
                           .u.number = ASSAY_PROBE_CREDIT - 1};
    hand_ask(&p, m, NULL, 0);
    m = (struct assay_msg){.type = ASSAY_MSG_PING, .u.number = 3};
    hand_ask(&p, m, NULL, ASSAY_MSG_PONG);
    m = (struct assay_msg){.type = ASSAY_MSG_CREDIT, .u.number = 1};
    hand_ask(&p, m, NULL, ASSAY_MSG_LAYER_PROBE);
    assert_int_equal(p.got.u.layer_probe.run, 9);
    assert_int_equal(p.got.u.layer_probe.layer, HALVED);
    assert_int_equal(p.got.u.layer_probe.probe.values, N);
    m.u.number = UINT64_MAX;
    hand_ask(&p, m, NULL, ASSAY_MSG_LAYER_BEGIN);
    while (hand_hear(&p) != ASSAY_MSG_RUN_END) {
    }
    assert_int_equal(p.got.u.run_end.layers_done, LAYERS);
    assert_int_equal(p.got.u.run_end.error.code, 0);
    hand_close(&p);
    assert_int_equal(agents_stop(&agent), 0);
    assay_slice_free(s);
}

/* ---- one that makes them up -------------------------------------------------- */

/* Layer 0 with bytes that nobody computed. */
static void send_layer(struct hand *f, const struct assay_slice *s)
{
    struct assay_msg m = {.type = ASSAY_MSG_CHUNK, .payload_bytes = N};
    uint8_t bytes[N] = {0}, digest[16];

    hand_begin(f, s, 1);
    assay_xxh128(bytes, N, digest);
    memcpy(m.u.chunk.digest, digest, 16);
    hand_say(f, &m, bytes);
    m = (struct assay_msg){.type = ASSAY_MSG_LAYER_END};
    m.u.layer_end.bytes = N;
    assay_xxh128(digest, 16, m.u.layer_end.digest);
    hand_say(f, &m, NULL);
}

/* What it says behind layer 0. */
struct lie {
    uint32_t layer;
    unsigned operand, step;
    unsigned times;
    bool before; /* the layer's results */
};

static void send_probe(struct hand *f, const struct lie *lie)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_PROBE};

    m.u.layer_probe.layer = lie->layer;
    m.u.layer_probe.probe.values = N;
    assay_probe_step(&m.u.layer_probe.probe, lie->operand, lie->step)->can =
        ASSAY_PROBE_TIES;
    for (unsigned i = 0; i < lie->times; i++)
        hand_say(f, &m, NULL);
}

struct liar {
    const struct assay_slice *s;
    const struct lie *lie;
};

static void send_run(struct hand *f, void *self)
{
    const struct liar *liar = self;

    if (liar->lie->before)
        send_probe(f, liar->lie);
    send_layer(f, liar->s);
    if (!liar->lie->before)
        send_probe(f, liar->lie);
}

/* The client's sentence; "": it took everything. */
static void lie_to_client(const struct lie *lie, uint64_t work,
                          struct assay_err *err, struct seen *seen)
{
    struct assay_slice *s = make_slice();
    struct liar liar = {s, lie};
    struct hand_agent agent = {.layers = LAYERS,
                               .captures = ASSAY_CAPTURES_ALL,
                               .run = send_run,
                               .self = &liar};
    struct assay_backend *b;

    hand_agent_start(&agent);
    b = connect_and_load(agent.target, s);
    *err = (struct assay_err){0};
    (void)!run(b, seen, work, err);
    b->vt->close(b);
    (void)hand_agent_wait(&agent);
    assay_slice_free(s);
}

static void test_lies(void **state)
{
    static const struct {
        struct lie lie;
        uint64_t work;
        const char *sentence;
    } rows[] = {
        {{0, 0, 0, 1, false}, MANY, ""},
        {{0, 0, 0, 1, false}, 0, "a probe of layer 0, which was not asked"},
        {{0, 0, 0, 2, false}, MANY, "a probe of layer 0, which was not asked"},
        {{0, 0, 0, 1, true}, MANY, "a probe of layer 0, which was not asked"},
        {{2, 0, 0, 1, false}, MANY, "a probe of layer 2, which was not asked"},
        {{9, 0, 0, 1, false}, MANY, "a probe of layer 9, which was not asked"},
        {{0, 0, 2, 1, false}, MANY, "'halved' names a step that it does not"},
        {{0, 1, 0, 1, false}, MANY, "'halved' names a step that it does not"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_err err;
        struct seen seen;

        lie_to_client(&rows[i].lie, rows[i].work, &err, &seen);
        if (rows[i].sentence[0] == '\0'
                ? err.text[0] != '\0'
                : strstr(err.text, rows[i].sentence) == NULL)
            fail_msg("row %zu: '%s' lacks '%s'", i, err.text, rows[i].sentence);
        assert_int_equal(seen.n_probes[0], i == 0 || rows[i].lie.times == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_lies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
