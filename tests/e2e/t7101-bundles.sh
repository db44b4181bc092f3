#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slices and bundles: a model written as a slice is the same model; a mutated
# slice deviates in one layer, on the emulated board too; what --save-failing
# keeps is run again by replay and ends like the run that saved it.
# timeout: 240
. "$(dirname "$0")/lib.sh"

nash=$ROOT/tests/data/nash
files=(-i "$digits/inputs" -r "$digits/golden" --local -q)

# ---- a model as a slice ------------------------------------------------------
for model in "$digits" "$nash"; do
    name=$(basename "$model")
    run "$assay" import "$model" -q -o "$work/$name.slice"
    expect_rc 0 "$name: import -o"
    "$assay" show "$model" -q >"$work/model.txt" 2>&1
    run "$assay" show "$work/$name.slice" -q
    expect_rc 0 "$name: show the slice"
    expect "$name: the slice shows what the model shows" \
        cmp -s "$work/model.txt" "$work/out"
done
run "$assay" run -m "$work/digits.slice" "${files[@]}"
expect_rc 0 "the slice runs against the model's goldens"
expect_out '21 layers .*cpu: 21 exact' "every layer is exact"
cp -r "$digits" "$work/case"
chmod -R u+w "$work/case"
rm "$work/case/model.onnx"
cp "$work/digits.slice" "$work/case/model.slice"
run "$assay" run "$work/case" --local -q
expect_rc 0 "a case may hold a model.slice"
run "$assay" run -m "$work/nash.slice" -i "$nash/inputs" -r "$nash/golden" \
    --local -q
expect_rc 0 "a slice whose layers carry their multipliers runs too"
run "$assay" run -m "$work/digits.slice" "${files[@]}" --numerics \
    onnxruntime-aarch64
expect_rc 2 "--numerics with a slice"
expect_err "is a recorded slice, which keeps its arithmetic" "says so"
run "$assay" run -m "$work/digits.slice" "${files[@]}" --arith conv2=q31_double
expect_rc 1 "--arith with a slice"

# ---- mutate ------------------------------------------------------------------
run "$assay" mutate "$digits" --layer conv2 --list
expect_rc 0 "mutate --list"
expect_out '^P5=all:N +all padding' "an edit that a number is solved for"
expect_out '^R1 +rounds twice' "an edit without variants"
expect_out '^W1=[a-z_]+ +weights' "an edit with variants"
expect_out '^requant=q31_double ' "an arithmetic"
expect_out "^[1-9][0-9]+ edits change layer 'conv2' \(Conv\)" "their number"

mutate() { # mutate LAYER EDIT...
    local layer=$1 sets=()
    shift
    for edit in "$@"; do sets+=(--set "$edit"); done
    run "$assay" mutate "$digits" --layer "$layer" "${sets[@]}" -q \
        -o "$work/out.slice"
}
mutate conv2 requant=q31_double
expect_rc 0 "mutate requant="
expect_out '^003 conv2: requant=q31_double' "says what was changed"
expect_out 'out.slice: 21 layers' "says what was written"
run "$assay" run -m "$work/out.slice" "${files[@]}" --json "$work/r.json"
expect_rc 1 "the mutated slice differs"
expect_out 'first culprit: 003 conv2' "in that layer"
run "$assay" run -m "$work/out.slice" -i "$digits/inputs" --local
expect_err 'out.slice: changed on purpose: conv2 requant=q31_double' \
    "a note says that it is mutated"
mutate conv2 pad=3
expect_rc 0 "mutate pad="
run "$assay" run -m "$work/out.slice" "${files[@]}"
expect_rc 1 "its padding differs"
expect_out 'last row and last column only' "at the edges"

# The same bytes for the same edit.
cp "$work/out.slice" "$work/once.slice"
mutate conv2 P5=all:3
expect "pad=3 is P5=all:3" test \
    "$("$assay" show "$work/once.slice" | md5sum)" = \
    "$("$assay" show "$work/out.slice" | md5sum)"

refused() { # refused REGEX ARGUMENTS...
    local regex=$1
    shift
    rm -f "$work/no.slice"
    run "$assay" mutate "$@" -o "$work/no.slice"
    expect_refused 2 "$regex" "mutate $*"
    expect "nothing is written" test ! -e "$work/no.slice"
}
refused "layer 'maxpool' \(MaxPool\) has nothing of the kind" "$digits" \
    --layer maxpool --set W2
refused "would change no output of layer 'conv2'" "$digits" --layer conv2 \
    --set requant=fp32_rne
refused "no layer 'conv' in this model; nearest: conv1" "$digits" --layer conv --set R1
refused "'R99': expected ID" "$digits" --layer conv2 --set R99
refused "'R5=up': expected behind '=' one of: rne" "$digits" --layer conv2 \
    --set R5=up
refused "'P5=all:x': expected a whole number" "$digits" --layer conv2 \
    --set pad=x
refused "needs the layer" "$digits" --set R1
refused "needs what to change" "$digits" --layer conv2
run "$assay" mutate "$digits" --layer conv2 --set pad=3 -o "$work/none/x.slice"
expect_rc 2 "a folder that is not there"
expect_err "none/x.slice: cannot be written: No such file" "says why"

