/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures over the wire: an agent sends what it is asked for and refuses
 * expectations that do not fit; a client puts together what came, believes no
 * agent that leaves out what differs, and copes with one that knows nothing of
 * it.
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
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "kernels/cpu.h"
#include "tests/support/agents.h"
#include "tests/support/by_hand.h"
#include "tests/support/connect.h"
#include "tests/support/slices.h"

#define TILE ((size_t)65536)
#define N (3 * TILE + 1000)
#define TILES 4
enum { X, A, Y, WEIGHT, TENSORS };

static int8_t input[N], other[N];

/* x -> copied -> halved; a constant that nobody reads. */
static struct assay_slice *make_slice(void)
{
    static const int64_t dims[1] = {(int64_t)N}, few[1] = {4}, one = 1;
    static const int8_t w[4] = {1, 2, 3, 4};
    struct assay_slice *s = slices_new();
    uint32_t l;

    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    slices_tensor(s, "a", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    slices_data(s, slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 1, few),
                w);
    assay_sha256(w, sizeof(w), s->tensors[WEIGHT].sha256);
    for (uint32_t i = 0; i < TENSORS; i++)
        slices_quant(s, i, 1.0f, 0);
    slices_layer(s, "copied", ASSAY_OP_UNARY, 1, (uint32_t[]){X}, A);
    l = slices_layer(s, "halved", ASSAY_OP_UNARY, 1, (uint32_t[]){A}, Y);
    slices_shr(&s->layers[l].out_program, ASSAY_ROUND_FLOOR, &one);
    for (size_t i = 0; i < N; i++)
        input[i] = (int8_t)(i * 31 + i / 251);
    return s;
}

/* ---- a client --------------------------------------------------------------- */

struct seen {
    unsigned layers, digests, stats;
    bool same; /* layer "copied" was its input */
    uint8_t digest[TILES * 16];
    struct assay_stats copied;
};

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct seen *s = self;

    (void)kernel;
    (void)time_us;
    s->layers++;
    if (layer == 0)
        s->same = bytes == N && memcmp(data, input, N) == 0;
    return 0;
}

static int on_digests(void *self, uint32_t layer, const uint8_t *digests,
                      size_t tiles, const char *kernel, uint64_t time_us)
{
    struct seen *s = self;

    (void)kernel;
    (void)time_us;
    assert_int_equal(tiles, TILES);
    s->digests++;
    if (layer == 0)
        memcpy(s->digest, digests, sizeof(s->digest));
    return 0;
}

static void on_stats(void *self, uint32_t layer, const struct assay_stats *st)
{
    struct seen *s = self;

    s->stats++;
    if (layer == 0)
        s->copied = *st;
}

/* Of layer "copied" alone; expected: what its output should be, or NULL. */
static int run(struct assay_backend *b, enum assay_capture capture,
               const void *expected, struct seen *seen, struct assay_err *err)
{
    static const bool first[] = {true, false};
    struct assay_run_tensor given = {X, input, N}, expect = {A, expected, N};
    struct assay_backend_run request = {.cpumask = ASSAY_CPU_ALL,
                                        .layers = first,
                                        .given = &given,
                                        .n_given = 1,
                                        .capture = capture,
                                        .expect = &expect,
                                        .n_expect = expected != NULL};
    struct assay_results results = {.self = seen,
                                    .layer = on_layer,
                                    .digests = on_digests,
                                    .stats = on_stats};

    memset(seen, 0, sizeof(*seen));
    return b->vt->run(b, &request, &results, err);
}

/* ---- an honest agent ---------------------------------------------------------- */

/* A run whose bytes are about those of so many tiles, and which gives all. */
static void expect_tiles(struct assay_backend *b, enum assay_capture capture,
                         const void *expected, size_t bytes)
{
    uint64_t before = b->vt->received(b), came;
    struct assay_err err = {0};
    struct seen seen;

    if (run(b, capture, expected, &seen, &err) < 0)
        fail_msg("%s", err.text);
    came = b->vt->received(b) - before;
    assert_true(seen.layers == 1 && seen.digests == 0 && seen.same);
    assert_true(came >= bytes && came < bytes + 2000);
}

