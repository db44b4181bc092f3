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

int hand_listen(char *target, size_t cap)
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
