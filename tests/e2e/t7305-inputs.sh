#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A column that received another input than it was given: the verdict is input,
# and what makes the one of the other is named, or said not to be known.
. "$(dirname "$0")/lib.sh"
shared=${ASSAY_SHARED:-$ROOT/../shared}

# column CASE INPUT "KIND ARG...": bpu holds the inputs alone, changed.
column() {
    rm -rf "$work/bpu"
    cp -r "$1/inputs" "$work/bpu"
    # shellcheck disable=SC2086 # words
    [ -z "$3" ] ||
        python3 "$ROOT/tests/support/rearrange.py" "$work/bpu" "$2" $3
    run "$assay" run "$1" --bpu "$work/bpu" --local -q --json "$work/json"
    tr -s '\n ' '  ' <"$work/out" >"$work/one"
    mv "$work/one" "$work/out"
}

named() { # named ID WORDS CASE INPUT "KIND ARG..."
    local id=$1 words=$2
    shift 2
    column "$@"
    expect_rc 1 "$3"
    expect_out "input: first culprit [^ ]+: .* is not the one" "$3: verdict"
    expect_out "cause $id: $words +[0-9]+/[0-9]+ all.* proved" "$3: $id"
    expect "$3: JSON" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["verdict"] == "input" and d["exit_code"] == 1
seen, = d["inputs_received"]
assert seen["column"] == "bpu" and 0 < seen["mismatch"] <= seen["count"]
assert [c["id"] for c in seen["causes"]][:1] == [sys.argv[2]], seen
assert all(c["what"] and c["fix"] for c in seen["causes"])
assert [c["hypothesis"] for c in d["culprits"]] == [sys.argv[2]]
' "$work/json" "$id"
}

# Without its column sim, whose compiler is at fault.
cp -r "$ROOT/tests/data/horizon" "$work/horizon"
rm -rf "$work/horizon/sim" "$work/horizon/sim-text"
horizon=$work/horizon nash=$ROOT/tests/data/nash
for case in "$horizon" "$nash" "$digits"; do
    column "$case" x ""
    expect_rc 5 "the same input, and nothing else"
    expect_not_out "cause [A-Z][0-9]|fed " "nothing is said of it"
done
# Channels are axis 1 of the one, axis 3 of the other.
named Y6 "the channels are in the reverse order: [^/]*" "$horizon" x "reverse 1"
named Y6 "the channels are in the reverse order: [^/]*" "$nash" img "reverse 3"
named L1 "axes in the order 0 2 3 1" "$horizon" x "permute 0231"
named L1 "axes in the order 0 3 1 2" "$nash" img "permute 0312"
named Q3 "every element is 255 times what was given" "$horizon" x "times 255"
named Q3 "every element is 0.00390625 times what was given" "$nash" img "times 0.00390625"
named Q3 "every element is 2 times what was given" "$digits" input "times 2"

# The buffer of the sample before.
column "$horizon" x ""
rm -rf "$work/bpu"
mkdir "$work/bpu"
cp "$horizon/inputs/0000.npz" "$work/bpu/0000.npz"
cp "$horizon/inputs/0000.npz" "$work/bpu/0001.npz"
run "$assay" run "$horizon" --bpu "$work/bpu" --local -q
expect_rc 1 "an input that was not written again"
expect_out "sample" "the other sample is named"

# The same of all that the board gave, when the input was not dumped.
rm -rf "$work/bpu"
cp -r "$horizon/golden" "$work/bpu"
cp "$horizon/golden/0000.npz" "$work/bpu/0001.npz"
run "$assay" run "$horizon" --bpu "$work/bpu" --local -q --json "$work/json"
expect_rc 1 "outputs of the sample before"
expect_out "^  cause   D2: what each sample has is what the sample before" \
    "are said to be stale"
expect "D2 in JSON" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert [c["hypothesis"] for c in d["culprits"]] == ["D2"], d["culprits"]
assert d["verdict"] == "runtime", d["verdict"]
assert [(h["id"], h["proved"], h["all"] == h["all_matched"] > 0)
        for h in d["hypotheses"]] == [("D2", True, True)], d["hypotheses"]
' "$work/json"

# Nothing is guessed.
run python3 -c '
import os, random, struct, sys
sys.path.insert(0, sys.argv[3])
import npz
r = random.Random(7)
for f in os.listdir(sys.argv[1]):
    a = npz.read(os.path.join(sys.argv[1], f))["x"]
    a.data = struct.pack("<%df" % a.count,
                         *[r.uniform(-1, 1) for _ in range(a.count)])
    npz.write(os.path.join(sys.argv[2], f), {"x": a})
' "$horizon/inputs" "$work/bpu" "$ROOT/tests/sweep"
expect_rc 0 "noise is written"
run "$assay" run "$horizon" --bpu "$work/bpu" --local -q
expect_rc 1 "noise"
expect_out "^  cause   nothing known makes it of what was given" "no cause"

# Two inputs of one shape, each in the other's place.
if [ -d "$shared/cases-x5/ops_elt" ]; then
    rm -rf "$work/bpu"
    cp -r "$shared/cases-x5/ops_elt/inputs" "$work/bpu"
    chmod -R u+w "$work/bpu"
    python3 "$ROOT/tests/support/rearrange.py" "$work/bpu" x become z
    run "$assay" run "$shared/cases-x5/ops_elt" --bpu "$work/bpu" --local -q \
        --json "$work/json"
    expect_rc 1 "inputs in each other's place"
    expect "both are named" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
got = {i["name"]: i["causes"][0]["what"] for i in d["inputs_received"]}
assert set(got) == {"x", "z"}, got
assert "z" in got["x"] and "x" in got["z"], got
' "$work/json"
else
    skip "no shared case with two inputs of one shape"
fi
finish
