#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every wait ends: a client that stalls in each state of the agent, and an
# agent that stalls before each of its answers. Each has its own sentence.
# timeout: 180
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
stall=$ROOT/tests/support/stall.py
start_agent "$assayd" --listen "unix:$work/a.sock" --log-level info \
    --deadline hello=2 --deadline idle=0.6 --deadline message=0.5 \
    --deadline blob=0.7 --deadline close=0.8 --deadline run=20

# ---- clients that stall ------------------------------------------------------
late() { # late TEXT REGEX WORD...: the last answer, within 5 s
    local text=$1 regex=$2 begun=$SECONDS
    shift 2
    run "$peer" "$work/a.sock" "$@"
    expect_out "$regex" "$text: the sentence"
    expect "$text: soon" test $((SECONDS - begun)) -le 5
}
late "nothing is said" \
    "^ERROR TIMEOUT no message for 2000 ms in state 'hello'" reply
late "a hello that does not end" \
    "^ERROR TIMEOUT message did not arrive within 500 ms, only [0-9]+ bytes" \
    half reply
late "no lease is wanted" \
    "^ERROR TIMEOUT no message for 600 ms in state 'ready'" hello reply reply
late "a message without its end" \
    '^ERROR TIMEOUT message did not arrive within 500 ms' \
    hello reply half reply
late "a lease that is not used" \
    '^ERROR TIMEOUT lease expired: no message for 1000 ms' \
    hello reply ttl=1000 acquire reply reply
late "a constant that does not end" \
    '^ERROR TIMEOUT constant did not arrive within 700 ms, only 500 bytes' \
    hello reply acquire reply part=500 reply
# Pings renew a lease, but not a constant that has begun.
late "a constant between pings" \
    '^ERROR TIMEOUT constant did not arrive within 700 ms, only 500 bytes' \
    hello reply acquire reply part=500 wait=300 ping reply wait=300 ping \
    reply reply
run "$assay" info --target "$address"
expect_out '^lease +free' "the lease is free behind them"
# It sits on its last error: the agent does not wait for it.
run "$peer" "$work/a.sock" future wait=1500
expect "a client that does not take its error is left" \
    grep -q ': close-timeout session=' "$work/agent.err"

proxied() { # proxied SIDE MESSAGE HOW COMMAND...: through stall.py
    local fifo=$work/proxy.$RANDOM side=$1 message=$2 how=$3 line fd
    local keep
    shift 3
    mkfifo "$fifo"
    exec {fd}<>"$fifo"
    rm -f "$work/p.sock"
    python3 "$stall" "$work/p.sock" "$work/a.sock" "$side" "$message" \
        "$how" >&"$fd" 2>>"$work/proxy.err" {fd}>&- &
    proxy=$!
    agents+=("$proxy")
    rm -f "$fifo"
    read -r -t 20 line <&"$fd"
    begun=$SECONDS
    run "$@"
    took=$((SECONDS - begun))
    read -r -t 5 line <&"$fd" || line=nothing
    expect "$message of the $side: it stalled there" test "$line" = stalled
    keep=$rc
    wait_for "$proxy" 10
    rc=$keep
}
proxied client RUN_START none "$assay" run "$digits" --target \
    "unix:$work/p.sock" --timeout 10 -q
expect_refused 3 'inputs did not arrive within [0-9]+ ms, only [0-9]+ bytes' \
    "inputs without a run"
proxied client SLICE_LOAD none "$assay" run "$digits" --target \
    "unix:$work/p.sock" --timeout 2 -q
expect_refused 3 'waiting for SLICE_LOADED' "a load that is kept back"

# ---- agents that stall -------------------------------------------------------
stop_agent TERM
rm -f "$work/a.sock"
start_agent "$assayd" --listen "unix:$work/a.sock"
stalls() { # stalls MESSAGE REGEX HOW COMMAND...
    local message=$1 regex=$2 how=$3
    shift 3
    proxied agent "$message" "$how" "$@" --target "unix:$work/p.sock" \
        --timeout 1
    expect_refused 3 "$regex" "$message ($how)"
    expect "$message ($how): within 6 s" test "$took" -le 6
}
for how in none half trickle; do
    stalls HELLO_ACK 'no answer .*for 1\.0 s \(waiting for HELLO_ACK\)' \
        $how "$assay" info
    stalls LAYER_END "silent for 1 s while running '" $how \
        "$assay" run "$digits" -q
done
for message in LEASE_GRANTED BLOB_MISSING SLICE_LOADED; do
    stalls $message "waiting for $message" none "$assay" run "$digits" -q
done
stalls STATUS_REPLY 'waiting for STATUS_REPLY' none "$assay" info
stalls SELF_TEST_REPLY 'waiting for SELF_TEST_REPLY' none "$assay" self-test
stalls RUN_END "silent for 1 s while running" none "$assay" run "$digits" -q
# What nobody needs any more is not waited for long, and spoils nothing.
proxied agent LEASE_RELEASED none "$assay" run "$digits" --target \
    "unix:$work/p.sock" -q
expect_rc 0 "a farewell that is not answered"
expect "it is short" test "$took" -le 4
stop_agent TERM
expect "the agent ends with 0" test "$rc" = 0

# A constant's own answer: an agent that has none of them yet.
rm -f "$work/a.sock"
start_agent "$assayd" --listen "unix:$work/a.sock"
stalls BLOB_STORED 'waiting for BLOB_STORED' none "$assay" run "$digits" -q

# ---- the end of the agent ----------------------------------------------------
# A client in the middle of a message, one with a lease, one that is stopped.
"$peer" "$work/a.sock" hello reply half wait=30000 >/dev/null 2>&1 &
agents+=("$!")
"$peer" "$work/a.sock" hello reply acquire reply hold >/dev/null 2>&1 &
stopped=$!
agents+=("$stopped")
run "$peer" "$work/a.sock" hello reply ping reply
kill -STOP "$stopped"
begun=$SECONDS
stop_agent TERM
expect "SIGTERM ends with 0 whoever is there" test "$rc" = 0
expect "it is soon" test $((SECONDS - begun)) -le 2
kill -KILL "$stopped"
wait "$stopped" 2>/dev/null
finish
