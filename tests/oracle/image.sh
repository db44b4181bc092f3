#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Part of `make check-oracle`: assay image against OpenCV and Pillow, and
# against libyuv where it is installed.
#
#   BUILD   build folder
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=${BUILD:-build}/oracle-image
. "$here/lib.sh"

timeout 300 "$python" "$here/image/judge.py" "$assay" "$work" \
    >"$work/judge.log" 2>&1 || fail "judge.py: $(tail -n 1 "$work/judge.log")"
while read -r word text; do
    case $word in
    ok) pass "image: $text" ;;
    FAIL) fail "image: $text" ;;
    SKIP) skip "image: $text" ;;
    esac
done <"$work/judge.log"
finish
