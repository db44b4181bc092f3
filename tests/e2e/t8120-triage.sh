#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# triage: synthetic sets of stages, with a break at each step and with each
# symptom, and one that is clean; every form in which a stage can be given; the
# vendor's files, good and hostile; logs.
# timeout: 300
MACHINE=x86_64-san
. "$(dirname "$0")/lib.sh"

sets=$ROOT/tests/support/stage_sets.py
field() { # field EXPRESSION: of the JSON in $work/t.json, d
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$work/t.json" "$1"
}

# ---- every case: the right step, the right symptom, nothing on a clean set
while read -r name from to symptom; do
    python3 "$sets" "$work/$name" "$name"
    run "$assay" triage "$work/$name" --json "$work/t.json"
    if [ "$name" = clean ]; then
        expect_rc 0 "a clean set"
        expect_out '^match: nothing breaks .*: float, calibration, qat, ' \
            "says which stages were compared"
        expect_not_out 'BREAKS|looks like|bad case' "and nothing else"
        continue
    fi
    expect_rc 1 "$name"
    expect_out "^first break: $from -> $to " "$name: the step"
    expect_out '^  starts at conv: ' "$name: the first tensor"
    expect "$name: JSON says the same" test "$(field 'd["first_break"]')" = \
        "$from->$to"
    [ "$symptom" = - ] ||
        expect_out "^  looks like: .*\[$symptom\]" "$name: $symptom"
done < <(python3 "$sets" --list)

set=$work/convert
run "$assay" triage "$set"
expect "no line of the table is wider than 120" awk '/^ /&&length>120{exit 1}' \
    <(grep -E '^ [a-z.]+ ->' "$work/out")
run "$assay" triage "$work/calibration"
expect_out 'training-side finding: it is said, and left' "training is left"
run "$assay" triage "$work/overflow" --json "$work/t.json"
expect_out '^  bad case: 0002 at ' "the sample whose values overflow"
expect "and no other" test "$(grep -c '^  bad case' "$work/out")" = 1
expect "is in JSON" test "$(field '[s["name"] for t in d["transitions"]
    for s in t["bad_samples"] if s["breaks"]]')" = "['0002']"
# Training breaks, and so does the board: both are said.
mkdir "$work/two"
cp -r "$work/calibration/"{float,calibration,quantized.bc} "$work/two"
cp -r "$work/zeros/board" "$work/two"
run "$assay" triage "$work/two"
expect_out '^first break: float -> calibration \(training\)' "the first"
expect_out '^first break behind training: quantized.bc -> board' "the other"

