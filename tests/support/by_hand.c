/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/by_hand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

void hand_say(struct hand *f, const struct assay_msg *m, const void *payload)
{
    struct assay_buf out;

    assay_buf_init(&out);
    if (assay_msg_frame(&out, m, f->is_agent, f->sequence++, NULL) < 0 ||
        assay_buf_append(&out, payload, m->payload_bytes) < 0 ||
        send(f->fd, out.data, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
        _exit(3);
    assay_buf_close(&out);
}

enum assay_msg_type hand_hear(struct hand *f)
{
    struct assay_frame frame;
    uint8_t bytes[4096];
    int rc;

    assay_msg_close(&f->got);
    while ((rc = assay_frame_next(&f->in, &frame, NULL)) == 0) {
        ssize_t n = recv(f->fd, bytes, sizeof(bytes), 0);

        if (n <= 0)
            _exit(0);
        if (assay_frame_push(&f->in, bytes, (size_t)n, NULL) < 0)
            _exit(4);
    }
    if (rc < 0 || assay_msg_decode(&f->got, &frame, NULL) < 0)
        _exit(5);
    return f->got.type;
}

void hand_expect(struct hand *p, enum assay_msg_type type)
{
    enum assay_msg_type got = hand_hear(p);

    if (got != type)
        fail_msg("%s expected, found %s", assay_msg_name(type),
                 assay_msg_name(got));
}

void hand_ask(struct hand *p, struct assay_msg m, const void *payload,
              enum assay_msg_type answer)
{
    hand_say(p, &m, payload);
    if (answer != 0)
        hand_expect(p, answer);
}

static void put_blob(struct hand *p, const void *data, size_t n, uint8_t *sha)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_PUT};

    assay_sha256(data, n, sha);
    memcpy(m.u.blob.sha256, sha, ASSAY_SHA256_LEN);
    m.u.blob.total = n;
    m.payload_bytes = (uint32_t)n;
    hand_ask(p, m, data, ASSAY_MSG_BLOB_STORED);
}

void hand_reach(struct hand *p, const char *path, const struct assay_slice *s)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};
    uint8_t sha[ASSAY_SHA256_LEN];
    struct assay_buf text;

    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    p->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(p->fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assay_frame_decoder_init(&p->in, true);
    m.u.hello = (struct assay_msg_hello){1, 1, ASSAY_VERSION};
    hand_ask(p, m, NULL, ASSAY_MSG_HELLO_ACK);
    m = (struct assay_msg){.type = ASSAY_MSG_LEASE_ACQUIRE};
    m.u.lease.owner = "me@test 2";
    hand_ask(p, m, NULL, ASSAY_MSG_LEASE_GRANTED);
    for (uint32_t i = 0; i < s->n_tensors; i++)
        if (s->tensors[i].role == ASSAY_ROLE_CONSTANT)
            put_blob(p, s->tensors[i].data, s->tensors[i].size, sha);
    assay_buf_init(&text);
    assert_int_equal(assay_slice_encode(s, &text, NULL), 0);
    put_blob(p, text.data, text.len, sha);
    assay_buf_close(&text);
    m = (struct assay_msg){.type = ASSAY_MSG_SLICE_LOAD};
    memcpy(m.u.blob.sha256, sha, sizeof(sha));
    hand_ask(p, m, NULL, ASSAY_MSG_SLICE_LOADED);
}

void hand_close(struct hand *p)
{
    assay_msg_close(&p->got);
    assay_frame_decoder_close(&p->in);
    close(p->fd);
}

static int open_listener(char *target, size_t cap)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), P_tmpdir "/assay-lie-%d",
             (int)getpid());
    unlink(at.sun_path);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    snprintf(target, cap, "unix:%s", at.sun_path);
    return listener;
}

void hand_begin(struct hand *f, const struct assay_slice *s, uint32_t tensor)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_BEGIN};
    const struct assay_tensor *t = &s->tensors[tensor];
    size_t elements, bytes;

    assert_int_equal(assay_tensor_count(t, &elements, &bytes, NULL), 0);
    m.u.layer_begin = (struct assay_msg_layer_begin){.tensor = tensor,
                                                     .dtype = t->dtype,
                                                     .rank = t->rank,
                                                     .bytes = bytes,
                                                     .kernel = "none"};
    memcpy(m.u.layer_begin.dims, t->dims, sizeof(t->dims));
    hand_say(f, &m, NULL);
}

static void serve(const struct hand_agent *a, int listener)
{
    struct hand f = {.is_agent = true, .fd = accept(listener, NULL, NULL)};
    struct assay_msg m;

    assay_frame_decoder_init(&f.in, false);
    for (;;) {
        m = (struct assay_msg){0};
        switch (hand_hear(&f)) {
        case ASSAY_MSG_HELLO:
            m.type = ASSAY_MSG_HELLO_ACK;
            m.u.hello_ack.version = m.u.hello_ack.version_min =
                m.u.hello_ack.version_max = 1;
            m.u.hello_ack.info.build_id = ASSAY_VERSION;
            m.u.hello_ack.captures = a->captures;
            break;
        case ASSAY_MSG_LEASE_ACQUIRE: m.type = ASSAY_MSG_LEASE_GRANTED; break;
        case ASSAY_MSG_BLOB_QUERY: m.type = ASSAY_MSG_BLOB_MISSING; break;
        case ASSAY_MSG_SLICE_LOAD:
            m.type = ASSAY_MSG_SLICE_LOADED;
            m.u.loaded.layers = a->layers;
            break;
        case ASSAY_MSG_RUN_EXPECT:
            if (a->captures == 0)
                _exit(7);
            continue;
        case ASSAY_MSG_RUN_START:
            if (a->captures == 0 &&
                f.got.u.run_start.capture != ASSAY_CAPTURE_FULL)
                _exit(8);
            a->run(&f, a->self);
            m.type = ASSAY_MSG_RUN_END;
            m.u.run_end.run = f.got.u.run_start.run;
            break;
        default: continue;
        }
        hand_say(&f, &m, NULL);
    }
}

void hand_agent_start(struct hand_agent *a)
{
    int listener = open_listener(a->target, sizeof(a->target));

    fflush(NULL);
    a->pid = fork();
    assert_true(a->pid >= 0);
    if (a->pid == 0) {
        alarm(30);
        serve(a, listener);
        _exit(0);
    }
    close(listener);
}

int hand_agent_wait(struct hand_agent *a)
{
    int status;

    unlink(a->target + 5);
    assert_int_equal(waitpid(a->pid, &status, 0), a->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}
