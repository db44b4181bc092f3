/* SPDX-License-Identifier: Apache-2.0 */
/* --bench: time of the convolution kernels over the shapes, one thread. */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds of one run: the least of a few, at least 50 ms in all. */
static double time_one(struct kc *k, const struct assay_conv2d *p,
                       const struct assay_conv2d_kernel *kernel)
{
    size_t n_x = (size_t)p->h * (size_t)p->w * (size_t)p->c;
    size_t n_y = (size_t)p->oh * (size_t)p->ow * (size_t)p->oc;
    struct kc_buf x = kc_buf_new(n_x, 0), y = kc_buf_new(n_y, 0);
    struct kc_buf packed = kc_buf_new(kernel->packed_size(p), 0);
    struct kc_buf scratch = kc_buf_new(kernel->scratch_size(p), 0);
    double best = 1e9, start = now();

    kc_fill(k, ASSAY_S8, x.data, n_x);
    kernel->pack(p, packed.data);
    for (int i = 0; i < 3 || (now() - start < 0.05 && i < 1000); i++) {
        double t = now();

        kernel->run(p, packed.data, x.data, y.data, scratch.data);
        t = now() - t;
        best = t < best ? t : best;
    }
    kc_buf_free(&x);
    kc_buf_free(&y);
    kc_buf_free(&packed);
    kc_buf_free(&scratch);
    return best;
}

static void bench_shape(struct kc *k, const struct kc_shape *s, bool *first)
{
    bool depthwise = s->groups == s->c && s->groups > 1;
    const struct assay_conv2d_kernel *const *column =
        depthwise ? k->table.dwconv2d_x8w8 : k->table.conv2d_x8w8;
    struct assay_conv2d p = kc_shape_params(s);
    size_t oc = (size_t)p.oc;
    size_t n_w = oc * (size_t)p.kh * (size_t)p.kw * (size_t)(p.c / p.groups);
    double macs = (double)p.oh * p.ow * (double)n_w;
    int8_t *w = kc_alloc(n_w);
    int32_t *zero = kc_alloc(oc * sizeof(*zero));
    struct kc_program program;

    kc_case(k, "bench", 0);
    for (size_t i = 0; i < n_w; i++)
        w[i] = (int8_t)kc_range(k, -127, 127);
    kc_policy(k, &program, 0, oc, true, &p.y_dtype);
    p.weights = w;
    p.w_zero = p.bias = zero;
    p.program = &program.p;
    for (int i = 0; i < ASSAY_ISA_COUNT; i++) {
        double t;

        if (!column[i] || !column[i]->supports(&p) ||
            !kc_wants(k, column[i]->name))
            continue;
        t = time_one(k, &p, column[i]);
        if (k->opt.json)
            printf("%s\n  {\"shape\": \"%s\", \"kernel\": \"%s\", "
                   "\"time_us\": %.3f, \"gmac_per_s\": %.4f}",
                   *first ? "" : ",", s->name, column[i]->name, t * 1e6,
                   macs / t * 1e-9);
        else
            printf("%-20s %-28s %10.1f us %8.3f GMAC/s\n", s->name,
                   column[i]->name, t * 1e6, macs / t * 1e-9);
        *first = false;
    }
    kc_program_free(&program);
    free(w);
    free(zero);
}

void kc_bench(struct kc *k)
{
    FILE *f = fopen(k->opt.shapes, "r");
    struct kc_shape s;
    bool first = true;

    if (!f) {
        fprintf(stderr, "kcheck: cannot open shapes '%s'\n", k->opt.shapes);
        exit(2);
    }
    k->opt.only_case = -1;
    k->opt.only_check = NULL;
    if (k->opt.json)
        printf("[");
    while (kc_next_shape(f, &s))
        bench_shape(k, &s, &first);
    if (k->opt.json)
        printf("\n]\n");
    fclose(f);
}
