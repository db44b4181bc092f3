/* SPDX-License-Identifier: Apache-2.0 */
/* What the differing elements have in common: which kinds are asked, and what
 * they look at. */
#include "host-tools/cause/fingerprint_private.h"

#include <math.h>

#define CHANCE_BITS 20.0
#define PAIRS 4096 /* that are drawn */

bool assay_fp_chance(double share, double facts)
{
    if (share <= 0.0)
        share = 1.0 / 4096.0; /* never seen is not impossible */
    return share >= 1.0 || facts * -log2(share) < CHANCE_BITS;
}

double assay_fp_alike(const struct assay_fp *f, double tol)
{
    uint64_t seed = 1;
    unsigned alike = 1;

    for (unsigned k = 0; k < PAIRS; k++) {
        size_t at[2];

        for (unsigned j = 0; j < 2; j++) {
            seed = seed * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
            at[j] = (size_t)(seed >> 20) % f->n;
        }
        alike += fabs(assay_fp_diff(f, at[0]) - assay_fp_diff(f, at[1])) <= tol;
    }
    return (double)alike / (PAIRS + 1);
}

bool assay_fp_may_be_moved(const struct assay_fp *f, size_t i, double k)
{
    double b = assay_fp_value(f, f->v->base, i), lo = (double)f->lo;
    double g = assay_fp_value(f, f->v->got, i), hi = (double)f->hi;
    double moved = fmin(fmax(b + k, lo), hi);

    if (b <= lo)
        return g <= moved;
    return b >= hi ? g >= moved : g == moved;
}

int64_t assay_fp_integer(const void *p, enum assay_dtype dtype, size_t i)
{
    const uint8_t *b = p;
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    int64_t s64;

    switch (dtype) {
    case ASSAY_S8: return (int8_t)b[i];
    case ASSAY_U8: return b[i];
    case ASSAY_S16: memcpy(&s16, b + i * 2, 2); return s16;
    case ASSAY_U16: memcpy(&u16, b + i * 2, 2); return u16;
    case ASSAY_S32: memcpy(&s32, b + i * 4, 4); return s32;
    case ASSAY_S64: memcpy(&s64, b + i * 8, 8); return s64;
    case ASSAY_F32: break;
    }
    return 0;
}

/* ---- limits -------------------------------------------------------------- */

/* A float operand from its bits, of the value's own width. */
static double operand(int64_t bits, bool wide)
{
    uint32_t low = (uint32_t)bits;
    float v4;
    double v8;

    memcpy(&v4, &low, sizeof(v4));
    memcpy(&v8, &bits, sizeof(v8));
    return wide ? v8 : (double)v4;
}

/* Those of the last clamp of the program, moved by the zero point behind. */
static void program_limits(const struct assay_program *p, double *lo,
                           double *hi)
{
    bool wide = false;

    for (uint32_t k = 0; k < p->n_steps; k++) {
        const struct assay_step *s = &p->steps[k];

        if (s->kind == ASSAY_STEP_TO_F64 || s->kind == ASSAY_STEP_TO_F32)
            wide = s->kind == ASSAY_STEP_TO_F64;
        if (s->n != 1 || s->a == NULL)
            continue;
        if (s->kind == ASSAY_STEP_CLAMP && s->b != NULL) {
            *lo = (double)s->a[0];
            *hi = (double)s->b[0];
        } else if (s->kind == ASSAY_STEP_FCLAMP && s->b != NULL) {
            *lo = operand(s->a[0], wide);
            *hi = operand(s->b[0], wide);
        } else if (s->kind == ASSAY_STEP_ADD_ZP) {
            *lo += (double)s->a[0];
            *hi += (double)s->a[0];
        }
    }
}

/* Those of the type, narrowed by the program. */
static void find_limits(struct assay_fp *f)
{
    double lo = -INFINITY, hi = INFINITY;

    assay_dtype_range(f->v->t->dtype, &f->lo, &f->hi);
    if (f->v->layer != NULL)
        program_limits(&f->v->layer->out_program, &lo, &hi);
    if (lo > (double)f->lo && lo < (double)f->hi)
        f->lo = (int64_t)lo;
    if (hi < (double)f->hi && hi > (double)f->lo)
        f->hi = (int64_t)hi;
}

