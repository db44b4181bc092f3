#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `assay image`: pictures to inputs against plain Python, the way back, raw
# input, rows and JSON, and what is refused.
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"
picture=$ROOT/tests/support/picture.py
cd "$work" || exit 1

python3 "$picture" make photo 40x24 photo.png
python3 "$picture" make gray 16x16 gray.png
python3 "$picture" make noise 13x7 odd.png

judged() { # judged TYPE RANGE OPTION...
    local type=$1 range=$2
    shift 2
    run "$assay" image photo.png --as "$type" --size 40x24 --range "$range" \
        -o out.npz "$@"
    expect_rc 0 "$type $range is made"
    run python3 "$picture" judge out.npz photo.png "$type" "$range"
    expect_rc 0 "$type $range: every byte"
}
for type in nv12 nv21 yuv444 yuv444_128 gray; do
    judged $type studio
    judged $type full
done
judged rgb full
judged bgr full

# Rows, one a step.
run "$assay" image photo.png --as nv12 --size 32x32 --resize letterbox \
    --stride 64 --set widen=1 --set centre=1 -o a.bin
expect_refused 2 'stride of 64' "a stride below a row"
run "$assay" image photo.png --as nv12 --size 32x32 --resize letterbox \
    --stride 64 -o a.bin
expect_rc 0 "NV12 with a stride"
expect "its steps" test "$(awk 'NR > 2 { printf "%s ", $1 }' out)" = \
    "decode resize colour subsample pad "
expect "its bytes" test "$(wc -c <a.bin)" = $((48 * 64))
expect "padded with 127" grep -Eq '^ resize +uint8 +1x32x32x3' out
run "$assay" image photo.png --as rgb --size 16x16 --resize crop:pillow \
    --mean-value 123.675,116.28,103.53 --scale-value 0.0171 --layout NCHW \
    --set dtype=int8 --set input-scale=0.02 --json -
expect_rc 0 "normalised and quantized"
python3 - out <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["schema"] == "assay-image/1" and r["exit_code"] == 0
names = [s["name"] for s in r["steps"]]
assert names == ["decode", "resize", "normalise", "quantize", "layout"], names
last = r["steps"][-1]
assert last["shape"] == [1, 3, 16, 16] and last["dtype"] == "int8"
assert last["strides"] == [768, 256, 16, 1]
assert -128 <= last["min"] < last["max"] <= 127
PY
expect "the report in JSON" test $? = 0

# The way back.
for options in "rgb" "bgr" "rgb --mean-value 10,20,30 --scale-value 0.5" \
    "rgb --layout NCHW --set align=64" "bgr --set divide=1"; do
    "$assay" image photo.png --as $options --size 40x24 -o t.bin >/dev/null
    run "$assay" image --show t.bin --as $options --size 40x24 -o back.png
    expect_rc 0 "back from $options"
    run python3 "$picture" raw back.png rgb back.raw
    run python3 "$picture" raw photo.png rgb photo.raw
    expect "the same picture again: $options" cmp -s back.raw photo.raw
done
"$assay" image gray.png --as nv12 --range full --size 16x16 -o t.npy >/dev/null
run "$assay" image --show t.npy --as nv12 --range full --size 16x16 -o back.png
python3 "$picture" raw back.png rgb back.raw
python3 "$picture" raw gray.png rgb gray.raw
expect "gray stays gray through NV12" cmp -s back.raw gray.raw

# Raw bytes.
python3 "$picture" raw photo.png nv21 photo.nv21
python3 "$picture" raw photo.png nv12 photo.nv12
run "$assay" image photo.nv21 --raw nv21:40x24 --as nv12 --size 40x24 -o t.bin
expect_rc 0 "NV21 as a picture"
expect "NV12 of it: U and V change places, nothing else" cmp -s t.bin photo.nv12
run "$assay" image photo.nv12 --raw nv12:40x24 --as nv12 --size 40x24 \
    --set up=bilinear -o t.bin
expect "NV12 passes through NV12" cmp -s t.bin photo.nv12
run "$assay" image photo.nv12 --raw nv12:40x24:41 --as nv12 --size 40x24
expect_refused 2 'expected 1476 bytes, found 1440' "a wrong stride"
run "$assay" image photo.nv12 --raw nv12:41x24 --as nv12 --size 40x24
expect_refused 2 'even sides' "odd NV12"

# JPEG, and what EXIF says.
run "$assay" image "$ROOT/tests/data/pictures/turned.jpg" --as rgb --size 16x12
expect_rc 0 "a JPEG with an orientation"
expect_err 'EXIF says orientation 6' "which is told"
run "$assay" image "$ROOT/tests/data/pictures/turned.jpg" --as rgb \
    --size 12x16 --set orientation=0 -q
expect "and followed on request, without a resize" test \
    "$(awk 'NR > 2 { printf "%s ", $1 }' out)" = "decode orient "
expect "quiet" test ! -s err
run "$assay" image "$ROOT/tests/data/pictures/progressive.jpg" --as rgb \
    --size 16x12 -o a.bin
run "$assay" image "$ROOT/tests/data/pictures/small.jpg" --as rgb \
    --size 16x12 -o b.bin
expect "progressive or not, the same pixels" cmp -s a.bin b.bin
cd "$ROOT" || exit 1
run python3 tests/support/examples.py docs/inputs.md "$BUILD"
expect_rc 0 "the examples of docs/inputs.md"
cd "$work" || exit 1

# What cannot be.
run "$assay" image
expect_refused 2 'needs a picture' "no picture"
run "$assay" image photo.png --size 8x8
expect_refused 2 'what the model takes' "no type"
run "$assay" image photo.png --as nv13 --size 8x8
expect_refused 2 'one of nv12' "an unknown type"
run "$assay" image photo.png --as nv12 --size 7x8
expect_refused 2 'even sides' "odd sides"
run "$assay" image photo.png --as rgb --size 8x
expect_refused 2 'WxH' "half a size"
run "$assay" image photo.png --as rgb --size 8x8 --mean-value 1,2
expect_refused 2 'one number or three' "two means"
run "$assay" image photo.png --as rgb --size 8x8 --set matrx=601
expect_refused 2 'nearest: matrix' "an unknown key"
run "$assay" image photo.png --as rgb --size 8x8 --resize crop:cubic
expect_refused 2 'one of linear' "an unknown filter"
run "$assay" image photo.png --as rgb --size 8x8 -o x.txt
expect_refused 2 'ends in .npy' "an unknown suffix"
run "$assay" image --show t.bin --as nv12 --size 40x24
expect_refused 2 'needs the picture' "nowhere to"
run "$assay" image --show t.bin --as rgb --size 40x24 -o x.png
expect_refused 2 'has 2880 bytes: found 1440' "another type"
run "$assay" image photo.raw --as rgb --size 8x8
expect_refused 2 'not a picture' "bytes without --raw"
run "$assay" image none.png --as rgb --size 8x8
expect_refused 2 'none.png' "no file"
head -c 900 photo.png >cut.png
run "$assay" image cut.png --as rgb --size 8x8
expect_refused 2 'ends early' "a file that ends early"
run "$assay" image odd.png --as gray --size 5x3 --resize letterbox
expect_rc 0 "odd sides where they may be"
finish