# ---- on the emulated board ------------------------------------------------------
if [ -x "$arm_assayd" ] && command -v "$QEMU" >/dev/null; then
    target=$(arm_target max)
    run "$assay" run -m "$work/out.slice" -i "$digits/inputs" -r \
        "$digits/golden" --target "$target" -q --save-outputs \
        -o "$work/arm" --save-failing "$work/arm-failing"
    expect_rc 1 "the agent runs the mutated slice"
    expect_out 'first culprit: 00[0-9] conv2' "the culprit is the same"
    expect "and its outputs are saved" test -s "$work/arm/outputs/0003.npz"
    bundle=$(echo "$work"/arm-failing/*_conv2.assay)
    run "$assay" replay "$bundle" -q
    expect_rc 1 "replay here of what the board gave"
    expect_out 'cpu gives again what was got then: 1024 of 1024' "the same"
    expect_out "replay of layer 'conv2' of model.onnx, where cpu differed: board" \
        "and where it was"
    run "$assay" replay "$bundle" -q --target "$target"
    expect_rc 1 "replay on the board"
    expect_out 'cpu gives again what was got then: 1024 of 1024' "the same"
else
    skip "no aarch64 agent, or no emulator"
fi

# ---- save-failing, replay ---------------------------------------------------------
mutate conv2 requant=q31_double
run "$assay" run -m "$work/out.slice" "${files[@]}" --save-failing \
    "$work/a folder" --json "$work/r.json"
expect_rc 1 "run --save-failing"
expect_out "^  repro   assay replay '.*/a folder/003_conv2.assay'" \
    "the report ends with the command that repeats it"
expect "the JSON report names the bundle" grep -q 'a folder/003_conv2.assay' \
    "$work/r.json"
mv "$work/a folder" "$work/failing"
run "$assay" replay "$work/failing/003_conv2.assay" -q --json "$work/r2.json"
expect_rc 1 "replay ends like the run"
run python3 -c '
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
one = [l for l in a["layers"] if l["name"] == "conv2"][0]
two = b["layers"][0]
assert len(b["layers"]) == 1 and two["name"] == "conv2"
for key in ("op", "shape", "dtype", "scale", "zero_point", "mismatch",
            "max_lsb", "count", "arith"):
    assert one.get(key) == two.get(key), (key, one.get(key), two.get(key))
assert a["verdict"] == b["verdict"] and a["exit_code"] == b["exit_code"]
assert a["model"]["sha256"] == b["model"]["sha256"]
' "$work/r.json" "$work/r2.json"
expect_rc 0 "the row is the same: scales, counts, verdict"
run "$assay" replay "$work/failing/003_conv2.assay" -q --arith conv2=fp32_rne
expect_rc 0 "with the right arithmetic it fits"
expect_out 'no longer gives what was got then: 1020 of 1024' "and that shows"
run "$assay" replay "$work/failing/003_conv2.assay" -q --hypothesis R1
expect_rc 1 "replay --hypothesis"
run "$assay" replay "$work/failing/003_conv2.assay" -q --hypothesis R77
expect_rc 2 "a hypothesis that is none"
run "$assay" replay "$work/out.slice"
expect_rc 2 "a slice has nothing to replay"
expect_err "a slice without samples" "says so"
run "$assay" run "$digits" --local -q --save-failing "$work/clean"
expect_rc 0 "a run without culprits"
expect "saves nothing" test ! -e "$work/clean"
echo >"$work/file"
run "$assay" run -m "$work/out.slice" "${files[@]}" --save-failing "$work/file"
expect_rc 1 "a folder that cannot be made: the run is judged"
expect_err "cannot write|cannot be written" "and it is said"

# Of a layer with many channels, one tile is enough.
mutate pw4 B1
run "$assay" run -m "$work/out.slice" "${files[@]}" --save-failing "$work/tile"
expect_rc 1 "a layer with many channels"
run "$assay" replay "$work"/tile/*_pw4.assay -q --json "$work/r.json"
expect_rc 1 "its bundle fails too"
expect_out 'cut to channels [0-9]+\.\.[0-9]+ of 32' "and holds one tile"
expect_out '1x4x4x16' "of 16 channels"
expect_out 'cpu gives again what was got then: 1024 of 1024' "the same"

# Of a column of the compiled model: the difference is kept, not computed.
pad16=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5/pad16
if [ -d "$pad16" ]; then
    run "$assay" run "$pad16" --local -q --save-failing "$work/pad"
    expect_rc 1 "pad16"
    expect "a bundle for each culprit" test \
        "$(cd "$work/pad" && echo ./*)" = \
        "./003_same_s2.assay ./006_k2_bottom.assay ./007_same_k5_s2.assay"
    expect_out 'repro   assay replay .*/003_same_s2.assay --hypothesis P5' \
        "the first one's command, with its cause"
    for f in "$work"/pad/*.assay; do
        run "$assay" replay "$f" -q --hypothesis P5
        expect_rc 1 "replay $(basename "$f")"
        expect_out '^compile: first culprit' "the verdict is the same"
        expect_out 'cause   P5=(all|excess|bottom):128' "and the cause"
    done
else
    skip "the shared case pad16 is not there"
fi
finish
