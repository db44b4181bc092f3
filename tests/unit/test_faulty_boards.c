/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `assay run` against boards that are wrong on purpose: the in-process engine
 * behind a backend that flips results, dies, hangs up or lies about sizes.
 *
 * links: host-tools/cmd.c host-tools/cmd_json.c
 * links: host-tools/cmd_run.c host-tools/cmd_impact.c
 * links: host-tools/run_*.c host-tools/select.c host-tools/impact*.c
 * links: host-tools/prepare*.c host-tools/preflight.c host-tools/chain*.c
 * links: host-tools/previous.c host-tools/journal_*.c
 * links: host-tools/image_options.c host-tools/image_wanted.c
 * links: host-tools/image_received*.c host-tools/image_fed.c
 * links: host-tools/step_text.c host-tools/fit_case.c host-tools/fit/
 * links: host-tools/progress.c host-tools/interrupt.c host-tools/local.c
 * links: host-tools/messages.c host-tools/options.c
 * links: host-tools/options_reading.c host-tools/options_value.c
 * links: host-tools/local_self_test.c
 * links: host-tools/vendor/ host-tools/cause/ host-tools/output/
 * links: host-tools/image/ host-tools/diff/ host-tools/report/
 * links: host-tools/model/ gen/host-tools/model/onnx.pb-c.c
 * links: proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lprotobuf-c -lzip -ljansson -lyaml -lxxhash -lmbedcrypto -lz -lpng -ljpeg
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/backend.h"
#include "host-tools/cmd.h"
#include "kernels/cpu.h"

#define CASE "tests/data/digits"

enum fault {
    NONE,
    WRONG_VECTOR, /* wrong unless the mask forbids vector kernels */
    WRONG_CPU,    /* wrong always */
    WRONG_SCALAR, /* only when the mask allows nothing else */
    FLAKY,        /* wrong in every fifth run */
    CRASH,
    LOST,
    LOST_LATER, /* when a layer is run on given inputs */
    SLOW_LAYER,
    SHORT_RESULT,
    WILD_LAYER,
    BUSY, /* refuses the load */
};

/* A board: the local engine, with one fault in one layer. */
static struct {
    struct assay_backend base;
    struct assay_backend *inner;
    enum fault fault;
    const char *layer;
    const struct assay_slice *slice;
    unsigned runs, isolated_runs, asked;
    size_t given_bytes, isolated_bytes;
} board;

struct relay {
    const struct assay_results *results;
    bool flip, isolated, scalar;
    int rc;
};

static bool faulty(uint32_t layer)
{
    return strcmp(board.slice->layers[layer].name, board.layer) == 0;
}

static int relay_layer(void *self, uint32_t layer, const void *data,
                       size_t bytes, const char *kernel, uint64_t time_us)
{
    struct relay *r = self;
    const struct assay_results *to = r->results;
    bool vector = !r->scalar;
    uint8_t *copy;
    int rc;

    if (to->begin != NULL)
        to->begin(to->self, layer, vector ? "assay_x__neon" : kernel);
    if (!faulty(layer))
        return to->layer(to->self, layer, data, bytes, kernel, time_us);
    switch (board.fault) {
    case CRASH: r->rc = ASSAY_ECRASH; return r->rc;
    case LOST: r->rc = ASSAY_ELOST; return r->rc;
    case LOST_LATER:
        if (!r->isolated)
            break;
        r->rc = ASSAY_ELOST;
        return r->rc;
    case SLOW_LAYER: r->rc = ASSAY_ELAYER_TIMEOUT; return r->rc;
    case SHORT_RESULT:
        return to->layer(to->self, layer, data, bytes - 1, kernel, time_us);
    case WILD_LAYER:
        return to->layer(to->self, 1000000, data, bytes, kernel, time_us);
    default: break;
    }
    if (!r->flip)
        return to->layer(to->self, layer, data, bytes, kernel, time_us);
    copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, data, bytes);
    copy[bytes / 2] ^= 1;
    rc = to->layer(to->self, layer, copy, bytes, kernel, time_us);
    free(copy);
    return rc;
}

static int relay_missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct relay *r = self;

    return r->results->missing(r->results->self, layer, tensor);
}

