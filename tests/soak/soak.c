/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs for a long time against one agent, over TCP on the loopback, with
 * cancels, cuts, resets, killed workers and stalls at random places. Every
 * layer that comes is compared with what the local engine computes of the same
 * input; a layer that is lost, comes twice or comes out of order is a failure.
 * At the end the agent must have what it had after the first hundred runs.
 *
 *   soak [--runs N] [--seconds S] [--seed X] ASSAYD
 *
 * Ends with a line of figures and "N passed, N failed, N skipped".
 *
 * links: tests/soak/stall.c tests/support/daemon.c tests/support/proc.c
 * links: tests/support/slices.c tests/support/hostile.c
 * links: host-tools/client.c host-tools/client_load.c
 * links: host-tools/client_self_test.c
 * links: host-tools/boards.c host-tools/client_tls.c host-tools/messages.c
 * links: host-tools/private_write.c host-tools/session_cache.c
 * links: host-tools/tls_files.c host-tools/user_dir.c
 * links: host-tools/client_run.c host-tools/local.c host-tools/local_self_test.c host-tools/progress.c
 * links: lib/net/ proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lcmocka -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "host-tools/client.h"
#include "kernels/cpu.h"
#include "lib/net/conn_plain.h"
#include "tests/soak/soak.h"
#include "tests/support/daemon.h"
#include "tests/support/proc.h"
#include "tests/support/hostile.h"

#define LAYERS 8
#define BYTES 300000u /* of a tensor: five tiles, the last one cut */
#define WARM 100      /* runs before the first look */
#define SLACK (512u << 10)

enum act { WHOLE, CANCEL, KILL, CUT, RESET, STALL, N_ACTS };
static const char *const act_names[N_ACTS] = {"whole", "cancelled", "killed",
                                              "cut",   "reset",     "stalled"};

struct soak {
    struct agents agent;
    struct assay_slice *slice;
    struct assay_backend *local, *board_backend;
    volatile int interrupted;
    int8_t input[BYTES];
    uint8_t want[LAYERS][BYTES];
    /* Of the run that goes on. */
    enum act act;
    uint32_t at; /* layer at whose beginning it happens */
    uint32_t next;
    /* Counted. */
    unsigned done[N_ACTS];
    uint64_t layers, wrong, lost, doubled, refused;
};

/* ---- random numbers, the same for a seed ------------------------------------ */

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 16) % below;
}

static int die(const char *what, const struct assay_err *err)
{
    fprintf(stderr, "soak: %s%s%s\n", what, err ? ": " : "",
            err ? err->text : "");
    exit(99);
}

/* ---- what the agent has ------------------------------------------------------ */

struct having {
    uint64_t resident, used;
    unsigned descriptors, children;
};

/* Without clients, when the agent has heard that they are gone. */
static struct having look(const struct soak *s)
{
    struct timespec pause = {.tv_nsec = 20000000};
    struct having h = {0}, before;
    struct hostile_peer p;

    for (int i = 0; i < 50; i++) {
        before = h;
        nanosleep(&pause, NULL);
        h.descriptors = daemon_descriptors(&s->agent);
        h.children = proc_first_child(s->agent.pid) != 0;
        if (i > 5 && h.descriptors == before.descriptors && h.children == 0)
            break;
    }
    soak_hello(&p, &s->agent);
    hostile_say(&p, hostile_plain(ASSAY_MSG_STATUS), NULL, 0);
    hostile_until(&p, ASSAY_MSG_STATUS_REPLY);
    h.used = p.got.u.info.memory_used;
    hostile_hang_up(&p);
    h.resident = daemon_memory(s->agent.pid, "VmRSS");
    return h;
}

/* ---- results ------------------------------------------------------------------- */

static void disturb(struct soak *s)
{
    struct assay_client *c = (struct assay_client *)s->board_backend;
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    uv_os_fd_t fd = -1;
    pid_t worker;

    uv_fileno((uv_handle_t *)&((struct assay_plain *)c->conn)->in.stream, &fd);
    switch (s->act) {
    case CANCEL: s->interrupted = 1; break;
    case CUT: shutdown(fd, SHUT_RDWR); break;
    case RESET: (void)!connect(fd, &nowhere, sizeof(nowhere)); break;
    case KILL:
        worker = proc_first_child(s->agent.pid);
        if (worker > 0)
            kill(worker, draw(2) ? SIGKILL : SIGSEGV);
        break;
    default: break;
    }
}

