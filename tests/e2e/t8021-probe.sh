#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a run's data exercised: accumulators of each layer, ties and ends that
# no value met, in the line of a green run, with -v, and as JSON.
. "$(dirname "$0")/lib.sh"

run "$assay" run "$digits" --local -q --json "$work/r.json"
expect_rc 0 "a green run"
expect_out '^ never reached: a tie in 15 of 17 layers that round; ' \
    "says what it never reached"
run python3 "$ROOT/tests/support/check_schema.py" \
    "$ROOT/docs/assay-report-1.schema.json" "$work/r.json"
expect_rc 0 "the report conforms to its schema"
run python3 - "$work/r.json" <<'PY'
import json, sys
layers = {l["name"]: l for l in json.load(open(sys.argv[1]))["layers"]}
a = layers["conv1"]["accumulator"]
assert a == {"min": -50278, "max": 42615, "headroom_bits": 15,
             "exceeds_16": True, "saturated": False}, a
assert not layers["dw3"]["accumulator"]["exceeds_16"]
assert layers["relu1"]["accumulator"] is None
assert "no tie at fround half_even" in layers["conv1"]["never_reached"]
assert layers["logits_DequantizeLinear"]["never_reached"] == []
# What only moves elements has no steps to reach.
assert "accumulator" not in layers["flatten"]
PY
expect_rc 0 "accumulators and what was never reached, by layer"
run "$assay" run "$digits" --local -v
expect_rc 0 "-v"
expect_err '^001 conv1: sums -50278\.\.42615, 15 bits of 32 free, more than 16 bits; ' \
    "a line a layer"
run "$assay" run "$digits" --local --arith conv2=q31_double -q
expect_rc 1 "a run that differs"
expect_not_out 'never reached' "speaks of what differs"

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
