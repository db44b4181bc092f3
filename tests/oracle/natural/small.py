#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models on which onnxruntime differs from itself: another CPU, or the
literal form of a QDQ model.

    small.py FOLDER     writes NAME.onnx and NAME.npz (inputs) for each name

depthwise  int8, many -128 in both operands: the aarch64 kernel sums every
           other product in 16 bits
pairs      uint8 by int8, large weights: on x86 with AVX2 and no VNNI the
           16-bit sums of two products saturate
add        all 65,536 pairs of uint8: other forms on x86 and on aarch64
pool       average of 2x2: the literal form sums floats by columns
float      int16 convolutions 1x1 (136 products), depthwise, 3x3: the literal form
           sums binary32, in several orders
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

F = np.float32
CODES = {np.int8: T.INT8, np.uint8: T.UINT8, np.int16: T.INT16, F: T.FLOAT}


class Graph:
    def __init__(self, opset=13):
        self.opset, self.nodes, self.constants = opset, [], []

    def const(self, value):
        name = "c%d" % len(self.constants)
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def quant(self, scale, zero):
        return [self.const(F(scale)), self.const(zero)]

    def node(self, op, inputs, output, name=None, domain="", **attributes):
        self.nodes.append(helper.make_node(
            op, inputs, [output], name=name or output, domain=domain,
            **attributes))
        return output

    def save(self, path, inputs, outputs):
        def info(name, kind, shape):
            return helper.make_tensor_value_info(name, CODES[kind], shape)
        g = helper.make_graph(self.nodes, "small", [info(*i) for i in inputs],
                              [info(*o) for o in outputs], self.constants)
        m = helper.make_model(g, ir_version=8, opset_imports=[
            helper.make_opsetid("", self.opset),
            helper.make_opsetid("com.microsoft", 1)])
        onnx.checker.check_model(m)
        onnx.save(m, path)


def often(rng, shape, dtype, value, share):
    """Random integers, a share of them `value`."""
    i = np.iinfo(dtype)
    x = rng.integers(i.min, i.max + 1, shape).astype(dtype)
    x[rng.random(shape) < share] = value
    return x


def depthwise(rng):
    c, g = 16, Graph()
    w = often(rng, (c, 1, 3, 3), np.int8, -128, 0.7)
    w[0] = -128
    g.node("QLinearConv",
           ["x"] + g.quant(1, np.int8(3)) + [g.const(w)] +
           g.quant(1, np.int8(0)) + g.quant(9 * 16384 / 126, np.int8(0)),
           "y", "depthwise", kernel_shape=[3, 3], group=c, pads=[1, 1, 1, 1])
    x = often(rng, (4, c, 7, 7), np.int8, -128, 0.6)
    x[0] = -128  # all of them: 126 where nothing wraps, and -98
    return g, [("x", np.int8, [1, c, 7, 7])], [("y", np.int8, [1, c, 7, 7])], \
        {"x": x}