static int board_run(struct assay_backend *b,
                     const struct assay_backend_run *run,
                     const struct assay_results *results, struct assay_err *err)
{
    struct relay relay = {.results = results};
    struct assay_results inner = {
        .self = &relay, .layer = relay_layer, .missing = relay_missing};
    int rc;

    (void)b;
    board.runs++;
    board.isolated_runs += run->isolated;
    board.asked += run->probe_work > 0;
    relay.isolated = run->isolated;
    relay.scalar = run->cpumask == 0;
    for (size_t i = 0; i < run->n_given; i++)
        *(run->isolated ? &board.isolated_bytes : &board.given_bytes) +=
            run->given[i].bytes;
    relay.flip = board.fault == WRONG_CPU ||
                 (board.fault == WRONG_SCALAR && run->cpumask == 0) ||
                 (board.fault == FLAKY && board.runs % 5 == 0) ||
                 (board.fault == WRONG_VECTOR && run->cpumask != 0);
    rc = board.inner->vt->run(board.inner, run, &inner, err);
    if (relay.rc != 0)
        return assay_fail(err, relay.rc, "the board's own words");
    return rc;
}

static int board_info(struct assay_backend *b, struct assay_backend_info *out,
                      struct assay_err *err)
{
    int rc = board.inner->vt->info(board.inner, out, err);

    (void)b;
    out->agent.board_id = "faulty";
    out->agent.cpu_flags = ASSAY_CPU_NEON;
    out->agent.kernels = "neon";
    out->agent.features = "asimd";
    return rc;
}

static int board_load(struct assay_backend *b, const struct assay_slice *slice,
                      struct assay_err *err)
{
    (void)b;
    if (board.fault == BUSY)
        return assay_fail(err, ASSAY_EBUSY, "leased to somebody");
    board.slice = slice;
    return board.inner->vt->load(board.inner, slice, err);
}

static uint64_t board_received(struct assay_backend *b)
{
    (void)b;
    return 1;
}

static void board_close(struct assay_backend *b)
{
    (void)b;
    board.inner->vt->close(board.inner);
}

int assay_client_open(struct assay_backend **out,
                      const struct assay_client_options *options,
                      struct assay_err *err)
{
    static const struct assay_backend_vtable vt = {
        .info = board_info,
        .load = board_load,
        .run = board_run,
        .received = board_received,
        .close = board_close,
    };
    int rc = assay_local_open(&board.inner, 0, err);

    assert_string_equal(options->target, "board:1");
    board.base.vt = &vt;
    *out = &board.base;
    return rc;
}

static json_t *report; /* of the last run */
static const char *case_path = CASE;

/* Runs the case on the faulty board with further options. */
static int run(enum fault fault, const char *layer, const char *more)
{
    static char copy[512];
    char path[] = "test-run-XXXXXX";
    char *argv[64] = {"assay", "run",    "",   "--target", "board:1",
                      "-q",    "--json", path, NULL};
    char folder[128];
    int argc = 8, code, fd = mkstemp(path);
    struct assay_options o;
    struct assay_err err;
    FILE *quiet;

    memset(&board, 0, sizeof(board));
    board.fault = fault;
    board.layer = layer;
    snprintf(copy, sizeof(copy), "%s", more);
    for (char *p = strtok(copy, " "); p != NULL; p = strtok(NULL, " "))
        argv[argc++] = p;
    snprintf(folder, sizeof(folder), "%s", case_path);
    argv[2] = folder;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(assay_options_parse(&o, argc - 1, argv + 1, &err), 0);
    /* The table of each run is not of interest here. */
    fflush(stdout);
    quiet = stdout;
    stdout = fopen("/dev/null", "w");
    assert_non_null(stdout);
    code = assay_cmd_run(&o, argc, argv);
    fclose(stdout);
    stdout = quiet;
    json_decref(report);
    report = json_load_file(path, 0, NULL);
    unlink(path);
    return code;
}

static const char *word(const char *key)
{
    const char *s = json_string_value(json_object_get(report, key));

    return s != NULL ? s : "";
}

