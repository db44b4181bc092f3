#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent's man page and its --help say the same.
. "$(dirname "$0")/lib.sh"

page=$ROOT/agent/assayd.1
run "$assayd" --help
expect_rc 0 "--help"
sed -n 's/^  \(--[a-z-]*\).*/\1/p' "$work/out" >"$work/help"
sed 's/\\-/-/g' "$page" | sed -n '/^\.SH OPTIONS/,/^\.SH ENVIRONMENT/p' |
    sed -n 's/^\.BI\{0,1\} \(--[a-z-]*\).*/\1/p' >"$work/page"
expect "the options are the same" cmp -s "$work/help" "$work/page"
expect "there are options" test "$(wc -l <"$work/help")" -ge 8
run "$assayd" --version
expect_rc 0 "--version"
expect_out '^assayd [0-9]+\.[0-9]+\.[0-9]+$' "it names the version"
if command -v man >/dev/null; then
    run man --warnings -l "$page"
    expect_rc 0 "man formats it"
    expect "without a warning" test ! -s "$work/err"
else
    skip "man is not installed"
fi
finish
