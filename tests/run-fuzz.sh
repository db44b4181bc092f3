#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Replays every fuzzer's corpus, and mutations of it, under the sanitizers.
#
#   run-fuzz.sh FOLDER     FOLDER holds replay_*
#
# FUZZ_SECONDS (12) for each fuzzer, FUZZ_SEED (1), FUZZ_MUTATIONS (20000) a
# file at most. One test a fuzzer; a fuzzer without a corpus fails.
set -u
folder=$1
. "$(dirname "$0")/fuzz/starts.sh"
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    program=$folder/replay_$name
    starts "$name"
    if [ ! -x "$program" ]; then
        echo "FAIL fuzz_$name: '$program' was not built"
        failed=$((failed + 1))
        continue
    fi
    timeout -k 5 120 "$program" --seconds "${FUZZ_SECONDS:-12}" \
        --mutations "${FUZZ_MUTATIONS:-20000}" --seed "${FUZZ_SEED:-1}" \
        ${starts[@]+"${starts[@]}"} >"$log" 2>&1 </dev/null
    rc=$?
    if [ $rc = 0 ]; then
        echo "ok fuzz_$name: $(tail -n 1 "$log")"
        passed=$((passed + 1))
    else
        echo "FAIL fuzz_$name: exit $rc"
        tail -n 40 "$log" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
