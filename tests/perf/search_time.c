/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_time: all hypotheses of one 3x3 convolution of 14x14x512 -> 512
 * against one scalar run of it, on this machine. What is searched for has no
 * cause, the dearest case: random bytes in some elements, and ties that went
 * elsewhere in the rest. Prints seconds of a run, seconds of the search, the
 * number of edits tried.
 *
 * links: tests/support/edits.c tests/support/slices.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host-tools/cause/search.h"
#include "lib/core/arith.h"
#include "lib/engine/once.h"
#include "tests/support/edits.h"
#include "tests/support/slices.h"

#define SIDE 14
#define CHANNELS 512
#define OUTPUTS (SIDE * SIDE * CHANNELS)

static int8_t input[OUTPUTS], base[OUTPUTS], got[OUTPUTS];
static int8_t weights[CHANNELS * 9 * CHANNELS];
static int32_t bias[CHANNELS];
static float scales[CHANNELS];
static int32_t zeros[CHANNELS];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(int rc, const struct assay_err *err)
{
    if (rc == 0)
        return;
    fprintf(stderr, "search_time: %s\n", err->text);
    exit(2);
}

static struct assay_slice *layer(void)
{
    const struct slices_operand in[] = {
        {ASSAY_S8, 4, {1, SIDE, SIDE, CHANNELS}, NULL},
        {ASSAY_S8, 4, {CHANNELS, 3, 3, CHANNELS}, weights},
        {ASSAY_S32, 1, {CHANNELS}, bias},
    };
    const struct slices_operand out = {
        ASSAY_S8, 4, {1, SIDE, SIDE, CHANNELS}, NULL};
    struct assay_slice *s = slices_one(ASSAY_OP_CONV2D, 3, in, out);
    struct assay_err err = {0};

    slices_quant(s, 0, 0.05f, 3);
    slices_quant(s, 3, 0.1f, -5);
    s->tensors[1].quant = (struct assay_quant){
        .n = CHANNELS, .axis = 0, .scale = scales, .zero_point = zeros};
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .pad_top = 1,
                                                         .pad_left = 1,
                                                         .pad_bottom = 1,
                                                         .pad_right = 1,
                                                         .groups = 1,
                                                         .has_bias = true};
    s->layers[0].real_op = ASSAY_REAL_CONV;
    must(assay_arith_apply(s, 0, "fp32_rne", &err), &err);
    return s;
}

static void fill(void)
{
    edits_random(input, sizeof(input));
    edits_random(weights, sizeof(weights));
    for (int c = 0; c < CHANNELS; c++) {
        bias[c] = (int32_t)edits_between(-200000, 200000);
        scales[c] = (float)edits_between(100, 200) * 2e-7f;
    }
}

int main(void)
{
    struct assay_slice *s;
    const void *values[4] = {input};
    struct assay_suspect_sample sample = {values, base, got};
    struct assay_suspect suspect = {.samples = &sample, .n_samples = 1};
    const struct assay_search_options o = {.pairs = true};
    struct assay_search *found = NULL;
    struct assay_err err = {0};
    double run, search;

    fill();
    s = layer();
    must(assay_once(s, 0, values, 1, base, sizeof(base), &err), &err);
    run = now();
    must(assay_once(s, 0, values, 1, base, sizeof(base), &err), &err);
    run = now() - run;
    memcpy(got, base, sizeof(got));
    for (int i = 0; i < OUTPUTS; i++) {
        if (edits_between(0, 9) == 0)
            got[i] = (int8_t)edits_between(-128, 127);
        else if (edits_between(0, 1) == 0 && got[i] < 127)
            got[i]++;
    }
    suspect.one = s;
    search = now();
    must(assay_cause_search(&found, &suspect, &o, &err), &err);
    search = now() - search;
    printf("%.3f %.3f %u\n", run, search, found->tried);
    assay_search_free(found);
    assay_slice_free(s);
    return 0;
}
