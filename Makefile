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
MACHINES := x86_64 aarch64 x86_64-san x86_64-fuzz x86_64-tsan x86_64-cover
JOBS ?= 2
include cross/x86_64.mk cross/aarch64.mk cross/san.mk cross/fuzz.mk \
	cross/tsan.mk cross/cover.mk

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
	host-tools/model/*.c host-tools/vendor/*.c host-tools/diff/*.c \
	host-tools/fit/*.c host-tools/lint/*.c host-tools/cause/*.c \
	host-tools/image/*.c host-tools/output/*.c host-tools/triage/*.c \
	host-tools/report/*.c))
SRC_kcheck := $(wildcard tests/kernels/*.c)
SRC_vcheck := $(wildcard tests/vectors/*.c) host-tools/image/colour.c \
	host-tools/image/nv12.c
# Scalar kernels are compiled without auto-vectorisation, so that the
# definition does not depend on the vectoriser.
CFLAGS_ref := -O2 -fno-tree-vectorize -fno-tree-slp-vectorize

LIBS_core := -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
LIBS_assayd := -lprotobuf-c $(LIBS_core) -lpthread -ldl -lm
LIBS_assay := -luv -lprotobuf-c -lzip -ljansson -lyaml -lpng -ljpeg \
	$(LIBS_core) -lz -lpthread -ldl -lm

PROTO_GEN := $(BUILD)/gen/proto/assay.pb-c.c $(BUILD)/gen/proto/assay.pb-c.h
ONNX_GEN := $(BUILD)/gen/host-tools/model/onnx.pb-c.c \
	$(BUILD)/gen/host-tools/model/onnx.pb-c.h
$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(BUILD)/gen $<
.PRECIOUS: $(PROTO_GEN) $(ONNX_GEN)
# Objects that only a pattern names are kept too.
.SECONDARY:

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
$$($(1)_OBJ_proto) $(BUILD)/$(1)/tests/unit/test_codec_params.o: | $(PROTO_GEN)
$$($(1)_OBJ_host): | $(ONNX_GEN)
# What is embedded (lib/core/embed.h).
$(BUILD)/$(1)/host-tools/deploy_service.o: agent/init/assayd.service \
		agent/init/assayd.init
$(BUILD)/$(1)/host-tools/deploy_board.o: host-tools/deploy_board.sh
$(BUILD)/$(1)/host-tools/model/numerics_data.o: $(wildcard \
	host-tools/numerics/*.json)

# The agent makes no keys and calls nobody.
$(BUILD)/$(1)/assayd: $(BUILD)/$(1)/agent/main.o $$($(1)_OBJ_agent) \
		$$(filter-out %/lib/net/keygen.o %/lib/net/dial.o,$$($(1)_OBJ_both))
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) $$($(1)_LDFLAGS_assayd) -o $$@ $$^ \
		$$(or $$($(1)_LIBUV_assayd),-luv) $$(LIBS_assayd)
$(BUILD)/$(1)/assay: $(BUILD)/$(1)/host-tools/main.o $$($(1)_OBJ_host) \
		$$($(1)_OBJ_both)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) -o $$@ $$^ $$(LIBS_assay)
$(BUILD)/$(1)/kcheck: $$(call objs,$(1),$$(SRC_kcheck)) $$($(1)_OBJ_kernels)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) $$($(1)_LDFLAGS_assayd) -o $$@ $$^ -lm
$(BUILD)/$(1)/vcheck: $$(call objs,$(1),$$(SRC_vcheck)) $$($(1)_OBJ_core) \
		$$($(1)_OBJ_kernels)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) $$($(1)_LDFLAGS_assayd) -o $$@ $$^ \
		$$(LIBS_core) -lm

# A unit test links only the objects that its line " * links: ..." names;
# " * libs: ..." adds libraries.
$(BUILD)/$(1)/tests/unit/test_%: $(BUILD)/$(1)/tests/unit/test_%.o \
		$$$$(call test_objs,$(1),$$$$*)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) -o $$@ $$^ \
		$$(call test_libs,$$*) -lcmocka -lm
# A fuzzer names its objects in the same way. Two mains: ours replays corpora
# and mutations anywhere, libFuzzer's needs clang.
$(BUILD)/$(1)/tests/fuzz/replay_%: $(BUILD)/$(1)/tests/fuzz/fuzz_%.o \
		$(BUILD)/$(1)/tests/fuzz/replay.o \
		$$$$(call fuzz_objs,$(1),$$$$*)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) -o $$@ $$^ $$(call fuzz_libs,$$*) -lm
$(BUILD)/$(1)/tests/fuzz/fuzz_%: $(BUILD)/$(1)/tests/fuzz/fuzz_%.o \
		$$$$(call fuzz_objs,$(1),$$$$*)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) -fsanitize=fuzzer -o $$@ $$^ \
		$$(call fuzz_libs,$$*) -lm
# Helpers of the end-to-end tests.
$(BUILD)/$(1)/tests/support/peer $(BUILD)/$(1)/tests/support/mlir_print \
		$(BUILD)/$(1)/tests/support/dying_agent \
$(BUILD)/$(1)/tests/soak/soak $(BUILD)/$(1)/tests/perf/agent_figures: %: %.o \
		$$$$(call named_objs,$(1),$$$$(subst $(BUILD)/$(1)/,,$$$$@).c)
	$$(if $$(Q),@echo '  LINK    $$@')
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) -o $$@ $$^ \
		$$(shell sed -n 's/^ \* libs: //p' $$(subst $(BUILD)/$(1)/,,$$@).c) -lm
$(1): $(BUILD)/$(1)/assay $(BUILD)/$(1)/assayd $(BUILD)/$(1)/kcheck
.PHONY: $(1)
endef
.SECONDEXPANSION:
# named_objs(machine, source): patterns are expanded, names that are not there
# (generated ones, or a mistake that the build will show) are kept.
# "kernels/ref/" brings the other ISA folders of the machine: the table names
# every kernel. A room brings its main.c only where that is named.
named_objs = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(sort \
	$(foreach w,$(shell sed -n 's/^ \* links: //p' $(2) 2>/dev/null),$(or \
	$(filter-out $(if $(filter %/,$(w)),%/main.c),\
	$(wildcard $(if $(filter kernels/ref/,$(w)),$($(1)_ISAS:%=kernels/%/*.c),\
	$(w:%/=%/*.c)))),$(w)))))
test_objs = $(call named_objs,$(1),tests/unit/test_$(2).c)
test_libs = $(shell sed -n 's/^ \* libs: //p' tests/unit/test_$(1).c)
fuzz_objs = $(call named_objs,$(1),tests/fuzz/fuzz_$(2).c)
fuzz_libs = $(shell sed -n 's/^ \* libs: //p' tests/fuzz/fuzz_$(1).c)
$(foreach m,$(MACHINES),$(eval $(call machine_rules,$(m))))
UNIT_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

all: x86_64
cross: aarch64
clean:
	rm -rf $(BUILD)
FORCE:
.PHONY: all cross clean FORCE

include tests/check.mk
include tests/sweep.mk
include tests/perf/bench.mk

# ---- what is handed out ---------------------------------------------------

DIST := $(BUILD)/dist
DIST_AGENT := $(DIST)/assayd-$(VERSION)-aarch64
DIST_HOST := assay-$(VERSION)-x86_64
MAN_PAGES := $(wildcard host-tools/*.1 agent/*.8 agent/*.1)
PREFIX ?= /usr/local
SOURCE_DATE_EPOCH ?= 0

# The agent is one static file for any Linux; readelf proves it.
dist: $(BUILD)/aarch64/assayd $(BUILD)/x86_64/assay
	@rm -rf $(DIST)
	@mkdir -p $(DIST)/$(DIST_HOST)/man
	$(Q)aarch64-linux-gnu-strip -o $(DIST_AGENT) $(BUILD)/aarch64/assayd
	@if aarch64-linux-gnu-readelf -lW $(DIST_AGENT) | \
		grep -Eq 'INTERP|DYNAMIC'; then \
		echo "dist: '$(DIST_AGENT)' is not static" >&2; exit 1; fi
	@aarch64-linux-gnu-readelf -hW $(DIST_AGENT) | grep -q AArch64
	$(Q)strip -o $(DIST)/$(DIST_HOST)/assay $(BUILD)/x86_64/assay
	$(Q)cp README.md LICENSE host-tools/x5_export.py \
		host-tools/stage_export.py $(DIST)/$(DIST_HOST)/
	$(Q)cp $(MAN_PAGES) $(DIST)/$(DIST_HOST)/man/
	$(Q)mkdir $(DIST)/$(DIST_HOST)/aarch64
	$(Q)cp $(DIST_AGENT) $(DIST)/$(DIST_HOST)/aarch64/assayd
	$(Q)cp -r agent/init $(DIST)/$(DIST_HOST)/
	$(Q)tar -C $(DIST) --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 \
		--group=0 --numeric-owner -czf $(DIST)/$(DIST_HOST).tar.gz $(DIST_HOST)
	@rm -rf $(DIST)/$(DIST_HOST)
	@echo "$(DIST_AGENT)"
	@echo "$(DIST)/$(DIST_HOST).tar.gz"

install: x86_64
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/man/man8
	install -m 755 $(BUILD)/x86_64/assay $(BUILD)/x86_64/assayd \
		$(DESTDIR)$(PREFIX)/bin
	install -d $(DESTDIR)$(PREFIX)/share/assay
	install -m 755 host-tools/x5_export.py host-tools/stage_export.py \
		$(DESTDIR)$(PREFIX)/share/assay
	if [ -f $(BUILD)/aarch64/assayd ]; then \
		install -d $(DESTDIR)$(PREFIX)/libexec/assay/aarch64 && \
		install -m 755 -s --strip-program=aarch64-linux-gnu-strip \
			$(BUILD)/aarch64/assayd \
			$(DESTDIR)$(PREFIX)/libexec/assay/aarch64; fi
	install -d $(DESTDIR)$(PREFIX)/share/assay/init
	install -m 644 agent/init/assayd.service agent/init/assayd.default \
		$(DESTDIR)$(PREFIX)/share/assay/init
	install -m 755 agent/init/assayd.init $(DESTDIR)$(PREFIX)/share/assay/init
	for page in $(MAN_PAGES); do install -m 644 $$page \
		$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/ || exit 1; done

# ---- for developers -------------------------------------------------------

compile_commands.json:
	@$(MAKE) -snBk V=1 BUILD=$(BUILD) x86_64 2>/dev/null | \
		$(PYTHON) .ci/compile-commands.py > $@.tmp && mv $@.tmp $@

format:
	clang-format-14 -i $$(find kernels lib proto agent host-tools tests \
		-name '*.[ch]')

matrix:
	$(PYTHON) .ci/check-registry.py --write

help:
	@sed -n 's/^#? //p' Makefile tests/check.mk tests/sweep.mk
.PHONY: dist install compile_commands.json format matrix help

-include $(shell find $(MACHINES:%=$(BUILD)/%) -name '*.d' -type f 2>/dev/null)

#? make                 the host command and a host agent (build/x86_64)
#? make cross           the same for aarch64 (build/aarch64), agent static
#? make dist            build/dist: the agent, and a tarball of the command
#? make install         DESTDIR, PREFIX (/usr/local)
#? make bench           instructions a MAC, scalar speed, comparison speed
#? make bench-tls       TLS of ours against mbedTLS's own speed
#? make format          clang-format-14 on every C file
#? make matrix          renews the op x ISA table in docs/numerics.md
#? make compile_commands.json   for editors
#? make clean           removes build/
#? Variables: BUILD=build V=1 DEVELOPER=1 (-Werror) DEPS=skip JOBS=2
