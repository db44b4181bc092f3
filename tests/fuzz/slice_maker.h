/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices out of bytes: every operator, every step, shapes that fit each other,
 * programs that hug the ends of 64 bits. Bytes choose; when they end, a
 * generator that they seed goes on, so that a short input is a whole slice
 * too. The same bytes make the same slice. One thread.
 */
#ifndef ASSAY_TESTS_FUZZ_SLICE_MAKER_H
#define ASSAY_TESTS_FUZZ_SLICE_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/slice.h"

struct choices {
    const uint8_t *at; /* borrowed */
    size_t left;
    uint64_t state; /* when `left` is used up */
};

void choices_init(struct choices *c, const uint8_t *data, size_t size);
uint64_t choose_bits(struct choices *c);
int64_t choose(struct choices *c, int64_t lo, int64_t hi); /* both included */
bool chance(struct choices *c, unsigned percent);
/* n elements of dtype: one pattern, the ends of the range, or anything. */
void choose_values(struct choices *c, enum assay_dtype dtype, void *to,
                   size_t n);

/* A slice that the plan has to let through; freed by assay_slice_free().
 * NULL: out of memory. */
struct assay_slice *make_slice(struct choices *c);
/*
 * Breaks one to four fields of it: numbers that a description can carry, so
 * that it can still be encoded. The plan may refuse it now.
 */
void damage_slice(struct choices *c, struct assay_slice *s);

/* ---- what the makers share ---- */

#define MAX_CHANNELS 48

struct work {
    struct choices *c;
    struct assay_slice *s;
};

enum assay_dtype any_dtype(struct choices *c);
/* Of a convolution's output: what fused ends give, mostly. */
enum assay_dtype fused_dtype(struct choices *c);
/* Tensors by index: the array moves when it grows. */
struct assay_tensor *made_tensor(struct work *w, uint32_t i);
/* n scales and zero points, on `axis` when n > 1. */
void quantize_tensor(struct work *w, struct assay_tensor *t, uint32_t n,
                     int32_t axis);
/* UINT32_MAX: no memory. */
uint32_t add_tensor(struct work *w, enum assay_tensor_role role,
                    enum assay_dtype dtype, uint32_t rank, const int64_t *dims);
uint32_t add_constant(struct work *w, enum assay_dtype dtype, uint32_t rank,
                      const int64_t *dims);
/* Of bytes that are the caller's: copied. */
uint32_t add_constant_of(struct work *w, enum assay_dtype dtype, uint32_t rank,
                         const int64_t *dims, const void *data);
/* A tensor of that rank (UINT32_MAX: any) and one of the dtypes (bits
 * 1u << dtype) that is there, or a new input. */
uint32_t find_input(struct work *w, uint32_t rank, unsigned dtypes);
/* NULL: an index is UINT32_MAX, or no memory. Parameters are the caller's. */
struct assay_layer *add_layer(struct work *w, enum assay_op op, uint32_t n,
                              const uint32_t *inputs, uint32_t output);

struct assay_interval;

/* Length of the last axis. */
size_t channels_of(const struct assay_tensor *t);
/* The out_program, of values `of` in every channel. */
bool layer_program(struct work *w, struct assay_layer *l, size_t channels,
                   struct assay_interval of,
                   const struct assay_interval *second);
/* n in_programs, still without steps. */
bool layer_in_programs(struct work *w, struct assay_layer *l, uint32_t n);

/* One a operator: a layer that fits what is there, or false. */
typedef bool maker_fn(struct work *w);
/* layer_maker.c */
maker_fn make_conv2d, make_gemm, make_unary, make_binary, make_pool,
    make_concat, make_reshape, make_softmax;
/* move_maker.c */
maker_fn make_view, make_gather, make_reduce, make_matmul;
/* fixed_maker.c */
maker_fn make_conv_transpose2d, make_prelu, make_table, make_segment_table,
    make_resize, make_grid_sample;
/* float_maker.c */
maker_fn make_function, make_normalize, make_select;

/* The bytes of a constant of a made slice, for assay_slice_decode(). */
const void *find_constant(void *slice, const uint8_t sha256[ASSAY_SHA256_LEN],
                          size_t *size);

/* ---- programs (program_maker.c) ---- */

/*
 * A random program from `from[0..channels)` (the values before it, by channel)
 * to a result that y_dtype can store; y_dtype 0: to an integer of at most 30000. `from` becomes what it gives. Every step is one that the
 * interval analysis lets through, as near to its limits as it comes.
 */
void make_program(struct choices *c, struct assay_slice *s,
                  struct assay_program *to, size_t channels,
                  struct assay_interval *from,
                  const struct assay_interval *second,
                  enum assay_dtype y_dtype);
/* A short one, of an operand of 8 bits: [add_zp], [mul] or to_f32 and fmul. */
void make_operand(struct choices *c, struct assay_slice *s,
                  struct assay_program *to, size_t channels,
                  struct assay_interval *from, bool is_float);
/* What may follow two of these: a shift, or a float's rounding. */
void make_short_end(struct choices *c, struct assay_slice *s,
                    struct assay_program *to, size_t channels,
                    struct assay_interval *from, enum assay_dtype y_dtype);

#endif
