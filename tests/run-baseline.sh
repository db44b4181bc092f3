#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The aarch64 programs on a CPU that has none of the optional instructions:
# one in the wrong place ends them with SIGILL. Then on one that has all, to
# prove that the same programs would have used them.
set -u
: "${BUILD:?}"
QEMU=${QEMU:-qemu-aarch64}
# Nobody else's daemon is attached to.
export ASSAYD_BOARD_ID=baseline-$$
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

try() { # try TEXT PATTERN COMMAND...
    local text=$1 pattern=$2 rc
    shift 2
    timeout -k 5 120 "$@" >"$log" 2>&1 </dev/null
    rc=$?
    if [ $rc = 0 ] && grep -Eq "$pattern" "$log"; then
        passed=$((passed + 1))
    else
        echo "FAIL $text: exit $rc, expected 0 and '$pattern'"
        tail -n 15 "$log" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}

case=tests/data/digits
for pair in cortex-a53:neon cortex-a76:dotprod max:dotprod; do
    cpu=${pair%:*} rung=${pair#*:}
    target="exec:$QEMU -cpu $cpu $BUILD/aarch64/assayd --stdio"
    try "assayd --version on $cpu" '^assayd ' \
        "$QEMU" -cpu "$cpu" "$BUILD/aarch64/assayd" --version
    try "run on $cpu uses $rung" "kernels $rung" \
        "$BUILD/x86_64/assay" run "$case" --target "$target"
    try "run on $cpu --cpumask 0" "^ *match|^match" \
        "$BUILD/x86_64/assay" run "$case" --target "$target" --cpumask 0
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
