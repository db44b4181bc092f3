#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A run over TLS; who is not let in, and what both sides are told.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls.sh"

make_keys
start_tls_agent
expect "the address says tls:" test "${address#tls:127.0.0.1:}" != "$address"
trust_board

run "$assay" run "$digits" --target "$address"
expect_rc 0 "run over TLS"
expect_out '^match' "the verdict is match"
run "$assay" run "$digits" --target "${address#tls:}"
expect_refused 3 "TLS is spoken here.*tls:HOST:PORT" \
    "a client without TLS is told how the target is written"
expect "the daemon says so too" grep -q 'tls-refused why="TLS is spoken' \
    "$work/agent.err"
run env XDG_CONFIG_HOME="$work/stranger" "$assay" info --target "$address"
expect_refused 3 "not authorised.*$(literal "$stranger_print")" \
    "who has no line is told its fingerprint"
expect "the daemon logs the line to add" grep -q \
    "'stranger $stranger_print'" "$work/agent.err"
expect "once for each of the two, and of neither anything else" test \
    "$(grep -Ec ' (tls-refused|refused|connect) ' "$work/agent.err") $(
        grep -c ' tls-refused ' "$work/agent.err")" = "3 2"
run "$assay" info --target "$address"
expect_rc 0 "the next client is served"
expect "its session was resumed" grep -q "tls-client .*resumed=1" "$work/agent.err"
expect "its name is known" grep -q 'tls-client name="anna" by=key' "$work/agent.err"

# Another key at the board's address.
cp "$work/boards/assay/boards" "$work/boards.right"
sed "s|SHA256:.*|$stranger_print|" "$work/boards.right" \
    >"$work/boards/assay/boards"
run "$assay" info --target "$address"
expect_refused 3 "$(literal "$board_print.*$stranger_print")" \
    "another key than the pinned one is refused, both are named"
cp "$work/boards.right" "$work/boards/assay/boards"
stop_agent TERM
expect "SIGTERM ends the agent with 0" test "$rc" = 0

# The reverse: TLS at an agent without.
start_agent "$assayd" --listen 127.0.0.1:0
echo "$address $board_print" >"$work/boards/assay/boards"
run "$assay" info --target "tls:$address"
expect_refused 3 "answered without TLS" "a board without TLS is told apart"
run "$assay" info --target "$address"
expect_rc 0 "plain TCP on loopback goes on"
stop_agent TERM

# Refused starts.
run "$assayd" --listen 0.0.0.0:0
expect_refused 2 "beyond loopback.*--tls-cert" "no TLS, no address for others"
run "$assayd" --listen tls:127.0.0.1:0
expect_refused 2 "needs TLS" "tls: without a key"
run "$assayd" --listen 127.0.0.1:0 --tls-cert "$work/board/cert.pem"
expect_refused 2 "--tls-key" "a certificate without its key"
run "$assayd" --listen 127.0.0.1:0 "${board_key[@]}"
expect_refused 2 "--authorized or --tls-ca" "nobody could come in"
run "$assayd" --listen "unix:$work/s" "${board_key[@]}" \
    --authorized "$work/authorized"
expect_refused 2 "TLS is for --listen HOST:PORT" "a Unix socket stays plain"
chmod 644 "$work/board/key.pem"
run "$assayd" --listen 127.0.0.1:0 "${board_key[@]}" \
    --authorized "$work/authorized"
expect_refused 2 "key.pem" "a key that others may read"
finish
