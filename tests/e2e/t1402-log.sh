#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent's log: one line an event, its form, its levels, what the journal
# gets; text of clients cannot forge a line, and no content gets there.
. "$(dirname "$0")/lib.sh"

peer=$BUILD/x86_64/tests/support/peer
log=$work/agent.err
secret=SECRETtensorCONTENT0123456789
events() {
    run "$peer" "$work/a.sock" hello reply acquire reply "put=$secret" reply \
        release reply
    run "$assay" run "$digits" --target "$address" -q
    run "$peer" "$work/a.sock" hello reply 'owner=me"\ you=x' acquire reply
    run "$peer" "$work/a.sock" hello reply \
        "owner=$(printf 'n\303\251%.0s' {1..60})" acquire reply
    run "$peer" "$work/a.sock" hello reply start reply
    run "$peer" "$work/a.sock" hello reply ttl=1000 acquire reply reply
    run "$peer" "$work/a.sock" hello reply 'owner=first@a 1' acquire reply \
        wait=200 reset
}
form='^assayd: (error|warn|info|debug): [a-z-]+( [a-z]+)?( [a-z]+=([^" ]+|"[ -~]*"))*$'

start_agent "$assayd" --listen "unix:$work/a.sock" --log-level debug
events
stop_agent TERM
expect "every line has the form" test -z "$(grep -Ev "$form" "$log")"
for event in 'connect session=1' 'message session=1 state=hello type=HELLO ' \
    'lease-granted session=1 owner="peer@test 1" ms=60000' \
    'lease-freed session=1 owner="peer@test 1"' \
    'disconnect session=1 in=[0-9]+ out=[0-9]+' \
    'load session=2 slice=[0-9a-f]{16} layers=[0-9]+ model="model.onnx"' \
    'run-start session=2 run=1 sample=0 mode=cumulative' \
    'run-end session=2 run=1 layers=[0-9]+ missing=0 bytes=[0-9]+ ms=[0-9]+' \
    'lease-granted session=3 owner="me\\x22\\x5c you=x" ms=' \
    'refused session=5 state=ready code=PROTOCOL why="message RUN_START is ' \
    'lease-expired session=6 owner="peer@test 1" ms=1000' \
    'hung-up session=7 state=leased how=E[A-Z]+' \
    'lease-freed session=7 owner="first@a 1"' \
    'self-test passed checks=[0-9]+ ms=[0-9]+' 'stop signal=15'; do
    expect "$event" grep -Eq "^assayd: [a-z]+: $event" "$log"
done
expect "a name that is no ASCII is escaped" grep -q \
    'owner="n\\xc3\\xa9n\\xc3\\xa9' "$log"
expect "and cut" grep -Eq 'session=4 owner=".{300,320}\.\.\."' "$log"
# What was put, as it is, as hex and as base64, and no line is longer than
# names and sentences.
hex=$(printf %s "$secret" | od -An -v -tx1 | tr -d ' \n')
base64=$(printf %s "$secret" | base64 | cut -c 1-36)
expect "the secret's peer was there" grep -q 'type=BLOB_PUT payload=29' "$log"
for text in "$secret" SECRET tensorCONTENT "$hex" "${hex:0:16}" "$base64"; do
    expect "the log lacks '$text'" test -z "$(grep -Fi "$text" "$log")"
done
expect "lines are short" test -z "$(grep -E '.{800}' "$log")"

levels() { # levels LEVEL: which levels are in the log
    : >"$log"
    rm -f "$work/a.sock"
    start_agent "$assayd" --listen "unix:$work/a.sock" --log-level "$1"
    events
    stop_agent TERM
    sed -n 's/^assayd: \([a-z]*\):.*/\1/p' "$log" | sort -u | tr '\n' ' '
}
levels info >"$work/levels"
expect "info: no debug" test "$(cat "$work/levels")" = 'info warn '
levels warn >"$work/levels"
expect "warn: only that" test "$(cat "$work/levels")" = 'warn '
levels error >"$work/levels"
expect "error: silent on a good day" test ! -s "$log"

# The journal: stderr is the file that JOURNAL_STREAM names, or is not.
for file in journal other; do
    : >"$work/$file"
    JOURNAL_STREAM=$(stat -c %d:%i "$work/journal") "$assayd" --self-test \
        --log-level info >"$work/out" 2>"$work/$file"
done
expect "the journal gets priorities" grep -Eqx \
    '<6>self-test passed checks=[0-9]+ ms=[0-9]+' "$work/journal"
expect "another stream does not" grep -Eqx \
    'assayd: info: self-test passed checks=[0-9]+ ms=[0-9]+' "$work/other"
finish
