#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Coverage, skipped operators, missing goldens, goldens of another model,
# required evidence: nothing that was not compared passes for a match.
. "$(dirname "$0")/lib.sh"

variant() { # variant NAME EDIT...: a copy of the case, edited
    cp -r "$digits" "$work/$1"
    chmod -R u+w "$work/$1"
    local name=$1
    shift
    [ $# = 0 ] || python3 "$ROOT/tests/support/edit_case.py" "$work/$name" "$@"
}

# An operator that is not known: not run, not lost.
variant op unbind
python3 "$ROOT/tests/support/edit_case.py" "$work/op" rename MaxPool MaxPoox
run "$assay" run "$work/op" --local
expect_rc 5 "a skipped layer lowers the coverage"
expect_out 'skipped: .*MaxPoox' "the operator and the reason are told"
expect_out '1 skipped .* coverage 20/21' "it is counted"
expect_not_out '^match' "it is no match"
run "$assay" run "$work/op" --local --min-coverage 90 --json "$work/r.json"
expect_rc 0 "--min-coverage 90 takes 20 of 21"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
s = {l["name"]: l["status"] for l in r["layers"]}
assert list(s.values()).count("skipped") == 1, s
assert s["concat"] == s["pw6"] == "exact", s
assert r["coverage"] == {"expected": 21, "received": 21, "compared": 20,
                         "skipped": 1}, r["coverage"]
' "$work/r.json"
expect_rc 0 "later layers took the reference tensor"
run "$assay" import "$work/op"
expect_rc 0 "import of a model with an unknown operator"
expect_out '22 of 23 layers run' "import says how much runs"

# A golden of another model.
variant other rename MaxPool MaxPoox
run "$assay" run "$work/other" --local
expect_refused 2 "model|sha256" "a golden of another model is refused"

# No goldens at all: the host stands in, and the header says so.
variant bare
rm -r "$work/bare/golden"
run "$assay" run "$work/bare" --target "exec:$assayd --stdio"
expect_rc 0 "without goldens"
expect_out '^# no golden given: the host' "the header says so"
run "$assay" run "$work/bare" --target "exec:$assayd --stdio" --mode isolated
expect_rc 0 "without goldens, isolated"
# The same engine on both sides is no comparison.
run "$assay" run "$work/bare" --local
expect_rc 5 "the host against itself"
expect_out 'compared with itself' "and that is said"

# A golden that lacks a tensor: the layer behind it is run together with the
# one that makes its input.
variant part unbind
python3 "$ROOT/tests/support/edit_case.py" "$work/part" drop \
    relu1.y_QuantizeLinear_Output
run "$assay" run "$work/part" --local --json "$work/r.json"
expect_rc 5 "a tensor that the reference alone lacks is missing"
expect_out 'coverage 20/21$' "coverage shrinks"
expect_out 'not covered: relu1: missing in the reference' "and the layer is named"
run "$assay" run "$work/part" --local --min-coverage 95
expect_rc 0 "--min-coverage allows it"
expect_out 'not covered: relu1' "it is named all the same"
run "$assay" run "$work/part" --local --mode isolated --min-coverage 95
expect_rc 0 "isolated: from the last tensors that the reference has"
run "$assay" run "$work/part" --local --arith conv2=q31_floor \
    --json "$work/r.json"
expect_rc 1 "a culprit behind it"
expect_out 'first culprit: [0-9]+ conv2' "is still found"

# A reference that shows its outputs alone chose to.
variant few unbind
python3 - "$work/few" <<'PY'
import glob, sys, zipfile
for p in glob.glob(sys.argv[1] + "/golden/*.npz"):
    with zipfile.ZipFile(p) as z:
        keep = {n: z.read(n) for n in z.namelist() if n.startswith("logits")}
    with zipfile.ZipFile(p, "w") as z:
        for name, data in keep.items():
            z.writestr(name, data)
PY
run "$assay" run "$work/few" --local
expect_rc 0 "a tensor that the reference does not show is not expected"
expect_out ' 1 layers' "it does not count"

# Goldens with nothing in them.
variant empty unbind
python3 - "$work/empty" <<'PY'
import glob, sys, zipfile
for p in glob.glob(sys.argv[1] + "/golden/*.npz"):
    with zipfile.ZipFile(p, "w") as z:
        z.writestr("__note__.npy", b"")
PY
run "$assay" run "$work/empty" --local --min-coverage 0
expect "nothing compared is never 0" test "$rc" != 0

# A golden of one sample without a tensor, a sample without a golden.
cp -r "$digits" "$work/gap"
python3 "$ROOT/tests/support/edit_case.py" "$work/gap" drop \
    conv2.y_QuantizeLinear_Output
cp "$digits/golden/0001.npz" "$work/gap/golden/0001.npz"
run "$assay" run "$work/gap" --local
expect_rc 5 "a golden that lacks a tensor of another one"
expect_out 'not covered: conv2: [0-9]+ of [0-9]+ goldens lack its output' \
    "the layer is named"
expect_out '^ 20 compared · 20 exact, within or inherited' "and counted once"
rm -rf "$work/gap"
cp -r "$digits" "$work/gap"
rm "$work/gap/golden/0001.npz"
run "$assay" run "$work/gap" --local
expect_out "^# 1 of [0-9]+ samples have no golden: there the host's" \
    "samples without a golden are counted"
expect_out "reference onnxruntime" "the goldens' tool is still named"

run "$assay" run "$digits" --local --require bpu
expect_rc 5 "--require bpu"
expect_out 'required evidence is missing: column bpu' "the column is named"
run "$assay" run "$digits" --local --require cpu,host,cpu-scalar
expect_rc 0 "--require of what there is"
run "$assay" run "$work/nowhere" --local --skip-if-missing
expect_rc 77 "--skip-if-missing"
expect_err "skipped: .*nowhere" "it says why"
run "$assay" run "$work/nowhere" --local
expect_refused 2 "nowhere" "without it: exit 2"
finish
