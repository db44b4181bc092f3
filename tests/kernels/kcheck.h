/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kcheck: every vector kernel against the scalar one, the scalar one against
 * naive definitions, bit for bit. One thread; a check allocates as it likes
 * and stops the program when memory runs out.
 */
#ifndef ASSAY_TESTS_KERNELS_KCHECK_H
#define ASSAY_TESTS_KERNELS_KCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/kernels.h"

struct kc_options {
    uint64_t seed;
    const char *function;   /* glob over kernel names, or NULL */
    const char *shapes;     /* file of network shapes, or NULL */
    int64_t only_case;      /* -1: all */
    const char *only_check; /* NULL: all */
    uint32_t mask;
    bool long_run, bench, json, list;
};

/* Counts of one kernel. */
struct kc_stats {
    const char *slot, *name;
    enum assay_isa isa;
    bool available; /* this CPU and the mask let it run */
    uint64_t passed, failed;
};

#define KC_MAX_KERNELS 64

struct kc {
    struct kc_options opt;
    struct assay_kernel_table table;
    struct kc_stats stats[KC_MAX_KERNELS];
    size_t n_stats;
    uint64_t rng[2];
    const char *check; /* the case that runs */
    int64_t case_index;
    char text[256];   /* what it is, for messages */
    uint64_t printed; /* failures told in full */
};

/* ---- cases and judgement (report.c) ---- */
/* False when the command line leaves the case out; seeds the generator. */
bool kc_case(struct kc *k, const char *check, int64_t index);
bool kc_wants(const struct kc *k, const char *kernel);
/*
 * Counts one comparison of a kernel. dims: n, h, w, c of the output. Floats
 * compare by bits (NaN equals NaN).
 */
void kc_judge(struct kc *k, const char *kernel, enum assay_dtype dtype,
              const void *expected, const void *got, const int64_t dims[4]);
void kc_fail(struct kc *k, const char *kernel, const char *why);

/* ---- data (data.c) ---- */
uint64_t kc_random(struct kc *k);
int64_t kc_range(struct kc *k, int64_t lo, int64_t hi); /* both included */
bool kc_chance(struct kc *k, unsigned percent);
/* Values of a dtype: one pathological pattern, or random ones. */
void kc_fill(struct kc *k, enum assay_dtype dtype, void *to, size_t n);

/* A buffer between guard bands, poisoned. */
struct kc_buf {
    uint8_t *base, *data;
    size_t n;
    size_t mapped; /* bytes at base, when it is not from the heap */
};
struct kc_buf kc_buf_new(size_t n, size_t misalign); /* 64-byte aligned + */
/* For inputs: ends where no page is readable, so that reading on dies. */
struct kc_buf kc_buf_wall(size_t n);
/* False (and told) when a guard band was written. */
bool kc_buf_intact(struct kc *k, const struct kc_buf *b, const char *kernel,
                   const char *what);
void kc_buf_free(struct kc_buf *b);
void *kc_alloc(size_t n); /* zeroed; never NULL */

/* Zeros of both signs, infinities and NaN in so many places of a hundred. */
void kc_special_floats(struct kc *k, float *x, size_t n, unsigned percent);

/*
 * Every kernel of a slot against `expected`, n elements of p->y_dtype; what
 * follows are the inputs that run() takes between p and y.
 */
#define KC_JUDGE_COLUMN(k, column, p, expected, n, ...) \
    for (int isa = 0; isa < ASSAY_ISA_COUNT; isa++) { \
        struct kc_buf got; \
        int64_t dims[4] = {1, 1, 1, (int64_t)(n)}; \
        if (!(column)[isa] || !(column)[isa]->supports(p) || \
            !kc_wants(k, (column)[isa]->name)) \
            continue; \
        got = kc_buf_new((n)*assay_dtype_size((p)->y_dtype), 0); \
        (column)[isa]->run(p, __VA_ARGS__, got.data); \
        if (kc_buf_intact(k, &got, (column)[isa]->name, "output")) \
            kc_judge(k, (column)[isa]->name, (p)->y_dtype, expected, got.data, \
                     dims); \
        kc_buf_free(&got); \
    }

