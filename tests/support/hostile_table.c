/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of hostile.h: states, how they end, what the agent keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/hostile.h"

#define RESIDENT_SLACK (512u << 10) /* what pages and malloc may round */
#define CACHE_SLACK (2u << 20)      /* constants of a case, which stay */

static struct agents agent;
static struct hostile_peer observer; /* asks for the status, holds nothing */
static struct hostile_text small, big;
static unsigned idle_descriptors; /* of an agent that only we look at */
static uint8_t zeros[2u << 20];

uint64_t hostile_ttl_ms = 60000;

const struct agents *hostile_agent(void)
{
    return &agent;
}

/* ---- states ------------------------------------------------------------------ */

static void load(struct hostile_peer *p, const struct hostile_text *t)
{
    hostile_say(p,
                hostile_blob(ASSAY_MSG_BLOB_PUT, t->identity, t->text.len, 0),
                t->text.data, (uint32_t)t->text.len);
    hostile_until(p, ASSAY_MSG_BLOB_STORED);
    hostile_say(p, hostile_blob(ASSAY_MSG_SLICE_LOAD, t->identity, 0, 0), NULL,
                0);
    hostile_until(p, ASSAY_MSG_SLICE_LOADED);
}

static void give(struct hostile_peer *p, uint32_t total)
{
    uint32_t n = total < 1u << 20 ? total : 1u << 20;

    for (uint32_t at = 0; at < total; at += n)
        assert_true(hostile_say(p, hostile_tensor(0, total, at), zeros, n));
}

void hostile_reach(struct hostile_peer *p, const struct agents *a,
                   enum hostile_stage stage)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};

    hostile_dial(p, a);
    if (stage == HOSTILE_HELLO)
        return;
    m.u.hello = (struct assay_msg_hello){1, 1, "hostile"};
    hostile_say(p, m, NULL, 0);
    hostile_until(p, ASSAY_MSG_HELLO_ACK);
    if (stage == HOSTILE_READY)
        return;
    m = hostile_plain(ASSAY_MSG_LEASE_ACQUIRE);
    m.u.lease = (struct assay_msg_lease){
        .owner = "hostile@test 1", .ttl_ms = hostile_ttl_ms, .force = true};
    hostile_say(p, m, NULL, 0);
    hostile_until(p, ASSAY_MSG_LEASE_GRANTED);
    if (stage == HOSTILE_LEASED)
        return;
    load(p, stage == HOSTILE_RUNNING ? &big : &small);
    if (stage == HOSTILE_LOADED)
        return;
    give(p, stage == HOSTILE_RUNNING ? HOSTILE_BIG : HOSTILE_SMALL);
    if (stage == HOSTILE_GIVEN)
        return;
    hostile_say(p, hostile_start(1, 65536), NULL, 0);
    hostile_until(p, ASSAY_MSG_CHUNK);
}

/* ---- what the agent has ------------------------------------------------------- */

struct having {
    uint64_t used, resident;
    unsigned descriptors, children;
};

static unsigned count_descriptors(void)
{
    char path[64];
    unsigned n = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)agent.pid);
    dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static unsigned count_children(void)
{
    char path[64];
    unsigned n = 0;
    long pid;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)agent.pid,
             (int)agent.pid);
    f = fopen(path, "r");
    if (f == NULL)
        return 0;
    while (fscanf(f, "%ld", &pid) == 1)
        n++;
    fclose(f);
    return n;
}

static struct having look(void)
{
    struct having h = {0};

    hostile_say(&observer, hostile_plain(ASSAY_MSG_STATUS), NULL, 0);
    hostile_until(&observer, ASSAY_MSG_STATUS_REPLY);
    h.used = observer.got.u.info.memory_used;
    h.descriptors = count_descriptors();
    h.children = count_children();
    h.resident = agents_resident(agent.pid);
    return h;
}

static bool is_back(const struct having *now, const struct having *base)
{
#ifdef AGENTS_MEMORY_TELLS
    if (now->resident > base->resident + RESIDENT_SLACK)
        return false;
#endif
    return now->used <= base->used && now->descriptors == base->descriptors &&
           now->children == base->children;
}

