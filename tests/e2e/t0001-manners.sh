#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Version, help, data on stdout and talk on stderr, and the simplest refusals.
. "$(dirname "$0")/lib.sh"

for program in "$assay" "$assayd"; do
    name=$(basename "$program")
    run "$program" --version
    expect_rc 0 "$name --version"
    expect_out "^$name [0-9]+\.[0-9]+\.[0-9]+" "$name --version names itself"
    expect "$name --version is silent on stderr" test ! -s "$work/err"
    run "$program" --help
    expect_rc 0 "$name --help"
    expect_out '^[Uu]sage' "$name --help shows the usage"
done

run "$assay" --help
for command in run import show info; do
    expect_out "(^|[^a-z])$command([^a-z]|\$)" "help lists '$command'"
done
expect_out '(^|[^0-9])130([^0-9]|$)' "help lists the exit statuses"
for command in run import show info; do
    run "$assay" "$command" --help
    expect_rc 0 "assay $command --help"
    expect_out -- '--help' "assay $command --help lists options"
done

run "$assay"
expect_rc 2 "no command"
expect "no command: nothing on stdout" test ! -s "$work/out"
run "$assay" rnu
expect_refused 2 "rnu" "an unknown command is named"
run "$assay" run --no-such-option
expect_refused 2 "no-such-option" "an unknown option is named"
run "$assay" run "$digits"
expect_refused 2 "target" "a run without a board says what is missing"
finish
