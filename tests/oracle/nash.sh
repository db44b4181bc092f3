#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Part of `make check-oracle`: stand-in models of the Nash family. Two networks,
# made in three arithmetics by nash/make_nash.py with goldens of every
# intermediate in exact integers; nobody's accelerator is behind them.
#
#   right     each case in its own arithmetic, on the host's engine, on the
#             agent under the emulator and once without vector kernels
#   wrong     each case in another's: unproven, exit 5, and what fits is told
#   explained random elements of `mobile`, which has every operator but one that
#             nobody knows: the text that `explain` prints is added up again
#   fit-arith finds the arithmetic of every layer again
#
#   BUILD   build folder            QEMU   qemu-aarch64
#   CPUS    cpus to emulate, "cortex-a53 cortex-a76 max"
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=${BUILD:-build}/nash
. "$here/lib.sh"
models=${BUILD:-build}/oracle/models
nash=host-tools/numerics/nash.json

good() { passed=$((passed + 1)); echo "mlir $*"; }
bad() { failed=$((failed + 1)); echo "mlir FAIL $*"; }

# script WHAT SCRIPT ARGS...: one test; its last line is told.
script() {
    local what=$1 name=$2 log
    log=$work/$name.log
    shift 2
    if "$python" "$here/nash/$name" "$@" >"$log" 2>&1; then
        good "$what: $(tail -n 1 "$log")"
    else
        bad "$what"
        tail -n 12 "$log"
        return 1
    fi
}

file_of() { # NUMERICS: its data file
    [ "$1" = nash ] && echo $nash || echo "$here/nash/numerics/$1.json"
}
option_of() { # NUMERICS: what --numerics takes
    [ "$1" = nash ] && echo nash || file_of "$1"
}

# run WHAT CASE WRONG ARGS...: one run, judged.
run() {
    local what=$1 case=$2 wrong=$3 line rc
    shift 3
    rm -f "$work/report.json"
    timeout 300 "$assay" run "$case" -q --json "$work/report.json" "$@" \
        >"$work/run.log" 2>&1
    rc=$?
    line=$("$python" "$here/nash/judge_nash.py" "$work/report.json" "$case" \
        $rc ${wrong:+--wrong} 2>&1)
    if [ $? = 0 ]; then
        good "$what: $line"
    else
        bad "$what: $line"
        tail -n 3 "$work/run.log"
    fi
}

# One operation of `mobile` is known to nobody: it is not run, and that all has
# to be compared is not asked for.
everywhere() { # NET NUMERICS CASE
    local what="$1 in $2" cpu o
    o="--numerics $(option_of "$2")"
    [ "$1" != mobile ] || o="$o --min-coverage 99"
    run "$what, host" "$3" "" --local $o
    for cpu in $CPUS; do
        run "$what, $cpu" "$3" "" $o \
            --target "exec:$QEMU -cpu $cpu $agent --stdio"
    done
    run "$what, ${CPUS##* } cpumask 0" "$3" "" $o --cpumask 0 \
        --target "exec:$QEMU -cpu ${CPUS##* } $agent --stdio"
}

# explained NET NUMERICS CASE: random elements of all operators, added up again.
explained() {
    local what="$1 in $2, explained" line
    line=$(timeout 300 "$python" "$here/../support/re_add.py" "$assay" 150 1 \
        "$3 --numerics $(option_of "$2")" 2>&1)
    if [ $? = 0 ]; then
        good "$what: $line"
    else
        bad "$what: $(head -n 1 <<<"$line" | cut -c1-200)"
    fi
}

# fit WHAT CASE NUMERICS ARGS...: fit-arith under a numerics, judged.
fit() {
    local what=$1 case=$2 n=$3 line
    shift 3
    rm -f "$work/fit.json" "$work/found.json"
    timeout 120 "$assay" fit-arith "$case" --numerics "$(option_of "$n")" \
        --json "$work/fit.json" --save "$work/found.json" >"$work/fit.log" 2>&1
    line=$("$python" "$here/nash/judge_fit.py" "$work/fit.json" "$@" 2>&1)
    if [ $? = 0 ]; then
        good "fit-arith, $what: $line"
    else
        bad "fit-arith, $what: $line"
        tail -n 3 "$work/fit.log"
    fi
}

