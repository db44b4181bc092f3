/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/entrance.h"
#include "agent/log.h"
#include "agent/relay.h"
#include "agent/ring.h"
#include "agent/session.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"
#include "lib/core/buf.h"
#include "lib/net/abstract.h"

#define SESSIONS_MAX 64
#define REFUSED_MAX 16 /* that are being told so */

static void add_open_bytes(const struct assay_agent *a,
                           struct assay_msg_info *out)
{
    for (const struct assay_session *s = a->sessions; s != NULL; s = s->next) {
        if (s->state == ASSAY_SESSION_GONE)
            continue; /* is counted already */
        out->bytes_in += s->conn->received;
        out->bytes_out += s->conn->sent;
    }
}

void assay_agent_info(const struct assay_agent *a, struct assay_msg_info *out)
{
    const struct assay_counters *n = &a->counters;
    struct assay_sensors sensors;

    assay_sysinfo_sensors(assay_sysinfo_sysfs(), &sensors);
    *out = (struct assay_msg_info){
        .build_id = ASSAY_VERSION,
        .board_id = a->board_id,
        .soc = a->sysinfo.soc,
        .runtime = a->sysinfo.runtime,
        .firmware = a->sysinfo.firmware,
        .machine = a->sysinfo.machine,
        .features = a->sysinfo.features,
        .kernels = assay_cpu_rung(a->cpu_flags & ASSAY_CPU_KERNELS),
        .lease_owner = a->lease.owner,
        .lease_expires_ms = assay_lease_left_ms(&a->lease),
        .backends = "cpu",
        .cpu_flags = a->cpu_flags,
        .cores = a->sysinfo.cores,
        .blobs = assay_blobs_count(a->blobs),
        .memory_limit = assay_budget_limit(a->blobs),
        .memory_used = assay_budget_used(a->blobs),
        .uptime_s = (assay_now_us() - a->started_us) / 1000000u,
        .header_limit = ASSAY_HEADER_MAX,
        .tile_limit = ASSAY_TILE_MAX,
        .chunk_limit = ASSAY_CHUNK_MAX,
        .lease_held_ms = assay_lease_held_ms(&a->lease),
        .blob_bytes = assay_blobs_bytes(a->blobs),
        .memory_high = assay_budget_high(a->blobs),
        .rss_bytes = assay_sysinfo_resident(),
        .sessions = n->sessions,
        .refused = n->refused,
        .runs = n->runs,
        .layers = n->layers,
        .crashes = n->crashes,
        .timeouts = n->timeouts,
        .bytes_in = n->bytes_in,
        .bytes_out = n->bytes_out,
        .health = (uint32_t)a->test.health,
        .health_text = a->test.found.sentence,
        .self_test_checks = a->test.found.n_checks,
        .self_test_us = a->test.found.time_us,
        .temperature_mc = sensors.temperature_mc,
        .frequency_khz = sensors.khz,
    };
    if (a->entrance != NULL) {
        out->tls_full = assay_entrance_counts(a->entrance)->full;
        out->tls_resumed = assay_entrance_counts(a->entrance)->resumed;
    }
    add_open_bytes(a, out);
}

uint64_t assay_agent_deadline_ms(const struct assay_agent_options *options,
                                 enum assay_deadline_name which)
{
    static const uint64_t defaults[ASSAY_DEADLINES] = {
#define ASSAY_DEADLINE(NAME, name, ms, what) ms,
#include "agent/deadlines.def"
#undef ASSAY_DEADLINE
    };
    uint64_t ms = options->deadline_ms[which];

    return ms != 0 ? ms : defaults[which];
}

/* ---- self-test ------------------------------------------------------------ */

#define TEST_MEMORY_START (UINT64_C(4) << 20)
#define TEST_MEMORY_ASKED (UINT64_C(64) << 20)
#define TEST_MEMORY_LEASED (UINT64_C(1) << 20)

/* Memory that it takes is not there for others: the half at most, and a little
 * while somebody works. */
static uint64_t test_memory(const struct assay_agent *a, uint64_t asked)
{
    uint64_t most =
        (assay_budget_limit(a->blobs) - assay_budget_used(a->blobs)) / 2;

    if (asked == 0)
        asked = TEST_MEMORY_ASKED;
    if (a->lease.listener != NULL && most > TEST_MEMORY_LEASED)
        most = TEST_MEMORY_LEASED;
    return asked < most ? asked : most;
}

