/* SPDX-License-Identifier: Apache-2.0 */
/* Makes good what a mutation of frames breaks first, so that it reaches what
 * stands behind the frame's own checks. */
#ifndef ASSAY_TESTS_FUZZ_MEND_H
#define ASSAY_TESTS_FUZZ_MEND_H

#include <stddef.h>
#include <stdint.h>

/* The header's hash of every frame whose lengths fit; with sequence, also its
 * place in the stream, counted on from *sequence. */
void mend_frames(uint8_t *data, size_t n, const uint32_t *sequence);

#endif
