/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/hostile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernels/cpu.h"

/* ---- a peer ---------------------------------------------------------------- */

/* "unix:PATH" or "127.0.0.1:PORT". */
static int open_socket(const char *target)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET};
    bool is_path = strncmp(target, "unix:", 5) == 0;
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (is_path)
        snprintf(path.sun_path, sizeof(path.sun_path), "%s", target + 5);
    else
        port.sin_port = htons((uint16_t)atoi(strrchr(target, ':') + 1));
    assert_int_equal(connect(fd,
                             is_path ? (const struct sockaddr *)&path
                                     : (const struct sockaddr *)&port,
                             is_path ? sizeof(path) : sizeof(port)),
                     0);
    return fd;
}

void hostile_dial(struct hostile_peer *p, const struct agents *a)
{
    struct timeval limit = {.tv_sec = 20};

    memset(p, 0, sizeof(*p));
    p->fd = open_socket(a->target);
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    assay_frame_decoder_init(&p->in, true);
}

void hostile_hang_up(struct hostile_peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    assay_msg_close(&p->got);
    assay_frame_decoder_close(&p->in);
}

bool hostile_send(struct hostile_peer *p, const void *data, size_t n)
{
    return send(p->fd, data, n, MSG_NOSIGNAL) == (ssize_t)n;
}

bool hostile_say(struct hostile_peer *p, struct assay_msg m,
                 const void *payload, uint32_t n)
{
    struct assay_buf out;
    bool sent;

    m.payload_bytes = n;
    assay_buf_init(&out);
    assert_int_equal(assay_msg_frame(&out, &m, false, p->sequence++, NULL), 0);
    assert_int_equal(assay_buf_append(&out, payload, n), 0);
    sent = hostile_send(p, out.data, out.len);
    assay_buf_close(&out);
    return sent;
}

bool hostile_header(struct hostile_peer *p, const void *header, uint32_t n)
{
    uint8_t prefix[ASSAY_FRAME_PREFIX];

    assay_frame_prefix(prefix, false, p->sequence++, header, n, 0);
    return hostile_send(p, prefix, sizeof(prefix)) &&
           hostile_send(p, header, n);
}

int hostile_hear(struct hostile_peer *p)
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

void hostile_until(struct hostile_peer *p, enum assay_msg_type type)
{
    int got;

    while ((got = hostile_hear(p)) != (int)type) {
        if (got == 0 || got == ASSAY_MSG_ERROR)
            fail_msg("%s expected, found %s '%s'", assay_msg_name(type),
                     assay_msg_name((enum assay_msg_type)got), p->sentence);
    }
}

/* ---- messages --------------------------------------------------------------- */

struct assay_msg hostile_plain(enum assay_msg_type type)
{
    return (struct assay_msg){.type = type};
}

struct assay_msg hostile_number(enum assay_msg_type type, uint64_t number)
{
    return (struct assay_msg){.type = type, .u.number = number};
}

struct assay_msg hostile_blob(enum assay_msg_type type, const uint8_t *sha,
                              uint64_t total, uint64_t offset)
{
    struct assay_msg m = {.type = type};

    memcpy(m.u.blob.sha256, sha, ASSAY_SHA256_LEN);
    m.u.blob.total = total;
    m.u.blob.offset = offset;
    return m;
}

struct assay_msg hostile_tensor(uint32_t index, uint64_t total, uint64_t offset)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_TENSOR};

    m.u.run_tensor = (struct assay_msg_run_tensor){index, total, offset};
    return m;
}

struct assay_msg hostile_start(uint32_t run, uint64_t credit)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_START};

    m.u.run_start = (struct assay_msg_run_start){
        .run = run, .cpumask = ASSAY_CPU_ALL, .credit = credit};
    return m;
}

/* ---- slices ------------------------------------------------------------------ */

void hostile_text_of(struct hostile_text *t, const struct assay_slice *s)
{
    struct assay_err err = {0};

    assay_buf_init(&t->text);
    if (assay_slice_encode(s, &t->text, &err) < 0)
        fail_msg("%s", err.text);
    assay_sha256(t->text.data, t->text.len, t->identity);
}

struct assay_slice *hostile_copies(int64_t n)
{
    struct assay_slice *s = slices_new();
    uint32_t in = 0, a = 1;

    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, &n);
    slices_tensor(s, "a", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &n);
    slices_tensor(s, "b", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &n);
    slices_layer(s, "one", ASSAY_OP_UNARY, 1, &in, 1);
    slices_layer(s, "two", ASSAY_OP_UNARY, 1, &a, 2);
    return s;
}