void assay_agent_test(struct assay_agent *a)
{
    uint64_t asked = 0;
    bool wanted = false;

    if (a->test.running || a->telling || a->stopping)
        return;
    for (struct assay_session *s = a->sessions; s != NULL; s = s->next) {
        if (s->testing != ASSAY_TEST_WANTED ||
            s->state >= ASSAY_SESSION_CLOSING)
            continue;
        s->testing = ASSAY_TEST_RUNS;
        asked = s->test_memory > asked ? s->test_memory : asked;
        wanted = true;
    }
    if (wanted)
        assay_board_test_start(&a->test, test_memory(a, asked));
}

static void test_at_start(struct assay_agent *a)
{
    if (a->options->no_self_test)
        a->test.health = ASSAY_HEALTH_UNTESTED;
    else
        assay_board_test_start(&a->test, test_memory(a, TEST_MEMORY_START));
}

static void on_tested(void *self)
{
    struct assay_agent *a = self;
    struct assay_session *next;

    /* Whoever is told may have asked again already. */
    a->telling = true;
    for (struct assay_session *s = a->sessions; s != NULL; s = next) {
        next = s->next;
        assay_session_tested(s);
    }
    a->telling = false;
    assay_agent_test(a);
}

/* ---- stopping ------------------------------------------------------------- */

void assay_agent_stop(struct assay_agent *a)
{
    struct assay_session *next;
    sigset_t again;

    if (a->stopping)
        return;
    a->stopping = true;
    /* Closing is short; a second signal must not turn its 0 into a death.
     * Blocked, because uv_close() gives a signal its default action back. */
    sigemptyset(&again);
    sigaddset(&again, SIGTERM);
    sigaddset(&again, SIGINT);
    sigprocmask(SIG_BLOCK, &again, NULL);
    assay_listener_close(a->listener);
    assay_listener_close(a->attach);
    assay_entrance_close(a->entrance);
    a->entrance = NULL;
    assay_lease_close(&a->lease);
    assay_board_test_stop(&a->test);
    assay_relay_stop(a->relay);
    for (struct assay_session *s = a->sessions; s != NULL; s = next) {
        next = s->next;
        assay_session_end(s);
    }
    for (int i = 0; i < a->n_signals; i++)
        uv_close((uv_handle_t *)&a->signals[i], NULL);
}

static void stop(void *self)
{
    assay_agent_stop(self);
}

void assay_agent_session_gone(struct assay_agent *a, struct assay_session *s)
{
    struct assay_session **at = &a->sessions;
    bool was_stdio = s->is_stdio;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    a->n_sessions--;
    a->n_refused -= s->is_refused;
    if (was_stdio)
        assay_agent_stop(a);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct assay_agent *a = handle->data;
    struct assay_session *next;

    if (number == SIGHUP && !a->options->stdio) {
        if (a->entrance != NULL)
            assay_entrance_reload(a->entrance);
        return; /* without TLS there is nothing to read again */
    }
    if (number != SIGCHLD) {
        assay_log(ASSAY_LOG_INFO, "stop signal=%d", number);
        assay_agent_stop(a);
        return;
    }
    assay_board_test_child(&a->test);
    for (struct assay_session *s = a->sessions; s != NULL; s = next) {
        next = s->next;
        assay_session_child(s);
    }
}

static void start_signals(struct assay_agent *a)
{
    /* On a terminal Ctrl-C reaches the agent behind `exec:` too, but there
     * the client decides when to go. */
    const struct assay_agent_options *o = a->options;
    int numbers[4] = {SIGTERM, SIGCHLD, o->stdio ? SIGHUP : SIGINT, SIGHUP};

    a->n_signals = o->stdio ? 3 : 4;
    signal(SIGPIPE, SIG_IGN);
    if (o->stdio)
        signal(SIGINT, SIG_IGN);
    for (int i = 0; i < a->n_signals; i++) {
        uv_signal_init(&a->loop, &a->signals[i]);
        a->signals[i].data = a;
        uv_signal_start(&a->signals[i], on_signal, numbers[i]);
    }
}

/* ---- starting ------------------------------------------------------------- */

void assay_agent_admit(struct assay_agent *a, struct assay_conn *conn,
                       const struct assay_err *refusal)
{
    struct assay_session *s;
    struct assay_err err = {0};

    if (refusal == NULL && a->n_sessions - a->n_refused >= SESSIONS_MAX) {
        assay_log(ASSAY_LOG_WARN, "full connections=%u", a->n_sessions);
        assay_fail(&err, ASSAY_EBUSY,
                   "board '%s' has %d connections, no more are taken",
                   a->board_id, SESSIONS_MAX);
        refusal = &err;
    }
    /* A few are told why; a flood is not worth the memory. */
    if (refusal != NULL && a->n_refused >= REFUSED_MAX) {
        assay_conn_close(conn, NULL, NULL);
        return;
    }
    s = assay_session_new(a, conn, refusal != NULL);
    if (refusal != NULL && s != NULL) {
        a->n_refused++;
        assay_session_fatal(s, refusal);
    }
}

