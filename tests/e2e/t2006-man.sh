#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The man page and --help say the same: options, commands, exit statuses.
. "$(dirname "$0")/lib.sh"

for command in run import show info mutate replay impact lint fit-arith image \
    output triage keygen pair pinpoint explain self-test; do
    "$assay" $command --help >"$work/help.$command"
done
"$assay" --help >"$work/help"
run python3 "$ROOT/tests/support/check_man.py" \
    "$ROOT/host-tools/assay.1" "$work"
expect_rc 0 "the man page lists the options of --help"
expect_out '^[1-9][0-9]+ options' "there are options"
if command -v man >/dev/null; then
    run man --warnings -l "$ROOT/host-tools/assay.1"
    expect_rc 0 "man formats it"
    expect "without a warning" test ! -s "$work/err"
else
    skip "man is not installed"
fi
# Its examples, those that need no board.
run "$assay" run "$digits" --local
expect_rc 0 "example: run"
run "$assay" run "$digits" --local --arith pw4=q31_double
expect_rc 1 "example: --arith"
run "$assay" show "$digits" --layer conv2
expect_rc 0 "example: show --layer"
expect_out 'fround half_even' "it prints the steps"
run "$assay" fit-arith "$ROOT/tests/data/nash" --save "$work/found.json"
expect_rc 0 "example: fit-arith --save"
run "$assay" run "$ROOT/tests/data/nash" --local --numerics "$work/found.json"
expect_rc 0 "example: run with what was found"
run "$assay" info --local
expect_rc 0 "info --local"
finish
