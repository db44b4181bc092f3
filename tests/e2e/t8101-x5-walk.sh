#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# What a script fed, from the vendor's configuration, the quantized model, one
# picture and an npy, to the sentence "your script feeds ...; the model wants
# ...". What is fed is made by tests/support/fed.py, which shares nothing with
# assay. docs/inputs.md has the walk.
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

fed() {
    python3 "$ROOT/tests/support/fed.py" "$@"
}

config() { # config RT TRAIN NORM > file
    cat <<END
model_parameters:
  onnx_model: 'walk.onnx'
  march: 'bayes-e'
  output_model_file_prefix: 'walk'
input_parameters:
  input_name: 'x'
  input_type_rt: '$1'
  input_type_train: '$2'
  input_layout_train: 'NCHW'
  input_shape: '1x3x48x64'
  norm_type: '$3'
  mean_value: '123.675 116.28 103.53'
  scale_value: '0.01712475 0.017507 0.01742919'
compiler_parameters:
  compile_mode: 'latency'
END
}

cd "$work" || exit 1
config nv12 rgb data_mean_and_scale >config.yaml
config rgb rgb data_mean_and_scale >rgb.yaml
config nv12 rgb no_preprocess | grep -v _value >plain.yaml
fed model model.onnx 64 48
fed picture photo.png photo.npy 64 48

# judge PICTURE PIXELS HOW CONFIG [OPTION...]
judge() {
    local picture=$1 pixels=$2 how=$3 config=$4
    shift 4
    fed feed "$pixels" fed.npy "$how"
    run "$assay" image "$picture" --got fed.npy --vendor "$config" "$@"
}

# wrong HOW CONFIG ID SENTENCE [OPTION...]: named, proved, exit 1
wrong() {
    local how=$1 config=$2 id=$3 sentence=$4
    shift 4
    judge "$picture" "$pixels" "$how" "$config" "$@"
    expect_rc 1 "$name: $how for $config"
    # Lines are broken at 120 columns.
    tr -s '\n ' ' ' <"$work/out" >"$work/flat"
    mv "$work/flat" "$work/out"
    expect_out "input: $sentence" "$name: $how has its sentence"
    expect_out "cause $id: .* ([0-9]+)/\\1 differing, ([0-9]+)/\\2 all proved" \
        "$name: $how is $id, proved"
    expect_out ' fix [^ ]' "$name: $how has advice"
}

walk() {
    judge "$picture" "$pixels" nv12 config.yaml
    expect_rc 0 "$name: NV12 in full range"
    expect_out '^match: fed.npy is what the model wants of .*: NV12 uint8 full' \
        "$name: is what the model wants"
    judge "$picture" "$pixels" centred config.yaml -m model.onnx
    expect_rc 0 "$name: YUV444 minus 128, to the quantized model"
    expect_out "^match: .* what the quantized model's first layer wants" \
        "$name: is what its first layer wants"

    wrong rgb config.yaml Y15 \
        'your script feeds RGB NHWC uint8; the model wants NV12 uint8 full'
    wrong bgr rgb.yaml Y6 \
        'your script feeds BGR NHWC uint8; the model wants RGB NHWC uint8'
    wrong bgr-nchw rgb.yaml 'Y6 and L1' \
        'your script feeds BGR NCHW uint8; the model wants RGB NHWC uint8'
    wrong nv21 config.yaml Y1 'your script feeds NV21 uint8 full range; the'
    wrong nv12-studio config.yaml Y3 \
        'your script feeds NV12 uint8 studio range; the model wants NV12 uint8 full'
    wrong rgb-normalised rgb.yaml Y9 \
        'your script feeds RGB NHWC float32 normalised .*; the model wants RGB'
    expect_out 'the script scales the values .*, and the model does it again' \
        "$name: normalised twice is said"
    wrong rgb-float rgb.yaml Y16 'your script feeds RGB NHWC float32; the'
    wrong rgb-divided config.yaml 'Y15 and Y9' \
        'your script feeds RGB NHWC float32 divided by 255; the model wants NV12'
    # Of the two doors the one that wants less to be changed.
    wrong not-centred plain.yaml Y2 \
        "your script feeds YUV444 of NV12 NHWC uint8 full range; the quantized" \
        -m model.onnx

    judge "$picture" "$pixels" noise rgb.yaml
    expect_rc 1 "$name: noise"
    expect_out '^unexplained: ' "$name: noise has no cause"
    expect_not_out '^ +cause' "$name: and none is named"
    expect_out '^  looks +little alike' "$name: it is another picture"
}

name=png picture=photo.png pixels=photo.npy
walk

