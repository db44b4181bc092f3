/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the agent for tests of the protocol: sends the messages that
 * its arguments name, and prints a line for each that comes back.
 *
 *   peer SOCKET WORD...      SOCKET: a path, or 127.0.0.1:PORT
 *
 *   hello acquire force release status ping load start   send that message
 *   hello:ID    a hello with that build id; range:LO-HI: with these protocols
 *   self-test   likewise; of no memory
 *   owner=TEXT ttl=MS        of the acquire or force behind it
 *   put=TEXT    a constant of these bytes
 *   part=N      N bytes of a constant that has 1000 more
 *   half        half of a ping
 *   wait=MS     do nothing for so long
 *   reset       end the connection by a reset
 *   shut        say that nothing more is sent
 *   reply       wait for one message (10 s) and print its name and text
 *   hold        say "holding" and read until the agent hangs up
 *   cut         send half of a ping and hang up
 *
 * Exit 0; 3 when the agent hung up in a wait; 1 on anything else.
 *
 * links: proto/ gen/proto/assay.pb-c.c lib/core/ kernels/requant.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto -lm
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "kernels/cpu.h"
#include "proto/codec.h"
#include "proto/version.h"

struct peer {
    int fd;
    const char *owner;
    uint64_t ttl_ms;
    uint32_t sequence;
    struct assay_frame_decoder in;
};

static int die(const char *what, const struct assay_err *err)
{
    fprintf(stderr, "peer: %s%s%s\n", what, err && err->text[0] ? ": " : "",
            err ? err->text : "");
    return 1;
}

static int send_all(struct peer *p, const void *data, size_t n)
{
    const char *at = data;

    while (n) {
        ssize_t k = send(p->fd, at, n, MSG_NOSIGNAL);

        if (k <= 0)
            return die("the agent hung up", NULL), 3;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

static int send_msg(struct peer *p, const struct assay_msg *m, bool half)
{
    struct assay_err err = {0};
    struct assay_buf buf;
    int rc;

    assay_buf_init(&buf);
    if (assay_msg_frame(&buf, m, false, p->sequence++, &err) < 0)
        rc = die("cannot encode", &err);
    else
        rc = send_all(p, buf.data, half ? buf.len / 2 : buf.len);
    assay_buf_close(&buf);
    return rc;
}

/* 1: *m is filled; 0: the agent hung up; -1: failed, told. */
static int receive(struct peer *p, struct assay_msg *m)
{
    struct assay_err err = {0};
    struct assay_frame frame;
    char bytes[4096];

    for (;;) {
        int rc = assay_frame_next(&p->in, &frame, &err);
        ssize_t n;

        if (rc == 1)
            rc = assay_msg_decode(m, &frame, &err) == 0 ? 1 : -1;
        if (rc < 0)
            return die("what came is no message", &err), -1;
        if (rc == 1)
            return 1;
        n = recv(p->fd, bytes, sizeof(bytes), 0);
        if (n == 0)
            return 0;
        if (n < 0)
            return die("no answer in 10 s", NULL), -1;
        if (assay_frame_push(&p->in, bytes, (size_t)n, &err) < 0)
            return die("what came is no frame", &err), -1;
    }
}

static int reply(struct peer *p)
{
    struct assay_msg m;
    int rc = receive(p, &m);

    if (rc == 0)
        return puts("hung up"), 3;
    if (rc < 0)
        return 1;
    printf("%s", assay_msg_name(m.type));
    if (m.type == ASSAY_MSG_ERROR)
        printf(" %s %s", assay_status_name(m.u.error.code), m.u.error.text);
    puts("");
    fflush(stdout);
    assay_msg_close(&m);
    return 0;
}

static int hold(struct peer *p)
{
    struct timeval forever = {.tv_sec = 120};
    char c;

    puts("holding");
    fflush(stdout);
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
    while (recv(p->fd, &c, 1, 0) > 0)
        ;
    return 3;
}

/* A constant of n bytes, of which `sent` are sent. */
static int put(struct peer *p, const void *data, size_t n, size_t sent)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_PUT,
                          .u.blob.total = n,
                          .payload_bytes = (uint32_t)sent};
    int rc;

    assay_sha256(data, n, m.u.blob.sha256);
    rc = send_msg(p, &m, false);
    return rc == 0 ? send_all(p, data, sent) : rc;
}

static int part(struct peer *p, size_t sent)
{
    static const char zeros[65536];

    if (sent + 1000 > sizeof(zeros))
        return die("a part is too large", NULL);
    return put(p, zeros, sent + 1000, sent);
}

