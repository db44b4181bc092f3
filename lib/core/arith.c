/* SPDX-License-Identifier: Apache-2.0 */
/* Names: which arithmetic fits which kind of layer, and who uses which. */
#include "lib/core/arith.h"

#include <string.h>

#include "lib/core/arith_build.h"

#define CONV (1u << ASSAY_REAL_CONV)
#define ADD (1u << ASSAY_REAL_ADD)
#define MUL (1u << ASSAY_REAL_MUL)
#define POOL (1u << ASSAY_REAL_AVG_POOL | 1u << ASSAY_REAL_GLOBAL_AVG_POOL)
#define CONCAT (1u << ASSAY_REAL_CONCAT)
#define SOFTMAX (1u << ASSAY_REAL_SOFTMAX)
#define UNARY (1u << ASSAY_REAL_UNARY)

static const struct {
    const char *name;
    unsigned fits; /* bits of enum assay_real_op */
} ARITHS[] = {
    {"q31_double", CONV | POOL | CONCAT | UNARY},
    {"q31_double_nofix", CONV},
    {"q31_double_lsat", CONV},
    {"q31_single", CONV | CONCAT | UNARY},
    {"q31_trunc_rshl", CONV},
    {"q31_trunc_rshl_f1", CONV},
    {"q31_round_rshl_f1", CONV},
    {"q31_floor", CONV},
    {"q31_trunc0", CONV},
    {"q16_i64", CONV},
    {"fp32_rne", CONV | MUL | CONCAT | UNARY},
    {"fp32_magic", CONV},
    {"fp32_rne_zpin", CONV | MUL},
    {"fp32_half_away", CONV},
    {"fp32_trunc", CONV},
    {"fp32_floor05", CONV},
    {"fp32_trunc05", CONV},
    {"fp64_rne", CONV},
    {"fp64_half_away", CONV},
    {"tflite_l20", ADD},
    {"tflite_l20_single", ADD},
    {"tflite_l15", ADD},
    {"xnn", ADD},
    {"ort_neon", ADD},
    {"ort_fma", ADD},
    {"ort_sse", ADD},
    {"ort_plain", ADD},
    {"dq_q", ADD | MUL | POOL | CONCAT | UNARY},
    {"tflite_q31_double", MUL},
    {"q31_double_f64", MUL},
    {"q31_single_m24", MUL},
    {"fp32_rne_zpin_fma", MUL},
    {"f32_seq_zpin", POOL},
    {"f32_sum_scale", POOL},
    {"f32_sum_scale2", POOL},
    {"div_half_away", POOL},
    {"div_half_up", POOL},
    {"div_half_even", POOL},
    {"div_trunc", POOL},
    {"div_floor", POOL},
    {"divc_half_away", POOL},
    {"divc_half_up", POOL},
    {"q8_half_up", CONCAT | UNARY},
    {"half_away", UNARY},
    {"legacy_floor05", UNARY},
    {"recip_half_even", UNARY},
    {"zpin_half_even", UNARY},
    {"trunc", UNARY},
    {"ort_qlinear_softmax", SOFTMAX},
    {"f32_softmax", SOFTMAX},
};
#define N_ARITHS (sizeof(ARITHS) / sizeof(ARITHS[0]))

