#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run -i PICTURE --as TYPE: the model's input is made of a picture, its steps
# are rows, compared with a column's; what a column received of the picture
# otherwise is named.
. "$(dirname "$0")/lib.sh"
shared=${ASSAY_SHARED:-$ROOT/../shared}
picture() { python3 "$ROOT/tests/support/picture.py" "$@"; }
nash=$ROOT/tests/data/nash/model.mlir
board="exec:$assayd --stdio"
picture make photo 80x60 "$work/p.png"
picture make gray 8x8 "$work/g.png"

# A float input: bytes as floats, or scaled by what the options say.
run "$assay" run -m "$nash" -i "$work/p.png" --as rgb --target "$board" -q \
    --all --save-outputs -o "$work/out.d"
expect_rc 0 "a picture"
expect_out "^# input img from .*/p.png as rgb: decode, resize, " "the head"
expect_out "^ in0 +decode +1?x?60x80x3 +uint8 " "a row of the picture"
expect_out "^ in0 +resize +1x12x10x3 +uint8 " "a row a step"
expect "the steps are in JSON" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
s = d["input_steps"]
assert [x["step"] for x in s][:2] == ["decode", "resize"], s
assert s[-1]["dtype"] == "float32" and s[-1]["shape"] == [1, 12, 10, 3]
assert all(x["input"] == "img" and x["columns"] == {} for x in s)
' "$work/out.d/report.json"
run "$assay" image "$work/p.png" --as rgb --size 10x12 \
    --set dtype=float32 -o "$work/i.npz"
expect_rc 0 "the same by assay image"
expect "run and image make the same" python3 -c '
import sys
sys.path.insert(0, sys.argv[3])
import npz
a, b = npz.read(sys.argv[1]), npz.read(sys.argv[2])
n = 0
for name, x in b.items():
    assert a["img." + name].data == x.data, name
    n += 1
assert n >= 3
' "$work/out.d/outputs/0000.npz" "$work/i.npz" "$ROOT/tests/sweep"
run "$assay" run -m "$digits/model.onnx" -i "$work/g.png" --as gray \
    --set divide=1 --target "$board" -q
expect_rc 0 "a gray picture"

# A column with the steps: the first that differs is told.
mkdir "$work/got"
cp "$work/out.d/outputs/0000.npz" "$work/got/p.npz"
run "$assay" run -m "$nash" -i "$work/p.png" --as rgb --target "$board" -q \
    --all --bpu "$work/got" --json "$work/json"
expect_rc 0 "a column that has the steps"
expect_out "^ in0 +resize .* bpu exact$" "each is compared"
python3 -c '
import sys
sys.path.insert(0, sys.argv[2])
import npz
a = npz.read(sys.argv[1])
a["img.resize"].data = a["img.resize"].data[3:] + bytes(3)
npz.write(sys.argv[1], a)
' "$work/got/p.npz" "$ROOT/tests/sweep"
run "$assay" run -m "$nash" -i "$work/p.png" --as rgb --target "$board" -q \
    --bpu "$work/got"
expect_out "^ in0 +decode .* bpu exact$" "the step before"
expect_out "^ in0 +resize .* bpu differs [0-9]+/360$" "the step that differs"

# fed ID "IMAGE OPTIONS" "RUN OPTIONS": what the column received is the picture
# as the first say, the model's input as the second.
fed() {
    rm -rf "$work/got"
    mkdir "$work/got"
    # shellcheck disable=SC2086 # words
    run "$assay" image "$work/p.png" --size 10x12 $2 -o "$work/f.npy"
    expect_rc 0 "made: $2"
    python3 -c '
import sys
sys.path.insert(0, sys.argv[3])
import npz
with open(sys.argv[1], "rb") as f:
    npz.write(sys.argv[2], {"img": npz.parse(f.read())})
' "$work/f.npy" "$work/got/p.npz" "$ROOT/tests/sweep"
    # shellcheck disable=SC2086 # words
    run "$assay" run -m "$nash" -i "$work/p.png" $3 --target "$board" -q \
        --bpu "$work/got" --json "$work/json"
    tr -s '\n ' '  ' <"$work/out" >"$work/one"
    mv "$work/one" "$work/out"
    if [ "$1" = none ]; then
        expect_not_out "input: first culprit" "$2: nothing is wrong"
        return
    fi
    expect_rc 1 "$2"
    expect_out "fed your script feeds .*; the .* wants " "$2: the sentence"
    expect_out "cause $1: .* 360/360 all.* proved" "$2: $1"
    expect "$2: JSON" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["verdict"] == "input", d["verdict"]
seen, = d["inputs_received"]
assert seen["causes"][0]["id"] == sys.argv[2], seen
assert seen["sentence"].startswith("your script feeds")
' "$work/json" "$1"
}

