#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files that a board dumped, as column bpu: synthetic folders in all element
# types, layouts and forms of names, clean and with one fault each. For every
# folder: exit code, what was observed, what was said.
. "$(dirname "$0")/lib.sh"
for n in horizon nash natural/add; do
    [ -f "$ROOT/tests/data/$n/case.json" ] || skip_all "tests/data/$n is not there"
done

tool() { python3 "$ROOT/tests/support/board_dump.py" "$@"; }
make() { tool make "$golden" "$work/$folder" "$@"; }
folders=0
# of CASE: the case that the next folders are of; sample 0.
of() {
    case=$ROOT/tests/data/$1
    golden=$case/golden/0000.npz
    model=$(echo "$case"/model.*)
}
# folder NAME: begins one. judge RC OUT ERR [OPTION...]: runs with it; ERR "-"
# is no note at all. The case's march is known.
folder() {
    folder=$1
    folders=$((folders + 1))
    mkdir -p "$work/$folder"
}
judge() {
    local rc_wanted=$1 out=$2 err=$3
    shift 3
    mkdir -p "$work/case"
    rm -rf "$work/case"/*
    cp -r "$case"/model.* "$case/case.json" "$work/case"
    [ -f "$case/scales.json" ] && cp "$case/scales.json" "$work/case"
    mkdir "$work/case/inputs" "$work/case/golden"
    cp "${inputs:-$case/inputs/0000.npz}" "$work/case/inputs/0000.npz"
    cp "$golden" "$work/case/golden/0000.npz"
    run "$assay" run "$work/case" --bpu "$work/$folder" --local --force \
        --json "$work/report.json" "$@"
    expect_rc "$rc_wanted" "$folder"
    [ -z "$out" ] || expect_out "$out" "$folder: what was observed"
    if [ "$err" = - ]; then
        expect "$folder: nothing is said" \
            test -z "$(grep -E 'note:|error:' "$work/err")"
    else
        expect_err "$err" "$folder: the sentence"
    fi
}
noted() { # noted REGEX: in the JSON report
    if python3 -c 'import json, re, sys
notes = json.load(open(sys.argv[1]))["notes"]
sys.exit(not any(re.search(sys.argv[2], n) for n in notes))' \
        "$work/report.json" "$1"; then
        ok "$folder: the report's notes"
    else
        not_ok "$folder: no note '$1'"
    fi
}
bpu=layer-0-bpu-Net-18_subgraph_0-output

# ---- clean folders: X3, X5, J5 ----------------------------------------------
of horizon
inner="same_s2_relu.y_quantized=$bpu-0-same_s2_relu.y_quantized
    pw.y_quantized=$bpu-1-pw.y_quantized
    k2_bottom.y_quantized=$bpu-2-k2_bottom.y_quantized
    control_relu.y_quantized=$bpu-3-control_relu.y_quantized
    tail.y_quantized=$bpu-4-tail.y_quantized"
for mode in 1 2 3; do
    for layout in x5 dense; do
        folder "x5-$layout-mode-$mode"
        # shellcheck disable=SC2086
        make --mode $mode --layout $layout $inner
        judge 0 ' bpu: 5 observed, 5 exact' -
    done
done
noted "layer-0-bpu.*tensor 'pw.y_quantized', by name; .*dense"
folder x5-verbose
# shellcheck disable=SC2086
make --layout x5 $inner
judge 0 ' 5 exact' "pw.y_quantized', by name; the model's order, last axis padded to 16" -v
folder x5-transposed-outputs
make --layout x5 --mode 2 tail_nhwc2nchw_transposed_output0=$bpu-0-tail_nhwc2nchw_transposed_output0 \
    fc_nhwc2nchw_transposed_output0=$bpu-1-fc_nhwc2nchw_transposed_output0
judge 0 ' bpu: [24] observed' -
folder x5-cut-names
make --layout x5 tail_nhwc2nchw_transposed_output0=$bpu-0-tail_nhwc2nchw...
judge 0 ' bpu: [12] observed' -
noted "by the beginning of its name|but for its end"
folder x5-cpu-nodes
make --layout dense --mode 3 tail.y=layer-1-Dequantize-tail_HzDequantize-output-0-tail.y \
    fc.y=layer-2-Dequantize-fc_HzDequantize-output-0-fc.y
judge 0 ' bpu: [2-9] observed' -
folder model-outputs
make --npy fc.y=model_infer_output_1_fc.y
make tail.y=model_infer_output_0_tail.y
judge 0 ' bpu: [2-9] observed' -
folder image-layout
of nash
make --layout image4 quant=layer-0-bpu-net-input-0-quant
judge 0 ' bpu: 1 observed, 1 exact' -

# ---- clean folders: J6 ------------------------------------------------------
for layout in row32 row64 pair32 pair64 high64 row128; do
    folder "j6-$layout"
    make --layout $layout stem=layer-2-unamed_hbir.conv_id_7_bpu_segment_0-output-0-stem \
        wide.act=layer-2-unamed_hbir.conv_id_7_bpu_segment_0-output-1-wide.act \
        head=layer-2-unamed_hbir.conv_id_7_bpu_segment_0-output-2-head
    judge 0 ' bpu: [34] observed' -
done
for form in x5 ucp; do
    folder "strides-$form"
    make --layout row128 --fill 90 --info $form stem=model_infer_output_0_stem \
        wide.act=model_infer_output_1_wide.act
    judge 0 ' bpu: 2 observed, 2 exact' -
    noted 'strides of model_info'
done
folder strides-of-another-file # no size is said, the file has ten times it
make --info ucp stem=model_infer_output_0_stem
sed -i '/aligned byte size/d' "$work/$folder/model_info.txt"
f=$work/$folder/model_infer_output_0_stem.bin
cp "$f" "$work/once"
for _ in 2 3 4 5 6 7 8 9 10; do cat "$work/once" >>"$f"; done
judge 5 'bpu: nothing observed' 'bytes fit no known layout'
folder numbers-and-strides
make --layout row64 --info ucp stem=model_infer_output_0 wide.act=model_infer_output_1
judge 0 ' bpu: 2 observed, 2 exact' -
noted 'by its number in model_info'
folder tail-of-zeros
make --layout tail dequant=model_infer_output_0_dequant
judge 0 ' bpu: [12] observed' -

# ---- clean folders: a model whose tensors are NCHW; u8 ----------------------
of natural/add
folder u8-nchw
make y=layer-0-bpu-net_subgraph_0-output-0-y
judge 0 ' bpu: 1 observed, 1 exact' -
folder u8-nhwc
make --perm 0231 --mode 3 y=layer-0-bpu-net_subgraph_0-output-0-y
judge 0 ' bpu: 1 observed, 1 exact' -
folder u8-nhwc-npy
make --perm 0231 --npy y=y
judge 0 ' bpu: 1 observed, 1 exact' -

# ---- applications -----------------------------------------------------------
of horizon
folder npy-names
make --npy pw.y_quantized=pw.y_quantized control_relu.y_quantized=control_relu.y_quantized
judge 0 ' bpu: 2 observed, 2 exact' -
folder npy-numbers
make --npy tail.y=output_0 fc.y=1
judge 0 ' bpu: [2-9] observed' -
noted "'output_0.npy' is tensor 'tail.y', by (shape|content)"
folder npy-of-integers-times-scale
make --npy --type f4 --scale 0.01 control_relu.y_quantized=control_relu.y_quantized
judge 0 ' bpu: 1 observed, 1 exact' -
expect_out 'is float32 here and int8 in the model' "$folder: told"
folder bin-of-integers-times-scale
make --type f4 --scale 0.01 control_relu.y_quantized=control_relu.y_quantized
judge 0 ' bpu: 1 observed, 1 exact' -
folder int32-for-int8
make --type i4 control_relu.y_quantized=control_relu.y_quantized
judge 0 ' bpu: 1 observed, 1 exact' "another integer type"

# ---- matched by what it holds -----------------------------------------------
folder by-shape
make --layout x5 tail.y_quantized=layer-0-bpu-net-output-0-unnamed_7
judge 0 ' bpu: 1 observed, 1 exact' -
noted 'by (shape and type|content), '
folder by-content
make --layout x5 pw.y_quantized=layer-0-bpu-net-output-0-unnamed_7
judge 0 ' bpu: 1 observed, 1 exact' -
noted 'by content, that of one tensor alone'
folder by-nothing
make --layout x5 pw.y_quantized=layer-0-bpu-net-output-0-unnamed_7
tool poke "$work/$folder/layer-0-bpu-net-output-0-unnamed_7.bin" 0
judge 5 'bpu: nothing observed' "type and shape fit .*'pw.y_quantized', 'sigmoid.y_quantized'.*left out"
folder unknown-files
make pw.y_quantized=pw.y_quantized
echo hello >"$work/$folder/readme.md"
head -c 7 /dev/zero >"$work/$folder/layer-3-Cast-x-output-0-what.bin"
judge 0 ' bpu: 1 observed, 1 exact' "'layer-3-Cast-x-output-0-what.bin': neither a tensor"
expect_err "'readme.md': no text of the simulator, no dump" "$folder: and others"
noted 'what.bin'

# ---- several samples, duplicates, missing files -----------------------------
folder samples
make pw.y_quantized=$bpu-0-pw.y_quantized
mkdir "$work/two"
mv "$work/$folder" "$work/two/0000"
mkdir "$work/two/0001"
cp "$work/two/0000"/* "$work/two/0001"
tool make "$case/golden/0001.npz" "$work/two/0001" pw.y_quantized=$bpu-0-pw.y_quantized
run "$assay" run "$case" --sim "$case/golden" --bpu "$work/two" --local
expect_rc 0 "$folder"
expect_out ' bpu: 1 observed, 1 exact' "$folder: both"
folder twice-equal
make --layout x5 pw.y_quantized=$bpu-0-pw.y_quantized
make pw.y_quantized=layer-1-HzCpu-x-input-0-pw.y_quantized
judge 0 ' bpu: 1 observed, 1 exact' -
folder twice-different
make --layout x5 pw.y_quantized=$bpu-0-pw.y_quantized control_relu.y_quantized=$bpu-1-control_relu.y_quantized
make pw.y_quantized=layer-1-HzCpu-x-input-0-pw.y_quantized
tool poke "$work/$folder/layer-1-HzCpu-x-input-0-pw.y_quantized.bin" 4
judge 0 ' bpu: 1 observed, 1 exact' "given twice with different values: not trusted, left out"
folder too-many
python3 -c 'import sys
for i in range(65537):
    open("%s/%d.bin" % (sys.argv[1], i), "wb").close()' "$work/$folder"
judge 2 '' "more than 65536 files, expected those of one sample"
rm -r "${work:?}/$folder"
folder empty
judge 2 '' '0 samples, none with the name of one of the 1 input samples'

# ---- a board that computes otherwise ----------------------------------------
folder divergence
# shellcheck disable=SC2086
tool make "$case/sim/0000.npz" "$work/$folder" --layout x5 --mode 2 \
    same_s2_relu.y_quantized=$bpu-0-same_s2_relu.y_quantized pw.y_quantized=$bpu-1-pw.y_quantized
judge 1 '^unexplained: first culprit same_s2: ' -
expect_out 'last row and last column only' "$folder: where"
folder divergence-i32
tool make "$case/sim/0000.npz" "$work/$folder" --layout x5 \
    same_s2_relu.y_quantized=$bpu-0-same_s2_relu.y_quantized tail_nhwc2nchw_transposed_output0=$bpu-1-tail_nhwc2nchw_transposed_output0
judge 1 '^unexplained: first culprit same_s2: ' -
for bits in 0000c07f 0000c0ff 0000807f 000080ff; do
    folder "divergence-not-finite-$bits" # no integers, whatever the bits are
    make tail.y=model_infer_output_0_tail.y
    tool spread "$work/$folder/model_infer_output_0_tail.y.bin" $bits
    judge 1 ' bpu: 1 observed, 1 diverged' -
done

# ---- what the accelerator received -------------------------------------------
of natural/depthwise
image() { # image OPTION...: the input and the output, as one node has them
    tool make "$inputs" "$work/$folder" "$@" x=layer-0-bpu-net-input-0-x
    make y=layer-0-bpu-net-output-0-y
}
inputs=$case/inputs/0002.npz
golden=$case/golden/0002.npz
folder received
image --mode 2
judge 0 ' bpu: 1 observed, 1 exact' -
noted "input-0-x.bin: tensor 'x', by name"
folder received-bytes # as an image has them: the runtime takes 128 away
image --type u1 --perm 0231
judge 0 ' bpu: 1 observed, 1 exact' -
noted "tensor 'x', by name; NHWC, dense; a byte image, 128 taken away"
folder received-other
image --info x5 --side input --poke 9
judge 1 "^input: first culprit .*the compiled model's own input" -
expect_out ' bpu: 1 observed' "$folder: the layers"
folder received-constant # 0 or -128: nothing says which
inputs=$case/inputs/0000.npz
golden=$case/golden/0000.npz
image --type u1
judge 0 ' bpu: 1 observed, 1 exact' "all are alike: left out"
unset inputs
pre=${ASSAY_SHARED:-/nowhere}/cases-x5/ops_pre
if [ -f "$pre/model.onnx" ]; then
    case=$pre
    cp "$pre/inputs/0000.npz" "$work/image.npz"
    golden=$pre/golden/0000.npz
    folder received-planes
    planes=layer-0-bpu-net-input-0-x
    tool nv12 "$work/image.npz" "$work/$folder" x ${planes}_y ${planes}_uv 32
    make --layout x5 head.y_quantized=$bpu-0-head.y_quantized
    judge 0 'bpu: [0-9]+ observed' 'luma is the case.s input, chroma is not its replication'
    tool halve "$work/image.npz" x
    folder received-replicated # against the host's own calculation
    tool nv12 "$work/image.npz" "$work/$folder" x ${planes}_y ${planes}_uv 24
    run "$assay" run -m "$pre/model.onnx" -i "$work/image.npz" \
        --bpu "$work/$folder" --local --json "$work/report.json" --force
    expect_not_out '^input: ' "$folder: the input is the case's"
    noted "tensor 'x', by its planes of luma and chroma; chroma replicated, 128 taken"
    folder received-other-planes
    tool nv12 "$work/image.npz" "$work/$folder" x ${planes}...y0.data ${planes}...uv0.data 32 1
    make --layout x5 head.y_quantized=$bpu-0-head.y_quantized
    judge 1 "^input: first culprit .*the compiled model's own input" -
    noted "tensor 'x', by its planes of luma and chroma; chroma replicated, 128 taken"
else
    skip "the shared cases are not there: planes of an image"
fi

# ---- every tensor of real networks -------------------------------------------
for name in digits ops_conv ops_mat ops_i16c; do
    real=${ASSAY_SHARED:-/nowhere}/cases-x5/$name
    if [ ! -f "$real/model.onnx" ]; then
        skip "the shared cases are not there: $name"
        continue
    fi
    folder "real-$name"
    golden=$(echo "$real"/golden/* | cut -d' ' -f1)
    n=$(tool all "$golden" "$work/$folder" --layout x5 --mode 2)
    run "$assay" run -m "$real/model.onnx" -r "$golden" --local \
        -i "$(echo "$real"/inputs/* | cut -d' ' -f1)" --bpu "$work/$folder"
    expect_rc 0 "$folder"
    expect_out "bpu: $n observed, $n exact" "$folder: all $n"
done

# ---- broken files: one sentence, exit 2 --------------------------------------
of horizon
f=$bpu-0-pw.y_quantized
broken() { folder "$1"; make --layout x5 --mode "${2:-1}" pw.y_quantized=$f; }
broken truncated
tool cut "$work/$folder/$f.bin" 400
judge 2 '' "400 bytes, but tensor 'pw.y_quantized' \(1x6x6x6 int16\) has 432: cut"
broken truncated-padding
tool cut "$work/$folder/$f.bin" 500
judge 5 'bpu: nothing observed' "500 bytes fit no known layout of 'pw.y_quantized'"
broken too-long
tool add "$work/$folder/$f.bin" 9
judge 5 'bpu: nothing observed' "585 bytes fit no known layout"
broken empty-file
: >"$work/$folder/$f.bin"
judge 2 '' "0 bytes, but tensor"
broken big-endian
tool swap "$work/$folder/$f.bin" 2
judge 2 '' "its bytes are swapped: as big-endian it is the reference of 'pw.y_quantized'"
broken big-endian-by-text 3
tool swap "$work/$folder/$f.bin" 2
judge 2 '' 'its bytes are swapped'
folder big-endian-i32
make tail.y_quantized=$bpu-0-tail.y_quantized
tool swap "$work/$folder/$bpu-0-tail.y_quantized.bin" 4
judge 2 '' "its bytes are swapped: as big-endian"
folder big-endian-f32
make tail.y=tail.y
tool swap "$work/$folder/tail.y.bin" 4
judge 2 '' "its bytes are swapped: as big-endian"
broken text-differs 3
tool retype "$work/$folder/$f.txt" 17 12345
judge 2 '' "element 17 is -?[0-9]+, but '$f.txt' says 12345: not of the same run"
broken text-differs-aligned 2
tool retype "$work/$folder/$f.txt" 3 -7777
judge 2 '' "element 3 is -?[0-9]+, but '$f.txt' says -7777"
broken text-too-short 3
tool cut "$work/$folder/$f.txt" 200
judge 2 '' "216 elements, but '$f.txt' lists [0-9]+: cut"
broken text-of-words 3
tool retype "$work/$folder/$f.txt" 5 five
judge 2 '' "element 5: expected a number, found 'five'"
folder padding-not-zero
make --layout x5 --fill 7 pw.y_quantized=$f
judge 5 'bpu: nothing observed' "but its padding is not zero: left out, put the text of model_info"
folder two-layouts
of natural/add
make y=layer-0-bpu-net_subgraph_0-output-0-y
tool poke "$work/$folder/layer-0-bpu-net_subgraph_0-output-0-y.bin" 5
judge 5 'bpu: nothing observed' "its layout is 'the model's order, dense' or 'NHWC, dense': left out"
folder two-layouts-and-text # which is in the file's order, too
make --perm 0231 --mode 3 --poke 5 y=layer-0-bpu-net_subgraph_0-output-0-y
judge 5 'bpu: nothing observed' "its layout is"
folder two-layouts-and-info
make --perm 0231 --info ucp --poke 5 y=layer-0-bpu-net_subgraph_0-output-0-y
judge 1 'bpu: 1 observed, 1 diverged' -
expect_out ' 1/65536 .*[[]0,0,0,5[]]' "$folder: one element, where it is"
of horizon
folder npy-of-another-shape
make --npy control_relu.y_quantized=pw.y_quantized
judge 1 ' bpu: 1 observed, 1 diverged' 'another integer type'
folder bad-model-info
make pw.y_quantized=$f
printf 'input[0]:\nname: x\nvalid shape: (1,a)\ntensor type: S8\n' >"$work/$folder/model_info.txt"
judge 2 '' "line 3: expected numbers, found '\(1,a\)'"

echo "$folders folders"
expect "at least 40 folders" test "$folders" -ge 40
finish
