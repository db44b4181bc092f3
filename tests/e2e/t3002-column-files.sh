#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where columns come from: npz and the simulator's texts, in both layouts, by
# option and in the case; what is refused, and what is told and left out. To
# the sanitized command where there is one.
MACHINE=x86_64
[ -x "${BUILD:?}/x86_64-san/assay" ] && MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"
horizon=$ROOT/tests/data/horizon

tool() { python3 "$ROOT/tests/support/sim_files.py" "$@"; }
assay_run() { run "$assay" run "$@" --local; }

# The artificial case: texts and npz say the same.
if [ -f "$horizon/model.onnx" ]; then
    for source in sim sim-text; do
        assay_run "$horizon" --sim "$horizon/$source"
        expect_rc 1 "$source: the artificial divergence"
        expect_out '^compile: first culprit same_s2: ' "$source: the culprit"
        expect_out '^  where   last row and last column only \(98 of 98 differing\)' \
            "$source: where"
        expect_out '^  layer   conv 3x3 s2, int16 input, pads t,l,b,r = 0,0,1,1$' \
            "$source: the geometry"
        expect_out '^  also    k2_bottom \(P5=bottom:[0-9]+, last row only, judged through sigmoid, which was not observed\)' \
            "$source: the other culprit"
        expect_out '^ [0-9]+ HzSQuantizedConv k2_bottom .* 160/360 .* 60 ' \
            "$source: mismatches given its own inputs"
        expect_out '^ [0-9]+ HzSQuantizedConv pw .* inherited +129/432 .* 0 ' \
            "$source: what it inherits"
        expect "$source: nothing is left out" \
            test -z "$(grep note: "$work/err")"
    done
    # In the case; the same as bpu; by folders of another name, in order.
    cp -r "$horizon" "$work/h"
    chmod -R u+w "$work/h"
    rm -r "$work/h/sim"
    cp -r "$horizon/sim-text" "$work/h/bpu"
    assay_run "$work/h"
    expect_rc 1 "texts as the bpu column"
    expect_out 'bpu bpu/' "the head names them"
    expect_out 'the simulator was not' "the sentence tells what is missing"
    mkdir "$work/order"
    cp -r "$horizon/sim-text/0000" "$work/order/first"
    cp -r "$horizon/sim-text/0001" "$work/order/second"
    rm -r "$work/h/bpu"
    assay_run "$work/h" --sim "$work/order"
    expect_rc 1 "folders of other names are taken in order"
    expect_out '\(98 of 98 differing\)' "and right"
    assay_run -m "$horizon/model.onnx" -i "$horizon/inputs/0000.npz" \
        -r "$horizon/golden/0000.npz" --sim "$horizon/sim-text/0000"
    expect_rc 1 "a folder of texts for one sample"
    expect_out '\(57 of 57 differing\)' "and right"
    # Names that only the hybrid model knows; it outranks a layer's name.
    rm -rf "$work/h/sim"
    for n in 0000 0001; do
        tool texts "$horizon/sim/$n.npz" "$work/h/sim/$n" \
            same_s2_relu.y_quantized=odd_nhwc2nchw_transposed_output0:0312 \
            pw.y_quantized=tail_nhwc2nchw_transposed_output1:0312
    done
    assay_run "$work/h"
    expect_err "'odd_nhwc2nchw.*': neither a tensor" "a name that nobody knows"
    expect_out ' sim: nothing observed' "is not guessed"
    tool hybrid "$work/h/hybrid.onnx" \
        odd_nhwc2nchw_transposed_output0=same_s2_relu.y \
        tail_nhwc2nchw_transposed_output1=pw.y nobody=nothing.y
    assay_run "$work/h"
    expect_rc 1 "with hybrid.onnx in the case"
    expect_out ' sim: 2 observed: 1 diverged, 1 inherited; ' "its names are read"
    expect "what it maps to nothing, and nothing has, is not told" \
        test -z "$(grep note: "$work/err")"
    tool texts "$horizon/sim/0000.npz" "$work/h/sim/0000" \
        same_s2_relu.y_quantized=odd_nhwc2nchw_transposed_output0:0312 \
        pw.y_quantized=tail_nhwc2nchw_transposed_output1:0312 \
        pw.y_quantized=nobody
    assay_run "$work/h"
    expect_err "note: .*'nobody': the model has no tensor" \
        "what it maps to nothing is told"
    mv "$work/h/hybrid.onnx" "$work/other.onnx"
    assay_run "$work/h" --hybrid "$work/other.onnx"
    expect_out '\(98 of 98 differing\)' "--hybrid"
else
    skip "tests/data/horizon is not there"
fi

