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

wrong=(--arith t20_node=q31_floor)
# What the engine gives is the reference, with one wrong element in the middle:
# the layer rounds otherwise, too. Layers behind it differ and are run again.
run "$assay" run "$case" --local -q -o "$work/made" --save-outputs
expect "the chain runs" test -s "$work/made/outputs/0000.npz"
mv "$work/made/outputs" "$case/golden"
run python3 "$ROOT/tests/support/flip_golden.py" "$case" t20
run "$assay" run "$case" "${wrong[@]}" --target "exec:$dying --stdio" -q -o "$work/whole"
expect_rc 1 "an undisturbed run"
expect "and leaves no journal" test ! -e "$work/whole/resume.journal"

signals=(11 4 7 8 6 9)
mkdir "$work/runs"
codes=
for ((k = 0; k < 50; k++)); do
    DIE=$k,0:${signals[k % 6]} timeout 60 "$assay" run "$case" "${wrong[@]}" -q \
        -o "$work/runs/$k" --target "exec:$dying --stdio" \
        >"$work/out" 2>"$work/err"
    mv "$work/runs/$k/report.json" "$work/runs/$k/cut.json"
    timeout 60 "$assay" run "$case" "${wrong[@]}" -q --resume "$work/runs/$k" \
        --target "exec:$dying --stdio" >"$work/out" 2>"$work/err"
    codes+=$?
done
expect "each resumed run exits 1, as the undisturbed one: $codes" \
    test "$codes" = "$(printf '1%.0s' $(seq 50))"
run python3 "$ROOT/tests/support/same_report.py" --killed \
    "$work/whole/report.json" "$work/runs"
expect_rc 0 "each partial report has the layers before, each final one is whole"
expect_out '^50 layers' "that is 50 layers"
finish
