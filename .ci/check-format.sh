#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C file is as the pinned clang-format writes it; a file is one test.
# CHECK_FORMAT=report counts a file that the formatter would change as a skip,
# for the time before the whole tree has been formatted once.
# Also: no tab, no trailing blank, no line over 80 columns in C; no file over
# 600 lines.
set -u
passed=0 failed=0 skipped=0
mode=${CHECK_FORMAT:-strict}
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
    if grep -qP '[ \t]$|\t' "$f"; then
        bad "$f: a tab or a blank at a line's end"
    elif [ "$(wc -l <"$f")" -gt 600 ]; then
        bad "$f: more than 600 lines"
    elif ! clang-format-14 --dry-run -Werror "$f" >/dev/null 2>&1; then
        if [ "$mode" = report ]; then
            skipped=$((skipped + 1))
        else
            bad "$f: clang-format-14 would change it ('make format')"
        fi
    else
        passed=$((passed + 1))
    fi
done
[ $skipped = 0 ] ||
    echo "SKIP $skipped files: clang-format-14 would change them"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
