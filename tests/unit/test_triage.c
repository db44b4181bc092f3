/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages: a break is found at the first given step that spans it, for every
 * subset of the stages; the policy's limits; symptoms; what is refused.
 *
 * links: host-tools/triage/ host-tools/vendor/ host-tools/model/file.c
 * links: host-tools/model/model_info.c
 * links: host-tools/model/npz.c host-tools/model/npz_write.c
 * links: host-tools/model/archive.c host-tools/model/npy.c lib/core/
 * libs: -ljansson -lyaml -lzip -lmbedcrypto -lxxhash
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/triage/triage.h"

#define SAMPLES 2
#define N 24
#define SCALE 0.05

static char root[] = "/tmp/test_triage.XXXXXX";

/* A value that depends on all of these and on nothing else. */
static double noise(int stage, int sample, int tensor, int i)
{
    uint64_t x = (uint64_t)(stage * 7919 + sample * 613 + tensor * 31 + i + 1);

    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    return (double)(x % 20001) / 10000.0 - 1.0;
}

/* What a tensor holds in a stage, where tensor 1 and 2 are unrelated to what
 * they were from `broken` on. */
static double value(int stage, int broken, int sample, int tensor, int i)
{
    int era = tensor > 0 && stage >= broken ? 100 : 0;
    double v = 5 * noise(era, sample, tensor, i);

    if (stage == ASSAY_STAGE_FLOAT)
        return v;
    return SCALE * rint(v / SCALE); /* the others are quantized */
}

static void write_sample(const char *path, int stage, int broken, int sample)
{
    static const char *const names[] = {"input", "conv", "head"};
    const int64_t dims[] = {1, N};
    struct assay_npz_writer *w;
    struct assay_err err;

    assert_int_equal(assay_npz_create(&w, path, &err), 0);
    for (int t = 0; t < 3; t++) {
        float f[N];
        int8_t q[N];
        bool whole = stage >= ASSAY_STAGE_QUANTIZED_BC;

        for (int i = 0; i < N; i++) {
            f[i] = (float)value(stage, broken, sample, t, i);
            q[i] = (int8_t)rint(f[i] / SCALE);
        }
        assert_int_equal(assay_npz_add(w, names[t],
                                       whole ? ASSAY_S8 : ASSAY_F32, 2, dims,
                                       whole ? (void *)q : (void *)f, &err),
                         0);
    }
    assert_int_equal(assay_npz_finish(w, &err), 0);
}

static const char *stage_path(int broken, int stage)
{
    static char path[8][200];

    snprintf(path[stage], sizeof(path[0]), "%s/%d/%s", root, broken,
             assay_stage_info((enum assay_stage)stage)->name);
    return path[stage];
}

static int make_sets(void **state)
{
    char path[2048];

    (void)state;
    if (mkdtemp(root) == NULL)
        return -1;
    for (int broken = 1; broken <= ASSAY_STAGE_COUNT; broken++) {
        snprintf(path, sizeof(path), "%s/%d", root, broken);
        mkdir(path, 0700);
        for (int s = 0; s < ASSAY_STAGE_COUNT; s++) {
            mkdir(stage_path(broken, s), 0700);
            for (int k = 0; k < SAMPLES; k++) {
                snprintf(path, sizeof(path), "%s/%04d.npz",
                         stage_path(broken, s), k);
                write_sample(path, s, broken, k);
            }
        }
    }
    return 0;
}

static int remove_sets(void **state)
{
    char path[2048];

    (void)state;
    for (int broken = 1; broken <= ASSAY_STAGE_COUNT; broken++) {
        for (int s = 0; s < ASSAY_STAGE_COUNT; s++) {
            for (int k = 0; k < SAMPLES; k++) {
                snprintf(path, sizeof(path), "%s/%04d.npz",
                         stage_path(broken, s), k);
                unlink(path);
            }
            rmdir(stage_path(broken, s));
        }
        snprintf(path, sizeof(path), "%s/%d", root, broken);
        rmdir(path);
    }
    snprintf(path, sizeof(path), "%s/empty", root);
    rmdir(path);
    return rmdir(root);
}

static const char *const scales[] = {"input=0.05", "conv=0.05", "head=0.05"};

