#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C file is as the pinned clang-format writes it; a file is one test.
# Also: no tab, no trailing blank, no line over 80 columns in C; no file over
# 600 lines.
set -u
passed=0 failed=0
bad() {
    failed=$((failed + 1))
    echo "FAIL $*"
}

command -v clang-format-14 >/dev/null 2>&1 || {
    bad "clang-format-14 is not installed: run cross/install-deps.sh"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
for f in $(find kernels lib proto agent host-tools tests -name '*.[ch]' |
    sort); do
    if ! clang-format-14 --dry-run -Werror "$f" >/dev/null 2>&1; then
        bad "$f: clang-format-14 would change it ('make format')"
    elif grep -qP '[ \t]$|\t' "$f"; then
        bad "$f: a tab or a blank at a line's end"
    elif [ "$(wc -l <"$f")" -gt 600 ]; then
        bad "$f: more than 600 lines"
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
