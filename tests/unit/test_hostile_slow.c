/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow loris, in every state: a frame is begun, and a byte of it comes every
 * 50 ms, so that the connection is never silent and no message is ever whole.
 * Only a whole message renews a deadline: each is ended by its own, in time.
 *
 * links: tests/support/agents.c tests/support/proc.c tests/support/slices.c
 * links: tests/support/hostile.c tests/support/hostile_table.c
 * links: agent/ lib/net/ proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <string.h>
#include <time.h>

#include "tests/support/hostile.h"

#define TICK_MS 50

struct loris {
    const char *name;
    enum hostile_stage stage;
    bool runs, breaks; /* starts a run; sends what is no frame first */
    int code;
    const char *words;
    int least_ms, most_ms; /* to the error; breaks: to the connection's end */
};

static const struct loris first = {
    .name = "hello",
    .stage = HOSTILE_HELLO,
    .code = ASSAY_ETIMEOUT,
    .words = "no message for 10000 ms in state 'hello'",
    .least_ms = 9900,
    .most_ms = 20000};
static const struct loris others[] = {
    {.name = "leased",
     .stage = HOSTILE_LEASED,
     .code = ASSAY_ETIMEOUT,
     .words = "lease expired: no message for 1000 ms",
     .least_ms = 900,
     .most_ms = 6000},
    {.name = "loaded",
     .stage = HOSTILE_LOADED,
     .code = ASSAY_ETIMEOUT,
     .words = "lease expired",
     .least_ms = 900,
     .most_ms = 6000},
    {.name = "running",
     .stage = HOSTILE_GIVEN,
     .runs = true,
     .code = ASSAY_ECLIENT_STALLED,
     .words = "took no results for 500 ms",
     .least_ms = 450,
     .most_ms = 6000},
    /* What comes behind the error is dropped; its end is not waited for. */
    {.name = "closing",
     .stage = HOSTILE_READY,
     .breaks = true,
     .code = ASSAY_EPROTOCOL,
     .words = "bad magic",
     .least_ms = 4900,
     .most_ms = 12000},
};

struct slow {
    const struct loris *what;
    struct hostile_peer peer;
    uint8_t frame[ASSAY_FRAME_PREFIX + 4096];
    size_t sent;
    int64_t begun_ms;
    int code;
    char sentence[512];
};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static void begin(struct slow *s, const struct loris *what)
{
    struct assay_msg m = hostile_start(1, 0);

    memset(s, 0, sizeof(*s));
    s->what = what;
    hostile_reach(&s->peer, hostile_agent(), what->stage);
    m.u.run_start.stall_timeout_ms = 500;
    if (what->runs)
        hostile_say(&s->peer, m, NULL, 0);
    if (what->breaks)
        hostile_send(&s->peer, "this is no frame, but it is long enough", 39);
    assay_frame_prefix(s->frame, false, s->peer.sequence,
                       s->frame + ASSAY_FRAME_PREFIX, 4096, 0);
    s->begun_ms = now_ms();
}

/* A byte, and what has come; false: this was the error, or the end. */
static bool tick(struct slow *s)
{
    struct pollfd waits = {.fd = s->peer.fd, .events = POLLIN};
    bool sent = hostile_send(&s->peer, s->frame + s->sent++, 1);

    if (poll(&waits, 1, 0) == 1 && hostile_hear(&s->peer) != 0) {
        if (s->peer.got.type == ASSAY_MSG_ERROR)
            s->code = s->peer.got.u.error.code;
        else if (s->peer.got.type == ASSAY_MSG_RUN_END)
            s->code = s->peer.got.u.run_end.error.code;
        if (s->peer.sentence[0] != '\0')
            memcpy(s->sentence, s->peer.sentence, sizeof(s->sentence));
        return s->what->breaks || s->code == 0;
    }
    /* Half an end is not enough: it must not take our bytes any more. */
    return sent;
}

static void judge(struct slow *s)
{
    int64_t took = now_ms() - s->begun_ms;

    if (s->code != s->what->code || !strstr(s->sentence, s->what->words))
        fail_msg("%s: code %d '%s'", s->what->name, s->code, s->sentence);
    if (took < s->what->least_ms || took > s->what->most_ms)
        fail_msg("%s: ended after %d ms", s->what->name, (int)took);
    hostile_hang_up(&s->peer);
}

/* Hello's deadline is the longest: the others pass meanwhile. */
static void test_slow_loris(void **state)
{
    static struct slow hello, other;
    struct timespec pause = {.tv_nsec = TICK_MS * 1000000};
    size_t next = 0, n = sizeof(others) / sizeof(others[0]);
    bool is_on = true, other_is_on = false;

    (void)state;
    hostile_ttl_ms = 1000;
    begin(&hello, &first);
    while (is_on || other_is_on || next < n) {
        if (!other_is_on && next < n) {
            begin(&other, &others[next++]);
            other_is_on = true;
        }
        nanosleep(&pause, NULL);
        if (is_on && !tick(&hello)) {
            is_on = false;
            judge(&hello);
        }
        if (other_is_on && !tick(&other)) {
            other_is_on = false;
            judge(&other);
        }
    }
    hostile_ttl_ms = 60000;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_loris),
    };

    return cmocka_run_group_tests(tests, hostile_set_up, hostile_tear_down);
}
