/* SPDX-License-Identifier: Apache-2.0 */
/* What the element of each kind of layer is made of. */
#include "host-tools/explain.h"

#include <inttypes.h>
#include <string.h>

#define TEXT 240

void assay_explain_integer(const struct assay_explain *e, const char *what,
                           int64_t v)
{
    char value[32];

    snprintf(value, sizeof(value), "%" PRId64, v);
    assay_explain_line(e->out, what, value);
}

/* ---- sums of products ------------------------------------------------------ */

struct sum {
    int64_t acc;
    size_t inside, taps;
};

static void add_tap(const struct assay_explain *e, struct sum *s,
                    const char *at, size_t x, size_t w, size_t channel)
{
    const struct assay_layer *l = assay_explain_layer(e);
    int64_t zx = assay_explain_zero(assay_explain_input(e, 0), 0);
    int64_t zw = assay_explain_zero(assay_explain_input(e, 1), channel);
    int64_t a = assay_explain_get(e, l->inputs[0], x).i;
    int64_t b = assay_explain_get(e, l->inputs[1], w).i;
    char text[TEXT], zeros[2][32] = {"", ""};

    s->inside++;
    s->acc += (a - zx) * (b - zw);
    if (!e->taps)
        return;
    if (zx != 0)
        snprintf(zeros[0], sizeof(zeros[0]), " - %" PRId64, zx);
    if (zw != 0)
        snprintf(zeros[1], sizeof(zeros[1]), " - %" PRId64, zw);
    snprintf(text, sizeof(text), "    tap %s (%" PRId64 "%s) * (%" PRId64 "%s)",
             at, a, zeros[0], b, zeros[1]);
    assay_explain_integer(e, text, (a - zx) * (b - zw));
}

static void sum_conv(const struct assay_explain *e, struct sum *s)
{
    const struct assay_conv2d_params *p = &assay_explain_layer(e)->p.conv2d;
    const struct assay_tensor *x = assay_explain_input(e, 0),
                              *w = assay_explain_input(e, 1);
    const struct assay_tensor *y = assay_explain_output(e);
    size_t o = e->element % assay_explain_channels(y),
           depth = (size_t)w->dims[3];
    int64_t position = (int64_t)(e->element / assay_explain_channels(y));
    int64_t ox = position % y->dims[2], oy = position / y->dims[2] % y->dims[1];
    int64_t n = position / y->dims[2] / y->dims[1];
    size_t group = o / (assay_explain_channels(y) / (size_t)p->groups);
    char at[64];

    for (int64_t ky = 0; ky < w->dims[1]; ky++) {
        for (int64_t kx = 0; kx < w->dims[2]; kx++) {
            int64_t iy = oy * p->stride_h - p->pad_top + ky * p->dilation_h;
            int64_t ix = ox * p->stride_w - p->pad_left + kx * p->dilation_w;

            s->taps += depth;
            if (iy < 0 || iy >= x->dims[1] || ix < 0 || ix >= x->dims[2])
                continue;
            for (size_t c = 0; c < depth; c++) {
                size_t from = (size_t)((n * x->dims[1] + iy) * x->dims[2] + ix);

                snprintf(at, sizeof(at), "%" PRId64 ",%" PRId64 ",%zu", ky, kx,
                         c);
                add_tap(e, s, at,
                        from * assay_explain_channels(x) + group * depth + c,
                        ((o * (size_t)w->dims[1] + (size_t)ky) *
                             (size_t)w->dims[2] +
                         (size_t)kx) *
                                depth +
                            c,
                        o);
            }
        }
    }
}

static void sum_gemm(const struct assay_explain *e, struct sum *s)
{
    size_t depth = assay_explain_channels(assay_explain_input(e, 0));
    size_t o = e->element % assay_explain_channels(assay_explain_output(e));
    size_t row = e->element / assay_explain_channels(assay_explain_output(e));
    char at[32];

    s->taps = depth;
    for (size_t c = 0; c < depth; c++) {
        snprintf(at, sizeof(at), "%zu", c);
        add_tap(e, s, at, row * depth + c, o * depth + c, o);
    }
}

