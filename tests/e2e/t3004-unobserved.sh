#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A fault in a layer that a column does not show: what can be undone leads back
# to it, else it is looked for in the segment. And columns of two builds.
. "$(dirname "$0")/lib.sh"
horizon=$ROOT/tests/data/horizon

tool() { python3 "$ROOT/tests/support/sim_files.py" "$@"; }

case_with() { # case_with NAME...: a copy that shows only these
    rm -rf "$work/case"
    cp -r "$horizon" "$work/case"
    chmod -R u+w "$work/case"
    tool keep "$work/case/sim" "$@"
}

report() { # report TEXT PYTHON: asserts on r, L (layers by name)
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
L = {l["name"]: l["columns"]["sim"] for l in r["layers"]}
proved = [(h["name"], h["id"]) for h in r["hypotheses"] if h["proved"]]
'"$2" "$work/r.json"
    expect_rc 0 "$1"
}

flat() { tr -s ' \n' '  ' <"$work/out"; }
expect_flat() { # expect_flat PATTERN TEXT
    expect "$2" grep -Eq -- "$1" <(flat)
}

# The output is a float: its integers follow from it. The fault lies before a
# table and a convolution that are not shown either.
case_with same_s2_relu.y_quantized pw.y_quantized tail.y
run "$assay" run "$work/case" --local -q --json "$work/r.json"
expect_rc 1 "a fault in a layer that is not shown"
expect_flat 'sim: 5 observed: 2 diverged, 3 inherited' "the integers of an output are counted"
expect_flat 'also tail \(P5=bottom:128 in k2_bottom' "the layer is named"
report "and proved, with the number that its padding holds" '
assert ("same_s2", "P5=excess:128") in proved, proved
assert ("k2_bottom", "P5=bottom:128") in proved, proved
assert L["tail"]["status"] == "diverged", L["tail"]
assert L["tail_HzDequantize"]["status"] == "inherited"
assert "k2_bottom" in L["tail"]["judged_through"]'
run "$assay" pinpoint "$work/case" -q
expect_flat 'cause P5=bottom:128 in k2_bottom: bottom padding holds 128 36/36 differing, 216/216 all proved' \
    "pinpoint says so"
run "$assay" impact "$work/case" -q
expect_rc 1 "what it does to the outputs"
expect_flat "all together: sim's outputs, 216 of 216 elements equal" \
    "is what the column has there"

# Nothing but the outputs: the same fault in two layers behind each other.
case_with tail.y fc.y
run "$assay" run "$work/case" --local -q --json "$work/r.json"
expect_rc 1 "two faults that nobody saw"
expect_flat 'first culprit tail: ' "the segment ends where it is seen"
expect_flat 'judged through .*same_s2' "and is named"
report "are proved as one fault of the tool" '
assert ("tail", "P5=excess_end:128") in proved, proved'

# Two faults of different kinds behind each other are no single one.
case_with tail.y fc.y
"$assay" mutate "$horizon" --layer same_s2 --set B5 -o "$work/1.slice" \
    >/dev/null 2>&1
"$assay" mutate "$work/1.slice" --layer k2_bottom --set P5=bottom:128 \
    -o "$work/2.slice" >/dev/null 2>&1
"$assay" run -m "$work/2.slice" -i "$horizon/inputs" --local -q --save-outputs \
    -o "$work/made" >/dev/null 2>&1
tool take "$work/case/sim" "$work/made/outputs" tail.y fc.y
run "$assay" pinpoint "$work/case" -q --json "$work/r.json"
expect_rc 1 "two different faults that nobody saw"
report "are not proved" 'assert proved == [], proved'

# A number that is no multiple of the scale: nothing is derived.
case_with same_s2_relu.y_quantized pw.y_quantized tail.y
tool flip "$work/case/sim" tail.y
run "$assay" run "$work/case" --local -q --json "$work/r.json"
expect_rc 1 "an output that is no multiple of its scale"
report "is a culprit by itself" '
assert L["tail_HzDequantize"]["status"] == "diverged"
assert L["tail"]["status"] == "not_observed"'

# Inner tensors of a build that shows them, outputs of one that does not.
case_with same_s2_relu.y_quantized pw.y_quantized k2_bottom.y_quantized \
    tail.y_quantized tail.y
run "$assay" run "$work/case" --local -q
expect "a column of one build is not warned of" \
    test "$(grep -c 'two builds' "$work/out")" = 0
tool take "$work/case/sim" "$work/case/golden" tail.y
run "$assay" run "$work/case" --local -q --json "$work/r.json"
expect_rc 1 "an output of another build"
expect_flat "sim: 'tail_HzDequantize' equals the reference and was not made of 'tail.y_quantized'.*two builds" \
    "is told, and which of the two is wrong"
report "it is no culprit, and says why" '
assert L["tail_HzDequantize"]["status"] == "exact", L["tail_HzDequantize"]
assert L["tail_HzDequantize"]["reason"] == "of another build than its inputs"
assert [c["name"] for c in r["culprits"]] == ["same_s2", "k2_bottom"]'
finish
