#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Field cases, section "Tooling: dumps, transport, versions, CI".
# timeout: 300
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx
peer=$BUILD/x86_64/tests/support/peer
[ -x "$peer" ] || not_ok "'$peer' was not built"

# No disk on the board: an agent in a folder that nobody may write.
mkdir "$work/board"
chmod a-w "$work/board"
(cd / && find "$work/board" | sort) >"$work/before"
start_agent env -C "$work/board" HOME="$work/board" TMPDIR="$work/board/none" \
    "$assayd" --listen "unix:$work/a.sock"
run "$assay" info --target "$address"
expect_rc 0 "field 42: what the board is, before anything is sent"
run "$assay" run "$digits" --target "$address" -q --dry-run
expect_rc 0 "field 42: and whether model and data fit, without running"
run "$assay" run "$digits" --target "$address" -q --save-outputs -o "$work/made"
expect_rc 0 "field 42: all tensors come"
expect "field 42: to the host" test -s "$work/made/outputs/0000.npz"
(cd / && find "$work/board" | sort) >"$work/after"
expect "field 42: nothing was written on the board" \
    cmp -s "$work/before" "$work/after"

# One error, its cause, and nothing behind it.
first_error() { # first_error RC REGEX TEXT
    expect_refused "$1" "$2" "$3"
    expect "$3: one sentence" test "$(grep -c '^error: ' "$work/err")" = 1
    expect "$3: no match is claimed" \
        bash -c '! grep -q "^match" "$1"' _ "$work/out"
}
run "$assay" run -m "$model" -i "$digits/inputs" -r "$work/golden" --local -q
first_error 2 'golden: no such file or folder' "field 43: a folder that is not there"
echo >"$work/file"
run "$assay" run "$digits" --target "$address" -q --save-outputs \
    -o "$work/file/dumps"
first_error 2 "file/dumps.*Not a directory" \
    "field 43: a folder that cannot be made"
cp "$digits/inputs/0000.npz" "$work/half.npz"
truncate -s 200 "$work/half.npz" 2>/dev/null ||
    not_ok "field 43: an input that is cut"
run "$assay" run -m "$model" -i "$work/half.npz" --target "$address" -q
first_error 2 'half.npz' "field 43: half a file"

# Versions that do not fit are refused, both are named.
run "$peer" "$work/a.sock" future reply
expect_out 'ERROR VERSION .*90[01]' "field 45: a tool of another version is refused"
run "$assay" info --target "$address"
expect_out '^board .* agent [0-9]+\.[0-9]+\.[0-9]+, protocol [0-9]+' \
    "field 45: the versions of the board"
run "$assay" run "$digits" --target "$address" -q --json "$json"
report "field 45: all versions that took part are in the report" '
assert r["tool"]["version"] and r["agent"]["version"] and r["agent"]["protocol"]
assert "onnxruntime 1." in r["run"]["reference"] and len(r["model"]["sha256"]) == 64'
copy "$digits" other
python3 "$support/patch_model.py" "$work/other/model.onnx" conv1.b_quantized 0 1
run "$assay" run "$work/other" --target "$address" -q
expect_refused 2 'sha256|model' \
    "field 45: goldens of another version of the model are refused"

# Observing is streamed, and asks for what differs.
run "$assay" run "$digits" --target "$address" -q --json "$json"
cp "$json" "$work/equal.json"
run "$assay" info --target "$address"
grep -o 'memory .*' "$work/out" >"$work/before"
run "$assay" run "$digits" --target "$address" -q --save-outputs \
    --capture full -o "$work/all" --json "$json"
report "field 46: tensors are streamed when they are wanted" '
size = sum(l["count"] * (4 if l["dtype"] == "float32" else 1)
           for l in r["layers"])
assert r["received_bytes"] > size, (r["received_bytes"], size)
assert "conv5" in L'
cp "$work/equal.json" "$json"
run "$assay" info --target "$address"
grep -o 'memory .*' "$work/out" >"$work/after"
expect "field 46: and none of them stay on the board" \
    cmp -s "$work/before" "$work/after"

made odd "$model" "$digits/inputs" pw4=R1
run "$assay" run -m "$model" -i "$digits/inputs" -r "$work/odd" \
    --target "$address" -q --json "$json"
expect_rc 1 "field 47: no list of layers is needed"
expect_out '^ first culprit: 007 pw4' "field 47: the first culprit is what comes"
report "field 47: equal layers travel as hashes, culprits alone run again" '
equal = json.load(open("'"$work/equal.json"'"))
size = sum(l["count"] * (4 if l["dtype"] == "float32" else 1)
           for l in equal["layers"])
# Progress and statistics travel, too: a constant for each layer and sample.
frames = equal["run"]["samples"] * len(equal["layers"])
assert equal["received_bytes"] < frames * 600, equal["received_bytes"]
assert C == ["pw4"], C
assert all(l["isolated"] is None for l in r["layers"] if l["index"] < 7)'