static void subset(int broken, unsigned given)
{
    struct assay_triage_request r = {.scales = scales, .n_scales = 3};
    const struct assay_model_note note = {0};
    struct assay_triage t;
    struct assay_err err = {0};
    int from = -1, to = -1, before = -1;

    for (int s = 0; s < ASSAY_STAGE_COUNT; s++) {
        if ((given & 1u << s) == 0)
            continue;
        r.stage[s] = stage_path(broken, s);
        if (before >= 0 && before < broken && broken <= s) {
            from = before;
            to = s;
        }
        before = s;
    }
    if (assay_triage_run(&t, &r, &note, &err) != 0)
        fail_msg("%d %02x: %s", broken, given, err.text);
    if (from < 0) {
        if (t.first >= 0)
            fail_msg("%d %02x: breaks at %d", broken, given,
                     t.steps[t.first].to);
        assert_int_equal(t.exit_code, 0);
    } else {
        if (t.first < 0)
            fail_msg("%d %02x: nothing breaks", broken, given);
        if ((int)t.steps[t.first].from != from ||
            (int)t.steps[t.first].to != to)
            fail_msg("%d %02x: %d to %d", broken, given, t.steps[t.first].from,
                     t.steps[t.first].to);
        assert_int_equal(t.exit_code, 1);
        assert_string_equal(
            t.steps[t.first].tensors[t.steps[t.first].first].name, "conv");
        for (uint32_t i = 0; i < t.n_steps; i++)
            if ((int)i != t.first)
                assert_int_equal(t.steps[i].verdict, ASSAY_STEP_OK);
    }
    assay_triage_close(&t);
}

/* 247 subsets of two or more of 8 stages, a break at each of 7 steps and one
 * set that is clean. */
static void test_every_subset(void **state)
{
    int n = 0;

    (void)state;
    for (int broken = 1; broken <= ASSAY_STAGE_COUNT; broken++)
        for (unsigned given = 0; given < 256; given++)
            if ((given & (given - 1)) != 0) {
                subset(broken, given);
                n++;
            }
    assert_int_equal(n, 8 * 247);
}

static void test_limits_add_up(void **state)
{
    struct assay_transition t = {.from = ASSAY_STAGE_QUANTIZED_BC,
                                 .to = ASSAY_STAGE_BOARD};

    (void)state;
    assay_policy_limits(&t);
    assert_true(t.exact);
    t.from = ASSAY_STAGE_QAT_EXPORT;
    assay_policy_limits(&t);
    assert_false(t.exact);
    /* acos(0.9999) + acos(0.995), and 0.015 + 0.1 */
    assert_true(fabs(t.cosine_min - 0.993488) < 1e-5);
    assert_true(fabs(t.error_max - 0.115) < 1e-9);
    assert_int_equal(assay_policy_sides(ASSAY_STAGE_FLOAT, ASSAY_STAGE_QAT),
                     1u << ASSAY_SIDE_TRAINING);
}

/* ---- symptoms -------------------------------------------------------------- */

static struct assay_array floats(float *v, int64_t n)
{
    return (struct assay_array){.name = (char *)"x",
                                .dtype = ASSAY_F32,
                                .rank = 1,
                                .dims = {n},
                                .bytes = (size_t)n * 4,
                                .data = v};
}

static uint32_t symptoms(enum assay_stage to, float *a, float *b, double scale)
{
    struct assay_array x = floats(a, N), y = floats(b, N);
    struct assay_pair_scale q = {.scale = scale};
    struct assay_sample_step sample = {0};
    struct assay_transition t = {.from = (enum assay_stage)(to - 1),
                                 .to = to,
                                 .samples = &sample,
                                 .n_samples = 1};
    struct assay_tensor_step step = {.name = "x", .samples = 1};
    uint8_t perm[ASSAY_MAX_RANK];

    assay_policy_limits(&t);
    assert_int_equal(assay_pair_check(&x, &y, &q, &q, perm), ASSAY_COMPARABLE);
    assay_pair_compare(&step.worst, &x, &y, &q, &q, perm);
    return assay_symptoms_find(&t, &step);
}

