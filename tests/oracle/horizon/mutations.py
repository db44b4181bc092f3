#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the generated data can tell apart: alter one rule, count what changes.

    mutations.py [--doc FILE] CASE...

Prints a table: for each altered rule and each kind of node, the golden
elements that change when that rule alone is altered in the executor (every
node on golden inputs), and fails when a cell is 0. With --doc, the lines
between the two marks of FILE have to be this table (--write: are made so).
"""
import argparse
import collections
import os
import sys

import executor
from rules import DEFAULT

BEGIN = "<!-- mutations: begin (tests/oracle/horizon/mutations.py) -->"
END = "<!-- mutations: end -->"

OPS = {"conv": "HzSQuantizedConv", "deconv": "HzSQuantizedConvTranspose",
       "preprocess": "HzSQuantizedPreprocess", "add": "HzSElementwiseAdd",
       "sub": "HzSElementwiseSub", "mul": "HzSElementwiseMul",
       "requantize": "HzRequantize", "matmul": "HzSQuantizedMatmul",
       "mean": "HzSQuantizedReduceMean", "sum": "HzSQuantizedReduceSum",
       "gap": "HzSQuantizedGlobalAveragePool", "prelu": "HzSPRelu",
       "lut16": "HzLut2Layer", "avgpool": "HzQuantizedAveragePool",
       "resize": "HzQuantizedRoiResize", "grid": "HzQuantizedGridSample",
       "quantize": "HzQuantize", "argmax": "HzQuantizedArgMax",
       "bitshift": "HzQuantizedBitShift", "compare": "HzQuantizedComparison",
       "pad": "HzPad", "d2s": "HzDepthToSpace", "nearest": "Resize",
       "shuffle": "HzChannelShuffle"}


def families():
    """(altered rule, op, {rule name: value}): one cell of the table each."""
    out = []
    rounded = collections.OrderedDict()
    for name, value in DEFAULT.items():
        if value in ("half_up", "floor") and not name.endswith((
                ".step", "conv.sumin")):
            rounded.setdefault((value, name.split(".")[0]), []).append(name)
    for value, others in (("half_up", ("half_even", "half_away", "floor")),
                          ("floor", ("half_up",))):
        for other in others:
            for (was, op), names in rounded.items():
                if was == value:
                    out.append(("%s instead of %s" % (
                        other.replace("_", "-"), value.replace("_", "-")),
                        op, dict.fromkeys(names, other)))
    for rule in DEFAULT:
        op, what = rule.split(".")
        if what == "s16":
            out.append(("no 16-bit saturation between the shifts", op,
                        {rule: False}))
        elif what == "acc":
            out.append(("accumulator saturates at 32 bits", op,
                        {rule: "saturate"}))
    out += [
        ("second input of a convolution: half-up", "conv",
         {"conv.sumin": "half_up"}),
        ("excess padding of an int16 convolution is 128", "conv",
         {"conv.excess": 128}),
        ("grid: one rounding an axis", "grid", {"grid.axes": "one each"}),
        ("grid: border not clamped", "grid", {"grid.border": "open"}),
        ("quantize: half-up", "quantize", {"quantize.round": "half_up"}),
        ("quantize: times 1/scale", "quantize", {"quantize.by": "inverse"}),
        ("argmax: the last maximum", "argmax", {"argmax.of": "last"}),
        ("argmax: the index saturates", "argmax",
         {"argmax.index": "saturate"}),
        ("bit shift: to the left it wraps", "bitshift",
         {"bitshift.left": "wraps"}),
        ("comparison: equals count always", "compare",
         {"compare.equals": "count"}),
        ("comparison: equals never count", "compare",
         {"compare.equals": "do not"}),
        ("pad: the value is 0", "pad", {"pad.value": "zero"}),
        ("pad: reflect repeats the border", "pad",
         {"pad.reflect": "with the border"}),
        ("depth to space: CRD is DCR", "d2s", {"d2s.crd": "channel last"}),
        ("channel shuffle: the other way", "shuffle",
         {"shuffle.to": "apart"}),
        ("nearest resize: always half_pixel", "nearest",
         {"nearest.place": "half_pixel"}),
        ("prelu: no saturation", "prelu", {"prelu.sat": False}),
        ("int16 table: -(-32768) is not saturated", "lut16",
         {"lut16.negated": "wraps"}),
        ("int16 table: |-32768| is not saturated", "lut16",
         {"lut16.size": "exact"}),
        ("table of int16 to int8: the value wraps", "lut16",
         {"lut16.int8": "wraps"}),
        ("resize: 10-bit weights", "resize", {"resize.weight_bits": 10}),
        ("resize: the step is rounded", "resize", {"resize.step": "nearest"}),
        ("average pool: the sum is divided", "avgpool",
         {"avgpool.factor": "divided"})]
    return out


def nodes_of(cases):
    """op: [(model, node number, tensors)] over all samples."""
    out = collections.defaultdict(list)
    for case in cases:
        model = executor.load(case)
        for _, have in executor.samples(case):
            for k, (_, node) in enumerate(model.nodes):
                out[node.op].append((model, k, have))
    return out


def changed(nodes, rules):
    """(elements that change, elements)"""
    bad = count = 0
    for model, k, have in nodes:
        outputs = model.run(k, have, rules)
        for name, got in zip(model.nodes[k][0].output, outputs):
            bad += executor.differing(got, have[name])
            count += got.size
    return bad, count


def table(cases):
    nodes = nodes_of(cases)
    rows, empty = collections.OrderedDict(), []
    for title, op, change in families():
        bad, count = changed(nodes[OPS[op]], dict(DEFAULT, **change))
        rows.setdefault(title, []).append("%s %d/%d" % (op, bad, count))
        if not bad:
            empty.append("%s, %s" % (title, op))
    lines = ["| altered rule | golden elements that change, of all |",
             "|---|---|"]
    lines += ["| %s | %s |" % (t, ", ".join(r)) for t, r in rows.items()]
    return lines, len(families()), empty


def document(path, lines, write):
    """Is the table in the document? With `write`, it is put there."""
    with open(path, encoding="utf-8") as f:
        text = f.read().split("\n")
    a, z = text.index(BEGIN), text.index(END)
    new = text[:a + 1] + lines + text[z:]
    if write:
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write("\n".join(new))
        os.replace(path + ".new", path)
    return write or new == text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--doc")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("case", nargs="+")
    args = parser.parse_args()
    lines, cells, empty = table(args.case)
    print("\n".join(lines))
    for cell in empty:
        print("nothing changes: %s" % cell)
    same = not args.doc or document(args.doc, lines, args.write)
    if not same:
        print("'%s' has another table: run with --write" % args.doc)
    print("%d cells, %d without effect" % (cells, len(empty)))
    sys.exit(1 if empty or not same else 0)


if __name__ == "__main__":
    main()
