# SPDX-License-Identifier: Apache-2.0
"""Models for the board in a box; Python's own library.

chain(): convolutions, one behind the other, which keep a board busy
wide():  one layer whose output is 16 MiB, of an input of 256 KiB"""

import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import read_outputs as onnx  # noqa: E402
import sim_files  # noqa: E402


def packed_ints(name, numbers):
    body = onnx.field(1, name) + b"".join(onnx.field(8, n) for n in numbers)
    return onnx.field(5, body + onnx.field(20, 7))


class Model:
    def __init__(self, size, seed):
        self.size, self.rng = size, random.Random(seed)
        self.nodes = b""
        self.constants = (
            self.constant("scale", 1, struct.pack("<f", 1 / 16)) +
            self.constant("zero", 3, b"\0"))
        self.nodes += self.node("QuantizeLinear", ("x", "scale", "zero"), "q")
        self.last, self.channels, self.count = "q", 1, 0

    @staticmethod
    def constant(name, dtype, raw, dims=()):
        shape = b"".join(onnx.field(1, d) for d in dims)
        return onnx.field(5, shape + onnx.initializer(name, dtype, raw))

    @staticmethod
    def node(op, inputs, output, attributes=b""):
        return onnx.field(1, onnx.node(op, inputs, output) + attributes)

    def conv(self, channels, kernel, keep=0.002):
        name = "conv%d" % self.count
        dims = (channels, self.channels, kernel, kernel)
        n = channels * self.channels * kernel * kernel
        weights = bytes(self.rng.randrange(-128, 128) & 255 for _ in range(n))
        self.constants += self.constant(name + "_w", 3, weights, dims)
        self.constants += self.constant(name + "_s", 1,
                                        struct.pack("<f", keep))
        pad = kernel // 2
        self.nodes += self.node(
            "QLinearConv", (self.last, "scale", "zero", name + "_w",
                            name + "_s", "zero", "scale", "zero"), name,
            packed_ints("kernel_shape", (kernel, kernel)) +
            packed_ints("pads", (pad,) * 4))
        self.last, self.channels = name, channels
        self.count += 1

    def write(self, folder):
        h, w = self.size
        os.makedirs(os.path.join(folder, "inputs"))
        graph = (self.nodes + onnx.field(2, "net") + self.constants +
                 onnx.field(11, onnx.value_info("x", (1, 1, h, w))) +
                 onnx.field(12, onnx.value_info(
                     self.last, (1, self.channels, h, w), 3)))
        with open(os.path.join(folder, "model.onnx"), "wb") as f:
            f.write(onnx.field(1, 8) + onnx.field(7, graph) +
                    onnx.field(8, onnx.field(1, "") + onnx.field(2, 13)))
        values = [self.rng.randrange(-128, 128) / 16 for _ in range(h * w)]
        sim_files.write(os.path.join(folder, "inputs", "0000.npz"),
                        {"x": sim_files.npy("<f4", (1, 1, h, w), values)})
        return folder


def chain(folder, layers=40, size=64):
    m = Model((size, size), 1)
    for _ in range(layers):
        m.conv(16, 3)
    return m.write(folder)


def wide(folder):
    m = Model((512, 512), 2)
    m.conv(64, 1, 0.02)
    m.conv(1, 1)
    return m.write(folder)