static void test_honest(void **state)
{
    struct assay_stats_rule rule = {ASSAY_S8, -128, 127, 0};
    struct assay_slice *s = make_slice();
    struct assay_stats want = {0};
    uint8_t digests[TILES * 16];
    struct assay_err err = {0};
    struct assay_backend *b;
    struct agents agent;
    char board[64];
    struct seen seen;

    (void)state;
    snprintf(board, sizeof(board), "capture-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    b = connect_and_load(agent.target, s);
    expect_tiles(b, ASSAY_CAPTURE_FULL, NULL, N);
    expect_tiles(b, ASSAY_CAPTURE_FULL, input, N); /* it is not said */
    expect_tiles(b, ASSAY_CAPTURE_DIFFERING, NULL, N);
    expect_tiles(b, ASSAY_CAPTURE_DIFFERING, input, 0);
    memcpy(other, input, N);
    other[TILE + 5] ^= 1; /* in the second tile */
    expect_tiles(b, ASSAY_CAPTURE_DIFFERING, other, TILE);
    expect_tiles(b, ASSAY_CAPTURE_DIGEST, other, TILE);
    other[N - 1] ^= 1; /* and in the last one, which is short */
    expect_tiles(b, ASSAY_CAPTURE_DIFFERING, other, TILE + 1000);
    other[0] ^= 1;
    other[2 * TILE] ^= 1;
    expect_tiles(b, ASSAY_CAPTURE_DIFFERING, other, N);
    expect_tiles(b, ASSAY_CAPTURE_STATS, input, 0);

    assay_tile_digests(input, N, digests);
    assert_int_equal(run(b, ASSAY_CAPTURE_DIGEST, NULL, &seen, &err), 0);
    assert_true(seen.digests == 1 && seen.layers == 0 && seen.stats == 0);
    assert_memory_equal(seen.digest, digests, sizeof(digests));
    assay_stats_add(&want, &rule, input, N);
    assert_int_equal(run(b, ASSAY_CAPTURE_STATS, NULL, &seen, &err), 0);
    assert_true(seen.digests == 1 && seen.stats == 1);
    assert_true(assay_stats_equal(&seen.copied, &want));
    assert_int_equal(run(b, ASSAY_CAPTURE_STATS, other, &seen, &err), 0);
    assert_true(seen.layers == 1 && seen.same && seen.stats == 1);
    b->vt->close(b);
    assert_int_equal(agents_stop(&agent), 0);
    assay_slice_free(s);
}

/* ---- expectations that do not fit --------------------------------------------- */

static uint64_t memory_used(struct hand *p)
{
    struct assay_msg m = {.type = ASSAY_MSG_STATUS};

    hand_ask(p, m, NULL, ASSAY_MSG_STATUS_REPLY);
    return p->got.u.info.memory_used;
}

static void say_expect(struct hand *p, uint32_t tensor, uint64_t tiles,
                       uint64_t first, size_t n)
{
    static const uint8_t none[TILES * 16];
    struct assay_msg m = {.type = ASSAY_MSG_RUN_EXPECT};

    m.u.run_expect = (struct assay_msg_run_expect){.tensor = tensor,
                                                   .tiles = tiles,
                                                   .first = first,
                                                   .digests = none,
                                                   .n = n};
    hand_ask(p, m, NULL, 0);
}

static void start(struct hand *p, enum assay_msg_type answer)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_START};

    m.u.run_start = (struct assay_msg_run_start){
        .run = 9, .capture = ASSAY_CAPTURE_DIFFERING, .credit = UINT64_MAX};
    hand_ask(p, m, NULL, answer);
}

static void test_refused(void **state)
{
    static const struct {
        uint32_t tensor;
        struct {
            uint64_t tiles, first;
            size_t n;
        } list[2];
        const char *sentence;
    } rows[] = {
        {9, {{4, 0, 4}}, "tensor index 9 is expected, the slice has 4"},
        {X, {{4, 0, 4}}, "tensor 'x' is no output of a layer"},
        {WEIGHT, {{1, 0, 1}}, "tensor 'w' is no output of a layer"},
        {A, {{3, 0, 3}}, "tensor 'a': 3 digests are expected to come, its"},
        {A, {{5, 0, 4}}, "197608 bytes have 4 tiles"},
        {A, {{4, 1, 1}}, "from tile 1 of 4 on, expected from 0 of 4"},
        {A, {{4, 0, 4}, {4, 0, 4}}, "from tile 0 of 4 on, expected from 4"},
        {A, {{4, 0, 2}, {4, 3, 1}}, "from tile 3 of 4 on, expected from 2"},
        {A, {{4, 0, 2}, {5, 2, 2}}, "from tile 2 of 5 on, expected from 2"},
        {A, {{4, 0, 2}}, "tensor 'a': 2 of 4 digests came"},
    };
    struct assay_slice *s = make_slice();
    struct agents agent;
    struct hand p = {0};
    char board[64];
    uint64_t before;

    (void)state;
    snprintf(board, sizeof(board), "expect-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    hand_reach(&p, agent.target + 5, s);
    before = memory_used(&p);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t k = 0; k < 2 && rows[i].list[k].n > 0; k++)
            say_expect(&p, rows[i].tensor, rows[i].list[k].tiles,
                       rows[i].list[k].first, rows[i].list[k].n);
        start(&p, ASSAY_MSG_ERROR);
        if (strstr(p.got.u.error.text, rows[i].sentence) == NULL)
            fail_msg("row %zu: '%s' lacks '%s'", i, p.got.u.error.text,
                     rows[i].sentence);
        assert_false(p.got.u.error.fatal);
        assert_true(memory_used(&p) == before);
    }
    /* Two pieces that fit count for the budget, and go with the run. */
    say_expect(&p, A, TILES, 0, 3);
    say_expect(&p, A, TILES, 3, 1);
    assert_true(memory_used(&p) == before + TILES * 16);
    start(&p, ASSAY_MSG_LAYER_MISSING);
    while (hand_hear(&p) != ASSAY_MSG_RUN_END) {
    }
    assert_true(memory_used(&p) == before);
    hand_close(&p);
    assert_int_equal(agents_stop(&agent), 0);
    assay_slice_free(s);
}

