/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/core/buf.h"
#include "lib/core/slice_part.h"
#include "lib/engine/probe.h"

#define SLOWEST_MIPS 50

/* ---- in the child --------------------------------------------------------- */

struct child {
    struct assay_ring_writer out;
    const struct assay_worker_run *run;
    uint64_t total_us, layer_us, bytes;
    uint64_t probe_work; /* that is left */
    uint32_t n_done, n_missing;
};

static void set_status(struct child *c, uint32_t state)
{
    struct assay_status_page *s = &c->out.ring->status;

    atomic_store(&s->since_us, assay_now_us());
    atomic_store(&s->state, state);
}

static const void *fetch(void *self, uint32_t tensor)
{
    const struct child *c = self;

    return c->run->loaded->given[tensor].data;
}

static void missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct child *c = self;
    struct assay_record rec = {
        .kind = ASSAY_RECORD_MISSING, .layer = layer, .tensor = tensor};

    c->n_missing++;
    assay_ring_write(&c->out, &rec, NULL);
}

static int begin(void *self, const struct assay_layer_info *info)
{
    struct child *c = self;
    struct assay_status_page *s = &c->out.ring->status;
    struct assay_record rec = {.kind = ASSAY_RECORD_BEGIN,
                               .layer = info->layer,
                               .tensor = info->tensor,
                               .total = info->bytes};

    snprintf(rec.text, sizeof(rec.text), "%s", info->kernel);
    /* The page first: who dies after the record is told died in the layer. */
    memcpy(s->kernel, rec.text, sizeof(s->kernel));
    atomic_store(&s->layer, info->layer);
    atomic_store(&s->spent_us, 0);
    set_status(c, ASSAY_WORKER_COMPUTING);
    assay_ring_write(&c->out, &rec, NULL);
    atomic_store(&s->spent_us, 0);
    set_status(c, ASSAY_WORKER_COMPUTING);
    return 0;
}

/* Digests of the tiles that the host expects of the output; NULL: none. */
static const uint8_t *expected(const struct child *c, uint32_t tensor)
{
    return c->run->capture == ASSAY_CAPTURE_FULL
               ? NULL
               : c->run->loaded->expect[tensor].digests;
}

/* Is a tensor told by its digests alone? */
static bool digests_only(const struct child *c, uint32_t tensor)
{
    return c->run->capture >= ASSAY_CAPTURE_DIGEST &&
           expected(c, tensor) == NULL;
}

/* Hashes each tile once, and writes it where it has to travel. */
static void write_tiles(struct child *c, const struct assay_layer_info *info,
                        const uint8_t *p, uint8_t *digests)
{
    struct assay_record rec = {.kind = ASSAY_RECORD_TILE, .layer = info->layer};
    const uint8_t *want = expected(c, info->tensor);
    bool none = digests_only(c, info->tensor);

    for (size_t at = 0, i = 0; at < info->bytes; at += rec.bytes, i++) {
        size_t n = info->bytes - at;

        rec.bytes = (uint32_t)(n < ASSAY_TILE_BYTES ? n : ASSAY_TILE_BYTES);
        rec.offset = at;
        assay_xxh128(p + at, rec.bytes, rec.digest);
        memcpy(digests + i * 16, rec.digest, 16);
        if (!none &&
            (want == NULL || memcmp(want + i * 16, rec.digest, 16) != 0))
            assay_ring_write(&c->out, &rec, p + at);
    }
}

static void write_digests(struct child *c, uint32_t layer,
                          const uint8_t *digests, size_t tiles)
{
    struct assay_record rec = {.kind = ASSAY_RECORD_TILES, .layer = layer};

    for (size_t at = 0; at < tiles; at += rec.bytes / 16) {
        size_t n = tiles - at;

        n = n < ASSAY_TILES_DIGESTS ? n : ASSAY_TILES_DIGESTS;
        rec.bytes = (uint32_t)n * 16;
        rec.offset = at;
        assay_ring_write(&c->out, &rec, digests + at * 16);
    }
}

static void write_stats(struct child *c, const struct assay_layer_info *info,
                        const void *data)
{
    const struct assay_slice *s = c->run->loaded->slice;
    struct assay_record rec = {.kind = ASSAY_RECORD_STATS,
                               .layer = info->layer,
                               .bytes = sizeof(struct assay_stats)};
    struct assay_stats_rule rule;
    struct assay_stats stats = {0};

    assay_stats_rule(&rule, s, info->layer);
    assay_stats_add(&stats, &rule, data,
                    info->bytes / assay_dtype_bytes(rule.dtype));
    assay_ring_write(&c->out, &rec, &stats);
}