static void on_accept(void *self, struct assay_conn *conn)
{
    assay_agent_admit(self, conn, NULL);
}

static void on_accept_tls(void *self, struct assay_conn *conn)
{
    struct assay_agent *a = self;

    assay_entrance_take(a->entrance, conn);
}

/* Where to listen, and TLS for it. */
static int prepare(struct assay_agent *a, struct assay_target *where,
                   struct assay_err *err)
{
    const struct assay_agent_options *o = a->options;
    int rc = assay_target_parse(where, o->listen, err);

    if (rc < 0)
        return rc;
    if (where->kind == ASSAY_TARGET_TCP && o->tls_cert != NULL) {
        where->is_tls = true;
        rc = assay_entrance_new(&a->entrance, a, err);
    } else if (where->kind == ASSAY_TARGET_TCP && where->is_tls) {
        rc = assay_fail(
            err, ASSAY_EUSAGE,
            "address '%s' needs TLS%s: give --tls-cert, --tls-key and "
            "--authorized, or listen on 127.0.0.1 or unix:PATH and let "
            "clients come through ssh (--target ssh:USER@HOST)",
            o->listen,
            assay_target_is_loopback(where->host) ? ""
                                                  : ", being beyond loopback");
    }
    if (rc < 0)
        assay_target_close(where);
    return rc;
}

static int start_listening(struct assay_agent *a, struct assay_err *err)
{
    struct assay_target where;
    struct assay_err why = {0};
    char name[128];
    int rc = prepare(a, &where, err);

    if (rc < 0)
        return rc;
    rc = assay_listener_open(&a->listener, &a->loop, &where,
                             a->entrance != NULL ? on_accept_tls : on_accept, a,
                             err);
    assay_target_close(&where);
    if (rc < 0)
        return rc;
    snprintf(name, sizeof(name), "assayd.%s", a->board_id);
    if (assay_listener_open_abstract(&a->attach, &a->loop, name, on_accept, a,
                                     &why) < 0) {
        a->attach = NULL;
        assay_log(ASSAY_LOG_WARN,
                  "second-daemon board=%s: --stdio attaches to the other one",
                  a->board_id);
    }
    printf("assayd listening on %s\n", assay_listener_address(a->listener));
    fflush(stdout);
    /* Behind that line: nobody is leased the board before it is over. */
    test_at_start(a);
    return 0;
}

/* A descriptor that cannot be waited for is no client. */
static int has_peer(struct assay_err *err)
{
    char c;

    if (uv_guess_handle(0) != UV_FILE)
        return 1;
    if (read(0, &c, 1) == 0)
        return 0;
    return assay_fail(err, ASSAY_EUSAGE,
                      "--stdio: stdin is a file, a pipe or socket is expected");
}

/* The daemon of this board, where there is one that may be trusted. */
static struct assay_conn *find_daemon(struct assay_agent *a)
{
    struct assay_conn *conn;
    char name[128];
    int fd;

    snprintf(name, sizeof(name), "assayd.%s", a->board_id);
    fd = assay_abstract_connect(name);
    if (fd < 0)
        return NULL;
    if (!assay_abstract_trusted(fd)) {
        assay_log(ASSAY_LOG_WARN,
                  "strange-daemon board=%s: it belongs to another user, "
                  "serving without it",
                  a->board_id);
        close(fd);
        return NULL;
    }
    if (assay_conn_from_fds(&conn, &a->loop, fd, fd, NULL) < 0) {
        close(fd);
        return NULL;
    }
    return conn;
}

