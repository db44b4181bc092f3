#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --resume: a run that was cut, in each way, goes on to the report that an
# undisturbed one has; what does not fit is refused and named.
# timeout: 240
. "$(dirname "$0")/lib.sh"

dying=$BUILD/$MACHINE/tests/support/dying_agent
agent="exec:$dying --stdio"
case=$work/case
same() { # same TEXT WHOLE OUT
    run python3 "$ROOT/tests/support/same_report.py" "$2/report.json" \
        "$3/report.json"
    expect_rc 0 "$1: the report of an undisturbed run"
    expect "$1: no journal is left" test ! -e "$3/resume.journal"
}

# Two samples; layer 20 rounds otherwise, and layers behind it differ; in the
# first one element of its reference is wrong, too.
wrong=(--arith t20_node=q31_floor)
python3 "$ROOT/tests/support/long_chain.py" 50 2 "$case"
run "$assay" run "$case" --local -q -o "$work/made" --save-outputs
mv "$work/made/outputs" "$case/golden"
run python3 "$ROOT/tests/support/flip_golden.py" "$case" t20
run "$assay" run "$case" "${wrong[@]}" --target "$agent" -q -o "$work/whole"
expect_rc 1 "an undisturbed run"

# ---- ways to be cut ----
cut() { # cut CODE HOW TEXT [OPTION...]
    local code=$1 how=$2 text=$3
    shift 3
    rm -rf "$work/cut"
    run env DIE="$how" "$assay" run "$case" "${wrong[@]}" --target "$agent" -o "$work/cut" \
        "$@"
    expect_rc "$code" "$text"
    expect_err "resume with: assay run … --resume $work/cut" \
        "$text: how to go on"
    expect_out "^next: assay run … --resume" "$text: and in the report"
    run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume "$work/cut"
    expect_rc 1 "$text: resumed"
    expect_err 'not computed again \(--resume\): [0-9]+' "$text: what was had"
    same "$text" "$work/whole" "$work/cut"
}
cut 1 31,0:11 "a worker that dies behind a culprit"
cut 1 24,1:11 "one that dies in a re-run behind the culprit"
cut 1 7,2:9 "one that is killed in the second sample"
cut 1 33,0:hang "a layer past its time" --layer-timeout 1
# (In front of the culprit: how much of what it sent arrives is chance.)
cut 3 12,0:parent "an agent that dies"
cut 4 5,0:exit=3 "a worker that ends early"

# A run before it stays the one that is compared with.
rm -rf "$work/again"
cp -r "$work/whole" "$work/again"
cp -r "$work/whole" "$work/twice"
run "$assay" run "$case" "${wrong[@]}" --target "$agent" -q -o "$work/again"
run env DIE=30,0:11 "$assay" run "$case" "${wrong[@]}" --target "$agent" -q -o "$work/twice"
run env DIE=40,0:11 "$assay" run "$case" "${wrong[@]}" --target "$agent" -q \
    --resume "$work/twice"
expect_rc 1 "cut a second time"
expect "and kept" test -s "$work/twice/resume.journal"
run "$assay" run "$case" "${wrong[@]}" --target "$agent" -q --resume "$work/twice"
expect "the earlier run's report is no longer needed" \
    test ! -e "$work/twice/resume.previous.json"
sed -i "s,$work/again,$work/twice," "$work/again/report.json"
same "cut twice, over an older run" "$work/again" "$work/twice"

# Ctrl-C, somewhere in 600 samples. An interactive shell's child: a script's
# background job would ignore SIGINT.
cp -r "$digits" "$work/long"
chmod -R u+w "$work/long"
python3 "$ROOT/tests/support/edit_case.py" "$work/long" repeat 600
many=(run -m "$work/long/model.onnx" -i "$work/long/many.npz" --target "$agent")
run "$assay" "${many[@]}" -q -o "$work/all"
expect_rc 0 "600 samples"
mkfifo "$work/talk"
exec {talk}<>"$work/talk"
python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
' "$assay" "${many[@]}" -o "$work/part" >"$work/out" 2>"$work/talk" </dev/null &
pid=$!
while read -r -t 60 line <&"$talk"; do
    case $line in "[3/4]"*) break ;; esac
done
kill -INT "$pid"
wait_for "$pid" 60
expect_rc 130 "Ctrl-C"
exec {talk}>&-
run "$assay" "${many[@]}" -q --resume "$work/part"
expect_rc 0 "resumed behind it"
same "after Ctrl-C" "$work/all" "$work/part"

