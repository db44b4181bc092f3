#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A client that has the lease vanishes: by its end, a half-closed connection, a
# reset, a frozen process, a cut without a word; idle, and in a run. Each
# time the lease is free, the worker dead, and nothing is left behind.
# timeout: 180
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
log=$work/agent.err

field() {
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/i.json" "$1"
}
holds() { # holds N: the agent's process has N descriptors
    test "$(ls "/proc/$agent_pid/fd" | wc -l)" = "$1"
}
# Waits until nothing but this look is connected (10 s).
settled() {
    for ((k = 0; k < 100; k++)); do
        "$assay" info --target "$address" --json "$work/i.json" \
            >"$work/out" 2>"$work/err" && grep -Eq '^lease +free' "$work/out" &&
            [ -z "$(cat /proc/"$agent_pid"/task/*/children)" ] &&
            holds "$fds" && return
        sleep 0.1
    done
    return 1
}
clean() { # clean TEXT
    expect "$1: lease free, no child, no descriptor" settled
    expect "$1: no memory" test "$(field memory_used)" = "$used"
    run "$assay" run "$digits" --target "$address" -q
    expect_rc 0 "$1: the next client is served"
}
begin() { # begin COMMAND...: an agent, and what it holds when it is idle
    start_agent "$@"
    run "$assay" run "$digits" --target "$address" -q
    expect_rc 0 "a first run"
    fds=$(ls "/proc/$agent_pid/fd" | wc -l)
    "$assay" info --target "$address" --json "$work/i.json" >"$work/out"
    used=$(field memory_used)
    for ((k = 0; k < 100; k++)); do
        [ "$(ls "/proc/$agent_pid/fd" | wc -l)" -lt "$fds" ] || break
        fds=$(ls "/proc/$agent_pid/fd" | wc -l)
    done
}

begin "$assayd" --listen 127.0.0.1:0 --log-level info
run "$peer" "$address" hello reply ttl=3600000 acquire reply
clean "an end"
run "$peer" "$address" hello reply ttl=3600000 acquire reply part=500
clean "an end inside a constant"
run "$peer" "$address" hello reply ttl=3600000 acquire reply shut reply
expect_out '^hung up$' "a half-closed connection is ended"
clean "a half-closed connection"
: >"$log"
run "$peer" "$address" hello reply ttl=3600000 acquire reply wait=100 reset
clean "a reset"
expect "a reset is told as such" grep -Eq \
    'state=leased how=E(CONNRESET|PIPE)' "$log"

mkfifo "$work/held"
exec {held}<>"$work/held"
held_by() { # held_by COMMAND...: until it says that it holds
    "$@" >"$work/held" 2>/dev/null &
    holder=$!
    agents+=("$holder")
    while read -r -t 20 line <&"$held"; do
        [ "$line" = holding ] && return
    done
}
held_by "$peer" "$address" hello reply ttl=2000 acquire reply hold
kill -STOP "$holder"
run "$assay" run "$digits" --target "$address" -q
expect_refused 3 "leased to 'peer@test 1' since 0 s, for [12] s more" \
    "a frozen client has the lease"
clean "a frozen client"
expect "its lease expired" grep -q 'lease-expired .*ms=2000' "$log"
kill -KILL "$holder"
wait "$holder" 2>/dev/null
stop_agent TERM
expect "the agent ends with 0" test "$rc" = 0

# ---- in the middle of a run -------------------------------------------------
mkfifo "$work/caught"
exec {caught}<>"$work/caught"
begin "$assayd" --listen 127.0.0.1:0 --log-level info
for how in KILL TERM; do
    python3 "$ROOT/tests/support/catch_worker.py" "$agent_pid" >"$work/caught" &
    catcher=$!
    agents+=("$catcher")
    read -r -t 20 line <&"$caught"
    "$assay" run "$digits" --target "$address" -q >/dev/null 2>&1 &
    client=$!
    agents+=("$client")
    line=none
    read -r -t 20 line <&"$caught"
    expect "SIG$how: a worker was stopped" test -d "/proc/$line"
    wait "$catcher"
    kill -$how "$client"
    wait "$client" 2>/dev/null
    for ((k = 0; k < 100; k++)); do
        [ -d "/proc/$line" ] || break
        sleep 0.1
    done
    expect "SIG$how in a run: the worker is gone" test ! -d "/proc/$line"
    clean "SIG$how in a run"
done
stop_agent TERM
expect "the agent ends with 0 behind that" test "$rc" = 0

# ---- a cut without a word ---------------------------------------------------
# In a network of its own, whose only link goes down: no FIN, no RST.
cat >"$work/cut.sh" <<'END'
ip link set lo up
"$assayd" --listen 127.0.0.1:7410 --log-level info >"$work/line" 2>"$work/log" &
agent=$!
until grep -q listening "$work/line"; do sleep 0.05; done
"$peer" 127.0.0.1:7410 hello reply ttl=3600000 acquire reply hold >"$work/peer" &
holder=$!
until grep -q holding "$work/peer"; do sleep 0.05; done
ip link set lo down
begun=$SECONDS
until grep -q hung-up "$work/log" || [ $((SECONDS - begun)) -gt 60 ]; do
    sleep 0.2
done
echo "took $((SECONDS - begun))"
ip link set lo up
"$assay" info --target 127.0.0.1:7410
kill -KILL $holder
kill -TERM $agent
wait $agent
echo "agent $?"
END
export assay assayd peer work
if unshare -n ip link set lo up 2>/dev/null; then
    RUN_TIMEOUT=100 run unshare -n bash "$work/cut.sh"
    expect_out '^took (1[0-9]|2[0-9]|3[0-5])$' "keep-alive notices a silent cut"
    expect_out '^lease +free' "the lease is free"
    expect_out '^agent 0$' "the agent ends with 0"
    expect "it is told as such" grep -q \
        'state=leased how=ETIMEDOUT' "$work/log"
else
    skip "no network namespaces here"
fi
finish
