#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The embedded case in this process: every layer exact, reports well formed.
. "$(dirname "$0")/lib.sh"

run "$assay" run "$digits" --local
expect_rc 0 "run --local"
expect_out '^match' "the verdict is match"
expect_out 'not examined: .*bpu' "what was not examined is said"
expect_not_out 'DIVERGED' "no layer diverged"
expect_not_out '^ *[0-9]{3} ' "a green run prints no rows"

run "$assay" run "$digits" --local --all
expect_rc 0 "run --local --all"
expect_out '^ *[0-9]{3} .* exact' "--all prints the exact rows"

run "$assay" run "$digits" --local --cpumask 0 -q
expect_rc 0 "scalar kernels only"
expect "-q: nothing on stderr" test ! -s "$work/err"

run "$assay" run "$digits" --local -q --format json
expect_rc 0 "--format json"
cp "$work/out" "$work/stdout.json"
run "$assay" run "$digits" --local -q --json "$work/report.json"
expect_rc 0 "--json FILE"
for f in "$work/stdout.json" "$work/report.json"; do
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["schema"] == "assay-report/1", r["schema"]
assert r["exit_code"] == 0 and r["verdict"] == "match"
assert r["coverage"]["compared"] == r["coverage"]["expected"] > 0
assert len(r["layers"]) > 0
for l in r["layers"]:
    assert l["status"] in ("exact", "within", "inherited"), l
    assert l["mismatch"] == 0 or l["status"] != "exact", l
    assert "cpu" in l["columns"] or "host" in l["columns"], l
assert "bpu" in r["not_examined"]
' "$f"
    expect_rc 0 "$(basename "$f") has what is promised"
done
finish
