#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts, ends and leftovers of the daemon, native and emulated.
# timeout: 120
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
lifecycle() { # lifecycle NAME COMMAND...
    local name=$1
    shift
    rm -f "$work/a.sock"
    start_agent "$@" --listen "unix:$work/a.sock" --board-id "life-$$"
    expect "$name: the socket is the owner's alone" \
        test "$(stat -c %a "$work/a.sock")" = 600
    run "$assay" run "$digits" --target "$address" -q
    expect_rc 0 "$name: a run"
    expect "$name: no worker is left" test -z \
        "$(cat "/proc/$agent_pid/task/$agent_pid/children")"
    run "$peer" "$work/a.sock" hello reply acquire reply cut
    expect_rc 0 "$name: a client that hangs up inside a frame"
    run "$peer" "$work/a.sock" ping reply
    expect_out 'out of turn' "$name: a ping before hello is refused"
    run "$assay" run "$digits" --target "$address" -q
    expect_rc 0 "$name: the next client is served"
    "$peer" "$work/a.sock" hello reply acquire reply hold >/dev/null 2>&1 &
    agents+=("$!")
    stop_agent TERM
    expect "$name: SIGTERM under a client ends with 0" test "$rc" = 0
    expect "$name: the socket is gone" test ! -e "$work/a.sock"
    # A killed daemon leaves its socket's file: the next one takes it over.
    start_agent "$@" --listen "unix:$work/a.sock" --board-id "life-$$"
    stop_agent KILL
    expect "$name: a killed one leaves its socket" test -S "$work/a.sock"
    start_agent "$@" --listen "unix:$work/a.sock" --board-id "life-$$"
    run "$assay" info --target "$address"
    expect_rc 0 "$name: its successor answers"
    run "$assayd" --listen "unix:$work/a.sock"
    expect_refused 2 'in use' "$name: a living one is not robbed"
    stop_agent INT
    expect "$name: SIGINT ends with 0" test "$rc" = 0
}
lifecycle native "$assayd"
if [ -x "$arm_assayd" ]; then
    lifecycle emulated "$QEMU" "$arm_assayd"
else
    skip "no aarch64 agent was built"
fi

echo precious >"$work/file"
run "$assayd" --listen "unix:$work/file"
expect_refused 2 'in use' "a file in the socket's place is refused"
expect "and stays" grep -q precious "$work/file"
start_agent "$assayd" --listen '[::1]:0' --board-id "life-$$"
expect "IPv6: the line names address and port" \
    bash -c '[[ $1 =~ ^\[::1\]:[1-9][0-9]*$ ]]' _ "$address"
run "$assay" info --target "$address"
expect_rc 0 "IPv6: answered"
stop_agent TERM
expect "IPv6: ends with 0" test "$rc" = 0
finish
