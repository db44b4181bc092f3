#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Field cases, section "Operators".
# timeout: 240
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx

# A vector kernel that is wrong: SDOT of the agent's own code does nothing.
if have_arm && python3 "$support/break_kernels.py" sdot "$arm_assayd" \
    "$work/broken" >"$work/sdots"; then
    chmod +x "$work/broken"
    target="exec:$QEMU -cpu cortex-a76 $work/broken --stdio --no-self-test"
    expect "field 37: instructions of a vector kernel are broken" \
        test "$(cat "$work/sdots")" -gt 10
    run "$assay" run "$digits" --target "$target" -q --json "$json"
    flatten
    expect_rc 4 "field 37: a kernel of the board is wrong"
    expect_flat "assay-kernel: first culprit conv1: assay's vector kernel assay_conv2d_x8w8__dotprod is wrong on this CPU" \
        "field 37: the kernel is named"
    expect_flat 'columns host equal · cpu-scalar equal · cpu differs in [0-9]+/4096' \
        "field 37: host and cpu-scalar are right"
    expect_flat 'your model is not judged, retry with --cpumask 0' \
        "field 37: no word against the model"
    report "field 37: every layer of that kernel, no other" '
assert r["verdict"] == "assay-kernel"
bad = {n for n in C}
assert bad == {n for n in L if L[n]["kernel"].endswith("__dotprod")}, bad'
    run "$assay" run "$digits" --target "$target" -q --cpumask 0
    expect_rc 0 "field 37: the plain kernels judge the model"
else
    skip "field 37: no agent for an emulated board"
fi
made right "$model" "$digits/inputs"
run "$assay" run "$digits" --local -q --json "$json"
report "field 37: op by op, with the kernel that ran" '
assert all(l["kernel"].startswith("assay_") for l in r["layers"])'

# A table that is read by another index.
made right "$nash/model.mlir" "$nash/inputs"
made got "$nash/model.mlir" "$nash/inputs" block.act=O3=sign
pin got "$nash"
expect_rc 1 "field 39: a table is read by another index"
expect_flat 'looks depends on the input element alone \([0-9]+ of its values, -[0-9]+\.\.127\)' \
    "field 39: the output is a function of the input byte, negative ones too"
expect_flat 'cause O3=sign: LUT index sign .* ([0-9]+)/\1 differing, 480/480 all proved' \
    "field 39: O3"
run "$assay" explain "$nash" --got "$work/got" --layer block.act --at 0,0,0,0
expect_out '^  table\[124\] +-10 +reference -10 +host -10 +cpu -10 +got -43 \(differs\)$' \
    "field 39: out[in] of one element, and what was got"
expect_out 'the table holds that for the elements -?[0-9]+' \
    "field 39: and where the table has what was got"
# Data of [0,1] hides it: what was never reached is not proved.
python3 "$support/sim_files.py" keep "$work/right" block.project block.act
cp -r "$work/right" "$work/same"
pin same "$nash"
expect_rc 0 "field 39: an equal table"
expect_flat 'got: 2 observed, 2 exact; 13 not observed' \
    "field 39: and what was not observed"

# An index of the largest: ties, and what an index is.
mkdir "$work/place"
python3 - "$nash/model.mlir" "$work/place/model.mlir" <<'PY'
import sys
lines = open(sys.argv[1]).read().replace(
    "tensor<1x1x1x6xf32> {hbir.desc", "tensor<1x6x5x1xsi8> {hbir.desc").replace(
    "return %30 : tensor<1x1x1x6xf32>", "return %30 : tensor<1x6x5x1xsi8>")
out = []
for line in lines.split("\n"):
    if "%30 = " in line:
        line = ('    %30 = "b30.reduce"(%20) <{dims = [3], keepDim = true, '
                'mode = "argmax"}> {instanceId = 30 : i64} : '
                '(tensor<1x6x5x8xsi8>) -> tensor<1x6x5x1xsi8> loc("place")')
    out.append(line)
open(sys.argv[2], "w").write("\n".join(out))
PY
place=$work/place/model.mlir
made right "$place" "$nash/inputs"
made got "$place" "$nash/inputs" place=O12
pin got -m "$place" -i "$nash/inputs" -r "$work/right"
expect_rc 1 "field 40: an index is another one"
expect_flat 'first culprit place: .*cause O12: tie order in argmax / top-k / NMS ([0-9]+)/\1 differing, 60/60 all proved' \
    "field 40: scores that are equal, in another order"
expect_flat 'where .* \([0-9] of [0-9] differing\)' "field 40: only where they are"
made got "$place" "$nash/inputs" place=O13
pin got -m "$place" -i "$nash/inputs" -r "$work/right"
expect_flat 'first culprit place: .*where 60 of 60, all ±1, one-sided.*cause O13: index type / width' \
    "field 40: an index that is another kind of index"
expect_flat '\[0,0,0,0\] exp [0-7] got [1-8] diff 1' "field 40: compared as integers"
finish