# found NET NUMERICS: what fit-arith finds without being told reproduces it.
found() {
    local what="$1 in $2, fitted under nash" case=$work/$1-$2
    local least=
    [ "$1" != mobile ] || least="--min-coverage 99"
    fit "$what" "$case" nash
    run "$what, then run with what was found" "$case" "" --local $least \
        --numerics "$work/found.json"
}

# The float network that the digits are quantized from.
if [ ! -e "$models/digits_float.onnx" ]; then
    mkdir -p "$models"
    "$python" "$here/train_digits.py" "$models" >"$work/digits.log" 2>&1 || {
        tail -n 5 "$work/digits.log"
        bad "train_digits.py"
        finish
    }
fi

make_case() { # NET NUMERICS FORM CONSTANTS
    script "$1 in $2 is made" make_nash.py "$work/$1-$2" --net "$1" \
        --numerics "$(file_of "$2")" --form "$3" --constants "$4" \
        --floats "$models/digits_float.onnx" \
        --inputs "$models/digits_inputs.npz"
}

rm -rf "$work"/mobile-* "$work"/digits-* "$work"/odd-* "$work"/again
all="nash standin-a standin-b"
script "three arithmetics" differ.py $(for n in $all; do file_of "$n"; done)
for net in digits mobile; do
    make_case $net nash module resource
    make_case $net standin-a generic npz
    make_case $net standin-b module hex
done
make_case digits nash module list
"$python" "$here/nash/make_nash.py" "$work/again" --net mobile --numerics \
    $nash --constants resource >"$work/again.log" 2>&1
if diff -r "$work/mobile-nash" "$work/again" >"$work/again.log" 2>&1; then
    good "the generator gives the same bytes again"
else
    bad "the generator gives other bytes: $(head -n 1 "$work/again.log")"
fi
"$python" "$here/nash/make_nash.py" "$work/again-small" --net small \
    --numerics $nash --constants list >"$work/again.log" 2>&1
if diff -r tests/data/nash "$work/again-small" >"$work/again.log" 2>&1; then
    good "tests/data/nash is what the generator makes"
else
    bad "tests/data/nash: $(head -n 1 "$work/again.log")"
fi
if command -v mlir-opt-19 >/dev/null; then
    for c in "$work"/*-*/; do
        if mlir-opt-19 --allow-unregistered-dialect "$c/model.mlir" \
            -o /dev/null 2>"$work/opt.log"; then
            good "mlir-opt-19 reads $(basename "$c")"
        else
            bad "mlir-opt-19: $(head -n 1 "$work/opt.log" | cut -c1-200)"
        fi
    done
else
    skip "mlir-opt-19 is not there"
fi

for net in digits mobile; do
    for n in $all; do everywhere $net $n "$work/$net-$n"; done
done
for n in $all; do explained mobile $n "$work/mobile-$n"; done
# Images of one pixel, one line, one channel, 33 channels; batches.
for n in $all; do
    script "odd shapes in $n" make_odd.py "$work/odd-$n" "$(file_of "$n")" ||
        continue
    for c in "$work/odd-$n"/*; do
        run "odd shapes ${c##*/} in $n" "$c" "" --local \
            --numerics "$(option_of "$n")"
    done
done

for net in digits mobile; do
    run "$net in standin-a as nash" "$work/$net-standin-a" wrong --local
    run "$net in standin-b as standin-a" "$work/$net-standin-b" wrong \
        --local --numerics "$(option_of standin-a)"
    run "$net in nash as standin-b" "$work/$net-nash" wrong \
        --local --numerics "$(option_of standin-b)"
done
UNIQUE="conv add sub mul avg_pool lut lut_segments rescale reduce matmul"
for n in $all; do
    fit "digits in $n" "$work/digits-$n" "$n" --told
    fit "mobile in $n" "$work/mobile-$n" "$n" --told --unique $UNIQUE
done
found mobile standin-a
found mobile standin-b
found digits standin-a
found digits standin-b
finish