float="--set dtype=float32"
norm="--mean-value 123.5,116,103 --scale-value 0.0171,0.0175,0.0174"
fed none "--as rgb $float" "--as rgb"
fed none "--as rgb $norm" "--as rgb $norm"
fed Y6 "--as bgr $float" "--as rgb"
fed Y6 "--as rgb $float" "--as bgr"
fed Y9 "--as rgb $float" "--as rgb $norm"
fed Y9 "--as rgb $float --set divide=1" "--as rgb"
fed Y12 "--as rgb $float --resize letterbox" "--as rgb"
fed Y12 "--as rgb $float --resize stretch:nearest" "--as rgb --resize stretch"
fed Y3 "--as yuv444_128 $float --range studio" "--as yuv444 --range full"

# One of two samples is as it was given, the other is BGR: the right one does
# not speak for the wrong one, and what is proved is said of that alone.
picture make photo 64x50 "$work/q.png"
rm -rf "$work/got"
mkdir "$work/got"
for s in p:rgb q:bgr; do
    run "$assay" image "$work/${s%:*}.png" --size 10x12 --as "${s#*:}" \
        --set dtype=float32 -o "$work/f.npy"
    python3 -c '
import sys
sys.path.insert(0, sys.argv[3])
import npz
with open(sys.argv[1], "rb") as f:
    npz.write(sys.argv[2], {"img": npz.parse(f.read())})
' "$work/f.npy" "$work/got/${s%:*}.npz" "$ROOT/tests/sweep"
done
run "$assay" run -m "$nash" -i "$work/p.png" -i "$work/q.png" --as rgb \
    --target "$board" -q --bpu "$work/got" --json "$work/json"
expect_rc 1 "one sample of two was fed otherwise"
expect_out '^  fed     your script feeds BGR' "the wrong one is told"
expect_out '^  cause   Y6: .* 360/360 all   proved' "Y6 of its elements"
expect_out '^ +in 1 of 2 samples' "and of it alone"
expect "in JSON" python3 -c '
import json, sys
seen, = json.load(open(sys.argv[1]))["inputs_received"]
c = seen["causes"][0]
assert (c["id"], c["all_matched"], c["all"], c["samples"]) == (
    "Y6", 360, 360, 1), c
' "$work/json"

# What cannot be is said before anything runs.
run "$assay" run -m "$nash" -i "$work/p.png" --local
expect_refused 2 "is a picture: say with --as what the model takes" "no --as"
run "$assay" run -m "$nash" -i "$work/p.png" --as gray --local
expect_refused 2 "input 'img' of the model is no image of 'gray'" \
    "other channels"
expect_err '1,H,W,1. or .1,1,H,W' "and which they would be"
mkdir "$work/pictures"
cp "$work/p.png" "$work/pictures"
run "$assay" run -m "$nash" -i "$work/pictures" --as rgb --local
expect_refused 2 "pictures: a folder without npz files" "a folder of pictures"
run sh -c '"$@" >&-' sh "$assay" run -m "$nash" -i "$work/p.png" --as rgb \
    --target "$board" -q
expect_refused 2 "cannot write to the standard output" "a closed output"
run "$assay" run -m "$nash" -i "$work/p.png" --as rgbx --local
expect_refused 2 "'--as rgbx'|--as: 'rgbx'|rgbx" "an unknown type"
head -c 300 "$work/p.png" >"$work/cut.png"
run "$assay" run -m "$nash" -i "$work/cut.png" --as rgb --local
expect_refused 2 "cut.png" "a picture that is cut"
run "$assay" run -m "$nash" -i "$ROOT/README.md" --as rgb --local
expect_refused 2 "README.md: not a picture" "no picture"

# Signed bytes, NCHW, and a table of first layer that makes RGB of YUV.
pre=$shared/cases-x5/ops_pre
if [ -d "$pre" ]; then
    for kind in "yuv444 --range full" "nv12 --range full" "nv12"; do
        # shellcheck disable=SC2086 # words
        run "$assay" run -m "$pre/model.onnx" --scales "$pre/scales.json" \
            -i "$work/p.png" --as $kind --target "$board" -q --all
        expect_rc 0 "ops_pre as $kind"
        expect_out "^ in0 +centre +1x20x24x3 +int8 " "minus 128 is a step"
    done
else
    skip "no shared case with a preprocess node"
fi
finish
