#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/testing.md lists every case of the hostile peers, as the programs do.
. "$(dirname "$0")/lib.sh"

unit=$BUILD/x86_64/tests/unit
for table in frames slices runs; do
    expect "test_hostile_$table is built" test -x "$unit/test_hostile_$table"
    "$unit/test_hostile_$table" --table
done >"$work/all"
grep '^| ' "$work/all" >"$work/programs"
sed -n '/<!-- hostile: begin/,/<!-- hostile: end/p' "$ROOT/docs/testing.md" |
    grep '^| ' | tail -n +2 >"$work/docs"
expect "the list of docs/testing.md is the programs'" \
    cmp "$work/programs" "$work/docs"
expect "there are at least 60 cases" \
    test "$(wc -l <"$work/programs")" -ge 60
expect "no name stands twice" \
    test -z "$(cut -d'|' -f2 "$work/programs" | sort | uniq -d)"
finish
