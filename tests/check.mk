# SPDX-License-Identifier: Apache-2.0
# Targets that test. Each ends with "N passed, N failed, N skipped".
#
#? make demo            installs, builds, runs the digits case on the agent
#? make check           everything that CI runs; sums all of the below
#? make check-headers check-layers check-symbols check-registry check-format
#? make check-unit      cmocka programs: native, sanitized, aarch64
#? make check-kernels   kcheck: native, cortex-a53, cortex-a76, max
#? make check-isa       no instruction outside its folder
#? make check-vectors   golden vectors of the arithmetic
#? make check-e2e       tests/e2e on real programs
#? make check-hostile   bad input to sanitized programs
#? make check-board     a board in a box: real kernel, init, power cuts
#? make check-soak      60 s of runs with cancels, cuts, kills, stalls
#? make check-fuzz      corpora and mutations replayed under ASan and UBSan
#? make check-oracle    against onnxruntime's own tensors, and mlir-opt
#? make check-horizon   fixed-point models against exact integers
#? make check-natural   onnxruntime against itself on aarch64 (not in check)
#? make bench-agent     size, start and memory of the agent
#? make check-valgrind  the agent and its workers under memcheck
#? make check-tsan      the agent under ThreadSanitizer (not in check)
#? make soak            2,000 runs of that kind (SOAK_SEED=N)
#? make cover           lines that fuzzing reaches, a parser
#? make fuzz T=60       libFuzzer, T seconds a parser (needs clang-14)

QEMU ?= qemu-aarch64
# report: a file that the formatter would change is a skip, not a failure.
CHECK_FORMAT ?= strict
# Cheapest first; of the rest the longest first, since two run at a time.
CHECKS ?= check-headers check-layers check-symbols check-format \
	check-registry check-isa check-unit check-vectors check-horizon \
	check-oracle check-kernels check-fuzz check-sweep \
	check-hostile check-soak check-valgrind check-e2e
.PHONY: $(CHECKS) check check-natural demo deps deps-demo build-check fuzz \
	unit-x86_64 unit-x86_64-san unit-aarch64 fuzz-replay

deps:
	@cross/install-deps.sh check
deps-demo:
	@cross/install-deps.sh demo

# ---- the two commands of the README ----------------------------------------

demo: deps-demo
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/x86_64/assay \
		$(BUILD)/aarch64/assayd
	@BUILD=$(BUILD) QEMU=$(QEMU) tests/run-demo.sh

build-check: $(BUILD)/x86_64/tests/support/peer $(BUILD)/x86_64/vcheck \
	$(BUILD)/x86_64/tests/support/dying_agent \
	$(BUILD)/x86_64-san/tests/support/dying_agent \
	$(BUILD)/x86_64/tests/support/mlir_print \
	$(BUILD)/aarch64/vcheck x86_64 x86_64-san aarch64 fuzz-replay \
	unit-x86_64 unit-x86_64-san unit-aarch64

# A build that fails does not hide the tests of the rest: -k, and one failure.
check: deps
	@rm -f $(BUILD)/build-failed
	@mkdir -p $(BUILD)
	@$(MAKE) --no-print-directory -k -j$(JOBS) build-check || { \
		echo 'FAIL build'; touch $(BUILD)/build-failed; }
	@BUILD=$(BUILD) JOBS=$(JOBS) \
		tests/run-all.sh $(CHECKS)

# ---- form -------------------------------------------------------------------

check-headers: $(PROTO_GEN) $(ONNX_GEN)
	@$(PYTHON) .ci/check-headers.py $(BUILD) .
check-layers: x86_64
	@$(PYTHON) .ci/check-layers.py $(BUILD) .
check-symbols: x86_64 aarch64
	@tests/run-sum.sh \
		x86_64 '$(PYTHON) .ci/check-symbols.py $(BUILD) x86_64 nm' \
		aarch64 '$(PYTHON) .ci/check-symbols.py $(BUILD) aarch64 \
			aarch64-linux-gnu-nm'
check-format:
	@CHECK_FORMAT=$(CHECK_FORMAT) .ci/check-format.sh
check-registry: $(BUILD)/aarch64/kcheck
	@$(PYTHON) .ci/check-registry.py $(BUILD)/aarch64/kcheck \
		$(QEMU) -cpu max
# The objects are looked at, and whole programs run on a CPU without any of
# the extensions: an instruction in the wrong place dies there.
check-isa: aarch64
	@tests/run-sum.sh \
		objects '$(PYTHON) .ci/check-isa.py $(BUILD) \
			aarch64-linux-gnu-objdump' \
		cortex-a53 'BUILD=$(BUILD) QEMU=$(QEMU) tests/run-baseline.sh'

# ---- unit tests -------------------------------------------------------------

unit-x86_64: $(UNIT_TESTS:%=$(BUILD)/x86_64/tests/unit/%)
unit-x86_64-san: $(UNIT_TESTS:%=$(BUILD)/x86_64-san/tests/unit/%)
unit-aarch64: $(UNIT_TESTS:%=$(BUILD)/aarch64/tests/unit/%)

# Old programs must not stand in for ones that no longer build.
check-unit:
	@rc=0; $(MAKE) -s --no-print-directory -k -j$(JOBS) unit-x86_64 \
		unit-x86_64-san unit-aarch64 || rc=1; \
	tests/run-sum.sh \
		build "echo $$((1 - rc)) passed, $$rc failed, 0 skipped" \
		x86_64 'tests/run-unit.sh $(BUILD)/x86_64' \
		x86_64-san 'tests/run-unit.sh $(BUILD)/x86_64-san' \
		aarch64 'tests/run-unit.sh $(BUILD)/aarch64 $(QEMU) -cpu max'

