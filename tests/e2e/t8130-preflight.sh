#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Versions before anything runs: what fits says nothing, what contradicts
# stops the run with both sides, what may matter is a note. Logs that are cut,
# damaged or huge.
. "$(dirname "$0")/lib.sh"
schema=$ROOT/docs/assay-report-1.schema.json
case=$work/case
cp -r "$ROOT/tests/data/horizon" "$case"
chmod -R u+w "$case"
rm -rf "$case/sim-text"
cp -r "$ROOT/tests/data/vendor" "$case/vendor"
log=$case/vendor/runtime.log

good_log() {
    printf '%s\n' "[BPU_PLAT]BPU Platform Version(1.3.6)! soc info(x5)" \
        "[HBRT] set log level as 0. version = 3.15.55.0" \
        "[DNN] Runtime version = 1.24.5_(3.15.55 HBRT)" \
        "[A][DNN][packed_model.cpp:247][Model](2031-01-02,03:04:05.6.7) [HorizonRT] The model builder version = 1.99.0"
}

judge() { # judge RC TEXT OPTION...: report in $work/r.json
    local want=$1 text=$2
    shift 2
    run "$assay" run "$case" --local -q --json "$work/r.json" "$@"
    expect_rc "$want" "$text"
    cp "$work/out" "$work/said"
    run python3 "$ROOT/tests/support/check_schema.py" "$schema" "$work/r.json"
    expect_rc 0 "$text: the report conforms to its schema"
    cp "$work/said" "$work/out"
}

report() { # report TEXT PYTHON
    cp "$work/out" "$work/said"
    run python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
'"$2" "$work/r.json"
    expect_rc 0 "$1"
    cp "$work/said" "$work/out"
}

# Clean: nothing of it is accused, and the real culprit is found.
good_log >"$log"
judge 1 "versions that fit"
expect_out '^compile: first culprit same_s2' "the verdict is that of the layers"
expect_not_out '^version:|contradiction:' "no version is accused"
report "who says what stands in the report" '
p = {(x["about"], x["by"]): x for x in r["preflight"]}
assert p["march", "case"]["value"] == "bayes-e", p
assert p["soc", "runtime"]["line"] == 1 and p["soc", "runtime"]["value"] == "x5"
assert p["hbrt", "runtime"]["value"].startswith("3.15.55"), p
assert p["march", "compiled model"]["state"] == "fits", p
assert all(x["state"] != "contradiction" for x in r["preflight"])
assert r["verdict"] == "compile"'
run "$assay" run "$case" --dry-run
expect_rc 0 "--dry-run"
expect_out '^march +configuration +bayes-e +fits +build.yaml$' "its table"
expect_out '^soc +runtime +x5 +fits +runtime.log line 1$' "with the line"

run "$assay" show "$case"
expect_out '^runtime: hbrt 3.15.55.0 .runtime.log line 2.$' "show has them, too"
expect_out '^loaded model: model builder 1.99.0 .runtime.log line 4.$' \
    "and of what was loaded"

# against TEXT REGEX [OPTION...]: both sides in the first line, nothing ran.
against() {
    local text=$1 regex=$2
    shift 2
    judge 2 "$text" "$@"
    expect "$text: the first line has both sides" \
        bash -c 'head -n 1 "$1" | grep -Eq "$2"' _ "$work/out" "^version: $regex; nothing was run\$"
    report "$text: verdict, and no layer ran" '
assert r["verdict"] == "version" and r["verdict_id"] == "VERDICT_VERSION"
assert r["sentence"].endswith("; nothing was run"), r["sentence"]
assert r["exit_code"] == 2 and r["coverage"]["compared"] == 0
assert {l["status"] for l in r["layers"]} == {"not_observed"}
assert any(x["state"] == "contradiction" and x["sentence"]
           for x in r["preflight"])'
}

sed -i 's/soc info(x5)/soc info(s100)/' "$log"
against "another SoC" \
    'the model is built for bayes-e .case.json., the board.s runtime is s100, which is nash-e .runtime.log line 1.'
run "$assay" run "$case" --dry-run
expect_rc 2 "--dry-run fails as well"
expect_out '^soc +runtime +s100 +CONTRADICTION +runtime.log line 1$' "in its table"
good_log | sed 's/soc info(x5)/soc info(s100)/' >"$log"
mv "$case/sim" "$work/sim"
judge 2 "--no-preflight runs the layers all the same" --no-preflight
expect_out '^# contradiction: the model is built for bayes-e' "and tells it"
report "the layers were compared" '
assert r["coverage"]["compared"] == r["coverage"]["expected"] > 10'
mv "$work/sim" "$case/sim"

good_log >"$log"
echo '[HBRT] hbrtSetGlobalConfig, set bpu march to BERNOULLI2(4272728)' >>"$log"
against "another march" \
    'the model is built for bayes-e .case.json., the board.s runtime says BERNOULLI2 .runtime.log line 5.'
