#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do generated models hold what they are meant to hold? features.py CASE...

Counts nodes by feature, and fails when one that is expected is absent.
"""
import collections
import itertools
import sys

import numpy as np

import executor
from layers_more import I8, I16

I32 = np.int32
CONV = "HzSQuantizedConv"


def pairs(op, ins, outs):
    return {"%s %s to %s" % (op, np.dtype(i).name, np.dtype(o).name)
            for i, o in itertools.product(ins, outs)}


EXPECTED = set().union(
    pairs(CONV, (I8, I16), (I8, I16, I32)),
    *[pairs(op, (I8, I16), (I8, I16)) for op in (
        "HzSElementwiseAdd", "HzSElementwiseSub", "HzSElementwiseMul",
        "HzRequantize")],
    *[pairs(op, (I8,), (I8, I16)) for op in (
        "HzSQuantizedMatmul", "HzSQuantizedGlobalAveragePool",
        "HzSQuantizedReduceMean", "HzSQuantizedReduceSum")],
    {"conv " + k for k in (
        "1x1", "of one channel", "of 33 channels", "groups", "depthwise",
        "depthwise times 2", "dilation", "stride 3", "lopsided pads",
        "window in the padding", "batch", "relu", "one entry for all",
        "sumin", "sumin is x", "sumin shifted left", "sumin shifted right",
        "sumin of int16 x", "sumin with 32 bits", "bias scaled",
        "accumulator wraps", "16-bit saturation")},
    {"deconv " + k for k in ("groups", "depthwise", "lopsided pads",
                             "output padding", "relu", "stride 1",
                             "stride 3")},
    {"elementwise " + k for k in (
        "constant first", "constant second", "both the same", "broadcast",
        "no data format", "int8 and int16", "rank 2", "rank 3",
        "second shifted", "negative scale", "accumulator wraps")},
    {"table " + k for k in ("NONE", "ORIGIN_SYMMETRIC", "Y_SYMMETRIC")},
    {"resize " + k for k in ("center", "origin", "given_step", "twice",
                             "down", "up")},
    {"grid " + k for k in ("zeros", "border", "nearest", "cut")},
    {"pool ceil_mode", "pool lopsided pads"})


def conv(model, proto, node, have, add):
    x, w = have[proto.input[0]], model.const[proto.input[1]]
    y, a = have[proto.output[0]], node.attrs
    k, s, d = a["kernel_shape"], a["strides"], a["dilations"]
    t, l, b, r = a["pads"]
    extent = [(k[i] - 1) * d[i] + 1 for i in range(2)]
    depthwise = a["group"] == x.shape[3] > 1
    for name, there in (
            ("1x1", k == [1, 1]), ("of one channel", x.shape[3] == 1),
            ("of 33 channels", 33 in (x.shape[3], w.shape[0])),
            ("groups", 1 < a["group"] < x.shape[3]),
            ("depthwise", depthwise),
            ("depthwise times 2", depthwise and w.shape[0] == 2 * x.shape[3]),
            ("dilation", max(d) > 1), ("stride 3", max(s) > 2),
            ("lopsided pads", (t, l) != (b, r)),
            ("window in the padding", max(t, b) >= extent[0] or
             max(l, r) >= extent[1]),
            ("batch", x.shape[0] > 1), ("relu", a.get("activation")),
            ("one entry for all", w.shape[0] > 1 and
             len(a.get("scale", [0, 0])) == 1),
            ("bias scaled", model.const[proto.input[3]].any())):
        if there:
            add("conv " + name)
    plain = dict(a, high_precision_output=1)
    plain.pop("activation", None)
    raw = executor.ops.conv(plain, [
        have[i] if i in have else model.const[i] for i in proto.input],
        [np.int64], dict(executor.DEFAULT, **{"conv.acc": "saturate"}))[0]
    if (np.abs(raw) >= 2 ** 31 - 1).any():
        add("conv accumulator wraps")
    if a.get("use_sumin"):
        add("conv sumin")
        for name, there in (
                ("is x", proto.input[4] == proto.input[0]),
                ("shifted left", max(a["e_shift"]) > 0),
                ("shifted right", min(a["e_shift"]) < 0),
                ("of int16 x", x.dtype == I16),
                ("with 32 bits", y.dtype == I32)):
            if there:
                add("conv sumin " + name)
    elif y.dtype != I32 and (np.abs(
            raw >> np.array(a["right_shift"])) > 32768).any():
        add("conv 16-bit saturation")


def deconv(node, add):
    a = node.attrs
    for name, there in (
            ("groups", a["group"] > 1), ("depthwise", a["group"] > 4),
            ("lopsided pads", a["pads"][:2] != a["pads"][2:]),
            ("output padding", any(a["output_padding"])),
            ("relu", a.get("activation")), ("stride 1", 1 in a["strides"]),
            ("stride 3", 3 in a["strides"])):
        if there:
            add("deconv " + name)


def elementwise(model, proto, node, have, add):
    x, e = [have[i] if i in have else model.const[i] for i in proto.input]
    a = node.attrs
    for name, there in (
            ("constant first", proto.input[0] in model.const),
            ("constant second", proto.input[1] in model.const),
            ("both the same", proto.input[0] == proto.input[1]),
            ("broadcast", x.shape != e.shape),
            ("no data format", "data_format" not in a),
            ("int8 and int16", x.dtype != e.dtype),
            ("rank 2", x.ndim == 2), ("rank 3", x.ndim == 3),
            ("second shifted", max(a.get("e_shift", [0])) > 0),
            ("negative scale", min(a["output_scale"]) < 0)):
        if there:
            add("elementwise " + name)
    if "x_shift" in a:
        top = x.astype(np.int64) << np.array(a["x_shift"])
        if (np.abs(top) > 2 ** 31).any():
            add("elementwise accumulator wraps")


def other(proto, node, have, add):
    a, y = node.attrs, have[proto.output[0]]
    x = have[proto.input[0]]
    if node.op == "HzLut2Layer":
        add("table " + a["symmetry_mode"])
    elif node.op == "HzQuantizedRoiResize":
        add("resize " + a["align_mode"])
        add("resize up" if y.shape[1] > x.shape[1] else "resize down")
        if a["is_interpolate_twice"]:
            add("resize twice")
    elif node.op == "HzQuantizedGridSample":
        add("grid " + a["padding_mode"])
        if a["mode"] == "nearest":
            add("grid nearest")
        elif not a["output_round"]:
            add("grid cut")
    elif node.op in ("HzQuantizedMaxPool", "HzQuantizedAveragePool"):
        if a.get("ceil_mode"):
            add("pool ceil_mode")
        if a["pads"][:2] != a["pads"][2:]:
            add("pool lopsided pads")


def main():
    count = collections.Counter()
    for case in sys.argv[1:]:
        model = executor.load(case)
        _, have = list(executor.samples(case))[-1]
        for proto, node in model.nodes:
            first = proto.input[0]
            x = have[first] if first in have else model.const[first]
            count["%s %s to %s" % (node.op, x.dtype.name,
                                   have[proto.output[0]].dtype.name)] += 1

            def add(name):
                count[name] += 1
            if node.op == CONV:
                conv(model, proto, node, have, add)
            elif node.op == "HzSQuantizedConvTranspose":
                deconv(node, add)
            elif node.op.startswith("HzSElementwise"):
                elementwise(model, proto, node, have, add)
            else:
                other(proto, node, have, add)
    for name, n in sorted(count.items()):
        print("%-55s %5d" % (name, n))
    absent = sorted(EXPECTED - set(count))
    for name in absent:
        print("absent: %s" % name)
    print("%d features expected, %d absent" % (len(EXPECTED), len(absent)))
    sys.exit(1 if absent else 0)


if __name__ == "__main__":
    main()
