/* SPDX-License-Identifier: Apache-2.0 */
/* A step of a program as people read it: show, explain. */
#ifndef ASSAY_HOST_STEP_TEXT_H
#define ASSAY_HOST_STEP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/program.h"

#define ASSAY_ALL_CHANNELS SIZE_MAX

/*
 * Step i of a program: "shr 9 floor", "mul 26585.. (6 channels)" for all
 * channels, or the operand of one. "" for a kind that is not known.
 */
const char *assay_step_text(const struct assay_program *p, uint32_t i,
                            size_t channel, char *out, size_t cap);
/* Is the value behind the first `n` steps binary32 or binary64? 0: integer. */
enum assay_text_width { ASSAY_TEXT_INT, ASSAY_TEXT_F32, ASSAY_TEXT_F64 };
enum assay_text_width assay_step_width(const struct assay_program *p,
                                       uint32_t n,
                                       enum assay_text_width before);

#endif
