#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C and SIGTERM in the middle of a run: the layer is finished, a partial
# report is written, 130 and 143.
. "$(dirname "$0")/lib.sh"

cp -r "$digits" "$work/case"
chmod -R u+w "$work/case"
python3 "$ROOT/tests/support/edit_case.py" "$work/case" repeat 100000

for signal in INT TERM; do
    rm -f "$work/r.json"
    mkfifo "$work/talk.$signal"
    exec {talk}<>"$work/talk.$signal"
    # An interactive shell's child: a script's background job would ignore
    # SIGINT.
    python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
' "$assay" run -m "$work/case/model.onnx" -i "$work/case/many.npz" --local \
        --json "$work/r.json" >"$work/out" 2>"$work/talk.$signal" </dev/null &
    pid=$!
    while read -r -t 60 line <&"$talk"; do
        case $line in "[3/4]"*) break ;; esac
    done
    expect "$signal: the run is under way" \
        bash -c '[[ $1 == "[3/4]"* ]]' _ "$line"
    kill -"$signal" "$pid"
    wait_for "$pid" 20
    code=130
    [ $signal = INT ] || code=143
    expect "$signal: exit $code, not $rc" test "$rc" = $code
    expect_out '^partial report: interrupted' "$signal: the report is partial"
    expect "$signal: and no match" test -z "$(grep -E '^match' "$work/out")"
    run python3 "$ROOT/tests/support/check_schema.py" \
        "$ROOT/docs/assay-report-1.schema.json" "$work/r.json"
    expect_rc 0 "$signal: the JSON report is whole"
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["partial"] is True and r["exit_code"] == int(sys.argv[2])
assert r["verdict"] is None and r["sentence"].startswith("interrupted; "), r
' "$work/r.json" $code
    expect_rc 0 "$signal: and says that it is partial"
    exec {talk}>&-
done
finish
