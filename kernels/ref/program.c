/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar step interpreter (requant.c) as an entry of the table. */
#include "kernels/kernels.h"

const struct assay_program_kernel assay_program__ref = {
    .name = "assay_program__ref",
    .isa = ASSAY_ISA_REF,
    .run = assay_program_run,
};
