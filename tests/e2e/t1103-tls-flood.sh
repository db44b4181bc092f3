#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Handshakes that are begun and left: the next client is served meanwhile, the
# deadline ends them, memory and descriptors go back.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls.sh"

resident() {
    sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$agent_pid/status"
}

descriptors() {
    find "/proc/$agent_pid/fd" -mindepth 1 | wc -l
}

cat >"$work/flood.py" <<'PY'
"""flood.py PORT CUT HELD: CUT connections that end anywhere in a hello, then
HELD ones that stall until the daemon ends them."""
import select
import socket
import ssl
import sys
import time

port, cut, held = (int(a) for a in sys.argv[1:])
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ctx.check_hostname = False
ctx.verify_mode = ssl.CERT_NONE
into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
try:
    ctx.wrap_bio(into, out).do_handshake()
except ssl.SSLWantReadError:
    pass
hello = out.read()


def connect():
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(20)
    return s


for i in range(cut):
    s = connect()
    s.sendall(hello[:1 + i % len(hello)])
    if i % 3 == 0:
        s.recv(1) if i % len(hello) + 1 == len(hello) else None
    s.close()
stalled = [connect() for i in range(held)]
for i, s in enumerate(stalled):
    s.sendall(hello[:1 + i * 7 % (len(hello) - 1)])
print("stalled", flush=True)
until = time.monotonic() + 20
while stalled and time.monotonic() < until:
    ready, _, _ = select.select(stalled, [], [], 1)
    for s in ready:
        try:
            over = not s.recv(4096)
        except ConnectionError:
            over = True
        if over:
            stalled.remove(s)
print("left", len(stalled), flush=True)
PY

make_keys
start_tls_agent
trust_board
run "$assay" info --target "$address"
python3 "$work/flood.py" "${address##*:}" 200 0 >"$work/flood.out" 2>&1
run "$assay" info --target "$address"
expect_rc 0 "after 200 cut handshakes a client is served"
memory=$(resident)
fds=$(descriptors)
python3 "$work/flood.py" "${address##*:}" 400 24 >"$work/flood.out" 2>&1 &
flood=$!
for ((i = 0; i < 200; i++)); do
    grep -q stalled "$work/flood.out" && break
    sleep 0.05
done
run "$assay" run "$digits" -q --target "$address"
expect_rc 0 "a run while 24 handshakes stall"
wait_for "$flood" 30
expect "the deadline has ended them all" grep -q "left 0" "$work/flood.out"
expect "and says so" grep -q "handshake did not end within 10.0 s" \
    "$work/agent.err"
run "$assay" info --target "$address"
expect_rc 0 "the next client is served"
expect "descriptors are back" test "$(descriptors)" -le "$fds"
after=$(resident)
expect "memory is back: $memory KiB, then $after" \
    test "$after" -le $((memory + 4096))

# More stalled ones than are kept: the oldest have to go.
python3 "$work/flood.py" "${address##*:}" 0 60 >"$work/flood.out" 2>&1 &
flood=$!
for ((i = 0; i < 200; i++)); do
    grep -q stalled "$work/flood.out" && break
    sleep 0.05
done
run "$assay" info --target "$address"
expect_rc 0 "60 stalled handshakes do not keep a client out"
expect "the log says that the oldest were given up" grep -q \
    "tls-full handshakes=" "$work/agent.err"
kill "$flood"
stop_agent TERM
expect "SIGTERM ends the agent with 0" test "$rc" = 0
finish
