/* SPDX-License-Identifier: Apache-2.0 */
/* Elements: as integers or binary32, as bytes, and when two are the same. */
#include <math.h>
#include <string.h>

#include "host-tools/output/output_private.h"

struct assay_output_value assay_output_from_bits(uint64_t bits,
                                                 enum assay_dtype dtype)
{
    struct assay_output_value v = {.known = true, .is_int = true};
    uint32_t low = (uint32_t)bits;
    float f;

    switch (dtype) {
    case ASSAY_S8: v.v = (int8_t)bits; break;
    case ASSAY_U8: v.v = (uint8_t)bits; break;
    case ASSAY_S16: v.v = (int16_t)bits; break;
    case ASSAY_U16: v.v = (uint16_t)bits; break;
    case ASSAY_S32: v.v = (int32_t)bits; break;
    case ASSAY_S64: v.v = (int64_t)bits; break;
    default:
        memcpy(&f, &low, sizeof(f));
        v.is_int = false;
        v.d = (double)f;
        break;
    }
    return v;
}

uint64_t assay_output_bits(struct assay_output_value v, enum assay_dtype dtype)
{
    size_t width = assay_dtype_bytes(dtype);
    uint32_t low;
    float f;

    if (!v.is_int) {
        f = (float)v.d;
        memcpy(&low, &f, sizeof(low));
        return low;
    }
    return width >= 8 ? (uint64_t)v.v
                      : (uint64_t)v.v & ((UINT64_C(1) << 8 * width) - 1);
}

struct assay_output_value assay_output_load(const void *data,
                                            enum assay_dtype dtype, int64_t i)
{
    size_t width = assay_dtype_bytes(dtype);
    uint64_t bits = 0;

    memcpy(&bits, (const uint8_t *)data + (size_t)i * width, width);
    return assay_output_from_bits(bits, dtype);
}

double assay_output_real(struct assay_output_value v)
{
    return v.is_int ? (double)v.v : v.d;
}

struct assay_output_value assay_output_float(double d)
{
    return (struct assay_output_value){.known = true, .d = (double)(float)d};
}

bool assay_output_same(struct assay_output_value a, struct assay_output_value b)
{
    double x, y;

    if (a.is_int && b.is_int)
        return a.v == b.v;
    x = assay_output_real(a);
    y = assay_output_real(b);
    return x == y || (isnan(x) && isnan(y));
}

bool assay_output_near(struct assay_output_value a, struct assay_output_value b)
{
    double x = assay_output_real(a), y = assay_output_real(b);

    if (assay_output_same(a, b))
        return true;
    return isfinite(x) && isfinite(y) &&
           fabs(x - y) <= ASSAY_OUTPUT_RTOL * fmax(fabs(x), fabs(y));
}

struct assay_output_value assay_output_read(const struct assay_output_got *g,
                                            enum assay_dtype dtype,
                                            size_t sample, int64_t i)
{
    return assay_output_load(g->values[sample], g->raw ? dtype : g->dtype, i);
}

int64_t assay_output_elements(const struct assay_output_got *g,
                              enum assay_dtype dtype)
{
    size_t width = assay_dtype_bytes(g->raw ? dtype : g->dtype);

    /* Bytes that are no whole number of elements are no elements at all. */
    return g->bytes % width == 0 ? (int64_t)(g->bytes / width) : -1;
}

struct assay_output_node assay_output_on(const struct assay_output_node *from,
                                         assay_output_at_fn *at)
{
    struct assay_output_node n = *from;

    n.from = from;
    n.at = at;
    return n;
}
