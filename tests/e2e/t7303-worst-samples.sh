#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several samples: which are bad, the worst first, and that what is shown of
# the first culprit is of the worst one.
# timeout: 60
. "$(dirname "$0")/field.sh"
model=$digits/model.onnx

# Of eight samples, 1 and 5 are as they should be; 6 differs in most elements.
many=$work/many.npz
python3 "$support/many_inputs.py" "$many" input 1,1,8,8 8 0 1 7
made right "$model" "$many"
made got "$model" "$many" conv2=R1
made floor "$model" "$many" conv2=R13=floor
cp "$work/right/0001.npz" "$work/right/0005.npz" "$work/got"
cp "$work/floor/0006.npz" "$work/got"
pin got -m "$model" -i "$many" -r "$work/right"
expect_rc 1 "some of eight samples differ"
report "the list of bad samples, the worst first" '
b = r["bad_samples"]
s = [x["sample"] for x in b]
assert s[0] == 6 and not {1, 5} & set(s) and len(s) == len(set(s)), s
assert b[0]["input"] == "many.npz[6]", b[0]
m = [x["mismatch"] for x in b]
assert m == sorted(m, reverse=True) and m[0] > 100 and all(m), m
assert sum(m) == L["conv2"]["columns"]["got"]["mismatch"]
assert all(x["name"] == "conv2" and x["culprits"] == 1 for x in b)
assert all(e["sample"] == 6 for e in L["conv2"]["columns"]["got"]["first"])
assert L["conv2"]["fingerprint"] and L["conv2"]["fingerprint_sample"] == 6'
expect_flat 'samples [2-6] of 8 differ, the worst first: many.npz\[6\] \([0-9]+ elements, first in conv2\), many.npz\[' \
    "in the text, too"
expect_flat 'in many.npz\[6\], where most differ: \[0,' \
    "the elements that are shown are of the worst sample"
expect_flat 'looks .*\(of many.npz\[6\], the worst sample\)' \
    "and so is what they look like"

first=$(python3 -c '
import json, sys
l = [l for l in json.load(open(sys.argv[1]))["layers"] if l["name"] == "conv2"]
e = l[0]["columns"]["got"]["first"][0]
print(",".join(map(str, e["index"])), e["sample"])' "$json")
run "$assay" explain -m "$model" -i "$many" -r "$work/right" --got "$work/got" \
    --layer conv2 --at "${first% *}" --sample "${first#* }"
expect_out 'got -?[0-9]+ \(differs\)' "explain: the element of that sample"
run "$assay" explain -m "$model" -i "$many" -r "$work/right" --layer conv2 \
    --at "${first% *}" --sample 8
expect_refused 2 "no sample 8: the samples are 0 to 7" "a sample that is none"

# A case folder: the names of its files.
copy "$digits" case
made odd "$model" "$digits/inputs" conv1=R1
cp "$work/odd/0002.npz" "$work/case/golden/"
run "$assay" run "$work/case" --local -q --json "$json"
flatten
expect_flat 'samples 1 of 4 differ, the worst first: 0002.npz \([0-9]+ elements, first in conv1\)' \
    "run: one bad sample of a folder"
run "$assay" run "$digits" --local -q --json "$json"
report "a run that matches has none" 'assert r["bad_samples"] == []'
run python3 "$support/check_schema.py" "$ROOT/docs/assay-report-1.schema.json" \
    "$json"
expect_rc 0 "the report is as its schema says"
finish
