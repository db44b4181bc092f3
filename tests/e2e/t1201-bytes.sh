#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How many bytes a board sends where all is equal, counted on the wire: at most
# 1 % of the activations.
. "$(dirname "$0")/lib.sh"

run python3 "$ROOT/tests/support/wide_model.py" "$work/wide" 16 128 22
expect_rc 0 "a model is made"
activations=$((23 * 16 * 128 * 128)) # the int8 ones; a float comes on top
cat >"$work/tap" <<END
#!/bin/sh
"$assayd" --stdio | tee "$work/wire"
END
chmod +x "$work/tap"

sent() { # sent CAPTURE: bytes of the agent in $bytes
    run "$assay" run "$work/wide" -q --target "exec:$work/tap" \
        --capture "$1" --json "$work/r.json"
    expect_rc 0 "$1: all is equal"
    bytes=$(stat -c %s "$work/wire")
    own=$(python3 -c "import json
print(json.load(open('$work/r.json'))['received_bytes'])")
    expect "$1: the report tells these bytes" test "$own" -le "$bytes" -a \
        "$own" -gt $((bytes - 200))
    echo "$1: $bytes of $activations"
}

sent full
expect "the model has 5 MB of activations" test "$bytes" -gt 5000000
expect "full: all of them come" test "$bytes" -gt $activations
sent differing
expect "differing: at most 1 %" test $((bytes * 100)) -le $activations
sent digest
expect "digest: at most 1 %" test $((bytes * 100)) -le $activations
sent stats
expect "stats: at most 1 %" test $((bytes * 100)) -le $activations
finish
