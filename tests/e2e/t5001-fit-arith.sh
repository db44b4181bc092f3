#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fit-arith: the rules that reproduce a case's goldens, its files and exit
# statuses; and what a run tells of them where its arithmetic does not fit.
# timeout: 300
. "$(dirname "$0")/lib.sh"

small=$ROOT/tests/data/nash
other=$ROOT/tests/oracle/nash/numerics/standin-a.json
schema=$ROOT/docs/assay-report-1.schema.json

json() { # json TEXT PYTHON: a fact about the JSON in $work/r.json
    run python3 -c "
import json, sys
r = json.load(open(sys.argv[1], encoding='utf-8'))
F = {f['form']: f for f in r.get('forms', r.get('fits'))}
$2" "$work/r.json"
    expect_rc 0 "$1"
}

# ---- the command -----------------------------------------------------------

mkdir "$work/empty"
cd "$work/empty" || exit 1
run "$assay" fit-arith "$small" --json "$work/r.json"
expect_rc 0 "fit-arith"
expect_out '^fit-arith: 1 case\(s\), 13 layers of 10 forms' "counts"
expect_out '^form conv: 4 layers, 1920 elements; [0-9]+ of 276480 candidates' \
    "the space is as large as it is written down"
expect_out '^  add bias; add_scaled .*; sat out; relu$' "the rule is printed"
expect_out '^  this is the rule in use$' "and known as the one in use"
expect_out '^  unique up to proven equivalence$' "some forms are alone"
expect_out '^  or between wrap 16: an input of stem would tell$' \
    "what would tell the others apart"
expect_out '^    [0-9]+ input\(s\) of this layer would tell 6 of 6 classes' \
    "how much of it"
expect_not_out 'separating/' "no file is named that nobody wrote"
expect "nor is any written" test -z "$(ls -A "$work/empty")"
json "JSON" '
assert r["schema"] == "assay-fit/1" and r["exit_code"] == 0
assert not r["stopped"] and r["without_golden"] == 0
assert len(F) == 10 and sum(len(f["layers"]) for f in F.values()) == 13
assert all(f["in_use_left"] and f["rule"] for f in F.values())
assert F["lut"]["unique"] and F["lut"]["candidates"] == 1
assert F["conv"]["candidates"] >= F["conv"]["classes"] > 1
assert F["conv"]["elements"] == 1920'
run "$assay" fit-arith "$small" --format json -q
expect "--format json prints the same" python3 -c '
import json, sys
a, b = (json.load(open(p, encoding="utf-8")) for p in sys.argv[1:])
a["duration_ms"] = b["duration_ms"] = 0
sys.exit(a != b)' "$work/out" "$work/r.json"

json "no space is larger than docs/numerics.md has it" '
text = open("'"$ROOT"'/docs/numerics.md", encoding="utf-8").read()
rows = text.split("<!-- fit space -->")[1].splitlines()
size = {form: int(row.split("|")[3]) for row in rows if row[-2:-1] == " "
        for form in row.split("|")[1].replace(" ", "").split(",")
        if row.split("|")[3].strip().isdigit()}
assert len(size) == 20, size
assert all(size[f] % F[f]["space"] == 0 for f in F), size
assert size["conv"] == F["conv"]["space"]'

# Not told which arithmetic it is: the same rules survive.
run "$assay" fit-arith "$small" --numerics "$other" --json "$work/o.json" \
    --save "$work/found.json"
expect_rc 0 "under another numerics"
expect_out '^  the rule in use is not among them$' "which does not fit"
expect "as many candidates are left of each form" python3 -c '
import json, sys
a, b = ({f["form"]: (f["candidates"], f["classes"]) for f in
         json.load(open(p, encoding="utf-8"))["forms"]} for p in sys.argv[1:])