def pairs(rng):
    c, oc, g = 5, 8, Graph()
    w = rng.integers(-127, 128, (oc, c, 3, 3)).astype(np.int8)
    g.node("QLinearConv",
           ["x"] + g.quant(1, np.uint8(7)) + [g.const(w)] +
           g.quant(1, np.int8(0)) + g.quant(1500, np.uint8(120)), "y", "pairs",
           kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    x = often(rng, (2, c, 8, 8), np.uint8, 255, 0.4)
    return g, [("x", np.uint8, [1, c, 8, 8])], \
        [("y", np.uint8, [1, oc, 8, 8])], {"x": x}


def add(rng):
    """All pairs of uint8, with scales of an addition of the classifier."""
    g, shape = Graph(), [1, 16, 64, 64]
    g.node("QLinearAdd",
           ["a"] + g.quant(0.0470588244497776, np.uint8(133)) +
           ["b"] + g.quant(0.0235294122248888, np.uint8(128)) +
           g.quant(0.0627451017498970, np.uint8(127)), "y", "add",
           "com.microsoft")
    n = np.arange(65536)
    return g, [(k, np.uint8, shape) for k in "ab"], \
        [("y", np.uint8, shape)], \
        {"a": (n >> 8).astype(np.uint8).reshape(shape),
         "b": (n & 255).astype(np.uint8).reshape(shape)}


def dequantized(g, value, scale, zero, **attributes):
    """A constant behind DequantizeLinear."""
    return g.node("DequantizeLinear",
                  [g.const(value), g.const(np.asarray(scale, F)),
                   g.const(zero)], "d%d" % len(g.nodes), **attributes)


def island(g, x, out, quant, op, extra=(), **attributes):
    """DequantizeLinear, op, QuantizeLinear around a quantized tensor."""
    f = g.node("DequantizeLinear", [x] + quant["in"], out + "_in")
    y = g.node(op, [f] + list(extra), out + "_float", out, **attributes)
    return g.node("QuantizeLinear", [y] + quant["out"], out + "_q")


def pool(rng):
    g, c = Graph(), 8
    q = g.quant(0.17291461, np.int8(0))
    x = g.node("QuantizeLinear", ["x"] + q, "x_q")
    y = island(g, x, "pool", {"in": q, "out": q}, "AveragePool",
               kernel_shape=[2, 2], strides=[2, 2])
    g.node("DequantizeLinear", [y] + q, "y")
    x = rng.integers(-128, 128, (4, c, 8, 8)).astype(F) * F(0.17291461)
    return g, [("x", F, [1, c, 8, 8])], [("y", F, [1, c, 4, 4])], {"x": x}


def convolution(rng, g, x, name, quant, shape, scale_in, **attributes):
    oc = shape[0]
    w = rng.integers(-127, 128, shape).astype(np.int8)
    scale = ((0.5 + rng.random(oc)) / 100 / np.prod(shape[1:]) ** 0.5).astype(F)
    bias = rng.integers(-100000, 100000, oc).astype(np.int32)
    return island(g, x, name, quant, "Conv", [
        dequantized(g, w, scale, np.zeros(oc, np.int8), axis=0),
        dequantized(g, bias, F(scale_in) * scale, np.zeros(oc, np.int32),
                    axis=0)], kernel_shape=shape[2:], strides=[1, 1],
        **attributes)


def floats(rng):
    g, c, oc, scales = Graph(21), 136, 8, (0.0003, 0.0003, 0.0002, 0.0002)
    q = [g.quant(s, np.int16(0)) for s in scales]
    y = g.node("QuantizeLinear", ["x"] + q[0], "x_q")
    y = convolution(rng, g, y, "point", {"in": q[0], "out": q[1]},
                    (oc, c, 1, 1), scales[0], pads=[0, 0, 0, 0])
    y = convolution(rng, g, y, "depthwise", {"in": q[1], "out": q[2]},
                    (oc, 1, 3, 3), scales[1], group=oc, pads=[1, 1, 1, 1])
    y = convolution(rng, g, y, "conv", {"in": q[2], "out": q[3]},
                    (oc, oc, 3, 3), scales[2], pads=[1, 1, 1, 1])
    g.node("DequantizeLinear", [y] + q[3], "y")
    # A few distinct values, so that the file is small.
    few = rng.integers(-32768, 32768, 4)
    x = few[rng.integers(0, 4, (3, c, 9, 9))].astype(F) * F(scales[0])
    return g, [("x", F, [1, c, 9, 9])], [("y", F, [1, oc, 9, 9])], {"x": x}


# Of float, a seed on which every order shows itself.
SEEDS = {"float": 5}
MODELS = {"depthwise": depthwise, "pairs": pairs, "add": add,
          "pool": pool, "float": floats}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, make in MODELS.items():
        g, inputs, outputs, arrays = make(
            np.random.default_rng(SEEDS.get(name, 1)))
        g.save(os.path.join(folder, name + ".onnx"), inputs, outputs)
        np.savez_compressed(os.path.join(folder, name + ".npz"), **arrays)


if __name__ == "__main__":
    main()
