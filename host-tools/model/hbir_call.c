/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hbtl.call: an operation by its signature. Its parameters stand in order and
 * without names; the table gives them the names that the emitters ask for.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

/*
 * Names of the parameters that are no tensors, one after the other. "-" is one
 * that the result's type says too; "!" one that must be false.
 */
static const struct {
    const char *signature; /* whatever the case */
    const char *op;
    const char *parameters;
} calls[] = {
    {"quant::quantize", "quantize", "scales zeros ! axis !"},
    {"quant::quantize", "quantize", "scales zeros axis"},
    {"quant::dequantize", "dequantize", "scales zeros ! axis !"},
    {"quant::dequantize", "dequantize", "scales zeros axis"},
    {"quant::qcast", "quantize", "scales zeros ! axis !"},
    {"quant::qcast", "quantize", "scales zeros axis"},
    {"quant::dcast", "dequantize", "scales zeros ! axis !"},
    {"quant::dcast", "dequantize", "scales zeros axis"},
    {"native::transpose", "transpose", "dims"},
    {"native::reshape", "reshape", "shape"},
    {"native::cast", "cast_type", ""},
    {"native::cast", "cast_type", "-"},
    {"native::concat", "concat", "dim"},
    {"native::slice", "slice", "begin end step"},
    {"native::slice", "slice", "begin end"},
    {"native::softmax", "softmax", "dim"},
    {"native::reducemax", "reduce_max", "dims keepDim"},
    {"native::reducemin", "reduce_min", "dims keepDim"},
    {"native::reducesum", "reduce_sum", "dims keepDim"},
    {"native::reducemean", "reduce_mean", "dims keepDim"},
    {"native::argmax", "reduce_argmax", "dims keepDim"},
    {"native::reduceargmax", "reduce_argmax", "dims keepDim"},
    {"native::add", "add", ""},
    {"native::sub", "sub", ""},
    {"native::mul", "mul", ""},
    {"native::div", "div", ""},
    {"native::max", "max", ""},
    {"native::min", "min", ""},
    {"native::where", "where", ""},
    {"native::select", "where", ""},
    {"native::relu", "relu", ""},
    {"native::abs", "abs", ""},
    {"native::neg", "neg", ""},
    {"native::floor", "floor", ""},
    {"native::ceil", "ceil", ""},
    {"native::sqrt", "sqrt", ""},
    {"native::rsqrt", "rsqrt", ""},
    {"native::reciprocal", "reciprocal", ""},
    {"native::exp", "exp", ""},
    {"native::log", "log", ""},
    {"native::sigmoid", "sigmoid", ""},
    {"native::tanh", "tanh", ""},
    {"native::erf", "erf", ""},
    {"native::sin", "sin", ""},
    {"native::cos", "cos", ""},
};

struct signature {
    char name[100]; /* lower case */
    unsigned tensors, parameters;
    bool many; /* one of them is a list of tensors */
};

/* "ns::name(Tensor, int64_t[]) -> (Tensor)"; false where it is none. */
static bool parse(const char *text, struct signature *s)
{
    size_t n = strcspn(text, "(");
    const char *p = text + n;

    memset(s, 0, sizeof(*s));
    if (!*p || n == 0 || n >= sizeof(s->name))
        return false;
    for (size_t i = 0; i < n; i++)
        s->name[i] = (char)tolower((unsigned char)text[i]);
    p++;
    while (*p && *p != ')') {
        size_t m;

        while (*p == ' ')
            p++;
        m = strcspn(p, ",)");
        if (m >= 6 && !strncmp(p, "Tensor", 6)) {
            s->tensors++;
            s->many = s->many || memchr(p, '[', m);
        } else if (m) {
            s->parameters++;
        }
        p += m;
        p += *p == ',';
    }
    return *p == ')';
}

static unsigned count_words(const char *list)
{
    unsigned n = *list != '\0';

    for (const char *p = list; *p; p++)
        n += *p == ' ';
    return n;
}

static int name_parameters(struct assay_hbir *im, const char *names,
                           const struct assay_mlir_attr *values,
                           struct assay_hbir_call *call)
{
    for (uint32_t i = 0; *names; i++) {
        size_t n = strcspn(names, " ");
        const struct assay_mlir_attr *v = values->items[i];

        if (*names == '!') {
            if ((v->kind != ASSAY_MLIR_BOOL && v->kind != ASSAY_MLIR_INT) ||
                v->i)
                return assay_hbir_skip(im,
                                       "parameter %u of '%.60s' is not false, "
                                       "which alone is known",
                                       i, im->op_name);
        } else if (*names != '-') {
            snprintf(call->names[call->n], sizeof(call->names[0]), "%.*s",
                     (int)n, names);
            call->values[call->n++] = v;
        }
        names += n + (names[n] == ' ');
    }
    return 0;
}

static int unknown(struct assay_hbir *im, const char *signature)
{
    return assay_hbir_skip(im, "'%.250s' is not known", signature);
}

static int check_call(struct assay_hbir *im, const struct signature *s,
                      const char *text, const struct assay_mlir_attr **values)
{
    static const struct assay_mlir_attr empty = {.kind = ASSAY_MLIR_ARRAY};
    int64_t zero = 0, rank;
    bool no = false, custom;
    const struct assay_mlir_attr *v = assay_hbir_attr(im, "parameters");
    int rc = assay_hbir_attrs(im, "signature parameters diffRank isCustom");

    if (!rc)
        rc = assay_hbir_bool(im, "isCustom", &no, &custom);
    if (!rc && custom)
        rc = assay_hbir_skip(im, "'%.250s' is a user's own", text);
    if (!rc)
        rc = assay_hbir_int(im, "diffRank", INT64_MIN, INT64_MAX, &zero, &rank);
    if (!rc && rank)
        rc = assay_hbir_skip(im, "attribute 'diffRank' is %lld, known is 0",
                             (long long)rank);
    if (rc)
        return rc;
    *values = v ? v : &empty;
    if ((*values)->kind != ASSAY_MLIR_ARRAY || (*values)->n != s->parameters ||
        (!s->many && s->tensors != im->op->n_operands))
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "%u operands and %u parameters for '%.250s'",
                               im->op->n_operands, (*values)->n, text);
    return 0;
}

int assay_hbir_emit_call(struct assay_hbir *im)
{
    const struct assay_mlir_attr *a = assay_hbir_attr(im, "signature");
    const struct assay_mlir_attr *values = NULL;
    struct assay_hbir_call call = {0};
    struct signature s;
    char *name;
    int rc;

    if (!a || a->kind != ASSAY_MLIR_STRING)
        return assay_hbir_skip(im, "attribute 'signature' is missing");
    if (!parse(a->text, &s))
        return unknown(im, a->text);
    name = assay_arena_str(im->work, a->text, strcspn(a->text, "("));
    if (!name)
        return assay_hbir_no_memory(im);
    im->op_name = name;
    rc = check_call(im, &s, a->text, &values);
    for (size_t i = 0; !rc && i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].signature, s.name) ||
            count_words(calls[i].parameters) != s.parameters)
            continue;
        rc = name_parameters(im, calls[i].parameters, values, &call);
        if (rc)
            return rc;
        im->call = &call;
        rc = assay_hbir_emit_as(im, calls[i].op);
        im->call = NULL;
        return rc;
    }
    return rc ? rc : unknown(im, a->text);
}