static int tensor(void *self, const struct assay_layer_info *info,
                  const void *data)
{
    struct child *c = self;
    struct assay_record rec = {
        .kind = ASSAY_RECORD_END, .layer = info->layer, .total = info->bytes};
    size_t tiles = assay_tiles(info->bytes);
    uint8_t *digests = assay_alloc(tiles * 16 + 1);

    if (digests == NULL)
        return ASSAY_EMEMORY;
    c->layer_us = assay_now_us() - atomic_load(&c->out.ring->status.since_us);
    write_tiles(c, info, data, digests);
    if (digests_only(c, info->tensor))
        write_digests(c, info->layer, digests, tiles);
    if (c->run->capture == ASSAY_CAPTURE_STATS)
        write_stats(c, info, data);
    rec.time_us = c->layer_us;
    assay_xxh128(digests, tiles * 16, rec.digest);
    assay_free(digests);
    c->n_done++;
    c->bytes += info->bytes;
    c->total_us += c->layer_us;
    set_status(c, ASSAY_WORKER_BETWEEN);
    assay_ring_write(&c->out, &rec, NULL);
    return 0;
}

/* What one probe may cost, so that it ends before the layer's deadline on a
 * core of 50 million instructions a second. A layer that took long itself
 * would be run once more: it is left out. */
static uint64_t probe_limit(const struct child *c)
{
    uint64_t most = c->run->layer_us > UINT64_MAX / SLOWEST_MIPS
                        ? UINT64_MAX
                        : c->run->layer_us * SLOWEST_MIPS;

    if (c->layer_us > c->run->layer_us / 8)
        return 0;
    return c->probe_work < most ? c->probe_work : most;
}

/* p stays zeroed where nothing could be had. false: there is nothing to say. */
static bool probe_layer(const struct child *c,
                        const struct assay_layer_info *info,
                        struct assay_probe *p)
{
    const struct assay_loaded *l = c->run->loaded;
    const struct assay_probe_limits limits = {probe_limit(c),
                                              c->run->probe_memory};
    const void *inputs[ASSAY_MAX_LAYER_INPUTS] = {0};
    struct assay_slice *one = NULL;
    int rc;

    if (assay_slice_single(&one, l->slice, info->layer, NULL) < 0)
        return true;
    for (uint32_t i = 0; i < one->layers[0].n_inputs; i++) {
        uint32_t t = one->layers[0].inputs[i];

        if (one->tensors[t].role != ASSAY_ROLE_CONSTANT)
            inputs[t] = info->inputs[i];
    }
    rc = assay_probe_layer(p, one, inputs, l->plan_flags, &limits, NULL);
    assay_slice_free(one);
    return rc != ASSAY_PROBE_NOTHING;
}

/* The layer's results are out: whatever befalls a probe, they are safe. It is
 * charged to a deadline of its own, as long as the layer's. */
static int end(void *self, const struct assay_layer_info *info)
{
    struct child *c = self;
    struct assay_record rec = {.kind = ASSAY_RECORD_PROBE,
                               .layer = info->layer,
                               .bytes = sizeof(struct assay_probe)};
    struct assay_probe p = {0};
    bool says;

    if (c->run->probe_work == 0)
        return 0;
    atomic_store(&c->out.ring->status.spent_us, 0);
    set_status(c, ASSAY_WORKER_COMPUTING);
    says = probe_layer(c, info, &p);
    set_status(c, ASSAY_WORKER_BETWEEN);
    c->probe_work -= p.work < c->probe_work ? p.work : c->probe_work;
    if (says)
        assay_ring_write(&c->out, &rec, &p);
    return 0;
}

/* Closes what was inherited, so that a peer sees its connection end with the
 * parent and not with a worker. */
static void close_others(int a, int b)
{
    DIR *dir = opendir("/proc/self/fd");
    int null = open("/dev/null", O_RDONLY);
    struct dirent *entry;

    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
    }
    if (dir == NULL) {
        for (int fd = 3; fd < 1024; fd++) {
            if (fd != a && fd != b)
                close(fd);
        }
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        int fd = atoi(entry->d_name);

        if (fd > 2 && fd != a && fd != b && fd != dirfd(dir))
            close(fd);
    }
    closedir(dir);
}

