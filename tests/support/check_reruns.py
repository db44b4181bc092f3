# SPDX-License-Identifier: Apache-2.0
"""Were just the layers run once more that had to be? Python's own library.

check_reruns.py REPORT.json RUNS.jsonl OUTPUTS GOLDEN

RUNS is what wiretap.py saw, OUTPUTS and GOLDEN are folders of npz: what the
layers gave in the cumulative run, and the reference. A layer is to be run once
more when its output differs and one of its inputs does, and only its inputs may
travel; with scalar kernels, a culprit. Prints what there was.
"""
import json
import os
import sys
import zipfile


def read(path):
    """name -> bytes of each array, without the head of the file."""
    out = {}
    with zipfile.ZipFile(path) as z:
        for member in z.namelist():
            data = z.read(member)
            if member.endswith(".npy"):
                end = 10 + int.from_bytes(data[8:10], "little")
                out[member[:-4]] = data[end:]
    return out


def expect(what, found, wanted):
    if found != wanted:
        sys.exit("%s: %s, expected %s" % (what, found, wanted))


def main():
    report = json.load(open(sys.argv[1]))
    runs = [json.loads(line) for line in open(sys.argv[2])]
    outputs, golden = sys.argv[3:]
    layers = report["layers"]
    layers.sort(key=lambda l: l["index"])
    count = {"layers": 0, "tensors": 0, "bytes": 0}
    scalar = masked = 0
    for sample, name in enumerate(sorted(os.listdir(outputs))):
        got = read(os.path.join(outputs, name))
        ref = read(os.path.join(golden, name))
        mine = [r for r in runs if r["sample"] == sample]
        bad = {t for t in got if t in ref and got[t] != ref[t]}
        behind = [l for l in layers if bad & set(l["inputs"])]
        again = [l for l in behind if l["tensor"] in bad]
        masked += len(behind) - len(again)
        first = [l["index"] for l in layers
                 if l["tensor"] in bad and not bad & set(l["inputs"])]
        expect("cumulative runs", sum(not r["isolated"] for r in mine), 1)
        rest = [r for r in mine if r["isolated"] and r["cpumask"] != 0]
        expect("sample %d: layers run once more" % sample,
               sorted(k for r in rest for k in r["layers"]),
               [l["index"] for l in again])
        inputs = {t for l in again for t in l["inputs"]}
        sent = [t for r in rest for t in r["tensors"]]
        expect("sample %d: tensors sent" % sample, len(sent), len(inputs))
        expect("sample %d: bytes sent" % sample, sum(b for _, b in sent),
               sum(len(ref[t]) for t in inputs if t in ref))
        count["layers"] += len(again)
        count["tensors"] += len(sent)
        count["bytes"] += sum(b for _, b in sent)
        for r in mine:
            if r["cpumask"] == 0:
                scalar += len(r["layers"])
                if not set(first) <= set(r["layers"]) <= set(first) | {
                        l["index"] for l in again}:
                    sys.exit("scalar kernels ran %s" % r["layers"])
    expect("reruns of the report", report["reruns"]["cpu"], count)
    expect("scalar reruns of the report",
           report["reruns"]["cpu-scalar"]["layers"], scalar)
    print("%d again, %d masked, %d scalar" % (count["layers"], masked, scalar))


main()
