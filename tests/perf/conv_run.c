/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_run SHAPE RUNS [MASK [POLICY]]: one layer of tests/kernels/shapes.txt,
 * RUNS times, with the kernel that the engine would pick. Instructions of one
 * run = (count of 11 runs - count of 1 run) / 10, so packing the weights and
 * everything around is left out, gathering and requantization are not.
 * int8, symmetric weights per channel, int8 output. Prints kernel and MACs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/kcheck.h"

static void *aligned(size_t n)
{
    void *p = aligned_alloc(64, (n + 63) / 64 * 64 + 64);

    if (!p) {
        fprintf(stderr, "conv_run: out of memory for %zu bytes\n", n);
        exit(2);
    }
    memset(p, 0, n);
    return p;
}

static void find(const char *name, struct kc_shape *s)
{
    FILE *f = fopen("tests/kernels/shapes.txt", "r");

    if (!f) {
        fprintf(stderr, "conv_run: cannot open tests/kernels/shapes.txt\n");
        exit(2);
    }
    while (kc_next_shape(f, s))
        if (strcmp(s->name, name) == 0) {
            fclose(f);
            return;
        }
    fprintf(stderr, "conv_run: no shape '%s'\n", name);
    exit(2);
}

static void run(struct kc *k, struct assay_conv2d *p, int runs)
{
    size_t n_x = (size_t)p->h * (size_t)p->w * (size_t)p->c;
    size_t n_y = (size_t)p->oh * (size_t)p->ow * (size_t)p->oc;
    const struct assay_conv2d_kernel *kernel = assay_pick_conv2d(&k->table, p);
    int8_t *x = aligned(n_x), *y = aligned(n_y);
    void *packed = aligned(kernel->packed_size(p));
    void *scratch = aligned(kernel->scratch_size(p));

    for (size_t i = 0; i < n_x; i++)
        x[i] = (int8_t)kc_range(k, -128, 127);
    kernel->pack(p, packed);
    for (int i = 0; i < runs; i++)
        kernel->run(p, packed, x, y, scratch);
    printf("%s %" PRId64 "\n", kernel->name,
           (int64_t)p->oh * p->ow * p->oc * p->kh * p->kw * (p->c / p->groups));
    free(x);
    free(y);
    free(packed);
    free(scratch);
}

int main(int argc, char **argv)
{
    static struct kc k = {.opt = {.seed = 1, .only_case = -1, .bench = true}};
    uint32_t mask = ASSAY_CPU_ALL;
    struct kc_shape s;
    struct kc_program program;
    struct assay_conv2d p;
    size_t n_w;
    int8_t *w;
    int32_t *zero;

    if (argc < 3 || argc > 5 ||
        (argc > 3 && assay_cpu_parse_mask(argv[3], &mask) != 0)) {
        fprintf(stderr, "usage: conv_run SHAPE RUNS [MASK [POLICY]]\n");
        return 2;
    }
    find(argv[1], &s);
    p = kc_shape_params(&s);
    kc_case(&k, "perf", 0);
    assay_kernel_table_init(&k.table, assay_cpu_probe() & mask);
    n_w = (size_t)p.oc * (size_t)p.kh * (size_t)p.kw * (size_t)(p.c / p.groups);
    w = aligned(n_w);
    zero = aligned((size_t)p.oc * sizeof(*zero));
    for (size_t i = 0; i < n_w; i++)
        w[i] = (int8_t)kc_range(&k, -127, 127);
    kc_policy(&k, &program,
              argc > 4 ? (unsigned)atoi(argv[4]) % KC_POLICIES : 0u,
              (size_t)p.oc, true, &p.y_dtype);
    p.weights = w;
    p.w_zero = p.bias = zero;
    p.program = &program.p;
    run(&k, &p, atoi(argv[2]));
    kc_program_free(&program);
    free(w);
    free(zero);
    return 0;
}
