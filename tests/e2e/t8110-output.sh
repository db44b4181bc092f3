#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# assay output: what an application made of the model's outputs is named, on a
# model with one output, on one with three, on fixed-point models.
. "$(dirname "$0")/lib.sh"
tool=$ROOT/tests/support/read_outputs.py
three=$work/three
python3 "$tool" model "$three"

# got CASE "NAME HOW..." ...: what was read of each output.
got() {
    local case=$1 one
    shift
    rm -rf "$work/got"
    for one in "$@"; do
        # shellcheck disable=SC2086 # words
        python3 "$tool" read "$case" "$work/got" $one
    done
    run "$assay" output "$case" --got "$work/got" -q ${more:-}
}

# says CODE ID REGEX CASE READ...
says() {
    local code=$1 id=$2 regex=$3
    shift 3
    got "$@"
    expect_rc "$code" "$*"
    expect_out "$regex" "$*: $regex"
    if [ -n "$id" ]; then expect_out "  cause   $id " "$*: $id"; fi
}

run "$assay" run "$three" --local -q
expect_rc 0 "the model of three outputs runs"

# Nothing differs.
says 0 "" "^match   3 of 3 outputs" "$three" boxes scores logits
says 0 "" "^match   1 of 3" "$three" scores
expect_out "^not read: 'boxes', 'logits'" "what was not read is told"
says 0 "" "^match   1 of 1" "$digits" logits

# One step.
says 1 L5 "^layout: at output boxes: identical after it is 'scores'" \
    "$three" "boxes as=scores" "scores as=boxes" logits
expect_out "another order: boxes holds 'scores', scores holds 'boxes'" \
    "outputs in another order"
says 1 L1 "^layout: at output scores: identical after NCHW -> NHWC. No arith" \
    "$three" "scores permute=0231"
expect_out "  fix     declare the layout" "what to do"
expect_out "  proof   630 of 630 elements as foretold, 3 samples" "the proof"
says 1 Q7 "int8 in front of DequantizeLinear" "$three" "boxes as=boxes_int int"
says 1 Q7 "int8 in front of DequantizeLinear" "$three" "logits as=logits_int"
says 1 Q3 "multiplied by the scale twice" "$three" "scores scale=0.03"
# 0.5 x 0.5 is the scale of logits: both are told.
says 1 Q3 "  or      Q6 with the scale of 'logits': this data" "$three" \
    "boxes scale=0.5"
says 1 Q6 "with the scale of 'scores'" "$three" "boxes scale=0.06"
says 1 D2 "that of the one before" "$three" "scores sample=-1"
says 1 H6 "after sigmoid" "$three" "logits sigmoid"
says 1 H7 "softmax along axis 1" "$digits" "logits softmax"
says 1 U2 "bytes of each float32 swapped" "$three" "scores swab"
says 1 L2 "rows of 28 bytes are 32 bytes apart" "$three" "scores stride=7,8"
says 1 H14 "elements \(one\) too early" "$three" "scores shift=1"
says 1 H16 "the first 100 of 210" "$three" "scores cut=100"

# Two and three.
says 1 L5 "after it is 'scores', then the int8 .*, then NCHW -> NHWC" \
    "$three" "boxes as=scores_int permute=0231"
says 1 U1 "the int8 .*, then int8 read as uint8" "$three" "scores as=scores_int u8"
says 1 D2 "the one before, then NCHW -> NHWC" "$three" \
    "scores sample=-1 permute=0231"

# Boxes and the letterbox: what should be is what was asked for.
more="--image 1280x720 --size 640x640"
says 0 "" "^match " "$three" "boxes letterbox=1280,720,640,640"
says 1 H11 "not taken out of the letterbox" "$three" boxes
says 1 H11 "boxes as corners" "$three" \
    "boxes letterbox=1280,720,640,640 letterbox=1280,720,640,640"
more=

# Nothing explains noise; the evidence is there.
says 1 "" "^unexplained: scores: none of [0-9]+ chains" "$three" \
    "scores noise=1"
expect_out "  where   210 of 630 elements differ from output 'scores'" "where"
expect_out "  first   sample 0, element 0: model " "the first elements"
says 1 "" "looks   what was read = 1.7 x" "$three" "scores scale=1.7"

# Forms of files.
python3 "$tool" read "$three" "$work/form" scores
python3 - "$work/form/0001.npz" "$work" <<'PY'
import struct, sys, zipfile
data = zipfile.ZipFile(sys.argv[1]).read("scores.npy")
out = sys.argv[2]
v = struct.unpack("<210f", data[-840:])
open(out + "/scores.npy", "wb").write(data)
open(out + "/scores.bin", "wb").write(data[-840:])
open(out + "/whole.bin", "wb").write(data)
open(out + "/scores.txt", "w").write("# remark\n" + "\n".join(map(repr, v)))
open(out + "/bad.txt", "w").write("1 2 three")
open(out + "/empty.bin", "w")
PY
for form in npy bin txt; do
    run "$assay" output "$three" --got "$work/scores.$form" --sample 1
    expect_rc 0 "$form"
    expect_out "equal to output 'scores'|output 'scores' within" "$form"
