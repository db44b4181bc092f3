#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bundles that were cut, changed or never were one, to the sanitized command:
# exit 2, one sentence with the file and the byte, nothing half-loaded.
# timeout: 240
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

run "$assay" run "$digits" --arith conv2=q31_double --layers conv2 --local -q \
    --save-failing "$work/failing"
expect_rc 1 "a bundle is made"
good=$work/failing/003_conv2.assay
run "$assay" replay "$good" -q
expect_rc 1 "and is good"
python3 "$ROOT/tests/support/bad_bundles.py" "$good" "$work/bad" \
    >"$work/list" || not_ok "bad bundles could not be made"
expect "there are enough of them" test "$(wc -l <"$work/list")" -ge 80
while IFS=$'\t' read -r path regex; do
    run "$assay" replay "$path" -q
    expect_refused 2 "$regex" "replay ${path##*/}"
    expect "one line" test "$(wc -l <"$work/err")" = 1
done <"$work/list"

# As a model: by its name, and by its first bytes.
cp "$work/bad/text.assay" "$work/text.slice"
run "$assay" show "$work/text.slice"
expect_refused 2 'text.slice: at byte 0: frame 0: bad magic' "show of a text"
cp "$good" "$work/strange.name"
run "$assay" show "$work/strange.name" -q
expect_rc 0 "a slice is known by its first bytes"
cp "$good" "$work/called.onnx"
run "$assay" show "$work/called.onnx"
expect_refused 2 'called.onnx' "a slice that is called .onnx"
cp "$digits/model.onnx" "$work/called.slice"
run "$assay" show "$work/called.slice"
expect_refused 2 'called.slice: at byte 0: frame 0: bad magic' \
    "a model that is called .slice"
run "$assay" replay "$digits/model.onnx"
expect_refused 2 'model.onnx: at byte 0: frame 0: bad magic' "replay of a model"
run "$assay" replay "$digits"
expect_refused 2 'digits' "replay of a folder"
run "$assay" replay "$work/none.assay"
expect_refused 2 'none.assay' "replay of nothing"

# Names of a slice do not steer a terminal either.
LC_ALL=C sed 's/x_calibrated_quantized/x_calibrated\x1bquantized/g' \
    "$ROOT/tests/data/horizon/model.onnx" >"$work/escape.onnx"
run "$assay" import "$work/escape.onnx" -q -o "$work/escape.slice"
expect_rc 0 "a slice whose tensor's name has an escape"
run "$assay" show "$work/escape.slice" --layer x_HzCalibration_HzQuantize
expect_rc 0 "is shown"
expect "without the escape" test "$(tr -dc '\033' <"$work/out" | wc -c)" = 0
finish