static void test_symptoms(void **state)
{
    float a[N], b[N];

    (void)state;
    for (int i = 0; i < N; i++)
        a[i] = (float)(5 * noise(0, 0, 1, i));
    memset(b, 0, sizeof(b));
    assert_int_equal(symptoms(ASSAY_STAGE_QAT_BC, a, b, 0),
                     1u << ASSAY_SYMPTOM_ALL_ZERO);
    for (int i = 0; i < N; i++)
        b[i] = a[i] + 0.75f;
    assert_int_equal(symptoms(ASSAY_STAGE_QAT_BC, a, b, 0),
                     1u << ASSAY_SYMPTOM_OFFSET);
    for (int i = 0; i < N; i++)
        b[i] = a[i] * 2;
    assert_int_equal(symptoms(ASSAY_STAGE_QAT_BC, a, b, 0),
                     1u << ASSAY_SYMPTOM_FACTOR);
    for (int i = 0; i < N; i++)
        b[i] = a[N - 1 - i];
    assert_int_equal(symptoms(ASSAY_STAGE_QAT_BC, a, b, 0),
                     1u << ASSAY_SYMPTOM_PERMUTED);
    memcpy(b, a, sizeof(b));
    b[3] = NAN;
    assert_int_equal(symptoms(ASSAY_STAGE_QAT_BC, a, b, 0),
                     1u << ASSAY_SYMPTOM_NAN);
    /* As many as before, elsewhere. */
    a[2] = NAN;
    assert_int_equal(symptoms(ASSAY_STAGE_QAT_BC, a, b, 0),
                     1u << ASSAY_SYMPTOM_NAN);
    a[2] = b[2];
    /* Zeros of another sign are in no other order. */
    memset(a, 0, sizeof(a));
    for (int i = 0; i < N; i++)
        b[i] = i % 2 == 0 ? -0.0f : 0.0f;
    a[0] = b[0] = 1.0f;
    assert_int_equal(symptoms(ASSAY_STAGE_BOARD, a, b, 0), 0);
    for (int i = 0; i < N; i++)
        a[i] = (float)(5 * noise(0, 0, 1, i));
    for (int i = 0; i < N; i++)
        b[i] = fminf(fmaxf(a[i], -1.0f), 1.0f);
    assert_int_equal(symptoms(ASSAY_STAGE_QAT_BC, a, b, 0),
                     1u << ASSAY_SYMPTOM_SATURATED);
    for (int i = 0; i < N; i++) {
        a[i] = (float)(i - 12) * 0.5f;
        b[i] = a[i] + (i % 3 == 0 ? 0.5f : 0);
    }
    assert_int_equal(symptoms(ASSAY_STAGE_BOARD, a, b, 0.5),
                     1u << ASSAY_SYMPTOM_ROUNDING);
    memcpy(b, a, sizeof(b));
    b[0] += 0.5f;
    assert_int_equal(symptoms(ASSAY_STAGE_BOARD, a, b, 0.5),
                     1u << ASSAY_SYMPTOM_LOW_END);
}

/* ---- what can be compared -------------------------------------------------- */

static void test_pairs(void **state)
{
    float f[24];
    int8_t q[24];
    struct assay_array a = floats(f, 24), b = a;
    struct assay_pair_scale none = {0}, scale = {.scale = 0.5};
    struct assay_pair_stats s;
    uint8_t perm[ASSAY_MAX_RANK];

    (void)state;
    for (int i = 0; i < 24; i++)
        f[i] = (float)i * 0.5f;
    a.rank = 4;
    memcpy(a.dims, (int64_t[]){1, 2, 3, 4}, 32); /* NHWC */
    b = a;
    b.dtype = ASSAY_S8;
    b.bytes = 24;
    b.data = q;
    memcpy(b.dims, (int64_t[]){1, 4, 2, 3}, 32); /* NCHW */
    for (int h = 0; h < 2; h++)
        for (int w = 0; w < 3; w++)
            for (int c = 0; c < 4; c++)
                q[(c * 2 + h) * 3 + w] = (int8_t)((h * 3 + w) * 4 + c);
    assert_int_equal(assay_pair_check(&a, &b, &none, &none, perm),
                     ASSAY_BAD_SCALE);
    assert_int_equal(assay_pair_check(&a, &b, &scale, &scale, perm),
                     ASSAY_COMPARABLE);
    assay_pair_compare(&s, &a, &b, &scale, &scale, perm);
    assert_int_equal(s.differing, 0);
    assert_true(assay_pair_cosine(&s) == 1.0);
    q[5]++;
    assay_pair_compare(&s, &a, &b, &scale, &scale, perm);
    assert_int_equal(s.differing, 1);
    assert_true(assay_pair_lsb(&s) == 1.0);
    b.dims[3] = 2;
    b.bytes = 16;
    assert_int_equal(assay_pair_check(&a, &b, &scale, &scale, perm),
                     ASSAY_BAD_SHAPE);
}

