#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several causes fit the samples: an input is made on which they differ, the
# board runs it, and the one that was seeded is left.
# timeout: 180
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx

seed() { # seed LAYER EDIT: $work/other.slice
    run "$assay" mutate "$model" --layer "$1" --set "$2" -o "$work/other.slice" \
        -q
    expect_rc 0 "mutate $1 $2"
}

# Files cannot be asked: all stay, and the input is offered.
seed avgpool R18=half_up
run "$assay" run -m "$work/other.slice" -i "$digits/inputs" --local -q \
    --save-outputs -o "$work/made"
run "$assay" pinpoint "$digits" --got "$work/made/outputs" --local -q \
    --json "$json" -o "$work/saved"
flatten
expect_rc 1 "an average that rounds otherwise, in files"
report "four causes fit them" '
h = [h for h in r["hypotheses"] if h["proved"]]
assert {h["class"] for h in h} == {1, 2, 3, 4}, h
assert not any(h["struck"] for h in r["hypotheses"])
assert {"R18=half_up", "R5=half_away"} <= {x["id"] for x in h}
assert r["culprits"][0]["settled"] is None'
expect_flat "on $work/saved/separating/013.npz 4 of these 4 differ" \
    "the input that would tell is saved"
expect_flat 'got is known from files and cannot be asked from here' \
    "and why it was not run"

# What a board computes can be asked: the same fault, as a slice.
settled() { # settled OPTION...: with these, the seed alone is left
    run "$assay" pinpoint "$digits" --got "$work/other.slice" -q \
        --json "$json" "$@"
    flatten
    expect_rc 1 "$*"
    report "$1: what was seeded is left, others were struck out" '
h = [h for h in r["hypotheses"] if h["proved"]]
assert [x["id"] for x in h] == ["R18=half_up"], h
s = [x for x in r["hypotheses"] if x["struck"]]
assert {"R5=half_away", "R18=half_away"} <= {x["id"] for x in s}, s
assert all(x["all_matched"] < x["all"] for x in s)
c = r["culprits"][0]
assert c["hypothesis"] == "R18=half_up"
assert c["settled"] == {"inputs": 1, "elements": 128, "classes_before": 4,
                        "classes_left": 1}, c'
    expect_flat 'made an input to tell 4 causes apart and ran .*other.slice on .*: only R18=half_up gives what came back +128/128' \
        "$1: in words"
    expect_flat 'struck out, though they fit these samples: R5=' \
        "$1: and which were not it"
}
settled --local
if have_arm; then
    settled --target "$(arm_target cortex-a76)"
else
    skip "the same on an emulated board: no agent for it, or no emulator"
fi

# Two that are not the seed but give the same everywhere stay together.
seed avgpool R13=floor
run "$assay" pinpoint "$digits" --got "$work/other.slice" --local -q \
    --json "$json"
report "what is the same layer is listed together" '
h = [h["id"] for h in r["hypotheses"] if h["proved"]]
assert set(h) == {"R13=floor", "O1=floor"}, h
assert {h["class"] for h in r["hypotheses"] if h["proved"]} == {1}'

# A layer that was put in front of the seeded one is run with it.
seed conv2 P1=lowest
run "$assay" pinpoint "$digits" --got "$work/other.slice" --local -q \
    --json "$json"
report "an edit of several layers" '
assert C == ["conv2"] and "P1=lowest" in H["conv2"], H'

# The CPU itself: an agent whose vector kernels round down. Of an empty picture
# a layer gives one value a channel, which more than one cause explains.
if have_arm && python3 "$support/break_kernels.py" floor "$arm_assayd" \
    "$work/broken" >"$work/changed"; then
    chmod +x "$work/broken"
    python3 "$support/many_inputs.py" "$work/empty.npz" input 1,1,8,8 1 0 0 7
    run "$assay" run -m "$model" -i "$work/empty.npz" -q --json "$json" \
        --target "exec:$QEMU -cpu cortex-a76 $work/broken --stdio --no-self-test"
    flatten
    expect_rc 4 "a vector kernel that rounds down"
    report "run: the CPU is asked, and floor is left" '
c = r["culprits"][0]
assert r["verdict"] == "assay-kernel" and c["name"] == "conv1"
assert c["hypothesis"] == "R13=floor" and c["settled"]["inputs"] == 1, c
assert c["settled"]["classes_before"] == 3 and c["settled"]["classes_left"] == 1
assert H["conv1"] == ["R13=floor"], H["conv1"]'
    expect_flat 'made an input to tell 3 causes apart and ran the layer on .*: only R13=floor' \
        "run: in words"
    python3 "$support/break_kernels.py" trunc "$arm_assayd" "$work/broken" \
        >"$work/changed"
    run "$assay" pinpoint -m "$model" -i "$work/empty.npz" -q --json "$json" \
        --target "exec:$QEMU -cpu cortex-a76 $work/broken --stdio --no-self-test"
    flatten
    report "two of three are left, which are not known to be one" '
c = r["culprits"][0]
assert c["settled"]["classes_left"] == 2, c
assert sorted(H["conv1"]) == ["R13=trunc", "R5=trunc"], H["conv1"]'
    expect_flat '2 of them give what came back .*these 2 gave the same on 48 more inputs' \
        "and that no input was found for these"
else
    skip "a CPU that is asked: no agent for an emulated board"
fi

# The reference is the odd one, and nobody can run it.
made odd "$model" "$digits/inputs" avgpool=R18=half_up
run "$assay" pinpoint -m "$model" -i "$digits/inputs" -r "$work/odd" --local -q
flatten
expect_flat 'the reference is the odd one and cannot be asked from here' \
    "a reference cannot be asked"

run "$assay" explain "$digits" --got "$work/other.slice" --layer conv2 \
    --at 0,0,0,0
expect_refused 2 "is a slice, and explain reads tensors" "explain runs no slice"

# Slices that are none.
bad() { # bad SENTENCE TEXT
    run "$assay" pinpoint "$digits" --got "$work/bad.slice" --local -q
    expect_refused 2 "$1" "$2"
}
head -c 300 "$work/other.slice" >"$work/bad.slice"
bad "bad.slice" "half a slice"
: >"$work/bad.slice"
bad "bad.slice" "an empty one"
rm "$work/bad.slice"
bad "bad.slice" "one that is not there"
"$assay" import "$horizon/model.onnx" --scales "$horizon/scales.json" -q \
    -o "$work/bad.slice" >"$work/out" 2>"$work/err"
bad "a slice of another model" "one of another model"
finish
