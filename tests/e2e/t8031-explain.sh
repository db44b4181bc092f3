#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The hand calculation of an element: its text, added up again by a script that
# sees nothing else, is the golden; wrong questions have one sentence each.
. "$(dirname "$0")/lib.sh"
horizon=$ROOT/tests/data/horizon
re_add=(python3 "$ROOT/tests/support/re_add.py" "$assay")

run "$assay" explain "$digits" --layer conv2 --at 0,3,3,7
expect_rc 0 "one element"
expect_out '^conv2  Conv, int8 -> int8, arithmetic fp32_rne .*\[0,3,3,7\]' \
    "says which"
expect_out 'sum x\*w of 64 taps, 80 more in the padding add 0' "and its taps"
expect_out 'fround half_even' "and each step"
expect_out 'reference -?[0-9]+   cpu -?[0-9]+$' "and the columns"
run "$assay" explain "$digits" --layer conv2 --at 0,3,3,7 -v
expect_rc 0 "-v"
expect_out '^    tap 1,1,15 ' "prints every product"
run "$assay" explain "$horizon" --layer k2_bottom --at 0,0,5,3
expect_out 'sim -?[0-9]+ \(differs\)' "a column that differs is marked"

run "${re_add[@]}" 60 1 "$digits" "$horizon" "$ROOT/tests/data/nash"
expect_rc 0 "random elements are added up again"
expect_out '^180 elements re-added' "all of them"
shared=${ASSAY_SHARED:-$ROOT/../shared}
if [ -d "$shared/cases-x5" ]; then
    run "${re_add[@]}" 40 2 "$shared"/cases-x5/{ops_elt,ops_conv,stress,ops_i16c}
    expect_rc 0 "and of the vendor's networks"
else
    skip "and of the vendor's networks: $shared/cases-x5 is not there"
fi

bad() { # bad SENTENCE OPTION...
    local sentence=$1
    shift
    run "$assay" explain "$@"
    expect_rc 2 "explain ${*:2}"
    expect_err "$sentence" "with its sentence"
}
bad 'needs a layer .* and an element' "$digits" --layer conv2
bad 'needs a layer .* and an element' "$digits" --at 0,0,0,0
bad "no layer 'conv'" "$digits" --layer conv --at 0,0,0,0
for at in 0,3,3 0,3,3,16 0,3,3,-1 0,3,3,7,0 0,3,,7 a '' ' ' 0,3,3,7x \
    99999999999999999999,0,0,0; do
    bad "expected an index into|bad value ''" "$digits" --layer conv2 \
        --at "$at"
done
finish
