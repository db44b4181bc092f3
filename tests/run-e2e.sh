#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs tests/e2e/tNNNN-*.sh, each in a process of its own with a time-out, and
# adds up their closing lines. Arguments: name patterns (default: all).
#
# A script that exits 77 is one skip with its last line as the reason.
# A script's line "# timeout: N" replaces the 120 s.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here" || exit 1
mkdir -p "${BUILD:?}"
BUILD=$(cd "$BUILD" && pwd)
export BUILD ROOT=$here QEMU=${QEMU:-qemu-aarch64}
[ $# -gt 0 ] || set -- 't*'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# What dies in a test on purpose leaves nothing in this folder.
ulimit -S -c 0
passed=0 failed=0 skipped=0 scripts=0

for pattern in "$@"; do
    for script in tests/e2e/$pattern.sh; do
        [ -e "$script" ] || continue
        name=$(basename "$script" .sh)
        scripts=$((scripts + 1))
        limit=$(sed -n 's/^# timeout: //p' "$script")
        begun=$SECONDS
        # A board of its own: a lease elsewhere on this machine is not seen.
        ASSAYD_BOARD_ID=$name-$$ \
            timeout -k 15 "${limit:-120}" bash "$script" >"$log" 2>&1 </dev/null
        rc=$?
        line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' \
            "$log" | tail -n 1)
        p=0 f=0 s=0
        if [ $rc = 77 ]; then
            s=1
            echo "SKIP $name: $(tail -n 1 "$log")"
        elif [ -n "$line" ]; then
            read -r p f s < <(echo "$line" | tr -dc '0-9 \n')
            grep '^SKIP ' "$log"
            [ $rc = 0 ] || [ "$f" != 0 ] || f=1
        else
            f=1
            [ $rc = 124 ] && echo "FAIL $name: no end after ${limit:-120} s"
        fi
        if [ "$f" != 0 ]; then
            echo "FAIL $name (exit $rc):"
            grep -v '^ok ' "$log" | tail -n 60 | sed 's/^/    /'
        fi
        echo "  $name: $p passed, $f failed, $s skipped" \
            "($((SECONDS - begun)) s)"
        passed=$((passed + p)) failed=$((failed + f))
        skipped=$((skipped + s))
    done
done
if [ $scripts = 0 ]; then
    echo "FAIL no script matches: $*"
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
