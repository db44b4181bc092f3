#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One wrong number, one wrong arithmetic: the right layer is named.
# timeout: 240
. "$(dirname "$0")/lib.sh"

run "$assay" show "$digits"
expect_rc 0 "show"
run "$assay" run "$digits" --local -q --format json
expect_rc 0 "the case is good"
cp "$work/out" "$work/good.json"
# An integer layer in the middle: its output's bits are the layer's own.
read -r index name <<<"$(python3 "$ROOT/tests/support/pick_layer.py" \
    "$work/good.json" "$digits/golden")"
expect "there is a layer to flip" test -n "${name:-}"

cp -r "$digits" "$work/flipped"
chmod -R u+w "$work/flipped"
place=$(python3 "$ROOT/tests/support/flip_golden.py" "$work/flipped" "$name")
rc=$?
expect "one bit of one golden is flipped" test $rc = 0
run "$assay" run "$work/flipped" --local -q --format json
expect_rc 1 "a flipped golden is a divergence"
cp "$work/out" "$work/flipped.json"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
name = sys.argv[2]
bad = [l for l in r["layers"] if l["status"] == "diverged"]
assert [l["name"] for l in bad] == [name], [l["name"] for l in bad]
l = bad[0]
assert l["mismatch"] == 1 and l["max_lsb"] == 1, l
assert l["cosine"] > 0.99995, l["cosine"]
assert r["culprits"][0]["name"] == name, r["culprits"]
assert r["exit_code"] == 1
' "$work/flipped.json" "$name"
expect_rc 0 "exactly one mismatch of one LSB, in '$name' and nowhere else"

run "$assay" run "$work/flipped" --local
expect_out 'DIVERGED' "the row is shown"
expect_out "$name" "the culprit is named"
expect_out '1\.0000' "the cosine does not see it"

# A culprit in layer k: later layers are not called culprits.
conv=$(python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(next(l["name"] for l in r["layers"] if "Conv" in l["op"]))
' "$work/good.json")
run "$assay" run "$digits" --target "$(arm_target cortex-a76)" -q \
    --arith "$conv=q31_double" --format json
expect_rc 1 "--arith on the first convolution"
cp "$work/out" "$work/arith.json"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert [c["name"] for c in r["culprits"]] == [sys.argv[2]], r["culprits"]
for l in r["layers"]:
    assert l["status"] != "diverged" or l["name"] == sys.argv[2], l
' "$work/arith.json" "$conv"
expect_rc 0 "it is the only culprit"
finish
