#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a cause stands on: all samples, of which 32 are searched; and an entry
# that is none is refused before anything runs.
# timeout: 120
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx

run "$assay" pinpoint "$digits" --target "unix:$work/nobody" -q --hypothesis R77
expect_refused 2 "R77" "a hypothesis that is none, before the board is asked"
run "$assay" pinpoint "$digits" --target "unix:$work/nobody" -q \
    --hypothesis P5=side:1
expect_refused 2 "P5" "a variant that is none"
run "$assay" pinpoint "$digits" --target "unix:$work/nobody" -q --hypothesis R1
expect_rc 3 "one that is: then the board is missed"

# 50 samples, all of which differ in conv1 but those that are put right below.
many=$work/many.npz
python3 "$support/many_inputs.py" "$many" input 1,1,8,8 50 0 1 7
made right "$model" "$many"
made got "$model" "$many" conv1=R13=floor
many=(-m "$model" -i "$many" -r "$work/right")
pin got "${many[@]}"
expect_rc 1 "50 samples differ"
expect_flat 'cause R13=floor: .* ([0-9]+)/\1 differing, 51200/51200 all proved' \
    "all elements of all 50"
report "and says of how many" '
c = r["culprits"][0]
assert c["samples"] == {"differing": 50, "searched": 32, "looked_at": 50,
                        "all": 50}, c
h = [h for h in r["hypotheses"] if h["name"] == "conv1" and h["proved"]]
assert h and all(x["all"] == 51200 == x["all_matched"] for x in h), h
assert all(x["differing"] == L["conv1"]["columns"]["got"]["mismatch"] for x in h)'

# Sample 40 does not have the fault: what fits the other 49 is not the cause.
cp "$work/right/0040.npz" "$work/got/0040.npz"
pin got "${many[@]}"
expect_rc 1 "49 of 50 samples differ"
report "what breaks the sample that was not searched is not proved" '
assert "conv1" not in H, H
c = r["culprits"][0]
assert c["hypothesis"] is None and c["verdict"] == "unexplained", c
assert c["samples"]["differing"] == 49 and c["samples"]["searched"] == 33, c'
expect_flat 'R13=floor explains ([0-9]+)/\1 but breaks [0-9]+ others: not it' \
    "and the report says why"

# One sample has another fault than the others.
made got "$model" "${many[3]}" conv1=R13=floor
made other "$model" "${many[3]}" conv1=R14
cp "$work/other/0040.npz" "$work/got/0040.npz"
pin got "${many[@]}"
report "a sample with another fault: no single cause" 'assert "conv1" not in H, H'

# The same for an arrangement of the data.
made got "$model" "${many[3]}" conv1=L1=nchw
pin got "${many[@]}"
expect_flat 'layout .*: 51200 of 51200 elements compared' \
    "an arrangement of all 50 samples"
cp "$work/right/0040.npz" "$work/got/0040.npz"
pin got "${many[@]}"
report "is none when one sample has it not" '
assert r["verdict"] != "layout" and "conv1" not in H, (r["verdict"], H)'

# What a board computed is not kept beyond the 32: the board is asked again. One
# that is lost meanwhile leaves them out, and that is said.
if have_arm && python3 "$support/break_kernels.py" floor "$arm_assayd" \
    "$work/broken" >"$work/changed"; then
    chmod +x "$work/broken"
    python3 "$support/many_inputs.py" "$work/few.npz" input 1,1,8,8 36 0 1 7
    tapped() { # tapped RUNS: a wire that breaks after so many
        run "$assay" run -m "$model" -i "$work/few.npz" -q --json "$json" \
            --layers conv1 --end-layer conv1 \
            --target "exec:python3 $support/wiretap.py --runs $1 $work/log $QEMU -cpu cortex-a76 $work/broken --stdio --no-self-test"
        flatten
    }
    tapped 1000
    expect_rc 4 "36 samples of a CPU that rounds down"
    report "all are compared with floor" '
c = r["culprits"][0]
assert c["hypothesis"] == "R13=floor", c
assert c["samples"] == {"differing": 36, "searched": 32, "looked_at": 36,
                        "all": 36}, c
assert r["error"] is None'
    runs=$(wc -l <"$work/log")
    rm "$work/log"
    tapped $((runs - 2))
    report "two could not be asked" '
c = r["culprits"][0]
assert c["samples"]["looked_at"] == 34 and c["samples"]["all"] == 36, c
assert c["hypothesis"] == "R13=floor" and r["error"] is not None'
    expect_flat 'compared with 34 of 36 samples: the others could not be had again' \
        "and the report says so"
else
    skip "a CPU that is asked again: no agent for an emulated board"
fi
finish
