#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Boards that are silent, absent or talk nonsense; Ctrl-C.
. "$(dirname "$0")/lib.sh"

run "$assay" run "$digits" --target "exec:sleep 300" --timeout 1
expect_refused 3 "no answer|silent|time" "a silent board ends in 1 s"
run "$assay" info --target "exec:sleep 300" --timeout 1
expect_refused 3 "no answer|silent|time" "info too"
run "$assay" run "$digits" --target "exec:true" --timeout 5
expect_refused 3 "." "an agent that ends at once"
run "$assay" run "$digits" --target "exec:$work/none --stdio" --timeout 5
expect_refused 3 "none" "a command that is not there is named"
run "$assay" run "$digits" --target "unix:$work/none.sock" --timeout 5
expect_refused 3 "none.sock" "a socket that is not there is named"
run "$assay" run "$digits" --target "exec:cat" --timeout 5
expect_refused 3 "is this an echo" "an echo is no agent"
run "$assay" info --target "exec:seq 100" --timeout 5
expect_refused 3 "not the assay protocol" "nor is who sends a text"
run "$assay" run "$digits" --target "exec:echo hello" --timeout 5
expect_refused 3 "." "a short text"

# Ctrl-C while the board is silent: 130, soon. An interactive shell's child:
# a background job of a script would ignore SIGINT.
mkfifo "$work/talk"
exec {talk}<>"$work/talk"
python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
' "$assay" run "$digits" --target "exec:sleep 300" --timeout 60 \
    >"$work/out" 2>"$work/talk" </dev/null &
pid=$!
read -r -t 20 line <&"$talk"
expect "progress is told on stderr: $line" \
    bash -c '[[ $1 == *"[1/4]"* ]]' _ "$line"
kill -INT "$pid"
# A second one abandons what the first wanted to finish.
kill -INT "$pid" 2>/dev/null
wait_for "$pid" 20
expect "Ctrl-C exits 130" test "$rc" = 130
finish
