#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --stdio beside a daemon of the same board is that daemon: its constants, its
# lease, its memory. Beside one of another board it is an agent of its own;
# two agents of a board share the lease.
# timeout: 120
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
board=attach-$$
start_agent "$assayd" --listen "unix:$work/a.sock" --board-id "$board" \
    --memory 99M
same="exec:$assayd --stdio --board-id $board --memory 55M"
other="exec:$assayd --stdio --board-id $board-2 --memory 55M"

run "$assay" run "$digits" --target "$same" -q
expect_rc 0 "a run through --stdio"
run "$assay" info --target "unix:$work/a.sock"
expect_out '[1-9][0-9]* constants' "the daemon has the constants"
run "$assay" info --target "$same"
expect_out '99\.0 MiB' "info through --stdio is the daemon's"
run "$assay" info --target "$other"
expect_out '55\.0 MiB' "another board's is its own"
run "$assay" run "$digits" --target "$other" -q
expect_rc 0 "it runs by itself"

# An emulated --stdio agent meets the native daemon under the same name.
if [ -x "$arm_assayd" ]; then
    run "$assay" info \
        --target "exec:$QEMU $arm_assayd --stdio --board-id $board"
    expect_out '99\.0 MiB' "an emulated --stdio attaches too"
else
    skip "no aarch64 agent was built"
fi

mkfifo "$work/held"
exec {held}<>"$work/held"
"$peer" "$work/a.sock" hello reply acquire reply hold >&"$held" 2>/dev/null &
holder=$!
agents+=("$holder")
while read -r -t 20 line <&"$held"; do
    [ "$line" = holding ] && break
done
run "$assay" run "$digits" --target "$same" -q
expect_refused 3 'peer@test' "the lease is seen through --stdio"
kill -KILL "$holder"
wait "$holder" 2>/dev/null
run "$assay" run "$digits" --target "$same" -q
expect_rc 0 "and free when its client is gone"

# The daemon ends under an attached client.
run "$assay" run "$digits" --target "unix:$work/a.sock" -q
expect_rc 0 "the daemon itself"
stop_agent TERM
expect "the daemon ends with 0" test "$rc" = 0
run "$assay" run "$digits" --target "$same" -q
expect_rc 0 "without a daemon --stdio serves by itself"
finish