# ---- kernels and arithmetic ---------------------------------------------------

check-kernels: $(BUILD)/x86_64/kcheck $(BUILD)/aarch64/kcheck
	@tests/run-sum.sh \
		x86_64 '$(BUILD)/x86_64/kcheck' \
		cortex-a53 '$(QEMU) -cpu cortex-a53 $(BUILD)/aarch64/kcheck' \
		cortex-a76 '$(QEMU) -cpu cortex-a76 $(BUILD)/aarch64/kcheck' \
		max '$(QEMU) -cpu max $(BUILD)/aarch64/kcheck'
check-vectors: $(BUILD)/x86_64/vcheck $(BUILD)/aarch64/vcheck
	@BUILD=$(BUILD) QEMU=$(QEMU) PYTHON=$(PYTHON) tests/run-vectors.sh
check-oracle: x86_64 aarch64 $(BUILD)/x86_64/tests/support/mlir_print \
		$(BUILD)/x86_64-san/tests/fuzz/replay_mlir
	@export BUILD=$(BUILD) QEMU=$(QEMU); tests/run-sum.sh \
		onnxruntime tests/oracle/run.sh \
		stand-in tests/oracle/nash.sh \
		fit tests/oracle/fit.sh \
		mlir tests/oracle/mlir.sh \
		image tests/oracle/image.sh
# Not one of CHECKS: it fetches and emulates a Python of aarch64, for minutes.
check-natural: x86_64
	@BUILD=$(BUILD) tests/oracle/natural.sh $(NATURAL)
check-horizon: x86_64 aarch64
	@BUILD=$(BUILD) QEMU=$(QEMU) tests/oracle/horizon.sh

# ---- programs ------------------------------------------------------------------

check-e2e: x86_64 aarch64 x86_64-san $(BUILD)/x86_64/tests/support/peer \
		$(BUILD)/x86_64-san/tests/support/dying_agent \
		$(BUILD)/x86_64/tests/support/dying_agent \
		$(BUILD)/x86_64/tests/perf/agent_figures \
		$(HOSTILE:%=$(BUILD)/x86_64/tests/unit/%)
	@BUILD=$(BUILD) QEMU=$(QEMU) tests/run-e2e.sh 't[0-7]*'
# The tables of hostile peers run here too, alone and by name.
HOSTILE := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_hostile_*.c))
check-hostile: x86_64-san $(HOSTILE:%=$(BUILD)/x86_64-san/tests/unit/%)
	@tests/run-sum.sh \
		peers 'UNIT="$(HOSTILE)" tests/run-unit.sh $(BUILD)/x86_64-san' \
		scripts 'BUILD=$(BUILD) QEMU=$(QEMU) tests/run-e2e.sh "t[89]*"'

# Runs at one agent, with cancels, cuts, resets, kills and stalls at random
# places; the long form is in bench.mk.
SOAK := $(BUILD)/x86_64/tests/soak/soak
check-soak: x86_64 $(SOAK)
	@$(SOAK) --runs 100000 --seconds 60 --seed 1 $(BUILD)/x86_64/assayd

# ---- a board in a box ------------------------------------------------------

# Not one of CHECKS: with other checks beside it, it takes more than 3 minutes.
# What it unpacks of Debian's packages stays in build/board. BOARD: groups.
check-board: $(BUILD)/x86_64/assay $(BUILD)/x86_64/assayd \
		$(BUILD)/aarch64/assayd
	@$(PYTHON) tests/board/run.py $(BUILD) $(BOARD)

# ---- tools that are slow -----------------------------------------------------

# TSan is not in check: minutes. Those of test_agent are about deadlines of a fast
# agent, so they are left to the other builds.
TSAN_TESTS := test_ring test_session test_target $(HOSTILE)
check-tsan: $(TSAN_TESTS:%=$(BUILD)/x86_64-tsan/tests/unit/%)
	@TSAN_OPTIONS=halt_on_error=1:exitcode=66 UNIT_TIMEOUT=300 \
		UNIT="$(TSAN_TESTS)" tests/run-unit.sh $(BUILD)/x86_64-tsan
check-valgrind: x86_64
	@BUILD=$(abspath $(BUILD)) ROOT=$(CURDIR) tests/run-valgrind.sh
.PHONY: check-tsan

# ---- fuzzing -------------------------------------------------------------------

REPLAYS := $(FUZZERS:fuzz_%=$(BUILD)/x86_64-san/tests/fuzz/replay_%)
fuzz-replay: $(REPLAYS)
check-fuzz: $(REPLAYS)
	@tests/run-fuzz.sh $(BUILD)/x86_64-san/tests/fuzz
# T seconds each; FUZZ names some of them: `make fuzz T=600 FUZZ="frame codec"`.
# Warnings are gcc's business: clang has others.
T ?= 60
FUZZ ?= $(FUZZERS:fuzz_%=%)
fuzz: $(FUZZ:%=$(BUILD)/x86_64-fuzz/tests/fuzz/fuzz_%)
	@tests/fuzz/hunt.sh $(BUILD)/x86_64-fuzz/tests/fuzz $(T) $(BUILD)/fuzz \
		$(FUZZ)

# Lines that the fuzzers' inputs reach; COVER=--write renews docs/testing.md.
cover: $(FUZZERS:fuzz_%=$(BUILD)/x86_64-cover/tests/fuzz/replay_%)
	@$(PYTHON) tests/fuzz/cover.py $(BUILD) \
		$(if $(COVER),--write docs/testing.md)
.PHONY: cover
