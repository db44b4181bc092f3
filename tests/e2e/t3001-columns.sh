#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The columns sim and bpu: culprits, inherited, masked and unobserved layers,
# verdicts, what is required. The columns are invented: what assay itself
# computes when one layer's arithmetic is another.
. "$(dirname "$0")/lib.sh"
schema=$ROOT/docs/assay-report-1.schema.json

tool() { python3 "$ROOT/tests/support/sim_files.py" "$@"; }

# compiled NAME OPTION...: outputs of all layers, computed otherwise.
compiled() {
    local name=$1
    shift
    "$assay" run "$digits" --local -q --save-outputs -o "$work/made" "$@" \
        >/dev/null 2>&1
    mv "$work/made/outputs" "$work/$name"
    rm -r "$work/made"
}

compiled right
compiled wrong --arith conv2=q31_floor
compiled worse --arith conv2=q31_floor --arith pw4=q31_floor
cp -r "$digits" "$work/case"
chmod -R u+w "$work/case"

column() { # column SIDE SOURCE [EDIT ARG...]: SOURCE becomes case/SIDE
    local side=$1 source=$2
    shift 2
    rm -rf "$work/case/$side"
    [ "$source" = none ] && return
    cp -r "$work/$source" "$work/case/$side"
    [ $# = 0 ] || tool "$1" "$work/case/$side" "${@:2}"
}

judge() { # judge RC TEXT OPTION...: runs the case, report in $work/r.json
    local want=$1 text=$2
    shift 2
    run "$assay" run "$work/case" --local -q --json "$work/r.json" "$@"
    expect_rc "$want" "$text"
    cp "$work/out" "$work/said"
    run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$work/r.json"
    expect_rc 0 "$text: the report conforms to its schema"
    cp "$work/said" "$work/out"
}

report() { # report TEXT PYTHON: asserts on r, L (layers by name)
    cp "$work/out" "$work/said"
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
L = {l["name"]: l for l in r["layers"]}
def sim(name): return L[name]["columns"]["sim"]
def bpu(name): return L[name]["columns"]["bpu"]
'"$2" "$work/r.json"
    expect_rc 0 "$1"
    cp "$work/said" "$work/out"
}

# Equal: short, and what was not examined.
column sim right
judge 0 "an equal simulator"
expect_out '^# .*sim sim/$' "the head names the source"
expect_out '^ 21 layers · cpu: 21 exact · sim: 21 observed, 21 exact$' "counts"
expect_out '^match   not examined: bpu \(no dump, no backend\): this proves arithmetic, CPU and compiler, not the accelerator' \
    "the last line"
expect "a green run prints no rows" test "$(wc -l <"$work/out")" -le 7
expect_not_out '^ idx op|^ [0-9]{3} ' "a green run prints no rows"
column sim right keep logits conv1.y_QuantizeLinear_Output
judge 0 "a simulator that shows two layers"
expect_out ' sim: 2 observed, 2 exact; 19 not observed$' "the rest is counted"
report "coverage is the cpu's" '
assert r["coverage"]["compared"] == r["coverage"]["expected"] == 21
assert r["not_examined"] == ["bpu"], r["not_examined"]
assert sim("conv2")["status"] == "not_observed"
assert r["column_counts"]["sim"]["not_observed"] == 19
assert L["conv2"]["status"] == "exact"'

# A layer computed otherwise, and what it feeds.
column sim wrong
judge 1 "a simulator that is wrong in conv2"
expect_out '^compile: first culprit conv2: the CPU equals the reference in every layer, the compiled model does not' \
    "the verdict"
expect_out '^ idx op +name +shape +cpu +sim +mism +max first +isolated cause' \
    "the table has a column sim"
expect_out '^ 003 Conv +conv2 .* exact +DIVERGED ' "the row"
expect_out '^ 4 samples · 21 layers · cpu: 21 exact · sim: 21 observed: [0-9]+ exact, 1 diverged, [0-9]+ inherited$' \
    "counts of each status"
expect_out '^  layer   conv 3x3 s2, int8 input, pads t,l,b,r = ' "the geometry"
expect_out '^not examined: bpu ' "the last line"
expect "no line is wider than 120 columns" python3 -c '
import sys
sys.exit(any(len(l.rstrip("\n")) > 120 for l in
             open(sys.argv[1], encoding="utf-8")))' "$work/out"
report "one culprit, the rest inherited on its own inputs" '
assert [(c["name"], c["column"], c["verdict"]) for c in r["culprits"]] == \
    [("conv2", "sim", "compile")], r["culprits"]
assert r["verdict"] == "compile" and r["verdict_id"] == "VERDICT_COMPILE"
c = sim("conv2")
assert c["status"] == "diverged" and c["verdict"] == "compile"
assert c["isolated"]["mismatch"] == c["mismatch"] > 0
assert L["conv2"]["status"] == "diverged"
assert L["conv2"]["columns"]["cpu"]["status"] == "exact"
late = [l for l in r["layers"] if l["columns"]["sim"]["status"] == "inherited"]
assert len(late) > 3, late
assert all(l["columns"]["sim"]["isolated"]["mismatch"] == 0 for l in late)
assert all(l["columns"]["sim"]["judged_through"] == [] for l in late)'

run "$assay" run "$work/case" --local -q --sort-by mismatch
expect "--sort-by mismatch sorts by the column that differs" python3 -c '
import re, sys
n = [int(m.group(1)) for m in re.finditer(
    r"(?m)^ [0-9]{3} .*? +([0-9]+)/[0-9]+ ", open(sys.argv[1]).read())]
sys.exit(not (len(n) > 10 and n == sorted(n, reverse=True) and n[-1] > 0))' \
    "$work/out"

# Many culprits: pinpoint has a block for each, and its last line.
others=()
for layer in conv1 conv2 dw3 pw4 conv5 pw6 fc; do
    others+=(--arith "$layer=q31_floor")
done
compiled all_wrong "${others[@]}"
compiled bpu_wrong "${others[@]/floor/trunc0}"
column sim all_wrong
column bpu bpu_wrong
run "$assay" pinpoint "$work/case" -q --json "$work/r.json"
expect_rc 1 "many culprits in two columns"
expect "more than a hundred lines" test "$(wc -l <"$work/out")" -gt 100
expect_out '^cpu, sim and bpu were examined ' "the last line is there"
cp "$work/out" "$work/said"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
blocks = sum(l.startswith(("  cause ", "  layout ")) for l in open(sys.argv[2]))
assert blocks == len(r["culprits"]) >= 14, (blocks, len(r["culprits"]))' \
    "$work/r.json" "$work/said"
expect_rc 0 "each culprit has its block"
column bpu none

# Two culprits, the second behind layers that were not observed.
column sim worse drop relu2.y_QuantizeLinear_Output \
    dw3.y_QuantizeLinear_Output relu3.y_QuantizeLinear_Output
judge 1 "two wrong layers"
expect_out '^  also    pw4 \(.*judged through relu2, dw3, relu3, which were not observed\)' \
    "the second was judged through what lies between"
report "the effect is carried through layers that were not observed" '
assert [c["name"] for c in r["culprits"]] == ["conv2", "pw4"], r["culprits"]
c = sim("pw4")
assert c["judged_through"] == ["relu2", "dw3", "relu3"], c
assert 0 < c["isolated"]["mismatch"] < c["mismatch"], c
assert sim("dw3")["status"] == "not_observed"
assert sim("conv5")["status"] == "inherited"'
column sim wrong drop conv2.y_QuantizeLinear_Output
judge 1 "the wrong layer itself was not observed"
report "the culprit is the segment" '
assert [c["name"] for c in r["culprits"]] == ["relu2"], r["culprits"]
assert sim("relu2")["judged_through"] == ["conv2"]'
expect_out '^ +judged through conv2, which was not observed' "and that is said"

# A flipped element: what is equal behind it is masked, never a culprit.
column sim right flip pw4.y_QuantizeLinear_Output
judge 1 "one element flipped"
report "only that layer is a culprit" '
assert [c["name"] for c in r["culprits"]] == ["pw4"], r["culprits"]
assert sim("pw4")["mismatch"] == 4
assert sim("relu4")["status"] == "exact"
assert sim("relu4")["reason"] == "masked"'
column sim wrong
judge 0 "only some layers" --layers 'dw*'
report "what feeds them is not judged, and that is said" '
assert [n for n, l in L.items() if l["columns"]["sim"]["status"] !=
        "not_observed"] == ["dw3"]
assert sim("dw3")["status"] == "inherited"
assert r["verdict_id"] == "VERDICT_MATCH_INHERITED", r["verdict_id"]'

# What cannot be run between a difference and a layer: not judged, and said.
column sim wrong drop maxpool.y_QuantizeLinear_Output
judge 1 "a layer that is not to be run, in between" --skip-layers maxpool
report "what lies behind it is not isolated" '
c = sim("concat")
assert c["status"] == "inherited" and c["reason"] == "not isolated", c
assert c["isolated"] is None
assert sim("avgpool")["isolated"]["mismatch"] == 0
assert [c["name"] for c in r["culprits"]] == ["conv2"], r["culprits"]'
column sim right drop maxpool.y_QuantizeLinear_Output
tool flip "$work/case/sim" pw6.y_QuantizeLinear_Output
judge 1 "the same where nothing in front differs" --skip-layers maxpool
report "the reference stands in for it" '
assert [c["name"] for c in r["culprits"]] == ["pw6"], r["culprits"]
assert sim("concat")["status"] == "exact"'
cp -r "$work/case" "$work/unknown"
python3 "$ROOT/tests/support/edit_case.py" "$work/unknown" unbind
python3 "$ROOT/tests/support/edit_case.py" "$work/unknown" rename \
    MaxPool MaxPoox
run "$assay" run "$work/unknown" --local --min-coverage 0
expect_rc 1 "an operator that is not known, in between"
expect_out '^compile: first culprit pw6' "the culprit is found behind it"
expect_out 'skipped: .*MaxPoox' "and the operator is told"

# Another input than the one given: no layer is accused of it.
rm -rf "$work/golden-as-sim"
cp -r "$digits/golden" "$work/golden-as-sim"
chmod -R u+w "$work/golden-as-sim"
column sim golden-as-sim
tool flip "$work/case/sim" input
judge 1 "a column whose own input is another"
expect_out "^input: first culprit input_QuantizeLinear: the compiled model's own input" \
    "verdict input"
expect_out "^  where   4 of 256, " "how much of it"
expect_out "^ +input 'input'$" "which input"
report "the verdict" '
assert [(c["column"], c["verdict"]) for c in r["culprits"]] == \
    [("sim", "input")], r["culprits"]'

# The accelerator.
column sim right
column bpu wrong
judge 1 "right in the simulator, wrong on the board"
expect_out '^runtime: first culprit conv2: compiled right, wrong on the board' \
    "runtime"
expect_out '^  columns cpu equal · sim equal · bpu differs in ' "the columns"
expect_out ' idx op .* cpu +sim +bpu +mism' "the table has both columns"
expect_out '^cpu, sim and bpu were examined' "nothing is left out"
expect "no line is wider than 120 columns with both" python3 -c '
import sys
sys.exit(any(len(l.rstrip("\n")) > 120 for l in
             open(sys.argv[1], encoding="utf-8")))' "$work/out"
column sim wrong
judge 1 "the board does what the simulator does"
report "compile, in both columns" '
assert [(c["name"], c["column"], c["verdict"]) for c in r["culprits"]] == \
    [("conv2", "sim", "compile"), ("conv2", "bpu", "compile")], r["culprits"]'
column bpu wrong keep logits
judge 1 "the board shows its output only"
report "its segment is the simulator's divergence, not a new one" '
assert {c["verdict"] for c in r["culprits"]} == {"compile"}, r["culprits"]
assert r["culprits"][0]["name"] == "conv2"'
column sim none
column bpu wrong
judge 1 "a board without a simulator"
expect_out 'the simulator was not$' "it says so"
expect_out 'add the simulator.s' "and what to do"
report "neither compiler nor board is blamed" '
assert r["verdict"] == "unexplained"
assert r["verdict_id"] == "VERDICT_NO_SIMULATOR"
assert r["not_examined"] == ["sim"], r["not_examined"]'
column sim worse
judge 1 "simulator and board differ, and not alike"
report "both are told" '
v = {(c["name"], c["column"]): c["verdict"] for c in r["culprits"]}
assert v["conv2", "sim"] == v["conv2", "bpu"] == "compile", v
assert v["pw4", "sim"] == "unexplained", v'
column bpu none

# The board is wrong in front of it: it cannot be compared with the simulator
# there, which is judged on its own.
compiled both --arith conv2=q31_floor --arith pw4=q31_floor
compiled late --arith pw4=q31_floor
column sim late
column bpu both
judge 1 "a runtime fault in front of a compile fault"
report "each is told as what it is" '
v = {(c["name"], c["column"]): c["verdict"] for c in r["culprits"]}
assert v["conv2", "bpu"] == "runtime", v
assert v["pw4", "sim"] == v["pw4", "bpu"] == "compile", v'
column bpu none

# The CPU's own difference at the same layer comes first.
column sim wrong
judge 1 "the cpu is wrong as well" --arith conv2=q31_floor
report "its verdict is the first" '
c = r["culprits"][0]
assert (c["name"], c["column"]) == ("conv2", "cpu"), r["culprits"]
assert sim("conv2")["status"] == "inherited"
assert sim("conv2")["reason"] == "equals the engine, not the reference"'

# What the reference lacks and the column has: nothing behind it is accused.
column sim wrong drop relu3.y_QuantizeLinear_Output
cp -r "$work/case/golden" "$work/kept"
tool drop "$work/case/golden" conv2.y_QuantizeLinear_Output \
    relu2.y_QuantizeLinear_Output
judge 1 "a culprit that the reference lacks"
report "is the only one" '
assert [(c["name"], c["column"]) for c in r["culprits"]] == \
    [("conv2", "sim")], r["culprits"]
assert sim("conv2")["status"] == "diverged"
assert sim("relu2")["status"] == sim("pw4")["status"] == "inherited"'
column sim right
judge 0 "an equal simulator beside the same reference" --min-coverage 90
report "nothing is called masked" '
assert all(l["columns"]["sim"]["reason"] != "masked" for l in r["layers"])'
rm -r "$work/case/golden"
mv "$work/kept" "$work/case/golden"

# Only what is behind the culprit was selected; the culprit alone stops it.
column sim wrong
judge 0 "a selection behind the culprit" --layers dw3
expect_out '^all that was selected is equal given its own inputs; what feeds it and was not selected is not$' \
    "does not claim a match of all"
expect_out '^match   not examined: bpu   ' "nor that anything is proved"
judge 1 "--fail-fast" -x
expect_out '^ 1 samples · 21 layers' "counts the samples that it ran"
expect_out '^stopped at the first culprit \(--fail-fast\), in sample 1 of 4$' \
    "and says so"

# The column's own input is another one, and nothing else was observed.
rm -rf "$work/case/sim"
cp -r "$work/case/inputs" "$work/case/sim"
judge 0 "the given input, observed"
for n in 0000 0001 0002 0003; do
    cp "$work/case/inputs/0003.npz" "$work/case/sim/$n.npz"
done
judge 1 "an input that is not the one given"
expect_out '^input: first culprit .*own input \(column sim\)' "is a finding"
expect_out '^not examined: bpu' "sim was examined"
report "the verdict" 'assert r["verdict"] == "input", r["verdict"]'

# Evidence.
column sim right
judge 0 "--require sim" --require sim
rm "$work/case/sim/0002.npz"
judge 0 "a sample without a simulator"
expect_out 'sim sim/ \(3 of 4 samples\)' "is counted"
judge 5 "--require sim, one sample lacks it" --require sim
expect_out 'column sim observed something in 3 of 4 samples only' "and told"
judge 5 "--require bpu" --require sim,bpu
# An inner tensor: an output would be known by its content (t6003).
column sim right rename conv1.y_QuantizeLinear_Output nobody
tool keep "$work/case/sim" nobody
judge 5 "a column that observes nothing" --require sim
expect_out 'sim: nothing observed' "is told"
run "$assay" run "$work/case" --local
expect_rc 0 "and without --require it is no failure"
expect_err "'nobody': neither a tensor of the model nor" "a note names it"
expect_out 'not examined: sim, bpu' "and the last line counts it as missing"

# The one output under another name: known by its content, in any sample.
column sim right rename logits scores
tool keep "$work/case/sim" scores
judge 0 "a renamed output" --require sim
expect_out '^# difference, no fault .renamed.: .scores. is no name' "is told"
cp "$work/case/sim/0002.npz" "$work/case/sim/0003.npz"
judge 1 "what one sample has shown holds for the next" --require sim
report "and the culprit is what gives that output" '
assert [c["column"] for c in r["culprits"]] == ["sim"], r["culprits"]
# Its dequantization can be undone: what it was given differs already.
assert r["culprits"][0]["name"] == r["layers"][-2]["name"], r["culprits"]'
column sim right rename logits scores
tool keep "$work/case/sim" scores
tool flip "$work/case/sim" scores
judge 5 "another content in every sample" --require sim
expect_out '^# difference, no fault .ambiguous.: .scores. is no name' "is told"

# Without goldens the host's engine is the reference of both.
column sim wrong
rm -r "$work/case/golden"
run "$assay" run "$work/case" --target "exec:$assayd --stdio"
expect_rc 1 "without goldens"
expect_out '^compile: first culprit conv2' "the culprit is the same"
run "$assay" run "$work/case" --target "exec:$assayd --stdio" -x
expect_rc 1 "--fail-fast"
expect_out '^compile: first culprit conv2' "the culprit is the same"
# On an emulated board.
if [ -x "$arm_assayd" ]; then
    run "$assay" run "$work/case" --target "$(arm_target cortex-a76)"
    expect_rc 1 "on another machine"
    expect_out '^compile: first culprit conv2' "the culprit is the same"
else
    skip "no aarch64 agent in $BUILD"
fi
finish
