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

# Names come from files: they do not steer a terminal.
LC_ALL=C sed 's/x_calibrated_quantized/x_calibrated\x1bquantized/g' \
    "$ROOT/tests/data/horizon/model.onnx" >"$work/escape.onnx"
run "$assay" show "$work/escape.onnx" --layer x_HzCalibration_HzQuantize
expect_rc 0 "a tensor whose name has an escape"
expect_out 'output +x_calibrated[?]quantized int16' "the escape is not printed"
finish
