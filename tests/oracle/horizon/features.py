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
    *[pairs(op, (I8,), (I8, I16, I32)) for op in (
        "HzSQuantizedMatmul", "HzSQuantizedGlobalAveragePool")],
    pairs("HzQuantizedComparison", (I8, I16), (I8,)),
    pairs("HzLut2Layer", (I16,), (I8, I16)),
    *[{"%s %s to %s" % (op, t, t) for t in ("int8", "int16")} for op in (
        "HzQuantizedArgMax", "HzQuantizedBitShift", "HzPad",
        "HzChannelShuffle", "Pad", "Resize")],
    {"Pad float32 to float32", "Resize float32 to float32",
     "Mean float32 to float32", "Sum float32 to float32"},
    *[pairs(op, (I8,), (I8, I16)) for op in (
        "HzSQuantizedReduceMean", "HzSQuantizedReduceSum")],
    {"conv " + k for k in (
        "1x1", "of one channel", "of 33 channels", "groups", "depthwise",
        "depthwise times 2", "dilation", "stride 3", "lopsided pads",
        "window in the padding", "batch", "relu", "one entry for all",
        "sumin", "sumin is x", "sumin shifted left", "sumin shifted right",
        "sumin of int16 x", "sumin with 32 bits", "sumin of int16",
        "sumin of int8 and int16", "bias scaled",
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
    {"pool ceil_mode", "pool lopsided pads"},
    {"preprocess of channel_group %d" % k for k in (1, 3)},
    {"shift " + k for k in ("LEFT", "RIGHT", "one for all",
                            "one a channel", "LEFT saturates")},
    {"compare " + k for k in ("Greater", "GreaterOrEqual", "Less",
                              "LessOrEqual", "Equal", "broadcast",
                              "equals")},
    {"%s %s" % (p, k) for p in ("HzPad", "Pad") for k in (
        "constant", "reflect", "edge", "one axis", "several axes")},
    {"HzPad value", "argmax wraps", "table int8 saturates",
     "depth to space DCR", "depth to space CRD", "slice backwards"},
    {"several of %d" % k for k in (1, 2, 3, 4)}, {"several broadcast"},
    {"nearest " + k for k in ("asymmetric floor", "half_pixel", "sizes",
                              "align_corners", "down")})


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
        e = have[proto.input[4]]
        for name, there in (
                ("is x", proto.input[4] == proto.input[0]),
                ("shifted left", max(a["e_shift"]) > 0),
                ("shifted right", min(a["e_shift"]) < 0),
                ("of int16 x", x.dtype == I16),
                ("of int16", e.dtype == I16),
                ("of int8 and int16", e.dtype == I16 and x.dtype == I8),
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
        if y.dtype == I8 and np.isin(y, (-128, 127)).any():
            add("table int8 saturates")
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


FORMS = {"HzQuantizedBitShift", "HzQuantizedComparison", "HzPad", "Pad",
         "HzQuantizedArgMax", "HzDepthToSpace", "Slice", "Mean", "Sum",
         "Resize", "HzSQuantizedPreprocess"}


def form_names(op, a, ins, y):
    """(name, is it there?) of what layers_forms.py makes, and its like."""
    x = ins[0]
    if op == "HzQuantizedBitShift":
        n = np.array(a["shift"])
        return [(a["direction"], True), ("one for all", n.size == 1),
                ("one a channel", n.size > 1), ("LEFT saturates", (
                    a["direction"] == "LEFT" and
                    (y != (x.astype(np.int64) << n)).any()))]
    if op == "HzQuantizedComparison":
        return [(a["comparison"], True), ("equals", (ins[0] == ins[1]).any()),
                ("broadcast", x.shape != ins[1].shape)]
    if op in ("HzPad", "Pad"):
        axes = sum(s != t for s, t in zip(x.shape, y.shape))
        return [(a.get("mode", "constant"), True), ("one axis", axes == 1),
                ("several axes", axes > 1),
                ("value", len(ins) == 2 and ins[1].any())]
    if op == "HzQuantizedArgMax":
        return [("wraps", (y < 0).any())]
    if op == "HzDepthToSpace":
        return [(a["mode"], True)]
    if op == "Slice":
        return [("backwards", len(ins) > 4 and (ins[4] < 0).any())]
    if op == "HzSQuantizedPreprocess":
        return [("of channel_group %d" % a["channel_group"], True)]
    if op == "Resize":
        how = a["coordinate_transformation_mode"]
        return [(how, True), (how + " " + a["nearest_mode"], True),
                ("sizes", len(ins) > 3),
                ("down", np.less(y.shape, x.shape).any())]
    return [("of %d" % len(ins), True),
            ("broadcast", len({v.shape for v in ins}) > 1)]


def forms(model, proto, node, have, add):
    ins = [have[i] if i in have else model.const[i] for i in proto.input]
    stem = {"HzQuantizedBitShift": "shift", "HzQuantizedArgMax": "argmax",
            "HzQuantizedComparison": "compare", "Slice": "slice",
            "HzDepthToSpace": "depth to space", "Mean": "several",
            "Sum": "several", "Resize": "nearest",
            "HzSQuantizedPreprocess": "preprocess"}.get(node.op, node.op)
    for name, there in form_names(node.op, node.attrs, ins,
                                  have[proto.output[0]]):
        if there:
            add("%s %s" % (stem, name))


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
            elif node.op in FORMS:
                forms(model, proto, node, have, add)
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
