/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vector step interpreter as a function for the other kernels of this
 * folder. Equal to assay_program_run() to the last bit.
 */
#ifndef ASSAY_KERNELS_NEON_VECTOR_H
#define ASSAY_KERNELS_NEON_VECTOR_H

#include "kernels/requant.h"

void assay_program_vector(const struct assay_program *p,
                          const struct assay_block *block);

#endif
