#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Field cases, section "Requantise & rounding".
# timeout: 180
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx

# 50 samples: conv1 has 51200 elements, as in report 3.
many=$work/many.npz
python3 "$support/many_inputs.py" "$many" input 1,1,8,8 50 0 1 7
made right "$model" "$many"
many=(-m "$model" -i "$many" -r "$work/right")

# Two roundings where the innermost axis is a multiple of 4, one elsewhere.
made got "$model" "${many[3]}" conv1=R1 conv2=R1 dw3=R1 pw4=R1 conv5=R1 pw6=R1
pin got "${many[@]}"
expect_rc 1 "field 1: ARM is not x86"
expect_flat 'first culprit conv1:' "field 1: the first layer is named"
expect_flat 'where [0-9]+ of 51200, all ±1' "field 1: by one"
report "field 1: R1 in layers with C%4 = 0, none elsewhere" '
assert set(C) == {"conv1", "conv2", "dw3", "pw4", "conv5", "pw6"}, C
assert all("R1" in H[n] and "R3" not in H[n] for n in C), H
assert all(L[n]["shape"][-1] % 4 == 0 for n in C)
c = {n: L[n]["columns"]["got"] for n in C}
assert c["conv1"]["max_lsb"] == 1
assert all(0 < c[n]["isolated"]["mismatch"] < 200 for n in C), c
assert L["fc"]["shape"][-1] % 4 == 2 and "fc" not in H
p = r["pattern"]
assert p == {"column": "got", "modulus": 4, "multiple": True, "layers": 6,
             "others": 1, "cause": "R1"}, p'
expect_flat 'pattern differs iff C%4=0, C its channels: R1 in these 6 layers, fp32_rne as declared in 1 other of this kind' \
    "field 1: in one sentence"
made got "$model" "${many[3]}" conv1=R1 conv2=R1 pw4=R1 pw6=R1
pin got "${many[@]}"
report "field 1: no such sentence where it is not so" 'assert r["pattern"] is None'

made got "$model" "$digits/inputs" conv2=R1
pin got "$digits"
expect_flat 'cause R1: rounds twice [0-9]+/[0-9]+ differing, 1024/1024 all proved' \
    "field 2: R1 is hit"