static int start_stdio(struct assay_agent *a, struct assay_err *err)
{
    struct assay_conn *conn, *daemon;
    struct assay_session *s;
    int rc = has_peer(err);

    if (rc <= 0) {
        if (rc == 0)
            assay_agent_stop(a);
        return rc;
    }
    rc = assay_conn_from_fds(&conn, &a->loop, 0, 1, err);
    if (rc < 0)
        return rc;
    daemon = find_daemon(a);
    if (daemon != NULL) {
        assay_log(ASSAY_LOG_INFO, "attached board=%s", a->board_id);
        a->relay = assay_relay_new(&a->loop, conn, daemon, stop, a);
        return a->relay != NULL
                   ? 0
                   : assay_fail(err, ASSAY_EMEMORY, "no memory for a relay");
    }
    s = assay_session_new(a, conn, false);
    if (s == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a session");
    s->is_stdio = true;
    test_at_start(a);
    return 0;
}

/* A core is a file on the board, or a mail to whoever collects them, with a
 * user's tensors in it. One byte is too little for either; none at all would
 * still start a collector. Workers inherit it. */
static void leave_no_core(void)
{
    const struct rlimit one = {1, 1};

    if (setrlimit(RLIMIT_CORE, &one) < 0)
        assay_log(ASSAY_LOG_DEBUG, "cannot limit cores: %s", strerror(errno));
}

/* What is freed goes back to the system, also when it was large once: without
 * this glibc keeps up to 32 MiB of what a run needed. */
static void give_memory_back(void)
{
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

/* What this CPU has, of what may run. */
static uint32_t choose_rungs(uint32_t mask)
{
    uint32_t flags = assay_cpu_probe() & mask;
    const char *used = assay_cpu_rung(flags & ASSAY_CPU_KERNELS);

    if (mask != ASSAY_CPU_ALL && strcmp(assay_cpu_rung(mask), used) != 0)
        assay_log(ASSAY_LOG_WARN, "cpumask wanted=%s used=%s",
                  assay_cpu_rung(mask), used);
    return flags;
}

/* 0; the loop, and what all of it needs. */
static int open_agent(struct assay_agent *a,
                      const struct assay_agent_options *options)
{
    const struct assay_test_end end = {on_tested, a};

    *a = (struct assay_agent){.options = options};
    assay_log_set_level(options->log_level);
    give_memory_back();
    leave_no_core();
    assay_sysinfo_read(&a->sysinfo);
    a->board_id =
        options->board_id != NULL ? options->board_id : a->sysinfo.host;
    a->cpu_flags = choose_rungs(options->cpumask);
    a->started_us = assay_now_us();
    a->blobs = assay_blobs_new(options->memory);
    if (a->blobs == NULL || uv_loop_init(&a->loop) < 0) {
        assay_log(ASSAY_LOG_ERROR, "no memory to start");
        assay_blobs_free(a->blobs);
        return ASSAY_EMEMORY;
    }
    assay_lease_init(&a->lease, &a->loop, a->board_id, assay_session_revoked);
    assay_board_test_init(
        &a->test, &a->loop, a->blobs, a->cpu_flags,
        assay_agent_deadline_ms(options, ASSAY_DEADLINE_SELF_TEST), end);
    start_signals(a);
    return 0;
}

/* Runs until it is stopped; rc, or an error of the end. */
static int run_agent(struct assay_agent *a, int rc)
{
    uv_run(&a->loop, UV_RUN_DEFAULT);
    /* A handle that is still open is a leak: told by the exit code too. */
    if (uv_loop_close(&a->loop) != 0) {
        assay_log(ASSAY_LOG_ERROR, "handles are left open");
        rc = rc < 0 ? rc : ASSAY_EINTERNAL;
    }
    assay_blobs_free(a->blobs);
    return rc;
}

int assay_agent_main(const struct assay_agent_options *options)
{
    struct assay_agent a;
    struct assay_err err = {0};
    int rc;

    if (open_agent(&a, options) < 0)
        return 2;
    rc = options->stdio ? start_stdio(&a, &err) : start_listening(&a, &err);
    if (rc < 0) {
        fprintf(stderr, "assayd: %s\n", err.text);
        assay_agent_stop(&a);
    }
    rc = run_agent(&a, rc);
    return rc == ASSAY_EINTERNAL ? 4 : rc < 0 ? 2 : 0;
}

int assay_agent_self_test(const struct assay_agent_options *options)
{
    static const char *const verdicts[] = {"?", "ok", "BAD", "-"};
    static const char *const kinds[] = {
        "?", "kernel", "memory", "clock", "temperature", "frequency", "all"};
    struct assay_agent a;
    struct assay_msg_self_test m;

    if (open_agent(&a, options) < 0)
        return 2;
    a.test.end = (struct assay_test_end){stop, &a};
    assay_board_test_start(&a.test, test_memory(&a, 0));
    if (run_agent(&a, 0) < 0)
        return 4;
    for (unsigned i = 0; i <= a.test.found.n_items; i++) {
        assay_board_test_msg(&a.test, i, &m);
        printf("%-11s %s%s%s%s%s\n", kinds[m.kind], verdicts[m.verdict],
               i < a.test.found.n_items && m.name[0] != '\0' ? " " : "",
               i < a.test.found.n_items ? m.name : "",
               m.text[0] != '\0' ? "  " : "", m.text);
    }
    return a.test.health == ASSAY_HEALTH_GOOD && fflush(stdout) == 0 ? 0 : 4;
}
