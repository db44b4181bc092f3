/* SPDX-License-Identifier: Apache-2.0 */
/* What the element of each kind of layer is made of. */
#include "host-tools/explain.h"

#include <inttypes.h>
#include <string.h>

#define TEXT 240

static const struct assay_layer *layer_of(const struct assay_explain *e)
{
    return &e->one->layers[0];
}

static const struct assay_tensor *tensor_of(const struct assay_explain *e,
                                            uint32_t input)
{
    return &e->one->tensors[layer_of(e)->inputs[input]];
}

static const struct assay_tensor *output_of(const struct assay_explain *e)
{
    return &e->one->tensors[layer_of(e)->output];
}

static size_t channels_of(const struct assay_tensor *t)
{
    return t->rank > 0 ? (size_t)t->dims[t->rank - 1] : 1;
}

static int64_t zero_of(const struct assay_tensor *t, size_t channel)
{
    return t->quant.n == 0 ? 0
                           : t->quant.zero_point[t->quant.n > 1 ? channel : 0];
}

static void integer_line(const struct assay_explain *e, const char *what,
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
    const struct assay_layer *l = layer_of(e);
    int64_t zx = zero_of(tensor_of(e, 0), 0);
    int64_t zw = zero_of(tensor_of(e, 1), channel);
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
    integer_line(e, text, (a - zx) * (b - zw));
}

static void sum_conv(const struct assay_explain *e, struct sum *s)
{
    const struct assay_conv2d_params *p = &layer_of(e)->p.conv2d;
    const struct assay_tensor *x = tensor_of(e, 0), *w = tensor_of(e, 1);
    const struct assay_tensor *y = output_of(e);
    size_t o = e->element % channels_of(y), depth = (size_t)w->dims[3];
    int64_t position = (int64_t)(e->element / channels_of(y));
    int64_t ox = position % y->dims[2], oy = position / y->dims[2] % y->dims[1];
    int64_t n = position / y->dims[2] / y->dims[1];
    size_t group = o / (channels_of(y) / (size_t)p->groups);
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
                add_tap(e, s, at, from * channels_of(x) + group * depth + c,
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
    size_t depth = channels_of(tensor_of(e, 0));
    size_t o = e->element % channels_of(output_of(e));
    size_t row = e->element / channels_of(output_of(e));
    char at[32];

    s->taps = depth;
    for (size_t c = 0; c < depth; c++) {
        snprintf(at, sizeof(at), "%zu", c);
        add_tap(e, s, at, row * depth + c, o * depth + c, o);
    }
}

static void print_sum(const struct assay_explain *e, const struct sum *s)
{
    const char *term =
        zero_of(tensor_of(e, 0), 0) != 0 || tensor_of(e, 1)->quant.n > 0
            ? "(x - zx)*(w - zw)"
            : "x*w";
    char text[TEXT];

    if (s->inside == s->taps)
        snprintf(text, sizeof(text), "  sum %s of %zu taps", term, s->taps);
    else
        snprintf(text, sizeof(text),
                 "  sum %s of %zu taps, %zu more in the padding add 0", term,
                 s->inside, s->taps - s->inside);
    integer_line(e, text, s->acc);
}

static void print_products(const struct assay_explain *e, union assay_value *v)
{
    const struct assay_layer *l = layer_of(e);
    bool narrow = assay_dtype_bytes(tensor_of(e, 0)->dtype) == 1;
    size_t o = e->element % channels_of(output_of(e));
    int32_t second = 0;
    struct sum s = {0};

    if (l->op == ASSAY_OP_GEMM)
        sum_gemm(e, &s);
    else
        sum_conv(e, &s);
    print_sum(e, &s);
    if (l->p.conv2d.has_bias) {
        int64_t bias = assay_explain_get(e, l->inputs[2], o).i;

        integer_line(e, "  + bias", bias);
        s.acc += bias;
    }
    if (narrow && s.acc != (int32_t)(uint32_t)s.acc)
        integer_line(e, "  acc before it wraps", s.acc);
    v->i = narrow ? (int32_t)(uint32_t)s.acc : s.acc;
    integer_line(e, narrow ? "  acc (32 bits)" : "  acc (64 bits)", v->i);
    if (l->p.conv2d.has_second)
        second = (int32_t)assay_explain_get(e, l->inputs[l->n_inputs - 1],
                                            e->element)
                     .i;
    assay_explain_program(e, &l->out_program, o,
                          l->p.conv2d.has_second ? &second : NULL, v, false,
                          "  ");
}

/* ---- elements of inputs ---------------------------------------------------- */

static void print_operand(const struct assay_explain *e, uint32_t input,
                          size_t i, union assay_value *v)
{
    const struct assay_tensor *t = tensor_of(e, input);
    char text[TEXT], value[40];

    *v = assay_explain_get(e, layer_of(e)->inputs[input], i);
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
    const struct assay_layer *l = layer_of(e);
    const struct assay_tensor *y = output_of(e);
    size_t channel = e->element % channels_of(y);
    bool is_float = combines_floats(l->p.binary.combine);
    union assay_value ab[2];
    char text[TEXT], value[40];

    for (uint32_t i = 0; i < 2; i++) {
        const struct assay_tensor *t = tensor_of(e, i);

        print_operand(e, i, broadcast(t, y, e->element), &ab[i]);
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
    print_operand(e, 0, e->element, v);
    assay_explain_program(e, &layer_of(e)->out_program,
                          e->element % channels_of(output_of(e)), NULL, v,
                          tensor_of(e, 0)->dtype == ASSAY_F32, "  ");
}

static void print_table(const struct assay_explain *e, union assay_value *v)
{
    union assay_value x;
    char text[TEXT];
    size_t at;

    print_operand(e, 0, e->element, &x);
    at = (size_t)(x.i + (tensor_of(e, 0)->dtype == ASSAY_S8 ? 128 : 0));
    *v = assay_explain_get(e, layer_of(e)->inputs[1], at);
    snprintf(text, sizeof(text), "  table[%zu]", at);
    integer_line(e, text, v->i);
    assay_explain_program(e, &layer_of(e)->out_program,
                          e->element % channels_of(output_of(e)), NULL, v,
                          false, "  ");
}

bool assay_explain_print(const struct assay_explain *e,
                         union assay_value *result)
{
    switch (layer_of(e)->op) {
    case ASSAY_OP_CONV2D:
    case ASSAY_OP_GEMM: print_products(e, result); return true;
    case ASSAY_OP_BINARY: print_binary(e, result); return true;
    case ASSAY_OP_UNARY: print_unary(e, result); return true;
    case ASSAY_OP_TABLE: print_table(e, result); return true;
    default: return false;
    }
}
