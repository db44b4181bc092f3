#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent never writes a file on the board: a whole run under strace.
# timeout: 180
. "$(dirname "$0")/lib.sh"

command -v strace >/dev/null || skip_all "strace is not installed"
strace -f -o /dev/null true 2>/dev/null || skip_all "ptrace is not allowed here"

start_agent strace -f -qq -o "$work/trace" \
    -e trace=%file,ftruncate,fallocate,truncate \
    "$assayd" --listen 127.0.0.1:0
run "$assay" run "$digits" --target "$address" -q
expect_rc 0 "a run under strace"
run "$assay" run "$digits" --target "$address" -q --cpumask 0
expect_rc 0 "one more"
# strace passes SIGTERM on to nobody: end the agent itself.
pid=$(sed -n '1s/^\([0-9]*\) .*/\1/p' "$work/trace")
kill -TERM "$pid"
wait_for "$agent_pid" 10
expect "the agent ended with 0" test "$rc" = 0
expect "the trace saw it open files" grep -q 'open' "$work/trace"
expect "the trace saw the worker too" \
    test "$(cut -d' ' -f1 "$work/trace" | sort -u | wc -l)" -ge 2
grep -E 'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE' "$work/trace" |
    grep -Ev '"/dev/null"|"/dev/shm/|"/proc/self/|= -1 ' >"$work/writes"
expect "no file was opened for writing: $(head -n 3 "$work/writes")" \
    test ! -s "$work/writes"
grep -E '(mkdir|mknod|rename|link|unlink|truncate|creat|chmod|chown)[a-z0-9]*\(' \
    "$work/trace" | grep -Ev '= -1 |readlink|ftruncate' >"$work/changes"
expect "nothing was made, renamed or removed: $(head -n 3 "$work/changes")" \
    test ! -s "$work/changes"
finish