sys.exit(a != b)' "$work/o.json" "$work/r.json"
expect "--save names proofs for what is alone only" python3 -c '
import json, sys
n = json.load(open(sys.argv[1], encoding="utf-8"))
assert n["schema"] == "assay-numerics/1" and n["name"] == "found", n
assert n["rules"]["lut"]["proved"]["int8"].startswith("fit-arith: goldens of")
assert n["rules"]["conv"]["proved"] == {}
assert "not proved" in n["rules"]["conv"]["note"]' "$work/found.json"
expect "what was not searched stays as it was in use" python3 -c '
import json, sys
n, o = (json.load(open(p, encoding="utf-8")) for p in sys.argv[1:])
assert "base" not in n and set(n["rules"]) == set(o["rules"]), n["rules"]
assert n["rules"]["dequantize"]["rule"] == o["rules"]["dequantize"]["rule"]' \
    "$work/found.json" "$other"
run "$assay" run "$small" --local -q --numerics "$work/found.json"
expect_rc 0 "a run with the saved file"
expect_out '^match' "is green"

# Whatever the file is called, it can be read.
odd="$work/a very long name, with blanks, of a file with rules.json"
run "$assay" fit-arith "$small" -q --layers block.act --save "$odd"
run "$assay" run "$small" --local -q --numerics "$odd"
expect_rc 0 "a file of an odd name"

# -o writes inputs that tell the rest apart.
run "$assay" fit-arith "$small" -q -o "$work/dir"
expect_rc 0 "-o"
expect_out '^  or between wrap 16: separating/nash\.001\.stem\.0\.npz would tell$' \
    "names the file"
expect_out '^saved: .*/dir/numerics\.json' "and what was saved"
expect "the numerics file is there" test -s "$work/dir/numerics.json"
expect "each file that is named is there, with the inputs of its layer" \
    python3 -c '
import re, sys, zipfile
names = set(re.findall(r"separating/(\S+\.npz)", open(sys.argv[1]).read()))
assert len(names) >= 5, names
for name in names:
    zipfile.ZipFile(sys.argv[2] + "/separating/" + name).testzip()
z = zipfile.ZipFile(sys.argv[2] + "/separating/nash.001.stem.0.npz")
assert z.namelist() == ["quant.npy"], z.namelist()' "$work/out" "$work/dir"

# Parts, files instead of a folder, several cases.
run "$assay" fit-arith "$small" --layers 'block.*' --json "$work/r.json" -q
expect_rc 0 "--layers"
json "only these" '
assert {l["layer"] for f in F.values() for l in f["layers"]} == \
    {"block.dw", "block.project", "block.act"}'
run "$assay" fit-arith -m "$small/model.mlir" -i "$small/inputs" \
    -r "$small/golden" --layers stem
expect_rc 0 "-m, -i and -r"
expect_out '^form conv: 1 layers, 480 elements' "the same layer"
run "$assay" fit-arith "$small" "$small" --layers stem
expect_out '^fit-arith: 2 case\(s\), 2 layers of 1 forms' "cases are pooled"
expect_out '^form conv: 2 layers, 960 elements' "with all elements"

# ---- exit statuses ---------------------------------------------------------

cp -r "$small" "$work/spoiled"
chmod -R u+w "$work/spoiled"
python3 "$ROOT/tests/support/sim_files.py" flip "$work/spoiled/golden" \
    block.act
