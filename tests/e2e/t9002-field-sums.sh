#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Field cases, section "Overflow, bias, zero point, padding".
# timeout: 240
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx
conv1=conv1.y_QuantizeLinear_Output
input=input_QuantizeLinear_Output

# patched NAME CONSTANT NUMBERS...: $work/NAME.onnx, or more of it.
patched() {
    [ -e "$work/$1.onnx" ] || cp "$model" "$work/$1.onnx"
    chmod u+w "$work/$1.onnx"
    python3 "$support/patch_model.py" "$work/$1.onnx" "${@:2}" ||
        not_ok "patch $*"
}

# Extremes: inputs and weights that reach -128 and 127.
python3 "$support/many_inputs.py" "$work/extreme.npz" input 1,1,8,8 2 -2 2 3
low=(-128 -128 -128 -128 -128 -128 -128 -128 -128)
high=(127 127 127 127 127 127 127 127 127)
patched extreme conv1.w_quantized 0 "${low[@]}" "${high[@]}"
made right "$work/extreme.onnx" "$work/extreme.npz"
extreme=(-m "$work/extreme.onnx" -i "$work/extreme.npz" -r "$work/right")

# narrow GROUP: $work/got, products of conv1 summed in 16 bits.
narrow() {
    rm -rf "$work/got"
    cp -r "$work/right" "$work/got"
    python3 "$support/narrow_sums.py" "$work/got" "$work/extreme.onnx" conv1 \
        $input 1 1 "$1" || not_ok "narrow sums: $1"
    python3 "$support/sim_files.py" keep "$work/got" $conv1 $input
    pin got "${extreme[@]}"
}
narrow 1
expect_rc 0 "field 17: sums of 32 bits are the engine's (our second computer)"

narrow 2
expect_rc 1 "field 17: pairs of products in 16 bits"
expect_flat 'cause A1=pairs: 16-bit partial sums wrap ([0-9]+)/\1 differing, 2048/2048 all proved' \
    "field 17: A1"
expect_flat 'first culprit conv1.*all mismatches in channels 0..0 of 16' \
    "field 17: only where -128 meets -128"
