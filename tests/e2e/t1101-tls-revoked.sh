#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A line that is taken away, then SIGHUP: who had it loses its connection and
# cannot come in again, not with a kept session either; a file that is wrong
# changes nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls.sh"

hang_up() { # hang_up REGEX: SIGHUP, until the log has the regex once more
    local before after i
    before=$(grep -Ec -- "$1" "$work/agent.err")
    kill -HUP "$agent_pid"
    for ((i = 0; i < 200; i++)); do
        after=$(grep -Ec -- "$1" "$work/agent.err")
        [ "$after" -gt "$before" ] && return
        sleep 0.05
    done
    not_ok "the log does not have '$1' after SIGHUP"
}

make_keys
start_tls_agent
trust_board
run "$assay" info --target "$address"
expect_rc 0 "anna comes in"

# Someone who holds the board while the line goes.
python3 - "${address##*:}" "$work/boards/assay" \
    >"$work/held.out" 2>&1 <<'PY' &
import socket, ssl, sys
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ctx.check_hostname = False
ctx.verify_mode = ssl.CERT_NONE
ctx.load_cert_chain(sys.argv[2] + "/cert.pem", sys.argv[2] + "/key.pem")
s = ctx.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
print("in", s.version(), s.cipher()[0], flush=True)
s.settimeout(20)
got = b""
while True:
    data = s.recv(65536)
    if not data:
        break
    got += data
sys.stdout.buffer.write(got.replace(b"\0", b"."))
print("\nend")
PY
holder=$!
for ((i = 0; i < 200; i++)); do
    grep -q "^in" "$work/held.out" && break
    sleep 0.05
done
expect "another library's TLS comes in, 1.2 with AEAD" grep -Eq \
    "^in TLSv1.2 ECDHE-ECDSA-(AES|CHACHA)" "$work/held.out"

echo "anna is no line" >"$work/authorized"
hang_up "reload failed why=.*authorized"
run "$assay" info --target "$address"
expect_rc 0 "a wrong file changes nothing"
cp "$work/board/cert.pem" "$work/cert.right"
echo "# nobody" >"$work/authorized"
echo garbage >"$work/board/cert.pem"
hang_up "reload failed why=.*cert.pem"
cp "$work/cert.right" "$work/board/cert.pem"
run "$assay" info --target "$address"
expect_rc 0 "nor does a wrong certificate, with good lines beside it"

hang_up "reload done fingerprint="
wait_for "$holder" 10
expect "who was in is told so" grep -q "not authorised" "$work/held.out"
expect "and loses the connection" grep -q "^end" "$work/held.out"
expect "the log names whom" grep -q 'tls-put-out session=[0-9]* name="anna"' \
    "$work/agent.err"
run "$assay" info --target "$address"
expect_refused 3 "not authorised.*$(literal "$anna_print")" \
    "a kept session does not help: the line is gone"

echo "anna2 $anna_print" >"$work/authorized"
hang_up "reload done fingerprint="
run "$assay" info --target "$address"
expect_rc 0 "with a line again, anna comes in"
expect "by the name of the line" grep -q 'tls-client name="anna2"' \
    "$work/agent.err"
stop_agent TERM
expect "SIGTERM ends the agent with 0" test "$rc" = 0
finish
