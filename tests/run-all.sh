#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make check`: runs check targets, JOBS at a time, in the given order, and
# sums their closing lines.
#
#   run-all.sh TARGET...
#
# Fails when anything failed, when a target gave no closing line, or when
# fewer of its tests passed than tests/minimum.txt expects: tests that vanish
# are a failure. Logs stay in $BUILD/log/.
set -u
build=${BUILD:?}
make=${MAKE:-make}
jobs=${JOBS:-2}
logs=$build/log
mkdir -p "$logs"
# The sub-makes are independent: no job server of ours, no inherited flags.
unset MAKEFLAGS MFLAGS MAKELEVEL

start=$SECONDS
run_one() {
    local target=$1 begun=$SECONDS
    timeout -k 10 "${CHECK_TIMEOUT:-1500}" "$make" -s --no-print-directory \
        BUILD="$build" DEPS=skip "$target" \
        >"$logs/$target.log" 2>&1 </dev/null
    echo $? >"$logs/$target.rc"
    echo $((SECONDS - begun)) >"$logs/$target.seconds"
}

passed=0 failed=0 skipped=0
report() {
    local target=$1 rc line p f s least
    rc=$(cat "$logs/$target.rc")
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' \
        "$logs/$target.log" | tail -n 1)
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]
    then
        p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
        if [ "$rc" != 0 ] && [ "$f" = 0 ]; then
            f=1
            echo "FAIL $target: exit $rc"
        elif [ $((p + f + s)) = 0 ]; then
            f=1
            echo "FAIL $target: tested nothing"
        fi
    else
        p=0 f=1 s=0
        echo "FAIL $target: exit $rc and no closing line"
    fi
    if [ "$f" != 0 ]; then
        echo "---- $target"
        tail -n 100 "$logs/$target.log"
        echo "----"
    fi
    least=$(sed -n "s/^$target \([0-9]*\)$/\1/p" tests/minimum.txt)
    if [ "$p" -lt "${least:-1}" ]; then
        echo "FAIL $target: $p tests passed, at least ${least:-1} are expected"
        f=$((f + 1))
    fi
    grep -h '^SKIP ' "$logs/$target.log" | sed 's/^/  /'
    printf '%-16s %s passed, %s failed, %s skipped  (%s s)\n' \
        "$target" "$p" "$f" "$s" "$(cat "$logs/$target.seconds")"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

rm -f "$logs"/*.rc
for target in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    run_one "$target" &
done
for target in "$@"; do
    until [ -e "$logs/$target.rc" ] && [ -e "$logs/$target.seconds" ]; do
        wait -n || break
    done
    [ -e "$logs/$target.rc" ] || echo 99 >"$logs/$target.rc"
    [ -e "$logs/$target.seconds" ] || echo '?' >"$logs/$target.seconds"
    report "$target"
done
echo "check: $((SECONDS - start)) s, logs in $logs"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