# ---- stages that are not given
for skip in calibration,qat qat.export,qat.bc,quantized.bc,hbm \
    float,calibration,qat,hbm; do
    rm -rf "$work/some"
    cp -r "$work/compile" "$work/some"
    for s in ${skip//,/ }; do rm -r "$work/some/$s"; done
    run "$assay" triage "$work/some" --json "$work/t.json"
    expect_rc 1 "without $skip"
    expect "the step that spans it" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
a, b = d["first_break"].split("->")
order = [s["name"] for s in d["stages"]]
assert order.index(a) < order.index("hbm") <= order.index(b)
between = order[order.index(a) + 1:order.index(b)]
t = [t for t in d["transitions"] if t["verdict"] == "breaks"][0]
assert t["missing_between"] == between, t["missing_between"]
' "$work/t.json"
done
expect_out ' quantized.bc -> board ' "its row"
expect_out '^ hbm .* missing$' "what is missing has a row"
expect_out '^  between quantized.bc and board: give hbm to split it' "is said"
expect_out '^evidence missing: the logs of compiler and runtime' "and what else"
run "$assay" triage --qat-bc "$work/clean/qat.bc" --board "$work/clean/board"
expect_rc 0 "a step with a tolerance to the board"
expect_out '^not examined: equality to the bit' "does not claim equality"

# ---- a compiler's own files, where they are there: one diverges, it is named
shared=${ASSAY_SHARED:-$ROOT/../shared}
if [ -d "$shared/cases-x5" ]; then
    for case in "$shared"/cases-x5/*/; do
        [ -d "$case/golden" ] && [ -d "$case/sim" ] || continue
        name=$(basename "$case")
        run "$assay" triage --quantized-bc "$case/golden" --hbm "$case/sim" -q
        if [ "$name" = pad16 ]; then
            expect_rc 1 "$name"
            expect_out '^first break: quantized.bc -> hbm \(compile\)' "$name"
        else
            expect_rc 0 "$name: the simulator gives the model's bits"
        fi
    done
else
    skip "cases of a compiler: $shared/cases-x5 is not there"
fi

# ---- forms of a stage
c=$work/clean
python3 - "$c" "$work" <<'PY'
import os, sys, zipfile
src, out = sys.argv[1:]
for stage in ("quantized.bc", "hbm"):
    for k in range(2):
        folder = os.path.join(out, "npys", stage, "%04d" % k)
        os.makedirs(folder)
        with zipfile.ZipFile("%s/%s/%04d.npz" % (src, stage, k)) as z:
            for n in z.namelist():
                if n.startswith("__"):
                    continue
                with open(os.path.join(folder, n), "wb") as f:
                    f.write(z.read(n))
PY
n=$work/npys
run "$assay" triage --quantized-bc "$c/quantized.bc/0000.npz" \
    --hbm "$c/hbm/0000.npz"
expect_rc 0 "one npz each"
run "$assay" triage --quantized-bc "$n/quantized.bc" --hbm "$n/hbm"
expect_rc 0 "folders of folders of npy"
expect_out '^ quantized.bc -> hbm +4 +2 ' "are two samples"
run "$assay" triage --quantized-bc "$n/quantized.bc/0000" --hbm "$n/hbm/0000"
expect_rc 0 "folders of npy"
run "$assay" triage --quantized-bc "$n/quantized.bc/0000/out.npy" \
    --hbm "$n/hbm/0001/out.npy"
expect_rc 1 "npy of other samples"
expect_out '^  starts at output: ' "their tensor"
run "$assay" triage --qat-bc "$c/qat.bc" --hbm "$n/hbm"
expect_rc 5 "integers without a scale"
expect_out 'not comparable' "cannot be compared"
expect_out 'no scale: --scale TENSOR=SCALE' "and why"
run "$assay" triage --qat-bc "$c/qat.bc" --hbm "$n/hbm" --scale conv=0.05 \
    --scale act=0.05 --scale out=0.05 --scale input=0.05
expect_rc 0 "--scale"
run "$assay" triage --quantized-bc "$c/quantized.bc" --hbm "$n/hbm/0000" \
    --board "$work/deploy/board"
expect_rc 1 "other names of samples"
expect_out '^note: quantized.bc has 3 and hbm 0 samples' "are told"
# A stage that names everything otherwise does not hide a break.
python3 - "$c/hbm" "$work/renamed" <<'PY'
import os, sys, zipfile
os.mkdir(sys.argv[2])
for name in os.listdir(sys.argv[1]):
    with zipfile.ZipFile(os.path.join(sys.argv[1], name)) as a, \
            zipfile.ZipFile(os.path.join(sys.argv[2], name), "w") as b:
        for n in a.namelist():
            b.writestr(n if n[:2] == "__" else "x_" + n, a.read(n))
PY
run "$assay" triage --quantized-bc "$c/quantized.bc" --hbm "$work/renamed" \
    --board "$work/deploy/board"
expect_rc 1 "a stage with other names"
expect_out '^ hbm -> board .*not comparable' "cannot be compared"
expect_out '^quantized.bc -> hbm: nothing to compare: hbm has none of that' \
    "and why"
expect_out '^first break: quantized.bc -> board ' "the step over it is"
run "$assay" triage --quantized-bc "$c/quantized.bc" --hbm "$work/renamed" \
    --board "$c/board"
expect_rc 5 "where nothing breaks, that is no match"
expect_out '^ quantized.bc -> board .* ok$' "though the others agree"
mkdir "$work/empty" "$work/mixed" "$work/lone"
cp "$c/hbm/0000.npz" "$n/hbm/0000/out.npy" "$work/mixed"
cp -r "$c/board" "$work/lone"
bad() { # bad REGEX ARGUMENT...
    local regex=$1
    shift
    run "$assay" triage "$@"
    expect_refused 2 "$regex" "triage $*"
}
bad 'needs a folder, stages'
bad 'two stages are needed.*found: none' "$work/empty"
bad 'two stages are needed.*found: board' "$work/lone"
bad 'not a folder' "$work/nowhere"
bad 'no such file or folder' --hbm "$c/hbm" --board "$work/nowhere"
bad 'no npz and no npy' --hbm "$c/hbm" --board "$work/empty"
bad 'npz and npy files, expected one kind' --hbm "$c/hbm" --board "$work/mixed"
bad 'neither npz, npy' --hbm "$c/hbm" --board "$sets"
bad 'expected TENSOR=SCALE' "$c" --scale 5
bad 'is no scale' "$c" --scale conv=many
bad 'above 0' "$c" --scale conv=0
bad "'cnov': no stage that is compared has" "$c" --scale cnov=1
head -c 300 "$c/board/0000.npz" >"$work/cut.npz"
bad 'cut.npz' --hbm "$c/hbm/0000.npz" --board "$work/cut.npz"
bad 'nowhere/t.json: cannot be written' "$c" --json "$work/nowhere/t.json"

# A stage of NaN alone has nothing that a cosine could be of.
python3 - "$ROOT/tests/sweep" "$work/odd" <<'PY'
import os, struct, sys
sys.path.insert(0, sys.argv[1])
import npz
for stage, v in (("float", "nan"), ("board", "1")):
    os.makedirs(os.path.join(sys.argv[2], stage))
    npz.write(os.path.join(sys.argv[2], stage, "0000.npz"),
              {"a": npz.Array("<f4", (4,), struct.pack("<4f", *[float(v)] * 4))})
PY
run "$assay" triage "$work/odd"
expect_rc 5 "NaN throughout in the first stage"
expect_out "it is NaN or infinite throughout" "why"

# ---- the vendor's files
v=$work/vendor
python3 "$sets" --vendor "$v"
cp "$v"/* "$work/convert"
run "$assay" triage "$work/convert" --json "$work/t.json"
expect_rc 1 "a set with the vendor's files"
expect "all are known" test "$(field 'len(d["files"])')" = 8
expect_out 'head.norm .*max_qscale_diff 239.*clipped: \[-9.21, 10.27\] became' \
    "the most sensitive layer is clipped"
expect_out 'head.mul .*rounding' "another only rounds"
expect "rows of csv and txt are one" test \
    "$(grep -c 'head.norm .*Cosine' "$work/out")" = 1
expect_out 'head.norm \(QuantStub qint8\): ATOL 0.3633 at the output' \
    "the list of sensitive operators"
expect_out 'Conv_0 \(Conv\): cosine_similarity 0.998541' "quant_info.json"
expect_out 'sample 17 by Cosine of output boxes: 0.81' "bad cases"
expect_out 'sample 3 by ATOL of all outputs' "of all outputs too"
expect_out '^dtypes: 1 modules have what was asked for, 4 have not' "dtypes"
expect_out 'conv: asked qint16, got qint8: overridden by ConvDtypeTemplate' \
    "overridden by a template"
expect_out 'head.mul: asked qint16, got qint8: fell back \(line 9\)' "fell back"
expect_out 'neck.norm: .*no module has that name; did you mean head.norm' \
    "the name hit nothing"
expect_out 'head.add: asked float16, got qint8; no file says why' "unsaid"
run "$assay" triage --vendor "$v" --json "$work/t.json"
expect_rc 2 "the vendor's files alone"
expect_out '^most sensitive layers' "are read all the same"
run "$assay" triage --vendor "$v/compare_per_layer_out.csv" \
    --quantized-bc "$c/quantized.bc" --qat-bc "$c/qat.bc"
expect_rc 0 "a file by itself"
run "$assay" triage --vendor "$v/compare_per_layer_out.csv" --qat-bc "$c/qat.bc" \
    --hbm "$n/hbm"
expect_out '^ qat.bc -> hbm +1 ' "its qscale is the scale of conv"
# Its own reports, and a script, beside the files are none of them.
cp "$work/t.json" "$work/convert/report.json"
cp "$work/out" "$work/convert/report.txt"
printf '%s\n' 'def f():' "    return {'conv': qint16}" >"$work/convert/q.py"
run "$assay" triage "$work/convert" --json "$work/t.json"
expect "own reports and scripts are passed over" test \
    "$(field 'len(d["files"])')" = 8
bad 'none of the vendor.s files' "$c" --vendor "$ROOT/LICENSE"
bad 'No such file' "$c" --vendor "$work/nowhere"
# Cut at every tenth of its length: read or refused, never a crash.
for f in "$v"/*; do
    bytes=$(wc -c <"$f")
    crashed=0
    for part in 1 2 3 4 5 6 7 8 9; do
        head -c $((bytes * part / 10)) "$f" >"$work/cut-${f##*/}"
        run "$assay" triage "$c" --vendor "$work/cut-${f##*/}" -q
        if { [ "$rc" != 0 ] && [ "$rc" != 2 ]; } ||
            grep -q 'Sanitizer\|runtime error' "$work/err"; then
            crashed=$part
        fi
    done
    expect "${f##*/}, cut" test $crashed = 0
