#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One bit of one element of one golden, in several layers: one mismatch at the
# right index, exit 1, the layer and no other; inherited where it flows on.
. "$(dirname "$0")/lib.sh"

for layer in conv1.y relu1.y maxpool.y concat.y pw6.y; do
    rm -rf "$work/flipped"
    cp -r "$digits" "$work/flipped"
    chmod -R u+w "$work/flipped"
    run python3 "$ROOT/tests/support/flip_golden.py" "$work/flipped" "$layer"
    expect_rc 0 "$layer: flipped"
    read -r tensor place <"$work/out"
    run "$assay" run "$work/flipped" --local -q --json "$work/r.json"
    expect_rc 1 "$layer"
    expect_out '1\.0000' "$layer: the cosine does not see it"
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
tensor, place = sys.argv[2], int(sys.argv[3])
bad = [l for l in r["layers"] if l["status"] == "diverged"]
assert [l["tensor"] for l in bad] == [tensor], [l["tensor"] for l in bad]
l = bad[0]
assert l["mismatch"] == 1 and l["max_lsb"] == 1, (l["mismatch"], l["max_lsb"])
assert round(l["cosine"], 4) == 1.0, l["cosine"]
at = 0
for i, n in zip(l["first"][0]["index_source"], l["shape_source"]):
    at = at * n + i
assert at == place, (at, place)
assert l["first"][0]["sample"] == 0
# The flip is in the reference only: what the layer feeds is not touched.
rest = {k["status"] for k in r["layers"] if k is not l}
assert rest == {"exact"}, rest
assert [c["name"] for c in r["culprits"]] == [l["name"]]
assert r["verdict"] == "unexplained" and r["exit_code"] == 1
' "$work/r.json" "$tensor" "$place"
    expect_rc 0 "$layer: one mismatch of one LSB at element $place"
done
finish
