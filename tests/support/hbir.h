/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small MLIR texts of one operation, and slices of them. A value is named by
 * its letter: inputs x8 y8 z8 x16 x32 xf xh (1x4x4x4), g (1x5x6x2xsi16),
 * c (1x4x4x4xi1), a (1x3x4xsi8); constants w (4x3x3x4), wl (4x5), wm (4x6),
 * q (4x6), q1 (1x6), q5 (5x6), qb (1x6 with a bias), qf (4x3xf32), t8 and t16
 * (256), en (6x64), rg (8x5), gm (4xf32), k4 (1x1x1x4xsi8).
 */
#ifndef ASSAY_TESTS_SUPPORT_HBIR_H
#define ASSAY_TESTS_SUPPORT_HBIR_H

#include <stddef.h>

#include "host-tools/model/model.h"

struct hbir_text {
    const char *op;       /* "b30.conv2d" */
    const char *operands; /* "x8 w q" */
    const char *attrs;    /* inside <{ }> */
    const char *result;   /* "1x4x4x4xsi8" */
};

#define HBIR_TEXT_BYTES 16384

/* The whole text; `out` of HBIR_TEXT_BYTES. */
const char *hbir_module(char *out, const struct hbir_text *t);
/* NULL: refused, err says why. notes: the last one, or NULL. */
struct assay_slice *hbir_open(const char *text, char notes[600],
                              struct assay_err *err);

#endif
