/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_run SHAPE RUNS [MASK [END]]: one layer of tests/kernels/shapes.txt,
 * RUNS times, with the kernel that the engine would pick. Instructions of one
 * run = (count of 11 runs - count of 1 run) / 10, so packing the weights and
 * everything around is left out, gathering and requantization are not.
 * Symmetric int8 weights per channel; END names program, input and output
 * types (ENDS below). Prints kernel and MACs.
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

/* What a layer ends in: a program of kcheck, and the types around it. */
struct end {
    const char *name;
    unsigned policy;
    enum assay_dtype x, second, y; /* second: where the program takes one */
};

static const struct end ENDS[] = {
    {"fp32_rne", 0, ASSAY_S8, 0, ASSAY_S8},
    {"fp32_rne_zpin", 2, ASSAY_S8, 0, ASSAY_S8},
    {"q31_double", 3, ASSAY_S8, 0, ASSAY_S8},
    {"q31_single", 5, ASSAY_S8, 0, ASSAY_S8},
    {"fp64_rne", 15, ASSAY_S8, 0, ASSAY_S8}, /* through the interpreter */
    {"s32", 20, ASSAY_S8, 0, ASSAY_S32},
    {"hz_conv", KC_HZ_FIRST, ASSAY_S8, 0, ASSAY_S8},
    {"hz_conv_relu", KC_HZ_FIRST + 1, ASSAY_S8, 0, ASSAY_S8},
    {"hz_conv_s16", KC_HZ_FIRST, ASSAY_S8, 0, ASSAY_S16},
    {"hz_conv_high", KC_HZ_HIGH, ASSAY_S8, 0, ASSAY_S32},
    {"hz_matmul", KC_HZ_FIRST + 8, ASSAY_S8, 0, ASSAY_S8},
    {"long", KC_HZ_FIRST + 9, ASSAY_S8, 0, ASSAY_S8},
    {"hz_sumin_s8", KC_HZ_FIRST + 3, ASSAY_S8, ASSAY_S8, ASSAY_S8},
    {"hz_sumin_s16", KC_HZ_FIRST + 3, ASSAY_S8, ASSAY_S16, ASSAY_S16},
    {"hz_x16", KC_HZ_FIRST + 2, ASSAY_S16, 0, ASSAY_S8},
    {"hz_x16_s16", KC_HZ_FIRST + 2, ASSAY_S16, 0, ASSAY_S16},
};

static const struct end *find_end(const char *name)
{
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++)
        if (strcmp(ENDS[i].name, name) == 0)
            return &ENDS[i];
    fprintf(stderr, "conv_run: no end '%s'\n", name);
    exit(2);
}

/* The program; an int16 output saturates to 16 bits in place of 8. */
static void make_program(struct kc *k, struct kc_program *to,
                         const struct end *end, struct assay_conv2d *p)
{
    struct assay_step *last;

    p->y_dtype = ASSAY_S8;
    kc_policy(k, to, end->policy, (size_t)p->oc, true, &p->y_dtype);
    if (end->y == ASSAY_S16) {
        last = &to->p.steps[to->p.n_steps - 1];
        if (last->kind != ASSAY_STEP_SAT) {
            fprintf(stderr, "conv_run: no saturation at the end\n");
            exit(2);
        }
        last->bits = 16;
        p->y_dtype = ASSAY_S16;
    }
    p->program = &to->p;
}

static void run(struct kc *k, struct assay_conv2d *p, int runs)
{
    size_t n_x = (size_t)p->h * (size_t)p->w * (size_t)p->c;
    size_t n_y = (size_t)p->oh * (size_t)p->ow * (size_t)p->oc;
    const struct assay_conv2d_kernel *kernel = assay_pick_conv2d(&k->table, p);
    void *x = aligned(n_x * assay_dtype_size(p->x_dtype));
    void *y = aligned(n_y * assay_dtype_size(p->y_dtype));
    void *second = aligned(n_y * assay_dtype_size(p->second_dtype));
    void *packed = aligned(kernel->packed_size(p));
    void *scratch = aligned(kernel->scratch_size(p));

    kc_fill(k, p->x_dtype, x, n_x);
    if (p->second_dtype) {
        kc_fill(k, p->second_dtype, second, n_y);
        p->second = second;
    }
    kernel->pack(p, packed);
    for (int i = 0; i < runs; i++)
        kernel->run(p, packed, x, y, scratch);
    printf("%s %" PRId64 "\n", kernel->name,
           (int64_t)p->oh * p->ow * p->oc * p->kh * p->kw * (p->c / p->groups));
    free(x);
    free(y);
    free(second);
    free(packed);
    free(scratch);
}

int main(int argc, char **argv)
{
    static struct kc k = {.opt = {.seed = 1, .only_case = -1, .bench = true}};
    uint32_t mask = ASSAY_CPU_ALL;
    const struct end *end;
    struct kc_shape s;
    struct kc_program program;
    struct assay_conv2d p;
    size_t n_w;
    int8_t *w;
    int32_t *zero;

    if (argc < 3 || argc > 5 ||
        (argc > 3 && assay_cpu_parse_mask(argv[3], &mask) != 0)) {
        fprintf(stderr, "usage: conv_run SHAPE RUNS [MASK [END]]\n");
        return 2;
    }
    end = find_end(argc > 4 ? argv[4] : ENDS[0].name);
    find(argv[1], &s);
    p = kc_shape_params(&s);
    p.x_dtype = end->x;
    p.second_dtype = end->second;
    kc_case(&k, "perf", 0);
    assay_kernel_table_init(&k.table, assay_cpu_probe() & mask);
    n_w = (size_t)p.oc * (size_t)p.kh * (size_t)p.kw * (size_t)(p.c / p.groups);
    w = aligned(n_w);
    zero = aligned((size_t)p.oc * sizeof(*zero));
    for (size_t i = 0; i < n_w; i++)
        w[i] = (int8_t)kc_range(&k, -127, 127);
    make_program(&k, &program, end, &p);
    p.weights = w;
    p.w_zero = p.bias = zero;
    run(&k, &p, atoi(argv[2]));
    kc_program_free(&program);
    free(w);
    free(zero);
    return 0;
}