/* ---- programs (programs.c) ---- */
struct kc_program {
    struct assay_program p;
    int64_t *memory; /* operands */
    size_t used, cap;
    const char *name;
};
/* Policies by number; from KC_HZ_FIRST on those of hz_programs.c, then those of
 * rule_programs.c. */
enum {
    KC_HBM_INPUT = 18,
    KC_HZ_FIRST = 21,
    KC_HZ_HIGH = 26, /* of an accumulator that fits 32 bits */
    KC_HZ_FORMS = 10,
    KC_RULE = KC_HZ_FIRST + KC_HZ_FORMS,
    KC_RULE_INPUT,
    KC_POLICIES,
};
/* Whether the policy reads a second operand. */
bool kc_policy_takes_input(unsigned which);
/*
 * Policy number `which` for an output type; per channel or per tensor. Now
 * and then a near miss of it, but never for --bench.
 */
void kc_policy(struct kc *k, struct kc_program *to, unsigned which,
               size_t channels, bool per_channel, enum assay_dtype *y_dtype);
/* Policy KC_HZ_FIRST + form, appended; chooses among S8, S16, S32. */
void kc_hz_program(struct kc *k, struct kc_program *to, unsigned which,
                   size_t n, enum assay_dtype *y);
/* Any program that a rule may write, appended; chooses y like the above. */
void kc_rule_program(struct kc *k, struct kc_program *to, bool with_input,
                     size_t n, enum assay_dtype *y);
/* An add, a sub or a product of that model, y: S8, S16, S32. */
void kc_hz_binary(struct kc *k, struct kc_program *a, struct kc_program *b,
                  struct kc_program *out, size_t channels,
                  enum assay_combine *how, enum assay_dtype y, bool wide);
/* A random valid program from integers in [lo, hi] (or floats). */
void kc_random_program(struct kc *k, struct kc_program *to, size_t channels,
                       bool from_float, int64_t lo, int64_t hi,
                       enum assay_dtype y_dtype, bool with_input);
/* Appends a step; a, b: n operands each or NULL. */
void kc_step(struct kc_program *to, struct assay_step s, const int64_t *a,
             const int64_t *b);
void kc_int_step(struct kc_program *to, unsigned kind, int64_t a);
void kc_float_step(struct kc_program *to, unsigned kind, float a, float b);
void kc_program_begin(struct kc_program *to, size_t channels);
void kc_program_free(struct kc_program *to);
int64_t kc_f32_bits(float f);

/* ---- naive definitions (naive.c) ---- */
/* x / 2^n by `round`; n <= 0: x * 2^-n, as 64 bits hold it. */
int64_t kc_naive_shr(int64_t x, int64_t n, unsigned round);
/* IEEE 754-2019 maximum. */
float kc_naive_larger(float a, float b);
union assay_value kc_naive_program(const struct assay_program *p,
                                   union assay_value v, size_t channel,
                                   int64_t second);
void kc_naive_conv2d(const struct assay_conv2d *p, const void *x, void *y);
void kc_naive_pool(const struct assay_pool *p, const void *x, void *y);
int64_t kc_element(enum assay_dtype dtype, const void *x, size_t at);

/* ---- the checks ---- */
void kc_check_conv2d(struct kc *k);
void kc_check_fused(struct kc *k);
void kc_check_program(struct kc *k);
void kc_check_unary(struct kc *k);
void kc_check_binary(struct kc *k);
void kc_check_pool(struct kc *k);
void kc_check_softmax(struct kc *k);
void kc_check_copy(struct kc *k);
void kc_check_table(struct kc *k);
void kc_check_segment_table(struct kc *k);
void kc_check_reduce(struct kc *k);
void kc_check_resize(struct kc *k);
void kc_check_grid_sample(struct kc *k);
void kc_check_function(struct kc *k);
void kc_check_normalize(struct kc *k);
void kc_check_select(struct kc *k);
void kc_bench(struct kc *k);

/* One line of the file of shapes. */
struct kc_shape {
    char name[48];
    int32_t h, w, c, oc, kh, kw, stride_h, stride_w, pad_top, pad_left;
    int32_t oh, ow, groups;
};
/* Next shape, skipping remarks; false at the end. Stops on a bad line. */
bool kc_next_shape(FILE *f, struct kc_shape *s);
/* The parameters of a shape; pointers are left NULL. */
struct assay_conv2d kc_shape_params(const struct kc_shape *s);

#endif