# Observing must not change the result.
run "$assay" run -m "$model" -i "$digits/inputs" --target "$address" -q \
    --save-outputs -o "$work/one" --layers conv5
run "$assay" run -m "$model" -i "$digits/inputs" --target "$address" -q \
    --save-outputs -o "$work/two" --mode isolated
for dir in all one; do
    rm -rf "$work/$dir.conv5"
    cp -r "$work/$dir/outputs" "$work/$dir.conv5"
    python3 "$support/sim_files.py" keep "$work/$dir.conv5" \
        conv5.y_QuantizeLinear_Output
done
expect "field 49: a layer observed alone and with all others is the same" \
    diff -r "$work/all.conv5" "$work/one.conv5"
run "$assay" pinpoint "$digits" --got "$work/all/outputs" --local -q
expect_rc 0 "field 49: and what was observed is what was not"

# What was built to show its inner layers computes otherwise than what was not:
# a dequantization can be undone, and gives other integers than those shown.
copy "$horizon" taps
cp -r "$horizon/sim" "$work/taps/sim"
chmod -R u+w "$work/taps"
python3 "$support/sim_files.py" take "$work/taps/sim" "$work/taps/golden" tail.y
run "$assay" run "$work/taps" --local -q --wide
expect_rc 1 "field 46: inner layers of another build are compared"
expect_out "'tail_HzDequantize' equals the reference and was not made of 'tail.y_quantized'" \
    "field 46: and a warning that the graph was changed by showing them"
expect_out 'the one that shows inner tensors is wrong there, the one that gave the outputs is not' \
    "field 49: observing changed the result"

# A layer that does not end: its name, a code of its own, the board lives.
if have_arm; then
    # Another board than the one that waits here.
    board=${ASSAYD_BOARD_ID:-field}
    export ASSAYD_BOARD_ID=$board-slow
    # The network on 120x120: layers of some 10 ms each on an emulated CPU.
    python3 - "$model" "$work/wide.onnx" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
dims = bytes.fromhex("0a0208080a020808")
assert dims in data
open(sys.argv[2], "wb").write(data.replace(dims, dims.replace(b"\x08\x08",
                                                              b"\x08\x78")))
PY
    python3 "$support/many_inputs.py" "$work/wide.npz" input 1,1,120,120 1 0 1 5
    for seconds in 0.1 0.05 0.02 0.01 0.005 0.002; do
        run "$assay" run -m "$work/wide.onnx" -i "$work/wide.npz" -q \
            --target "$(arm_target cortex-a53)" --cpumask 0 \
            --layer-timeout $seconds --json "$json"
        [ "$rc" = 4 ] && grep -q "ms in layer '" "$work/err" && break
    done
    first_error 4 "did not finish within [0-9]+ ms in layer '[a-z0-9]+' \\([A-Za-z]+, kernel assay_[a-z0-9_]+\\)" \
        "field 51: a layer that hangs is named"
    report "field 51: with a code of its own, in a partial report" '
assert r["partial"] and r["exit_code"] == 4 and "did not finish" in r["error"]'
    run "$assay" run "$digits" --target "$(arm_target cortex-a53)" -q
    expect_rc 0 "field 51: the board serves the next one"
    export ASSAYD_BOARD_ID=$board
else
    skip "field 51: no agent for an emulated board"
fi

# A client that died: the board is free again; who holds it is told.
mkfifo "$work/held"
exec {held}<>"$work/held"
"$peer" "$work/a.sock" hello reply acquire reply hold >"$work/held" \
    2>/dev/null &
holder=$!
agents+=("$holder")
while read -r -t 20 line <&"$held"; do
    [ "$line" = holding ] && break
done
run "$assay" info --target "$address"
expect_out '^lease .*peer@test' "field 52: info says who holds the board"
expect_out '^lease .*[0-9]+ s' "field 52: and when that ends"
run "$assay" run "$digits" --target "$address" -q
expect_refused 3 'peer@test.*[0-9]+ s more' "field 52: the next one is told so"
kill -KILL "$holder"
wait "$holder" 2>/dev/null
run "$assay" run "$digits" --target "$address" -q
expect_rc 0 "field 52: a client that died holds nothing"

# Nothing compared is never green.
never_green() { # never_green RC TEXT OPTION...
    local want=$1 text=$2
    shift 2
    run "$assay" run "$@" -q
    expect_rc "$want" "field 53: $text"
    expect "field 53: $text: no match is claimed" \
        bash -c '! grep -q "^match" "$1"' _ "$work/out"
}
never_green 5 "all layers skipped" "$digits" --local --skip-layers '*'
never_green 5 "nothing to compare with" -m "$model" -i "$digits/inputs" --local
never_green 3 "no board" "$digits" --target "unix:$work/none.sock" --timeout 2
never_green 5 "a column that is required and absent" "$digits" --local \
    --require bpu
run "$assay" run "$work/nowhere" --local --skip-if-missing -q
expect_rc 77 "field 53: a skip has a code of its own"
stop_agent TERM
finish