static void wait_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* Closes without a word of farewell; the kernel sends RST. */
static void reset(struct peer *p)
{
    const struct linger now = {.l_onoff = 1};

    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* Words with a value: 0 or an exit code; -1: it is none of them. */
static int act_value(struct peer *p, const char *word)
{
    const char *value = strchr(word, '=');

    if (value == NULL)
        return -1;
    value++;
    if (strncmp(word, "owner=", 6) == 0)
        p->owner = value;
    else if (strncmp(word, "ttl=", 4) == 0)
        p->ttl_ms = strtoull(value, NULL, 10);
    else if (strncmp(word, "wait=", 5) == 0)
        wait_ms(strtol(value, NULL, 10));
    else if (strncmp(word, "put=", 4) == 0)
        return put(p, value, strlen(value), strlen(value));
    else if (strncmp(word, "part=", 5) == 0)
        return part(p, strtoul(value, NULL, 10));
    else
        return -1;
    return 0;
}

static int act(struct peer *p, const char *word)
{
    static const uint8_t digest[ASSAY_SHA256_LEN] = {7};
    struct assay_msg m = {.type = ASSAY_MSG_PING, .u.number = 7};
    unsigned lo, hi;
    int rc = act_value(p, word);

    if (rc >= 0)
        return rc;
    if (strcmp(word, "reply") == 0)
        return reply(p);
    if (strcmp(word, "hold") == 0)
        return hold(p);
    if (strcmp(word, "cut") == 0 || strcmp(word, "half") == 0)
        return send_msg(p, &m, true);
    if (strcmp(word, "reset") == 0)
        return reset(p), 0;
    if (strcmp(word, "shut") == 0)
        return shutdown(p->fd, SHUT_WR) < 0;
    if (strcmp(word, "hello") == 0) {
        m.type = ASSAY_MSG_HELLO;
        m.u.hello = (struct assay_msg_hello){1, 1, ASSAY_VERSION};
    } else if (strncmp(word, "hello:", 6) == 0) {
        m.type = ASSAY_MSG_HELLO;
        m.u.hello = (struct assay_msg_hello){1, 1, word + 6};
    } else if (strcmp(word, "future") == 0) {
        m.type = ASSAY_MSG_HELLO;
        m.u.hello = (struct assay_msg_hello){900, 901, ASSAY_VERSION};
    } else if (sscanf(word, "range:%u-%u", &lo, &hi) == 2) {
        m.type = ASSAY_MSG_HELLO;
        m.u.hello = (struct assay_msg_hello){lo, hi, ASSAY_VERSION};
    } else if (strcmp(word, "acquire") == 0 || strcmp(word, "force") == 0) {
        m.type = ASSAY_MSG_LEASE_ACQUIRE;
        m.u.lease = (struct assay_msg_lease){
            .owner = p->owner, .ttl_ms = p->ttl_ms, .force = word[0] == 'f'};
    } else if (strcmp(word, "release") == 0) {
        m.type = ASSAY_MSG_LEASE_RELEASE;
    } else if (strcmp(word, "self-test") == 0) {
        m.type = ASSAY_MSG_SELF_TEST;
    } else if (strcmp(word, "status") == 0) {
        m.type = ASSAY_MSG_STATUS;
    } else if (strcmp(word, "load") == 0) {
        m.type = ASSAY_MSG_SLICE_LOAD;
        memcpy(m.u.blob.sha256, digest, sizeof(digest));
    } else if (strcmp(word, "start") == 0) {
        m.type = ASSAY_MSG_RUN_START;
        m.u.run_start = (struct assay_msg_run_start){
            .run = 1, .cpumask = ASSAY_CPU_ALL, .credit = 1 << 20};
    } else if (strcmp(word, "ping") != 0) {
        return die("a word is not known", NULL);
    }
    return send_msg(p, &m, false);
}

static int connect_to(const char *where)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET};
    const char *port = strrchr(where, ':');
    bool is_tcp = port != NULL && strchr(where, '/') == NULL;
    int fd = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0), rc = -1;

    if (fd < 0)
        return -1;
    if (is_tcp) {
        tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        tcp.sin_port = htons((uint16_t)atoi(port + 1));
        rc = connect(fd, (struct sockaddr *)&tcp, sizeof(tcp));
    } else if (strlen(where) < sizeof(local.sun_path)) {
        memcpy(local.sun_path, where, strlen(where) + 1);
        rc = connect(fd, (struct sockaddr *)&local, sizeof(local));
    }
    return rc < 0 ? -1 : fd;
}

int main(int argc, char **argv)
{
    struct timeval limit = {.tv_sec = 10};
    struct peer p = {.owner = "peer@test 1", .ttl_ms = 60000};
    int rc = 0;

    if (argc < 3)
        return die("usage: peer SOCKET WORD...", NULL);
    p.fd = connect_to(argv[1]);
    if (p.fd < 0)
        return die("cannot connect", NULL);
    setsockopt(p.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    assay_frame_decoder_init(&p.in, true);
    for (int k = 2; k < argc && rc == 0; k++)
        rc = act(&p, argv[k]);
    assay_frame_decoder_close(&p.in);
    close(p.fd);
    return rc;
}
