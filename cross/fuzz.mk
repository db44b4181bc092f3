# SPDX-License-Identifier: Apache-2.0
# The host machine with libFuzzer's instrumentation: `make fuzz`, clang only.
x86_64-fuzz_CC := clang-14
x86_64-fuzz_AR := ar
x86_64-fuzz_ISAS := ref
x86_64-fuzz_CFLAGS := -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -O1 -Wno-error
x86_64-fuzz_LDFLAGS := -fsanitize=address,undefined
x86_64-fuzz_LDFLAGS_assayd :=
x86_64-fuzz_RUN :=
