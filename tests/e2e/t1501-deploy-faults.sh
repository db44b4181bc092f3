#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# assay deploy when things go wrong: the connection is cut at each step, the
# board is full, read-only, another machine, or answers what it likes. The old
# agent stays in place, and nothing half-done stays beside it.
# timeout: 500
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/board.sh"

export FAULT=
old_agent 1.1.0 "$work/old"
reset() {
    rm -rf "$board/opt"
    mkdir "$board/opt"
    cp "$work/old" "$place"
}

# ---- the connection is cut: 1 ask, 2 copy, 3 start, 4 hello, 5 rename ---------

for n in 1 2 3 4; do
    for kind in before half after kill; do
        reset
        FAULT=$n:$kind deploy --timeout 3
        case $kind in
        before | half | after) words="closed by remote host" ;;
        kill) words="signal 9" ;;
        esac
        [ $n = 4 ] && words="the new agent does not answer a hello"
        expect_refused 3 "$words" "connection $n, $kind"
        expect_kept "$work/old" "connection $n, $kind: as before"
        [ $n = 1 ] || expect_err "note: '$place' on the board is as it was" \
            "connection $n, $kind: it says so"
    done
done

# The rename was asked for and not answered: old or new, and whole.
for kind in before half after kill; do
    reset
    FAULT=5:$kind deploy
    expect "connection 5, $kind: exit 3" test "$rc" = 3
    expect_err "note: whether '$place' was replaced is not known" \
        "connection 5, $kind: it says that it does not know"
    left=$work/old
    [ $kind = half ] && left=$arm_assayd
    [ $kind = after ] && left=$arm_assayd
    expect_kept "$left" "connection 5, $kind: a whole agent"
done

# The board is gone for good: a temporary file may stay, and is told of.
reset
FAULT=3+:before deploy
expect_refused 3 "closed by remote host" "gone from connection 3 on"
expect_err "note: '.*/\.assayd-deploy\.[0-9a-f]+' may be left on the board" \
    "what may be left is told"
expect "the old agent is in place" cmp -s "$work/old" "$place"
expect "the temporary file is there" test -n "$(find "$board/opt" -name '.assayd-*')"
deploy
expect_rc 0 "the next deploy"
expect_kept "$arm_assayd" "takes it away"

# ---- nothing moves ------------------------------------------------------------

for n in 1 2 3 5; do
    reset
    begun=$SECONDS
    FAULT=$n:hang deploy --timeout 1
    expect_refused 3 "no byte moved for 1 s" "connection $n hangs"
    expect "connection $n hangs: in time" test $((SECONDS - begun)) -lt 10
    expect_kept "$work/old" "connection $n hangs: as before"
done
reset
FAULT=4:hang deploy --timeout 1
expect_refused 3 "does not answer a hello: .*no answer from .* for 1\.0 s" \
    "a hello without an answer"
expect_kept "$work/old" "a hello without an answer: as before"

# Ctrl-C while it copies.
reset
rm -f "$work/ssh.count"
FAULT=2:hang timeout --preserve-status -k 5 -s INT 1 \
    "$assay" deploy "ssh:root@board:$place" >"$work/out" 2>"$work/err"
rc=$?
ran="deploy, interrupted"
expect_refused 130 "interrupted while copying" "Ctrl-C"
expect_kept "$work/old" "Ctrl-C: as before"

# ---- hostile answers ----------------------------------------------------------

for n in 1 2 3 5; do
    for kind in endless noise; do
        reset
        FAULT=$n:$kind deploy
        # Noise is an answer without an end; endless lines are cut off.
        words="the answer has no end"
        [ $kind = endless ] && words="the board answered more than 65\.5 kB"
        expect "connection $n, $kind: exit 2 or 3" \
            test "$rc" = 2 -o "$rc" = 3
        expect_err "$words" "connection $n, $kind: a sentence"
        expect_kept "$work/old" "connection $n, $kind: as before"
    done
done
reset
begun=$SECONDS
FAULT=1:stderr deploy --timeout 2
expect_refused 3 "no byte moved for 2 s" "endless talk on stderr"
expect "endless talk on stderr: in time" test $((SECONDS - begun)) -lt 12