# Our own ONNX model, NCHW: texts by tensor and by layer.
one=$work/one
mkdir -p "$one/inputs" "$one/golden" "$one/sim"
cp "$digits/model.onnx" "$one"
cp "$digits/inputs/0000.npz" "$one/inputs"
cp "$digits/golden/0000.npz" "$one/golden"
chmod -R u+w "$one"
q=y_QuantizeLinear_Output
texts() { # texts PAIR...: sim/0000/ of the case
    rm -rf "$one/sim/0000"
    tool texts "$digits/golden/0000.npz" "$one/sim/0000" "$@"
}
texts "conv1.$q=conv1.$q" "conv2.$q=conv2_nhwc2nchw_transposed_output0"
assay_run "$one"
expect_rc 0 "texts, one by its tensor and one by its layer"
expect_out ' sim: 2 observed, 2 exact; 19 not observed' "both are found"
texts "conv1.$q=conv1.$q:0231"
assay_run "$one"
expect_refused 2 "conv1.* is 1x8x8x16, but the model's tensor .* is 1x16x8x8" \
    "NHWC where the tensor is NCHW"
texts "conv2.$q=conv2_nhwc2nchw_transposed_output0:0231"
assay_run "$one"
expect_refused 2 "is 1x4x4x16, but .* is 1x16x4x4 in NCHW" \
    "NHWC where the name says NCHW"
texts "conv1.$q=conv1.$q" "conv2.$q=nobody" \
    "conv2.$q=nobody_nhwc2nchw_transposed_output0"
echo hello >"$one/sim/0000/readme.txt"
assay_run "$one"
expect_rc 0 "names that fit nothing"
expect_out ' sim: 1 observed, 1 exact; 20 not observed' "are not guessed"
expect_err "note: .*'nobody': neither a tensor" "but told"
expect_err "note: .*'nobody_nhwc2nchw_transposed_output0': neither" "each"
expect_err "note: .*'readme.txt': no text of the simulator" "and other files"
# Two files of one tensor that say different things.
texts "conv1.$q=conv1.$q" "conv2.$q=conv2.$q" \
    "conv2.$q=conv2_nhwc2nchw_transposed_output0"
assay_run "$one"
expect_out ' sim: 2 observed, 2 exact; 19 not observed' "given twice, alike"
file=$one/sim/0000/hbdk_output1_feature_conv2.${q}_elem_int.txt
sed -i '5s/^[-0-9]* /7 /' "$file"
assay_run "$one"
expect_rc 0 "given twice, not alike"
expect_err "conv2.$q': given twice with different values: not trusted" "told"
expect_out ' sim: 1 observed, 1 exact; 20 not observed' "and left out"

# Damaged texts: file, line, expected, found.
broken() { # broken TEXT REGEX SED-SCRIPT
    texts "conv2.$q=conv2.$q"
    file=$one/sim/0000/hbdk_output0_feature_conv2.${q}_elem_int.txt
    sed -i "$3" "$file"
    assay_run "$one"
    expect_refused 2 "conv2.*_elem_int.txt: line $2" "$1"
    assay_run "$one" --dry-run
    expect_refused 2 "line $2" "$1, --dry-run"
}
broken "a value beyond int8" \
    "7: expected an int8 \(-128..127\), found '128'" '7s/^[-0-9]*/128/'
broken "a value that is no integer" \
    "5: expected an int8 .*, found '1.5'" '5s/^[-0-9]*/1.5/'
broken "a row too short" "6: expected 4 values in a row, found '3'" \
    '6s/^[-0-9]* //'
broken "a row too long" "6: expected 4 values in a row, found 'more'" \
    '6s/^/1 /'
broken "a row too few" "67: expected 64 rows of the last dimension, found 63" \
    '$d'
broken "a row too many" "69: expected 64 rows .*, found more than 64" '$p'
broken "no dimensions" "4: expected a header line #valid_dim=" '/valid_dim/d'
broken "dimensions that are none" \
    "3: expected dimensions like 1x8x8x16, found '1x-2'" \
    's/valid_dim=.*/valid_dim=1x-2/'
broken "more elements than the file can hold" \
    "3: expected no more elements than the file holds" \
    's/valid_dim=.*/valid_dim=65535x65535x65535x65535/'
texts "conv2.$q=conv2.$q"
file=$one/sim/0000/hbdk_output0_feature_conv2.${q}_elem_int.txt
sed -i 's/$/\r/' "$file"
assay_run "$one"
expect_rc 0 "Windows' line ends"
expect_out ' sim: 1 observed, 1 exact; 20 not observed' "are read"
texts "logits=logits"
assay_run "$one"
expect_refused 2 "'logits' is integers, but the model's tensor .* float32" \
    "a text of integers for a float"

