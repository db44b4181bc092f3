#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# impact: a column's tensors put in, culprit by culprit. Two layers of a model
# are mutated: each alone does what the model does that has that mutation only,
# both do what the model does that has both. And the three culprits of pad16.
# timeout: 240
. "$(dirname "$0")/lib.sh"

mutate() { # mutate FROM-OPTIONS LAYER EDIT NAME
    run "$assay" mutate $1 --layer "$2" --set "$3" -q -o "$work/$4.slice"
    expect_rc 0 "mutate $2 $3"
}
outputs() { # outputs NAME: $work/NAME/outputs of that slice
    run "$assay" run -m "$work/$1.slice" -i "$digits/inputs" -r \
        "$digits/golden" --local -q --save-outputs -o "$work/$1"
    expect_rc 1 "the slice $1 differs"
}
mutate "$digits" conv2 pad=3 first
mutate "$digits" pw6 R13=floor second
mutate "-m $work/first.slice" pw6 R13=floor both
for name in first second both; do outputs $name; done

run "$assay" impact "$digits" --got "$work/both/outputs" --local -q
expect_rc 1 "impact"
expect_out '^ 003 conv2 +P5=[a-z]+:3 +alone +logits +[0-9]+/40 ' \
    "the first culprit, alone"
expect_out '^ 015 pw6 .* alone\* +logits ' \
    "the second, alone: on inputs that the column did not have"
expect_out '^ +as got +logits ' "and with what it inherits"
expect_out '^ +all +logits +31/40 ' "and all"
expect_out "^all together: got's outputs, 40 of 40 elements equal" \
    "all together are the mutated model"
expect_out '^mend [a-z0-9]+ first: without it [0-9]+ elements' "what to mend"

run "$assay" impact "$digits" --got "$work/both/outputs" -q --json \
    "$work/impact.json"
run python3 - "$work" <<'PY'
import json, sys
work = sys.argv[1]
x = json.load(open(work + "/impact.json"))
assert x["schema"] == "assay-impact/1" and x["exit_code"] == 1
(got,) = x["columns"]
assert got["column"] == "got" and got["samples"] == 4
def of(row):
    (o,) = row["outputs"]
    return o["mismatch"], o["count"], o["max_abs"], o["cosine"]
def run(name):
    r = json.load(open("%s/%s/report.json" % (work, name)))
    l = [l for l in r["layers"] if l["op"] == "DequantizeLinear"][-1]
    return l["mismatch"], l["count"], l["max_abs"], l["cosine"]
first, second = got["culprits"]
assert (first["name"], second["name"]) == ("conv2", "pw6")
assert not first["inherits"] and second["inherits"]
assert of(first["alone"]) == run("first"), (of(first["alone"]), run("first"))
assert of(second["alone"]) == run("second")
assert of(first["mended"]) == run("second")
assert of(second["mended"]) == run("first")
assert of(got["all"]) == of(second["as_got"]) == run("both")
assert len({run(n) for n in ("first", "second", "both")}) == 3
assert first["alone"]["how"] == got["all"]["how"] == "got"
assert second["alone"]["how"] == "cause"
assert got["column_outputs"]["equal"] == got["column_outputs"]["count"] == 40
assert got["all"]["outputs"][0]["vectors"] == 4
PY
expect_rc 0 "each is the model with that mutation"

# Only the culprits and the output were observed; what lies between is computed.
keep() { # keep FROM TO [NAME...]: these tensors; CHANGE: bytes of that one
    CHANGE=${CHANGE:-} python3 - "$@" <<'PY'
import os, sys, zipfile
source, to, *names = sys.argv[1:]
change = os.environ["CHANGE"]
os.makedirs(to)
for f in os.listdir(source):
    with zipfile.ZipFile(source + "/" + f) as a, \
         zipfile.ZipFile(to + "/" + f, "w") as b:
        for n in a.namelist():
            if names and n[:-4] not in names:
                continue
            data = bytearray(a.read(n))
            if n[:-4] == change:
                for i in range(1, 40, 3):
                    data[-i] ^= 0x14
            b.writestr(n, bytes(data))
PY
}
tensor() { # tensor LAYER: the name of its output
    python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(*[l["tensor"] for l in r["layers"] if l["name"] in sys.argv[2:]])
' "$work/first/report.json" "$@"
}
keep "$work/both/outputs" "$work/few" $(tensor conv2 pw6) logits
run "$assay" impact "$digits" --got "$work/few" -q --json "$work/few.json"
expect_rc 1 "few tensors are observed"
run python3 - "$work" <<'PY'
import json, sys
a, b = (json.load(open("%s/%s.json" % (sys.argv[1], n)))["columns"][0]
        for n in ("impact", "few"))
