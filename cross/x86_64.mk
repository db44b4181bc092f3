# SPDX-License-Identifier: Apache-2.0
# The host machine: native compiler, shared libraries.
x86_64_CC := gcc
x86_64_AR := ar
x86_64_ISAS := ref
x86_64_LDFLAGS_assayd :=
x86_64_RUN :=
