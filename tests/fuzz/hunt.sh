#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make fuzz`: runs libFuzzer programs one behind the other, from their corpus
# and their dictionary, with what earlier hunts have kept.
#
#   hunt.sh FOLDER SECONDS WORK [NAME...]     FOLDER holds fuzz_*
#
# WORK/corpus/NAME is where new inputs go, WORK/findings what a fuzzer died of
# (replay: `FOLDER/fuzz_NAME FILE`), WORK/figures.tsv a line a run: name,
# seconds, executions, edges, exit code. One test a fuzzer. It goes on behind a
# finding.
set -u
folder=$1 seconds=$2 work=$3
shift 3
. "$(dirname "$0")/starts.sh"
mkdir -p "$work/findings"
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# As in replay.c: a size that nobody has is NULL.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=2048
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1

number() { # number WORD: the last "WORD: N" of the log
    sed -n "s/.*$1:* \([0-9][0-9]*\).*/\1/p" "$log" | tail -n 1
}

[ $# -gt 0 ] || set -- $(ls tests/fuzz/fuzz_*.c |
    sed 's|.*/fuzz_\(.*\)\.c|\1|')
for name in "$@"; do
    program=$folder/fuzz_$name
    kept=$work/corpus/$name
    mkdir -p "$kept"
    corpus=("$kept")
    starts "$name"
    for start in ${starts[@]+"${starts[@]}"}; do
        if [ -d "$start" ]; then
            corpus+=("$start")
        else
            cp -f "$start" "$kept/" # libFuzzer takes folders
        fi
    done
    arguments=()
    dict=tests/fuzz/$name.dict
    [ -e "$dict" ] && arguments+=("-dict=$dict")
    for option in $(sed -n 's/^ \* libFuzzer: //p' "tests/fuzz/fuzz_$name.c"); do
        arguments+=("$option")
    done
    "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3072 \
        -print_final_stats=1 -artifact_prefix="$work/findings/$name-" \
        ${arguments[@]+"${arguments[@]}"} "${corpus[@]}" \
        >"$log" 2>&1 </dev/null
    rc=$?
    runs=$(number 'stat::number_of_executed_units')
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    took=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log")
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "${took:-?}" "${runs:-0}" \
        "${edges:-0}" "$rc" >>"$work/figures.tsv"
    if [ $rc = 0 ] && [ "${runs:-0}" -gt 0 ]; then
        echo "ok fuzz_$name: ${runs} executions, ${took} s, ${edges} edges"
        passed=$((passed + 1))
    else
        echo "FAIL fuzz_$name: exit $rc; the input is in $work/findings"
        tail -n 60 "$log" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