static void on_begin(void *self, uint32_t layer, const char *kernel)
{
    struct soak *s = self;

    (void)kernel;
    if (s->act != WHOLE && layer == s->at)
        disturb(s);
}

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct soak *s = self;

    (void)kernel, (void)time_us;
    s->layers++;
    if (layer < s->next)
        s->doubled++;
    else if (layer > s->next)
        s->lost += layer - s->next;
    s->next = layer + 1;
    if (bytes != BYTES || layer >= LAYERS ||
        memcmp(data, s->want[layer], BYTES) != 0)
        s->wrong++;
    return 0;
}

static int keep(void *self, uint32_t layer, const void *data, size_t bytes,
                const char *kernel, uint64_t time_us)
{
    struct soak *s = self;

    (void)kernel, (void)time_us;
    if (layer >= LAYERS || bytes != BYTES)
        die("the local engine", NULL);
    memcpy(s->want[layer], data, bytes);
    return 0;
}

static int none_missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct soak *s = self;

    (void)layer, (void)tensor;
    s->lost++;
    return 0;
}

/* ---- runs ----------------------------------------------------------------------- */

static struct assay_slice *make_slice(void)
{
    static const int64_t dims[1] = {BYTES}, lo = -128, hi = 127;
    static int64_t steps[LAYERS];
    static char names[LAYERS + 1][8];
    struct assay_slice *s = slices_new();

    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    for (uint32_t i = 0; i < LAYERS; i++) {
        snprintf(names[i], sizeof(names[i]), "t%u", i);
        slices_tensor(s, names[i], ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    }
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t l = slices_layer(s, names[i], ASSAY_OP_UNARY, 1, &i, i + 1);
        struct assay_program *p = &s->layers[l].out_program;

        steps[i] = (int64_t)i * 3 - 7;
        slices_step(p, ASSAY_STEP_ADD_ZP, 1, &steps[i], NULL);
        slices_step(p, ASSAY_STEP_CLAMP, 1, &lo, &hi);
    }
    return s;
}

static void connect_board(struct soak *s)
{
    struct assay_client_options options = {
        .target = s->agent.target,
        .timeout_ms = 20000,
        .owner = "soak@test 1",
        .force = true,
        .interrupted = &s->interrupted,
    };
    struct assay_err err = {0};

    s->interrupted = 0;
    if (assay_client_open(&s->board_backend, &options, &err) < 0)
        die("connect", &err);
    if (s->board_backend->vt->load(s->board_backend, s->slice, &err) < 0)
        die("load", &err);
}

static void hang_up(struct soak *s)
{
    if (s->board_backend != NULL)
        s->board_backend->vt->close(s->board_backend);
    s->board_backend = NULL;
}

static void run_local(struct soak *s)
{
    struct assay_run_tensor given[1] = {{0, s->input, BYTES}};
    struct assay_backend_run request = {.given = given, .n_given = 1};
    struct assay_results results = {
        .self = s, .layer = keep, .missing = none_missing};
    struct assay_err err = {0};

    for (size_t i = 0; i < BYTES; i += 4) {
        uint32_t r = draw(UINT32_MAX);

        memcpy(s->input + i, &r, BYTES - i < 4 ? BYTES - i : 4);
    }
    if (s->local->vt->run(s->local, &request, &results, &err) < 0)
        die("local run", &err);
}

/* What this act may end with. */
static bool is_expected(enum act act, int rc, uint32_t layers)
{
    /* What comes too late to matter leaves a whole run. */
    if (rc == 0)
        return layers == LAYERS;
    return (act == CANCEL && rc == ASSAY_ECANCELLED) ||
           (act == KILL && (rc == ASSAY_ECRASH || rc == ASSAY_EKILLED)) ||
           ((act == CUT || act == RESET) && rc == ASSAY_ELOST);
}

