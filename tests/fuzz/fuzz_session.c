/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's state machine. The first byte says how far an honest client has
 * come (hello, lease, a slice, its input, a run), the second how the bytes are
 * cut into pieces; bytes 2..17 are the habits of workers (session_fakes.h);
 * then frames, whose sequence and hashes are made good, so that mutations
 * reach what stands behind them. At the end the peer hangs up: the session
 * must be gone, the whole budget free again, and no handle open.
 *
 * links: tests/fuzz/session_fakes.c tests/fuzz/mend.c
 * links: agent/[a-k]*.c agent/lo*.c agent/[n-r]*.c agent/session*.c
 * links: agent/st*.c agent/sy*.c
 * links: lib/net/ proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * covers: agent/session*.c agent/stream*.c agent/ring.c agent/blobs.c
 * covers: agent/loaded.c agent/run_error.c
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/session.h"
#include "tests/fuzz/mend.h"
#include "tests/fuzz/session_fakes.h"

#define MEMORY (UINT64_C(12) << 20)
#define N 64 /* elements of a tensor */

struct world {
    struct assay_agent agent;
    struct assay_agent_options options;
    struct fake_conn *conn;
    struct assay_session *session;
    uint32_t sequence;
};

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- the honest part ----------------------------------------------------------- */

static void say(struct world *w, struct assay_msg m, const void *payload,
                uint32_t n)
{
    struct assay_buf out;

    m.payload_bytes = n;
    assay_buf_init(&out);
    if (assay_msg_frame(&out, &m, false, w->sequence++, NULL) < 0 ||
        assay_buf_append(&out, payload, n) < 0)
        fail("frame");
    for (size_t at = 0; at < out.len; at += 4096)
        fake_conn_feed(w->conn, out.data + at,
                       out.len - at < 4096 ? out.len - at : 4096);
    assay_buf_close(&out);
    fake_conn_take(w->conn);
}

static struct assay_slice *two_copies(void)
{
    struct assay_slice *s = assay_slice_new();
    uint32_t index;

    for (uint32_t i = 0; s != NULL && i < 3; i++) {
        if (assay_slice_add_tensor(s, &index, NULL) < 0)
            fail("slice");
        s->tensors[i].name = i == 0 ? "in" : "t";
        s->tensors[i].role = i == 0 ? ASSAY_ROLE_INPUT : ASSAY_ROLE_ACTIVATION;
        s->tensors[i].dtype = ASSAY_S8;
        s->tensors[i].rank = 1;
        s->tensors[i].dims[0] = N;
    }
    for (uint32_t i = 0; s != NULL && i < 2; i++) {
        if (assay_slice_add_layer(s, 1, &index, NULL) < 0)
            fail("slice");
        s->layers[i].name = "copy";
        s->layers[i].source_op = "Test";
        s->layers[i].op = ASSAY_OP_UNARY;
        s->layers[i].inputs[0] = i;
        s->layers[i].output = i + 1;
    }
    if (s != NULL) {
        s->model_name = "m";
        s->model_format = "onnx";
    }
    return s;
}

static void load(struct world *w)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_PUT};
    struct assay_slice *s = two_copies();
    struct assay_buf text;

    assay_buf_init(&text);
    if (s == NULL || assay_slice_encode(s, &text, NULL) < 0)
        fail("slice");
    assay_sha256(text.data, text.len, m.u.blob.sha256);
    m.u.blob.total = text.len;
    say(w, m, text.data, (uint32_t)text.len);
    m.type = ASSAY_MSG_SLICE_LOAD;
    say(w, m, NULL, 0);
    assay_buf_close(&text);
    assay_slice_free(s);
}

/* 0: nothing said, 1: hello, 2: lease, 3: a slice, 4: its input, 5: a run. */
static void come_to(struct world *w, int stage)
{
    static const uint8_t zeros[N];
    struct assay_msg m = {.type = ASSAY_MSG_HELLO, .u.hello = {1, 1, "f"}};

    if (stage >= 1)
        say(w, m, NULL, 0);
    m = (struct assay_msg){.type = ASSAY_MSG_LEASE_ACQUIRE,
                           .u.lease = {"f", 1000, false}};
    if (stage >= 2)
        say(w, m, NULL, 0);
    if (stage >= 3)
        load(w);
    m = (struct assay_msg){.type = ASSAY_MSG_RUN_TENSOR,
                           .u.run_tensor = {0, N, 0}};
    if (stage >= 4)
        say(w, m, zeros, N);
    m = (struct assay_msg){.type = ASSAY_MSG_RUN_START};
    m.u.run_start.credit = 64;
    if (stage >= 5)
        say(w, m, NULL, 0);
}

/* ---- the other part ------------------------------------------------------------- */

static void turn(struct world *w)
{
    for (int i = 0; i < 2; i++)
        uv_run(&w->agent.loop, UV_RUN_NOWAIT);
    fake_test_ends(&w->agent);
    if (w->agent.sessions != NULL)
        assay_session_child(w->session);
}

static void set_up(struct world *w)
{
    struct assay_agent *a = &w->agent;

    memset(w, 0, sizeof(*w));
    assay_log_set_level(ASSAY_LOG_ERROR);
    a->options = &w->options;
    a->board_id = "fuzz";
    a->blobs = assay_blobs_new(MEMORY);
    if (a->blobs == NULL || uv_loop_init(&a->loop) < 0)
        fail("set up");
    a->test.health = ASSAY_HEALTH_GOOD;
    assay_lease_init(&a->lease, &a->loop, "fuzz", assay_session_revoked);
    w->session = assay_session_new(a, fake_conn_new(&w->conn), false);
    if (w->session == NULL)
        fail("session");
}

static void tear_down(struct world *w)
{
    fake_conn_end(w->conn);
    for (int i = 0; i < 64 && w->agent.sessions != NULL; i++) {
        fake_conn_take(w->conn);
        uv_run(&w->agent.loop, UV_RUN_NOWAIT);
    }
    if (w->agent.sessions != NULL || !fake_conn_is_closed(w->conn))
        fail("the session is not gone");
    uv_run(&w->agent.loop, UV_RUN_NOWAIT);
    if (assay_budget_free(w->agent.blobs) != MEMORY)
        fail("something is still charged to the budget");
    if (uv_loop_close(&w->agent.loop) != 0)
        fail("a handle is open");
    assay_blobs_free(w->agent.blobs);
    fake_conn_free(w->conn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w;
    size_t piece, at = 0, turns = 0;
    uint8_t *copy;

    if (size < 18)
        return 0;
    copy = malloc(size);
    if (copy == NULL)
        return 0;
    set_up(&w);
    fake_worker_behave(data + 2, 16);
    come_to(&w, data[0] % 6);
    piece = (size_t)1 << data[1] % 16;
    size -= 18;
    memcpy(copy, data + 18, size);
    mend_frames(copy, size, &w.sequence);
    while (at < size && turns++ < 64 && w.agent.sessions != NULL) {
        size_t n = size - at < piece ? size - at : piece;

        n = n < 4096 ? n : 4096; /* as much as a read may give */
        if (fake_conn_feed(w.conn, copy + at, n))
            at += n;
        if (data[1] & 0x40 || turns % 3 == 0)
            fake_conn_take(w.conn);
        turn(&w);
    }
    tear_down(&w);
    free(copy);
    return 0;
}