static const struct row {
    const char *numerics;
    enum assay_real_op op;
    enum assay_dtype dtype;
    const char *arith;
    bool proved;
    const char *golden; /* what proved it, for people */
} ROWS[] = {
#define ASSAY_NUMERICS(name, op, dtype, arith, proved, golden) \
    {name, ASSAY_REAL_##op, ASSAY_##dtype, arith, proved, golden},
#include "lib/core/numerics.def"
#undef ASSAY_NUMERICS
};
#define N_ROWS (sizeof(ROWS) / sizeof(ROWS[0]))

const char *assay_arith_name(unsigned i)
{
    return i < N_ARITHS ? ARITHS[i].name : NULL;
}

/* Names are the first of each block of rows. */
const char *assay_numerics_name(unsigned i)
{
    const char *last = "";
    for (size_t r = 0; r < N_ROWS; r++) {
        if (strcmp(ROWS[r].numerics, last) == 0)
            continue;
        last = ROWS[r].numerics;
        if (i-- == 0)
            return last;
    }
    return NULL;
}

static const struct row *find_row(const char *numerics, enum assay_real_op op,
                                  enum assay_dtype dtype)
{
    for (size_t r = 0; r < N_ROWS; r++)
        if (ROWS[r].op == op && ROWS[r].dtype == dtype &&
            strcmp(ROWS[r].numerics, numerics) == 0)
            return &ROWS[r];
    return NULL;
}

const char *assay_numerics_arith(const char *numerics, enum assay_real_op op,
                                 enum assay_dtype dtype)
{
    const struct row *row = find_row(numerics, op, dtype);
    return row ? row->arith : NULL;
}

bool assay_numerics_proved(const char *numerics, enum assay_real_op op,
                           enum assay_dtype dtype)
{
    const struct row *row = find_row(numerics, op, dtype);
    return row && row->proved;
}

static const char *kind_name(enum assay_real_op op)
{
    switch (op) {
    case ASSAY_REAL_CONV: return "convolution";
    case ASSAY_REAL_ADD: return "addition";
    case ASSAY_REAL_MUL: return "multiplication";
    case ASSAY_REAL_AVG_POOL: return "average pool";
    case ASSAY_REAL_GLOBAL_AVG_POOL: return "global average pool";
    case ASSAY_REAL_CONCAT: return "concat";
    case ASSAY_REAL_SOFTMAX: return "softmax";
    case ASSAY_REAL_UNARY: return "elementwise layer";
    case ASSAY_REAL_NONE: break;
    }
    return "layer without arithmetic of its own";
}

/* "a, b, c" of what fits, cut at the end of out. */
static void list_fitting(unsigned bit, char *out, size_t cap)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < N_ARITHS; i++) {
        if (!(ARITHS[i].fits & bit))
            continue;
        size_t n = strlen(ARITHS[i].name);
        if (at + n + 3 > cap)
            return;
        if (at > 0) {
            memcpy(out + at, ", ", 2);
            at += 2;
        }
        memcpy(out + at, ARITHS[i].name, n + 1);
        at += n;
    }
}

static int check_name(const char *arith, enum assay_real_op op,
                      struct assay_err *err)
{
    char names[384];
    bool known = false;
    for (size_t i = 0; i < N_ARITHS; i++) {
        if (strcmp(ARITHS[i].name, arith) != 0)
            continue;
        known = true;
        if (ARITHS[i].fits & 1u << op)
            return 0;
    }
    list_fitting(1u << op, names, sizeof(names));
    return assay_fail(err, ASSAY_EUSAGE,
                      known ? "arithmetic '%s' does not fit: expected one of %s"
                            : "unknown arithmetic '%s': expected one of %s",
                      arith, names);
}

static int check_layer(const struct assay_slice *s, const struct assay_layer *l,
                       struct assay_err *err)
{
    static const enum assay_op expected[] = {
        [ASSAY_REAL_ADD] = ASSAY_OP_BINARY,
        [ASSAY_REAL_MUL] = ASSAY_OP_BINARY,
        [ASSAY_REAL_AVG_POOL] = ASSAY_OP_POOL,
        [ASSAY_REAL_GLOBAL_AVG_POOL] = ASSAY_OP_POOL,
        [ASSAY_REAL_CONCAT] = ASSAY_OP_CONCAT,
        [ASSAY_REAL_SOFTMAX] = ASSAY_OP_SOFTMAX,
        [ASSAY_REAL_UNARY] = ASSAY_OP_UNARY,
    };
    bool fits = l->real_op == ASSAY_REAL_CONV
                    ? l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM
                    : l->op == expected[l->real_op];
    if (!fits)
        return assay_fail(err, ASSAY_EFORMAT, "op is %s: expected that of a %s",
                          assay_op_name(l->op), kind_name(l->real_op));
    for (uint32_t i = 0; i < l->n_inputs; i++)
        if (l->inputs[i] >= s->n_tensors)
            return assay_fail(err, ASSAY_EFORMAT, "input %u is tensor %u of %u",
                              (unsigned)i, (unsigned)l->inputs[i],
                              (unsigned)s->n_tensors);
    if (l->output >= s->n_tensors)
        return assay_fail(err, ASSAY_EFORMAT, "output is tensor %u of %u",
                          (unsigned)l->output, (unsigned)s->n_tensors);
    return 0;
}

