#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bytes that are no protocol, to the sanitized agent: each peer is answered
# with an error or hung up on, the agent stays alive and serves the next one.
# timeout: 240
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

start_agent "$assayd" --listen "unix:$work/a.sock"
run python3 "$ROOT/tests/support/bad_frames.py" "$work/a.sock" \
    "$ROOT/tests/fuzz/corpus"
sed 's/^/    /' "$work/out"
expect_rc 0 "every bad stream is ended by the agent"
expect "there are enough of them" \
    test "$(grep -c '^ended' "$work/out")" -ge 20
for name in "a probe from a client" "probes without a lease"; do
    expect "$name: HELLO is answered, then an error" grep -Eq \
        "^ended   $name \([0-9]{3,} bytes" "$work/out"
done
run "$assay" info --target "unix:$work/a.sock"
expect_rc 0 "the agent still answers"
run "$assay" run "$digits" --target "unix:$work/a.sock" -q
expect_rc 0 "and still runs a case"
stop_agent TERM
expect "it ends with 0: no sanitizer has spoken" test "$rc" = 0
expect "its log has no report of a sanitizer" bash -c \
    '! grep -Eq "AddressSanitizer|runtime error:|LeakSanitizer" "$1"' _ \
    "$work/agent.err"
finish
