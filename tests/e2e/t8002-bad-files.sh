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
finish
