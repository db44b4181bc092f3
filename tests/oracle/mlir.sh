#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The parser of MLIR text against mlir-opt 19 (Debian's mlir-19-tools): texts
# made here, files of MLIR's own dialects, and spoiled ones; then the same texts
# and mutations of them under the sanitizers; then large constants.
#
#   BUILD      build folder              MLIR_OPT  another mlir-opt
#   MLIR_SEED  of the texts (1)          MLIR_SCALE  times as many texts (1)
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=${BUILD:-build}/mlir
. "$here/lib.sh"
print=$BUILD/x86_64/tests/support/mlir_print
replay=$BUILD/x86_64-san/tests/fuzz/replay_mlir
seed=${MLIR_SEED:-1} scale=${MLIR_SCALE:-1}
rm -rf "$work/kept" "$work/corpus"

# The judge's own lines begin with "ok", "FAIL" or "mlir".
told() { # told FILE RC WHAT
    local line
    while IFS= read -r line; do
        case $line in
        "ok "*) passed=$((passed + 1)) ;;
        "FAIL "*) failed=$((failed + 1)) ;;
        esac
        printf '%s\n' "$line"
    done <"$1"
    if [ "$2" != 0 ] && ! grep -q '^FAIL' "$1"; then
        fail "$3: exit $2"
    fi
}

if ! command -v "${MLIR_OPT:-mlir-opt-19}" >/dev/null 2>&1; then
    skip "mlir differential: mlir-opt-19 (package mlir-19-tools) is not here"
    corpus=--only-corpus
else
    corpus=
fi
timeout 400 "$python" "$here/mlir/judge.py" "$print" --seed "$seed" \
    --generic $((300 * scale)) --modules $((150 * scale)) \
    --rounds "$scale" --mutants $((2600 * scale)) \
    --keep "$work/kept" --corpus "$work/corpus" $corpus \
    >"$work/judge.log" 2>&1
told "$work/judge.log" $? "mlir judge.py"

# 10,000 inputs at least; each has 10 s, replay.c sees to it.
if timeout 200 "$replay" --mutations 60 --seconds 60 --seed "$seed" \
    "$work/corpus" >"$work/replay.log" 2>&1; then
    n=$(tail -n 1 "$work/replay.log" | grep -oE '[0-9]+ inputs' | grep -oE '[0-9]+')
    if [ "${n:-0}" -ge 10000 ]; then
        pass "mlir sanitized: $n inputs without a crash, a leak or a hang"
    else
        fail "mlir sanitized: only $n inputs: $(tail -n 1 "$work/replay.log")"
    fi
else
    fail "mlir sanitized: exit $?"
    tail -n 30 "$work/replay.log"
fi

timeout 200 "$python" "$here/mlir/big.py" "$BUILD/x86_64/assay" \
    --megabytes 100 --work "$work" >"$work/big.log" 2>&1
told "$work/big.log" $? "mlir big.py"
finish
