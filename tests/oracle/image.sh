#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Part of `make check-oracle`: assay image against OpenCV and Pillow, and
# against libyuv where it is installed; and what scripts make with OpenCV and
# Pillow has to be named by --got.
#
#   BUILD   build folder
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=${BUILD:-build}/oracle-image
. "$here/lib.sh"

for name in judge received; do
    timeout 300 "$python" "$here/image/$name.py" "$assay" "$work" \
        >"$work/$name.log" 2>&1 ||
        fail "$name.py: $(tail -n 1 "$work/$name.log")"
    while read -r word text; do
        case $word in
        ok) pass "image: $text" ;;
        FAIL) fail "image: $text" ;;
        SKIP) skip "image: $text" ;;
        esac
    done <"$work/$name.log"
done
finish
