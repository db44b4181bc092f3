/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for causes on one small convolution: what was put in is found,
 * what was not is not, a number is solved for, a part of the output and two
 * faults at once are found, causes that fit alike are told apart, and what is
 * found can be had on other inputs.
 * links: host-tools/cause/ host-tools/diff/ lib/core/ lib/engine/ops/
 * links: lib/engine/ kernels/ kernels/ref/
 * libs: -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/cause/separate.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

#define SIDE 6
#define IN 3
#define OUT 5
#define N ((size_t)SIDE * SIDE * OUT)

static int8_t weights[OUT * 3 * 3 * IN];
static int32_t bias[OUT];
static int8_t x[2][SIDE * SIDE * IN];
static const int64_t pre = 2, post = 9, low = -128, high = 127;
static int64_t scale[OUT];

static uint32_t random_bits(void)
{
    static uint32_t state = 12345;

    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static uint32_t tensor(struct assay_slice *s, const char *name,
                       enum assay_dtype dtype, uint32_t rank, int64_t a,
                       int64_t b, int64_t c, int64_t d, const void *data,
                       size_t size)
{
    const int64_t dims[4] = {a, b, c, d};
    struct assay_tensor *t;
    uint32_t index;

    assert_int_equal(assay_slice_add_tensor(s, &index, NULL), 0);
    t = &s->tensors[index];
    t->name = name;
    t->dtype = dtype;
    t->rank = rank;
    memcpy(t->dims, dims, rank * sizeof(*dims));
    t->role = data ? ASSAY_ROLE_CONSTANT : ASSAY_ROLE_INPUT;
    t->data = data;
    t->size = size;
    if (!data)
        strcpy(t->axes, "NHWC");
    return index;
}

static void add_step(struct assay_program *p, enum assay_step_kind kind,
                     uint32_t n, const int64_t *a, const int64_t *b,
                     uint8_t round, uint8_t bits)
{
    p->steps[p->n_steps++] = (struct assay_step){.kind = (uint8_t)kind,
                                                 .round = round,
                                                 .bits = bits,
                                                 .n = n,
                                                 .a = a,
                                                 .b = b};
}

/* 3x3, stride 2, padding at the bottom and right alone. */
static struct assay_slice *conv(void)
{
    struct assay_slice *s = assay_slice_new();
    struct assay_layer *l;
    uint32_t in, w, b, y, layer;

    assert_non_null(s);
    in = tensor(s, "x", ASSAY_S8, 4, 1, SIDE, SIDE, IN, NULL, 0);
    w = tensor(s, "w", ASSAY_S8, 4, OUT, 3, 3, IN, weights, sizeof(weights));
    b = tensor(s, "b", ASSAY_S32, 1, OUT, 0, 0, 0, bias, sizeof(bias));
    y = tensor(s, "y", ASSAY_S8, 4, 1, SIDE, SIDE, OUT, NULL, 0);
    s->tensors[y].role = ASSAY_ROLE_ACTIVATION;
    s->tensors[y].is_output = true;
    assert_int_equal(assay_slice_add_layer(s, 3, &layer, NULL), 0);
    l = &s->layers[0];
    l->name = "c";
    l->source_op = "Conv";
    l->op = ASSAY_OP_CONV2D;
    l->inputs[0] = in;
    l->inputs[1] = w;
    l->inputs[2] = b;
    l->output = y;
    l->p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                               .stride_w = 1,
                                               .dilation_h = 1,
                                               .dilation_w = 1,
                                               .pad_bottom = 2,
                                               .pad_right = 2,
                                               .groups = 1,
                                               .has_bias = true};
    add_step(&l->out_program, ASSAY_STEP_SHR, 1, &pre, NULL, ASSAY_ROUND_FLOOR,
             0);
    add_step(&l->out_program, ASSAY_STEP_SAT, 0, NULL, NULL, 0, 16);
    add_step(&l->out_program, ASSAY_STEP_MUL, OUT, scale, NULL, 0, 0);
    add_step(&l->out_program, ASSAY_STEP_SHR, 1, &post, NULL,
             ASSAY_ROUND_HALF_UP, 0);
    add_step(&l->out_program, ASSAY_STEP_CLAMP, 1, &low, &high, 0, 0);
    return s;
}

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(weights); i++)
        weights[i] = (int8_t)(random_bits() % 61) - 30;
    for (size_t i = 0; i < OUT; i++) {
        bias[i] = (int32_t)(random_bits() % 2001) - 1000;
        scale[i] = 3 + 2 * (int64_t)i;
    }
    for (size_t i = 0; i < sizeof(x[0]); i++) {
        x[0][i] = (int8_t)(random_bits() % 61) - 30;
        x[1][i] = (int8_t)(random_bits() % 61) - 30;
    }
    return 0;
}

