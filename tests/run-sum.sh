#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs commands one after the other and adds their closing lines
# "N passed, N failed, N skipped" up into one. Arguments: LABEL COMMAND pairs;
# a command is given to the shell. A command without a closing line, or one
# that fails and says "0 failed", counts as a failure.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0
while [ $# -ge 2 ]; do
    label=$1 command=$2
    shift 2
    sh -c "$command" >"$log" 2>&1 </dev/null
    rc=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" |
        tail -n 1)
    grep -vxF -e "${line:-no closing line}" "$log"
    if [ -z "$line" ]; then
        echo "FAIL $label: exit $rc and no closing line"
        failed=$((failed + 1))
        continue
    fi
    p=${line%% passed*}
    f=${line#*passed, } f=${f%% failed*}
    s=${line#*failed, } s=${s%% skipped*}
    if [ $rc != 0 ] && [ "$f" = 0 ]; then
        echo "FAIL $label: exit $rc"
        f=1
    elif [ "$((p + f + s))" = 0 ]; then
        echo "FAIL $label: tested nothing"
        f=1
    fi
    echo "  $label: $p passed, $f failed, $s skipped"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $((passed + skipped)) -gt 0 ]
