#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Evaluate fixed-point models in exact integers and judge golden tensors.

    executor.py CASE...

Every node of CASE/model.onnx is evaluated on golden inputs, for every sample;
prints elements and differing elements of each kind of node, and fails when
one differs (floats of a Softmax: by more than 1e-5).
"""
import argparse
import collections
import glob
import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import ops
from rules import DEFAULT

CPU_FLOAT = {"Softmax"}


class Model:
    """Nodes in order, constants, and the type and shape of every tensor."""

    def __init__(self, proto):
        graph = proto.graph
        self.const = {i.name: numpy_helper.to_array(i)
                      for i in graph.initializer}
        self.typed = {}
        for v in (list(graph.input) + list(graph.output) +
                  list(graph.value_info)):
            t = v.type.tensor_type
            self.typed[v.name] = (
                helper.tensor_dtype_to_np_dtype(t.elem_type),
                tuple(d.dim_value for d in t.shape.dim))
        self.nodes = [(n, ops.Node(n.op_type, attributes(n)))
                      for n in graph.node]
        self.inputs = [v.name for v in graph.input
                       if v.name not in self.const]

    def run(self, k, have, rules):
        """Outputs of node k on the tensors in `have`."""
        proto, node = self.nodes[k]
        inputs = [None if not name else
                  self.const[name] if name in self.const else have[name]
                  for name in proto.input]
        typed = [self.typed[name] for name in proto.output]
        outputs = ops.run(node, inputs, [t for t, _ in typed], rules)
        for name, v, (_, shape) in zip(proto.output, outputs, typed):
            if v.shape != shape:
                raise ValueError("%s: shape %s, the model says %s" %
                                 (name, v.shape, shape))
        return outputs


def attributes(proto):
    out = {}
    for a in proto.attribute:
        v = helper.get_attribute_value(a)
        out[a.name] = v.decode() if isinstance(v, bytes) else v
    return out


def load(case):
    return Model(onnx.load(os.path.join(case, "model.onnx")))


def samples(case):
    """(number, every tensor that the sample has) in order."""
    for path in sorted(glob.glob(os.path.join(case, "golden", "*.npz"))):
        name = os.path.basename(path)
        with np.load(path) as golden:
            have = dict(golden)
        with np.load(os.path.join(case, "inputs", name)) as inputs:
            have.update(inputs)
        yield name[:-4], have


def differing(got, want):
    if got.shape != want.shape:
        return want.size
    if got.dtype.kind == "f":
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        return int((~same).sum())
    return int((got != want).sum())


def judge(case, rows, rules=DEFAULT):
    model, faults = load(case), 0
    for sample, have in samples(case):
        for k, (proto, node) in enumerate(model.nodes):
            try:
                outputs = model.run(k, have, rules)
            except (KeyError, ValueError, IndexError) as e:
                print("%s %s: %s" % (case, proto.name, e))
                rows[node.op][2] += 1
                faults += 1
                continue
            for name, got in zip(proto.output, outputs):
                want = have[name]
                bad = differing(got, want)
                if node.op in CPU_FLOAT and got.shape == want.shape:
                    bad = int((np.abs(got - want) > 1e-5).sum())
                rows[node.op][0] += want.size
                rows[node.op][1] += bad
                if bad:
                    faults += 1
                    print("%s %s %s '%s': %d of %d differ" % (
                        case, sample, node.op, name, bad, want.size))
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="+")
    args = parser.parse_args()
    rows = collections.defaultdict(lambda: [0, 0, 0])
    faults = sum(judge(case, rows) for case in args.case)
    for op, (count, bad, lost) in sorted(rows.items()):
        print("%-32s %9d elements %6d differ%s" % (
            op, count, bad, " %d not evaluated" % lost if lost else ""))
    print("%d elements, %d differ, %d not evaluated" % tuple(
        sum(r[i] for r in rows.values()) for i in range(3)))
    sys.exit(1 if faults or not rows else 0)


if __name__ == "__main__":
    main()
