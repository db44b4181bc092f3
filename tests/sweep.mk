# SPDX-License-Identifier: Apache-2.0
# Seeded causes, and whether they are found: docs/hypotheses.md.
#
#? make sweep          every cause of the catalogue on the emulated agent
#? make re-add         10,000 explained elements, added up again
#? make check-sweep    some of them, on the host's engine
#? make ranking        root causes (a) to (i), seeded: docs/causes.md
#? make bench-culprits pairs of them in whole models: are the culprits right?

# SWEEP=--write puts the matrix into docs/hypotheses.md.
SWEEP ?=
sweep: $(BUILD)/x86_64/assay $(BUILD)/aarch64/assayd
	@$(PYTHON) tests/sweep/sweep.py --build $(BUILD) --qemu $(QEMU) \
		--jobs $(JOBS) $(SWEEP)
check-sweep: x86_64
	@tests/run-sum.sh \
		catalogue "$(PYTHON) tests/sweep/sweep.py --build $(BUILD) \
			--target local --jobs $(JOBS) --quick 12" \
		ranking "$(PYTHON) tests/sweep/ranking.py --build $(BUILD) \
			--jobs $(JOBS) --quick"
# RANKING=--write puts the tables into docs/causes.md.
RANKING ?=
ranking: $(BUILD)/x86_64/assay
	@$(PYTHON) tests/sweep/ranking.py --build $(BUILD) --jobs $(JOBS) \
		--least 60 $(RANKING)
# CULPRITS: --target local, --pairs N, --seed N and others of culprits.py.
CULPRITS ?=
bench-culprits: $(BUILD)/x86_64/assay $(BUILD)/aarch64/assayd
	@$(PYTHON) tests/sweep/culprits.py --build $(BUILD) --qemu $(QEMU) \
		--jobs $(JOBS) $(CULPRITS)
re-add: $(BUILD)/x86_64/assay
	@BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run-re-add.sh
.PHONY: sweep ranking bench-culprits re-add