static int apply(struct assay_slice *s, struct assay_layer *l,
                 const char *arith, struct assay_err *err)
{
    switch (l->real_op) {
    case ASSAY_REAL_CONV: return assay_arith_conv(s, l, arith, err);
    case ASSAY_REAL_ADD: return assay_arith_add(s, l, arith, err);
    case ASSAY_REAL_MUL: return assay_arith_mul(s, l, arith, err);
    case ASSAY_REAL_AVG_POOL:
    case ASSAY_REAL_GLOBAL_AVG_POOL: return assay_arith_pool(s, l, arith, err);
    case ASSAY_REAL_CONCAT: return assay_arith_concat(s, l, arith, err);
    case ASSAY_REAL_SOFTMAX: return assay_arith_softmax(s, l, arith, err);
    case ASSAY_REAL_UNARY: return assay_arith_unary(s, l, arith, err);
    case ASSAY_REAL_NONE: break;
    }
    return assay_fail(err, ASSAY_EUNSUPPORTED,
                      "there is no arithmetic to choose in a %s",
                      kind_name(l->real_op));
}

int assay_arith_apply(struct assay_slice *s, uint32_t layer, const char *arith,
                      struct assay_err *err)
{
    if (layer >= s->n_layers)
        return assay_fail(err, ASSAY_ERANGE, "layer %u of %u", (unsigned)layer,
                          (unsigned)s->n_layers);
    struct assay_layer *l = &s->layers[layer];
    int rc = 0;
    if (l->op == ASSAY_OP_SKIPPED || l->real_op == ASSAY_REAL_NONE ||
        l->real_op > ASSAY_REAL_UNARY)
        rc = assay_fail(err, ASSAY_EUNSUPPORTED,
                        "there is no arithmetic to choose here");
    if (!rc)
        rc = check_name(arith, l->real_op, err);
    if (!rc)
        rc = check_layer(s, l, err);
    if (!rc)
        rc = apply(s, l, arith, err);
    if (rc) {
        assay_err_prefix(err, "layer '%s'", l->name ? l->name : "");
        return rc;
    }
    for (size_t i = 0; i < N_ARITHS; i++)
        if (strcmp(ARITHS[i].name, arith) == 0)
            l->arith = ARITHS[i].name; /* a constant outlives every slice */
    return 0;
}

/*
 * onnxruntime's average pool takes its global form where one window covers
 * the image and nothing is padded.
 */
static bool covers_image(const struct assay_slice *s,
                         const struct assay_layer *l)
{
    const struct assay_pool_params *p = &l->p.pool;
    if (l->n_inputs != 1 || l->inputs[0] >= s->n_tensors)
        return false;
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    return x->rank == 4 && x->dims[1] == p->kh && x->dims[2] == p->kw &&
           !p->pad_top && !p->pad_left && !p->pad_bottom && !p->pad_right;
}

static int apply_row(struct assay_slice *s, const char *numerics,
                     uint32_t layer, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    const char *name = l->name ? l->name : "";
    if (l->output >= s->n_tensors)
        return assay_fail(err, ASSAY_EFORMAT,
                          "layer '%s': output is tensor %u of %u", name,
                          (unsigned)l->output, (unsigned)s->n_tensors);
    enum assay_dtype dtype = s->tensors[l->output].dtype;
    const struct row *row = find_row(numerics, l->real_op, dtype);
    if (!row)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "layer '%s': numerics '%s' has no arithmetic for a "
                          "%s with %s output",
                          name, numerics, kind_name(l->real_op),
                          assay_dtype_name(dtype));
    const char *arith = row->arith;
    if (l->real_op == ASSAY_REAL_AVG_POOL &&
        strcmp(arith, "f32_seq_zpin") == 0 && covers_image(s, l))
        arith = "f32_sum_scale";
    return assay_arith_apply(s, layer, arith, err);
}

int assay_numerics_apply(struct assay_slice *s, const char *numerics,
                         struct assay_err *err)
{
    const char *known = NULL;
    for (unsigned i = 0; (known = assay_numerics_name(i)); i++)
        if (strcmp(known, numerics) == 0)
            break;
    if (!known)
        return assay_fail(err, ASSAY_EUSAGE,
                          "unknown numerics '%s': expected onnxruntime-x86, "
                          "onnxruntime-x86-nofma or onnxruntime-aarch64",
                          numerics);
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];
        if (l->op == ASSAY_OP_SKIPPED || l->real_op == ASSAY_REAL_NONE ||
            l->arith_overridden)
            continue;
        int rc = apply_row(s, known, i, err);
        if (rc)
            return rc;
    }
    s->numerics = known;
    return 0;
}
