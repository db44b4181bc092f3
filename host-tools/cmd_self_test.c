/* SPDX-License-Identifier: Apache-2.0 */
/* self-test: is the board itself in order? */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/backend.h"
#include "host-tools/cmd.h"
#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/report/json_text.h"
#include "proto/codec.h"

#define SLOTS_MAX 128
#define OTHERS_MAX 32
#define LINE_MAX_BYTES 256

static const char *const rungs[] = {"scalar", "neon", "dotprod", "i8mm"};
#define N_RUNGS (sizeof(rungs) / sizeof(rungs[0]))
static const char *const kinds[] = {
    "?", "kernel", "memory", "clock", "temperature", "frequency", "all"};
static const char *const verdicts[] = {"?", "good", "bad", "none"};

struct slot {
    char name[64];
    uint32_t verdict[N_RUNGS]; /* 0: the board has no such kernel */
};

struct findings {
    struct slot slots[SLOTS_MAX];
    unsigned n_slots;
    char others[OTHERS_MAX][LINE_MAX_BYTES]; /* what is no kernel, as lines */
    unsigned n_others;
    char bad[OTHERS_MAX][LINE_MAX_BYTES]; /* sentences */
    unsigned n_bad, n_bad_shown;
    uint32_t verdict, checks;
    uint64_t time_us;
    json_t *items; /* NULL: no memory */
};

/* "conv2d_x8w8" of "assay_conv2d_x8w8__neon". */
static void slot_name(const char *symbol, char *out, size_t cap)
{
    const char *end = strstr(symbol, "__");
    size_t n;

    if (strncmp(symbol, "assay_", 6) == 0)
        symbol += 6;
    n = end != NULL && end > symbol ? (size_t)(end - symbol) : strlen(symbol);
    snprintf(out, cap, "%.*s", (int)n, symbol);
}

static void add_kernel(struct findings *f, const struct assay_msg_self_test *t)
{
    char name[64];
    struct slot *s = NULL;

    slot_name(t->name, name, sizeof(name));
    for (unsigned i = 0; i < f->n_slots && s == NULL; i++) {
        if (strcmp(f->slots[i].name, name) == 0)
            s = &f->slots[i];
    }
    if (s == NULL && f->n_slots < SLOTS_MAX) {
        s = &f->slots[f->n_slots++];
        memcpy(s->name, name, sizeof(name));
    }
    for (size_t r = 0; s != NULL && r < N_RUNGS; r++) {
        /* Several slices: one that is bad is enough. */
        if (strcmp(t->rung, rungs[r]) == 0 &&
            s->verdict[r] != ASSAY_VERDICT_BAD)
            s->verdict[r] = t->verdict;
    }
}

static const char *word_of(uint32_t verdict)
{
    return verdict == ASSAY_VERDICT_GOOD  ? "ok"
           : verdict == ASSAY_VERDICT_BAD ? "BAD"
                                          : "-";
}

static void found(void *self, const struct assay_msg_self_test *t)
{
    struct findings *f = self;

    if (t->kind == ASSAY_SELF_TEST_END) {
        f->verdict = t->verdict;
        f->checks = t->checks;
        f->time_us = t->time_us;
        return;
    }
    if (t->kind > ASSAY_SELF_TEST_END)
        return; /* of a newer agent */
    if (t->kind == ASSAY_SELF_TEST_KERNEL)
        add_kernel(f, t);
    else if (f->n_others < OTHERS_MAX)
        snprintf(f->others[f->n_others++], LINE_MAX_BYTES,
                 "%-17s %-8s %.60s%s%.120s", kinds[t->kind],
                 word_of(t->verdict), t->name, t->name[0] != '\0' ? " " : "",
                 t->verdict == ASSAY_VERDICT_BAD ? "" : t->text);
    if (t->verdict == ASSAY_VERDICT_BAD) {
        f->n_bad++;
        if (f->n_bad_shown < OTHERS_MAX)
            snprintf(f->bad[f->n_bad_shown++], LINE_MAX_BYTES, "%.250s",
                     t->text);
    }
    json_array_append_new(
        f->items,
        json_pack("{s:s, s:o, s:o, s:s, s:o, s:i}", "kind", kinds[t->kind],
                  "name", assay_json_text(t->name), "rung",
                  assay_json_text(t->rung), "verdict", verdicts[t->verdict],
                  "text", assay_json_text(t->text), "checks", (int)t->checks));
}

/* No blanks at the end of a line. */
static void print_line(char *line)
{
    size_t n = strlen(line);

    while (n > 0 && line[n - 1] == ' ')
        line[--n] = '\0';
    puts(line);
}

