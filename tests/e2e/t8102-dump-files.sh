#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hostile folders of dumps, to the sanitized command: one sentence and exit 2,
# or told, left out and nothing observed; never a crash, never a match.
MACHINE=x86_64
[ -x "${BUILD:?}/x86_64-san/assay" ] && MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"
case=$ROOT/tests/data/horizon
[ -f "$case/case.json" ] || skip_all "tests/data/horizon is not there"

n=0
while what=$(python3 "$ROOT/tests/support/bad_dumps.py" "$work/d$n" $n); do
    run "$assay" run -m "$case/model.onnx" -i "$case/inputs/0000.npz" \
        -r "$case/golden/0000.npz" --bpu "$work/d$n" --local
    if grep -Eq 'AddressSanitizer|runtime error:|LeakSanitizer' "$work/err"; then
        not_ok "$what: a sanitizer spoke"
    elif [ "$rc" = 2 ] || [ "$rc" = 5 ] || [ "$rc" = 1 ]; then
        if [ "$(grep -c '^error: ' "$work/err")" -gt 1 ]; then
            not_ok "$what: more than one sentence"
        else
            ok "$what: exit $rc"
        fi
    else
        not_ok "$what: exit $rc: $ran"
    fi
    # A terminal gets no control bytes of a name.
    expect "$what: no control bytes" \
        test -z "$(tr -d '\n\t' <"$work/err" | LC_ALL=C grep -a '[[:cntrl:]]')"
    rm -rf "$work/d$n"
    n=$((n + 1))
done
expect "all of them" test "$n" -ge 40
finish