/* ---- one question ---------------------------------------------------------- */

struct question {
    struct assay_slice *one;
    int8_t base[2][N], got[2][N];
    const void *inputs[2][1];
    struct assay_suspect_sample samples[2];
    struct assay_suspect s;
    struct assay_search *found;
};

static void open_question(struct question *q)
{
    struct assay_err err = {0};

    memset(q, 0, sizeof(*q));
    q->one = conv();
    for (int i = 0; i < 2; i++) {
        q->inputs[i][0] = x[i];
        if (assay_once(q->one, 0, q->inputs[i], 1, q->base[i], N, &err) != 0)
            fail_msg("%s", err.text);
        memcpy(q->got[i], q->base[i], N);
        q->samples[i] =
            (struct assay_suspect_sample){q->inputs[i], q->base[i], q->got[i]};
    }
    q->s = (struct assay_suspect){
        .one = q->one, .samples = q->samples, .n_samples = 2};
}

/* got: what these edits, one after the other, give. */
static void put_in(struct question *q, const char *const *edits, size_t n)
{
    struct assay_slice *changed;
    struct assay_err err = {0};
    uint32_t layer = 0;

    assert_int_equal(assay_slice_copy(&changed, q->one, &err), 0);
    for (size_t i = 0; i < n; i++) {
        struct assay_edit e;

        assert_int_equal(assay_edit_parse(&e, edits[i], &err), 0);
        assert_int_equal(assay_edit_apply(changed, &layer, &e, &err), 0);
    }
    for (int i = 0; i < 2; i++)
        if (assay_once(changed, 0, q->inputs[i], 1, q->got[i], N, &err) != 0)
            fail_msg("%s", err.text);
    assay_slice_free(changed);
}

static void ask(struct question *q)
{
    const struct assay_search_options o = {.pairs = true};
    struct assay_err err = {0};

    if (assay_cause_search(&q->found, &q->s, &o, &err) != 0)
        fail_msg("%s", err.text);
}

static void close_question(struct question *q)
{
    assay_search_free(q->found);
    assay_slice_free(q->one);
}

static bool is_proved(const struct question *q, const char *text)
{
    char other[160];

    for (size_t i = 0; i < q->found->n_proved; i++) {
        assay_hypothesis_text(&q->found->v[i], assay_suspect_output(&q->s),
                              other, sizeof(other));
        if (strcmp(other, text) == 0)
            return true;
    }
    return false;
}

static const char *const known[] = {
    "R13=floor",
    "R13=trunc",
    "R14",
    "R16=none",
    "R18=half_even",
    "R17=none",
    "B1",
    "B2=up",
    "B5",
    "P5=all:7",
    "P5=right:-128",
    "P5=excess_end:40",
    "P5=excess_right:9",
    "Q1",
    "Q4=up",
    "W2",
    "P5=all:300",
    "P5=bottom:-200",
};

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct question q;
        struct assay_err err = {0};
        struct assay_edit e;
        struct assay_slice *copy;
        uint32_t layer = 0;
        int rc;

        open_question(&q);
        assert_int_equal(assay_edit_parse(&e, known[i], &err), 0);
        assert_int_equal(assay_slice_copy(&copy, q.one, &err), 0);
        rc = assay_edit_apply(copy, &layer, &e, &err);
        assay_slice_free(copy);
        if (rc == 0)
            put_in(&q, &known[i], 1);
        ask(&q);
        if (memcmp(q.base, q.got, sizeof(q.base)) == 0) {
            assert_int_equal(q.found->n, 0);
        } else if (!is_proved(&q, known[i])) {
            fail_msg("'%s' is not among %zu proved ones", known[i],
                     q.found->n_proved);
        }
        close_question(&q);
    }
}

static void test_clean(void **state)
{
    struct question q;

    (void)state;
    open_question(&q);
    ask(&q);
    assert_int_equal(q.found->n, 0);
    assert_int_equal(q.found->n_proved, 0);
    assert_int_equal(q.found->differing, 0);
    close_question(&q);
}

