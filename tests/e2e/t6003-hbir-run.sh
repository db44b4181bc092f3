#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From quantized.bc to a verdict, as docs/quantized-bc.md has it, with a
# STAND-IN of the vendor's package; and differences that are no faults.
# timeout: 300
. "$(dirname "$0")/lib.sh"

python=$(BUILD=$BUILD "$ROOT/tests/oracle/venv.sh" 2>"$work/venv.log")
rc=$?
[ $rc = 77 ] && skip_all "no numpy: $(tail -n 1 "$work/venv.log")"
[ $rc = 0 ] || { not_ok "venv.sh: $(tail -n 1 "$work/venv.log")"; finish; }
standin=$ROOT/tests/support/hbdk4_standin
export PYTHONDONTWRITEBYTECODE=1
m=$work/m
"$python" "$standin/make_bc.py" "$m" || { not_ok "make_bc.py"; finish; }

make_case() { # make_case NAME [ARGUMENT...]
    local name=$1
    shift
    run env PYTHONPATH="$standin" "$python" "$ROOT/host-tools/hbir_export.py" \
        "$m/quantized.bc" -i "$m/inputs.npz" -o "$work/$name" "$@"
    expect_rc 0 "the case $name"
}
judge() { # judge CASE [ARGUMENT...]: with a JSON report
    local case=$1
    shift
    run "$assay" run "$work/$case" --local --json "$work/r.json" "$@"
}
report() { # report EXPRESSION TEXT: of the report r, findings f by id
    if "$python" -c 'import json, sys
r = json.load(open(sys.argv[1])); f = {}
for x in r["findings"]: f.setdefault(x["id"], []).append(x)
sys.exit(not eval("(%s)" % sys.argv[2]))' "$work/r.json" "$1"; then
        ok "$2"
    else
        not_ok "$2: $1"
    fi
}
# edit CASE PROGRAM: s is a dict of what sim/0000.npz and 0001.npz get, g the
# golden, i the inputs of that sample.
edit() {
    "$python" - "$work/good" "$work/$1" "$2" <<'PY'
import os, shutil, sys
import numpy as np
good, case, program = sys.argv[1:]
shutil.rmtree(case, ignore_errors=True)
shutil.copytree(good, case)
os.makedirs(case + "/sim")
for n in ("0000", "0001"):
    g = dict(np.load("%s/golden/%s.npz" % (case, n)))
    i = dict(np.load("%s/inputs/%s.npz" % (case, n)))
    s, meta = {}, g.pop("__meta__")
    exec(program)
    np.savez("%s/sim/%s.npz" % (case, n), __meta__=meta, **s)
PY
}
remarks() { # remarks CASE PROGRAM: j is case.json
    "$python" - "$work/$1/case.json" "$2" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(j, open(sys.argv[1], "w"))
PY
}

make_case good
judge good
expect_rc 0 "an exported case runs"
expect_out ' 9 layers .* cpu: 9 exact' "every tensor of it is found and equal"
expect_out 'numerics nash' "with the arithmetic of the family"
report "r['coverage']['expected'] == r['coverage']['compared'] == 9" \
    "exporter and reader give the same names"
report "[l['name'] for l in r['layers']] == ['img_quant', 'stem', 'pool',
'block', 'block#2', 'b30.conv2d_13', 'flat', 'head', 'head_dequant']" \
    "the names of docs/quantized-bc.md"
report "not r['findings']" "no difference is told where there is none"
judge good --cpumask 0
expect_rc 0 "scalar kernels"
make_case all --large 0
judge all
expect_rc 0 "all constants outside of the text"
mv "$work/all/constants.npz" "$work/away.npz"
judge all
expect_refused 2 'assay_constant_0' "constants that are not there"
make_case cut --from pool --to block
judge cut
expect_rc 0 "a range of layers"
expect_out ' 2 layers .* cpu: 2 exact' "has these alone"
run "$assay" show "$work/good"
expect_rc 0 "show"
expect_out '^001 b30.conv2d +stem +int8 +1x8x8x8 ' "lists the layers"
for inner in inner:stem differs:head; do
    make_case "${inner%:*}" --hbm "$m/${inner%:*}.hbm"
    judge "${inner%:*}"
    expect_rc 1 "a compiled model that differs (${inner%:*})"
    expect_out '^compile: first culprit ' "is a compile divergence"
