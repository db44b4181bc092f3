# SPDX-License-Identifier: Apache-2.0
# The host machine with AddressSanitizer and UndefinedBehaviorSanitizer.
x86_64-san_CC := gcc
x86_64-san_AR := ar
x86_64-san_ISAS := ref
x86_64-san_CFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -O1
x86_64-san_LDFLAGS := -fsanitize=address,undefined
x86_64-san_LDFLAGS_assayd :=
x86_64-san_RUN :=
