#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many elements of a stand-in tell one numerics from another.

    differ.py NUMERICS... [--net mobile] [--detail]

The model is made under the first of each pair and every operation evaluated
under the second on the first one's tensors. Fails where a form of which both
have a rule, not the same, is not told apart.
"""
import argparse
import collections
import sys

import numpy as np

import nets
from executor import Executor
from rule import Numerics

FORMS = {"b30.conv2d": "conv", "b30.linear": "linear", "b30.lut": "lut",
         "b30.matmul": "matmul", "b30.rescale": "rescale",
         "b30.resize2d": "resize", "b30.warp": "grid_sample",
         "b30.grid_sample": "grid_sample", "b30.reduce": "reduce"}


def form(op):
    out = op.outputs[0]
    if op.name in ("b30.conv2d", "b30.linear") and out.dtype == "si32":
        return FORMS[op.name] + "_tail"
    if op.name == "b30.lut" and len(op.inputs) == 3:
        return "lut_segments"
    if op.name == "b30.reduce" and op.attrs["mode"] not in ("sum", "mean"):
        return ""
    if op.name == "b30.pool2d":
        return "" if "max" in op.attrs["mode"] else "avg_pool"
    if op.name == "b30.binary_eltwise":
        mode = op.attrs["mode"]
        return mode if mode in ("add", "sub", "mul") else ""
    if op.attrs.get("signature", "").startswith("quant::quantize"):
        return "quantize"
    if out.dtype[0] == "f" or op.attrs.get("mode") == "nearest":
        return ""
    return FORMS.get(op.name, "")


def pair(net, other, detail):
    """{form: [elements, differing]}"""
    rows = collections.defaultdict(lambda: [0, 0])
    ex = Executor(other)
    for op in net.g.ops:
        name, bad, count = form(op), 0, 0
        if not name:
            continue
        for have in net.have:
            want = have[op.outputs[0]]
            bad += int((ex.run(op, have) != want).sum())
            count += want.size
        rows[name][0] += count
        rows[name][1] += bad
        if detail:
            print("  %s %s: %d of %d" % (name, op.outputs[0].name, bad,
                                         count))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("numerics", nargs="+")
    parser.add_argument("--net", default="mobile")
    parser.add_argument("--detail", action="store_true")
    args = parser.parse_args()
    all_of = [Numerics(p) for p in args.numerics]
    faults = []
    for a in all_of:
        net = getattr(nets, args.net)(a)
        for b in all_of:
            if a is b:
                continue
            rows = pair(net, b, args.detail)
            for name, (count, bad) in sorted(rows.items()):
                same = a.rule(name).text == b.rule(name).text
                if not bad and not same and not name.endswith("_tail"):
                    faults.append("%s as %s: %s" % (a.name, b.name, name))
            print("%s as %s: %d of %d elements differ: %s" % (
                a.name, b.name, sum(r[1] for r in rows.values()),
                sum(r[0] for r in rows.values()),
                ", ".join("%s %d/%d" % (k, r[1], r[0])
                          for k, r in sorted(rows.items()))))
    if faults:
        sys.exit("not told apart: " + "; ".join(faults))
    print("%d numerics are told apart in every form" % len(all_of))


if __name__ == "__main__":
    main()