/* Damaged bytes are no cause, be they few or many. */
static void test_damage(void **state)
{
    (void)state;
    for (unsigned k = 1; k <= 64; k *= 4) {
        struct question q;

        open_question(&q);
        for (unsigned i = 0; i < k; i++)
            q.got[random_bits() & 1][random_bits() % N] ^=
                (int8_t)(1 + random_bits() % 255);
        ask(&q);
        assert_int_equal(q.found->n_proved, 0);
        close_question(&q);
    }
}

/* Where a step of the output is many of the padding, what is equal and other
 * samples say which numbers are left. */
static void test_coarse(void **state)
{
    unsigned asked = 0;

    (void)state;
    for (int i = 0; i < OUT; i++)
        scale[i] = 1;
    for (int v = 1; v < 120; v += 2) {
        struct question q;
        char edit[32];
        const char *const edits[] = {edit};
        bool found = false;

        open_question(&q);
        snprintf(edit, sizeof(edit), "P5=all:%d", v);
        put_in(&q, edits, 1);
        ask(&q);
        for (size_t i = 0; i < q.found->n_proved; i++)
            found = found || q.found->v[i].edits[0].id == ASSAY_CAUSE_P5;
        if (memcmp(q.base, q.got, sizeof(q.base)) != 0 && !found)
            fail_msg("'%s' has no number", edit);
        asked += q.found->differing > 0;
        close_question(&q);
    }
    assert_true(asked > 20);
}

/* One element that was equal and is not reproduced is enough against it. */
static void test_breaks_one(void **state)
{
    static const char *const edits[] = {"R13=floor"};
    struct question q;

    (void)state;
    open_question(&q);
    put_in(&q, edits, 1);
    for (size_t i = 0; i < N; i++) {
        if (q.got[0][i] != q.base[0][i]) {
            q.got[0][i] = q.base[0][i];
            break;
        }
    }
    ask(&q);
    assert_false(is_proved(&q, "R13=floor"));
    assert_true(q.found->n > 0);
    close_question(&q);
}

static void test_part(void **state)
{
    static const char *const edits[] = {"R13=floor"};
    struct question q;

    (void)state;
    open_question(&q);
    put_in(&q, edits, 1);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < N; i++)
            if (i % OUT != OUT - 1)
                q.got[k][i] = q.base[k][i];
    ask(&q);
    assert_true(is_proved(&q, "R13=floor on channel 4"));
    close_question(&q);
}

static void test_two(void **state)
{
    static const char *const edits[] = {"B5", "R13=floor"};
    struct question q;

    (void)state;
    open_question(&q);
    put_in(&q, edits, 2);
    ask(&q);
    assert_true(q.found->n_proved > 0);
    assert_true(is_proved(&q, "R13=floor and B5") ||
                is_proved(&q, "B5 and R13=floor"));
    close_question(&q);
}

/* Each class has its output, groups are those of equal ones; one that is
 * struck out leaves the others in order. */
