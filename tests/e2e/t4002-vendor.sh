#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the vendor's tools leave beside a model: in show, run and JSON; what
# does not fit is found before anything runs.
. "$(dirname "$0")/lib.sh"
small=$ROOT/tests/data/horizon
data=$ROOT/tests/data/vendor
schema=$ROOT/docs/assay-report-1.schema.json

run "$assay" show "$small" --vendor "$data"
expect_rc 0 "show"
expect_out '^vendor build: march bayes-e, horizon_nn 1.9.0, hbdk 3.99.1' "build"
expect_out '^008 fc +BPU id\(0\) +HzSQuantizedConv +0.999802 +1.27 int8$' \
    "node, device, subgraph, type, cosine, threshold, dtype"
expect_out '^configuration: 0 contradictions, 1 warnings, 2 hints$' "counts"
expect_out "hint: node 'post' \(Softmax\) runs on the CPU \(build.log\)" \
    "a node on the CPU"
run "$assay" show "$small" --vendor "$data" --layer pw
expect_out '^  vendor   on BPU  subgraph id\(0\)  type HzSQuantizedConv  cosine 0.999987  threshold 32.102  dtype int16$' \
    "one layer"

# vendor/ of the case by itself; a run goes on.
cp -r "$small" "$work/case"
chmod -R u+w "$work/case"
rm -rf "$work/case/sim" "$work/case/sim-text"
cp -r "$data" "$work/case/vendor"
run "$assay" run "$work/case" --local --json "$work/r.json"
expect_rc 0 "a run with vendor/"
expect_out '^# configuration: 0 contradictions, 1 warnings, 2 hints \(-v' "head"
expect_not_out '^# warning' "warnings need -v"
run python3 - "$work/r.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
f = r["findings"]
assert [x["severity"] for x in f] == ["warning", "hint", "hint"], f
assert f[0]["id"] == "log-nodes" and f[0]["subject"] == "post", f
v = {l["name"]: l.get("vendor") for l in r["layers"]}
assert v["pw"] == {"on": "BPU", "subgraph": "id(0)", "dtype": "int16",
                   "type": "HzSQuantizedConv", "cosine": 0.999987,
                   "threshold": 32.102}, v["pw"]
assert v["fc_HzDequantize"] is None
assert r["exit_code"] == 0 and r["verdict"] == "match"
PY
expect_rc 0 "JSON has findings and a layer's vendor"
run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$work/r.json"
expect_rc 0 "the report conforms to its schema"
run "$assay" run "$work/case" --local -v
expect_out "^# warning: 1 of 9 nodes of the log are not in this model, first 'post'" \
    "-v shows warnings"
expect "no line of it is wider than 120 columns" python3 -c '
import sys
sys.exit(any(len(l.rstrip("\n")) > 120 for l in
             open(sys.argv[1], encoding="utf-8")
             if not l.startswith("match ")))' "$work/out"

# finding TEXT REGEX SED...: the YAML edited; a contradiction, exit 2, and the
# layers are still compared.
finding() {
    local text=$1 regex=$2
    shift 2
    sed "$@" "$data/build.yaml" >"$work/case/vendor/build.yaml"
    run "$assay" run "$work/case" --local
    expect_rc 2 "$text"
    expect_out "^# contradiction: $regex" "$text: found"
    expect_out '^match ' "$text: the run went on"
    expect_out 'the configuration contradicts the model' "$text: the tail"
}
sed 's/bayes-e/bayes/' "$data/build.yaml" >"$work/case/vendor/build.yaml"
run "$assay" run "$work/case" --local
expect_rc 2 "march"
expect_out '^version: the model is built for bayes-e .case.json., the configuration says bayes .build.yaml.; nothing was run$' \
    "march: both sides"
expect_not_out '^match ' "march: no layer ran"
finding "an input's name" "the configuration's input 'y' is not one" \
    -e "s/input_name: 'x'/input_name: 'y'/"
finding "a shape" "input 'x': the configuration has shape 1x3x12x13" \
    -e 's/1x3x12x12/1x3x12x13/'
finding "a type" "input 'x': input_type_rt 'nv12' gives a model that takes" \
    -e "s/input_type_rt: 'featuremap'/input_type_rt: 'nv12'/"
finding "preprocessing" "input 'x': mean and scale should be folded" \
    -e "s/no_preprocess/data_mean_and_scale/"
finding "a node's width" "node 'sigmoid': the output type asked for is int8" \
    -e "s/'OutputType': 'int16'/'OutputType': 'int8'/"
finding "a device" "node 'pw' was asked to run on the CPU, it runs on the BPU" \
    -e 's/run_on_bpu/run_on_cpu/'
run "$assay" show "$work/case"
expect_rc 2 "show says so too"

# A quant_info of which most nodes are strangers is no matter of fusing.
python3 - "$data/quant_info.json" "$work/strange.json" <<'PY'
import json, sys
q = json.load(open(sys.argv[1]))
keep = list(q)[0]
json.dump({k if k == keep else "strange_" + k: v for k, v in q.items()},
          open(sys.argv[2], "w"), indent=4)
PY
run "$assay" show "$small" --vendor "$work/strange.json"
expect_rc 0 "a quant_info of another model"
expect_out '^ *warning: [0-9]+ of [0-9]+ nodes of quant_info are not in this model: it is likely of another model' \
    "is a warning"

# Files that are none, or damaged.
run "$assay" show "$small" --vendor "$small/model.onnx"
expect_refused 2 "none of the vendor's files that are known" "a model"
run "$assay" show "$small" --vendor "$work/nowhere"
expect_refused 2 "nowhere" "nothing there"
head -c 700 "$data/disas.json" >"$work/cut.json"
run "$assay" run "$small" --local --vendor "$work/cut.json"
expect_refused 2 "cut.json: line" "a cut file"
run "$assay" show "$small" --vendor "$data" --vendor "$data/build.yaml"
expect_refused 2 "a second configuration beside" "two configurations"
finish
