#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Wrong files to the sanitized command: exit 2, one sentence that names the
# file, no half-loaded model, no crash.
# timeout: 240
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

python3 "$ROOT/tests/support/bad_files.py" "$digits" "$work/bad" \
    >"$work/list" || not_ok "bad files could not be made"
expect "there are enough bad files" test "$(wc -l <"$work/list")" -ge 30
while IFS=$'\t' read -r kind path regex; do
    case $kind in
    model) run "$assay" show "$path" ;;
    case) run "$assay" run "$path" --local -q ;;
    input) run "$assay" run -m "$digits/model.onnx" -i "$path" --local -q ;;
    esac
    expect_refused 2 "$regex" "$kind ${path#"$work/bad/"}"
done <"$work/list"

# Numbers that say nothing: NaN, nothing at all, one value throughout. Each is
# told in one sentence, by every command that reads them.
odd() { # odd EDIT: $work/odd, tests/data/digits with numbers of another kind
    rm -rf "$work/odd"
    cp -r "$digits" "$work/odd"
    chmod -R u+w "$work/odd"
    python3 "$ROOT/tests/support/odd_numbers.py" "$work/odd" "$1" ||
        not_ok "odd numbers: $1"
}
conv2=conv2.y_QuantizeLinear_Output
for command in run pinpoint explain; do
    options=(--local -q)
    [ $command = explain ] && options=(--layer conv2 --at 0,0,0,0 -q)
    odd "golden:$conv2:empty"
    run "$assay" $command "$work/odd" "${options[@]}"
    expect_refused 2 "array '$conv2' is empty: 0, but the model's tensor is" \
        "$command: an empty golden"
    odd "inputs:input:empty"
    run "$assay" $command "$work/odd" "${options[@]}"
    expect_refused 2 "array 'input' is empty: 0, but the model's tensor is" \
        "$command: an empty input"
done
odd "golden:logits:nan"
for command in run pinpoint; do
    run "$assay" $command "$work/odd" --local
    expect_rc 1 "$command: a golden with a NaN"
    expect_err "array 'logits': 1 of 10 elements are NaN" "$command: is told"
    expect_out '^ +NaN: 4 expected, 0 got$' "$command: and counted"
    expect_not_out 'got is lower' "$command: a NaN is on no side"
done
run "$assay" explain "$work/odd" --layer logits_DequantizeLinear --at 0,0
expect_rc 0 "explain: a golden with a NaN"
expect_out 'reference nan: a NaN follows from no interval of numbers' \
    "explain: says what it cannot"
cp -r "$digits/golden" "$work/got"
chmod -R u+w "$work/got"
python3 "$ROOT/tests/support/odd_numbers.py" "$work" "got:logits:nan" ||
    not_ok "odd numbers: got"
run "$assay" pinpoint "$digits" --got "$work/got" --local -q
expect_rc 1 "pinpoint --got: a NaN"
expect_out '^ +NaN: 0 expected, 4 got$' "pinpoint --got: is counted"
odd "inputs:input:nan"
for options in "run --local" "explain --layer conv2 --at 0,0,0,0"; do
    # shellcheck disable=SC2086 # a command and its options
    run "$assay" $options -m "$digits/model.onnx" -i "$work/odd/inputs"
    expect_err "array 'input': 1 of 64 elements are NaN" \
        "${options%% *}: an input with a NaN is told"
done
odd "golden:$conv2:constant"
for command in run pinpoint; do
    run "$assay" $command "$work/odd" --local -q --json "$work/r.json"
    expect_rc 1 "$command: a golden that is one value throughout"
    expect_out 'the cosine is undefined: one side is one value throughout' \
        "$command: its cosine is undefined"
    expect_out '^ 003 Conv .*\[0,0,0,0\] +- +-?[0-9.inf]+ ' "$command: and not in the table"
    expect "$command: nor in the report" python3 -c '
import json, sys
l = [l for l in json.load(open(sys.argv[1]))["layers"] if l["name"] == "conv2"]
assert l[0]["mismatch"] > 0 and l[0]["cosine"] is None' "$work/r.json"
done
run "$assay" explain "$work/odd" --layer conv2 --at 0,0,0,0 -q
expect_rc 0 "explain: a golden that is one value throughout"
expect_out 'reference 7 \(differs\)' "explain: is any other number to it"

# Names come from files: they do not steer a terminal.
LC_ALL=C sed 's/x_calibrated_quantized/x_calibrated\x1bquantized/g' \
    "$ROOT/tests/data/horizon/model.onnx" >"$work/escape.onnx"
run "$assay" show "$work/escape.onnx" --layer x_HzCalibration_HzQuantize
expect_rc 0 "a tensor whose name has an escape"
expect_out 'output +x_calibrated[?]quantized int16' "the escape is not printed"
finish