# ---- the host dies, too: a journal ends anywhere ----
rm -rf "$work/cut"
run env DIE=44,0:11 "$assay" run "$case" "${wrong[@]}" --target "$agent" -q -o "$work/cut"
cp "$work/cut/resume.journal" "$work/journal"
size=$(stat -c %s "$work/journal")
bad=0
for ((i = 2; i <= 20; i++)); do
    head -c $((size * i / 20 - i % 7)) "$work/journal" \
        >"$work/cut/resume.journal"
    timeout 60 "$assay" run "$case" "${wrong[@]}" --target "$agent" -q \
        --resume "$work/cut" >"$work/out" 2>"$work/err"
    rc=$?
    [ $rc = 1 ] && python3 "$ROOT/tests/support/same_report.py" \
        "$work/whole/report.json" "$work/cut/report.json" >>"$work/out" ||
        { bad=$((bad + 1)) && echo "at $i: exit $rc"; head -3 "$work/err"; }
done
expect "a journal that is cut at 19 places" test $bad = 0
head -c 200 "$work/journal" >"$work/cut/resume.journal"
run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume "$work/cut"
expect_refused 2 "had nothing of the board yet" "one that has only begun"

# ---- what does not fit ----
keep() { # the journal of a run that died, in $work/cut
    mkdir -p "$work/cut"
    cp "$work/journal" "$work/cut/resume.journal"
}
with=("${wrong[@]}")
refused() { # refused REGEX TEXT CASE [OPTION...]
    local regex=$1 text=$2 model=$3
    shift 3
    keep
    run "$assay" run "$model" "${with[@]}" --target "$agent" -q --resume "$work/cut" "$@"
    expect_refused 2 "$regex" "$text"
    expect "$text: the journal is kept" \
        cmp -s "$work/journal" "$work/cut/resume.journal"
}
python3 "$ROOT/tests/support/long_chain.py" 49 1 "$work/other"
with=()
refused 'number of layers|model was' "another model" "$work/other"
refused 'arithmetic or layout of the model was' "another arithmetic" "$case"
with=("${wrong[@]}")
ASSAYD_BOARD_ID=elsewhere refused "board was '.*', is 'elsewhere'" \
    "another board" "$case"
cp -r "$case" "$work/edited"
cp "$work/other/inputs/0000.npz" "$work/edited/inputs/0000.npz"
refused 'input in sample 0 was' "another input" "$work/edited"
cp "$case/inputs/0000.npz" "$work/edited/inputs/0000.npz"
cp "$case/golden/0001.npz" "$work/edited/golden/0000.npz"
refused 'reference in sample 0 was' "another reference" "$work/edited"
rm "$work/cut/resume.journal"
run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume "$work/cut"
expect_refused 2 "no resume.journal to go on from" "nothing to go on from"
keep
python3 -c '
import sys
d = bytearray(open(sys.argv[1], "rb").read())
d[len(d) // 2] ^= 255
open(sys.argv[1], "wb").write(d)' "$work/cut/resume.journal"
run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume "$work/cut"
expect_refused 2 "resume.journal" "a damaged journal"
run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume
expect_refused 2 "resume" "an option without its folder"

# ---- other ways to go on ----
keep
run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume "$work/cut" -o "$work/new"
expect_rc 1 "into another folder"
run python3 "$ROOT/tests/support/same_report.py" "$work/whole/report.json" \
    "$work/new/report.json"
expect_rc 0 "with the same report"
keep
run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume "$work/cut" --cpumask 0 \
    --all
expect_rc 1 "with scalar kernels from there on"
expect_err 'ran with --cpumask 0xffffffff, the others with 0x0' "that is told"
keep
run "$assay" run "$case" "${wrong[@]}" --target "$agent" --resume "$work/cut" \
    --skip-layers t44_node --all
expect_rc 1 "without the layer that died"
expect_out '^ 045 .* exact' "what reads it takes the reference"
expect_not_out '^ 044 .*(exact|ERROR)' "it did not run"
# The same without goldens: the host computes what is left out.
rm -rf "$work/cut" "$work/made"
mkdir "$work/bare"
cp -r "$case/model.onnx" "$case/inputs" "$work/bare"
run env DIE=44,0:11 "$assay" run "$work/bare" --target "$agent" -o "$work/cut"
expect_rc 4 "cut, without goldens"
run "$assay" run "$work/bare" --target "$agent" --resume "$work/cut" \
    --skip-layers t44_node --all
expect_rc 0 "goes on without the layer"
expect_out '^ 045 .* exact' "what reads it takes what the host computed"
finish
