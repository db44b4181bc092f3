# SPDX-License-Identifier: Apache-2.0
# Sourced (bash) by whoever runs fuzzers: what one starts from.

# starts NAME: sets $starts to the files and folders that fuzz_NAME begins
# with: its corpus, and what the patterns behind "corpus:" in its source match.
starts() {
    local pattern file
    starts=()
    [ -d "tests/fuzz/corpus/$1" ] && starts+=("tests/fuzz/corpus/$1")
    for pattern in $(sed -n 's/^ \* corpus: //p' "tests/fuzz/fuzz_$1.c"); do
        for file in $pattern; do
            [ -e "$file" ] && starts+=("$file")
        done
    done
    return 0
}