static const json_t *layer_of(const char *name)
{
    size_t i;
    json_t *l;

    json_array_foreach(json_object_get(report, "layers"), i, l)
    {
        if (strcmp(json_string_value(json_object_get(l, "name")), name) == 0)
            return l;
    }
    fail_msg("no layer '%s' in the report", name);
    return NULL;
}

static const char *status_of(const char *name)
{
    return json_string_value(json_object_get(layer_of(name), "status"));
}

static json_int_t coverage(const char *key)
{
    return json_integer_value(
        json_object_get(json_object_get(report, "coverage"), key));
}

static void a_good_board(void **state)
{
    (void)state;
    assert_int_equal(run(NONE, "", ""), 0);
    assert_string_equal(word("verdict"), "match");
    assert_int_equal(board.runs, 4); /* one a sample: nothing to isolate */
    assert_int_equal(board.isolated_runs, 0);
    assert_int_equal(coverage("compared"), 21);
}

/* An older agent is asked and tells nothing: this process counts, with the
 * samples' sums merged. */
static void a_board_without_probes(void **state)
{
    const json_t *l, *sums;

    (void)state;
    assert_int_equal(run(NONE, "", ""), 0);
    assert_int_equal(board.asked, 4);
    l = layer_of("conv1");
    sums = json_object_get(l, "accumulator");
    assert_int_equal(json_integer_value(json_object_get(sums, "min")), -50278);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(l, "exercised"), "by")),
                        "host");
    /* Only the run that is judged is asked, not what attribution re-runs. */
    assert_int_equal(run(WRONG_VECTOR, "conv2", ""), 4);
    assert_true(board.runs > 4);
    assert_int_equal(board.asked, 4);
}

static void a_wrong_vector_kernel(void **state)
{
    const json_t *columns;

    (void)state;
    assert_int_equal(run(WRONG_VECTOR, "conv2", ""), 4);
    assert_string_equal(word("verdict"), "assay-kernel");
    assert_string_equal(status_of("conv2"), "diverged");
    assert_string_equal(status_of("conv1"), "exact");
    columns = json_object_get(layer_of("conv2"), "columns");
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(columns, "cpu-scalar"), "mismatch")),
                     0);
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(columns, "host"), "mismatch")),
                     0);
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(columns, "cpu"), "mismatch")),
                     4); /* one a sample */
}

static void a_wrong_cpu(void **state)
{
    (void)state;
    assert_int_equal(run(WRONG_CPU, "conv2", ""), 4);
    assert_string_equal(word("verdict"), "board-cpu");
    /* A scalar run of the same board: the host still tells. */
    assert_int_equal(run(WRONG_CPU, "conv2", "--cpumask 0"), 4);
    assert_string_equal(word("verdict"), "board-cpu");
    assert_int_equal(run(WRONG_VECTOR, "conv2", "--cpumask 0"), 0);
}

