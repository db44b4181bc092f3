#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The worker dies of a signal: the run ends with 4 and a partial report, the
# agent lives and serves the next client. strace delivers the signal when the
# worker makes its first system call of its own.
# timeout: 180
. "$(dirname "$0")/lib.sh"

command -v strace >/dev/null || skip_all "strace is not installed"
strace -f -o /dev/null true 2>/dev/null || skip_all "ptrace is not allowed here"

start_agent strace -f -qq -o "$work/trace" -e trace=prctl,execve \
    -e inject=prctl:signal=SIGSEGV \
    "$assayd" --listen 127.0.0.1:0
run "$assay" run "$digits" --target "$address" --json "$work/report.json"
expect_rc 4 "a run whose worker died"
expect "the worker was there to die" grep -q 'SIGSEGV' "$work/trace"
expect_err 'worker|SIGSEGV|signal' "the sentence says so"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["exit_code"] == 4 and r["partial"], r
' "$work/report.json"
expect_rc 0 "the report exists and says that it is partial"
run "$assay" info --target "$address"
expect_rc 0 "the agent lives"
expect_out '^lease +free' "the lease is free"
run "$assay" run "$digits" --target "$address"
expect_rc 4 "the next client is served, its worker dies too"
pid=$(sed -n '1s/^\([0-9]*\) .*/\1/p' "$work/trace")
kill -TERM "$pid"
wait_for "$agent_pid" 10
expect "the agent ended with 0" test "$rc" = 0
finish
