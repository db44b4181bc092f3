#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A worker that dies in each layer of a model of 50: the partial report has
# exactly the layers before it, and --resume gives the report of a run that
# nothing happened to. Sanitized programs; the engine's results go through
# tests/support/dying_agent.c.
# timeout: 240
MACHINE=${MACHINE:-x86_64-san}
. "$(dirname "$0")/lib.sh"

dying=$BUILD/$MACHINE/tests/support/dying_agent
case=$work/case
python3 "$ROOT/tests/support/long_chain.py" 50 1 "$case"

# What the engine gives is the reference, with one wrong element in the middle:
# there is a culprit, layers behind it differ, and columns are run for it.
run "$assay" run "$case" --local -q -o "$work/made" --save-outputs
expect "the chain runs" test -s "$work/made/outputs/0000.npz"
mv "$work/made/outputs" "$case/golden"
run python3 "$ROOT/tests/support/flip_golden.py" "$case" t20
run "$assay" run "$case" --target "exec:$dying --stdio" -q -o "$work/whole"
expect_rc 1 "an undisturbed run"
expect "and leaves no journal" test ! -e "$work/whole/resume.journal"

signals=(11 4 7 8 6 9)
bad=0
for ((k = 0; k < 50; k++)); do
    out=$work/out.$k
    DIE=$k,0:${signals[k % 6]} timeout 60 "$assay" run "$case" -q -o "$out" \
        --target "exec:$dying --stdio" >"$work/out" 2>"$work/err"
    python3 "$ROOT/tests/support/same_report.py" --cut "$out/report.json" $k \
        >>"$work/out" 2>&1 || { bad=$((bad + 1)); not_ok "cut in layer $k"; }
    timeout 60 "$assay" run "$case" -q --resume "$out" \
        --target "exec:$dying --stdio" >"$work/out" 2>"$work/err"
    rc=$?
    [ $rc = 1 ] || { bad=$((bad + 1)); not_ok "resumed at $k: exit $rc"; }
    python3 "$ROOT/tests/support/same_report.py" "$work/whole/report.json" \
        "$out/report.json" >"$work/out" 2>&1 ||
        { bad=$((bad + 1)); not_ok "resumed at $k"; }
    [ -e "$out/resume.journal" ] && { bad=$((bad + 1)); not_ok "left at $k"; }
    rm -rf "$out"
done
expect "50 layers, each killed and resumed" test $bad = 0
finish
