/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/probe.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "host-tools/cause/search.h"
#include "kernels/requant.h"
#include "lib/core/slice_part.h"
#include "lib/engine/once.h"

#define BLOCK 1024        /* values at a time */
#define MAGIC 12582912.0f /* added to round a small binary32 */

enum width { INTEGER, SINGLE, DOUBLE };

/* A step's view of a block of values. */
struct view {
    const struct assay_step *s;
    const struct assay_block *b;
    enum width width; /* of the values in front of the step */
};

static bool to_nearest(unsigned round)
{
    return round >= ASSAY_ROUND_HALF_UP && round <= ASSAY_ROUND_ADD_HALF;
}

static size_t operand(const struct view *w, size_t k)
{
    return w->s->n <= 1 ? 0 : (w->b->channel + k) % w->b->channels;
}

static double float_operand(const struct view *w, int64_t bits)
{
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    memcpy(&d, &bits, sizeof(d));
    memcpy(&f, &low, sizeof(f));
    return w->width == DOUBLE ? d : (double)f;
}

static double float_value(const struct view *w, size_t k)
{
    return w->width == DOUBLE ? w->b->v[k].d : (double)w->b->v[k].f;
}

/* ---- ties -------------------------------------------------------------------- */

static bool is_magic(const struct view *w)
{
    return w->s->kind == ASSAY_STEP_FADD && w->width == SINGLE &&
           w->s->n == 1 && float_operand(w, w->s->a[0]) == (double)MAGIC;
}

static bool rounds(const struct view *w)
{
    switch (w->s->kind) {
    case ASSAY_STEP_SHR:
    case ASSAY_STEP_ADD_INPUT:
    case ASSAY_STEP_ADD_SCALED:
        for (uint32_t i = 0; i < w->s->n; i++)
            if (w->s->a[i] > 0)
                return to_nearest(w->s->round);
        return false;
    case ASSAY_STEP_FROUND: return to_nearest(w->s->round);
    case ASSAY_STEP_SRDHM: return true;
    default: return is_magic(w);
    }
}

/* Are the bits that a shift drops just a half? */
static bool half(int64_t v, int64_t shift)
{
    uint64_t h = shift > 0 ? 1ull << (shift - 1) : 0;

    return shift > 0 && ((uint64_t)v & ((h << 1) - 1)) == h;
}

static bool float_half(double x)
{
    double whole;

    return fabs(x) < 2147483648.0 && fabs(modf(x, &whole)) == 0.5;
}

static bool ties(const struct view *w, size_t k)
{
    int64_t a = w->s->a != NULL ? w->s->a[operand(w, k)] : 0, e;

    switch (w->s->kind) {
    case ASSAY_STEP_SHR: return half(w->b->v[k].i, a);
    case ASSAY_STEP_ADD_INPUT:
        return w->b->second != NULL && half(w->b->second[k], a);
    case ASSAY_STEP_ADD_SCALED:
        e = w->b->second != NULL ? w->b->second[k] : 0;
        e = (int64_t)((uint64_t)e * (uint64_t)w->s->b[operand(w, k)]);
        return half(e, a);
    case ASSAY_STEP_SRDHM:
        return half((int64_t)((uint64_t)(int64_t)(int32_t)w->b->v[k].i *
                              (uint64_t)(int64_t)(int32_t)a),
                    31);
    default: return float_half(float_value(w, k));
    }
}

/* ---- ends of a range ----------------------------------------------------------- */

/* An end that no binary32 is beyond is none. */
static bool ends(const struct view *w, bool upper)
{
    const int64_t *bits = upper ? w->s->b : w->s->a;

    switch (w->s->kind) {
    case ASSAY_STEP_FCLAMP:
        for (uint32_t i = 0; i < w->s->n; i++)
            if (fabs(float_operand(w, bits[i])) < (double)FLT_MAX)
                return true;
        return false;
    case ASSAY_STEP_CLAMP:
    case ASSAY_STEP_SAT:
    case ASSAY_STEP_WRAP: return true;
    case ASSAY_STEP_ADD: return w->s->add_mode != ASSAY_ADD_WIDE;
    default: return false;
    }
}

