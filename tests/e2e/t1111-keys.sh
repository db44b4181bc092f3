#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is wrong with a key, a pair of files, a list of boards or a kept session:
# one sentence and exit 2, and a session that is none. A board whose key has
# changed is refused, exit 3, with both fingerprints.
. "$(dirname "$0")/lib.sh"

export XDG_CONFIG_HOME=$work/ann XDG_CACHE_HOME=$work/cache
unset ASSAY_TLS_CERT ASSAY_TLS_KEY ASSAY_TLS_CA
mine=$work/ann/assay
plain() { sed 's/[+]/[+]/g' <<<"$1"; }

# ---- keygen -----------------------------------------------------------------

(umask 0 && "$assay" keygen --name ann@lab -q >"$work/ann.line")
expect "a mask of 0 opens nothing: key" test "$(stat -c %a "$mine/key.pem")" = 600
expect "and folder" test "$(stat -c %a "$mine")" = 700
before=$(cat "$mine/key.pem" "$mine/cert.pem" | sha256sum)
run "$assay" keygen
expect_refused 2 "key.pem' is there already and is never overwritten, $(plain \
    "$(cut -d' ' -f2 "$work/ann.line")")" "a second keygen tells the first's"
mkdir "$work/half"
cp "$mine/cert.pem" "$work/half"
run "$assay" keygen -o "$work/half"
expect_refused 2 "cert.pem' is there already" "a certificate alone is kept too"
expect "and no key is left beside it" test ! -e "$work/half/key.pem"
mkdir "$work/dangling"
ln -s "$work/elsewhere" "$work/dangling/key.pem"
run "$assay" keygen -o "$work/dangling"
expect_refused 2 "key.pem' is there already" "a link is not written through"
expect "nothing came to be at its end" test ! -e "$work/elsewhere"
run "$assay" keygen -o /dev/null/x
expect_refused 2 'Not a directory' "a folder that cannot be"
run "$assay" keygen -o "$work/bad" --name 'a b'
expect_refused 2 "name 'a b'" "a name that cannot be"
expect "leaves nothing" test ! -e "$work/bad"
# A disk that is full: what was begun is taken away again.
mkdir "$work/full"
run bash -o pipefail -c "(trap '' XFSZ; ulimit -f 0
    '$assay' keygen -o '$work/full') 2>&1 | cat >&2"
expect_refused 2 'key.pem.*File too large' "a key that cannot be written"
expect "leaves nothing behind" test -z "$(ls "$work/full")"
run "$assay" keygen surplus
expect_refused 2 surplus "an operand"
expect "the first key is as it was" \
    test "$before" = "$(cat "$mine/key.pem" "$mine/cert.pem" | sha256sum)"

# ---- the board --------------------------------------------------------------

"$assay" keygen -o "$work/board" --name board-7 -q >"$work/board.line"
"$assay" keygen -o "$work/new" --name board-7 -q >"$work/new.line"
old_print=$(cut -d' ' -f2 "$work/board.line")
new_print=$(cut -d' ' -f2 "$work/new.line")
cp "$work/ann.line" "$work/authorized"

