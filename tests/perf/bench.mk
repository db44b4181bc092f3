# SPDX-License-Identifier: Apache-2.0
# make bench: docs/performance.md says what is measured, and how.
BENCH_PROGRAMS := $(BUILD)/x86_64/kcheck \
	$(BUILD)/x86_64/tests/perf/bench_compare \
	$(BUILD)/x86_64/tests/perf/search_time \
	$(BUILD)/x86_64/tests/perf/image_time \
	$(BUILD)/x86_64/tests/perf/libicount.so \
	$(BUILD)/aarch64/tests/perf/conv_run \
	$(BUILD)/aarch64/tests/perf/probe_run
BENCH_KCHECK := $(filter-out tests/kernels/kcheck.c,$(SRC_kcheck))

bench: $(BENCH_PROGRAMS)
	@$(PYTHON) tests/perf/bench.py $(BUILD)
bench-tls: $(BUILD)/x86_64/tests/perf/tls_speed
	@$<
.PHONY: bench bench-tls

SOAK_SEED ?= 1
soak: x86_64 $(BUILD)/x86_64/tests/soak/soak
	@$(BUILD)/x86_64/tests/soak/soak --runs 2000 --seed $(SOAK_SEED) \
		$(BUILD)/x86_64/assayd
.PHONY: soak

$(BUILD)/x86_64/tests/perf/libicount.so: tests/perf/icount.c
	@mkdir -p $(@D)
	$(Q)gcc -O2 -Wall -Wextra -shared -fPIC $< -o $@
$(BUILD)/aarch64/tests/perf/conv_run: \
		$(BUILD)/aarch64/tests/perf/conv_run.o \
		$(call objs,aarch64,$(BENCH_KCHECK)) $(aarch64_OBJ_kernels)
	$(Q)$(aarch64_CC) -static -o $@ $^ -lm
$(BUILD)/aarch64/tests/perf/probe_run: \
		$(BUILD)/aarch64/tests/perf/probe_run.o \
		$(call objs,aarch64,tests/support/slices.c $(BENCH_KCHECK)) \
		$(aarch64_OBJ_core) $(aarch64_OBJ_engine) $(aarch64_OBJ_kernels)
	$(Q)$(aarch64_CC) -static -o $@ $^ $(LIBS_core) -lm
$(BUILD)/x86_64/tests/perf/bench_compare: \
		$(BUILD)/x86_64/tests/perf/bench_compare.o \
		$(BUILD)/x86_64/host-tools/diff/tensor.o \
		$(x86_64_OBJ_core) $(x86_64_OBJ_kernels)
	$(Q)$(x86_64_CC) -o $@ $^ $(LIBS_core) -lm
$(BUILD)/x86_64/tests/perf/search_time: \
		$(BUILD)/x86_64/tests/perf/search_time.o \
		$(call objs,x86_64,tests/support/edits.c tests/support/slices.c) \
		$(x86_64_OBJ_host) $(x86_64_OBJ_both)
	$(Q)$(x86_64_CC) -o $@ $^ $(LIBS_assay)
$(BUILD)/x86_64/tests/perf/image_time: \
		$(BUILD)/x86_64/tests/perf/image_time.o \
		$(x86_64_OBJ_host) $(x86_64_OBJ_both)
	$(Q)$(x86_64_CC) -o $@ $^ $(LIBS_assay)

# What an agent costs: size, start, memory.
bench-agent: x86_64 $(BUILD)/aarch64/assayd \
		$(BUILD)/x86_64/tests/perf/agent_figures
	@aarch64-linux-gnu-strip -o $(BUILD)/assayd.stripped \
		$(BUILD)/aarch64/assayd
	@$(BUILD)/x86_64/tests/perf/agent_figures \
		--stripped $(BUILD)/assayd.stripped $(BUILD)/x86_64/assayd
.PHONY: bench-agent

$(BUILD)/x86_64/tests/perf/tls_speed: \
		$(BUILD)/x86_64/tests/perf/tls_speed.o \
		$(call objs,x86_64,tests/support/certs.c tests/support/tls_ends.c) \
		$(x86_64_OBJ_net) $(x86_64_OBJ_core)
	$(Q)$(x86_64_CC) -o $@ $^ -luv $(LIBS_core) -lm

$(BUILD)/x86_64/tests/perf/stream_time: \
		$(BUILD)/x86_64/tests/perf/stream_time.o \
		$(call objs,x86_64,tests/support/agents.c tests/support/proc.c \
		tests/support/slices.c host-tools/boards.c host-tools/messages.c \
		host-tools/private_write.c host-tools/session_cache.c \
		host-tools/tls_files.c host-tools/user_dir.c \
		$(filter host-tools/client%.c,$(SRC_host))) \
		$(x86_64_OBJ_agent) $(x86_64_OBJ_both)
	$(Q)$(x86_64_CC) -o $@ $^ $(LIBS_assay)
bench-stream: $(BUILD)/x86_64/tests/perf/stream_time
	@$<
.PHONY: bench-stream