static json_int_t number_in(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* Fifteen runs of each of four samples: plain, without capture, scalar. */
static void a_flaky_board(void **state)
{
    const json_t *repeat, *kinds;
    json_t *culprits;

    (void)state;
    assert_int_equal(run(FLAKY, "conv2", "--repeat 15"), 6);
    assert_int_equal(board.runs, 4 * 15);
    assert_string_equal(word("verdict"), "flaky");
    assert_string_equal(status_of("conv2"), "flaky");
    assert_string_equal(status_of("conv1"), "exact");
    assert_string_equal(status_of("fc"), "exact");
    culprits = json_object_get(report, "culprits");
    assert_int_equal(json_array_size(culprits), 1);
    repeat = json_object_get(layer_of("conv2"), "repeat");
    assert_string_equal(json_string_value(json_object_get(repeat, "state")),
                        "flaky");
    assert_int_equal(number_in(repeat, "odd"), 4 * 3);
    kinds = json_object_get(repeat, "kinds");
    assert_int_equal(json_array_size(kinds), 3);
    assert_int_equal(number_in(json_array_get(kinds, 0), "odd"), 4);
    assert_int_equal(number_in(json_array_get(kinds, 2), "odd"), 4);
    assert_int_equal(number_in(json_object_get(repeat, "first"), "mismatch"),
                     1);
    /* What is behind it got the board's own data: nothing is said of it. */
    repeat = json_object_get(layer_of("conv1"), "repeat");
    assert_string_equal(json_string_value(json_object_get(repeat, "state")),
                        "same");
    assert_int_equal(number_in(json_object_get(report, "run"), "repeat"), 15);
    /* Once is not enough to see it, and good boards stay good. */
    assert_int_equal(run(FLAKY, "conv2", "--layers conv1"), 0);
    assert_int_equal(run(NONE, "", "--repeat 3"), 0);
    assert_string_equal(word("verdict"), "match");
    assert_int_equal(board.runs, 4 * 3);
}

/* A divergence outranks it; both are told. */
static void flaky_beside_a_divergence(void **state)
{
    (void)state;
    assert_int_equal(run(FLAKY, "conv2", "--repeat 10 --arith pw4=q31_floor"),
                     1);
    assert_string_equal(word("verdict"), "arithmetic");
    assert_string_equal(status_of("pw4"), "diverged");
    assert_string_equal(status_of("conv2"), "flaky");
}

/* Always the same, and not what the vector kernels give: no flaky board. */
static void kernels_that_do_not_agree(void **state)
{
    const json_t *repeat;

    (void)state;
    assert_int_equal(run(WRONG_SCALAR, "conv2", "--repeat 4"), 4);
    assert_string_equal(word("verdict"), "assay-kernel");
    repeat = json_object_get(layer_of("conv2"), "repeat");
    assert_string_equal(json_string_value(json_object_get(repeat, "state")),
                        "rungs");
    /* The rung that ran once is asked once more before it is blamed. */
    assert_int_equal(run(WRONG_SCALAR, "conv2", "--repeat 3"), 4);
    assert_int_equal(board.runs, 4 * 4);
    assert_string_equal(word("verdict"), "assay-kernel");
    assert_int_equal(run(WRONG_VECTOR, "conv2", "--repeat 4"), 4);
    assert_string_equal(word("verdict"), "assay-kernel");
}

static void two_culprits(void **state)
{
    json_t *culprits;

    (void)state;
    /* pw4 has other arithmetic, conv2 a wrong kernel: 1 outranks 4. */
    assert_int_equal(run(WRONG_VECTOR, "conv2", "--arith pw4=q31_floor"), 1);
    assert_string_equal(word("verdict"), "arithmetic");
    culprits = json_object_get(report, "culprits");
    assert_int_equal(json_array_size(culprits), 2);
    assert_string_equal(status_of("conv2"), "diverged");
    assert_string_equal(status_of("pw4"), "diverged");
    assert_string_equal(status_of("fc"), "inherited");
    assert_int_equal(
        json_integer_value(json_object_get(
            json_object_get(layer_of("fc"), "isolated"), "mismatch")),
        0);
}

static void only_what_differs_travels(void **state)
{
    (void)state;
    assert_int_equal(run(NONE, "", ""), 0);
    /* The inputs alone. */
    assert_int_equal(board.given_bytes, 4 * 64 * sizeof(float));
    /* fc's result is wrong on its way: fc alone runs again, with scalar
     * kernels, on its 24 bytes of input. */
    assert_int_equal(run(WRONG_VECTOR, "fc", ""), 4);
    assert_int_equal(board.isolated_runs, 4);
    assert_int_equal(board.isolated_bytes, 4 * 24);
    /* conv1 rounds otherwise: the layers behind it that differ run again,
     * once a sample, then conv1 alone. */
    assert_int_equal(run(NONE, "", "--arith conv1=q31_floor"), 1);
    assert_int_equal(board.isolated_runs, 4 * 2);
    assert_string_equal(status_of("fc"), "inherited");
}

static void unproven_arithmetic(void **state)
{
    (void)state;
    assert_int_equal(run(NONE, "",
                         "--numerics onnxruntime-x86-nofma "
                         "--arith avgpool=div_floor"),
                     5);
    assert_string_equal(word("verdict"), "unproven");
    assert_string_equal(word("verdict_id"), "VERDICT_UNPROVEN");
}

static void a_worker_that_dies(void **state)
{
    (void)state;
    assert_int_equal(run(CRASH, "dw3", ""), 4);
    assert_string_equal(status_of("dw3"), "error");
    assert_string_equal(status_of("conv2"), "exact");
    assert_string_equal(status_of("fc"), "not_observed");
    assert_true(json_is_true(json_object_get(report, "partial")));
    assert_string_equal(word("error"), "the board's own words");
    assert_true(json_is_null(json_object_get(report, "verdict")));
    assert_int_equal(coverage("compared"), 5);
    /* It died in a vector kernel: that can be done without. */
    assert_string_equal(word("next"), "assay run … --cpumask 0");
    assert_int_equal(run(CRASH, "dw3", "--cpumask 0"), 4);
    assert_true(json_is_null(json_object_get(report, "next")));
}

static void a_layer_that_does_not_end(void **state)
{
    (void)state;
    assert_int_equal(run(SLOW_LAYER, "dw3", ""), 4);
    assert_string_equal(status_of("dw3"), "error");
}

static void a_lost_board(void **state)
{
    (void)state;
    assert_int_equal(run(LOST, "dw3", ""), 3);
    assert_string_equal(status_of("dw3"), "not_observed");
    assert_string_equal(status_of("conv2"), "exact");
    assert_true(json_is_true(json_object_get(report, "partial")));
    /* A divergence before it outranks the loss. */
    assert_int_equal(run(LOST, "dw3", "--arith conv1=q31_floor"), 1);
    assert_string_equal(status_of("conv1"), "diverged");
}

static void a_board_that_lies(void **state)
{
    (void)state;
    assert_int_equal(run(SHORT_RESULT, "dw3", ""), 4);
    assert_non_null(strstr(word("error"), "expected 256"));
    assert_int_equal(run(WILD_LAYER, "dw3", ""), 4);
    assert_true(word("error")[0] != '\0');
}

static void a_board_that_is_taken(void **state)
{
    (void)state;
    assert_int_equal(run(BUSY, "", ""), 3);
    assert_null(report); /* nothing ran, nothing to report */
}

static const char *verdict_of(const char *layer, const char *column)
{
    const json_t *columns = json_object_get(layer_of(layer), "columns");

    return json_string_value(
        json_object_get(json_object_get(columns, column), "verdict"));
}

/* The compiled model's column, judged by a board that is wrong itself. */
static void columns_on_a_wrong_board(void **state)
{
    (void)state;
    case_path = "tests/data/horizon";
    assert_int_equal(run(NONE, "", ""), 1);
    assert_string_equal(word("verdict"), "compile");
    assert_string_equal(verdict_of("k2_bottom", "sim"), "compile");
    assert_string_equal(status_of("pw"), "inherited");
    /* What is judged through a wrong kernel is no finding about the model. */
    assert_int_equal(run(WRONG_VECTOR, "sigmoid", ""), 1);
    assert_string_equal(verdict_of("same_s2", "sim"), "compile");
    assert_string_equal(verdict_of("k2_bottom", "sim"), "assay-kernel");
    assert_int_equal(run(WRONG_CPU, "same_s2", ""), 1);
    assert_string_equal(verdict_of("same_s2", "sim"), "board-cpu");
    assert_string_equal(verdict_of("k2_bottom", "sim"), "compile");
    /* Lost while a layer is run again: nothing of that sample is judged. */
    assert_int_equal(run(LOST_LATER, "pw", ""), 3);
    assert_true(json_is_true(json_object_get(report, "partial")));
    assert_int_equal(json_array_size(json_object_get(report, "culprits")), 0);
    case_path = CASE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_board),
        cmocka_unit_test(a_board_without_probes),
        cmocka_unit_test(a_wrong_vector_kernel),
        cmocka_unit_test(a_wrong_cpu),
        cmocka_unit_test(a_flaky_board),
        cmocka_unit_test(flaky_beside_a_divergence),
        cmocka_unit_test(kernels_that_do_not_agree),
        cmocka_unit_test(two_culprits),
        cmocka_unit_test(only_what_differs_travels),
        cmocka_unit_test(unproven_arithmetic),
        cmocka_unit_test(a_worker_that_dies),
        cmocka_unit_test(a_layer_that_does_not_end),
        cmocka_unit_test(a_lost_board),
        cmocka_unit_test(a_board_that_lies),
        cmocka_unit_test(a_board_that_is_taken),
        cmocka_unit_test(columns_on_a_wrong_board),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    json_decref(report);
    return rc;
}