start_board() { # start_board FOLDER ADDRESS
    : >"$work/agent.err"
    start_agent "$assayd" --listen "tls:$2" --tls-cert "$1/cert.pem" \
        --tls-key "$1/key.pem" --authorized "$work/authorized" --log-level info
}
start_board "$work/board" 127.0.0.1:0
target=$address
where=${address#tls:}
"$assay" pair --target "$target" --fingerprint "$old_print" -q >/dev/null
run "$assay" info --target "$target"
expect_rc 0 "all is well"

# ---- our files --------------------------------------------------------------

info() { run "$assay" info --target "$target"; }
for mode in 640 604 620 602 666 644; do
    chmod "$mode" "$mine/key.pem"
    info
    expect_refused 2 "key.pem' has mode 0$mode.*chmod 600" "a key of mode $mode"
done
chmod 600 "$mine/key.pem"
chmod 666 "$mine/cert.pem"
info
expect_refused 2 "cert.pem' has mode 0666.*chmod go-w" "others' certificate"
chmod 644 "$mine/cert.pem"
chmod 622 "$mine/boards"
info
expect_refused 2 "boards' has mode 0622" "a list of boards for others to write"
chmod 600 "$mine/boards"
echo oops >>"$mine/boards"
info
expect_refused 2 "boards', line 2: NAME SHA256:FINGERPRINT expected" \
    "a bad line has its number"
run "$assay" pair --target "$target" --fingerprint "$old_print"
expect_refused 2 "boards', line 2" "and nothing is added to it"
sed -i 2d "$mine/boards"
run "$assay" info --target "$target" --tls-key "$work/new/key.pem"
expect_refused 2 'new/key.pem.*belong together' "a key without a certificate"
run "$assay" info --target "$target" --tls-cert "$mine/cert.pem" \
    --tls-key "$work/new/key.pem"
expect_refused 2 "new/key.pem' is not the one of certificate" "two halves"
ASSAY_TLS_CERT=$mine/cert.pem ASSAY_TLS_KEY=$work/none.pem \
    run "$assay" info --target "$target"
expect_refused 2 'none.pem.*No such file' "variables stand for options"
ASSAY_TLS_CA=$mine/key.pem run "$assay" info --target "$target"
expect_refused 2 'holds no certificate' "an authority that is none"
run "$assay" info --target "$target" --tls-cert "$work/new/cert.pem" \
    --tls-key "$work/new/key.pem"
expect_refused 3 "$(plain "$new_print") is not authorised" "somebody else's key"
run "$assay" pair --target "$target" --fingerprint SHA256:abc
expect_refused 2 "'SHA256:abc': 'SHA256:' and 43 characters" "no fingerprint"
run "$assay" pair --target "127.0.0.1:1" --fingerprint "$old_print"
expect_refused 2 'not behind TLS' "nothing to pair on bare loopback"
run "$assay" pair --fingerprint "$old_print"
expect_refused 2 'no board given' "no board"

# ---- kept sessions ----------------------------------------------------------

rm -r "$work/cache"
info
session=$(ls "$work/cache/assay/sessions/"*)
resumed() { grep -c 'tls-client .*resumed=1' "$work/agent.err"; }
before=$(resumed)
info
expect "a second command resumes" test "$(resumed)" = $((before + 1))
chmod 640 "$session"
before=$(resumed)
info
expect_rc 0 "a session that others may read does no harm"
expect "and is not resumed" test "$(resumed)" = "$before"
expect "a new one took its place" test "$(stat -c %a "$session")" = 600
for n in 0 10 100; do
    head -c $n "$session" >"$work/cut"
    cat "$work/cut" >"$session"
    info
    expect_rc 0 "a session of $n bytes does no harm"
done
# Whole by its hash, and yet wrong: as if its secret or its ticket had changed.
info
cp "$session" "$work/session"
for at in 0 2 8 40 60 75 90 105 120 300 600 700 900 1000; do
    python3 - "$work/session" "$session" $at <<'END'
import hashlib, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = 56 + int(sys.argv[3])
data[min(at, len(data) - 1)] ^= 0x40
data[16:48] = hashlib.sha256(data[48:]).digest()
open(sys.argv[2], "wb").write(data)
END
    info
    expect_rc 0 "a session with a wrong byte $at does no harm"
done
XDG_CACHE_HOME=/dev/null info
expect_rc 0 "nor one that cannot be kept"
before=$(resumed)
info
expect "sessions are resumed still" test "$(resumed)" = $((before + 1))

# ---- a changed key ----------------------------------------------------------

stop_agent
start_board "$work/new" "$where"
boards=$(cat "$mine/boards")
info
expect_refused 3 "$(plain "$new_print").*$(plain "$old_print").*pinned" \
    "another key is refused, both are named"
for more in "--fingerprint $new_print" "--fingerprint $old_print"; do
    # shellcheck disable=SC2086
    run "$assay" pair --target "$target" $more
    expect_refused 3 "KEY OF BOARD '$where' HAS CHANGED.*$(plain \
        "$new_print").*$(plain "$old_print")" "pair ${more%% *} says it loudly"
done
expect "the list is as it was" test "$boards" = "$(cat "$mine/boards")"
run python3 "$ROOT/tests/support/at_terminal.py" "Type 'yes'" yes \
    "$assay" pair --target "$target"
expect_rc 3 "nor does a person agree to it in passing"
: >"$mine/boards"
run "$assay" pair --target "$target" --fingerprint "$old_print"
expect_refused 3 "shows $(plain "$new_print"), --fingerprint says $(plain \
    "$old_print")" "a new board has to show what was given"
expect "it is not known then" test ! -s "$mine/boards"
run "$assay" pair --target "$target" --fingerprint "$new_print" -q
expect_rc 0 "without its old line it can be paired"
info
expect_rc 0 "and is spoken to; what was kept of the old one is no hindrance"
stop_agent
expect_rc 0 "the agent ends well"
finish
