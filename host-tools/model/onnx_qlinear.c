/* SPDX-License-Identifier: Apache-2.0 */
/* QOperator nodes: each has its own order of operands, scales, zero points. */
#include <string.h>

#include "host-tools/model/onnx_import.h"

#define MICROSOFT "com.microsoft"

/*
 * Letters name the inputs in order: x an operand, s and z its scale and zero
 * point, b a bias, S and Z the output's; a '+' repeats what follows it.
 * needs: so many inputs at least.
 */
static const struct form {
    const char *domain, *op, *inputs;
    uint32_t needs;
    enum assay_onnx_kind kind;
    enum assay_combine combine;
} forms[] = {
    {"", "QLinearConv", "xszxszSZb", 8, ASSAY_ONNX_CONV, 0},
    {"", "QLinearMatMul", "xszxszSZ", 8, ASSAY_ONNX_GEMM, 0},
    {MICROSOFT, "QGemm", "xszxszbSZ", 6, ASSAY_ONNX_GEMM, 0},
    {MICROSOFT, "QLinearAdd", "xszxszSZ", 7, ASSAY_ONNX_BINARY,
     ASSAY_COMBINE_FADD},
    {MICROSOFT, "QLinearMul", "xszxszSZ", 7, ASSAY_ONNX_BINARY,
     ASSAY_COMBINE_FMUL},
    {MICROSOFT, "QLinearAveragePool", "xszSZ", 4, ASSAY_ONNX_AVG_POOL, 0},
    {MICROSOFT, "QLinearGlobalAveragePool", "xszSZ", 4,
     ASSAY_ONNX_GLOBAL_AVG_POOL, 0},
    {MICROSOFT, "QLinearSoftmax", "xszSZ", 4, ASSAY_ONNX_SOFTMAX, 0},
    {MICROSOFT, "QLinearConcat", "SZ+xsz", 5, ASSAY_ONNX_CONCAT, 0},
};

/* Per-channel weights: which of their axes the scales go along. */
static int64_t scale_axis(const struct form *f,
                          const struct assay_onnx_operation *op)
{
    if (f->kind == ASSAY_ONNX_GEMM)
        return op->trans_b ? 0 : 1;
    return f->kind == ASSAY_ONNX_CONV ? 0 : -1;
}

/* Which letter input i has. */
static char letter(const struct form *f, uint32_t i)
{
    const char *repeat = strchr(f->inputs, '+');
    size_t n = strlen(f->inputs);

    if (repeat) {
        size_t head = (size_t)(repeat - f->inputs);

        return i < head ? f->inputs[i]
                        : repeat[1 + (i - head) % (n - head - 1)];
    }
    return i < n ? f->inputs[i] : '\0';
}

static int operand(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, const struct form *f,
                   uint32_t i, struct assay_onnx_operation *op)
{
    struct assay_onnx_operand *o;

    if (op->n_in == ASSAY_MAX_LAYER_INPUTS)
        return assay_onnx_fail(im, n, ASSAY_ERANGE, "more than %d operands",
                               ASSAY_MAX_LAYER_INPUTS);
    o = &op->in[op->n_in++];
    o->value = n->in[i];
    if (o->value == ASSAY_ONNX_NONE && letter(f, i) == 'x')
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "input %u is left out", i);
    if (letter(f, i) == 'b')
        return 0;
    return assay_onnx_quant(im, n, assay_onnx_input(n, i + 1),
                            assay_onnx_input(n, i + 2), scale_axis(f, op),
                            &o->q, NULL);
}

static int read_form(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const struct form *f,
                     struct assay_onnx_operation *op)
{
    int64_t trans = 0;
    int rc = 0;

    if (n->n_in < f->needs || n->n_out != 1 || n->out[0] == ASSAY_ONNX_NONE)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "%u inputs and %u outputs, expected at least "
                               "%u and 1",
                               n->n_in, n->n_out, f->needs);
    op->kind = f->kind;
    op->combine = f->combine;
    op->integer = true;
    op->out = n->out[0];
    if (!strcmp(f->op, "QGemm"))
        rc = assay_onnx_attr_int(im->g, n, "transB", 0, &trans, im->err);
    op->trans_b = trans != 0;
    for (uint32_t i = 0; !rc && i < n->n_in; i++) {
        switch (letter(f, i)) {
        case 'x':
        case 'b': rc = operand(im, n, f, i, op); break;
        case 'S':
            if (n->in[i] != ASSAY_ONNX_NONE)
                rc = assay_onnx_quant(im, n, n->in[i],
                                      assay_onnx_input(n, i + 1), -1,
                                      &op->out_q, &op->out_dtype);
            break;
        case '\0':
            rc = assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                 "%u inputs, expected at most %zu", n->n_in,
                                 strlen(f->inputs));
            break;
        }
    }
    return rc;
}

int assay_onnx_decode_qlinear(struct assay_onnx_import *im,
                              const struct assay_onnx_node *n,
                              struct assay_onnx_operation *op, bool *known)
{
    *known = false;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (assay_onnx_is(n, forms[i].domain, forms[i].op)) {
            *known = true;
            return read_form(im, n, &forms[i], op);
        }
    return 0;
}