/* In a run it is out of turn, and before a slice is loaded. */
static void test_out_of_turn(void **state)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_TENSOR, .payload_bytes = N};
    struct assay_slice *s = make_slice();
    struct agents agent;
    struct hand p = {0};
    char board[64];

    (void)state;
    snprintf(board, sizeof(board), "turn-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    hand_reach(&p, agent.target + 5, s);
    m.u.run_tensor.total = N;
    hand_ask(&p, m, input, 0);
    m = (struct assay_msg){.type = ASSAY_MSG_RUN_START};
    m.u.run_start = (struct assay_msg_run_start){.run = 9};
    hand_ask(&p, m, NULL, ASSAY_MSG_LAYER_BEGIN); /* no credit: it waits */
    say_expect(&p, A, TILES, 0, TILES);
    hand_expect(&p, ASSAY_MSG_ERROR);
    assert_true(p.got.u.error.fatal);
    assert_non_null(strstr(p.got.u.error.text,
                           "RUN_EXPECT is out of turn: the session is in state "
                           "'running'"));
    hand_close(&p);
    assert_int_equal(agents_stop(&agent), 0);
    assay_slice_free(s);
}

/* ---- agents that lie, or are old ------------------------------------------------ */

enum lie {
    NONE,
    OLD,         /* says that it knows no captures, and sends everything */
    OMITS,       /* leaves out a tile that differs */
    OMITS_ALL,   /* and all of them */
    SHORT_TILE,  /* of what is expected */
    ODD_PLACE,   /* not where a tile begins */
    BACK,        /* a tile twice */
    BEYOND,      /* behind the end */
    TILES_ASKED, /* digests where tiles are wanted */
    TILE_ASKED,  /* a tile where digests are wanted */
    FEW_DIGESTS, /* of what is not expected */
    MANY_DIGESTS,
    OTHER_DIGESTS, /* that are not those of its end */
    STATS_ASKED,   /* statistics that nobody wanted */
    STATS_COUNT,   /* of another number of elements */
    STATS_TWICE,
};

static void say_tile(struct hand *f, size_t at, size_t n)
{
    struct assay_msg m = {.type = ASSAY_MSG_CHUNK,
                          .payload_bytes = (uint32_t)n};

    m.u.chunk.offset = at;
    assay_xxh128(input + at % N, n, m.u.chunk.digest);
    hand_say(f, &m, input + at % N);
}

static void say_digests(struct hand *f, uint8_t *digests, size_t first,
                        size_t n)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_TILES};

    m.u.layer_tiles.first = first;
    m.u.layer_tiles.digests = digests;
    m.u.layer_tiles.n = n;
    hand_say(f, &m, NULL);
}

static void say_stats(struct hand *f, size_t n)
{
    struct assay_stats_rule rule = {ASSAY_S8, -128, 127, 0};
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_STATS};

    assay_stats_add(&m.u.layer_stats.stats, &rule, input, n);
    hand_say(f, &m, NULL);
}

static void lie_of_tiles(struct hand *f, enum lie lie)
{
    switch (lie) {
    case NONE: say_tile(f, TILE, TILE); break;
    case OMITS: say_tile(f, 3 * TILE, 1000); break;
    case SHORT_TILE: say_tile(f, TILE, TILE - 1); break;
    case ODD_PLACE: say_tile(f, TILE + 1, TILE); break;
    case BEYOND: say_tile(f, 8 * TILE, TILE); break;
    case OLD:
        for (size_t at = 0; at < N; at += TILE)
            say_tile(f, at, N - at < TILE ? N - at : TILE);
        break;
    case BACK:
        say_tile(f, TILE, TILE);
        say_tile(f, TILE, TILE);
        break;
    default: break;
    }
}