/* -1: below, 1: above. */
static int outside(const struct view *w, size_t k)
{
    size_t c = operand(w, k);
    int64_t v = w->b->v[k].i, lo, hi;

    if (w->s->kind == ASSAY_STEP_FCLAMP) {
        double x = float_value(w, k);

        return x < float_operand(w, w->s->a[c])   ? -1
               : x > float_operand(w, w->s->b[c]) ? 1
                                                  : 0;
    }
    hi = INT32_MAX;
    if (w->s->kind == ASSAY_STEP_SAT || w->s->kind == ASSAY_STEP_WRAP)
        hi = (int64_t)((1ull << (w->s->bits - 1)) - 1);
    lo = -hi - 1;
    if (w->s->kind == ASSAY_STEP_ADD)
        v = (int64_t)((uint64_t)v + (uint64_t)w->s->a[c]);
    if (w->s->kind == ASSAY_STEP_CLAMP) {
        lo = w->s->a[c];
        hi = w->s->b[c];
    }
    return v < lo ? -1 : v > hi ? 1 : 0;
}

/* ---- a program ------------------------------------------------------------------ */

static struct assay_probe_step *step_of(struct assay_probe *p, unsigned operand,
                                        unsigned step)
{
    struct assay_probe_step *s = p->steps;

    for (; s < p->steps + p->n_steps; s++)
        if (s->operand == operand && s->step == step)
            return s;
    if (p->n_steps == ASSAY_PROBE_STEPS)
        return NULL;
    p->n_steps++;
    s->operand = (uint8_t)operand;
    s->step = (uint8_t)step;
    return s;
}

static void look(struct assay_probe *p, unsigned operand, unsigned step,
                 const struct view *w)
{
    bool may_tie = rounds(w), from = ends(w, false), to = ends(w, true);
    struct assay_probe_step *s =
        may_tie || from || to ? step_of(p, operand, step) : NULL;

    if (s == NULL)
        return;
    s->rounds = may_tie;
    s->from = from;
    s->to = to;
    for (size_t k = 0; k < w->b->n; k++) {
        int end = from || to ? outside(w, k) : 0;

        s->ties += may_tie && ties(w, k);
        s->low += end < 0;
        s->high += end > 0;
    }
}

static enum width behind(const struct assay_step *s, enum width w)
{
    switch (s->kind) {
    case ASSAY_STEP_TO_F32: return SINGLE;
    case ASSAY_STEP_TO_F64: return DOUBLE;
    case ASSAY_STEP_FROUND: return INTEGER;
    default: return w;
    }
}

/* One step; assay_program_run() takes a float that it finds for a binary32, so
 * steps on a binary64 begin at the conversion to it. */
static void advance(const struct assay_program *program, uint32_t step,
                    enum width width, const struct assay_block *b,
                    union assay_value *entry)
{
    struct assay_program part = {.n_steps = 1};
    uint32_t from = step;

    if (program->steps[step].kind == ASSAY_STEP_TO_F64)
        memcpy(entry, b->v, b->n * sizeof(*entry));
    while (width == DOUBLE && program->steps[from].kind != ASSAY_STEP_TO_F64)
        from--;
    if (from < step)
        memcpy(b->v, entry, b->n * sizeof(*entry));
    part.n_steps = step + 1 - from;
    memcpy(part.steps, &program->steps[from],
           part.n_steps * sizeof(part.steps[0]));
    assay_program_run(&part, b);
}

static void audit_block(struct assay_probe *p, unsigned operand,
                        const struct assay_program *program, enum width width,
                        const struct assay_block *b)
{
    union assay_value entry[BLOCK]; /* where binary64 began */

    for (uint32_t i = 0; i < program->n_steps; i++) {
        const struct view w = {&program->steps[i], b, width};

        look(p, operand, i, &w);
        advance(program, i, width, b, entry);
        width = behind(&program->steps[i], width);
    }
}

