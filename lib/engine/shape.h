/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor by itself: name, role, dims, permutation, quantization, data. What
 * operators ask about shapes is in ops.h. Private to lib/engine.
 */
#ifndef ASSAY_ENGINE_SHAPE_H
#define ASSAY_ENGINE_SHAPE_H

#include "lib/core/slice.h"

int assay_check_tensor(const struct assay_slice *slice, uint32_t index,
                       struct assay_err *err) ASSAY_MUST_CHECK;

#endif