static void run_board(struct soak *s)
{
    struct assay_run_tensor given[1] = {{0, s->input, BYTES}};
    struct assay_backend_run request = {
        .given = given, .n_given = 1, .cpumask = ASSAY_CPU_ALL};
    struct assay_results results = {.self = s,
                                    .layer = on_layer,
                                    .missing = none_missing,
                                    .begin = on_begin};
    struct assay_err err = {0};
    int rc;

    if (s->board_backend == NULL)
        connect_board(s);
    s->next = 0;
    s->at = draw(LAYERS);
    rc = s->board_backend->vt->run(s->board_backend, &request, &results, &err);
    s->interrupted = 0;
    if (!is_expected(s->act, rc, s->next)) {
        fprintf(stderr, "soak: %s: code %d after %u layers: %s\n",
                act_names[s->act], rc, s->next, err.text);
        s->refused++;
    }
    if (s->act == CUT || s->act == RESET || draw(16) == 0)
        hang_up(s);
}

static enum act choose(void)
{
    uint32_t r = draw(100);

    return r < 50   ? WHOLE
           : r < 65 ? CANCEL
           : r < 77 ? KILL
           : r < 86 ? CUT
           : r < 95 ? RESET
                    : STALL;
}

static void one(struct soak *s)
{
    s->act = choose();
    s->done[s->act]++;
    if (s->act == STALL) {
        hang_up(s);
        if (!soak_stall(&s->agent, s->slice, BYTES, draw(3) == 0))
            s->refused++;
        return;
    }
    run_local(s);
    run_board(s);
}

/* ---- figures ---------------------------------------------------------------------- */

static unsigned passed, failed;

static void expect(bool good, const char *what)
{
    printf("%s %s\n", good ? "ok" : "FAIL", what);
    *(good ? &passed : &failed) += 1;
}

static void judge(struct soak *s, const struct having *a,
                  const struct having *b, unsigned runs, double took)
{
    printf("runs %u in %.1f s:", runs, took);
    for (int i = 0; i < N_ACTS; i++)
        printf(" %s %u", act_names[i], s->done[i]);
    printf("\nlayers %llu, wrong %llu, lost %llu, doubled %llu\n",
           (unsigned long long)s->layers, (unsigned long long)s->wrong,
           (unsigned long long)s->lost, (unsigned long long)s->doubled);
    printf("resident %llu to %llu kB, budget %llu to %llu bytes, descriptors "
           "%u to %u, children %u to %u\n",
           (unsigned long long)a->resident >> 10,
           (unsigned long long)b->resident >> 10, (unsigned long long)a->used,
           (unsigned long long)b->used, a->descriptors, b->descriptors,
           a->children, b->children);
    expect(s->layers > runs, "layers came");
    expect(s->wrong == 0, "every layer is what the local engine computes");
    expect(s->lost == 0, "no layer was lost");
    expect(s->doubled == 0, "no layer came twice");
    expect(s->refused == 0, "every run ended as it had to");
    expect(b->resident <= a->resident + SLACK, "resident memory did not grow");
    expect(b->used == a->used, "the budget is what it was");
    expect(b->descriptors == a->descriptors, "descriptors are what they were");
    expect(b->children == 0, "no worker is left");
    expect(daemon_stop(&s->agent) == 0, "the agent ended with 0");
}

int main(int argc, char **argv)
{
    static struct soak s;
    struct having first = {0}, last;
    struct assay_err err = {0};
    unsigned runs = 2000, seconds = 0, n = 0;
    double begun;
    int i = 1;

    state = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        unsigned long v = strtoul(argv[i + 1], NULL, 10);

        if (strcmp(argv[i], "--runs") == 0)
            runs = (unsigned)v;
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = (unsigned)v;
        else if (strcmp(argv[i], "--seed") == 0)
            state = v;
    }
    if (i + 1 != argc)
        die("usage: soak [--runs N] [--seconds S] [--seed X] ASSAYD", NULL);
    signal(SIGPIPE, SIG_IGN);
    daemon_start(&s.agent, argv[i], "64M");
    s.slice = make_slice();
    if (assay_local_open(&s.local, 0, &err) < 0 ||
        s.local->vt->load(s.local, s.slice, &err) < 0)
        die("local", &err);
    begun = daemon_now_ms() / 1e3;
    while (n < runs &&
           (seconds == 0 || daemon_now_ms() / 1e3 - begun < seconds)) {
        one(&s);
        if (++n == WARM) {
            hang_up(&s);
            first = look(&s);
        }
    }
    hang_up(&s);
    last = look(&s);
    judge(&s, &first, &last, n, daemon_now_ms() / 1e3 - begun);
    s.local->vt->close(s.local);
    assay_slice_free(s.slice);
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