/* It hears of an end when it hears of it. */
static void assert_back(const struct having *base)
{
    struct timespec pause = {.tv_nsec = 10000000};
    struct having now = look();

    for (int i = 0; i < 1000 && !is_back(&now, base); i++) {
        nanosleep(&pause, NULL);
        now = look();
    }
    if (!is_back(&now, base))
        fail_msg("budget %llu (before %llu), resident %llu (%llu), "
                 "descriptors %u (%u), children %u (%u)",
                 (unsigned long long)now.used, (unsigned long long)base->used,
                 (unsigned long long)now.resident,
                 (unsigned long long)base->resident, now.descriptors,
                 base->descriptors, now.children, base->children);
}

static void assert_served(void)
{
    struct hostile_peer p;

    assert_int_equal(waitpid(agent.pid, NULL, WNOHANG), 0);
    hostile_reach(&p, &agent, HOSTILE_GIVEN);
    hostile_say(&p, hostile_start(9, UINT64_MAX), NULL, 0);
    hostile_until(&p, ASSAY_MSG_RUN_END);
    assert_string_equal(p.sentence, "");
    assert_int_equal(p.got.u.run_end.layers_done, 2);
    assert_int_equal(p.got.u.run_end.bytes, 2 * HOSTILE_SMALL);
    hostile_hang_up(&p);
}

/* ---- one case ------------------------------------------------------------------ */

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static void send_prefix(struct hostile_peer *p, const struct hostile_prefix *x)
{
    uint32_t n = x->header < 4096 ? x->header : 4096;
    uint64_t hash = assay_xxh64(zeros, n) ^ (x->bad_hash ? 1 : 0);
    uint8_t out[ASSAY_FRAME_PREFIX];

    memcpy(out, x->magic != NULL ? x->magic : "ASY1", 4);
    put_u32(out + 4, x->flags);
    put_u32(out + 8, x->sequence + p->sequence);
    put_u32(out + 12, x->header);
    put_u32(out + 16, x->payload);
    put_u32(out + 20, x->reserved);
    put_u32(out + 24, (uint32_t)hash);
    put_u32(out + 28, (uint32_t)(hash >> 32));
    hostile_send(p, out, sizeof(out));
    hostile_send(p, zeros, n);
}

static void send_damaged(struct hostile_peer *p,
                         void (*damage)(struct assay_slice *s))
{
    struct assay_slice *s = hostile_copies(HOSTILE_SMALL);
    struct hostile_text t;

    damage(s);
    hostile_text_of(&t, s);
    hostile_say(p, hostile_blob(ASSAY_MSG_BLOB_PUT, t.identity, t.text.len, 0),
                t.text.data, (uint32_t)t.text.len);
    hostile_until(p, ASSAY_MSG_BLOB_STORED);
    hostile_say(p, hostile_blob(ASSAY_MSG_SLICE_LOAD, t.identity, 0, 0), NULL,
                0);
    assay_buf_close(&t.text);
    assay_slice_free(s);
}

static void act(struct hostile_peer *p, const struct hostile_case *c)
{
    if (c->bytes != NULL)
        hostile_send(p, c->bytes, c->n);
    else if (c->prefix != NULL)
        send_prefix(p, c->prefix);
    else if (c->header != NULL)
        hostile_header(p, c->header, (uint32_t)c->n);
    else if (c->damage != NULL)
        send_damaged(p, c->damage);
    else if (c->act != NULL)
        c->act(p);
    else
        for (size_t i = 0; i < c->n; i++)
            hostile_say(p, c->messages[i], zeros, c->messages[i].payload_bytes);
}

/* What an answer must be; results before it are passed over. */
static void assert_told(struct hostile_peer *p, const struct hostile_case *c,
                        enum assay_msg_type type)
{
    int got, code;

    do
        got = hostile_hear(p);
    while (got != 0 && got != ASSAY_MSG_ERROR && got != ASSAY_MSG_RUN_END);
    if (got != (int)type)
        fail_msg("%s expected, found %s '%s'", assay_msg_name(type),
                 got ? assay_msg_name((enum assay_msg_type)got) : "the end",
                 p->sentence);
    code = type == ASSAY_MSG_ERROR ? p->got.u.error.code
                                   : p->got.u.run_end.error.code;
    if (code != c->code)
        fail_msg("code %d expected, found %d '%s'", c->code, code, p->sentence);
    if (c->words != NULL && strstr(p->sentence, c->words) == NULL)
        fail_msg("'%s' lacks '%s'", p->sentence, c->words);
}

