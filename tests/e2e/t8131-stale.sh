#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fix never reached the board: hashes and results beside an earlier run's.
# Said in the first line; not where everything matches, and not of times.
. "$(dirname "$0")/lib.sh"
schema=$ROOT/docs/assay-report-1.schema.json
case=$work/case

patch() { python3 "$ROOT/tests/support/patch_model.py" "$@"; }

judge() { # judge RC TEXT OPTION...: report in $work/r.json
    local want=$1 text=$2
    shift 2
    run "$assay" run "$case" --local -q --numerics onnxruntime-x86 \
        --json "$work/r.json" "$@"
    expect_rc "$want" "$text"
    cp "$work/out" "$work/said"
    run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$work/r.json"
    expect_rc 0 "$text: the report conforms to its schema"
    cp "$work/said" "$work/out"
}

first() { # first REGEX TEXT: the report's first line
    if head -n 1 "$work/said" | grep -Eq -- "$1"; then
        ok "$2"
    else
        not_ok "$2: the first line is not '$1'"
    fi
}

report() { # report TEXT PYTHON
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
C = {x["role"]: x for x in r["chain"]}
P = r.get("previous")
'"$2" "$work/r.json"
    expect_rc 0 "$1"
}

# What the compiled model gives: the engine's results, one layer otherwise.
compiled() { # compiled OPTION...: becomes case/sim
    rm -rf "$case/sim" "$work/made"
    "$assay" run "$case" --local -q --save-outputs -o "$work/made" \
        --numerics onnxruntime-x86 "$@" >/dev/null 2>&1
    mv "$work/made/outputs" "$case/sim"
}

# A network without goldens: the reference is the engine on the model itself.
cp -r "$digits" "$case"
chmod -R u+w "$case"
rm -r "$case/golden" "$case/case.json"
echo "compiled, 1" >"$case/model.bin"
compiled --arith conv2=q31_floor
judge 1 "the first run" -o "$work/out1"
expect_not_out '^stale' "is not stale"
expect_out '^# sha256  model [0-9a-f]{8}  compiled [0-9a-f]{8}  inputs [0-9a-f]{8}  sim [0-9a-f]{8}$' \
    "short hashes in one line"
sum=$(sha256sum <"$case/model.bin")
report "the chain has whole ones" '
assert C["compiled"]["sha256"] == "'"${sum%% *}"'", C
assert C["compiled"]["size_bytes"] == 12 and C["inputs"]["files"] >= 1
assert C["compiled"]["modified"].endswith("Z") and P is None
assert all(len(l["digest_expected"]) == 32 for l in r["layers"]
           if l["count"])
d = [l for l in r["layers"] if l["name"] == "conv2"][0]
assert d["columns"]["sim"]["digest"] != d["digest_expected"]
assert d["digest_got"] == d["digest_expected"]'
judge 1 "the same run again" -o "$work/out1"
expect_out '^# since the run of .*: no file of the chain changed$' "compares"
expect_not_out '^stale' "a nightly run is not stale"
report "its verdict is that of its layers" '
assert r["verdict"] != "stale" and P["stale"] == "" and P["changed"] == []
assert "compiled" in P["unchanged"]'
cp "$work/out1/report.json" "$work/before.json"
judge 1 "a fix that changed nothing" --previous "$work/before.json"
first '^stale: nothing changed since the run of [0-9T:-]+Z: models, compiled file' \
    "is said in the first line"
report "and in the report" '
assert r["verdict"] == "stale" and r["exit_code"] == 1
assert P["stale"] == "nothing-changed"
assert r["verdict_id"] == "STALE_NOTHING"'
touch -d 2001-01-01 "$case/model.bin"
judge 1 "another time of the file" -o "$work/out1"
expect_not_out '^stale' "is no evidence"

# The quantized model is fixed, the compiled file is not built anew.
name=$(patch "$case/model.onnx" list | awk '$2 == "i" && $3 > 4 && !n++ {print $1}')
patch "$case/model.onnx" "$name" all 4000 >/dev/null
judge 1 "a fix of the model" -o "$work/out1"
first '^stale: the fix never reached the board: model.bin is still sha256:[0-9a-f]{8} of the run of [0-9T:-]+Z; changed since: quantized model [0-9a-f]{8} -> [0-9a-f]{8}$' \
    "never reached the board"
