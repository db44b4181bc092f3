# SPDX-License-Identifier: Apache-2.0
# What the judgements of tests/oracle share: names, counts, the environment of
# Python. Sourced with `work` (a folder) and `here` set; sets `python`.
BUILD=${BUILD:-build}
QEMU=${QEMU:-qemu-aarch64}
CPUS=${CPUS:-cortex-a53 cortex-a76 max}
assay=$BUILD/x86_64/assay
agent=$BUILD/aarch64/assayd
passed=0 failed=0 skipped=0
export PYTHONDONTWRITEBYTECODE=1
# A board of its own: other tests on this machine do not hold its lease.
export ASSAYD_BOARD_ID=${work##*/}-$$

pass() { passed=$((passed + 1)); echo "ok   $*"; }
fail() { failed=$((failed + 1)); echo "FAIL $*"; }
skip() { skipped=$((skipped + 1)); echo "SKIP $*"; }
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ] && [ $passed -gt 0 ]
    exit
}

mkdir -p "$work"
python=$(BUILD=$BUILD "$here/venv.sh" 2>"$work/venv.log")
rc=$?
if [ $rc = 77 ]; then
    echo "SKIP no oracle: $(tail -n 1 "$work/venv.log")"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
elif [ $rc != 0 ]; then
    cat "$work/venv.log"
    fail "venv.sh: exit $rc"
    finish
fi
