# SPDX-License-Identifier: Apache-2.0
# The host machine with ThreadSanitizer: the agent's processes share a ring.
x86_64-tsan_CC := gcc
x86_64-tsan_AR := ar
x86_64-tsan_ISAS := ref
x86_64-tsan_CFLAGS := -fsanitize=thread -O1
x86_64-tsan_LDFLAGS := -fsanitize=thread
x86_64-tsan_LDFLAGS_assayd :=
x86_64-tsan_RUN :=
