#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a run's data exercised: accumulators of each layer, ties and ends that
# no value met, in the line of a green run, with -v, and as JSON; counted by
# the board where it can, and the same numbers there as on the host.
# timeout: 240
. "$(dirname "$0")/lib.sh"

run "$assay" run "$digits" --local -q --json "$work/r.json"
expect_rc 0 "a green run"
expect_out '^ never reached: a tie in 15 of 17 layers that round; ' \
    "says what it never reached"
expect_out ' \(by this host\)$' "and who counted"
run python3 "$ROOT/tests/support/check_schema.py" \
    "$ROOT/docs/assay-report-1.schema.json" "$work/r.json"
expect_rc 0 "the report conforms to its schema"
run python3 - "$work/r.json" <<'PY'
import json, sys
layers = {l["name"]: l for l in json.load(open(sys.argv[1]))["layers"]}
a = layers["conv1"]["accumulator"]
assert a == {"min": -50278, "max": 42615, "headroom_bits": 15,
             "exceeds_16": True, "saturated": False,
             "running_exceeds_16": True, "running_exceeds_32": False,
             "pairs_exceed_16": False}, a
assert not layers["dw3"]["accumulator"]["exceeds_16"]
assert layers["relu1"]["accumulator"] is None
# The sum of an average pool: cells less the zero point.
assert layers["gap"]["accumulator"]["max"] == 257, layers["gap"]
assert "no tie at fround half_even" in layers["conv1"]["never_reached"]
assert layers["logits_DequantizeLinear"]["never_reached"] == []
e = layers["conv1"]["exercised"]
assert e["by"] == "host" and e["facts"]["padding"] > 0, e
assert [s["step"] for s in e["steps"]] == ["fclamp -128 127",
                                           "fround half_even"], e
# What only moves elements has no steps to reach.
assert "accumulator" not in layers["flatten"]
PY
expect_rc 0 "accumulators and what was never reached, by layer"
run "$assay" run "$digits" --local -v
expect_rc 0 "-v"
expect_err '^001 conv1: sums -50278\.\.42615, 15 bits of 32 free, more than 16 bits, running sums leave 16 bits; ' \
    "a line a layer"
run "$assay" run "$digits" --local --arith conv2=q31_double -q
expect_rc 1 "a run that differs"
expect_not_out 'never reached' "speaks of what differs"

# The board counts what the host counts: all that is in exercised, accumulator
# and never_reached but who counted.
same_as_host() { # CASE NAME ARGUMENT...
    local case=$1 name=$2 cpu

    shift 2
    run "$assay" run "$case" --local -q --json "$work/host.json" "$@"
    for cpu in cortex-a53 cortex-a76; do
        run "$assay" run "$case" --target "$(board "$cpu")" -q \
            --json "$work/board.json" "$@"
        run python3 - "$work/host.json" "$work/board.json" <<'PY'
import json, sys
host, board = (json.load(open(p))["layers"] for p in sys.argv[1:])
n = 0
for h, b in zip(host, board):
    if "exercised" not in h:
        assert "exercised" not in b, b
        continue
    assert h["exercised"].pop("by") == "host"
    assert b["exercised"].pop("by") == "board"
    for key in ("exercised", "accumulator", "never_reached"):
        assert h[key] == b[key], (h["name"], key, h[key], b[key])
    n += 1
assert n >= 5, n
print(n, "layers")
PY
        expect_rc 0 "$name: board $cpu and host count the same"
    done
}

board() {
    echo "exec:$QEMU -cpu $1 $arm_assayd --stdio --board-id probe-$1"
}

if command -v "$QEMU" >/dev/null && [ -x "$arm_assayd" ]; then
    same_as_host "$digits" digits
    same_as_host "$digits" "digits in isolation" --mode isolated
    same_as_host "$ROOT/tests/data/horizon" horizon
    same_as_host "$ROOT/tests/data/nash" nash
    shared=${ASSAY_SHARED:-$ROOT/../shared}
    for name in ops_lut ops_pool ops_elt; do
        if [ -d "$shared/cases-x5/$name" ]; then
            same_as_host "$shared/cases-x5/$name" "shared case $name"
        else
            skip "the shared case $name is not there"
        fi
    done
    run "$assay" run "$digits" --target "$(board cortex-a53)" -q
    expect_out ' \(by the board\)$' "a green run on a board says so"
    run "$assay" run "$digits" --target "$(board cortex-a53)" -q --cpumask 0 \
        --json "$work/scalar.json"
    expect_rc 0 "and scalar kernels"
else
    skip "no emulator for aarch64"
fi

lut=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5/ops_lut
if [ -d "$lut" ]; then
    run "$assay" run "$lut" --local -v
    expect_err '^003 sigmoid3: entries 0\.\.255; 65 of 256 entries of the table not read$' \
        "entries of a table"
else
    skip "the shared case ops_lut is not there"
fi

pad16=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5/pad16
if [ -d "$pad16" ]; then
    run "$assay" run "$pad16" --local -q --json "$work/pad.json"
    expect_rc 1 "pad16"
    run python3 - "$work/pad.json" <<'PY'
import json, sys
layers = {l["name"]: l for l in json.load(open(sys.argv[1]))["layers"]}
assert all(layers[n]["accumulator"]["exceeds_16"] and
           not layers[n]["accumulator"]["saturated"]
           for n in ("same_s2", "k2_bottom", "same_k5_s2"))
PY
    expect_rc 0 "sums of int16 inputs leave 16 bits, not 32"
else
    skip "the shared case pad16 is not there"
fi
finish
