/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges what a layer of a run gave. FUZZ_COUNTS in the environment: how much
 * of each op was judged is printed at the end. One thread.
 */
#ifndef ASSAY_TESTS_FUZZ_JUDGE_LAYER_H
#define ASSAY_TESTS_FUZZ_JUDGE_LAYER_H

#include "lib/core/slice.h"

/* Off: layers and programs are let through unseen, of a run whose results are
 * compared with a judged one's. (judge.c) */
extern bool judge_is_on;

/* Stops the program when an element of `got`, the layer's output, is not that
 * of the op's definition; an op without one here is let through. The plan has
 * proved the slice; values: bytes of each tensor, by index. */
void judge_layer(const struct assay_slice *s, uint32_t layer,
                 const void *const *values, const void *got);

#endif
