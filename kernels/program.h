/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic as data: the vocabulary of a requantization program.
 *
 * Plain values only; no functions live here (see requant.h). This is the one
 * header of kernels/ that lib/core may include, because a slice carries
 * programs. Every formula: docs/numerics.md, "Steps".
 *
 * A program is a list of at most ASSAY_MAX_STEPS steps. It is run on one
 * value; the value is an integer (held in int64), a binary32 or a binary64,
 * and each step says which of them it takes and gives:
 *
 *   int  -> int : ADD SHL SHR MUL SRDHM SDMULH ADD_INPUT ADD_SCALED SAT
 *                 WRAP ADD_ZP CLAMP
 *   int  -> f32 : TO_F32          int -> f64 : TO_F64
 *   float-> float: FMUL FDIV FADD FFMA FCLAMP  (of the value's own width)
 *   float-> int : FROUND
 *
 * Operands are per tensor (one) or per channel (one a channel); a floating
 * operand is stored as its bit pattern in the low bits of the int64 and has
 * the width of the value at that step.
 */
#ifndef ASSAY_KERNELS_PROGRAM_H
#define ASSAY_KERNELS_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_MAX_STEPS 12

/* Numbers are on the wire and in files: never renumber, only append. */
enum assay_step_kind {
    ASSAY_STEP_ADD = 1,       /* v + a; width: enum assay_add_mode          */
    ASSAY_STEP_SHL = 2,       /* v * 2^a, exact, 0 <= a <= 62               */
    ASSAY_STEP_SHR = 3,       /* SHR(v, a, round), a in -62..62 (<0: left)  */
    ASSAY_STEP_MUL = 4,       /* v * a, exact                               */
    ASSAY_STEP_SRDHM = 5,     /* sat32((v*a + 2^30) >> 31), v and a int32   */
    ASSAY_STEP_SDMULH = 6,    /* sat32((v*a) >> 31), v and a int32          */
    ASSAY_STEP_ADD_INPUT = 7, /* v + SHR(e, a, round) * b, e: second input  */
    ASSAY_STEP_SAT = 8,       /* saturate to `bits` signed bits             */
    ASSAY_STEP_WRAP = 9,      /* wrap to `bits` signed bits                 */
    ASSAY_STEP_TO_F32 = 10,
    ASSAY_STEP_TO_F64 = 11,
    ASSAY_STEP_FMUL = 12,   /* v (x) a                                    */
    ASSAY_STEP_FDIV = 13,   /* v (/) a                                    */
    ASSAY_STEP_FADD = 14,   /* v (+) a                                    */
    ASSAY_STEP_FFMA = 15,   /* fma(v, a, b): one rounding                 */
    ASSAY_STEP_FCLAMP = 16, /* min(max(v, a), b)                          */
    ASSAY_STEP_FROUND = 17, /* to integer by `round`; outside int32 it    */
                            /* saturates to int32 (callers clamp before)  */
    ASSAY_STEP_ADD_ZP = 18, /* v + a, exact                               */
    ASSAY_STEP_CLAMP = 19,  /* min(max(v, a), b)                          */
    /* v + SHR(e * b, a, round), e: second input; ADD_INPUT shifts before it */
    /* multiplies, this one behind: other bits where a > 0. */
    ASSAY_STEP_ADD_SCALED = 20,
};

enum assay_round {
    ASSAY_ROUND_FLOOR = 0,
    ASSAY_ROUND_CEIL = 1,
    ASSAY_ROUND_TRUNC = 2,
    ASSAY_ROUND_HALF_UP = 3,
    ASSAY_ROUND_HALF_EVEN = 4,
    ASSAY_ROUND_HALF_AWAY = 5,
    ASSAY_ROUND_HALF_DOWN = 6,
    ASSAY_ROUND_HALF_ZERO = 7,
    ASSAY_ROUND_ADD_HALF = 8, /* FROUND only: trunc(v (+) copysign(0.5, v)) */
};

enum assay_add_mode {
    ASSAY_ADD_WIDE = 0, /* exact */
    ASSAY_ADD_WRAP32 = 1,
    ASSAY_ADD_SAT32 = 2,
};

struct assay_step {
    uint8_t kind;     /* enum assay_step_kind */
    uint8_t round;    /* enum assay_round: SHR, ADD_INPUT, ADD_SCALED, FROUND */
    uint8_t add_mode; /* enum assay_add_mode: ADD */
    uint8_t bits;     /* SAT, WRAP: 2..63 */
    uint32_t n;       /* operands in a[] (and b[]): 1, or the channel count */
    const int64_t *a; /* borrowed; NULL where the step takes no operand */
    const int64_t *b; /* borrowed; FFMA addend, FCLAMP/CLAMP upper bound, */
                      /* ADD_INPUT, ADD_SCALED multiplier; else NULL */
};

struct assay_program {
    uint32_t n_steps; /* 0: the value is stored as it is */
    struct assay_step steps[ASSAY_MAX_STEPS];
};

/* How a two-operand layer joins its two operands (each after its program). */
enum assay_combine {
    ASSAY_COMBINE_ADD = 1, /* integers, exact */
    ASSAY_COMBINE_SUB = 2,
    ASSAY_COMBINE_MUL = 3,
    ASSAY_COMBINE_FADD = 4, /* binary32, one rounding */
    ASSAY_COMBINE_FSUB = 5,
    ASSAY_COMBINE_FMUL = 6,
    ASSAY_COMBINE_FDIV = 7,
    ASSAY_COMBINE_FFMA = 8, /* fma(b, k, a): one rounding */
    ASSAY_COMBINE_MAX = 9,  /* integers */
    ASSAY_COMBINE_MIN = 10,
    ASSAY_COMBINE_FMAX = 11, /* binary32; NaN when either is one, +0 > -0 */
    ASSAY_COMBINE_FMIN = 12,
};

/* How pools and softmax compute. Numbers are on the wire: never renumber. */
enum assay_pool_kind { ASSAY_POOL_MAX = 1, ASSAY_POOL_AVG = 2 };
enum assay_pool_sum {
    ASSAY_SUM_INT = 0, /* sum of (x - x_zero) over the cells, exact int64 */
    ASSAY_SUM_F32 = 1, /* each cell through `cell`, then f32 adds in raster */
                       /* order, starting from 0.0f */
    ASSAY_SUM_RAW = 2, /* like INT, of x as it is stored: x_zero not used */
};
enum assay_pool_div {
    ASSAY_DIV_NONE = 0, /* the program holds the divisor */
    ASSAY_DIV_F32 = 1,  /* sum (/) f32(count); an integer sum is made f32 */
    ASSAY_DIV_INT = 2,  /* sum / count rounded by div_round: FLOOR, TRUNC, */
};                      /* HALF_UP, HALF_EVEN, HALF_AWAY */

enum assay_softmax_kind {
    ASSAY_SOFTMAX_F32 = 1,   /* float C; compared with a tolerance */
    ASSAY_SOFTMAX_TABLE = 2, /* integer program, docs/numerics.md "Softmax" */
};

/* What a reduction leaves for its output program. */
enum assay_reduce_kind {
    ASSAY_REDUCE_SUM = 1, /* integers, exact; int64 */
    ASSAY_REDUCE_MAX = 2, /* integers or binary32 */
    ASSAY_REDUCE_MIN = 3,
    ASSAY_REDUCE_ARG_MAX = 4, /* integers; index of the first maximum */
    ASSAY_REDUCE_FSUM = 5,    /* binary32 adds in stored order, from 0.0f */
};

/* What stands outside the image of a grid sample. */
enum assay_grid_padding {
    ASSAY_GRID_ZEROS = 1,  /* taps outside are 0 */
    ASSAY_GRID_BORDER = 2, /* coordinates are clamped to the image first */
};

/* Functions of one binary32, in float C: compared with a tolerance. */
enum assay_function {
    ASSAY_FUNCTION_ABS = 1, /* exact */
    ASSAY_FUNCTION_NEG = 2, /* exact */
    ASSAY_FUNCTION_FLOOR = 3,
    ASSAY_FUNCTION_CEIL = 4,
    ASSAY_FUNCTION_SQRT = 5,
    ASSAY_FUNCTION_RSQRT = 6,
    ASSAY_FUNCTION_RECIPROCAL = 7,
    ASSAY_FUNCTION_EXP = 8,
    ASSAY_FUNCTION_LOG = 9,
    ASSAY_FUNCTION_SIGMOID = 10,
    ASSAY_FUNCTION_TANH = 11,
    ASSAY_FUNCTION_ERF = 12,
    ASSAY_FUNCTION_GELU = 13, /* by erf */
    ASSAY_FUNCTION_SILU = 14,
    ASSAY_FUNCTION_SOFTPLUS = 15,
    ASSAY_FUNCTION_SIN = 16,
    ASSAY_FUNCTION_COS = 17,
};

enum assay_normalize { ASSAY_NORMALIZE_LAYER = 1, ASSAY_NORMALIZE_RMS = 2 };

/* How a segment table treats x < 0. */
enum assay_symmetry {
    ASSAY_SYMMETRY_NONE = 1,   /* f(x) */
    ASSAY_SYMMETRY_ORIGIN = 2, /* x < 0: sat16(-f(-x)) */
    ASSAY_SYMMETRY_Y = 3,      /* f(|x|) */
};

/* Stored element types. Numbers are on the wire: never renumber. */
enum assay_dtype {
    ASSAY_S8 = 1,
    ASSAY_U8 = 2,
    ASSAY_S16 = 3,
    ASSAY_U16 = 4,
    ASSAY_S32 = 5,
    ASSAY_F32 = 6,
    ASSAY_S64 = 7,
};

#endif