done
printf '%s\n' "{'a': {'output': qint16" >"$work/open.pt.py"
bad 'brackets are not closed' "$c" --vendor "$work/open.pt.py"
sed 's/17/1.5/' "$v/badcase.txt" >"$work/half.txt"
bad 'index of a sample is 1.5' "$c" --vendor "$work/half.txt"
sed -n 1p "$v/compare_per_layer_out.csv" >"$work/none.csv"
bad 'no row with' "$c" --vendor "$work/none.csv"
python3 - "$work" <<'PY'
import sys
with open(sys.argv[1] + "/many.csv", "w") as f:
    f.write("mod_name,Cosine,Atol\n" + "m,0.5,1\n" * 30000)
with open(sys.argv[1] + "/long.csv", "w") as f:
    f.write("mod_name,Cosine,Atol\n" + "m" * 100000 + ",0.5,1\nn,0.5,1\n")
with open(sys.argv[1] + "/odd.csv", "wb") as f:
    f.write(b"mod_name,Cosine,qscale\n\xff\x1b[2J,nan,1e400\n")
PY
bad 'too many rows' "$c" --vendor "$work/many.csv"
run "$assay" triage "$c" --vendor "$work/long.csv"
expect_rc 0 "a line that is too long is no row"
run "$assay" triage "$c" --vendor "$work/odd.csv" --format json
expect_rc 0 "names that are no UTF-8, numbers that are none"
expect "are JSON all the same" python3 -m json.tool "$work/out" /dev/null
run "$assay" triage "$c" --vendor "$work/odd.csv"
expect "names do not steer the terminal" bash -c '! grep -q "$(printf "\033")" \
    "$1"' _ "$work/out"

