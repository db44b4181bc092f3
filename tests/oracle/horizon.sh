#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make check-horizon`: fixed-point models of the RDK X5 flow, every integer
# layer against exact integers made in Python, on the host's engine and on the
# agent under the emulator. Models: random ones (horizon/make_cases.py), the
# small case of tests/data, and those of $ASSAY_SHARED/cases-x5 where they are.
#
#   BUILD   build folder            QEMU   qemu-aarch64
#   CPUS    cpus to emulate, "cortex-a53 cortex-a76 max"
#   MODELS  random models, 16       LAYERS nodes in each, 160
set -u
here=$(cd "$(dirname "$0")" && pwd)
MODELS=${MODELS:-16}
LAYERS=${LAYERS:-160}
shared=${ASSAY_SHARED:-../shared}/cases-x5
work=${BUILD:-build}/horizon
. "$here/lib.sh"

# script WHAT SCRIPT ARGS...: one test; its last line is told.
script() {
    local what=$1 name=$2
    shift 2
    if "$python" "$here/horizon/$name" "$@" >"$work/$name.log" 2>&1; then
        pass "$what: $(tail -n 1 "$work/$name.log")"
    else
        fail "$what"
        tail -n 12 "$work/$name.log"
        return 1
    fi
}

# judge WHAT CASE TALLY SIM ARGS...: one run. SIM is empty, equal or a file.
judge() {
    local what=$1 case=$2 tally=$3 sim=$4 line rc
    shift 4
    rm -f "$work/report.json"
    timeout 300 "$assay" run "$case" -q --json "$work/report.json" "$@" \
        >"$work/run.log" 2>&1
    rc=$?
    line=$("$python" "$here/horizon/judge_report.py" "$work/report.json" \
        "$case" $rc ${sim:+--sim "$sim"} --tally "$work/$tally.tally" 2>&1)
    if [ $? = 0 ]; then
        pass "$what: $line"
    else
        fail "$what: $line"
        tail -n 3 "$work/run.log"
    fi
}

# everywhere NAME CASE TALLY SIM: the host's engine, the agent on each CPU, and
# once without vector kernels.
everywhere() {
    local name=$1 case=$2 tally=$3 sim=$4 cpu
    judge "$name local" "$case" "$tally-local" "$sim" --local
    for cpu in $CPUS; do
        judge "$name $cpu" "$case" "$tally-$cpu" "$sim" \
            --target "exec:$QEMU -cpu $cpu $agent --stdio"
    done
    judge "$name ${CPUS##* } cpumask 0" "$case" "$tally-scalar" "$sim" \
        --cpumask 0 --target "exec:$QEMU -cpu ${CPUS##* } $agent --stdio"
}

# counted TALLY LAYERS: at least so many integer layers, and none differs.
counted() {
    local layers=0 elements=0 bad=0 l e b
    while read -r l e b; do
        layers=$((layers + l)) elements=$((elements + e)) bad=$((bad + b))
    done < <(cat "$work/$1.tally" 2>/dev/null)
    if [ "$layers" -ge "$2" ] && [ $bad = 0 ]; then
        pass "$1: $layers integer layers, $elements elements, 0 differ"
    else
        fail "$1: $layers integer layers ($2 expected), $bad differ"
    fi
}

# One golden element off by one: exit 1, and the judge names the layer.
spoiled() {
    local case=$work/spoiled name rc
    name=$("$python" "$here/horizon/spoil.py" "$1" "$case") || {
        fail "spoil.py"
        return
    }
    timeout 300 "$assay" run "$case" -q --local --json "$work/report.json" \
        >"$work/run.log" 2>&1
    rc=$?
    if [ $rc != 1 ]; then
        fail "a spoiled golden: exit $rc"
        tail -n 3 "$work/run.log"
    elif "$python" "$here/horizon/judge_report.py" "$work/report.json" \
        "$case" $rc 2>&1 | grep -qF " $name diverged 1/"; then
        pass "a spoiled golden is seen in '$name'"
    else
        fail "a spoiled golden is not seen in '$name'"
    fi
}

rm -f "$work"/*.tally
script "random models" make_cases.py "$work/random" --models "$MODELS" \
    --layers "$LAYERS" || finish
script "their files say what was made" executor.py "$work/random"/*/
if [ "$MODELS/$LAYERS" = 16/160 ]; then
    script "they hold what they should" features.py "$work/random"/*/
    script "altered rules are caught" mutations.py --doc docs/testing.md \
        "$work/random"/*/
else
    skip "features and altered rules: they need 16 models of 160 nodes"
fi
script "tests/data/horizon" artificial.py tests/data/horizon --check
for c in "$work/random"/*/; do
    c=${c%/}
    everywhere "${c##*/}" "$c" random ""
done
for kind in local $CPUS scalar; do
    counted "random-$kind" $((MODELS * LAYERS * 9 / 10))
done
spoiled "$work/random/00_conv"
expected=$here/horizon/expected/horizon.json
everywhere data tests/data/horizon data "$expected"
judge "data, the simulator's text" tests/data/horizon text "$expected" \
    --local --sim tests/data/horizon/sim-text

if [ -d "$shared" ]; then
    script "goldens of $shared" executor.py $(
        for f in "$shared"/*/case.json; do dirname "$f"; done)
    for c in "$shared"/*/; do
        c=${c%/}
        [ -e "$c/case.json" ] || continue
        sim=
        [ ! -d "$c/sim" ] || sim=equal
        [ "${c##*/}" != pad16 ] || sim=$here/horizon/expected/pad16.json
        everywhere "shared ${c##*/}" "$c" shared "$sim"
    done
    for kind in local $CPUS scalar; do
        counted "shared-$kind" 700
    done
else
    skip "$shared: not there"
fi
finish