static void print_sum(const struct assay_explain *e, const struct sum *s)
{
    size_t o = e->element % assay_explain_channels(assay_explain_output(e));
    int64_t zx = assay_explain_zero(assay_explain_input(e, 0), 0);
    int64_t zw = assay_explain_zero(assay_explain_input(e, 1), o);
    char text[TEXT], term[80] = "x*w";

    if (zx != 0 || zw != 0)
        snprintf(term, sizeof(term), "(x - %" PRId64 ")*(w - %" PRId64 ")", zx,
                 zw);
    if (s->inside == s->taps)
        snprintf(text, sizeof(text), "  sum %s of %zu taps", term, s->taps);
    else
        snprintf(text, sizeof(text),
                 "  sum %s of %zu taps, %zu more in the padding add 0", term,
                 s->inside, s->taps - s->inside);
    assay_explain_integer(e, text, s->acc);
}

static void print_products(const struct assay_explain *e, union assay_value *v)
{
    const struct assay_layer *l = assay_explain_layer(e);
    bool narrow = assay_dtype_bytes(assay_explain_input(e, 0)->dtype) == 1;
    size_t o = e->element % assay_explain_channels(assay_explain_output(e));
    int32_t second = 0;
    struct sum s = {0};

    if (l->op == ASSAY_OP_GEMM)
        sum_gemm(e, &s);
    else
        sum_conv(e, &s);
    print_sum(e, &s);
    if (assay_layer_has_bias(l)) {
        int64_t bias = assay_explain_get(e, l->inputs[2], o).i;

        assay_explain_integer(e, "  + bias", bias);
        s.acc += bias;
    }
    if (narrow && s.acc != (int32_t)(uint32_t)s.acc)
        assay_explain_integer(e, "  acc before it wraps", s.acc);
    v->i = narrow ? (int32_t)(uint32_t)s.acc : s.acc;
    assay_explain_integer(e, narrow ? "  acc (32 bits)" : "  acc (64 bits)",
                          v->i);
    if (l->p.conv2d.has_second)
        second = (int32_t)assay_explain_get(e, l->inputs[l->n_inputs - 1],
                                            e->element)
                     .i;
    assay_explain_program(e, &l->out_program, o,
                          l->p.conv2d.has_second ? &second : NULL, v, false,
                          "  ");
}

/* ---- elements of inputs ---------------------------------------------------- */

void assay_explain_operand(const struct assay_explain *e, uint32_t input,
                           size_t i, union assay_value *v)
{
    const struct assay_tensor *t = assay_explain_input(e, input);
    char text[TEXT], value[40];

    *v = assay_explain_get(e, assay_explain_layer(e)->inputs[input], i);
    snprintf(text, sizeof(text), "  element %zu of %.150s", i, t->name);
    assay_explain_line(e->out, text,
                       assay_explain_value(t->dtype, v, value, sizeof(value)));
}

/* Where a broadcast operand's element is. */
static size_t broadcast(const struct assay_tensor *t,
                        const struct assay_tensor *y, size_t element)
{
    size_t at = 0, stride = 1;

    for (uint32_t a = 0; a < y->rank; a++) {
        size_t i = element % (size_t)y->dims[y->rank - 1 - a];
        int64_t dim = a < t->rank ? t->dims[t->rank - 1 - a] : 1;

        element /= (size_t)y->dims[y->rank - 1 - a];
        if (dim > 1)
            at += i * stride;
        stride *= (size_t)dim;
    }
    return at;
}

