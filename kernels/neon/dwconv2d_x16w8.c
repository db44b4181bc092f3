/* SPDX-License-Identifier: Apache-2.0 */
/* not a kernel: depthwise rows of int16 images, for conv2d_x16w8.c. */
#include "kernels/neon/depthwise.h"

ASSAY_INLINE int16x8_t load(const int8_t *from)
{
    return vreinterpretq_s16_s8(vld1q_s8(from));
}

ASSAY_INLINE void any_row(const struct assay_dw_row *job,
                          enum assay_epilogue_form form, bool starts, bool fast)
{
    const int8_t *x = job->x;
    const int32_t *start = job->starts;
    uint8_t *y = job->y;
    struct assay_dw_held h;

    (void)fast;
    assay_dw_hold(&h, job, form);
    for (size_t n = job->n; n > 0; n--) {
        const int8_t *w = (const int8_t *)job->weights;
        const int8_t *line = x;
        struct assay_dw_sums v = starts ? assay_dw_load_16(start) : h.bias;

        for (size_t i = 0; i < job->kh; i++, line += job->tap_row) {
            const int8_t *at = line;

            for (size_t j = 0; j < job->kw; j++, at += job->tap_col) {
                int16x8_t lo = load(at), hi = load(at + 16);
                int16x8_t w0 = load(w), w1 = load(w + 16);

                v.a = vmlal_s16(v.a, vget_low_s16(lo), vget_low_s16(w0));
                v.b = vmlal_high_s16(v.b, lo, w0);
                v.c = vmlal_s16(v.c, vget_low_s16(hi), vget_low_s16(w1));
                v.d = vmlal_high_s16(v.d, hi, w1);
                w += 32;
            }
        }
        assay_dw_finish(&h, form, v, y);
        x += job->step;
        y += job->y_row;
        start += starts ? 16 : 0;
    }
}

ASSAY_DW_ROWS

const struct assay_dw assay_dw_s16 = {
    .element = 2,
    .row_of = row_of,
    .sum_of = sum_of,
};
