#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# assay deploy: an agent gets to a board, replaces another as a whole, and
# goes away again. Once through a real sshd, else through a stand-in of ssh.
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/board.sh"

version=$("$assay" --version | sed 's/assay //')
deploy --dry-run
expect_rc 0 "--dry-run"
expect_out '^\[1/5\] agent .*aarch64/assayd: [0-9.]+, aarch64, static' \
    "--dry-run found the agent beside the command"
expect_out '^\[5/5\] place  rename it to ' "--dry-run prints the last step"
expect "--dry-run does not connect" test "$(connections)" = 0

deploy
expect_rc 0 "a board that has none"
expect_out "^root@board:$place: agent $version\$" "it says what is there now"
expect_out '^kernels dotprod|^kernels neon' "it says what the new agent can"
expect_out "^use     --target ssh:root@board:$place\$" "and how to use it"
expect "the file arrived" cmp -s "$arm_assayd" "$place"
expect "it may be executed" test -x "$place"
expect "its mode is 755" test "$(stat -c %a "$place")" = 755
expect "nothing else is there" test "$(ls -A "$board/opt")" = assayd
expect "one word is ssh's, five connections" test "$(connections)" = 5
expect "ssh is given no option of ours through ASSAY_SSH" \
    test ! -e "$work/ssh.options"
run "$assay" run "$digits" --target "ssh:root@board:$place" -q
expect_rc 0 "the target that it told of works"

old_agent 1.1.0 "$work/old"
cp "$work/old" "$place"
deploy
expect_rc 0 "an old agent is replaced"
expect_out "agent $version \(replaced 1\.1\.0\)" "the old version is told"
expect "by the new file" cmp -s "$arm_assayd" "$place"
deploy --agent "$work/old" -q
expect_rc 0 "--agent FILE"
expect "-q is silent on stderr" test ! -s "$work/err"
expect_out "agent 1\.1\.0 \(replaced $version\)" "it may be another version"
expect "that file is there" cmp -s "$work/old" "$place"

# A program under way is not disturbed, and the next one is the new one.
BOARD_QEMU=$qemu_path
start_agent "$QEMU" "$place" --listen "unix:$work/d.sock"
deploy
expect_rc 0 "beside a running daemon"
expect_out '^daemon  one runs on the board \(' "the running daemon is told of"
run "$assay" info --target "unix:$work/d.sock"
expect_rc 0 "which still answers"
expect_out '1\.1\.0' "as the old agent"
stop_agent TERM

# A bare name is what the board's PATH has.
run "$assay" deploy "ssh:root@board:$board/bin/assayd"
expect_rc 0 "into a folder of the board's PATH"
expect_out '^use     --target ssh:root@board$' "a bare target is enough then"
run "$assay" info --target ssh:root@board
expect_rc 0 "and works"

# Paths that a shell would take apart.
for odd in "a b" "it's" '$(touch pwned)' '; touch pwned;' '"x"' '*' '[x]' \
    '`touch pwned`' '&' '-n' '#x' '!x'; do
    mkdir -p "$board/opt/$odd"
    run "$assay" deploy "ssh:root@board:$board/opt/$odd/assayd"
    expect_rc 0 "folder '$odd'"
    expect "folder '$odd' has it" cmp -s "$arm_assayd" \
        "$board/opt/$odd/assayd"
    rm -rf "$board/opt/$odd"
done
expect "no word of a path was executed" \
    test -z "$(find "$board" -name pwned)" -a ! -e pwned
run "$assay" deploy 'ssh:root@board:~/assayd'
expect_rc 0 "a path in the home folder"
expect "is in the home folder" cmp -s "$arm_assayd" "$board/home/assayd"

# A board without sha256sum: the file is read back.
mkdir "$board/few"
for tool in sh id sed head tail df cat rm mv chmod wc sync sort; do
    ln -s "$(command -v $tool)" "$board/few/$tool"
