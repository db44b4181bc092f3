/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors and runs: what a peer with a slice may try. See tests/support/hostile.h; the list is in
 * docs/testing.md.
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

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/hostile.h"

#define MIB (1u << 20)

static const uint8_t zeros[MIB];

static void put_and_load(struct hostile_peer *p, const void *text, size_t n)
{
    uint8_t sha[ASSAY_SHA256_LEN];

    assay_sha256(text, n, sha);
    for (size_t at = 0; at < n; at += MIB)
        hostile_say(p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, n, at),
                    (const uint8_t *)text + at,
                    n - at < MIB ? (uint32_t)(n - at) : MIB);
    hostile_until(p, ASSAY_MSG_BLOB_STORED);
    hostile_say(p, hostile_blob(ASSAY_MSG_SLICE_LOAD, sha, 0, 0), NULL, 0);
}

/* ---- tensors and runs ---------------------------------------------------------- */

static void say_start(struct hostile_peer *p, struct assay_msg m)
{
    hostile_say(p, m, NULL, 0);
}

static void give(struct hostile_peer *p, uint32_t tensor, uint64_t total,
                 uint64_t offset, uint32_t n)
{
    hostile_say(p, hostile_tensor(tensor, total, offset), zeros, n);
    say_start(p, hostile_start(1, UINT64_MAX));
}

static void tensor_index(struct hostile_peer *p)
{
    give(p, UINT32_MAX, 3, 0, 3);
}

static void tensor_size(struct hostile_peer *p)
{
    give(p, 0, HOSTILE_SMALL + 1, 0, 3);
}

static void tensor_total(struct hostile_peer *p)
{
    give(p, 0, UINT64_MAX, 0, 3);
}

static void tensor_gap(struct hostile_peer *p)
{
    give(p, 0, HOSTILE_SMALL, 9, 3);
}

static void tensor_cut(struct hostile_peer *p)
{
    give(p, 0, HOSTILE_SMALL, 0, 3);
}

static void tensor_twice(struct hostile_peer *p)
{
    give(p, 0, HOSTILE_SMALL, 0, HOSTILE_SMALL); /* it is there already */
}

static void tensor_flood(struct hostile_peer *p)
{
    for (int i = 0; i < 200; i++)
        hostile_say(p, hostile_tensor(0, HOSTILE_SMALL, 0), zeros,
                    HOSTILE_SMALL);
    say_start(p, hostile_start(1, UINT64_MAX));
}

static void no_inputs(struct hostile_peer *p)
{
    say_start(p, hostile_start(1, UINT64_MAX));
}

static void filter(struct hostile_peer *p, size_t n)
{
    struct assay_msg m = hostile_start(1, UINT64_MAX);

    m.u.run_start.layers = zeros;
    m.u.run_start.layers_bytes = n;
    say_start(p, m);
}

static void filter_too_long(struct hostile_peer *p)
{
    filter(p, 2);
}

static void filter_of_9000(struct hostile_peer *p)
{
    filter(p, 9000);
}