done
expect_out '^compile: first culprit head' "its layer is named"
printf 'float stage' >"$work/x"
"$python" -c 'import sys
t = open(sys.argv[1]).read().replace("b30.reshape", "qnt.const_fake_quant")
open(sys.argv[2], "w").write(t)' "$work/good/model.mlir" "$work/float.mlir"
run "$assay" show "$work/float.mlir"
expect_refused 2 'float stage \(qnt.const_fake_quant\)' "a float stage"

# Removed Quantize and Dequantize: integers where the model has floats.
edit removed 's = {"img": g["img_quant"], "pred": g["head"]}'
judge removed --require sim
expect_rc 0 "integers for floats"
expect_out 'sim: 2 observed, 2 exact' "are compared as the integer tensors"
expect_out "^# difference, no fault \(removed-dequantize\): 'pred' is int32" \
    "and told in the head"
report "f['removed-dequantize'][0]['severity'] == 'hint' and
f['removed-dequantize'][0]['expected'] == 'float32' and
f['removed-dequantize'][0]['subject'] == 'pred'" "and in the JSON report"
report "\"compared as 'img_quant'\" in f['removed-quantize'][0]['sentence']" \
    "Quantize as well"
edit wrong 's = {"pred": g["head"] + 1}'
judge wrong
expect_rc 1 "integers that differ are a finding all the same"
expect_out '^compile: first culprit head' "at the integer layer"

# Tails: int32 and Dequantize here, floats there.
edit tail 's = {"head": g["pred"]}'
judge tail --require sim
expect_rc 0 "floats for a tail of int32"
report "\"compared behind Dequantize, as 'pred'\" in f['tail'][0]['sentence']" \
    "are compared behind Dequantize"
edit scaled 's = {"img_quant": g["img_quant"] * np.float32(2**-7)}'
judge scaled --require sim
expect_rc 0 "floats for integers with a scale"
report "'integer times the scale' in f['tail'][0]['sentence']" \
    "are compared as integers"
edit inexact 's = {"img_quant": g["img_quant"] * np.float32(2**-7) +
                   np.float32(1e-3)}'
judge inexact
expect_refused 2 "'img_quant' is float32, but the model's tensor .* is int8" \
    "floats that are no such integers"

# Other names.
make_case renamed --hbm "$m/renamed.hbm"
judge renamed --require sim
expect_rc 0 "outputs under other names"
expect_out 'sim: 2 observed, 2 exact' "are found by their content"
report "sorted(x['found'] for x in f['renamed']) == ['out0', 'out1']" "and told"
edit ambiguous 's = {"out0": g["pred"], "out1": g["feat"] + 1}'
judge ambiguous
expect_rc 0 "an output of unknown name and content"
report "'ambiguous' in f and \"'feat'\" in f['ambiguous'][0]['sentence']" \
    "is listed, with what it may be"
expect_out 'sim: 1 observed, 1 exact' "and not compared"
edit nothing 's = {"out1": g["feat"] + 1}'
judge nothing
expect_rc 0 "where nothing of a column could be compared"
expect_out 'not examined: sim' "it counts as not examined"
judge nothing --require sim
expect_rc 5 "and fails where it is required"

# Versions, options, march.
edit remarks 's = {"pred": g["pred"]}'
remarks remarks 'j["options"] = {"consistency": 1}
j["columns"] = {"sim": {"march": "nash-p", "tools": {"hbdk4": "9.9"},
                        "options": {"consistency": 2}}}'
judge remarks
expect_rc 0 "another version, option and march"
report "f['march'][0]['severity'] == 'warning' and
f['march'][0]['found'] == 'nash-p'" "the march is a warning"
report "f['version'][0]['found'] == '9.9'" "the version is told"
report "'consistency levels' in f['option'][0]['sentence']" "the option as well"
expect_out 'difference, no fault \(option\)' "in the text report too"
edit apart 's = {"pred": g["pred"] + 1}'
judge apart
expect_rc 1 "a column that differs"
expect "is not excused where it was made alike" \
    bash -c '! grep -q "made otherwise" "$1"' _ "$work/out"