done
cp "$board/bin/uname" "$board/few/uname"
BOARD_PATH=$board/few deploy
expect_rc 0 "without sha256sum"
expect "it was read back" grep -q ' cat /' "$work/ssh.log"
expect "a connection more" test "$(connections)" = 6

# Away again.
deploy --uninstall --dry-run
expect_rc 0 "--uninstall --dry-run"
expect "removes nothing" test -e "$place"
deploy --uninstall
expect_rc 0 "--uninstall"
expect_out "agent $version removed" "it says what was removed"
expect "and it is gone" test -z "$(ls -A "$board/opt")"
deploy --uninstall
expect_rc 0 "--uninstall again"
expect_out 'nothing is there' "there is nothing"

# ---- a real sshd --------------------------------------------------------------

sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null)
if [ -z "$sshd" ] || ! command -v ssh-keygen >/dev/null; then
    skip "openssh-server is not installed"
    finish
fi
keys=$work/keys
mkdir -m 700 "$keys"
ssh-keygen -q -t ed25519 -N '' -f "$keys/host"
ssh-keygen -q -t ed25519 -N '' -f "$keys/user"
cp "$keys/user.pub" "$keys/authorized"
port=$(python3 -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
cat >"$keys/sshd_config" <<CONF
ListenAddress 127.0.0.1:$port
HostKey $keys/host
AuthorizedKeysFile $keys/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
PermitRootLogin prohibit-password
SetEnv LD_PRELOAD=$board/exec.so BOARD_QEMU=$qemu_path PATH=$board/bin:/usr/bin:/bin
CONF
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$keys/host.pub")" >"$keys/known"
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
"$sshd" -D -e -f "$keys/sshd_config" 2>"$work/sshd.err" &
sshd_pid=$!
agents+=("$sshd_pid")
python3 - "$port" <<'PY'
import socket, sys, time
end = time.monotonic() + 20
while time.monotonic() < end:
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()
        break
    except OSError:
        time.sleep(0.05)
PY
me=$(id -un)
options="-p $port -i $keys/user -o UserKnownHostsFile=$keys/known"
options="$options -o IdentitiesOnly=yes -o BatchMode=yes -F none"
unset ASSAY_SSH
run "$assay" deploy "ssh:$me@127.0.0.1:$place" --ssh "ssh $options"
if ! kill -0 "$sshd_pid" 2>/dev/null; then
    skip "sshd does not run here: $(tail -n 1 "$work/sshd.err")"
    finish
fi
expect_rc 0 "through sshd"
expect_out "agent $version\$" "through sshd: agent"
expect "through sshd: the file arrived" cmp -s "$arm_assayd" "$place"
run "$assay" run "$digits" -q --target "ssh:$me@127.0.0.1:$place" \
    --ssh "ssh $options"
expect_rc 0 "through sshd: a run"
mkdir -p "$board/opt/it's \$(x) dir"
run env ASSAY_SSH="ssh $options" "$assay" deploy \
    "ssh:$me@127.0.0.1:$board/opt/it's \$(x) dir/assayd"
expect_rc 0 "through sshd: an odd path"
expect "through sshd: which has it" cmp -s "$arm_assayd" \
    "$board/opt/it's \$(x) dir/assayd"
run "$assay" deploy "ssh:$me@127.0.0.1:$place" --uninstall \
    --ssh "ssh $options"
expect_rc 0 "through sshd: --uninstall"
expect "through sshd: it is gone" test ! -e "$place"
# No key of the user's: refused without a question.
run "$assay" deploy "ssh:nobody@127.0.0.1:$place" --ssh "ssh $options"
expect_refused 3 "ssh to 'nobody@127.0.0.1' failed: .*Permission denied" \
    "through sshd: who has no key"
kill -TERM "$sshd_pid"
wait_for "$sshd_pid" 10
run "$assay" deploy "ssh:$me@127.0.0.1:$place" --ssh "ssh $options"
expect_refused 3 "Connection refused" "nobody listens any more"
finish
