/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which instruction-set rungs may run. decode() is pure and tested with
 * recorded words of real boards; only probe() asks the system.
 * Any thread. Bits are on the wire (hello, run request): never renumber.
 */
#ifndef ASSAY_KERNELS_CPU_H
#define ASSAY_KERNELS_CPU_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_CPU_NEON 0x1u
#define ASSAY_CPU_DOTPROD 0x2u
#define ASSAY_CPU_I8MM 0x4u
#define ASSAY_CPU_ALL 0xffffffffu
/* Rungs that there are kernels of. */
#define ASSAY_CPU_KERNELS (ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD)

/* Linux aarch64 AT_HWCAP and AT_HWCAP2 words to flags. */
uint32_t assay_cpu_decode(uint64_t hwcap, uint64_t hwcap2);
/* Flags of the CPU this runs on; 0 on anything but aarch64. */
uint32_t assay_cpu_probe(void);

/*
 * `--cpumask`: "0" (scalar only), "all", or a comma list of rung names
 * ("neon", "dotprod", "i8mm"); a name includes the rungs below it.
 * Returns 0 and sets *mask, or -1 and leaves it alone.
 */
int assay_cpu_parse_mask(const char *text, uint32_t *mask);
/* The highest rung of them: "dotprod"; "scalar" where there is none. Of
 * flags & ASSAY_CPU_KERNELS: the rung that runs. */
const char *assay_cpu_rung(uint32_t flags);
/* Writes "neon dotprod" (or "scalar") into out; returns out. */
const char *assay_cpu_names(uint32_t flags, char *out, size_t cap);

#endif
