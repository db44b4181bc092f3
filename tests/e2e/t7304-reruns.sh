#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Attribution runs only those layers once more whose output and inputs differ,
# and only their inputs travel: counted on the wire.
# timeout: 180
. "$(dirname "$0")/field.sh"

# tapped TARGET-COMMAND OPTION...: a run whose wire is noted in $work/runs
tapped() {
    local command=$1
    shift
    rm -rf "$work/runs" "$work/saved"
    run "$assay" run "$@" -q --json "$json" --save-outputs -o "$work/saved" \
        --target "exec:python3 $support/wiretap.py $work/runs $command"
}

counted() { # counted GOLDEN REGEX TEXT
    run python3 "$support/check_reruns.py" "$json" "$work/runs" \
        "$work/saved/outputs" "$1"
    expect_rc 0 "$3"
    expect_out "$2" "$3: there was something to count"
}

slice() { # slice MODEL LAYER=EDIT... [-- OPTION...]: $work/seeded.slice
    local model=$1 edits=() edit
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        edits+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    for edit in "${edits[@]}"; do
        "$assay" mutate "$model" --layer "${edit%%=*}" --set "${edit#*=}" \
            -o "$work/next.slice" -q "$@" >"$work/out" 2>"$work/err" ||
            not_ok "mutate $edit"
        mv "$work/next.slice" "$work/seeded.slice"
        model=$work/seeded.slice
        set --
    done
}

# Four samples, three culprits of which two stand in branches, masked layers.
slice "$digits/model.onnx" conv1=R1 pw4=R1 pw6=R13=floor
tapped "$assayd --stdio" -m "$work/seeded.slice" -i "$digits/inputs" \
    -r "$digits/golden"
expect_rc 1 "several culprits, several samples"
report "each of them is found" 'assert C == ["conv1", "pw4", "pw6"], C'
counted "$digits/golden" '^[1-9][0-9] again, [1-9][0-9]* masked, 0 scalar$' \
    "only what differs behind something that differs"

# On a CPU with vector kernels culprits run with scalar ones, too.
if have_arm; then
    tapped "$QEMU -cpu cortex-a76 $arm_assayd --stdio" \
        -m "$work/seeded.slice" -i "$digits/inputs" -r "$digits/golden"
    counted "$digits/golden" '^[1-9][0-9] again, [1-9][0-9]* masked, [1-9][0-9]* scalar$' \
        "on an emulated board"
else
    skip "on an emulated board: no agent for it, or no emulator"
fi

# Nothing differs: nothing runs again.
tapped "$assayd --stdio" "$digits"
expect_rc 0 "a run that matches"
counted "$digits/golden" '^0 again, 0 masked, 0 scalar$' "nothing is run again"

# A layer with several outputs: a fault in front of it, and a bit of one of its
# outputs.
elt=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5/ops_elt
if [ -d "$elt" ]; then
    slice "$elt/model.onnx" mul_se=R14 -- --scales "$elt/scales.json"
    copy "$elt" case
    python3 "$support/flip_golden.py" "$work/case" split.y1_quantized
    tapped "$assayd --stdio" -m "$work/seeded.slice" -i "$elt/inputs" \
        -r "$work/case/golden"
    expect_rc 1 "a split whose second output is wrong, and what feeds it"
    report "both are culprits, and what reads the bit; the first output is not" '
assert C == ["mul_se", "split#22", "split.y1_calibrated_Requantize"], C
assert L["split"]["status"] == "inherited", L["split"]["status"]'
    counted "$work/case/golden" '^[1-9][0-9]* again' "each output by itself"
else
    skip "a layer with several outputs: no shared cases"
fi

# A column's layer on the reference's inputs is known, too: the culprit itself
# does not run, what inherits from it does.
copy "$digits" case
made sim "$digits/model.onnx" "$digits/inputs" conv2=R1
mv "$work/sim" "$work/case/sim"
tapped "$assayd --stdio" "$work/case"
expect_rc 1 "a simulator that rounds twice in one layer"
expect "the culprit does not run again" python3 - "$json" "$work/runs" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
L = {l["name"]: l["index"] for l in r["layers"]}
runs = [json.loads(l) for l in open(sys.argv[2])]
again = [k for x in runs if x["isolated"] for k in x["layers"]]
assert [c["name"] for c in r["culprits"]] == ["conv2"]
assert L["conv2"] not in again and L["relu2"] in again, again
assert r["reruns"]["sim"]["layers"] == len(again), (r["reruns"], again)
assert r["reruns"]["cpu"]["layers"] == 0
PY
finish