report "by the hash of the compiled file" '
assert r["verdict"] == "stale" and P["stale"] == "compiled"
assert P["changed"] == ["model"] and "compiled" in P["unchanged"]
assert r["sentence"].startswith("the fix never reached the board")'
judge 1 "and the next run" -o "$work/out1"
first '^stale: the fix never reached the board: model.bin is still' \
    "has not forgotten it"
report "though nothing changed since the last" '
assert P["changed"] == [] and P["stale"] == "compiled"'
# Built anew, but what runs is the old one: its results say so.
echo "compiled, 2" >"$case/model.bin"
judge 1 "built anew, not installed" --previous "$work/before.json"
first '^stale: the fix never reached the board: sim gave the same bits as in the run of [0-9T:-]+Z in all 21 layers that both have, although the reference changed in [1-9][0-9]* of them; changed since: quantized model' \
    "is proved by its bits"
report "and in the report" 'assert P["stale"] == "content", P'
judge 1 "the same beside the folder's last run" -o "$work/out1"
first '^stale: the fix never reached the board: sim gave the same bits as' \
    "is proved by its bits, too"
# Installed, and still wrong elsewhere: an honest verdict.
compiled --arith conv2=q31_floor
judge 1 "installed, another fault" --previous "$work/before.json"
expect_not_out '^stale' "is not stale"
report "its verdict is that of its layers" '
assert r["verdict"] != "stale" and P["stale"] == ""
assert {"model", "compiled", "sim"} <= set(P["changed"])'
# Everything matches: whatever was not built anew needed no building.
compiled
cp -r "$case/sim" "$case/golden"
echo "compiled, 1" >"$case/model.bin"
judge 0 "all matches" --previous "$work/before.json"
expect_out '^match ' "is a match"
expect_not_out '^stale' "and not stale"
# Nobody looked at the compiled model, which is the old one.
rm -r "$case/sim" "$case/golden"
judge 1 "a match of the CPU alone" --previous "$work/before.json"
first '^stale: the fix never reached the board: model.bin is still' \
    "does not clear the board"
expect_not_out '^match ' "and says no match"
# The same file by name, and a float model whose fix got stuck.
mv "$case/model.bin" "$work/elsewhere.bin"
judge 1 "--compiled" --previous "$work/before.json" \
    --compiled "$work/elsewhere.bin"
first 'elsewhere.bin is still' "is the file that is meant"
echo a >"$work/float.onnx"
judge 5 "a float model" --float-model "$work/float.onnx" -o "$work/out2"
echo b >"$work/float.onnx"
echo x >"$case/a.hbm"
judge 5 "without the earlier compiled file" --float-model "$work/float.onnx" \
    -o "$work/out2"
report "nothing is claimed" '
assert P["changed"] == ["float-model"] and P["stale"] == "", P'
echo c >"$work/float.onnx"
judge 1 "with it" --float-model "$work/float.onnx" -o "$work/out2"
first '^stale: .*a.hbm is still .*changed since: float model [0-9a-f]{8} -> [0-9a-f]{8}$' \
    "the float model's fix got stuck"
echo y >"$case/b.bin"
run "$assay" run "$case" --local --numerics onnxruntime-x86
expect_err 'note: 2 files like [*].bin in' "of two files none is guessed"

# A reference that changed alone; one of another model is refused.
rm -rf "$case"
cp -r "$digits" "$case"
chmod -R u+w "$case"
echo "compiled, 1" >"$case/model.bin"
judge 0 "goldens" -o "$work/out3"
python3 "$ROOT/tests/support/flip_golden.py" "$case" conv2 >/dev/null
judge 1 "another golden, the same inputs" -o "$work/out3"
first '^stale: the reference changed, the compiled file did not: model.bin is still sha256:[0-9a-f]{8} .*; changed since: reference' \
    "is said"
