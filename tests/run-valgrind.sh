#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make check-valgrind`: the agent and its workers under memcheck, native: two
# runs of a case, a run that is cut, a session without a hello, an orderly end.
# Leaks are those that are certain: a worker ends with all its memory, and what
# its compiler kept in registers only looks lost.
set -u
. tests/e2e/lib.sh
trap t_end EXIT

command -v valgrind >/dev/null || skip_all "valgrind is not installed"
cd "$ROOT" || exit 1
start_agent valgrind -q --error-exitcode=9 --leak-check=full \
    --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --log-file="$work/valgrind.%p" \
    "$assayd" --listen "unix:$work/a.sock" --memory 64M
run "$assay" run "$digits" --target "$address" -q --timeout 60
expect_rc 0 "a run under valgrind"
run "$assay" run "$digits" --target "$address" -q --mode isolated --timeout 60
expect_rc 0 "one more, isolated"
run timeout -s KILL 1.5 "$assay" run "$digits" --target "$address" -q
run bash -c 'printf "GET / HTTP/1.1\r\n\r\n" | timeout 20 python3 -c "
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.stdin.buffer.read())
s.shutdown(socket.SHUT_WR)
while s.recv(4096):
    pass
" "$1"' _ "${address#unix:}"
expect_rc 0 "bytes that are no frames are answered and ended"
kill -TERM "$agent_pid"
wait_for "$agent_pid" 30
expect "the agent ended with 0, not with memcheck's 9 (it was $rc)" \
    test "$rc" = 0
expect "workers were watched too" \
    test "$(ls "$work"/valgrind.* | wc -l)" -ge 3
cat "$work"/valgrind.* >"$work/all"
expect "memcheck said nothing: $(head -n 5 "$work/all")" test ! -s "$work/all"
finish
