# SPDX-License-Identifier: Apache-2.0
# Sourced by every tests/e2e/tNNNN-*.sh (bash). The runner sets BUILD (an
# absolute path), ROOT, QEMU; each script has its own $work, removed at its
# end, and ends with its counts. Nothing here sleeps to wait for something:
# an agent is ready when its line has come through a pipe.
set -u
: "${BUILD:?}" "${ROOT:?}"
QEMU=${QEMU:-qemu-aarch64}
MACHINE=${MACHINE:-x86_64}
assay=$BUILD/$MACHINE/assay
assayd=$BUILD/$MACHINE/assayd
arm_assayd=$BUILD/aarch64/assayd
digits=$ROOT/tests/data/digits
work=$(mktemp -d)
export TMPDIR=$work NO_COLOR=1 LC_ALL=C
unset ASSAY_TARGET
# A size that nobody has is NULL from malloc, as without the sanitizer.
export ASAN_OPTIONS=allocator_may_return_null=1
t_passed=0 t_failed=0 t_skipped=0 t_done=no
agents=()

t_pid=$BASHPID
t_end() {
    local rc=$?
    # A child that is killed before it has traps of its own comes here too.
    [ "$BASHPID" = "$t_pid" ] || return
    local pid
    for pid in ${agents[@]+"${agents[@]}"}; do
        kill -KILL "$pid" 2>/dev/null
    done
    rm -rf "$work"
    if [ "$t_done" = skipped ]; then
        exit 77
    fi
    if [ "$t_done" = no ]; then
        echo "FAIL the script ended early, exit $rc"
        t_failed=$((t_failed + 1))
    fi
    echo "$t_passed passed, $t_failed failed, $t_skipped skipped"
    [ "$t_failed" = 0 ] && [ $((t_passed + t_skipped)) -gt 0 ]
    exit $?
}
trap t_end EXIT

# The last line of every script: what does not reach it has failed.
finish() {
    t_done=yes
    exit 0
}

skip_all() {
    echo "$*"
    t_done=skipped
    exit 77
}

skip() {
    echo "SKIP $*"
    t_skipped=$((t_skipped + 1))
}

ok() {
    echo "ok $*"
    t_passed=$((t_passed + 1))
}

not_ok() {
    echo "FAIL $*"
    t_failed=$((t_failed + 1))
    if [ -s "$work/out" ]; then sed 's/^/    out: /' "$work/out" | tail -n 30; fi
    if [ -s "$work/err" ]; then sed 's/^/    err: /' "$work/err" | tail -n 15; fi
}

# run COMMAND...: stdout in $work/out, stderr in $work/err, exit code in $rc.
run() {
    ran="$*"
    timeout -k 5 "${RUN_TIMEOUT:-60}" "$@" >"$work/out" 2>"$work/err" \
        </dev/null
    rc=$?
}

# expect TEXT CONDITION...: a test of its own, e.g. expect "empty" test ! -s f
expect() {
    local text=$1
    shift
    if "$@"; then ok "$text"; else not_ok "$text: $*"; fi
}

expect_rc() { # expect_rc N TEXT
    if [ "$rc" = "$1" ]; then
        ok "$2: exit $1"
    else
        not_ok "$2: exit $rc, expected $1: $ran"
    fi
}

expect_out() { # expect_out REGEX TEXT
    if grep -Eq -- "$1" "$work/out"; then
        ok "$2"
    else
        not_ok "$2: stdout lacks '$1': $ran"
    fi
}

expect_not_out() {
    if grep -Eq -- "$1" "$work/out"; then
        not_ok "$2: stdout has '$1': $ran"
    else
        ok "$2"
    fi
}

expect_err() {
    if grep -Eq -- "$1" "$work/err"; then
        ok "$2"
    else
        not_ok "$2: stderr lacks '$1': $ran"
    fi
}

# One sentence, no crash: exit N, something on stderr that matches, and no
# report of a sanitizer.
expect_refused() { # expect_refused N REGEX TEXT
    if [ "$rc" != "$1" ]; then
        not_ok "$3: exit $rc, expected $1: $ran"
    elif grep -Eq 'AddressSanitizer|runtime error:|LeakSanitizer' \
        "$work/err"; then
        not_ok "$3: a sanitizer spoke: $ran"
    elif ! grep -Eq -- "$2" "$work/err"; then
        not_ok "$3: stderr lacks '$2': $ran"
    else
        ok "$3"
    fi
}

# start_agent COMMAND... : starts it in the background, waits for its line
# (20 s) and sets $address and $agent_pid. Its stderr is $work/agent.err.
start_agent() {
    local fifo=$work/ready.$RANDOM line fd
    mkfifo "$fifo"
    # Opened here: the agent could come after the name has been removed.
    exec {fd}<>"$fifo"
    "$@" >&"$fd" 2>>"$work/agent.err" </dev/null {fd}>&- &
    agent_pid=$!
    agents+=("$agent_pid")
    rm -f "$fifo"
    address=
    if ! read -r -t 20 line <&"$fd"; then
        not_ok "agent did not become ready: $*"
        sed 's/^/    agent: /' "$work/agent.err"
        finish
    fi
    address=${line#assayd listening on }
    if [ "$address" = "$line" ]; then
        not_ok "agent's first line is '$line'"
        finish
    fi
}

# Ends the agent with a signal and sets $rc to how it ended (10 s).
stop_agent() { # stop_agent [SIGNAL]
    kill -"${1:-TERM}" "$agent_pid" 2>/dev/null
    wait_for "$agent_pid" 10
}

# wait_for PID SECONDS: sets $rc; a process that stays is killed, rc=124.
wait_for() {
    local pid=$1 watchdog
    (
        trap 'kill $!' TERM
        sleep "$2" &
        wait $!
        kill -KILL "$pid" 2>/dev/null
    ) >/dev/null 2>&1 &
    watchdog=$!
    wait "$pid"
    rc=$?
    kill "$watchdog" 2>/dev/null
    wait "$watchdog" 2>/dev/null
    [ "$rc" = 137 ] && rc=124
    return 0
}

# A static agent on an emulated CPU, as an exec: target.
arm_target() { # arm_target CPU
    echo "exec:$QEMU -cpu $1 $arm_assayd --stdio"
}