/* Within one LSB a float step never breaks; a bit breaks an exact one. */
static void test_policy_judges(void **state)
{
    struct assay_transition t = {.from = ASSAY_STAGE_QAT_BC,
                                 .to = ASSAY_STAGE_QUANTIZED_BC};
    struct assay_pair_stats s = {.n = 8,
                                 .differing = 8,
                                 .aa = 1,
                                 .bb = 4,
                                 .ab = 1,
                                 .dd = 3,
                                 .max_abs = 0.5,
                                 .unit = 0.5};

    (void)state;
    assay_policy_limits(&t);
    assert_int_equal(assay_policy_judge(&t, &s), ASSAY_REASON_NONE);
    s.unit = 0.2;
    assert_int_equal(assay_policy_judge(&t, &s), ASSAY_REASON_COSINE);
    s.ab = 2;
    s.dd = 1;
    assert_int_equal(assay_policy_judge(&t, &s), ASSAY_REASON_ERROR);
    s.odd = 1;
    assert_int_equal(assay_policy_judge(&t, &s), ASSAY_REASON_ODD);
    t.from = ASSAY_STAGE_HBM;
    t.to = ASSAY_STAGE_BOARD;
    assay_policy_limits(&t);
    assert_int_equal(assay_policy_judge(&t, &s), ASSAY_REASON_BITS);
}

/* A step within its limit that is far worse than those before. */
static void test_drift(void **state)
{
    struct assay_tensor_step x[2];
    struct assay_sample_step samples[2] = {{0}, {0}};
    struct assay_transition t[2];

    (void)state;
    memset(x, 0, sizeof(x));
    memset(t, 0, sizeof(t));
    for (int i = 0; i < 2; i++) {
        t[i].from = (enum assay_stage)(ASSAY_STAGE_QAT_EXPORT + i);
        t[i].to = (enum assay_stage)(ASSAY_STAGE_QAT_BC + i);
        t[i].tensors = &x[i];
        t[i].samples = &samples[i];
        t[i].n = t[i].n_samples = 1;
        assay_policy_limits(&t[i]);
        x[i].samples = 1;
        x[i].worst = (struct assay_pair_stats){
            .n = 10, .aa = 1, .bb = 1, .ab = 1, .dd = 1e-6, .max_abs = 0.1};
    }
    x[1].worst.dd = 0.07 * 0.07; /* limit 0.1 */
    assay_policy_drift(t, 2);
    assert_int_equal(t[1].verdict, ASSAY_STEP_BREAKS);
    assert_int_equal(x[1].reason, ASSAY_REASON_DRIFT);
    t[1].verdict = ASSAY_STEP_OK;
    x[0].worst.dd = 0.01 * 0.01;
    assay_policy_drift(t, 2);
    assert_int_equal(t[1].verdict, ASSAY_STEP_OK);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(assay_tensor_same_name("/backbone/c3", "backbone.c3"));
    assert_true(assay_tensor_same_name("conv", "conv#0"));
    assert_false(assay_tensor_same_name("conv", "conv#1"));
    assert_false(assay_tensor_same_name("conv", "conv1"));
}

static int run_one(struct assay_triage_request *r, struct assay_err *err)
{
    const struct assay_model_note note = {0};
    struct assay_triage t;
    int rc = assay_triage_run(&t, r, &note, err);

    assay_triage_close(&t);
    return rc;
}

static void test_refusals(void **state)
{
    static const char *const bad[] = {"x",       "=1",      "x=",
                                      "x=0",     "x=-1",    "x=nan",
                                      "x=1e400", "x=1,2,3", "x=1,99999999999"};
    char folder[200];
    struct assay_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assay_triage_request r = {.scales = &bad[i], .n_scales = 1};

        r.stage[0] = stage_path(1, 0);
        r.stage[1] = stage_path(1, 1);
        assert_true(run_one(&r, &err) < 0);
        assert_non_null(strstr(err.text, "scale"));
    }
    {
        struct assay_triage_request r = {.stage = {stage_path(1, 0)}};

        assert_int_equal(run_one(&r, &err), ASSAY_EUSAGE);
        assert_non_null(strstr(err.text, "two stages are needed"));
        snprintf(folder, sizeof(folder), "%s/empty", root);
        mkdir(folder, 0700);
        r.stage[1] = folder;
        assert_int_equal(run_one(&r, &err), ASSAY_EFORMAT);
        assert_non_null(strstr(err.text, "no npz and no npy"));
        r.stage[1] = "/does/not/exist.npz";
        assert_true(run_one(&r, &err) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_subset),
        cmocka_unit_test(test_limits_add_up),
        cmocka_unit_test(test_symptoms),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_policy_judges),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
