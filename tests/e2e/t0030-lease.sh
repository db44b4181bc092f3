#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One client holds the board: the second is told who, a vanished one frees it,
# a run can take it over, and messages out of turn are refused.
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
[ -x "$peer" ] || not_ok "'$peer' was not built"

start_agent "$assayd" --listen "unix:$work/a.sock"
mkfifo "$work/held"
"$peer" "$work/a.sock" hello reply acquire reply hold >"$work/held" \
    2>/dev/null &
holder=$!
agents+=("$holder")
exec {held}<>"$work/held"
lines=
while read -r -t 20 line <&"$held"; do
    lines="$lines $line"
    [ "$line" = holding ] && break
done
expect "a peer has the lease" \
    test "$lines" = " HELLO_ACK LEASE_GRANTED holding"

run "$assay" run "$digits" --target "$address" -q
expect_refused 3 'peer@test' "a second client is told who has the lease"
run "$assay" info --target "$address"
expect_rc 0 "info needs no lease"
expect_out '^lease .*peer@test' "info names the owner"
kill -KILL "$holder"
wait "$holder" 2>/dev/null
run "$assay" run "$digits" --target "$address" -q
expect_rc 0 "the vanished client's lease is free"

"$peer" "$work/a.sock" hello reply acquire reply hold >"$work/held" \
    2>/dev/null &
holder=$!
agents+=("$holder")
while read -r -t 20 line <&"$held"; do
    [ "$line" = holding ] && break
done
expect "the lease is held again" test "$line" = holding
run "$assay" run "$digits" --target "$address" -q --force
expect_rc 0 "--force takes it over"
kill -KILL "$holder" 2>/dev/null
wait "$holder" 2>/dev/null

refused() { # refused TEXT WORD...
    local text=$1
    shift
    run "$peer" "$work/a.sock" "$@"
    expect_out '^ERROR ' "$text is refused"
}
refused "a run without hello" start reply
refused "a load without a lease" hello reply load reply
refused "a run without a lease" hello reply start reply
refused "a load of what is not there" hello reply acquire reply load reply
refused "a run without a slice" hello reply acquire reply start reply
refused "a protocol of the future" future reply
run "$peer" "$work/a.sock" future reply
expect_out 'ERROR VERSION .*90[01]' "both versions are named"
run "$peer" "$work/a.sock" hello reply cut
expect_rc 0 "a client that hangs up in a frame"
run "$peer" "$work/a.sock" hello reply ping reply status reply
expect_out '^PONG' "ping is answered"
expect_out '^STATUS_REPLY' "status is answered"
stop_agent TERM
expect "the agent ends with 0" test "$rc" = 0
finish