static void assert_ends(struct hostile_peer *p, const struct hostile_case *c)
{
    static const enum assay_msg_type by_end[] = {
        [HOSTILE_FATAL] = ASSAY_MSG_ERROR,
        [HOSTILE_REFUSED] = ASSAY_MSG_ERROR,
        [HOSTILE_RUN_END] = ASSAY_MSG_RUN_END,
        [HOSTILE_STALLED] = ASSAY_MSG_RUN_END,
    };

    if (c->end == HOSTILE_LEFT)
        return;
    if (c->end == HOSTILE_SILENT) {
        assert_int_equal(hostile_hear(p), 0);
        return;
    }
    if (c->end != HOSTILE_ANSWERED)
        assert_told(p, c, by_end[c->end]);
    if (c->end == HOSTILE_FATAL || c->end == HOSTILE_STALLED) {
        if (c->end == HOSTILE_FATAL)
            assert_true(p->got.u.error.fatal);
        assert_int_equal(hostile_hear(p), 0);
        return;
    }
    hostile_say(p, hostile_number(ASSAY_MSG_PING, 77), NULL, 0);
    hostile_until(p, ASSAY_MSG_PONG);
    assert_int_equal(p->got.u.number, 77);
}

static void do_case(void **state)
{
    const struct hostile_case *c = *state;
    struct having first = look(), base = {0};

    for (int round = 0; round < 2; round++) {
        struct hostile_peer p;

        hostile_reach(&p, &agent, c->stage);
        act(&p, c);
        assert_ends(&p, c);
        hostile_hang_up(&p);
        assert_served();
        if (round == 0) {
            struct timespec pause = {.tv_nsec = 20000000};

            nanosleep(&pause, NULL);
            base = look();
        }
    }
    if (base.used > first.used + CACHE_SLACK)
        base.used = first.used + CACHE_SLACK;
    base.descriptors = idle_descriptors;
    base.children = 0;
    assert_back(&base);
}

/* ---- all cases ------------------------------------------------------------------ */

int hostile_set_up(void **state)
{
    struct assay_slice *s;
    char board[64];

    (void)state;
    snprintf(board, sizeof(board), "hostile-table-%d", (int)getpid());
    agents_start(&agent, board, 64u << 20);
    s = hostile_copies(HOSTILE_SMALL);
    hostile_text_of(&small, s);
    assay_slice_free(s);
    s = hostile_copies(HOSTILE_BIG);
    hostile_text_of(&big, s);
    assay_slice_free(s);
    hostile_reach(&observer, &agent, HOSTILE_READY);
    idle_descriptors = count_descriptors();
    return 0;
}

int hostile_tear_down(void **state)
{
    (void)state;
    hostile_hang_up(&observer);
    assay_buf_close(&small.text);
    assay_buf_close(&big.text);
    return agents_stop(&agent);
}

static void print_table(const struct hostile_case *cases, size_t n)
{
    static const char *const stages[] = {"connected", "hello", "leased",
                                         "loaded",    "given", "running"};
    static const char *const ends[] = {
        [HOSTILE_FATAL] = "error, end",     [HOSTILE_REFUSED] = "error",
        [HOSTILE_ANSWERED] = "answered",    [HOSTILE_RUN_END] = "run end",
        [HOSTILE_STALLED] = "run end, end", [HOSTILE_SILENT] = "end",
        [HOSTILE_LEFT] = "it leaves",
    };

    for (size_t i = 0; i < n; i++)
        printf("| %s | %s | %s%s%s |\n", cases[i].name, stages[cases[i].stage],
               ends[cases[i].end], cases[i].code < 0 ? ", " : "",
               cases[i].code < 0 ? assay_status_name(cases[i].code) : "");
}

int hostile_main(int argc, char **argv, const struct hostile_case *cases,
                 size_t n)
{
    struct CMUnitTest *tests;
    int rc;

    if (argc > 1 && strcmp(argv[1], "--table") == 0) {
        print_table(cases, n);
        return 0;
    }
    tests = calloc(n, sizeof(*tests));
    if (tests == NULL)
        return 99;
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, do_case, NULL, NULL,
                                       (void *)(uintptr_t)&cases[i]};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    rc = _cmocka_run_group_tests("hostile", tests, n, hostile_set_up,
                                 hostile_tear_down);
    free(tests);
    return rc;
}
