#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Golden rows through every interpreter: our own generator's always, those of
# ASSAY_SHARED (default ../shared) where they are. Programs come from BUILD.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-python3}
ROWS=${ASSAY_SHARED:-../shared}/numerics/vectors
OWN=$BUILD/vectors
passed=0 failed=0 skipped=0

# Adds the closing line of one run to the totals; a run without one failed.
tally() {
    echo "$1"
    last=$(echo "$1" | tail -n 1)
    case $last in
    *" passed, "*" failed, "*" skipped")
        # Split into words on purpose: N passed, N failed, N skipped.
        set -- "$2" $last
        passed=$((passed + $2)) failed=$((failed + $4))
        skipped=$((skipped + $6))
        [ "$1" -eq 0 ] || [ "$4" -gt 0 ] || failed=$((failed + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
}

run() {
    echo "== $*"
    out=$(timeout 120 "$@" 2>&1)
    tally "$out" $?
}

each_machine() {
    run "$BUILD/x86_64/vcheck" "$1"
    if [ -x "$BUILD/aarch64/vcheck" ]; then
        for cpu in cortex-a53 cortex-a76 max; do
            run qemu-aarch64 -cpu $cpu "$BUILD/aarch64/vcheck" "$1"
        done
    else
        echo "skip: no aarch64 vcheck in $BUILD"
        skipped=$((skipped + 1))
    fi
}

for seed in 1 2; do
    if "$PYTHON" tests/oracle/gen_vectors.py --seed $seed "$OWN/$seed"; then
        each_machine "$OWN/$seed"
    else
        failed=$((failed + 1))
    fi
done
if [ -d "$ROWS" ]; then
    each_machine "$ROWS"
else
    echo "skip: no golden rows in ASSAY_SHARED"
    skipped=$((skipped + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
