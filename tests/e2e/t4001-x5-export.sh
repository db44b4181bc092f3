#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# host-tools/x5_export.py against a STAND-IN of the vendor's package (see
# tests/support/x5_standin): the case that it writes runs green, and what goes
# wrong in the container is one sentence and never half a case.
# timeout: 900
. "$(dirname "$0")/lib.sh"

python=$(BUILD=$BUILD "$ROOT/tests/oracle/venv.sh" 2>"$work/venv.log")
rc=$?
[ $rc = 77 ] && skip_all "no numpy and onnx: $(tail -n 1 "$work/venv.log")"
[ $rc = 0 ] || { not_ok "venv.sh: $(tail -n 1 "$work/venv.log")"; finish; }
small=$ROOT/tests/data/horizon
standin=$ROOT/tests/support/x5_standin
export PYTHONDONTWRITEBYTECODE=1
"$python" "$ROOT/tests/support/x5_hybrid.py" "$small" "$work/hybrid.onnx" \
    "$work/calibrated.onnx" || { not_ok "x5_hybrid.py"; finish; }

# export_case [NAME=VALUE...] -- ARGUMENT...: with the stand-in.
export_case() {
    local set=()
    while [ "$1" != -- ]; do set+=("$1") && shift; done
    shift
    run env PYTHONPATH="$standin" ${set[@]+"${set[@]}"} "$python" \
        "$ROOT/host-tools/x5_export.py" "$@"
}
model=$small/model.onnx
plain=("$model" -i "$small/inputs" -o "$work/case")

# Everything that an export can have, then a run of it.
export_case -- "${plain[@]}" --hybrid "$work/hybrid.onnx" --self-check \
    --calibrated "$work/calibrated.onnx" --vendor "$ROOT/tests/data/vendor"
expect_rc 0 "an export"
expect_out "^$work/case\$" "it prints where the case is"
expect_err '^sample 2/2: 13 tensors' "progress"
expect "no temporary folder stays" test ! -e "$work/case.partial"
for f in model.onnx calibrated.onnx scales.json case.json vendor/build.yaml \
    inputs/0001.npz golden/0001.npz sim/0001.npz; do
    expect "the case has $f" test -s "$work/case/$f"
done
expect "the model is the same file" cmp -s "$model" "$work/case/model.onnx"
expect "the march comes from the vendor's files" \
    grep -q '"march": "bayes-e"' "$work/case/case.json"
expect "goldens are those of the small case, tensor by tensor" "$python" - \
    "$small" "$work/case" <<'PY'
import glob, os, sys
import numpy as np
small, case = sys.argv[1:]
for path in sorted(glob.glob(os.path.join(small, "golden", "*.npz"))):
    want = np.load(path)
    got = np.load(os.path.join(case, "golden", os.path.basename(path)))
    for name in want.files:
        if not name.startswith("__"):
            assert want[name].dtype == got[name].dtype, name
            assert np.array_equal(want[name], got[name]), name
PY
run "$assay" run "$work/case" --local --require sim
expect_rc 0 "the case runs: reference, cpu and compiled model are equal"
expect_out '13 layers .* cpu: 13 exact .* sim: 8 observed, 8 exact' "all of it"
expect_out 'configuration: 0 contradictions' "the vendor's files fit"

# The simulator's texts instead, one folder a sample.
export_case -- "$model" -i "$small/inputs" -o "$work/texts" --hybrid \
    "$work/hybrid.onnx" --sim-text "$small/sim-text/0000" \
    "$small/sim-text/0001"
expect_rc 0 "an export with text files"
expect "they are in the case" test -s "$work/texts/sim/0001/hbdk_output1_feature_pw.y_quantized_elem_int.txt"
run "$assay" run "$work/texts" --local
expect_rc 1 "the texts hold a compile divergence"
expect_out 'first culprit: 002 same_s2' "and it is found"

# One file with a further axis; the same samples.
"$python" - "$small/inputs" "$work/many.npz" <<'PY'
import glob, os, sys
import numpy as np
files = sorted(glob.glob(os.path.join(sys.argv[1], "*.npz")))
np.savez(sys.argv[2], x=np.concatenate([np.load(f)["x"] for f in files]))
PY
export_case -- "$model" -i "$work/many.npz" -o "$work/many"
expect_rc 0 "samples along a first axis"
expect "two samples" test -s "$work/many/golden/0001.npz"
run "$assay" run "$work/many" --local
expect_rc 0 "they run"

# A case is not overwritten by accident, and replaced on request.
export_case -- "${plain[@]}"
expect_refused 2 "is there already: give --force" "a case of that name"
export_case -- "${plain[@]}" --force
expect_rc 0 "--force"
expect "the old sim is gone" test ! -e "$work/case/sim"
expect "nothing is left over" test ! -e "$work/case.old"

