/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/edit_program.h"

#include <string.h>

#include "kernels/requant.h"
#include "lib/core/arith.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited program");
}

int assay_edit_first(const struct assay_program *p, enum assay_step_kind kind)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == kind)
            return (int)i;
    return -1;
}

int assay_edit_last(const struct assay_program *p, enum assay_step_kind kind)
{
    for (uint32_t i = p->n_steps; i-- > 0;)
        if (p->steps[i].kind == kind)
            return (int)i;
    return -1;
}

static int put(struct assay_program *p, uint32_t at,
               const struct assay_step *fresh)
{
    if (p->n_steps == ASSAY_MAX_STEPS)
        return ASSAY_EDIT_NOT_HERE;
    memmove(&p->steps[at + 1], &p->steps[at],
            (p->n_steps - at) * sizeof(*fresh));
    p->steps[at] = *fresh;
    p->n_steps++;
    return 0;
}

int assay_edit_insert_n(struct assay_slice *s, struct assay_program *p,
                        uint32_t at, enum assay_step_kind kind, uint32_t n,
                        const int64_t *a, struct assay_err *err)
{
    struct assay_step fresh = {.kind = (uint8_t)kind, .n = n};

    fresh.a = assay_arena_copy(s->arena, a, n * sizeof(*a));
    return fresh.a ? put(p, at, &fresh) : no_memory(err);
}

int assay_edit_insert(struct assay_slice *s, struct assay_program *p,
                      uint32_t at, enum assay_step_kind kind, int64_t a,
                      int64_t b, struct assay_err *err)
{
    struct assay_step fresh = {.kind = (uint8_t)kind, .n = 1};
    const int64_t operands[2] = {a, b};
    int64_t *kept;

    if (kind == ASSAY_STEP_SAT || kind == ASSAY_STEP_WRAP ||
        kind == ASSAY_STEP_FROUND || kind == ASSAY_STEP_TO_F32) {
        fresh.bits = (uint8_t)a;
        fresh.n = 0;
        return put(p, at, &fresh);
    }
    kept = assay_arena_copy(s->arena, operands, sizeof(operands));
    if (!kept)
        return no_memory(err);
    fresh.a = kept;
    if (kind == ASSAY_STEP_CLAMP || kind == ASSAY_STEP_FCLAMP)
        fresh.b = kept + 1;
    return put(p, at, &fresh);
}

void assay_edit_remove(struct assay_program *p, uint32_t at)
{
    p->n_steps--;
    memmove(&p->steps[at], &p->steps[at + 1],
            (p->n_steps - at) * sizeof(p->steps[0]));
}

int assay_edit_operand(struct assay_slice *s, struct assay_step *step,
                       uint32_t n, const int64_t *v, struct assay_err *err)
{
    step->a = assay_arena_copy(s->arena, v, n * sizeof(*v));
    step->n = n;
    return step->a ? 0 : no_memory(err);
}

int64_t assay_edit_at(const struct assay_step *s, uint32_t c)
{
    return s->a[s->n > 1 ? c : 0];
}

double assay_edit_float(int64_t bits, bool wide)
{
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    memcpy(&d, &bits, sizeof(d));
    memcpy(&f, &low, sizeof(f));
    return wide ? d : (double)f;
}

int64_t assay_edit_bits(double v, bool wide)
{
    float f = (float)v;
    uint32_t low;
    int64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    memcpy(&low, &f, sizeof(low));
    return wide ? bits : (int64_t)low;
}

bool assay_edit_wide(const struct assay_program *p)
{
    return assay_edit_first(p, ASSAY_STEP_TO_F64) >= 0;
}

int assay_edit_clamp_out(struct assay_slice *s, uint32_t layer,
                         struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    int64_t lo, hi;

    assay_dtype_range(s->tensors[l->output].dtype, &lo, &hi);
    return assay_edit_insert(s, &l->out_program, l->out_program.n_steps,
                             ASSAY_STEP_CLAMP, lo, hi, err);
}

uint32_t assay_edit_channels(const struct assay_slice *s, uint32_t layer)
{
    const struct assay_tensor *t = &s->tensors[s->layers[layer].output];

    return t->rank > 0 ? (uint32_t)t->dims[t->rank - 1] : 1;
}

/* ---- programs of a layer --------------------------------------------------- */

int assay_edit_save(struct assay_slice *s, uint32_t layer,
                    struct assay_layer *saved, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];

    *saved = *l;
    if (l->n_in_programs == 0)
        return 0;
    l->in_programs = assay_arena_copy(
        s->arena, l->in_programs, l->n_in_programs * sizeof(*l->in_programs));
    if (l->in_programs)
        return 0;
    *l = *saved;
    return no_memory(err);
}

void assay_edit_restore(struct assay_slice *s, uint32_t layer,
                        const struct assay_layer *saved)
{
    s->layers[layer] = *saved;
}

