#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A day's commands over TLS with pinned keys, and over a Unix socket: the same
# verdicts and the same reports. Short commands resume the session of before,
# and none comes in under another's name.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls.sh"

same_report=$ROOT/tests/support/same_report.py
dying=$BUILD/$MACHINE/tests/support/dying_agent
case=$work/case
wrong=(--arith t20_node=q31_floor)
python3 "$ROOT/tests/support/long_chain.py" 50 2 "$case"
run "$assay" run "$case" --local -q -o "$work/made" --save-outputs
mv "$work/made/outputs" "$case/golden"
run python3 "$ROOT/tests/support/flip_golden.py" "$case" t20
cp -r "$digits" "$work/long"
chmod -R u+w "$work/long"
python3 "$ROOT/tests/support/edit_case.py" "$work/long" repeat 600
long=(run -m "$work/long/model.onnx" -i "$work/long/many.npz")

make_keys
"$assay" keygen -q --name bob-cn -o "$work/bob/assay" >"$work/bob.line"
echo "bob $(sed 's/.* //' "$work/bob.line")" >>"$work/authorized"
log=$work/agent.err


# start PROGRAM: at the kind of address that $how says.
start() {
    : >"$log"
    if [ "$how" = tls ]; then
        start_agent "$1" --listen 127.0.0.1:0 "${board_key[@]}" \
            --authorized "$work/authorized" --log-level info
        trust_board
        cp "$work/boards/assay/boards" "$work/bob/assay/boards"
    else
        start_agent "$1" --listen "unix:$work/$how.sock" --log-level info
    fi
}

# begin OUT: 600 samples in the background, under way when it returns. An
# interactive shell's child: a script's background job would ignore SIGINT.
begin() {
    local line=
    rm -f "$work/talk"
    mkfifo "$work/talk"
    exec {talk}<>"$work/talk"
    python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
' "$assay" "${long[@]}" --target "$address" -o "$1" >"$work/out" \
        2>"$work/talk" </dev/null &
    pid=$!
    agents+=("$pid")
    while read -r -t 60 line <&"$talk"; do
        case $line in "[3/4]"*) break ;; esac
    done
    expect "$how: a long run is under way" \
        bash -c '[[ $1 == "[3/4]"* ]]' _ "$line"
}

# Its report goes to $work/$how/NAME: report NAME CODE [OPTION...]
report() {
    local name=$1 code=$2
    shift 2
    run "$assay" run "$case" "${wrong[@]}" --target "$address" -q \
        -o "$work/$how/$name" "$@"
    expect_rc "$code" "$how: $name"
}

day() {
    local capture i before owner taken

    mkdir "$work/$how"
    start "$assayd"
    for capture in full differing digest stats; do
        report $capture 1 --capture $capture
    done
    report failing 1 --save-failing "$work/$how/bundles"
    run "$assay" replay "$work/$how/bundles/020_t20_node.assay" -q \
        --target "$address"
    expect_rc 1 "$how: replay"
    expect_out 'first culprit: 000 t20_node' "$how: replay names the layer"
    run "$assay" self-test --target "$address"
    expect_rc 0 "$how: self-test"
    run "$assay" info --target "$address" --format json
    expect_rc 0 "$how: info"
    cp "$work/out" "$work/$how/info.json"

    # Twenty short ones.
    before=$(grep -c ' tls-client .*resumed=0' "$log")
    for ((i = 0; i < 20; i++)); do
        "$assay" info --target "$address" >/dev/null || break
    done
    expect "$how: twenty short commands" test $i = 20
    expect "$how: none shook hands in full" test "$before" = \
        "$(grep -c ' tls-client .*resumed=0' "$log")"

    # Ctrl-C, and on.
    run "$assay" "${long[@]}" --target "$address" -q -o "$work/$how/all"
    expect_rc 0 "$how: 600 samples"
    begin "$work/$how/part"
    kill -INT "$pid"
    wait_for "$pid" 60
    expect_rc 130 "$how: Ctrl-C"
    exec {talk}>&-
    run "$assay" "${long[@]}" --target "$address" -q --resume "$work/$how/part"
    expect_rc 0 "$how: resumed behind it"

    # The lease: who has it, who takes it.
    owner= taken=
    if [ $how = tls ]; then owner="anna: " taken="bob: "; fi
    begin "$work/$how/stolen"
    kill -STOP "$pid" # until somebody has taken it
    run env XDG_CONFIG_HOME="$work/bob" "$assay" run "$digits" -q \
        --target "$address"
    expect_refused 3 "'$owner" "$how: a second client is told who has it"
    run env XDG_CONFIG_HOME="$work/bob" "$assay" run "$digits" -q \
        --target "$address" --force
    expect_rc 0 "$how: --force takes it"
    kill -CONT "$pid"
    wait_for "$pid" 60
    expect_rc 3 "$how: whoever had it is put out"
    # All that it said is in the pipe.
    dd iflag=nonblock <&"$talk" >"$work/err" 2>/dev/null
    exec {talk}>&-
    expect_err "lease was taken over by '$taken" "$how: and told by whom"
    expect "$how: it is logged" \
        grep -q "lease-stolen session=[0-9]* by=\"$taken" "$log"
    stop_agent TERM
    expect "$how: the agent ends with 0" test "$rc" = 0

    # A worker that dies.
    DIE=31,0:11 start "$dying"
    report cut 1
    run "$assay" run "$case" "${wrong[@]}" --target "$address" -q \
        --resume "$work/$how/cut"
    expect_rc 1 "$how: resumed behind a worker's death"
    stop_agent TERM
}

same() { # same TEXT A B
    run python3 "$same_report" "$work/$2/report.json" "$work/$3/report.json"
    expect_rc 0 "$1"
}

how=unix
day
how=tls
day
for name in full differing digest stats failing all part cut; do
    same "the same report: $name" unix/$name tls/$name
done
for how in unix tls; do
    same "$how: resumed and whole after Ctrl-C" $how/all $how/part
done
run python3 -c '
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert set(a) == set(b), set(a) ^ set(b)
for key in ("schema", "build_id", "board_id", "features", "kernels", "runs",
            "layers", "protocol", "health", "self_test_checks", "refused"):
    assert a[key] == b[key], key
assert a["tls_full"] + a["tls_resumed"] == 0, a
assert b["tls_full"] >= 1 and b["tls_resumed"] > b["tls_full"], b
' "$work/unix/info.json" "$work/tls/info.json"
expect_rc 0 "info tells the same, and of TLS how often"
finish
