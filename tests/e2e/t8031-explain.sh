#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The hand calculation of an element: its text, added up again by a script that
# sees nothing else, is the golden; where a column that differs must have left
# it; wrong questions have one sentence each.
# timeout: 240
. "$(dirname "$0")/field.sh"
re_add=(python3 "$support/re_add.py")

run "$assay" explain "$digits" --layer conv2 --at 0,3,3,7
expect_rc 0 "one element"
expect_out '^conv2  Conv, int8 -> int8, arithmetic fp32_rne .*\[0,3,3,7\]' \
    "says which"
expect_out 'sum x\*w of 64 taps, 80 more in the padding add 0' "and its taps"
expect_out 'fround half_even' "and each step"
expect_out 'reference (-?[0-9]+)   host \1   cpu \1$' "and the columns"
run "$assay" explain "$digits" --layer conv2 --at 0,3,3,7 -v
expect_rc 0 "-v"
expect_out '^    tap 1,1,15 ' "prints every product"

run "${re_add[@]}" "$assay" 60 1 "$digits" "$horizon" "$nash"
expect_rc 0 "random elements are added up again"
expect_out '^180 elements re-added, 0 of them without a calculation, 0 wrong' \
    "all of them"
shared=${ASSAY_SHARED:-$ROOT/../shared}
if [ -d "$shared/cases-x5" ]; then
    run "${re_add[@]}" "$assay" 20 2 \
        "$shared"/cases-x5/{ops_elt,ops_conv,ops_mat,ops_lut,ops_pool} \
        "$shared"/cases-x5/{ops_pre,ops_batch2,stress,ops_i16c,ops_i16n}
    expect_rc 0 "and of the vendor's networks"
else
    skip "and of the vendor's networks: $shared/cases-x5 is not there"
fi
models=$shared/models
if [ -d "$models" ]; then
    run "${re_add[@]}" "$assay" 20 3 \
        "$models/digits_qop_u8.onnx:$models/digits_inputs.npz" \
        "$models/ppocr_cls_qdq_s8.onnx:$models/ppocr_cls_inputs.npz"
    expect_rc 0 "and of models that were quantized elsewhere"
else
    skip "and of models that were quantized elsewhere: $models is not there"
fi
# A text that does not add up is found out.
for edit in 's/^(  fround half_even +)([0-9])/\11\2/' \
    's/^(    tap .*\* \()/\11/' 's/(   reference )/\19/'; do
    printf '#!/bin/bash\n"%s" "$@" | sed -E "%s"\n' "$assay" "$edit" \
        >"$work/liar"
    chmod +x "$work/liar"
    run "${re_add[@]}" "$work/liar" 20 1 "$digits"
    expect_rc 1 "a wrong number is found: $edit"
done

# Where a column that differs must have left the calculation.
seeded() { # seeded LAYER EDIT; $at: an element of the first sample
    made got "$digits/model.onnx" "$digits/inputs" "$1=$2"
    pin got/0000.npz -m "$digits/model.onnx" -i "$digits/inputs/0000.npz" \
        -r "$digits/golden/0000.npz"
    at=$(python3 -c '
import json, sys
l = [l for l in json.load(open(sys.argv[1]))["layers"] if l["name"] == sys.argv[2]]
print(",".join(map(str, l[0]["columns"]["got"]["first"][0]["index"])))' \
        "$json" "$1")
}
explained() { # explained LAYER: of $work/got
    run "$assay" explain "$digits" --got "$work/got" --layer "$1" --at "$at" -q
    expect_rc 0 "a column beside the others: $1"
    flatten
}
seeded conv2 R5=trunc
explained conv2
expect_out '^  fround half_even +-?[0-9]+   got: -?[0-9]+ \([a-z_, ]*trunc[a-z_, ]*\)$' \
    "a rounding: marked in its line"
expect_flat "got (-?[0-9]+): in one step alone it parted at 'fround half_even' \(" \
    "and named"
expect_out '^  fmul .*   got: \[-?[0-9.]+, -?[0-9.]+\]$' \
    "what each value would have to be"
expect_flat 'acc \(32 bits\): would have to be \[-?[0-9]+, -?[0-9]+\], it is -?[0-9]+' \
    "and what the accumulator"
seeded conv2 B1
explained conv2
expect_flat "parted at (one of )?'acc \(32 bits\)' \(what it adds left out\)" \
    "a bias that is missing"
explained relu2
expect_flat 'got (-?[0-9]+): parted in front of this layer: on its own inputs this calculation gives \1' \
    "a layer behind it: inherited"
expect_flat 'numbers that it read differ; the first: element [0-9]+ of ' \
    "and what it read"
made got "$digits/model.onnx" "$digits/inputs" conv2=B1 conv5=Q4=down
at=0,0,2,1
explained conv5
expect_flat 'got had other inputs, on which this calculation gives -?[0-9]+; what follows is of these' \
    "other inputs and another calculation"
expect_out '^  acc \(32 bits\) +-?[0-9]+   got has -?[0-9]+: \[-?[0-9]+, -?[0-9]+\]$' \
    "what it had and what it needed, step by step"
expect_flat "in one step alone it parted at 'fmul [0-9.]+' \(half as much\)" \
    "an exponent that is off by one"
run "$assay" explain "$horizon" --layer same_s2 --at 0,5,5,0 -q
flatten
expect_flat 'acc \(64 bits\): would have to be .* which it is where each of the 15 taps in the padding holds 128 ' \
    "what the padding would have to hold"
run "$assay" explain "$horizon" --layer k2_bottom --at 0,0,5,3
flatten
expect_not_out 'in the padding holds' "nothing of padding where there is none"
expect_out 'host -?[0-9]+   cpu -?[0-9]+   sim -?[0-9]+ \(differs\)' \
    "a column that differs is marked"
expect_flat "sim -?[0-9]+: must have parted at 'acc \(64 bits\)' or in front of it" \
    "no step gives it: it is in the sum"
expect_flat 'acc \(64 bits\): would have to be \[-?[0-9]+, -?[0-9]+\], it is' \
    "which would have to be another"
expect_flat 'inputs of sim were not observed: it may have parted in front' \
    "what was not seen is said"

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
