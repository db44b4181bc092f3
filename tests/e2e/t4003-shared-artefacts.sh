#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real text artefacts of the vendor's tools and the cases they belong to, where
# they are beside the checkout (ASSAY_SHARED): all are read, and what is known
# of them is found.
. "$(dirname "$0")/lib.sh"
cases=${ASSAY_SHARED:-$ROOT/../shared}/cases-x5
texts=$cases/artefacts

[ -d "$texts/hb_mapper" ] || skip_all "no cases-x5/artefacts (ASSAY_SHARED)"

# The build that the case is of: nothing contradicts, everything has its row.
run "$assay" run "$cases/digits" --local --json "$work/r.json" \
    --vendor "$texts/hb_mapper/featuremap" \
    --vendor "$texts/hbdk_disas/digits_all_layers.json"
expect_rc 0 "digits with the files of its build"
run python3 - "$work/r.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert not [f for f in r["findings"] if f["severity"] != "hint"], r["findings"]
v = {l["name"]: l["vendor"] for l in r["layers"] if "vendor" in l}
assert len(v) == 12, sorted(v)
on = [x["on"] for x in v.values()]
assert on.count("BPU") == 11 and on.count("CPU") == 1, on
assert v["fc_transpose_output_reshape"]["on"] == "CPU"
assert all(x["dtype"] == "int8" for x in v.values() if x["on"] == "BPU")
PY
expect_rc 0 "11 nodes on the BPU in int8, one on the CPU"
run "$assay" show "$cases/digits" --vendor \
    "$texts/hb_mapper/featuremap/console_ansi.txt"
expect_rc 0 "what the terminal showed"
expect_out '^003 conv2 +BPU id\(0\) +HzSQuantizedConv +0\.[0-9]{6} +3\.2099 int8' \
    "has the same table"

# Files of other builds of the same network.
run "$assay" run "$cases/digits" --local --vendor "$texts/hb_mapper/int16"
expect_rc 2 "an int16 build's files"
expect_out "contradiction: layer 'conv1' .* takes int8, set_all_nodes_int16" \
    "the asked width is not there"
expect_out "^match " "the layers are compared all the same"
run "$assay" show "$cases/digits" --vendor "$texts/hb_mapper/nv12"
expect_rc 2 "an nv12 build's files"
expect_out "input_type_rt 'nv12' gives a model that takes int8" "input type"
expect_out "mean, scale and colour should be folded" "preprocessing"
expect_out "threshold in quant_info is" "thresholds"
for build in nv12 rgb int16 featuremap; do
    run "$assay" show "$cases/digits" --vendor "$texts/hb_mapper/$build/"*.yaml
    expect "$build: YAML" test "$rc" = 0 -o "$rc" = 2
    expect_out '^configuration: ' "$build: YAML is read"
    run "$assay" show "$cases/digits" --vendor \
        "$texts/hb_mapper/$build/hb_mapper_makertbin.log"
    expect_out '^012 fc +BPU id\(0\)' "$build: log is read"
    cp "$texts/hb_mapper/$build/"*.yaml \
        "$texts/hb_mapper/$build/hb_mapper_makertbin.log" "$work/"
    run "$assay" show "$cases/digits" --vendor "$work"
    expect_not_out 'another build:' "$build: the log is of its YAML"
    rm -f "$work/"*.yaml "$work/"*.log
done
mkdir "$work/mixed"
cp "$texts/hb_mapper/featuremap/"*.yaml \
    "$texts/hb_mapper/int16/hb_mapper_makertbin.log" "$work/mixed"
run "$assay" show "$cases/digits" --vendor "$work/mixed"
expect_out "the log belongs to another build: 'output_model_file_prefix'" \
    "a log of another build"

# Compiled models.
run "$assay" show "$cases/pad16" --vendor "$texts/hbdk_disas/pad16_int16.json"
expect_rc 0 "pad16 and its compiled model"
expect_out '^configuration: 0 contradictions, 0 warnings' "it fits"
run "$assay" show "$cases/digits" --vendor \
    "$texts/hbdk_disas/pad16_int16.json"
expect_out 'hint: .* features of the compiled model have no tensor' \
    "another network's is told by its names"
run "$assay" show "$cases/digits" --vendor "$texts/hbdk_disas/digits_nv12.json"
expect_rc 2 "digits and the nv12 model"
expect_out "input 'input' of the compiled model is 1x32x32x3" "another input"

# Mean, scale and colour are read back from the weights.
cat >"$work/pre.yaml" <<'Y'
model_parameters: {march: 'bayes-e'}
input_parameters:
  input_name: 'x'
  input_type_rt: 'yuv444'
  input_type_train: 'rgb'
  input_shape: '1x3x20x24'
  norm_type: 'data_mean_and_scale'
  mean_value: '123.7 116.3 103.5'
  scale_value: '0.0171 0.0175 0.0174'
Y
run "$assay" show "$cases/ops_pre" --vendor "$work/pre.yaml"
expect_rc 0 "ops_pre as it was built"
expect_out '^configuration: 0 contradictions, 0 warnings' "nothing is found"
wrong() { # wrong SED REGEX TEXT
    sed "$1" "$work/pre.yaml" >"$work/wrong.yaml"
    run "$assay" show "$cases/ops_pre" --vendor "$work/wrong.yaml"
    expect_rc 2 "$3"
    expect_out "contradiction: input 'x'.*$2" "$3 is found"
}
wrong "s/train: 'rgb'/train: 'bgr'/" 'make rgb' "another order of channels"
wrong 's/116.3/117.3/' 'channel 1: mean_value is 117.3' "a mean off by one"
wrong 's/0.0174/0.0178/' 'channel 2: scale_value' "a scale off by 2 %"
wrong "s/_rt: 'yuv444'/_rt: 'rgb'/" 'takes YUV' "RGB instead of YUV"
wrong "s/data_mean_and_scale/no_preprocess/" 'scale_value is 1' \
    "no preprocessing"

# What the board's tools and their checks print.
run "$assay" show "$cases/digits" --vendor \
    "$texts/hb_model_info/featuremap_console_ansi.txt"
expect_rc 0 "hb_model_info of this model"
expect_out 'configuration: 0 contradictions, 0 warnings' "nothing to say"
run "$assay" show "$cases/digits" --vendor \
    "$texts/hb_model_info/hb_model_info.log"
expect_out "contradiction: input 'input' of the compiled model is 1x32x32x3, tensor 'input' is 1x1x8x8" \
    "hb_model_info of another model"
run "$assay" show "$cases/digits" --vendor "$texts/hb_verifier"
expect_out "warning: hb_verifier compared nothing: it stopped with 'DNN TOOL" \
    "hb_verifier without a board"
run "$assay" show "$cases/digits" --vendor \
    "$texts/vec_diff/vec_diff_pad16_golden_vs_sim.csv"
expect_out 'hint: a table of vec_diff is not read' "vec_diff"
finish