# ---- logs
cat >"$work/run.log" <<'LOG'
[I] start
[E][bpu] hbUCPMallocCached failed: -400001
error: the model's march nash-m does not match the board
E: something strange at 0x12
[E] something strange
ValueError: Not support layer name=accuracy type=Accuracy
HB_DNN_TIMEOUT
wait task timeout
HB_UCP_INVALID_ARGUMENT: stride
libdnn.so: cannot open shared object file: No such file
code -4000011 is another code
LOG
run "$assay" triage "$c" --log "$work/run.log"
expect_rc 0 "a log does not break a stage"
expect_out '^logs: 6 known messages, 1 lines of unknown errors' "counts"
expect_out 'run.log:2: memory of the BPU ran out \[memory\]: free' "memory"
expect_out 'run.log:3: .*\[march\]: compile with the march' "march"
expect_out 'run.log:5: unknown: \[E\] something strange' "an unknown error"
expect_out 'run.log:6: .*\[operator\]: replace' "operator"
expect_out 'run.log:7: .*\[timeout\] 2 times: ' "timeout"
expect_out 'run.log:9: .*\[argument\]: compare shape, stride' "argument"
expect_out 'run.log:10: .*\[library\]: ' "library"
expect_not_out 'run.log:11' "a longer number is another one"
bad 'is no text' "$c" --log "$c/hbm/0000.npz"
bad 'No such file' "$c" --log "$work/nowhere.log"
run "$assay" triage --log "$work/run.log"
expect_rc 2 "a log alone"
expect_out '\[memory\]' "is read all the same"
finish