# Stretched where the training kept proportions. The script's own resize.
fed picture wide.png wide.npy 96 60
fed nearest wide.npy small.npy 64 48
picture=wide.png pixels=small.npy name=wide
wrong rgb rgb.yaml Y12 'your script feeds RGB NHWC uint8, stretch; the model wants RGB NHWC uint8, letterbox' \
    --resize letterbox:nearest
wrong nv21 config.yaml 'Y12 and Y1' \
    'your script feeds NV21 uint8 full range, stretch; the model wants NV12 uint8 full range, letterbox' \
    --resize letterbox:nearest

# A JPEG's pixels come out of the same command.
for jpeg in "$ROOT"/tests/data/pictures/*.jpg; do
    [ -f "$jpeg" ] || { skip "no JPEG in tests/data/pictures"; break; }
    cp "$jpeg" photo.jpg
    run "$assay" image photo.jpg --as rgb --size 64x48 -o jpeg.npy
    expect_rc 0 "pixels of $(basename "$jpeg")"
    name=jpeg picture=photo.jpg pixels=jpeg.npy
    walk
    break
done

# One byte is another: nothing explains it, and what is nearest is told.
picture=photo.png pixels=photo.npy
judge "$picture" "$pixels" rgb rgb.yaml
python3 - fed.npy <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(-1000, 2)
    v = f.read(1)[0]
    f.seek(-1000, 2)
    f.write(bytes([v ^ 1]))
END
run "$assay" image photo.png --got fed.npy --vendor rgb.yaml
expect_rc 1 "one byte is another"
expect_out '^  nearest RGB NHWC uint8, but for rounding: 1 of 9216 differ, by 1 at'     "what is nearest is told"
expect_out 'gain 1, offset' "with gain and offset"
expect_not_out '^  cause' "and no cause"

# Two inputs, two pictures, in the wrong order.
sed -e "s/'x'/'a;b'/" -e "s/'nv12'/'rgb;bgr'/" -e "s/: 'rgb'/: 'rgb;rgb'/" \
    -e "s/'NCHW'/'NCHW;NCHW'/" -e "s/'1x3x48x64'/'1x3x48x64;1x3x60x96'/" \
    -e "s/'no_preprocess'/'no_preprocess;no_preprocess'/" plain.yaml >two.yaml
fed feed photo.npy a.npy rgb
fed feed wide.npy b.npy bgr
run "$assay" image photo.png wide.png --got a.npy --got b.npy --vendor two.yaml
expect_rc 0 "two inputs"
run "$assay" image photo.png wide.png --got b.npy --got a.npy --vendor two.yaml
expect_rc 1 "two inputs in the other order"
expect_out "cause +Y14: .*'?b'? should" "are named"

# The document's transcripts, in a folder that has its files.
fed feed photo.npy fed-float.npy rgb-normalised
fed feed photo.npy fed-nv21.npy nv21
fed feed photo.npy fed-nv12.npy nv12
fed feed photo.npy fed-yuv.npy not-centred
fed feed small.npy fed-wide.npy nv12
PATH=$BUILD/$MACHINE:$PATH RUN_TIMEOUT=100 run python3 \
    "$ROOT/tests/support/examples.py" "$ROOT/docs/inputs.md" "$BUILD" walk .
expect_rc 0 "docs/inputs.md says the truth"
expect_out '^[1-9][0-9]* commands' "and has transcripts"
for id in $(sed -n 's/^ASSAY_FED([A-Z0-9_]*, "\([A-Z0-9]*\)".*/\1/p' \
    "$ROOT/host-tools/image/received.def" | sort -u); do
    expect "$id is in docs/inputs.md" grep -q "^| $id |" "$ROOT/docs/inputs.md"
    expect "$id is in docs/hypotheses.md" \
        grep -q "^| $id |" "$ROOT/docs/hypotheses.md"
done

# Configurations and logs that the vendor's tools wrote.
shared=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5/artefacts/hb_mapper
if [ -d "$shared" ]; then
    fed picture own.png own.npy 32 32
    for how in nv12 rgb; do
        for file in "$shared/$how/digits_$how.yaml" \
            "$shared/$how/hb_mapper_makertbin.log"; do
            judge own.png own.npy "$how" "$file"
            expect_rc 0 "$how for ${file##*/}"
        done
        judge own.png own.npy bgr "$shared/$how/digits_$how.yaml"
        expect_rc 1 "bgr for digits_$how.yaml"
        expect_out "cause +Y(6|15): .* proved" "is named"
    done
    fed picture own.png own.npy 24 20
    sed 's/1x3x48x64/1x3x20x24/' plain.yaml >own.yaml
    judge own.png own.npy centred own.yaml \
        -m "$shared/../../ops_pre/model.onnx"
    expect_rc 1 "NHWC for a model of the vendor's tools"
    expect_out 'cause +L1: NHWC instead of NCHW .* proved' "is named"