# What misbehaves is one sentence, and no case.
refuses() { # refuses MODE REGEX TEXT [ARGUMENT...]
    local mode=$1 regex=$2 text=$3
    shift 3
    rm -rf "$work/bad" "$work/bad.partial"
    export_case X5_STANDIN="$mode" -- "$model" -i "$small/inputs" \
        -o "$work/bad" "$@"
    expect_refused 2 "$regex" "$text"
    expect "$text: no traceback" bash -c '! grep -q Traceback "$1"' _ \
        "$work/err"
    expect "$text: no case" test ! -e "$work/bad"
}
refuses no-executor "'horizon_nn.api.ORTExecutor' is missing" "no ORTExecutor"
refuses no-load "'horizon_nn.ir.load_model' is missing" "no load_model"
refuses no-forward "'ORTExecutor.forward' is missing" "no forward"
refuses refuse 'refuses the quantized model: RuntimeError: graph check failed' \
    "the executor refuses"
refuses exit "the vendor's package ended the program" "it ends the process"
refuses shape "tensor '.*' is int.* the model says" "a wrong shape"
refuses dtype "tensor '.*' is int64 .* the model says" "a wrong type"
refuses lost "gave no tensor '" "a tensor that is not given"
run env -u PYTHONPATH "$python" "$ROOT/host-tools/x5_export.py" "$model" \
    -i "$small/inputs" -o "$work/bad"
expect_refused 2 "package 'horizon_nn' is missing" "no vendor package"
export_case X5_STANDIN=unstable -- "$model" -i "$small/inputs" -o "$work/bad" \
    --self-check
expect_refused 1 "differs when every tensor is an output" "--self-check"
export_case X5_STANDIN=nan -- "$model" -i "$small/inputs" -o "$work/nan"
expect_rc 0 "NaN of a float output is the model's"
expect_err "note: 1 tensors hold NaN" "and is told"
export_case X5_STANDIN=inexact -- "$model" -i "$small/inputs" \
    -o "$work/inexact" --hybrid "$work/hybrid.onnx"
expect_rc 0 "floats that are no integers"
expect_err 'not exactly an integer times their scale' "are told"

# It breaks in the second sample, and goes on there.
export_case X5_STANDIN=raise -- "$model" -i "$small/inputs" -o "$work/later"
expect_refused 2 'sample 0001: .* RuntimeError: out of cheese' "an exception"
expect_err '1 samples are kept in .*later.partial' "what is done is kept"
expect "and no case is there" test ! -e "$work/later"
export_case -- "$model" -i "$small/inputs" -o "$work/later" --resume
expect_rc 0 "--resume"
expect_err '^sample 1/2: is there' "the first sample is not made again"
run "$assay" run "$work/later" --local
expect_rc 0 "the resumed case runs"
mkdir "$work/other.partial"
echo '{"model": "x"}' >"$work/other.partial/partial.json"
export_case -- "$model" -i "$small/inputs" -o "$work/other" --resume
expect_refused 2 'made from another model or other inputs' "another's rest"

# Inputs that do not fit.
"$python" - "$work" <<'PY'
import sys
import numpy as np
x = np.zeros((1, 3, 12, 12), np.float32)
np.savez(sys.argv[1] + "/shape.npz", x=x[:, :, 1:])
np.savez(sys.argv[1] + "/type.npz", x=x.astype(np.float64))
np.savez(sys.argv[1] + "/name.npz", z=x)
PY
for kind in shape:'has shape 1x3x11x12, the model takes 1x3x12x12' \
    type:'is float64, the model takes float32' name:"lacks input 'x'"; do
    export_case -- "$model" -i "$work/${kind%%:*}.npz" -o "$work/bad"
    expect_refused 2 "${kind#*:}" "inputs of a wrong ${kind%%:*}"
done
export_case -- "$work/hybrid.onnx" -i "$small/inputs" -o "$work/bad"
expect_refused 2 'is a hybrid model: give the quantized one' "a hybrid model"
export_case -- "$work/calibrated.onnx" -i "$small/inputs" -o "$work/bad"
expect_refused 2 'is a calibrated model' "a calibrated model"
export_case -- "$digits/model.onnx" -i "$small/inputs" -o "$work/bad"
expect_refused 2 "no operator of domain 'horizon'" "a model of another kind"
export_case -- "$small/case.json" -i "$small/inputs" -o "$work/bad"
expect_refused 2 'is no ONNX model' "not a model"
expect "after all that: no case" test ! -e "$work/bad"
expect "it is Python 3.8" "$python" -c \
    'import ast, sys; ast.parse(open(sys.argv[1]).read(),
    feature_version=(3, 8))' "$ROOT/host-tools/x5_export.py"
finish
