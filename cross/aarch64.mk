# SPDX-License-Identifier: Apache-2.0
# aarch64 boards. The agent is static: one file, any Linux. Flags hang on the
# ISA folder, so a kernel in the wrong folder dies with SIGILL on cortex-a53.
aarch64_CC := aarch64-linux-gnu-gcc
aarch64_AR := aarch64-linux-gnu-ar
aarch64_ISAS := ref neon dotprod
# Scheduling before register allocation makes gcc 12 spill accumulators; they
# wrap, and vaddq_s32() is a plain sum of signed vectors to this compiler.
aarch64_CFLAGS_neon := -O3 -fno-schedule-insns -fwrapv
aarch64_CFLAGS_dotprod := -O3 -fno-schedule-insns -fwrapv -march=armv8.2-a+dotprod
aarch64_LDFLAGS_assayd := -static
# Debian's name of the static library.
aarch64_LIBUV_assayd := -luv_a
aarch64_RUN := qemu-aarch64