/* A column for each rung that the board has. */
static void print_kernels(const struct findings *f)
{
    char head[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
    size_t n = (size_t)sprintf(head, "%-17s", "kernel");
    bool has[N_RUNGS] = {false};

    for (size_t r = 0; r < N_RUNGS; r++) {
        for (unsigned i = 0; i < f->n_slots; i++)
            has[r] = has[r] || f->slots[i].verdict[r] != 0;
        if (has[r])
            n += (size_t)sprintf(head + n, " %-8s", rungs[r]);
    }
    print_line(head);
    for (unsigned i = 0; i < f->n_slots; i++) {
        n = (size_t)sprintf(line, "%-17s", f->slots[i].name);
        for (size_t r = 0; r < N_RUNGS; r++) {
            if (has[r])
                n += (size_t)sprintf(line + n, " %-8s",
                                     word_of(f->slots[i].verdict[r]));
        }
        print_line(line);
    }
}

static void print_text(struct findings *f,
                       const struct assay_backend_info *info)
{
    char text[512];
    struct assay_num seconds = assay_num_f(2, (double)f->time_us / 1e6);

    printf("%s\n", assay_message(text, sizeof(text), ASSAY_MSG_SELF_TEST_BOARD,
                                 "board", info->agent.board_id, "agent",
                                 info->agent.build_id, NULL));
    print_kernels(f);
    for (unsigned i = 0; i < f->n_others; i++)
        print_line(f->others[i]);
    for (unsigned i = 0; i < f->n_bad_shown; i++)
        printf("BAD: %s\n", f->bad[i]);
    if (f->verdict == ASSAY_VERDICT_GOOD)
        assay_message(text, sizeof(text), ASSAY_MSG_SELF_TEST_PASSED, "checks",
                      assay_num_u(f->checks).text, "seconds", seconds.text,
                      NULL);
    else
        assay_message(text, sizeof(text), ASSAY_MSG_SELF_TEST_FAILED, "bad",
                      assay_num_u(f->n_bad).text, "checks",
                      assay_num_u(f->checks).text, "seconds", seconds.text,
                      NULL);
    puts(text);
}

static int report(struct findings *f, const struct assay_backend_info *info,
                  const struct assay_options *o, struct assay_err *err)
{
    int code = f->verdict == ASSAY_VERDICT_GOOD ? 0 : ASSAY_CLASS_AGENT;
    json_t *root = NULL;
    int rc = 0;

    if (!o->json_stdout)
        print_text(f, info);
    if (o->json_stdout || o->json != NULL) {
        if (f->items != NULL)
            root = json_pack("{s:s, s:o, s:o, s:b, s:I, s:I, s:O, s:i}",
                             "schema", "assay-self-test/1", "board",
                             assay_json_text(info->agent.board_id), "agent",
                             assay_json_text(info->agent.build_id), "passed",
                             code == 0, "checks", (json_int_t)f->checks,
                             "time_us", (json_int_t)f->time_us, "items",
                             f->items, "exit_code", code);
        rc = assay_cmd_write_json(o, root, err);
    }
    return rc < 0 ? rc : code;
}

/* An agent of before would take the question for a violation. */
static int check_known(const struct assay_backend_info *info,
                       struct assay_err *err)
{
    if (info->is_local || info->agent.health != ASSAY_HEALTH_UNKNOWN)
        return 0;
    return assay_fail_message(err, ASSAY_EVERSION, ASSAY_MSG_SELF_TEST_UNKNOWN,
                              "board", info->agent.board_id, "agent",
                              info->agent.build_id, NULL);
}

int assay_cmd_self_test(const struct assay_options *o, int argc, char **argv)
{
    static struct findings f; /* large */
    struct assay_backend *b = NULL;
    struct assay_backend_info info = {0};
    struct assay_err err = {0};
    int rc;

    (void)argc;
    (void)argv;
    memset(&f, 0, sizeof(f));
    f.items = json_array();
    assay_interrupt_install();
    rc = assay_cmd_open_board(&b, o, &err);
    if (rc == 0)
        rc = b->vt->info(b, &info, &err);
    if (rc == 0)
        rc = check_known(&info, &err);
    if (rc == 0)
        rc = b->vt->self_test(b, 0, found, &f, &err);
    if (rc == 0)
        rc = report(&f, &info, o, &err);
    if (rc < 0)
        rc = assay_cmd_failed(&err);
    if (b != NULL)
        b->vt->close(b);
    json_decref(f.items);
    return rc;
}
