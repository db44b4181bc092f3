/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_run SHAPE RUNS [rich|dull]: one layer of tests/kernels/shapes.txt,
 * probed RUNS times with the kernels of this CPU (requantization to int8, as
 * conv_run's fp32_rne). rich: any int8; dull: inputs so small that bounds do
 * not settle whether partial sums leave 16 bits, and none does: everything is
 * added up. Prints the work that the probe says it did, and its elements.
 *
 * links: tests/support/slices.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "lib/engine/probe.h"
#include "tests/kernels/kcheck.h"
#include "tests/support/slices.h"

static uint32_t state = 1;

static int draw(int lo, int hi)
{
    state = state * 1664525u + 1013904223u;
    return lo + (int)((state >> 8) % (uint32_t)(hi - lo + 1));
}

static void fill(int8_t *p, size_t n, int most)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (int8_t)draw(-most, most);
}

static void find(const char *name, struct kc_shape *s)
{
    FILE *f = fopen("tests/kernels/shapes.txt", "r");

    while (f != NULL && kc_next_shape(f, s))
        if (strcmp(s->name, name) == 0) {
            fclose(f);
            return;
        }
    fprintf(stderr, "probe_run: no shape '%s'\n", name);
    exit(2);
}

static struct assay_slice *layer(const struct kc_shape *k, int8_t *weights,
                                 const int64_t *scale)
{
    const struct slices_operand in[] = {
        {ASSAY_S8, 4, {1, k->h, k->w, k->c}, NULL},
        {ASSAY_S8, 4, {k->oc, k->kh, k->kw, k->c / k->groups}, weights}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_CONV2D, 2, in,
        (struct slices_operand){ASSAY_S8, 4, {1, k->oh, k->ow, k->oc}, NULL});
    int32_t bottom = (k->oh - 1) * k->stride_h + k->kh - k->h - k->pad_top;
    int32_t right = (k->ow - 1) * k->stride_w + k->kw - k->w - k->pad_left;

    s->layers[0].p.conv2d =
        (struct assay_conv2d_params){.stride_h = k->stride_h,
                                     .stride_w = k->stride_w,
                                     .dilation_h = 1,
                                     .dilation_w = 1,
                                     .pad_top = k->pad_top,
                                     .pad_left = k->pad_left,
                                     .pad_bottom = bottom > 0 ? bottom : 0,
                                     .pad_right = right > 0 ? right : 0,
                                     .groups = k->groups};
    slices_requant(&s->layers[0].out_program, scale);
    return s;
}

int main(int argc, char **argv)
{
    static const int64_t scale[1] = {0x3a800000}; /* 2^-10 */
    const struct assay_probe_limits limits = {UINT64_MAX, SIZE_MAX};
    struct kc_shape k;
    size_t n_w, n_x;
    int8_t *w, *x;
    struct assay_slice *s;
    struct assay_probe p = {0};
    struct assay_err err = {0};

    if (argc < 3) {
        fprintf(stderr, "usage: probe_run SHAPE RUNS [rich|dull]\n");
        return 2;
    }
    find(argv[1], &k);
    n_w = (size_t)k.oc * (size_t)k.kh * (size_t)k.kw * (size_t)(k.c / k.groups);
    n_x = (size_t)k.h * (size_t)k.w * (size_t)k.c;
    w = malloc(n_w);
    x = malloc(n_x);
    if (w == NULL || x == NULL)
        return 2;
    fill(w, n_w, 127);
    /* Weights are 64 on the average: dull inputs could just leave 16 bits. */
    fill(x, n_x,
         argc > 3 && strcmp(argv[3], "dull") == 0
             ? 1 + 50000 / (64 * k.kh * k.kw * (k.c / k.groups))
             : 127);
    s = layer(&k, w, scale);
    for (int i = 0; i < atoi(argv[2]); i++) {
        const void *in[ASSAY_MAX_LAYER_INPUTS] = {x};

        if (assay_probe_layer(&p, s, in, assay_cpu_probe(), &limits, &err) !=
            0) {
            fprintf(stderr, "probe_run: %s\n", err.text);
            return 2;
        }
    }
    printf("%" PRIu64 " %" PRIu64 " %d%d%d\n", p.work, p.values, p.sums[0],
           p.sums[1], p.sums[2]);
    assay_slice_free(s);
    free(w);
    free(x);
    return 0;
}