static void absurd_numbers(struct hostile_peer *p)
{
    struct assay_msg m = hostile_start(UINT32_MAX, UINT64_MAX);

    m.u.run_start.cpumask = UINT32_MAX;
    m.u.run_start.sample = UINT32_MAX;
    m.u.run_start.layer_timeout_ms = UINT64_MAX;
    m.u.run_start.stall_timeout_ms = UINT64_MAX;
    m.u.run_start.probe_work = UINT64_MAX;
    say_start(p, m);
    hostile_say(p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
}

static void no_credit(struct hostile_peer *p)
{
    struct assay_msg m = hostile_start(1, 0);

    m.u.run_start.stall_timeout_ms = 200;
    say_start(p, m);
    hostile_say(p, hostile_number(ASSAY_MSG_CREDIT, 0), NULL, 0);
}

static void no_time(struct hostile_peer *p)
{
    struct assay_msg m = hostile_start(1, 0);

    m.u.run_start.stall_timeout_ms = 1;
    say_start(p, m);
}

static void credit_overflow(struct hostile_peer *p)
{
    hostile_say(p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    hostile_say(p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
}

static void cancel(struct hostile_peer *p)
{
    hostile_say(p, hostile_number(ASSAY_MSG_CANCEL, 1), NULL, 0);
}

static void cancel_another(struct hostile_peer *p)
{
    hostile_say(p, hostile_number(ASSAY_MSG_CANCEL, 2), NULL, 0);
    hostile_say(p, hostile_number(ASSAY_MSG_PING, 5), NULL, 0);
    hostile_until(p, ASSAY_MSG_PONG); /* it runs on */
    credit_overflow(p);
}

static void cancels_nothing(struct hostile_peer *p)
{
    hostile_say(p, hostile_number(ASSAY_MSG_CANCEL, UINT64_MAX), NULL, 0);
    hostile_say(p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
}

/* Out of turn while a worker computes. */
static void says(struct hostile_peer *p, enum assay_msg_type type)
{
    hostile_say(p, hostile_plain(type), NULL, 0);
}

static void start_again(struct hostile_peer *p)
{
    says(p, ASSAY_MSG_RUN_START);
}

static void put_while_running(struct hostile_peer *p)
{
    says(p, ASSAY_MSG_BLOB_PUT);
}

static void load_while_running(struct hostile_peer *p)
{
    says(p, ASSAY_MSG_SLICE_LOAD);
}

static void release_while_running(struct hostile_peer *p)
{
    says(p, ASSAY_MSG_LEASE_RELEASE);
}

static void half_open(struct hostile_peer *p)
{
    char bytes[4096];

    shutdown(p->fd, SHUT_WR); /* and reads on */
    while (recv(p->fd, bytes, sizeof(bytes), 0) > 0) {
    }
}

static void leaves(struct hostile_peer *p)
{
    (void)p;
}

static void leaves_in_a_frame(struct hostile_peer *p)
{
    hostile_send(p, "ASY1\0\0\0\0", 8);
}

static void flood_while_running(struct hostile_peer *p)
{
    struct timeval soon = {.tv_usec = 100000};
    unsigned sent = 0;

    setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    hostile_say(p, hostile_number(ASSAY_MSG_CREDIT, UINT64_MAX), NULL, 0);
    while (sent < 400000 &&
           hostile_say(p, hostile_plain(ASSAY_MSG_STATUS), NULL, 0))
        sent++;
    assert_true(sent < 400000);
}

/* 6,000 layers, nothing given, nothing read: every one is a message that no
 * credit bounds. What is not taken stays in the ring, and that is a stall. */
static void many_missing(struct hostile_peer *p)
{
    static const int64_t one = 1;
    struct assay_msg m = hostile_start(1, UINT64_MAX);
    struct assay_slice *s = hostile_copies(1);
    struct hostile_text t;
    uint32_t last = 2;
    char name[200];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (uint32_t i = 0; i < 6000; i++) {
        uint32_t y =
            slices_tensor(s, "t", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &one);

        slices_layer(s, name, ASSAY_OP_UNARY, 1, &last, y);
        last = y;
    }
    hostile_text_of(&t, s);
    put_and_load(p, t.text.data, t.text.len);
    hostile_until(p, ASSAY_MSG_SLICE_LOADED);
    assay_buf_close(&t.text);
    assay_slice_free(s);
    m.u.run_start.stall_timeout_ms = 400;
    say_start(p, m);
    usleep(1000000);
}

#define A(function) .act = function
#define RUN_END(number) .end = HOSTILE_RUN_END, .code = number

static const struct hostile_case cases[] = {
    {"tensor index of 2^32 - 1", HOSTILE_LOADED, A(tensor_index),
     .end = HOSTILE_REFUSED, .code = ASSAY_ERANGE},
    {"tensor of another size", HOSTILE_LOADED, A(tensor_size),
     .end = HOSTILE_REFUSED, .code = ASSAY_ERANGE},
    {"tensor of 2^64 - 1 bytes", HOSTILE_LOADED, A(tensor_total),
     .end = HOSTILE_REFUSED, .code = ASSAY_ERANGE},
    {"tensor with a gap", HOSTILE_LOADED, A(tensor_gap), .end = HOSTILE_REFUSED,
     .code = ASSAY_ERANGE},
    {"tensor that is cut", HOSTILE_LOADED, A(tensor_cut),
     .end = HOSTILE_REFUSED, .code = ASSAY_ERANGE, .words = "is cut"},
    {"tensor given twice", HOSTILE_GIVEN, A(tensor_twice),
     .end = HOSTILE_REFUSED, .code = ASSAY_ERANGE,
     .words = "expected at 64 of 64"},
    {"tensor given 200 times", HOSTILE_LOADED, A(tensor_flood),
     .end = HOSTILE_REFUSED, .code = ASSAY_ERANGE},
    {"filter of a wrong size", HOSTILE_GIVEN, A(filter_too_long),
     .end = HOSTILE_REFUSED, .code = ASSAY_ERANGE,
     .words = "layer filter has 2 bytes"},
    {"filter beyond all layers", HOSTILE_GIVEN, A(filter_of_9000),
     .code = ASSAY_EPROTOCOL, .words = "layers length"},
    {"mode of no number", HOSTILE_GIVEN, .header = "\xca\x02\x02\x10\x07",
     .n = 5, .code = ASSAY_EPROTOCOL, .words = "mode"},
    {"run without inputs", HOSTILE_LOADED, A(no_inputs), RUN_END(0)},
    {"all numbers of a run at their largest", HOSTILE_GIVEN, A(absurd_numbers),
     RUN_END(0)},
    {"no credit", HOSTILE_GIVEN, A(no_credit), .end = HOSTILE_STALLED,
     .code = ASSAY_ECLIENT_STALLED},
    {"stall deadline of 1 ms", HOSTILE_GIVEN, A(no_time),
     .end = HOSTILE_STALLED, .code = ASSAY_ECLIENT_STALLED},
    {"6,000 missing layers, nothing read", HOSTILE_LEASED, A(many_missing),
     .end = HOSTILE_STALLED, .code = ASSAY_ECLIENT_STALLED},
    {"credit overflows", HOSTILE_RUNNING, A(credit_overflow), RUN_END(0)},
    {"cancel", HOSTILE_RUNNING, A(cancel), RUN_END(ASSAY_ECANCELLED)},
    {"cancel of another run", HOSTILE_RUNNING, A(cancel_another), RUN_END(0)},
    {"cancel and credit without a run", HOSTILE_LOADED, A(cancels_nothing),
     .end = HOSTILE_ANSWERED},
    {"start inside a run", HOSTILE_RUNNING, A(start_again),
     .code = ASSAY_EPROTOCOL, .words = "in state 'running'"},
    {"constant inside a run", HOSTILE_RUNNING, A(put_while_running),
     .code = ASSAY_EPROTOCOL, .words = "in state 'running'"},
    {"load inside a run", HOSTILE_RUNNING, A(load_while_running),
     .code = ASSAY_EPROTOCOL, .words = "in state 'running'"},
    {"release inside a run", HOSTILE_RUNNING, A(release_while_running),
     .code = ASSAY_EPROTOCOL, .words = "in state 'running'"},
    {"half-open inside a run", HOSTILE_RUNNING, A(half_open),
     .end = HOSTILE_SILENT},
    {"leaves inside a run", HOSTILE_RUNNING, A(leaves), .end = HOSTILE_LEFT},
    {"leaves inside a frame, inside a run", HOSTILE_RUNNING,
     A(leaves_in_a_frame), .end = HOSTILE_LEFT},
    {"flood of status inside a run", HOSTILE_RUNNING, A(flood_while_running),
     .end = HOSTILE_LEFT},
};

int main(int argc, char **argv)
{
    return hostile_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
