#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which layers run and which are compared; modes; tolerances; saved outputs.
. "$(dirname "$0")/lib.sh"

statuses() { # statuses PYTHON-CONDITION TEXT; r: report, s: name -> status
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
s = {l["name"]: l["status"] for l in r["layers"]}
seen = {n for n, v in s.items() if v != "not_observed"}
why = {l["name"]: l["reason"] for l in r["layers"]}
if not eval(sys.argv[2]):
    sys.exit("%s\n%s\n%s" % (sys.argv[2], s, r["coverage"]))
' "$work/r.json" "$1"
    expect_rc 0 "$2"
}

sel() { # sel RC OPTION...
    local want=$1
    shift
    rm -f "$work/r.json"
    run "$assay" run "$digits" --local -q --json "$work/r.json" "$@"
    expect_rc "$want" "$*"
}

sel 0 --layers 'conv?'
statuses 'seen == {"conv1", "conv2", "conv5"}' "--layers compares these only"
statuses 'r["coverage"]["expected"] == 3' "coverage counts what was selected"
sel 0 --op-type MaxPool --op-type Add
statuses 'seen == {"maxpool", "add5"}' "--op-type"
sel 0 --start-layer conv2 --end-layer dw3
statuses 'seen == {"conv2", "relu2", "dw3"}' "--start-layer, --end-layer"
sel 0 --skip-layers conv1
statuses '"conv1" not in seen and s["relu1"] == "exact"' \
    "--skip-layers: the reference stands in"
# An override before the start cannot be seen behind it.
sel 0 --start-layer relu1 --arith conv1=q31_floor
sel 1 --arith conv1=q31_floor -x
statuses 's["conv1"] == "diverged" and s["fc"] == "not_observed"' \
    "--fail-fast stops at the first culprit"
statuses '"host" in r["layers"][1]["columns"]' "it is still triangulated"
sel 1 --arith conv1=q31_floor --mode cumulative
statuses 's["relu1"] == "inherited" and why["relu1"] == "not isolated"' \
    "cumulative mode does not isolate"
sel 1 --arith conv1=q31_floor --mode isolated
statuses 'list(s.values()).count("diverged") == 1 and s["relu1"] == "exact"' \
    "isolated mode: the others are exact"
sel 0 --arith conv1=q31_floor --max-lsb 1 --mode isolated
statuses 's["conv1"] == "within"' "--max-lsb"
sel 1 --arith conv1=q31_floor --max-lsb 'conv2:1' --mode isolated
statuses 's["conv1"] == "diverged"' "--max-lsb LAYER:N is for that layer"

run "$assay" run "$digits" --list --op-type Conv
expect_rc 0 "--list"
expect "--list prints the selection" \
    test "$(wc -l <"$work/out")" = 6
run "$assay" run "$digits" --local --dry-run
expect_rc 0 "--dry-run"
expect_out '^would run 21 layers on 4 samples' "--dry-run says what it would do"
run "$assay" run "$digits" --local --start-layer fc --end-layer conv1
expect_refused 2 "'fc' is behind end layer 'conv1'" "start behind end"
run "$assay" run "$digits" --local --arith conv9=q31_floor
expect_refused 2 "no layer 'conv9'.*nearest: conv" "the nearest layer is named"

run "$assay" run "$digits" --local -q --save-outputs -o "$work/o"
expect_rc 0 "--save-outputs"
expect "a file a sample" test "$(ls "$work/o/outputs" | wc -l)" = 4
# What was saved is a reference: the source's names and layout.
run "$assay" run -m "$digits/model.onnx" -i "$digits/inputs" \
    -r "$work/o/outputs" --local -q
expect_rc 0 "saved outputs are a reference of the same model"
expect_out '21 exact' "all of them"

# What differs only because of a layer that was not selected is no plain match.
run "$assay" run "$digits" --local -q --arith pw4=q31_double --layers relu4
expect_rc 0 "a layer that is equal given its own inputs"
expect_out 'what feeds it and was not selected is not' "and what feeds it is not"

finish