/* n values of `dtype`, of a tensor whose last axis has `channels`. */
static void audit(struct assay_probe *p, unsigned operand,
                  const struct assay_program *program, enum assay_dtype dtype,
                  const void *values, const int32_t *second, size_t n,
                  size_t channels)
{
    union assay_value v[BLOCK];

    for (size_t at = 0; at < n; at += BLOCK) {
        size_t k = n - at < BLOCK ? n - at : BLOCK;
        const struct assay_block b = {.v = v,
                                      .n = k,
                                      .channel = at % channels,
                                      .channels = channels,
                                      .second =
                                          second != NULL ? second + at : NULL};

        assay_load_values(
            dtype, (const uint8_t *)values + at * assay_dtype_bytes(dtype), v,
            k);
        audit_block(p, operand, program,
                    assay_dtype_is_int(dtype) ? INTEGER : SINGLE, &b);
    }
}

/* ---- a layer ---------------------------------------------------------------------- */

static size_t channels_of(const struct assay_tensor *t)
{
    return t->rank > 0 && t->dims[t->rank - 1] > 0
               ? (size_t)t->dims[t->rank - 1]
               : 1;
}

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for accumulators");
}

static const void *bytes_of(const struct assay_slice *one,
                            const void *const *inputs, uint32_t tensor)
{
    const struct assay_tensor *t = &one->tensors[tensor];

    return t->role == ASSAY_ROLE_CONSTANT ? t->data : inputs[tensor];
}

/* The tensor that a convolution adds in its program; NULL: none. */
static int second_of(int32_t **out, const struct assay_slice *one,
                     const void *const *inputs, size_t n, struct assay_err *err)
{
    const struct assay_layer *l = &one->layers[0];
    uint32_t tensor = l->inputs[l->n_inputs - 1];
    const struct assay_tensor *t = &one->tensors[tensor];
    const uint8_t *from = bytes_of(one, inputs, tensor);

    *out = NULL;
    if (!l->p.conv2d.has_second)
        return 0;
    *out = assay_calloc(n + 1, sizeof(**out));
    if (*out == NULL)
        return no_memory(err);
    for (size_t e = 0; e < n; e++) {
        union assay_value v;

        assay_load_values(t->dtype, from + e * assay_dtype_bytes(t->dtype), &v,
                          1);
        (*out)[e] = (int32_t)v.i;
    }
    return 0;
}

static void span(struct assay_probe *p, const int64_t *sums, size_t n)
{
    for (size_t e = 0; e < n; e++) {
        if (!p->has_sums || sums[e] < p->min)
            p->min = sums[e];
        if (!p->has_sums || sums[e] > p->max)
            p->max = sums[e];
        p->has_sums = true;
    }
}

static int audit_sums(struct assay_probe *p, const struct assay_slice *one,
                      const void *const *inputs, int64_t *sums, size_t n,
                      struct assay_err *err)
{
    const struct assay_layer *l = &one->layers[0];
    int32_t *second;
    int rc = second_of(&second, one, inputs, n, err);

    if (rc == 0) {
        span(p, sums, n);
        /* Sums of 8-bit inputs are the engine's in 32 bits. */
        if (assay_dtype_bytes(one->tensors[l->inputs[0]].dtype) == 1)
            for (size_t e = 0; e < n; e++)
                sums[e] = (int32_t)(uint32_t)sums[e];
        audit(p, 0, &l->out_program, ASSAY_S64, sums, second, n,
              channels_of(&one->tensors[l->output]));
    }
    assay_free(second);
    return rc;
}

/* What stands in front of the output program; 1: it cannot be had. */
static int bare(const struct assay_slice *one, enum assay_dtype dtype,
                const void *const *inputs, uint32_t cpu_flags, size_t n,
                void **out, struct assay_err *err)
{
    uint32_t y = one->layers[0].output;
    struct assay_err refused = {0};
    struct assay_slice *s = NULL;
    int rc = assay_slice_copy(&s, one, err);

    if (rc)
        return rc;
    s->layers[0].out_program.n_steps = 0;
    s->tensors[y].dtype = dtype;
    s->tensors[y].quant = (struct assay_quant){.axis = -1};
    *out = assay_alloc(n * assay_dtype_bytes(dtype) + 1);
    rc = *out == NULL ? no_memory(err)
                      : assay_once(s, cpu_flags, inputs, y, *out,
                                   n * assay_dtype_bytes(dtype), &refused);
    assay_slice_free(s);
    if (rc == 0)
        return 0;
    assay_free(*out);
    *out = NULL;
    return rc == ASSAY_EMEMORY ? rc : 1;
}

