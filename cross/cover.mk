# SPDX-License-Identifier: Apache-2.0
# The host machine with line counts, for `make cover`.
x86_64-cover_CC := gcc
x86_64-cover_AR := ar
x86_64-cover_ISAS := ref
x86_64-cover_CFLAGS := --coverage -fprofile-update=single -O0
x86_64-cover_LDFLAGS := --coverage
x86_64-cover_LDFLAGS_assayd :=
x86_64-cover_RUN :=