remarks apart 'j["columns"] = {"sim": {"march": "nash-p", "tools":
                                       {"hbdk4": "9.9"}}}'
judge apart
expect_rc 1 "and that was made for another march, by another version"
expect_out '^  but     sim was made otherwise .* \(march, version, above\)' \
    "that is said beside the verdict"
remarks remarks 'j["march"] = "bayes-e"; j["columns"] = {}'
judge remarks
report "f['march'][0]['found'] == 'B30G'" "case.json against the text's target"
judge good --numerics bayes-e
report "any(x['subject'] == 'numerics' for x in f['march'])" \
    "the arithmetic of another family"
expect_out '^# numerics bayes-e .built in.: 0 of 7 layers proved' \
    "whose goldens prove nothing here"
cp -r "$work/good" "$work/other"
"$python" - "$work/other" <<'PY'
import glob, sys
import numpy as np
for path in glob.glob(sys.argv[1] + "/golden/*.npz"):
    g = dict(np.load(path))
    g["stem"] = np.where(g["stem"] < 100, g["stem"] + 1, g["stem"]).astype("i1")
    np.savez(path, **g)
PY
judge other --numerics bayes-e
expect_rc 5 "goldens that differ: no fault of the model"
expect_out '^unproven: ' "but unproven"

# Exporter and reader: names, where locations are what MLIR can print.
"$python" - "$ROOT/host-tools/hbir_export.py" "$work" <<'PY'
import importlib.util, sys
spec = importlib.util.spec_from_file_location("hbir_export", sys.argv[1])
x = importlib.util.module_from_spec(spec)
spec.loader.exec_module(x)
t = "tensor<1x4xsi8>"
locs = ['loc("a")', 'loc("a"("f.py":1:2))', 'loc("f.py":3:4)', 'loc(unknown)',
        'loc(fused["f.py":1:2, "b"])', 'loc(fused<"graph">["c", "d"])',
        'loc(callsite("e" at "g"))', 'loc(#loc3)', 'loc(fused[#loc1, #loc2])',
        'loc("x\\22y\\5C\\E4\\B8\\AD")', '', 'loc("in")', 'loc("out")',
        'loc("a#2")', 'loc("a")', 'loc(callsite("h" at #loc1))',
        'loc("n"("o"("f.py":1:2)))', 'loc(fused<#x.y<"z">>["p"])']
body, last = [], "%arg0"
for k, loc in enumerate(locs):
    body.append('    %%%d = "b30.reshape"(%s) <{shape = [1, 4]}> : (%s) -> %s '
                '%s' % (k, last, t, t, loc))
    last = "%%%d" % k
text = "\n".join(
    ['#loc1 = loc("f.py":9:9)', '#loc2 = loc("deep"(#loc1))',
     "module {", "  func.func @main(%%arg0: %s {hbir.name = \"in\"}) -> "
     "(%s {hbir.name = \"out\"}) {" % (t, t)] + body +
    ["    return %s : %s" % (last, t), "  }", "}",
     '#loc3 = loc(fused<"m">[#loc1, #loc2])', ""])
open(sys.argv[2] + "/names.mlir", "w", encoding="utf-8").write(text)
read = x.Text(text, "names")
with open(sys.argv[2] + "/names.txt", "w", encoding="utf-8") as f:
    for op in read.layers:
        f.write("%s\t%s\n" % (op.name, op.tensors[0]))
import numpy as np
np.savez(sys.argv[2] + "/names.npz", **{"in": np.arange(4, dtype=np.int8)
                                        .reshape(1, 4)})
np.savez(sys.argv[2] + "/names-golden.npz", **{
    op.tensors[0]: np.arange(4, dtype=np.int8).reshape(1, 4)
    for op in read.layers})
PY
run "$assay" run -m "$work/names.mlir" -i "$work/names.npz" -r \
    "$work/names-golden.npz" --local --json "$work/r.json"
expect_rc 0 "all kinds of locations: every tensor has the exporter's name"
report "r['coverage']['compared'] == 18" "all 18"
report "[l['name'] for l in r['layers']] == [l.split('\t')[0] for l in
open('$work/names.txt', encoding='utf-8').read().splitlines()]" \
    "and every layer"
finish
