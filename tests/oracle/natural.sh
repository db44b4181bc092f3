#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make check-natural`: differences that nobody seeded. onnxruntime on this CPU
# against onnxruntime on aarch64 (aarch64.sh), the literal form of QDQ models
# against the fused one, x86 without VNNI against exact sums: every layer that
# differs by itself has a cause that gives all of its elements.
#
#   tests/oracle/natural.sh            judges
#   tests/oracle/natural.sh --write    and writes the table of docs/hypotheses.md
#   tests/oracle/natural.sh --data     and writes tests/data/natural
#
# The same by `make check-natural NATURAL=--write`.
#
# Models: those of $ASSAY_SHARED/models, or ours where these are not there; and
# the small ones of natural/small.py.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
shared=${ASSAY_SHARED:-../shared}
work=${BUILD:-build}/natural
. "$here/lib.sh"
. "$here/models.sh"
x86=$python
rows=$work/rows.tsv
: >"$rows"

arm=$(BUILD=${BUILD:-build} "$here/aarch64.sh" 2>"$work/aarch64.log")
rc=$?
if [ $rc = 77 ]; then
    skip "onnxruntime of aarch64: $(tail -n 1 "$work/aarch64.log")"
    arm=
elif [ $rc != 0 ]; then
    tail -n 5 "$work/aarch64.log"
    fail "aarch64.sh: exit $rc"
    arm=
fi
flags=$(grep -m 1 -E '^flags' /proc/cpuinfo)
has() { case " $flags " in *" $1"*) ;; *) return 1 ;; esac; }

# compare TITLE CASE GOT OP=EDIT...: cases of $work/cases.
compare() {
    local title=$1 base=$work/cases/$2 got=$work/cases/$3 line
    shift 3
    [ -e "$base/case.json" ] && [ -e "$got/case.json" ] || return
    if line=$("$x86" "$here/natural/judge.py" "$assay" "$work" "$rows" \
        "$title" "$base" "$got/golden" "$@" 2>&1); then
        pass "$title: ${base##*/}: $line"
    else
        fail "$title: ${base##*/}: $line"
    fi
}

# goldens FOLDER MODEL INPUTS: auto and, of QDQ models, none; on both CPUs.
goldens() {
    local opt on
    for opt in auto none; do
        case $opt.$2 in none.*qop*) continue ;; esac
        for on in x86 arm; do
            [ -n "${!on}" ] || continue
            python=${!on} make_case make_cases.py "$1/$2.onnx" "$1/$3.npz" \
                "$work/cases/$2-$on-$opt" --opt $opt
        done
    done
}

floats=S4=fma,S4=fma128,S4=fma256,S4=fma512,S4=quads,S4=plain
literal() { # literal MODEL ON
    compare "fused, literal ($2)" "$1-$2-auto" "$1-$2-none" \
        Conv=$floats Gemm=$floats AveragePool=O1=f32_columns
}

if [ -d "$shared/models" ]; then
    from=$shared/models
    ocr=1
else
    skip "models of $shared: not there, ours instead"
    make_models
    from=$models
fi
for m in digits_qop_u8 digits_qdq_s8 digits_qdq_u8s8 digits_qdq_s16 \
    ${ocr:+ppocr_cls_qop_u8 ppocr_cls_qdq_s8}; do
    case $m in
    digits*) goldens "$from" $m digits_inputs ;;
    *) goldens "$from" $m ppocr_cls_inputs ;;
    esac
    # Of int16 nothing is fused: integers are exact ones, see int16_exact.py.
    if [ $m = digits_qdq_s16 ]; then
        make_case int16_exact.py "$from/$m.onnx" "$from/digits_inputs.npz" \
            "$work/cases/$m-exact"
        compare "exact integers, literal (x86)" $m-exact $m-x86-none \
            Conv=$floats
        compare "exact integers, literal (aarch64)" $m-exact $m-arm-none \
            Conv=$floats
        continue
    fi
    compare "x86, aarch64" $m-x86-auto $m-arm-auto QLinearAdd=O4=ort_neon
    case $m in *qdq*) literal $m x86; literal $m arm ;; esac
done

narrow() { # narrow MODEL INPUTS BASE: x86 as it is by default against BASE
    if ! has avx2 || has avx512_vnni || has avx_vnni; then
        skip "${1##*/}: sums of this CPU do not saturate (AVX2 without VNNI)"
        return
    fi
    make_case make_cases.py "$1.onnx" "$2.npz" \
        "$work/cases/${1##*/}-x86-default" --default
    compare "exact sums, x86 without VNNI" "$3" "${1##*/}-x86-default" \
        Conv=A1=saturated_pairs QLinearConv=A1=saturated_pairs
}
narrow "$from/digits_qdq_u8s8" "$from/digits_inputs" digits_qdq_u8s8-x86-auto

# ---- small ones ---------------------------------------------------------------

small=$work/small
fresh "$small/float.onnx" "$here/natural/small.py" ||
    "$x86" "$here/natural/small.py" "$small" || fail "small.py"
for m in depthwise add pairs pool float; do
    case $m in float) form=none ;; *) form=auto ;; esac
    for on in x86 arm; do
        [ -n "${!on}" ] || continue
        python=${!on} make_case make_cases.py "$small/$m.onnx" "$small/$m.npz" \
            "$work/cases/$m-$on" --opt $form
    done
done
make_case make_cases.py "$small/pool.onnx" "$small/pool.npz" \
    "$work/cases/pool-x86-none" --opt none
make_case int16_exact.py "$small/float.onnx" "$small/float.npz" \
    "$work/cases/float-exact"
compare "x86, aarch64" depthwise-x86 depthwise-arm \
    QLinearConv=A1=alternate_pairs
compare "x86, aarch64" add-x86 add-arm QLinearAdd=O4=ort_neon
compare "x86, aarch64" pool-x86 pool-arm
compare "fused, literal (x86)" pool-x86 pool-x86-none \
    AveragePool=O1=f32_columns
compare "exact integers, literal (x86)" float-exact float-x86 Conv=$floats
compare "exact integers, literal (aarch64)" float-exact float-arm Conv=$floats
narrow "$small/pairs" "$small/pairs" pairs-arm

case " $* " in
*" --data "*)
    "$x86" "$here/natural/data.py" "$work/cases" "$root/tests/data/natural" ||
        fail "data.py"
    ;;
esac
if [ -n "$arm" ] && [ -d "$shared/models" ]; then
    if line=$("$x86" "$here/natural/table.py" "$rows" "$@" 2>&1); then
        pass "docs/hypotheses.md: $line"
    else
        fail "docs/hypotheses.md: $line"
    fi
fi
finish
