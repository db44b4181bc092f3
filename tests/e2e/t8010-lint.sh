#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lint: a clean model is left in peace, each seeded fault is named, and models
# of others get no contradiction.
. "$(dirname "$0")/lib.sh"

run "$assay" lint "$digits"
expect_rc 0 "a clean model"
expect_out '^lint: 0 contradictions, 0 warnings, [0-2] hints$' "is left alone"
for data in horizon nash; do
    run "$assay" lint "$ROOT/tests/data/$data"
    expect_rc 0 "$data"
    expect_out '^lint: 0 contradictions, 0 warnings, [0-9] hints$' \
        "with hints only"
done
run "$assay" lint "$digits" --format json
expect_rc 0 "JSON"
expect "is JSON with its counts" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "assay-lint/1" and d["exit_code"] == 0
assert d["counts"]["contradictions"] == 0
assert len(d["findings"]) == sum(d["counts"].values())
assert all(f["id"] and f["sentence"] and f["expected"] for f in d["findings"])
' "$work/out"
run "$assay" lint --list
expect_rc 0 "--list"
expect_out '^bias-rail +contradiction +' "names the checks"

# Field 21: a bias whose scale is too small is clipped at the rail.
cp "$digits/model.onnx" "$work/model.onnx"
python3 "$ROOT/tests/support/patch_model.py" "$work/model.onnx" list \
    >"$work/constants"
bias=$(awk '$2 == "i" && $3 > 1 { print $1; exit }' "$work/constants")
cp -r "$digits" "$work/clipped"
run python3 "$ROOT/tests/support/patch_model.py" "$work/clipped/model.onnx" \
    "$bias" 1 -2147483647
expect_rc 0 "a bias is put at the rail"
run "$assay" lint "$work/clipped/model.onnx"
expect_rc 2 "a clipped bias"
expect_out 'contradiction: the bias of layer .* -2147483647 .*\[bias-rail\]' \
    "is a contradiction"
run "$assay" lint "$work/clipped/model.onnx" --json "$work/found.json"
expect_rc 2 "--json beside the text"
expect "holds it" grep -q '"bias-rail"' "$work/found.json"

# A slice whose multiplier was changed is not what its scales say.
run "$assay" mutate "$digits" --layer conv2 --set Q3=twice -o "$work/wrong.slice"
expect_rc 0 "a slice whose input scale counts twice"
run "$assay" lint "$work/wrong.slice"
expect_rc 2 "a multiplier that is not Sx*Sw/Sy"
expect_out 'contradiction: .*conv2.*\[factor\]' "is named"

table() { # table NAME DTYPE
    printf '%s\n' 'Each layer out qconfig:' '+-------------+-----------+' \
        '| Module Name | Module Type | Input dtype | out dtype |' \
        '|-------------+-------------+-------------+-----------|' \
        "| $1 | <class 'Conv2d'> | ['qint8'] | ['$2'] |" >"$work/check.txt"
}
table conv2 qint8
run "$assay" lint "$digits" --expect-dtypes "$work/check.txt"
expect_rc 0 "the dtype that was wanted"
table conv2 qint16
run "$assay" lint "$digits" --expect-dtypes "$work/check.txt"
expect_rc 2 "another one"
expect_out "'conv2' gives int8, but .*qint16.* \(check.txt\) \[dtype\]" "is named"
table nobody qint16
run "$assay" lint "$digits" --expect-dtypes "$work/check.txt"
expect_rc 2 "a table of another model"
echo nothing >"$work/check.txt"
run "$assay" lint "$digits" --expect-dtypes "$work/check.txt"
expect_rc 2 "no table"
expect_err "is no table of dtypes: expected rows" "has its sentence"
run "$assay" lint "$digits" --expect-dtypes "$work/none.txt"
expect_rc 2 "a table that is not there"

shared=${ASSAY_SHARED:-$ROOT/../shared}
if [ -d "$shared/models" ]; then
    for model in "$shared"/models/*.onnx "$shared"/cases-x5/*/model.onnx; do
        [ -f "$model" ] || continue
        run "$assay" lint -q "$model"
        expect_rc 0 "no contradiction in ${model#"$shared"/}"
    done
else
    skip "models of others: $shared/models is not there"
fi
finish