/* ---- all kinds ----------------------------------------------------------- */

static const struct {
    enum assay_fingerprint_kind kind;
    assay_fp_fn *fits;
} kinds[ASSAY_FINGERPRINTS] = {
    /* What gives every element, */
    {ASSAY_FP_SHIFTED, assay_fp_shifted},
    {ASSAY_FP_RATIO, assay_fp_ratio},
    {ASSAY_FP_MULTIPLE, assay_fp_multiple},
    {ASSAY_FP_BIAS, assay_fp_bias},
    {ASSAY_FP_WEIGHT_SUM, assay_fp_weight_sum},
    {ASSAY_FP_HALF_PIXEL, assay_fp_half_pixel},
    /* then its place, */
    {ASSAY_FP_EDGE_RING, assay_fp_edge_ring},
    {ASSAY_FP_CONCAT_BLOCK, assay_fp_concat_block},
    {ASSAY_FP_TAIL_CHANNELS, assay_fp_tail_channels},
    {ASSAY_FP_EVERY_NTH, assay_fp_every_nth},
    {ASSAY_FP_CHANNEL_CONSTANT, assay_fp_channel_constant},
    {ASSAY_FP_CHANNEL_RATIO, assay_fp_channel_ratio},
    /* then what many causes have. */
    {ASSAY_FP_SATURATED, assay_fp_saturated},
    {ASSAY_FP_CLAMP_LIMITS, assay_fp_clamp_limits},
    {ASSAY_FP_NEGATIVE_SUM, assay_fp_negative_sum},
    {ASSAY_FP_RATE, assay_fp_rate},
    {ASSAY_FP_ONE_SIDED, assay_fp_one_sided},
    {ASSAY_FP_TWO_SIDED, assay_fp_two_sided},
    {ASSAY_FP_INPUT_FUNCTION, assay_fp_input_function},
};

static int axis_of(const struct assay_tensor *t, char label)
{
    for (uint32_t a = 0; a < t->rank; a++)
        if (t->axes[0] != '\0' && t->axes[a] == label)
            return (int)a;
    return -1;
}

void assay_fp_open(struct assay_fp *f, const struct assay_fingerprint_view *v)
{
    const struct assay_tensor *t = v->t;

    *f = (struct assay_fp){.v = v,
                           .n = 1,
                           .width = assay_dtype_bytes(t->dtype),
                           .is_int = assay_dtype_is_int(t->dtype),
                           .axis_c = axis_of(t, 'C'),
                           .axis_h = axis_of(t, 'H'),
                           .axis_w = axis_of(t, 'W'),
                           .channels = 1,
                           .inner = 1,
                           .bias = v->bias,
                           .sum_w = v->sum_w};
    if (f->axis_c < 0)
        f->axis_c = (int)t->rank - 1;
    for (int a = (int)t->rank - 1; a >= 0; a--) {
        if (a > f->axis_c)
            f->inner *= (size_t)t->dims[a];
        f->n *= (size_t)t->dims[a]; /* proved by the plan */
    }
    if (f->axis_c >= 0)
        f->channels = (size_t)t->dims[f->axis_c];
    if (f->is_int)
        find_limits(f);
    for (size_t i = 0; i < f->n && f->width > 0; i++)
        f->differing += assay_fp_differs(f, i);
}

size_t assay_fingerprint(const struct assay_fingerprint_view *v,
                         struct assay_fingerprint *out)
{
    struct assay_fp_constants k;
    struct assay_fp f;
    size_t n = 0;

    assay_fp_open(&f, v);
    if (f.differing < 2)
        return 0;
    assay_fp_constants_open(&k, &f);
    for (unsigned i = 0; i < ASSAY_FINGERPRINTS; i++) {
        struct assay_fingerprint one = {.kind = kinds[i].kind,
                                        .matched = f.differing,
                                        .differing = f.differing};

        if (kinds[i].fits(&f, &one))
            out[n++] = one;
    }
    assay_fp_constants_close(&k);
    return n;
}
