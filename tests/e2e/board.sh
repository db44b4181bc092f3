# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh by the scripts about `assay deploy`. This machine is
# the board: its shell starts aarch64 programs through the emulator, its uname
# says aarch64. $fake_ssh stands for ssh and can be told to fail (FAULT).
board=$work/board
mkdir -p "$board/bin" "$board/home" "$board/opt"
qemu_path=$(command -v "$QEMU") || skip_all "no $QEMU"
[ -x "$arm_assayd" ] || skip_all "no aarch64 agent was built"
gcc -shared -fPIC -O1 -o "$board/exec.so" "$ROOT/tests/support/board_exec.c" \
    -D_GNU_SOURCE -ldl || skip_all "no shared object can be built"
cat >"$board/bin/uname" <<SH
#!/bin/sh
case \$1 in -m) echo \${FAKE_MACHINE:-aarch64} ;; *) exec /bin/uname "\$@" ;; esac
SH
chmod +x "$board/bin/uname"

# What the board's login shell has in its environment.
board_env=(-i "PATH=$board/bin:/usr/bin:/bin" "HOME=$board/home"
    "LD_PRELOAD=$board/exec.so" "BOARD_QEMU=$qemu_path")

# FAULT is N:KIND, of the Nth connection (from 1), or *:KIND:
#   before  ssh fails before anything     after  the answer is lost
#   half    stdin and answer are cut      hang   nothing ever moves
#   say:X   X instead of an answer        endless, noise, stderr
# Also FAKE_MACHINE, and BOARD_PATH in front of the board's PATH.
fake_ssh=$work/ssh
cat >"$fake_ssh" <<SH
#!/bin/bash
# A stand-in for ssh: OPTIONS -T HOST COMMAND.
while [ \$# -gt 3 ]; do printf '%s\n' "\$1" >>"$work/ssh.options"; shift; done
n=\$((\$(cat "$work/ssh.count" 2>/dev/null || echo 0) + 1))
echo \$n >"$work/ssh.count"
printf '%s %s\n' "\$2" "\$3" >>"$work/ssh.log"
at=\${FAULT%%:*} kind=\${FAULT#*:}
if [ -z "\${FAULT:-}" ] || { [ "\$at" != "*" ] && [ "\$at" != \$n ] &&
    { [ "\${at%+}" = "\$at" ] || [ \$n -lt "\${at%+}" ]; }; }; then
    kind=none
fi
env=(${board_env[*]@Q} "FAKE_MACHINE=\${FAKE_MACHINE:-aarch64}")
[ -z "\${BOARD_PATH:-}" ] || env[1]="PATH=\$BOARD_PATH"
lost() { echo "Connection to board closed by remote host." >&2; exit 255; }
case \$kind in
none) exec env "\${env[@]}" /bin/sh -c "\$3" ;;
before) lost ;;
half) head -c 100000 | env "\${env[@]}" /bin/sh -c "\$3" | head -c 20; lost ;;
after) env "\${env[@]}" /bin/sh -c "\$3" >/dev/null; lost ;;
hang) exec sleep 100 ;;
endless) exec yes "assay: machine aarch64" ;;
noise) exec head -c 60000 /dev/urandom ;;
stderr) exec yes >&2 ;;
kill) kill -KILL \$\$ ;;
say:*) printf '%b' "\${kind#say:}" ;;
esac
SH
chmod +x "$fake_ssh"
export ASSAY_SSH=$fake_ssh

# deploy [OPTION...]: to $place, counting connections anew.
place=$board/opt/assayd
deploy() {
    rm -f "$work/ssh.count" "$work/ssh.log" "$work/ssh.options"
    run "$assay" deploy "ssh:root@board:$place" "$@"
}
connections() {
    cat "$work/ssh.count" 2>/dev/null || echo 0
}

# An old agent: the same program, of another version.
old_agent() { # old_agent VERSION FILE
    python3 - "$1" "$arm_assayd" "$2" <<'PY'
import re, sys
new, source, to = sys.argv[1:]
data = open(source, "rb").read()
own = re.search(rb"@\(#\)assayd ([0-9][^\0]*)\0", data).group(1)
assert len(own) == len(new), (own, new)
data = re.sub(rb"(?<![\w.])" + re.escape(own) + rb"\0",
              new.encode() + b"\0", data)
open(to, "wb").write(data)
PY
    chmod 755 "$2"
}

# Nothing of an attempt is left, and the agent there is the one of FILE.
expect_kept() { # expect_kept FILE TEXT
    if [ -n "$(find "$board/opt" -name '.assayd-deploy*')" ]; then
        not_ok "$2: something is left: $(ls -A "$board/opt")"
    elif ! cmp -s "$1" "$place"; then
        not_ok "$2: the old agent is not there any more"
    else
        ok "$2"
    fi
}
