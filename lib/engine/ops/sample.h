/* SPDX-License-Identifier: Apache-2.0 */
/* What resize and grid_sample share: an image in, an image out. */
#ifndef ASSAY_ENGINE_OPS_SAMPLE_H
#define ASSAY_ENGINE_OPS_SAMPLE_H

#include "lib/engine/ops.h"

/* x int8, uint8 or int16 and y, both NHWC; N and C are the same. No
 * in_programs. */
int assay_check_sampled(const struct assay_op_check *c) ASSAY_MUST_CHECK;

#endif