esc='\033[2J\033]0;x\007\r'
reset
FAULT="1:say:assay: machine $esc\nassay: system $esc\nassay: done\n" deploy
expect_refused 2 "board 'root@board' is '\?\[2J" "control bytes for a machine"
expect "no control byte comes through" \
    bash -c '! grep -q "[[:cntrl:]]" "$1"' _ <(tr -d '\n' <"$work/err")
long=$(printf '%05000d' 0)
FAULT="1:say:assay: machine $long\nassay: done\n" deploy
expect_refused 2 "expected aarch64 with Linux" "a very long machine"
good="assay: machine aarch64\nassay: system Linux\nassay: folder yes\n"
good="${good}assay: writable yes\n"
FAULT="1:say:${good}assay: file yes\nassay: old assayd $esc\nassay: done\n" \
    deploy
expect_refused 2 "says 'assayd \?\[2J.*--force" "control bytes for a version"
FAULT="1:say:${good}assay: free a b c 99 d% e\nassay: done\n" deploy
expect_rc 0 "free space that is no number is not known"
reset
FAULT="1:say:${good}assay: free d 9 9 99 9% /\nassay: done\n" deploy
expect_refused 2 "has 101\.4 kB free: the agent needs" "too little space"
FAULT="1:say:${good}" deploy
expect_refused 3 "the answer has no end" "an answer that is cut"
FAULT="2:say:assay: sum 0000\nassay: done\n" deploy
expect_refused 2 "expected SHA-256 [0-9a-f]{64}, found 0000" "another digest"
expect_kept "$work/old" "another digest: as before"
FAULT="3:say:assay: version assayd 9.9.9\nassay: done\n" deploy
expect_refused 2 "expected 'assayd [0-9.]+', found 'assayd 9\.9\.9'" \
    "another version"
FAULT="4:say:hello\n" deploy
expect_refused 3 "does not answer a hello" "no frames for a hello"
expect_kept "$work/old" "no frames for a hello: as before"
FAULT="5:say:assay: fail rename\nassay: done\n" deploy
expect_refused 2 "cannot rename" "a rename that the board refuses"
expect_kept "$work/old" "a rename that the board refuses: as before"

# A board, or an agent, that computes wrongly: found before anything is replaced.
python3 "$ROOT/tests/support/break_kernels.py" sdot "$arm_assayd" \
    "$work/broken" >/dev/null
reset
deploy --agent "$work/broken"
expect_refused 4 "board 'root@board' fails the new agent's self-test: .*dotprod" \
    "a failed self-test"
expect_kept "$work/old" "a failed self-test: as before"
deploy --agent "$work/broken" --force
expect_rc 0 "--force deploys it all the same"
reset

# ---- the board's folder -------------------------------------------------------

FAKE_MACHINE=armv7l deploy
expect_refused 2 "is 'armv7l' with 'Linux': expected aarch64" "another machine"
expect "another machine: nothing was copied" test "$(connections)" = 1
run "$assay" deploy "ssh:root@board:$board/no/assayd"
expect_refused 2 "the board has no folder for" "no folder"
mkdir "$board/opt/assayd.d"
run "$assay" deploy "ssh:root@board:$board/opt/assayd.d"
expect_refused 2 "is a folder on the board" "a folder in its place"
ln -s assayd "$board/opt/assayd-link"
run "$assay" deploy "ssh:root@board:$board/opt/assayd-link"
expect_refused 2 "is a symbolic link" "a link in its place"
printf '#!/bin/sh\necho other 1.0\n' >"$board/opt/assayd-x"
chmod +x "$board/opt/assayd-x"
run "$assay" deploy "ssh:root@board:$board/opt/assayd-x"
expect_refused 2 "says 'other 1\.0' to --version: expected an assayd" \
    "another program in its place"
run "$assay" deploy "ssh:root@board:$board/opt/assayd-x" --uninstall
expect_refused 2 "says 'other 1\.0'" "which is not removed either"
run "$assay" deploy "ssh:root@board:$board/opt/assayd-x" --force
expect_rc 0 "--force"
expect_out 'replaced other 1\.0' "--force says what it replaced"
: >"$board/opt/assayd-y"
run "$assay" deploy "ssh:root@board:$board/opt/assayd-y"
expect_refused 2 "expected an assayd" "an empty file in its place"

