/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of mbedTLS's own speed a connection of ours keeps: records written
 * into memory by mbedtls_ssl_write(), and the same suite through conn_tls over
 * loopback TCP, sender and receiver in processes of their own. One run, best
 * of five each. The ratio is of seconds of CPU, of the slower end, which is
 * what a machine with a core for each end shows as time; the clock's is
 * printed too, and is right where nothing else runs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/net/tls_context.h"
#include "tests/support/certs.h"
#include "tests/support/tls_ends.h"

#define BODY (64u * 1024u)
#define TOTAL (64u * 1024u * 1024u)
#define ROUNDS 5

static struct assay_identity board, anna;
static uint8_t body[BODY];

static double seconds(void)
{
    return (double)uv_hrtime() / 1e9;
}

static double seconds_of(const struct rusage *r)
{
    return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
           (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
}

static double used(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return seconds_of(&r);
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "tls_speed: %s\n", what);
    exit(2);
}

static struct assay_tls_context *context(enum assay_tls_role role)
{
    const struct tls_wish wish = {.identity =
                                      role == ASSAY_TLS_CLIENT ? &anna : &board,
                                  .accept_any = true};

    return tls_ends_context(&wish, role, NULL);
}

/* ---- mbedTLS alone -------------------------------------------------------- */

struct pipe {
    uint8_t data[32768];
    size_t len, at;
};

static struct pipe ways[2]; /* to the server, to the client */
static bool sink;           /* what is written is only copied */

static int mem_write(struct pipe *p, const unsigned char *data, size_t n)
{
    if (sink)
        p->len = p->at = 0;
    if (sizeof(p->data) - p->len < n)
        return MBEDTLS_ERR_SSL_WANT_WRITE;
    memcpy(p->data + p->len, data, n);
    p->len += n;
    return (int)n;
}

static int mem_read(struct pipe *p, unsigned char *data, size_t n)
{
    if (p->len == p->at)
        return MBEDTLS_ERR_SSL_WANT_READ;
    if (n > p->len - p->at)
        n = p->len - p->at;
    memcpy(data, p->data + p->at, n);
    p->at += n;
    if (p->at == p->len)
        p->at = p->len = 0;
    return (int)n;
}

static int client_send(void *self, const unsigned char *data, size_t n)
{
    (void)self;
    return mem_write(&ways[0], data, n);
}

static int client_recv(void *self, unsigned char *data, size_t n)
{
    (void)self;
    return mem_read(&ways[1], data, n);
}

static int server_send(void *self, const unsigned char *data, size_t n)
{
    (void)self;
    return mem_write(&ways[1], data, n);
}

static int server_recv(void *self, unsigned char *data, size_t n)
{
    (void)self;
    return mem_read(&ways[0], data, n);
}

/* The seconds and the seconds of CPU that TOTAL bytes took. */
static void alone(double *wall, double *cpu, char suite[64])
{
    struct assay_tls_context *c = context(ASSAY_TLS_CLIENT);
    struct assay_tls_context *s = context(ASSAY_TLS_SERVER);
    mbedtls_ssl_context client, server;
    int a = -1, b = -1;

    mbedtls_ssl_init(&client);
    mbedtls_ssl_init(&server);
    must(mbedtls_ssl_setup(&client, &c->conf) == 0, "client");
    must(mbedtls_ssl_setup(&server, &s->conf) == 0, "server");
    mbedtls_ssl_set_bio(&client, NULL, client_send, client_recv, NULL);
    mbedtls_ssl_set_bio(&server, NULL, server_send, server_recv, NULL);
    for (int i = 0; i < 100 && (a != 0 || b != 0); i++) {
        a = a != 0 ? mbedtls_ssl_handshake(&client) : 0;
        b = b != 0 ? mbedtls_ssl_handshake(&server) : 0;
    }
    must(a == 0 && b == 0, "handshake");
    snprintf(suite, 64, "%s", mbedtls_ssl_get_ciphersuite(&client));
    sink = true;
    *wall = seconds();
    *cpu = used();
    for (size_t done = 0; done < TOTAL;) {
        int n =
            mbedtls_ssl_write(&client, body + done % BODY, BODY - done % BODY);

        must(n > 0, "write");
        done += (size_t)n;
    }
    *wall = seconds() - *wall;
    *cpu = used() - *cpu;
    sink = false;
    memset(ways, 0, sizeof(ways));
    mbedtls_ssl_free(&client);
    mbedtls_ssl_free(&server);
    assay_tls_context_free(c);
    assay_tls_context_free(s);
}

/* ---- a connection of ours ------------------------------------------------- */

struct end {
    uv_loop_t loop;
    struct assay_conn *conn;
    size_t given, back, got;
    double begun, cpu;
    bool over;
};

static void give_more(struct end *e);

static void on_back(void *self)
{
    struct end *e = self;

    e->back += BODY;
}

static void give_more(struct end *e)
{
    while (e->given < TOTAL && !assay_conn_is_full(e->conn)) {
        must(assay_conn_send(e->conn, "head", 4, body, BODY, on_back, e) == 0,
             "send");
        e->given += BODY;
    }
}

static void on_data(void *self, const uint8_t *data, size_t n)
{
    struct end *e = self;

    (void)data;
    e->got += n;
    if (e->got == TOTAL + TOTAL / BODY * 4)
        must(assay_conn_send(e->conn, "!", 1, NULL, 0, NULL, NULL) == 0,
             "answer");
}