static void lie_of_others(struct hand *f, enum lie lie, uint8_t *digests)
{
    uint8_t wrong[TILES * 16 + 16] = {0};

    switch (lie) {
    case TILES_ASKED: say_digests(f, digests, 0, TILES); break;
    case TILE_ASKED: say_tile(f, 0, TILE); break;
    case FEW_DIGESTS: say_digests(f, digests, 0, TILES - 1); break;
    case MANY_DIGESTS: say_digests(f, wrong, 0, TILES + 1); break;
    case OTHER_DIGESTS: say_digests(f, wrong, 0, TILES); break;
    case STATS_ASKED: say_stats(f, N); break;
    case STATS_COUNT: say_stats(f, N - 1); break;
    case STATS_TWICE:
        say_stats(f, N);
        say_stats(f, N);
        break;
    default: break;
    }
}

struct liar {
    const struct assay_slice *s;
    enum lie lie;
};

static void send_layer(struct hand *f, void *self)
{
    const struct liar *liar = self;
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_END};
    uint8_t digests[TILES * 16];

    hand_begin(f, liar->s, A);
    assay_tile_digests(input, N, digests);
    lie_of_tiles(f, liar->lie);
    lie_of_others(f, liar->lie, digests);
    m.u.layer_end.bytes = N;
    assay_xxh128(digests, sizeof(digests), m.u.layer_end.digest);
    hand_say(f, &m, NULL);
}

static void lie_to_client(enum lie lie, enum assay_capture capture,
                          const void *expected, struct assay_err *err,
                          struct seen *seen)
{
    struct assay_slice *s = make_slice();
    struct liar liar = {s, lie};
    struct hand_agent agent = {.layers = 2,
                               .captures = lie == OLD ? 0 : ASSAY_CAPTURES_ALL,
                               .run = send_layer,
                               .self = &liar};
    struct assay_backend *b;

    hand_agent_start(&agent);
    b = connect_and_load(agent.target, s);
    *err = (struct assay_err){0};
    (void)!run(b, capture, expected, seen, err);
    b->vt->close(b);
    assert_int_equal(hand_agent_wait(&agent), 0);
    assay_slice_free(s);
}

static void test_lies(void **state)
{
#define DIFFER ASSAY_CAPTURE_DIFFERING
    static const struct {
        enum lie lie;
        enum assay_capture capture;
        bool expects;
        const char *sentence;
    } rows[] = {
        {NONE, DIFFER, true, ""},
        {OLD, DIFFER, true, ""},
        {OLD, ASSAY_CAPTURE_DIGEST, true, ""},
        {OLD, ASSAY_CAPTURE_STATS, false, ""},
        {OMITS, DIFFER, true,
         "digest of layer 'copied' differs: 3 of its 4 tiles were left out as "
         "equal, and not all of them are"},
        {OMITS_ALL, DIFFER, true, "4 of its 4 tiles were left out"},
        {OMITS_ALL, DIFFER, false, "size at its end of layer 0 is 0"},
        {SHORT_TILE, DIFFER, true, "tile's size of layer 0 is 65535, expected"},
        {ODD_PLACE, DIFFER, true, "tile's offset of layer 0 is 65537"},
        {BACK, DIFFER, true, "tile's offset of layer 0 is 65536"},
        {BEYOND, DIFFER, true, "tile's offset of layer 0 is 524288"},
        {BACK, DIFFER, false, "tile's offset of layer 0 is 65536, expected 0"},
        {TILES_ASKED, DIFFER, true, "digests of layer 0, which were not asked"},
        {TILE_ASKED, ASSAY_CAPTURE_DIGEST, false, "number of tiles of layer 0"},
        {FEW_DIGESTS, ASSAY_CAPTURE_DIGEST, false,
         "number of digests at its end of layer 0 is 3, expected 4"},
        {MANY_DIGESTS, ASSAY_CAPTURE_DIGEST, false,
         "number of digests of layer 0 is 5, expected 4"},
        {OTHER_DIGESTS, ASSAY_CAPTURE_DIGEST, false,
         "digest of layer 'copied' differs"},
        {STATS_ASKED, DIFFER, true, "statistics of layer 0, which were not"},
        {STATS_COUNT, ASSAY_CAPTURE_STATS, false,
         "number of counted elements of layer 0 is 197607, expected 197608"},
        {STATS_TWICE, ASSAY_CAPTURE_STATS, false, "statistics of layer 0, whi"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_err err;
        struct seen seen;

        memcpy(other, input, N);
        other[TILE + 9] ^= 4;
        lie_to_client(rows[i].lie, rows[i].capture,
                      rows[i].expects ? other : NULL, &err, &seen);
        if (rows[i].sentence[0] == '\0'
                ? err.text[0] != '\0'
                : strstr(err.text, rows[i].sentence) == NULL)
            fail_msg("row %zu: '%s' lacks '%s'", i, err.text, rows[i].sentence);
        assert_int_equal(seen.layers, rows[i].sentence[0] == '\0');
        assert_int_equal(seen.same, rows[i].sentence[0] == '\0');
        assert_int_equal(seen.digests, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_out_of_turn),
        cmocka_unit_test(test_lies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
