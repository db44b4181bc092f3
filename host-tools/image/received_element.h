/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of tensors. Internal to the search of received.h. */
#ifndef ASSAY_IMAGE_RECEIVED_ELEMENT_H
#define ASSAY_IMAGE_RECEIVED_ELEMENT_H

#include <math.h>
#include <string.h>

#include "host-tools/image/received.h"

static inline double assay_element_value(enum assay_dtype dtype,
                                         const uint8_t *e)
{
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    int64_t s64;
    float f32;

    switch (dtype) {
    case ASSAY_U8: return e[0];
    case ASSAY_S8: return (int8_t)e[0];
    case ASSAY_S16: memcpy(&s16, e, sizeof(s16)); return s16;
    case ASSAY_U16: memcpy(&u16, e, sizeof(u16)); return u16;
    case ASSAY_S32: memcpy(&s32, e, sizeof(s32)); return s32;
    case ASSAY_S64: memcpy(&s64, e, sizeof(s64)); return (double)s64;
    case ASSAY_F32: memcpy(&f32, e, sizeof(f32)); return f32;
    }
    return 0.0;
}

/* The nearest value that 16 bits hold; what is beyond them stays. */
static inline double assay_half_of(double v)
{
    int e, step;

    if (v == 0.0 || !isfinite(v))
        return v;
    frexp(v, &e);
    step = (e - 1 < -14 ? -14 : e - 1) - 10;
    return ldexp(rint(ldexp(v, -step)), step);
}

/* Does an element hold what a reading made, when that is put into its dtype
 * as a cast of C or numpy does: towards 0, then the low bits? `half`: floats
 * went through 16 bits. */
static inline bool assay_element_equal(enum assay_dtype held, const uint8_t *e,
                                       enum assay_dtype made, double value,
                                       bool half, bool *exact)
{
    double got = assay_element_value(held, e), off, most;
    uint64_t mask = assay_dtype_bytes(held) >= 8
                        ? UINT64_MAX
                        : (1ull << 8 * assay_dtype_bytes(held)) - 1;

    if (held != ASSAY_F32) {
        /* No cast has a defined value there, and no picture has either. */
        if (!(fabs(value) < 9e15) || fabs(got) >= 9e15)
            return false;
        return ((uint64_t)(int64_t)value & mask) ==
               ((uint64_t)(int64_t)got & mask);
    }
    off = fabs(got - value);
    if (off == 0.0)
        return true;
    *exact = false;
    most = ASSAY_RECEIVED_ATOL + ASSAY_RECEIVED_RTOL * fabs(value);
    if (made == ASSAY_F32 && half)
        return got >= assay_half_of(value - most) &&
               got <= assay_half_of(value + most);
    return made == ASSAY_F32 && off <= most;
}

#endif
