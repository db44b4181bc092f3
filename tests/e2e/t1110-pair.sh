#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Keys are made, a person compares a fingerprint at a terminal, the board lets
# the key in after a line and SIGHUP, and a run goes over TLS. Taking lines away
# takes the trust away. docs/security.md says the truth.
. "$(dirname "$0")/lib.sh"

export XDG_CONFIG_HOME=$work/ann XDG_CACHE_HOME=$work/cache
unset ASSAY_TLS_CERT ASSAY_TLS_KEY ASSAY_TLS_CA
# A fingerprint as a regular expression.
plain() { sed 's/[+]/[+]/g' <<<"$1"; }
at_terminal=$ROOT/tests/support/at_terminal.py

run "$assay" keygen --name ann@lab
expect_rc 0 "a key is made"
expect_out '^ann@lab SHA256:[A-Za-z0-9+/]{43}$' "the line is the only output"
expect "one line" test "$(wc -l <"$work/out")" = 1
own=$(cat "$work/out")
run "$assay" keygen -o "$work/board" --name board-7 -q
expect_rc 0 "and one for the board"
expect "-q says nothing else" test ! -s "$work/err"
board_print=$(cut -d' ' -f2 "$work/out")
: >"$work/authorized"

start_board() { # start_board ADDRESS
    start_agent "$assayd" --listen "tls:$1" \
        --tls-cert "$work/board/cert.pem" --tls-key "$work/board/key.pem" \
        --authorized "$work/authorized" --log-level info
}
start_board 127.0.0.1:0
where=${address#tls:}
nobody='^assayd: warn: nobody-authorized file="[^"]*/authorized" why="it holds'
expect "a file without a line is warned of" test \
    "$(grep -c "$nobody" "$work/agent.err")" = 1
expect "the agent tells its address as a target" \
    test "$address" = "tls:$where"

# ---- pairing ----------------------------------------------------------------

run "$assay" info --target "$address"
expect_refused 2 "is not known.*assay pair --target tls:$where" \
    "a board that was not paired is not spoken to"
run "$assay" pair --target "$address"
expect_refused 2 'no terminal.*--fingerprint' "nobody is there to compare"
expect "nothing is trusted by that" test ! -e "$work/ann/assay/boards"
for answer in no y YES 'yes ' ' yes' 'yess' '' '^D' "$board_print"; do
    run python3 "$at_terminal" "Type 'yes'" "$answer" \
        "$assay" pair --target "$address"
    expect_rc 3 "'$answer' is no agreement"
done
run python3 "$at_terminal" "Type 'yes'" '^C' "$assay" pair --target "$address"
expect_rc 130 "Ctrl-C ends it"
expect "nothing is trusted by those" test ! -e "$work/ann/assay/boards"
run python3 "$at_terminal" "Type 'yes'" yes "$assay" pair --target "$address"
expect_rc 0 "'yes' is"
expect_out "shows $(plain "$board_print")" "the board's own fingerprint was shown"
expect_out "^our own key is $(plain "${own#* }")" "and ours"
expect_out "^$(plain "$own")$" "the line for the board is told"
expect "the board is known" \
    grep -qx "$where $board_print" "$work/ann/assay/boards"
expect "for this user alone" \
    test "$(stat -c %a "$work/ann/assay/boards")" = 600
run "$assay" pair --target "$address" --fingerprint "$board_print" -q
expect_rc 0 "pairing again changes nothing"
expect "one line a board" test "$(wc -l <"$work/ann/assay/boards")" = 1

# ---- the board's side -------------------------------------------------------

run "$assay" info --target "$address"
expect_refused 3 "$(plain "${own#* }") is not authorised" "the board does not know us yet"
echo "$own" >>"$work/authorized"
run "$assay" info --target "$address"
expect_refused 3 'is not authorised' "nor before it reads its file again"
# The agent has read it when its log says so.
reload() {
    local line log tail_pid seen=no
    # From this line on, whenever tail comes.
    echo "test: SIGHUP is sent" >>"$work/agent.err"
    exec {log}< <(exec tail -n 1 -f "$work/agent.err")
    tail_pid=$!
    while read -r -t 20 line <&"$log"; do
        case $line in
        "test: "*) kill -HUP "$agent_pid" ;;
        *"reload done "*)
            seen=yes
            break
            ;;
        esac
    done
    kill "$tail_pid"
    wait "$tail_pid" 2>/dev/null
    exec {log}<&-
    expect "the agent reads its files again" test $seen = yes
}
reload
run "$assay" info --target "$address"
expect_rc 0 "after SIGHUP it does"
expect "a file with a line is not warned of" test \
    "$(grep -c "$nobody" "$work/agent.err")" = 1
run "$assay" run "$digits" --target "$address" -q
expect_rc 0 "a run goes over TLS"
expect_out '^match ' "it compared"

# ---- revocation -------------------------------------------------------------

: >"$work/authorized"
reload
expect "an emptied one is" test "$(grep -c "$nobody" "$work/agent.err")" = 2
run "$assay" info --target "$address"
expect_refused 3 'is not authorised' \
    "without its line the key is out, with a session of before too"
echo "$own" >>"$work/authorized"
reload
run "$assay" info --target "$address"
expect_rc 0 "and in again"
sed -i "/^$where /d" "$work/ann/assay/boards"
run "$assay" info --target "$address"
expect_refused 2 'is not known' "a board without its line is not spoken to"
run "$assay" pair --target "$address" --fingerprint "$board_print" -q
expect_rc 0 "paired by a fingerprint that was given"
stop_agent
expect_rc 0 "the agent ends well"

# ---- what the document says -------------------------------------------------

mkdir "$work/doc"
PATH=$BUILD/$MACHINE:$PATH run python3 \
    "$ROOT/tests/support/examples.py" "$ROOT/docs/security.md" "$BUILD" \
    pairing "$work/doc"
expect_rc 0 "the examples of docs/security.md say the truth"
expect_out '^[1-9][0-9]* commands' "there are examples"
finish
