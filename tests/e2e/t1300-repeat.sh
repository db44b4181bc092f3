#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --repeat: a board that gives the same each time, one that does not, one whose
# kernels do not agree. The boards that err are tests/support/dying_agent.c and
# an agent with changed instructions.
# timeout: 240
. "$(dirname "$0")/lib.sh"

dying=$BUILD/$MACHINE/tests/support/dying_agent
agent="exec:$dying --stdio"
json() { # json TEXT EXPRESSION...: of $work/r.json as r, l(name) a layer
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
def l(name):
    return next(x for x in r["layers"] if x["name"] == name)
for e in sys.argv[2:]:
    assert eval(e), e
' "$work/r.json" "${@:2}"
    expect_rc 0 "$1"
}

run "$assay" run "$digits" --target "$agent" --repeat 5 --json "$work/r.json"
expect_rc 0 "a board that gives the same"
expect_out 'repeats: 20 runs of 4 samples, .* gave the same in every layer' \
    "that is told"
expect_out 'plain 12, --capture digest 8' "and how they were perturbed"
json "the JSON report" 'r["run"]["repeat"] == 5' \
    'sum(k["runs"] for k in r["run"]["repeat_runs"]) == 20' \
    'all(x["repeat"]["state"] == "same" for x in r["layers"])'
run python3 "$ROOT/tests/support/check_schema.py" \
    "$ROOT/docs/assay-report-1.schema.json" "$work/r.json"
expect_rc 0 "as its schema says"
run "$assay" run "$digits" --target "$agent" --json "$work/r.json"
json "without it nothing is repeated" 'r["run"]["repeat"] == 1' \
    'all(x["repeat"] is None for x in r["layers"])'

# Every fifth run of layer 5, dw3, has one bit changed, and the layers behind
# it get that.
run env FLIP=5,5 "$assay" run "$digits" --target "$agent" --repeat 10 --all \
    --json "$work/r.json"
expect_rc 6 "a board that errs in every fifth run"
expect_out '^flaky: dw3 is the earliest layer' "the layer is named"
expect_out 'repeat +8 of 40 runs gave something else: plain 4 of 20, --capture digest 4 of 20' \
    "in how many runs, and which"
expect_out 'where +1 of 256 elements, sample 0: \[0,2,0,0\] was' \
    "the first element"
expect_out 'the run that was judged equals the reference' \
    "what the reference says is kept"
expect_out '^ 005 .* flaky' "the row"
expect_out '^ 004 .* exact' "the row in front of it"
json "the JSON report" 'r["verdict"] == "flaky" and r["exit_code"] == 6' \
    'l("dw3")["status"] == "flaky" and l("dw3")["mismatch"] == 0' \
    'l("dw3")["repeat"]["odd"] == 8' \
    'l("dw3")["repeat"]["first"]["index"] == [0, 2, 0, 0]' \
    'l("conv2")["repeat"]["state"] == "same"' \
    '[c["name"] for c in r["culprits"]] == ["dw3"]'
run python3 "$ROOT/tests/support/check_schema.py" \
    "$ROOT/docs/assay-report-1.schema.json" "$work/r.json"
expect_rc 0 "as its schema says"

# A divergence outranks it; both are there.
run env FLIP=5,5 "$assay" run "$digits" --target "$agent" --repeat 10 \
    --arith fc=q31_floor --json "$work/r.json"
expect_rc 1 "beside a divergence"
json "both are culprits" \
    '{c["name"]: c["verdict"] for c in r["culprits"]}["dw3"] == "flaky"' \
    'any(c["name"] == "fc" for c in r["culprits"])'

# Digests alone, in this process, one layer, given tensors.
run env FLIP=5,5 "$assay" run "$digits" --target "$agent" --repeat 10 \
    --capture digest
expect_rc 6 "of digests alone"
expect_out 'repeat +8 of 40 runs' "as many"
run "$assay" run "$digits" --local --repeat 3
expect_rc 0 "in this process"
run env FLIP=5,5 "$assay" run "$digits" --target "$agent" --repeat 5 \
    --layers dw3
expect_rc 6 "one layer"
run env FLIP=5,5 "$assay" run "$digits" --target "$agent" --repeat 5 \
    --mode isolated
expect_rc 6 "with --mode isolated"
run env DIE=5,2:11 "$assay" run "$digits" --target "$agent" --repeat 5 \
    --json "$work/r.json"
expect_rc 4 "a worker that dies in a repeat"
json "is an error of its layer" 'l("dw3")["status"] == "error" and r["partial"]'

# What is a file stays one.
mkdir -p "$work/sim"
cp "$digits"/golden/*.npz "$work/sim"
run "$assay" run -m "$digits/model.onnx" -i "$digits/inputs" \
    -r "$digits/golden" --sim "$work/sim" --target "$agent" --repeat 2
expect_out 'repeats: sim are files, what made them was not repeated' \
    "columns of files are not repeated"

for n in 1 0 -1 1001 x; do
    run "$assay" run "$digits" --target "$agent" --repeat $n
    expect_refused 2 'repeat' "--repeat $n"
done

# Kernels: an emulated board has three rungs; one whose dot products do nothing
# gives the same each time, which is no flaky board.
if [ ! -x "$arm_assayd" ]; then
    skip "there is no agent for aarch64"
    finish
fi
run "$assay" run "$digits" --target "$(arm_target cortex-a76)" --repeat 8 \
    --json "$work/r.json"
expect_rc 0 "all rungs give the same"
expect_out '--cpumask 0 8, --cpumask neon 8' \
    "each of them ran"
python3 "$ROOT/tests/support/break_kernels.py" sdot "$arm_assayd" \
    "$work/broken" >"$work/out"
chmod +x "$work/broken"
run "$assay" run "$digits" --repeat 8 --json "$work/r.json" \
    --target "exec:$QEMU -cpu cortex-a76 $work/broken --stdio --no-self-test"
expect_rc 4 "a rung that is wrong"
json "is a matter of kernels" 'r["verdict"] == "assay-kernel"' \
    'not any(x["status"] == "flaky" for x in r["layers"])'
finish