at=$(python3 -c '
import json, sys
l = [l for l in json.load(open(sys.argv[1]))["layers"] if l["name"] == "conv2"]
print(",".join(map(str, l[0]["columns"]["got"]["first"][0]["index"])))' "$json")
run "$assay" explain "$digits" --layer conv2 --at "$at" --got "$work/got" \
    --arith conv2=q31_double
expect_rc 0 "field 2: one of the elements"
expect_out '^  acc \(32 bits\) +16145   reference: \[15458, 16144\]' \
    "field 2: its accumulator, one too high for 23"
expect_out '^  srdhm [0-9]{10} +[0-9]+   reference: ' "field 2: its multiplier"
expect_out '^  shr 9 half_away +24   reference: 23 \(floor' \
    "field 2: its shift; the double rounding"
expect_out 'reference 23 \(differs\).* got 24' "field 2: 24 where 23 is expected"

made got "$model" "${many[3]}" conv1=R1
pin got "${many[@]}"
expect_rc 1 "field 3: few elements are enough"
expect_flat 'where [0-9]{1,3} of 51200, all ±1, both signs' \
    "field 3: as many as the user's own script said, by one"
expect_flat 'cause R1: rounds twice .* ([0-9]+)/\1 all proved' "field 3: and why"
expect_flat 'where .* 0\.[0-9]+ %, 1 in 2\^(8|9)\.[0-9]: a second rounding by (8|9) bits would do so' \
    "field 3: the rate, and what n it speaks for"
"$assay" show "$digits" --layer conv1 --arith conv1=q31_double -q >"$work/out"
expect_out '^ +shr [789](\.\.)? .*half_away' \
    "field 3: which is the shift of the second rounding"
report "field 3: the rate, and that the reference rounds once" '
n = L["conv1"]["columns"]["got"]["mismatch"]
assert 0 < n / 51200 < 0.005, n
assert "R3" not in H["conv1"] and C == ["conv1"]'

run "$assay" run "$digits" --local --arith conv2=q31_double -q
expect_rc 1 "field 4: a policy that is not the reference's"
expect_out '^# .*numerics onnxruntime-x86 +reference onnxruntime [0-9.]+ x86_64, opt all' \
    "field 4: the header says whose arithmetic both sides have"
expect_out "^# arithmetic of 'conv2' overridden: q31_double" \
    "field 4: and where it was overridden"
expect_out '^# .*board local \(scalar, kernels scalar, agent' \
    "field 4: and which kernels ran"

run "$assay" show "$digits" -q
expect_out ' conv2 .* fp32_rne ' "field 5: the policy of convolutions"
expect_out ' add5 .* ort_fma ' "field 5: of additions"
expect_out ' avgpool .* f32_seq_zpin ' "field 5: of means, each op its own"
copy "$horizon" case
made sim "$horizon/model.onnx" "$horizon/inputs" pw=R18=half_even -- \
    --scales "$horizon/scales.json"
mv "$work/sim" "$work/case/sim"
run "$assay" run "$work/case" --local -q --json "$json"
expect_rc 1 "field 5: ±1 is injected"
report "field 5: the injected ±1 and the inherited more are told apart" '
c = {n: l["columns"]["sim"] for n, l in L.items()}
assert C == ["pw"], C
assert c["pw"]["max_lsb"] == 1 and c["pw"]["status"] == "diverged"
late = [n for n in c if c[n]["status"] == "inherited"]
assert {"sigmoid", "k2_bottom"} <= set(late), late
assert max(c[n]["max_lsb"] for n in late) > 1
assert all(c[n]["isolated"]["mismatch"] == 0 for n in late)'

made got "$model" "${many[3]}" conv2=R1 conv5=R13=floor avgpool=R13=floor
pin got "${many[@]}"
report "field 6: each layer has the cause that fits it best" '
assert C == ["conv2", "conv5", "avgpool"], C
assert "R1" in H["conv2"] and "R13=floor" not in H["conv2"]
assert "R13=floor" in H["conv5"] and "R1" not in H["conv5"]
assert "R13=floor" in H["avgpool"] and "R1" not in H["avgpool"]'
expect_flat 'cause R1: .* cause R13=floor: .* cause R13=floor: ' \
    "field 6: in the report as well"

# Scales of 4 and biases near 2^30: 33 bits before the last shift.
mkdir "$work/large"
cp "$model" "$work/large/"
chmod u+w "$work/large/model.onnx"
patch() { python3 "$support/patch_model.py" "$work/large/model.onnx" "$@"; }
patch conv1.w_scale all 4
patch conv1.b_quantized_scale all 0.03149606
patch conv1.b_quantized 0 1147000000 -1147000000 1500000000 -900000000
large=(-m "$work/large/model.onnx" -i "$digits/inputs" -r "$work/golden"
    --arith conv1=q31_single)
made golden "${large[1]}" "$digits/inputs" -- --arith conv1=q31_single
made got "${large[1]}" "$digits/inputs" conv1=R9 -- --arith conv1=q31_single
pin got "${large[@]}"
expect_rc 1 "field 8: a 33-bit value is cut"
expect_flat 'where [0-9]+ of 4096, at most 2[0-9]{2} LSB' "field 8: wild values"
expect_flat 'cause R9: 33-bit value cut to 32 .* proved' "field 8: R9"
report "field 8: sizes of the differences, which saturate" '
c = [c for c in r["layers"] if c["name"] == "conv1"][0]
assert c["columns"]["got"]["max_lsb"] == 255, c["columns"]["got"]
assert len(c["lsb_hist"]) > 2
first = c["columns"]["got"]["first"]
assert all(e["ref"] in (-128, 127) for e in first[:2]), first[:2]'

# A multiplier of 16 bits where 31 were meant.
run "$assay" show "$digits" --layer conv2 --arith conv2=q31_double -q
cp "$work/out" "$work/decoded"
run python3 -c '
import re, sys
t = open(sys.argv[1]).read()
sx, sw, sy = (float(re.search(p + r".* scale ([0-9.e-]+)", t).group(1))
              for p in ("relu1", "conv2.w", "output "))
m, s = (int(re.search(p + " ([0-9]+)", t).group(1)) for p in ("srdhm", "shr"))
assert abs(m / 2.0 ** (31 + s) / (sx * sw / sy) - 1) < 1e-7, (m, s, sx, sw, sy)
' "$work/decoded"
expect_rc 0 "field 9: m / 2^(31+s) of show is Sx Sw / Sy"
made got "$model" "${many[3]}" conv2=Q5=16
pin got "${many[@]}"
expect_flat 'cause Q5=16: multiplier of few bits .* proved' "field 9: 16 bits"
expect_flat 'a whole number of 2\^-16: too few bits, expected Q31' \
    "field 9: and what was meant"
run "$assay" lint "$work/made.slice" -q
flatten
expect_flat "the result of layer 'conv2' multiplies by ([0-9]+) \* 2\^-16 = 0\.00[0-9]+ \(channel [0-9]+\), but its scales say 0\.00[0-9]+: -?0\.[0-9]+ % off, a multiplier of too few bits \[factor\]" \
    "field 9: lint decodes multiplier and shift, before anything runs"
run "$assay" lint "$model" -q
expect_not_out '\[factor\]' "field 9: and finds nothing where 31 bits are"

# The reference is the odd one: the board is right.
made odd "$model" "$digits/inputs" conv2=R1
target=local
options=(--local)
if have_arm; then
    target=$(arm_target cortex-a76)
    options=(--target "$target")
else
    skip "field 11: on an emulated board: no agent for it, or no emulator"
fi
run "$assay" run -m "$model" -i "$digits/inputs" -r "$work/odd" -q \
    "${options[@]}"
flatten
expect_rc 1 "field 11: board and reference differ"
if have_arm; then
    expect_flat 'columns host differs in 4/1024 · cpu-scalar differs in 4/1024 · cpu differs in 4/1024' \
        "field 11: host, cpu-scalar and cpu are one"
fi
expect_flat 'host and cpu agree with each other, not with the reference' \
    "field 11: the reference is the odd one"

# Two boards of other roundings, and two of the same.
if have_arm; then
    for cpu in cortex-a53 cortex-a76; do
        run "$assay" run "$digits" --target "$(arm_target $cpu)" -q \
            --save-outputs -o "$work/$cpu"
        expect_rc 0 "field 12: $cpu"
    done
    expect "field 12: two boards, the same bytes" \
        diff -r "$work/cortex-a53/outputs" "$work/cortex-a76/outputs"
    # Boards by samples: a table of hashes, since equal tensors give equal
    # files, whenever they are written.
    sleep 2
    run "$assay" run "$digits" --local -q --save-outputs -o "$work/here"
    run "$assay" run "$digits" --local -q --save-outputs -o "$work/other" \
        --arith conv2=q31_floor
    (cd "$work" && sha256sum ./*/outputs/0000.npz) >"$work/hashes"
    expect "field 12: a table of hashes: three boards agree, one does not" \
        test "$(cut -d' ' -f1 "$work/hashes" | sort | uniq -c |
            awk '{print $1}' | sort | tr '\n' ' ')" = "1 3 "
    mv "$work/cortex-a53/outputs" "$work/a53"
    pin a53 -m "$model" -i "$digits/inputs" -r "$work/cortex-a76/outputs"
    expect_rc 0 "field 12: any two boards can be compared: equal"
else
    skip "field 12: no agents for emulated boards"
fi
pin odd "$digits"
expect_rc 1 "field 12: any two boards can be compared: they differ"
expect_flat 'cause R1: rounds twice' "field 12: in the rounding"

made got "$model" "$digits/inputs" conv5=R1
pin got "$digits"
expect_flat 'cause R1: rounds twice 2/2 differing, 2048/2048 all proved' \
    "field 14: hits of the cause, of both kinds"
expect_flat '\(Q5=16 explains 2/2 but breaks 109 others: not it\)' \
    "field 14: and of what explains those that differ alone"
report "field 14: hits and totals of every hypothesis that came near" '
h = [h for h in r["hypotheses"] if h["name"] == "conv5"]
assert len(h) > 1
for x in h:
    assert 0 <= x["differing_matched"] <= x["differing"]
    assert 0 <= x["all_matched"] <= x["all"] == 2048
    assert x["proved"] == (x["all_matched"] == x["all"])
assert any(not x["proved"] for x in h)'

for numerics in onnxruntime-x86:ort_fma onnxruntime-aarch64:ort_neon; do
    run "$assay" show "$digits" -q --numerics "${numerics%:*}"
    expect_out " add5 .* ${numerics#*:} " \
        "field 15: the policy of each op under ${numerics%:*}"
done
run "$assay" show "$horizon" -q
expect_out ' pw .* conv .* ' "field 15: and of an accelerator"
run "$assay" run "$horizon" --local -q
expect_out '^# numerics bayes-e \(built in\): [0-9]+ of [0-9]+ layers proved' \
    "field 15: which of it is proved, not assumed"
finish
