#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Part of `make check-oracle`: what fit-arith finds, against Python that tries
# the whole space (fit/judge.py) and shares nothing with the C.
#
#   cases     bayes-e is found in the X5 cases of $ASSAY_SHARED, in tests/data
#             and in random models, the same with another numerics in use
#   planted   an arithmetic made up here is found, and bayes-e is not
#
#   BUILD   build folder
set -u
here=$(cd "$(dirname "$0")" && pwd)
shared=${ASSAY_SHARED:-../shared}/cases-x5
work=${BUILD:-build}/fit
. "$here/lib.sh"
bayes=host-tools/numerics/bayes-e.json
cases=$work/cases-random
a=$here/fit/numerics/planted-a.json b=$here/fit/numerics/planted-b.json

# fit NAME NUMERICS CASE...: reports work/NAME.json and inputs.
fit() {
    local name=$1 numerics=$2
    shift 2
    timeout 200 "$assay" fit-arith "$@" -q --numerics "$numerics" \
        --json "$work/$name.json" -o "$work/$name" >"$work/$name.log" 2>&1 ||
        echo "fit-arith: exit $?" >>"$work/$name.log"
}

# Two reports of the same cases: bayes-e in use, and another numerics.
both() { # NAME OTHER CASE...
    local name=$1 other=$2
    shift 2
    fit "$name" "$bayes" "$@"
    fit "$name-other" "$other" "$@"
}

judge() { # NAME OTHER ARGS... -- CASE...; OTHER empty: one report
    local name=$1 other=$2 more=()
    shift 2
    [ -z "$other" ] || more=(--under "$work/$name-other.json" "$other")
    while [ "$1" != -- ]; do
        more+=("$1")
        shift
    done
    shift
    "$python" "$here/fit/judge.py" "$work/$name/separating" "$@" \
        --under "$work/$name.json" "$bayes" "${more[@]}" 2>&1
}

tell() { # WHAT LOG RC
    if [ "$3" = 0 ]; then
        pass "fit-arith, $1: $(tail -n 1 "$2")"
    else
        fail "fit-arith, $1: $(tail -n 3 "$2")"
    fi
}

planted() { # NUMERICS WITHOUT, into its log
    local name
    name=$(basename "$1" .json)
    "$python" "$here/fit/plant.py" "$work/cases-$name" "$1" "$cases"/* 2>&1 ||
        return 1
    both "$name" "$1" "$work/cases-$name"/*
    judge "$name" "$1" --made-by "$1" --not "$bayes" --without "$2" -- \
        "$work/cases-$name"/*
}

rm -rf "$work"/*.json "$work"/*.log "$work"/x5* "$work"/data* \
    "$work"/random* "$work"/planted* "$work"/cases*
if "$python" "$here/horizon/make_cases.py" "$cases" --models 4 --layers 45 \
    --seed 9 >"$work/make.log" 2>&1; then
    pass "fit-arith, random models: $(tail -n 1 "$work/make.log")"
else
    fail "make_cases.py: $(tail -n 3 "$work/make.log")"
    finish
fi

planted "$a" 13 >"$work/a.log" & one=$!
planted "$b" 10 >"$work/b.log" & two=$!
wait $one
tell "goldens of planted-a" "$work/a.log" $?
wait $two
tell "goldens of planted-b" "$work/b.log" $?

{ fit random "$bayes" "$cases"/*
  judge random "" --made-by "$bayes" --not "$b" --without 13 -- "$cases"/*
} >"$work/r.log" & one=$!
both data "$a" tests/data/horizon
judge data "$a" --made-by "$bayes" --each 9 --without 0 -- \
    tests/data/horizon >"$work/d.log"
tell "tests/data/horizon" "$work/d.log" $?
wait $one
tell "random models" "$work/r.log" $?

# The vendor's goldens leave several classes of four forms: docs/numerics.md.
half() { # PART, into its log
    judge x5 "$a" --made-by "$bayes" --not "$a" --without 7 \
        --classes global_avg_pool=5 prelu=4 lut_segments=2 reduce=2 \
        --part "$1/2" -- "${x5[@]}"
}
if [ -d "$shared" ]; then
    x5=()
    for c in "$shared"/*/case.json; do x5+=("$(dirname "$c")"); done
    fit x5 "$bayes" "${x5[@]}" & one=$!
    fit x5-other "$a" "${x5[@]}" & two=$!
    wait $one $two
    half 0 >"$work/x0.log" & one=$!
    half 1 >"$work/x1.log" & two=$!
    wait $one
    tell "cases-x5, one half of the forms" "$work/x0.log" $?
    wait $two
    tell "cases-x5, the other" "$work/x1.log" $?
else
    skip "fit-arith on $shared: not there"
fi
finish