static int audit_bare(struct assay_probe *p, const struct assay_slice *one,
                      const void *const *inputs, uint32_t cpu_flags, size_t n,
                      struct assay_err *err)
{
    static const enum assay_dtype dtypes[] = {ASSAY_S64, ASSAY_S32, ASSAY_F32};
    const struct assay_layer *l = &one->layers[0];
    size_t channels = channels_of(&one->tensors[l->output]);
    int rc = 1;

    if (l->out_program.n_steps == 0)
        return 1;
    if (l->op == ASSAY_OP_UNARY) {
        audit(p, 0, &l->out_program, one->tensors[l->inputs[0]].dtype,
              bytes_of(one, inputs, l->inputs[0]), NULL, n, channels);
        return 0;
    }
    for (size_t i = 0; i < 3 && rc == 1; i++) {
        void *values = NULL;

        rc = bare(one, dtypes[i], inputs, cpu_flags, n, &values, err);
        if (rc == 0)
            audit(p, 0, &l->out_program, dtypes[i], values, NULL, n, channels);
        assay_free(values);
    }
    return rc;
}

/* Programs of operands that are data. */
static int audit_operands(struct assay_probe *p, const struct assay_slice *one,
                          const void *const *inputs, struct assay_err *err)
{
    const struct assay_layer *l = &one->layers[0];
    int rc = 1;

    if (l->op != ASSAY_OP_BINARY && l->op != ASSAY_OP_CONCAT)
        return 1;
    for (uint32_t i = 0; i < l->n_in_programs && i < l->n_inputs && i < 255;
         i++) {
        const struct assay_tensor *t = &one->tensors[l->inputs[i]];
        size_t n, bytes;
        int failed = assay_tensor_count(t, &n, &bytes, err);

        if (failed)
            return failed;
        if (t->role == ASSAY_ROLE_CONSTANT || l->in_programs[i].n_steps == 0)
            continue;
        audit(p, i + 1, &l->in_programs[i], t->dtype, inputs[l->inputs[i]],
              NULL, n, channels_of(t));
        rc = 0;
    }
    return rc;
}

int assay_probe_layer(struct assay_probe *p, const struct assay_slice *one,
                      const void *const *inputs, uint32_t cpu_flags,
                      struct assay_err *err)
{
    const struct assay_suspect_sample sample = {.inputs = inputs};
    const struct assay_suspect suspect = {
        .one = one, .samples = &sample, .n_samples = 1};
    int64_t *sums = NULL;
    size_t n, bytes;
    int rc = assay_tensor_count(&one->tensors[one->layers[0].output], &n,
                                &bytes, err);
    int operands, result;

    if (rc)
        return rc;
    operands = audit_operands(p, one, inputs, err);
    rc = operands < 0 ? operands
                      : assay_cause_sums(&sums, &suspect, 0, cpu_flags, err);
    if (rc)
        return rc;
    result = sums != NULL ? audit_sums(p, one, inputs, sums, n, err)
                          : audit_bare(p, one, inputs, cpu_flags, n, err);
    assay_free(sums);
    if (result == 1)
        result = operands;
    p->values += result == 0 ? n : 0;
    return result;
}

int assay_probe_headroom(const struct assay_probe *p, unsigned bits)
{
    uint64_t below = p->min < 0 ? ~(uint64_t)p->min : 0;
    uint64_t above = p->max > 0 ? (uint64_t)p->max : 0;
    uint64_t most = below > above ? below : above;
    int used = 1; /* the sign */

    for (; most > 0; most >>= 1)
        used++;
    return (int)bits - used;
}