static const char *const combine_names[] = {
    [ASSAY_COMBINE_ADD] = "a + b",      [ASSAY_COMBINE_SUB] = "a - b",
    [ASSAY_COMBINE_MUL] = "a * b",      [ASSAY_COMBINE_FADD] = "a + b",
    [ASSAY_COMBINE_FSUB] = "a - b",     [ASSAY_COMBINE_FMUL] = "a * b",
    [ASSAY_COMBINE_FDIV] = "a / b",     [ASSAY_COMBINE_FFMA] = "fma(b, k, a)",
    [ASSAY_COMBINE_MAX] = "max(a, b)",  [ASSAY_COMBINE_MIN] = "min(a, b)",
    [ASSAY_COMBINE_FMAX] = "max(a, b)", [ASSAY_COMBINE_FMIN] = "min(a, b)",
};

static bool combines_floats(enum assay_combine how)
{
    return (how >= ASSAY_COMBINE_FADD && how <= ASSAY_COMBINE_FFMA) ||
           how >= ASSAY_COMBINE_FMAX;
}

static void print_binary(const struct assay_explain *e, union assay_value *v)
{
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_tensor *y = assay_explain_output(e);
    size_t channel = e->element % assay_explain_channels(y);
    bool is_float = combines_floats(l->p.binary.combine);
    union assay_value ab[2];
    char text[TEXT], value[40];

    for (uint32_t i = 0; i < 2; i++) {
        const struct assay_tensor *t = assay_explain_input(e, i);

        assay_explain_operand(e, i, broadcast(t, y, e->element), &ab[i]);
        if (i < l->n_in_programs)
            assay_explain_program(e, &l->in_programs[i], channel, NULL, &ab[i],
                                  t->dtype == ASSAY_F32, "    ");
    }
    assay_combine(l->p.binary.combine, l->p.binary.k, &ab[0], &ab[1], 1);
    snprintf(text, sizeof(text), "  %s", combine_names[l->p.binary.combine]);
    if (l->p.binary.combine == ASSAY_COMBINE_FFMA)
        snprintf(text, sizeof(text), "  fma(b, %.9g, a)",
                 (double)l->p.binary.k);
    *v = ab[0];
    assay_explain_line(e->out, text,
                       assay_explain_value(is_float ? ASSAY_F32 : ASSAY_S64, v,
                                           value, sizeof(value)));
    assay_explain_program(e, &l->out_program, channel, NULL, v, is_float, "  ");
}

static void print_unary(const struct assay_explain *e, union assay_value *v)
{
    assay_explain_operand(e, 0, e->element, v);
    assay_explain_program(
        e, &assay_explain_layer(e)->out_program,
        e->element % assay_explain_channels(assay_explain_output(e)), NULL, v,
        assay_explain_input(e, 0)->dtype == ASSAY_F32, "  ");
}

static void print_table(const struct assay_explain *e, union assay_value *v)
{
    union assay_value x;
    char text[TEXT];
    size_t at;

    assay_explain_operand(e, 0, e->element, &x);
    at = (size_t)(x.i +
                  (assay_explain_input(e, 0)->dtype == ASSAY_S8 ? 128 : 0));
    *v = assay_explain_get(e, assay_explain_layer(e)->inputs[1], at);
    snprintf(text, sizeof(text), "  table[%zu]", at);
    assay_explain_integer(e, text, v->i);
    assay_explain_program(e, &assay_explain_layer(e)->out_program,
                          e->element %
                              assay_explain_channels(assay_explain_output(e)),
                          NULL, v, false, "  ");
}

bool assay_explain_print(const struct assay_explain *e,
                         union assay_value *result)
{
    switch (assay_explain_layer(e)->op) {
    case ASSAY_OP_CONV2D:
    case ASSAY_OP_GEMM: print_products(e, result); return true;
    case ASSAY_OP_BINARY: print_binary(e, result); return true;
    case ASSAY_OP_UNARY: print_unary(e, result); return true;
    case ASSAY_OP_TABLE: print_table(e, result); return true;
    case ASSAY_OP_POOL: assay_explain_pool(e, result); return true;
    case ASSAY_OP_CONCAT: assay_explain_concat(e, result); return true;
    case ASSAY_OP_VIEW: assay_explain_view(e, result); return true;
    default: return false;
    }
}
