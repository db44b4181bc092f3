/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes through a table of 256 bytes, sixteen at a time. */
#ifndef ASSAY_KERNELS_NEON_LOOKUP_H
#define ASSAY_KERNELS_NEON_LOOKUP_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

/* y[k] = table[x[k] ^ flip]; any n, any alignment, nothing read beyond. */
static inline void assay_lookup_bytes(const uint8_t *table, uint8_t flip,
                                      const uint8_t *x, uint8_t *y, size_t n)
{
    uint8x16x4_t q0 = vld1q_u8_x4(table), q1 = vld1q_u8_x4(table + 64);
    uint8x16x4_t q2 = vld1q_u8_x4(table + 128);
    uint8x16x4_t q3 = vld1q_u8_x4(table + 192);
    uint8x16_t step = vdupq_n_u8(64), flips = vdupq_n_u8(flip);
    size_t k = 0;

    for (; k + 16 <= n; k += 16) {
        uint8x16_t i = veorq_u8(vld1q_u8(x + k), flips);
        uint8x16_t r = vqtbl4q_u8(q0, i);

        i = vsubq_u8(i, step);
        r = vqtbx4q_u8(r, q1, i);
        i = vsubq_u8(i, step);
        r = vqtbx4q_u8(r, q2, i);
        i = vsubq_u8(i, step);
        r = vqtbx4q_u8(r, q3, i);
        vst1q_u8(y + k, r);
    }
    for (; k < n; k++)
        y[k] = table[x[k] ^ flip];
}

#endif
