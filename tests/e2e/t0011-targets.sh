#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every kind of target, native and emulated: the same verdict over each.
# timeout: 300
. "$(dirname "$0")/lib.sh"

same() { # same TEXT TARGET [OPTION...]
    local text=$1 target=$2
    shift 2
    run "$assay" run "$digits" --target "$target" -q "$@"
    expect_rc 0 "$text"
    expect_out '^match' "$text: match"
}

start_agent "$assayd" --listen 127.0.0.1:0
expect "the line names a real port" \
    bash -c '[[ $1 =~ ^127\.0\.0\.1:[1-9][0-9]*$ ]]' _ "$address"
same "TCP" "$address"
same "TCP again: constants are there already" "$address"
run env ASSAY_TARGET="$address" "$assay" run "$digits" -q
expect_rc 0 "ASSAY_TARGET"
run "$assay" info --target "$address"
expect_rc 0 "info"
expect_out '^kernels' "info names the kernels"
expect_out '^lease +free' "the lease is free after a run"
stop_agent TERM
expect "SIGTERM ends the agent with 0" test "$rc" = 0

start_agent "$assayd" --listen "unix:$work/a.sock" --board-id test-board
expect "the line names the socket" test "$address" = "unix:$work/a.sock"
same "Unix socket" "$address"
run "$assay" info --target "$address"
expect_out 'test-board' "info names the board"
stop_agent TERM
expect "SIGTERM ends it with 0" test "$rc" = 0
expect "the socket is gone" test ! -e "$work/a.sock"

same "exec:, native" "exec:$assayd --stdio"
for cpu in cortex-a53 cortex-a76 max; do
    same "exec:, aarch64 on $cpu" "$(arm_target $cpu)"
    same "exec:, aarch64 on $cpu, scalar" "$(arm_target $cpu)" --cpumask 0
done

# What runs is told, where it is not what was wished for.
told() { # told CPU MASK USED
    run "$assay" run "$digits" --target "$(arm_target "$1")" --cpumask "$2"
    expect_rc 0 "$2 on $1"
    expect_out "kernels $3," "$2 on $1: $3"
}
told cortex-a53 dotprod neon
expect_err '--cpumask dotprod: board .* has no such kernels, it uses neon ones' \
    "the board has not what was wished for"
told max i8mm dotprod
expect_err '--cpumask i8mm: .* uses dotprod ones' "no kernels are of it"
told cortex-a76 neon neon
expect "what it has needs no word" \
    test -z "$(grep -e --cpumask "$work/err")"

# ssh: runs the user's own ssh; a stand-in shows what it is given.
mkdir "$work/bin"
cat >"$work/bin/ssh" <<SH
#!/bin/sh
printf '%s\n' "\$@" >"$work/ssh.args"
exec "$assayd" --stdio
SH
chmod +x "$work/bin/ssh"
PATH=$work/bin:$PATH same "ssh:" "ssh:root@board.example"
expect "ssh is given user and host" grep -qx 'root@board.example' \
    "$work/ssh.args"
expect "ssh is asked for --stdio" grep -q -- '--stdio' "$work/ssh.args"
finish
