/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of every fuzzer, libFuzzer's own name. One call is one input; a
 * fuzzer keeps no state between calls and frees all it took.
 */
#ifndef ASSAY_TESTS_FUZZ_FUZZ_H
#define ASSAY_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