good_log | sed 's/3[.]15[.]55/4.7.5/' >"$log"
against "a runtime of another generation" \
    'the model is built for bayes-e .case.json., the board.s runtime is hbrt 4.7.5.0 .runtime.log line 2.'
{
    good_log | sed 's/3[.]15[.]55/3.15.47/'
    echo '[W][DNN]bpu_model_info.cpp:491][Version](2031) Model: small. Inconsistency between the hbrt library version 3.15.47.0 and the model build version 3.15.54.0 detected, in order to'
} >"$log"
against "a toolchain that is newer than the runtime, as the log says" \
    "the model 'small' that was loaded is built with hbrt 3.15.54.0 .runtime.log line 5., the board.s runtime is hbrt 3.15.47.0 .runtime.log line 2."
sed -i 's/Model: small/Model: another/' "$log"
judge 1 "the same of another model"
expect_not_out '^version:' "is not this model's"
{
    good_log
    echo '[W][DNN]bpu_model_info.cpp:491][Version](2031) Model: small. Inconsistency between the hbrt library version 3.15.55.0 and the model build version 3.15.47.0 detected, in order to'
} >"$log"
judge 1 "an older toolchain is a note"
expect_out "^# versions: the model 'small' that was loaded is built with hbrt 3.15.47.0" \
    "that is told"

# Two runs in one log: both are told, the wrong one stops.
{
    good_log
    good_log | sed 's/3[.]15[.]55/3.14.5/g; s/x5/x3/'
} >"$log"
against "a second run of the log, on another board" \
    'the model is built for bayes-e .case.json., the board.s runtime is x3, which is bernoulli2 .runtime.log line 5.'
expect_out '^# versions: the board.s runtime is hbrt 3.15.55.0 .runtime.log line 2., the board.s runtime is hbrt' \
    "one version is told"
expect_out 'hbrt 3.14.5.0$' "and the other"

# hb_compile's configuration against a Bayes model.
rm "$log"
sed "s/march: 'bayes-e'/march: \"nash-m\"/" "$ROOT/tests/data/vendor/build.yaml" \
    >"$case/vendor/build.yaml"
against "the configuration of another part" \
    'the model is built for bayes-e .case.json., the configuration says nash-m .build.yaml.'
cp "$ROOT/tests/data/vendor/build.yaml" "$case/vendor/build.yaml"

# Damaged logs: no wrong version, no crash.
good_log | head -c 78 >"$log" # in the middle of 3.15.55.0
judge 1 "a log that is cut in a line"
report "has no version of that line" '
assert not any(x["by"] == "runtime" and x["about"] == "hbrt"
               for x in r["preflight"]), r["preflight"]'
good_log | sed 's/$/\r/' >"$log"
judge 1 "CRLF"
report "is read" '
assert any(x["by"] == "runtime" and x["value"] == "3.15.55.0"
           for x in r["preflight"])'
printf '[HBRT] set log level as 0. version = 3.\001\033]0;x\007.9\n%s\n' \
    "$(good_log)" >"$log"
judge 1 "control bytes"
expect "are not printed" bash -c '! grep -q "$(printf "[\001\007]")" "$1"' _ \
    "$work/out"
{
    good_log
    head -c 100000000 /dev/zero | tr '\0' 'x'
} >"$log"
run "$assay" run "$case" --local -q
expect_refused 2 'runtime.log: .*(67108864|64 MiB|bytes)' "a line of 100 MB"
head -c 50000000 /dev/zero | tr '\0' '[' >"$work/long.log"
{
    good_log
    cat "$work/long.log"
} >"$log"
judge 1 "a line of 50 MB"
expect_not_out '^version:' "says nothing"
rm "$log" "$work/long.log"

# node_info.csv: what is said to be on the BPU has the model's types.
table=$case/vendor/node_info.csv
rm "$case/vendor/build.log" "$case/vendor/console.txt"
printf '%s\n' 'Node,ON,Subgraph,Type,Cosine Similarity,Threshold,DataType' \
    'same_s2,BPU,id(0),HzSQuantizedConv,0.99,1.6,int16' \
    'fc,BPU,id(0),HzSQuantizedConv,0.99,1.27,int8' >"$table"
judge 1 "node_info.csv"
expect_not_out 'contradiction:' "fits"
run "$assay" show "$case"
expect_out '^008 fc +BPU id\(0\) +HzSQuantizedConv +0.990000 +1.27 int8$' \
    "show has its rows"
sed -i 's/fc,BPU\(.*\)int8/fc,BPU\1int16/' "$table"
run "$assay" run "$case" --local -q
expect_rc 1 "another type than the model's"
expect_out "^# contradiction: node 'fc': the table says that its first input is int16 on the BPU, in the model it is int8" \
    "is a finding"
echo 'x,GPU,,T,,,' >>"$table"
run "$assay" run "$case" --local -q
expect_refused 2 'node_info.csv: line 4: expected BPU or CPU' "a bad row"
rm "$table"