else
    skip "configurations of others: $shared is not there"
fi

# JSON, bytes, npz, and what is refused.
fed feed photo.npy fed.bin nv21
run "$assay" image photo.png --got fed.bin --vendor config.yaml --format json
expect_rc 1 "bytes of NV21"
expect "JSON names it" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "assay-image/1" and d["exit_code"] == 1
assert d["verdict"] == "input"
i = d["inputs"][0]
h = i["hypotheses"][0]
assert h["id"] == "Y1" and h["proved"] and h["exact"]
assert h["all_matched"] == h["all"] == 64 * 72
assert h["differing_matched"] == h["differing"] > 0
assert h["changes"][0]["fix"]
' "$work/out"
run "$assay" image photo.png --got photo.npy
expect_refused 2 'needs what the model wants' "neither --vendor nor --as"
run "$assay" image photo.png --got none.npy --vendor config.yaml
expect_refused 2 'none.npy' "a tensor that is not there"
run "$assay" image none.png --got photo.npy --vendor config.yaml
expect_refused 2 'none.png' "a picture that is not there"
run "$assay" image photo.png --got photo.png --vendor photo.png
expect_refused 2 'photo.png' "a configuration that is a picture"
: >empty.npy
run "$assay" image photo.png --got empty.npy --vendor config.yaml
expect_refused 2 'empty.npy' "an empty file"
run "$assay" image photo.png wide.png --got photo.npy --vendor config.yaml
expect_refused 2 'one picture for each --got' "two pictures, one tensor"
config featuremap featuremap no_preprocess | grep -v _value >map.yaml
run "$assay" image photo.png --got photo.npy --vendor map.yaml
expect_refused 2 'input_type_rt of pictures' "an input that is no picture"
run "$assay" image photo.png --got photo.npy --vendor rgb.yaml --as rgb
expect_refused 2 '--vendor and --as exclude' "the type twice"
run "$assay" image photo.png --vendor rgb.yaml --as rgb --size 64x48
expect_refused 2 'no --got' "a configuration without --got"
run "$assay" image photo.png wide.png --as rgb --size 64x48
expect_refused 2 "unexpected operand 'wide.png'" "two pictures without --got"
run "$assay" image photo.png --got photo.npy --vendor rgb.yaml -o x.npy
expect_refused 2 '--got and -o exclude' "-o with --got"
fed feed photo.npy fed.npy nv12-studio
run "$assay" image photo.png --got fed.npy --vendor config.yaml --range studio
expect_rc 0 "--range goes before the configuration"
for n in 10 60 127 200 4000; do
    head -c "$n" photo.npy >cut.npy
    run "$assay" image photo.png --got cut.npy --vendor rgb.yaml
    expect_refused 2 'cut.npy' "an npy of $n bytes"
done
tail -c 9293 photo.npy >odd.bin
run "$assay" image photo.png --got odd.bin --vendor rgb.yaml
expect_rc 1 "bytes of a size that nothing has"
expect_out '^unexplained: ' "are explained by nothing"
expect_out 'has 9293 elements, and no known form' "and their number stands there"
head -c 9216 /dev/zero >zero.bin
run "$assay" image photo.png --got zero.bin --vendor rgb.yaml
expect_rc 1 "a buffer of zeros"
expect_out '^unexplained: .* is made of no picture' "is no picture, divided or not"
expect_out '^  looks   every element is 0: ' "what it is like is told"
expect_not_out '  cause ' "and nothing is proved by it"
run "$assay" image photo.png --got photo.npy --vendor rgb.yaml --size 32x32
expect_refused 2 'size 32x32: expected 64x48, the input_shape' "another size"
run "$assay" image photo.png --got photo.npy --vendor rgb.yaml --size 64x48
expect_rc 0 "the same size"
run "$assay" image photo.png --as rgb --size 64x48 --scale-value 0,1,1
expect_refused 2 'a scale other than 0' "a scale that leaves nothing"
printf 'PK\5\6%018d' 0 | tr 0 '\0' >none.npz
run "$assay" image photo.png --got none.npz --vendor rgb.yaml
expect_refused 2 'holds no array of numbers' "an npz without members"
run "$assay" image photo.png --got photo.npy --as rgb --size 64x48
expect_rc 0 "--as instead of a configuration"
finish
