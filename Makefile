# SPDX-License-Identifier: Apache-2.0
# One Makefile. Objects and programs of each machine lie side by side in
# $(BUILD)/<machine>/; nothing is written outside $(BUILD) and out/.
BUILD ?= build
PYTHON ?= python3
V ?= 0
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

VERSION := 1.0.0
MACHINES := x86_64 aarch64 x86_64-san
include cross/x86_64.mk cross/aarch64.mk cross/san.mk

ifeq ($(V),0)
Q := @
endif

CFLAGS ?= -O2 -g
COMMON := -std=c11 -D_GNU_SOURCE -I. -fvisibility=hidden -ffp-contract=off \
	-fno-strict-aliasing -Wall -Wextra -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wpointer-arith \
	-DASSAY_VERSION='"$(VERSION)"'
ifeq ($(DEVELOPER),1)
COMMON += -Werror
endif

# Rooms. A new file in a room is picked up by itself.
SRC_kernels := $(wildcard kernels/*.c)
SRC_core := $(wildcard lib/core/*.c)
SRC_engine := $(wildcard lib/engine/*.c lib/engine/ops/*.c)
SRC_net := $(wildcard lib/net/*.c)
SRC_proto := $(wildcard proto/*.c)
SRC_agent := $(filter-out agent/main.c,$(wildcard agent/*.c))
SRC_host := $(filter-out host-tools/main.c,$(wildcard host-tools/*.c \
	host-tools/model/*.c host-tools/diff/*.c host-tools/report/*.c))
SRC_kcheck := $(wildcard tests/kernels/*.c)
# Scalar kernels are compiled without auto-vectorisation, so that the
# definition does not depend on the vectoriser.
CFLAGS_ref := -O2 -fno-tree-vectorize -fno-tree-slp-vectorize

LIBS_core := -lxxhash -lmbedcrypto
LIBS_assayd := -luv -lprotobuf-c $(LIBS_core) -lpthread -ldl -lm
LIBS_assay := -luv -lprotobuf-c -lzip -ljansson $(LIBS_core) -lz -lpthread \
	-ldl -lm

PROTO_GEN := $(BUILD)/gen/proto/assay.pb-c.c $(BUILD)/gen/proto/assay.pb-c.h
ONNX_GEN := $(BUILD)/gen/host-tools/model/onnx.pb-c.c \
	$(BUILD)/gen/host-tools/model/onnx.pb-c.h
$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(BUILD)/gen $<
.PRECIOUS: $(PROTO_GEN) $(ONNX_GEN)

# objs(machine, sources)
objs = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))

define machine_rules
$(1)_SRC_kernels := $$(SRC_kernels) \
	$$(foreach i,$$($(1)_ISAS),$$(wildcard kernels/$$(i)/*.c))
$(1)_OBJ_kernels := $$(call objs,$(1),$$($(1)_SRC_kernels))
$(1)_OBJ_core := $$(call objs,$(1),$$(SRC_core))
$(1)_OBJ_engine := $$(call objs,$(1),$$(SRC_engine))
$(1)_OBJ_net := $$(call objs,$(1),$$(SRC_net))
$(1)_OBJ_proto := $$(call objs,$(1),$$(SRC_proto)) \
	$(BUILD)/$(1)/gen/proto/assay.pb-c.o
$(1)_OBJ_agent := $$(call objs,$(1),$$(SRC_agent))
$(1)_OBJ_host := $$(call objs,$(1),$$(SRC_host)) \
	$(BUILD)/$(1)/gen/host-tools/model/onnx.pb-c.o
$(1)_OBJ_both := $$($(1)_OBJ_engine) $$($(1)_OBJ_kernels) \
	$$($(1)_OBJ_net) $$($(1)_OBJ_proto) $$($(1)_OBJ_core)

# A flag stamp: objects are rebuilt when the flags change.
$(BUILD)/$(1)/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$$($(1)_CC) $$(CFLAGS) $$(COMMON) $$($(1)_CFLAGS)' | \
		cmp -s - $$@ || echo '$$($(1)_CC) $$(CFLAGS) $$(COMMON) $$($(1)_CFLAGS)' > $$@

$(BUILD)/$(1)/%.o: %.c $(BUILD)/$(1)/flags
	@mkdir -p $$(@D)
	$$(if $$(Q),@echo '  CC      $(1) $$<')
	$$(Q)$$($(1)_CC) $$(CFLAGS) $$(COMMON) -I$(BUILD)/gen \
		$$(if $$(filter kernels/ref/%,$$<),$$(CFLAGS_ref)) \
		$$(if $$(filter kernels/neon/%,$$<),$$($(1)_CFLAGS_neon)) \
		$$(if $$(filter kernels/dotprod/%,$$<),$$($(1)_CFLAGS_dotprod)) \
		$$($(1)_CFLAGS) -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/$(1)/flags
	@mkdir -p $$(@D)
	$$(Q)$$($(1)_CC) $$(CFLAGS) -std=c11 -fvisibility=hidden -I$(BUILD)/gen \
		$$($(1)_CFLAGS) -MMD -MP -c $$< -o $$@

# Generated headers exist before anything that includes them is compiled.
$$($(1)_OBJ_proto): | $(PROTO_GEN)
$$($(1)_OBJ_host): | $(ONNX_GEN)

$(BUILD)/$(1)/assayd: $(BUILD)/$(1)/agent/main.o $$($(1)_OBJ_agent) \
		$$($(1)_OBJ_both)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) $$($(1)_LDFLAGS_assayd) -o $$@ $$^ \
		$$(LIBS_assayd)
$(BUILD)/$(1)/assay: $(BUILD)/$(1)/host-tools/main.o $$($(1)_OBJ_host) \
		$$($(1)_OBJ_both)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) -o $$@ $$^ $$(LIBS_assay)
$(BUILD)/$(1)/kcheck: $$(call objs,$(1),$$(SRC_kcheck)) $$($(1)_OBJ_kernels)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) $$($(1)_LDFLAGS_assayd) -o $$@ $$^ -lm

# A unit test links only the objects that its line " * links: ..." names;
# " * libs: ..." adds libraries.
$(BUILD)/$(1)/tests/unit/test_%: $(BUILD)/$(1)/tests/unit/test_%.o \
		$$$$(call test_objs,$(1),$$$$*)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) -o $$@ $$^ \
		$$(call test_libs,$$*) -lcmocka -lm
$(1): $(BUILD)/$(1)/assay $(BUILD)/$(1)/assayd $(BUILD)/$(1)/kcheck
.PHONY: $(1)
endef
.SECONDEXPANSION:
test_objs = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(shell \
	sed -n 's/^ \* links: //p' tests/unit/test_$(2).c))
test_libs = $(shell sed -n 's/^ \* libs: //p' tests/unit/test_$(1).c)
$(foreach m,$(MACHINES),$(eval $(call machine_rules,$(m))))
UNIT_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))

all: x86_64
cross: aarch64
clean:
	rm -rf $(BUILD)
FORCE:
.PHONY: all cross clean FORCE
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
