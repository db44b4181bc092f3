/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the text as dtypes, dims and scales. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

static enum assay_dtype integer(uint32_t width, char sign)
{
    bool is_unsigned = sign == 'u';

    switch (width) {
    case 1: return ASSAY_U8;
    case 8: return is_unsigned ? ASSAY_U8 : ASSAY_S8;
    case 16: return is_unsigned ? ASSAY_U16 : ASSAY_S16;
    case 32: return is_unsigned ? 0 : ASSAY_S32;
    case 64: return is_unsigned ? 0 : ASSAY_S64;
    default: return 0;
    }
}

/* "si8", "i8<-127:127>": the text behind it, or NULL. */
static const char *storage(const char *p, enum assay_dtype *dtype)
{
    char sign = 'i';
    char *end;
    unsigned long width;

    if (*p == 's' || *p == 'u')
        sign = *p++;
    if (*p == 'i')
        p++;
    else if (sign != 'u')
        return NULL;
    width = strtoul(p, &end, 10);
    *dtype = end > p && width <= 64 ? integer((uint32_t)width, sign) : 0;
    if (*end == '<')
        end = strchr(end, '>') ? strchr(end, '>') + 1 : end;
    return *dtype ? end : NULL;
}

struct scales {
    const char *p;
    uint32_t n, cap;
    float *v;
    bool zero; /* all zero points are 0 */
};

/* "0.1" or "0.1:5". */
static bool one_scale(struct scales *s)
{
    char *end;
    double d = strtod(s->p, &end);

    if (end == s->p || !isfinite((float)d) || (float)d <= 0)
        return false;
    s->p = end;
    if (*s->p == ':') {
        s->zero = s->zero && strtol(s->p + 1, &end, 10) == 0;
        if (end == s->p + 1)
            return false;
        s->p = end;
    }
    if (s->n < s->cap)
        s->v[s->n] = (float)d;
    s->n++;
    while (*s->p == ' ')
        s->p++;
    return true;
}

static bool all_scales(struct scales *s)
{
    while (*s->p == ' ' || *s->p == ',')
        s->p++;
    if (*s->p != '{')
        return one_scale(s) && *s->p == '>';
    do {
        s->p++;
        while (*s->p == ' ')
            s->p++;
        if (!one_scale(s))
            return false;
    } while (*s->p == ',');
    return *s->p == '}' && s->p[1] == '>';
}

static bool keep_scales(struct assay_hbir *im, struct scales *s, int32_t axis,
                        struct assay_quant *q)
{
    const char *from = s->p;
    int32_t *zero;

    if (!all_scales(s))
        return false;
    s->cap = s->n;
    s->n = 0;
    s->p = from;
    s->v = assay_arena_array(im->s->arena, s->cap, sizeof(*s->v));
    zero = assay_arena_array(im->s->arena, s->cap, sizeof(*zero));
    if (!s->v || !zero || !all_scales(s))
        return false;
    *q = (struct assay_quant){s->n, axis, s->v, zero};
    return true;
}

bool assay_hbir_uniform(struct assay_hbir *im, const char *text,
                        struct assay_hbir_type *out, const char **why)
{
    const char *p = strstr(text, ".uniform<");
    struct scales s = {.zero = true};
    int32_t axis = -1;
    char *end;

    *why = "a quantized type that is not understood";
    if (!p || (strncmp(text, "!qnt.", 5) && strncmp(text, "!quant.", 7)))
        return false;
    p = storage(p + strlen(".uniform<"), &out->dtype);
    if (!p || *p != ':')
        return false;
    p++;
    while (*p && *p != ':' && *p != ',') /* the expressed type */
        p++;
    if (*p == ':') {
        axis = (int32_t)strtol(p + 1, &end, 10);
        p = end;
    }
    if (*p != ',')
        return false;
    s.p = p + 1;
    if (!keep_scales(im, &s, axis, &out->quant))
        return false;
    if (axis < 0 && out->quant.n > 1)
        return false;
    if (!s.zero) {
        *why = "a type with a zero point that is not 0";
        return false;
    }
    if (out->quant.n == 1)
        out->quant.axis = -1;
    return true;
}

static bool element(struct assay_hbir *im, const struct assay_mlir_type *e,
                    struct assay_hbir_type *out, const char **why)
{
    *why = "of an element type that is not supported";
    switch (e->kind) {
    case ASSAY_MLIR_INTEGER:
        out->dtype = integer(e->width, e->sign);
        return out->dtype != 0;
    case ASSAY_MLIR_INDEX: out->dtype = ASSAY_S64; return true;
    case ASSAY_MLIR_FLOAT:
        out->half = !strcmp(e->text, "f16");
        out->dtype = out->half || !strcmp(e->text, "f32") ? ASSAY_F32 : 0;
        return out->dtype != 0;
    case ASSAY_MLIR_DIALECT:
        if (strstr(e->text, "bool8")) {
            out->dtype = ASSAY_U8;
            return true;
        }
        return assay_hbir_uniform(im, e->text, out, why);
    default: return false;
    }
}

bool assay_hbir_type(struct assay_hbir *im, const struct assay_mlir_type *t,
                     struct assay_hbir_type *out, const char **why)
{
    memset(out, 0, sizeof(*out));
    out->quant.axis = -1;
    *why = "not a tensor";
    if (!t || t->kind != ASSAY_MLIR_TENSOR)
        return false;
    *why = "a tensor without a rank";
    if (!t->ranked)
        return false;
    *why = "a tensor of more than 10 dimensions";
    if (t->rank > ASSAY_MAX_RANK)
        return false;
    out->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        out->dims[i] = t->dims[i];
        *why = "a tensor with a dynamic dimension";
        if (t->dims[i] == ASSAY_MLIR_DYNAMIC)
            return false;
        *why = "a tensor with a dimension of 0 or above 2147483647";
        if (t->dims[i] < 1 || t->dims[i] > INT32_MAX)
            return false;
    }
    for (uint32_t i = 0; i < t->n_params; i++) {
        *why = "a tensor with dynamic dimensions";
        if (assay_mlir_dict_get(t->params[i], "dynamic_dims"))
            return false;
    }
    if (!element(im, t->element, out, why))
        return false;
    *why = "a tensor whose scales do not fit its shape";
    return out->quant.n <= 1 ||
           (out->quant.axis < (int32_t)t->rank &&
            t->dims[out->quant.axis] == (int64_t)out->quant.n);
}

const char *assay_hbir_shape_text(char out[160], enum assay_dtype dtype,
                                  uint32_t rank, const int64_t *dims)
{
    size_t at = 0;

    for (uint32_t i = 0; i < rank && at < 130; i++)
        at += (size_t)snprintf(out + at, 160 - at, "%s%lld", i ? "x" : "",
                               (long long)dims[i]);
    snprintf(out + at, 160 - at, "%s%s", rank ? " of " : "one ",
             assay_dtype_name(dtype));
    return out;
}
