#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Host and agent of other versions: who works together, who is refused, by
# which side, and what is to be done. The other versions are this build with
# another number in it.
# timeout: 120
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
own=$("$assay" --version | sed 's/assay //')
# renamed PROGRAM VERSION FILE: as many bytes as its own version.
renamed() {
    python3 - "$own" "$@" <<'PY'
import re, sys
own, source, new, to = sys.argv[1:]
data = open(source, "rb").read()
# Not LIBRARY_1.0.0.
data, n = re.subn(rb"(?<![\w.])" + re.escape(own.encode()) + rb"\0",
                  new.encode() + b"\0", data)
assert n > 0 and len(own) == len(new)
open(to, "wb").write(data)
PY
    chmod +x "$3"
}
for v in 0.9.0 1.0.0 1.1.0 1.2.0 1.3.0 2.0.0; do
    renamed "$assay" $v "$work/assay-$v"
    renamed "$assayd" $v "$work/assayd-$v"
done

board='update assayd on the board: assay deploy ssh:USER@HOST$'
host='update assay on the host: its package, or build it anew$'
together() { # together HOST AGENT
    run "$work/assay-$1" info --target "exec:$work/assayd-$2 --stdio"
    expect_rc 0 "assay $1, assayd $2"
    expect_out "agent $2" "assay $1, assayd $2: the agent is told"
}
apart() { # apart HOST AGENT WHO
    run "$work/assay-$1" info --target "exec:$work/assayd-$2 --stdio"
    expect_refused 2 "assay $1 on the host and assayd $2 on the board do not work together .*$3" \
        "assay $1, assayd $2"
}
for pair in "1.0.0 1.0.0" "1.0.0 1.1.0" "1.0.0 1.2.0" "1.2.0 1.0.0" \
    "1.1.0 1.3.0" "1.3.0 1.1.0" "2.0.0 2.0.0"; do
    together $pair
done
apart 1.0.0 1.3.0 "$host"
apart 1.3.0 1.0.0 "$board"
apart 2.0.0 1.3.0 "$board"
apart 1.3.0 2.0.0 "$host"
apart 0.9.0 1.0.0 "$host"
apart 1.0.0 0.9.0 "$board"
run "$work/assay-1.2.0" run "$digits" -q \
    --target "exec:$work/assayd-1.0.0 --stdio"
expect_rc 0 "a run across two minor versions"
run "$work/assay-1.0.0" run "$digits" -q \
    --target "exec:$work/assayd-1.2.0 --stdio"
expect_rc 0 "and the other way round"
renamed "$assay" x.y.z "$work/assay-x.y.z"
renamed "$assayd" x.y.z "$work/assayd-x.y.z"
run "$assay" info --target "exec:$work/assayd-x.y.z --stdio"
expect_refused 2 "build id 'x\.y\.z' of assayd on the board is no version: .*$board" \
    "an agent whose build is no version"
run "$work/assay-x.y.z" info --target "exec:$assayd --stdio"
expect_refused 2 "build id 'x\.y\.z' of assay on the host is no version: .*$host" \
    "a command whose build is no version"

# With ssh the board is known, and how to update it.
printf '#!/bin/sh\nexec "%s" --stdio\n' "$work/assayd-1.0.0" >"$work/ssh"
chmod +x "$work/ssh"
run "$work/assay-1.3.0" info --ssh "$work/ssh" \
    --target ssh:root@board:/opt/assayd
expect_refused 2 'assay deploy ssh:root@board:/opt/assayd$' \
    "the sentence has the command to type"
printf '#!/bin/sh\nexec "%s" --stdio\n' "$work/assayd-x.y.z" >"$work/ssh"
run "$assay" info --ssh "$work/ssh" --target ssh:root@board:/opt/assayd
expect_refused 2 'assay deploy ssh:root@board:/opt/assayd$' \
    "also where the agent does not refuse"

# ---- the agent by itself: whoever says hello ----------------------------------

start_agent "$assayd" --listen "unix:$work/a.sock"
hello() { # hello WORD EXIT REGEX TEXT
    run "$peer" "$work/a.sock" "$1" reply
    if [ "$rc" = "$2" ] && grep -Eq -- "$3" "$work/out"; then
        ok "$4"
    else
        not_ok "$4: exit $rc"
    fi
}
hello hello:1.0.0 0 '^HELLO_ACK$' "1.0.0"
hello hello:1.2.9-dirty 0 '^HELLO_ACK$' "a development build"
hello hello:1.3.0 0 "^ERROR VERSION .*$board" "a younger host"
hello hello:0.99.0 0 "^ERROR VERSION .*$host" "an older host"
hello hello:1 0 "^ERROR VERSION build id '1' of assay" "half a version"
hello hello: 0 "^ERROR VERSION build id '' of assay" "no build id"
hello $'hello:\e[2J' 0 "^ERROR VERSION build id '\?\[2J'" "control bytes"
hello "hello:$(printf '%0900d' 1)" 0 '^ERROR VERSION' "a very long build id"
hello range:1-1 0 '^HELLO_ACK$' "protocol 1 to 1"
hello range:0-900 0 '^HELLO_ACK$' "protocol 0 to 900"
hello range:900-901 0 "^ERROR VERSION .* protocol 900 to 901, .*$board" \
    "a protocol of tomorrow"
hello range:0-0 0 "^ERROR VERSION .* protocol 0 to 0, .*$host" \
    "a protocol of yesterday"
hello range:5-1 0 "^ERROR VERSION .*$host" "a range that holds nothing"
run "$peer" "$work/a.sock" hello:9.0.0 reply reply
expect "a refused hello ends the connection" grep -qx 'hung up' "$work/out"
run "$assay" info --target "unix:$work/a.sock"
expect_rc 0 "the agent serves on"
stop_agent TERM
expect "and ends with 0" test "$rc" = 0
finish
