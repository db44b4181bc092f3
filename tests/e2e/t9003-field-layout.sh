#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Field cases, sections "Layout, stride, packing, images" and "Operators".
# timeout: 240
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx
conv1=conv1.y_QuantizeLinear_Output
conv2=conv2.y_QuantizeLinear_Output
input=input_QuantizeLinear_Output
fc=logits_QuantizeLinear_Output
rearrange() { python3 "$support/rearrange.py" "$work/got" "$@"; }
keep() { python3 "$support/sim_files.py" keep "$work/got" "$@"; }
fresh() {
    rm -rf "$work/got"
    cp -r "$work/right" "$work/got"
}
made right "$model" "$digits/inputs"

# A debugger that compares NCHW with NHWC, in every layer.
fresh
maps="conv1 relu1 conv2 relu2 dw3 relu3 pw4 relu4 conv5 add5 relu5 maxpool"
for name in $maps; do
    rearrange $name.y_QuantizeLinear_Output permute 0231
done
# shellcheck disable=SC2086 # words
keep $input $(printf '%s.y_QuantizeLinear_Output ' $maps)
pin got "$digits"
expect_rc 1 "field 28: NCHW against NHWC"
expect_flat 'layout: first culprit conv1: the same data, NCHW -> NHWC; no arithmetic differs' \
    "field 28: identical under a permutation, which is named"
expect_flat '\(L1\): 4096 of 4096 elements compared, all equal' \
    "field 28: all of it"
for name in '3 conv2' '5 dw3' '7 pw4' '9 conv5' '12 maxpool'; do
    expect_flat "layout: $name, column got layout the same data, [A-Z]+ -> [A-Z]+ \(L1\)" \
        "field 28: so is $name, whose input stands in another order, too"
done
expect "field 28: nothing of a percentage, a cosine or a cause" \
    bash -c '! sed "s/.*layout: first/layout: first/" "$1" |
        grep -Eq "%|cosine|cause "' _ "$work/flat"

# A buffer that is smaller than the attribute says.
sizes() { # sizes DIR NAME SHAPE: the first elements, in another shape
    python3 - "$support" "$@" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
import sim_files
path, name, shape = sys.argv[2], sys.argv[3], eval(sys.argv[4])
arrays = sim_files.read(path)
descr, old, start = sim_files.parse(arrays[name])
n = {"|i1": 1, "<f4": 4}[descr]
for d in shape:
    n *= d
header = sim_files.npy("|i1", (), [])[:0]
text = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (descr, shape)
text += " " * (63 - (10 + len(text)) % 64) + "\n"
arrays[name] = (arrays[name][:8] + len(text).to_bytes(2, "little") +
                text.encode() + arrays[name][start:start + n])
sim_files.write(path, arrays)
PY
}
fresh
sizes "$work/got/0000.npz" $conv2 '(1, 16, 4, 3)'
pin got "$digits"
expect_refused 2 "0000.npz: '$conv2' is 1x16x4x3, but the model's tensor .* is 1x16x4x4" \
    "field 29: both shapes are printed, the smaller buffer is refused"
cp "$digits/inputs/0000.npz" "$work/in.npz"
chmod u+w "$work/in.npz"
sizes "$work/in.npz" input '(1, 1, 8, 7)'
run "$assay" run -m "$model" -i "$work/in.npz" --local -q
expect_refused 2 "'input' is 1x1x8x7, but the model's tensor is 1x1x8x8" \
    "field 29: of inputs as well"
fresh
keep $input $conv1
rearrange $conv1 stride 8 32
pin got "$digits"
expect_flat 'layout: first culprit conv1: the same data, rows 32 bytes apart, read as 8' \
    "field 29: a stride that one side did not know, with both numbers"

# Packed channels that are read as a shape.
for pack in 4 8; do
    made got "$model" "$digits/inputs" conv1=L3=$pack
    keep $input $conv1
    pin got "$digits"
    expect_rc 1 "field 31: channels packed by $pack"
    expect_flat "channels in blocks of $pack, read as not packed \(L3\): 4096 of 4096 elements compared, all equal" \
        "field 31: L3, by $pack"
done

# Tail channels: layers of 6 and 5 channels differ, of 8 they do not.
copy "$horizon" case
made got "$horizon/model.onnx" "$horizon/inputs" pw=R4=double4 \
    k2_bottom=R4=double4 control=R4=double4 -- --scales "$horizon/scales.json"
pin got "$work/case"
expect_rc 1 "field 32: layers differ"
report "field 32: where C%4 != 0, and there in the last channels" '
assert C == ["pw", "k2_bottom", "control"], C
assert [L[n]["shape"][-1] % 4 for n in C] == [2, 1, 2]
assert L["same_s2"]["shape"][-1] % 4 == 0
assert L["same_s2"]["columns"]["got"]["status"] == "exact"
assert all(e["index"][-1] >= 4 for e in L["pw"]["columns"]["got"]["first"])
p = r["pattern"]
assert p["modulus"] == 4 and not p["multiple"] and p["layers"] == 3, p
assert p["others"] >= 1 and p["cause"] == "R4=double4", p'
expect_flat 'pattern differs iff C%4≠0, C its channels: R4=double4 in these 3 layers' \
    "field 32: the rule"
expect_flat 'first culprit pw:.*looks [^:]*tail' "field 32: it looks like a tail"
expect_flat 'cause R4=double4: tail lanes round differently ([0-9]+)/\1 differing, ([0-9]+)/\2 all proved' \
    "field 32: and is one"

# The board sees another picture: its input is a layer of its own.
fresh
keep $input $conv1
rearrange $input reverse 3
pin got "$digits"
expect_rc 1 "field 34: the input adapter is compared"
expect_flat 'first culprit input_QuantizeLinear: the same data, columns in the opposite order' \
    "field 34: and blamed before any convolution"
run "$assay" show "$digits" -q
expect_out '^000 QuantizeLinear +input_QuantizeLinear ' \
    "field 34: it is layer 0"
made got "$model" "$digits/inputs" input_QuantizeLinear=R13=floor
pin got "$digits"
expect_flat 'first culprit input_QuantizeLinear: .*(cause|or) R13=floor: ' \
    "field 34: its arithmetic, too"

# Border modes of a resize.
made right "$nash/model.mlir" "$nash/inputs"
for edit in align_corners half_pixel; do
    made got "$nash/model.mlir" "$nash/inputs" up=O2=$edit
    pin got "$nash"
    expect_rc 1 "field 35: a resize by $edit"
    expect_flat "first culprit up: .*cause O2=$edit: resize: .* proved" \
        "field 35: O2=$edit"
done
finish