first=$(python3 -c '
import json, sys
l = [l for l in json.load(open(sys.argv[1]))["layers"] if l["name"] == "conv1"]
e = l[0]["columns"]["got"]["first"][0]
print(",".join(map(str, e["index"])), e["sample"])' "$json")
run "$assay" explain "${extreme[@]}" --got "$work/got" --layer conv1 \
    --at "${first% *}" --sample "${first#* }"
expect_out '^  acc \(32 bits\) +-?[0-9]+   got: ' \
    "field 17: the accumulator of one element, and what it had to be"
expect_out 'got -?[0-9]+ \(differs\)' "field 17: which the other one lost"

run "$assay" run "${extreme[@]}" --local -q --json "$json"
expect_rc 0 "field 17: the accumulators of a run are looked at"
report "field 17: how far they went, in each layer" '
a = L["conv1"]["accumulator"]
assert a["exceeds_16"] and not a["saturated"] and a["min"] < -65536, a
assert a["headroom_bits"] == 31 - max(a["max"].bit_length(),
                                      (-a["min"] - 1).bit_length()), a'
cp "$json" "$work/extreme.json"
run "$assay" run "$digits" --local -q --json "$json"
expect_out '^ never reached: a tie in [0-9]+ of [0-9]+ layers that round; ' \
    "field 18: what dull data never reached"
report "field 18: by layer; extremes reach more" '
e = {l["name"]: l for l in json.load(open("'"$work/extreme.json"'"))["layers"]}
dull, sharp = (x["conv1"]["accumulator"] for x in (L, e))
assert sharp["min"] < dull["min"] and sharp["max"] > dull["max"]
assert len(e["conv1"]["never_reached"]) <= len(L["conv1"]["never_reached"])
assert L["conv1"]["never_reached"] != []'

# One wrapped sum less is 65536: which elements, and which kernels run here.
masks="0"
target=(--local)
if have_arm; then
    masks="0 neon dotprod"
    target=(--target "$(arm_target max)")
else
    skip "field 18: vector kernels: no agent for an emulated board"
fi
for mask in $masks; do
    run "$assay" run "${extreme[@]}" "${target[@]}" --cpumask $mask -q \
        --json "$json"
    expect_rc 0 "field 18: extremes, kernels forced by --cpumask $mask"
    report "field 18: and which kernel really ran: $mask" '
k = L["conv1"]["kernel"]
want = {"0": "__ref"}.get("'$mask'", "__'$mask'")
assert k.startswith("assay_conv2d_x8w8__") and k.endswith(want), k'
done

narrow 0
expect_rc 1 "field 19: nine products in 16 bits"
expect_flat 'looks accumulators differ by multiples of 2\^16' \
    "field 19: by how much the accumulators differ"
expect_flat 'cause A1=chain: 16-bit partial sums wrap ([0-9]+)/\1 differing, 2048/2048 all proved' \
    "field 19: A1, all of an element in one sum"
run "$assay" run "${extreme[@]}" --local -v
expect_err '^001 conv1: sums -[0-9]+\.\.[0-9]+, [0-9]+ bits of 32 free, more than 16 bits' \
    "field 19: headroom of the layer, and that 16 bits are too few"
run "$assay" lint "$work/extreme.onnx" -q
expect_out "symmetric weights 'conv1.w_quantized' of layer 'conv1' hold -128 in 9 of 144: kernels that pair products in 16 bits expect -127" \
    "field 19: what such kernels expect of weights, before anything runs"
narrow 4
expect_rc 1 "field 20: fewer at a time"
expect_flat 'cause A1=quads: .*2048/2048 all proved' "field 20: how many"
expect_flat 'Products are summed in 16 bits \(quads\): .* Widen after each product' \
    "field 20: and what to do"

# A bias that did not fit is said before anything runs.
run "$assay" lint "$digits" -q
expect_rc 0 "field 21: a model without such a bias"
expect_not_out 'bias-rail' "field 21: and nothing is said of biases"
patched clipped conv1.b_quantized 3 -2147483647
patched clipped conv2.b_quantized 5 2147483647
run "$assay" lint "$work/clipped.onnx" -q
expect_rc 2 "field 21: biases that were clipped"
expect_out "contradiction: the bias of layer 'conv1' is clipped to -2147483647 in channel 3, 1 of 16 channels: its scale is too small" \
    "field 21: which layer, which channel, and why"
expect_out "bias of layer 'conv2' is clipped to 2147483647 in channel 5" \
    "field 21: all of them"
expect_out "sums of layer 'conv1' can need 33 bits .*headroom -1 bits" \
    "field 21: what that does to the accumulator"

# The reference is wrong: zero point subtracted in 8 bits; bias unscaled.
patched zero input_zero_point all 20
zero=(-m "$work/zero.onnx" -i "$work/extreme.npz")
made right "$work/zero.onnx" "$work/extreme.npz"
for edit in Z1=wrap8 B3=real; do
    made odd "$work/zero.onnx" "$work/extreme.npz" conv1=$edit
    run "$assay" run "${zero[@]}" -r "$work/odd" "${target[@]}" -q --json "$json"
    flatten
    expect_rc 1 "field 22: the reference is wrong: $edit"
    expect_flat 'first culprit conv1: host and cpu agree with each other, not with the reference' \
        "field 22: and blamed"
    if have_arm; then
        report "field 22: host, cpu-scalar and cpu are one" '
c = L["conv1"]["columns"]
assert c["host"]["mismatch"] == c["cpu-scalar"]["mismatch"] == \
    c["cpu"]["mismatch"] > 0, c'
    fi
    report "field 22: with its cause, and what equals it here" '
assert "'$edit'" in H["conv1"] and set(H["conv1"]) <= {
    "'$edit'", "B1", "Z1=wrap8", "P1=zero"}, H'
done

# Padding folded into the bias, where zero points are not 0.
made got "$work/zero.onnx" "$work/extreme.npz" conv1=P3
pin got "${zero[@]}" -r "$work/right"
expect_rc 1 "field 23: windows at the border have fewer taps"
expect_flat 'where .*(first row[^(]*\(([0-9]+) of \2 differing\))' \
    "field 23: all of the mismatches are at the border"
expect_flat 'looks [^:]*edge ring, 1 wide' "field 23: 1 wide"
expect_flat 'cause P3: padding folded into bias .* proved' "field 23: P3"

# A scale of the wrong axis.
python3 "$support/patch_model.py" "$model" conv2.w_scale >"$work/scales" ||
    not_ok "field 26: the scales of the weights"
for edit in Q1 Q2=max; do
    made got "$model" "$digits/inputs" conv2=$edit
    pin got "$digits"
    expect_rc 1 "field 26: one scale for all channels: $edit"
    expect_flat "cause $edit: [a-z0-9' -]+( \([a-z ]+\))? ([0-9]+)/\2 differing, 1024/1024 all proved" \
        "field 26: $edit is named"
    expect_flat 'looks one ratio a channel, [01]\.?[0-9]* \(channel 14\) to 1\.[0-9]+ \(channel 5\) times what is expected' \
        "field 26: $edit: what its channels have in common"
    expect_flat 'channel [^ ]+ got / expected: 0: 1[.0-9]*, 1: [01][.0-9]*, .* 15: [01][.0-9]* ' \
        "field 26: $edit: the ratio of each channel, drawn and listed"
    report "field 26: $edit: they are the scales that were taken" '
import re
flat = open("'"$work"'/flat").read()
found = [float(x) for x in
         re.findall(r"\d+: ([\d.]+)", flat.split("got / expected:")[1])[:16]]
shown = open("'"$work"'/scales").read()
scale = [float(x) for x in shown.split()]
want = scale[0] if "'$edit'" == "Q1" else max(scale)
assert len(scale) == 16
for f, s in zip(found, scale):
    assert abs(f - want / s) < 0.06 * f, (f, want / s)'
done
run "$assay" explain "$digits" --got "$work/got" --layer conv2 --at 0,0,0,1
expect_out 'fmul 0\.00' "field 26: the factor of one channel"
finish
