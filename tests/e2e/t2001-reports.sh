#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reports: JSON against its schema in every outcome, files renamed into place,
# the width of the table.
. "$(dirname "$0")/lib.sh"
schema=$ROOT/docs/assay-report-1.schema.json

conforms() { # conforms FILE TEXT
    run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$1"
    expect_rc 0 "$2: the report conforms to its schema"
}

n=0
report() { # report RC TEXT OPTION...
    local want=$1 text=$2
    shift 2
    n=$((n + 1))
    run "$assay" run "$digits" --local -q --json "$work/r$n.json" "$@"
    expect_rc "$want" "$text"
    conforms "$work/r$n.json" "$text"
}

report 0 "match"
report 1 "a culprit" --arith conv1=q31_floor
report 0 "isolated" --mode isolated
report 0 "a selection" --layers 'conv*'
report 5 "evidence that is not there" --require sim
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["verdict"] is None and r["exit_code"] == 5, r["verdict"]
assert "sim" in r["sentence"], r["sentence"]
' "$work/r5.json"
expect_rc 0 "no verdict where evidence is missing"
run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
c = r["culprits"]
assert [k["name"] for k in c] == ["conv1"] and c[0]["column"] == "cpu", c
l = next(l for l in r["layers"] if l["name"] == "conv1")
assert l["arith"] == "q31_floor" and l["arith_overridden"] is True
assert set(l["columns"]) >= {"host", "cpu-scalar", "cpu"}, l["columns"]
assert all(k["mismatch"] == l["mismatch"] for k in l["columns"].values())
assert sum(l["lsb_hist"]) == l["count"] and l["lsb_hist"][1] > 0
assert l["max_qscale_diff"] == l["max_lsb"] == 1
assert l["isolated"]["mismatch"] == l["mismatch"]
assert r["verdict"] == "arithmetic"
assert r["verdict_id"] == "VERDICT_ARITHMETIC", r["verdict_id"]
later = [l for l in r["layers"] if l["status"] == "inherited"]
assert later and all(l["isolated"]["mismatch"] == 0 for l in later)
' "$work/r2.json"
expect_rc 0 "the culprit's row carries its evidence"

run "$assay" run "$digits" --local -q -o "$work/out.d"
expect_rc 0 "-o DIR"
conforms "$work/out.d/report.json" "-o DIR/report.json"
expect "nothing temporary is left" \
    test -z "$(find "$work" -name '*.tmp' -print)"
run "$assay" run "$digits" --local -q --json "$work/none/r.json"
expect_refused 2 "none/r.json" "a report that cannot be written is told"
if [ -c /dev/full ]; then
    for args in "run $digits --local -q" "run $digits --local --json -" \
        "show $digits" --help --version; do
        timeout 20 "$assay" $args >/dev/full 2>"$work/err"
        rc=$?
        expect "a full disk is no success: $args" test "$rc" = 2
        expect "and is told" grep -q "^error: cannot write to the" "$work/err"
    done
    # A divergence outranks it, and it is told once all the same.
    horizon=$ROOT/tests/data/horizon
    for args in "run $horizon --local -q" "pinpoint $horizon -q" \
        "impact $horizon -q" "impact $horizon -q --json -"; do
        timeout 20 "$assay" $args >/dev/full 2>"$work/err"
        rc=$?
        expect "a full disk and a divergence: $args" test "$rc" = 1
        expect "are told" \
            test "$(grep -c '^error: cannot write' "$work/err")" = 1
    done
fi
run "$assay" run "$digits" --local --json -
expect_rc 0 "--json -"
expect "--json - is JSON on stdout and nothing else" \
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/out"
# What is there and no file is written to, not replaced.
mkfifo "$work/fifo"
ln -s target.json "$work/link.json"
timeout 20 cat "$work/fifo" >"$work/through" &
run "$assay" run "$digits" --local -q --json "$work/fifo"
expect_rc 0 "--json into a pipe"
wait $!
expect "a pipe stays a pipe" test -p "$work/fifo"
expect "the report came through" \
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/through"
run "$assay" run "$digits" --local -q --json "$work/link.json"
expect "a link stays a link" test -L "$work/link.json" -a -s "$work/target.json"

run "$assay" run "$digits" --local --arith conv1=q31_floor
expect_rc 1 "text"
expect "no line of the table is wider than 120 columns" python3 -c '
import sys
bad = [l for l in open(sys.argv[1], encoding="utf-8")
       if len(l.rstrip("\n")) > 120]
sys.exit(bool(bad))' "$work/out"
expect_out '^ first culprit: [0-9]{3} conv1$' "the culprit is named"
expect_out "^arithmetic: first culprit conv1: host and cpu agree" \
    "the sentence tells who agrees"
expect_out '^not examined: sim, bpu' "the last line tells what is missing"
run "$assay" run "$digits" --local --arith pw4=q31_double
expect_out '^ 007 Conv +pw4 +1x4x4x32 +11/2048 ' "the row counts all samples"
expect_out '^  where +11 of 2048, ' "and so does the culprit"
run "$assay" run "$digits" --local --arith conv1=q31_floor --max-rows 2
expect_out '^ [0-9]+ more rows' "--max-rows says how many are left"
run "$assay" run "$digits" --local --all --sort-by mismatch -q \
    --arith conv1=q31_floor
expect "--sort-by mismatch puts the largest first" python3 -c '
import re, sys
n = [int(m.group(1)) for m in
     re.finditer(r"(?m)^ [0-9]{3} .*? +([0-9]+)/[0-9]+ ", open(sys.argv[1]).read())]
sys.exit(not (len(n) > 10 and n == sorted(n, reverse=True)))' "$work/out"
finish
