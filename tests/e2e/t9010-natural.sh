#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Differences that nobody seeded: goldens of onnxruntime on two CPUs, and of the
# literal form of a QDQ model (tests/data/natural, made by `make
# check-natural`). Each layer that differs by itself has its cause, which gives
# every element; what the maker of the other column computes stands first.
. "$(dirname "$0")/lib.sh"
natural=$ROOT/tests/data/natural

# explain CASE ARGS...: sentences may be wrapped.
explain() {
    local case=$1
    shift
    run "$assay" pinpoint "$natural/$case" --local "$@"
    expect_rc 1 "$case"
    tr -s '\n ' '  ' <"$work/out" >"$work/one"
    mv "$work/one" "$work/out"
}

cause() { # cause EDIT DIFFERING ALL
    expect_out "cause $1: [^/]*( / [^/]*)* $2/$2 differing, $3/$3 all proved" \
        "$1 gives all of $2 and of $3"
}

explain depthwise
expect_out 'first culprit depthwise' "the depthwise kernel of aarch64"
expect_out 'accumulators differ by multiples of 2\^16' "is looked at"
cause A1=alternate_pairs 1724 3136
expect_not_out ' or A1| or P5' "and nothing else is"

explain pairs
cause A1=saturated_pairs 883 1024

explain add
cause O4=ort_neon 4088 65536
expect_out 'proved that is what onnxruntime-aarch64 computes' \
    "the files say who made them"
expect_out 'or O4=tflite_l15' "of all pairs of bytes, one more form is equal"
expect_not_out 'R1|R3|R6' "and no rounding"

explain pool
cause O1=f32_columns 15 512
expect_out 'that is what the literal form of this model computes' \
    "the files say how they were made"

explain float
cause S4=fma128 3 1944
cause S4=quads 1 1944
cause S4=fma 2 1944
explain float --got "$natural/float/got-aarch64"
cause S4=fma128 3 1944
cause S4=fma 4 1944

# The same model by itself: no file says who made what, so nothing is known.
run "$assay" import "$natural/depthwise/model.onnx" -o "$work/slice"
expect_rc 0 "import of the depthwise model"
run "$assay" pinpoint -m "$natural/depthwise/model.onnx" \
    -i "$natural/depthwise/inputs" -r "$natural/depthwise/golden" \
    --got "$natural/depthwise/got" --hypothesis A1 --local
expect_rc 1 "A1 alone"
expect_out 'A1=alternate_pairs' "A1 in pairs of every other product"
finish