static bool has_kind(const struct assay_program *p, uint32_t kinds)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (kinds >> p->steps[i].kind & 1)
            return true;
    return false;
}

int assay_edit_each(struct assay_slice *s, uint32_t layer, uint32_t kinds,
                    const struct assay_edit *e, assay_edit_program_fn *change,
                    struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    bool changed = false, same = false;

    if (has_kind(&l->out_program, kinds))
        return change(s, layer, &l->out_program, e, err);
    for (uint32_t i = 0; i < l->n_in_programs; i++) {
        int rc = ASSAY_EDIT_NOT_HERE;

        if (has_kind(&l->in_programs[i], kinds))
            rc = change(s, layer, &l->in_programs[i], e, err);
        if (rc < 0)
            return rc;
        changed = changed || rc == 0;
        same = same || rc == ASSAY_EDIT_SAME;
    }
    return changed ? 0 : same ? ASSAY_EDIT_SAME : ASSAY_EDIT_NOT_HERE;
}

int assay_edit_requantize(struct assay_slice *s, uint32_t layer,
                          uint32_t tensor, const float *scale,
                          const int32_t *zero, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_quant *q = &s->tensors[tensor].quant;
    const struct assay_quant own = *q;
    struct assay_err ignored = {0};
    int rc;

    if (l->real_op == ASSAY_REAL_NONE || !l->arith || l->arith[0] == '\0' ||
        q->n == 0)
        return ASSAY_EDIT_NOT_HERE;
    q->scale = scale ? scale : q->scale;
    q->zero_point = zero ? zero : q->zero_point;
    rc = assay_arith_apply(s, layer, l->arith, &ignored);
    *q = own;
    if (rc == ASSAY_EMEMORY)
        return no_memory(err);
    return rc ? ASSAY_EDIT_NOT_HERE : 0;
}

/* ---- sums ------------------------------------------------------------------ */

bool assay_edit_is_sum(const struct assay_slice *s, uint32_t layer)
{
    const struct assay_layer *l = &s->layers[layer];

    return (l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
            l->op == ASSAY_OP_CONV_TRANSPOSE2D) &&
           s->tensors[l->inputs[1]].role == ASSAY_ROLE_CONSTANT &&
           assay_dtype_is_int(s->tensors[l->inputs[1]].dtype) &&
           assay_dtype_is_int(s->tensors[l->inputs[0]].dtype);
}

bool assay_edit_has_bias(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_GEMM ? l->n_inputs > 2 : l->p.conv2d.has_bias;
}

static int64_t zero_of(const struct assay_tensor *t, uint32_t c)
{
    return t->quant.n == 0 ? 0 : t->quant.zero_point[t->quant.n > 1 ? c : 0];
}

struct assay_interval assay_edit_sum_range(const struct assay_slice *s,
                                           uint32_t layer, uint32_t c)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_tensor *w = &s->tensors[l->inputs[1]];
    size_t width = assay_dtype_bytes(w->dtype);
    size_t row = w->size / width / (size_t)w->dims[0];
    const uint8_t *at = (const uint8_t *)w->data + c * row * width;
    int64_t lo, hi, least = 0, most = 0, wz = zero_of(w, c);

    assay_dtype_range(x->dtype, &lo, &hi);
    lo -= zero_of(x, 0);
    hi -= zero_of(x, 0);
    for (size_t i = 0; i < row; i++) {
        union assay_value v;
        int64_t k;

        assay_load_values(w->dtype, at + i * width, &v, 1);
        k = v.i - wz;
        /* A tap in the padding gives 0, which may be outside of lo..hi. */
        least += k > 0 ? k * (lo < 0 ? lo : 0) : k * (hi > 0 ? hi : 0);
        most += k > 0 ? k * (hi > 0 ? hi : 0) : k * (lo < 0 ? lo : 0);
    }
    if (assay_edit_has_bias(l)) {
        const int32_t *bias = s->tensors[l->inputs[2]].data;

        least += bias ? bias[c] : INT32_MIN;
        most += bias ? bias[c] : INT32_MAX;
    }
    return assay_interval_int(least, most);
}

bool assay_edit_range_at(const struct assay_slice *s, uint32_t layer,
                         uint32_t at, uint32_t c, struct assay_interval *out)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_interval second =
        assay_interval_of(s->tensors[l->inputs[l->n_inputs - 1]].dtype);
    struct assay_program front = l->out_program;
    struct assay_err ignored = {0};

    front.n_steps = at;
    if (assay_edit_is_sum(s, layer)) {
        *out = assay_edit_sum_range(s, layer, c);
        if (assay_dtype_bytes(x->dtype) == 1 &&
            (out->lo < INT32_MIN || out->hi > INT32_MAX))
            *out = assay_interval_int(INT32_MIN, INT32_MAX);
    } else if (l->op == ASSAY_OP_UNARY) {
        *out = assay_interval_of(x->dtype);
    } else {
        return false;
    }
    return assay_program_range(&front, c, &second, out, "", &ignored) == 0;
}
