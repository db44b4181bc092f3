#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The daemon's manners: refused starts exit 2 with a sentence, --stdio prints
# nothing but frames.
. "$(dirname "$0")/lib.sh"

run "$assayd" --listen 0.0.0.0:0
expect_refused 2 "loopback|TLS" "beyond loopback is refused: no TLS yet"
run "$assayd" --listen 192.0.2.1:7410
expect_refused 2 "loopback|TLS" "another address is refused"
run "$assayd" --listen "unix:$work/no/such/folder.sock"
expect_refused 2 "folder.sock" "a socket in no folder is refused"
run "$assayd" --listen 127.0.0.1:99999
expect_refused 2 "99999" "a port out of range is refused"
run "$assayd" --no-such-option
expect_refused 2 "no-such-option" "an unknown option is named"
run "$assayd" --memory lots
expect_refused 2 "lots" "a bad memory size is named"
run "$assayd" --cpumask sse
expect_refused 2 "sse" "a bad cpumask is named"
run "$assayd" --self-test --cpumask i8mm
expect_rc 0 "rungs that this CPU has not"
expect_err '^assayd: warn: cpumask wanted=i8mm used=scalar$' \
    "are told, with what is used"
for mask in 0 all neon dotprod; do
    run $QEMU -cpu cortex-a76 "$arm_assayd" --self-test --cpumask $mask
    expect "a mask that fits says nothing: $mask" test "$rc" = 0 -a ! -s "$work/err"
done
run "$assayd"
expect_rc 2 "neither --listen nor --stdio"

start_agent "$assayd" --listen 127.0.0.1:0
run "$assayd" --listen "$address"
expect_refused 2 "${address##*:}" "a port in use is refused"
stop_agent INT
expect "SIGINT ends the agent with 0" test "$rc" = 0

run "$assayd" --stdio
expect_rc 0 "--stdio whose peer is gone"
expect "--stdio prints no text" test ! -s "$work/out"
finish