static void own_signals(void)
{
    static const int back[] = {SIGTERM, SIGINT, SIGCHLD, SIGHUP};
    sigset_t none;

    for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++)
        signal(back[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void assay_worker_enter(int a, int b)
{
    close_others(a, b);
    own_signals();
}

/* The arena is outside of the heap: a kernel that writes past it dies. */
static void *map_arena(size_t bytes)
{
    void *p = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static void child_main(struct assay_ring *ring, int ready, int space,
                       const struct assay_worker_run *run)
{
    struct child c = {
        .out = {ring, ready, space}, .run = run, .probe_work = run->probe_work};
    struct assay_run_request request = {
        .mode = run->mode,
        .layers = run->layers,
        .fetch = fetch,
        .missing = missing,
        .self = &c,
    };
    struct assay_sink sink = {&c, begin, tensor, end};
    struct assay_record rec = {.kind = ASSAY_RECORD_DONE};
    struct assay_err err = {0};
    void *arena = map_arena(assay_plan_arena_bytes(run->loaded->plan));
    int rc;

    rc = arena == NULL
             ? assay_fail(&err, ASSAY_EMEMORY,
                          "no memory for an arena of %zu bytes",
                          assay_plan_arena_bytes(run->loaded->plan))
             : assay_run(run->loaded->plan, arena, &request, &sink, &err);
    set_status(&c, ASSAY_WORKER_BETWEEN);
    rec.code = rc;
    rec.n_done = c.n_done;
    rec.n_missing = c.n_missing;
    rec.total = c.bytes;
    rec.time_us = c.total_us;
    if (rc < 0)
        snprintf(rec.reason, sizeof(rec.reason), "%.250s",
                 err.text[0] != '\0' ? err.text : assay_status_sentence(rc));
    assay_ring_write(&c.out, &rec, NULL);
    _exit(0);
}

/* ---- in the parent -------------------------------------------------------- */

static void close_pair(int fds[2])
{
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

static int make_pipes(int ready[2], int space[2], struct assay_err *err)
{
    if (pipe2(ready, O_CLOEXEC | O_NONBLOCK) < 0)
        return assay_fail(err, ASSAY_EMEMORY, "cannot make a pipe: %s",
                          strerror(errno));
    if (pipe2(space, O_CLOEXEC) < 0) {
        int rc = assay_fail(err, ASSAY_EMEMORY, "cannot make a pipe: %s",
                            strerror(errno));
        close_pair(ready);
        return rc;
    }
    /* Only the parent's end must never wait. */
    fcntl(space[1], F_SETFL, O_NONBLOCK);
    return 0;
}

int assay_worker_start(struct assay_worker *w,
                       const struct assay_worker_run *run,
                       struct assay_err *err)
{
    int ready[2] = {-1, -1}, space[2] = {-1, -1}, rc;
    struct assay_ring *ring = assay_ring_new();
    sigset_t all, before;
    pid_t parent = getpid(), pid;

    if (ring == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a worker's ring");
    rc = make_pipes(ready, space, err);
    if (rc < 0) {
        assay_ring_free(ring);
        return rc;
    }
    atomic_store(&ring->status.since_us, assay_now_us());
    /* The loop's handlers must not run in the child: they write to a pipe
     * that it shares with the parent. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        assay_worker_enter(ready[1], space[0]);
        child_main(ring, ready[1], space[0], run);
    }
    rc = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ready[1]);
    close(space[0]);
    if (pid < 0) {
        close(ready[0]);
        close(space[1]);
        assay_ring_free(ring);
        return assay_fail(err, ASSAY_EMEMORY, "cannot start a worker: %s",
                          strerror(rc));
    }
    *w = (struct assay_worker){
        .pid = pid, .ring = ring, .ready = ready[0], .space = space[1]};
    return 0;
}

void assay_worker_kill(struct assay_worker *w)
{
    if (w->pid > 0)
        kill(w->pid, SIGKILL);
}

bool assay_worker_reap(struct assay_worker *w)
{
    int status;

    if (w->pid <= 0)
        return true;
    if (waitpid(w->pid, &status, WNOHANG) != w->pid)
        return false;
    w->status = status;
    w->pid = 0;
    return true;
}

void assay_worker_close(struct assay_worker *w)
{
    if (w->ring == NULL)
        return;
    if (w->pid > 0) {
        /* After SIGKILL this wait is the kernel's to end, and short. */
        kill(w->pid, SIGKILL);
        while (waitpid(w->pid, &w->status, 0) < 0 && errno == EINTR)
            ;
    }
    close(w->ready);
    close(w->space);
    assay_ring_free(w->ring);
    memset(w, 0, sizeof(*w));
}