run "$assay" fit-arith "$work/spoiled" --layers block.act --save "$work/no.json"
expect_rc 1 "goldens that no rule gives"
expect_out '^form lut: .* 0 of 2 candidates' "none is left"
expect_out '^  no rule of the space' "and it is said"
expect "the saved file keeps the rule in use, without a proof" python3 -c '
import json, sys
n = json.load(open(sys.argv[1], encoding="utf-8"))
assert n["base"] == "nash" and "form lut" in n["note"], n
assert list(n["rules"]) == ["lut"], n["rules"]
assert n["rules"]["lut"]["proved"] == {}, n["rules"]' "$work/no.json"
run "$assay" fit-arith "$small" --layers nobody
expect_rc 5 "no layer"
expect_out '^nothing to fit' "is nothing"
run "$assay" fit-arith "$digits"
expect_rc 5 "a model whose arithmetic is no choice"
run "$assay" fit-arith
expect_refused 2 'needs a case' "no case"
run "$assay" fit-arith "$work/empty/none"
expect_refused 2 'none' "a case that is not there"
run "$assay" fit-arith "$small" --numerics nobody
expect_refused 2 "unknown numerics 'nobody'" "an unknown numerics"
run "$assay" fit-arith "$small" --time-limit 0
expect_refused 2 "'--time-limit': bad value '0'" "no time"
run "$assay" fit-arith "$small" --target tcp:nowhere
expect_refused 2 "'--target' has no meaning" "an option of another command"
run "$assay" fit-arith "$small" --max-lsb 1
expect_refused 2 "'--max-lsb' has no meaning" "a tolerance"
run "$assay" fit-arith "$small" --save "$work/empty/none/x.json"
expect_refused 2 'cannot write' "a file that cannot be written"
run "$assay" fit-arith "$small" -o "$work/found.json"
expect_refused 2 'cannot write' "a folder that is none"
run "$assay" run "$small" --local --save "$work/x.json"
expect_refused 2 "'--save' has no meaning" "--save is not of run"

# ---- a run whose arithmetic does not fit -----------------------------------

run "$assay" run "$small" --local -q --numerics "$other" --json "$work/r.json"
expect_rc 5 "run in another numerics"
cp "$work/out" "$work/local"
expect_out '^unproven: first culprit quant' "is unproven"
expect_out '^  fit     quantize: the rule in use does not fit 1 of 1 layers; fit-arith: one rule of 8' \
    "the first culprit's form, whole"
expect_out '^  fit     conv, 4 of 4 layers: [0-9]+ classes of rules fit; nearest: add bias' \
    "another form, shorter"
expect_out '^  fit     lut, 1 of 1 layers: one rule fits: index ascending$' \
    "and one that is alone"
expect_out "^  next    assay fit-arith .*/nash --save FILE, then" "what to do"
json "JSON tells the same" '
assert r["exit_code"] == 5 and len(F) == len(r["fits"]) >= 6
assert not any(f["in_use"] or f["cut"] for f in F.values())
assert F["conv"]["differing"] == F["conv"]["layers"] == 4
assert F["conv"]["candidates"] > F["conv"]["classes"] > 1
assert F["conv"]["elements"] == 1920 and not F["conv"]["unique"]
assert F["lut"]["unique"] and F["lut"]["rule"] == "index ascending"'
run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$work/r.json"
expect_rc 0 "it follows the schema"
fits() { grep -A 1 '^  fit ' "$1" | grep -v '^--'; }
run "$assay" run "$small" -q --numerics "$other" \
    --target "exec:$assayd --stdio"
expect_rc 5 "an agent"
expect "tells the same" test "$(fits "$work/out")" = "$(fits "$work/local")"
run "$assay" run -m "$small/model.mlir" -i "$small/inputs" \
    -r "$small/golden" --local -q --numerics "$other"
expect_out '^  next    the same -m, -i and -r with assay fit-arith' \
    "without a case folder"
run "$assay" run "$small" --local -q --json "$work/r.json"
expect_rc 0 "in its own numerics"
expect_not_out '^  (fit|next) ' "nothing is searched"
json "nothing in JSON either" 'assert r["fits"] == []'

# A fault that no rounding explains, under an inference and under a proof.
run "$assay" run "$work/spoiled" --local -q
expect_rc 5 "a spoiled golden, nothing proved"
expect_out '^  fit     lut: the rule in use does not fit 1 of 1 layers; fit-arith: none of 2 rules' \
    "no rule fits"
expect_out 'outside of' "so it is something else"
run "$assay" run "$work/spoiled" --local -q --numerics "$work/found.json"
expect_rc 1 "the same, proved by the golden that fit-arith named"
expect_not_out '^unproven' "is a finding"
expect_not_out '^  fit ' "and nothing is searched"
finish