assert len(b["culprits"]) == 2
for x, y in zip(a["culprits"], b["culprits"]):
    for k in ("name", "alone", "as_got", "mended", "inherits"):
        assert x[k] == y[k], k
assert a["all"] == b["all"] and b["column_outputs"]["equal"] == 40
PY
expect_rc 0 "the figures are the same"

# A fault without a cause: its difference is carried over, and that is said.
CHANGE=$(tensor pw6) keep "$work/first/outputs" "$work/odd" \
    $(tensor conv2 pw6)
run "$assay" impact "$digits" --got "$work/odd" -q
expect_rc 1 "a fault without a cause"
expect_out '^ 015 pw6 +alone~ +logits ' "it is marked"
expect_out '^ ~ .*an estimate' "and what the mark says"
expect_out '^all together: got has no output of the model' \
    "outputs that were not observed are not called equal"

# One layer's tensor, culprit or not.
run "$assay" impact "$digits" --got "$work/both/outputs" -q --layer pw4
expect_rc 1 "--layer"
expect_out '^ 007 pw4 +as got +logits +29/40 ' "a layer that only inherits"
expect_not_out 'conv2|all together' "and nothing else"
run "$assay" impact "$digits" --got "$work/both/outputs" -q --layer conv1
expect_rc 0 "a tensor that is equal"
expect_out '^ 001 conv1 +as got +no output changes' "changes nothing"
run "$assay" impact "$digits" --got "$work/few" -q --layer pw4
expect_refused 2 "layer 'pw4': no column has its output" "not observed"
run "$assay" impact "$digits" --got "$work/few" -q --layer pw9
expect_refused 2 "no layer 'pw9'" "no such layer"

run "$assay" impact "$digits" --got "$digits/golden" -q
expect_rc 0 "nothing differs"
expect_out '^no culprit in got' "and it is said"
run "$assay" impact "$digits" -q
expect_refused 5 'nothing to put in' "no column"
run "$assay" impact "$digits" --got "$work/none" -q
expect_refused 2 'none' "a folder that is not there"
run "$assay" impact "$digits" --got "$work/both/outputs" -q --format json
expect_rc 1 "JSON on stdout"
expect "alone" python3 -c 'import json,sys; json.load(open(sys.argv[1]))' \
    "$work/out"

pad16=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5/pad16
if [ -d "$pad16/sim" ]; then
    run "$assay" impact "$pad16" --local -q --json "$work/pad.json"
    expect_rc 1 "pad16"
    expect_out "^all together: sim's outputs, 2304 of 2304 elements equal" \
        "the three culprits together are the compiled model"
    expect_out '^mend same_s2 first' "what to mend"
    run python3 - "$work/pad.json" <<'PY'
import json, sys
(sim,) = json.load(open(sys.argv[1]))["columns"]
def of(row):
    return {o["name"]: o["mismatch"] for o in row["outputs"] if o["mismatch"]}
k = {c["name"]: c for c in sim["culprits"]}
assert list(k) == ["same_s2", "k2_bottom", "same_k5_s2"]
assert of(k["same_s2"]["alone"]) == {"e0.y": 408, "e2_control.y": 336}
assert of(k["k2_bottom"]["alone"]) == {"e0.y": 192}
assert of(k["k2_bottom"]["as_got"]) == {"e0.y": 408}
assert of(k["same_k5_s2"]["alone"]) == {"e1.y": 180}
assert of(sim["all"]) == {"e0.y": 408, "e1.y": 180, "e2_control.y": 336}
assert [c["inherits"] for c in k.values()] == [False, True, False]
assert sim["all"]["how"] == "got"
PY
    expect_rc 0 "pad16: each culprit reaches the outputs behind it"
else
    skip "the shared case pad16 is not there"
fi
finish