static void check_settled(struct question *q, const struct assay_separation *a)
{
    uint32_t before = q->found->n_classes;
    size_t left = 0;

    assert_int_equal(a->n_classes, before);
    for (uint32_t i = 0; i < before; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_int_equal(a->group[i] == a->group[k],
                             memcmp(a->outputs[i], a->outputs[k], N) == 0);
    for (size_t i = 0; i < q->found->n_proved; i++) {
        bool same = a->group[q->found->v[i].class_number - 1] == a->group[0];

        q->found->v[i].proved = !same;
        q->found->v[i].struck = same;
        left += !same;
    }
    assay_search_sort(q->found);
    assert_true(left > 0 && left == q->found->n_proved);
    assert_true(q->found->n_classes < before && q->found->n_classes > 0);
    assert_int_equal(q->found->v[0].class_number, 1);
    for (size_t i = 0; i < q->found->n; i++)
        assert_int_equal(q->found->v[i].proved, i < left);
    assert_true(q->found->v[left].struck);
}

/* Floor and truncation are the same where nothing is negative. */
static void test_apart(void **state)
{
    static const char *const edits[] = {"R13=floor"};
    struct assay_separation apart;
    struct assay_err err = {0};
    struct question q;

    (void)state;
    memset(x, 0, sizeof(x));
    for (size_t i = 0; i < OUT; i++)
        bias[i] = 777 + 3 * (int32_t)i;
    open_question(&q);
    put_in(&q, edits, 1);
    ask(&q);
    assert_true(is_proved(&q, "R13=floor"));
    assert_true(is_proved(&q, "R13=trunc"));
    assert_true(q.found->n_classes > 1);
    assert_int_equal(assay_cause_separate(&apart, &q.s, q.found, 0, &err), 0);
    assert_true(apart.n_groups > 1);
    assert_true(apart.differing > 0);
    check_settled(&q, &apart);
    assay_separation_close(&apart);
    close_question(&q);
}

/* What apply says of the samples is what the search counted. */
static void test_apply_counts(void **state)
{
    static const char *const edits[] = {"R13=floor"};
    static uint8_t out[N];
    uint8_t *const to = out;
    struct assay_err err = {0};
    struct question q;
    size_t whole = 0;

    (void)state;
    open_question(&q);
    put_in(&q, edits, 1);
    ask(&q);
    assert_true(q.found->n > 2);
    for (size_t i = 0; i < q.found->n; i++) {
        const struct assay_hypothesis *h = &q.found->v[i];
        uint64_t matched = 0, both = 0;

        if (h->scope.kind != ASSAY_SCOPE_ALL)
            continue;
        for (int k = 0; k < 2; k++) {
            uint64_t differing, one;

            if (assay_cause_apply(&to, &q.s, &h, 1, q.inputs[k], q.base[k], 0,
                                  &err) != 0)
                fail_msg("%s", err.text);
            matched += assay_cause_count(&q.s, q.base[k], q.got[k], out,
                                         &differing, &one);
            both += one;
        }
        assert_int_equal(matched, h->all_matched);
        assert_int_equal(both, h->differing_matched);
        whole++;
    }
    assert_true(whole > 2);
    close_question(&q);
}

/* Outside of its scope a hypothesis leaves everything as it was. */
static void test_apply_scope(void **state)
{
    struct assay_hypothesis h = {
        .n_edits = 1, .scope = {.kind = ASSAY_SCOPE_CHANNEL, .n = OUT - 1}};
    const struct assay_hypothesis *v[] = {&h};
    static const char *const edits[] = {"R13=floor"};
    static uint8_t out[N];
    uint8_t *const to = out;
    struct assay_err err = {0};
    struct question q;
    size_t changed = 0;

    (void)state;
    assert_int_equal(assay_edit_parse(&h.edits[0], edits[0], &err), 0);
    open_question(&q);
    put_in(&q, edits, 1); /* got: floor everywhere */
    assert_int_equal(
        assay_cause_apply(&to, &q.s, v, 1, q.inputs[0], q.base[0], 0, &err), 0);
    for (size_t i = 0; i < N; i++) {
        bool inside = i % OUT == OUT - 1;

        assert_int_equal((int8_t)out[i], inside ? q.got[0][i] : q.base[0][i]);
        changed += (int8_t)out[i] != q.base[0][i];
    }
    assert_true(changed > 0);
    close_question(&q);
}

/* Sums of 16 bits are no slice, and can be had on any input all the same. */
static void test_apply_sums(void **state)
{
    struct assay_hypothesis h = {.n_edits = 1};
    const struct assay_hypothesis *v[] = {&h};
    static uint8_t out[N];
    uint8_t *const to = out;
    struct assay_err err = {0};
    struct question q;

    (void)state;
    memset(weights, -128, sizeof(weights));
    assert_int_equal(assay_edit_parse(&h.edits[0], "A1=pairs", &err), 0);
    open_question(&q);
    assert_int_equal(
        assay_cause_apply(&to, &q.s, v, 1, q.inputs[0], q.base[0], 0, &err), 0);
    assert_memory_equal(out, q.base[0], N); /* small numbers do not wrap */
    memset(x[0], -128, sizeof(x[0]));
    for (size_t i = 0; i < OUT; i++)
        scale[i] = 1;
    assert_int_equal(assay_once(q.one, 0, q.inputs[0], 1, q.base[0], N, &err),
                     0);
    assert_int_equal(
        assay_cause_apply(&to, &q.s, v, 1, q.inputs[0], q.base[0], 0, &err), 0);
    assert_memory_not_equal(out, q.base[0], N);
    close_question(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_known, fill),
        cmocka_unit_test_setup(test_clean, fill),
        cmocka_unit_test_setup(test_damage, fill),
        cmocka_unit_test_setup(test_breaks_one, fill),
        cmocka_unit_test_setup(test_part, fill),
        cmocka_unit_test_setup(test_two, fill),
        cmocka_unit_test_setup(test_apart, fill),
        cmocka_unit_test_setup(test_apply_counts, fill),
        cmocka_unit_test_setup(test_apply_scope, fill),
        cmocka_unit_test_setup(test_apply_sums, fill),
        cmocka_unit_test_setup(test_coarse, fill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
