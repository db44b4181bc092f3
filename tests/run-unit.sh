#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs unit test programs, each with a time-out, and adds up cmocka's counts.
#
#   run-unit.sh FOLDER [RUNNER...]     FOLDER holds tests/unit/test_*
#
# UNIT names those that are wanted; without it, all are.
#
# A program that is missing, crashes, hangs or tests nothing is a failure.
# Only sources that are there now count, not programs left over from others.
set -u
folder=$1
shift
limit=${UNIT_TIMEOUT:-60}
# A size that nobody has is NULL from malloc, as without the sanitizer.
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0

count() { # count WORD: cmocka's "[  WORD  ] N test(s)"
    sed -n "s/^\[ *$1 *\] \([0-9][0-9]*\) test(s).*/\1/p" "$log" |
        awk '{ n += $1 } END { print n + 0 }'
}

for source in tests/unit/test_*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    case " ${UNIT:-$name} " in
    *" $name "*) ;;
    *) continue ;;
    esac
    # A test that cannot run under the emulator says so, with the reason.
    reason=$(sed -n 's/^ \* native only: //p' "$source")
    if [ $# -gt 0 ] && [ -n "$reason" ]; then
        echo "SKIP $name: $reason"
        skipped=$((skipped + 1))
        continue
    fi
    program=$folder/tests/unit/$name
    if [ ! -x "$program" ]; then
        echo "FAIL $name: not built"
        failed=$((failed + 1))
        continue
    fi
    timeout -k 5 "$limit" "$@" "$program" >"$log" 2>&1 </dev/null
    rc=$?
    p=$(count PASSED) f=$(count FAILED) s=$(count SKIPPED)
    if [ $rc = 77 ]; then
        s=$((s + 1))
        echo "SKIP $name: $(tail -n 1 "$log")"
    elif [ $rc = 124 ] || [ $rc = 137 ]; then
        echo "FAIL $name: no end after $limit s"
        f=$((f + 1))
    elif [ $rc != 0 ] && [ "$f" = 0 ]; then
        echo "FAIL $name: exit $rc"
        f=1
    elif [ "$((p + f + s))" = 0 ]; then
        echo "FAIL $name: tested nothing"
        f=1
    fi
    if [ "$f" != 0 ]; then
        echo "FAIL $name ($folder):"
        grep -v -e '^\[ *RUN' -e '^\[ *OK' "$log" | tail -n 40
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ $((passed + failed)) = 0 ]; then
    echo "FAIL no unit test ran"
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
