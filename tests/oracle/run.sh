#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make check-oracle`: every integer layer of real quantized models against
# onnxruntime's own tensors, on the host's engine and on the agent under the
# emulator. Models: ours (train_digits.py, and the OCR classifier from npm),
# and those of $ASSAY_SHARED/models where they are.
#
#   BUILD   build folder            QEMU   qemu-aarch64
#   CPUS    cpus to emulate, "cortex-a53 cortex-a76 max"
set -u
here=$(cd "$(dirname "$0")" && pwd)
shared=${ASSAY_SHARED:-../shared}
work=${BUILD:-build}/oracle
. "$here/lib.sh"

. "$here/models.sh"
make_models

# judge WHAT CASE WANT ARGS...: WANT is exact or literal, see judge.py.
judge() {
    local what=$1 case=$2 want=$3 line rc
    shift 3
    rm -f "$work/report.json"
    timeout 300 "$assay" run "$case" -q --json "$work/report.json" "$@" \
        >"$work/run.log" 2>&1
    rc=$?
    line=$("$python" "$here/judge.py" "$work/report.json" "$want" $rc 2>&1)
    if [ $? = 0 ]; then
        pass "$what: $line"
    else
        fail "$what: $line"
        tail -n 5 "$work/run.log"
    fi
}

# everywhere NAME CASE: the host's engine, then the agent on each CPU, with
# vector kernels and without.
everywhere() {
    local name=$1 case=$2 cpu mask
    judge "$name local" "$case" exact --local
    for cpu in $CPUS; do
        for mask in "" 0; do
            judge "$name $cpu${mask:+ cpumask 0}" "$case" exact \
                --target "exec:$QEMU -cpu $cpu $agent --stdio" \
                ${mask:+--cpumask 0}
        done
    done
}

family() { # family PREFIX FOLDER NAME INPUTS MODELS...
    local prefix=$1 folder=$2 inputs=$3 m case
    shift 3
    for m in "$@"; do
        case=$work/cases/$prefix$m
        make_case make_cases.py "$folder/$m.onnx" "$folder/$inputs" "$case" &&
            everywhere "$prefix$m" "$case"
        # Literal goldens of a QDQ model are computed in floats.
        case $m in *qdq*) ;; *) continue ;; esac
        make_case make_cases.py "$folder/$m.onnx" "$folder/$inputs" \
            "$case-literal" --opt none &&
            judge "$prefix$m literal" "$case-literal" literal --local \
                --mode isolated
    done
}

digits="digits_qop_u8 digits_qdq_s8 digits_qdq_u8s8"
ppocr="ppocr_cls_qop_u8 ppocr_cls_qdq_s8"
sets() { # sets PREFIX FOLDER OCR
    family "$1" "$2" digits_inputs.npz $digits
    local case=$work/cases/$1digits_qdq_s16
    make_case int16_exact.py "$2/digits_qdq_s16.onnx" \
        "$2/digits_inputs.npz" "$case" && {
        [ -s "$work/case.log" ] && tail -n 1 "$work/case.log"
        judge "$1digits_qdq_s16 (exact integers) local" "$case" exact --local
        judge "$1digits_qdq_s16 (exact integers) cortex-a76" "$case" exact \
            --target "exec:$QEMU -cpu cortex-a76 $agent --stdio"
    }
    [ -z "$3" ] || family "$1" "$2" ppocr_cls_inputs.npz $ppocr
}

# Models of seed 1, small and odd: the host's engine, and vector kernels.
random_models() {
    local folder=$work/random c
    if ! fresh "$folder/.made" "$here/random_models.py" \
        "$here/make_cases.py" "$here/ort_layers.py"; then
        "$python" "$here/random_models.py" "$folder" --count 42 \
            >"$work/random.log" 2>&1 && touch "$folder/.made" ||
            { tail -n 5 "$work/random.log"; fail "random_models.py"; return; }
    fi
    for c in "$folder"/*/; do
        c=${c%/}
        judge "random ${c##*/} local" "$c" exact --local
        judge "random ${c##*/} cortex-a76" "$c" exact \
            --target "exec:$QEMU -cpu cortex-a76 $agent --stdio"
    done
}

sets "" "$models" "$ocr"
random_models
if [ -d "$shared/models" ]; then
    sets shared- "$shared/models" 1
else
    skip "models of $shared: not there"
fi
finish