if [ "$(id -u)" = 0 ] && mkdir "$board/small" &&
    mount -t tmpfs -o size=1500k none "$board/small" 2>/dev/null; then
    # df is made silent, so that the copy itself meets the end of the space.
    mkdir "$board/nodf"
    printf '#!/bin/sh\nexit 1\n' >"$board/nodf/df"
    chmod +x "$board/nodf/df"
    printf x >"$board/small/other"
    run "$assay" deploy "ssh:root@board:$board/small/assayd"
    expect_refused 2 "has 1\.[0-9] MiB free: the agent needs" "too small a disk"
    BOARD_PATH=$board/nodf:$board/bin:/usr/bin:/bin \
        run "$assay" deploy "ssh:root@board:$board/small/assayd"
    expect_refused 2 "copying: cannot write: .*No space left" "a disk that fills"
    expect "nothing is left there" test "$(ls -A "$board/small")" = other
    mount -o remount,ro "$board/small"
    run "$assay" deploy "ssh:root@board:$board/small/assayd"
    expect_refused 2 "may not write into the folder" "a read-only disk"
    umount "$board/small"
    mount -t tmpfs -o noexec none "$board/small"
    run "$assay" deploy "ssh:root@board:$board/small/assayd"
    expect_refused 2 "noexec" "a disk that nothing runs from"
    expect "a disk that nothing runs from: nothing is left" \
        test -z "$(ls -A "$board/small")"
    umount "$board/small"
else
    skip "no tmpfs can be mounted: full, read-only and noexec disks"
fi

# ---- what is not asked of a board at all --------------------------------------

refused() { # refused REGEX TEXT ARGUMENT...
    local words=$1 text=$2
    shift 2
    rm -f "$work/ssh.count"
    run "$assay" deploy "$@"
    expect_refused 2 "$words" "$text"
    expect "$text: no connection" test "$(connections)" = 0
}
short=$(printf '%0600d' 0)
refused "needs a board" "no board"
refused "expected ssh:USER@HOST" "TCP" 127.0.0.1:7410
refused "would be an option of ssh" "an option for a host" ssh:-oProxyCommand=x
refused "is no name of a user and a host" "a command for a host" 'ssh:$(x)@b'
refused "name that begins with 'assayd'" "another name" ssh:b:/bin/sh
refused "a folder and a name" "no folder" ssh:b:assayd
refused "has a backslash" "a backslash" 'ssh:b:/a\b/assayd'
refused "has a control byte" "a line end" $'ssh:b:/a\nb/assayd'
refused "path of 608 bytes.*at most 512" "a long path" "ssh:b:/$short/assayd"
refused "expected a program for aarch64" "this machine's agent" ssh:b \
    --agent "$assayd"
refused "expected an ELF program, found another kind" "a script" ssh:b \
    --agent "$0"
refused "assayd-none" "no such agent" ssh:b --agent "$work/assayd-none"
head -c 100000 "$arm_assayd" >"$work/cut"
refused "a file that is cut" "half an agent" ssh:b --agent "$work/cut"
python3 - "$arm_assayd" "$work" <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
n = data.count(b"@(#)assayd ")
assert n == 1, n
open(sys.argv[2] + "/nameless", "wb").write(
    data.replace(b"@(#)assayd ", b"@(#)assaye "))
at = struct.unpack_from("<Q", data, 32)[0]
for i in range(struct.unpack_from("<H", data, 56)[0]):
    if struct.unpack_from("<I", data, at + 56 * i)[0] not in (1,):
        struct.pack_into("<I", data, at + 56 * i, 3)  # PT_INTERP
        break
open(sys.argv[2] + "/dynamic", "wb").write(data)
PY
refused "expected an assayd that says its version" "another program" ssh:b \
    --agent "$work/nameless"
refused "expected a static program" "a program with libraries" ssh:b \
    --agent "$work/dynamic"
old_agent 1.9.0 "$work/new"
refused "is 1\.9\.0 and this assay [0-9.]+, they would not work together" \
    "an agent of another age" ssh:b --agent "$work/new"
refused "ends inside a quote" "an ssh that is no command" ssh:b --ssh "ssh 'x"
run "$assay" deploy ssh:b --ssh "$work/no-such-ssh"
expect_refused 3 "cannot start '.*no-such-ssh'" "an ssh that is not there"
finish
