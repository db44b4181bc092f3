#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Layout first: a column whose tensor is the reference's in another
# arrangement is told so, without numbers of mismatches; what is no layout has
# fingerprints.
. "$(dirname "$0")/lib.sh"
conv1=conv1.y_QuantizeLinear_Output
conv2=conv2.y_QuantizeLinear_Output
logits=logits

"$assay" run "$digits" --local -q --save-outputs -o "$work/made" \
    >/dev/null 2>&1

# Column got has the tensors NAME... alone; the first is changed.
got() { # got "KIND ARG..." NAME...
    local how=$1 name=$2
    shift
    rm -rf "$work/got"
    cp -r "$work/made/outputs" "$work/got"
    python3 "$ROOT/tests/support/sim_files.py" keep "$work/got" "$@"
    # shellcheck disable=SC2086 # words
    python3 "$ROOT/tests/support/rearrange.py" "$work/got" "$name" $how
    run "$assay" pinpoint "$digits" --got "$work/got" --local -q
    # Sentences may be wrapped.
    tr -s '\n ' '  ' <"$work/out" >"$work/one"
    mv "$work/one" "$work/out"
}

layout() { # layout ID WORDS "KIND ARG..." NAME...
    local id=$1 words=$2
    shift 2
    got "$@"
    expect_rc 1 "$1"
    expect_out "layout: first culprit [a-zA-Z0-9_]+: the same data, $words" "$1"
    expect_out "\($id\): [0-9]+ of [0-9]+ elements compared, all equal" \
        "$1: $id"
    expect_not_out "  where |exp -?[0-9]+ got|LSB|  looks | cause  " \
        "$1: no numbers of mismatches"
}

input=input_QuantizeLinear_Output
relu1=relu1.y_QuantizeLinear_Output

layout L1 "NCHW -> NHWC" "permute 0231" $conv1 $input
# All sizes are powers of two: other orders of axes are the same.
layout L1 "N[HWC]{3} -> N[HWC]{3}" "permute 0312" $conv1 $input
layout L1 "columns in the opposite order" "reverse 3" $conv1 $input
layout L1 "rows in the opposite order" "reverse 2" $conv1 $input
layout W3 "channels in the opposite order" "reverse 1" $conv1 $input
layout W3 "channels 3 and 9 swapped" "swap 1 3 9" $conv1 $input
layout L2 "rows 16 bytes apart, read as 8" "stride 8 16" $conv1 $input
layout L2 "rows 32 bytes apart, read as 8" "stride 8 32" $conv1 $input
layout L2 "rows 64 bytes apart, read as 8" "stride 8 64" $conv1 $input
layout L2 "rows 16 bytes apart, read as 4" "stride 4 16" $conv2 $relu1
layout L2 "planes 64 bytes apart, read as 16" "stride 16 64" $conv2 $relu1
layout L3 "channels in blocks of 4" "pack 4" $conv1 $input
layout L3 "channels in blocks of 8" "pack 8" $conv1 $input
layout U1 "signed taken for unsigned" "sign" $conv1 $input
layout L2 "moved by" "shift 1" $conv1 $input
layout L2 "moved by" "shift 8" $conv1 $input
layout U2 "bytes of every element in the opposite order" "swab" \
    $logits logits_QuantizeLinear_Output
layout L5 "bytes of tensor 'avgpool" "become avgpool.y_QuantizeLinear_Output" \
    maxpool.y_QuantizeLinear_Output avgpool.y_QuantizeLinear_Output \
    relu5.y_QuantizeLinear_Output
expect_out "layout: 13 avgpool, column got" "the other one is told as well"

looks() { # looks WORDS "KIND ARG..." NAME...
    local words=$1
    shift
    got "$@"
    expect_rc 1 "$1"
    expect_out "looks [^:]*$words" "$1"
    expect_not_out "layout: |the same data" "$1 is no layout"
}

looks "shifted by 3 everywhere; one-sided, always higher" "add 3" $conv1 $input
looks "edge ring, 1 wide; one-sided, always lower" "add-ring -5" $conv1 $input
looks "constant per channel" "add-at 2 1 4 7" $conv1 $input
looks "edge ring, 2 wide, at the bottom" "add-at 4 2 6 7" $conv1 $input

# Noise has nothing in common, and no cause.
for seed in 1 2 3 4 5 6; do
    got "noise $seed" $conv1 $input
    expect_not_out "layout|looks|proved" "noise $seed looks like nothing"
    expect_out "none of [0-9]+ hypotheses" "noise $seed has no cause"
    expect_out "unexplained: first culprit conv1: column got differs .* no known \
cause" "noise $seed is unexplained"
done

# What equals is no culprit.
got "reverse 1" $input
expect_rc 0 "one channel backwards is the same"
expect_not_out "layout|looks|culprit" "one channel backwards"

finish