static void on_answer(void *self, const uint8_t *data, size_t n)
{
    struct end *e = self;

    (void)data;
    (void)n;
    e->over = true;
}

static void on_ended(void *self, int status)
{
    struct end *e = self;

    (void)status;
    e->over = true;
}

static void on_drained(void *self)
{
    struct end *e = self;

    if (e->begun > 0)
        give_more(e);
}

static const struct assay_conn_events receiver = {on_data, on_ended,
                                                  on_drained};
static const struct assay_conn_events sender = {on_answer, on_ended,
                                                on_drained};

static void on_server(void *self, struct assay_conn *conn,
                      const struct assay_tls_peer *peer,
                      const struct assay_err *err)
{
    struct end *e = self;

    (void)peer;
    must(err == NULL, "server's handshake");
    e->conn = conn;
    must(assay_conn_start(conn, &receiver, e) == 0, "start");
}

static void on_client(void *self, struct assay_conn *conn,
                      const struct assay_tls_peer *peer,
                      const struct assay_err *err)
{
    struct end *e = self;

    (void)peer;
    must(err == NULL, "client's handshake");
    e->conn = conn;
    must(assay_conn_start(conn, &sender, e) == 0, "start");
    e->begun = seconds();
    e->cpu = used();
    give_more(e);
}

static void one_end(struct end *e, int fd, enum assay_tls_role role)
{
    struct assay_tls_context *ctx = context(role);
    struct assay_conn *bare;

    memset(e, 0, sizeof(*e));
    uv_loop_init(&e->loop);
    must(assay_conn_from_fds(&bare, &e->loop, fd, fd, NULL) == 0, "conn");
    must(assay_tls_start(&e->conn, ctx, &e->loop, bare, "bench",
                         role == ASSAY_TLS_CLIENT ? on_client : on_server, e,
                         NULL) == 0,
         "tls");
    while (!e->over)
        uv_run(&e->loop, UV_RUN_ONCE);
    if (role == ASSAY_TLS_CLIENT) {
        must(e->back == TOTAL, "bodies are missing");
        e->begun = seconds() - e->begun;
        e->cpu = used() - e->cpu;
    }
    assay_conn_close(e->conn, NULL, NULL);
    uv_run(&e->loop, UV_RUN_DEFAULT);
    uv_loop_close(&e->loop);
    assay_tls_context_free(ctx);
}

/* Two sockets of one loopback TCP connection. */
static void tcp_pair(int fd[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int l = socket(AF_INET, SOCK_STREAM, 0);

    must(bind(l, (struct sockaddr *)&at, sizeof(at)) == 0 &&
             listen(l, 1) == 0 &&
             getsockname(l, (struct sockaddr *)&at, &len) == 0,
         "listen");
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(fd[0], (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
    fd[1] = accept(l, NULL, NULL);
    must(fd[1] >= 0, "accept");
    close(l);
}

/* cpu: of the sender, of the receiver with its handshake. */
static void ours(double *wall, double cpu[2])
{
    static struct end e;
    struct rusage r;
    int fd[2], status;
    pid_t pid;

    tcp_pair(fd);
    pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        close(fd[0]);
        one_end(&e, fd[1], ASSAY_TLS_SERVER);
        exit(0);
    }
    close(fd[1]);
    one_end(&e, fd[0], ASSAY_TLS_CLIENT);
    *wall = e.begun;
    cpu[0] = e.cpu;
    must(wait4(pid, &status, 0, &r) == pid && status == 0, "receiver");
    cpu[1] = seconds_of(&r);
}

static void keep_best(double *best, double v)
{
    if (v < *best)
        *best = v;
}

int main(void)
{
    double wall[2] = {1e9, 1e9}, cpu[3] = {1e9, 1e9, 1e9}, ratio;
    double w, c[2];
    char suite[64];

    signal(SIGPIPE, SIG_IGN);
    certs_make(&board, &(struct certs_wish){.name = "board"});
    certs_make(&anna, &(struct certs_wish){.name = "anna"});
    for (int i = 0; i < ROUNDS; i++) {
        alone(&w, &c[0], suite);
        keep_best(&wall[0], w);
        keep_best(&cpu[0], c[0]);
        ours(&w, c);
        keep_best(&wall[1], w);
        keep_best(&cpu[1], c[0]);
        keep_best(&cpu[2], c[1]);
    }
    ratio = cpu[0] / (cpu[1] > cpu[2] ? cpu[1] : cpu[2]);
    printf("%s, %u MiB\n", suite, TOTAL >> 20);
    printf("mbedtls_ssl_write into memory  %7.1f MB/s  CPU %.3f s\n",
           TOTAL / wall[0] / 1e6, cpu[0]);
    printf("conn_tls over loopback         %7.1f MB/s  CPU %.3f s sender, "
           "%.3f s receiver\n",
           TOTAL / wall[1] / 1e6, cpu[1], cpu[2]);
    printf("ratio by CPU %.2f (at least 0.80 wanted), by the clock %.2f\n",
           ratio, wall[0] / wall[1]);
    assay_identity_close(&board);
    assay_identity_close(&anna);
    return ratio < 0.8;
}
