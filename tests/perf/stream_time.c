/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a board sends, over loopback TCP: a view of 64 MiB that only copies,
 * captured in full and as differing (all is equal), against a socket that is
 * written and read in pieces of 64 KiB. Prints MB/s, best of rounds that take
 * turns. Exit 1 where `full` is below half of the plain socket.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "kernels/cpu.h"
#include "tests/support/agents.h"
#include "tests/support/slices.h"

#define BYTES ((size_t)64 << 20)
#define PIECE 65536
#define ROUNDS 15
#define LIMIT 0.5

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- a plain socket ---------------------------------------------------------- */

static void send_plain(const struct sockaddr_in *to)
{
    static char piece[PIECE];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t left = BYTES;

    if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
        _exit(1);
    while (left > 0) {
        ssize_t n = write(fd, piece, left < PIECE ? left : PIECE);

        if (n <= 0)
            _exit(1);
        left -= (size_t)n;
    }
    _exit(0);
}

/* Seconds from the connection's first byte to its last. */
static double plain(void)
{
    static char piece[PIECE];
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd, status;
    size_t got = 0;
    double start;
    pid_t pid;

    if (listener < 0 || bind(listener, (struct sockaddr *)&at, len) < 0 ||
        listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &len) < 0)
        die("listen");
    start = now();
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        send_plain(&at);
    fd = accept(listener, NULL, NULL);
    if (pid < 0 || fd < 0)
        die("accept");
    while (got < BYTES) {
        ssize_t n = read(fd, piece, PIECE);

        if (n <= 0)
            die("read");
        got += (size_t)n;
    }
    start = now() - start;
    close(fd);
    close(listener);
    waitpid(pid, &status, 0);
    return start;
}

/* ---- a run ------------------------------------------------------------------- */

struct seen {
    double begun, ended;
    double compute; /* seconds, on the board */
};

static void on_begin(void *self, uint32_t layer, const char *kernel)
{
    struct seen *s = self;

    (void)kernel;
    (void)layer;
    s->begun = now();
}

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct seen *s = self;

    (void)layer;
    (void)data;
    (void)kernel;
    s->ended = now();
    s->compute = (double)time_us * 1e-6;
    return bytes == BYTES ? 0 : ASSAY_EPROTOCOL;
}

/* Seconds from the layer's begin to its result. */
static double captured(struct assay_backend *b, const void *x,
                       enum assay_capture capture, double *compute)
{
    struct assay_run_tensor given = {0, x, BYTES}, expect = {1, x, BYTES};
    struct assay_backend_run run = {.cpumask = ASSAY_CPU_ALL,
                                    .given = &given,
                                    .n_given = 1,
                                    .capture = capture,
                                    .expect = &expect,
                                    .n_expect =
                                        capture == ASSAY_CAPTURE_FULL ? 0 : 1};
    struct seen seen = {0};
    struct assay_results results = {
        .self = &seen, .layer = on_layer, .begin = on_begin};
    struct assay_err err = {0};

    if (b->vt->run(b, &run, &results, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
    *compute = seen.compute;
    return seen.ended - seen.begun;
}

static struct assay_slice *copy_slice(void)
{
    const int64_t dims[1] = {(int64_t)BYTES};
    struct assay_slice *s = slices_new();
    uint32_t l;

    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    l = slices_layer(s, "copy", ASSAY_OP_VIEW, 1, (uint32_t[]){0}, 1);
    s->layers[l].p.view.rank = 1;
    s->layers[l].p.view.dims[0] = dims[0];
    s->layers[l].p.view.strides[0] = 1;
    return s;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

int main(void)
{
    struct assay_slice *s = copy_slice();
    struct assay_client_options options = {.timeout_ms = 30000,
                                           .owner = "bench 1"};
    double socket_s = 1e9, full = 1e9, differing = 1e9, mb;
    double without = 1e9, compute = 0;
    struct assay_backend *b = NULL;
    struct assay_err err = {0};
    unsigned char *x = malloc(BYTES);
    struct agents agent;
    char board[64];

    if (x == NULL)
        die("malloc");
    for (size_t i = 0; i < BYTES; i++)
        x[i] = (unsigned char)(i * 2654435761u >> 24);
    snprintf(board, sizeof(board), "stream-%d", (int)getpid());
    agents_start_tcp(&agent, board, UINT64_C(1) << 30);
    options.target = agent.target;
    if (assay_client_open(&b, &options, &err) < 0 ||
        b->vt->load(b, s, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (int i = 0; i < ROUNDS; i++) {
        double one;

        socket_s = least(socket_s, plain());
        one = captured(b, x, ASSAY_CAPTURE_FULL, &compute);
        full = least(full, one);
        without = least(without, one - compute);
        one = captured(b, x, ASSAY_CAPTURE_DIFFERING, &compute);
        differing = least(differing, one);
    }
    mb = (double)BYTES / 1e6;
    printf("plain socket %.0f MB/s, full %.0f MB/s (%.2f), with the copying "
           "itself %.0f MB/s (%.2f), differing %.0f MB/s\n",
           mb / socket_s, mb / without, socket_s / without, mb / full,
           socket_s / full, mb / differing);
    b->vt->close(b);
    agents_stop(&agent);
    assay_slice_free(s);
    free(x);
    return socket_s / without < LIMIT;
}
