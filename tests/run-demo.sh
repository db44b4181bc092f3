#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make demo`: the aarch64 agent under the emulator runs the digits case: every
# layer is compared with onnxruntime's own tensors. Then once more with the
# arithmetic of one layer replaced in the slice, as boards are known to round
# otherwise: that layer, and no other, is named.
set -u
: "${BUILD:?}"
QEMU=${QEMU:-qemu-aarch64}
CPU=${CPU:-cortex-a76}
case=tests/data/digits
assay=$BUILD/x86_64/assay
work=$(mktemp -d)
agent=
stop() {
    [ -z "$agent" ] || kill "$agent" 2>/dev/null
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

die() {
    echo "demo: $*" >&2
    exit 1
}

show() {
    printf '\n$ %s\n' "$*"
    timeout 60 "$@"
    rc=$?
    printf 'exit %s\n' "$rc"
}

mkfifo "$work/ready"
"$QEMU" -cpu "$CPU" "$BUILD/aarch64/assayd" --listen 127.0.0.1:0 \
    --board-id "demo-$$" >"$work/ready" &
agent=$!
exec 3<>"$work/ready"
read -r -t 20 line <&3 || die "the agent did not become ready in 20 s"
echo "$QEMU -cpu $CPU $BUILD/aarch64/assayd --listen 127.0.0.1:0"
echo "$line"
address=${line#assayd listening on }

show "$assay" run "$case" --target "$address" --all
[ $rc = 0 ] || die "the case should be exact: exit $rc, expected 0"

layer=${DEMO_LAYER:-pw4}
show "$assay" run "$case" --target "$address" \
    --arith "$layer=q31_double" --json "$work/report.json"
[ $rc = 1 ] || die "another rounding should be found: exit $rc, expected 1"
# The first culprit must be that layer.
grep -A 3 '"culprits"' "$work/report.json" | grep -q "\"$layer\"" ||
    die "the report's first culprit is not '$layer'"

kill "$agent"
wait "$agent"
rc=$?
agent=
[ $rc = 0 ] || die "the agent ended with $rc"
echo
echo "demo: done. The first run is exact in every layer; in the second,"
echo "'$layer' was given another rounding and is named as the first culprit."