done
run "$assay" output "$three" --got "scores=$work/whole.bin" --sample 1
expect_rc 1 "an npy read as bytes"
expect_out "  cause   H15 " "its header is seen"
run "$assay" output "$three" --got "$work/scores.npy"
expect_out "sample 1's, not sample 0's" "another sample's file"

# JSON.
run "$assay" output "$three" --got "$work/scores.npy" --format json
expect_rc 1 "json"
expect "the report is JSON" python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
e = r["outputs"][0]["explanations"][0]
sys.exit(not (r["schema"] == "assay-output/1" and r["verdict"] == "output" and
              r["exit_code"] == 1 and e["steps"][0]["id"] == "D2" and
              e["proved"] and e["compared"] == e["all"] == 210 and
              r["not_read"] == ["boxes", "logits"]))' "$work/out"

run "$assay" output "$three" --got "$work/scores.npy" \
    --json "$work/nowhere/r.json"
expect_rc 1 "a finding outranks a report that cannot be written"
expect_err "nowhere/r.json: cannot be written: No such file" "which is told"

# Bad words and files: one sentence, exit 2.
bad() { # bad REGEX ARGUMENT...
    local regex=$1
    shift
    run "$assay" output "$@"
    expect_refused 2 "$regex" "$*"
}
bad "needs what the application read: --got FILE" "$three"
bad "No such file" "$three" --got "$work/none"
bad "the model has no output of that name" "$three" --got "x=$work/scores.npy"
bad "byte 4: expected a number" "$three" --got "$work/bad.txt"
bad "has no elements" "$three" --got "$work/empty.bin"
mkdir -p "$work/hollow/inside"
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").close()' \
    "$work/hollow.npz"
bad "hollow: no array is in it" "$three" --got "$work/hollow"
bad "hollow.npz: no array is in it" "$three" --got "$work/hollow.npz"
bad "sample 9: the case has 3 samples" "$three" --got "$work/scores.npy" \
    --sample 9
bad "was read already" "$three" --got "$work/scores.npy" \
    --got "$work/scores.npy"
bad "no such column" "$three" --got "$work/scores.npy" --column sim
bad "needs the size" "$three" --got "$work/scores.npy" --image 10x10
bad "expected WxH" "$three" --got "$work/scores.npy" --image 10
bad "middle, corner" "$three" --got "$work/scores.npy" --letterbox left
printf '\223NUMPY\1\0' >"$work/short.npy"
bad "short.npy" "$three" --got "$work/short.npy"
mkdir "$work/nothing"
bad "the folder is empty" "$three" --got "$work/nothing"

# The table of the documents has every entry, and no other.
table() { grep -oE "$1" "$2" | grep -oE '[A-Z][0-9]+' | sort -u; }
expect "docs/outputs.md has the entries" test \
    "$(table '^ASSAY_OUTPUT\([A-Z_]+, "[A-Z0-9]+"' \
        "$ROOT/host-tools/output/output.def")" = \
    "$(table '^\| [A-Z][0-9]+ \|' "$ROOT/docs/outputs.md")"

# A column instead of the reference: outputs of a fixed-point model.
horizon=$ROOT/tests/data/horizon
run "$assay" output "$horizon" --got "$horizon/golden" -q
expect_rc 0 "a folder of goldens is read as it is"
run "$assay" output "$horizon" --got "$horizon/sim" --column sim -q
expect_rc 0 "the column's own outputs"

# Cases that the vendor's tools made: no wrong cause, and the right one.
shared=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5
for name in digits ppocr_cls ops_conv ops_elt ops_mat ops_pool ops_i16n \
    stress; do
    case=$shared/$name
    if [ ! -d "$case" ]; then
        skip "$name: no shared cases"
        continue
    fi
    run "$assay" output "$case" --got "$case/golden" -q
    expect_rc 0 "$name: clean"
    expect_out "^match " "$name: clean"
done
case=$shared/ops_conv
if [ -d "$case" ]; then
    out=dw_mult2_nhwc2nchw_transposed_output0
    says 1 L1 "NCHW -> NHWC" "$case" "$out permute=0231"
    says 1 Q7 "in front of HzDequantize" "$case" \
        "relu33.y as=up2_co5_nhwc2nchw_transposed_output0"
else
    skip "ops_conv: no shared cases"
fi
finish
