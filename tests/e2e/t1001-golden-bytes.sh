#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The golden headers against protoc, in both directions: text to bytes, and
# bytes to the same text. test_codec reads the same file for our codec.
. "$(dirname "$0")/lib.sh"

command -v protoc >/dev/null || skip_all "protoc is not installed"
proto=(--proto_path="$ROOT" "$ROOT/proto/assay.proto")
count=0
while read -r name hex text; do
    [ "$name" = "#" ] && continue
    bytes=$(sed 's/../\\x&/g' <<<"$hex")
    got=$(printf '%s' "$text" |
        protoc --encode=assay.pb.Envelope "${proto[@]}" |
        od -An -v -tx1 | tr -d ' \n')
    expect "$name: the text gives the bytes" test "$got" = "$hex"
    # shellcheck disable=SC2059
    printf "$bytes" | protoc --decode=assay.pb.Envelope "${proto[@]}" \
        >"$work/decoded" 2>"$work/err"
    expect "$name: protoc decodes it" test "$?" = 0
    got=$(protoc --encode=assay.pb.Envelope "${proto[@]}" <"$work/decoded" |
        od -An -v -tx1 | tr -d ' \n')
    expect "$name: and back" test "$got" = "$hex"
    count=$((count + 1))
done <"$ROOT/tests/data/protocol/golden.txt"
messages=$(grep -c '^ASSAY_MESSAGE(' "$ROOT/proto/messages.def")
expect "every message has a golden line" test "$count" = "$messages"

# The numbers of messages.def are the fields of Envelope.
while IFS='(, ' read -r _ name number _; do
    field=$(tr 'A-Z' 'a-z' <<<"$name")
    expect "$name has number $number" grep -Eq \
        "^    [A-Za-z]+ $field = $number;" "$ROOT/proto/assay.proto"
    expect "$name is in the document" grep -Eq \
        "^\| ([0-9]+, )?$number(, [0-9]+)? \|.*$name" "$ROOT/docs/protocol.md"
done < <(grep '^ASSAY_MESSAGE(' "$ROOT/proto/messages.def")
finish
