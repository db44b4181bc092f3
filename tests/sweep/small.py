# SPDX-License-Identifier: Apache-2.0
"""Models of a few layers side by side, for causes that no layer of the others
can have: real weights (of tests/data/digits) under scales, zero points and
inputs that are rare there. What is rare is said where it is made.
"""
import math
import os
import random
import re
import struct

import npz
import wire

SEED = 20261203
MS = "com.microsoft"
SAMPLES = 2


def array(descr, shape, values):
    code = {"<f4": "f", "|u1": "B", "|i1": "b", "<i2": "h", "<i4": "i"}[descr]
    return npz.Array(descr, shape, struct.pack("<%d%s" % (len(values), code),
                                               *values))


def like(descr, shape):
    """Only its type and shape count."""
    return npz.Array(descr, shape, b"")


def f32(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


class Small:
    """A model in the making: layers that read the same inputs."""

    def __init__(self, name, root):
        self.name = name
        self.rng = random.Random("%d %s" % (SEED, name))
        self.weights = wire.constants(os.path.join(
            root, "tests", "data", "digits", "model.onnx"))
        self.nodes, self.inputs, self.outputs, self.constants = [], {}, {}, {}
        self.samples = [{} for _ in range(SAMPLES)]
        self.opset, self.domains, self.layers = 13, [MS], []
        self.is_quantized = True  # for onnxruntime: --numerics says how

    def input(self, name, descr, shape, draw):
        """draw() gives an element."""
        self.inputs[name] = like(descr, shape)
        for s in self.samples:
            s[name] = array(descr, shape, [draw() for _ in
                                           range(math.prod(shape))])
        return name

    def constant(self, name, a):
        self.constants[name] = a
        return name

    def scale(self, name, *values):
        shape = [] if len(values) == 1 else [len(values)]
        return self.constant(name, array("<f4", shape, values))

    def zero(self, name, descr, *values):
        shape = [] if len(values) == 1 else [len(values)]
        return self.constant(name, array(descr, shape, values))

    def layer(self, op, name, inputs, descr, shape, domain="", **attrs):
        self.nodes.append(wire.node(op, name, inputs, [name + ".y"], domain,
                                    **attrs))
        self.outputs[name + ".y"] = like(descr, shape)
        self.layers.append(name)

    def conv(self, name, x, weights, sw, sy, zy=0, group=1):
        """QLinearConv of int8 with the weights of a layer of digits; sw: the
        scale of each channel."""
        w = self.weights[weights + ".w_quantized"]
        out, _, kh, kw = w.shape
        n, _, h, wd = self.inputs[x].shape
        self.constant(name + ".w", w)
        self.layer("QLinearConv", name, [
            x, self.scale(name + ".sx", 1.0), self.zero(name + ".zx", "|i1", 0),
            name + ".w", self.scale(name + ".sw", *sw),
            self.zero(name + ".zw", "|i1", *[0] * out),
            self.scale(name + ".sy", sy), self.zero(name + ".zy", "|i1", zy),
            self.constant(name + ".b", self.weights[weights + ".b_quantized"])],
            "|i1", (n, out, h, wd), group=group, kernel_shape=[kh, kw],
            pads=[kh // 2, kw // 2] * 2)

    def write(self, folder):
        """(model, inputs)"""
        folder = os.path.join(folder, "small", self.name)
        inputs = os.path.join(folder, "inputs")
        os.makedirs(inputs)
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as f:
            f.write(wire.model(self.nodes, self.inputs, self.outputs,
                               self.constants, self.opset, self.domains))
        for i, s in enumerate(self.samples):
            npz.write("%s/%04d.npz" % (inputs, i), s)
        return path, inputs


CONVS = (("conv3x3", "conv2", 1), ("depthwise", "dw3", 16),
         ("pointwise", "pw4", 1))


def convs(m, sw, sy, zy=0):
    """Three convolutions of one input; sw(channel)."""
    x = m.input("x", "|i1", (1, 16, 8, 8), lambda: m.rng.randint(-127, 127))
    for name, weights, group in CONVS:
        out = m.weights[weights + ".w_quantized"].shape[0]
        m.conv(name, x, weights, [sw(c) for c in range(out)], sy, zy, group)


def above_one(m):
    """Scales far above 1: left shifts leave 32 bits, and products 33."""
    convs(m, lambda c: 1 + c / 64, 2.0 ** -15)


def powers_of_two(m):
    """Scales of a power of two: products end on ties, which else are rare."""
    convs(m, lambda c: 1.0, 2.0 ** 8)


def odd_zero(m):
    """The same with an odd zero point, which a tie sees when it is added
    before rounding; and scales whose product is a power of two in binary32
    alone, so that ties hang on where the multiplier was derived."""
    a, b = f32(0.1), f32(0.7)
    while f32(a * b) <= a * b:
        b = f32(b + 2.0 ** -20)
    convs(m, lambda c: b, f32(a * b) * 2.0 ** 6, 3)
    for name, _, _ in CONVS:
        m.scale(name + ".sx", a)


def quantizers(m):
    """Pixels, and numbers of half the step, which stand between two steps."""
    shape = (1, 3, 12, 16)
    x = m.input("x", "<f4", shape,
                lambda: f32(f32(m.rng.randint(0, 255) / 255) - 0.5) / 0.5)
    for name, s, descr, z in (("pixels", 2 / 127, "|i1", -1),
                              ("bytes", 2 / 255, "|u1", 127),
                              ("wide", 0.3, "|i1", 5),
                              ("wider", 0.9, "|u1", 100),
                              ("narrow", 0.06, "|i1", 0)):
        of = x
        if s > 0.02:
            of = m.input("x_" + name, "<f4", shape,
                         lambda: m.rng.randint(-260, 260) * f32(f32(s) / 2))
        m.layer("QuantizeLinear", name, [
            of, m.scale(name + ".s", s), m.zero(name + ".z", descr, z)],
            descr, shape)


def masks(m):
    """Masks of attention: numbers that no integer of 32 bits holds."""
    x = m.input("x", "<f4", (1, 4, 8, 8), lambda: m.rng.choice(
        (0.0, -1e9, 1e9, m.rng.uniform(-4, 4))))
    for name, s, descr, z in (("below", 0.05, "|i1", -3),
                              ("above", 0.02, "|u1", 120),
                              ("at_zero", 0.1, "|i1", 0)):
        m.layer("QuantizeLinear", name, [
            x, m.scale(name + ".s", s), m.zero(name + ".z", descr, z)],
            descr, (1, 4, 8, 8))


def concats(m):
    """Every input of another scale and zero point."""
    for name, scales, zeros, sy, zy in (
            ("rising", (0.05, 0.07, 0.11), (128, 100, 3), 0.11, 90),
            ("shared", (0.03, 0.03, 0.02), (128, 128, 128), 0.03, 128),
            ("apart", (0.9, 0.31, 0.055), (7, 8, 9), 0.9, 5)):
        inputs = [m.scale(name + ".sy", sy), m.zero(name + ".zy", "|u1", zy)]
        for i in range(3):
            x = m.input("%s.x%d" % (name, i), "|u1", (1, 5 + i, 6, 7),
                        lambda: m.rng.randint(0, 255))
            inputs += [x, m.scale("%s.s%d" % (name, i), scales[i]),
                       m.zero("%s.z%d" % (name, i), "|u1", zeros[i])]
        m.layer("QLinearConcat", name, inputs, "|u1", (1, 18, 6, 7), MS, axis=1)


def multiplied(m):
    """Depthwise with several outputs of each channel."""
    w = m.weights["pw4.w_quantized"], m.weights["conv2.w_quantized"]
    x = m.input("x", "|i1", (1, 8, 7, 6), lambda: m.rng.randint(-127, 127))
    for name, times, kernel in (("twice", 2, 1), ("thrice", 3, 3),
                                ("four", 4, 3)):
        out, n = 8 * times, 8 * times * kernel * kernel
        data = w[kernel > 1].data[:n]
        m.constant(name + ".w", npz.Array("|i1", (out, 1, kernel, kernel),
                                          data))
        m.layer("QLinearConv", name, [
            x, m.scale(name + ".sx", 0.02), m.zero(name + ".zx", "|i1", 0),
            name + ".w", m.scale(name + ".sw", 0.01),
            m.zero(name + ".zw", "|i1", 0), m.scale(name + ".sy", 0.03),
            m.zero(name + ".zy", "|i1", 0)], "|i1", (1, out, 7, 6), group=8,
            kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)


def ties(m):
    """Scores of few values: the largest one stands in many places."""
    m.domains, m.opset, m.is_quantized = ["horizon"], 11, False
    x = m.input("x", "|i1", (1, 6, 9, 5), lambda: m.rng.choice((-3, 4, 5)))
    for axis, name in ((1, "rows"), (2, "columns"), (3, "channels")):
        shape = [1, 6, 9, 5]
        shape[axis] = 1
        m.layer("HzQuantizedArgMax", name, [x], "|i1", shape, "horizon",
                axis=axis, output_bit=8)


def long_sums(m):
    """Products of 16 and 8 bits whose sums leave 32: thousands of taps of one
    sign, as behind an activation that is never negative."""
    k, out = 3072, 8
    m.opset = 21
    w = m.weights["conv5.w_quantized"].data
    size = [0, 1, 2]
    x = m.input("x", "<i2", (1, k, 2, 3), lambda: m.rng.randint(9000, 32767))
    m.layer("DequantizeLinear", "dx", [x, m.scale("sx", 2.0 ** -12),
                                       m.zero("zx", "<i2", 0)],
            "<f4", (1, k, 2, 3))
    del m.layers[-1]
    for i in size:
        name = "dense%d" % i
        data = bytes(v if v < 128 else 256 - v for v in
                     (w * 4)[i * 1024:i * 1024 + k * out])
        data = bytes(min(3 * v, 127) for v in data)
        m.constant(name + ".w", npz.Array("|i1", (out, k, 1, 1), data))
        m.nodes.append(wire.node("DequantizeLinear", name + ".dw", [
            name + ".w", m.scale(name + ".sw", 2.0 ** -10),
            m.zero(name + ".zw", "|i1", 0)], [name + ".wf"]))
        m.nodes.append(wire.node("Conv", name, ["dx.y", name + ".wf"],
                                 [name + ".f"], kernel_shape=[1, 1]))
        m.layer("QuantizeLinear", name + ".q", [
            name + ".f", m.scale(name + ".sy", 2.0 ** (i - 4)),
            m.zero(name + ".zy", "<i2", 0)], "<i2", (1, out, 2, 3))
        m.layers[-1] = name
    del m.outputs["dx.y"]


def far_shifts(root, folder):
    """The Nash model of tests/data with channels whose weights trained to
    nothing: their shift is 32 and more, and their output 0 or -1. (Multipliers
    that are derived from scales have no such shifts: they are 0 then; the X5
    model's own end at 31.)"""
    def further(row):
        *head, multiplier, shift = row.group(0)[1:-1].split(", ")
        if int(multiplier) < 2 ** 14 or row.start() % 3 == 0:
            return row.group(0)
        return "[%s, %s, %d]" % (", ".join(head), multiplier, int(shift) + 20)

    folder = os.path.join(folder, "small", "far_shifts")
    os.makedirs(folder)
    path = os.path.join(folder, "model.mlir")
    with open(os.path.join(root, "tests", "data", "nash", "model.mlir"),
              encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r"\[-?\d+(, \d+){5}\]", further, text))
    return path


# Maker, the arithmetic under which, the ids that are seeded.
SMALL = (
    (above_one, "q31_single", ("R9",)),
    (above_one, "q31_double", ("R10",)),
    (powers_of_two, "q31_double", ("R3", "R12", "R2")),
    (powers_of_two, "q31_single", ("R1", "R23")),
    (odd_zero, "q31_single", ("R7",)),
    (odd_zero, "fp32_rne", ("R20", "R6")),
    (quantizers, None, ("R20", "R21", "R22")),
    (masks, None, ("F3",)),
    (concats, None, ("O5", "R19")),
    (multiplied, None, ("O14", "W3")),
    (ties, None, ("O12", "O13")),
    (long_sums, None, ("A2", "A3")),
)


def made(root, folder):
    """[(Small, model, inputs, arithmetic, ids)], one model a row of SMALL."""
    out, done = [], {}
    for maker, arith, only in SMALL:
        if maker not in done:
            m = Small(maker.__name__, root)
            maker(m)
            done[maker] = (m, *m.write(folder))
        out.append((*done[maker], arith, only))
    return out
