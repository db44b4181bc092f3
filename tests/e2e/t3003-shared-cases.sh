#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The vendor's cases with a simulator column, where they are beside the
# checkout (ASSAY_SHARED): equal where case.json says so, and the divergence
# of pad16 as it was measured.
# timeout: 300
. "$(dirname "$0")/lib.sh"
cases=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5
schema=$ROOT/docs/assay-report-1.schema.json

[ -d "$cases" ] || skip_all "no cases-x5 (ASSAY_SHARED)"

RUN_TIMEOUT=200
for case in "$cases"/*/; do
    name=$(basename "$case")
    { [ -f "$case/case.json" ] && [ -d "$case/sim" ]; } || continue
    [ "$name" = pad16 ] && continue
    run "$assay" run "$case" --local --require sim --json "$work/r.json"
    expect_rc 0 "$name"
    run python3 - "$work/r.json" "$case/case.json" <<'PY'
import json, sys
r, c = (json.load(open(p)) for p in sys.argv[1:])
n = r["column_counts"]["sim"]
assert not c["golden_vs_sim"]["different"]
assert n["diverged"] == n["inherited"] == 0, n
assert n["exact"] + n["within"] >= c["golden_vs_sim"]["tensors_inner"] > 0, n
assert r["verdict"] == "match" and r["not_examined"] == ["bpu"]
PY
    expect_rc 0 "$name: the simulator's tensors are all equal"
done

if [ -d "$cases/pad16/sim" ]; then
    run "$assay" run "$cases/pad16" --local --json "$work/r.json"
    expect_rc 1 "pad16"
    expect_out '^compile: first culprit same_s2: the CPU equals the reference in every layer, the compiled model does not' \
        "reference = cpu, not sim"
    expect_out '^ 3 samples · 17 layers · cpu: 17 exact · sim: 11 observed: 1 exact, 3 diverged, 7 inherited; 6 not observed$' \
        "the counts"
    expect_out '^  where   last row and last column only \(285 of 285 differing\)' \
        "where"
    expect_out '^  layer   conv 3x3 s2, int16 input, pads t,l,b,r = 0,0,1,1$' \
        "the geometry"
    expect_out '^  cause   P5=excess:128: .* 285/285 differing, 2304/2304 all   proved' \
        "the cause, with its number"
    expect_out '^  also    k2_bottom \(P5=bottom:128, last row only, judged through sigmoid7, which was not observed\), same_k5_s2' \
        "the other culprits"
    run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$work/r.json"
    expect_rc 0 "pad16: the report conforms to its schema"
    run python3 - "$work/r.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
L = {l["name"]: l["columns"]["sim"] for l in r["layers"]}
assert [(c["name"], c["column"], c["verdict"]) for c in r["culprits"]] == [
    (n, "sim", "compile") for n in ("same_s2", "k2_bottom", "same_k5_s2")]
assert {n: (c["mismatch"], c["count"], c["isolated"]["mismatch"])
        for n, c in L.items() if c["status"] == "diverged"} == {
    "same_s2": (285, 2304, 285), "k2_bottom": (390, 1152, 144),
    "same_k5_s2": (133, 1152, 133)}
assert L["k2_bottom"]["judged_through"] == ["sigmoid7"]
assert L["sigmoid7"]["status"] == "not_observed"
assert all(c["isolated"]["mismatch"] == 0 for c in L.values()
           if c["status"] == "inherited")
PY
    expect_rc 0 "pad16: isolated mismatches"
else
    skip "pad16 is not there"
fi

# The simulator's own texts.
texts=$cases/artefacts/hbdk_sim
if [ -d "$texts" ]; then
    for pair in digits_all_layers:digits:9 digits_dump_by_name:digits:6; do
        IFS=: read -r folder name n <<<"$pair"
        run "$assay" run -m "$cases/$name/model.onnx" \
            -i "$cases/$name/inputs/0000.npz" \
            -r "$cases/$name/golden/0000.npz" --sim "$texts/$folder" --local
        expect_rc 0 "$folder"
        expect_out " sim: $n observed, $n exact; " "$folder: all are equal"
    done
    run "$assay" run -m "$cases/pad16/model.onnx" \
        -i "$cases/pad16/inputs/0000.npz" -r "$cases/pad16/golden/0000.npz" \
        --sim "$texts/pad16" --local
    expect_rc 1 "pad16 from texts"
    expect_out '^compile: first culprit pw: ' "the first that was observed"
    expect_out 'judged through .*same_s2, which were not observed' \
        "the segment holds the layer at fault"
    expect_out 'HzSQuantizedConv k2_bottom .* 132/384 .* 48 ' \
        "and k2_bottom on its own inputs"
else
    skip "the simulator's texts are not there"
fi
finish