# hb_compile's configuration of a Nash model: what it says of pictures is put in
# front of the model later.
mkdir "$work/nash"
cat >"$work/nash/config.yaml" <<'YAML'
model_parameters:
  onnx_model: 'net.onnx'
  march: "nash-m"
  output_model_file_prefix: 'net_nv12'
  remove_node_type: "Quantize;Dequantize"
input_parameters:
  input_name: ""
  input_type_rt: 'nv12'
  input_type_train: 'rgb'
  norm_type: 'data_mean_and_scale'
  mean_value: '123.675 116.28 103.53'
  scale_value: '0.01712 0.0175 0.01743'
calibration_parameters:
  quant_config: {"model_config": {"all_node_type": "int16"}}
compiler_parameters:
  core_num: 1
  input_source: {"data": "pyramid"}
YAML
run "$assay" run "$ROOT/tests/data/nash" --local -q --vendor "$work/nash"
expect_rc 0 "hb_compile's configuration of a Nash model"
expect_out '^# configuration: 0 contradictions' "is not read as a Bayes one's"
sed -i 's/nash-m/nash-e/' "$work/nash/config.yaml"
run "$assay" run "$ROOT/tests/data/nash" --local -q --vendor "$work/nash"
expect_rc 2 "that of another Nash part"
expect_out '^version: the model is built for nash-m .case.json., the configuration says nash-e .config.yaml.; nothing was run$' \
    "is told"

# The agent names the runtime that its machine has.
mkdir "$work/lib"
touch "$work/lib/libhbrt4.so" "$work/lib/libdnn.so.3.13.6" \
    "$work/lib/libdnnl.so.2" "$work/lib/libother.so"
start_agent env LD_LIBRARY_PATH="$work/lib" "$assayd" --listen 127.0.0.1:0 \
    --board-id t8130
run "$assay" info --target "$address"
expect_out '^runtime libdnn.so.3.13.6 libhbrt4.so$' "info has its files"
run "$assay" run "$case" --target "$address" -q
expect_rc 2 "a board with another runtime"
expect_out '^version: the model is built for bayes-e .case.json., the board.s runtime says nash[*] .libhbrt4.so.; nothing was run$' \
    "both sides"
run "$assay" run "$ROOT/tests/data/nash" --target "$address" -q
expect_rc 0 "its own models run"
run "$assay" run "$digits" --target "$address" -q
expect_rc 0 "and those that have no march"
stop_agent
mv "$work/lib/libhbrt4.so" "$work/lib/libhbrt_bayes_aarch64.so"
rm "$work/lib/libdnn.so.3.13.6"
start_agent env LD_LIBRARY_PATH="$work/lib" "$assayd" --listen 127.0.0.1:0 \
    --board-id t8130b
run "$assay" run "$case" --target "$address" -q
expect_rc 1 "a board with the right one"
expect_out '^compile: first culprit same_s2' "is judged by its layers"
stop_agent

# Cases of the vendor's chain, where they are here.
shared=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5
if [ -d "$shared" ]; then
    build=$shared/artefacts/hb_mapper/featuremap
    good_log | sed 's/1[.]99[.]0/1.24.3/' >"$work/runtime.log"
    run "$assay" run "$shared/digits" --local -q --vendor "$build" \
        --vendor "$work/runtime.log"
    expect_not_out '^version:|^# contradiction: the model is|^# versions:' \
        "a real build and its runtime fit"
    sed -i 's/x5/s100p/' "$work/runtime.log"
    run "$assay" run "$shared/digits" --local -q --vendor "$build" \
        --vendor "$work/runtime.log"
    expect_rc 2 "a real build on another board"
    expect_out '^version: the model is built for bayes-e .case.json., the board.s runtime is s100p, which is nash-m .runtime.log line 1.; nothing was run$' \
        "both sides of it"
    # Every case of a Bayes part, with the log of its board and of another's.
    good_log >"$work/right.log"
    sed 's/x5/s600/' "$work/right.log" >"$work/wrong.log"
    clean=0 seeded=0 cases=0
    for c in "$shared"/*/case.json; do
        grep -q '"march": "bayes-e"' "$c" || continue
        cases=$((cases + 1))
        run "$assay" run "$(dirname "$c")" --local -q --vendor "$work/right.log"
        grep -q '^version:' "$work/out" || [ "$rc" -gt 1 ] ||
            clean=$((clean + 1))
        run "$assay" run "$(dirname "$c")" --local -q --vendor "$work/wrong.log"
        [ "$rc" = 2 ] && head -n 1 "$work/out" |
            grep -q "^version: .* bayes-e .* s600, which is nash-p (wrong.log line 1)" &&
            seeded=$((seeded + 1))
    done
    expect "a right board is accused in none of $cases cases" \
        test "$clean" = "$cases"
    expect "another board is named in all of them" test "$seeded" = "$cases"
    expect "there are cases" test "$cases" -ge 10
else
    skip "no shared cases"
fi
finish
