#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# host-tools/stage_export.py against a STAND-IN of torch (see
# tests/support/torch_standin): the stages that it writes are compared by
# assay triage, names are the same in both, and what goes wrong is one
# sentence and never half a folder.
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

standin=$ROOT/tests/support/torch_standin
export PYTHONDONTWRITEBYTECODE=1
export_stages() { # export_stages [NAME=VALUE...] -- ARGUMENT...
    local set=()
    while [ "$1" != -- ]; do set+=("$1") && shift; done
    shift
    run env PYTHONPATH="$standin" ${set[@]+"${set[@]}"} python3 \
        "$ROOT/host-tools/stage_export.py" "$@"
}
PYTHONPATH=$standin python3 "$standin/make_models.py" "$work" ||
    { not_ok "make_models.py"; finish; }
both=(--stage "qat=$work/qat.pt" --stage "qat.export=$work/qat.export.pt"
    -i "$work/inputs")

export_stages -- "${both[@]}" -o "$work/set"
expect_rc 0 "an export"
expect_out "^$work/set\$" "it prints where the stages are"
expect_err '^stage qat.export, sample 3/3: [0-9]+ tensors' "progress"
expect "nothing is left over" test ! -e "$work/set.partial"
for f in qat/0002.npz qat.export/0002.npz inputs/0000.npz layers.json; do
    expect "there is $f" test -s "$work/set/$f"
done
expect "names are the same in both, and tell what gave them" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "assay-stage-map/1"
names = {l["name"]: l["stages"] for l in d["layers"]}
want = {"conv", "act", "act#1", "split[0]", "split[1][rest]", "half",
        "output[boxes]", "output[scores]"}
assert set(names) == want, sorted(names)
assert d["in_all"] == len(want)
assert names["conv"]["qat.export"]["module"] == "module.conv"
assert names["conv"]["qat"] == {"module": "conv", "type": "Scale"}
' "$work/set/layers.json"
expect "scales are in the remarks" python3 - "$work/set" <<'PY'
import json, sys, zipfile
for stage, scale in (("qat", 0.5), ("qat.export", 0.25)):
    with zipfile.ZipFile("%s/%s/0000.npz" % (sys.argv[1], stage)) as z:
        raw = z.read("__meta__.npy")
    text = raw[raw.index(b"\n") + 1:].decode("utf-32-le")
    assert json.loads(text)["scales"] == {"conv": scale}, text
PY
run "$assay" triage "$work/set"
expect_rc 0 "triage of what it wrote"
expect_out '^match: .*: qat, qat.export$' "says that nothing breaks"
expect_out '^ qat -> qat.export +8 +3 ' "eight tensors of three samples"

export_stages -- "${both[@]}" -o "$work/set"
expect_refused 2 "'.*/set/qat' is there already: give --force" "twice"
export_stages -- --stage "qat=$work/qat.pt" \
    --stage "qat.export=$work/other.pt" -i "$work/inputs" -o "$work/set" \
    --force
expect_rc 0 "--force"
run "$assay" triage "$work/set"
expect_rc 1 "an export that changed a layer"
expect_out '^  starts at act: ' "is named by the same name"
expect_out 'constant-factor' "and shows its factor"
export_stages -- "${both[@]}" -o "$work/some" --layers 'c*' --samples 1
expect_rc 0 "--layers and --samples"
expect "one sample" test ! -e "$work/some/qat/0001.npz"
expect "and one layer" test "$(python3 -m zipfile -l \
    "$work/some/qat/0000.npz" | grep -c '^conv')" = 1

refuses() { # refuses MODE REGEX TEXT ARGUMENT...
    local mode=$1 regex=$2 text=$3
    shift 3
    export_stages TORCH_STANDIN="$mode" -- "$@" -o "$work/bad"
    expect_refused 2 "^error: .*$regex" "$text"
    expect "$text: no traceback" bash -c '! grep -q Traceback "$1"' _ \
        "$work/err"
    expect "$text: no folder" test ! -e "$work/bad" -a ! -e "$work/bad.partial"
}
refuses raise 'sample .0000.: the model refuses it: ValueError: Expected 4' \
    "a model that raises" "${both[@]}"
refuses broken "package 'torch' cannot be loaded: RuntimeError" "a broken torch" \
    "${both[@]}"
refuses '' 'holds weights \(a dict\) and no model' "weights only" \
    --stage "qat=$work/weights.pt" -i "$work/inputs"
refuses '' "is a int and no model: it has no 'named_modules'" "a number" \
    --stage "qat=$work/number.pt" -i "$work/inputs"
refuses '' 'no such file' "no model" --stage "qat=$work/none.pt" \
    -i "$work/inputs"
refuses '' 'torch cannot load it' "no pickle" \
    --stage "qat=$work/inputs/0000.npz" -i "$work/inputs"
refuses '' 'expected STAGE=FILE' "a stage that torch has not" \
    --stage "hbm=$work/qat.pt" -i "$work/inputs"
refuses '' 'given twice' "a stage twice" --stage "qat=$work/qat.pt" \
    --stage "qat=$work/other.pt" -i "$work/inputs"
refuses '' "no module has a name like 'z\*'" "no such layer" "${both[@]}" \
    --layers 'z*'
mkdir "$work/none" "$work/cut"
refuses '' 'no npz file in the folder' "no inputs" \
    --stage "qat=$work/qat.pt" -i "$work/none"
head -c 100 "$work/inputs/0000.npz" >"$work/cut/0000.npz"
refuses '' 'cut/0000.npz: ' "inputs that are cut" --stage "qat=$work/qat.pt" \
    -i "$work/cut"
run env PYTHONPATH= python3 -c 'import torch'
if [ "$rc" = 0 ]; then
    skip "torch is installed: its absence cannot be tried"
else
    run python3 "$ROOT/host-tools/stage_export.py" "${both[@]}" -o "$work/bad"
    expect_refused 2 "package 'torch' is missing" "no torch"
fi
run python3 "$ROOT/host-tools/stage_export.py" --help
expect_rc 0 "--help needs no torch"
expect "it is Python 3.8" python3 -c \
    'import ast, sys; ast.parse(open(sys.argv[1]).read(),
    feature_version=(3, 8))' "$ROOT/host-tools/stage_export.py"
finish