patch "$case/model.onnx" "$name" all 4000 >/dev/null
run "$assay" run "$case" --local -q
expect_refused 2 'this reference was made from another model|model_sha256' \
    "a golden that is older than its model"

# Reports that are none.
rm -rf "$case"
cp -r "$digits" "$case"
run "$assay" run "$case" --local -q --previous "$work/no.json"
expect_refused 2 'no.json: ' "no such report"
run "$assay" run "$case" --local -q --previous "$case"
expect_refused 2 '.' "a folder"
echo '{"schema": "assay-fit/1"}' >"$work/fit.json"
run "$assay" run "$case" --local -q --previous "$work/fit.json"
expect_refused 2 "no report of a run: expected schema 'assay-report/1'" \
    "a report of something else"
head -c 5000 "$work/before.json" >"$work/cut.json"
run "$assay" run "$case" --local -q --previous "$work/cut.json"
expect_refused 2 'cut.json: line [0-9]+: ' "a report that is cut"
mkdir "$work/out4"
cp "$work/cut.json" "$work/out4/report.json"
run "$assay" run "$case" --local -o "$work/out4"
expect_rc 0 "one that is in the way"
expect_err 'note: the report that is there is not compared with' "is told"
echo '{"schema": "assay-report/1"}' >"$work/old.json"
run "$assay" run "$case" --local --previous "$work/old.json"
expect_rc 0 "one of an older version"
expect_err 'note: .*old.json: a report without hashes' "is told"
run "$assay" run "$case" --local -q --compiled "$work/no.bin"
expect_refused 2 'no.bin: no file that can be hashed' "a compiled file that is not there"

# A case of the vendor's chain, where it is here: its simulator's results.
shared=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5
if [ -d "$shared" ]; then
    rm -rf "$case"
    cp -r "$shared/digits" "$case"
    chmod -R u+w "$case"
    run "$assay" run "$case" --local -q -o "$work/out5"
    expect_rc 0 "a real case"
    rm -r "$case/golden" "$case/case.json"
    name=$(patch "$case/model.onnx" list | awk '$2 == "i" && !n++ {print $1}')
    patch "$case/model.onnx" "$name" all 77 >/dev/null
    run "$assay" run "$case" --local -q -o "$work/out5"
    expect_rc 1 "a real case, its model fixed, its simulator's results not"
    cp "$work/out" "$work/said"
    first '^stale: the fix never reached the board: sim gave the same bits as in the run of .* although the reference changed in' \
        "is stale by its bits"
    # Every case: fixed and built anew, fixed and not.
    cases=0 honest=0 seeded=0
    for c in "$shared"/*/case.json; do
        rm -rf "$case" "$work/out6"
        cp -r "$(dirname "$c")" "$case"
        chmod -R u+w "$case"
        rm -rf "$case/golden" "$case/case.json" "$case/sim"
        name=$(patch "$case/model.onnx" list | awk '$2 == "i" && !n++ {print $1}')
        [ -n "$name" ] || continue
        cases=$((cases + 1))
        echo 1 >"$work/1.bin"
        echo 2 >"$work/2.bin"
        run "$assay" run "$case" --local -q -o "$work/out6" \
            --compiled "$work/1.bin"
        cp "$work/out6/report.json" "$work/first.json"
        patch "$case/model.onnx" "$name" 0 77 >/dev/null
        run "$assay" run "$case" --local -q --previous "$work/first.json" \
            --compiled "$work/2.bin"
        grep -q '^stale' "$work/out" || honest=$((honest + 1))
        run "$assay" run "$case" --local -q --previous "$work/first.json" \
            --compiled "$work/1.bin"
        [ "$rc" = 1 ] && head -n 1 "$work/out" | grep -q \
            '^stale: the fix never reached the board: 1.bin is still' &&
            seeded=$((seeded + 1))
    done
    expect "what was built anew is accused in none of $cases cases" \
        test "$honest" = "$cases"
    expect "what was not is named in all of them" test "$seeded" = "$cases"
    expect "there are cases" test "$cases" -ge 5
else
    skip "no shared cases"
fi
finish