# npz.
rm -rf "$one/sim/0000"
cp "$digits/golden/0000.npz" "$one/sim/0000.npz"
tool keep "$one/sim" "conv2.$q"
tool widen "$one/sim" "conv2.$q"
assay_run "$one"
expect_rc 0 "int8 values in an int32 array"
expect_err "note: .*another integer type" "are told"
expect_out ' sim: 1 observed, 1 exact; 20 not observed' "and taken"
cp "$digits/golden/0000.npz" "$one/sim/0000.npz"
tool keep "$one/sim" logits
tool rename "$one/sim" logits "conv2.$q"
assay_run "$one"
expect_refused 2 "'conv2.*' is float32, but the model's tensor .* is int8" \
    "floats for integers"
head -c 300 "$digits/golden/0000.npz" >"$one/sim/0000.npz"
assay_run "$one"
expect_refused 2 "0000.npz: not a readable zip" "a damaged npz"
cp "$digits/golden/0000.npz" "$one/sim/0000.npz"
mkdir "$one/sim/0000"
assay_run "$one"
expect_refused 2 "both an npz and a folder for sample '0000'" \
    "two sources of one sample"
rm -r "$one/sim/0000"
printf x >>"$one/model.onnx"
tool drop "$one/golden" __meta__
assay_run "$one" --sim "$digits/golden/0000.npz"
expect_refused 2 "model" "a column of another model"
cp "$digits/model.onnx" "$one/model.onnx"

# Options.
assay_run "$digits" --sim "$work/nowhere"
expect_refused 2 "nowhere: no such file or folder" "--sim of nothing"
assay_run "$digits" --sim "$digits/golden/0000.npz"
expect_rc 0 "one npz for four samples"
expect_out 'sim .*golden/0000.npz \(1 of 4 samples\)' "is its own sample's"
assay_run "$digits" --sim "$digits/golden/0000.npz" --require sim
expect_rc 5 "and no evidence for the others"
texts "conv2.$q=conv2.$q"
assay_run "$digits" --bpu "$one/sim/0000"
expect_rc 0 "the texts of one sample for four"
expect_out 'bpu .*sim/0000 \(1 of 4 samples\)' "are the sample of that name"
mv "$one/sim/0000" "$one/any"
assay_run "$digits" --bpu "$one/any/"
expect_rc 0 "texts in a folder of another name"
expect_err "note: .*any/: one sample for 4: counts for the first, '0000'" \
    "are the first sample's"
assay_run "$digits" --sim "$one"
expect_refused 2 "but a folder 'sim': name that one" "--sim of the folder around"
mkdir -p "$work/four/"{a,b,c,d}
assay_run "$digits" --sim "$work/four"
expect_refused 2 "none with the name of one of the 4 input samples" \
    "folders without texts are no samples"
tool texts "$digits/golden/0000.npz" "$one/nobody" "conv2.$q=nobody"
assay_run "$digits" --sim "$one/nobody"
expect_rc 5 "--sim that shows nothing is missing evidence"
expect_out 'column sim observed nothing' "and told"
rm -r "$one/sim"
touch "$one/sim"
assay_run "$one"
expect_refused 2 "sim: expected a folder of samples" "a file called sim"
rm "$one/sim"
ln -s nowhere "$one/sim"
assay_run "$one"
expect_refused 2 "sim: expected a folder of samples" "a link to nothing"
mv "$one/sim" "$one/sim.npz"
assay_run "$one"
expect_err "note: .*sim.npz: not read, expected sim/0000.npz" "sim.npz is told"
assay_run "$digits" --sim "$digits/golden" --hybrid "$work/nowhere"
expect_refused 2 "nowhere: no such file" "--hybrid of nothing"
assay_run "$digits" --sim "$digits/golden" --hybrid "$digits/model.onnx"
expect_refused 2 "no node HzBpuHBM, expected the vendor's hybrid model" \
    "--hybrid of another model"
assay_run "$digits" --hybrid "$digits/model.onnx"
expect_refused 2 "no node HzBpuHBM" "nor is it taken where no column reads it"
if [ -f "$work/other.onnx" ]; then
    assay_run "$digits" --hybrid "$work/other.onnx"
    expect_rc 0 "--hybrid without a column"
    expect_err "note: --hybrid maps names of sim and bpu, and neither" "is told"
fi
assay_run "$digits" --sim "$digits/golden"
expect_rc 0 "--sim of a folder of npz"
expect_out 'sim: 21 observed, 21 exact' "all of it"
run "$assay" show "$digits" --sim x
expect_refused 2 "'--sim' has no meaning for 'assay show'" "--sim of show"
finish
