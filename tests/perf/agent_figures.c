/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent costs: time from its start to its line, resident memory when
 * nothing happens, and while it streams 100 layers of 2 MiB within --memory
 * 16M. Each figure has a limit (docs/performance.md); one that is missed fails.
 *
 *   agent_figures [--stream] [--stripped FILE] ASSAYD
 *
 * --stream leaves the time out, for machines that are busy. FILE: the stripped
 * static agent, whose size is judged.
 *
 * links: tests/support/daemon.c tests/support/proc.c tests/support/slices.c
 * links: host-tools/client.c host-tools/client_load.c
 * links: host-tools/client_self_test.c
 * links: host-tools/boards.c host-tools/client_tls.c host-tools/messages.c
 * links: host-tools/private_write.c host-tools/session_cache.c
 * links: host-tools/tls_files.c host-tools/user_dir.c
 * links: host-tools/client_run.c lib/net/ proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/backend.h"
#include "kernels/cpu.h"
#include "tests/support/daemon.h"
#include "tests/support/proc.h"
#include "tests/support/slices.h"

#define MIB (UINT64_C(1) << 20)
#define STARTS 21
#define LAYERS 100u
#define BYTES (2u << 20)
#define BUDGET 16u       /* MiB */
#define OWN_LIMIT 8u     /* MiB beside the budget */
#define SIZE_LIMIT 2500u /* kB */
#define START_LIMIT 50.0 /* ms */

static unsigned passed, failed;

static void judge(bool good, const char *what, double found, double limit,
                  const char *unit)
{
    printf("%s %s: %.2f %s, limit %.0f\n", good ? "ok" : "FAIL", what, found,
           unit, limit);
    *(good ? &passed : &failed) += 1;
}

static void die(const char *what, const struct assay_err *err)
{
    fprintf(stderr, "agent_figures: %s: %s\n", what, err ? err->text : "");
    exit(99);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure_start(const char *program)
{
    double ms[STARTS];
    struct agents a;

    for (int i = 0; i < STARTS; i++) {
        ms[i] = daemon_start(&a, program, "64M");
        if (daemon_stop(&a) != 0)
            die("the agent's end", NULL);
    }
    qsort(ms, STARTS, sizeof(ms[0]), by_value);
    judge(ms[STARTS / 2] <= START_LIMIT, "start to listening, median of 21",
          ms[STARTS / 2], START_LIMIT, "ms");
}

struct stream {
    struct agents agent;
    uint32_t layers;
    bool right;
    uint64_t agent_most, both_most;
};

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct stream *s = self;
    const int8_t *p = data;
    uint64_t both = daemon_share(s->agent.pid) +
                    daemon_share(proc_first_child(s->agent.pid));

    (void)kernel, (void)time_us;
    s->right = s->right && layer == s->layers++ && bytes == BYTES;
    for (size_t i = 0; i < bytes && s->right; i += 97)
        s->right = p[i] == (int8_t)(i % 20) + 1 + (int)layer;
    if (both > s->both_most)
        s->both_most = both;
    return 0;
}

static int on_missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct stream *s = self;

    (void)layer, (void)tensor;
    s->right = false;
    return 0;
}

/* Each layer adds one; values stay below 127. */
static struct assay_slice *make_slice(void)
{
    static const int64_t dims[1] = {BYTES}, one = 1, lo = -128, hi = 127;
    static char names[LAYERS + 1][8];
    struct assay_slice *s = slices_new();

    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    for (uint32_t i = 0; i < LAYERS; i++) {
        struct assay_program *p;
        uint32_t l;

        snprintf(names[i], sizeof(names[i]), "t%u", i);
        slices_tensor(s, names[i], ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
        l = slices_layer(s, names[i], ASSAY_OP_UNARY, 1, &i, i + 1);
        p = &s->layers[l].out_program;
        slices_step(p, ASSAY_STEP_ADD_ZP, 1, &one, NULL);
        slices_step(p, ASSAY_STEP_CLAMP, 1, &lo, &hi);
    }
    return s;
}

static void measure_stream(const char *program)
{
    static int8_t input[BYTES];
    struct assay_run_tensor given[1] = {{0, input, BYTES}};
    struct assay_backend_run request = {
        .cpumask = ASSAY_CPU_ALL, .given = given, .n_given = 1};
    struct stream s = {.right = true};
    struct assay_results results = {
        .self = &s, .layer = on_layer, .missing = on_missing};
    struct assay_client_options options = {.timeout_ms = 20000,
                                           .owner = "figures@test 1"};
    struct assay_slice *slice = make_slice();
    struct assay_err err = {0};
    struct assay_backend *b;

    for (size_t i = 0; i < BYTES; i++)
        input[i] = (int8_t)(i % 20);
    daemon_start(&s.agent, program, "16M");
    judge(daemon_memory(s.agent.pid, "VmRSS") <= OWN_LIMIT * MIB,
          "resident, idle", (double)daemon_memory(s.agent.pid, "VmRSS") / 1e6,
          OWN_LIMIT * MIB / 1e6, "MB");
    options.target = s.agent.target;
    if (assay_client_open(&b, &options, &err) < 0 ||
        b->vt->load(b, slice, &err) < 0 ||
        b->vt->run(b, &request, &results, &err) < 0)
        die("run", &err);
    s.agent_most = daemon_memory(s.agent.pid, "VmHWM");
    b->vt->close(b);
    judge(s.right && s.layers == LAYERS, "activations that came, each right",
          (double)s.layers * BYTES / 1e6, (double)LAYERS * BYTES / 1e6, "MB");
    judge(s.agent_most <= (BUDGET + OWN_LIMIT) * MIB,
          "resident at most, agent, --memory 16M", (double)s.agent_most / 1e6,
          (BUDGET + OWN_LIMIT) * MIB / 1e6, "MB");
    judge(s.both_most <= (BUDGET + OWN_LIMIT) * MIB,
          "agent and worker together", (double)s.both_most / 1e6,
          (BUDGET + OWN_LIMIT) * MIB / 1e6, "MB");
    if (daemon_stop(&s.agent) != 0)
        die("the agent's end", NULL);
    assay_slice_free(slice);
}

int main(int argc, char **argv)
{
    const char *stripped = NULL;
    bool stream_only = false;
    struct stat st;
    int i = 1;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--stream") == 0)
            stream_only = true;
        else if (strcmp(argv[i], "--stripped") == 0 && i + 1 < argc)
            stripped = argv[++i];
    }
    if (i + 1 != argc)
        die("usage: agent_figures [--stream] [--stripped FILE] ASSAYD", NULL);
    signal(SIGPIPE, SIG_IGN);
    if (stripped != NULL) {
        if (stat(stripped, &st) < 0)
            die(stripped, NULL);
        judge(st.st_size <= SIZE_LIMIT * 1000, "static agent, stripped",
              (double)st.st_size / 1e3, SIZE_LIMIT, "kB");
    }
    if (!stream_only)
        measure_start(argv[i]);
    measure_stream(argv[i]);
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
